//! Cached blocks: what the fast paths of decoders use instead of [`Code::block`].

use crate::code::{Block, Code, NoMemory, Pc, Uncached};
use crate::context::Space;
use crate::instruction::{Instruction, Kind, Role};
use crate::isa::Isa;
use crate::numbering::Numbering;
use crate::path::Paths;
use crate::range::{Counted, Last, Range};

/// A [`Code`] that caches blocks. The fast paths of decoders follow the successors of cached blocks
/// without a look-up. Without a cache, each block is decoded on its own: every method here has a
/// default that caches nothing.
pub trait BlockCache: Code {
    /// All cached blocks.
    #[inline]
    fn blocks(&self) -> CachedBlocks<'_> {
        CachedBlocks::none()
    }

    /// What selects blocks of `isa` in `space`.
    #[inline]
    fn code_space(&self, isa: Isa, space: Space) -> CodeSpace {
        let _ = (isa, space);
        CodeSpace::NONE
    }

    /// The cached block that starts at `address`, which is within the mask of the instruction set.
    #[inline]
    fn find(&self, address: u64, code_space: CodeSpace) -> BlockId {
        let _ = (address, code_space);
        BlockId::NONE
    }

    /// Prefetches the memory that [`find`](BlockCache::find) reads first.
    #[inline]
    fn prefetch_lookup(&self, address: u64, code_space: CodeSpace) {
        let _ = (address, code_space);
    }

    /// The block that [`find`](BlockCache::find) examines first. Its address is not checked.
    #[inline]
    fn predict(&self, address: u64, code_space: CodeSpace) -> BlockId {
        let _ = (address, code_space);
        BlockId::NONE
    }

    /// A cached block in full.
    #[inline]
    fn cached_block(&self, id: BlockId) -> Option<Block> {
        let _ = id;
        None
    }

    /// Caches the block that starts at `pc`. [`BlockId::NONE`] if it does not end with a waypoint
    /// or cannot be cached.
    ///
    /// `from` is a block after which only this one can be executed, and whether its waypoint takes
    /// effect then: this block is recorded among its [`Successors`].
    fn enter(&mut self, pc: Pc, from: Option<(BlockId, bool)>) -> BlockId {
        let _ = (pc, from);
        BlockId::NONE
    }
}

impl BlockCache for NoMemory {}

impl<C: Code> BlockCache for Uncached<C> {}

impl<C: BlockCache + ?Sized> BlockCache for &mut C {
    #[inline]
    fn blocks(&self) -> CachedBlocks<'_> {
        (**self).blocks()
    }

    #[inline]
    fn code_space(&self, isa: Isa, space: Space) -> CodeSpace {
        (**self).code_space(isa, space)
    }

    #[inline]
    fn find(&self, address: u64, code_space: CodeSpace) -> BlockId {
        (**self).find(address, code_space)
    }

    #[inline]
    fn prefetch_lookup(&self, address: u64, code_space: CodeSpace) {
        (**self).prefetch_lookup(address, code_space);
    }

    #[inline]
    fn predict(&self, address: u64, code_space: CodeSpace) -> BlockId {
        (**self).predict(address, code_space)
    }

    #[inline]
    fn cached_block(&self, id: BlockId) -> Option<Block> {
        (**self).cached_block(id)
    }

    #[inline]
    fn enter(&mut self, pc: Pc, from: Option<(BlockId, bool)>) -> BlockId {
        (**self).enter(pc, from)
    }
}

/// The index of a block in [`BlockCache::blocks`].
///
/// It is valid until [`Code::block`] or [`BlockCache::enter`] is called, which may add a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockId(u32);

impl BlockId {
    /// No block.
    pub const NONE: BlockId = BlockId(u32::MAX);

    /// The block at `index`; [`NONE`](BlockId::NONE) if `index` is too large.
    #[inline]
    pub const fn new(index: usize) -> BlockId {
        if index < BEHIND_CALL as usize { BlockId(index as u32) } else { BlockId::NONE }
    }

    /// Its index. The indices of [`NONE`](BlockId::NONE) and of [`behind_call`](BlockId::behind_call)
    /// are greater than that of any block.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The block at the return address of a call without a condition, as the not-taken successor of
    /// the call. Execution gets there by a return only: it is no block that can be executed next.
    #[inline]
    pub const fn behind_call(self) -> BlockId {
        BlockId(self.0 | BEHIND_CALL)
    }

    /// Whether it can be the index of a block: not of [`NONE`](BlockId::NONE) and of
    /// [`behind_call`](BlockId::behind_call).
    #[inline]
    pub const fn can_be_next(self) -> bool {
        self.0 & BEHIND_CALL == 0
    }

    /// The value whose [`index`](BlockId::index) is `word`.
    #[inline]
    pub(crate) const fn from_word(word: u32) -> BlockId {
        BlockId(word)
    }

    /// The block of [`behind_call`](BlockId::behind_call); any other value as it is.
    #[inline]
    pub const fn after_return(self) -> BlockId {
        BlockId(if self.0 == u32::MAX { self.0 } else { self.0 & !BEHIND_CALL })
    }

    /// The block with the number that `new_id` returns, in the same form.
    pub fn renumbered(self, new_id: impl Fn(BlockId) -> BlockId) -> BlockId {
        let id = new_id(self.after_return());
        if self.0 & BEHIND_CALL == 0 { id } else { id.behind_call() }
    }
}

/// The bit of a [`BlockId`] that marks the not-taken successor of a call without a condition. It is
/// above the bits of an index.
const BEHIND_CALL: u32 = 1 << 31;

/// What selects a block in addition to its address: the instruction set and the memory view. Spaces
/// with the same memory have the same code space. Bits \[3:0] instruction set, \[11:4] memory view,
/// \[31:12] number of the image in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodeSpace(pub u32);

impl CodeSpace {
    /// The code space without blocks.
    pub const NONE: CodeSpace = CodeSpace(u32::MAX);

    /// The code space of `isa` in the memory view with the number `view`.
    #[inline]
    pub const fn new(isa: Isa, view: u8) -> CodeSpace {
        CodeSpace(isa as u32 | (view as u32) << 4)
    }

    /// The same code in memory number `memory`, where there are several images.
    #[inline]
    #[must_use]
    pub const fn in_memory(self, memory: u32) -> CodeSpace {
        CodeSpace(self.0 & 0xfff | memory << 12)
    }
}

/// A block that ends with a waypoint, in 8 bytes. What it has in common with
/// other blocks is in its [`BlockClass`], and the blocks after it are in its [`Successors`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedBlock {
    /// Address of the first instruction, bits \[31:0].
    low: u32,
    /// [`CachedBlock::CALL`] and the other kinds, bits \[4:0]; index of the class, bits \[15:5].
    class: u16,
    /// Length in bytes, bits \[8:0]; number of instructions, bits \[15:9].
    counts: u16,
}

/// The next block if the waypoint of a block does not take effect, and if it does. The first of a
/// call without a condition is [`BlockId::behind_call`], of any other branch without a condition
/// [`BlockId::NONE`]. [`BlockId::NONE`] also if more than one block can be next, as after an indirect branch, or if the
/// next block is not known yet.
pub type Successors = [BlockId; 2];

/// The next block if the waypoint of a block does not take effect, and if it does, in the form in
/// which the loop over atoms needs it: the [`index`](crate::BlockStep::index) of a step whose
/// waypoint does not take effect, bits \[27:0], or [`Links::NONE`], and bits for what needs more
/// work. With any of these it is greater than any index of a step.
pub struct Links;

impl Links {
    /// No block: greater than any index of a step.
    pub const NONE: u32 = (1 << 28) - 2;
    /// A call took effect.
    pub const CALL: u32 = 1 << 28;
    /// A return from an exception took effect.
    pub const EXCEPTION_RETURN: u32 = 1 << 29;
    /// An indirect branch took effect.
    pub const INDIRECT: u32 = 1 << 30;
    /// The block at the return address of a call without a condition, to which only a return leads.
    pub const BEHIND_CALL: u32 = 1 << 31;

    /// Those of a block.
    #[inline]
    pub const fn of(cached: &CachedBlock, successors: &Successors) -> [u32; 2] {
        let mut kinds = 0;
        if cached.is_any_of(CachedBlock::CALL) {
            kinds |= Links::CALL;
        }
        if cached.is_any_of(CachedBlock::EXCEPTION_RETURN) {
            kinds |= Links::EXCEPTION_RETURN;
        }
        if cached.is_any_of(CachedBlock::INDIRECT) {
            kinds |= Links::INDIRECT;
        }
        let [not, yes] = *successors;
        let not = match not.can_be_next() {
            true => Links::to(not),
            false => Links::to(not.after_return()) | Links::BEHIND_CALL,
        };
        [not, Links::to(yes) | kinds]
    }

    /// The link to `id`.
    #[inline]
    pub const fn to(id: BlockId) -> u32 {
        if id.can_be_next() && id.index() < (Links::NONE >> 1) as usize {
            (id.index() as u32) << 1
        } else {
            Links::NONE
        }
    }

    /// The block to which `link` leads.
    #[inline]
    pub const fn id(link: u32) -> BlockId {
        match link & Links::NONE {
            Links::NONE => BlockId::NONE,
            index => BlockId(index >> 1),
        }
    }
}

/// What many blocks have in common: code space, bits \[63:32] of the address, and the kind of the
/// waypoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(32))]
pub struct BlockClass {
    /// The waypoint if it does not take effect, and if it does.
    pub last: [Last; 2],
    /// Address of the first instruction, bits \[63:32].
    high: u64,
    /// What selects the blocks in addition to their addresses.
    pub code_space: CodeSpace,
    /// The instruction set at the target of the waypoint.
    pub target_isa: Isa,
}

/// The number of classes.
pub const BLOCK_CLASSES: usize = 1 << (u16::BITS - KINDS);

/// The width of the length in [`CachedBlock`]'s counts, in bits, and the maximum length, in bytes.
const LENGTH: u32 = 9;
const BYTES: u32 = (1 << LENGTH) - 1;

/// The width of the waypoint's kinds in [`CachedBlock`]'s class, in bits.
const KINDS: u32 = 5;

const _: () = assert!(
    size_of::<CachedBlock>() == 8 && size_of::<Successors>() == 8 && size_of::<BlockClass>() == 32
);

impl CachedBlock {
    /// Its waypoint is a branch with link.
    pub const CALL: u16 = 1;
    /// Its waypoint returns from an exception.
    pub const EXCEPTION_RETURN: u16 = 1 << 1;
    /// Its waypoint is an indirect branch.
    pub const INDIRECT: u16 = 1 << 2;
    /// It is its own taken successor: a loop of one block.
    pub const LOOP: u16 = 1 << 3;
    /// Its waypoint is a call, an indirect branch, or a return from an exception.
    pub const TRANSFER: u16 =
        CachedBlock::CALL | CachedBlock::EXCEPTION_RETURN | CachedBlock::INDIRECT;
    /// Its waypoint is a branch without a condition.
    pub const UNCONDITIONAL: u16 = 1 << 4;

    /// No block of a table.
    pub(crate) const NONE: CachedBlock = CachedBlock { low: 0, class: 0, counts: 0 };

    /// Whether it has one of `kinds`, a combination of the constants above.
    #[inline]
    pub const fn is_any_of(&self, kinds: u16) -> bool {
        self.class & kinds != 0
    }

    /// `block` in the class with the index `class`, below [`BLOCK_CLASSES`]. `None` if the block
    /// has no bytes or too many.
    pub fn new(block: &Block, class: usize) -> Option<CachedBlock> {
        if class >= BLOCK_CLASSES {
            return None;
        }
        let kind_if = |kind, yes| if yes { kind } else { 0 };
        let kinds = kind_if(CachedBlock::CALL, block.last.role == Role::Call)
            | kind_if(CachedBlock::EXCEPTION_RETURN, block.last.role == Role::ExceptionReturn)
            | kind_if(CachedBlock::INDIRECT, block.last.kind == Kind::Indirect)
            | kind_if(CachedBlock::UNCONDITIONAL, block.last.is_unconditional());
        let cached = CachedBlock { class: (class as u16) << KINDS | kinds, ..CachedBlock::NONE };
        cached.with_extent(block.start, block.bytes, block.instructions)
    }

    /// A block at `start` that ends with the same instruction, with the same bits \[63:32\] of the
    /// address. `None` if it has no bytes or too many.
    #[inline]
    #[must_use]
    pub const fn with_extent(
        self,
        start: u64,
        bytes: u32,
        instructions: u32,
    ) -> Option<CachedBlock> {
        if bytes == 0 || bytes > BYTES || instructions > CachedBlock::MAX_INSTRUCTIONS {
            return None;
        }
        let counts = (bytes | instructions << LENGTH) as u16;
        let class = self.class & !CachedBlock::LOOP;
        Some(CachedBlock { low: start as u32, class, counts })
    }

    /// The same block with or without [`LOOP`](CachedBlock::LOOP).
    #[must_use]
    pub const fn with_loop(self, yes: bool) -> CachedBlock {
        let class = self.class & !CachedBlock::LOOP | if yes { CachedBlock::LOOP } else { 0 };
        CachedBlock { class, ..self }
    }

    /// Index of its class.
    #[inline]
    pub const fn class(&self) -> usize {
        (self.class >> KINDS) as usize
    }

    /// The most instructions of a block.
    pub const MAX_INSTRUCTIONS: u32 = u16::MAX as u32 >> LENGTH;

    /// Number of instructions.
    #[inline]
    pub const fn instructions(&self) -> u32 {
        (self.counts as u64 >> LENGTH) as u32
    }

    /// Length and number of instructions in one number, which may be summed.
    #[inline]
    pub const fn counts(&self) -> u16 {
        self.counts
    }

    /// The number of instructions of several blocks, from the sums of their counts and lengths.
    #[inline]
    pub const fn instructions_of(counts: u64, bytes: u64) -> u64 {
        counts.wrapping_sub(bytes) >> LENGTH
    }

    /// Length in bytes.
    #[inline]
    pub const fn bytes(&self) -> u32 {
        (self.counts as u64 & BYTES as u64) as u32
    }

    /// Address of the first instruction.
    #[inline]
    pub const fn start(&self, class: &BlockClass) -> u64 {
        class.high | self.low as u64
    }

    /// Whether all of its bytes are from address `first` to address `last`, which is included.
    #[inline]
    pub const fn is_within(&self, class: &BlockClass, (first, last): (u64, u64)) -> bool {
        let start = self.start(class);
        // A block that wraps to address 0 is not.
        first <= start && start.saturating_add(self.bytes() as u64 - 1) <= last
    }

    /// The whole block as a range whose waypoint is `taken` or not.
    #[inline]
    pub const fn range(&self, class: &BlockClass, taken: bool) -> Range {
        Range {
            start: self.start(class),
            bytes: self.bytes(),
            instructions: self.instructions(),
            cycles: Counted::UNKNOWN,
            last: class.last[taken as usize],
        }
    }

    /// The address after it, within the mask of its instruction set.
    #[inline]
    pub const fn end(&self, class: &BlockClass) -> u64 {
        self.start(class).wrapping_add(self.bytes() as u64) & class.isa().address_mask()
    }
}

impl BlockClass {
    /// The class without blocks.
    pub const NONE: BlockClass = {
        let plain = Instruction {
            kind: Kind::Plain,
            role: Role::Jump,
            size: 0,
            conditional: false,
            isa: Isa::A32,
            target_isa: Isa::A32,
            target: None,
        };
        let last = Last::new(&plain, false);
        BlockClass { last: [last; 2], high: 0, code_space: CodeSpace::NONE, target_isa: Isa::A32 }
    };

    /// The class of `block`.
    pub fn of(block: &Block, code_space: CodeSpace) -> BlockClass {
        let last = [false, true].map(|taken| Last::new(&block.last, taken));
        let high = block.start & !u64::from(u32::MAX);
        BlockClass { last, high, code_space, target_isa: block.last.target_isa }
    }

    /// The instruction set of its blocks.
    #[inline]
    pub const fn isa(&self) -> Isa {
        self.last[0].isa
    }
}

/// The blocks of a [`BlockCache`].
///
/// Blocks and successors are in separate slices. To find the next block depends on a load of the
/// successors only, so the latency of that load limits the decoder; a smaller slice has fewer cache
/// misses.
#[derive(Clone, Copy, Debug)]
pub struct CachedBlocks<'a> {
    blocks: &'a [CachedBlock],
    /// As many as `blocks`.
    successors: &'a [Successors],
    /// As many, or none.
    links: &'a [[u32; 2]],
    classes: &'a [BlockClass; BLOCK_CLASSES],
    paths: &'a Paths,
    numbering: Option<&'a Numbering>,
}

impl<'a> CachedBlocks<'a> {
    /// `blocks`, the successors of each, and the classes of all.
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
            links: &[],
            paths: &[],
            numbering: None,
        }
    }

    /// The same with the [links](Links) of all blocks.
    #[inline]
    #[must_use]
    pub const fn with_links(self, links: &'a [[u32; 2]]) -> Self {
        CachedBlocks { links, ..self }
    }

    /// The [links](Links) of all blocks, by the index of a step.
    #[inline]
    pub const fn links(&self) -> &'a [u32] {
        self.links.as_flattened()
    }

    /// The same with a table of paths through them.
    #[inline]
    #[must_use]
    pub const fn with_paths(self, paths: &'a Paths) -> Self {
        CachedBlocks { paths, ..self }
    }

    /// The same in a table with this numbering.
    #[inline]
    #[must_use]
    pub const fn with_numbering(self, numbering: &'a Numbering) -> Self {
        CachedBlocks { numbering: Some(numbering), ..self }
    }

    /// No blocks.
    pub const fn none() -> CachedBlocks<'static> {
        const NONE: &[BlockClass; BLOCK_CLASSES] = &[BlockClass::NONE; BLOCK_CLASSES];
        CachedBlocks {
            blocks: &[],
            successors: &[],
            links: &[],
            classes: NONE,
            paths: &[],
            numbering: None,
        }
    }

    /// A block and its class.
    #[inline]
    pub fn get(&self, id: BlockId) -> Option<(&'a CachedBlock, &'a BlockClass)> {
        let cached = self.blocks.get(id.index())?;
        Some((cached, self.classes.get(cached.class())?))
    }

    /// The block after `id`, whose waypoint is `taken` or not: see [`Successors`].
    #[inline]
    pub fn next(&self, id: BlockId, taken: bool) -> BlockId {
        self.successors
            .get(id.index())
            .map_or(BlockId::NONE, |successors| successors[usize::from(taken)])
    }

    /// The block at the return address of the call `id`; [`BlockId::NONE`] if it is not known.
    #[inline]
    pub fn after_return(&self, id: BlockId) -> BlockId {
        match self.successors.get(id.index()) {
            Some(&[behind, _]) => behind.after_return(),
            None => BlockId::NONE,
        }
    }

    /// A block, its successors, and its class.
    #[inline]
    pub fn step(&self, id: BlockId) -> Option<(&'a CachedBlock, &'a Successors, &'a BlockClass)> {
        let (cached, class) = self.get(id)?;
        Some((cached, self.successors.get(id.index())?, class))
    }

    /// All blocks, each at the index of its [`BlockId`].
    #[inline]
    pub const fn all(&self) -> &'a [CachedBlock] {
        self.blocks
    }

    /// The successors of all blocks, each at the index of its [`BlockId`].
    #[inline]
    pub const fn successors(&self) -> &'a [Successors] {
        self.successors
    }

    /// The table of paths.
    #[inline]
    pub const fn paths(&self) -> &'a Paths {
        self.paths
    }

    /// How the blocks are numbered, where they are those of a table.
    #[inline]
    pub const fn numbering(&self) -> Option<&'a Numbering> {
        self.numbering
    }

    /// The classes of all blocks.
    #[inline]
    pub const fn classes(&self) -> &'a [BlockClass; BLOCK_CLASSES] {
        self.classes
    }
}
