//! The formats of execution logs, and detection of a format by content.

use tracewright_base::Isa;

use crate::map::{self, BUILT_IN, BuiltIn};
use crate::{branch_flow, csv, kanata, rvfi, rvvi, spike_csv, tarmac, text};

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
    /// RVVI-TEXT.
    Rvvi,
    /// The signals of RVFI in a Value Change Dump.
    Rvfi,
    /// Kanata, the log of pipelines that Konata displays.
    Kanata,
    /// BranchFlow, the changes of flow that TRACE32 exports.
    BranchFlow,
    /// A format that a built-in map describes.
    Mapped(&'static BuiltIn),
    /// A format that a map of the user describes.
    Described,
}

impl Format {
    /// The formats that are written, too.
    pub const WRITTEN: [Format; 5] =
        [Format::Qemu, Format::Tarmac, Format::Spike, Format::SpikeCsv, Format::Csv];

    /// All formats with names.
    pub fn all() -> impl Iterator<Item = Format> {
        let mapped = BUILT_IN.iter().map(Format::Mapped);
        Format::WRITTEN
            .into_iter()
            .chain([Format::Rvvi, Format::Rvfi, Format::Kanata, Format::BranchFlow])
            .chain(mapped)
    }

    /// The format with this name.
    pub fn named(name: &str) -> Option<Format> {
        Format::all().find(|format| format.name() == name)
    }

    /// The name of the format on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Qemu => "qemu",
            Format::Tarmac => "tarmac",
            Format::Spike => "spike",
            Format::SpikeCsv => "spike-csv",
            Format::Csv => "csv",
            Format::Rvvi => "rvvi",
            Format::Rvfi => "rvfi",
            Format::Kanata => "kanata",
            Format::BranchFlow => "branchflow",
            Format::Mapped(known) => known.name,
            Format::Described => "described by a map",
        }
    }

    /// Whether a log of the format can have instructions of `isa`.
    pub fn has(self, isa: Isa) -> bool {
        let riscv = matches!(isa, Isa::Rv32 | Isa::Rv64);
        match self {
            Format::Qemu
            | Format::Csv
            | Format::Described
            | Format::Kanata
            | Format::BranchFlow => true,
            Format::Tarmac => !riscv,
            Format::Spike | Format::SpikeCsv | Format::Rvvi | Format::Rvfi => riscv,
            Format::Mapped(known) => known.map().isa.is_none() || riscv,
        }
    }

    /// Whether the format has an opcode with each instruction.
    pub const fn has_opcodes(self) -> bool {
        !matches!(self, Format::Qemu | Format::BranchFlow)
    }

    /// The format of a log that begins with `bytes`, or `None` if the first 1000 lines do not show
    /// it.
    pub fn detect(bytes: &[u8]) -> Option<Format> {
        let mut lines = bytes.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
        let first = lines.find(|line| !line.is_empty())?;
        // The lines below the names of columns may be like those of another format.
        if let Some(format) = Format::of_header(first) {
            return Some(format);
        }
        if branch_flow::is_log(bytes) {
            return Some(Format::BranchFlow);
        }
        if kanata::is_header(first) {
            return Some(Format::Kanata);
        }
        if rvfi::is_dump(first) {
            return Some(Format::Rvfi);
        }
        if let Some(known) = map::detect(bytes) {
            return Some(Format::Mapped(known));
        }
        if rvvi::is_log(bytes) {
            return Some(Format::Rvvi);
        }
        bytes.split(|&b| b == b'\n').take(1000).find_map(|line| {
            let line = line.trim_ascii();
            let mut words = text::Words(line);
            let first = words.word();
            match first {
                b"Trace" | b"IN:" | b"Taking" => return Some(Format::Qemu),
                b"Tarmac" => return Some(Format::Tarmac),
                b"core" => return Some(Format::Spike),
                [b'0'..=b'3'] if words.peek().starts_with(b"0x") => return Some(Format::Spike),
                _ => {}
            }
            let tarmac = || tarmac::is_line(line).then_some(Format::Tarmac);
            Format::of_header(line).or_else(tarmac)
        })
    }

    /// The format whose names of columns are `line`.
    fn of_header(line: &[u8]) -> Option<Format> {
        match line {
            _ if line == spike_csv::HEADER.as_bytes() => Some(Format::SpikeCsv),
            _ if csv::is_header(line) => Some(Format::Csv),
            _ => None,
        }
    }
}
