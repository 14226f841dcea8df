//! Counts of executed ranges and of what follows each, at addresses in memory.

use tracewright_base::{Kind, Last};
use tracewright_decode::Merge;
use tracewright_image::MemoryId;

use crate::counts::Counts;

/// A range of instructions, and the address that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Executed {
    /// The memory that the range is in.
    pub memory: MemoryId,
    /// The source.
    pub source: u16,
    /// The address of the first instruction.
    pub start: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Number of instructions.
    pub instructions: u32,
    /// The last instruction.
    pub last: Last,
    /// The start of the range that follows; `None` where it is not known, and where an exception
    /// follows.
    pub next: Option<u64>,
}

impl Executed {
    /// The address of the last instruction.
    pub fn last_address(&self) -> u64 {
        let end = self.start.wrapping_add(self.bytes.into()) & self.last.isa.address_mask();
        end.wrapping_sub(self.last.size().into())
    }

    /// Whether the last instruction is a branch that was taken.
    pub fn branches(&self) -> bool {
        branches(self.last)
    }
}

/// Whether `last` is a branch that was taken.
pub(crate) fn branches(last: Last) -> bool {
    matches!(last.kind, Kind::Branch | Kind::Indirect) && last.taken()
}

/// Instructions that were executed in sequence after a branch that was taken, up to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Following {
    /// The memory.
    pub memory: MemoryId,
    /// The source.
    pub source: u16,
    /// The address of the branch before; `None` where it is not known.
    pub from: Option<u64>,
    /// The address of the first instruction.
    pub start: u64,
    /// The address of the last instruction.
    pub last: u64,
}

/// An address without program memory, at which the path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Missing {
    /// The memory.
    pub memory: MemoryId,
    /// The source.
    pub source: u16,
    /// The address.
    pub address: u64,
}

/// The counts of a [`Profiler`](crate::Profiler).
#[derive(Clone, Debug, Default)]
pub struct RawProfile {
    /// Ranges with what follows them.
    pub executed: Counts<Executed>,
    /// Sequences between branches that were taken.
    pub following: Counts<Following>,
    /// Addresses without program memory.
    pub missing: Counts<Missing>,
    /// Instructions.
    pub instructions: u64,
    /// A count was larger than `u64::MAX` and is that number.
    pub saturated: bool,
}

impl Merge for RawProfile {
    fn merge(&mut self, later: Self) {
        self.executed.merge(later.executed);
        self.following.merge(later.following);
        self.missing.merge(later.missing);
        self.instructions = self.instructions.saturating_add(later.instructions);
        self.saturated |= later.saturated;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tracewright_base::{Counted, Element, Instruction, Isa, Kind, Range};
    use tracewright_capture::{Capture, Dump, Overlay, Source};
    use tracewright_decode::{Fork, Listener, Memory};

    use super::*;
    use crate::profiler::Profiler;

    /// Two images at the same address, which the instructions at other addresses select.
    const SELECTED_BY: [u64; 2] = [0x2000, 0x2010];
    const PLACE: u64 = 0x8000;

    #[test]
    fn ranges_are_in_the_memory_that_ranges_select() {
        let images = SELECTED_BY.map(|address| {
            let mut dump = Dump::new("image", PLACE, vec![0; 16]);
            let place = "bank".to_owned();
            dump.when.overlay =
                Some(Overlay { place, address: Some(address), ..Overlay::default() });
            dump
        });
        let capture = Capture {
            memory: images.into(),
            sources: vec![Source::default()],
            ..Capture::default()
        };
        let mut profiler = Profiler::new([Memory::new(&capture).seen_by(&capture, 0, 0)]);
        let kind = Kind::Indirect;
        let last = Instruction { size: 4, isa: Isa::A64, kind, ..Instruction::default() };
        let [a, b] = SELECTED_BY;
        for start in [a, PLACE, b, PLACE, b, PLACE] {
            let last = Last::new(&last, true);
            let range = Range { start, bytes: 4, instructions: 1, cycles: Counted::UNKNOWN, last };
            profiler.element(0, 0, Element::Range(range));
        }
        profiler.element(0, 0, Element::End);
        let mut counts: HashMap<MemoryId, u64> = HashMap::new();
        let executed = profiler.take().executed.into_counts();
        for (executed, count) in executed.filter(|(executed, _)| executed.start == PLACE) {
            *counts.entry(executed.memory).or_default() += count;
        }
        let mut counts: Vec<u64> = counts.into_values().collect();
        counts.sort_unstable();
        assert_eq!(counts, [1, 2]);
    }
}
