//! Counts the cached blocks of a walk, for a sink that only counts.

use alloc::vec::Vec;

use tracewright_base::{
    BlockCounts, BlockId, CachedBlock, CachedBlocks, ExecutionCounts, ExecutionList, Range, Sink,
};

use super::lookup::{prefetch_behind, prefetch_block};

/// Cached blocks that are counted instead of passed to a sink.
pub(super) struct Tallied {
    counts: BlockCounts,
    counters: Vec<[u32; 2]>,
    /// For a sink with [`Sink::EXECUTIONS`].
    executions: ExecutionCounts,
    executed: Vec<u8>,
    /// The same where blocks are many.
    list: ExecutionList,
    /// By the next four atoms: the kinds of blocks that need more than a place on the list.
    unlisted: [u16; 16],
    /// The kinds of waypoints that need more work if they take effect.
    special: u16,
    /// The next block is the first one: what precedes it is not known here. Never set where only
    /// executions are counted.
    pub(super) first: bool,
}

impl Tallied {
    /// Whether blocks are put on a list instead of counted. Where they are many, most executions in
    /// a part of the trace are the first of their block, whose record costs more than the range.
    pub(super) const fn lists<const PREFETCH: bool, S: Sink>() -> bool {
        S::COUNTS && S::EXECUTIONS && PREFETCH
    }

    #[inline]
    pub(super) fn new<const PREFETCH: bool, S: Sink>(
        blocks: &CachedBlocks<'_>,
        special: u16,
        sink: &mut S,
    ) -> Tallied {
        let mut counts = match S::COUNTS && !S::EXECUTIONS {
            true => sink.take_counts(blocks),
            false => BlockCounts::default(),
        };
        let mut executions = match S::EXECUTIONS && !PREFETCH {
            true => sink.take_executions(blocks, special | CachedBlock::LOOP),
            false => ExecutionCounts::default(),
        };
        Tallied {
            counters: counts.take_counters(),
            counts,
            executed: executions.take_counters(),
            executions,
            list: match Self::lists::<PREFETCH, S>() {
                true => sink.take_list(),
                false => ExecutionList::default(),
            },
            unlisted: unlisted(special),
            special,
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
        blocks: &CachedBlocks<'_>,
    ) -> ((BlockId, BlockId), (u32, u32)) {
        let special = self.special;
        if Self::lists::<PREFETCH, S>() {
            return self.listed((next, last), (steps, before), blocks);
        }
        if S::EXECUTIONS {
            return self.executions((next, last), (steps, before), blocks);
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

    /// The same where blocks are many: each is put on the list. A loop of one block is left to the
    /// walk only where four turns or more follow, as it is not predicted that one follows.
    #[inline(always)]
    fn listed(
        &mut self,
        (mut next, mut last): (BlockId, BlockId),
        (mut steps, mut before): (u32, u32),
        blocks: &CachedBlocks<'_>,
    ) -> ((BlockId, BlockId), (u32, u32)) {
        let len = blocks.successors().len().min(blocks.all().len());
        let successors = blocks.successors().get(..len).unwrap_or_default();
        let all = blocks.all().get(..len).unwrap_or_default();
        let unlisted = &self.unlisted;
        let (places, mut used) = self.list.places();
        while steps > 1
            && let Some(after) = successors.get(next.index())
            && let Some(cached) = all.get(next.index())
            && !cached.is_any_of(unlisted[(steps & 15) as usize])
            && let Some(place) = places.get_mut(used)
        {
            *place = *cached;
            used += 1;
            (last, before) = (next, steps);
            next = after[usize::from(steps & 1 != 0)];
            steps >>= 1;
            prefetch_behind(*blocks, next);
        }
        self.list.set_len(used);
        ((next, last), (steps, before))
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
        if Self::lists::<PREFETCH, S>() {
            if self.list.is_full() {
                sink.listed(core::mem::take(&mut self.list), blocks);
                self.list = sink.take_list();
            }
            if let Some((cached, _)) = blocks.get(id) {
                self.list.push(*cached);
            }
        } else if S::EXECUTIONS {
            if let Some(counter) = self.executed.get_mut(id.index()) {
                *counter = self.executions.execute(*counter, id, times, blocks);
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
    pub(super) fn jump<const PREFETCH: bool, S: Sink>(
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
            self.end::<PREFETCH, S>(last, before, at, blocks, sink);
            *self = Tallied::new::<PREFETCH, S>(blocks, self.special, sink);
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
    pub(super) fn end<const PREFETCH: bool, S: Sink>(
        &mut self,
        last: BlockId,
        before: u32,
        at: u64,
        blocks: &CachedBlocks<'_>,
        sink: &mut S,
    ) {
        if Self::lists::<PREFETCH, S>() {
            return sink.listed(core::mem::take(&mut self.list), blocks);
        }
        if S::EXECUTIONS {
            let mut counts = core::mem::take(&mut self.executions);
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

/// By the next four atoms: the kinds of blocks that a list does not take. An atom N has no effect
/// on the walk but the next block.
const fn unlisted(special: u16) -> [u16; 16] {
    let mut kinds = [0; 16];
    let mut atoms = 1;
    while atoms < kinds.len() {
        kinds[atoms] = special;
        atoms += 2;
    }
    kinds[15] |= CachedBlock::LOOP;
    kinds
}

/// The range of the block `last`, whose waypoint took effect if bit 0 of `before` is set.
#[inline(always)]
pub(super) fn range(last: BlockId, before: u32, blocks: &CachedBlocks<'_>) -> Option<Range> {
    let (cached, class) = blocks.get(last)?;
    Some(cached.range(class, before & 1 != 0))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::vec::Vec;

    use tracewright_base::{
        BLOCK_CLASSES, Block, BlockClass, CodeSpace, Element, Feed, Instruction, Isa, Kind,
        Numbering, OffsetMap, Role, Successors,
    };

    use super::super::block_walk::{BlockWalk, PacketSource, Stop};
    use super::super::returns::Returns;
    use super::*;
    use crate::etmv4::packet::Atoms;
    use crate::ways::Random;

    /// Atom packets.
    struct Packets<'a>(&'a [u8]);

    impl<'a> PacketSource<'a> for Packets<'a> {
        fn piece(&mut self, _: usize) -> (u64, &'a [u8]) {
            (0, self.0)
        }

        fn jump(&mut self, _: usize, _: u8, _: (BlockId, BlockId), _: u32) -> (BlockId, u32) {
            (BlockId::NONE, 0)
        }
    }

    /// Counts executions by address.
    #[derive(Default)]
    struct Executions {
        counts: ExecutionCounts,
        sums: BTreeMap<u64, u64>,
        list: ExecutionList,
        /// The number of blocks on the lists, and that of full lists.
        listed: (u64, u64),
        /// The number of ranges that were received instead.
        received: u64,
    }

    impl Sink for Executions {
        const COUNTS: bool = true;
        const EXECUTIONS: bool = true;

        fn element(&mut self, _: u64, element: Element) {
            let Element::Range(range) = element else { panic!("{element:?}") };
            self.received += 1;
            *self.sums.entry(range.start).or_default() += 1;
        }

        fn take_executions(&mut self, blocks: &CachedBlocks<'_>, slow: u16) -> ExecutionCounts {
            let Executions { counts, sums, .. } = self;
            counts.prepare(blocks, slow, |b| *sums.entry(b.start).or_default() += b.count);
            core::mem::take(counts)
        }

        fn executed(&mut self, counts: ExecutionCounts) {
            self.counts = counts;
        }

        fn take_list(&mut self) -> ExecutionList {
            self.list.prepare();
            core::mem::take(&mut self.list)
        }

        fn listed(&mut self, mut list: ExecutionList, blocks: &CachedBlocks<'_>) {
            self.listed.0 += list.blocks().len() as u64;
            self.listed.1 += u64::from(list.is_full());
            for cached in list.blocks() {
                let start = cached.start(&blocks.classes()[cached.class()]);
                *self.sums.entry(start).or_default() += 1;
            }
            list.clear();
            self.list = list;
        }
    }

    /// The blocks at which a walk stops, which continues at `starts`.
    fn walk<const PREFETCH: bool, S: Sink>(
        bytes: &[u8],
        blocks: &CachedBlocks<'_>,
        special: u16,
        starts: &[BlockId],
        sink: &mut S,
    ) -> Vec<(BlockId, BlockId, usize)> {
        let (returns, feed) = (Returns::default(), Feed::new(bytes, OffsetMap::new(&[]), 0));
        let mut walk = BlockWalk::new(starts[0], &feed, &returns);
        let (mut packets, mut stops) = (Packets(bytes), Vec::new());
        for start in starts {
            let stop = walk.run::<PREFETCH, _, _>(&mut packets, blocks, special, sink);
            stops.push((walk.next, walk.last, walk.taken));
            match stop {
                Stop::Packet => break,
                _ => walk.next = *start,
            }
        }
        stops
    }

    /// Random packets through random blocks, of which some are not known: the counts are those of
    /// the ranges, also where the special kinds change, and the walk stops at the same blocks.
    #[test]
    fn executions_are_those_of_the_ranges() {
        let (mut random, mut counted, mut listed) = (Random::new(7), 0, (0, 0));
        for round in 0..300 {
            let count = 2 + round % 9;
            let mut classes = std::vec![BlockClass::NONE; BLOCK_CLASSES];
            let (mut all, mut successors) = (Vec::new(), Vec::<Successors>::new());
            for (index, class) in classes.iter_mut().enumerate().take(count) {
                let (kind, role) = match random.next() >> 8 & 7 {
                    0 => (Kind::Indirect, Role::Return),
                    1 => (Kind::Branch, Role::Call),
                    _ => (Kind::Branch, Role::Jump),
                };
                let last = Instruction {
                    kind,
                    role,
                    conditional: role == Role::Jump,
                    size: 4,
                    isa: Isa::A64,
                    ..Instruction::default()
                };
                let start = 0x40 * index as u64;
                let block = Block { start, bytes: 8, instructions: 2, last, ..Block::default() };
                *class = BlockClass::of(&block, CodeSpace(3));
                let mut any = || match random.next() >> 8 & 15 {
                    0 => BlockId::NONE,
                    n => BlockId::new((n as usize + round) % count),
                };
                let next = match (kind, role) {
                    (Kind::Indirect, _) => [BlockId::NONE; 2],
                    (_, Role::Call) => [any().behind_call(), any()],
                    _ => [any(), any()],
                };
                let cached = CachedBlock::new(&block, index).unwrap();
                all.push(cached.with_loop(next[1] == BlockId::new(index)));
                successors.push(next);
            }
            let numbering = Numbering::default();
            let blocks = CachedBlocks::new(&all, &successors, classes.first_chunk().unwrap())
                .with_numbering(&numbering);
            let headers: Vec<u8> = (0..=255).filter(|header| Atoms::steps(*header) > 0).collect();
            let any = |random: &mut Random| headers[random.next() as usize % headers.len()];
            let bytes: Vec<u8> = (0..400).map(|_| any(&mut random)).collect();
            let starts: Vec<BlockId> =
                (0..400).map(|_| BlockId::new((random.next() >> 8) as usize % count)).collect();
            let (mut sink, mut plain) = (Executions::default(), Vec::new());
            for special in [0, CachedBlock::CALL, 0] {
                let want = walk::<false, _>(&bytes, &blocks, special, &starts, &mut plain);
                let found = walk::<false, _>(&bytes, &blocks, special, &starts, &mut sink);
                assert_eq!(found, want, "round {round}");
            }
            let Executions { counts, sums, received, .. } = &mut sink;
            counts.take(|block| *sums.entry(block.start).or_default() += block.count);
            assert_eq!(*received, 0);
            let mut want = BTreeMap::<u64, u64>::new();
            for (_, element) in &plain {
                let Element::Range(range) = element else { panic!("{element:?}") };
                *want.entry(range.start).or_default() += 1;
            }
            assert_eq!(*sums, want, "round {round}");
            counted += plain.len();
            // Where blocks are prefetched, they are listed, and the turns of loops are received.
            let (mut sink, mut plain) = (Executions::default(), Vec::new());
            for special in [0, CachedBlock::CALL, 0] {
                let want = walk::<true, _>(&bytes, &blocks, special, &starts, &mut plain);
                let found = walk::<true, _>(&bytes, &blocks, special, &starts, &mut sink);
                assert_eq!(found, want, "round {round}");
            }
            assert_eq!(sink.sums, want, "round {round}");
            assert_eq!(sink.listed.0 + sink.received, plain.len() as u64);
            (listed.0, listed.1) = (listed.0 + sink.listed.0, listed.1 + sink.listed.1);
        }
        assert!(counted > 50_000, "{counted}");
        assert!(listed.0 > 50_000 && listed.1 > 20, "{listed:?}");
    }
}
