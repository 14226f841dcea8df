//! Tarmac, the text that Arm's Fast Models write.
//!
//! ```text
//! 53 clk cpu0 IT (53) 002109f0 f94003e1 O EL3h_s : LDR      x1,[sp,#0]
//! 53 clk cpu0 MR8 000ffb80:0000000ffb80 00000000_000ffbb8
//! 53 clk cpu0 R X1 00000000000FFBB8
//! 54 clk cpu0 E 000000008000f040 00000084 CoreEvent_CURRENT_SPx_SYNC
//! ```
//!
//! `IT` is an instruction whose condition passed, `IS` one that was skipped; then its number, address (and
//! physical address), opcode, state (`A` A32, `T` T32, `X` ThumbEE, `O` A64), mode and security state. `MR` and
//! `MW` are reads and writes with their size in bytes, `R` registers, `E` events. The processor's name may
//! be absent. Lines of any other kind are left alone. (Fast Models Reference Guide, "TarmacTrace file format")

use tracewright_base::{Access, Cause, Direction, Isa, Step};

use super::entry::{Entry, Event, Executed, Mode, Opcode, Raised};
use super::text::{Expected, Words, decimal, grouped, hex};
use super::writer::Line;

/// Reads lines. It knows the processors by name.
#[derive(Clone, Debug, Default)]
pub struct Parser {
    names: Vec<Vec<u8>>,
    /// Where each processor's last instruction was.
    last: Vec<u64>,
}

impl Parser {
    /// Reads one line.
    pub fn line(&mut self, line: &[u8], out: &mut impl FnMut(Entry)) -> Result<(), Expected> {
        let mut words = Words(line);
        let first = words.word();
        if first.is_empty() || first == b"Tarmac" {
            return Ok(());
        }
        let time = decimal(first).ok_or(Expected("a time in decimal, as `53 clk`"))?;
        if words.word().is_empty() {
            return Err(Expected("the unit of the time, as `clk`"));
        }
        let mut kind = words.word();
        let mut cpu = 0;
        if !is_kind(kind) {
            cpu = self.cpu(kind);
            kind = words.word();
        }
        let mut say = |event| out(Entry { cpu, time: Some(time), event });
        match kind {
            b"IT" | b"IS" => {
                let executed = instruction(words, kind == b"IT")?;
                if let Some(last) = self.last.get_mut(usize::from(cpu)) {
                    *last = executed.address;
                } else {
                    self.last.resize(usize::from(cpu) + 1, executed.address);
                }
                say(Event::Instruction(executed));
            }
            b"E" => event(words, &mut say)?,
            b"R" => register(words, &mut say)?,
            [b'M', b'R' | b'W', b'1'..=b'9', ..] => {
                let by = self.last.get(usize::from(cpu)).copied();
                say(Event::Step(Step::Access(access(kind, words, by)?)));
            }
            _ => {}
        }
        Ok(())
    }

    /// The number of a processor: that at the end of `cpuN`, or the next that is free.
    fn cpu(&mut self, name: &[u8]) -> u16 {
        if let Some(known) = self.names.iter().position(|n| n == name) {
            return known as u16;
        }
        let number = name.strip_prefix(b"cpu").and_then(decimal).filter(|&n| n < 256);
        let at = match number.map(|n| n as usize) {
            Some(n) if self.names.get(n).is_none_or(Vec::is_empty) => n,
            _ => self.names.len(),
        };
        if self.names.len() <= at {
            self.names.resize(at + 1, Vec::new());
        }
        if let Some(place) = self.names.get_mut(at) {
            *place = name.to_vec();
        }
        at as u16
    }
}

/// A word that is not the name of a processor.
fn is_kind(word: &[u8]) -> bool {
    matches!(word, b"IT" | b"IS" | b"E" | b"R" | [b'M', b'R' | b'W', b'1'..=b'9', ..])
        || word.is_empty()
        || word.ends_with(b":")
}

fn address(word: &[u8]) -> Option<u64> {
    hex(word.split(|&b| b == b':').next()?)
}

fn instruction(mut words: Words<'_>, passed: bool) -> Result<Executed, Expected> {
    if !words.word().starts_with(b"(") {
        return Err(Expected("the instruction's number in brackets, as `(53)`"));
    }
    let address = address(words.word()).ok_or(Expected("an address in hexadecimal"))?;
    let digits = words.word();
    let bits = hex(digits).filter(|_| matches!(digits.len(), 4 | 8));
    let bits = bits.ok_or(Expected("an opcode of 4 or 8 hexadecimal digits"))? as u32;
    let isa = match words.word() {
        b"A" => Isa::A32,
        b"T" => Isa::T32,
        b"X" => Isa::ThumbEe,
        b"O" => Isa::A64,
        _ => return Err(Expected("the state: `A`, `T`, `X` or `O`")),
    };
    let mode = words.word();
    if mode.is_empty() || mode == b":" {
        return Err(Expected("a mode, as `EL1h_n` or `svc_s`"));
    }
    Ok(Executed {
        address,
        opcode: Some(Opcode { bits, size: digits.len() as u8 / 2 }),
        isa: Some(isa),
        passed: Some(passed),
        condition: None,
        mode: read_mode(mode),
    })
}

/// `EL1h_n`, `svc_s`, `usr`: a mode and a security state.
fn read_mode(word: &[u8]) -> Mode {
    let mut parts = word.splitn(2, |&b| b == b'_');
    let el = match parts.next().unwrap_or_default() {
        [b'E' | b'e', b'L' | b'l', n @ b'0'..=b'3', ..] => Some(n - b'0'),
        b"usr" => Some(0),
        b"svc" | b"irq" | b"fiq" | b"abt" | b"und" | b"sys" => Some(1),
        b"hyp" => Some(2),
        b"mon" => Some(3),
        _ => None,
    };
    let non_secure = match parts.next() {
        Some(b"s") => Some(false),
        Some(b"n" | b"ns") => Some(true),
        _ => None,
    };
    Mode { el, non_secure }
}

/// Event names, and what they are for. `true` where the instruction at the event's value caused it.
const EVENTS: [(&str, u32, Cause, bool); 10] = [
    ("CoreEvent_Reset", 1, Cause::Reset, false),
    ("CoreEvent_RESET", 1, Cause::Reset, false),
    ("CoreEvent_UndefinedInstr", 2, Cause::Undefined, true),
    ("CoreEvent_SWI", 3, Cause::Call, false),
    ("CoreEvent_PrefetchAbort", 4, Cause::InstructionFault, true),
    ("CoreEvent_DataAbort", 5, Cause::DataFault, true),
    ("CoreEvent_IRQ", 7, Cause::Irq, false),
    ("CoreEvent_FIQ", 8, Cause::Fiq, false),
    ("CoreEvent_ImpDataAbort", 14, Cause::SystemError, false),
    ("DebugEvent_HaltingDebugState", 0, Cause::Halt, false),
];

fn event(mut words: Words<'_>, say: &mut impl FnMut(Event)) -> Result<(), Expected> {
    let mut before = words.word();
    let value = address(before);
    let mut mode = b"".as_slice();
    let name = loop {
        let word = words.word();
        if before.starts_with(b"CoreEvent_") || before.starts_with(b"DebugEvent_") {
            break before;
        }
        if word.is_empty() {
            return Err(Expected("the name of an event, as `CoreEvent_IRQ`"));
        }
        if word.starts_with(b"EL") || word.len() == 3 {
            mode = word;
        }
        before = word;
    };
    if name == b"CoreEvent_ModeChange" {
        let mode = read_mode(mode);
        if mode.el.is_some() {
            say(Event::Mode(mode));
        }
        return Ok(());
    }
    let known = EVENTS.iter().find(|(word, ..)| word.as_bytes() == name);
    let (cause, synchronous) = match known {
        Some(&(_, _, cause, synchronous)) => (Some(cause), synchronous),
        None if name.ends_with(b"_IRQ") => (Some(Cause::Irq), false),
        None if name.ends_with(b"_FIQ") => (Some(Cause::Fiq), false),
        None if name.ends_with(b"_ABORT") => (Some(Cause::SystemError), false),
        None if name.ends_with(b"_SYNC") => (None, true),
        None => return Ok(()),
    };
    if cause == Some(Cause::Halt) {
        say(Event::Step(Step::Halted));
        return Ok(());
    }
    let return_address = value.filter(|_| synchronous && cause.is_some());
    say(Event::Raised(Raised { cause, return_address, synchronous, ..Raised::default() }));
    Ok(())
}

fn register(mut words: Words<'_>, say: &mut impl FnMut(Event)) -> Result<(), Expected> {
    let name = words.word().to_ascii_uppercase();
    let number = |mut words: Words<'_>| {
        let word = words.word();
        let plain = word.split(|&b| b == b':').collect::<Vec<_>>().concat();
        grouped(&plain).ok_or(Expected("a register's value in hexadecimal"))
    };
    match name.as_slice() {
        b"ELR_EL1" | b"ELR_EL2" | b"ELR_EL3" | b"ELR_HYP" => {
            say(Event::ReturnAddress(number(words)?));
        }
        b"CONTEXTIDR" | b"CONTEXTIDR_EL1" => say(Event::ContextId(number(words)? as u32)),
        _ => {}
    }
    Ok(())
}

/// `MR8 ADDRESS DATA`; letters after the size say how it was accessed.
fn access(kind: &[u8], mut words: Words<'_>, by: Option<u64>) -> Result<Access, Expected> {
    let size: Vec<u8> = kind.iter().skip(2).copied().take_while(u8::is_ascii_digit).collect();
    let size = decimal(&size).filter(|&n| n <= 64).ok_or(Expected("a size in bytes"))? as u8;
    let direction = if kind.get(1) == Some(&b'R') { Direction::Read } else { Direction::Write };
    let address = address(words.word()).ok_or(Expected("a data address in hexadecimal"))?;
    let mut access = Access::new(direction, size, 0).at(address);
    // Vectors are wider than what an access can hold: the value stays unknown.
    if size <= 8 {
        let value = grouped(words.word());
        access = access.of(value.ok_or(Expected("the data in hexadecimal"))?);
    }
    Ok(match by {
        Some(by) => access.made_by(by),
        None => access,
    })
}

/// Writes an entry; `number` counts instructions. What Tarmac has no words for is left out.
pub(super) fn emit(entry: &Entry, number: &mut u64, line: &mut Line) {
    let Entry { cpu, .. } = *entry;
    let time = entry.time.unwrap_or(*number);
    match entry.event {
        Event::Instruction(Executed { address, opcode, isa, passed, mode, .. }) => {
            *number += 1;
            let time = entry.time.unwrap_or(*number);
            let kind = if passed == Some(false) { "IS" } else { "IT" };
            let opcode = opcode.unwrap_or_default();
            let digits = if opcode.size == 2 { 4 } else { 8 };
            let (wide, state) = match isa {
                Some(Isa::A32) => (8, 'A'),
                Some(Isa::T32) => (8, 'T'),
                Some(Isa::ThumbEe) => (8, 'X'),
                _ => (16, 'O'),
            };
            let name = match (mode.el, state) {
                (None, _) => "unknown",
                (Some(0), 'O') => "EL0t",
                (Some(1), 'O') => "EL1h",
                (Some(2), 'O') => "EL2h",
                (Some(_), 'O') => "EL3h",
                (Some(0), _) => "usr",
                (Some(1), _) => "svc",
                (Some(2), _) => "hyp",
                (Some(_), _) => "mon",
            };
            let security = match mode.non_secure {
                None => "",
                Some(true) => "_n",
                Some(false) => "_s",
            };
            let bits = opcode.bits;
            line.whole(format_args!(
                "{time} clk cpu{cpu} {kind} ({number}) {address:0wide$x} {bits:0digits$x} \
                 {state} {name}{security} :"
            ));
        }
        Event::Step(Step::Access(access)) => {
            let Some(address) = access.address() else { return };
            let way = if access.direction == Direction::Write { 'W' } else { 'R' };
            let (size, digits) = (access.size.max(1), usize::from(access.size.clamp(1, 8)) * 2);
            let value = access.value().unwrap_or(0);
            let (high, low) = (value >> 32, value & 0xffff_ffff);
            match size {
                8 => line.whole(format_args!(
                    "{time} clk cpu{cpu} M{way}8 {address:08x} {high:08x}_{low:08x}"
                )),
                _ => line.whole(format_args!(
                    "{time} clk cpu{cpu} M{way}{size} {address:08x} {value:0digits$x}"
                )),
            }
        }
        Event::Raised(raised) => {
            let known = EVENTS.iter().find(|(_, _, cause, _)| Some(*cause) == raised.cause);
            let (name, event) = known.map_or(("CoreEvent_CURRENT_SPx_SYNC", 0x84), |k| (k.0, k.1));
            let value = raised.return_address.unwrap_or(0);
            line.whole(format_args!("{time} clk cpu{cpu} E {value:016x} {event:08x} {name}"));
            if let Some(address) = raised.return_address {
                line.whole(format_args!("{time} clk cpu{cpu} R ELR_EL1 {address:016x}"));
            }
        }
        Event::ReturnAddress(address) => {
            line.whole(format_args!("{time} clk cpu{cpu} R ELR_EL1 {address:016x}"));
        }
        Event::ContextId(id) => {
            line.whole(format_args!("{time} clk cpu{cpu} R CONTEXTIDR_EL1 {id:016x}"));
        }
        Event::Mode(Mode { el: Some(el), .. }) => line.whole(format_args!(
            "{time} clk cpu{cpu} E 00000000 EL{el}h 00000019 CoreEvent_ModeChange"
        )),
        Event::Step(Step::Halted) => {
            line.whole(format_args!("{time} clk cpu{cpu} E DebugEvent_HaltingDebugState 00000000"));
        }
        _ => {}
    }
}
