//! What was executed: lines, entries of functions, and a checksum of the ranges.

use tracewright_base::{BLOCK_CLASSES, BlockClass, BlockStep, CachedBlock, CachedBlocks};

use crate::entries::{EntryCounts, Starts};
use crate::lines::ExecutedLines;
use crate::runs::Lines;

/// Steps whose blocks are read before they are summed.
const AT_ONCE: usize = 1 << 8;

/// What was executed in a segment so far. The sums do not depend on the order of the ranges.
#[derive(Clone, Debug, Default)]
pub(crate) struct Executed {
    checksum: u64,
    ranges: u64,
    instructions: u64,
    lines: ExecutedLines,
    starts: Starts,
    entries: EntryCounts,
}

/// What was executed in a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) lines: Lines,
    /// The addresses of functions, in order, and how often they were entered.
    pub(crate) entries: Vec<(u64, u64)>,
    /// The checksum.
    pub(crate) checksum: u64,
    /// The number of ranges.
    pub(crate) ranges: u64,
    /// The number of their instructions.
    pub(crate) instructions: u64,
}

impl Executed {
    /// Nothing is executed yet. `starts`: the functions.
    pub(crate) fn new(starts: Starts) -> Executed {
        Executed { starts, ..Executed::default() }
    }

    /// The number of ranges so far, and that of their instructions.
    pub(crate) fn totals(&self) -> (u64, u64) {
        (self.ranges, self.instructions)
    }

    /// The range of `bytes` bytes with these instructions from `start` on was executed `times`
    /// times.
    #[inline(always)]
    pub(crate) fn add(&mut self, start: u64, bytes: u32, instructions: u32, times: u64) {
        self.ranges = self.ranges.wrapping_add(times);
        let executed = u64::from(instructions).wrapping_mul(times);
        self.instructions = self.instructions.wrapping_add(executed);
        let sum = mix(start, bytes.into()).wrapping_mul(times);
        self.checksum = self.checksum.wrapping_add(sum);
        // A range without bytes has no line. Lines of one that wraps around the end of memory are
        // far apart.
        let last = start.wrapping_add(u64::from(bytes)).wrapping_sub(1);
        if bytes == 0 || self.lines.add_known(start / 64, last / 64) != Some(false) {
            self.add_code(start, bytes, times);
        }
    }

    /// These steps, which are of `blocks`, were executed.
    pub(crate) fn add_steps(&mut self, steps: &[BlockStep], blocks: &CachedBlocks<'_>) {
        let (all, classes) = (blocks.all(), blocks.classes());
        let Some(first) = all.first() else { return };
        self.ranges = self.ranges.wrapping_add(steps.len() as u64);
        let mut executed = [*first; AT_ONCE];
        for steps in steps.chunks(AT_ONCE) {
            // A loop of loads only: the processor waits for many of them at a time.
            for (cached, step) in executed.iter_mut().zip(steps) {
                *cached = *all.get(step.id().index()).unwrap_or(first);
            }
            let executed = executed.get(..steps.len()).unwrap_or_default();
            match self.starts.len() {
                0 => self.add_each::<false>(executed, classes),
                _ => self.add_each::<true>(executed, classes),
            }
        }
    }

    /// `MARKS`: there are functions.
    // The sums are in registers, and no block depends on the one before it.
    fn add_each<const MARKS: bool>(
        &mut self,
        blocks: &[CachedBlock],
        classes: &[BlockClass; BLOCK_CLASSES],
    ) {
        let (mut checksum, mut counts, mut lengths) = (0u64, 0u64, 0u64);
        let mut blocks = blocks.iter();
        loop {
            let mut near = self.lines.near();
            let mut slow = None;
            for cached in blocks.by_ref() {
                let Some(class) = classes.get(cached.class()) else { continue };
                let (start, bytes) = (cached.start(class), cached.bytes());
                counts += u64::from(cached.counts());
                lengths += u64::from(bytes);
                checksum = checksum.wrapping_add(mix(start, bytes.into()));
                if near.add::<MARKS>(start, bytes) != Some(false) {
                    slow = Some((start, bytes));
                    break;
                }
            }
            let Some((start, bytes)) = slow else { break };
            self.add_code(start, bytes, 1);
        }
        self.checksum = self.checksum.wrapping_add(checksum);
        let instructions = CachedBlock::instructions_of(counts, lengths);
        self.instructions = self.instructions.wrapping_add(instructions);
    }

    /// The same for lines that are not known, and those with the first instruction of a function.
    #[inline(never)]
    fn add_code(&mut self, start: u64, bytes: u32, times: u64) {
        let Some(last) = u64::from(bytes).checked_sub(1) else { return };
        let Some(last) = start.checked_add(last) else {
            // It wraps around the end of memory.
            let before = start.wrapping_neg() as u32;
            self.add_code(start, before, times);
            return self.add_code(0, bytes - before, times);
        };
        let (first_line, last_line) = (start / 64, last / 64);
        let Executed { lines, starts, entries, .. } = self;
        if lines.add_known(first_line, last_line).is_none() {
            lines.add(first_line, last_line, |group| starts.lines(group));
        }
        entries.add(starts, start, last, times);
    }

    /// Takes what was executed.
    pub(crate) fn take(&mut self) -> Taken {
        let entries = self.entries.take().into_iter();
        Taken {
            lines: self.lines.take(),
            entries: entries.filter_map(|(n, count)| Some((self.starts.get(n)?, count))).collect(),
            checksum: std::mem::take(&mut self.checksum),
            ranges: std::mem::take(&mut self.ranges),
            instructions: std::mem::take(&mut self.instructions),
        }
    }
}

/// A number that depends on all bits of both.
#[inline]
pub(crate) const fn mix(a: u64, b: u64) -> u64 {
    let product = (a ^ 0x9e37_79b9_7f4a_7c15) as u128 * (b ^ 0xe703_7ed1_a0b4_28db) as u128;
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use tracewright_base::{Block, BlockId, CodeSpace};

    use super::*;

    #[test]
    fn sums_are_those_of_maps() {
        let addresses: Vec<u64> = (0..2000).map(|n| n * 612).collect();
        let mut executed = Executed::new(Starts::new(addresses.clone().into()));
        for round in 0..2 {
            let (mut lines, mut entries) = (BTreeSet::new(), BTreeMap::new());
            let (mut checksum, mut ranges, mut instructions) = (0u64, 0, 0);
            for n in 0..100_000u64 {
                let start = n * n % 100_003 * 4;
                let (mut bytes, times) =
                    (4 * (n % 3) as u32, [1, 7, u64::from(u32::MAX) * 3][n as usize % 3]);
                // Many lines.
                if n % 1000 == 0 {
                    bytes = 1 << 19;
                }
                executed.add(start, bytes, bytes / 4, times);
                let own = u64::from(bytes / 4);
                (ranges, instructions) = (ranges + times, instructions + times * own);
                checksum = checksum.wrapping_add(mix(start, bytes.into()).wrapping_mul(times));
                if bytes > 0 {
                    let last = start + u64::from(bytes) - 1;
                    lines.extend(start / 64..=last / 64);
                    let mut next = start.div_ceil(612) * 612;
                    while next <= last && next < 2000 * 612 {
                        *entries.entry(next).or_insert(0u64) += times;
                        next += 612;
                    }
                }
            }
            assert_eq!(executed.totals(), (ranges, instructions));
            let taken = executed.take();
            assert_eq!(taken.checksum, checksum, "round {round}");
            assert_eq!((taken.ranges, taken.instructions), (ranges, instructions));
            assert!(taken.entries.into_iter().eq(entries), "round {round}");
            let taken = taken.lines.to_runs().into_owned().into_iter();
            assert!(taken.flat_map(|(line, count)| line..line + count).eq(lines), "round {round}");
        }
        assert_eq!(executed.take(), Taken::default());
    }

    /// The same sums as those of the single ranges, with and without functions, also for blocks of
    /// other pages and in another half of the address space.
    #[test]
    fn sums_of_steps_are_those_of_their_ranges() {
        for functions in [0, 300] {
            let starts = || Starts::new((0..functions).map(|n| n * 612).collect());
            let (mut each, mut all) = (Executed::new(starts()), Executed::new(starts()));
            let mut classes = vec![BlockClass::NONE; BLOCK_CLASSES];
            for round in 0..3u64 {
                let (mut cached, mut steps) = (Vec::new(), Vec::new());
                for n in 0..5000u64 {
                    let base = [0, 0, 0, 1 << 30, 0xffff_8000_0000_0000][n as usize % 5];
                    let start = base + n * n % 50_021 * 4 + round * 64;
                    let instructions = [1, 2, 17, 127][(n / 5) as usize % 4];
                    let bytes = 4 * instructions;
                    let block = Block { start, bytes, instructions, ..Block::default() };
                    let class = (base >> 60) as usize;
                    classes[class] = BlockClass::of(&block, CodeSpace(0));
                    steps.push(BlockStep::new(BlockId::new(cached.len()), n % 2 == 0, 0));
                    cached.push(CachedBlock::new(&block, class).expect("a short block"));
                    each.add(start, bytes, instructions, 1);
                }
                let successors = vec![[BlockId::NONE; 2]; cached.len()];
                let classes = classes.first_chunk().expect("all classes");
                let blocks = CachedBlocks::new(&cached, &successors, classes);
                steps.chunks(700).for_each(|steps| all.add_steps(steps, &blocks));
                assert_eq!(all.totals(), each.totals());
                let taken = all.take();
                assert_eq!(taken.entries.is_empty(), functions == 0);
                assert_eq!(taken, each.take(), "round {round}");
            }
        }
    }

    #[test]
    fn a_range_at_the_end_of_memory_has_its_lines() {
        let mut executed = Executed::new(Starts::new([4, u64::MAX - 3].into()));
        executed.add(u64::MAX - 7, 16, 4, 2);
        executed.add(5, 0, 0, 1);
        let taken = executed.take();
        assert_eq!(taken.lines.to_runs()[..], [(0, 1), (u64::MAX / 64, 1)]);
        assert_eq!(taken.entries, [(4, 2), (u64::MAX - 3, 2)]);
        assert_eq!((taken.ranges, taken.instructions), (3, 8));
    }
}
