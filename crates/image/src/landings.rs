//! Where indirect branches led: the few blocks of many that are looked up by their address.

use std::cell::Cell;

use tracewright_base::Mark;
use tracewright_scan::prefetch;

/// What was found for a hash, until another takes its place. It may be another block: that has to be looked at.
///
/// The places of all blocks are spread over so many pages of memory that each look at them is a wait. These are few
/// enough to be near. They are kept whoever asks, so they are in cells; what is found does not depend on them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Landings(Vec<Set>);

/// A cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Set([Cell<Landing>; WAYS]);

#[derive(Clone, Copy, Debug)]
struct Landing {
    /// Bits \[31:0] of the hash.
    tag: u32,
    mark: Mark,
}

const WAYS: usize = 8;

/// How many sets there are, once there are some: half a megabyte.
const SETS: usize = 1 << 13;

const _: () = assert!(size_of::<Set>() == 64);

impl Landings {
    /// Whether nothing can be kept.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the memory, where it is not taken.
    pub(crate) fn make_room(&mut self) {
        let free = || Cell::new(Landing { tag: 0, mark: Mark::NONE });
        self.0.resize_with(SETS, || Set([(); WAYS].map(|()| free())));
    }

    /// Forgets all, and gives the memory back.
    pub(crate) fn clear(&mut self) {
        self.0 = Vec::new();
    }

    /// Each block is at another mark.
    pub(crate) fn change(&mut self, to: impl Fn(Mark) -> Mark) {
        for Set(ways) in &mut self.0 {
            for Landing { mark, .. } in ways.iter_mut().map(Cell::get_mut) {
                *mark = to(*mark);
            }
        }
    }

    #[inline]
    fn index(hash: u64) -> usize {
        (hash >> (u64::BITS - SETS.ilog2())) as usize
    }

    /// Asks for the memory of what is kept for `hash`, without waiting for it.
    #[inline]
    pub(crate) fn foresee(&self, hash: u64) {
        prefetch(&self.0, Self::index(hash));
    }

    /// What is kept for `hash`, or for another that looks the same.
    #[inline]
    pub(crate) fn get(&self, hash: u64) -> Mark {
        let Some(Set(ways)) = self.0.get(Self::index(hash)) else { return Mark::NONE };
        let mut found = Mark::NONE;
        // All of them: where it is cannot be foreseen.
        for way in ways {
            let Landing { tag, mark } = way.get();
            found = if tag == hash as u32 { mark } else { found };
        }
        found
    }

    /// Keeps `mark` for `hash`, in the place of another where there is none left.
    pub(crate) fn put(&self, hash: u64, mark: Mark) {
        let Some(Set(ways)) = self.0.get(Self::index(hash)) else { return };
        let tag = hash as u32;
        let free = |way: &&Cell<Landing>| way.get().tag == tag || way.get().mark == Mark::NONE;
        let any = &ways[(hash >> 32) as usize % WAYS];
        ways.iter().find(free).unwrap_or(any).set(Landing { tag, mark });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hash of that set and tag.
    fn hash(set: u64, tag: u32) -> u64 {
        set << (u64::BITS - SETS.ilog2()) | u64::from(tag)
    }

    #[test]
    fn each_set_keeps_as_many_as_it_has_ways() {
        let mut landings = Landings::default();
        landings.put(hash(3, 7), Mark::new(1));
        assert_eq!(landings.get(hash(3, 7)), Mark::NONE, "there is no room yet");
        landings.make_room();
        let marks = 0..WAYS as u32;
        for n in marks.clone() {
            landings.put(hash(3, n), Mark::new(n as usize));
            landings.put(hash(4, n), Mark::new(100 + n as usize));
        }
        landings.change(|mark| Mark::new(mark.index() + 1000));
        for n in marks {
            assert_eq!(landings.get(hash(3, n)), Mark::new(1000 + n as usize));
            assert_eq!(landings.get(hash(4, n)), Mark::new(1100 + n as usize));
        }
        // One more takes the place of one.
        landings.put(hash(3, 99), Mark::new(5));
        let left = (0..WAYS as u32).filter(|&n| landings.get(hash(3, n)) != Mark::NONE).count();
        assert_eq!((landings.get(hash(3, 99)), left), (Mark::new(5), WAYS - 1));
        landings.clear();
        assert!(landings.is_empty());
    }
}
