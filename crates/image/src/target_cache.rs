//! Where indirect branches led: the few blocks of many that are looked up by their address.

use std::sync::atomic::{AtomicU64, Ordering};

use tracewright_base::BlockId;
use tracewright_scan::{huge, prefetch};

/// What was found for a hash, until another takes its place. It may be another block: that has to be looked at.
///
/// The places of all blocks are spread over so much memory that each look at them is a wait. These are few
/// enough to be near. They are kept by those who only look, too; what is found does not depend on them.
#[derive(Clone, Debug, Default)]
pub(crate) struct TargetCache {
    /// None, or a power of two.
    sets: Vec<Set>,
    /// Bits of the hash below those that choose a set.
    shift: u32,
}

/// A quarter of a cache line of [`TargetEntry`]s.
#[derive(Debug)]
#[repr(align(16))]
struct Set([AtomicU64; WAYS]);

/// Bits \[31:0] of the hash; the index of the mark in bits \[63:32], which is beyond all blocks where there is none.
#[derive(Clone, Copy)]
struct TargetEntry(u64);

impl TargetEntry {
    const FREE: TargetEntry = TargetEntry::new(0, BlockId::NONE);

    const fn new(tag: u32, mark: BlockId) -> TargetEntry {
        TargetEntry(tag as u64 | (mark.index() as u64) << 32)
    }

    #[inline]
    const fn tag(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    const fn mark(self) -> BlockId {
        BlockId::new((self.0 >> 32) as usize)
    }

    #[inline]
    fn at(way: &AtomicU64) -> TargetEntry {
        // Each is whole by itself, and no two have to agree.
        TargetEntry(way.load(Ordering::Relaxed))
    }
}

impl Clone for Set {
    fn clone(&self) -> Set {
        let Set(ways) = self;
        Set(ways.each_ref().map(|way| AtomicU64::new(TargetEntry::at(way).0)))
    }
}

const WAYS: usize = 2;

/// How many sets there are at least and at most: a quarter of a kilobyte, two megabytes.
const SETS: [usize; 2] = [1 << 4, 1 << 17];

/// So many blocks have one landing.
const BLOCKS: usize = 2;

const _: () = assert!(size_of::<Set>() == 16);

impl TargetCache {
    /// Makes room for those of so many `blocks`. Where it is not as much as there is, all is forgotten.
    pub(crate) fn make_room(&mut self, blocks: usize) {
        let [least, most] = SETS;
        let sets = (blocks / (BLOCKS * WAYS)).next_power_of_two().clamp(least, most);
        if sets != self.sets.len() {
            let free = || Set([(); WAYS].map(|()| AtomicU64::new(TargetEntry::FREE.0)));
            self.sets = Vec::with_capacity(sets);
            huge(&self.sets);
            self.sets.resize_with(sets, free);
            self.shift = u64::BITS - sets.ilog2();
        }
    }

    /// Forgets all, and gives the memory back.
    pub(crate) fn clear(&mut self) {
        self.sets = Vec::new();
    }

    /// Each block is at another mark.
    pub(crate) fn change(&mut self, to: impl Fn(BlockId) -> BlockId) {
        for Set(ways) in &mut self.sets {
            for way in ways.iter_mut().map(AtomicU64::get_mut) {
                let entry = TargetEntry(*way);
                *way = TargetEntry::new(entry.tag(), to(entry.mark())).0;
            }
        }
    }

    #[inline]
    fn index(&self, hash: u64) -> usize {
        (hash >> (self.shift % u64::BITS)) as usize
    }

    /// Asks for the memory of what is kept for `hash`, without waiting for it.
    #[inline]
    pub(crate) fn prefetch_lookup(&self, hash: u64) {
        prefetch(&self.sets, self.index(hash));
    }

    /// What is kept for `hash`, or for another that looks the same.
    #[inline]
    pub(crate) fn get(&self, hash: u64) -> BlockId {
        let Some(Set(ways)) = self.sets.get(self.index(hash)) else { return BlockId::NONE };
        let mut found = BlockId::NONE;
        // All of them: where it is cannot be foreseen.
        for way in ways {
            let entry = TargetEntry::at(way);
            found = if entry.tag() == hash as u32 { entry.mark() } else { found };
        }
        found
    }

    /// Keeps `mark` for `hash`, in the place of another where there is none left.
    pub(crate) fn put(&self, hash: u64, mark: BlockId) {
        let Some(Set(ways)) = self.sets.get(self.index(hash)) else { return };
        let tag = hash as u32;
        let is_for_it = |way: &&AtomicU64| {
            let kept = TargetEntry::at(way);
            kept.tag() == tag || kept.mark() == BlockId::NONE
        };
        let any = &ways[(hash >> 32) as usize % WAYS];
        let way = ways.iter().find(is_for_it).unwrap_or(any);
        way.store(TargetEntry::new(tag, mark).0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hash of that set of 16 and that tag.
    fn hash(set: u64, tag: u32) -> u64 {
        set << 60 | u64::from(tag)
    }

    #[test]
    fn each_set_keeps_as_many_as_it_has_ways() {
        let mut target_cache = TargetCache::default();
        target_cache.put(hash(3, 7), BlockId::new(1));
        assert_eq!(target_cache.get(hash(3, 7)), BlockId::NONE, "there is no room yet");
        target_cache.make_room(1);
        let marks = 0..WAYS as u32;
        for n in marks.clone() {
            target_cache.put(hash(3, n), BlockId::new(n as usize));
            target_cache.put(hash(4, n), BlockId::new(100 + n as usize));
        }
        target_cache.change(|mark| BlockId::new(mark.index() + 1000));
        for n in marks {
            assert_eq!(target_cache.get(hash(3, n)), BlockId::new(1000 + n as usize));
            assert_eq!(target_cache.get(hash(4, n)), BlockId::new(1100 + n as usize));
        }
        // One more takes the place of one.
        target_cache.put(hash(3, 99), BlockId::new(5));
        let left =
            (0..WAYS as u32).filter(|&n| target_cache.get(hash(3, n)) != BlockId::NONE).count();
        assert_eq!((target_cache.get(hash(3, 99)), left), (BlockId::new(5), WAYS - 1));
        // As much room changes nothing; more means to begin anew.
        target_cache.make_room(50);
        assert_eq!(target_cache.get(hash(3, 99)), BlockId::new(5));
        target_cache.make_room(1000);
        assert_eq!(target_cache.get(hash(3, 99)), BlockId::NONE);
        target_cache.put(hash(3, 99), BlockId::new(5));
        assert_eq!(target_cache.get(hash(3, 99)), BlockId::new(5));
        target_cache.clear();
        assert!(target_cache.sets.is_empty());
    }
}
