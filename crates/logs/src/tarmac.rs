//! Tarmac, the text log of Arm's models and of RTL simulations. There are two variants.
//!
//! Fast Models, and the RTL of small cores, write:
//!
//! ```text
//! 53 clk cpu0 IT (53) 002109f0 f94003e1 O EL3h_s : LDR      x1,[sp,#0]
//! 53 clk cpu0 MR8 000ffb80:0000000ffb80 00000000_000ffbb8
//! 53 clk cpu0 R X1 00000000000FFBB8
//! 54 clk cpu0 E 000000008000f040 00000084 CoreEvent_CURRENT_SPx_SYNC
//! ```
//!
//! `IT` is an instruction whose condition passed, and `IS` a skipped instruction. Then follow its
//! number, address (and physical address), opcode, state (`A` A32, `T` T32, `X` ThumbEE, `O` A64),
//! mode and security state. `MR` and
//! `MW` are reads and writes with their size in bytes, `R` registers, `E` events.
//!
//! Cycle Models, and the RTL of large cores, write continuation lines without a time:
//!
//! ```text
//! 181 ns  ES  (0000016c:e1800001) A svc:            ORR      r0,r0,r1
//!             R R0 (USR) 00c50878
//! 184 ns  ES  (00000358:e4d12001) A svc:     CCFAIL LDRBEQ   r2,[r1],#1
//!             LD 00000370  ........ ......48 ........ ........     0000000370    NM ISH IWBRWA
//! 199 ns  ES  EXC [0x200] Synchronous Current EL with SP_ELx
//! ```
//!
//! The name of the processor may be absent. Lines of other kinds are ignored. (Fast Models
//! Reference Guide, "TarmacTrace file format")

mod event;
mod memory;

use tracewright_base::{Direction, Isa, Step};

use crate::entry::{Entry, Event, Executed, Mode, Opcode};
use crate::line::Line;
use crate::outcomes::compares;
use crate::text::{self, Expected, Words, decimal, grouped, hex};

/// Reads lines. The parser numbers the processors by name.
#[derive(Clone, Debug, Default)]
pub struct Parser {
    names: Vec<Vec<u8>>,
    /// The last instruction of each processor.
    last: Vec<Last>,
    /// Time and processor of the preceding line, which apply to continuation lines.
    now: Option<(u64, u16)>,
    /// The direction of a preceding line of memory, which applies to continuation lines.
    row: Option<Direction>,
}

/// The last instruction of a processor.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    address: u64,
    isa: Isa,
    /// The processor has the M profile.
    microcontroller: bool,
    /// Address of the next instruction, if it cannot be fetched.
    unfetched: Option<u64>,
}

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Instruction {
        passed: bool,
    },
    /// `ES`: an instruction or an exception.
    Either,
    Exception,
    Event,
    Register,
    /// `LD`, `ST`: 16 bytes of memory.
    Row(Direction),
    /// `MR4`, `R08`.
    Access,
    /// A kind without information on execution.
    Other,
}

fn kind(word: &[u8]) -> Option<Kind> {
    Some(match word {
        b"IT" => Kind::Instruction { passed: true },
        b"IS" => Kind::Instruction { passed: false },
        b"ES" => Kind::Either,
        b"EXC" => Kind::Exception,
        b"E" => Kind::Event,
        b"R" => Kind::Register,
        b"LD" => Kind::Row(Direction::Read),
        b"ST" => Kind::Row(Direction::Write),
        [b'R' | b'W', b'0'..=b'9', b'0'..=b'9'] => Kind::Access,
        [b'M', b'R' | b'W', b'1'..=b'9', ..] | [b'M', b'N', b'R' | b'W', b'1'..=b'9', ..] => {
            Kind::Access
        }
        b"BR" | b"CADI" | b"CACHE" | b"TTW" => Kind::Other,
        other if other.ends_with(b":") => Kind::Other,
        _ => return None,
    })
}

/// Whether a line has a time with its unit, such as `53 clk`, and a kind, which the name of a
/// processor may precede.
pub fn is_line(line: &[u8]) -> bool {
    let mut words = Words(line);
    let known = |words: &mut Words<'_>| kind(words.word()).is_some_and(|kind| kind != Kind::Other);
    time(&mut words).is_some() && (known(&mut words) || known(&mut words))
}

impl Parser {
    /// Reads one line.
    pub fn line(&mut self, line: &[u8], out: &mut dyn FnMut(Entry)) -> Result<(), Expected> {
        let mut words = Words(line);
        if matches!(words.peek(), b"" | b"Tarmac" | [b'#', ..]) {
            return Ok(());
        }
        let row = self.row.take();
        if let Some(time) = time(&mut words) {
            self.now = Some((time, 0));
        } else if let Some(direction) = row.filter(|_| memory::is_row(words)) {
            self.row = row;
            return self.memory_row(direction, words, out);
        } else if kind(words.peek()).is_none() {
            return Err(Expected("a time and its unit, as `53 clk`, or a known kind of line"));
        }
        let mut ahead = words;
        let first = ahead.word();
        let kind = match kind(first) {
            Some(kind) => kind,
            None => match kind(ahead.word()) {
                Some(kind) => {
                    let time = self.now.map_or(0, |(time, _)| time);
                    self.now = Some((time, self.cpu(first)));
                    kind
                }
                None => return Ok(()),
            },
        };
        words = ahead;
        let (time, cpu) = self.now.map_or((None, 0), |(time, cpu)| (Some(time), cpu));
        let mut emit = |event| out(Entry { cpu, time, event });
        match kind {
            Kind::Instruction { passed } => {
                let executed = instruction(words, passed)?;
                self.executed(cpu, executed, emit);
            }
            Kind::Either => match words.peek() {
                [b'(', ..] => {
                    let (executed, fetched) = state_first(words)?;
                    if fetched {
                        self.executed(cpu, executed, emit);
                    } else if let Some(last) = self.last.get_mut(usize::from(cpu)) {
                        last.unfetched = Some(executed.address);
                    }
                }
                b"EXC" => {
                    words.word();
                    event::exception(words, self.last(cpu), &mut emit)?;
                }
                // A line with the exception follows.
                b"Reset" => {}
                _ => return Err(Expected("`(ADDRESS:OPCODE)` or `EXC` after `ES`")),
            },
            Kind::Exception => event::exception(words, self.last(cpu), &mut emit)?,
            Kind::Event => event::event(words, self.last(cpu), &mut emit)?,
            Kind::Register => register(words, &mut emit)?,
            Kind::Access => {
                if let Some(access) = memory::access(first_of(line, words), words, self.last(cpu))?
                {
                    emit(Event::Step(Step::Access(access)));
                }
            }
            Kind::Row(direction) => {
                self.row = Some(direction);
                return self.memory_row(direction, words, out);
            }
            Kind::Other => {}
        }
        Ok(())
    }

    fn executed(&mut self, cpu: u16, executed: Executed, mut emit: impl FnMut(Event)) {
        let at = usize::from(cpu);
        if self.last.len() <= at {
            self.last.resize(at + 1, Last::default());
        }
        if let Some(last) = self.last.get_mut(at) {
            let isa = executed.isa.unwrap_or_default();
            last.address = executed.address;
            last.unfetched = None;
            last.isa = isa;
            last.microcontroller = isa == Isa::T32 && executed.mode.el.is_none();
        }
        emit(Event::Instruction(executed));
    }

    fn last(&self, cpu: u16) -> Option<Last> {
        self.last.get(usize::from(cpu)).copied()
    }

    fn memory_row(
        &self,
        direction: Direction,
        words: Words<'_>,
        out: &mut dyn FnMut(Entry),
    ) -> Result<(), Expected> {
        let (time, cpu) = self.now.map_or((None, 0), |(time, cpu)| (Some(time), cpu));
        memory::row(direction, words, self.last(cpu), &mut |access| {
            out(Entry { cpu, time, event: Event::Step(Step::Access(access)) });
        })
    }

    /// The number of a processor: N of the name `cpuN`, or the next free number.
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
        if let Some(entry) = self.names.get_mut(at) {
            *entry = name.to_vec();
        }
        at as u16
    }
}

/// Units of time.
const UNITS: [&[u8]; 10] =
    [b"clk", b"ns", b"ps", b"us", b"ms", b"cs", b"fs", b"tic", b"cyc", b"cycles"];

/// `53 clk`, `354ns`, `10.356000us`: a time and its unit. The decimal point is ignored: all times
/// of a log have the same number of decimals.
pub(super) fn time(words: &mut Words<'_>) -> Option<u64> {
    let mut ahead = *words;
    let word = ahead.word();
    let end = word.iter().position(|b| !matches!(b, b'0'..=b'9' | b'.')).unwrap_or(word.len());
    let (digits, unit) = word.split_at(end);
    let unit = if unit.is_empty() { ahead.word() } else { unit };
    if !UNITS.contains(&unit) {
        return None;
    }
    let digits: Vec<u8> = digits.iter().copied().filter(|&b| b != b'.').collect();
    let time = decimal(&digits)?;
    *words = ahead;
    Some(time)
}

/// The last word before the rest of a line.
fn first_of<'a>(line: &'a [u8], rest: Words<'_>) -> &'a [u8] {
    let before = line.get(..line.len() - rest.0.len()).unwrap_or_default();
    before.rsplit(|b| b.is_ascii_whitespace()).next().unwrap_or_default()
}

/// `0000815c`, `0000815c:00000000815c_NS,00000000815e_NS`.
fn address(word: &[u8]) -> Option<u64> {
    hex(word.split(|&b| b == b':').next()?)
}

fn state(word: &[u8]) -> Option<Isa> {
    Some(match word {
        b"A" => Isa::A32,
        b"T" | b"T16" | b"T32" => Isa::T32,
        b"X" => Isa::ThumbEe,
        b"O" => Isa::A64,
        _ => return None,
    })
}

fn opcode(digits: &[u8]) -> Result<Opcode, Expected> {
    let bits = hex(digits).filter(|_| matches!(digits.len(), 4 | 8));
    let bits = bits.ok_or(Expected("an opcode of 4 or 8 hexadecimal digits"))? as u32;
    Ok(Opcode { bits, size: digits.len() as u8 / 2 })
}

/// `(53) ADDRESS OPCODE O EL3h_s :`; of a small core `(ADDRESS:53) ADDRESS OPCODE T16` or
/// `ADDRESS OPCODE`; of an emulator `(ADDRESS) OPCODE O mode :`.
fn instruction(mut words: Words<'_>, passed: bool) -> Result<Executed, Expected> {
    let mut first = words.word();
    let bracket = first.strip_prefix(b"(").and_then(|word| word.strip_suffix(b")"));
    if bracket.is_some() {
        first = words.word();
    }
    let second = words.peek();
    let (place, digits) = match bracket {
        Some(inside) if state(second).is_some() => (inside, first),
        _ => (first, words.word()),
    };
    let address = address(place).ok_or(Expected("an address in hexadecimal"))?;
    let opcode = opcode(digits)?;
    // A processor without a state column has one instruction set.
    let isa = match state(words.peek()) {
        Some(isa) => {
            let letter = words.word().len() == 1;
            if letter && matches!(words.peek(), b"" | b":") {
                return Err(Expected("a mode, as `EL1h_n` or `svc_s`"));
            }
            isa
        }
        None if bracket.is_none() => Isa::T32,
        None => return Err(Expected("the state: `A`, `T`, `X` or `O`")),
    };
    let mode = read_mode(words.peek());
    Ok(Executed {
        address,
        opcode: Some(opcode),
        isa: Some(isa),
        passed: outcome(passed, isa, Some(opcode)),
        mode,
        ..Executed::default()
    })
}

/// Whether an instruction passed its condition. CBZ, TBZ and similar have none: they are always
/// executed, and may branch or not.
fn outcome(passed: bool, isa: Isa, opcode: Option<Opcode>) -> Option<bool> {
    let compares = opcode.is_some_and(|opcode| compares(isa, opcode));
    Some(passed).filter(|passed| !passed || !compares)
}

/// `(ADDRESS:OPCODE) A svc:     CCFAIL MOVEQ r6,#0x1000`, and whether the fetch succeeded.
fn state_first(mut words: Words<'_>) -> Result<(Executed, bool), Expected> {
    let form = Expected("`(ADDRESS:OPCODE)` and a state");
    let inside = words.word().strip_prefix(b"(").and_then(|word| word.strip_suffix(b")"));
    let mut parts = inside.ok_or(form)?.splitn(2, |&b| b == b':');
    let address = parts.next().and_then(hex).ok_or(form)?;
    let digits = parts.next().ok_or(form)?;
    let fetched = digits.iter().any(|&b| b != b'-');
    let opcode = if fetched { Some(opcode(digits)?) } else { None };
    let isa = state(words.word()).ok_or(Expected("the state: `A`, `T`, `X` or `O`"))?;
    let mode = words.word();
    let mode = read_mode(mode.strip_suffix(b":").unwrap_or(mode));
    let passed = outcome(words.peek() != b"CCFAIL", isa, opcode);
    let isa = Some(isa);
    Ok((Executed { address, opcode, isa, passed, mode, ..Executed::default() }, fetched))
}

/// `EL1h_n`, `el0t_ns`, `svc_s`, `usr`: a mode and a security state.
fn read_mode(word: &[u8]) -> Mode {
    let mut parts = word.splitn(2, |&b| b == b'_');
    let el = match parts.next().unwrap_or_default() {
        [b'E' | b'e', b'L' | b'l', n @ b'0'..=b'3', ..] => Some(n - b'0'),
        name => text::mode(name),
    };
    let non_secure = match parts.next() {
        Some(b"s") => Some(false),
        Some(b"n" | b"ns") => Some(true),
        _ => None,
    };
    Mode { el, non_secure }
}

fn register(mut words: Words<'_>, emit: &mut impl FnMut(Event)) -> Result<(), Expected> {
    let name = words.word().to_ascii_uppercase();
    match name.as_slice() {
        b"ELR_EL1" | b"ELR_EL2" | b"ELR_EL3" | b"ELR_HYP" => {
            if let Some(address) = value(words)? {
                emit(Event::ReturnAddress(address));
            }
        }
        b"CONTEXTIDR" | b"CONTEXTIDR_EL1" | b"CONTEXTIDR_S" | b"CONTEXTIDR_NS" => {
            if let Some(id) = value(words)? {
                emit(Event::ContextId(id as u32));
            }
        }
        _ => {}
    }
    Ok(())
}

/// `0123456789abcdef`, `01234567 89abcdef`, `(AARCH32) 00c50878`; `--------` is unknown.
fn value(mut words: Words<'_>) -> Result<Option<u64>, Expected> {
    if words.peek().starts_with(b"(") {
        words.word();
    }
    let mut digits = Vec::new();
    while !words.is_empty() {
        let word = words.word();
        if !word.iter().all(|b| b.is_ascii_hexdigit() || matches!(b, b'_' | b':' | b'-')) {
            break;
        }
        digits.extend(word.iter().filter(|&&b| b != b':'));
    }
    if digits.contains(&b'-') {
        return Ok(None);
    }
    grouped(&digits).map(Some).ok_or(Expected("a register's value in hexadecimal"))
}

/// Writes an entry. `number` counts instructions. An entry that the format cannot express is left
/// out.
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
            let known = event::EVENTS.iter().find(|(_, _, cause, _)| Some(*cause) == raised.cause);
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
