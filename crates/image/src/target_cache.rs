//! The targets of indirect branches: the blocks that are looked up by address.

use std::sync::atomic::{AtomicU64, Ordering};

use tracewright_base::BlockId;
use tracewright_scan::{huge, prefetch};

/// A set-associative cache of blocks by hash. Two blocks may have the same hash: the caller
/// compares the address.
///
/// The slots of all blocks are larger than the processor's caches, so each look-up there is a cache
/// miss. This cache is smaller. Look-ups through a shared reference fill it, too; the result of a
/// look-up does not depend on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TargetCache {
    /// None, or a power of two.
    sets: Vec<Set>,
    /// How many low bits of the hash do not select the set.
    shift: u32,
}

/// A quarter of a cache line of [`TargetEntry`]s.
#[derive(Debug)]
#[repr(align(16))]
struct Set([AtomicU64; ENTRIES]);

/// Bits \[31:0] of the hash in bits \[31:0]; the index of the [`BlockId`] in bits \[63:32].
#[derive(Clone, Copy)]
struct TargetEntry(u64);

impl TargetEntry {
    const FREE: TargetEntry = TargetEntry::new(0, BlockId::NONE);

    const fn new(tag: u32, id: BlockId) -> TargetEntry {
        TargetEntry(tag as u64 | (id.index() as u64) << 32)
    }

    #[inline]
    const fn tag(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    const fn id(self) -> BlockId {
        BlockId::new((self.0 >> 32) as usize)
    }

    #[inline]
    fn load(entry: &AtomicU64) -> TargetEntry {
        // No entry depends on another.
        TargetEntry(entry.load(Ordering::Relaxed))
    }
}

impl Clone for Set {
    fn clone(&self) -> Set {
        let Set(entries) = self;
        Set(entries.each_ref().map(|entry| AtomicU64::new(TargetEntry::load(entry).0)))
    }
}

/// Entries in a set.
const ENTRIES: usize = 2;

/// The minimum and the maximum number of sets: 256 bytes and 2 MB.
const SETS: [usize; 2] = [1 << 4, 1 << 17];

/// Blocks in the table for each entry.
const BLOCKS: usize = 2;

const _: () = assert!(size_of::<Set>() == 16);

impl TargetCache {
    /// Allocates the entries for a table of `blocks` blocks. If their number changes, the cache is
    /// cleared.
    pub(crate) fn reserve(&mut self, blocks: usize) {
        let [least, most] = SETS;
        let sets = (blocks / (BLOCKS * ENTRIES)).next_power_of_two().clamp(least, most);
        if sets != self.sets.len() {
            let free = || Set([(); ENTRIES].map(|()| AtomicU64::new(TargetEntry::FREE.0)));
            self.sets = Vec::with_capacity(sets);
            huge(&self.sets);
            self.sets.resize_with(sets, free);
            self.shift = u64::BITS - sets.ilog2();
        }
    }

    /// Removes all entries and frees the memory.
    pub(crate) fn clear(&mut self) {
        self.sets = Vec::new();
    }

    /// Replaces each [`BlockId`] by what `to` returns for it.
    pub(crate) fn renumber(&mut self, to: impl Fn(BlockId) -> BlockId) {
        for Set(entries) in &mut self.sets {
            for word in entries.iter_mut().map(AtomicU64::get_mut) {
                let entry = TargetEntry(*word);
                *word = TargetEntry::new(entry.tag(), to(entry.id())).0;
            }
        }
    }

    #[inline]
    fn index(&self, hash: u64) -> usize {
        (hash >> (self.shift % u64::BITS)) as usize
    }

    /// Prefetches the set of `hash`.
    #[inline]
    pub(crate) fn prefetch_lookup(&self, hash: u64) {
        prefetch(&self.sets, self.index(hash));
    }

    /// The block of `hash`, or of another hash with the same set and tag.
    #[inline]
    pub(crate) fn get(&self, hash: u64) -> BlockId {
        let Some(Set(entries)) = self.sets.get(self.index(hash)) else { return BlockId::NONE };
        let mut found = BlockId::NONE;
        // Without a branch: which entry matches cannot be predicted.
        for entry in entries.iter().map(TargetEntry::load) {
            found = if entry.tag() == hash as u32 { entry.id() } else { found };
        }
        found
    }

    /// Inserts `id` for `hash`. It replaces another entry if the set is full.
    pub(crate) fn put(&self, hash: u64, id: BlockId) {
        let Some(Set(entries)) = self.sets.get(self.index(hash)) else { return };
        let tag = hash as u32;
        let is_usable = |entry: &&AtomicU64| {
            let old = TargetEntry::load(entry);
            old.tag() == tag || old.id() == BlockId::NONE
        };
        let any = &entries[(hash >> 32) as usize % ENTRIES];
        let entry = entries.iter().find(is_usable).unwrap_or(any);
        entry.store(TargetEntry::new(tag, id).0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hash that selects `set` of 16 and has `tag`.
    fn hash(set: u64, tag: u32) -> u64 {
        set << 60 | u64::from(tag)
    }

    #[test]
    fn each_set_holds_its_number_of_entries() {
        let mut target_cache = TargetCache::default();
        target_cache.put(hash(3, 7), BlockId::new(1));
        assert_eq!(target_cache.get(hash(3, 7)), BlockId::NONE, "there are no sets yet");
        target_cache.reserve(1);
        let numbers = 0..ENTRIES as u32;
        for n in numbers.clone() {
            target_cache.put(hash(3, n), BlockId::new(n as usize));
            target_cache.put(hash(4, n), BlockId::new(100 + n as usize));
        }
        target_cache.renumber(|id| BlockId::new(id.index() + 1000));
        for n in numbers {
            assert_eq!(target_cache.get(hash(3, n)), BlockId::new(1000 + n as usize));
            assert_eq!(target_cache.get(hash(4, n)), BlockId::new(1100 + n as usize));
        }
        // One more replaces one of them.
        target_cache.put(hash(3, 99), BlockId::new(5));
        let left =
            (0..ENTRIES as u32).filter(|&n| target_cache.get(hash(3, n)) != BlockId::NONE).count();
        assert_eq!((target_cache.get(hash(3, 99)), left), (BlockId::new(5), ENTRIES - 1));
        // The same number of sets changes nothing; another number clears the cache.
        target_cache.reserve(50);
        assert_eq!(target_cache.get(hash(3, 99)), BlockId::new(5));
        target_cache.reserve(1000);
        assert_eq!(target_cache.get(hash(3, 99)), BlockId::NONE);
        target_cache.put(hash(3, 99), BlockId::new(5));
        assert_eq!(target_cache.get(hash(3, 99)), BlockId::new(5));
        target_cache.clear();
        assert!(target_cache.sets.is_empty());
    }
}
