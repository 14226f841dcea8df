//! A list of executed cached blocks, for a program so large that most executions in a part of its
//! trace are the first of their block.

use alloc::vec;
use alloc::vec::Vec;

use crate::CachedBlock;

/// Blocks that were executed, each as often as it is in the list, in any order.
#[derive(Clone, Debug, Default)]
pub struct ExecutionList {
    /// Empty, or [`ExecutionList::MOST`] of them.
    places: Vec<CachedBlock>,
    /// The number of places in use.
    len: usize,
}

impl ExecutionList {
    /// The most blocks in a list: 8 KiB, so that they are in the first-level cache when they are
    /// summed.
    pub const MOST: usize = 1 << 10;

    /// Makes the places, where there are none yet.
    #[inline]
    pub fn prepare(&mut self) {
        if self.places.is_empty() {
            self.places = vec![CachedBlock::NONE; Self::MOST];
        }
    }

    /// The blocks.
    #[inline]
    pub fn blocks(&self) -> &[CachedBlock] {
        self.places.get(..self.len).unwrap_or_default()
    }

    /// Whether no further block has a place.
    #[inline]
    pub const fn is_full(&self) -> bool {
        self.len >= Self::MOST
    }

    /// Adds a block, where there is a place for it.
    #[inline]
    pub fn push(&mut self, block: CachedBlock) {
        if let Some(place) = self.places.get_mut(self.len) {
            *place = block;
            self.len += 1;
        }
    }

    /// All places, of which those before `len` are in use: see [`set_len`](Self::set_len).
    #[inline]
    pub fn places(&mut self) -> (&mut [CachedBlock], usize) {
        (&mut self.places, self.len)
    }

    /// The places before `len` are in use.
    #[inline]
    pub const fn set_len(&mut self, len: usize) {
        self.len = len;
    }

    /// Removes all blocks.
    #[inline]
    pub const fn clear(&mut self) {
        self.len = 0;
    }
}
