//! A checksum of all elements.

use std::fmt;
use std::hash::{Hash, Hasher};

use tracewright_base::{Element, Range};
use tracewright_decode::{Listener, Merge};

use crate::fold::{Fold, Mixer, mix, spread};

/// Folds all fields of each element, its source and its offset, in the order of each source. Two
/// checksums are equal where all elements of each source are equal, except for collisions.
///
/// The number does not depend on the number of worker threads, nor on how the elements of different
/// sources are interleaved. It may change with the version of Tracewright.
#[derive(Clone, Debug, Default)]
pub struct Checksum {
    /// The source of `current`.
    source: usize,
    current: Fold,
    /// By source. The one of `source` is empty.
    others: Vec<Fold>,
}

impl Checksum {
    /// The number.
    pub fn value(&self) -> u64 {
        let used = self.folds().filter(|(_, fold)| fold.count > 0);
        used.fold(0, |sum, (_, fold)| sum.wrapping_add(mix(fold.sum, fold.count)))
    }

    /// The number of elements.
    pub fn elements(&self) -> u64 {
        self.folds().map(|(_, fold)| fold.count).sum()
    }

    fn folds(&self) -> impl Iterator<Item = (usize, Fold)> {
        let others = self.others.iter().copied().enumerate();
        others.chain([(self.source, self.current)])
    }

    fn select(&mut self, source: usize) {
        if source == self.source {
            return;
        }
        let len = self.others.len().max(source + 1).max(self.source + 1);
        self.others.resize(len, Fold::default());
        self.others[self.source] = self.current;
        self.current = std::mem::take(&mut self.others[source]);
        self.source = source;
    }
}

/// Two values are equal where their numbers are.
impl PartialEq for Checksum {
    fn eq(&self, other: &Self) -> bool {
        (self.value(), self.elements()) == (other.value(), other.elements())
    }
}

impl Eq for Checksum {}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.value())
    }
}

impl Listener for Checksum {
    const PACKETS: bool = false;
    const BY_SOURCE: bool = true;

    fn enter_source(&mut self, source: usize) {
        self.select(source);
    }

    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        let value = match &element {
            Element::Range(range) => of_range(range, origin(source, at)),
            // Traces with cycle counts have about as many of these as of ranges.
            &Element::Cycles(cycles) => of_cycles(cycles, origin(source, at)),
            element => of_any(element, origin(source, at)),
        };
        debug_assert_eq!(source, self.source);
        self.current.push(value);
    }

    #[inline]
    fn repeat(&mut self, source: usize, at: u64, range: Range, times: u32) {
        self.current.push_times(of_range(&range, origin(source, at)), times);
    }

    fn repeat_path(&mut self, source: usize, at: u64, ranges: &[Range], times: u64) {
        let mut turn = Fold::default();
        ranges.iter().for_each(|range| turn.push(of_range(range, origin(source, at))));
        self.current.join_times(turn, times);
    }
}

impl Merge for Checksum {
    fn merge(&mut self, later: Self) {
        for (source, fold) in later.folds().filter(|(_, fold)| fold.count > 0) {
            self.select(source);
            self.current.join(fold);
        }
    }
}

/// Source and offset of an element in one number.
#[inline]
const fn origin(source: usize, at: u64) -> u64 {
    (source as u64).rotate_right(8) ^ at
}

/// Folds a range. Most elements are ranges, so the fields are folded as two words. The counts are
/// combined with the bits of the address that change least. Unknown cycles are zero.
#[inline]
fn of_range(range: &Range, origin: u64) -> u64 {
    let &Range { start, bytes, instructions, cycles, last } = range;
    let counts = (u64::from(bytes) ^ u64::from(instructions) << 9).rotate_left(32);
    let last = u64::from(!cycles.word()) ^ u64::from(last.word()) << 32;
    spread(start ^ counts, origin ^ last)
}

#[inline]
fn of_cycles(cycles: Option<u32>, origin: u64) -> u64 {
    let mut mixer = Mixer(origin);
    Element::Cycles(cycles).hash(&mut mixer);
    mixer.finish()
}

fn of_any(element: &Element, origin: u64) -> u64 {
    let mut mixer = Mixer(origin);
    element.hash(&mut mixer);
    mixer.finish()
}
