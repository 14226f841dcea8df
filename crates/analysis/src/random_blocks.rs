//! Cached blocks at random, and paths through them, for tests.

use tracewright_base::{
    BLOCK_CLASSES, BatchBuffer, Block, BlockClass, BlockId, BlockStep, CachedBlock, CachedBlocks,
    CodeSpace, Instruction, Isa, Kind, Numbering, Range, Role, Successors,
};
use tracewright_testing::Random;

/// The address of the first block.
pub(crate) const START: u64 = 0x1000;
/// The length of each block.
pub(crate) const BYTES: u64 = 8;
/// The number of blocks, of which each follows the one before.
pub(crate) const BLOCKS: usize = 24;

/// Blocks of a table.
pub(crate) struct RandomBlocks {
    cached: Vec<CachedBlock>,
    successors: Vec<Successors>,
    classes: Box<[BlockClass; BLOCK_CLASSES]>,
    numbering: Numbering,
}

impl RandomBlocks {
    /// Blocks with waypoints of all kinds, most of them branches, and their numbers in an order of
    /// their own.
    pub(crate) fn new(random: &mut Random) -> RandomBlocks {
        let shift = random.index(BLOCKS);
        let place = |number: usize| (number + shift) % BLOCKS;
        let (mut cached, mut successors) = (Vec::new(), Vec::new());
        let mut classes = Box::new([BlockClass::NONE; BLOCK_CLASSES]);
        for number in 0..BLOCKS {
            let kind =
                random.pick(&[Kind::Branch, Kind::Branch, Kind::Branch, Kind::Indirect, Kind::Isb]);
            let role = random.pick(&[Role::Jump, Role::Jump, Role::Call, Role::Return, Role::Link]);
            let (size, isa, conditional) = (4, Isa::A64, random.one_in(2));
            let last = Instruction { kind, role, size, isa, conditional, ..Instruction::default() };
            let start = START + BYTES * place(number) as u64;
            let block =
                Block { start, bytes: BYTES as u32, instructions: 2, last, ..Block::default() };
            classes[number] = BlockClass::of(&block, CodeSpace(3));
            cached.push(CachedBlock::new(&block, number).expect("a short block"));
            let next = place(number) + 1;
            let next = (next < BLOCKS).then(|| BlockId::new((next + BLOCKS - shift) % BLOCKS));
            let to = match kind {
                Kind::Isb => next,
                Kind::Branch if !random.one_in(8) => Some(BlockId::new(random.index(BLOCKS))),
                _ => None,
            };
            successors.push([next, to].map(|id| id.unwrap_or(BlockId::NONE)));
        }
        RandomBlocks { cached, successors, classes, numbering: Numbering::default() }
    }

    pub(crate) fn blocks(&self) -> CachedBlocks<'_> {
        CachedBlocks::new(&self.cached, &self.successors, &self.classes)
            .with_numbering(&self.numbering)
    }

    /// A step after `last`: in most cases the successor, otherwise any block.
    pub(crate) fn step(&self, random: &mut Random, last: Option<BlockStep>) -> BlockStep {
        let next = last.map_or(BlockId::NONE, |last| self.blocks().next(last.id(), last.taken()));
        let known = next.can_be_next() && !random.one_in(40);
        let id = if known { next } else { BlockId::new(random.index(BLOCKS)) };
        // Often not taken: runs are longer than a chain.
        BlockStep::new(id, random.one_in(5), 0)
    }

    /// The range of a step.
    pub(crate) fn range(&self, step: BlockStep) -> Range {
        BatchBuffer::default().batch(0, self.blocks()).range(step).expect("a block")
    }
}
