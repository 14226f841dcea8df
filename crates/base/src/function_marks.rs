//! Which cached blocks continue in the same function: a decoder sums them without their addresses.

use alloc::sync::Weak;
use alloc::vec::Vec;

use crate::cached_block::{BlockId, CachedBlock, CachedBlocks};
use crate::numbering::Numbering;

/// What is known of each cached block, by its number. The functions are those of a sink: each
/// address is in one of them, or in code without a function between two.
#[derive(Clone, Debug, Default)]
pub struct FunctionMarks {
    /// That of the blocks.
    numbering: Weak<()>,
    /// Those of each block, by its number: without effect, and with effect of the waypoint.
    marks: Vec<[FunctionMark; 2]>,
    /// Memory for transfers.
    pub transfers: Vec<BlockTransfer>,
}

/// A block after one that execution may leave its function by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockTransfer {
    /// The number of the block before; bit 0: its waypoint took effect.
    from: u32,
    /// The number of the block.
    to: u32,
    /// Instructions up to the end of the block before, since the last transfer.
    pub instructions: u32,
    /// Offset of the atom of the block, from that of all transfers.
    pub at: u32,
}

/// The most transfers that a sink receives at once.
pub const MAX_TRANSFERS: usize = 128;

impl BlockTransfer {
    /// The transfer from the block `from`, a [`block_before`](BlockTransfer::block_before).
    #[inline]
    pub const fn new(from: u32, to: BlockId, instructions: u32, at: u32) -> BlockTransfer {
        BlockTransfer { from, to: to.index() as u32, instructions, at }
    }

    /// A block before a transfer, whose waypoint took effect if `taken`.
    #[inline]
    pub const fn block_before(id: BlockId, taken: bool) -> u32 {
        (id.index() as u32) << 1 | taken as u32
    }

    /// The block before, and whether its waypoint took effect.
    #[inline]
    pub const fn from(&self) -> (BlockId, bool) {
        (BlockId::new((self.from >> 1) as usize), self.from & 1 != 0)
    }

    /// The block.
    #[inline]
    pub const fn to(&self) -> BlockId {
        BlockId::new(self.to as usize)
    }
}

/// What is known of one outcome of a cached block, without effect or with effect of its waypoint.
/// Bits \[6:0] number of instructions, 0 if nothing is known; \[7] execution leaves the function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionMark(u8);

const INSTRUCTIONS: u8 = (1 << 7) - 1;
const LEAVES: u8 = 1 << 7;

const _: () = assert!(CachedBlock::MAX_INSTRUCTIONS <= INSTRUCTIONS as u32);

impl FunctionMark {
    /// Whether the whole block is in one function, and what follows this outcome is known: a
    /// successor, or a block that a transfer leads to. Otherwise nothing is known.
    #[inline]
    pub const fn is_known(self) -> bool {
        self.0 != 0
    }

    /// Whether execution stays in the function with this outcome: by its successor, and not by a
    /// call or an indirect branch.
    #[inline(always)]
    pub const fn stays(self) -> bool {
        self.0.cast_signed() > 0
    }

    /// The number of instructions of the block.
    #[inline(always)]
    pub const fn instructions(self) -> u32 {
        (self.0 & INSTRUCTIONS) as u32
    }
}

impl FunctionMarks {
    /// Prepares the marks for `blocks`. Returns whether these have the same numbers as before;
    /// otherwise nothing is known of them.
    pub fn prepare(&mut self, blocks: &CachedBlocks<'_>) -> bool {
        self.transfers.resize(MAX_TRANSFERS, BlockTransfer::default());
        let numbering = blocks.numbering();
        let same = numbering.is_some_and(|numbering| numbering.is(&self.numbering));
        if !same {
            self.marks.clear();
            self.numbering = numbering.map(Numbering::downgrade).unwrap_or_default();
        }
        if numbering.is_some() && self.marks.len() < blocks.all().len() {
            self.marks.resize(blocks.all().len(), Default::default());
        }
        same
    }

    /// The functions are others.
    pub fn clear(&mut self) {
        self.marks.fill(Default::default());
    }

    /// The mark of an outcome of a block.
    #[inline]
    pub fn get(&self, id: BlockId, taken: bool) -> FunctionMark {
        let marks = self.marks.get(id.index()).copied().unwrap_or_default();
        marks[usize::from(taken)]
    }

    /// Those of all blocks.
    #[inline]
    pub fn all(&self) -> &[[FunctionMark; 2]] {
        &self.marks
    }

    /// Marks the block `id`, if it is in the function between the addresses `within`, the last one
    /// included.
    #[cold]
    #[inline(never)]
    pub fn learn(&mut self, id: BlockId, within: (u64, u64), blocks: &CachedBlocks<'_>) {
        let inside = |id| {
            let (cached, class) = blocks.get(id)?;
            cached.is_within(class, within).then_some(cached)
        };
        let (Some(cached), Some(marks)) = (inside(id), self.marks.get_mut(id.index())) else {
            return;
        };
        for (taken, mark) in [false, true].into_iter().zip(marks) {
            let next = blocks.next(id, taken);
            let transfers = taken && cached.is_any_of(CachedBlock::TRANSFER);
            // The decoder has more to do after a return from an exception.
            let special = taken && cached.is_any_of(CachedBlock::EXCEPTION_RETURN);
            if (transfers || next.can_be_next()) && !special {
                let stays = !transfers && inside(next).is_some();
                let leaves = if stays { 0 } else { LEAVES };
                mark.0 = cached.instructions() as u8 | leaves;
            }
        }
    }
}
