//! Blocks for one who goes through many of them.

use crate::{Block, Counted, Isa, Last, Range, Space};

/// Which of the blocks that a [`Code`](crate::Code) keeps: an index into its
/// [`hops`](crate::Code::hops).
///
/// It means the same until the code is asked for a block that it may have to make
/// ([`block`](crate::Code::block), [`enter`](crate::Code::enter)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u32);

impl Mark {
    /// No block.
    pub const NONE: Mark = Mark(u32::MAX);

    /// The block at `index`; [`NONE`](Mark::NONE) where that is too large.
    #[inline]
    pub const fn new(index: usize) -> Mark {
        if index < u32::MAX as usize { Mark(index as u32) } else { Mark::NONE }
    }

    /// Its index. That of [`NONE`](Mark::NONE) is beyond all blocks.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What selects a block beside its address: the instruction set, and which memory is seen. Spaces
/// that see the same memory have the same realm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Realm(pub u32);

impl Realm {
    /// No block is in it.
    pub const NONE: Realm = Realm(u32::MAX);

    /// The realm of `isa` in the memory that its owner calls `view`.
    #[inline]
    pub const fn new(isa: Isa, view: u8) -> Realm {
        Realm(isa as u32 | (view as u32) << 8)
    }

    /// The realm of `isa` in `space`, where each space has its own memory.
    #[inline]
    pub const fn of_space(isa: Isa, space: Space) -> Realm {
        Realm::new(isa, space.index() as u8)
    }
}

/// A block that ends with a waypoint, and the blocks after it: what an atom takes, in half a cache
/// line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Address of the first instruction.
    pub start: u64,
    /// What selects it beside `start`.
    pub realm: Realm,
    /// Length in bytes.
    pub bytes: u16,
    /// Instructions in it.
    pub instructions: u16,
    /// The waypoint where it did not take effect, and where it did.
    pub last: [Last; 2],
    /// The block after it, likewise. Only a block that must come next is here; [`Mark::NONE`] where it
    /// is not known yet, and after an indirect branch.
    pub next: [Mark; 2],
}

const _: () = assert!(size_of::<Hop>() == 32);

impl Hop {
    /// The block as a hop that leads nowhere yet. `None` where it is too long.
    pub fn new(block: &Block, realm: Realm) -> Option<Hop> {
        Some(Hop {
            start: block.start,
            realm,
            bytes: u16::try_from(block.bytes).ok()?,
            instructions: u16::try_from(block.instructions).ok()?,
            last: [false, true].map(|taken| Last::new(&block.last, taken)),
            next: [Mark::NONE; 2],
        })
    }

    /// Its instruction set.
    #[inline]
    pub const fn isa(&self) -> Isa {
        self.last[0].isa
    }

    /// The whole block as a range, where its waypoint was `taken` or not.
    #[inline]
    pub const fn range(&self, taken: bool) -> Range {
        Range {
            start: self.start,
            bytes: self.bytes as u32,
            instructions: self.instructions as u32,
            cycles: Counted::UNKNOWN,
            last: self.last[taken as usize],
        }
    }

    /// The address after it, in its instruction set.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.start.wrapping_add(self.bytes as u64) & self.isa().address_mask()
    }
}
