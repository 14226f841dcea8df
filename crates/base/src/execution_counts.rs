//! Counts of executed cached blocks, without what followed each: for a listener whose sums do not
//! depend on the order of the ranges.

use alloc::sync::Weak;
use alloc::vec::Vec;

use crate::cached_block::{BlockId, CachedBlock, CachedBlocks};
use crate::numbering::Numbering;

/// A block that was executed, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutedBlock {
    /// Address of the first instruction.
    pub start: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Number of instructions.
    pub instructions: u32,
    /// The number of executions.
    pub count: u64,
}

/// A block that was executed first, or whose counter was too large.
#[derive(Clone, Copy, Debug)]
struct Record {
    start: u64,
    block: BlockId,
    /// Executions that are not in the counter.
    more: u32,
    bytes: u16,
    instructions: u8,
}

/// The bits of a counter with the number of executions.
const COUNT: u8 = 0x7f;
/// The bit of a counter whose block needs more than an addition.
const SLOW: u8 = 0x80;

const _: () = assert!(CachedBlock::MAX_INSTRUCTIONS <= u8::MAX as u32);

/// How often each cached block was executed since the counts were taken.
///
/// A block has a counter of one byte by its number, so that the counters of a large program fit
/// into the caches. The first execution records the address of the block: taking the counts costs
/// nothing for blocks that were not executed.
#[derive(Clone, Debug, Default)]
pub struct ExecutionCounts {
    /// That of the blocks.
    numbering: Weak<()>,
    /// The kinds of waypoints that need more than an addition.
    slow: u16,
    /// For each block the number of executions, bits \[6:0]; 0 where there is no record. Bit \[7]
    /// is set for a block of a kind of `slow`, once it was executed.
    counters: Vec<u8>,
    records: Vec<Record>,
}

impl ExecutionCounts {
    /// Prepares the counts for `blocks`, of which those of a `slow` kind need more than an
    /// addition. If these have other numbers than those that were counted, or the kinds are others,
    /// the counts are taken before.
    #[inline]
    pub fn prepare(
        &mut self,
        blocks: &CachedBlocks<'_>,
        slow: u16,
        each: impl FnMut(ExecutedBlock),
    ) {
        let same = blocks.numbering().is_some_and(|numbering| numbering.is(&self.numbering));
        if !same || slow != self.slow {
            self.take(each);
            self.counters.clear();
            self.slow = slow;
            self.numbering = blocks.numbering().map(Numbering::downgrade).unwrap_or_default();
        }
        if self.counters.len() < blocks.all().len() {
            self.counters.resize(blocks.all().len(), 0);
        }
    }

    /// Takes all counts, each block once or more often.
    pub fn take(&mut self, mut each: impl FnMut(ExecutedBlock)) {
        for Record { start, block, more, bytes, instructions } in self.records.drain(..) {
            let counter = self.counters.get_mut(block.index()).map(core::mem::take);
            let count = u64::from(more) + u64::from(counter.unwrap_or(0) & COUNT);
            let (bytes, instructions) = (bytes.into(), instructions.into());
            each(ExecutedBlock { start, bytes, instructions, count });
        }
    }

    /// The counters of all blocks, by their numbers: see [`increment`](Self::increment).
    #[inline]
    pub fn take_counters(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.counters)
    }

    /// Takes the counters back.
    #[inline]
    pub fn return_counters(&mut self, counters: Vec<u8>) {
        self.counters = counters;
    }

    /// The counter after one more execution, where that takes no more than an addition. `None` at
    /// the first execution, where the counter is too large, and for a block of a slow kind:
    /// [`execute`](Self::execute) counts it.
    #[inline(always)]
    pub const fn increment(counter: u8) -> Option<u8> {
        let sum = counter.wrapping_add(1);
        // One comparison: bit [7] is the sign.
        if sum.cast_signed() > 1 { Some(sum) } else { None }
    }

    /// The counter of the block `id` after `times` further executions.
    #[inline]
    pub fn execute(
        &mut self,
        counter: u8,
        id: BlockId,
        times: u32,
        blocks: &CachedBlocks<'_>,
    ) -> u8 {
        let sum = u32::from(counter & COUNT) + times;
        match counter != 0 && sum <= COUNT.into() {
            true => counter & SLOW | sum as u8,
            false => self.record(counter, id, sum, blocks),
        }
    }

    #[cold]
    #[inline(never)]
    fn record(&mut self, counter: u8, id: BlockId, sum: u32, blocks: &CachedBlocks<'_>) -> u8 {
        let Some((cached, class)) = blocks.get(id).filter(|_| sum > 0) else { return counter };
        let range = cached.range(class, false);
        let more = if sum <= COUNT.into() { 0 } else { sum - 1 };
        self.records.push(Record {
            start: range.start,
            block: id,
            more,
            bytes: range.bytes as u16,
            instructions: range.instructions as u8,
        });
        (sum - more) as u8 | if cached.is_any_of(self.slow) { SLOW } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cached_block::{BLOCK_CLASSES, BlockClass, CodeSpace, Successors};
    use crate::code::Block;
    use crate::instruction::{Instruction, Kind, Role};
    use crate::isa::Isa;

    /// Blocks of a conditional branch and of a call, and `times` executions of each.
    #[test]
    fn each_execution_is_counted_once() {
        let block = |start, role| {
            let last = Instruction {
                kind: Kind::Branch,
                role,
                size: 4,
                isa: Isa::A64,
                ..Instruction::default()
            };
            Block { start, bytes: 8, instructions: 2, last, ..Block::default() }
        };
        let all = [block(0x100, Role::Jump), block(0x200, Role::Call)];
        let mut classes = alloc::vec![BlockClass::NONE; BLOCK_CLASSES];
        let cached: Vec<CachedBlock> = all
            .iter()
            .enumerate()
            .map(|(n, block)| {
                classes[n] = BlockClass::of(block, CodeSpace(3));
                CachedBlock::new(block, n).expect("a short block")
            })
            .collect();
        let successors: [Successors; 2] = [[BlockId::NONE; 2]; 2];
        let classes = classes.first_chunk().expect("all classes");
        let (one, other) = (Numbering::default(), Numbering::default());
        let blocks = CachedBlocks::new(&cached, &successors, classes);
        let mut counts = ExecutionCounts::default();
        // The counter of each block after the first execution states whether it is slow.
        let execute = |counts: &mut ExecutionCounts, times: [u32; 2]| {
            let mut counters = counts.take_counters();
            for (n, times) in times.into_iter().enumerate() {
                for _ in 0..times {
                    counters[n] = match ExecutionCounts::increment(counters[n]) {
                        Some(counter) => counter,
                        None => counts.execute(counters[n], BlockId::new(n), 1, &blocks),
                    };
                }
            }
            counts.return_counters(counters.clone());
            counters.iter().map(|counter| counter & SLOW != 0).collect::<Vec<_>>()
        };
        let sums = |found: &[ExecutedBlock]| {
            [0x100, 0x200].map(|start| {
                let own = found.iter().filter(|block| block.start == start);
                own.fold(0, |sum, block| {
                    assert_eq!((block.bytes, block.instructions), (8, 2));
                    sum + block.count
                })
            })
        };
        let mut found = Vec::new();
        for times in [[1, 1], [126, 127], [127, 128], [128, 129], [1000, 1], [0, 1000]] {
            counts.prepare(&blocks.with_numbering(&one), 0, |block| panic!("{block:?}"));
            assert_eq!(execute(&mut counts, times), [false; 2]);
            counts.take(|block| found.push(block));
            assert_eq!(sums(&found), times.map(u64::from));
            found.clear();
        }
        // Other kinds, other numbers.
        execute(&mut counts, [3, 4]);
        let slow = CachedBlock::CALL;
        counts.prepare(&blocks.with_numbering(&one), slow, |block| found.push(block));
        assert_eq!(sums(&found), [3, 4]);
        assert_eq!(execute(&mut counts, [5, 600]), [false, true]);
        counts.prepare(&blocks.with_numbering(&one), slow, |block| panic!("{block:?}"));
        counts.prepare(&blocks.with_numbering(&other), slow, |block| found.push(block));
        assert_eq!(sums(&found), [8, 604]);
        counts.take(|block| panic!("{block:?}"));
        // Several at once.
        let mut counters = counts.take_counters();
        for times in [24, 0, 24, 100, 24] {
            counters[0] = counts.execute(counters[0], BlockId::new(0), times, &blocks);
        }
        counts.return_counters(counters);
        found.clear();
        counts.take(|block| found.push(block));
        assert_eq!(sums(&found), [172, 0]);
    }
}
