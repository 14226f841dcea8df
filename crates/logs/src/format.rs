//! The formats of execution logs, and detection of a format by content.

use tracewright_base::Isa;

use crate::{csv, spike_csv, tarmac, text};

/// The format of an execution log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// QEMU.
    Qemu,
    /// Tarmac.
    Tarmac,
    /// Spike's own log.
    Spike,
    /// Spike's log in the columns of the RISC-V reference flow.
    SpikeCsv,
    /// Comma-separated columns under a header line.
    Csv,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 5] =
        [Format::Qemu, Format::Tarmac, Format::Spike, Format::SpikeCsv, Format::Csv];

    /// The name of the format on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Qemu => "qemu",
            Format::Tarmac => "tarmac",
            Format::Spike => "spike",
            Format::SpikeCsv => "spike-csv",
            Format::Csv => "csv",
        }
    }

    /// Whether a log of the format can have instructions of `isa`.
    pub const fn has(self, isa: Isa) -> bool {
        let riscv = matches!(isa, Isa::Rv32 | Isa::Rv64);
        match self {
            Format::Qemu | Format::Csv => true,
            Format::Tarmac => !riscv,
            Format::Spike | Format::SpikeCsv => riscv,
        }
    }

    /// Whether the format has an opcode with each instruction.
    pub const fn has_opcodes(self) -> bool {
        !matches!(self, Format::Qemu)
    }

    /// The format of a log that begins with `bytes`, or `None` if the first 1000 lines do not show
    /// it.
    pub fn detect(bytes: &[u8]) -> Option<Format> {
        bytes.split(|&b| b == b'\n').take(1000).find_map(|line| {
            let line = line.trim_ascii();
            let mut words = text::Words(line);
            let first = words.word();
            match first {
                b"Trace" | b"IN:" | b"Taking" => return Some(Format::Qemu),
                b"Tarmac" => return Some(Format::Tarmac),
                b"core" => return Some(Format::Spike),
                _ if line == spike_csv::HEADER.as_bytes() => return Some(Format::SpikeCsv),
                _ if csv::is_header(line) => return Some(Format::Csv),
                [b'0'..=b'3'] if words.peek().starts_with(b"0x") => return Some(Format::Spike),
                _ => {}
            }
            // A line such as `53 clk` begins with a time and its unit.
            tarmac::time(&mut text::Words(line)).map(|_| Format::Tarmac)
        })
    }
}
