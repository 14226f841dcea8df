//! What runs cover of a decision.

use std::collections::{BTreeMap, BTreeSet};

use tracewright_symbols::Region;

use super::cell::Cell;
use crate::decisions::{
    Condition, ConditionCoverage, Criterion, Decision, DecisionCoverage, MeasuredDecision, Next,
    Unmatched, Vector,
};

/// A decision as runs describe it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DecisionKey {
    /// The path of the source file.
    pub file: String,
    /// Its place.
    pub region: Region,
    /// The conditions.
    pub conditions: Vec<ConditionKey>,
    /// The outcomes are those of the text: [`Decision::exact`].
    pub exact: bool,
}

/// A condition as runs describe it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConditionKey {
    /// Its place.
    pub region: Region,
    /// Its text; empty where it is not known.
    pub text: String,
    /// Where it is false, and where it is true: the condition that is evaluated next, or the
    /// outcome.
    pub next: [Result<usize, bool>; 2],
}

/// What runs cover of a condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoveredCondition {
    /// That it was false, and that it was true.
    pub values: [Cell; 2],
    /// Whether code of which it is not known which values are true shows that it decides the
    /// outcome: by masking, and by unique cause.
    pub independent: [Option<bool>; 2],
}

/// What runs cover of a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoveredDecision {
    /// That its outcome was false, and that it was true.
    pub outcomes: [Cell; 2],
    /// The conditions.
    pub conditions: Vec<CoveredCondition>,
    /// The evaluations, and the number of each.
    pub vectors: BTreeMap<Vector, u64>,
    /// Code that could not be measured: the function, and why.
    pub unmeasured: BTreeSet<(Option<String>, String)>,
    /// The most copies in a run.
    pub copies: u64,
    /// The most copies in a run of which it is not known which values or outcomes are true.
    pub unnamed: u64,
}

/// Whether one of two groups of runs shows that a condition is independent.
fn shown(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (None, _) | (_, None) => None,
        _ => Some(false),
    }
}

impl DecisionKey {
    /// That of a decision.
    pub fn of(decision: &Decision) -> DecisionKey {
        let next = |next: Next| match next {
            Next::Condition(n) => Ok(n),
            Next::Outcome(value) => Err(value),
        };
        let conditions = decision.conditions.iter().map(|own| ConditionKey {
            region: own.region,
            text: own.text.clone(),
            next: own.next.map(next),
        });
        DecisionKey {
            file: decision.file.clone(),
            region: decision.region,
            conditions: conditions.collect(),
            exact: decision.exact,
        }
    }

    fn decision(&self) -> Decision {
        let conditions = self.conditions.iter().map(|own| Condition {
            region: own.region,
            text: own.text.clone(),
            next: own.next.map(|next| next.map_or_else(Next::Outcome, Next::Condition)),
        });
        Decision {
            file: self.file.clone(),
            region: self.region,
            conditions: conditions.collect(),
            exact: self.exact,
            leads_to: Default::default(),
            refused: None,
        }
    }
}

impl CoveredDecision {
    /// That of one run, by masking and by unique cause. With `losses`, what is not covered is
    /// unknown.
    pub fn of(masking: &DecisionCoverage, unique: &DecisionCoverage, losses: bool) -> Self {
        let cell = |count: Option<u64>| Cell::of(count.filter(|count| !losses || *count > 0));
        let conditions = masking.conditions.iter().zip(&unique.conditions).map(|(own, its)| {
            let independent = [own.independent, its.independent];
            CoveredCondition {
                values: own.values.map(cell),
                independent: independent.map(|own| own.filter(|shown| !losses || *shown)),
            }
        });
        let unmeasured = masking.unmeasured.iter();
        CoveredDecision {
            outcomes: masking.outcomes.map(cell),
            conditions: conditions.collect(),
            vectors: masking.vectors.clone(),
            unmeasured: unmeasured.map(|own| (own.function.clone(), own.reason.clone())).collect(),
            copies: masking.copies as u64,
            unnamed: masking.unnamed as u64,
        }
    }

    /// That of runs which did not measure it.
    pub(super) fn absent(conditions: usize) -> CoveredDecision {
        let cell = || Cell::absent(true);
        let condition = || CoveredCondition { values: [cell(), cell()], independent: [None; 2] };
        CoveredDecision {
            outcomes: [cell(), cell()],
            conditions: (0..conditions).map(|_| condition()).collect(),
            ..CoveredDecision::default()
        }
    }

    /// All cells.
    pub fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.outcomes.iter().chain(self.conditions.iter().flat_map(|own| &own.values))
    }

    pub(super) fn cells_mut(&mut self) -> impl Iterator<Item = &mut Cell> {
        self.outcomes.iter_mut().chain(self.conditions.iter_mut().flat_map(|own| &mut own.values))
    }

    /// Adds what other runs cover.
    pub(super) fn add(&mut self, other: CoveredDecision) {
        self.cells_mut().zip(other.cells()).for_each(|(own, its)| own.add(its));
        for (own, its) in self.conditions.iter_mut().zip(&other.conditions) {
            let pairs = own.independent.iter_mut().zip(its.independent);
            pairs.for_each(|(own, its)| *own = shown(*own, its));
        }
        for (vector, count) in other.vectors {
            let sum = self.vectors.entry(vector).or_default();
            *sum = sum.saturating_add(count);
        }
        self.unmeasured.extend(other.unmeasured);
        self.copies = self.copies.max(other.copies);
        self.unnamed = self.unnamed.max(other.unnamed);
    }

    /// The decision, and what is covered of it.
    pub(super) fn measured(&self, key: &DecisionKey, criterion: Criterion) -> MeasuredDecision {
        let which = usize::from(criterion == Criterion::UniqueCause);
        let conditions = self.conditions.iter().map(|own| ConditionCoverage {
            values: own.values.each_ref().map(|cell| cell.count),
            independent: own.independent.get(which).copied().flatten(),
        });
        let unmeasured = self.unmeasured.iter().cloned();
        let mut covered = DecisionCoverage {
            outcomes: self.outcomes.each_ref().map(|cell| cell.count),
            conditions: conditions.collect(),
            vectors: self.vectors.clone(),
            unmeasured: unmeasured
                .map(|(function, reason)| Unmatched { function, reason })
                .collect(),
            copies: self.copies as usize,
            unnamed: self.unnamed as usize,
        };
        covered.finish(criterion, false);
        MeasuredDecision { decision: key.decision(), covered }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independence_is_commutative_and_associative() {
        let all = [None, Some(false), Some(true)];
        for a in all {
            for b in all {
                assert_eq!(shown(a, b), shown(b, a));
                for c in all {
                    assert_eq!(shown(shown(a, b), c), shown(a, shown(b, c)));
                }
            }
        }
        assert_eq!(shown(None, Some(false)), None);
    }
}
