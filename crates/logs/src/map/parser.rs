//! Lines of a log that a map describes, to entries.

use std::sync::Arc;

use tracewright_base::{Access, Cause, Direction, Isa, Step};

use super::field::{Field, Fields};
use super::{LinePattern, LogMap, MapStep};
use crate::csv;
use crate::entry::{Entry, Event, Executed, Mode, Opcode, Raised};
use crate::spike::riscv;
use crate::text::{Expected, hex, number};

/// CSRs that a trap writes: mepc, mcause, mtval, and those of S mode. (Privileged Architecture,
/// "CSR Listing")
const EPC: [u64; 2] = [0x341, 0x141];
const CAUSE: [u64; 2] = [0x342, 0x142];
const TVAL: [u64; 2] = [0x343, 0x143];

/// The most executions of an instruction in one line.
const MAX_REPEAT: u64 = 1 << 32;

/// Reads the lines of a log. An instruction is pending until the next one, as lines in between may
/// state that it trapped.
#[derive(Clone, Debug)]
pub(crate) struct Parser {
    map: Arc<LogMap>,
    pending: Option<Pending>,
    /// An interrupt, or a fetch that trapped, before the next instruction.
    raised: Option<(u16, Raised)>,
}

/// An instruction, and what is known of it so far.
#[derive(Clone, Debug, Default)]
struct Pending {
    cpu: u16,
    time: Option<u64>,
    order: Option<u64>,
    executed: Executed,
    trapped: bool,
    cause: Option<Cause>,
    /// The values of the CSRs of traps that were written with it.
    epc: Option<u64>,
    mcause: Option<u64>,
    tval: Option<u64>,
    accesses: Vec<Access>,
}

impl Parser {
    pub(crate) fn new(map: LogMap) -> Parser {
        Parser { map: Arc::new(map), pending: None, raised: None }
    }

    /// Reads one line.
    pub(crate) fn line(
        &mut self,
        line: &[u8],
        isa: Isa,
        out: &mut dyn FnMut(Entry),
    ) -> Result<(), Expected> {
        let map = self.map.clone();
        for kind in &map.lines {
            let Some(captures) = kind.pattern.captures(line) else { continue };
            let fields = kind.fields(&captures);
            self.step(kind, &fields, isa, out)?;
            for more in &kind.more {
                for captures in more.pattern.captures_iter(line) {
                    self.step(more, &more.fields(&captures), isa, out)?;
                }
            }
            return Ok(());
        }
        if map.ignores_others || map.skip.iter().any(|skip| skip.is_match(line)) {
            return Ok(());
        }
        Err(Expected("a line that the format has"))
    }

    /// Ends the log.
    pub(crate) fn finish(&mut self, out: &mut dyn FnMut(Entry)) {
        self.flush(out);
        if let Some((cpu, raised)) = self.raised.take() {
            out(Entry::new(cpu, Event::Raised(raised)));
        }
    }

    fn step(
        &mut self,
        kind: &LinePattern,
        fields: &Fields<'_>,
        isa: Isa,
        out: &mut dyn FnMut(Entry),
    ) -> Result<(), Expected> {
        let value = || unsigned(fields, Field::Value);
        match kind.step {
            MapStep::Instruction => return self.instruction(kind, fields, isa, out),
            MapStep::Trap => self.trap(fields, out)?,
            MapStep::Interrupt => {
                self.flush(out);
                let code = decimal(fields, Field::Interrupt)?.and_then(|n| u16::try_from(n).ok());
                let cause = code.map(|code| Cause::Riscv { code, interrupt: true });
                let raised = Raised {
                    cause,
                    return_address: unsigned(fields, Field::Epc)?,
                    ..Raised::default()
                };
                self.raised = Some((cpu(fields)?.unwrap_or(0), raised));
            }
            MapStep::Csr => self.csr(unsigned(fields, Field::Csr)?, value()?),
            MapStep::Repeat => {
                let count = decimal(fields, Field::Repeat)?.unwrap_or(1);
                if count > MAX_REPEAT {
                    return Err(Expected("at most 2^32 executions of an instruction"));
                }
                let again = self.pending.clone();
                for _ in 1..count {
                    self.flush(out);
                    self.pending.clone_from(&again);
                }
            }
            MapStep::Read | MapStep::Write | MapStep::Move => {
                let direction = match kind.step {
                    MapStep::Read => Direction::Read,
                    MapStep::Write => Direction::Write,
                    _ => Direction::Unknown,
                };
                let address = unsigned(fields, Field::Address)?;
                let size = decimal(fields, Field::Size)?.and_then(|size| u8::try_from(size).ok());
                if let Some(pending) = &mut self.pending {
                    let mut access = Access::new(direction, size.unwrap_or(0), 0);
                    access = address.map_or(access, |address| access.at(address));
                    access = value()?.map_or(access, |value| access.of(value));
                    pending.accesses.push(access.made_by(pending.executed.address));
                }
            }
            MapStep::Nothing => {}
        }
        Ok(())
    }

    fn instruction(
        &mut self,
        kind: &LinePattern,
        fields: &Fields<'_>,
        isa: Isa,
        out: &mut dyn FnMut(Entry),
    ) -> Result<(), Expected> {
        let address = unsigned(fields, Field::Address)?.ok_or(Expected("an address"))?;
        let order = decimal(fields, Field::Order)?;
        let el = decimal(fields, Field::El)?.and_then(|el| u8::try_from(el).ok());
        if let Some(pending) = &mut self.pending
            && pending.executed.address == address
            && (kind.merge || order.is_some() && order == pending.order)
        {
            let mode = &mut pending.executed.mode;
            mode.el = el.or(mode.el);
            return Ok(());
        }
        let cause = fields.get(Field::Cause).and_then(cause);
        // An instruction that always traps is the cause of the handler that begins.
        let is_entry = fields.has(Field::Entry);
        let is_explained = is_entry && cause.is_none() && self.pending_always_traps();
        self.flush(out);
        let cpu = cpu(fields)?.unwrap_or(0);
        let time = decimal(fields, Field::Cycle)?.or(decimal(fields, Field::Time)?);
        let known = match fields.get(Field::Isa) {
            None => self.map.isa.filter(|_| is_riscv(isa)).map(|_| isa).or(Some(isa)),
            Some(name) => Some(csv::isa(name)?),
        };
        // Bit 0 of an address is the instruction set, where the log does not state it.
        let odd = address & 1 != 0 && matches!(known, Some(Isa::A32 | Isa::T32));
        let known = if odd { Some(Isa::T32) } else { known };
        let opcode = unsigned(fields, Field::Opcode)?;
        let opcode = opcode.map(|bits| self.opcode(bits as u32, fields, known.unwrap_or(isa)));
        let trapped = fields.has(Field::Trap);
        self.enter(cpu, is_entry && !is_explained, cause, out);
        let passed = fields.get(Field::Passed).map(|text| text != b"0");
        self.pending = Some(Pending {
            cpu,
            time,
            order,
            executed: Executed {
                address: if odd { address & !1 } else { address },
                opcode,
                is_expansion: fields.has(Field::Expanded),
                isa: known,
                passed,
                condition: None,
                mode: Mode { el, non_secure: None },
            },
            trapped,
            cause: cause.filter(|_| trapped),
            mcause: unsigned(fields, Field::Mcause)?,
            epc: unsigned(fields, Field::Mcause)?.map(|_| address),
            tval: unsigned(fields, Field::Tval)?,
            accesses: Vec::new(),
        });
        Ok(())
    }

    /// Whether the pending instruction is one that never retires: it trapped.
    fn pending_always_traps(&mut self) -> bool {
        let Some(pending) = &mut self.pending else { return false };
        let Some(opcode) = pending.executed.opcode else { return false };
        let traps = always_traps(opcode.bits);
        if traps {
            pending.trapped = true;
            let illegal = matches!(opcode.bits, 0 | u32::MAX);
            let cause = illegal.then_some(Cause::Riscv { code: 2, interrupt: false });
            pending.cause = pending.cause.or(cause);
        }
        traps
    }

    /// Emits the exception whose handler begins: the one of earlier lines, or where an instruction
    /// is marked as the first of a handler, one that the log does not describe.
    fn enter(&mut self, cpu: u16, marked: bool, cause: Option<Cause>, out: &mut dyn FnMut(Entry)) {
        if let Some((cpu, raised)) = self.raised.take() {
            return out(Entry::new(cpu, Event::Raised(raised)));
        }
        if marked {
            out(Entry::new(cpu, Event::Raised(Raised { cause, ..Raised::default() })));
        }
    }

    /// The bits of an instruction of `isa`.
    fn opcode(&self, bits: u32, fields: &Fields<'_>, isa: Isa) -> Opcode {
        let digits = fields.get(Field::Opcode).map_or(0, <[u8]>::len);
        match isa {
            _ if is_riscv(isa) => riscv(bits),
            // The first halfword of a 32-bit instruction: 0b111, not 0b11100. (Armv7-M ARM, A5.1)
            Isa::T32 if self.map.opcode_of_memory => match bits >> 11 & 0x1f {
                0b11101..=0b11111 => Opcode { bits: bits.rotate_left(16), size: 4 },
                _ => Opcode { bits: bits & 0xffff, size: 2 },
            },
            Isa::T32 if digits <= 4 => Opcode { bits, size: 2 },
            _ => Opcode { bits, size: 4 },
        }
    }

    fn trap(&mut self, fields: &Fields<'_>, out: &mut dyn FnMut(Entry)) -> Result<(), Expected> {
        let cause = fields.get(Field::Cause).and_then(cause);
        let (epc, tval) = (unsigned(fields, Field::Epc)?, unsigned(fields, Field::Tval)?);
        // After an interrupt it repeats what is known.
        let interrupted = matches!(
            self.raised,
            Some((_, Raised { cause: Some(Cause::Riscv { interrupt: true, .. }), .. }))
        );
        if interrupted {
            return Ok(());
        }
        let (cpu, before) = match (&self.raised, &self.pending) {
            (Some((cpu, _)), _) => (*cpu, true),
            (None, Some(pending)) => (pending.cpu, pending.trapped),
            (None, None) => (0, true),
        };
        // Where the fetch trapped, or the instruction before did, no line has an instruction.
        if before || cause.is_some_and(is_of_fetch) {
            self.flush(out);
            if let Some((cpu, raised)) = self.raised.take() {
                out(Entry::new(cpu, Event::Raised(raised)));
            }
            let raised = Raised {
                cause,
                return_address: epc,
                value: tval,
                synchronous: true,
                ..Raised::default()
            };
            self.raised = Some((cpu, raised));
        } else if let Some(pending) = &mut self.pending {
            pending.trapped = true;
            pending.cause = cause;
            pending.epc = epc.or(pending.epc);
            pending.tval = tval.or(pending.tval);
        }
        Ok(())
    }

    fn csr(&mut self, csr: Option<u64>, value: Option<u64>) {
        let (Some(csr), Some(value)) = (csr, value) else { return };
        if let Some((_, raised)) = &mut self.raised {
            match csr {
                _ if EPC.contains(&csr) => raised.return_address = Some(value),
                _ if TVAL.contains(&csr) => raised.value = Some(value),
                _ => {}
            }
            return;
        }
        let Some(pending) = &mut self.pending else { return };
        for (numbers, to) in
            [(EPC, &mut pending.epc), (CAUSE, &mut pending.mcause), (TVAL, &mut pending.tval)]
        {
            if numbers.contains(&csr) {
                *to = Some(value);
            }
        }
    }

    /// Emits the pending instruction, or the exception that it raised instead.
    fn flush(&mut self, out: &mut dyn FnMut(Entry)) {
        let Some(pending) = self.pending.take() else { return };
        let Pending { cpu, time, executed, accesses, .. } = pending;
        let entry = |event| Entry { cpu, time, event };
        // An instruction that writes these CSRs itself traps in no line with its own writes.
        let writes_csr = executed.opcode.is_some_and(|opcode| is_csr_access(opcode.bits));
        let written = pending.mcause.filter(|_| pending.epc.is_some() && !writes_csr);
        let written = written.and_then(mcause_of);
        let cause = pending.cause.or(written);
        let interrupted = matches!(cause, Some(Cause::Riscv { interrupt: true, .. }));
        if pending.trapped || written.is_some() {
            if let Some(el) = executed.mode.el {
                let mode = Mode { el: Some(el), non_secure: None };
                out(entry(Event::Mode(mode)));
            }
            let called = executed.opcode.and_then(|opcode| called(opcode.bits, executed.mode.el));
            return out(entry(Event::Raised(Raised {
                cause: cause.or(called),
                return_address: Some(executed.address),
                value: pending.tval,
                synchronous: !interrupted,
                ..Raised::default()
            })));
        }
        out(entry(Event::Instruction(executed)));
        accesses.into_iter().for_each(|access| out(entry(Event::Step(Step::Access(access)))));
    }
}

impl LinePattern {
    /// The fields of a line that the pattern matches.
    fn fields<'a>(&'a self, captures: &regex::bytes::Captures<'a>) -> Fields<'a> {
        let mut fields = Fields::default();
        for (field, text) in &self.set {
            fields.set(*field, text.as_bytes());
        }
        for (n, field) in self.groups.iter().enumerate() {
            let (Some(field), Some(found)) = (field, captures.get(n)) else { continue };
            let text = found.as_bytes().trim_ascii();
            let known =
                self.values.iter().find(|(of, from, _)| of == field && from.as_bytes() == text);
            fields.set(*field, known.map_or(text, |(_, _, value)| value.as_bytes()));
        }
        fields
    }
}

const fn is_riscv(isa: Isa) -> bool {
    matches!(isa, Isa::Rv32 | Isa::Rv64)
}

/// Whether an instruction reads or writes a CSR. (Zicsr: SYSTEM with funct3 other than 0)
const fn is_csr_access(bits: u32) -> bool {
    bits & 0x7f == 0x73 && bits >> 12 & 0b11 != 0
}

/// Whether an instruction never retires: ECALL, EBREAK, C.EBREAK, and the opcodes of zeros and of
/// ones, which are illegal. (Unprivileged Architecture, "Expanded Instruction-Length Encoding")
const fn always_traps(bits: u32) -> bool {
    matches!(bits, 0x73 | 0x0010_0073 | 0x9002 | 0 | u32::MAX)
}

/// The cause of an instruction that calls its environment at the privilege `el`, or that is a
/// breakpoint. (Privileged Architecture, "mcause")
pub(crate) fn called(bits: u32, el: Option<u8>) -> Option<Cause> {
    let code = match (bits, el) {
        (0x73, Some(el @ (0 | 1 | 3))) => 8 + u16::from(el),
        (0x0010_0073 | 0x9002, _) => 3,
        _ => return None,
    };
    Some(Cause::Riscv { code, interrupt: false })
}

/// The cause in the value of mcause, whose highest bit, 31 or 63, is that of interrupts.
fn mcause_of(value: u64) -> Option<Cause> {
    let interrupt = 1 << if value >> 32 == 0 { 31 } else { 63 };
    let code = u16::try_from(value & !interrupt).ok()?;
    Some(Cause::Riscv { code, interrupt: value & interrupt != 0 })
}

/// Whether the fetch of an instruction raises the exception: an access fault or page fault of
/// instructions. (Privileged Architecture, "mcause")
const fn is_of_fetch(cause: Cause) -> bool {
    matches!(cause, Cause::Riscv { code: 1 | 12 | 20, interrupt: false })
}

/// The cause of an exception: as in a log of columns, or the code of an exception of RISC-V. `None`
/// for a word that is not known.
fn cause(text: &[u8]) -> Option<Cause> {
    if let Some(code) = number(text).and_then(|code| u16::try_from(code).ok()) {
        return Some(Cause::Riscv { code, interrupt: false });
    }
    csv::cause(text).ok().flatten()
}

/// A hexadecimal number. One with digits that the simulator does not know is none.
fn unsigned(fields: &Fields<'_>, field: Field) -> Result<Option<u64>, Expected> {
    let known = fields.get(field).filter(|text| !text.iter().any(|byte| b"?xzXZ".contains(byte)));
    let text = known.or_else(|| fields.get(field).filter(|text| text.starts_with(b"0x")));
    let Some(text) = text else { return Ok(None) };
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    if digits.iter().any(|byte| b"?xzXZ".contains(byte)) {
        return Ok(None);
    }
    hex(digits).map(Some).ok_or(Expected("a hexadecimal number of at most 64 bits"))
}

/// A decimal number, or a hexadecimal one with 0x.
fn decimal(fields: &Fields<'_>, field: Field) -> Result<Option<u64>, Expected> {
    let Some(text) = fields.get(field) else { return Ok(None) };
    number(text).map(Some).ok_or(Expected("a decimal number"))
}

fn cpu(fields: &Fields<'_>) -> Result<Option<u16>, Expected> {
    let number = decimal(fields, Field::Cpu)?;
    let small = |number| u16::try_from(number).map_err(|_| Expected("a processor below 65536"));
    number.map(small).transpose()
}
