//! Logs of QEMU: `-d exec,nochain` with one instruction a block.
//!
//! | QEMU | one instruction a block |
//! |---|---|
//! | to 8.0 | `-singlestep` |
//! | from 8.1 | `-one-insn-per-tb` (user mode), `-accel tcg,one-insn-per-tb=on` (system) |
//!
//! ```text
//! Trace 0: 0x7f9c7b4000c0 [00800480/0001035c/00000000/00000201] main
//! ```
//!
//! The numbers in brackets are flags of the translator for the instruction set (AArch32: bit \[23]
//! T32, bits \[31:24] the IT block), the address, further flags (bit \[0] AArch64; RISC-V: bits
//! \[1:0] the privilege level, with 2 for S with access to memory of U), and flags of the block.
//! Further options of
//! `-d` are used: `in_asm` (opcodes, for programs without an image), `int` (exceptions), `cpu`
//! (condition flags, which determine the conditions that passed). Lines of other kinds are ignored.

use tracewright_base::{Cause, Isa};

use crate::entry::{Entry, Event, Executed, Mode, Opcode, Raised};
use crate::line::Line;
use crate::text::{Expected, Words, decimal, hex};

/// Reads lines. An exception is pending until its last line.
#[derive(Clone, Debug, Default)]
pub struct Parser {
    raised: Option<Raising>,
    /// The processor of the last `Trace` line.
    cpu: u16,
}

/// A pending exception.
#[derive(Clone, Copy, Debug)]
struct Raising {
    cpu: u16,
    raised: Raised,
    /// The exception level of the handler.
    el: Option<u8>,
    /// QEMU's number of the exception.
    number: u64,
}

/// QEMU's number for the end of a handler of an M-profile processor. The line stands for an
/// exception only if another exception is pending.
const HANDLER_ENDS: u64 = 8;

/// The return address of a tail-chained exception. (M profile)
const TAIL_CHAIN: u64 = 0xffff_fffe;

/// Bit 23 of the first flags word: T32.
const THUMB: u64 = 1 << 23;

impl Parser {
    /// Reads one line. `isa` selects Arm or RISC-V; the log distinguishes the Arm instruction sets.
    #[inline]
    pub fn line(
        &mut self,
        line: &[u8],
        isa: Isa,
        out: &mut dyn FnMut(Entry),
    ) -> Result<(), Expected> {
        let Some(rest) = line.strip_prefix(b"Trace ") else { return self.other(line, isa, out) };
        if self.raised.is_some() {
            self.flush(out);
        }
        let colon = rest.iter().position(|&b| b == b':');
        let (cpu, rest) = rest.split_at(colon.unwrap_or(0));
        let cpu = decimal(cpu).and_then(|n| u16::try_from(n).ok());
        let cpu = cpu.ok_or(Expected("`Trace N:` with the number of a processor"))?;
        let open = memchr::memchr(b'[', rest).ok_or(Expected("`[` and the flags of the block"))?;
        let mut words = rest.get(open + 1..).unwrap_or_default().splitn(4, |&b| b == b'/');
        let mut number = |what| words.next().and_then(hex).ok_or(Expected(what));
        let base = number("flags in hexadecimal after `[`")?;
        let address = number("the address in hexadecimal, `[FLAGS/ADDRESS/`")?;
        let flags = number("flags in hexadecimal, `[FLAGS/ADDRESS/FLAGS/`")?;
        if words.next().is_none_or(|last| memchr::memchr(b']', last).is_none()) {
            return Err(Expected("`]` after the flags of the block"));
        }
        let (isa, condition) = match isa {
            Isa::Rv32 | Isa::Rv64 => (isa, None),
            _ if flags & 1 != 0 => (Isa::A64, None),
            _ if base & THUMB == 0 => (Isa::A32, None),
            _ => (Isa::T32, Some((base >> 28) as u8 & 0xf).filter(|_| base >> 24 & 0xf != 0)),
        };
        let el = match (isa, flags & 0b11) {
            (Isa::Rv32 | Isa::Rv64, 2) => Some(1),
            (Isa::Rv32 | Isa::Rv64, level) => Some(level as u8),
            _ => None,
        };
        self.cpu = cpu;
        let mode = Mode { el, non_secure: None };
        let executed = Executed { address, isa: Some(isa), condition, mode, ..Executed::default() };
        out(Entry::new(cpu, Event::Instruction(executed)));
        Ok(())
    }

    /// Ends the log.
    pub fn finish(&mut self, out: &mut dyn FnMut(Entry)) {
        self.flush(out);
    }

    fn flush(&mut self, out: &mut dyn FnMut(Entry)) {
        let Some(Raising { cpu, raised, el, number }) = self.raised.take() else { return };
        if number == HANDLER_ENDS && raised.cause.is_none() {
            return;
        }
        out(Entry::new(cpu, Event::Raised(raised)));
        if el.is_some() {
            out(Entry::new(cpu, Event::Mode(Mode { el, non_secure: None })));
        }
    }

    fn other(&mut self, line: &[u8], isa: Isa, out: &mut dyn FnMut(Entry)) -> Result<(), Expected> {
        if let Some(rest) = line.strip_prefix(b"...") {
            return self.detail(rest);
        }
        let mut words = Words(line);
        match words.word() {
            b"Stopped" if words.0.starts_with(b" execution of TB chain before") => {
                let open = memchr::memchr(b'[', words.0).ok_or(Expected("`[` and the address"))?;
                let rest = words.0.get(open + 1..).unwrap_or_default();
                let close = memchr::memchr(b']', rest).ok_or(Expected("`]` after the address"))?;
                let address = rest.get(..close).and_then(hex);
                let address = address.ok_or(Expected("the address in hexadecimal in brackets"))?;
                out(Entry::new(self.cpu, Event::Withdrawn { address }));
            }
            // With `-icount`, an instruction that accesses a device is executed again.
            b"cpu_io_recompile:" if words.0.starts_with(b" rewound execution of TB to ") => {
                let address = words.0.rsplit(|&b| b == b' ').next().and_then(hex);
                let address = address.ok_or(Expected("the address in hexadecimal at the end"))?;
                out(Entry::new(self.cpu, Event::Withdrawn { address }));
            }
            b"Taking" if words.peek() == b"exception" => {
                self.flush(out);
                words.word();
                let number = decimal(words.word());
                let number = number.ok_or(Expected("the number of an exception"))?;
                let cpu = line.rsplit(|&b| b == b' ').next().and_then(decimal);
                let cpu = cpu.and_then(|n| u16::try_from(n).ok());
                let cpu = cpu.ok_or(Expected("`on CPU N` at the end"))?;
                let cause = (number != HANDLER_ENDS).then(|| cause(number));
                // An instruction that cannot be fetched has no line.
                let synchronous = !matches!(
                    cause,
                    None | Some(
                        Cause::Irq
                            | Cause::Fiq
                            | Cause::SystemError
                            | Cause::Reset
                            | Cause::Halt
                            | Cause::InstructionFault
                    )
                );
                let raised = Raised { cause, synchronous, ..Raised::default() };
                self.raised = Some(Raising { cpu, raised, el: None, number });
            }
            b"riscv_cpu_do_interrupt:" => {
                self.flush(out);
                let raised = trapped(words.0)?;
                let hart = field(words.0, b"hart:").and_then(decimal);
                let cpu = hart.and_then(|n| u16::try_from(n).ok()).ok_or(Expected("`hart:N`"))?;
                out(Entry::new(cpu, Event::Raised(raised)));
            }
            // `Exception return from AArch64 EL1 to AArch64 EL0 PC 0x..`,
            // `Exception return from AArch32 svc to usr PC 0x..`
            b"Exception" if words.0.starts_with(b" return from AArch") => {
                self.flush(out);
                self.goes_to(words, out)?;
            }
            // `AArch32 mode switch from svc to irq PC 0x..`
            b"AArch32" if words.0.starts_with(b" mode switch from ") => {
                self.flush(out);
                self.goes_to(words, out)?;
            }
            first if first.starts_with(b"PSTATE=") => {
                self.flags(first.get(7..).unwrap_or_default(), out)?;
            }
            first if first.starts_with(b"PSR=") => {
                self.flags(first.get(4..).unwrap_or_default(), out)?;
            }
            first if first.starts_with(b"0x") && first.ends_with(b":") => {
                // Disassembly: `0x0001035c:  f04f 0b00  mov.w    fp, #0`.
                let address = first.strip_suffix(b":").and_then(hex);
                let address = address.ok_or(Expected("an address in hexadecimal"))?;
                if let Some(opcode) = disassembled(words, isa) {
                    out(Entry::new(self.cpu, Event::Code { address, opcode }));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The level in `.. to AArch64 EL0 PC ..` or `.. to usr PC ..`.
    fn goes_to(&self, words: Words<'_>, out: &mut dyn FnMut(Entry)) -> Result<(), Expected> {
        let to = words.0.windows(4).rposition(|w| w == b" to ");
        let mut rest = Words(words.0.get(to.unwrap_or(0) + 4..).unwrap_or_default());
        if rest.peek().starts_with(b"AArch") {
            rest.word();
        }
        let el = level(rest.word()).ok_or(Expected("`to AArch64 ELn` or `to MODE`"))?;
        out(Entry::new(self.cpu, Event::Mode(Mode { el: Some(el), non_secure: None })));
        Ok(())
    }

    /// Reads a continuation line of an exception.
    fn detail(&mut self, rest: &[u8]) -> Result<(), Expected> {
        let Some(Raising { raised, el, number, .. }) = &mut self.raised else { return Ok(()) };
        let mut words = Words(rest);
        match (words.word(), words.word()) {
            (b"from", _) if words.word() == b"to" => *el = level(words.word()),
            (b"with", b"ELR") => {
                raised.return_address = Some(words.hex("the ELR in hexadecimal")?);
            }
            (b"with", b"FAR") => raised.value = Some(words.hex("the FAR in hexadecimal")?),
            // `with IFSR 0x5 IFAR 0x8000`, AArch32: the address that cannot be fetched.
            (b"with", b"IFSR") if raised.cause == Some(Cause::InstructionFault) => {
                words.word();
                words.word();
                raised.return_address = Some(words.hex("the IFAR in hexadecimal")?);
            }
            (b"with", b"DFSR") => {
                words.word();
                words.word();
                raised.value = Some(words.hex("the DFAR in hexadecimal")?);
            }
            (b"to", to) => {
                *el = level(to).or(*el);
                if words.word() == b"PC" {
                    raised.target = Some(words.hex("the vector in hexadecimal")?);
                }
            }
            // `taking pending nonsecure exception 11`, M profile.
            (b"taking", b"pending") => {
                words.word();
                words.word();
                let vector = decimal(words.word()).and_then(|n| u16::try_from(n).ok());
                let vector = vector.ok_or(Expected("the number of a pending exception"))?;
                raised.cause = Some(Cause::Vector(vector));
                // An instruction causes the faults 3 to 7, and an SVC.
                raised.synchronous &= matches!(vector, 3..=7 | 11);
                if *number == HANDLER_ENDS {
                    raised.return_address = Some(TAIL_CHAIN);
                }
            }
            (b"loaded", b"new") => {
                words.word();
                raised.target = Some(words.hex("the handler in hexadecimal")? & !1);
            }
            (b"handling", b"as") => self.raised = None,
            _ => {}
        }
        Ok(())
    }

    /// Reads condition flags, bits \[31:28] of a program status register.
    fn flags(&mut self, text: &[u8], out: &mut dyn FnMut(Entry)) -> Result<(), Expected> {
        let status = hex(text).ok_or(Expected("a program status register in hexadecimal"))?;
        out(Entry::new(self.cpu, Event::Flags((status >> 28) as u8 & 0xf)));
        Ok(())
    }
}

/// The text after `name` in a comma-separated list.
fn field<'a>(list: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    list.split(|&b| b == b',').find_map(|item| item.trim_ascii().strip_prefix(name))
}

/// A trap of RISC-V: `hart:0, async:0, cause:000000000000000b, epc:0x8000000e, tval:0x0,
/// desc=machine_ecall`.
fn trapped(list: &[u8]) -> Result<Raised, Expected> {
    let number = |name, what| field(list, name).and_then(hex).ok_or(Expected(what));
    let interrupt = number(b"async:", "`async:0` or `async:1`")? != 0;
    // The most significant bit of the cause of an interrupt may be set.
    let code = number(b"cause:", "`cause:` in hexadecimal")? as u16 & 0x7fff;
    let epc = number(b"epc:", "`epc:` in hexadecimal")?;
    let tval = number(b"tval:", "`tval:` in hexadecimal")?;
    Ok(Raised {
        cause: Some(Cause::Riscv { code, interrupt }),
        return_address: Some(epc),
        value: Some(tval).filter(|_| !interrupt),
        synchronous: !interrupt,
        ..Raised::default()
    })
}

/// The exception level of `EL1`, or of a mode of AArch32.
fn level(word: &[u8]) -> Option<u8> {
    match word {
        [b'E', b'L', n @ b'0'..=b'3'] => Some(n - b'0'),
        _ => crate::text::mode(word),
    }
}

/// The opcode of a disassembled line: one word, or two halfwords of T32.
fn disassembled(mut words: Words<'_>, isa: Isa) -> Option<Opcode> {
    let first = words.word();
    let bits = hex(first)? as u32;
    if first.len() == 8 {
        return Some(Opcode { bits, size: 4 });
    }
    if first.len() != 4 {
        return None;
    }
    if matches!(isa, Isa::Rv32 | Isa::Rv64) || !tracewright_isa::t32::is_wide(bits as u16) {
        return Some(Opcode { bits, size: 2 });
    }
    let second = hex(words.word())? as u32;
    Some(Opcode { bits: bits << 16 | second, size: 4 })
}

/// QEMU's numbers and names of the exceptions of Arm processors.
const EXCEPTIONS: [(u64, &str, Cause); 13] = [
    (1, "Undefined Instruction", Cause::Undefined),
    (2, "SVC", Cause::Call),
    (3, "Prefetch Abort", Cause::InstructionFault),
    (4, "Data Abort", Cause::DataFault),
    (5, "IRQ", Cause::Irq),
    (6, "FIQ", Cause::Fiq),
    (7, "Breakpoint", Cause::InstructionDebug),
    (11, "Hypervisor Call", Cause::Call),
    (12, "Hypervisor Trap", Cause::Trap),
    (13, "Secure Monitor Call", Cause::Call),
    (14, "Virtual IRQ", Cause::Irq),
    (15, "Virtual FIQ", Cause::Fiq),
    (24, "Virtual SERR", Cause::SystemError),
];

fn cause(number: u64) -> Cause {
    let known = EXCEPTIONS.iter().find(|(n, _, _)| *n == number);
    known.map_or(Cause::Trap, |(_, _, cause)| *cause)
}

/// The instruction set of a log of a RISC-V processor, and whether its width is known. `None` where
/// no line shows that it is one: the flags of its blocks have other meanings, and look like those
/// of A64 or A32.
pub(crate) fn riscv(head: &[u8]) -> Option<(Isa, bool)> {
    /// Lines that only logs of Arm processors have.
    const ARM: [&[u8]; 5] =
        [b"Taking exception", b"PSTATE=", b"PSR=", b"Exception return from A", b"AArch32 mode"];
    /// Opcodes that are evidence, as one of four has the two low bits of RISC-V by accident.
    const OPCODES: usize = 6;
    let (mut is_riscv, mut words, mut others, mut width) = (false, 0usize, 0usize, None);
    for line in head.split(|&b| b == b'\n') {
        if ARM.iter().any(|start| line.starts_with(start)) {
            return None;
        }
        is_riscv |= line.starts_with(b"riscv_cpu_do_interrupt:");
        if let Some(block) = line.strip_prefix(b"Trace ") {
            let open = memchr::memchr(b'[', block)?;
            let mut fields = block.get(open + 1..)?.split(|&b| b == b'/');
            let (base, address, flags) = (fields.next()?, fields.next()?, fields.next()?);
            let is_a64 = hex(flags)? & 1 != 0;
            if !is_a64 && hex(base)? & THUMB != 0 {
                return None;
            }
            is_riscv |= hex(address)? & 0b11 != 0;
            width = width.or(Some((base.len(), address.len())));
        } else if line.starts_with(b"0x") {
            let mut words_of_line = Words(line);
            words_of_line.word();
            let opcode = words_of_line.word();
            match (opcode.len(), hex(opcode)) {
                (8, Some(bits)) if bits & 0b11 == 0b11 => words += 1,
                (4, Some(bits)) if bits & 0b11 != 0b11 => is_riscv = true,
                _ => others += 1,
            }
        }
    }
    let is_riscv = is_riscv || words >= OPCODES && others == 0;
    // Before QEMU 8.1, both numbers have the width of the processor.
    width.filter(|_| is_riscv).map(|width| match width {
        (8, 8) => (Isa::Rv32, true),
        (16, 16) => (Isa::Rv64, true),
        _ => (Isa::Rv64, false),
    })
}

/// Writes an entry. An entry that the format cannot express is left out.
pub(super) fn emit(entry: &Entry, line: &mut Line) {
    let cpu = entry.cpu;
    match entry.event {
        Event::Instruction(executed) => {
            let address = executed.address;
            match executed.isa {
                Some(Isa::A32 | Isa::T32 | Isa::Rv32) => {
                    let thumb = if executed.isa == Some(Isa::T32) { THUMB } else { 0 };
                    let riscv = executed.isa == Some(Isa::Rv32);
                    let flags = executed.mode.el.filter(|_| riscv).unwrap_or(0);
                    let block = executed.condition.map_or(0, |c| u64::from(c) << 28 | 1 << 27);
                    let base = thumb | block;
                    line.whole(format_args!(
                        "Trace {cpu}: 0x000000000000 [{base:08x}/{address:08x}/{flags:08x}/00000201] "
                    ));
                }
                isa => {
                    let riscv = isa == Some(Isa::Rv64);
                    let flags = if riscv { executed.mode.el.unwrap_or(0) } else { 1 };
                    line.whole(format_args!(
                        "Trace {cpu}: 0x000000000000 \
                         [0000000000000000/{address:016x}/{flags:08x}/00000201] "
                    ));
                }
            }
        }
        Event::Withdrawn { address } => line.whole(format_args!(
            "Stopped execution of TB chain before 0x000000000000 [{address:016x}] "
        )),
        Event::Code { address, opcode } => match (opcode.size, opcode.bits) {
            (2, bits) => line.whole(format_args!("0x{address:08x}:  {bits:04x}       .short")),
            (_, bits)
                if tracewright_isa::t32::is_wide((bits >> 16) as u16)
                    && !address.is_multiple_of(4) =>
            {
                let (first, second) = (bits >> 16, bits & 0xffff);
                line.whole(format_args!("0x{address:08x}:  {first:04x} {second:04x}  .inst"));
            }
            (_, bits) => line.whole(format_args!("0x{address:08x}:  {bits:08x}  .inst")),
        },
        Event::Raised(Raised {
            cause: Some(Cause::Riscv { code, interrupt }),
            return_address: Some(epc),
            value,
            ..
        }) => line.whole(format_args!(
            "riscv_cpu_do_interrupt: hart:{cpu}, async:{}, cause:{code:016x}, epc:0x{epc:016x}, tval:0x{:016x}, desc=?",
            u8::from(interrupt),
            value.unwrap_or(0),
        )),
        Event::Raised(raised) => {
            let known = EXCEPTIONS.iter().find(|(_, _, cause)| Some(*cause) == raised.cause);
            let (number, name) = known.map_or((0, "?"), |(number, name, _)| (*number, *name));
            line.whole(format_args!("Taking exception {number} [{name}] on CPU {cpu}"));
            if let Some(value) = raised.value {
                line.whole(format_args!("...with FAR 0x{value:x}"));
            }
            if let Some(address) = raised.return_address {
                line.whole(format_args!("...with ELR 0x{address:x}"));
            }
            if let Some(target) = raised.target {
                line.whole(format_args!("...to EL? PC 0x{target:x} PSTATE 0x0"));
            }
        }
        Event::Mode(Mode { el: Some(el), .. }) => {
            line.whole(format_args!("Exception return from AArch64 EL? to AArch64 EL{el} PC 0x0"))
        }
        Event::Flags(flags) => line.whole(format_args!("PSTATE={flags:x}0000000 ----")),
        _ => {}
    }
}
