//! Walks through random programs, compared with each range on its own.

use std::collections::BTreeMap;
use std::vec::Vec;

use tracewright_base::{
    BLOCK_CLASSES, Block, BlockClass, BlockCounts, BlockTransfer, CodeSpace, Element,
    FunctionMarks, Instruction, Isa, Kind, Numbering, Path, PathSlot, Range, RangeSum, Role,
    Successors,
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

    fn jump(&mut self, _: usize, _: u8, _: (BlockId, BlockId), _: u32) -> (BlockId, u32) {
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
        (classes[0], classes[1]) =
            (BlockClass::of(&blocks[0], code_space), BlockClass::of(&blocks[calls], code_space));
        let successors: Vec<Successors> = (0..=calls)
            .map(
                |index| {
                    if index == calls { [BlockId::NONE; 2] } else { [any().behind_call(), any()] }
                },
            )
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
        let ends =
            stack.iter().map(|call| Return { address: SIZE * call.index() as u64 + 8, is1: false });
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
fn returns_to(walk: &mut BlockWalk, returns: &mut Returns, blocks: CachedBlocks<'_>) -> BlockId {
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
        let numbering = Numbering::default();
        let numbered = blocks.with_numbering(&numbering);
        let some = if round % 3 == 0 { blocks } else { numbered };
        // Some blocks are in two functions.
        let middle = SIZE * (count as u64 / 2) + if round % 4 == 0 { 4 } else { 0 };
        let functions = std::vec![SIZE, middle, SIZE * (count as u64 - 1)];
        let mut summed = Summed { functions, ..Summed::default() };
        let found = stops(&bytes, &some, special, &starts, &mut summed);
        assert_eq!(found, want, "round {round}");
        sums += summed.check(&plain);
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

/// What a sink with functions received.
enum Received {
    Element(Element),
    /// Instructions, the start of the block before and its outcome, the start of the block.
    Transfer(u64, (u64, bool), u64),
    Sum(RangeSum),
}

/// Takes sums of ranges in the same function, and the other elements.
#[derive(Default)]
struct Summed {
    /// The first addresses of all functions but the first.
    functions: Vec<u64>,
    marks: FunctionMarks,
    /// An address in the function that executes.
    here: u64,
    all: Vec<(u64, Received)>,
}

impl Sink for Summed {
    const SUMS: bool = true;

    fn element(&mut self, at: u64, element: Element) {
        let Element::Range(range) = element else { panic!("{element:?}") };
        self.here = range.end() - 1;
        self.all.push((at, Received::Element(element)));
    }

    fn sums_within(&self) -> (u64, u64) {
        let next = self.functions.partition_point(|first| *first <= self.here);
        let first = next.checked_sub(1).map_or(0, |n| self.functions[n]);
        (first, self.functions.get(next).map_or(u64::MAX, |next| next - 1))
    }

    fn take_marks(&mut self, blocks: &CachedBlocks<'_>) -> FunctionMarks {
        let mut marks = core::mem::take(&mut self.marks);
        marks.prepare(blocks);
        marks
    }

    fn return_marks(&mut self, marks: FunctionMarks) {
        self.marks = marks;
    }

    fn transfers(&mut self, at: u64, transfers: &[BlockTransfer], blocks: &CachedBlocks<'_>) {
        let start = |id| blocks.get(id).map(|(cached, class)| cached.start(class)).unwrap();
        for transfer in transfers {
            let (from, taken) = transfer.from();
            let (at, instructions) = (at + u64::from(transfer.at), transfer.instructions.into());
            self.here = start(transfer.to());
            let item = Received::Transfer(instructions, (start(from), taken), self.here);
            self.all.push((at, item));
        }
    }

    fn sum(&mut self, at: u64, sum: &RangeSum) {
        self.all.push((at, Received::Sum(*sum)));
    }
}

impl Summed {
    /// All are the elements of `plain`, and the sums those of ranges that may be summed.
    /// Returns the number of ranges in sums.
    fn check(mut self, plain: &[(u64, Element)]) -> u64 {
        let range = |n: usize| match plain[n].1 {
            Element::Range(range) => range,
            other => panic!("{other:?}"),
        };
        let transfers = |n: usize| {
            let last = range(n).last;
            last.taken() && (last.kind == Kind::Indirect || last.role == Role::Call)
        };
        // `begin`: the first range of a sum. `free`: a transfer leads to the next range.
        let (mut next, mut begin, mut free, mut summed) = (0, 0, false, 0);
        for (at, item) in core::mem::take(&mut self.all) {
            let instructions = match &item {
                Received::Element(element) => {
                    assert_eq!((at, *element, begin), (plain[next].0, plain[next].1, next));
                    self.here = range(next).end() - 1;
                    (next, begin) = (next + 1, next + 1);
                    continue;
                }
                Received::Transfer(instructions, ..) => *instructions,
                Received::Sum(sum) => sum.instructions,
            };
            let mut left = instructions;
            while left > 0 {
                assert!(free || !transfers(next - 1));
                let within = self.sums_within();
                assert!(within.0 <= range(next).start && range(next).end() - 1 <= within.1);
                left -= u64::from(range(next).instructions);
                (next, free) = (next + 1, false);
            }
            let last = range(next - 1);
            match item {
                Received::Transfer(_, from, to) => {
                    assert_eq!(from, (last.start, last.taken()));
                    assert_eq!((at, to), (plain[next].0, range(next).start));
                    (self.here, free) = (to, true);
                }
                Received::Sum(sum) => {
                    assert_eq!((at, sum.last), (plain[next - 1].0, last));
                    assert_eq!(sum.ranges, (next - begin) as u64);
                    (begin, summed) = (next, summed + sum.ranges);
                }
                Received::Element(_) => {}
            }
        }
        assert_eq!((next, begin), (plain.len(), next));
        summed
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
