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

/// A block that ends with a waypoint: what an atom says was executed, in an eighth of a cache line. What it shares
/// with many others is in its [`Family`], and what comes after it in its [`Ways`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Address of the first instruction, bits \[31:0].
    low: u32,
    /// [`Hop::CALL`] and its like, bits \[4:0]; index of the family, bits \[15:5].
    family: u16,
    /// Length in bytes, bits \[8:0]; how many instructions, bits \[15:9].
    counts: u16,
}

/// The block after one where its waypoint did not take effect, and where it did. Only a block that must come next
/// is here; [`Mark::NONE`] where it is not known yet, and after an indirect branch.
pub type Ways = [Mark; 2];

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
pub const FAMILIES: usize = 1 << (u16::BITS - KINDS);

/// How many bits of a hop's counts are its length, and the largest of it.
const LENGTH: u32 = 9;
const BYTES: u32 = (1 << LENGTH) - 1;

/// How many bits of a hop's family say what its waypoint is.
const KINDS: u32 = 5;

const _: () = assert!(size_of::<Hop>() == 8 && size_of::<Ways>() == 8 && size_of::<Family>() == 32);

impl Hop {
    /// Its waypoint is a branch with link.
    pub const CALL: u16 = 1;
    /// Its waypoint returns from an exception.
    pub const EXCEPTION_RETURN: u16 = 1 << 1;
    /// Where its waypoint leads is not in the program.
    pub const INDIRECT: u16 = 1 << 2;
    /// Where its waypoint takes effect, it comes next itself: it is a loop of one block.
    pub const LOOP: u16 = 1 << 3;

    /// Whether it is one of `kinds`, of those above.
    #[inline]
    pub const fn is_any_of(&self, kinds: u16) -> bool {
        self.family & kinds != 0
    }

    /// The block as a hop of `family`, below [`FAMILIES`]. `None` where it is too long.
    pub fn new(block: &Block, family: usize) -> Option<Hop> {
        if family >= FAMILIES
            || block.bytes > BYTES
            || block.instructions > u32::from(u16::MAX) >> LENGTH
        {
            return None;
        }
        let counts = (block.bytes | block.instructions << LENGTH) as u16;
        let is = |kind, yes| if yes { kind } else { 0 };
        let kinds = is(Hop::CALL, block.last.role == Role::Call)
            | is(Hop::EXCEPTION_RETURN, block.last.role == Role::ExceptionReturn)
            | is(Hop::INDIRECT, block.last.kind == Kind::Indirect);
        let (low, family) = (block.start as u32, (family as u16) << KINDS | kinds);
        Some(Hop { low, family, counts })
    }

    /// The same, as a [loop](Hop::LOOP) or not.
    #[must_use]
    pub const fn looping(self, yes: bool) -> Hop {
        let family = self.family & !Hop::LOOP | if yes { Hop::LOOP } else { 0 };
        Hop { family, ..self }
    }

    /// Index of its family.
    #[inline]
    pub const fn family(&self) -> usize {
        (self.family >> KINDS) as usize
    }

    #[inline]
    const fn bytes(&self) -> u32 {
        (self.counts as u64 & BYTES as u64) as u32
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
            instructions: (self.counts as u64 >> LENGTH) as u32,
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
///
/// What they are and where they lead lie apart. The next block depends on the ways of this one, and the ways of that one
/// on nothing else: the less memory they fill, the shorter is the wait. What the blocks are comes beside it.
#[derive(Clone, Copy, Debug)]
pub struct Hops<'a> {
    hops: &'a [Hop],
    /// As many.
    ways: &'a [Ways],
    families: &'a [Family; FAMILIES],
}

impl<'a> Hops<'a> {
    /// These hops, of these families, and the ways of each.
    #[inline]
    pub fn new(hops: &'a [Hop], ways: &'a [Ways], families: &'a [Family; FAMILIES]) -> Self {
        let len = hops.len().min(ways.len());
        Hops {
            hops: hops.get(..len).unwrap_or_default(),
            ways: ways.get(..len).unwrap_or_default(),
            families,
        }
    }

    /// No blocks.
    pub const fn none() -> Hops<'static> {
        const NONE: &[Family; FAMILIES] = &[Family::NONE; FAMILIES];
        Hops { hops: &[], ways: &[], families: NONE }
    }

    /// A block and its family.
    #[inline]
    pub fn get(&self, mark: Mark) -> Option<(&'a Hop, &'a Family)> {
        let hop = self.hops.get(mark.index())?;
        Some((hop, self.families.get(hop.family())?))
    }

    /// The block after `mark`, where its waypoint was `taken` or not: see [`Ways`].
    #[inline]
    pub fn next(&self, mark: Mark, taken: bool) -> Mark {
        self.ways.get(mark.index()).map_or(Mark::NONE, |ways| ways[usize::from(taken)])
    }

    /// A block, what comes after it, and its family.
    #[inline]
    pub fn step(&self, mark: Mark) -> Option<(&'a Hop, &'a Ways, &'a Family)> {
        let (hop, family) = self.get(mark)?;
        Some((hop, self.ways.get(mark.index())?, family))
    }

    /// The same. (A function that is given it and begins with this looks at one length, not two.)
    #[inline]
    #[must_use]
    pub fn even(self) -> Self {
        Hops::new(self.hops, self.ways, self.families)
    }

    /// All hops, each at the index of its mark.
    #[inline]
    pub const fn all(&self) -> &'a [Hop] {
        self.hops
    }

    /// The ways of all, each at the index of its mark.
    #[inline]
    pub const fn ways(&self) -> &'a [Ways] {
        self.ways
    }
}
