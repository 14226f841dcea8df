//! Counts the cached blocks of a walk, for a sink that only counts.

use alloc::vec::Vec;

use tracewright_base::{
    BlockCounts, BlockId, CachedBlock, CachedBlocks, ExecutionCounts, Range, Sink,
};

use super::lookup::{ADJACENT, prefetch_block};

/// Cached blocks that are counted instead of passed to a sink.
pub(super) struct Tallied {
    counts: BlockCounts,
    counters: Vec<[u32; 2]>,
    /// For a sink with [`Sink::EXECUTIONS`].
    executions: ExecutionCounts,
    executed: Vec<u8>,
    /// Blocks that are passed on together, where they are many. The first `listed` are used.
    list: Vec<BlockId>,
    listed: usize,
    /// The kinds of waypoints that need more than an addition.
    slow: u16,
    /// The next block is the first one: what precedes it is not known here. Never set where only
    /// executions are counted.
    pub(super) first: bool,
}

impl Tallied {
    #[inline]
    pub(super) fn new<S: Sink>(blocks: &CachedBlocks<'_>, slow: u16, sink: &mut S) -> Tallied {
        let mut counts = match S::COUNTS && !S::EXECUTIONS {
            true => sink.take_counts(blocks),
            false => BlockCounts::default(),
        };
        let mut executions = match S::EXECUTIONS {
            true => sink.take_executions(blocks),
            false => ExecutionCounts::default(),
        };
        Tallied {
            counters: counts.take_counters(),
            counts,
            executed: executions.take_counters(),
            list: executions.take_list(),
            listed: 0,
            executions,
            slow,
            first: !S::EXECUTIONS,
        }
    }

    /// Takes atoms through blocks that were counted before, up to a waypoint of a `special` kind
    /// that takes effect. The arguments are those of [`BlockWalk`].
    // Apart from the other blocks, all that is needed for an atom is in registers.
    #[inline(always)]
    pub(super) fn atoms<const PREFETCH: bool, S: Sink>(
        &mut self,
        (mut next, mut last): (BlockId, BlockId),
        (mut steps, mut before): (u32, u32),
        special: u16,
        blocks: &CachedBlocks<'_>,
    ) -> ((BlockId, BlockId), (u32, u32)) {
        if S::EXECUTIONS {
            return match PREFETCH {
                true => self.listed((next, last), (steps, before), blocks),
                false => self.executions((next, last), (steps, before), blocks),
            };
        }
        let len = blocks.successors().len().min(self.counters.len());
        let successors = blocks.successors().get(..len).unwrap_or_default();
        let counters = self.counters.get_mut(..len).unwrap_or_default();
        while steps > 1
            && let Some(after) = successors.get(next.index())
            && let Some(counters) = counters.get_mut(next.index())
        {
            let executed = usize::from(steps & 1 != 0);
            let counter = &mut counters[executed];
            let sum = counter.wrapping_add(1);
            let is_special = |(cached, _): (&CachedBlock, _)| cached.is_any_of(special);
            if sum <= 1 || executed == 1 && special != 0 && blocks.get(next).is_none_or(is_special)
            {
                break;
            }
            *counter = sum;
            (last, before) = (next, steps);
            next = after[executed];
            steps >>= 1;
            if PREFETCH {
                prefetch_block(*blocks, next);
            }
        }
        ((next, last), (steps, before))
    }

    /// The same where only executions are counted: the counter of a block states whether its kind
    /// is special, so that nothing else is read of it.
    #[inline(always)]
    fn executions(
        &mut self,
        (mut next, mut last): (BlockId, BlockId),
        (mut steps, mut before): (u32, u32),
        blocks: &CachedBlocks<'_>,
    ) -> ((BlockId, BlockId), (u32, u32)) {
        let len = blocks.successors().len().min(self.executed.len());
        let successors = blocks.successors().get(..len).unwrap_or_default();
        let counters = self.executed.get_mut(..len).unwrap_or_default();
        while steps > 1
            && let Some(after) = successors.get(next.index())
            && let Some(counter) = counters.get_mut(next.index())
            && let Some(sum) = ExecutionCounts::increment(*counter)
        {
            *counter = sum;
            (last, before) = (next, steps);
            next = after[usize::from(steps & 1 != 0)];
            steps >>= 1;
        }
        ((next, last), (steps, before))
    }

    /// The same where there are many blocks: nothing that is in memory is examined but what the
    /// decoder needs.
    #[inline(always)]
    fn listed(
        &mut self,
        (mut next, mut last): (BlockId, BlockId),
        (mut steps, mut before): (u32, u32),
        blocks: &CachedBlocks<'_>,
    ) -> ((BlockId, BlockId), (u32, u32)) {
        let (all, successors) = (blocks.all(), blocks.successors());
        let len = all.len().min(successors.len());
        let (all, successors) =
            (all.get(..len).unwrap_or_default(), successors.get(..len).unwrap_or_default());
        let slow = [0, self.slow];
        let mut free = self.list.get_mut(self.listed..).unwrap_or_default().iter_mut();
        while steps > 1
            && let Some(after) = successors.get(next.index())
            && let Some(cached) = all.get(next.index())
            && !cached.is_any_of(slow[usize::from(steps & 1 != 0)])
            && let Some(to) = free.next()
        {
            *to = next;
            (last, before) = (next, steps);
            next = after[usize::from(steps & 1 != 0)];
            steps >>= 1;
            if next.index().wrapping_sub(last.index()).wrapping_add(ADJACENT) > 2 * ADJACENT {
                prefetch_block(*blocks, next);
            }
        }
        self.listed = self.list.len() - free.len();
        ((next, last), (steps, before))
    }

    /// Passes on the blocks of the list.
    #[cold]
    #[inline(never)]
    fn flush<S: Sink>(&mut self, blocks: &CachedBlocks<'_>, sink: &mut S) {
        sink.executed_blocks(self.list.get(..self.listed).unwrap_or_default(), blocks);
        self.listed = 0;
    }

    /// The block `id` is executed `times` times.
    #[inline(always)]
    pub(super) fn execute<const PREFETCH: bool, S: Sink>(
        &mut self,
        id: BlockId,
        taken: bool,
        times: u32,
        blocks: &CachedBlocks<'_>,
        sink: &mut S,
    ) {
        if S::EXECUTIONS && PREFETCH {
            for _ in 0..times {
                if self.listed >= self.list.len() {
                    self.flush(blocks, sink);
                }
                if let Some(to) = self.list.get_mut(self.listed) {
                    *to = id;
                    self.listed += 1;
                }
            }
        } else if S::EXECUTIONS {
            if let Some(counter) = self.executed.get_mut(id.index()) {
                *counter = self.executions.execute(*counter, id, times, self.slow, blocks);
            }
        } else if let Some(counters) = self.counters.get_mut(id.index()) {
            let counter = &mut counters[usize::from(taken)];
            let sum = counter.wrapping_add(times);
            *counter = match sum > times {
                true => sum,
                false => self.counts.first(*counter, (id, taken), times, blocks),
            };
        }
    }

    /// `next` is executed after `last` because of an address or a return.
    #[inline(always)]
    pub(super) fn jump<S: Sink>(
        &mut self,
        (last, before): (BlockId, u32),
        next: BlockId,
        at: u64,
        blocks: &CachedBlocks<'_>,
        sink: &mut S,
    ) {
        if S::EXECUTIONS || self.first || !next.can_be_next() {
            return;
        }
        if self.counts.jump((last, before & 1 != 0), next, blocks) {
            self.revoke(last, before, blocks);
        } else {
            self.end(last, before, at, blocks, sink);
            *self = Tallied::new(blocks, self.slow, sink);
        }
    }

    /// The successor of `last` was not executed after it.
    #[inline]
    fn revoke(&mut self, last: BlockId, before: u32, blocks: &CachedBlocks<'_>) {
        let taken = before & 1 != 0;
        if blocks.next(last, taken).can_be_next()
            && let Some(counters) = self.counters.get_mut(last.index())
        {
            let counter = &mut counters[usize::from(taken)];
            *counter = counter.saturating_sub(1);
        }
    }

    /// It is not known what follows `last`.
    pub(super) fn end<S: Sink>(
        &mut self,
        last: BlockId,
        before: u32,
        at: u64,
        blocks: &CachedBlocks<'_>,
        sink: &mut S,
    ) {
        if S::EXECUTIONS {
            if self.listed > 0 {
                self.flush(blocks, sink);
            }
            let mut counts = core::mem::take(&mut self.executions);
            counts.return_list(core::mem::take(&mut self.list));
            counts.return_counters(core::mem::take(&mut self.executed));
            return sink.executed(counts);
        }
        let last_range = range(last, before, blocks).filter(|_| !self.first);
        if last_range.is_some() {
            self.revoke(last, before, blocks);
        }
        let mut counts = core::mem::take(&mut self.counts);
        counts.return_counters(core::mem::take(&mut self.counters));
        sink.counted(counts, at, last_range);
    }
}

/// The range of the block `last`, whose waypoint took effect if bit 0 of `before` is set.
#[inline(always)]
pub(super) fn range(last: BlockId, before: u32, blocks: &CachedBlocks<'_>) -> Option<Range> {
    let (cached, class) = blocks.get(last)?;
    Some(cached.range(class, before & 1 != 0))
}
