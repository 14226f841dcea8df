//! Walks through random programs, compared with each range on its own.

use std::vec::Vec;

use tracewright_base::{
    BLOCK_CLASSES, Block, BlockClass, CodeSpace, Element, Instruction, Isa, Kind, Part, Range,
    Role, Successors,
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
    links: Vec<[u32; 2]>,
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
        let blocks: Vec<CachedBlock> = blocks.collect();
        let links = blocks.iter().zip(&successors).map(|(cached, next)| Links::of(cached, next));
        Program { links: links.collect(), blocks, successors, classes }
    }

    fn blocks(&self) -> CachedBlocks<'_> {
        CachedBlocks::new(&self.blocks, &self.successors, self.classes.first_chunk().unwrap())
            .with_links(&self.links)
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

/// Writes steps into batches, and expands them.
#[derive(Default)]
struct Batches {
    buffer: BatchBuffer,
    elements: Vec<(u64, Element)>,
    /// The number of batches that were passed on because they were full.
    full: usize,
}

impl Batches {
    fn pass(&mut self, blocks: &CachedBlocks<'_>) {
        let batch = self.buffer.batch(0, *blocks);
        for part in batch.parts() {
            match part {
                Part::Steps(steps) => self.elements.extend(steps.iter().map(|&step| {
                    (batch.at(step), Element::Range(batch.range(step).expect("a block")))
                })),
                Part::Element(at, element) => self.elements.push((at, element)),
                Part::Turns(turns) => panic!("{turns:?}"),
            }
        }
        self.buffer.clear();
    }
}

impl Sink for Batches {
    fn element(&mut self, at: u64, element: Element) {
        self.buffer.element(at, element);
    }

    fn take_steps(&mut self, at: u64, blocks: &CachedBlocks<'_>) -> BatchBuffer {
        if self.buffer.is_full(at) {
            self.pass(blocks);
            self.full += 1;
        }
        core::mem::take(&mut self.buffer)
    }

    fn return_steps(&mut self, buffer: BatchBuffer, _: &CachedBlocks<'_>) {
        self.buffer = buffer;
    }
}

/// Random packets through random blocks, of which some are not known: the ranges and the position
/// at each stop are those of a walk that takes the atoms one by one.
#[test]
fn steps_are_those_of_the_atoms() {
    let (mut random, mut ranges, mut full, mut kinds) = (Random::new(11), 0, 0, [0; 3]);
    for round in 0..300 {
        let count = 3 + round % 9;
        let mut classes = std::vec![BlockClass::NONE; BLOCK_CLASSES];
        let (mut all, mut successors, mut links) = (Vec::new(), Vec::new(), Vec::new());
        for (index, class) in classes.iter_mut().enumerate().take(count) {
            // A long walk meets no unknown block.
            let unknown = round % 3 != 0;
            let last = match random.next() >> 8 & 7 {
                0 if unknown && round % 5 == 0 => (Kind::Indirect, Role::ExceptionReturn, false),
                0 if unknown => (Kind::Indirect, Role::Return, false),
                1 => (Kind::Branch, Role::Call, false),
                _ => (Kind::Branch, Role::Jump, true),
            };
            let (kind, role, conditional) = last;
            let mut block = block(index, count);
            (block.last.kind, block.last.role) = (kind, role);
            block.last.conditional = conditional;
            *class = BlockClass::of(&block, CodeSpace(3));
            let mut any = || match random.next() >> 8 & 15 {
                0 if unknown => BlockId::NONE,
                n => BlockId::new((n as usize + round) % count),
            };
            let next = match (kind, role) {
                (Kind::Indirect, _) => [BlockId::NONE; 2],
                (_, Role::Call) => [any().behind_call(), any()],
                _ => [any(), any()],
            };
            let cached = CachedBlock::new(&block, index).unwrap();
            let cached = cached.with_loop(next[1] == BlockId::new(index));
            all.push(cached);
            links.push(Links::of(&cached, &next));
            successors.push(next);
        }
        let blocks =
            CachedBlocks::new(&all, &successors, classes.first_chunk().unwrap()).with_links(&links);
        let special = match round % 3 {
            0 => 0,
            1 => CachedBlock::CALL,
            _ => CachedBlock::CALL | CachedBlock::EXCEPTION_RETURN,
        };
        let headers: Vec<u8> = (0..=255).filter(|header| Atoms::steps(*header) > 0).collect();
        let any = |random: &mut Random| headers[random.next() as usize % headers.len()];
        let bytes: Vec<u8> = (0..900).map(|_| any(&mut random)).collect();
        let starts: Vec<BlockId> =
            (0..2000).map(|_| BlockId::new((random.next() >> 8) as usize % count)).collect();
        let (want, elements) = simple_stops(&bytes, &blocks, special, &starts, &mut kinds);
        let mut plain = Vec::new();
        let found = stops::<false, _>(&bytes, &blocks, special, &starts, &mut plain);
        same(&found, &want, round);
        same(&plain, &elements, round);
        let mut batches = Batches::default();
        let found = stops::<true, _>(&bytes, &blocks, special, &starts, &mut batches);
        batches.pass(&blocks);
        same(&found, &want, round);
        same(&batches.elements, &elements, round);
        (ranges, full) = (ranges + elements.len(), full + batches.full);
    }
    assert!(ranges > 400_000 && full > 100, "{ranges} {full}");
    assert!(kinds.iter().all(|count| *count > 500), "{kinds:?}");
}

/// Both have the same items, of which there may be many.
fn same<T: PartialEq + core::fmt::Debug>(found: &[T], want: &[T], round: usize) {
    let differ = found.iter().zip(want).enumerate().find(|(_, (found, want))| found != want);
    assert_eq!(differ, None, "round {round}");
    assert_eq!(found.len(), want.len(), "round {round}");
}

/// Next and last block, whether the waypoint of the last one took effect, bytes and offset.
type Position = (BlockId, BlockId, bool, usize, u64);

/// Takes the atoms one by one. `kinds`: the number of calls, of returns to a block, and of returns
/// from exceptions.
fn simple_stops(
    bytes: &[u8],
    blocks: &CachedBlocks<'_>,
    special: u16,
    starts: &[BlockId],
    kinds: &mut [usize; 3],
) -> (Vec<Position>, Vec<(u64, Element)>) {
    let offset = |n: usize| (100 * (n / PIECE) + n) as u64;
    let (mut stack, mut found, mut elements) = (Vec::new(), Vec::new(), Vec::new());
    let (mut next, mut last, mut took, mut taken, mut at) = (starts[0], BlockId::NONE, true, 0, 0);
    let mut steps = 1u32;
    let mut starts = starts.iter();
    'walk: loop {
        let Some(&start) = starts.next() else { return (found, elements) };
        loop {
            if steps <= 1 {
                let Some(&header) = bytes.get(taken) else { break 'walk };
                (steps, at) = (Atoms::steps(header), offset(taken));
                taken += 1;
            }
            let Some((cached, class)) = blocks.get(next).filter(|_| next.can_be_next()) else {
                let indirect = blocks
                    .get(last)
                    .is_some_and(|(cached, _)| took && cached.is_any_of(CachedBlock::INDIRECT));
                let to = match stack.last() {
                    Some(call) if indirect => blocks.after_return(*call),
                    _ => BlockId::NONE,
                };
                if to == BlockId::NONE {
                    found.push((BlockId::NONE, last, took, taken, at));
                    next = start;
                    break;
                }
                stack.pop();
                kinds[1] += 1;
                next = to;
                continue;
            };
            took = steps & 1 != 0;
            elements.push((at, Element::Range(cached.range(class, took))));
            (last, steps) = (next, steps >> 1);
            next = blocks.next(next, took);
            if took && cached.is_any_of(special & CachedBlock::EXCEPTION_RETURN) {
                let known = if next.can_be_next() { next } else { BlockId::NONE };
                found.push((known, last, took, taken, at));
                kinds[2] += 1;
                next = start;
                break;
            }
            if took && cached.is_any_of(special & CachedBlock::CALL) {
                stack.push(last);
                if stack.len() > DEPTH {
                    stack.remove(0);
                }
                kinds[0] += 1;
            }
        }
    }
    let known = if next.can_be_next() { next } else { BlockId::NONE };
    found.push((known, last, took, taken, at));
    (found, elements)
}

/// The position at each stop of a walk, which continues at `starts`.
fn stops<const PREFETCH: bool, S: Sink>(
    bytes: &[u8],
    blocks: &CachedBlocks<'_>,
    special: u16,
    starts: &[BlockId],
    sink: &mut S,
) -> Vec<Position> {
    let returns = Returns::default();
    let feed = Feed::new(bytes, tracewright_base::OffsetMap::new(&[]), 0);
    let mut walk = BlockWalk::new(starts[0], &feed, &returns);
    let (mut packets, mut stops) = (Atom(bytes), Vec::new());
    for start in starts {
        let stop = walk.run::<PREFETCH, _, _>(&mut packets, blocks, special, sink);
        let Cursor { next, last, taken } = walk.cursor();
        stops.push((next, last, taken, walk.taken, walk.at));
        match stop {
            Stop::Packet => break,
            _ => walk.next = *start,
        }
    }
    stops
}
