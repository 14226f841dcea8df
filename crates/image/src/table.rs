//! A bounded hash table of blocks, each with the blocks that must come after it.

use tracewright_base::{Block, End, FAMILIES, Family, Hop, Hops, Instruction, Mark, Realm, Ways};
use tracewright_scan::{huge, prefetch};

use crate::landings::Landings;

/// Blocks by address and realm. It grows to a bound and then begins anew, so that what it holds is
/// never older than that many blocks.
///
/// What each atom looks at and what it does not are kept apart: the first is twice an eighth of a cache line.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    hops: Vec<Hop>,
    /// Of each hop.
    ways: Vec<Ways>,
    /// All that there can be, once there is one: `known` of them are in use.
    families: Vec<Family>,
    known: usize,
    /// What else there is to know of them.
    targets: Vec<Target>,
    /// Open addressing by [`Table::home`]: an index of `hops`, or [`FREE`]. A power of two, at most half
    /// full. (Fewer would collide less, and miss the processor's caches more.)
    places: Vec<u32>,
    /// Blocks that were looked up for themselves. There are few of them, so these places are nearer.
    landings: Landings,
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
            hops: Vec::new(),
            ways: Vec::new(),
            families: Vec::new(),
            known: 0,
            targets: Vec::new(),
            places: Vec::new(),
            landings: Landings::default(),
            limit,
            overflowed: false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.hops.len()
    }

    /// Whether it ever held as many blocks as it may.
    pub(crate) fn overflowed(&self) -> bool {
        self.overflowed
    }

    pub(crate) fn clear(&mut self) {
        self.hops.clear();
        self.ways.clear();
        self.known = 0;
        self.targets.clear();
        self.places.fill(FREE);
        self.landings.clear();
    }

    #[inline]
    pub(crate) fn hops(&self) -> Hops<'_> {
        match self.families.first_chunk() {
            Some(families) => Hops::new(&self.hops, &self.ways, families),
            None => Hops::none(),
        }
    }

    #[inline]
    pub(crate) fn block(&self, mark: Mark) -> Option<Block> {
        let (hop, family) = self.hops().get(mark)?;
        let to = self.targets.get(mark.index())?;
        let range = hop.range(family, false);
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
                target_isa: family.target_isa,
                target: to.get(),
            },
            end: End::Waypoint,
        })
    }

    /// Says that block `to` must come after block `from`, where its waypoint was `taken` or not.
    pub(crate) fn chain(&mut self, from: Mark, taken: bool, to: Mark) {
        if let Some([not, yes]) = self.ways.get_mut(from.index()) {
            *(if taken { yes } else { not }) = to;
        }
        if taken && let Some(hop) = self.hops.get_mut(from.index()) {
            *hop = hop.looping(to == from);
        }
    }

    /// The block, where it is kept.
    #[inline]
    pub(crate) fn find(&self, address: u64, realm: Realm) -> Mark {
        let hops = self.hops();
        let mut place = self.home(address, realm);
        loop {
            // There is always a free place, and a place is never out of bounds.
            let Some(&index) = self.places.get(place) else { return Mark::NONE };
            let mark = Mark::new(index as usize);
            let Some((hop, family)) = hops.get(mark) else { return Mark::NONE };
            if hop.start(family) == address && family.realm == realm {
                return mark;
            }
            place = self.after(place);
        }
    }

    /// Asks for the place that [`find`](Self::find) begins with.
    #[inline]
    pub(crate) fn foresee(&self, address: u64, realm: Realm) {
        prefetch(&self.places, self.home(address, realm));
    }

    /// The block, where it is kept, as one that is looked up for itself: an indirect branch leads there.
    #[inline]
    pub(crate) fn land(&self, address: u64, realm: Realm) -> Mark {
        let hash = hash(address, realm);
        let kept = self.landings.get(hash);
        if let Some(hop) = self.hops.get(kept.index())
            && let Some(family) = self.families.get(hop.family())
            && hop.start(family) == address
            && family.realm == realm
        {
            return kept;
        }
        self.search(address, realm, hash)
    }

    #[inline(never)]
    fn search(&self, address: u64, realm: Realm, hash: u64) -> Mark {
        let mark = self.find(address, realm);
        // What is not kept takes no other's place.
        if mark != Mark::NONE {
            self.landings.put(hash, mark);
        }
        mark
    }

    /// Where indirect branches led.
    #[inline]
    pub(crate) fn landings(&self) -> &Landings {
        &self.landings
    }

    /// Puts in a block that is not there. `None` where it is too long to be kept. Where the table grows
    /// or is full, the second is `true`: no mark means what it did.
    pub(crate) fn insert(&mut self, block: &Block, realm: Realm) -> Option<(Mark, bool)> {
        // Whether it is too long does not depend on the family.
        Hop::new(block, 0)?;
        if let Some(mark) = self.add(block, realm) {
            return Some((mark, false));
        }
        if self.hops.len() == self.limit || self.hops.len() < self.hops.capacity() {
            self.clear();
            self.overflowed = true;
        }
        if self.hops.len() == self.hops.capacity() {
            self.grow();
        }
        Some((self.add(block, realm)?, true))
    }

    /// Puts in a block that is not there, where there is room for it and for its family: all marks mean
    /// what they did.
    pub(crate) fn add(&mut self, block: &Block, realm: Realm) -> Option<Mark> {
        let index = self.hops.len();
        if index == self.hops.capacity().min(self.limit) {
            return None;
        }
        let family = Family::of(block, realm);
        let kept = self.families.get(..self.known)?;
        let number = kept.iter().rposition(|&kept| kept == family).unwrap_or(self.known);
        let hop = Hop::new(block, number)?;
        if number == self.known {
            self.families.resize(FAMILIES, Family::NONE);
            *self.families.get_mut(number)? = family;
            self.known += 1;
        }
        self.put(block.start, realm, index as u32);
        self.hops.push(hop);
        self.ways.push([Mark::NONE; 2]);
        self.targets.push(Target::new(block.last.target));
        Some(Mark::new(index))
    }

    /// Makes room, and puts all blocks in the order of their addresses: what runs together then lies
    /// together, whichever of it ran first.
    fn grow(&mut self) {
        let len = self.hops.len();
        let more = if len < MANY { len / 2 } else { len };
        let room = len + more.max(FIRST).min(self.limit - len);
        let hops = self.hops();
        let mut order: Vec<(u32, u64, u32)> = (0..len)
            .filter_map(|index| {
                let (hop, family) = hops.get(Mark::new(index))?;
                Some((family.realm.0, hop.start(family), index as u32))
            })
            .collect();
        order.sort();
        let mut moved = vec![Mark::NONE; len];
        for (index, &(.., was)) in order.iter().enumerate() {
            if let Some(mark) = moved.get_mut(was as usize) {
                *mark = Mark::new(index);
            }
        }
        let to = |mark: Mark| moved.get(mark.index()).copied().unwrap_or(Mark::NONE);
        self.hops = in_order(&self.hops, &order, room, |hop| hop);
        self.ways = in_order(&self.ways, &order, room, |ways| ways.map(to));
        self.targets = in_order(&self.targets, &order, room, |target| target);
        let places = (room * SPARSE).next_power_of_two();
        self.places.clear();
        self.places.reserve_exact(places);
        huge(&self.places);
        self.places.resize(places, FREE);
        for (index, &(realm, start, _)) in order.iter().enumerate() {
            self.put(start, Realm(realm), index as u32);
        }
        self.landings.change(to);
        self.landings.make_room(room);
    }

    fn put(&mut self, address: u64, realm: Realm, index: u32) {
        let mut at = self.home(address, realm);
        while self.places.get(at).is_some_and(|&taken| taken != FREE) {
            at = self.after(at);
        }
        if let Some(place) = self.places.get_mut(at) {
            *place = index;
        }
    }

    /// The place where a block is if no other was there first.
    #[inline]
    fn home(&self, address: u64, realm: Realm) -> usize {
        (u128::from(hash(address, realm)) * self.places.len() as u128 >> 64) as usize
    }

    /// The place to look at after `place`.
    #[inline]
    fn after(&self, place: usize) -> usize {
        (place + 1) & (self.places.len() - 1)
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
pub(crate) fn hash(address: u64, realm: Realm) -> u64 {
    (address ^ u64::from(realm.0) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
