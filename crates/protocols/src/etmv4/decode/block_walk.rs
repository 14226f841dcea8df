//! The loop that takes each atom through cached blocks.

use core::mem::ManuallyDrop;

use tracewright_base::{BlockId, CachedBlock, CachedBlocks, Feed, RangeSum, Sink};

use super::lookup::prefetch_block;
use super::returns::{Calls, Returns};
use super::tallied::{Tallied, range};
use crate::cursor::Cursor;
use crate::etmv4::packet::Atoms;

/// The position among cached blocks, and the atoms of the current packet.
pub(super) struct BlockWalk {
    /// The block to execute next; [`BlockId::NONE`] if it is not known.
    pub(super) next: BlockId,
    /// The block before it; [`BlockId::NONE`] if the flow is up to date.
    pub(super) last: BlockId,
    /// `steps` before the atom of `last`. Bit 0: the waypoint of `last` took effect, or there is no
    /// `last`.
    before: u32,
    /// The remaining atoms from bit 0 on, and a 1 after them.
    steps: u32,
    /// Offset of their packet.
    pub(super) at: u64,
    /// The number of bytes that are taken.
    pub(super) taken: usize,
    /// The calls among the blocks.
    pub(super) calls: Calls,
}

/// The bytes of a walk, and its packets other than Atom packets.
pub(super) trait PacketSource<'a> {
    /// Returns the bytes up to the end of the piece at `taken`, in which offsets are consecutive,
    /// and the difference between the offset of a byte of the piece and its index. At the end of
    /// the bytes the slice has at most `taken` bytes.
    fn piece(&mut self, taken: usize) -> (u64, &'a [u8]);

    /// Takes an Address packet at `taken`, where no Atom packet is. Returns the block at the
    /// address and the length of the packet; the length is 0 if there is no Address packet or no
    /// Atom packet follows. It is also 0 without a `next` block after a waypoint that did not take
    /// effect, which bit 0 of `before` states: the flow may find that this is an inconsistency.
    fn jump(&mut self, taken: usize, header: u8, next: BlockId, before: u32) -> (BlockId, u32);
}

/// Why [`BlockWalk::run`] returns.
pub(super) enum Stop {
    /// The next packet is of another kind, or there are no more bytes.
    Packet,
    /// The next block is not known.
    Unknown,
    /// The block at a traced address is not known.
    Address,
    /// The last block ends with a return from an exception.
    ExceptionReturn,
}

/// Ranges that a sink receives as one.
#[derive(Default)]
struct Sum {
    /// The next block is a successor of a block that the sink has received.
    follows: bool,
    within: (u64, u64),
    ranges: u64,
    instructions: u64,
    /// The offset of the last one.
    at: u64,
}

impl Sum {
    /// Takes atoms through blocks within the addresses, up to a transfer, which is the last block
    /// of the sum, or before a waypoint of a `special` kind that takes effect. The arguments are
    /// those of [`BlockWalk`].
    #[inline(always)]
    fn atoms<const PREFETCH: bool>(
        &mut self,
        (mut next, mut last): (BlockId, BlockId),
        (mut steps, mut before): (u32, u32),
        special: u16,
        at: u64,
        blocks: &CachedBlocks<'_>,
    ) -> ((BlockId, BlockId), (u32, u32)) {
        let (within, all) = (self.within, steps);
        let mut instructions = 0;
        while steps > 1
            && let Some((cached, successors, class)) = blocks.step(next)
            && cached.is_within(class, within)
        {
            let executed = usize::from(steps & 1 != 0);
            let transfers = cached.is_any_of(CachedBlock::TRANSFER);
            if transfers && executed == 1 && cached.is_any_of(special) {
                break;
            }
            instructions += u64::from(cached.instructions());
            (last, before) = (next, steps);
            next = successors[executed];
            steps >>= 1;
            if PREFETCH {
                prefetch_block(*blocks, next);
            }
            if transfers {
                self.follows = false;
                break;
            }
        }
        if steps != all {
            self.ranges += u64::from(steps.leading_zeros() - all.leading_zeros());
            self.instructions += instructions;
            self.at = at;
        }
        ((next, last), (steps, before))
    }

    /// Passes the ranges to `sink`. The last one is `last`, whose waypoint took effect if bit 0 of
    /// `before` is set.
    #[inline(always)]
    fn flush<S: Sink>(
        &mut self,
        last: BlockId,
        before: u32,
        blocks: &CachedBlocks<'_>,
        sink: &mut S,
    ) {
        if self.ranges > 0
            && let Some(last) = range(last, before, blocks)
        {
            let Sum { ranges, instructions, at, .. } = *self;
            sink.sum(at, &RangeSum { ranges, instructions, last });
            (self.ranges, self.instructions) = (0, 0);
        }
    }
}

/// A next block within this distance, in blocks, is probably prefetched already.
const ADJACENT: usize = 8;

impl BlockWalk {
    /// A walk that starts at `next`, without atoms.
    pub(super) fn new(next: BlockId, feed: &Feed<'_>, returns: &Returns) -> BlockWalk {
        BlockWalk {
            next,
            last: BlockId::NONE,
            before: 1,
            steps: 1,
            at: feed.last,
            taken: feed.taken,
            calls: Calls::new(returns),
        }
    }

    /// The position.
    pub(super) fn cursor(&self) -> Cursor {
        Cursor { next: self.next, last: self.last, taken: self.took_effect() }
    }

    /// Continues at `cursor`, where the flow is up to date.
    pub(super) fn resume(&mut self, cursor: Cursor) {
        (self.next, self.last) = (cursor.next, cursor.last);
        if cursor.last == BlockId::NONE {
            self.before = 1;
        }
    }

    /// Whether the waypoint of the last block took effect.
    #[inline]
    pub(super) const fn took_effect(&self) -> bool {
        self.before & 1 != 0
    }

    /// Takes one atom, for a block that is not cached. Returns whether it is E.
    pub(super) fn take_atom(&mut self) -> bool {
        self.before = self.steps;
        self.steps >>= 1;
        self.took_effect()
    }

    /// Skips the remaining atoms and the Atom packets that follow.
    pub(super) fn skip_atoms(&mut self, feed: &mut Feed<'_>) {
        self.steps = 1;
        let count = Atoms::run(feed.bytes.get(self.taken..).unwrap_or_default());
        if count > 0 {
            self.at = feed.offsets.at(self.taken + count - 1);
            self.taken += count;
        }
    }

    /// Whether the last block ends with an indirect branch that was taken.
    #[inline]
    pub(super) fn is_indirect(&self, blocks: &CachedBlocks<'_>) -> bool {
        self.took_effect()
            && blocks
                .get(self.last)
                .is_some_and(|(cached, _)| cached.is_any_of(CachedBlock::INDIRECT))
    }

    /// The block to which the last block returns, where its call was passed and that block is
    /// known.
    // Inlined, its first condition would be evaluated for each atom.
    #[inline(never)]
    fn return_to(&mut self, blocks: &CachedBlocks<'_>) -> BlockId {
        if self.is_indirect(blocks) { self.calls.pop(blocks) } else { BlockId::NONE }
    }

    /// Whether ranges are received as sums.
    const fn sums<S: Sink>() -> bool {
        S::SUMS && !S::PATHS
    }

    /// Takes the remaining atoms and then `packets`. `special`: the kinds of waypoints that need
    /// more work if they take effect. `PREFETCH`: blocks are prefetched.
    // All variables of the loop are in registers: only the sink is called for an atom.
    #[inline(never)]
    pub(super) fn run<'a, const PREFETCH: bool, R: PacketSource<'a>, S: Sink>(
        &mut self,
        packets: &mut R,
        blocks: &CachedBlocks<'_>,
        special: u16,
        sink: &mut S,
    ) -> Stop {
        // Made again here, so that the compiler knows that both slices have the same length, and
        // checks bounds once for each atom.
        let numbering = blocks.numbering();
        let blocks = CachedBlocks::new(blocks.all(), blocks.successors(), blocks.classes())
            .with_paths(blocks.paths());
        let blocks = numbering.map_or(blocks, |numbering| blocks.with_numbering(numbering));
        // An index costs less than a branch on whether the waypoint takes effect.
        let check = [0, special | CachedBlock::LOOP];
        let BlockWalk { mut next, mut steps, mut at, mut last, mut before, mut taken, .. } = *self;
        let (mut base, mut piece) = packets.piece(taken);
        let mut sum = Sum::default();
        let (counts, lists) = (S::COUNTS, Tallied::lists::<PREFETCH, S>());
        // Without code to drop it, which a sink without counts would execute, too.
        let mut tallied = ManuallyDrop::new(Tallied::new::<PREFETCH, S>(&blocks, special, sink));
        let stop = 'walk: loop {
            while steps > 1 {
                if Self::sums::<S>() && sum.follows {
                    ((next, last), (steps, before)) =
                        sum.atoms::<PREFETCH>((next, last), (steps, before), special, at, &blocks);
                    if steps <= 1 {
                        break;
                    }
                }
                if counts && !tallied.first {
                    ((next, last), (steps, before)) =
                        tallied.atoms::<PREFETCH, S>((next, last), (steps, before), &blocks);
                    if steps <= 1 {
                        break;
                    }
                }
                if S::PATHS
                    && next.can_be_next()
                    && let Some(path) = blocks.path(next, steps, special)
                {
                    sink.path(at, &path, &blocks);
                    (next, last) = (path.next, path.last);
                    before = u32::from(path.taken());
                    steps >>= path.ranges();
                    if path.is_special() {
                        if blocks.get(last).is_some_and(|(cached, _)| {
                            cached.is_any_of(special & CachedBlock::EXCEPTION_RETURN)
                        }) {
                            break 'walk Stop::ExceptionReturn;
                        }
                        // The other special kind is a branch with link.
                        self.calls.push(last);
                    }
                    continue;
                }
                let Some((cached, successors, class)) = blocks.step(next) else {
                    (self.last, self.before) = (last, before);
                    sum.follows = false;
                    next = self.return_to(&blocks);
                    if next == BlockId::NONE {
                        break 'walk Stop::Unknown;
                    }
                    if counts {
                        tallied.jump::<PREFETCH, S>((last, before), next, at, &blocks, sink);
                    }
                    continue;
                };
                let executed = steps & 1 != 0;
                let after = successors[usize::from(executed)];
                if counts {
                    if tallied.first {
                        tallied.first = false;
                        sink.cached_range(at, cached.range(class, executed));
                    }
                    tallied.execute::<PREFETCH, S>(next, executed, 1, &blocks, sink);
                }
                if Self::sums::<S>() {
                    sum.flush(last, before, &blocks, sink);
                    sum.follows = !cached.is_any_of(CachedBlock::TRANSFER);
                }
                (last, before) = (next, steps);
                if cached.is_any_of(check[usize::from(executed)]) {
                    if !cached.is_any_of(special) {
                        // A loop of one block: one iteration for each consecutive E atom.
                        let times = steps.trailing_ones().min(steps.ilog2());
                        if counts && !lists {
                            tallied.execute::<PREFETCH, S>(next, true, times - 1, &blocks, sink);
                        } else {
                            let times = times - u32::from(lists);
                            sink.repeat_block(at, next, cached.range(class, true), times);
                        }
                        sum.within = sink.sums_within();
                        steps >>= times;
                        continue;
                    }
                    if !counts {
                        sink.cached_block(at, next, cached.range(class, true));
                    }
                    next = after;
                    steps >>= 1;
                    if cached.is_any_of(CachedBlock::EXCEPTION_RETURN) {
                        break 'walk Stop::ExceptionReturn;
                    }
                    // The other special kind is a branch with link; `last` is this block.
                    self.calls.push(last);
                    if PREFETCH {
                        prefetch_block(blocks, after);
                    }
                    continue;
                }
                if !counts {
                    sink.cached_block(at, next, cached.range(class, executed));
                }
                if Self::sums::<S>() {
                    sum.within = sink.sums_within();
                }
                if PREFETCH
                    && after.index().wrapping_sub(next.index()).wrapping_add(ADJACENT)
                        > 2 * ADJACENT
                {
                    prefetch_block(blocks, after);
                }
                next = after;
                steps >>= 1;
            }
            let Some(&header) = piece.get(taken) else {
                (base, piece) = packets.piece(taken);
                if taken < piece.len() {
                    continue;
                }
                break Stop::Packet;
            };
            match Atoms::steps(header) {
                0 => {
                    let (to, len) = packets.jump(taken, header, next, before);
                    if len == 0 {
                        break Stop::Packet;
                    }
                    taken += len as usize;
                    next = to;
                    sum.follows = false;
                    if counts {
                        tallied.jump::<PREFETCH, S>((last, before), next, at, &blocks, sink);
                    }
                    if next == BlockId::NONE {
                        break Stop::Address;
                    }
                }
                atoms => {
                    at = base.wrapping_add(taken as u64);
                    taken += 1;
                    steps = atoms;
                }
            }
        };
        sum.flush(last, before, &blocks, sink);
        if counts {
            tallied.end::<PREFETCH, S>(last, before, at, &blocks, sink);
        }
        self.before = before;
        (self.next, self.last, self.steps) = (next, last, steps);
        (self.at, self.taken) = (at, taken);
        stop
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::vec::Vec;

    use tracewright_base::{
        BLOCK_CLASSES, Block, BlockClass, BlockCounts, CodeSpace, Element, Instruction, Isa, Kind,
        Numbering, Path, PathSlot, Range, Role, Successors,
    };

    use super::super::returns::Return;
    use super::*;
    use crate::ways::Random;

    /// Entries of the return stack.
    const DEPTH: usize = 15;

    /// Atom packets of one atom each, in pieces.
    struct Atom<'a>(&'a [u8]);

    /// The length of a piece.
    const PIECE: usize = 7;

    impl<'a> PacketSource<'a> for Atom<'a> {
        fn piece(&mut self, taken: usize) -> (u64, &'a [u8]) {
            let piece = taken / PIECE;
            let end = (PIECE * (piece + 1)).min(self.0.len());
            (100 * piece as u64, &self.0[..end])
        }

        fn jump(&mut self, _: usize, _: u8, _: BlockId, _: u32) -> (BlockId, u32) {
            (BlockId::NONE, 0)
        }
    }

    /// A program of `calls` calls, each to a random block, and one return at the end.
    struct Program {
        blocks: Vec<CachedBlock>,
        successors: Vec<Successors>,
        classes: Vec<BlockClass>,
    }

    const SIZE: u64 = 0x40;

    impl Program {
        fn new(calls: usize, random: &mut Random) -> Program {
            // About half of the calls are to the return.
            let mut any = || {
                let index = random.next() >> 8;
                BlockId::new(if index & 1 == 0 { calls } else { index as usize / 2 % calls })
            };
            let code_space = CodeSpace(3);
            let blocks: Vec<Block> = (0..=calls).map(|index| block(index, calls)).collect();
            let mut classes = std::vec![BlockClass::NONE; BLOCK_CLASSES];
            (classes[0], classes[1]) = (
                BlockClass::of(&blocks[0], code_space),
                BlockClass::of(&blocks[calls], code_space),
            );
            let successors: Vec<Successors> =
                (0..=calls)
                    .map(|index| {
                        if index == calls {
                            [BlockId::NONE; 2]
                        } else {
                            [any().behind_call(), any()]
                        }
                    })
                    .collect();
            let blocks = successors.iter().enumerate().map(|(index, successors)| {
                let cached = CachedBlock::new(&blocks[index], usize::from(index == calls)).unwrap();
                cached.with_loop(successors[1] == BlockId::new(index))
            });
            Program { blocks: blocks.collect(), successors, classes }
        }

        fn blocks(&self) -> CachedBlocks<'_> {
            CachedBlocks::new(&self.blocks, &self.successors, self.classes.first_chunk().unwrap())
        }
    }

    fn block(index: usize, calls: usize) -> Block {
        let (kind, role) = match index == calls {
            true => (Kind::Indirect, Role::Return),
            false => (Kind::Branch, Role::Call),
        };
        let last = Instruction {
            kind,
            role,
            size: 4,
            conditional: false,
            isa: Isa::A64,
            target_isa: Isa::A64,
            target: None,
        };
        Block { start: SIZE * index as u64, bytes: 8, instructions: 2, last, ..Block::default() }
    }

    /// Executes calls and returns with a stack of its own. Returns the executed blocks, the stack
    /// at the end with the newest entry first, and whether a return found the stack empty.
    fn expected(
        blocks: CachedBlocks<'_>,
        from: BlockId,
        steps: usize,
    ) -> (Vec<BlockId>, Vec<BlockId>, bool) {
        let (mut executed_blocks, mut stack, mut next) = (Vec::new(), Vec::new(), from);
        for _ in 0..steps {
            let at = match next {
                BlockId::NONE if stack.is_empty() => return (executed_blocks, stack, true),
                BlockId::NONE => blocks.after_return(stack.remove(0)),
                next => next,
            };
            executed_blocks.push(at);
            next = blocks.next(at, true);
            if next != BlockId::NONE {
                stack.insert(0, at);
                stack.truncate(DEPTH);
            }
        }
        (executed_blocks, stack, false)
    }

    #[test]
    fn returns_follow_calls() {
        let (mut random, mut empty, mut deep) = (Random::new(5), 0, 0);
        for seed in 0..1000 {
            let program = Program::new(2 + seed % 7, &mut random);
            let blocks = program.blocks();
            let from = BlockId::new(random.next() as usize % blocks.all().len());
            let bytes = std::vec![0xf7; 1 + random.next() as usize % 300];
            let (executed_blocks, stack, underflow) = expected(blocks, from, bytes.len());

            let mut returns = Returns::default();
            let feed = Feed::new(&bytes, tracewright_base::OffsetMap::new(&[]), 0);
            let (mut walk, mut elements) = (BlockWalk::new(from, &feed, &returns), Vec::new());
            // The bytes end now and then; the flow then gets all entries.
            let mut packets = Atom(&bytes);
            while walk.taken < bytes.len() || walk.steps > 1 {
                let end = bytes.len().min(walk.taken + 1 + random.next() as usize % 90);
                packets.0 = &bytes[..end];
                let stop =
                    walk.run::<true, _, _>(&mut packets, &blocks, CachedBlock::CALL, &mut elements);
                if matches!(stop, Stop::Unknown) {
                    // The entry is in the flow's stack.
                    match returns_to(&mut walk, &mut returns, blocks) {
                        BlockId::NONE => break,
                        next => walk.next = next,
                    }
                }
                walk.calls.hand_over(&mut returns, &blocks);
            }
            walk.calls.hand_over(&mut returns, &blocks);
            let offsets = elements.iter().map(|(at, _)| *at);
            let want = (0..).map(|n| (100 * (n / PIECE) + n) as u64);
            assert!(offsets.eq(want.take(elements.len())), "{elements:?}");
            let ranges = elements.iter().map(|(_, element)| match element {
                Element::Range(Range { start, .. }) => BlockId::new((start / SIZE) as usize),
                other => panic!("{other:?}"),
            });
            assert_eq!(ranges.collect::<Vec<_>>(), executed_blocks, "seed {seed}");
            let ends = stack
                .iter()
                .map(|call| Return { address: SIZE * call.index() as u64 + 8, is1: false });
            let mut left = Vec::new();
            while let Some(entry) = returns.pop() {
                left.push(entry);
            }
            assert_eq!(left, ends.collect::<Vec<_>>(), "seed {seed}");
            (empty, deep) = (empty + underflow as u32, deep + (stack.len() == 15) as u32);
        }
        assert!(empty > 20 && deep > 20, "{empty} {deep}");
    }

    /// Pops an entry of the flow's stack as the fast path does.
    fn returns_to(
        walk: &mut BlockWalk,
        returns: &mut Returns,
        blocks: CachedBlocks<'_>,
    ) -> BlockId {
        walk.calls.hand_over(returns, &blocks);
        let Some(top) = returns.pop() else { return BlockId::NONE };
        walk.calls.follow(returns);
        blocks.after_return(BlockId::new((top.address / SIZE) as usize))
    }

    /// Takes paths, and records their ranges.
    #[derive(Default)]
    struct Each {
        elements: Vec<(u64, Element)>,
        paths: usize,
    }

    impl Sink for Each {
        const PATHS: bool = true;

        fn element(&mut self, at: u64, element: Element) {
            self.elements.push((at, element));
        }

        fn path(&mut self, at: u64, path: &Path, blocks: &CachedBlocks<'_>) {
            self.paths += 1;
            let before = self.elements.len();
            let mut instructions = 0;
            path.for_each(blocks, |range| {
                instructions += range.instructions;
                self.cached_range(at, range);
            });
            assert_eq!((self.elements.len() - before) as u32, path.ranges());
            assert_eq!(instructions, path.instructions());
        }
    }

    /// Random packets through random blocks, of which some are not known: with paths the elements
    /// are the same, sums replace ranges as they may, and the position at each stop is the same.
    #[test]
    fn paths_and_sums_have_the_ranges_of_the_atoms() {
        let (mut random, mut paths, mut sums, mut counted) = (Random::new(11), 0, 0, 0);
        for round in 0..300 {
            let count = 3 + round % 9;
            let mut classes = std::vec![BlockClass::NONE; BLOCK_CLASSES];
            let (mut all, mut successors) = (Vec::new(), Vec::new());
            for (index, class) in classes.iter_mut().enumerate().take(count) {
                let last = match random.next() >> 8 & 7 {
                    0 => (Kind::Indirect, Role::Return, false),
                    1 => (Kind::Branch, Role::Call, false),
                    _ => (Kind::Branch, Role::Jump, true),
                };
                let (kind, role, conditional) = last;
                let mut block = block(index, count);
                (block.last.kind, block.last.role) = (kind, role);
                block.last.conditional = conditional;
                *class = BlockClass::of(&block, CodeSpace(3));
                let mut any = |known: bool| match random.next() >> 8 & 15 {
                    0 => BlockId::NONE,
                    n if known => BlockId::new((n as usize + round) % count),
                    _ => BlockId::NONE,
                };
                let next = match (kind, role) {
                    (Kind::Indirect, _) => [BlockId::NONE; 2],
                    (_, Role::Call) => [any(true).behind_call(), any(true)],
                    _ => [any(true), any(true)],
                };
                let cached = CachedBlock::new(&block, index).unwrap();
                all.push(cached.with_loop(next[1] == BlockId::new(index)));
                successors.push(next);
            }
            let table = std::vec![PathSlot::new(); 16];
            let blocks = CachedBlocks::new(&all, &successors, classes.first_chunk().unwrap());
            let special = if round % 2 == 0 { 0 } else { CachedBlock::CALL };
            let headers: Vec<u8> = (0..=255).filter(|header| Atoms::steps(*header) > 0).collect();
            let any = |random: &mut Random| headers[random.next() as usize % headers.len()];
            let bytes: Vec<u8> = (0..200).map(|_| any(&mut random)).collect();
            let starts: Vec<BlockId> =
                (0..400).map(|_| BlockId::new((random.next() >> 8) as usize % count)).collect();
            let mut plain = Vec::new();
            let want = stops(&bytes, &blocks, special, &starts, &mut plain);
            let mut each = Each::default();
            let found = stops(&bytes, &blocks.with_paths(&table), special, &starts, &mut each);
            assert_eq!(found, want, "round {round}");
            assert_eq!(each.elements, plain, "round {round}");
            paths += each.paths;
            // Not the first block and not the last one.
            let within = (SIZE, SIZE * (count as u64 - 1) - 1);
            let mut summed = Summed { within, all: Vec::new() };
            let found = stops(&bytes, &blocks, special, &starts, &mut summed);
            assert_eq!(found, want, "round {round}");
            sums += summed.check(&plain);
            let numbering = Numbering::default();
            let numbered = blocks.with_numbering(&numbering);
            let some = if round % 3 == 0 { blocks } else { numbered };
            let mut counter = Counter { take_each: 1 + round % 5, ..Counter::default() };
            let found = stops(&bytes, &some, special, &starts, &mut counter);
            assert_eq!(found, want, "round {round}");
            counted += counter.check(&plain);
        }
        assert!(paths > 10_000 && sums > 10_000, "{paths} {sums}");
        assert!(counted > 50_000, "{counted}");
    }

    /// Has blocks counted, and makes the edges between consecutive ranges.
    #[derive(Default)]
    struct Counter {
        counts: BlockCounts,
        edges: BTreeMap<(u64, bool, u64), u64>,
        last: Option<Range>,
        /// The number of ranges that were received.
        received: u64,
        /// The number of walks after which the counts are taken.
        take_each: usize,
        walks: usize,
    }

    impl Counter {
        /// The edges are those of `plain`. Returns the number of edges that were counted.
        fn check(mut self, plain: &[(u64, Element)]) -> u64 {
            let Counter { counts, edges, .. } = &mut self;
            counts.take(|edge| add(edges, &edge.range, edge.to, edge.count));
            let mut want = BTreeMap::new();
            for pair in plain.windows(2) {
                if let [(_, Element::Range(from)), (_, Element::Range(to))] = pair {
                    add(&mut want, from, to.start, 1);
                }
            }
            assert_eq!(self.edges, want);
            plain.len() as u64 - self.received
        }
    }

    fn add(to: &mut BTreeMap<(u64, bool, u64), u64>, range: &Range, next: u64, count: u64) {
        *to.entry((range.start, range.taken(), next)).or_default() += count;
    }

    impl Sink for Counter {
        const COUNTS: bool = true;

        fn element(&mut self, _: u64, element: Element) {
            let Element::Range(range) = element else { panic!("{element:?}") };
            self.received += 1;
            if let Some(last) = self.last.replace(range) {
                add(&mut self.edges, &last, range.start, 1);
            }
        }

        fn take_counts(&mut self, blocks: &CachedBlocks<'_>) -> BlockCounts {
            let mut counts = core::mem::take(&mut self.counts);
            counts.prepare(blocks, |edge| add(&mut self.edges, &edge.range, edge.to, edge.count));
            counts
        }

        fn counted(&mut self, mut counts: BlockCounts, _: u64, last: Option<Range>) {
            self.last = last.or(self.last);
            self.walks += 1;
            if self.walks.is_multiple_of(self.take_each) {
                counts.take(|edge| add(&mut self.edges, &edge.range, edge.to, edge.count));
            }
            self.counts = counts;
        }
    }

    /// Takes sums of ranges between some of the addresses, and the other elements.
    struct Summed {
        within: (u64, u64),
        all: Vec<(u64, Result<Element, RangeSum>)>,
    }

    impl Sink for Summed {
        const SUMS: bool = true;

        fn element(&mut self, at: u64, element: Element) {
            self.all.push((at, Ok(element)));
        }

        fn sums_within(&self) -> (u64, u64) {
            self.within
        }

        fn sum(&mut self, at: u64, sum: &RangeSum) {
            self.all.push((at, Err(*sum)));
        }
    }

    impl Summed {
        /// All are the elements of `plain`, and the sums those of ranges that may be summed.
        /// Returns the number of sums.
        fn check(&self, plain: &[(u64, Element)]) -> usize {
            let range = |n: usize| match plain[n].1 {
                Element::Range(range) => range,
                other => panic!("{other:?}"),
            };
            let transfers = |n: usize| {
                let last = range(n).last;
                last.kind == Kind::Indirect || last.role == Role::Call
            };
            let (mut next, mut sums) = (0, 0);
            for (at, item) in &self.all {
                let sum = match item {
                    Ok(element) => {
                        assert_eq!((*at, *element), plain[next]);
                        next += 1;
                        continue;
                    }
                    Err(sum) => sum,
                };
                let end = next + sum.ranges as usize;
                assert_eq!((*at, sum.last), (plain[end - 1].0, range(end - 1)));
                let instructions = (next..end).map(|n| u64::from(range(n).instructions));
                assert_eq!(sum.instructions, instructions.sum::<u64>());
                for n in next..end {
                    assert!(self.within.0 <= range(n).start && range(n).end() - 1 <= self.within.1);
                    assert!(!transfers(n - 1));
                }
                (next, sums) = (end, sums + 1);
            }
            assert_eq!(next, plain.len());
            sums
        }
    }

    /// The position at each stop of a walk, which continues at `starts`.
    fn stops<S: Sink>(
        bytes: &[u8],
        blocks: &CachedBlocks<'_>,
        special: u16,
        starts: &[BlockId],
        sink: &mut S,
    ) -> Vec<(BlockId, BlockId, bool, usize, u64)> {
        let returns = Returns::default();
        let feed = Feed::new(bytes, tracewright_base::OffsetMap::new(&[]), 0);
        let mut walk = BlockWalk::new(starts[0], &feed, &returns);
        let (mut packets, mut stops) = (Atom(bytes), Vec::new());
        for start in starts {
            let stop = walk.run::<false, _, _>(&mut packets, blocks, special, sink);
            let Cursor { next, last, taken } = walk.cursor();
            stops.push((next, last, taken, walk.taken, walk.at));
            match stop {
                Stop::Packet => break,
                _ => walk.next = *start,
            }
        }
        stops
    }
}
