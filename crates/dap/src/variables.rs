//! What is known of a frame: the place in the trace, registers, memory that was accessed.

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};
use tracewright::base::Isa;
use tracewright::index::FindError;
use tracewright::index::query::Condition;
use tracewright::symbols::DataObject;

use crate::executions::count;
use crate::message::{Arguments, Refused, refused};
use crate::session::Session;

/// What is not in a trace.
const UNAVAILABLE: &str = "unavailable";

/// The most variables of the program that are listed.
const MOST: usize = 1 << 10;

/// The most bytes of a variable that are shown.
const MOST_BYTES: u64 = 16;

/// The scopes of a frame.
const SCOPES: u64 = 5;

const TRACE: u64 = 0;
const REGISTERS: u64 = 1;
const MEMORY: u64 = 2;
/// How often the instruction is executed, which is counted when it is asked for.
const EXECUTIONS: u64 = 3;
const ACCESSES: u64 = 4;

const RISCV: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4",
    "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
    "t5", "t6",
];

/// The names of the registers other than the program counter.
fn registers(isa: Isa) -> Vec<String> {
    match isa {
        Isa::A64 => {
            let numbered = (0..31).map(|n| format!("x{n}"));
            numbered.chain(["sp".to_owned(), "cpsr".to_owned()]).collect()
        }
        Isa::Rv32 | Isa::Rv64 => RISCV.map(str::to_owned).to_vec(),
        _ => {
            let numbered = (0..13).map(|n| format!("r{n}"));
            numbered.chain(["sp", "lr", "cpsr"].map(str::to_owned)).collect()
        }
    }
}

fn variable(name: &str, value: String) -> Value {
    json!({ "name": name, "value": value, "variablesReference": 0 })
}

impl Session<'_> {
    pub(crate) fn scopes(&mut self, arguments: &Arguments) -> Result<Value, Refused> {
        let id = arguments.needed("frameId")?;
        let shown = self.frames.get(id)?.clone();
        let reference = |scope: u64| id as u64 * SCOPES + scope;
        let mut scopes = Vec::new();
        let is_innermost = shown.frame == Some(0) && !shown.waits;
        if is_innermost || shown.address.is_some() && shown.frame.is_none() {
            scopes.push(json!({
                "name": "Trace", "variablesReference": reference(TRACE), "expensive": false,
            }));
        }
        if shown.address.is_some() {
            scopes.push(json!({
                "name": "Registers",
                "presentationHint": "registers",
                "variablesReference": reference(REGISTERS),
                "expensive": false,
            }));
        }
        if is_innermost && self.has_accesses()? {
            scopes.push(json!({
                "name": "Accesses", "variablesReference": reference(ACCESSES), "expensive": false,
            }));
            scopes.push(json!({
                "name": "Traced memory",
                "variablesReference": reference(MEMORY),
                "expensive": true,
            }));
        }
        Ok(json!({ "scopes": scopes }))
    }

    pub(crate) fn variables(&mut self, arguments: &Arguments) -> Result<Value, Refused> {
        let reference = arguments.needed("variablesReference")? as u64;
        let (id, scope) = (reference / SCOPES, reference % SCOPES);
        let shown = self.frames.get(usize::try_from(id).unwrap_or(0))?.clone();
        let mut all = match scope {
            TRACE => self.place(shown.source, id)?,
            REGISTERS => self.registers(shown.source, shown.address)?,
            MEMORY => self.memory(shown.source)?,
            ACCESSES => self.accesses(shown.source)?,
            _ => self.executions(shown.address)?,
        };
        let start = arguments.count("start")?.unwrap_or(0).min(all.len());
        let mut all = all.split_off(start);
        if let Some(count) = arguments.count("count")?.filter(|count| *count > 0) {
            all.truncate(count);
        }
        Ok(json!({ "variables": all }))
    }

    /// The place in the trace.
    fn place(&mut self, source: usize, id: u64) -> Result<Vec<Value>, FindError> {
        let Some(own) = self.stands(source)? else { return Ok(Vec::new()) };
        let element = own.position.element;
        let at = [Condition::Element(element..element.saturating_add(1))];
        let context = self.machine.finder().seek(&at)?.and_then(|found| found.context);
        let known = |value: Option<String>| value.unwrap_or_else(|| UNAVAILABLE.into());
        let mut all = vec![
            variable("instruction", own.number.to_string()),
            variable("element", own.position.to_string()),
            variable("time", known(own.time.map(|time| time.to_string()))),
            variable("instruction set", own.isa.to_string()),
        ];
        let id_of = context.and_then(|context| context.context_id);
        all.push(variable("context ID", known(id_of.map(|id| format!("{id:#x}")))));
        let level = context.and_then(|context| context.el);
        all.push(variable("level", known(level.map(|level| level.to_string()))));
        let security = context.and_then(|context| context.security);
        all.extend(security.map(|security| variable("security", security.to_string())));
        let lazy = json!({
            "name": "executions",
            "value": "",
            "variablesReference": id * SCOPES + EXECUTIONS,
            "presentationHint": { "lazy": true },
        });
        all.push(lazy);
        Ok(all)
    }

    /// How often the instruction of a frame is executed, and how often before.
    fn executions(&mut self, address: Option<u64>) -> Result<Vec<Value>, FindError> {
        let Some(address) = address else { return Ok(Vec::new()) };
        let element = self.machine.here().position.element;
        let before = count(self.machine.finder(), &[address], Some(element))?;
        let all = count(self.machine.finder(), &[address], None)?;
        self.count_is(address, all);
        Ok(vec![variable("executions", format!("{all}, {before} before here"))])
    }

    /// The program counter; all other registers are not in the trace.
    fn registers(&mut self, source: usize, address: Option<u64>) -> Result<Vec<Value>, FindError> {
        let isa = self.stands(source)?.map(|own| own.isa).unwrap_or_default();
        let mut all = Vec::new();
        if let Some(address) = address {
            let text = format!("{address:#x}");
            all.push(json!({
                "name": "pc",
                "value": text,
                "variablesReference": 0,
                "memoryReference": text,
            }));
        }
        // The one register of RISC-V whose value is fixed.
        let value = |name: &str| if name == "zero" { "0x0" } else { UNAVAILABLE };
        all.extend(registers(isa).iter().map(|name| variable(name, value(name).into())));
        Ok(all)
    }

    /// The data accesses of the instruction at which a source stands.
    fn accesses(&mut self, source: usize) -> Result<Vec<Value>, FindError> {
        let mut all = Vec::new();
        for access in self.machine.accesses(source)? {
            let text = |address: u64| {
                let inside = |own: &&DataObject| address.wrapping_sub(own.address) < own.size;
                match self.objects.iter().find(inside) {
                    Some(own) if own.address == address => own.name.clone(),
                    Some(own) => format!("{}+{:#x}", own.name, address - own.address),
                    None => format!("{address:#x}"),
                }
            };
            let name = access.address().map_or_else(|| UNAVAILABLE.into(), text);
            let mut own = variable(&name, access.to_string());
            if let (Some(address), Some(own)) = (access.address(), own.as_object_mut()) {
                own.insert("memoryReference".into(), format!("{address:#x}").into());
            }
            all.push(own);
        }
        Ok(all)
    }

    /// The variables of the program of which bytes are known.
    fn memory(&mut self, source: usize) -> Result<Vec<Value>, Refused> {
        let objects: Vec<DataObject> = self.objects.iter().take(MOST).cloned().collect();
        let mut all = Vec::new();
        for object in objects {
            let mut first = [0];
            if self.machine.read_accessed(source, object.address, &mut first)? == 0 {
                continue;
            }
            let value = self.value(&object)?;
            all.push(json!({
                "name": object.name,
                "value": value,
                "type": format!("{} bytes", object.size),
                "evaluateName": object.name,
                "variablesReference": 0,
                "memoryReference": format!("{:#x}", object.address),
            }));
        }
        Ok(all)
    }

    /// The value of a variable, as bytes of memory that are known: a number where it has the size
    /// of one.
    pub(crate) fn value(&mut self, object: &DataObject) -> Result<String, Refused> {
        let size = object.size.min(MOST_BYTES) as usize;
        let bytes = self.read_memory_at(object.address, size)?;
        if bytes.is_empty() {
            return Ok(UNAVAILABLE.into());
        }
        if bytes.len() == size && matches!(object.size, 1 | 2 | 4 | 8) {
            let mut bytes = bytes;
            if !self.is_big_endian {
                bytes.reverse();
            }
            let value = bytes.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
            return Ok(format!("{value:#x} ({value})"));
        }
        let known: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let more = if (known.len() as u64) < object.size { " ..." } else { "" };
        Ok(format!("{}{more}", known.join(" ")))
    }

    /// Memory from an address on, as far as it is known.
    pub(crate) fn read_memory_at(&mut self, address: u64, size: usize) -> Result<Vec<u8>, Refused> {
        let source = self.machine.here().source;
        let mut bytes = vec![0; size];
        let mut done = 0;
        while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let Some(at) = address.checked_add(done as u64) else { break };
            let mut known = self.constants.read(at, rest);
            if known == 0 {
                known = self.machine.read_code(source, at, rest)?;
            }
            if known == 0 && self.accesses == Some(true) {
                known = self.machine.read_accessed(source, at, rest)?;
            }
            if known == 0 {
                break;
            }
            done += known;
        }
        bytes.truncate(done);
        Ok(bytes)
    }

    /// The answer to `readMemory`.
    pub(crate) fn read_memory(&mut self, arguments: &Arguments) -> Result<Value, Refused> {
        const MOST_READ: usize = 1 << 16;
        let reference = arguments.text("memoryReference")?.unwrap_or_default();
        let offset = arguments.integer("offset")?.unwrap_or(0);
        let address = crate::address::address(reference, offset)?;
        let wanted = arguments.needed("count")?;
        self.has_accesses()?;
        let bytes = self.read_memory_at(address, wanted.min(MOST_READ))?;
        if bytes.is_empty() && wanted > 0 {
            return refused(format!("memory at {address:#x} is not in the trace"));
        }
        let unread = wanted - bytes.len();
        Ok(json!({
            "address": format!("{address:#x}"),
            "data": BASE64_STANDARD.encode(&bytes),
            "unreadableBytes": unread,
        }))
    }
}
