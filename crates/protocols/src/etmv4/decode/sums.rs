//! Sums the cached blocks of a walk that are in one function, for a sink that has functions.

use tracewright_base::{BlockId, BlockTransfer, CachedBlocks, FunctionMarks, RangeSum, Sink};

use super::lookup::prefetch_block;
use super::tallied::range;

/// Ranges that a sink has not received yet.
#[derive(Default)]
pub(super) struct Sums {
    /// In its memory are the transfers.
    marks: FunctionMarks,
    /// The number of transfers.
    count: usize,
    /// What is added to the offsets of the transfers.
    base: u64,
    /// The waypoint of the last block led out of its function, or may have.
    pub(super) left: bool,
    /// The sink has received the last block, or it is among the ranges.
    known: bool,
    ranges: u64,
    /// Instructions since the last transfer.
    instructions: u64,
    /// The offset of the last range.
    at: u64,
}

impl Sums {
    pub(super) fn new(marks: FunctionMarks) -> Sums {
        Sums { marks, ..Sums::default() }
    }

    pub(super) fn take_marks(&mut self) -> FunctionMarks {
        core::mem::take(&mut self.marks)
    }

    /// Takes atoms through blocks of a function, up to one that leaves it, or before one of which
    /// nothing is known. The arguments are those of [`BlockWalk`](super::block_walk::BlockWalk).
    /// Returns `None`, and does nothing, if nothing is known of the first block.
    #[inline(always)]
    pub(super) fn atoms<const PREFETCH: bool, S: Sink>(
        &mut self,
        (mut next, mut last): (BlockId, BlockId),
        (mut steps, mut before): (u32, u32),
        at: u64,
        blocks: &CachedBlocks<'_>,
        sink: &mut S,
    ) -> Option<((BlockId, BlockId), (u32, u32))> {
        let mark = self.marks.get(next, steps & 1 != 0);
        if !(mark.is_known() && self.known) {
            return None;
        }
        if self.left {
            self.transfer((last, before), next, at, blocks, sink);
        }
        let marks = self.marks.all();
        let len = blocks.successors().len().min(marks.len());
        let (successors, marks) = (blocks.successors().get(..len)?, marks.get(..len)?);
        let (all, mut instructions) = (steps, 0);
        while steps > 1
            && let Some(mark) = marks.get(next.index())
            && let Some(after) = successors.get(next.index())
        {
            let executed = usize::from(steps & 1 != 0);
            let mark = mark[executed];
            if !mark.stays() {
                break;
            }
            instructions += mark.instructions();
            (last, before) = (next, steps);
            next = after[executed];
            steps >>= 1;
            if PREFETCH {
                prefetch_block(*blocks, next);
            }
        }
        // The block that leaves the function.
        let mut left = false;
        if steps > 1
            && let Some(mark) = marks.get(next.index())
            && let Some(after) = successors.get(next.index())
        {
            let executed = usize::from(steps & 1 != 0);
            let mark = mark[executed];
            left = mark.is_known();
            if left {
                instructions += mark.instructions();
                (last, before) = (next, steps);
                next = after[executed];
                steps >>= 1;
                if PREFETCH {
                    prefetch_block(*blocks, next);
                }
            }
        }
        self.left = left;
        self.ranges += u64::from(steps.leading_zeros() - all.leading_zeros());
        self.instructions += u64::from(instructions);
        self.at = at;
        Some(((next, last), (steps, before)))
    }

    /// Stores the transfer from the last block to `next`.
    #[inline(always)]
    fn transfer<S: Sink>(
        &mut self,
        (last, before): (BlockId, u32),
        next: BlockId,
        at: u64,
        blocks: &CachedBlocks<'_>,
        sink: &mut S,
    ) {
        let mut offset = at.wrapping_sub(self.base);
        if (self.instructions | offset) > u32::MAX.into()
            || self.count >= self.marks.transfers.len()
        {
            self.begin((last, before), at, blocks, sink);
            offset = 0;
        }
        let from = BlockTransfer::block_before(last, before & 1 != 0);
        if let Some(room) = self.marks.transfers.get_mut(self.count) {
            *room = BlockTransfer::new(from, next, self.instructions as u32, offset as u32);
            self.count += 1;
            self.instructions = 0;
        }
    }

    /// There is no memory left for transfers, or their numbers become too large.
    #[cold]
    #[inline(never)]
    fn begin<S: Sink>(
        &mut self,
        last: (BlockId, u32),
        at: u64,
        blocks: &CachedBlocks<'_>,
        sink: &mut S,
    ) {
        if self.instructions > u32::MAX.into() {
            self.flush(last, blocks, sink);
        }
        self.pass_on(blocks, sink);
        self.base = at;
    }

    /// The sink has received `last`: marks it, and finds out whether it left its function.
    #[cold]
    #[inline(never)]
    pub(super) fn received<S: Sink>(
        &mut self,
        (last, before): (BlockId, u32),
        blocks: &CachedBlocks<'_>,
        sink: &mut S,
    ) {
        self.known = true;
        self.marks.learn(last, S::sums_within(sink), blocks);
        self.left = !self.marks.get(last, before & 1 != 0).stays();
    }

    /// Passes the transfers to `sink`.
    fn pass_on<S: Sink>(&mut self, blocks: &CachedBlocks<'_>, sink: &mut S) {
        let count = core::mem::take(&mut self.count);
        if let Some(transfers) = self.marks.transfers.get(..count)
            && count > 0
        {
            sink.transfers(self.base, transfers, blocks);
        }
    }

    /// Passes all to `sink`.
    #[inline(never)]
    pub(super) fn flush<S: Sink>(
        &mut self,
        (last, before): (BlockId, u32),
        blocks: &CachedBlocks<'_>,
        sink: &mut S,
    ) {
        self.pass_on(blocks, sink);
        if self.ranges > 0
            && let Some(last) = range(last, before, blocks)
        {
            let Sums { ranges, instructions, at, .. } = *self;
            sink.sum(at, &RangeSum { ranges, instructions, last });
        }
        (self.ranges, self.instructions) = (0, 0);
    }
}
