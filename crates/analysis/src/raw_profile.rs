//! Counts of executed ranges and of what follows each, at addresses in memory.

use tracewright_decode::Merge;

use crate::counts::Counts;
use crate::executed::{Executed, Following, Missing};
use crate::run_counts::RunCounts;

/// Counts of ranges with what follows them.
#[derive(Clone, Debug, Default)]
pub struct Executions {
    counts: Counts<Executed>,
    /// Those of cached blocks.
    runs: Vec<RunCounts>,
}

/// The most counts of cached blocks with different numbers.
const MAX_RUNS: usize = 1 << 6;

impl Executions {
    /// Adds `count` executions.
    pub(crate) fn add(&mut self, executed: Executed, count: u64) {
        self.counts.add(executed, count);
    }

    /// Adds counts of cached blocks.
    pub(crate) fn add_runs(&mut self, later: RunCounts) {
        match self.runs.iter_mut().find(|runs| runs.is_like(&later)) {
            Some(runs) => runs.merge(later),
            None => self.runs.push(later),
        }
    }

    /// All ranges and their counts, in no order.
    pub fn into_counts(mut self) -> impl Iterator<Item = (Executed, u64)> {
        self.settle(&mut Counts::default());
        self.counts.into_counts()
    }

    /// Finds the ranges of cached blocks, and adds their sequences to `following`.
    fn settle(&mut self, following: &mut Counts<Following>) {
        for runs in self.runs.drain(..) {
            runs.add_to(&mut self.counts, following);
        }
    }
}

/// The counts of a [`Profiler`](crate::Profiler).
#[derive(Clone, Debug, Default)]
pub struct RawProfile {
    /// Ranges with what follows them.
    pub executed: Executions,
    /// Sequences between branches that were taken, those of cached blocks excepted: see
    /// [`settle`](Self::settle).
    pub(crate) following: Counts<Following>,
    /// Addresses without program memory.
    pub(crate) missing: Counts<Missing>,
    /// A count was larger than `u64::MAX` and is that number.
    pub saturated: bool,
}

impl RawProfile {
    /// The number of instructions.
    pub fn instructions(&mut self) -> u64 {
        self.settle();
        self.executed.counts.sum(|executed| executed.instructions.into())
    }

    /// Finds the ranges and sequences of cached blocks.
    pub(crate) fn settle(&mut self) {
        self.executed.settle(&mut self.following);
        self.saturated |= self.executed.counts.is_saturated() || self.following.is_saturated();
    }
}

impl RawProfile {
    /// All ranges and all sequences, with their counts, in no order.
    pub fn into_counts(
        mut self,
    ) -> (impl Iterator<Item = (Executed, u64)>, impl Iterator<Item = (Following, u64)>) {
        self.settle();
        (self.executed.counts.into_counts(), self.following.into_counts())
    }
}

impl Merge for RawProfile {
    fn merge(&mut self, later: Self) {
        self.executed.counts.merge(later.executed.counts);
        later.executed.runs.into_iter().for_each(|runs| self.executed.add_runs(runs));
        if self.executed.runs.len() > MAX_RUNS {
            self.settle();
        }
        self.following.merge(later.following);
        self.missing.merge(later.missing);
        self.saturated |= later.saturated;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tracewright_base::{Counted, Element, Instruction, Isa, Kind, Last, Range};
    use tracewright_capture::{Capture, Dump, Overlay, Source};
    use tracewright_decode::{Fork, Listener, Memory};
    use tracewright_image::MemoryId;

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
