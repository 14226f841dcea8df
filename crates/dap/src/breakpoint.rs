//! A breakpoint of any kind.

use tracewright_replay::{Position, Watch};

use crate::conditions::{Condition, HitCondition, Known};
use crate::filters::Filter;
use crate::program::Line;

/// Which request has set a breakpoint, and replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Of a source file, by what the client calls it.
    Source(String),
    Function,
    Instruction,
    Data,
}

/// A breakpoint.
#[derive(Clone, Debug)]
pub(crate) struct Breakpoint {
    pub(crate) id: u64,
    pub(crate) kind: Kind,
    /// Where it is; empty where it cannot be set.
    pub(crate) addresses: Vec<u64>,
    pub(crate) watch: Option<Watch>,
    pub(crate) condition: Option<Condition>,
    pub(crate) hits: Option<HitCondition>,
    /// The message of a log point, at which nothing stops.
    pub(crate) log: Option<String>,
    /// Why it cannot be set, or what is known of it.
    pub(crate) message: Option<String>,
    pub(crate) line: Option<Line>,
    /// How often it is executed in the trace, once that is counted.
    pub(crate) count: Option<u64>,
    /// The place of the execution that the hit condition names, once that was looked for.
    pub(crate) place: Option<Option<Position>>,
}

/// The breakpoints.
#[derive(Debug, Default)]
pub(crate) struct Breakpoints {
    pub(crate) all: Vec<Breakpoint>,
    pub(crate) last: u64,
    /// What else ends a run.
    pub(crate) filters: Vec<Filter>,
}

impl Breakpoint {
    pub(crate) fn is_verified(&self) -> bool {
        !self.addresses.is_empty() || self.watch.is_some()
    }

    /// Whether an execution with what is known there is a hit, but for the number of hits.
    pub(crate) fn holds(&self, known: &Known) -> bool {
        self.condition.as_ref().is_none_or(|condition| condition.holds(known))
    }

    pub(crate) fn cannot(mut self, why: impl Into<String>) -> Breakpoint {
        self.addresses.clear();
        self.watch = None;
        self.message = Some(why.into());
        self
    }
}
