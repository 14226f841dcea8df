//! A path through kept blocks: the loop that every atom goes through.

use tracewright_base::{BlockId, CachedBlock, CachedBlocks, Element, Feed, Isa, Sink};

use super::prefetch::prefetch_block;
use super::returns::{DEPTH, Return, Returns, SLOTS};
use crate::etmv4::packet::Atoms;

/// A place on a path, and the atoms in hand.
pub(super) struct BlockWalk {
    /// The block to come; [`BlockId::NONE`] where it is not known.
    pub(super) next: BlockId,
    /// The block before it; [`BlockId::NONE`] where the flow is up to date.
    pub(super) last: BlockId,
    /// Bit 0: its waypoint took effect.
    before: u32,
    /// Atoms to come from bit 0 on, and a 1 behind them.
    steps: u32,
    /// Place of the packet that they are of.
    pub(super) at: u64,
    /// How many bytes are taken.
    pub(super) taken: usize,
    /// The blocks that pushed the entries of the return stack, each at the slot of its entry, as far as that is known.
    calls: [BlockId; SLOTS],
    /// The slot of the newest entry.
    slot: u8,
    /// So many entries are here alone; the flow has the older ones.
    pushed: u8,
    /// There were so many at one time.
    most: u8,
}

/// Where a path leads along: what it takes apart from atoms.
pub(super) trait PacketSource<'a> {
    /// The bytes up to where places do not follow each other any more, and what to add to the index of one behind `taken`
    /// for its place. There are no more than `taken` where that is the end.
    fn chunk(&mut self, taken: usize) -> (u64, &'a [u8]);

    /// Takes an Address packet at `taken`, which is no Atom packet, and says which block it leads to and how long it is;
    /// 0 where there is no such, or no Atom packet follows.
    fn jump(&mut self, taken: usize, header: u8) -> (BlockId, u32);
}

/// Why a path ends.
pub(super) enum Stop {
    /// There are no more bytes, or another packet.
    Packet,
    /// The next block is not known.
    Unknown,
    /// The same, at an address that was traced.
    Jump,
    /// An exception return was passed.
    ExceptionReturn,
}

/// A block that is no farther from the one before, in hops, is near already.
const BESIDE: usize = 8;

impl BlockWalk {
    /// Begins before `next`, with no atoms.
    pub(super) fn new(next: BlockId, feed: &Feed<'_>, returns: &Returns) -> BlockWalk {
        BlockWalk {
            next,
            last: BlockId::NONE,
            before: 0,
            steps: 1,
            at: feed.last,
            taken: feed.taken,
            calls: [BlockId::NONE; SLOTS],
            slot: returns.slot() as u8,
            pushed: 0,
            most: 0,
        }
    }

    /// Whether the last block's waypoint took effect.
    #[inline]
    pub(super) const fn took_effect(&self) -> bool {
        self.before & 1 != 0
    }

    /// Takes one atom, that of a block that is not kept.
    pub(super) fn step(&mut self) -> bool {
        self.before = self.steps;
        self.steps >>= 1;
        self.took_effect()
    }

    /// Takes all atoms, those in hand and those of the Atom packets that follow.
    pub(super) fn skip_run(&mut self, feed: &mut Feed<'_>) {
        self.steps = 1;
        let count = Atoms::run(feed.bytes.get(self.taken..).unwrap_or_default());
        if count > 0 {
            self.at = feed.offsets.at(self.taken + count - 1);
            self.taken += count;
        }
    }

    /// The block that pushed the newest entry of the return stack, as far as that is known.
    #[inline]
    pub(super) fn call(&self) -> BlockId {
        self.calls[usize::from(self.slot) % SLOTS]
    }

    /// The newest entry is not of a known block.
    pub(super) fn forget_call(&mut self) {
        self.calls[usize::from(self.slot) % SLOTS] = BlockId::NONE;
    }

    /// Gives the flow's return stack all entries, before blocks change or the flow goes on.
    #[inline]
    pub(super) fn give_up(&mut self, returns: &mut Returns, blocks: CachedBlocks<'_>) {
        if self.most > 0 {
            returns.take_up(usize::from(self.slot), self.pushed, self.most, |slot| {
                let (call, class) = blocks.get(self.calls[slot])?;
                Some(Return { address: call.end(class), is1: class.isa() == Isa::T32 })
            });
            (self.pushed, self.most) = (0, 0);
        }
    }

    /// The flow's return stack has changed.
    pub(super) fn follow(&mut self, returns: &Returns) {
        self.slot = returns.slot() as u8;
    }

    /// Whether the newest entry of the return stack is here alone.
    #[inline]
    pub(super) const fn has_entries(&self) -> bool {
        self.pushed > 0
    }

    #[inline]
    fn push(&mut self, call: BlockId) {
        self.slot = self.slot.wrapping_add(1);
        self.calls[usize::from(self.slot) % SLOTS] = call;
        self.pushed = (self.pushed + 1).min(DEPTH);
        self.most = self.most.max(self.pushed);
    }

    /// Where the newest call comes back to, where it is of this path and that is known.
    // In line, what it asks first would be asked for each atom.
    #[inline(never)]
    fn back(&mut self, blocks: &CachedBlocks<'_>) -> BlockId {
        if !self.took_effect()
            || self.pushed == 0
            || !blocks
                .get(self.last)
                .is_some_and(|(cached, _)| cached.is_any_of(CachedBlock::INDIRECT))
        {
            return BlockId::NONE;
        }
        // Behind a call that is not taken there can be no other block.
        let next = blocks.next(self.call(), false);
        if next != BlockId::NONE {
            self.slot = self.slot.wrapping_sub(1);
            self.pushed -= 1;
        }
        next
    }

    /// Takes the atoms in hand, and packets as far as the `packets` goes. At waypoints of the kinds `more` that take
    /// effect there is more to do. `MANY`: hops have to be asked for.
    // What an atom needs stays in registers: apart from the sink nothing is called for it.
    #[inline(never)]
    pub(super) fn run<'a, const MANY: bool, R: PacketSource<'a>, S: Sink>(
        &mut self,
        packets: &mut R,
        blocks: &CachedBlocks<'_>,
        more: u16,
        sink: &mut S,
    ) -> Stop {
        let blocks = blocks.even();
        // Whether there is more to do is no branch on whether it took effect.
        let special = [0, more | CachedBlock::LOOP];
        let BlockWalk { mut next, mut steps, mut at, mut last, mut before, mut taken, .. } = *self;
        let (mut cursor, mut chunk) = packets.chunk(taken);
        let stop = 'walk: loop {
            while steps > 1 {
                let Some((cached, successors, class)) = blocks.step(next) else {
                    (self.last, self.before) = (last, before);
                    next = self.back(&blocks);
                    if next == BlockId::NONE {
                        break 'walk Stop::Unknown;
                    }
                    continue;
                };
                let way = steps & 1 != 0;
                let after = successors[usize::from(way)];
                (last, before) = (next, steps);
                if cached.is_any_of(special[usize::from(way)]) {
                    if !cached.is_any_of(more) {
                        // A loop of one block: as many turns as there are equal atoms.
                        let times = steps.trailing_ones().min(steps.ilog2());
                        sink.repeat(at, cached.range(class, true), times);
                        steps >>= times;
                        continue;
                    }
                    sink.element(at, Element::Range(cached.range(class, true)));
                    next = after;
                    steps >>= 1;
                    if cached.is_any_of(CachedBlock::EXCEPTION_RETURN) {
                        break 'walk Stop::ExceptionReturn;
                    }
                    self.push(last);
                    if MANY {
                        prefetch_block(blocks, after);
                    }
                    continue;
                }
                sink.element(at, Element::Range(cached.range(class, way)));
                if MANY
                    && after.index().wrapping_sub(next.index()).wrapping_add(BESIDE) > 2 * BESIDE
                {
                    prefetch_block(blocks, after);
                }
                next = after;
                steps >>= 1;
            }
            let Some(&header) = chunk.get(taken) else {
                (cursor, chunk) = packets.chunk(taken);
                if taken < chunk.len() {
                    continue;
                }
                break Stop::Packet;
            };
            match Atoms::steps(header) {
                0 => {
                    let (to, len) = packets.jump(taken, header);
                    if len == 0 {
                        break Stop::Packet;
                    }
                    taken += len as usize;
                    next = to;
                    if next == BlockId::NONE {
                        break Stop::Jump;
                    }
                }
                atoms => {
                    steps = atoms;
                    at = cursor.wrapping_add(taken as u64);
                    taken += 1;
                }
            }
        };
        self.before = before;
        (self.next, self.last, self.steps) = (next, last, steps);
        (self.at, self.taken) = (at, taken);
        stop
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use tracewright_base::{
        BLOCK_CLASSES, Block, BlockClass, CodeSpace, Instruction, Kind, Range, Role, Successors,
    };

    use super::*;
    use crate::ways::Random;

    /// Atom packets of one atom each, at places that do not all follow each other.
    struct Atom<'a>(&'a [u8]);

    /// So many of them follow each other.
    const CHUNK: usize = 7;

    impl<'a> PacketSource<'a> for Atom<'a> {
        fn chunk(&mut self, taken: usize) -> (u64, &'a [u8]) {
            let chunk = taken / CHUNK;
            let end = (CHUNK * (chunk + 1)).min(self.0.len());
            (100 * chunk as u64, &self.0[..end])
        }

        fn jump(&mut self, _taken: usize, _header: u8) -> (BlockId, u32) {
            (BlockId::NONE, 0)
        }
    }

    /// A program of `calls` calls, each of a block at random, and one return at the end.
    struct Program {
        blocks: Vec<CachedBlock>,
        successors: Vec<Successors>,
        classes: Vec<BlockClass>,
    }

    const SIZE: u64 = 0x40;

    impl Program {
        fn new(calls: usize, random: &mut Random) -> Program {
            // About as many returns as calls.
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
            let successors: Vec<Successors> = (0..=calls)
                .map(|index| if index == calls { [BlockId::NONE; 2] } else { [any(), any()] })
                .collect();
            let blocks = successors.iter().enumerate().map(|(index, successors)| {
                let cached = CachedBlock::new(&blocks[index], usize::from(index == calls)).unwrap();
                cached.looping(successors[1] == BlockId::new(index))
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

    /// Goes the way of all calls and returns, with a stack of which nothing is special, and says where it came by, the
    /// stack at the end, the newest first, and whether it came to a return from nowhere.
    fn plainly(
        blocks: CachedBlocks<'_>,
        from: BlockId,
        steps: usize,
    ) -> (Vec<BlockId>, Vec<BlockId>, bool) {
        let (mut came, mut stack, mut next) = (Vec::new(), Vec::new(), from);
        for _ in 0..steps {
            let at = match next {
                BlockId::NONE if stack.is_empty() => return (came, stack, true),
                BlockId::NONE => blocks.next(stack.remove(0), false),
                next => next,
            };
            came.push(at);
            next = blocks.next(at, true);
            if next != BlockId::NONE {
                stack.insert(0, at);
                stack.truncate(usize::from(DEPTH));
            }
        }
        (came, stack, false)
    }

    #[test]
    fn calls_come_back_to_where_they_were_made() {
        let (mut random, mut empty, mut deep) = (Random::new(5), 0, 0);
        for seed in 0..1000 {
            let program = Program::new(2 + seed % 7, &mut random);
            let blocks = program.blocks();
            let from = BlockId::new(random.next() as usize % blocks.all().len());
            let bytes = std::vec![0xf7; 1 + random.next() as usize % 300];
            let (came, stack, from_nowhere) = plainly(blocks, from, bytes.len());

            let mut returns = Returns::default();
            let feed = Feed::new(&bytes, tracewright_base::OffsetMap::new(&[]), 0);
            let (mut walk, mut said) = (BlockWalk::new(from, &feed, &returns), Vec::new());
            // With a rest now and then, at which the flow gets all.
            let mut packets = Atom(&bytes);
            while walk.taken < bytes.len() || walk.steps > 1 {
                let rest = bytes.len().min(walk.taken + 1 + random.next() as usize % 90);
                packets.0 = &bytes[..rest];
                let stop =
                    walk.run::<true, _, _>(&mut packets, &blocks, CachedBlock::CALL, &mut said);
                if matches!(stop, Stop::Unknown) {
                    // What the flow has is not the path's to take.
                    match returns_to(&mut walk, &mut returns, blocks) {
                        BlockId::NONE => break,
                        next => walk.next = next,
                    }
                }
                walk.give_up(&mut returns, blocks);
            }
            walk.give_up(&mut returns, blocks);
            let offsets = said.iter().map(|(at, _)| *at);
            let want = (0..).map(|n| (100 * (n / CHUNK) + n) as u64);
            assert!(offsets.eq(want.take(said.len())), "{said:?}");
            let ranges = said.iter().map(|(_, element)| match element {
                Element::Range(Range { start, .. }) => BlockId::new((start / SIZE) as usize),
                other => panic!("{other:?}"),
            });
            assert_eq!(ranges.collect::<Vec<_>>(), came, "seed {seed}");
            let ends = stack
                .iter()
                .map(|call| Return { address: SIZE * call.index() as u64 + 8, is1: false });
            let mut left = Vec::new();
            while let Some(entry) = returns.pop() {
                left.push(entry);
            }
            assert_eq!(left, ends.collect::<Vec<_>>(), "seed {seed}");
            (empty, deep) = (empty + from_nowhere as u32, deep + (stack.len() == 15) as u32);
        }
        assert!(empty > 20 && deep > 20, "{empty} {deep}");
    }

    /// As the lane does where an entry is the flow's.
    fn returns_to(
        walk: &mut BlockWalk,
        returns: &mut Returns,
        blocks: CachedBlocks<'_>,
    ) -> BlockId {
        walk.give_up(returns, blocks);
        let Some(top) = returns.pop() else { return BlockId::NONE };
        walk.follow(returns);
        blocks.next(BlockId::new((top.address / SIZE) as usize), false)
    }
}
