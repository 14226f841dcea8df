//! Look-ups of cached blocks by traced addresses.

use tracewright_base::{BlockCache, BlockId, CachedBlocks, CodeSpace, Isa, Links, Pc};
use tracewright_scan::prefetch;

use crate::cursor::Cursor;

/// The two instruction sets that an address can select in the current context, by its sub-ISA.
pub(super) struct Sets {
    pub(super) is0: Set,
    pub(super) is1: Set,
}

/// An instruction set that an address can select.
#[derive(Clone, Copy)]
pub(super) struct Set {
    /// What selects its blocks. [`CodeSpace::NONE`] where the sub-ISA disagrees with the
    /// instruction set: IS0 in the M profile, IS1 in AArch64 state. The fast path leaves these out.
    pub(super) code_space: CodeSpace,
    /// Its address bits.
    pub(super) mask: u64,
}

impl Sets {
    #[inline]
    pub(super) const fn get(&self, is1: bool) -> Set {
        if is1 { self.is1 } else { self.is0 }
    }

    /// The position at `pc`, whose instruction set its sub-ISA selects.
    #[inline]
    pub(super) fn find<K: BlockCache>(&self, pc: Option<Pc>, code: &K) -> Cursor {
        let Some(Pc { address, isa, .. }) = pc else { return Cursor::before(BlockId::NONE) };
        Cursor::find(address, isa, self.get(isa == Isa::T32).code_space, code)
    }
}

/// How many cache lines are prefetched for a block.
const LINES: usize = 2;

/// Cached blocks, or successors of cached blocks, in a cache line.
const BLOCKS: usize = 8;

/// Prefetches the cached blocks from `id` on. They are in the order of their addresses, so the
/// blocks that run next are probably among them.
#[inline]
pub(super) fn prefetch_block(blocks: CachedBlocks<'_>, id: BlockId) {
    for line in 0..LINES {
        let index = id.index().wrapping_add(BLOCKS * line);
        prefetch(blocks.successors(), index);
        prefetch(blocks.all(), index);
    }
}

/// Prefetches the links of the cached blocks from that of `link` on, and the blocks, which are read
/// with the batch.
#[inline(always)]
pub(super) fn prefetch_links(blocks: &CachedBlocks<'_>, link: u32) {
    let step = (link & Links::NONE) as usize;
    for line in 0..LINES {
        prefetch(blocks.links(), step.wrapping_add(2 * BLOCKS * line));
        prefetch(blocks.all(), (step / 2).wrapping_add(BLOCKS * line));
    }
}
