//! Decisions that are computed as values: the last condition has no branch of its own. So does
//! clang without optimisation in loops, assignments and returns: the branch of a loop tests the
//! value, which the short circuits have, too.

use std::collections::BTreeSet;

use tracewright_symbols::Lines;

use super::assign::{ATTEMPTS, Assigned, Assignment, Edge, LastCondition, Search};
use super::chain::tests_one_value;
use super::decision::Decision;
use super::expression::Next;
use super::nearby::DecisionLines;
use super::walk::Walk;

/// Finds how the branches of a decision lead to each other.
struct ByValue<'a, 'b> {
    decision: &'a Decision,
    search: Search<'a>,
    lines: (&'a Lines, &'a DecisionLines),
    walk: &'a mut Walk<'b>,
    attempts: usize,
    found: BTreeSet<Vec<(u64, bool)>>,
    /// The branch that tests the value.
    test: Option<u64>,
}

/// The copy of a decision whose last condition is evaluated by none of `candidates`, each of which
/// evaluates another condition, or tests the value. For code of clang without optimisation.
pub(super) fn assignment(
    decision: &Decision,
    candidates: &BTreeSet<u64>,
    lines: (&Lines, &DecisionLines),
    walk: &mut Walk<'_>,
) -> Option<Assignment> {
    let conditions = decision.conditions.len();
    let first = candidates.first()?;
    let clang = lines.0.producer(*first)?.contains("clang version ");
    if !(clang && lines.0.is_unoptimised(*first) && decision.exact && conditions > 1) {
        return None;
    }
    let search = Search::new(decision, candidates, walk);
    let (found, test) = (BTreeSet::new(), None);
    let mut own = ByValue { decision, search, lines, walk, attempts: 0, found, test };
    for first in candidates {
        let mut assigned = vec![None; conditions - 1];
        *assigned.first_mut()? = Some(*first);
        own.next(0, &assigned, &mut Vec::new());
    }
    let one = own.found.first().filter(|_| own.found.len() == 1 && own.attempts <= ATTEMPTS)?;
    let unassigned: Vec<&u64> =
        candidates.iter().filter(|own| one.iter().all(|its| its.0 != **own)).collect();
    let last = match (own.test, &unassigned[..]) {
        (Some(test), [only]) if test == **only => LastCondition::OfValue(None),
        (_, []) => LastCondition::Unseen,
        _ => return None,
    };
    let mut branches: Vec<Assigned> = one
        .iter()
        .map(|(address, sense)| Assigned {
            address: *address,
            taken_is_true: *sense,
            is_known: true,
        })
        .collect();
    if let (LastCondition::OfValue(_), Some(address)) = (last, own.test) {
        branches.push(Assigned { address, taken_is_true: true, is_known: true });
    }
    let outcome = |next: Next| match next {
        Next::Outcome(outcome) => Some(outcome),
        Next::Condition(_) => None,
    };
    let outcomes = decision.conditions.iter().map(|own| own.next.map(outcome)).collect();
    Some(Assignment { branches, outcomes, outcome_known: true, last })
}

impl ByValue<'_, '_> {
    /// Assigns the conditions from position `n` on.
    fn next(&mut self, n: usize, assigned: &[Option<u64>], senses: &mut Vec<bool>) {
        self.attempts += 1;
        if self.attempts > ATTEMPTS {
            return;
        }
        let last = assigned.len();
        if n == last {
            let whole: Option<Vec<(u64, bool)>> =
                assigned.iter().zip(&*senses).map(|(own, sense)| Some(((*own)?, *sense))).collect();
            if let Some(whole) = whole
                && let Some(test) = self.check(&whole)
            {
                self.test = test;
                self.found.insert(whole);
            }
            return;
        }
        let Some(condition) = self.decision.conditions.get(n) else { return };
        let Some(address) = assigned.get(n).copied().flatten() else { return };
        let Some(edges) = self.search.edges.get(&address).cloned() else { return };
        for sense in [true, false] {
            let mut own = assigned.to_vec();
            let fits = [false, true].into_iter().all(|value| {
                let edge = &edges[usize::from(value == sense)];
                match condition.next[usize::from(value)] {
                    Next::Condition(next) if next < last => leads_to(edge, next, &mut own),
                    _ => true,
                }
            });
            if fits {
                senses.push(sense);
                self.next(n + 1, &own, senses);
                senses.pop();
            }
        }
    }

    /// Whether the last condition is evaluated where the others lead to it, and execution then
    /// reaches all places that their outcomes lead to: the value is complete there. Returns the
    /// branch behind it that tests the value, if one does.
    fn check(&mut self, whole: &[(u64, bool)]) -> Option<Option<u64>> {
        let (mut begins, mut ends) = (BTreeSet::new(), BTreeSet::new());
        for ((address, sense), condition) in whole.iter().zip(&self.decision.conditions) {
            let edges = self.search.edges.get(address)?;
            for value in [false, true] {
                let destination = edges[usize::from(value == *sense)].destination;
                match condition.next[usize::from(value)] {
                    Next::Condition(next) if next == whole.len() => begins.insert(destination),
                    Next::Condition(_) => continue,
                    Next::Outcome(_) => ends.insert(destination),
                };
            }
        }
        let (Some(begin), 1) = (begins.first(), begins.len()) else { return None };
        let (path, branch) = self.walk.straight(*begin)?;
        let joins: Option<Vec<usize>> =
            ends.iter().map(|end| path.iter().position(|own| own == end)).collect();
        let joins = joins?;
        let (first, join) = (*joins.iter().min()?, *joins.iter().max()?);
        let (lines, known) = self.lines;
        let own = self.decision.region.start.0..=self.decision.region.end.0;
        let is_own = |address: &u64| {
            lines.at(*address).is_some_and(|location| {
                location.line == 0 || own.contains(&location.line) && known.contains_key(&location)
            })
        };
        if first == 0 || !path.get(..=join)?.iter().all(is_own) {
            return None;
        }
        let test = branch.filter(|branch| {
            let path = path.get(join..).unwrap_or_default();
            self.search.edges.contains_key(branch) && tests_one_value(path, *branch, self.walk)
        });
        Some(test)
    }
}

/// Whether an edge leads to the branch of the condition `next`, and to no other one.
fn leads_to(edge: &Edge, next: usize, assigned: &mut [Option<u64>]) -> bool {
    let Some(reached) = &edge.reached else { return false };
    let (Some(only), 1) = (reached.first(), reached.len()) else { return false };
    match assigned.get(next).copied().flatten() {
        Some(known) => known == *only,
        None if assigned.contains(&Some(*only)) => false,
        None => {
            if let Some(place) = assigned.get_mut(next) {
                *place = Some(*only);
            }
            true
        }
    }
}
