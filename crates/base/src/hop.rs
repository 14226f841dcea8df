//! Blocks for one who goes through many of them.

use crate::{Block, Counted, Instruction, Isa, Kind, Last, Range, Role, Space};

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

/// A block that ends with a waypoint, and the blocks after it: what an atom takes, in a quarter of a cache
/// line. What it shares with many others is in its [`Family`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The block after it where its waypoint did not take effect, and where it did. Only a block that
    /// must come next is here; [`Mark::NONE`] where it is not known yet, and after an indirect branch.
    pub next: [Mark; 2],
    /// Address of the first instruction, bits \[31:0].
    low: u32,
    family: u16,
    /// Length in halfwords.
    halfwords: u8,
    instructions: u8,
}

/// What blocks have in common that lie near each other and end alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(32))]
pub struct Family {
    /// The waypoint where it did not take effect, and where it did.
    pub last: [Last; 2],
    /// Address of the first instruction, bits \[63:32].
    high: u64,
    /// What selects the blocks beside their addresses.
    pub realm: Realm,
    /// The instruction set that the waypoint leads to.
    pub target_isa: Isa,
}

/// How many families there can be.
pub const FAMILIES: usize = 1 << 11;

const _: () = assert!(size_of::<Hop>() == 16 && size_of::<Family>() == 32);

impl Hop {
    /// The block as a hop of `family`, below [`FAMILIES`], that leads nowhere yet. `None` where it is too long.
    pub fn new(block: &Block, family: usize) -> Option<Hop> {
        let fits = block.bytes.is_multiple_of(2) && family < FAMILIES;
        let halfwords = u8::try_from(block.bytes / 2).ok()?;
        let instructions = u8::try_from(block.instructions).ok()?;
        let (next, low) = ([Mark::NONE; 2], block.start as u32);
        fits.then_some(Hop { next, low, family: family as u16, halfwords, instructions })
    }

    /// The same block before others.
    #[must_use]
    pub const fn leading_to(self, next: [Mark; 2]) -> Hop {
        Hop { next, ..self }
    }

    #[inline]
    const fn bytes(&self) -> u32 {
        self.halfwords as u32 * 2
    }

    /// Address of the first instruction.
    #[inline]
    pub const fn start(&self, family: &Family) -> u64 {
        family.high | self.low as u64
    }

    /// The whole block as a range, where its waypoint was `taken` or not.
    #[inline]
    pub const fn range(&self, family: &Family, taken: bool) -> Range {
        Range {
            start: self.start(family),
            bytes: self.bytes(),
            instructions: self.instructions as u32,
            cycles: Counted::UNKNOWN,
            last: family.last[taken as usize],
        }
    }

    /// The address after it, in its instruction set.
    #[inline]
    pub const fn end(&self, family: &Family) -> u64 {
        self.start(family).wrapping_add(self.bytes() as u64) & family.isa().address_mask()
    }
}

impl Family {
    /// There is no block of it.
    pub const NONE: Family = {
        let nothing = Instruction {
            kind: Kind::Plain,
            role: Role::Jump,
            size: 0,
            conditional: false,
            isa: Isa::A32,
            target_isa: Isa::A32,
            target: None,
        };
        let last = Last::new(&nothing, false);
        Family { last: [last; 2], high: 0, realm: Realm::NONE, target_isa: Isa::A32 }
    };

    /// The family of `block`.
    pub fn of(block: &Block, realm: Realm) -> Family {
        let last = [false, true].map(|taken| Last::new(&block.last, taken));
        let high = block.start & !u64::from(u32::MAX);
        Family { last, high, realm, target_isa: block.last.target_isa }
    }

    /// Their instruction set.
    #[inline]
    pub const fn isa(&self) -> Isa {
        self.last[0].isa
    }
}

/// The blocks that a [`Code`](crate::Code) keeps, for one who goes through many: see [`Mark`].
#[derive(Clone, Copy, Debug)]
pub struct Hops<'a> {
    hops: &'a [Hop],
    families: &'a [Family; FAMILIES],
}

impl<'a> Hops<'a> {
    /// These hops, of these families.
    #[inline]
    pub const fn new(hops: &'a [Hop], families: &'a [Family; FAMILIES]) -> Self {
        Hops { hops, families }
    }

    /// No blocks.
    pub const fn none() -> Hops<'static> {
        const NONE: &[Family; FAMILIES] = &[Family::NONE; FAMILIES];
        Hops { hops: &[], families: NONE }
    }

    /// A block and its family.
    #[inline]
    pub fn get(&self, mark: Mark) -> Option<(&'a Hop, &'a Family)> {
        let hop = self.hops.get(mark.index())?;
        Some((hop, self.families.get(usize::from(hop.family) % FAMILIES)?))
    }

    /// All hops, each at the index of its mark.
    #[inline]
    pub const fn all(&self) -> &'a [Hop] {
        self.hops
    }
}
