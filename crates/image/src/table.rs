//! A bounded hash table of blocks, each with the blocks that came after it last time.

use tracewright_base::Block;

/// The index of a block in the table.
pub(crate) type Index = u32;

/// No block has this index.
pub(crate) const NONE: Index = u32::MAX;

/// A block and what finding the next one needs: one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Slot {
    pub(crate) block: Block,
    /// What selects the block, beside its address.
    pub(crate) key: u32,
    /// The block that came last after this one: at the address after it, and elsewhere.
    pub(crate) next: [Index; 2],
}

const _: () = assert!(size_of::<Slot>() == 64);

/// Blocks by address and key. It grows to a bound and then begins anew, so that what it holds is
/// never older than that many blocks.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    slots: Vec<Slot>,
    /// Open addressing by [`Table::probe`]: the index of a slot, or [`NONE`]. A power of two, at most
    /// half full.
    places: Vec<Index>,
    limit: usize,
}

/// How many blocks there is room for at first.
const FIRST: usize = 64;

impl Table {
    /// An empty table for `limit` blocks, at least 1. It takes no memory yet.
    pub(crate) fn new(limit: usize) -> Table {
        let limit = limit.clamp(1, NONE as usize / 4);
        Table { slots: Vec::new(), places: Vec::new(), limit }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether the next block to go in pushes out all others.
    pub(crate) fn is_full(&self) -> bool {
        self.slots.len() == self.limit
    }

    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.places.fill(NONE);
    }

    #[inline]
    pub(crate) fn slot(&self, index: Index) -> Option<&Slot> {
        self.slots.get(index as usize)
    }

    /// Whether `index` is the block at `address` with `key`.
    #[inline]
    pub(crate) fn holds(&self, index: Index, address: u64, key: u32) -> bool {
        self.slot(index).is_some_and(|slot| slot.block.start == address && slot.key == key)
    }

    /// Says that block `to` came after block `from`.
    pub(crate) fn chain(&mut self, from: Index, to: Index) {
        let Some(start) = self.slot(to).map(|slot| slot.block.start) else { return };
        if let Some(from) = self.slots.get_mut(from as usize) {
            let [after, elsewhere] = &mut from.next;
            *(if from.block.next() == start { after } else { elsewhere }) = to;
        }
    }

    pub(crate) fn find(&self, address: u64, key: u32) -> Option<Index> {
        for place in self.probe(address, key) {
            let index = *self.places.get(place)?;
            if index == NONE {
                break;
            }
            if self.holds(index, address, key) {
                return Some(index);
            }
        }
        None
    }

    /// Puts in a block that is not there. Where the table is full all others go first.
    pub(crate) fn insert(&mut self, block: Block, key: u32) -> Index {
        if self.is_full() {
            self.clear();
        } else if self.slots.len() * 2 >= self.places.len() {
            self.grow();
        }
        let index = self.slots.len() as Index;
        self.put(block.start, key, index);
        self.slots.push(Slot { block, key, next: [NONE; 2] });
        index
    }

    fn grow(&mut self) {
        let room = (self.slots.len() * 2).max(FIRST).min(self.limit);
        self.slots.reserve_exact(room - self.slots.len());
        self.places.clear();
        self.places.resize((room * 2).next_power_of_two(), NONE);
        for index in 0..self.slots.len() {
            if let Some(slot) = self.slots.get(index) {
                self.put(slot.block.start, slot.key, index as Index);
            }
        }
    }

    fn put(&mut self, address: u64, key: u32, index: Index) {
        let free = self.probe(address, key).find(|&place| self.places.get(place) == Some(&NONE));
        if let Some(place) = free.and_then(|place| self.places.get_mut(place)) {
            *place = index;
        }
    }

    /// The places where a block may be, the likeliest first.
    fn probe(&self, address: u64, key: u32) -> impl Iterator<Item = usize> + use<> {
        // The odd number nearest to 2^64 over the golden ratio spreads neighbours over all places.
        let hash = (address ^ u64::from(key) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let len = self.places.len();
        let home = (u128::from(hash) * len as u128 >> 64) as usize;
        (0..len).map(move |step| home.wrapping_add(step) & (len - 1))
    }
}
