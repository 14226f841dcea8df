//! Everything that was said, as one number.

use std::fmt;
use std::hash::{Hash, Hasher};

use tracewright_base::{Element, Range};
use tracewright_decode::{Listener, Merge};

use crate::fold::{Fold, Mixer, spread};

/// Folds every element, all its fields, its source and its place, in the order of delivery: whoever
/// computes it has left nothing out. Two are equal where, but for chance, all that was said is equal.
///
/// The number is the same for any number of jobs. It may change with the version of Tracewright.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum(Fold);

impl Checksum {
    /// The number.
    pub const fn value(&self) -> u64 {
        self.0.sum
    }

    /// How many elements there were.
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
            Element::Range(range) => of_range(range, offset(source, at)),
            // In traces with a count for each packet or two there are as many of these.
            &Element::Cycles(cycles) => of_cycles(cycles, offset(source, at)),
            element => of_any(element, offset(source, at)),
        };
        self.0.push(value);
    }

    #[inline]
    fn repeat(&mut self, source: usize, at: u64, range: Range, times: u32) {
        self.0.push_times(of_range(&range, offset(source, at)), times);
    }
}

impl Merge for Checksum {
    fn merge(&mut self, later: Self) {
        self.0.join(later.0);
    }
}

#[inline]
const fn offset(source: usize, at: u64) -> u64 {
    (source as u64).rotate_right(8) ^ at
}

/// Ranges are nearly all that most traces have: they are folded by words. The counts, side by side as a hop has them, lie
/// over those bits of the address that change least; cycles that are not known are zero.
#[inline]
fn of_range(range: &Range, offset: u64) -> u64 {
    let &Range { start, bytes, instructions, cycles, last } = range;
    let counts = (u64::from(bytes) ^ u64::from(instructions) << 9).rotate_left(32);
    let last = u64::from(!cycles.word()) ^ u64::from(last.word()) << 32;
    spread(start ^ counts, offset ^ last)
}

#[inline]
fn of_cycles(cycles: Option<u32>, offset: u64) -> u64 {
    let mut mixer = Mixer(offset);
    Element::Cycles(cycles).hash(&mut mixer);
    mixer.finish()
}

fn of_any(element: &Element, offset: u64) -> u64 {
    let mut mixer = Mixer(offset);
    element.hash(&mut mixer);
    mixer.finish()
}
