//! The position of a fast path among cached blocks.

use tracewright_base::{Block, BlockCache, BlockId, CachedBlocks, CodeSpace, Isa, Pc};

/// A position between two cached blocks. A fast path emits blocks without updating the decoder's
/// state: the state is still before the waypoint of [`last`](Cursor::last) and is settled from that
/// block alone.
///
/// Functions take and return a cursor by value, so that the loops hold it in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    /// The block to execute next; [`BlockId::NONE`] where it is not cached.
    pub(crate) next: BlockId,
    /// The block that was emitted last; [`BlockId::NONE`] where the decoder's state is up to date.
    pub(crate) last: BlockId,
    /// Whether the waypoint of `last` took effect.
    pub(crate) taken: bool,
}

impl Cursor {
    /// The position before `next`. The decoder's state is up to date.
    #[inline]
    pub(crate) const fn before(next: BlockId) -> Cursor {
        Cursor { next, last: BlockId::NONE, taken: false }
    }

    /// Returns the position and resets it to one without blocks, for a caller that updates the
    /// decoder's state.
    #[inline]
    pub(crate) const fn take(&mut self) -> Cursor {
        core::mem::replace(self, Cursor::before(BlockId::NONE))
    }

    /// The position at `address`; `next` is [`BlockId::NONE`] if no block of `code_space` is cached
    /// there. The decoder's state is up to date.
    #[inline]
    pub(crate) fn find<K: BlockCache>(
        address: u64,
        isa: Isa,
        code_space: CodeSpace,
        code: &K,
    ) -> Cursor {
        Cursor::before(code.find(address & isa.address_mask(), code_space))
    }

    /// Passes the next block, whose waypoint is `taken` or not.
    #[inline]
    pub(crate) fn pass(self, taken: bool, blocks: &CachedBlocks<'_>) -> Cursor {
        Cursor { next: blocks.next(self.next, taken), last: self.next, taken }
    }

    /// The block from which the decoder's state is to be updated; `None` where it is up to date.
    #[inline]
    pub(crate) fn unsettled<K: BlockCache>(self, code: &K) -> Option<Block> {
        code.cached_block(self.last)
    }

    /// The position before the block at `pc`, which is made and cached if necessary. The decoder's
    /// state is settled.
    ///
    /// `linked`: the block at `pc` follows the last one whenever that one's waypoint has the same
    /// outcome. The cache then records it as the successor.
    #[inline]
    pub(crate) fn enter<K: BlockCache>(self, pc: Pc, linked: bool, code: &mut K) -> Cursor {
        let from = (linked && self.last != BlockId::NONE).then_some((self.last, self.taken));
        Cursor::before(code.enter(pc, from))
    }
}
