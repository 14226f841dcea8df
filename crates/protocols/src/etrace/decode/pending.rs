//! Branch outcomes that packets have reported and the walk has not reached, and the branch
//! predictor.

use crate::etrace::config::Params;
use crate::etrace::packet::{BranchCount, Map};

/// The outcomes of the next branches: first the known ones, the oldest first, then a count of
/// predicted ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pending {
    /// Known outcomes, the oldest in bit 0; 1 is not taken.
    map: u64,
    /// How many.
    known: u32,
    /// The number of branches after those that go as predicted.
    predicted: u64,
    /// The last of the predicted branches goes otherwise.
    last_fails: bool,
    predictor: Predictor,
}

/// The last branches of a count, which are taken one by one: the walk may end there, and the last
/// of them may go otherwise.
const ONE_BY_ONE: u64 = 2;

impl Pending {
    /// How many branches.
    #[inline]
    pub(super) const fn count(&self) -> u64 {
        self.known as u64 + self.predicted
    }

    /// How many outcomes are known.
    #[inline]
    pub(super) const fn known(&self) -> u32 {
        self.known
    }

    /// The known outcomes, and how many.
    #[inline]
    pub(super) const fn known_map(&self) -> (u64, u32) {
        (self.map, self.known)
    }

    /// Whether the next branch is taken, where that is known.
    pub(super) const fn first(&self) -> Option<bool> {
        if self.known > 0 { Some(self.map & 1 == 0) } else { None }
    }

    /// Replaces the known outcomes.
    #[inline]
    pub(super) fn set_known(&mut self, (map, known): (u64, u32)) {
        (self.map, self.known) = (map, known);
    }

    /// Drops all but the last `count` known outcomes.
    #[inline]
    pub(super) fn leave(&mut self, count: u32) {
        self.map >>= self.known.saturating_sub(count) & 63;
        self.known = count;
    }

    /// Adds known outcomes. There is room for 64.
    #[inline]
    pub(super) fn add(&mut self, map: Map) {
        self.map |= u64::from(map.bits) << (self.known & 63);
        self.known += u32::from(map.len);
        debug_assert!(self.known <= 64);
    }

    /// Adds the branches of a branch count packet. With an address the last of them may be at that
    /// address. Without one the last of them goes otherwise than predicted.
    pub(super) fn add_count(&mut self, count: &BranchCount) {
        let extra = u64::from(count.failed);
        self.predicted += u64::from(count.count) + u64::from(Map::FULL) + extra;
        self.last_fails = count.failed;
    }

    /// Takes the outcome of the branch at `address`. `None` if no packet has it.
    #[inline]
    pub(super) fn take(&mut self, address: u64, params: &Params) -> Option<bool> {
        let taken = if self.known > 0 {
            let taken = self.map & 1 == 0;
            self.map >>= 1;
            self.known -= 1;
            taken
        } else if self.predicted > 0 {
            self.predicted -= 1;
            let fails = self.last_fails && self.predicted == 0;
            self.predictor.predict(address, params) != fails
        } else {
            return None;
        };
        if params.options.branch_prediction {
            self.predictor.update(address, taken, params);
        }
        Some(taken)
    }

    /// How often the branch at `address`, which ends a loop of one block, is predicted to be taken:
    /// all that is left but the last two. Takes these predictions. `None` if the branch is not
    /// predicted to be taken. (A correct prediction does not change the predictor entry.)
    #[inline]
    pub(super) fn repeat(&mut self, address: u64, params: &Params) -> Option<u32> {
        if self.known > 0
            || self.predicted <= ONE_BY_ONE
            || !self.predictor.predict(address, params)
        {
            return None;
        }
        let repeat = u32::try_from(self.predicted - ONE_BY_ONE).unwrap_or(u32::MAX);
        self.predicted -= u64::from(repeat);
        self.predictor.update(address, true, params);
        Some(repeat)
    }

    /// The number of branches that go as predicted.
    #[inline]
    pub(super) const fn predicted(&self) -> u64 {
        self.predicted
    }

    /// The predictor.
    pub(super) const fn predictor(&self) -> &Predictor {
        &self.predictor
    }

    /// How often a loop with `turn` branches is executed whole, before the last branches.
    pub(super) const fn turns(&self, turn: u64) -> u64 {
        match self.predicted.saturating_sub(ONE_BY_ONE).checked_div(turn) {
            Some(turns) => turns,
            None => 0,
        }
    }

    /// Takes `count` predictions that leave the predictor as it is.
    pub(super) const fn skip(&mut self, count: u64) {
        self.predicted = self.predicted.saturating_sub(count);
    }

    /// Turns the prediction of the branch at `address`, the only one that is left, into a known
    /// outcome, because other packets come before the branch is reached.
    pub(super) fn resolve(&mut self, address: u64, params: &Params) {
        if self.predicted == 1 {
            let taken = self.predictor.predict(address, params) != self.last_fails;
            self.predicted = 0;
            self.add(Map { bits: u32::from(!taken), len: 1 });
        }
    }

    /// Drops all outcomes.
    #[inline]
    pub(super) fn clear(&mut self) {
        (self.map, self.known, self.predicted) = (0, 0, 0);
    }

    /// Resets the predictor.
    #[inline]
    pub(super) fn reset_predictor(&mut self) {
        self.predictor = Predictor::default();
    }
}

/// The branch predictor: up to 128 entries of two bits, the prediction and the last outcome. (Table
/// "branch predictor")
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::etrace) struct Predictor {
    /// The predictions, a bit for each entry; 1 is taken.
    taken: u128,
    /// The last outcomes, a bit for each entry; 1 is taken.
    last: u128,
}

impl Default for Predictor {
    /// All entries 01.
    fn default() -> Self {
        Predictor { taken: 0, last: u128::MAX }
    }
}

impl Predictor {
    fn entry(address: u64, params: &Params) -> u128 {
        1 << index(address, params.widths.bpred_size, params)
    }

    pub(in crate::etrace) fn predict(&self, address: u64, params: &Params) -> bool {
        self.taken & Self::entry(address, params) != 0
    }

    /// Updates the entry of a branch. Its prediction changes after two wrong ones in a row.
    pub(in crate::etrace) fn update(&mut self, address: u64, taken: bool, params: &Params) {
        let entry = Self::entry(address, params);
        if (self.taken ^ self.last) & entry != 0 {
            self.taken = self.taken & !entry | if taken { entry } else { 0 };
        }
        self.last = self.last & !entry | if taken { entry } else { 0 };
    }
}

/// The index of an address in a table of 2 to the power of `size` entries: the address bits from 1
/// on, or from 2 on where there are no compressed instructions.
pub(in crate::etrace) fn index(address: u64, size: u8, params: &Params) -> usize {
    let low = params.widths.iaddress_lsb.max(1);
    (address >> low) as usize & ((1 << size.min(7)) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table "branch predictor": 00 fails to 01; 01 holds to 00, fails to 11; 11 fails to 10; 10
    /// holds to 11, fails to 00.
    #[test]
    fn predictor_states() {
        let mut params = Params::default();
        params.widths.bpred_size = 7;
        for (state, taken, want) in [
            ((0, 0), false, (0, 0)),
            ((0, 0), true, (0, 1)),
            ((0, 1), false, (0, 0)),
            ((0, 1), true, (1, 1)),
            ((1, 1), true, (1, 1)),
            ((1, 1), false, (1, 0)),
            ((1, 0), true, (1, 1)),
            ((1, 0), false, (0, 0)),
        ] {
            let entry = |bit: u128| bit << 5;
            let mut predictor = Predictor { taken: entry(state.0), last: entry(state.1) };
            assert_eq!(predictor.predict(10, &params), state.0 == 1);
            predictor.update(10, taken, &params);
            let want = Predictor { taken: entry(want.0), last: entry(want.1) };
            assert_eq!(predictor, want, "{state:?} {taken}");
        }
    }
}
