//! Instructions in memory.

use serde_json::{Map, Value, json};
use tracewright::base::Isa;
use tracewright::views::disassembly::Disassembler;

use crate::address::address;
use crate::message::{Arguments, Refused};
use crate::session::Session;

/// The most instructions of an answer.
const MOST: usize = 1 << 12;

/// An instruction of which memory is known.
struct Known {
    isa: Isa,
    opcode: u32,
    bytes: Vec<u8>,
}

/// The most bytes from the beginning of a function on that are read for instructions in it.
const MOST_BYTES: u64 = 1 << 16;

/// Whether the instructions of a set have two sizes.
fn is_mixed(isa: Isa) -> bool {
    !matches!(isa, Isa::A64 | Isa::A32)
}

impl Session<'_> {
    pub(crate) fn disassemble(&mut self, arguments: &Arguments) -> Result<Value, Refused> {
        let reference = arguments.text("memoryReference")?.unwrap_or_default();
        let base = address(reference, arguments.integer("offset")?.unwrap_or(0))?;
        let offset = arguments.integer("instructionOffset")?.unwrap_or(0);
        let offset = offset.clamp(-(MOST as i64), MOST as i64);
        let count = arguments.needed("instructionCount")?.min(MOST);
        let isa = self.isa_at(base);
        // Instructions that overlap the address would be others.
        let base = match isa {
            Isa::A64 | Isa::A32 => base & !3,
            _ => base & !1,
        };
        let before = usize::try_from(-offset).unwrap_or(0);
        let mut addresses = self.before(base, before)?;
        let skipped = usize::try_from(offset).unwrap_or(0);
        let mut at = base;
        while addresses.len() < before + skipped + count {
            addresses.push(at);
            at = at.wrapping_add(self.size_at(at)?);
        }
        let from = addresses.len().min(skipped);
        let shown: Vec<u64> = addresses.split_off(from).into_iter().take(count).collect();
        let mut all = Vec::new();
        let mut last = None;
        for at in shown {
            all.push(self.instruction_at(at, &mut last)?);
        }
        Ok(json!({ "instructions": all }))
    }

    /// The instruction set of code: that of the symbols, or of the program as it stands.
    fn isa_at(&self, address: u64) -> Isa {
        let here = self.machine.here();
        match self.states.at(address) {
            Some(isa) if address != here.address => isa,
            _ => here.isa,
        }
    }

    /// The addresses of the instructions before `base`. Where code has two sizes of instructions,
    /// those from the beginning of its function on.
    fn before(&mut self, base: u64, count: usize) -> Result<Vec<u64>, Refused> {
        let isa = self.isa_at(base);
        let step = if is_mixed(isa) { 2 } else { 4 };
        let mut addresses = Vec::new();
        if is_mixed(isa) && count > 0 {
            let lowest = base.saturating_sub(4 * count as u64);
            for (start, end) in self.starts.before(lowest, base) {
                let mut at = start.max(lowest.saturating_sub(MOST_BYTES) & !1);
                at = at.max(addresses.last().copied().unwrap_or(at));
                while at < end.min(base) {
                    if addresses.last() != Some(&at) {
                        addresses.push(at);
                    }
                    at = at.saturating_add(self.size_at(at)?);
                }
            }
        }
        let first = addresses.len().saturating_sub(count);
        let mut addresses = addresses.split_off(first);
        while addresses.len() < count {
            let next = addresses.first().copied().unwrap_or(base);
            addresses.insert(0, next.wrapping_sub(step));
        }
        Ok(addresses)
    }

    fn size_at(&mut self, address: u64) -> Result<u64, Refused> {
        let known = self.opcode_at(address)?;
        let unknown = if is_mixed(self.isa_at(address)) { 2 } else { 4 };
        Ok(known.map_or(unknown, |known| known.bytes.len() as u64))
    }

    /// The instruction in memory, if all of it is known.
    fn opcode_at(&mut self, address: u64) -> Result<Option<Known>, Refused> {
        let isa = self.isa_at(address);
        let mut bytes = self.read_memory_at(address, 4)?;
        let half = |n: usize| {
            let (low, high) = (*bytes.get(2 * n)?, *bytes.get(2 * n + 1)?);
            Some(u32::from(low) | u32::from(high) << 8)
        };
        let Some(first) = half(0) else { return Ok(None) };
        let is_wide = match isa {
            Isa::A64 | Isa::A32 => true,
            Isa::Rv32 | Isa::Rv64 => first & 3 == 3,
            _ => first >> 11 >= 0b11101,
        };
        let opcode = match (is_wide, half(1)) {
            (false, _) => first,
            (true, None) => return Ok(None),
            (true, Some(second)) if matches!(isa, Isa::T32 | Isa::ThumbEe) => first << 16 | second,
            (true, Some(second)) => second << 16 | first,
        };
        bytes.truncate(if is_wide { 4 } else { 2 });
        Ok(Some(Known { isa, opcode, bytes }))
    }

    /// Describes an instruction. `last`: the source file of the one before.
    fn instruction_at(&mut self, at: u64, last: &mut Option<usize>) -> Result<Value, Refused> {
        let mut all = Map::new();
        all.insert("address".into(), format!("{at:#x}").into());
        let Some(known) = self.opcode_at(at)? else {
            all.insert("instruction".into(), "unavailable".into());
            all.insert("presentationHint".into(), "invalid".into());
            return Ok(Value::Object(all));
        };
        let source = self.machine.here().source;
        let riscv = self.plan.sources.get(source).map(|planned| planned.config.riscv());
        let mut disassembler = Disassembler::new(riscv.unwrap_or_default());
        let text = disassembler.text(known.isa, known.opcode, at).to_owned();
        all.insert("instruction".into(), text.into());
        let bytes: Vec<String> = known.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        all.insert("instructionBytes".into(), bytes.join(" ").into());
        let begins = self.starts.at(at).and_then(|number| self.machine.code().get(number));
        if let Some(known) = begins {
            all.insert("symbol".into(), known.function.name.as_str().into());
        }
        if let Some(row) = self.program.at(at).row {
            if *last != Some(row.line.file) {
                *last = Some(row.line.file);
                let source = self.sources.describe(&self.program, row.line.file);
                all.insert("location".into(), source);
            }
            all.insert("line".into(), self.client.line_out(row.line.line).into());
        }
        Ok(Value::Object(all))
    }
}
