//! Text to entries.

use std::error::Error;
use std::fmt;

use tracewright_base::Isa;

use crate::entry::Entry;
use crate::format::Format;
use crate::map::{self, LogMap};
use crate::text::Expected;
use crate::{branch_flow, csv, kanata, qemu, rvfi, rvvi, spike, spike_csv, tarmac};

/// The error of a line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogError {
    /// Line number, from 1.
    pub line: u64,
    /// The expected text.
    pub expected: &'static str,
    /// The beginning of the line, in UTF-8.
    pub found: String,
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected {}, found `{}`", self.line, self.expected, self.found)
    }
}

impl Error for LogError {}

/// At most this many bytes of a line appear in an error.
const SHOWN: usize = 80;

/// Limit of the length of a line in bytes, which bounds the memory of a reader.
pub const MAX_LINE: usize = 1 << 20;

/// The reason why a line longer than [`MAX_LINE`] cannot be read.
const TOO_LONG: Expected = Expected("a line of at most 1048576 bytes");

/// Reads a log in pieces of any size. The reader buffers an incomplete line only.
#[derive(Clone, Debug)]
pub struct Reader {
    parser: Parser,
    isa: Isa,
    rest: Vec<u8>,
    lines: u64,
    unfinished: Option<LogError>,
}

#[derive(Clone, Debug)]
enum Parser {
    Qemu(qemu::Parser),
    Tarmac(tarmac::Parser),
    Spike(spike::Parser),
    SpikeCsv,
    Csv(csv::Parser),
    Rvvi(rvvi::Parser),
    Rvfi(Box<rvfi::Parser>),
    Kanata(kanata::Parser),
    BranchFlow,
    Map(map::Parser),
}

impl Reader {
    /// A reader at the beginning of a log. `isa` is the instruction set where the log does not
    /// state one: RV32 or RV64 for Spike and for QEMU of RISC-V.
    pub fn new(format: Format, isa: Isa) -> Self {
        let parser = match format {
            Format::Qemu => Parser::Qemu(qemu::Parser::default()),
            Format::Tarmac => Parser::Tarmac(tarmac::Parser::default()),
            Format::Spike => Parser::Spike(spike::Parser::default()),
            Format::SpikeCsv => Parser::SpikeCsv,
            Format::Csv => Parser::Csv(csv::Parser::default()),
            Format::Rvvi => Parser::Rvvi(rvvi::Parser::default()),
            Format::Rvfi => Parser::Rvfi(Box::default()),
            Format::Kanata => Parser::Kanata(kanata::Parser::default()),
            Format::BranchFlow => Parser::BranchFlow,
            Format::Mapped(known) => Parser::Map(map::Parser::new(known.map())),
            // Nothing is a line of a format that is not described.
            Format::Described => Parser::Map(map::Parser::new(LogMap::default())),
        };
        Reader::of(parser, isa)
    }

    /// A reader of a log that `map` describes.
    pub fn with_map(map: LogMap, isa: Isa) -> Self {
        Reader::of(Parser::Map(map::Parser::new(map)), isa)
    }

    /// A reader of the signals of RVFI whose names begin with `prefix`.
    pub fn with_signals(prefix: &str) -> Self {
        Reader::of(Parser::Rvfi(Box::new(rvfi::Parser::with_prefix(prefix))), Isa::Rv32)
    }

    fn of(parser: Parser, isa: Isa) -> Self {
        Reader { parser, isa, rest: Vec::new(), lines: 0, unfinished: None }
    }

    /// Number of lines read.
    pub const fn lines(&self) -> u64 {
        self.lines
    }

    /// The last line, where it has no line break and cannot be read, as of a simulator that was
    /// stopped: it is left out. Known after [`finish`](Reader::finish).
    pub const fn unfinished(&self) -> Option<&LogError> {
        self.unfinished.as_ref()
    }

    /// Takes the next bytes of the log.
    ///
    /// # Errors
    /// [`LogError`] at the first line that cannot be read. The entries of the lines before it were
    /// passed to `out`.
    pub fn feed(&mut self, bytes: &[u8], out: &mut dyn FnMut(Entry)) -> Result<(), LogError> {
        let mut bytes = bytes;
        if !self.rest.is_empty() {
            let Some(end) = memchr::memchr(b'\n', bytes) else { return self.store(bytes) };
            let (line, after) = bytes.split_at(end);
            let mut whole = std::mem::take(&mut self.rest);
            whole.extend_from_slice(line);
            self.all(&whole, out)?;
            whole.clear();
            self.rest = whole;
            bytes = after.get(1..).unwrap_or_default();
        }
        let Some(end) = memchr::memrchr(b'\n', bytes) else { return self.store(bytes) };
        let (whole, part) = bytes.split_at(end);
        self.all(whole, out)?;
        self.store(part.get(1..).unwrap_or_default())
    }

    /// Stores the bytes of a line that has not ended.
    fn store(&mut self, bytes: &[u8]) -> Result<(), LogError> {
        if self.rest.len() + bytes.len() <= MAX_LINE {
            self.rest.extend_from_slice(bytes);
            return Ok(());
        }
        let mut shown: Vec<u8> = self.rest.iter().chain(bytes).take(SHOWN).copied().collect();
        shown.retain(|byte| *byte != 0);
        let found = String::from_utf8_lossy(&shown).into_owned();
        Err(LogError { line: self.lines + 1, expected: TOO_LONG.0, found })
    }

    /// Ends the log.
    ///
    /// # Errors
    /// [`LogError`] if the end cannot be read. A last line without a line break that cannot be read is
    /// [`unfinished`](Reader::unfinished), unless it is the only one.
    pub fn finish(&mut self, out: &mut dyn FnMut(Entry)) -> Result<(), LogError> {
        let rest = std::mem::take(&mut self.rest);
        if !rest.is_empty()
            && let Err(error) = self.all(&rest, out)
        {
            if error.line <= 1 {
                return Err(error);
            }
            self.unfinished = Some(error);
        }
        match &mut self.parser {
            Parser::Qemu(parser) => parser.finish(out),
            Parser::Spike(parser) => parser.finish(out),
            Parser::Rvvi(parser) => parser.finish(out),
            Parser::Rvfi(parser) => parser.finish(out).map_err(|Expected(expected)| LogError {
                line: self.lines,
                expected,
                found: "the end".to_owned(),
            })?,
            Parser::Map(parser) => parser.finish(out),
            Parser::Kanata(_)
            | Parser::BranchFlow
            | Parser::Tarmac(_)
            | Parser::SpikeCsv
            | Parser::Csv(_) => {}
        }
        Ok(())
    }

    /// Reads whole lines. The format is matched once for all lines.
    fn all(&mut self, text: &[u8], out: &mut dyn FnMut(Entry)) -> Result<(), LogError> {
        let (isa, lines) = (self.isa, &mut self.lines);
        match &mut self.parser {
            Parser::Qemu(parser) => each(text, lines, |line| parser.line(line, isa, out)),
            Parser::Tarmac(parser) => each(text, lines, |line| parser.line(line, out)),
            Parser::Spike(parser) => each(text, lines, |line| parser.line(line, isa, out)),
            Parser::SpikeCsv => each(text, lines, |line| spike_csv::line(line, isa, out)),
            Parser::Csv(parser) => each(text, lines, |line| parser.line(line, isa, out)),
            Parser::Rvvi(parser) => each(text, lines, |line| parser.line(line, isa, out)),
            Parser::Rvfi(parser) => each(text, lines, |line| parser.line(line, isa, out)),
            Parser::Kanata(parser) => each(text, lines, |line| parser.line(line, isa, out)),
            Parser::BranchFlow => each(text, lines, |line| branch_flow::line(line, out)),
            Parser::Map(parser) => each(text, lines, |line| parser.line(line, isa, out)),
        }
    }
}

#[inline]
fn each(
    text: &[u8],
    lines: &mut u64,
    mut read: impl FnMut(&[u8]) -> Result<(), Expected>,
) -> Result<(), LogError> {
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text).chain([text.len()]) {
        let line = text.get(start..end).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        start = end + 1;
        *lines += 1;
        let done = if line.len() > MAX_LINE { Err(TOO_LONG) } else { read(line) };
        if let Err(Expected(expected)) = done {
            let shown = line.get(..SHOWN).unwrap_or(line);
            let found = String::from_utf8_lossy(shown).into_owned();
            return Err(LogError { line: *lines, expected, found });
        }
    }
    Ok(())
}
