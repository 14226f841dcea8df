//! Counts of executed cached blocks, without what followed each: for a listener whose sums do not
//! depend on the order of the ranges.

use alloc::sync::Weak;
use alloc::vec::Vec;

use crate::{BlockId, CachedBlock, CachedBlocks, Numbering};

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
    /// For each block the number of executions, bits \[6:0]; 0 where there is no record. Bit \[7]
    /// is set for a block whose kind needs more than an addition, once it was executed.
    counters: Vec<u8>,
    records: Vec<Record>,
    /// Space for blocks that are passed on without a count.
    list: Vec<BlockId>,
}

/// The length of the list: few enough blocks to stay in the first-level cache.
const LIST: usize = 1 << 10;

impl ExecutionCounts {
    /// Prepares the counts for `blocks`. If these have other numbers than those that were counted,
    /// the counts are taken before.
    #[inline]
    pub fn prepare(&mut self, blocks: &CachedBlocks<'_>, each: impl FnMut(ExecutedBlock)) {
        if !blocks.numbering().is_some_and(|numbering| numbering.is(&self.numbering)) {
            self.take(each);
            self.counters.clear();
            self.numbering = blocks.numbering().map(Numbering::downgrade).unwrap_or_default();
        }
        if self.counters.len() < blocks.all().len() {
            self.counters.resize(blocks.all().len(), 0);
        }
    }

    /// Space for a list of blocks.
    #[inline]
    pub fn take_list(&mut self) -> Vec<BlockId> {
        let mut list = core::mem::take(&mut self.list);
        list.resize(LIST, BlockId::NONE);
        list
    }

    /// Takes the space back.
    #[inline]
    pub fn return_list(&mut self, list: Vec<BlockId>) {
        self.list = list;
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
    /// the first execution, where the counter is too large, and for a block of a `slow` kind:
    /// [`execute`](Self::execute) counts it.
    #[inline(always)]
    pub const fn increment(counter: u8) -> Option<u8> {
        let sum = counter.wrapping_add(1);
        // One comparison: bit [7] is the sign.
        if sum.cast_signed() > 1 { Some(sum) } else { None }
    }

    /// The counter of the block `id` after `times` further executions. `slow`: the kinds of
    /// waypoints that need more than an addition.
    #[inline]
    pub fn execute(
        &mut self,
        counter: u8,
        id: BlockId,
        times: u32,
        slow: u16,
        blocks: &CachedBlocks<'_>,
    ) -> u8 {
        let sum = u32::from(counter & COUNT) + times;
        match counter != 0 && sum <= COUNT.into() {
            true => counter & SLOW | sum as u8,
            false => self.record(counter, id, sum, slow, blocks),
        }
    }

    #[cold]
    #[inline(never)]
    fn record(
        &mut self,
        counter: u8,
        id: BlockId,
        sum: u32,
        slow: u16,
        blocks: &CachedBlocks<'_>,
    ) -> u8 {
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
        (sum - more) as u8 | if cached.is_any_of(slow) { SLOW } else { 0 }
    }
}
