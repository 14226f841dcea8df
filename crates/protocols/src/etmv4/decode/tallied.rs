//! Counts the cached blocks of a walk, for a sink that only counts.

use alloc::vec::Vec;

use tracewright_base::{BlockCounts, BlockId, CachedBlock, CachedBlocks, Range, Sink};

use super::lookup::prefetch_block;

/// Cached blocks that are counted instead of passed to a sink.
pub(super) struct Tallied {
    counts: BlockCounts,
    counters: Vec<[u32; 2]>,
    /// The next block is the first one: what precedes it is not known here.
    pub(super) first: bool,
}

impl Tallied {
    pub(super) fn new<S: Sink>(blocks: &CachedBlocks<'_>, sink: &mut S) -> Tallied {
        let mut counts = match S::COUNTS {
            true => sink.take_counts(blocks),
            false => BlockCounts::default(),
        };
        Tallied { counters: counts.take_counters(), counts, first: true }
    }

    /// Takes atoms through blocks that were counted before, up to a waypoint of a `special` kind
    /// that takes effect. The arguments are those of [`BlockWalk`].
    // Apart from the other blocks, all that is needed for an atom is in registers.
    #[inline(always)]
    pub(super) fn atoms<const PREFETCH: bool>(
        &mut self,
        (mut next, mut last): (BlockId, BlockId),
        (mut steps, mut before): (u32, u32),
        special: u16,
        blocks: &CachedBlocks<'_>,
    ) -> ((BlockId, BlockId), (u32, u32)) {
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

    /// The block `id` is executed `times` times.
    #[inline(always)]
    pub(super) fn execute(
        &mut self,
        id: BlockId,
        taken: bool,
        times: u32,
        blocks: &CachedBlocks<'_>,
    ) {
        if let Some(counters) = self.counters.get_mut(id.index()) {
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
        if self.first || !next.can_be_next() {
            return;
        }
        if self.counts.jump((last, before & 1 != 0), next, blocks) {
            self.revoke(last, before, blocks);
        } else {
            self.end(last, before, at, blocks, sink);
            *self = Tallied::new(blocks, sink);
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
