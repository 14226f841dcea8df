//! A log of comma-separated columns under a header line.
//!
//! ```text
//! cpu,step,address,isa,opcode,passed,el,security,size,value,cause,target,time
//! 0,instruction,8000,A32,e1a00000,,1,secure,,,,,
//! 0,read,20000000,,,,,,4,12345678,,,
//! 0,exception,8004,,,,,,,,irq,18,
//! ```
//!
//! The header line names the columns, in any order. Only `address` is required. A line may have
//! fewer cells than the header, and a cell may be empty. There is no quoting. `address`, `opcode`,
//! `value` and
//! `target` are hexadecimal, with or without 0x. Other numbers are decimal, or hexadecimal with 0x.
//! The optional column `stall` is the number of cycles in which the processor retired no
//! instruction before the event of the line.
//!
//! | step | cells |
//! |---|---|
//! | `instruction`, or empty | `address`; `isa` (A64, A32, T32, RV32, RV64); `opcode`, of 4 or 8 digits; `passed` 1 or 0; `el`; `security` |
//! | `exception` | after the last instruction: `cause`; `address` to return to; `target` vector; `value` (tval) |
//! | `fault` | the same, for the instruction at `address`, which did not retire |
//! | `mode` | `el` and `security` from here on |
//! | `contextid`, `vmid` | `value` |
//! | `read`, `write`, `move` | data of the last instruction: `address`, `size`, `value`; `cause` flags as `late+coprocessor` |
//! | `software-write` | `address` port or channel, `target` page or master, `size` in bits, `value`, `cause` flags as `marker`, `time` |
//! | `dwt-event` | `address` discriminator, `size`, `value` |
//! | `cycles`, `timestamp`, `events`, `signals` | `value`; `signals` has up to 256 bits |
//! | `instrumentation` | `el`, `value` |
//! | `transaction` | `cause`: `inside`, `start`, `commit`, `failure` |
//! | `trigger`, `off`, `on`, `halted`, `overflow` | |
//! | `code` | `opcode` at `address`, executed or not |
//! | `withdrawn` | the last instruction, at `address`, was not executed |
//! | `flags` | `value`: condition flags before the last instruction, N 8, Z 4, C 2, V 1 |
//!
//! If bit 0 of the `address` of an instruction without `isa` is 1, the instruction is T32.

use tracewright_base::{
    Access, Cause, Channel, Direction, DwtEvent, Isa, Software, Step, Transaction,
};

use crate::entry::{Entry, Event, Executed, Mode, Opcode, Raised};
use crate::line::Line;
use crate::text::{Expected, hex, number};

/// The columns.
const COLUMNS: [&str; 14] = [
    "cpu", "step", "address", "isa", "opcode", "passed", "el", "security", "size", "value",
    "cause", "target", "time", "stall",
];

/// The header line of written logs. The cycles of a stall are separate lines.
pub(super) const HEADER: &str =
    "cpu,step,address,isa,opcode,passed,el,security,size,value,cause,target,time";

const CPU: usize = 0;
const STEP: usize = 1;
const ADDRESS: usize = 2;
const ISA: usize = 3;
const OPCODE: usize = 4;
const PASSED: usize = 5;
const EL: usize = 6;
const SECURITY: usize = 7;
const SIZE: usize = 8;
const VALUE: usize = 9;
const CAUSE: usize = 10;
const TARGET: usize = 11;
const TIME: usize = 12;
const STALL: usize = 13;

/// Causes of exceptions by name. Causes with a number are written as `riscv:N`, `interrupt:N`,
/// `vector:N` and `number:N`.
const CAUSES: [(&str, Cause); 13] = [
    ("reset", Cause::Reset),
    ("halt", Cause::Halt),
    ("call", Cause::Call),
    ("trap", Cause::Trap),
    ("serror", Cause::SystemError),
    ("breakpoint", Cause::InstructionDebug),
    ("watchpoint", Cause::DataDebug),
    ("alignment", Cause::Alignment),
    ("instruction-fault", Cause::InstructionFault),
    ("data-fault", Cause::DataFault),
    ("undefined", Cause::Undefined),
    ("irq", Cause::Irq),
    ("fiq", Cause::Fiq),
];

const ACCESS: [(&str, u8); 8] = [
    ("coprocessor", Access::COPROCESSOR),
    ("continued", Access::CONTINUED),
    ("late", Access::LATE),
    ("store-failed", Access::STORE_FAILED),
    ("value-not-traced", Access::VALUE_NOT_TRACED),
    ("suppressed", Access::SUPPRESSED),
    ("big-endian", Access::BIG_ENDIAN),
    ("exception", Access::EXCEPTION),
];

const SOFTWARE: [(&str, u16); 10] = [
    ("marker", Software::MARKER),
    ("trigger", Software::TRIGGER),
    ("after-overflow", Software::AFTER_OVERFLOW),
    ("frequency", Software::FREQUENCY),
    ("master-error", Software::MASTER_ERROR),
    ("global-error", Software::GLOBAL_ERROR),
    ("flag", Software::FLAG),
    ("user", Software::USER),
    ("channel-error", Software::CHANNEL_ERROR),
    ("cross-sync", Software::CROSS_SYNC),
];

const TRANSACTIONS: [(&str, Transaction); 4] = [
    ("inside", Transaction::Inside),
    ("start", Transaction::Start),
    ("commit", Transaction::Commit),
    ("failure", Transaction::Failure),
];

/// The names in a header line. It may begin with a byte order mark, which spreadsheets write.
fn names(line: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    line.split(|&b| b == b',').map(<[u8]>::trim_ascii)
}

/// The index of the column with this name.
fn column(name: &[u8]) -> Option<usize> {
    COLUMNS.iter().position(|column| name == column.as_bytes())
}

/// Whether all cells of the line are columns, with `address` among them.
pub(super) fn is_header(line: &[u8]) -> bool {
    let mut names = names(line);
    names.clone().all(|name| column(name).is_some()) && names.any(|name| name == b"address")
}

/// The first unknown column of a header line that has the column `address`.
pub fn unknown_column(line: &[u8]) -> Option<&[u8]> {
    let named = names(line).any(|name| name == b"address");
    names(line).find(|name| named && column(name).is_none())
}

/// Reads lines. The first line is the header.
#[derive(Clone, Debug, Default)]
pub struct Parser {
    columns: Vec<usize>,
}

/// The cells of a line by column.
type Cells<'a> = [&'a [u8]; COLUMNS.len()];

impl Parser {
    /// Reads one line.
    pub fn line(
        &mut self,
        line: &[u8],
        isa: Isa,
        out: &mut dyn FnMut(Entry),
    ) -> Result<(), Expected> {
        if self.columns.is_empty() {
            return self.header(line);
        }
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let mut cells: Cells<'_> = [b""; COLUMNS.len()];
        let mut columns = self.columns.iter();
        for cell in line.split(|&b| b == b',') {
            let column =
                columns.next().ok_or(Expected("no more cells than the header line has"))?;
            if let Some(origin) = cells.get_mut(*column) {
                *origin = cell.trim_ascii();
            }
        }
        let cpu = decimal(&cells, CPU, "the number of a processor")?.unwrap_or(0);
        let cpu = u16::try_from(cpu).map_err(|_| Expected("a processor below 65536"))?;
        let time = decimal(&cells, TIME, "a time")?;
        let event = event(&cells, isa)?;
        if let Some(stall) = decimal(&cells, STALL, "a number of cycles")? {
            let cycles = u32::try_from(stall).map_err(|_| Expected("fewer cycles than 2^32"))?;
            out(Entry::new(cpu, Event::Step(Step::Cycles(cycles))));
        }
        // The time of a software write is part of the step.
        let time = if matches!(event, Event::Step(Step::SoftwareWrite(_))) { None } else { time };
        out(Entry { cpu, time, event });
        Ok(())
    }

    fn header(&mut self, line: &[u8]) -> Result<(), Expected> {
        if !is_header(line) {
            return Err(Expected("a header line with the names of columns, `address` among them"));
        }
        self.columns = names(line).filter_map(column).collect();
        Ok(())
    }
}

fn decimal(cells: &Cells<'_>, n: usize, what: &'static str) -> Result<Option<u64>, Expected> {
    if cells[n].is_empty() { Ok(None) } else { number(cells[n]).ok_or(Expected(what)).map(Some) }
}

fn hexadecimal(cells: &Cells<'_>, n: usize, what: &'static str) -> Result<Option<u64>, Expected> {
    if cells[n].is_empty() { Ok(None) } else { hex(cells[n]).ok_or(Expected(what)).map(Some) }
}

/// `value`, which must not be greater than `most`.
fn at_most<T: TryFrom<u64>>(value: u64, most: u64, what: &'static str) -> Result<T, Expected> {
    let value = Some(value).filter(|value| *value <= most);
    value.and_then(|value| T::try_from(value).ok()).ok_or(Expected(what))
}

fn event(cells: &Cells<'_>, isa: Isa) -> Result<Event, Expected> {
    let value = || hexadecimal(cells, VALUE, "a value in hexadecimal");
    let needed = || value()?.ok_or(Expected("a value in the column `value`"));
    let word =
        || at_most::<u32>(needed()?, u32::MAX.into(), "at most 32 bits in the column `value`");
    let four_bits = || at_most::<u8>(needed()?, 0xf, "at most 4 bits in the column `value`");
    let address = || hexadecimal(cells, ADDRESS, "an address in hexadecimal");
    let at = || address()?.ok_or(Expected("an address in the column `address`"));
    Ok(match cells[STEP] {
        b"" | b"instruction" => Event::Instruction(instruction(cells, at()?, isa)?),
        kind @ (b"exception" | b"fault") => Event::Raised(Raised {
            likely: None,
            cause: cause(cells[CAUSE])?,
            return_address: address()?,
            target: hexadecimal(cells, TARGET, "the vector in hexadecimal")?,
            value: value()?,
            synchronous: kind == b"fault",
        }),
        b"mode" => Event::Mode(mode(cells, isa)?),
        b"contextid" => Event::ContextId(word()?),
        b"vmid" => Event::Vmid(word()?),
        kind @ (b"read" | b"write" | b"move") => {
            let direction = match kind {
                b"read" => Direction::Read,
                b"write" => Direction::Write,
                _ => Direction::Unknown,
            };
            let size = decimal(cells, SIZE, "a size in bytes")?.unwrap_or(0);
            let size = at_most(size, 255, "a size of at most 255 bytes")?;
            let flags = flags(cells[CAUSE], &ACCESS)?;
            let mut access = Access::new(direction, size, flags);
            if let Some(address) = address()? {
                access = access.at(address);
            }
            if let Some(value) = value()? {
                access = access.of(value);
            }
            Event::Step(Step::Access(access))
        }
        b"software-write" => Event::Step(Step::SoftwareWrite(software(cells)?)),
        b"dwt-event" => Event::Step(Step::DwtEvent(DwtEvent {
            discriminator: at_most(
                at()?,
                0x1f,
                "a discriminator from 0 to 1f in the column `address`",
            )?,
            size: match decimal(cells, SIZE, "a size in bytes")? {
                Some(size @ (1 | 2 | 4)) => size as u8,
                _ => return Err(Expected("a size of 1, 2 or 4 bytes")),
            },
            value: word()?,
            after_overflow: false,
        })),
        b"cycles" => Event::Step(Step::Cycles(word()?)),
        b"timestamp" => Event::Step(Step::Timestamp(needed()?)),
        b"events" => Event::Step(Step::Events(four_bits()?)),
        b"signals" => Event::Step(Step::Signals(signals(cells[VALUE])?)),
        b"instrumentation" => {
            let el = decimal(cells, EL, "an exception level")?.unwrap_or(0);
            let el = at_most(el, 3, "an exception level from 0 to 3")?;
            Event::Step(Step::Instrumentation { el, value: needed()? })
        }
        b"transaction" => {
            let known = TRANSACTIONS.iter().find(|(name, _)| name.as_bytes() == cells[CAUSE]);
            let known = known.ok_or(Expected("`inside`, `start`, `commit` or `failure`"))?;
            Event::Step(Step::Transaction(known.1))
        }
        b"trigger" => Event::Step(Step::Trigger),
        b"off" => Event::Step(Step::Off),
        b"on" => Event::Step(Step::On),
        b"halted" => Event::Step(Step::Halted),
        b"overflow" => Event::Step(Step::Overflow),
        b"code" => Event::Code {
            address: at()?,
            opcode: opcode(cells[OPCODE])?.ok_or(Expected("an opcode in the column `opcode`"))?,
        },
        b"withdrawn" => Event::Withdrawn { address: at()? },
        b"flags" => Event::Flags(four_bits()?),
        _ => return Err(Expected("a known word in the column `step`")),
    })
}

/// The instruction set with this name.
pub(super) fn isa(name: &[u8]) -> Result<Isa, Expected> {
    Ok(match name {
        b"A64" => Isa::A64,
        b"A32" => Isa::A32,
        b"T32" => Isa::T32,
        b"ThumbEE" => Isa::ThumbEe,
        b"RV32" => Isa::Rv32,
        b"RV64" => Isa::Rv64,
        _ => return Err(Expected("an instruction set: A64, A32, T32, ThumbEE, RV32 or RV64")),
    })
}

fn instruction(cells: &Cells<'_>, address: u64, isa: Isa) -> Result<Executed, Expected> {
    let known = match cells[ISA] {
        b"" if matches!(isa, Isa::A32 | Isa::T32) && address & 1 != 0 => Some(Isa::T32),
        b"" if matches!(isa, Isa::A32 | Isa::T32) => None,
        b"" => Some(isa),
        name => Some(self::isa(name)?),
    };
    let passed = match cells[PASSED] {
        b"" => None,
        b"1" => Some(true),
        b"0" => Some(false),
        _ => return Err(Expected("1 or 0 in the column `passed`")),
    };
    Ok(Executed {
        address: if cells[ISA].is_empty() && known == Some(Isa::T32) {
            address & !1
        } else {
            address
        },
        opcode: opcode(cells[OPCODE])?,
        isa: known,
        passed,
        mode: mode(cells, isa)?,
        ..Executed::default()
    })
}

/// The number of hexadecimal digits of 64 signals.
const SIGNAL_DIGITS: usize = 16;

/// Up to 256 sideband signals in hexadecimal, the lowest 64 first in the result.
fn signals(cell: &[u8]) -> Result<[u64; 4], Expected> {
    let wrong = Expected("up to 256 signals in hexadecimal in the column `value`");
    let digits = cell.strip_prefix(b"0x").unwrap_or(cell);
    let mut words = [0; 4];
    let mut parts = digits.rchunks(SIGNAL_DIGITS);
    for word in &mut words {
        let Some(part) = parts.next() else { break };
        *word = hex(part).ok_or(wrong)?;
    }
    if digits.is_empty() || parts.next().is_some() { Err(wrong) } else { Ok(words) }
}

/// The hexadecimal digits of 256 signals, without leading zeros.
fn signals_text([a, b, c, d]: [u64; 4]) -> String {
    let digits = format!("{d:016x}{c:016x}{b:016x}{a:016x}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() { "0".to_owned() } else { digits.to_owned() }
}

fn opcode(cell: &[u8]) -> Result<Option<Opcode>, Expected> {
    let digits = cell.strip_prefix(b"0x").unwrap_or(cell);
    if digits.is_empty() {
        return Ok(None);
    }
    let bits = hex(digits).filter(|_| matches!(digits.len(), 4 | 8));
    let bits = bits.ok_or(Expected("an opcode of 4 or 8 hexadecimal digits"))? as u32;
    Ok(Some(Opcode { bits, size: digits.len() as u8 / 2 }))
}

fn mode(cells: &Cells<'_>, isa: Isa) -> Result<Mode, Expected> {
    let el = decimal(cells, EL, "an exception level")?;
    let el = match el {
        Some(el @ 0..=3) => Some(el as u8),
        // A RISC-V privilege has up to 4 bits. (`privilege_width`)
        Some(el @ 4..=15) if matches!(isa, Isa::Rv32 | Isa::Rv64) => Some(el as u8),
        Some(_) => {
            return Err(Expected("an exception level, 0 to 3; RISC-V: a privilege, 0 to 15"));
        }
        None => None,
    };
    let non_secure = match cells[SECURITY] {
        b"" => None,
        b"secure" => Some(false),
        b"non-secure" => Some(true),
        _ => return Err(Expected("`secure` or `non-secure`")),
    };
    Ok(Mode { el, non_secure })
}

/// The cause of an exception with this name.
pub(super) fn cause(cell: &[u8]) -> Result<Option<Cause>, Expected> {
    if cell.is_empty() {
        return Ok(None);
    }
    if let Some((_, cause)) = CAUSES.iter().find(|(name, _)| name.as_bytes() == cell) {
        return Ok(Some(*cause));
    }
    let mut parts = cell.splitn(2, |&b| b == b':');
    let (kind, rest) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let n = number(rest).and_then(|n| u16::try_from(n).ok());
    let cause = match (kind, n) {
        (b"riscv", Some(code)) => Cause::Riscv { code, interrupt: false },
        (b"interrupt", Some(code)) => Cause::Riscv { code, interrupt: true },
        (b"vector", Some(n)) => Cause::Vector(n),
        (b"number", Some(n)) => Cause::Number(n),
        _ => return Err(Expected("a cause, as `irq`, `data-fault`, `vector:15`, `riscv:2`")),
    };
    Ok(Some(cause))
}

fn flags<T: Copy + Default + std::ops::BitOr<Output = T>>(
    cell: &[u8],
    known: &[(&str, T)],
) -> Result<T, Expected> {
    let words = cell.split(|&b| b == b'+').filter(|word| !word.is_empty());
    words.into_iter().try_fold(T::default(), |all, word| {
        let found = known.iter().find(|(name, _)| name.as_bytes() == word);
        found.map(|(_, flag)| all | *flag).ok_or(Expected("known flags with `+` between them"))
    })
}

/// The `target` of a write to a port is empty or a page; of a write to the channel of a master,
/// `mN`.
fn software(cells: &Cells<'_>) -> Result<Software, Expected> {
    let origin = hexadecimal(cells, ADDRESS, "a port or channel in hexadecimal")?;
    let channel = match cells[TARGET] {
        [b'm', master @ ..] => Channel::Master {
            master: match master {
                b"" => None,
                text => {
                    let wrong = "`m` and a master of at most 16 bits in hexadecimal";
                    let master = hex(text).ok_or(Expected(wrong))?;
                    Some(at_most(master, u16::MAX.into(), wrong)?)
                }
            },
            channel: match origin {
                Some(channel) => Some(at_most(
                    channel,
                    u16::MAX.into(),
                    "a channel of at most 16 bits in the column `address`",
                )?),
                None => None,
            },
        },
        page => Channel::Port {
            page: match page {
                b"" => None,
                text => {
                    let wrong = "a page from 0 to 7, or `m` and a master, in the column `target`";
                    Some(at_most(hex(text).ok_or(Expected(wrong))?, 7, wrong)?)
                }
            },
            port: at_most(origin.unwrap_or(0), 0x1f, "a port from 0 to 1f in hexadecimal")?,
        },
    };
    let bits = decimal(cells, SIZE, "a width in bits")?.unwrap_or(0);
    let value = hexadecimal(cells, VALUE, "a value in hexadecimal")?.unwrap_or(0);
    let bits = at_most(bits, 64, "a width of at most 64 bits")?;
    let write = Software::new(channel, bits, value);
    let write = write.with(flags(cells[CAUSE], &SOFTWARE)?);
    Ok(match decimal(cells, TIME, "a time")? {
        Some(time) => write.at_time(time),
        None => write,
    })
}

/// The cells of a line to write, of all columns except the last.
#[derive(Default)]
struct Row([String; STALL]);

impl Row {
    fn set(&mut self, n: usize, text: impl Into<String>) -> &mut Self {
        self.0[n] = text.into();
        self
    }

    fn hex(&mut self, n: usize, value: Option<u64>) -> &mut Self {
        if let Some(value) = value {
            self.0[n] = format!("{value:x}");
        }
        self
    }

    fn mode(&mut self, mode: Mode) -> &mut Self {
        if let Some(el) = mode.el {
            self.0[EL] = el.to_string();
        }
        match mode.non_secure {
            Some(true) => self.set(SECURITY, "non-secure"),
            Some(false) => self.set(SECURITY, "secure"),
            None => self,
        }
    }

    fn opcode(&mut self, opcode: Option<Opcode>) -> &mut Self {
        if let Some(Opcode { bits, size }) = opcode {
            self.0[OPCODE] = format!("{bits:0width$x}", width = usize::from(size) * 2);
        }
        self
    }

    fn flags(&mut self, words: impl Iterator<Item = &'static str>) -> &mut Self {
        self.0[CAUSE] = words.collect::<Vec<_>>().join("+");
        self
    }
}

/// Writes an entry.
pub(super) fn emit(entry: &Entry, line: &mut Line) {
    let mut row = Row::default();
    row.set(CPU, entry.cpu.to_string());
    if let Some(time) = entry.time {
        row.set(TIME, time.to_string());
    }
    match entry.event {
        Event::Instruction(executed) => {
            row.set(STEP, "instruction").hex(ADDRESS, Some(executed.address));
            row.opcode(executed.opcode).mode(executed.mode);
            if let Some(isa) = executed.isa {
                row.set(ISA, isa.name());
            }
            if let Some(passed) = executed.passed {
                row.set(PASSED, if passed { "1" } else { "0" });
            }
        }
        Event::Withdrawn { address } => {
            row.set(STEP, "withdrawn").hex(ADDRESS, Some(address));
        }
        Event::Code { address, opcode } => {
            row.set(STEP, "code").hex(ADDRESS, Some(address)).opcode(Some(opcode));
        }
        Event::Raised(raised) => {
            row.set(STEP, if raised.synchronous { "fault" } else { "exception" });
            row.hex(ADDRESS, raised.return_address).hex(TARGET, raised.target);
            row.hex(VALUE, raised.value);
            if let Some(cause) = raised.cause {
                row.set(CAUSE, cause_text(cause));
            }
        }
        // A follower makes instructions of it.
        Event::Branched { .. } => return,
        // The exception of a return address is written already. Other formats have the return
        // address.
        Event::ReturnAddress(_) => return,
        Event::Mode(mode) => {
            row.set(STEP, "mode").mode(mode);
        }
        Event::Flags(flags) => {
            row.set(STEP, "flags").hex(VALUE, Some(flags.into()));
        }
        Event::ContextId(id) => {
            row.set(STEP, "contextid").hex(VALUE, Some(id.into()));
        }
        Event::Vmid(id) => {
            row.set(STEP, "vmid").hex(VALUE, Some(id.into()));
        }
        Event::Step(step) => {
            if !emit_step(&step, &mut row) {
                return;
            }
        }
    }
    line.whole(format_args!("{}", row.0.join(",")));
}

/// The text of a cause: `irq`, `riscv:2`.
pub fn cause_text(cause: Cause) -> String {
    if let Some((name, _)) = CAUSES.iter().find(|(_, known)| *known == cause) {
        return (*name).to_owned();
    }
    match cause {
        Cause::Riscv { code, interrupt: false } => format!("riscv:{code}"),
        Cause::Riscv { code, interrupt: true } => format!("interrupt:{code}"),
        Cause::Vector(n) => format!("vector:{n}"),
        Cause::Number(n) => format!("number:{n}"),
        _ => String::new(),
    }
}

/// Fills the row of a step. `false` if the step has no row: it is written as another entry.
fn emit_step(step: &Step, row: &mut Row) -> bool {
    match *step {
        Step::Access(access) => {
            let step = match access.direction {
                Direction::Read => "read",
                Direction::Write => "write",
                Direction::Unknown => "move",
            };
            row.set(STEP, step).hex(ADDRESS, access.address()).hex(VALUE, access.value());
            if access.size != 0 {
                row.set(SIZE, access.size.to_string());
            }
            row.flags(ACCESS.iter().filter(|(_, f)| access.has(*f)).map(|(name, _)| *name));
        }
        Step::SoftwareWrite(write) => {
            let (origin, target) = match write.channel {
                Channel::Port { page, port } => {
                    (Some(port.into()), page.map_or(String::new(), |page| format!("{page:x}")))
                }
                Channel::Master { master, channel } => (
                    channel.map(u64::from),
                    master.map_or("m".to_owned(), |master| format!("m{master:x}")),
                ),
            };
            row.set(STEP, "software-write").hex(ADDRESS, origin).set(TARGET, target);
            row.set(SIZE, write.bits.to_string()).hex(VALUE, Some(write.value()));
            row.flags(SOFTWARE.iter().filter(|(_, f)| write.has(*f)).map(|(name, _)| *name));
            if let Some(time) = write.time() {
                row.set(TIME, time.to_string());
            }
        }
        Step::DwtEvent(DwtEvent { discriminator, size, value, .. }) => {
            row.set(STEP, "dwt-event").hex(ADDRESS, Some(discriminator.into()));
            row.set(SIZE, size.to_string()).hex(VALUE, Some(value.into()));
        }
        Step::Cycles(n) => {
            row.set(STEP, "cycles").hex(VALUE, Some(n.into()));
        }
        Step::Timestamp(value) => {
            row.set(STEP, "timestamp").hex(VALUE, Some(value));
        }
        Step::Events(events) => {
            row.set(STEP, "events").hex(VALUE, Some(events.into()));
        }
        Step::Signals(value) => {
            row.set(STEP, "signals").set(VALUE, signals_text(value));
        }
        Step::Instrumentation { el, value } => {
            row.set(STEP, "instrumentation").set(EL, el.to_string()).hex(VALUE, Some(value));
        }
        Step::Transaction(transaction) => {
            let known = TRANSACTIONS.iter().find(|(_, known)| *known == transaction);
            row.set(STEP, "transaction").set(CAUSE, known.map_or("", |(name, _)| name));
        }
        Step::Trigger => {
            row.set(STEP, "trigger");
        }
        Step::Off => {
            row.set(STEP, "off");
        }
        Step::On => {
            row.set(STEP, "on");
        }
        Step::Halted => {
            row.set(STEP, "halted");
        }
        Step::Overflow => {
            row.set(STEP, "overflow");
        }
        _ => return false,
    }
    true
}
