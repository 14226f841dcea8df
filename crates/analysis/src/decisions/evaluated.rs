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
    }
}
