//! Entries to text.

use std::fmt::Arguments;
use std::io::Write;

use super::entry::{Entry, Event};
use super::{Format, csv, qemu, spike, spike_csv, tarmac};

/// Lines on their way out. One may stay open for more of the same instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    text: Vec<u8>,
    open: bool,
}

impl Line {
    fn end(&mut self) {
        if std::mem::take(&mut self.open) {
            self.text.push(b'\n');
        }
    }

    /// A line of its own.
    pub(super) fn whole(&mut self, words: Arguments<'_>) {
        self.begin(words);
        self.end();
    }

    /// A line that more may be added to.
    pub(super) fn begin(&mut self, words: Arguments<'_>) {
        self.end();
        self.open = true;
        // A vector takes all there is.
        let _ = self.text.write_fmt(words);
    }

    /// More of the line that is open; without one, nothing.
    pub(super) fn more(&mut self, words: Arguments<'_>) {
        if self.open {
            let _ = self.text.write_fmt(words);
        }
    }
}

/// Writes a log. What its format has no words for is left out.
#[derive(Clone, Debug)]
pub struct Writer {
    format: Format,
    rv64: bool,
    line: Line,
    level: u8,
    number: u64,
}

impl Writer {
    /// A log that begins. `rv64` says how wide RISC-V addresses are.
    pub fn new(format: Format, rv64: bool) -> Self {
        let mut line = Line::default();
        match format {
            Format::SpikeCsv => line.whole(format_args!("{}", spike_csv::HEAD)),
            Format::Csv => line.whole(format_args!("{}", csv::HEAD)),
            Format::Qemu | Format::Tarmac | Format::Spike => {}
        }
        Writer { format, rv64, line, level: 3, number: 0 }
    }

    /// Writes one entry.
    pub fn entry(&mut self, entry: &Entry) {
        let line = &mut self.line;
        match self.format {
            Format::Qemu => qemu::emit(entry, line),
            Format::Tarmac => tarmac::emit(entry, &mut self.number, line),
            Format::Spike => spike::emit(entry, self.rv64, line),
            Format::SpikeCsv => spike_csv::emit(entry, &mut self.level, self.rv64, line),
            Format::Csv => csv::emit(entry, line),
        }
    }

    /// The format writes an opcode with each instruction.
    pub const fn wants_opcodes(&self) -> bool {
        !matches!(self.format, Format::Qemu)
    }

    /// The log ends.
    pub fn finish(&mut self) {
        self.line.end();
    }

    /// The text so far, which is taken out. A line that is still open stays.
    pub fn take(&mut self) -> Vec<u8> {
        if self.line.open {
            let at = memchr::memrchr(b'\n', &self.line.text).map_or(0, |at| at + 1);
            let open = self.line.text.split_off(at);
            return std::mem::replace(&mut self.line.text, open);
        }
        std::mem::take(&mut self.line.text)
    }

    /// How much text waits.
    pub fn len(&self) -> usize {
        self.line.text.len()
    }

    /// No text waits.
    pub fn is_empty(&self) -> bool {
        self.line.text.is_empty()
    }
}

/// Entries that a log of `format` has words for.
pub const fn writes(format: Format, event: &Event) -> bool {
    matches!(
        (format, event),
        (Format::Csv, _)
            | (_, Event::Instruction(_) | Event::Raised(_))
            | (Format::Qemu, Event::Withdrawn { .. } | Event::Code { .. } | Event::Flags(_))
            | (Format::Qemu | Format::Tarmac | Format::SpikeCsv, Event::Mode(_))
            | (Format::Tarmac, Event::ReturnAddress(_) | Event::ContextId(_))
            | (Format::Tarmac | Format::Spike, Event::Step(tracewright_base::Step::Access(_)))
            | (Format::Tarmac, Event::Step(tracewright_base::Step::Halted))
    )
}
