//! Which stored bytes of a buffer are trace.

use std::fmt;
use std::ops::Range;

use crate::buffer_file::File;
use crate::device::Registers;

/// The kind of hardware that wrote a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The Trace Buffer Extension of a core.
    Trbe,
    /// The Embedded Trace Buffer, whose pointers are numbers of words.
    Etb,
    /// A TMC with its own memory.
    Etf,
    /// A TMC that writes to system memory.
    Etr,
    /// The Micro Trace Buffer of a Cortex-M core.
    Mtb,
    /// The RAM sink of RISC-V trace.
    RiscvRam,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Trbe => "TRBE",
            Kind::Etb => "ETB",
            Kind::Etf => "ETF",
            Kind::Etr => "ETR",
            Kind::Mtb => "MTB",
            Kind::RiscvRam => "RISC-V RAM sink",
        })
    }
}

/// The trace in the stored bytes of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The kind of hardware.
    pub kind: Kind,
    /// Offsets of the trace in the stored bytes, oldest first.
    pub parts: Vec<Range<u64>>,
    /// The last part ends with the stop sequence of a buffer without formatter, which is not trace:
    /// a byte 0x01 and zeros.
    pub stop_sequence: bool,
    /// The state of the buffer, in sentences.
    pub state: Vec<String>,
    /// What is missing, in sentences.
    pub lost: Vec<String>,
}

impl Layout {
    /// A layout without trace.
    pub(super) fn new(kind: Kind) -> Layout {
        let (parts, state, lost) = (Vec::new(), Vec::new(), Vec::new());
        Layout { kind, parts, stop_sequence: false, state, lost }
    }

    /// The number of bytes of trace, a stop sequence included.
    pub fn len(&self) -> u64 {
        self.parts.iter().map(|part| part.end.saturating_sub(part.start)).sum()
    }

    /// Whether there is no trace.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a part that is not empty.
    pub(super) fn push(&mut self, part: Range<u64>) {
        if part.start < part.end {
            self.parts.push(part);
        }
    }

    /// Adds the trace of a buffer of `size` bytes whose next byte is written at offset `next`:
    /// everything from there on and then everything before it, or without a wrap only that.
    pub(super) fn ring(&mut self, size: u64, next: u64, wrapped: bool) {
        if wrapped {
            self.push(next..size);
            self.state.push(match next {
                0 => format!("{size} bytes, wrapped at its end; the oldest byte is the first"),
                _ => format!("{size} bytes, wrapped; the oldest byte is at offset {next:#x}"),
            });
        } else {
            self.state.push(format!("{next} of {size} bytes written, not wrapped"));
        }
        self.push(0..next);
    }
}

/// The registers of a buffer, the bytes as they were stored, and what both mean.
#[derive(Clone, Debug)]
pub struct Sink {
    /// The device of the capture that has the registers; `None` where the registers are the
    /// buffer's own.
    pub device: Option<String>,
    /// The registers.
    pub registers: Registers,
    /// The stored bytes.
    pub stored: Vec<File>,
    /// The layout.
    pub layout: Layout,
}

/// What the registers mean is not compared, nor is their order.
impl PartialEq for Sink {
    fn eq(&self, other: &Self) -> bool {
        let all = |sink: &Sink| {
            let mut all = sink.registers.0.clone();
            all.sort_by(|a, b| a.name.cmp(&b.name));
            all
        };
        all(self) == all(other) && self.stored == other.stored
    }
}

/// The value of the first register of `names` that is there, also with the prefix of a device:
/// `ETB_RWP`, `MTB_POSITION`.
pub(super) fn value(registers: &Registers, names: &[&str]) -> Option<u64> {
    let prefixes = ["", "ETB_", "ETF_", "ETR_", "TMC_", "MTB_", "TMCETB_", "TMCETR_"];
    names.iter().find_map(|name| {
        prefixes.iter().find_map(|prefix| {
            let named = |other: &str| {
                let rest = other.get(prefix.len()..);
                other.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
                    && rest.is_some_and(|rest| rest.eq_ignore_ascii_case(name))
            };
            let register = registers.0.iter().find(|register| named(&register.name))?;
            u64::try_from(register.value).ok()
        })
    })
}
