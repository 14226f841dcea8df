//! Branch outcomes that packets have reported and the walk has not reached, and the branch
//! predictor.

use crate::etrace::config::Params;
use crate::etrace::packet::{BranchCount, Map};

/// The outcomes of the next branches, and the predictor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) outcomes: Outcomes,
    pub(super) predictor: Predictor,
}

/// The outcomes of the next branches: first the known ones, the oldest first, then a count of
/// predicted ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcomes {
    /// Known outcomes, the oldest in bit 0; 1 is not taken.
    pub(super) map: u64,
    /// How many.
    pub(super) known: u32,
    /// The last of the predicted branches goes otherwise.
    pub(super) last_fails: bool,
    /// The number of branches after those that go as predicted.
    pub(super) predicted: u64,
}

/// The last branches of a count, which are taken one by one: the walk may end there, and the last
/// of them may go otherwise.
const ONE_BY_ONE: u64 = 2;

impl Outcomes {
    /// How many branches.
    #[inline]
    pub(super) const fn count(&self) -> u64 {
        self.known as u64 + self.predicted
    }

    /// Adds known outcomes. There is room for 64.
    #[inline]
    pub(super) fn add(&mut self, map: Map) {
        self.map |= u64::from(map.bits) << (self.known & 63);
        self.known += u32::from(map.len);
        debug_assert!(self.known <= 64);
    }

    /// Whether the next branch is taken, where that is known.
    #[inline]
    pub(super) const fn first(&self) -> Option<bool> {
        if self.known > 0 { Some(self.map & 1 == 0) } else { None }
    }

    /// Drops the first `count` known outcomes, at most 63.
    #[inline]
    pub(super) const fn pass(&mut self, count: u32) {
        (self.map, self.known) = (self.map >> count, self.known - count);
    }

    /// Adds the branches of a branch count packet. With an address the last of them may be at that
    /// address. Without one the last of them goes otherwise than predicted.
    pub(super) fn add_count(&mut self, count: &BranchCount) {
        self.predicted += u64::from(count.count) + u64::from(Map::FULL) + u64::from(count.failed);
        self.last_fails = count.failed;
    }

    /// Takes the outcome of the branch at `address`. `None` if no packet has it.
    #[inline]
    pub(super) fn take(
        &mut self,
        address: u64,
        predictor: &mut Predictor,
        params: &Params,
    ) -> Option<bool> {
        let entries = Entries::of_predictor(params);
        let taken = if self.known > 0 {
            let taken = self.map & 1 == 0;
            self.map >>= 1;
            self.known -= 1;
            taken
        } else if self.predicted > 0 {
            self.predicted -= 1;
            let fails = self.last_fails && self.predicted == 0;
            predictor.predict(address, entries) != fails
        } else {
            return None;
        };
        if params.options.branch_prediction {
            predictor.update(address, taken, entries);
        }
        Some(taken)
    }
}

impl Pending {
    /// How many branches.
    #[inline]
    pub(super) const fn count(&self) -> u64 {
        self.outcomes.count()
    }

    /// How many outcomes are known.
    #[inline]
    pub(super) const fn known(&self) -> u32 {
        self.outcomes.known
    }

    /// The known outcomes, and how many.
    #[inline]
    pub(super) const fn known_map(&self) -> (u64, u32) {
        (self.outcomes.map, self.outcomes.known)
    }

    /// Whether the next branch is taken, where that is known.
    pub(super) const fn first(&self) -> Option<bool> {
        self.outcomes.first()
    }

    /// Drops all but the last `count` known outcomes.
    #[inline]
    pub(super) fn leave(&mut self, count: u32) {
        self.outcomes.map >>= self.outcomes.known.saturating_sub(count) & 63;
        self.outcomes.known = count;
    }

    /// Adds known outcomes. There is room for 64.
    #[inline]
    pub(super) fn add(&mut self, map: Map) {
        self.outcomes.add(map);
    }

    /// Adds the branches of a branch count packet.
    pub(super) fn add_count(&mut self, count: &BranchCount) {
        self.outcomes.add_count(count);
    }

    /// Takes the outcome of the branch at `address`. `None` if no packet has it.
    #[inline]
    pub(super) fn take(&mut self, address: u64, params: &Params) -> Option<bool> {
        self.outcomes.take(address, &mut self.predictor, params)
    }

    /// How often the branch at `address`, which ends a loop of one block, is predicted to be taken:
    /// all that is left but the last two. Takes these predictions. `None` if the branch is not
    /// predicted to be taken. (A correct prediction does not change the predictor entry.)
    #[inline]
    pub(super) fn repeat(&mut self, address: u64, params: &Params) -> Option<u32> {
        let entries = Entries::of_predictor(params);
        if self.outcomes.known > 0
            || self.outcomes.predicted <= ONE_BY_ONE
            || !self.predictor.predict(address, entries)
        {
            return None;
        }
        let repeat = u32::try_from(self.outcomes.predicted - ONE_BY_ONE).unwrap_or(u32::MAX);
        self.outcomes.predicted -= u64::from(repeat);
        self.predictor.update(address, true, entries);
        Some(repeat)
    }

    /// The number of branches that go as predicted.
    #[inline]
    pub(super) const fn predicted(&self) -> u64 {
        self.outcomes.predicted
    }

    /// The predictor.
    pub(super) const fn predictor(&self) -> &Predictor {
        &self.predictor
    }

    /// How often a loop with `turn` branches is executed whole, before the last of `predicted`
    /// branches.
    pub(super) const fn turns(turn: u64, predicted: u64) -> u64 {
        match predicted.saturating_sub(ONE_BY_ONE).checked_div(turn) {
            Some(turns) => turns,
            None => 0,
        }
    }

    /// Takes `count` predictions that leave the predictor as it is.
    pub(super) const fn skip(&mut self, count: u64) {
        self.outcomes.predicted = self.outcomes.predicted.saturating_sub(count);
    }

    /// Turns the prediction of the branch at `address`, the only one that is left, into a known
    /// outcome, because other packets come before the branch is reached.
    pub(super) fn resolve(&mut self, address: u64, params: &Params) {
        if self.outcomes.predicted == 1 {
            let predicted = self.predictor.predict(address, Entries::of_predictor(params));
            let taken = predicted != self.outcomes.last_fails;
            self.outcomes.predicted = 0;
            self.add(Map { bits: u32::from(!taken), len: 1 });
        }
    }

    /// Drops all outcomes.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.outcomes = Outcomes::default();
    }

    /// Resets the predictor.
    #[inline]
    pub(super) fn reset_predictor(&mut self) {
        self.predictor = Predictor::default();
    }
}

/// The branch predictor: up to 128 entries of two bits. (Table "branch predictor")
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::etrace) struct Predictor {
    /// The state of each entry: bit 1 the prediction, bit 0 the last outcome; 1 is taken. 32
    /// entries in a word, the first in the lowest bits.
    states: [u64; MAX_ENTRIES / 32],
}

/// The most entries of a table.
const MAX_ENTRIES: usize = 1 << 7;

impl Default for Predictor {
    /// All entries 01.
    fn default() -> Self {
        Predictor { states: [u64::MAX / 0b11; MAX_ENTRIES / 32] }
    }
}

impl Predictor {
    #[inline]
    pub(in crate::etrace) fn predict(&self, address: u64, entries: Entries) -> bool {
        let entry = entries.index(address);
        self.states.get(entry / 32).is_some_and(|states| states >> (entry % 32 * 2) & 0b10 != 0)
    }

    /// Updates the entry of a branch. Its prediction changes after two wrong ones in a row.
    #[inline]
    pub(in crate::etrace) fn update(&mut self, address: u64, taken: bool, entries: Entries) {
        let entry = entries.index(address);
        let at = entry % 32 * 2;
        if let Some(states) = self.states.get_mut(entry / 32) {
            let state = *states >> at & 0b11;
            // Outcomes are hard to predict, so that a table replaces branches.
            let next = NEXT_STATES >> (state << 2 | u64::from(taken) << 1) & 0b11;
            *states ^= (state ^ next) << at;
        }
    }
}

/// The state of an entry after an outcome: two bits for each state (bits \[3:2] of the shift) and
/// outcome (bit 1).
const NEXT_STATES: u64 = 0b11_10_11_00_11_00_01_00;

/// How addresses select entries of a table: by the bits from 1 on, or from 2 on where there are no
/// compressed instructions.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::etrace) struct Entries {
    low: u8,
    /// At most 7 bits.
    mask: u8,
}

impl Entries {
    /// Of the branch predictor.
    #[inline]
    pub(in crate::etrace) fn of_predictor(params: &Params) -> Entries {
        Entries::new(params.widths.bpred_size, params)
    }

    /// Of the jump target cache.
    #[inline]
    pub(in crate::etrace) fn of_targets(params: &Params) -> Entries {
        Entries::new(params.widths.cache_size, params)
    }

    /// 2 to the power of `size` entries.
    fn new(size: u8, params: &Params) -> Entries {
        Entries { low: params.widths.iaddress_lsb.clamp(1, 3), mask: (1 << size.min(7)) - 1 }
    }

    /// The index of the entry of `address`.
    #[inline]
    pub(in crate::etrace) const fn index(self, address: u64) -> usize {
        (address >> (self.low & 63)) as usize & self.mask as usize & (MAX_ENTRIES - 1)
    }
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
        let entries = Entries::of_predictor(&params);
        for (state, taken, want) in [
            (0b00, false, 0b00),
            (0b00, true, 0b01),
            (0b01, false, 0b00),
            (0b01, true, 0b11),
            (0b11, true, 0b11),
            (0b11, false, 0b10),
            (0b10, true, 0b11),
            (0b10, false, 0b00),
        ] {
            let in_state = |state: u64| {
                let mut predictor = Predictor::default();
                predictor.states[0] = predictor.states[0] & !(0b11 << 10) | state << 10;
                predictor
            };
            let mut predictor = in_state(state);
            assert_eq!(predictor.predict(10, entries), state >> 1 == 1);
            predictor.update(10, taken, entries);
            let want = in_state(want);
            assert_eq!(predictor, want, "{state:?} {taken}");
        }
    }
}
