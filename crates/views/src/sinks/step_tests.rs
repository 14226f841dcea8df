//! Sinks that receive steps of cached blocks receive the same as from the ranges.

use std::collections::BTreeMap;
use std::fmt::Debug;

use tracewright_base::{
    BLOCK_CLASSES, BatchBuffer, Block, BlockClass, BlockId, BlockStep, CachedBlock, CachedBlocks,
    CodeSpace, Element, Gap, Instruction, Isa, Kind, Numbering, Part, Range, Role, Successors,
    Turns,
};
use tracewright_decode::{Listener, Merge};
use tracewright_testing::Random;

use super::*;

/// Blocks of 8 or 12 bytes, one behind the other, of which each has a known successor.
pub(super) struct Program {
    cached: Vec<CachedBlock>,
    successors: Vec<Successors>,
    classes: Box<[BlockClass; BLOCK_CLASSES]>,
    numbering: Numbering,
}

impl Program {
    pub(super) fn new(random: &mut Random, len: usize) -> Program {
        let mut classes = Box::new([BlockClass::NONE; BLOCK_CLASSES]);
        let (mut cached, mut successors) = (Vec::new(), Vec::new());
        let ends = [
            (Kind::Branch, Role::Jump),
            (Kind::Branch, Role::Call),
            (Kind::Indirect, Role::Return),
            (Kind::Indirect, Role::ExceptionReturn),
        ];
        for number in 0..len {
            let class = random.index(ends.len());
            let (kind, role) = ends[class];
            let (size, isa, conditional) = (4, Isa::A64, true);
            let last = Instruction { kind, role, size, isa, conditional, ..Instruction::default() };
            let instructions = 2 + random.below(2) as u32;
            let start = 0xffff_ffc0_0008_0000 + 12 * number as u64;
            let bytes = 4 * instructions;
            let block = Block { start, bytes, instructions, last, ..Block::default() };
            classes[class] = BlockClass::of(&block, CodeSpace(3));
            cached.push(CachedBlock::new(&block, class).expect("a short block"));
            successors.push([random.index(len), random.index(len)].map(BlockId::new));
        }
        Program { cached, successors, classes, numbering: Numbering::default() }
    }

    pub(super) fn blocks(&self) -> CachedBlocks<'_> {
        CachedBlocks::new(&self.cached, &self.successors, &self.classes)
            .with_numbering(&self.numbering)
    }

    /// The blocks get other numbers, which are the same by chance.
    fn renew(&mut self) {
        self.numbering = Numbering::default();
    }

    pub(super) fn range(&self, step: BlockStep) -> Range {
        BatchBuffer::default().batch(0, self.blocks()).range(step).expect("a block")
    }

    /// A step: in most cases that to the successor of `last`.
    fn step(&self, random: &mut Random, last: BlockStep) -> (BlockId, bool) {
        let id = match random.one_in(8) {
            true => BlockId::new(random.index(self.cached.len())),
            false => self.blocks().next(last.id(), last.taken()),
        };
        (id, random.one_in(2))
    }
}

/// Receives batches, and each range of them, in any cuts.
fn compare<L: Listener + Merge + PartialEq + Debug>(seed: u64, len: usize) {
    let mut random = Random::new(seed);
    let mut programs = [Program::new(&mut random, len), Program::new(&mut random, len)];
    let (mut by_steps, mut by_elements, mut taken) = (L::default(), L::default(), L::default());
    let mut last = BlockStep::default();
    let mut at = 1 << 40;
    for round in 0..60 {
        let source = random.index(2);
        let mut buffer = BatchBuffer::default();
        for _ in 0..random.below(200) {
            at += random.below(3);
            let (id, executed) = programs[source].step(&mut random, last);
            last = BlockStep::new(id, executed, 0);
            buffer.step(at, id, executed);
            if random.one_in(30) {
                buffer.element(at, random.pick(&[Element::Gap(Gap::Overflow), Element::Events(1)]));
            }
            if random.one_in(50) {
                let ranges = [programs[source].range(last)];
                buffer.turns(Turns { at, ranges: &ranges, times: random.below(4), listed: true });
            }
        }
        let batch = buffer.batch(source, programs[source].blocks());
        by_steps.batch(&batch);
        for part in batch.parts() {
            match part {
                Part::Steps(steps) => {
                    for &step in steps {
                        let range = Element::Range(programs[source].range(step));
                        by_elements.element(source, batch.at(step), range);
                    }
                }
                Part::Element(at, element) => by_elements.element(source, at, element),
                Part::Turns(turns) => {
                    for _ in 0..turns.times {
                        let range = Element::Range(turns.ranges[0]);
                        by_elements.element(source, turns.at, range);
                    }
                }
            }
        }
        match random.below(12) {
            0 => programs[source].renew(),
            1 => programs[source] = Program::new(&mut random, len),
            2 => taken.merge(std::mem::take(&mut by_steps)),
            _ => {}
        }
        if round % 20 == 19 {
            taken.merge(std::mem::take(&mut by_steps));
            assert_eq!(taken, by_elements, "seed {seed}, {len} blocks, round {round}");
        }
    }
}

/// Of few and of many blocks: the latter are not all in tables by step.
#[test]
fn steps_are_ranges() {
    for (seeds, len) in [(0..tracewright_testing::times(20), 24), (0..1, 40_000)] {
        for seed in seeds {
            compare::<Checksum>(seed, len);
            compare::<RangeChecksum>(seed, len);
            compare::<Count>(seed, len);
            compare::<Edges>(seed, len);
            compare::<Coverage>(seed, len);
            compare::<Bitmap>(seed, len);
        }
    }
}

/// The counts of edges by step are part of the results at any time.
#[test]
fn edges_are_counted_by_step() {
    let mut random = Random::new(5);
    let program = Program::new(&mut random, 24);
    let (mut buffer, mut edges, mut want) =
        (BatchBuffer::default(), Edges::default(), BTreeMap::new());
    let (mut last, mut from): (_, Option<Range>) = (BlockStep::default(), None);
    for at in 0..1500 {
        let (id, executed) = program.step(&mut random, last);
        last = BlockStep::new(id, executed, 0);
        buffer.step(at, id, executed);
        let range = program.range(last);
        if let Some(from) = from.filter(|from| from.last.role != Role::ExceptionReturn) {
            *want.entry((from.last_address(), range.start)).or_insert(0) += 1;
        }
        from = Some(range);
    }
    edges.batch(&buffer.batch(0, program.blocks()));
    let sorted: BTreeMap<_, _> = edges.sorted().iter().map(|e| ((e.from, e.to), e.count)).collect();
    assert_eq!(sorted, want);
    assert_eq!(edges.len(), want.len());
    for ((from, to), count) in want {
        assert_eq!(edges.count(from, to), count);
    }
}
