//! A bounded hash table of blocks, each with the blocks that must come after it.

use tracewright_base::{
    BLOCK_CLASSES, Block, BlockClass, BlockId, CachedBlock, CachedBlocks, CodeSpace, End,
    Instruction, Successors,
};
use tracewright_scan::{huge, prefetch};

use crate::target_cache::TargetCache;

/// Blocks by address and realm. It grows to a bound and then begins anew, so that what it holds is
/// never older than that many blocks.
///
/// What each atom looks at and what it does not are kept apart: the first is twice an eighth of a cache line.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    blocks: Vec<CachedBlock>,
    /// Of each hop.
    successors: Vec<Successors>,
    /// All that there can be, once there is one: `known` of them are in use.
    classes: Vec<BlockClass>,
    known: usize,
    /// What else there is to know of them.
    targets: Vec<Target>,
    /// Open addressing by [`Table::home`]: an index of `blocks`, or [`FREE`]. A power of two, at most half
    /// full. (Fewer would collide less, and miss the processor's caches more.)
    slots: Vec<u32>,
    /// Blocks that were looked up for themselves. There are few of them, so these places are nearer.
    target_cache: TargetCache,
    limit: usize,
    /// It was full, and began anew.
    overflowed: bool,
}

/// Where the waypoint of a block leads; an odd number where that is not known.
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

/// How many blocks there is room for at first.
const FIRST: usize = 64;

/// From so many blocks on it grows to twice its size: to put them in order takes longer than memory that is
/// not used yet is worth.
const MANY: usize = 1 << 15;

/// No block is at this place.
const FREE: u32 = u32::MAX;

/// How many places there are for each block, at least.
const SPARSE: usize = 2;

impl Table {
    /// An empty table for `limit` blocks, at least 1. It takes no memory yet.
    pub(crate) fn new(limit: usize) -> Table {
        let limit = limit.clamp(1, FREE as usize / (2 * SPARSE));
        Table {
            blocks: Vec::new(),
            successors: Vec::new(),
            classes: Vec::new(),
            known: 0,
            targets: Vec::new(),
            slots: Vec::new(),
            target_cache: TargetCache::default(),
            limit,
            overflowed: false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether it ever held as many blocks as it may.
    pub(crate) fn overflowed(&self) -> bool {
        self.overflowed
    }

    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
        self.successors.clear();
        self.known = 0;
        self.targets.clear();
        self.slots.fill(FREE);
        self.target_cache.clear();
    }

    #[inline]
    pub(crate) fn blocks(&self) -> CachedBlocks<'_> {
        match self.classes.first_chunk() {
            Some(classes) => CachedBlocks::new(&self.blocks, &self.successors, classes),
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

    /// Says that block `to` must come after block `from`, where its waypoint was `taken` or not.
    pub(crate) fn chain(&mut self, from: BlockId, taken: bool, to: BlockId) {
        if let Some([not, yes]) = self.successors.get_mut(from.index()) {
            *(if taken { yes } else { not }) = to;
        }
        if taken && let Some(cached) = self.blocks.get_mut(from.index()) {
            *cached = cached.with_loop(to == from);
        }
    }

    /// The block, where it is kept.
    #[inline]
    pub(crate) fn find(&self, address: u64, code_space: CodeSpace) -> BlockId {
        let blocks = self.blocks();
        let mut slot = self.home(address, code_space);
        loop {
            // There is always a free place, and a place is never out of bounds.
            let Some(&index) = self.slots.get(slot) else { return BlockId::NONE };
            let id = BlockId::new(index as usize);
            let Some((cached, class)) = blocks.get(id) else { return BlockId::NONE };
            if cached.start(class) == address && class.code_space == code_space {
                return id;
            }
            slot = self.after(slot);
        }
    }

    /// Asks for the place that [`find`](Self::find) begins with.
    #[inline]
    pub(crate) fn prefetch_lookup(&self, address: u64, code_space: CodeSpace) {
        prefetch(&self.slots, self.home(address, code_space));
    }

    /// The block, where it is kept, as one that is looked up for itself: an indirect branch leads there.
    #[inline]
    pub(crate) fn land(&self, address: u64, code_space: CodeSpace) -> BlockId {
        let hash = hash(address, code_space);
        let kept = self.target_cache.get(hash);
        if let Some(cached) = self.blocks.get(kept.index())
            && let Some(class) = self.classes.get(cached.class())
            && cached.start(class) == address
            && class.code_space == code_space
        {
            return kept;
        }
        self.search(address, code_space, hash)
    }

    #[inline(never)]
    fn search(&self, address: u64, code_space: CodeSpace, hash: u64) -> BlockId {
        let id = self.find(address, code_space);
        // What is not kept takes no other's place.
        if id != BlockId::NONE {
            self.target_cache.put(hash, id);
        }
        id
    }

    /// Where indirect branches led.
    #[inline]
    pub(crate) fn target_cache(&self) -> &TargetCache {
        &self.target_cache
    }

    /// Puts in a block that is not there. `None` where it is too long to be kept. Where the table grows
    /// or is full, the second is `true`: no mark means what it did.
    pub(crate) fn insert(
        &mut self,
        block: &Block,
        code_space: CodeSpace,
    ) -> Option<(BlockId, bool)> {
        // Whether it is too long does not depend on the family.
        CachedBlock::new(block, 0)?;
        if let Some(id) = self.add(block, code_space) {
            return Some((id, false));
        }
        if self.blocks.len() == self.limit || self.blocks.len() < self.blocks.capacity() {
            self.clear();
            self.overflowed = true;
        }
        if self.blocks.len() == self.blocks.capacity() {
            self.grow();
        }
        Some((self.add(block, code_space)?, true))
    }

    /// Puts in a block that is not there, where there is room for it and for its family: all marks mean
    /// what they did.
    pub(crate) fn add(&mut self, block: &Block, code_space: CodeSpace) -> Option<BlockId> {
        let index = self.blocks.len();
        if index == self.blocks.capacity().min(self.limit) {
            return None;
        }
        let class = BlockClass::of(block, code_space);
        let kept = self.classes.get(..self.known)?;
        let number = kept.iter().rposition(|&kept| kept == class).unwrap_or(self.known);
        let cached = CachedBlock::new(block, number)?;
        if number == self.known {
            self.classes.resize(BLOCK_CLASSES, BlockClass::NONE);
            *self.classes.get_mut(number)? = class;
            self.known += 1;
        }
        self.put(block.start, code_space, index as u32);
        self.blocks.push(cached);
        self.successors.push([BlockId::NONE; 2]);
        self.targets.push(Target::new(block.last.target));
        Some(BlockId::new(index))
    }

    /// Makes room, and puts all blocks in the order of their addresses: what runs together then lies
    /// together, whichever of it ran first.
    fn grow(&mut self) {
        let len = self.blocks.len();
        let more = if len < MANY { len / 2 } else { len };
        let room = len + more.max(FIRST).min(self.limit - len);
        let blocks = self.blocks();
        let mut order: Vec<(u32, u64, u32)> = (0..len)
            .filter_map(|index| {
                let (cached, class) = blocks.get(BlockId::new(index))?;
                Some((class.code_space.0, cached.start(class), index as u32))
            })
            .collect();
        order.sort();
        let mut moved = vec![BlockId::NONE; len];
        for (index, &(.., was)) in order.iter().enumerate() {
            if let Some(id) = moved.get_mut(was as usize) {
                *id = BlockId::new(index);
            }
        }
        let to = |id: BlockId| moved.get(id.index()).copied().unwrap_or(BlockId::NONE);
        self.blocks = in_order(&self.blocks, &order, room, |cached| cached);
        self.successors = in_order(&self.successors, &order, room, |successors| successors.map(to));
        self.targets = in_order(&self.targets, &order, room, |target| target);
        let slots = (room * SPARSE).next_power_of_two();
        self.slots.clear();
        self.slots.reserve_exact(slots);
        huge(&self.slots);
        self.slots.resize(slots, FREE);
        for (index, &(code_space, start, _)) in order.iter().enumerate() {
            self.put(start, CodeSpace(code_space), index as u32);
        }
        self.target_cache.change(to);
        self.target_cache.make_room(room);
    }

    fn put(&mut self, address: u64, code_space: CodeSpace, index: u32) {
        let mut at = self.home(address, code_space);
        while self.slots.get(at).is_some_and(|&taken| taken != FREE) {
            at = self.after(at);
        }
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = index;
        }
    }

    /// The place where a block is if no other was there first.
    #[inline]
    fn home(&self, address: u64, code_space: CodeSpace) -> usize {
        (u128::from(hash(address, code_space)) * self.slots.len() as u128 >> 64) as usize
    }

    /// The place to look at after `slot`.
    #[inline]
    fn after(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }
}

/// What is in `list`, in another `order`, with room for `room` in all.
fn in_order<T: Copy>(
    list: &[T],
    order: &[(u32, u64, u32)],
    room: usize,
    change: impl Fn(T) -> T,
) -> Vec<T> {
    let mut all = Vec::with_capacity(room);
    huge(&all);
    all.extend(order.iter().filter_map(|&(.., was)| list.get(was as usize).copied().map(&change)));
    all
}

/// The odd number nearest to 2^64 over the golden ratio spreads neighbours over all places.
#[inline]
pub(crate) fn hash(address: u64, code_space: CodeSpace) -> u64 {
    (address ^ u64::from(code_space.0) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
