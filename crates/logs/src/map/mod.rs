//! Maps: descriptions of line-based formats of execution logs as patterns.
//!
//! A map is TOML. Each `[[line]]` has a regular expression, `match`, and the `step` that a matching
//! line is; the first that matches is taken. Named groups of the expression are the fields of the
//! step. `docs/logs.md` lists steps and fields.
//!
//! | file | contents |
//! |---|---|
//! | `description.rs` | TOML to a [`LogMap`] |
//! | `field.rs` | the fields |
//! | `parser.rs` | lines to entries |
//! | `formats/` | the maps that are built in, with the source of each tracer |

mod description;
mod field;
mod parser;

use regex::bytes::Regex;
use tracewright_base::Isa;

use field::Field;
pub(crate) use parser::{Parser, called};

/// A format of logs that a map describes and that is built in.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    toml: &'static str,
}

macro_rules! built_in {
    ($($name:literal)*) => {
        /// The maps that are built in.
        pub const BUILT_IN: &[BuiltIn] = &[$(BuiltIn {
            name: $name,
            toml: include_str!(concat!("formats/", $name, ".toml")),
        }),*];
    };
}

built_in! {
    "ibex" "cv32e40p" "cv32e40x" "cva6" "neorv32" "sail" "dromajo" "whisper" "whisper-csv" "execlog"
    "riscv-dv" "gem5" "corev-rvfi" "cva6-tracer" "veer"
}

impl BuiltIn {
    /// The map.
    pub fn map(&self) -> LogMap {
        // A test reads each of them.
        LogMap::read(self.toml).unwrap_or_default()
    }
}

/// A description of a format.
#[derive(Clone, Debug, Default)]
pub struct LogMap {
    /// The instruction set of logs that do not state it.
    pub isa: Option<Isa>,
    /// Lines that mean nothing.
    skip: Vec<Regex>,
    /// Lines that nothing matches mean nothing, too.
    ignores_others: bool,
    /// Addresses are printed with all their digits: those of RV32 have 8.
    padded: bool,
    /// The opcode is the 32 bits at the address, the first halfword in the low bits.
    opcode_of_memory: bool,
    lines: Vec<LinePattern>,
}

impl LogMap {
    /// The instruction set of a log that begins with `head` and does not state it.
    pub fn usual_isa(&self, head: &[u8]) -> Option<Isa> {
        let address = |line: &[u8]| {
            let kinds = self.lines.iter().filter(|kind| kind.step == MapStep::Instruction);
            let captures = kinds.filter_map(|kind| kind.pattern.captures(line));
            let addresses = captures.filter_map(|captures| captures.name("address"));
            addresses.map(|address| address.len()).next()
        };
        let lines = head.split(|byte| *byte == b'\n').take(LOOK);
        let digits = lines.map(<[u8]>::trim_ascii_end).find_map(address);
        match (self.isa, digits) {
            (Some(Isa::Rv64), Some(8)) if self.padded => Some(Isa::Rv32),
            (Some(Isa::Rv32), Some(16)) if self.padded => Some(Isa::Rv64),
            (isa, _) => isa,
        }
    }
}

/// The lines of one kind.
#[derive(Clone, Debug)]
struct LinePattern {
    step: MapStep,
    pattern: Regex,
    /// The field of each group of the pattern.
    groups: Vec<Option<Field>>,
    /// What a text of a field stands for.
    values: Vec<(Field, String, String)>,
    /// Fields that each line of the kind has.
    set: Vec<(Field, String)>,
    /// A line with the address of the line before belongs to the same instruction.
    merge: bool,
    /// What may be repeated in the line.
    more: Vec<LinePattern>,
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MapStep {
    /// An instruction.
    Instruction,
    /// The instruction before it trapped.
    Trap,
    /// An interrupt is taken before the next instruction.
    Interrupt,
    /// A CSR is written.
    Csr,
    /// The instruction before it was executed several times, this one included.
    Repeat,
    /// Data are read, written, or moved in an unknown direction.
    Read,
    Write,
    Move,
    /// Nothing.
    Nothing,
}

/// The lines at the start of a log that show its format.
const LOOK: usize = 100;

/// The number of lines among the first of `head` that are steps of the map, and the number of those
/// that are not.
fn score(map: &LogMap, head: &[u8]) -> (usize, usize) {
    let lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    let lines = lines.filter(|line| !line.is_empty()).take(LOOK);
    let (mut steps, mut others, mut proven) = (0, 0, false);
    for line in lines {
        if let Some(kind) = map.lines.iter().find(|kind| kind.pattern.is_match(line)) {
            steps += 1;
            // A line that may continue another one proves nothing.
            proven |= kind.step == MapStep::Instruction && !kind.merge;
        } else if !map.skip.iter().any(|skip| skip.is_match(line)) {
            others += 1;
        }
    }
    (if proven { steps } else { 0 }, others)
}

/// The built-in map of a log that begins with `head`: the one that matches the most of its first
/// lines. `None` where none matches nearly all that it does not ignore.
pub(crate) fn detect(head: &[u8]) -> Option<&'static BuiltIn> {
    let scores = BUILT_IN.iter().filter_map(|known| {
        let map = known.map();
        let (steps, others) = score(&map, head);
        let most = if map.ignores_others { steps * 8 } else { steps / 10 };
        (steps > 0 && others <= most).then_some((known, steps, others))
    });
    let best = scores.max_by_key(|(_, steps, others)| (*steps, usize::MAX - others));
    best.map(|(known, ..)| known)
}

#[cfg(test)]
mod tests;
