//! Blocks for one who goes through many of them.

use crate::{Block, Counted, Instruction, Isa, Kind, Last, Range, Role, Space};

/// Which of the blocks that a [`Code`](crate::Code) keeps: an index into its
/// [`blocks`](crate::Code::blocks).
///
/// It means the same until the code is asked for a block that it may have to make
/// ([`block`](crate::Code::block), [`enter`](crate::Code::enter)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockId(u32);

impl BlockId {
    /// No block.
    pub const NONE: BlockId = BlockId(u32::MAX);

    /// The block at `index`; [`NONE`](BlockId::NONE) where that is too large.
    #[inline]
    pub const fn new(index: usize) -> BlockId {
        if index < u32::MAX as usize { BlockId(index as u32) } else { BlockId::NONE }
    }

    /// Its index. That of [`NONE`](BlockId::NONE) is beyond all blocks.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What selects a block beside its address: the instruction set, and which memory is seen. Spaces
/// that see the same memory have the same realm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodeSpace(pub u32);

impl CodeSpace {
    /// No block is in it.
    pub const NONE: CodeSpace = CodeSpace(u32::MAX);

    /// The realm of `isa` in the memory that its owner calls `view`.
    #[inline]
    pub const fn new(isa: Isa, view: u8) -> CodeSpace {
        CodeSpace(isa as u32 | (view as u32) << 8)
    }

    /// The realm of `isa` in `space`, where each space has its own memory.
    #[inline]
    pub const fn of_space(isa: Isa, space: Space) -> CodeSpace {
        CodeSpace::new(isa, space.index() as u8)
    }
}

/// A block that ends with a waypoint: what an atom says was executed, in an eighth of a cache line. What it shares
/// with many others is in its [`BlockClass`], and what comes after it in its [`Successors`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedBlock {
    /// Address of the first instruction, bits \[31:0].
    low: u32,
    /// [`CachedBlock::CALL`] and its like, bits \[4:0]; index of the family, bits \[15:5].
    class: u16,
    /// Length in bytes, bits \[8:0]; how many instructions, bits \[15:9].
    counts: u16,
}

/// The block after one where its waypoint did not take effect, and where it did. Only a block that must come next
/// is here; [`BlockId::NONE`] where it is not known yet, and after an indirect branch.
pub type Successors = [BlockId; 2];

/// What blocks have in common that lie near each other and end alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(32))]
pub struct BlockClass {
    /// The waypoint where it did not take effect, and where it did.
    pub last: [Last; 2],
    /// Address of the first instruction, bits \[63:32].
    high: u64,
    /// What selects the blocks beside their addresses.
    pub code_space: CodeSpace,
    /// The instruction set that the waypoint leads to.
    pub target_isa: Isa,
}

/// How many families there can be.
pub const BLOCK_CLASSES: usize = 1 << (u16::BITS - KINDS);

/// How many bits of a hop's counts are its length, and the largest of it.
const LENGTH: u32 = 9;
const BYTES: u32 = (1 << LENGTH) - 1;

/// How many bits of a hop's family say what its waypoint is.
const KINDS: u32 = 5;

const _: () = assert!(
    size_of::<CachedBlock>() == 8 && size_of::<Successors>() == 8 && size_of::<BlockClass>() == 32
);

impl CachedBlock {
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
        self.class & kinds != 0
    }

    /// The block as a hop of `class`, below [`BLOCK_CLASSES`]. `None` where it is too long.
    pub fn new(block: &Block, class: usize) -> Option<CachedBlock> {
        if class >= BLOCK_CLASSES
            || block.bytes > BYTES
            || block.instructions > u32::from(u16::MAX) >> LENGTH
        {
            return None;
        }
        let counts = (block.bytes | block.instructions << LENGTH) as u16;
        let is = |kind, yes| if yes { kind } else { 0 };
        let kinds = is(CachedBlock::CALL, block.last.role == Role::Call)
            | is(CachedBlock::EXCEPTION_RETURN, block.last.role == Role::ExceptionReturn)
            | is(CachedBlock::INDIRECT, block.last.kind == Kind::Indirect);
        let (low, class) = (block.start as u32, (class as u16) << KINDS | kinds);
        Some(CachedBlock { low, class, counts })
    }

    /// The same, as a [loop](CachedBlock::LOOP) or not.
    #[must_use]
    pub const fn looping(self, yes: bool) -> CachedBlock {
        let class = self.class & !CachedBlock::LOOP | if yes { CachedBlock::LOOP } else { 0 };
        CachedBlock { class, ..self }
    }

    /// Index of its family.
    #[inline]
    pub const fn class(&self) -> usize {
        (self.class >> KINDS) as usize
    }

    #[inline]
    const fn bytes(&self) -> u32 {
        (self.counts as u64 & BYTES as u64) as u32
    }

    /// Address of the first instruction.
    #[inline]
    pub const fn start(&self, class: &BlockClass) -> u64 {
        class.high | self.low as u64
    }

    /// The whole block as a range, where its waypoint was `taken` or not.
    #[inline]
    pub const fn range(&self, class: &BlockClass, taken: bool) -> Range {
        Range {
            start: self.start(class),
            bytes: self.bytes(),
            instructions: (self.counts as u64 >> LENGTH) as u32,
            cycles: Counted::UNKNOWN,
            last: class.last[taken as usize],
        }
    }

    /// The address after it, in its instruction set.
    #[inline]
    pub const fn end(&self, class: &BlockClass) -> u64 {
        self.start(class).wrapping_add(self.bytes() as u64) & class.isa().address_mask()
    }
}

impl BlockClass {
    /// There is no block of it.
    pub const NONE: BlockClass = {
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
        BlockClass { last: [last; 2], high: 0, code_space: CodeSpace::NONE, target_isa: Isa::A32 }
    };

    /// The family of `block`.
    pub fn of(block: &Block, code_space: CodeSpace) -> BlockClass {
        let last = [false, true].map(|taken| Last::new(&block.last, taken));
        let high = block.start & !u64::from(u32::MAX);
        BlockClass { last, high, code_space, target_isa: block.last.target_isa }
    }

    /// Their instruction set.
    #[inline]
    pub const fn isa(&self) -> Isa {
        self.last[0].isa
    }
}

/// The blocks that a [`Code`](crate::Code) keeps, for one who goes through many: see [`BlockId`].
///
/// What they are and where they lead lie apart. The next block depends on the ways of this one, and the ways of that one
/// on nothing else: the less memory they fill, the shorter is the wait. What the blocks are comes beside it.
#[derive(Clone, Copy, Debug)]
pub struct CachedBlocks<'a> {
    blocks: &'a [CachedBlock],
    /// As many.
    successors: &'a [Successors],
    classes: &'a [BlockClass; BLOCK_CLASSES],
}

impl<'a> CachedBlocks<'a> {
    /// These hops, of these families, and the ways of each.
    #[inline]
    pub fn new(
        blocks: &'a [CachedBlock],
        successors: &'a [Successors],
        classes: &'a [BlockClass; BLOCK_CLASSES],
    ) -> Self {
        let len = blocks.len().min(successors.len());
        CachedBlocks {
            blocks: blocks.get(..len).unwrap_or_default(),
            successors: successors.get(..len).unwrap_or_default(),
            classes,
        }
    }

    /// No blocks.
    pub const fn none() -> CachedBlocks<'static> {
        const NONE: &[BlockClass; BLOCK_CLASSES] = &[BlockClass::NONE; BLOCK_CLASSES];
        CachedBlocks { blocks: &[], successors: &[], classes: NONE }
    }

    /// A block and its family.
    #[inline]
    pub fn get(&self, id: BlockId) -> Option<(&'a CachedBlock, &'a BlockClass)> {
        let cached = self.blocks.get(id.index())?;
        Some((cached, self.classes.get(cached.class())?))
    }

    /// The block after `id`, where its waypoint was `taken` or not: see [`Successors`].
    #[inline]
    pub fn next(&self, id: BlockId, taken: bool) -> BlockId {
        self.successors
            .get(id.index())
            .map_or(BlockId::NONE, |successors| successors[usize::from(taken)])
    }

    /// A block, what comes after it, and its family.
    #[inline]
    pub fn step(&self, id: BlockId) -> Option<(&'a CachedBlock, &'a Successors, &'a BlockClass)> {
        let (cached, class) = self.get(id)?;
        Some((cached, self.successors.get(id.index())?, class))
    }

    /// The same. (A function that is given it and begins with this looks at one length, not two.)
    #[inline]
    #[must_use]
    pub fn even(self) -> Self {
        CachedBlocks::new(self.blocks, self.successors, self.classes)
    }

    /// All hops, each at the index of its mark.
    #[inline]
    pub const fn all(&self) -> &'a [CachedBlock] {
        self.blocks
    }

    /// The ways of all, each at the index of its mark.
    #[inline]
    pub const fn successors(&self) -> &'a [Successors] {
        self.successors
    }
}
