//! A bounded hash table of blocks and their successors.

use tracewright_base::{
    BLOCK_CLASSES, Block, BlockClass, BlockId, CachedBlock, CachedBlocks, CodeSpace, End,
    Instruction, Links, Numbering, PathSlot, Successors, mix,
};
use tracewright_scan::{huge, prefetch};

use crate::target_cache::TargetCache;

/// Blocks by address and code space. The table grows up to a limit. When it is full, it is
/// cleared and filled again.
///
/// The data that a decoder reads for each atom are separate from the rest: 8 bytes of the block and
/// 8 bytes of its successors.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    blocks: Vec<CachedBlock>,
    /// Those of each block.
    successors: Vec<Successors>,
    /// The same as [`Links`].
    links: Vec<[u32; 2]>,
    /// Empty, or [`BLOCK_CLASSES`] of them.
    classes: Vec<BlockClass>,
    /// How many of `classes` are used.
    known: usize,
    /// The branch target of each block.
    targets: Vec<Target>,
    /// Open addressing by [`Table::place`]: [`FREE`], or an index of `blocks` in the low bits and a
    /// part of the hash in the others. Their number is a power of two and at most half are used.
    /// (More slots have fewer collisions but more misses in the processor's caches.)
    slots: Vec<u32>,
    /// How many blocks are in the order of their addresses: all as of the last sorting, and those
    /// that were inserted in order since.
    ordered: usize,
    /// The blocks that were found by address. They are few, so this cache is smaller than `slots`.
    target_cache: TargetCache,
    /// The maximum number of blocks.
    limit: usize,
    /// The capacity for the first blocks.
    first: usize,
    /// Paths through the blocks. Empty as long as there are no blocks.
    paths: Vec<PathSlot>,
    /// How many for each block.
    paths_for_each: usize,
    numbering: Numbering,
    /// The table was full and has been cleared, or is to be.
    overflowed: bool,
    /// The numbers of blocks stay valid.
    held: bool,
    /// Where they need not: the blocks are to be sorted, or removed because the table is full.
    wants_order: bool,
    full: bool,
}

/// The branch target of a block; an odd number if it is not known.
#[derive(Clone, Copy, Debug)]
struct Target(u64);

impl Target {
    const UNKNOWN: Target = Target(1);

    fn new(address: Option<u64>) -> Target {
        address.filter(|address| address.is_multiple_of(2)).map_or(Target::UNKNOWN, Target)
    }

    fn get(self) -> Option<u64> {
        self.0.is_multiple_of(2).then_some(self.0)
    }
}

/// The first capacity, in blocks.
const FIRST: usize = 64;

/// Up to this number, blocks stay in the order of their first execution: they are in the
/// second-level cache in any order, and to sort them costs more than it gives.
const MANY: usize = 1 << 15;

/// A slot without a block. Its low bits are greater than any index of a block.
const FREE: u32 = u32::MAX;

/// Of more blocks, the part that may be in another order than that of their addresses when the
/// table grows: fewer are not sorted.
const DISORDERED: usize = 16;

/// How many blocks ahead a slot is prefetched while all are filled.
const AHEAD: usize = 24;

/// The minimum and the maximum number of paths, powers of two.
const MIN_PATHS: usize = 1 << 12;
const MAX_PATHS: usize = 1 << 16;

/// The minimum number of slots for each block.
const SPARSE: usize = 2;

impl Table {
    /// An empty table for at most `limit` blocks, at least 1. It allocates nothing.
    pub(crate) fn new(limit: usize) -> Table {
        let limit = limit.clamp(1, FREE as usize / (2 * SPARSE));
        Table {
            blocks: Vec::new(),
            successors: Vec::new(),
            links: Vec::new(),
            classes: Vec::new(),
            known: 0,
            targets: Vec::new(),
            slots: Vec::new(),
            ordered: 0,
            target_cache: TargetCache::default(),
            limit,
            first: FIRST,
            paths: Vec::new(),
            paths_for_each: 0,
            numbering: Numbering::default(),
            overflowed: false,
            held: false,
            wants_order: false,
            full: false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// The capacity for the first blocks is `blocks`, at least [`FIRST`].
    pub(crate) fn reserve(&mut self, blocks: usize) {
        self.first = blocks.max(FIRST);
    }

    /// Whether the table was full at any time.
    pub(crate) fn overflowed(&self) -> bool {
        self.overflowed
    }

    pub(crate) fn clear(&mut self) {
        self.numbering.renew();
        self.blocks.clear();
        self.successors.clear();
        self.links.clear();
        self.known = 0;
        self.targets.clear();
        self.slots.fill(FREE);
        self.ordered = 0;
        self.target_cache.clear();
        self.paths.fill(PathSlot::new());
    }

    #[inline]
    pub(crate) fn blocks(&self) -> CachedBlocks<'_> {
        match self.classes.first_chunk() {
            Some(classes) => CachedBlocks::new(&self.blocks, &self.successors, classes)
                .with_links(&self.links)
                .with_paths(&self.paths)
                .with_numbering(&self.numbering),
            None => CachedBlocks::none(),
        }
    }

    #[inline]
    pub(crate) fn block(&self, id: BlockId) -> Option<Block> {
        let (cached, class) = self.blocks().get(id)?;
        let to = self.targets.get(id.index())?;
        let range = cached.range(class, false);
        let last = range.last;
        Some(Block {
            start: range.start,
            bytes: range.bytes,
            instructions: range.instructions,
            last: Instruction {
                kind: last.kind,
                role: last.role,
                size: last.size(),
                conditional: last.conditional(),
                isa: last.isa,
                target_isa: class.target_isa,
                target: to.get(),
            },
            end: End::Waypoint,
        })
    }

    /// Records `to` as the successor of `from`, whose waypoint is `taken` or not. The not-taken
    /// successor of a call is the block at its return address; any other branch without a condition
    /// has none.
    pub(crate) fn chain(&mut self, from: BlockId, taken: bool, mut to: BlockId) {
        let Some(cached) = self.blocks.get(from.index()) else { return };
        if !taken && cached.is_any_of(CachedBlock::UNCONDITIONAL) {
            if !cached.is_any_of(CachedBlock::CALL) {
                return;
            }
            to = to.behind_call();
        }
        if let Some([not, yes]) = self.successors.get_mut(from.index()) {
            *(if taken { yes } else { not }) = to;
        }
        if taken && let Some(cached) = self.blocks.get_mut(from.index()) {
            *cached = cached.with_loop(to == from);
        }
        if let Some(cached) = self.blocks.get(from.index())
            && let Some(successors) = self.successors.get(from.index())
            && let Some(links) = self.links.get_mut(from.index())
        {
            *links = Links::of(cached, successors);
        }
    }

    /// The block at `address`.
    #[inline]
    pub(crate) fn find(&self, address: u64, code_space: CodeSpace) -> BlockId {
        let blocks = self.blocks();
        let (mut slot, tag) = self.place(hash(address, code_space));
        let indexes = self.indexes();
        loop {
            // Only an empty table has no slot here. Any other has a free slot, which ends the loop.
            let Some(&taken) = self.slots.get(slot) else { return BlockId::NONE };
            if taken & !indexes == tag {
                let id = BlockId::new((taken & indexes) as usize);
                let Some((cached, class)) = blocks.get(id) else { return BlockId::NONE };
                if cached.start(class) == address && class.code_space == code_space {
                    return id;
                }
            } else if taken == FREE {
                return BlockId::NONE;
            }
            slot = self.after(slot);
        }
    }

    /// Prefetches the slot that [`find`](Self::find) reads first.
    #[inline]
    pub(crate) fn prefetch_lookup(&self, address: u64, code_space: CodeSpace) {
        prefetch(&self.slots, self.place(hash(address, code_space)).0);
    }

    /// The block at `address`, the target of an indirect branch: through the target cache.
    #[inline]
    pub(crate) fn find_target(&self, address: u64, code_space: CodeSpace) -> BlockId {
        let hash = hash(address, code_space);
        let id = self.target_cache.get(hash);
        if let Some(cached) = self.blocks.get(id.index())
            && let Some(class) = self.classes.get(cached.class())
            && cached.start(class) == address
            && class.code_space == code_space
        {
            return id;
        }
        self.search(address, code_space, hash)
    }

    #[inline(never)]
    fn search(&self, address: u64, code_space: CodeSpace, hash: u64) -> BlockId {
        let id = self.find(address, code_space);
        // A miss replaces no entry.
        if id != BlockId::NONE {
            self.target_cache.put(hash, id);
        }
        id
    }

    /// The targets of indirect branches.
    #[inline]
    pub(crate) fn target_cache(&self) -> &TargetCache {
        &self.target_cache
    }

    /// Inserts a block that is not in the table. `None` if it is too long. The second value is
    /// `true` if the table was sorted or cleared: then every earlier [`BlockId`] is invalid.
    pub(crate) fn insert(
        &mut self,
        block: &Block,
        code_space: CodeSpace,
    ) -> Option<(BlockId, bool)> {
        // Whether it is too long does not depend on the class.
        CachedBlock::new(block, 0)?;
        if let Some(id) = self.add(block, code_space) {
            return Some((id, false));
        }
        // With unused capacity, it is the classes that are full.
        let mut renumbered = false;
        if self.blocks.len() == self.limit || self.blocks.len() < self.blocks.capacity() {
            self.overflowed = true;
            if self.held {
                self.full = true;
                return None;
            }
            self.clear();
            renumbered = true;
        }
        if self.blocks.len() == self.blocks.capacity() {
            renumbered |= self.grow(1);
        }
        Some((self.add(block, code_space)?, renumbered))
    }

    /// Whether the numbers of blocks stay valid from here on: a full table takes no further block
    /// then, and blocks are not sorted. They are sorted when it is called with `false`.
    /// Returns whether all blocks are to be removed, because the table is full.
    #[inline]
    pub(crate) fn hold(&mut self, hold: bool) -> bool {
        self.held = hold;
        if !hold && self.wants_order {
            self.put_in_order();
        }
        !hold && core::mem::take(&mut self.full)
    }

    #[cold]
    fn put_in_order(&mut self) {
        self.wants_order = false;
        let capacity = self.blocks.capacity();
        self.sort(capacity);
        self.fill_slots(capacity);
        self.numbering.renew();
        self.make_paths(capacity);
    }

    /// Makes room for `count` more blocks, if the limit allows for them. The value is `true` if
    /// every earlier [`BlockId`] is invalid.
    pub(crate) fn make_room(&mut self, count: usize) -> Option<bool> {
        let room = self.limit - self.blocks.len();
        match self.blocks.capacity() - self.blocks.len() {
            _ if count > room => None,
            free if count > free => Some(self.grow(count)),
            _ => Some(false),
        }
    }

    /// The blocks from the one at `index` on were inserted in the order of their addresses.
    pub(crate) fn are_ordered(&mut self, index: usize) {
        self.ordered += self.blocks.len() - index;
    }

    /// Inserts a block that is not in the table, if there is capacity for it and for its class.
    /// Every [`BlockId`] stays valid.
    pub(crate) fn add(&mut self, block: &Block, code_space: CodeSpace) -> Option<BlockId> {
        let index = self.blocks.len();
        if index == self.blocks.capacity().min(self.limit) {
            return None;
        }
        let cached = self.cached(block, code_space)?;
        self.push(cached, hash(block.start, code_space), block.last.target);
        Some(BlockId::new(index))
    }

    /// The form of a block in the table, if there is capacity for its class.
    pub(crate) fn cached(&mut self, block: &Block, code_space: CodeSpace) -> Option<CachedBlock> {
        let class = BlockClass::of(block, code_space);
        let classes = self.classes.get(..self.known)?;
        let number = classes.iter().rposition(|&known| known == class).unwrap_or(self.known);
        let cached = CachedBlock::new(block, number)?;
        if number == self.known {
            self.classes.resize(BLOCK_CLASSES, BlockClass::NONE);
            *self.classes.get_mut(number)? = class;
            self.known += 1;
        }
        Some(cached)
    }

    /// The block at `address`, or else `cached` there, which is inserted. There is capacity for it.
    #[inline]
    pub(crate) fn find_or_push(
        &mut self,
        address: u64,
        code_space: CodeSpace,
        cached: CachedBlock,
        target: Option<u64>,
    ) -> BlockId {
        match self.find(address, code_space) {
            BlockId::NONE => {
                self.push(cached, hash(address, code_space), target);
                BlockId::new(self.blocks.len() - 1)
            }
            id => id,
        }
    }

    #[inline]
    fn push(&mut self, cached: CachedBlock, hash: u64, target: Option<u64>) {
        self.put(hash, self.blocks.len() as u32);
        self.blocks.push(cached);
        let successors = [BlockId::NONE; 2];
        self.successors.push(successors);
        self.links.push(Links::of(&cached, &successors));
        self.targets.push(Target::new(target));
    }

    /// Increases the capacity, by `room` at least if the limit allows for it. Returns whether the
    /// blocks were sorted.
    fn grow(&mut self, room: usize) -> bool {
        let len = self.blocks.len();
        let least = len + room.max(FIRST);
        let capacity = match len {
            0 => self.first.max(least),
            _ => (2 * len).max(least).next_power_of_two(),
        };
        let capacity = capacity.min(self.limit);
        let wants_order = len >= MANY && (len - self.ordered) > len / DISORDERED;
        let sorted = wants_order && !self.held;
        self.wants_order = wants_order && self.held;
        if sorted {
            self.sort(capacity);
        } else {
            with_capacity(&mut self.blocks, capacity);
            with_capacity(&mut self.successors, capacity);
            with_capacity(&mut self.links, capacity);
            with_capacity(&mut self.targets, capacity);
        }
        if sorted || self.slots.len() != slots_for(capacity) {
            self.fill_slots(capacity);
        }
        if sorted {
            self.numbering.renew();
        }
        if sorted || self.paths.len() != self.paths_for(capacity) {
            self.make_paths(capacity);
        }
        self.target_cache.reserve(capacity);
        sorted
    }

    /// Sorts the blocks by address: blocks that execute together are then in the same cache lines,
    /// in whatever order they were inserted.
    fn sort(&mut self, capacity: usize) {
        let len = self.blocks.len();
        let blocks = self.blocks();
        // Code space, address and index in one number, which sorts faster than three.
        let mut order: Vec<u128> = (0..len)
            .filter_map(|index| {
                let (cached, class) = blocks.get(BlockId::new(index))?;
                let place = u128::from(class.code_space.0) << 96 | index as u128;
                Some(place | u128::from(cached.start(class)) << 32)
            })
            .collect();
        // Those from before the table grew last are sorted.
        order.sort();
        let mut moved = vec![BlockId::NONE; len];
        for (index, &place) in order.iter().enumerate() {
            if let Some(id) = moved.get_mut(place as u32 as usize) {
                *id = BlockId::new(index);
            }
        }
        let to = |id: BlockId| moved.get(id.index()).copied().unwrap_or(BlockId::NONE);
        self.blocks = in_order(&self.blocks, &order, capacity, |cached| cached);
        self.successors = in_order(&self.successors, &order, capacity, |successors| {
            successors.map(|id| id.renumbered(to))
        });
        self.links = Vec::with_capacity(capacity);
        huge(&self.links);
        let all = self.blocks.iter().zip(&self.successors);
        self.links.extend(all.map(|(cached, successors)| Links::of(cached, successors)));
        self.targets = in_order(&self.targets, &order, capacity, |target| target);
        self.target_cache.renumber(to);
        self.ordered = len;
    }

    /// Makes the slots of all blocks, for `capacity` of them.
    fn fill_slots(&mut self, capacity: usize) {
        let slots = slots_for(capacity);
        // An allocation of its own has large pages, and the old slots are not copied.
        self.slots = Vec::new();
        self.slots.reserve_exact(slots);
        huge(&self.slots);
        self.slots.resize(slots, FREE);
        let hash_of = |table: &Table, index| {
            let (cached, class) = table.blocks().get(BlockId::new(index))?;
            Some(hash(cached.start(class), class.code_space))
        };
        for index in 0..self.blocks.len() {
            if let Some(ahead) = hash_of(self, index + AHEAD) {
                prefetch(&self.slots, self.place(ahead).0);
            }
            if let Some(hash) = hash_of(self, index) {
                self.put(hash, index as u32);
            }
        }
    }

    /// Stores paths from here on.
    pub(crate) fn use_paths(&mut self, for_each: usize) {
        if self.paths_for_each != for_each {
            self.paths_for_each = for_each;
            self.make_paths(self.blocks.capacity());
        }
    }

    /// Makes an empty table of paths for `capacity` blocks.
    fn make_paths(&mut self, capacity: usize) {
        self.paths.clear();
        self.paths.resize(self.paths_for(capacity), PathSlot::new());
    }

    /// The number of paths for `capacity` blocks.
    fn paths_for(&self, capacity: usize) -> usize {
        match capacity * self.paths_for_each {
            0 => 0,
            paths => paths.next_power_of_two().clamp(MIN_PATHS, MAX_PATHS),
        }
    }

    #[inline]
    fn put(&mut self, hash: u64, index: u32) {
        let (mut at, tag) = self.place(hash);
        while self.slots.get(at).is_some_and(|&taken| taken != FREE) {
            at = self.after(at);
        }
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = tag | index;
        }
    }

    /// The first slot in which a block with this hash may be, by the high bits of the hash, and
    /// the bits after them in the place where a slot has them.
    #[inline]
    fn place(&self, hash: u64) -> (usize, u32) {
        let product = u128::from(hash) * self.slots.len() as u128;
        ((product >> 64) as usize, (product >> 32) as u32 & !self.indexes())
    }

    /// The bits of a slot that have the index.
    #[inline]
    fn indexes(&self) -> u32 {
        (self.slots.len() as u32).wrapping_sub(1)
    }

    /// The slot after `slot`, where a collision continues.
    #[inline]
    fn after(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }
}

/// The number of slots for `capacity` blocks.
const fn slots_for(capacity: usize) -> usize {
    (capacity * SPARSE).next_power_of_two()
}

/// The items of `list` in `order`, with `capacity`.
fn in_order<T: Copy>(
    list: &[T],
    order: &[u128],
    capacity: usize,
    change: impl Fn(T) -> T,
) -> Vec<T> {
    let mut all = Vec::with_capacity(capacity);
    huge(&all);
    all.extend(
        order.iter().filter_map(|&place| list.get(place as u32 as usize).copied().map(&change)),
    );
    all
}

/// Gives `list` this capacity. A large allocation of its own has large pages; what is not as large
/// is not copied where the system can move it.
fn with_capacity<T: Copy>(list: &mut Vec<T>, capacity: usize) {
    if capacity <= MANY {
        return list.reserve_exact(capacity - list.len());
    }
    let mut all = Vec::with_capacity(capacity);
    huge(&all);
    all.extend_from_slice(list);
    *list = all;
}

/// The hash of an address, whose high bits are the slot.
#[inline]
pub(crate) fn hash(address: u64, code_space: CodeSpace) -> u64 {
    mix(address ^ u64::from(code_space.0) << 48)
}
