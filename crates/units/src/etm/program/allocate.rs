//! Which comparators a program uses.

use crate::etm::resources::Resources;

/// The comparators that are still free. A program with n ranges takes the last n pairs, in their
/// order, as the first ones have the data value comparators; single comparators are taken from the
/// last that is free.
#[derive(Clone, Copy, Debug)]
pub struct Comparators {
    /// Bit n: address comparator n + 1 is free.
    free: u32,
    /// Number of data value comparators. Comparator k belongs to address comparator 2k - 1.
    data: u8,
    /// Watchpoint inputs that are free.
    watchpoints: u8,
    /// Number of the next watchpoint input.
    next_watchpoint: u8,
    /// The next pair, from 0.
    next_pair: u8,
}

impl Comparators {
    /// All comparators of `unit`, for a program with `ranges` ranges. Watchpoints are used for
    /// instruction addresses in units that have no address comparators: those of the M profile.
    pub fn new(unit: &Resources, ranges: usize) -> Comparators {
        let watchpoints = match unit.pairs == 0 && unit.ice_start_stop {
            true => unit.ice_inputs.min(4),
            false => 0,
        };
        Comparators {
            free: (1 << unit.comparators()) - 1,
            data: unit.data_comparators,
            watchpoints,
            next_watchpoint: 1,
            next_pair: usize::from(unit.pairs).saturating_sub(ranges) as u8,
        }
    }

    /// Takes a pair, and returns its number from 1.
    pub fn pair(&mut self) -> Option<u8> {
        let pair = (self.next_pair..8).find(|n| self.free >> (2 * n) & 0b11 == 0b11)?;
        self.next_pair = pair + 1;
        self.free &= !(0b11 << (2 * pair));
        Some(pair + 1)
    }

    /// Takes a single comparator, with a data value comparator if `value`, and returns its number
    /// from 1.
    pub fn single(&mut self, value: bool) -> Option<u8> {
        let n = match value {
            true => (0..self.data).rev().map(|k| 2 * k).find(|n| self.free >> n & 1 != 0)?,
            false => (0..16).rev().find(|n| self.free >> n & 1 != 0)?,
        };
        self.free &= !(1 << n);
        Some(n + 1)
    }

    /// Takes a watchpoint input, and returns its number from 1.
    pub fn watchpoint(&mut self) -> Option<u8> {
        let n = self.next_watchpoint;
        (n <= self.watchpoints).then(|| {
            self.next_watchpoint += 1;
            n
        })
    }
}
