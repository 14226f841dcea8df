//! Counts of executed cached blocks.

use std::sync::Weak;

use tracewright_base::{CachedBlocks, Numbering};

/// How often each step of a source was executed: a counter by block number and outcome, which is
/// one addition for a step. Each source has its own. For each batch [`prepare`](Self::prepare)
/// comes before [`add`](Self::add), and at the end [`take`](Self::take) returns the counts.
///
/// What belongs to a step is stored when it is counted for the first time, as `T`, because blocks
/// may get other numbers: taking the counts costs nothing for blocks that were not executed.
#[derive(Clone, Debug)]
pub struct StepCounts<T> {
    /// That of the blocks.
    numbering: Weak<()>,
    /// By [`BlockStep::index`](tracewright_base::BlockStep::index); 0 where there is no record.
    counters: Vec<u32>,
    /// The counted steps: index, executions that are not in the counter, and what belongs to it.
    records: Vec<(u32, u64, T)>,
}

impl<T> Default for StepCounts<T> {
    fn default() -> Self {
        StepCounts { numbering: Weak::new(), counters: Vec::new(), records: Vec::new() }
    }
}

impl<T> StepCounts<T> {
    /// Prepares the counts for steps of `blocks`. If these have other numbers than those that were
    /// counted, the counts are passed to `each`, as [`take`](Self::take) does.
    #[inline]
    pub fn prepare(&mut self, blocks: &CachedBlocks<'_>, each: impl FnMut(T, u64)) {
        let same = blocks.numbering().is_some_and(|numbering| numbering.is(&self.numbering));
        if !same {
            self.take(each);
            self.counters.clear();
            self.numbering = blocks.numbering().map(Numbering::downgrade).unwrap_or_default();
        }
        let len = 2 * blocks.all().len();
        if self.counters.len() < len {
            self.counters.resize(len, 0);
        }
    }

    /// Counts `times` executions of the step `index`, to which `record` belongs.
    #[inline(always)]
    pub fn add(&mut self, index: usize, times: u32, record: impl FnOnce() -> T) {
        if let Some(counter) = self.counters.get_mut(index) {
            let sum = counter.wrapping_add(times);
            // One comparison finds the first execution and an overflow.
            if sum > times {
                *counter = sum;
            } else {
                self.first(index, times, record);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn first(&mut self, index: usize, times: u32, record: impl FnOnce() -> T) {
        let Some(counter) = self.counters.get_mut(index).filter(|_| times > 0) else { return };
        match *counter {
            0 => self.records.push((index as u32, 0, record())),
            before => {
                let own = self.records.iter_mut().find(|(own, ..)| *own as usize == index);
                if let Some((_, more, _)) = own {
                    *more += u64::from(before);
                }
            }
        }
        *counter = times;
    }

    /// Passes each counted step to `each`, with the number of its executions, and begins anew.
    pub fn take(&mut self, mut each: impl FnMut(T, u64)) {
        for (index, more, record) in self.records.drain(..) {
            let counter = self.counters.get_mut(index as usize).map(std::mem::take).unwrap_or(0);
            each(record, more + u64::from(counter));
        }
    }

    /// The memory in use, in bytes.
    pub fn weight(&self) -> usize {
        size_of_val(&self.counters[..]) + size_of_val(&self.records[..])
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::{
        BLOCK_CLASSES, Block, BlockClass, BlockId, CachedBlock, CodeSpace, Successors,
    };

    use super::*;

    #[test]
    fn each_execution_is_counted_once() {
        let block = Block { start: 0x100, bytes: 8, instructions: 2, ..Block::default() };
        let mut classes = vec![BlockClass::NONE; BLOCK_CLASSES];
        classes[0] = BlockClass::of(&block, CodeSpace(3));
        let cached = [CachedBlock::new(&block, 0).expect("a short block"); 2];
        let successors: [Successors; 2] = [[BlockId::NONE; 2]; 2];
        let classes = classes.first_chunk().expect("all classes");
        let (one, other) = (Numbering::default(), Numbering::default());
        let blocks = CachedBlocks::new(&cached, &successors, classes);
        let mut counts = StepCounts::<&str>::default();
        let none = |record: &str, count| panic!("{record} {count}");
        counts.prepare(&blocks.with_numbering(&one), none);
        for times in [1, u32::MAX - 1, 5, 0] {
            counts.add(3, times, || "third");
        }
        counts.add(0, 2, || "first");
        counts.add(1, 0, || "never");
        counts.add(4, 1, || "unknown");
        counts.prepare(&blocks.with_numbering(&one), none);
        let mut found = Vec::new();
        counts.prepare(&blocks.with_numbering(&other), |record, count| found.push((record, count)));
        assert_eq!(found, [("third", u64::from(u32::MAX) + 5), ("first", 2)]);
        counts.take(none);
        counts.add(0, 1, || "again");
        counts.take(|record, count| assert_eq!((record, count), ("again", 1)));
    }
}
