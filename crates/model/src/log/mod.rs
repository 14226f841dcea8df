//! Execution logs: what simulators and debuggers say that a processor did.
//!
//! A log is lines; a line is an [`Entry`] or several. [`Reader`] and [`Writer`] are the two ways between text
//! and entries, one file a format; [`Assembler`] makes [`Step`](tracewright_base::Step)s of entries, for which
//! it looks instructions up in the program and finds out where each one went.
//!
//! | format | file |
//! |---|---|
//! | QEMU, `-d exec,nochain` with one instruction a block | [`qemu`] |
//! | Tarmac, of Arm's Fast Models | [`tarmac`] |
//! | Spike, `-l` and `--log-commits` | [`spike`] |
//! | Spike, in the columns of the RISC-V reference flow | [`spike_csv`] |
//! | comma-separated, for everybody else | [`csv`] |
//!
//! ```
//! use tracewright_base::{Isa, Step};
//! use tracewright_model::log::{Assembler, Format, Lookup, Reader};
//!
//! let text = b"1 clk IT (1) 00008000 e1a00000 A svc_s : NOP\n\
//!              2 clk IT (2) 00008004 eafffffe A svc_s : B 0x8004\n";
//! let mut reader = Reader::new(Format::Tarmac, Isa::A32);
//! let mut assembler = Assembler::new(Lookup::default());
//! let mut retired = Vec::new();
//! let mut steps = |_: u16, step: &Step| {
//!     if let Step::Retired(r) = step {
//!         retired.push(r.address);
//!     }
//! };
//! reader.feed(text, &mut |entry| assembler.entry(&entry, &mut steps)).unwrap();
//! reader.finish(&mut |entry| assembler.entry(&entry, &mut steps)).unwrap();
//! assembler.finish(&mut steps);
//! assert_eq!(retired, [0x8000, 0x8004]);
//! ```

pub mod csv;
mod entry;
pub mod qemu;
mod reader;
pub mod spike;
pub mod spike_csv;
mod steps;
pub mod tarmac;
#[cfg(test)]
mod tests;
pub mod text;
pub mod told;
mod writer;

pub use entry::{Entry, Event, Executed, Mode, Opcode, Raised};
pub use reader::{LogError, Reader};
pub use steps::{Assembler, Lookup, Pace, Steps, Summary};
pub use told::Told;
pub use writer::{Writer, writes};

/// How a log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// QEMU.
    Qemu,
    /// Tarmac.
    Tarmac,
    /// Spike's own words.
    Spike,
    /// Spike's log in the reference flow's columns.
    SpikeCsv,
    /// Comma-separated, with a head line.
    Csv,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 5] =
        [Format::Qemu, Format::Tarmac, Format::Spike, Format::SpikeCsv, Format::Csv];

    /// Its name as a user spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Qemu => "qemu",
            Format::Tarmac => "tarmac",
            Format::Spike => "spike",
            Format::SpikeCsv => "spike-csv",
            Format::Csv => "csv",
        }
    }

    /// What a log that begins with `bytes` is. `None` where its first lines say nothing.
    pub fn detect(bytes: &[u8]) -> Option<Format> {
        bytes.split(|&b| b == b'\n').take(1000).find_map(|line| {
            let line = line.trim_ascii();
            let mut words = text::Words(line);
            let first = words.word();
            match first {
                b"Trace" | b"IN:" | b"Taking" => return Some(Format::Qemu),
                b"Tarmac" => return Some(Format::Tarmac),
                b"core" => return Some(Format::Spike),
                _ if line == spike_csv::HEAD.as_bytes() => return Some(Format::SpikeCsv),
                _ if csv::is_head(line) => return Some(Format::Csv),
                [b'0'..=b'3'] if words.peek().starts_with(b"0x") => return Some(Format::Spike),
                _ => {}
            }
            // `53 clk`: a time and its unit.
            tarmac::time(&mut text::Words(line)).map(|_| Format::Tarmac)
        })
    }
}
