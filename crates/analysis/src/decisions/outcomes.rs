//! What outcomes of branches alone cover, without the order in which they were executed.

use std::collections::BTreeMap;

use super::assign::LastCondition;
use super::copies::{Copies, Copy, OPTIMISED, Unmatched};
use super::covered::{ConditionCoverage, DecisionCoverage};
use super::decision::Decision;
use super::evaluated::Vector;

/// Why code of an optimiser is not measured: there, the order contradicts assignments that are
/// wrong.
const UNCHECKED: &str = "the compiler may optimise, and without the order in which branches were \
                         executed it is not checked which condition each evaluates";
/// Why a copy is not measured of which not each condition has a branch.
const NO_BRANCH: &str = "its last condition has no branch of its own: what it was follows from the \
                         order in which branches were executed";

/// What was executed of a program file.
#[derive(Clone, Copy, Debug)]
pub struct ExecutedBranches<'a> {
    /// Executions of each instruction that was executed, by its address in the file.
    pub executions: &'a BTreeMap<u64, u64>,
    /// Of each conditional branch: how often it was taken, and how often not.
    pub outcomes: &'a BTreeMap<u64, [u64; 2]>,
}

/// What occurred of a value, false and true; none where it is not known.
type Sides = [Option<bool>; 2];

impl Copies {
    /// What the outcomes of branches in `programs`, those of the files of these copies, cover of
    /// `decisions`. What occurred counts 1. Conditions of decisions that have several are not known
    /// to be independent, nor not to be.
    pub fn of_outcomes(
        &self,
        decisions: &[Decision],
        programs: &[ExecutedBranches<'_>],
    ) -> Vec<DecisionCoverage> {
        let of = |decision: &Decision| {
            let several = decision.conditions.len() > 1;
            let independent = (!several).then_some(false);
            let own = ConditionCoverage { values: [Some(0); 2], independent };
            let conditions = vec![own; decision.conditions.len()];
            DecisionCoverage { outcomes: [Some(0); 2], conditions, ..DecisionCoverage::default() }
        };
        let mut all: Vec<DecisionCoverage> = decisions.iter().map(of).collect();
        for (own, unmatched) in all.iter_mut().zip(&self.unmatched) {
            own.unmeasured.clone_from(unmatched);
        }
        for (number, copy) in (0u32..).zip(&self.all) {
            let Some(own) = all.get_mut(copy.decision) else { continue };
            let is_optimised =
                |its: &Unmatched| its.function == copy.function && its.reason == OPTIMISED;
            let unmatched = self.unmatched.get(copy.decision).map_or(&[][..], Vec::as_slice);
            let reason = match copy.assignment.last {
                _ if unmatched.iter().any(is_optimised) => UNCHECKED,
                LastCondition::Own => {
                    own.copies += 1;
                    own.add_sides(copy, &self.sides(number, copy, programs));
                    continue;
                }
                _ => NO_BRANCH,
            };
            own.unmeasured.retain(|own| !is_optimised(own));
            let (function, reason) = (copy.function.clone(), reason.to_owned());
            own.unmeasured.push(Unmatched { function, reason });
        }
        all
    }

    /// What occurred of the value of each condition of a copy.
    fn sides(&self, number: u32, copy: &Copy, programs: &[ExecutedBranches<'_>]) -> Vec<Sides> {
        let has = |address: u64| {
            let mut files = self.branches.iter().zip(programs);
            files.find(|(branches, _)| branches.get(&address).is_some_and(|own| own.copy == number))
        };
        let of = |branch: &super::assign::Assigned| {
            let Some((_, covered)) = has(branch.address) else { return [None; 2] };
            let executed = covered.executions.get(&branch.address).is_some_and(|count| *count > 0);
            let outcomes = covered.outcomes.get(&branch.address).copied().unwrap_or_default();
            let [taken, not_taken] = outcomes.map(|count| count > 0);
            match (executed, taken || not_taken) {
                // It is not known whether it was taken.
                (true, false) => [None; 2],
                _ if branch.taken_is_true => [Some(not_taken), Some(taken)],
                _ => [Some(taken), Some(not_taken)],
            }
        };
        copy.assignment.branches.iter().map(of).collect()
    }
}

/// Adds what occurred to counts. Of values that are not known to be true or false, both occurred,
/// or it is not known which.
fn add(counts: &mut [Option<u64>; 2], sides: Sides, is_known: bool) {
    let sides = match (is_known, sides) {
        (true, _) | (_, [Some(true), Some(true)] | [Some(false), Some(false)]) => sides,
        _ => [None; 2],
    };
    for (count, side) in counts.iter_mut().zip(sides) {
        *count = match side {
            Some(true) => Some(1),
            Some(false) => *count,
            None => count.filter(|count| *count > 0),
        };
    }
}

impl DecisionCoverage {
    /// Adds what occurred of the conditions of a copy.
    fn add_sides(&mut self, copy: &Copy, sides: &[Sides]) {
        let assignment = &copy.assignment;
        let are_known = assignment.branches.iter().all(|branch| branch.is_known);
        self.unnamed += usize::from(!(are_known && assignment.outcome_known));
        let mut outcomes = [Some(false); 2];
        for ((own, branch), (sides, leads)) in self
            .conditions
            .iter_mut()
            .zip(&assignment.branches)
            .zip(sides.iter().zip(&assignment.outcomes))
        {
            add(&mut own.values, *sides, branch.is_known);
            for (side, outcome) in sides.iter().zip(leads) {
                let outcome = outcome.and_then(|own| outcomes.get_mut(usize::from(own)));
                if let Some(outcome) = outcome {
                    // What occurred by one condition occurred, whatever is not known of others.
                    *outcome = match (*outcome, *side) {
                        (Some(true), _) | (_, Some(true)) => Some(true),
                        (own, side) => own.and(side),
                    };
                }
            }
        }
        add(&mut self.outcomes, outcomes, assignment.outcome_known);
        let ([own], [sides]) = (&mut self.conditions[..], sides) else { return };
        if *sides == [Some(true); 2] {
            own.independent = Some(true);
        }
        if !(are_known && assignment.outcome_known) {
            return;
        }
        for (value, outcome) in [false, true].into_iter().zip(&assignment.outcomes[0]) {
            if let (Some(true), Some(outcome)) = (sides[usize::from(value)], outcome) {
                self.vectors.insert(Vector { values: vec![Some(value)], outcome: *outcome }, 1);
            }
        }
    }
}
