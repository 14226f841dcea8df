//! The evaluations of decisions, by thread and frame: what happens in a handler, in another task or
//! in a recursive call is of another evaluation.

use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use super::assign::LastCondition;
use super::copies::{BranchOf, Copies};
use super::covered::{self, Criterion, DecisionCoverage};
use super::decision::{Decision, MOST_CONDITIONS};
use super::evaluated::Evaluated;
use super::expression::Next;
use super::log::{DecisionPart, Mark};
use crate::code::Code;
use crate::counts::Mix;
use crate::stacks::{Begin, Ending, Position, Stacks, Visitor};

/// A frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Node {
    number: u64,
    /// Losses when it began; none where it began before the trace, or is a thread.
    began: Option<u64>,
}

/// An evaluation that has begun: bits by condition.
#[derive(Clone, Copy, Debug)]
struct Begun {
    /// The losses when it began.
    losses: u64,
    /// The condition that follows; none where it has ended.
    next: Option<u16>,
    evaluated: u64,
    values: u64,
    /// The outcome, where the branch that tests the value follows.
    outcome: Option<bool>,
}

/// Receives the frames.
#[derive(Debug, Default)]
struct Frames {
    /// By source: the frame that executed last, where it is of a thread that is wanted.
    current: Vec<Option<Node>>,
    /// The threads that are wanted; all for `None`.
    threads: Option<BTreeSet<usize>>,
    count: u64,
    losses: u64,
    /// The evaluations of each frame, by copy.
    begun: HashMap<u64, Vec<(u32, Begun)>, BuildHasherDefault<Mix>>,
    /// The copies whose frame ended in an evaluation, and whether it is lost.
    ended: Vec<(u32, Begun, bool)>,
}

impl Visitor for Frames {
    type Node = Node;

    fn thread(&mut self, _: usize, _: usize, _: Option<u64>) -> Node {
        self.count += 1;
        Node { number: self.count, began: None }
    }

    fn begin(&mut self, _: &Position, _: Node, begin: &Begin) -> Node {
        self.count += 1;
        Node { number: self.count, began: begin.entry.is_call().then_some(self.losses) }
    }

    fn end(&mut self, _: &Position, node: Node, ending: Ending, _: bool) {
        let begun = self.begun.remove(&node.number).unwrap_or_default();
        // What passes through the frame ends the evaluation, and so does the end of the trace.
        let lost = !matches!(ending, Ending::Unwound | Ending::TraceEnd);
        let open = begun.iter().filter(|(_, begun)| begun.next.is_some());
        self.ended.extend(open.map(|(copy, begun)| (*copy, *begun, lost)));
        // The frame beneath continues elsewhere than behind the call.
        if !matches!(ending, Ending::Return | Ending::Replaced) {
            self.losses += 1;
        }
    }

    fn beneath(&mut self, _: &Position, root: Node, _: &Begin) -> (Node, Node) {
        self.count += 1;
        (Node { number: self.count, began: None }, root)
    }

    fn run(&mut self, position: &Position, node: Node, _: u64, _: u64) {
        if self.current.len() <= position.source {
            self.current.resize(position.source + 1, None);
        }
        let threads = self.threads.as_ref();
        let is_wanted = threads.is_none_or(|threads| threads.contains(&position.thread));
        if let Some(own) = self.current.get_mut(position.source) {
            *own = is_wanted.then_some(node);
        }
    }

    fn lost(&mut self, _: &Position) {
        self.losses += 1;
    }
}

/// Follows the evaluations of decisions in a buffer.
#[derive(Debug)]
pub struct Evaluation {
    decisions: Arc<[Decision]>,
    copies: Arc<Copies>,
    stacks: Stacks<Frames>,
    evaluated: Vec<Evaluated>,
}

impl Evaluation {
    /// No evaluations so far, in a buffer of `sources` sources. `switches`: the functions that
    /// switch tasks.
    pub fn new(
        decisions: Arc<[Decision]>,
        copies: Arc<Copies>,
        (sources, code, switches): (usize, &Code, &[u32]),
    ) -> Evaluation {
        let evaluated = vec![Evaluated::default(); copies.all.len()];
        let stacks = Stacks::new(sources, Frames::default())
            .with_switches(switches.iter().copied())
            .with_unwind_targets(code.unwind_targets());
        Evaluation { decisions, copies, stacks, evaluated }
    }

    /// Only those of threads with these numbers; of all threads for `None`.
    #[must_use]
    pub fn of(mut self, threads: Option<BTreeSet<usize>>) -> Evaluation {
        self.stacks.visitor.threads = threads;
        self
    }

    /// Takes the next part of the trace.
    pub fn part(&mut self, part: &DecisionPart) {
        let mut first = 0;
        for mark in &part.marks {
            part.part.each(first..mark.transfers, |some| self.stacks.transfers(some));
            first = mark.transfers;
            self.mark(mark);
        }
        part.part.each(first..usize::MAX, |some| self.stacks.transfers(some));
        for (copy, begun, lost) in std::mem::take(&mut self.stacks.visitor.ended) {
            if let Some(evaluated) = self.evaluated.get_mut(copy as usize) {
                evaluated.interrupted |= lost;
                evaluated.add_open((begun.evaluated, begun.values), 1);
            }
        }
    }

    fn mark(&mut self, mark: &Mark) {
        let Some((branch, taken)) = mark.branch else {
            self.stacks.visitor.losses += 1;
            return;
        };
        let Frames { current, losses, begun, .. } = &mut self.stacks.visitor;
        let Some(Some(node)) = current.get(usize::from(mark.source)) else { return };
        let BranchOf { copy, condition, taken_is_true } = branch;
        let known = self.copies.all.get(copy as usize);
        let (Some(known), Some(evaluated)) = (known, self.evaluated.get_mut(copy as usize)) else {
            return;
        };
        let Some(decision) = self.decisions.get(known.decision) else { return };
        let own = begun.entry(node.number).or_default();
        let place = own.iter().position(|(its, _)| *its == copy);
        let before = place.and_then(|n| own.get(n)).map(|(_, begun)| *begun);
        // What began before a loss is not continued.
        let stale = before.filter(|begun| begun.losses != *losses && begun.next.is_some());
        if let Some(begun) = stale {
            evaluated.interrupted = true;
            evaluated.add_open((begun.evaluated, begun.values), 1);
        }
        let before = before.filter(|begun| begun.losses == *losses);
        let mut state = match before {
            Some(begun) if begun.next == Some(condition) => begun,
            _ if condition == 0 => {
                // It begins again, although it has not ended.
                evaluated.contradicted |= before.is_some_and(|begun| begun.next.is_some());
                Begun { losses: *losses, next: Some(0), evaluated: 0, values: 0, outcome: None }
            }
            None if node.began != Some(*losses) => return,
            _ => {
                evaluated.contradicted = true;
                return;
            }
        };
        let last = decision.conditions.len().saturating_sub(1);
        let is_last = usize::from(condition) == last;
        let of_value = matches!(known.assignment.last, LastCondition::OfValue(_));
        let value = taken == taken_is_true;
        let bit = 1u64 << (usize::from(condition) % MOST_CONDITIONS);
        match state.outcome {
            Some(outcome) => {
                state.next = None;
                evaluated.test(outcome, taken);
                evaluated.add((state.evaluated, state.values, outcome), mark.times);
            }
            None if of_value && is_last => {
                state.next = None;
                evaluated.add((state.evaluated | bit, state.values, taken), mark.times);
            }
            None => {
                state.evaluated |= bit;
                state.values |= if value { bit } else { 0 };
                let next = decision.conditions.get(usize::from(condition));
                let outcomes = known.assignment.outcomes.get(usize::from(condition));
                let outcome = outcomes.and_then(|own| own[usize::from(value)]);
                match next.map(|own| own.next[usize::from(value)]) {
                    Some(Next::Condition(next))
                        if next == last && known.assignment.last == LastCondition::Unseen =>
                    {
                        state.next = None;
                        evaluated.add_open((state.evaluated, state.values), mark.times);
                    }
                    Some(Next::Condition(next)) => state.next = u16::try_from(next).ok(),
                    _ if of_value => {
                        (state.next, state.outcome) = (u16::try_from(last).ok(), outcome);
                    }
                    _ => {
                        state.next = None;
                        if let Some(outcome) = outcome {
                            evaluated.add((state.evaluated, state.values, outcome), mark.times);
                        }
                    }
                }
            }
        }
        match place.and_then(|n| own.get_mut(n)) {
            Some(place) => place.1 = state,
            None => own.push((copy, state)),
        }
    }

    /// The evaluations.
    pub fn finish(self) -> Evaluations {
        Evaluations(self.evaluated)
    }
}

/// The evaluations of decisions in some buffers.
#[derive(Clone, Debug, Default)]
pub struct Evaluations(Vec<Evaluated>);

impl Evaluations {
    /// Adds those of another buffer, by the same copies.
    pub fn merge(&mut self, other: Evaluations) {
        if self.0.is_empty() {
            self.0 = other.0;
        } else {
            self.0.iter_mut().zip(other.0).for_each(|(own, its)| own.merge(its));
        }
    }

    /// What was covered, by decision.
    pub fn cover(
        &self,
        decisions: &[Decision],
        copies: &Copies,
        criterion: Criterion,
    ) -> Vec<DecisionCoverage> {
        // Nothing was decoded.
        let none = vec![Evaluated::default(); copies.all.len()];
        let own = if self.0.is_empty() { &none } else { &self.0 };
        covered::cover(decisions, copies, own, criterion)
    }
}
