//! What the evaluations of a decision cover.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::assign::{Assignment, LastCondition};
use super::copies::{Copies, Unmatched};
use super::decision::Decision;
use super::evaluated::{Evaluated, Vector};
use super::expression::Next;
use crate::totals::Totals;

/// How the independence of a condition is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Criterion {
    /// Masking MC/DC: two evaluations with other outcomes in which the condition differs, and none
    /// behind it that was evaluated in both. (DO-248C, FAQ 43; CAST-6)
    #[default]
    Masking,
    /// Unique cause with short circuits: no other condition that was evaluated in both differs.
    UniqueCause,
}

/// What is covered of a condition: executions, or unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConditionCoverage {
    /// How often it was false, and how often true.
    pub values: [Option<u64>; 2],
    /// Whether it was shown to decide the outcome independently.
    pub independent: Option<bool>,
}

/// What is covered of a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionCoverage {
    /// How often its outcome was false, and how often true.
    pub outcomes: [Option<u64>; 2],
    /// The conditions.
    pub conditions: Vec<ConditionCoverage>,
    /// The evaluations of copies whose values are known, with the number of each.
    pub vectors: BTreeMap<Vector, u64>,
    /// Code that could not be measured: what is not covered may be.
    pub unmeasured: Vec<Unmatched>,
    /// Copies in the programs that were measured.
    pub copies: usize,
    /// Those of them of which it is not known which values or outcomes are true.
    pub unnamed: usize,
}

/// A decision, and what is covered of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredDecision {
    /// The decision.
    pub decision: Decision,
    /// What is covered.
    pub covered: DecisionCoverage,
}

impl DecisionCoverage {
    /// The totals of the outcomes.
    pub fn outcome_totals(&self) -> Totals {
        Totals::of(self.outcomes)
    }

    /// The totals of the values of conditions.
    pub fn value_totals(&self) -> Totals {
        Totals::of(self.conditions.iter().flat_map(|own| own.values))
    }

    /// The totals of the conditions that were shown to be independent.
    pub fn independence_totals(&self) -> Totals {
        let count = |own: &ConditionCoverage| own.independent.map(u64::from);
        Totals::of(self.conditions.iter().map(count))
    }
}

/// Whether `vectors` show that the condition `n` is independent.
pub(super) fn is_independent(vectors: &[Vector], n: usize, criterion: Criterion) -> bool {
    let value = |own: &Vector| own.values.get(n).copied().flatten();
    vectors.iter().filter(|own| value(own) == Some(false)).any(|no| {
        vectors.iter().filter(|own| value(own) == Some(true)).any(|yes| {
            let from = match criterion {
                Criterion::Masking => n + 1,
                Criterion::UniqueCause => 0,
            };
            let pairs = no.values.iter().zip(&yes.values).enumerate();
            let mut others = pairs.skip(from).filter(|(at, _)| *at != n);
            no.outcome != yes.outcome
                && others.all(|(_, (a, b))| a.is_none() || b.is_none() || a == b)
        })
    })
}

/// The coverage of `decisions` by the evaluations of their copies.
pub(super) fn cover(
    decisions: &[Decision],
    copies: &Copies,
    evaluated: &[Evaluated],
    criterion: Criterion,
) -> Vec<DecisionCoverage> {
    let mut all: Vec<DecisionCoverage> = decisions
        .iter()
        .zip(&copies.unmatched)
        .map(|(decision, unmatched)| DecisionCoverage {
            outcomes: [Some(0); 2],
            conditions: vec![
                ConditionCoverage { values: [Some(0); 2], independent: Some(false) };
                decision.conditions.len()
            ],
            unmeasured: unmatched.clone(),
            ..DecisionCoverage::default()
        })
        .collect();
    for (copy, evaluated) in copies.all.iter().zip(evaluated) {
        let (Some(own), Some(decision)) =
            (all.get_mut(copy.decision), decisions.get(copy.decision))
        else {
            continue;
        };
        if let Some(reason) = evaluated.problem() {
            let (function, reason) = (copy.function.clone(), reason.to_owned());
            own.unmeasured.push(Unmatched { function, reason });
            continue;
        }
        let mut vectors = evaluated.vectors(decision.conditions.len());
        let mut assignment = Cow::Borrowed(&copy.assignment);
        if let LastCondition::OfValue(by_lines) = assignment.last {
            let outcome = match evaluated.outcome_of_taken(by_lines) {
                Ok(outcome) => outcome,
                Err(()) => {
                    let reason = "the branch behind it tests another value".to_owned();
                    own.unmeasured.push(Unmatched { function: copy.function.clone(), reason });
                    continue;
                }
            };
            vectors = of_value(vectors, decision, outcome.unwrap_or(true));
            if outcome.is_none() {
                let assignment = assignment.to_mut();
                assignment.outcome_known = false;
                if let Some(last) = assignment.branches.last_mut() {
                    last.is_known = false;
                }
            }
        }
        own.copies += 1;
        let open = evaluated.open(decision.conditions.len());
        let are_known = assignment.branches.iter().all(|branch| branch.is_known);
        if evaluated.interrupted || !(open.is_empty() || are_known) {
            let reason = "an evaluation was not followed to its end".to_owned();
            own.unmeasured.push(Unmatched { function: copy.function.clone(), reason });
        }
        if are_known {
            own.add_open(open);
        }
        match assignment.outcome_known && are_known {
            true => own.add_known(vectors),
            false => {
                own.unnamed += 1;
                own.add_unnamed(&vectors, &assignment, criterion);
            }
        }
    }
    all
}

/// Evaluations of a copy whose value a branch tests, which has `outcome` where it is taken: those
/// that evaluate the last condition have it by that branch.
fn of_value(vectors: Vec<(Vector, u64)>, decision: &Decision, outcome: bool) -> Vec<(Vector, u64)> {
    let Some(last) = decision.conditions.last() else { return vectors };
    let mut vectors = vectors;
    for (vector, _) in &mut vectors {
        if let Some(value @ Some(_)) = vector.values.last_mut() {
            vector.outcome = vector.outcome == outcome;
            *value = Some(last.next[1] == Next::Outcome(vector.outcome));
        }
    }
    vectors
}

impl DecisionCoverage {
    /// Adds the values of evaluations whose outcome is not known.
    fn add_open(&mut self, open: Vec<(Vec<Option<bool>>, u64)>) {
        for (values, count) in open {
            for (own, value) in self.conditions.iter_mut().zip(values) {
                if let Some(sum) = value.and_then(|value| own.values.get_mut(usize::from(value))) {
                    *sum = Some(sum.unwrap_or(0).saturating_add(count));
                }
            }
        }
    }

    /// Adds evaluations whose values are those of the text.
    fn add_known(&mut self, vectors: Vec<(Vector, u64)>) {
        for (vector, count) in &vectors {
            let add = |sum: &mut Option<u64>| {
                *sum = Some(sum.unwrap_or(0).saturating_add(*count));
            };
            self.outcomes.get_mut(usize::from(vector.outcome)).into_iter().for_each(add);
            for (own, value) in self.conditions.iter_mut().zip(&vector.values) {
                let sum = value.and_then(|value| own.values.get_mut(usize::from(value)));
                sum.into_iter().for_each(add);
            }
        }
        for (vector, count) in vectors {
            let sum = self.vectors.entry(vector).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// Adds what another capture covers of the same decision.
    pub fn merge(&mut self, other: DecisionCoverage) {
        let add = |sum: &mut Option<u64>, count: Option<u64>| {
            *sum = match (*sum, count) {
                (Some(sum), Some(count)) => Some(sum.saturating_add(count)),
                // A count shows more than that it is not known whether there is one.
                (a, b) => a.or(b).filter(|count| *count > 0),
            };
        };
        self.outcomes.iter_mut().zip(other.outcomes).for_each(|(sum, own)| add(sum, own));
        for (own, its) in self.conditions.iter_mut().zip(other.conditions) {
            own.values.iter_mut().zip(its.values).for_each(|(sum, own)| add(sum, own));
            own.independent = match (own.independent, its.independent) {
                (Some(a), Some(b)) => Some(a || b),
                (a, b) => a.or(b).filter(|shown| *shown),
            };
        }
        for (vector, count) in other.vectors {
            let sum = self.vectors.entry(vector).or_default();
            *sum = sum.saturating_add(count);
        }
        for own in other.unmeasured {
            if !self.unmeasured.contains(&own) {
                self.unmeasured.push(own);
            }
        }
        self.copies = self.copies.max(other.copies);
        self.unnamed = self.unnamed.max(other.unnamed);
    }

    /// Finds which conditions are independent, by all evaluations. With `losses`, and where code
    /// could not be measured, what is not covered is unknown.
    pub fn finish(&mut self, criterion: Criterion, losses: bool) {
        let all: Vec<Vector> = self.vectors.keys().cloned().collect();
        for (n, own) in self.conditions.iter_mut().enumerate() {
            if is_independent(&all, n, criterion) {
                own.independent = Some(true);
            }
        }
        if losses || !self.unmeasured.is_empty() {
            self.lose();
        }
    }

    /// Adds evaluations of a copy of which it is not known which values or outcomes are true: both
    /// occurred, or one of them, and it is not known which.
    fn add_unnamed(
        &mut self,
        vectors: &[(Vector, u64)],
        assignment: &Assignment,
        criterion: Criterion,
    ) {
        let sides = |seen: [u64; 2], known: bool, own: &mut [Option<u64>; 2]| match seen {
            [0, 0] => {}
            _ if known => {
                for (own, seen) in own.iter_mut().zip(seen) {
                    *own = Some(own.unwrap_or(0).saturating_add(seen)).filter(|_| {
                        // What was unknown remains so.
                        own.is_some() || seen > 0
                    });
                }
            }
            [0, _] | [_, 0] => {
                let unknown = |count: &mut Option<u64>| *count = count.filter(|count| *count > 0);
                own.iter_mut().for_each(unknown);
            }
            [a, b] => {
                // At least as often as the rarer one.
                let least = a.min(b);
                own.iter_mut().for_each(|own| {
                    *own = Some(own.unwrap_or(0).saturating_add(least));
                });
            }
        };
        let count = |of: &dyn Fn(&Vector) -> Option<bool>| {
            let mut seen = [0u64; 2];
            for (vector, count) in vectors {
                if let Some(own) = of(vector).and_then(|value| seen.get_mut(usize::from(value))) {
                    *own = own.saturating_add(*count);
                }
            }
            seen
        };
        sides(count(&|vector| Some(vector.outcome)), assignment.outcome_known, &mut self.outcomes);
        let all: Vec<Vector> = vectors.iter().map(|(vector, _)| vector.clone()).collect();
        for (n, own) in self.conditions.iter_mut().enumerate() {
            let known = assignment.branches.get(n).is_some_and(|branch| branch.is_known);
            sides(count(&|vector| vector.values.get(n).copied().flatten()), known, &mut own.values);
            if is_independent(&all, n, criterion) {
                own.independent = Some(true);
            }
        }
    }

    /// What is not covered becomes unknown.
    fn lose(&mut self) {
        let unknown = |count: &mut Option<u64>| *count = count.filter(|count| *count > 0);
        self.outcomes.iter_mut().for_each(unknown);
        for own in &mut self.conditions {
            own.values.iter_mut().for_each(unknown);
            own.independent = own.independent.filter(|shown| *shown);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tracewright_testing::{Random, times};

    use super::super::Tree;
    use super::*;

    fn tree(random: &mut Random, conditions: usize, next: &mut usize) -> Tree {
        let own = if conditions == 1 {
            *next += 1;
            Tree::Condition(*next - 1)
        } else {
            let left = random.between(1, conditions - 1);
            let first = Box::new(tree(random, left, next));
            let second = Box::new(tree(random, conditions - left, next));
            if random.one_in(2) { Tree::And(first, second) } else { Tree::Or(first, second) }
        };
        if random.one_in(5) { Tree::Not(Box::new(own)) } else { own }
    }

    /// Evaluates an expression as a program does, and adds the conditions that are not masked: one
    /// in the left operand of an operator is, where the right operand decides.
    fn evaluate(
        own: &Tree,
        values: &[bool],
        evaluated: &mut [Option<bool>],
        visible: &mut BTreeSet<usize>,
    ) -> bool {
        match own {
            Tree::Condition(n) => {
                evaluated[*n] = Some(values[*n]);
                visible.insert(*n);
                values[*n]
            }
            Tree::Not(own) => !evaluate(own, values, evaluated, visible),
            Tree::And(left, right) | Tree::Or(left, right) => {
                let decides = matches!(own, Tree::Or(..));
                let mut of_left = BTreeSet::new();
                let first = evaluate(left, values, evaluated, &mut of_left);
                let second = first != decides && {
                    let second = evaluate(right, values, evaluated, visible);
                    if second == decides {
                        of_left.clear();
                    }
                    second
                };
                visible.append(&mut of_left);
                if first == decides { decides } else { second }
            }
        }
    }

    /// A condition is shown by two evaluations exactly if it was seen with both values where it is
    /// not masked; and whatever unique cause shows, masking shows, too.
    #[test]
    fn pairs_show_what_masking_shows() {
        let mut random = Random::new(41);
        let (mut shown, mut stricter) = (0, 0);
        for round in 0..times(300) {
            let conditions = random.between(1, 7);
            let own = tree(&mut random, conditions, &mut 0);
            let mut seen = vec![[false; 2]; conditions];
            let mut vectors = BTreeSet::new();
            for _ in 0..random.between(1, 20) {
                let values: Vec<bool> = (0..conditions).map(|_| random.one_in(2)).collect();
                let (mut evaluated, mut visible) = (vec![None; conditions], BTreeSet::new());
                let outcome = evaluate(&own, &values, &mut evaluated, &mut visible);
                for n in visible {
                    seen[n][usize::from(values[n])] = true;
                }
                vectors.insert(Vector { values: evaluated, outcome });
            }
            let vectors: Vec<Vector> = vectors.into_iter().collect();
            for (n, seen) in seen.iter().enumerate() {
                let masking = is_independent(&vectors, n, Criterion::Masking);
                let unique = is_independent(&vectors, n, Criterion::UniqueCause);
                assert_eq!(masking, *seen == [true; 2], "{round}: {n} of {own:?}: {vectors:?}");
                assert!(masking || !unique, "{round}: {n} of {own:?}: {vectors:?}");
                shown += usize::from(masking);
                stricter += usize::from(masking && !unique);
            }
        }
        assert!(shown > 300 && stricter > 10, "{shown}, {stricter}");
    }

    /// Captures in any order cover the same; what one does not know, the other may cover.
    #[test]
    fn captures_are_merged() {
        let condition =
            |values: [Option<u64>; 2]| ConditionCoverage { values, independent: Some(false) };
        let vector = |value: bool| Vector { values: vec![Some(value)], outcome: value };
        let own = |value: bool, unknown: bool| {
            let mut values = [Some(0); 2];
            values[usize::from(value)] = Some(3);
            if unknown {
                values[usize::from(!value)] = None;
            }
            DecisionCoverage {
                outcomes: values,
                conditions: vec![condition(values)],
                vectors: BTreeMap::from([(vector(value), 3)]),
                copies: 1,
                ..DecisionCoverage::default()
            }
        };
        for (a, b) in [(own(false, false), own(true, true)), (own(true, true), own(false, false))] {
            let mut all = a.clone();
            all.merge(b.clone());
            all.merge(b);
            all.finish(Criterion::Masking, false);
            assert_eq!(all.conditions[0].independent, Some(true));
            assert!(all.outcomes.iter().all(|count| count.is_some_and(|count| count >= 3)));
            let mut one = a;
            one.finish(Criterion::Masking, true);
            assert_eq!(one.conditions[0].independent, None);
            assert_eq!(one.outcomes.iter().filter(|count| count.is_none()).count(), 1);
        }
    }
}
