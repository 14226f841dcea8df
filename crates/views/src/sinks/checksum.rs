//! A checksum of all elements.

use std::fmt;
use std::hash::{Hash, Hasher};

use tracewright_base::{Element, Range};
use tracewright_decode::{Listener, Merge};

use crate::fold::{Fold, Mixer, spread};

/// Folds all fields of each element, its source and its offset, in the order of delivery. Two
/// checksums are equal where all elements are equal, except for collisions.
///
/// The number does not depend on the number of worker threads. It may change with the version of
/// Tracewright.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum(Fold);

impl Checksum {
    /// The number.
    pub const fn value(&self) -> u64 {
        self.0.sum
    }

    /// The number of elements.
    pub const fn elements(&self) -> u64 {
        self.0.count
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.value())
    }
}

impl Listener for Checksum {
    const PACKETS: bool = false;

    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        let value = match &element {
            Element::Range(range) => of_range(range, origin(source, at)),
            // Traces with cycle counts have about as many of these as of ranges.
            &Element::Cycles(cycles) => of_cycles(cycles, origin(source, at)),
            element => of_any(element, origin(source, at)),
        };
        self.0.push(value);
    }

    #[inline]
    fn repeat(&mut self, source: usize, at: u64, range: Range, times: u32) {
        self.0.push_times(of_range(&range, origin(source, at)), times);
    }

    fn repeat_path(&mut self, source: usize, at: u64, ranges: &[Range], times: u64) {
        let mut turn = Fold::default();
        ranges.iter().for_each(|range| turn.push(of_range(range, origin(source, at))));
        self.0.join_times(turn, times);
    }
}

impl Merge for Checksum {
    fn merge(&mut self, later: Self) {
        self.0.join(later.0);
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
