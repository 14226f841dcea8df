//! Logs of Spike, the RISC-V simulator: `-l`, `--log-commits`, or both at once.
//!
//! ```text
//! core   0: 0x0000000080000000 (0x00000093) li      ra, 0              -l
//! core   0: exception trap_machine_ecall, epc 0x0000000080000230       -l
//! core   0:           tval 0x0000000000000000
//! core   0: 3 0x0000000080000000 (0x00000093) x1 0x0000000000000000    --log-commits
//! core   0: 3 0x0000000080000004 (0x00052583) x11 0x0000000000000007 mem 0x0000000080002000
//! core   0: 3 0x0000000080000008 (0x00b52023) mem 0x0000000080002000 0x00000007
//! ```
//!
//! The lines are those of riscv/processor.cc (`disasm`, `take_trap`, `take_trigger_action`) and
//! riscv/execute.cc (`commit_log_print_insn`) of riscv-isa-sim. `-l` lists an instruction before
//! execution, so it lists instructions that trap. With both options, an instruction has two lines
//! and counts once. An older `--log-commits` has no `core   0:`.

use tracewright_base::{Access, Cause, Direction, Isa, Step};

use crate::entry::{Entry, Event, Executed, Opcode, Raised};
use crate::line::Line;
use crate::text::{Expected, Words, decimal, hex};

/// Reads lines. A listed instruction is pending until the next line shows whether a commit line
/// follows.
#[derive(Clone, Debug, Default)]
pub struct Parser {
    listed: Option<Entry>,
    raised: Option<(u16, Raised)>,
}

/// The instruction set by the digits of the first address, which are those of the registers.
/// (Spike, riscv/processor.cc, `processor_t::disasm`: `max_xlen / 4`)
pub fn width(head: &[u8]) -> Option<Isa> {
    let address = |line: &[u8]| {
        let mut words = Words(line);
        loop {
            match words.word() {
                b"" => return None,
                [b'0', b'x', digits @ ..] => return Some(digits.len()),
                _ => {}
            }
        }
    };
    let mut lines = head.split(|byte| *byte == b'\n').filter(|line| !is_other(line));
    match lines.find_map(address)? {
        8 => Some(Isa::Rv32),
        16 => Some(Isa::Rv64),
        _ => None,
    }
}

/// Whether a line is none of a log: the output of the program, or of Spike itself.
fn is_other(line: &[u8]) -> bool {
    let mut words = Words(line);
    match words.word() {
        b"" | b"core" => false,
        // A privilege level before an address.
        [b'0'..=b'9', ..] => !words.peek().starts_with(b"0x"),
        _ => true,
    }
}

/// The prompt of Spike's interactive mode. (riscv/interactive.cc)
const PROMPT: &[u8] = b"(spike) ";

/// The most executions of an instruction in one line.
const MAX_REPEATS: u64 = 1 << 32;

/// The names of traps, by exception code. (Privileged Architecture, "mcause")
const TRAPS: [(&str, u16); 21] = [
    ("trap_instruction_address_misaligned", 0),
    ("trap_instruction_access_fault", 1),
    ("trap_illegal_instruction", 2),
    ("trap_breakpoint", 3),
    ("trap_load_address_misaligned", 4),
    ("trap_load_access_fault", 5),
    ("trap_store_address_misaligned", 6),
    ("trap_store_access_fault", 7),
    ("trap_user_ecall", 8),
    ("trap_supervisor_ecall", 9),
    ("trap_virtual_supervisor_ecall", 10),
    ("trap_machine_ecall", 11),
    ("trap_instruction_page_fault", 12),
    ("trap_load_page_fault", 13),
    ("trap_store_page_fault", 15),
    ("trap_software_check", 18),
    ("trap_hardware_error", 19),
    ("trap_instruction_guest_page_fault", 20),
    ("trap_load_guest_page_fault", 21),
    ("trap_virtual_instruction", 22),
    ("trap_store_guest_page_fault", 23),
];

impl Parser {
    /// Reads one line.
    pub fn line(
        &mut self,
        line: &[u8],
        isa: Isa,
        out: &mut dyn FnMut(Entry),
    ) -> Result<(), Expected> {
        let mut line = line;
        while let Some(rest) = line.strip_prefix(PROMPT) {
            line = rest;
        }
        if is_other(line) {
            return Ok(());
        }
        let mut words = Words(line);
        let mut cpu = 0;
        if words.peek() == b"core" {
            words.word();
            let number = words.word().strip_suffix(b":").and_then(decimal);
            cpu = number.and_then(|n| u16::try_from(n).ok()).ok_or(Expected("`core N:`"))?;
        }
        match words.peek() {
            b"" => Ok(()),
            // The name of a function that begins here.
            [b'>', ..] => Ok(()),
            b"exception" => {
                words.word();
                // The instruction before waits, as the number of its executions may follow.
                if self.raised.is_some() {
                    self.flush(out);
                }
                let rest = words.0.trim_ascii();
                let (name, epc) = split(rest, b", epc ").ok_or(Expected("`, epc ADDRESS`"))?;
                let cause = cause(name).ok_or(Expected("the name of a trap, or `interrupt #N`"))?;
                let epc = hex(epc.trim_ascii()).ok_or(Expected("the epc in hexadecimal"))?;
                let raised = Raised {
                    cause: Some(cause),
                    return_address: Some(epc),
                    synchronous: matches!(cause, Cause::Riscv { interrupt: false, .. }),
                    ..Raised::default()
                };
                self.raised = Some((cpu, raised));
                Ok(())
            }
            b"tval" | b"tval2:" | b"tinst:" => {
                let value = words.word() == b"tval";
                let number = words.hex("the trap value in hexadecimal")?;
                if let (Some((_, raised)), true) = (&mut self.raised, value) {
                    raised.value = Some(number);
                }
                Ok(())
            }
            b"Executed" => self.repeated(words, out),
            // A trigger of the debug specification fired.
            b"trigger" => Ok(()),
            [b'0', b'x', ..] => self.listed(cpu, words, isa, out),
            [b'0'..=b'9'] => self.committed(cpu, words, isa, out),
            _ => Err(Expected("an address, a privilege level, `exception` or `tval`")),
        }
    }

    /// Reads `Executed N times`: the instruction listed before was executed N times in all. Commit
    /// lines list each of them. N is decimal, and in older versions hexadecimal. (Spike,
    /// riscv/processor.cc, `processor_t::disasm`)
    fn repeated(
        &mut self,
        mut words: Words<'_>,
        out: &mut dyn FnMut(Entry),
    ) -> Result<(), Expected> {
        words.word();
        let number = words.word();
        let count = decimal(number).or_else(|| hex(number));
        let count = count.ok_or(Expected("a number of executions"))?;
        if count > MAX_REPEATS {
            return Err(Expected("at most 2^32 executions of an instruction"));
        }
        if let Some(listed) = self.listed {
            (1..count).for_each(|_| out(listed));
        }
        self.flush(out);
        Ok(())
    }

    /// Ends the log.
    pub fn finish(&mut self, out: &mut dyn FnMut(Entry)) {
        self.flush(out);
    }

    fn flush(&mut self, out: &mut dyn FnMut(Entry)) {
        if let Some(entry) = self.listed.take() {
            out(entry);
        }
        if let Some((cpu, raised)) = self.raised.take() {
            out(Entry::new(cpu, Event::Raised(raised)));
        }
    }

    fn listed(
        &mut self,
        cpu: u16,
        mut words: Words<'_>,
        isa: Isa,
        out: &mut dyn FnMut(Entry),
    ) -> Result<(), Expected> {
        let executed = instruction(&mut words, isa)?;
        self.flush(out);
        self.listed = Some(Entry::new(cpu, Event::Instruction(executed)));
        Ok(())
    }

    fn committed(
        &mut self,
        cpu: u16,
        mut words: Words<'_>,
        isa: Isa,
        out: &mut dyn FnMut(Entry),
    ) -> Result<(), Expected> {
        let level = words.word().first().map(|b| b - b'0').filter(|&level| level <= 3);
        let level = level.ok_or(Expected("a privilege level, 0 to 3"))?;
        let mut executed = instruction(&mut words, isa)?;
        executed.mode.el = Some(level);
        // The listed line and the commit line are of one instruction.
        let twice = matches!(self.listed, Some(Entry { cpu: other, event: Event::Instruction(e), .. })
            if other == cpu && e.address == executed.address);
        if twice {
            self.listed = None;
        }
        self.flush(out);
        out(Entry::new(cpu, Event::Instruction(executed)));
        self.accesses(cpu, &executed, words, out)
    }

    /// Reads the data accesses in a commit line.
    fn accesses(
        &self,
        cpu: u16,
        executed: &Executed,
        mut words: Words<'_>,
        out: &mut dyn FnMut(Entry),
    ) -> Result<(), Expected> {
        let mut register = None;
        while !words.is_empty() {
            let word = words.word();
            if word != b"mem" {
                // A register and its value. `x 5` is two words in older logs. CSRs, `c768_mstatus`,
                // and vector registers hold no loaded value.
                if words.peek().starts_with(b"0x") {
                    let value = hex(words.word());
                    register = if matches!(word, [b'c' | b'v', ..]) { register } else { value };
                }
                continue;
            }
            let address = words.hex("the address of a data access in hexadecimal")?;
            let mut access = match words.peek() {
                value @ [b'0', b'x', digits @ ..] => {
                    words.word();
                    let size = (digits.len() / 2).min(8) as u8;
                    let value = hex(value).ok_or(Expected("a value in hexadecimal"))?;
                    Access::new(Direction::Write, size, 0).of(value)
                }
                _ => {
                    let (size, loads) = loaded(executed.opcode.unwrap_or_default().bits);
                    let access = Access::new(Direction::Read, size, 0);
                    match register.filter(|_| loads) {
                        Some(value) => access.of(cut(value, size)),
                        None => access,
                    }
                }
            };
            access = access.at(address).made_by(executed.address);
            out(Entry::new(cpu, Event::Step(Step::Access(access))));
        }
        Ok(())
    }
}

/// The low `size` bytes of a register, which holds the loaded value sign-extended.
const fn cut(value: u64, size: u8) -> u64 {
    match size {
        1 | 2 | 4 => value & ((1 << (8 * size)) - 1),
        _ => value,
    }
}

/// Size of the data that a load instruction reads, and whether its destination register holds the
/// data. The size is 0 if the opcode is no plain load.
const fn loaded(opcode: u32) -> (u8, bool) {
    let size = 1 << (opcode >> 12 & 0b11);
    match (opcode & 0b11, opcode & 0x7f, opcode >> 13 & 0b111) {
        (0b11, 0x03 | 0x07, _) => (size, true),
        // Atomics.
        (0b11, 0x2f, _) => (size, true),
        // C.LW and C.LWSP, C.LD and C.LDSP.
        (0b00 | 0b10, _, 0b010) => (4, true),
        (0b00 | 0b10, _, 0b011) => (8, true),
        (0b00 | 0b10, _, 0b001) => (8, true),
        _ => (0, false),
    }
}

fn split<'a>(text: &'a [u8], at: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let place = text.windows(at.len()).position(|window| window == at)?;
    Some((text.get(..place)?, text.get(place + at.len()..)?))
}

fn cause(name: &[u8]) -> Option<Cause> {
    if let Some(code) = name.strip_prefix(b"interrupt #") {
        let code = u16::try_from(decimal(code)?).ok()?;
        return Some(Cause::Riscv { code, interrupt: true });
    }
    let known = TRAPS.iter().find(|(trap, _)| trap.as_bytes() == name);
    let code = match known {
        Some(&(_, code)) => code,
        None => u16::try_from(decimal(name.strip_prefix(b"trap #")?)?).ok()?,
    };
    Some(Cause::Riscv { code, interrupt: false })
}

/// `0xADDRESS (0xOPCODE)`.
fn instruction(words: &mut Words<'_>, isa: Isa) -> Result<Executed, Expected> {
    let address = words.hex("an address in hexadecimal")?;
    let opcode = words.word().strip_prefix(b"(").and_then(|w| w.strip_suffix(b")"));
    let bits = opcode.and_then(hex).ok_or(Expected("the opcode in brackets, as `(0x00000013)`"))?;
    let opcode = Some(riscv(bits as u32));
    Ok(Executed { address, opcode, isa: Some(isa), ..Executed::default() })
}

/// A RISC-V opcode. The two lowest bits determine its size.
pub(super) const fn riscv(bits: u32) -> Opcode {
    if bits & 0b11 == 0b11 {
        Opcode { bits, size: 4 }
    } else {
        Opcode { bits: bits & 0xffff, size: 2 }
    }
}

/// Writes an entry: a commit line if the privilege level is known, else a listed line. An entry
/// that the format cannot express is left out.
pub(super) fn emit(entry: &Entry, rv64: bool, line: &mut Line) {
    let cpu = entry.cpu;
    let digits = if rv64 { 16 } else { 8 };
    match entry.event {
        Event::Instruction(executed) => {
            let Opcode { bits, size } = executed.opcode.unwrap_or_default();
            let width = if size == 2 { 4 } else { 8 };
            let address = executed.address;
            match executed.mode.el {
                Some(level) => line.begin(format_args!(
                    "core {cpu:3}: {level} 0x{address:0digits$x} (0x{bits:0width$x})"
                )),
                None => line
                    .whole(format_args!("core {cpu:3}: 0x{address:0digits$x} (0x{bits:0width$x})")),
            }
        }
        Event::Step(Step::Access(access)) => {
            let Some(address) = access.address() else { return };
            match (access.direction, access.value()) {
                (Direction::Write, Some(value)) => {
                    let width = 2 * usize::from(access.size.max(1));
                    line.more(format_args!(" mem 0x{address:0digits$x} 0x{value:0width$x}"));
                }
                // The loaded register is unknown; the reader needs its value only.
                (Direction::Read, Some(value)) => {
                    line.more(format_args!(" x0  0x{value:0digits$x} mem 0x{address:0digits$x}"))
                }
                _ => line.more(format_args!(" mem 0x{address:0digits$x}")),
            }
        }
        Event::Raised(raised) => {
            let Some(Cause::Riscv { code, interrupt }) = raised.cause else { return };
            let epc = raised.return_address.unwrap_or(0);
            let known = TRAPS.iter().find(|(_, number)| *number == code);
            match (interrupt, known) {
                (true, _) => line.whole(format_args!(
                    "core {cpu:3}: exception interrupt #{code}, epc 0x{epc:0digits$x}"
                )),
                (false, Some((name, _))) => line
                    .whole(format_args!("core {cpu:3}: exception {name}, epc 0x{epc:0digits$x}")),
                (false, None) => line.whole(format_args!(
                    "core {cpu:3}: exception trap #{code}, epc 0x{epc:0digits$x}"
                )),
            }
            if let Some(value) = raised.value {
                line.whole(format_args!("core {cpu:3}:           tval 0x{value:0digits$x}"));
            }
        }
        _ => {}
    }
}
