//! Which branch of a program evaluates which condition of a decision: the one by which the branches
//! lead to each other as the conditions do.

use std::collections::{BTreeMap, BTreeSet};

use super::decision::Decision;
use super::expression::Next;
use super::walk::Walk;

/// A branch that evaluates a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Assigned {
    /// Its address in the program file.
    pub(super) address: u64,
    /// The condition is true where it is taken.
    pub(super) taken_is_true: bool,
    /// It is known which of its values is true.
    pub(super) is_known: bool,
}

/// A copy of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    /// By condition.
    pub(super) branches: Vec<Assigned>,
    /// By condition: the outcome where it is false and where it is true, if there is one.
    pub(super) outcomes: Vec<[Option<bool>; 2]>,
    /// It is known which outcome is true.
    pub(super) outcome_known: bool,
    pub(super) last: LastCondition,
}

/// What evaluates the last condition of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LastCondition {
    /// A branch of its own.
    #[default]
    Own,
    /// A branch that tests the value of the decision: it is executed behind each outcome, too. The
    /// outcome where it is taken, as far as the line table shows it.
    OfValue(Option<bool>),
    /// None: its value is not in the trace.
    Unseen,
}

/// Why a decision is not measurable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// No branches lead to each other as the conditions do.
    None,
    /// Several do.
    Several,
    /// There are too many possibilities.
    Limit,
}

/// The most attempts for a decision and a first branch.
pub(super) const ATTEMPTS: usize = 20_000;

/// Where the two edges of a branch lead.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    /// The branches of the decision that are reached first.
    pub(super) reached: Option<BTreeSet<u64>>,
    pub(super) destination: u64,
}

/// Finds assignments.
pub(super) struct Search<'a> {
    decision: &'a Decision,
    /// Where each branch leads: not taken, taken.
    pub(super) edges: BTreeMap<u64, [Edge; 2]>,
    attempts: usize,
    found: Vec<(Vec<(u64, bool)>, bool)>,
}

impl<'a> Search<'a> {
    /// For the branches `candidates`.
    pub(super) fn new(
        decision: &'a Decision,
        candidates: &BTreeSet<u64>,
        walk: &mut Walk<'_>,
    ) -> Search<'a> {
        let mut edges = BTreeMap::new();
        for address in candidates {
            let Some(targets) = walk.edges(*address) else { continue };
            let edge = targets.map(|start| Edge {
                reached: walk.reaches(start, candidates),
                destination: walk.destination(start),
            });
            edges.insert(*address, edge);
        }
        Search { decision, edges, attempts: 0, found: Vec::new() }
    }

    /// The assignment whose first condition is evaluated by the branch `first`.
    pub(super) fn of(&mut self, first: u64) -> Result<Assignment, Failure> {
        self.attempts = 0;
        self.found.clear();
        let mut assigned = vec![None; self.decision.conditions.len()];
        if let Some(own) = assigned.first_mut() {
            *own = Some(first);
        }
        if !self.next(0, &assigned, &mut Vec::new()) {
            return Err(Failure::Limit);
        }
        // Those with the outcomes of the text come before others.
        let consistent = self.found.iter().any(|(_, consistent)| *consistent);
        let mut all: Vec<_> = std::mem::take(&mut self.found);
        all.retain(|(_, own)| *own == consistent);
        let Some((one, _)) = all.first() else { return Err(Failure::None) };
        let same = |other: &&(Vec<(u64, bool)>, bool)| {
            other.0.iter().map(|own| own.0).eq(one.iter().map(|own| own.0))
        };
        if all.iter().filter(same).count() != all.len() {
            return Err(Failure::Several);
        }
        let agree = |n: usize| all.iter().all(|other| other.0.get(n) == one.get(n));
        let branches: Vec<Assigned> = one
            .iter()
            .enumerate()
            .map(|(n, (address, taken_is_true))| Assigned {
                address: *address,
                taken_is_true: *taken_is_true,
                is_known: agree(n) && self.decision.is_value_known(n),
            })
            .collect();
        let outcomes = self.outcomes(one, consistent);
        let outcome_known = consistent && all.len() == 1 && self.decision.exact;
        Ok(Assignment { branches, outcomes, outcome_known, last: LastCondition::Own })
    }

    /// Assigns the conditions from position `n` on. Returns `false` where there are too many
    /// possibilities.
    fn next(&mut self, n: usize, assigned: &[Option<u64>], senses: &mut Vec<bool>) -> bool {
        self.attempts += 1;
        if self.attempts > ATTEMPTS {
            return false;
        }
        let Some(condition) = self.decision.conditions.get(n) else {
            let whole: Option<Vec<(u64, bool)>> = assigned
                .iter()
                .zip(senses.iter())
                .map(|(own, sense)| Some(((*own)?, *sense)))
                .collect();
            if let Some(whole) = whole
                && let Some(consistent) = self.check(&whole)
            {
                self.found.push((whole, consistent));
            }
            return true;
        };
        // No branch leads to it.
        let Some(address) = assigned.get(n).copied().flatten() else { return true };
        let Some(edges) = self.edges.get(&address).cloned() else { return true };
        for taken_is_true in [true, false] {
            let mut own = assigned.to_vec();
            let fits = [false, true].into_iter().all(|value| {
                let taken = value == taken_is_true;
                let Next::Condition(next) = condition.next[usize::from(value)] else { return true };
                let Some(reached) = &edges[usize::from(taken)].reached else { return false };
                let mut all = reached.iter();
                let (Some(only), None) = (all.next(), all.next()) else { return false };
                match own.get(next).copied().flatten() {
                    Some(known) => known == *only,
                    None if own.contains(&Some(*only)) => false,
                    None => {
                        if let Some(place) = own.get_mut(next) {
                            *place = Some(*only);
                        }
                        true
                    }
                }
            });
            if fits {
                senses.push(taken_is_true);
                let more = self.next(n + 1, &own, senses);
                senses.pop();
                if !more {
                    return false;
                }
            }
        }
        true
    }

    /// Where each outcome leads: the condition, its value, the outcome of the text, the address.
    fn ends(&self, whole: &[(u64, bool)]) -> Vec<(usize, bool, bool, u64)> {
        let mut ends = Vec::new();
        for (n, ((address, sense), condition)) in
            whole.iter().zip(&self.decision.conditions).enumerate()
        {
            let Some(edges) = self.edges.get(address) else { continue };
            for value in [false, true] {
                if let Next::Outcome(outcome) = condition.next[usize::from(value)] {
                    let destination = edges[usize::from(value == *sense)].destination;
                    ends.push((n, value, outcome, destination));
                }
            }
        }
        ends
    }

    /// Whether the outcomes lead to two places, as those of the text. `None`: to more than two, or
    /// back into the decision.
    fn check(&self, whole: &[(u64, bool)]) -> Option<bool> {
        let ends = self.ends(whole);
        let places: BTreeSet<u64> = ends.iter().map(|end| end.3).collect();
        let own: BTreeSet<u64> = whole.iter().map(|own| own.0).collect();
        let first = whole.first()?.0;
        // Before it is evaluated again, none of its conditions is.
        let again = ends.iter().any(|(n, value, ..)| {
            let Some((address, sense)) = whole.get(*n) else { return true };
            let reached =
                self.edges.get(address).map(|edges| &edges[usize::from(value == sense)].reached);
            reached.is_none_or(|reached| {
                reached.as_ref().is_some_and(|all| {
                    all.iter().any(|other| *other != first && own.contains(other))
                })
            })
        });
        if places.len() != 2 || again {
            return None;
        }
        let of = |outcome: bool| -> BTreeSet<u64> {
            ends.iter().filter(|end| end.2 == outcome).map(|end| end.3).collect()
        };
        let consistent = of(false).len() == 1 && of(true).len() == 1;
        (consistent || !self.decision.exact).then_some(consistent)
    }

    /// The outcomes: those of the text, or one for each place that they lead to.
    fn outcomes(&self, whole: &[(u64, bool)], consistent: bool) -> Vec<[Option<bool>; 2]> {
        let ends = self.ends(whole);
        let first = ends.iter().map(|end| end.3).min();
        let mut all = vec![[None; 2]; whole.len()];
        for (n, value, outcome, destination) in ends {
            if let Some(own) = all.get_mut(n) {
                let outcome = if consistent { outcome } else { Some(destination) == first };
                own[usize::from(value)] = Some(outcome);
            }
        }
        all
    }
}
