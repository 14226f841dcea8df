//! Counts.

use tracewright_base::{Element, Range};
use tracewright_decode::{Listener, Merge};

/// Counts elements, ranges and instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Elements.
    pub elements: u64,
    /// Ranges of executed instructions.
    pub ranges: u64,
    /// Executed instructions of the ranges.
    pub instructions: u64,
}

impl Listener for Count {
    const PACKETS: bool = false;
    const BY_SOURCE: bool = true;

    #[inline]
    fn element(&mut self, _: usize, _: u64, element: Element) {
        self.elements += 1;
        if let Element::Range(range) = element {
            self.ranges += 1;
            self.instructions += u64::from(range.instructions);
        }
    }

    #[inline]
    fn repeat(&mut self, _: usize, _: u64, range: Range, times: u32) {
        self.elements += u64::from(times);
        self.ranges += u64::from(times);
        self.instructions += u64::from(times) * u64::from(range.instructions);
    }

    fn repeat_path(&mut self, _: usize, _: u64, ranges: &[Range], times: u64) {
        self.elements += times * ranges.len() as u64;
        self.ranges += times * ranges.len() as u64;
        self.instructions += times * ranges.iter().map(|r| u64::from(r.instructions)).sum::<u64>();
    }
}

impl Merge for Count {
    fn merge(&mut self, later: Self) {
        self.elements += later.elements;
        self.ranges += later.ranges;
        self.instructions += later.instructions;
    }
}
