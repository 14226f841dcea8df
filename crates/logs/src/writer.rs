//! Entries to text.

use tracewright_base::{Cause, Step};

use crate::entry::{Entry, Event, Raised};
use crate::format::Format;
use crate::line::Line;
use crate::{csv, qemu, spike, spike_csv, tarmac};

/// Writes a log. An entry that the format cannot express is left out.
#[derive(Clone, Debug)]
pub struct Writer {
    format: Format,
    rv64: bool,
    line: Line,
    level: u8,
    number: u64,
}

impl Writer {
    /// A writer at the beginning of a log. `rv64` selects RISC-V addresses of 64 bits.
    pub fn new(format: Format, rv64: bool) -> Self {
        let mut line = Line::default();
        match format {
            Format::SpikeCsv => line.whole(format_args!("{}", spike_csv::HEADER)),
            Format::Csv => line.whole(format_args!("{}", csv::HEADER)),
            _ => {}
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
            // Formats that are only read are converted to columns.
            Format::Csv
            | Format::Rvvi
            | Format::Rvfi
            | Format::Kanata
            | Format::BranchFlow
            | Format::Mapped(_)
            | Format::Described => {
                csv::emit(entry, line);
            }
        }
    }

    /// Ends the log.
    pub fn finish(&mut self) {
        self.line.end();
    }

    /// Removes and returns the text so far. A line that may be continued stays.
    pub fn take(&mut self) -> Vec<u8> {
        self.line.take()
    }

    /// Bytes of text that were not taken.
    pub fn len(&self) -> usize {
        self.line.len()
    }

    /// Whether all text was taken.
    pub fn is_empty(&self) -> bool {
        self.line.len() == 0
    }
}

/// Whether a log of `format` can express `event`.
pub const fn writes(format: Format, event: &Event) -> bool {
    matches!(
        (format, event),
        (Format::Csv, _)
            | (_, Event::Instruction(_))
            | (Format::Qemu | Format::Tarmac, Event::Raised(_))
            | (
                Format::Spike | Format::SpikeCsv,
                Event::Raised(Raised { cause: Some(Cause::Riscv { .. }), .. }),
            )
            | (Format::Qemu, Event::Withdrawn { .. } | Event::Code { .. } | Event::Flags(_))
            | (Format::Qemu | Format::Tarmac | Format::SpikeCsv, Event::Mode(_))
            | (Format::Tarmac, Event::ReturnAddress(_) | Event::ContextId(_))
            | (Format::Tarmac | Format::Spike, Event::Step(Step::Access(_)))
            | (Format::Tarmac, Event::Step(Step::Halted))
    )
}
