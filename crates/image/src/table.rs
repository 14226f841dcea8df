//! A bounded hash table of blocks, each with the blocks that must come after it.

use tracewright_base::{Block, Hop, Last, Mark, Realm};

/// Blocks by address and realm. It grows to a bound and then begins anew, so that what it holds is
/// never older than that many blocks.
///
/// What each atom looks at and what it does not are kept apart: the first is half a cache line.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    hops: Vec<Hop>,
    /// The same blocks, whole.
    blocks: Vec<Block>,
    /// Open addressing by [`Table::home`]: an index of `hops`, or [`FREE`]. A power of two, at most a
    /// quarter full: the first place that is looked at is mostly the right one.
    places: Vec<u32>,
    limit: usize,
}

/// How many blocks there is room for at first.
const FIRST: usize = 64;

/// No block is at this place.
const FREE: u32 = u32::MAX;

/// How many places there are for each block.
const SPARSE: usize = 4;

impl Table {
    /// An empty table for `limit` blocks, at least 1. It takes no memory yet.
    pub(crate) fn new(limit: usize) -> Table {
        let limit = limit.clamp(1, FREE as usize / (2 * SPARSE));
        Table { hops: Vec::new(), blocks: Vec::new(), places: Vec::new(), limit }
    }

    pub(crate) fn len(&self) -> usize {
        self.hops.len()
    }

    pub(crate) fn clear(&mut self) {
        self.hops.clear();
        self.blocks.clear();
        self.places.fill(FREE);
    }

    #[inline]
    pub(crate) fn hops(&self) -> &[Hop] {
        &self.hops
    }

    #[inline]
    pub(crate) fn block(&self, mark: Mark) -> Option<&Block> {
        self.blocks.get(mark.index())
    }

    /// Says that block `to` must come after block `from`, where its waypoint was `taken` or not.
    pub(crate) fn chain(&mut self, from: Mark, taken: bool, to: Mark) {
        if let Some(from) = self.hops.get_mut(from.index()) {
            let [not, yes] = &mut from.next;
            *(if taken { yes } else { not }) = to;
        }
    }

    /// The block, if it is at the first place where it may be.
    #[inline]
    pub(crate) fn find_first(&self, address: u64, realm: Realm) -> Mark {
        let Some(&index) = self.places.get(self.home(address, realm)) else { return Mark::NONE };
        match self.hops.get(index as usize) {
            Some(hop) if hop.start == address && hop.realm == realm => Mark::new(index as usize),
            _ => Mark::NONE,
        }
    }

    /// The block, wherever it is.
    pub(crate) fn find(&self, address: u64, realm: Realm) -> Mark {
        for place in self.probe(address, realm) {
            let Some(&index) = self.places.get(place) else { break };
            let Some(hop) = self.hops.get(index as usize) else { break };
            if hop.start == address && hop.realm == realm {
                return Mark::new(index as usize);
            }
        }
        Mark::NONE
    }

    /// Puts in a block that is not there. Where the table is full all others go first, and then the
    /// second is `true`: no mark means what it did.
    pub(crate) fn insert(&mut self, block: Block, realm: Realm) -> (Mark, bool) {
        let full = self.hops.len() == self.limit;
        if full {
            self.clear();
        } else if self.hops.len() * SPARSE >= self.places.len() {
            self.grow();
        }
        let index = self.hops.len();
        self.put(block.start, realm, index as u32);
        let Block { start, bytes, instructions, .. } = block;
        let last = Last::new(&block.last, false);
        self.hops.push(Hop { start, bytes, instructions, realm, last, next: [Mark::NONE; 2] });
        self.blocks.push(block);
        (Mark::new(index), full)
    }

    fn grow(&mut self) {
        let len = self.hops.len();
        let room = (len * 2).max(FIRST).min(self.limit);
        self.hops.reserve_exact(room - len);
        self.blocks.reserve_exact(room - len);
        self.places.clear();
        self.places.resize((room * SPARSE).next_power_of_two(), FREE);
        for index in 0..len {
            if let Some(hop) = self.hops.get(index) {
                self.put(hop.start, hop.realm, index as u32);
            }
        }
    }

    fn put(&mut self, address: u64, realm: Realm, index: u32) {
        let free = self.probe(address, realm).find(|&place| self.places.get(place) == Some(&FREE));
        if let Some(place) = free.and_then(|place| self.places.get_mut(place)) {
            *place = index;
        }
    }

    /// The place where a block is if no other was there first.
    #[inline]
    fn home(&self, address: u64, realm: Realm) -> usize {
        // The odd number nearest to 2^64 over the golden ratio spreads neighbours over all places.
        let hash = (address ^ u64::from(realm.0) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (u128::from(hash) * self.places.len() as u128 >> 64) as usize
    }

    /// The places where a block may be, the likeliest first.
    fn probe(&self, address: u64, realm: Realm) -> impl Iterator<Item = usize> + use<> {
        let (home, len) = (self.home(address, realm), self.places.len());
        (0..len).map(move |step| home.wrapping_add(step) & (len - 1))
    }
}
