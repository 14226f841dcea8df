//! The block cache: program memory for a decoder.

use std::sync::Arc;

use tracewright_base::{
    Block, BlockCache, BlockId, CachedBlocks, Code, CodeSpace, Context, Element, End, Instruction,
    Isa, Kind, MAX_EXPANSION, Miss, Pc, Reserve, Role, Space, Waypoints,
};
use tracewright_isa::rv::{Extensions, Upper};
use tracewright_scan::prefetch;

use crate::absent::Absent;
use crate::address_spaces::Viewpoint;
use crate::conditions::Selection;
use crate::image::{Image, View};
use crate::instruction_cache::InstructionCache;
use crate::memory_id::MemoryId;
use crate::memory_selectors::MemorySelectors;
use crate::opcode_check::OpcodeCheck;
use crate::pieces::Pieces;
use crate::table::{Table, hash};
use crate::walk::{Memory, Rules};

/// Blocks of an [`Image`], each decoded once. Sources that execute the same image share a cache in
/// each worker thread.
///
/// A block that ends with a waypoint is cached with its successors: see [`BlockCache`]. Results
/// depend on the image and the address only, never on earlier calls, except for the [`Selection`]
/// that earlier contexts and elements made.
#[derive(Clone, Debug)]
pub struct Cache {
    image: Arc<Image>,
    /// The memory of other contexts, where it differs.
    viewpoint: Option<Viewpoint>,
    /// What selects the memory of [`image`](Self::image), and its number in [`CodeSpace`]s.
    selection: Selection,
    number: u32,
    /// Where memory depends on more than the context: elements that may select other memory.
    selectors: Option<Box<MemorySelectors>>,
    /// With `selectors`, for a decoder whose blocks are single instructions: address and length in
    /// bytes of the last one.
    executed: Option<(u64, u32)>,
    /// The images so far. The number of an image is its index, plus `first`.
    known: Vec<(MemoryId, Arc<Image>)>,
    first: u32,
    /// The numbers of blocks stay valid.
    held: bool,
    rules: Rules,
    table: Table,
    /// The number of blocks above which the cache explores: see [`CacheOptions::explored`].
    explored: usize,
    /// The code that was divided into blocks as a whole. `None` in small programs.
    pieces: Option<Box<Pieces>>,
    max_expansion: u32,
    /// That of the source that is decoded.
    reserve: Reserve,
    /// The result of the last [`Code::block`].
    result: Block,
    /// Blocks that do not end with a waypoint, or are too long for the table, each at
    /// [`stub_index`]. Empty until the first one; a new one replaces another when there are
    /// [`MAX_STUBS`].
    stubs: Vec<Stub>,
    /// Addresses without a block.
    absent: Absent,
    /// Single instructions.
    instruction_cache: InstructionCache,
}

/// How a [`Cache`] works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheOptions {
    /// Which undefined opcodes end a block.
    pub check_opcodes: OpcodeCheck,
    /// The maximum number of cached blocks, at least 1. Each takes 36 to 48 bytes, and two to three
    /// times as much while the cache grows.
    pub blocks: usize,
    /// If the cache holds more blocks than this, it explores: with a block that is made, the blocks
    /// near it are made, before a decoder asks for them; in A64 code those of 1 KiB at once. In
    /// large programs most blocks are executed only a few times, and each first request waits for
    /// memory. In smaller programs the blocks that are never executed displace others in the
    /// processor's caches. Exploration stops for good when the cache is full.
    pub explored: usize,
    /// The RISC-V extensions, which determine the meaning of opcodes.
    pub riscv: Extensions,
    /// The maximum number of instructions that a decoder follows for each byte of a packet: see
    /// [`Code::max_expansion`].
    pub max_expansion: u32,
}

impl Default for CacheOptions {
    fn default() -> Self {
        CacheOptions {
            check_opcodes: OpcodeCheck::default(),
            blocks: 1 << 21,
            explored: 1 << 15,
            riscv: Extensions::default(),
            max_expansion: MAX_EXPANSION,
        }
    }
}

/// A block that is not in the table.
#[derive(Clone, Copy, Debug)]
struct Stub {
    code_space: CodeSpace,
    block: Block,
}

impl Stub {
    fn is_at(&self, address: u64, code_space: CodeSpace) -> bool {
        self.block.start == address && self.code_space == code_space
    }
}

/// The first capacity of the stubs, a power of two.
const MIN_STUBS: usize = 1 << 10;

/// The maximum capacity of the stubs, a power of two. Straight code of about 16 MiB is cached.
const MAX_STUBS: usize = 1 << 13;

/// The maximum number of images that are used alternately, and of all their regions. Beyond it the
/// cache is emptied: address spaces that change often would fill memory.
const MAX_MEMORIES: usize = 1 << 10;
const MAX_REGIONS: usize = 1 << 18;

/// The greatest number of an image. Where numbers of blocks stay valid, images get other ones, as
/// long as that is not too often: a context takes three bytes of trace at least.
const MAX_NUMBER: u32 = (1 << 20) - 1;

/// The maximum number of consecutive blocks that are explored at once.
const MAX_EXPLORED: usize = 32;

impl Cache {
    /// An empty cache for a source whose blocks end at `waypoints`.
    pub fn new(image: Arc<Image>, waypoints: Waypoints, options: CacheOptions) -> Cache {
        Cache {
            image,
            viewpoint: None,
            selection: Selection::default(),
            number: 0,
            selectors: None,
            executed: None,
            known: Vec::new(),
            first: 0,
            held: false,
            rules: Rules { waypoints, check_opcodes: options.check_opcodes, riscv: options.riscv },
            table: Table::new(options.blocks),
            explored: options.explored,
            pieces: None,
            max_expansion: options.max_expansion,
            reserve: Reserve::new(options.max_expansion, 1),
            result: Block::default(),
            stubs: Vec::new(),
            absent: Absent::default(),
            instruction_cache: InstructionCache::default(),
        }
    }

    /// An empty cache for a source whose program memory depends on its context.
    pub fn of_viewpoint(
        viewpoint: Viewpoint,
        waypoints: Waypoints,
        options: CacheOptions,
    ) -> Cache {
        let start = viewpoint.begin();
        let image = viewpoint.spaces.image(start.memory);
        let mut cache = Cache::new(Arc::clone(&image), waypoints, options);
        let selectors = viewpoint.is_watched();
        let selectors =
            selectors.then(|| Box::new(MemorySelectors::new(viewpoint.clone(), waypoints.each)));
        (cache.viewpoint, cache.selectors) = (Some(viewpoint), selectors);
        cache.selection = start;
        cache.known.push((start.memory, image));
        cache
    }

    /// Uses the memory of `viewpoint` from its beginning on, which is that of another buffer.
    /// Returns whether it is of the same address spaces; otherwise nothing changes.
    pub fn move_to(&mut self, viewpoint: &Viewpoint) -> bool {
        let same = |own: &Viewpoint| Arc::ptr_eq(&own.spaces, &viewpoint.spaces);
        let watched = self.selectors.is_some() || viewpoint.is_watched();
        if !self.viewpoint.as_ref().is_some_and(same) || watched {
            return false;
        }
        let begin = viewpoint.begin();
        self.viewpoint = Some(viewpoint.clone());
        self.select(begin);
        true
    }

    /// Whether there is one memory, which nothing selects.
    #[inline]
    pub fn has_one_memory(&self) -> bool {
        self.viewpoint.is_none()
    }

    /// Whether this cache has the blocks of `other`: both are of the same image, which nothing
    /// selects, and their blocks end at the same instructions.
    pub fn serves(&self, other: &Cache) -> bool {
        let one_memory = self.has_one_memory() && other.has_one_memory();
        let same = (self.rules, self.max_expansion) == (other.rules, other.max_expansion);
        one_memory && same && Arc::ptr_eq(&self.image, &other.image)
    }

    /// What selects the memory that is in use.
    #[inline]
    pub fn selection(&mut self) -> Selection {
        if self.selectors.is_some() {
            self.settle();
        }
        self.selection
    }

    /// Uses the memory of `selection` from here on. Blocks of other memory stay in the cache.
    #[inline]
    pub fn select(&mut self, selection: Selection) {
        if selection != self.selection {
            self.executed = None;
            self.selection = selection;
            self.switch(selection.memory);
        }
    }

    /// Uses `memory` from here on, whatever selects it.
    pub fn select_memory(&mut self, memory: MemoryId) {
        self.select(Selection { memory, ..self.selection });
    }

    /// Follows what `element` selects. Returns whether it is other memory.
    pub fn follow(&mut self, element: &Element) -> bool {
        let Some(viewpoint) = &self.viewpoint else { return false };
        let mut selection = self.selection;
        let other = viewpoint.follow(&mut selection, element);
        self.select(selection);
        other
    }

    /// Where memory depends on more than the context: takes the elements that may select other
    /// memory. What [`Code::enter_context`] receives is not among them.
    pub fn memory_selectors(&self) -> Option<MemorySelectors> {
        self.selectors.as_ref().map(|selectors| selectors.sender())
    }

    /// Follows what the last instruction and the elements since then select.
    #[cold]
    fn settle(&mut self) {
        let mut selection = self.selection;
        if let (Some((start, bytes)), Some(viewpoint)) = (self.executed.take(), &self.viewpoint) {
            viewpoint.executed(&mut selection, start, bytes);
        }
        self.select(selection);
        let elements =
            self.selectors.as_ref().map(|selectors| selectors.take()).unwrap_or_default();
        for element in elements.iter().filter(|element| !matches!(element, Element::Context(_))) {
            self.follow(element);
        }
    }

    #[cold]
    fn switch(&mut self, memory: MemoryId) {
        let current = self.known.get(self.number.wrapping_sub(self.first) as usize);
        if current.is_some_and(|(id, _)| *id == memory) {
            return;
        }
        let Some(viewpoint) = &self.viewpoint else { return };
        let known = self.known.iter().position(|(id, _)| *id == memory);
        let Some(index) = known else {
            let image = viewpoint.spaces.image(memory);
            return self.add_memory(memory, image);
        };
        let Some((_, image)) = self.known.get(index) else { return };
        self.image = Arc::clone(image);
        self.number = self.first + index as u32;
    }

    /// Uses another memory.
    fn add_memory(&mut self, memory: MemoryId, image: Arc<Image>) {
        let regions: usize = self.known.iter().map(|(_, image)| image.regions().len()).sum();
        if self.known.len() >= MAX_MEMORIES || regions > MAX_REGIONS {
            // Blocks whose numbers stay valid are not found again.
            self.first += self.known.len() as u32;
            self.known.clear();
            if !self.held {
                self.first = 0;
                self.table.clear();
                self.forget_others();
            }
        }
        self.number = self.first + self.known.len() as u32;
        self.image = Arc::clone(&image);
        self.known.push((memory, image));
    }

    /// Removes all blocks and all other memories.
    #[cold]
    fn forget(&mut self) {
        self.table.clear();
        self.forget_others();
        let current = self.known.get(self.number.wrapping_sub(self.first) as usize).cloned();
        self.known.clear();
        self.known.extend(current);
        (self.first, self.number) = (0, 0);
    }

    /// Removes what is known of memory beside the blocks of the table.
    fn forget_others(&mut self) {
        self.pieces = None;
        for stub in &mut self.stubs {
            stub.code_space = CodeSpace::NONE;
        }
        self.absent.clear();
        self.instruction_cache.clear();
    }

    /// Stores paths through the blocks from here on, about `for_each` for each block, in 128 KiB to
    /// 2 MiB of memory.
    #[inline]
    pub fn use_paths(&mut self, for_each: usize) {
        self.table.use_paths(for_each);
    }

    /// Whether every [`BlockId`] stays valid from here on, for a decoder whose steps are read
    /// later: the cache does not sort its blocks then, nor make room for others. It does so when it
    /// is called with `false`.
    #[inline]
    pub fn hold_numbers(&mut self, hold: bool) {
        self.held = hold;
        let cleared = self.table.hold(hold);
        if cleared || !hold && self.first > MAX_NUMBER / 2 {
            self.forget();
        }
    }

    /// An empty cache has room for this many blocks from its first block on: it is not sorted until
    /// it holds more. For a trace of which only a part is decoded.
    pub fn reserve(&mut self, blocks: usize) {
        self.table.reserve(blocks);
    }

    /// The program memory.
    pub fn image(&self) -> &Arc<Image> {
        &self.image
    }

    /// Replaces the program memory. All blocks of another image are removed.
    pub fn set_image(&mut self, image: Arc<Image>) {
        if Arc::ptr_eq(&self.image, &image) {
            return;
        }
        self.image = image;
        self.clear();
    }

    /// Removes all blocks, and what is known of absent memory.
    pub fn clear(&mut self) {
        self.table.clear();
        self.forget_others();
    }

    /// The RISC-V extensions.
    pub fn riscv(&self) -> &Extensions {
        &self.rules.riscv
    }

    /// The instruction that the RISC-V `opcode` is at `pc`. Memory at `pc` is not read; `upper` is
    /// the effect of the instruction before it. A compressed opcode is in bits \[15:0].
    pub fn classify(&self, pc: Pc, opcode: u32, upper: Upper) -> Instruction {
        let (view, _, address) = self.locate(pc);
        self.memory(view, pc.isa).classify(opcode, address, upper)
    }

    /// Reads the memory from `pc` on into `out`, and returns how many bytes are known.
    pub fn read(&self, pc: Pc, out: &mut [u8]) -> usize {
        let (view, _, address) = self.locate(pc);
        self.image.read(view, address, pc.isa.address_mask(), out)
    }

    /// The number of cached blocks.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether no block is cached.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory view and the code space of `pc`, and its address within the mask.
    #[inline]
    fn locate(&self, pc: Pc) -> (View, CodeSpace, u64) {
        let view = self.image.view(pc.space);
        (view, self.code_space_in(pc.isa, view), pc.address & pc.isa.address_mask())
    }

    /// What selects blocks of `isa` in `view` of the current memory.
    #[inline]
    fn code_space_in(&self, isa: Isa, view: View) -> CodeSpace {
        CodeSpace::new(isa, view.number()).in_memory(self.number)
    }

    fn memory(&self, view: View, isa: Isa) -> Memory<'_> {
        Memory { image: &self.image, view, isa, riscv: &self.rules.riscv }
    }

    /// Makes the block at `pc`, which is not cached. The second value is `true` if every earlier
    /// [`BlockId`] is invalid.
    fn make(&mut self, pc: Pc) -> (BlockId, bool) {
        let (view, code_space, address) = self.locate(pc);
        let stub = self.stubs.get(self.stub_index(address));
        if stub.is_some_and(|stub| stub.is_at(address, code_space)) {
            return (BlockId::NONE, false);
        }
        let memory = self.memory(view, pc.isa);
        match aligned(address, pc.isa).and_then(|()| memory.block(address, &self.rules)) {
            Ok(block) => {
                if block.end == End::Waypoint
                    && let Some(inserted) = self.table.insert(&block, code_space)
                {
                    return inserted;
                }
                self.insert_stub(Stub { code_space, block });
            }
            Err(miss) => self.absent.insert(address, pc.isa, code_space, miss),
        }
        (BlockId::NONE, false)
    }

    /// Makes the block at `pc`, which is not cached, and explores in large programs. See
    /// [`make`](Self::make).
    #[cold]
    fn make_and_explore(&mut self, pc: Pc) -> (BlockId, bool) {
        let mut divided = false;
        if self.rules.skips_plain(pc.isa, &*self.image)
            && self.table.len() >= self.explored
            && !self.table.overflowed()
        {
            let id;
            (id, divided) = self.divide(pc);
            if id != BlockId::NONE {
                return (id, divided);
            }
        }
        let (id, renumbered) = self.make(pc);
        let large = self.table.len() > self.explored && !self.table.overflowed();
        if large && id != BlockId::NONE && !self.rules.skips_plain(pc.isa, &*self.image) {
            self.explore(pc, id);
        }
        (id, renumbered || divided)
    }

    /// Makes blocks before a decoder asks for them: the blocks after `first`, which was inserted
    /// last, up to one that does not end with a conditional branch or a call, and the targets of
    /// branches among these blocks. It only uses free capacity, so
    /// every [`BlockId`] stays valid. An unconditional branch gets no not-taken successor.
    fn explore(&mut self, pc: Pc, first: BlockId) {
        let (view, code_space, _) = self.locate(pc);
        let mut newest = first;
        for _ in 0..MAX_EXPLORED {
            let Some(block) = self.table.block(newest) else { return };
            let Instruction { kind, role, conditional, target, .. } = block.last;
            if !matches!(kind, Kind::Branch | Kind::Indirect) || !conditional && role != Role::Call
            {
                break;
            }
            let next = block.next();
            self.table.prefetch_lookup(next, code_space);
            self.table.prefetch_lookup(target.unwrap_or(next), code_space);
            // The block is decoded while its slot of the table is prefetched.
            let block = self.memory(view, pc.isa).block(next, &self.rules);
            let cached = self.table.find(next, code_space);
            let id = match block {
                _ if cached != BlockId::NONE => cached,
                Ok(block) => self.add(&block, code_space),
                Err(_) => BlockId::NONE,
            };
            if conditional {
                self.table.chain(newest, false, id);
            }
            if id == BlockId::NONE || id == cached {
                break;
            }
            newest = id;
        }
        let start = |id| self.table.block(id).map(|block| block.start);
        let Some((low, high)) = start(first).zip(start(newest)) else { return };
        let mut index = first.index();
        while let Some(block) = self.table.block(BlockId::new(index)) {
            let Instruction { kind, role, target, target_isa, .. } = block.last;
            if let (Kind::Branch, Some(target)) = (kind, target) {
                let target = target & target_isa.address_mask();
                let code_space = self.code_space_in(target_isa, view);
                let mut to = self.table.find(target, code_space);
                // The target is inside one of the new blocks.
                if to == BlockId::NONE
                    && role != Role::Call
                    && target_isa == pc.isa
                    && (low..high).contains(&target)
                    && let Ok(block) = self.memory(view, pc.isa).block(target, &self.rules)
                {
                    to = self.add(&block, code_space);
                    if block.last.conditional {
                        let after = self.table.find(block.next(), code_space);
                        self.table.chain(to, false, after);
                    }
                }
                self.table.chain(BlockId::new(index), true, to);
            }
            index += 1;
        }
    }

    /// Makes all blocks of the [piece](Pieces) with `pc`, if there is room for them and it was not
    /// done before: a piece is decoded at once, with the slots of its blocks prefetched together.
    /// The value is the block at `pc`, if it was made, and whether every earlier [`BlockId`] is
    /// invalid.
    fn divide(&mut self, pc: Pc) -> (BlockId, bool) {
        let (view, code_space, address) = self.locate(pc);
        let memory = Memory { image: &*self.image, view, isa: pc.isa, riscv: &self.rules.riscv };
        let (pieces, table) = (self.pieces.get_or_insert_default(), &mut self.table);
        if aligned(address, pc.isa).is_ok()
            && pieces.divide(address, code_space, memory, &self.rules, table)
            && let Some(renumbered) = table.make_room(pieces.len())
        {
            pieces.insert(table, code_space);
            return (table.find(address, code_space), renumbered);
        }
        (BlockId::NONE, false)
    }

    /// Inserts a block that is not cached, if there is capacity and it ends with a waypoint.
    fn add(&mut self, block: &Block, code_space: CodeSpace) -> BlockId {
        match block.end {
            End::Waypoint => self.table.add(block, code_space).unwrap_or(BlockId::NONE),
            _ => BlockId::NONE,
        }
    }

    #[cold]
    fn insert_stub(&mut self, stub: Stub) {
        let free = Stub { code_space: CodeSpace::NONE, ..stub };
        if self.stubs.is_empty() {
            self.stubs = vec![free; MIN_STUBS];
        }
        let index = self.stub_index(stub.block.start);
        let taken = self.stubs.get(index).is_some_and(|old| old.code_space != CodeSpace::NONE);
        if taken && self.stubs.len() < MAX_STUBS {
            let more = vec![free; self.stubs.len() * 2];
            for old in core::mem::replace(&mut self.stubs, more) {
                if old.code_space != CodeSpace::NONE {
                    self.put_stub(old);
                }
            }
        }
        self.put_stub(stub);
    }

    fn put_stub(&mut self, stub: Stub) {
        let index = self.stub_index(stub.block.start);
        if let Some(slot) = self.stubs.get_mut(index) {
            *slot = stub;
        }
    }

    /// The index of a block in the stubs.
    #[inline]
    fn stub_index(&self, address: u64) -> usize {
        (address >> 1 ^ address >> 11 ^ address >> 21) as usize & self.stubs.len().wrapping_sub(1)
    }

    /// The stub or the miss at an address for which [`make`](Self::make) cached no block.
    fn stub(&self, address: u64, isa: Isa, code_space: CodeSpace) -> Result<&Block, Miss> {
        match self.stubs.get(self.stub_index(address)) {
            Some(stub) if stub.is_at(address, code_space) => Ok(&stub.block),
            _ => Err(self.absent.find(address, isa, code_space).unwrap_or(Miss { address })),
        }
    }

    /// The instruction at `pc`, which may select other memory.
    #[cold]
    fn watched_instruction(&mut self, pc: Pc) -> Result<Instruction, Miss> {
        self.settle();
        let (view, _, address) = self.locate(pc);
        let found = self.step(view, pc.isa, address)?;
        if self.rules.waypoints.each {
            self.executed = Some((address, found.size.into()));
        }
        Ok(found)
    }

    /// Decodes an instruction that is not stored.
    #[cold]
    fn step(&mut self, view: View, isa: Isa, address: u64) -> Result<Instruction, Miss> {
        let code_space = self.code_space_in(isa, view);
        if let Some(miss) = self.absent.find(address, isa, code_space) {
            return Err(miss);
        }
        aligned(address, isa)?;
        let instruction = self.memory(view, isa).instruction(address, self.rules.check_opcodes)?;
        self.instruction_cache.insert(address, code_space, instruction);
        Ok(instruction)
    }
}

/// A miss if `address` is not aligned for an instruction of `isa`.
pub(crate) fn aligned(address: u64, isa: Isa) -> Result<(), Miss> {
    if address.is_multiple_of(isa.alignment()) { Ok(()) } else { Err(Miss { address }) }
}

impl Code for Cache {
    #[inline]
    fn block(&mut self, pc: Pc) -> Result<&Block, Miss> {
        if self.selectors.is_some() {
            self.settle();
        }
        let (_, code_space, address) = self.locate(pc);
        let mut id = self.table.find(address, code_space);
        if id == BlockId::NONE {
            if let Some(miss) = self.absent.find(address, pc.isa, code_space) {
                return Err(miss);
            }
            (id, _) = self.make_and_explore(pc);
        }
        match self.table.block(id) {
            Some(block) => {
                self.result = block;
                Ok(&self.result)
            }
            None => self.stub(address, pc.isa, code_space),
        }
    }

    #[inline]
    fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss> {
        if self.selectors.is_some() {
            return self.watched_instruction(pc);
        }
        let (view, code_space, address) = self.locate(pc);
        match self.instruction_cache.find(address, code_space) {
            Some(instruction) => Ok(*instruction),
            None => self.step(view, pc.isa, address),
        }
    }

    fn opcode(&mut self, pc: Pc) -> Option<u32> {
        let (view, _, address) = self.locate(pc);
        self.memory(view, pc.isa).opcode(address)
    }

    #[inline]
    fn absent(&self, pc: Pc) -> Option<Miss> {
        let (_, code_space, address) = self.locate(pc);
        self.absent.find(address, pc.isa, code_space)
    }

    #[inline]
    fn checks_opcodes(&self) -> bool {
        self.rules.check_opcodes == OpcodeCheck::Undefined
    }

    fn enter_context(&mut self, context: &Context) {
        if self.selectors.is_some() {
            self.settle();
        }
        self.follow(&Element::Context(*context));
    }

    #[inline]
    fn max_expansion(&self) -> u32 {
        self.max_expansion
    }

    #[inline]
    fn work_reserve(&self) -> Reserve {
        self.reserve
    }

    #[inline]
    fn set_work_reserve(&mut self, reserve: Reserve) {
        self.reserve = reserve;
    }
}

impl BlockCache for Cache {
    #[inline]
    fn blocks(&self) -> CachedBlocks<'_> {
        // The memory may change after each block: a decoder has to ask for each.
        if self.selectors.is_some() {
            return CachedBlocks::none();
        }
        self.table.blocks()
    }

    #[inline]
    fn code_space(&self, isa: Isa, space: Space) -> CodeSpace {
        if self.selectors.is_some() {
            return CodeSpace::NONE;
        }
        self.code_space_in(isa, self.image.view(space))
    }

    #[inline]
    fn cached_block(&self, id: BlockId) -> Option<Block> {
        self.table.block(id)
    }

    #[inline]
    fn find(&self, address: u64, code_space: CodeSpace) -> BlockId {
        self.table.find_target(address, code_space)
    }

    #[inline]
    fn prefetch_lookup(&self, address: u64, code_space: CodeSpace) {
        self.table.target_cache().prefetch_lookup(hash(address, code_space));
    }

    #[inline]
    fn predict(&self, address: u64, code_space: CodeSpace) -> BlockId {
        self.table.target_cache().get(hash(address, code_space))
    }

    fn enter(&mut self, pc: Pc, from: Option<(BlockId, bool)>) -> BlockId {
        if self.selectors.is_some() {
            return BlockId::NONE;
        }
        let (view, code_space, address) = self.locate(pc);
        if self.absent.find(address, pc.isa, code_space).is_some() {
            return BlockId::NONE;
        }
        // Most blocks that are entered are made: their code is loaded while the table is searched.
        self.table.prefetch_lookup(address, code_space);
        prefetch(self.image.run(view, address), 0);
        let (id, renumbered) = match self.table.find(address, code_space) {
            BlockId::NONE => self.make_and_explore(pc),
            id => (id, false),
        };
        if let Some((from, taken)) = from
            && !renumbered
        {
            self.table.chain(from, taken, id);
        }
        id
    }
}
