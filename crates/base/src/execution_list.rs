//! A list of executed cached blocks, for a program so large that most executions in a part of its
//! trace are the first of their block.

use alloc::vec;
use alloc::vec::Vec;

use crate::cached_block::CachedBlock;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Block;

    #[test]
    fn a_list_has_the_blocks_until_it_is_cleared() {
        let block = |start| {
            let block = Block { start, bytes: 4, instructions: 1, ..Block::default() };
            CachedBlock::new(&block, 0).expect("a short block")
        };
        let mut list = ExecutionList::default();
        list.push(block(4));
        assert_eq!((list.blocks(), list.is_full()), (&[][..], false));
        for _ in 0..2 {
            list.prepare();
            list.push(block(8));
            let (places, len) = list.places();
            assert_eq!((places.len(), len), (ExecutionList::MOST, 1));
            places[1] = block(12);
            list.set_len(2);
            assert_eq!(list.blocks(), [block(8), block(12)]);
            (2..ExecutionList::MOST + 5).for_each(|_| list.push(block(16)));
            assert!(list.is_full());
            assert_eq!(list.blocks().len(), ExecutionList::MOST);
            list.clear();
            assert!(list.blocks().is_empty());
        }
    }
}
