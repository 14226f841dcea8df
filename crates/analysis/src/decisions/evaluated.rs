//! The evaluations of one copy of a decision.

use std::collections::BTreeMap;

/// The most different evaluations of a copy.
const MOST_VECTORS: usize = 4096;

/// An evaluation: the value of each condition, none where it was not evaluated, and the outcome.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Vector {
    /// By condition.
    pub values: Vec<Option<bool>>,
    /// The outcome.
    pub outcome: bool,
}

/// What was evaluated of a copy.
#[derive(Clone, Debug, Default)]
pub(super) struct Evaluated {
    /// Conditions that were evaluated, those that were true, the outcome.
    vectors: BTreeMap<(u64, u64, bool), u64>,
    /// Those without a known outcome, as the last condition has no branch, or an exception ended
    /// them: conditions that were evaluated, those that were true.
    open: BTreeMap<(u64, u64), u64>,
    /// By outcome of short circuits: whether the branch that tests the value was not taken, and
    /// whether it was.
    tested: [[bool; 2]; 2],
    pub(super) contradicted: bool,
    /// An evaluation was not followed to its end.
    pub(super) interrupted: bool,
    too_many: bool,
}

impl Evaluated {
    /// Why it cannot be measured.
    pub(super) fn problem(&self) -> Option<&'static str> {
        if self.contradicted {
            Some("its branches were executed in another order than that of its conditions")
        } else if self.too_many {
            Some("it was evaluated in too many ways")
        } else {
            None
        }
    }

    /// Its evaluations, and the number of each.
    pub(super) fn vectors(&self, conditions: usize) -> Vec<(Vector, u64)> {
        let vector = |(&(evaluated, values, outcome), &count): (&(u64, u64, bool), &u64)| {
            let value = |n: usize| (evaluated >> n & 1 != 0).then_some(values >> n & 1 != 0);
            (Vector { values: (0..conditions).map(value).collect(), outcome }, count)
        };
        self.vectors.iter().map(vector).collect()
    }

    /// The branch that tests the value follows a short circuit with this outcome.
    pub(super) fn test(&mut self, outcome: bool, taken: bool) {
        self.tested[usize::from(outcome)][usize::from(taken)] = true;
    }

    /// Of a copy whose value a branch tests: the outcome where this is taken, by short circuits
    /// and by the line table. An error where they contradict each other.
    pub(super) fn outcome_of_taken(&self, by_lines: Option<bool>) -> Result<Option<bool>, ()> {
        let [[no_not, no_taken], [yes_not, yes_taken]] = self.tested;
        let is_true = yes_taken || no_not || by_lines == Some(true);
        let is_false = no_taken || yes_not || by_lines == Some(false);
        match (is_true, is_false) {
            (true, true) => Err(()),
            (false, false) => Ok(None),
            (own, _) => Ok(Some(own)),
        }
    }

    /// The values of evaluations without a known outcome, with the number of each.
    pub(super) fn open(&self, conditions: usize) -> Vec<(Vec<Option<bool>>, u64)> {
        let all = self.open.iter().map(|(&(evaluated, values), &count)| {
            let value = |n: usize| (evaluated >> n & 1 != 0).then_some(values >> n & 1 != 0);
            ((0..conditions).map(value).collect(), count)
        });
        all.collect()
    }

    /// Adds evaluations without a known outcome.
    pub(super) fn add_open(&mut self, open: (u64, u64), times: u64) {
        if self.open.len() < MOST_VECTORS || self.open.contains_key(&open) {
            let count = self.open.entry(open).or_default();
            *count = count.saturating_add(times);
        } else {
            self.too_many = true;
        }
    }

    pub(super) fn add(&mut self, vector: (u64, u64, bool), times: u64) {
        if let Some(count) = self.vectors.get_mut(&vector) {
            *count = count.saturating_add(times);
        } else if self.vectors.len() < MOST_VECTORS {
            self.vectors.insert(vector, times);
        } else {
            self.too_many = true;
        }
    }

    /// Adds the evaluations of another buffer.
    pub(super) fn merge(&mut self, other: Evaluated) {
        self.contradicted |= other.contradicted;
        self.interrupted |= other.interrupted;
        self.too_many |= other.too_many;
        other.vectors.into_iter().for_each(|(vector, times)| self.add(vector, times));
        other.open.into_iter().for_each(|(open, times)| self.add_open(open, times));
        for (own, its) in self.tested.as_flattened_mut().iter_mut().zip(other.tested.as_flattened())
        {
            *own |= its;
        }
    }
}
