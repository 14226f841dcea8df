//! The longest call of a function beside the median one.

use std::collections::{BTreeMap, HashSet};

use tracewright_base::Interval;

use super::rows::Subject;
use super::statistics::{MAX_EXACT, Place};
use crate::code::FunctionId;

/// A measured activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activated {
    /// Its function.
    pub function: FunctionId,
    /// Its exception, if it is the handler of one.
    pub exception: Option<Subject>,
    /// The thread.
    pub thread: usize,
    /// Where it begins.
    pub place: Place,
    /// Instructions of the source before its end.
    pub end: u64,
    /// From the begin to the end.
    pub gross: Interval,
    /// Gross less exception handlers and other threads.
    pub net: Interval,
    /// Net less called functions.
    pub own: Interval,
    /// The order in which activations begin.
    pub(super) serial: u64,
}

/// Which activations are recorded.
#[derive(Clone, Debug, Default)]
pub enum Recorded {
    /// None.
    #[default]
    Nothing,
    /// Those of these functions.
    Functions(HashSet<FunctionId>),
    /// Those that begin and end in one of these activations.
    Within(Vec<Activated>),
}

impl Recorded {
    /// Whether this one is recorded.
    pub(super) fn has(&self, own: &Activated) -> bool {
        match self {
            Recorded::Nothing => false,
            Recorded::Functions(functions) => functions.contains(&own.function),
            Recorded::Within(all) => all.iter().any(|outer| outer.has(own)),
        }
    }
}

impl Activated {
    /// Whether `inner` begins and ends in it, or is it.
    fn has(&self, inner: &Activated) -> bool {
        let span = self.place.instructions..=self.end;
        self.thread == inner.thread
            && self.place.source == inner.place.source
            && inner.serial >= self.serial
            && span.contains(&inner.place.instructions)
            && span.contains(&inner.end)
    }

    /// Whether it lasts longer: by the upper end, then by the lower one.
    fn key(&self) -> (u64, u64) {
        (self.gross.most.unwrap_or(u64::MAX), self.gross.least)
    }
}

/// The activations with the longest time from begin to end, of which `rank` (from 1) is one, and
/// the median one of the same function. `None` where there are less than two.
pub fn longest_and_median(all: &[Activated], rank: usize) -> Option<(Activated, Activated)> {
    let mut longest: Vec<&Activated> = all.iter().collect();
    longest.sort_by_key(|own| (std::cmp::Reverse(own.key()), own.serial));
    let longest = **longest.get(rank.checked_sub(1)?)?;
    let mut same: Vec<&Activated> =
        all.iter().filter(|own| own.function == longest.function).collect();
    same.sort_by_key(|own| (own.gross.least.saturating_add(own.key().0), own.serial));
    let median = **same.get(same.len().checked_sub(1)? / 2)?;
    (median != longest).then_some((longest, median))
}

/// The most activations that are recorded.
pub(super) const MAX_RECORDS: usize = MAX_EXACT as usize / 4;

/// A component of the time of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// A function itself: the one that is called, or one that it calls.
    Function(FunctionId),
    /// An exception that interrupts it, from its begin to its end.
    Exception(Subject),
    /// Other threads.
    Threads,
}

/// How often a part occurs in a call, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// How often.
    pub count: u64,
    /// The sum of its time.
    pub time: Interval,
}

impl Default for Taken {
    fn default() -> Taken {
        Taken { count: 0, time: Interval::point(0) }
    }
}

/// A part of two calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is.
    pub part: Part,
    /// In the longest call.
    pub longest: Taken,
    /// In the median call.
    pub median: Taken,
}

impl Difference {
    /// Twice the difference of the middles of both times.
    fn size(&self) -> i128 {
        let middle =
            |own: Interval| i128::from(own.least) + i128::from(own.most.unwrap_or(own.least));
        middle(self.longest.time) - middle(self.median.time)
    }
}

/// The parts of a call, of the activations in it.
fn parts(call: &Activated, all: &[Activated]) -> BTreeMap<Part, Taken> {
    let inside: Vec<&Activated> = all.iter().filter(|own| call.has(own)).collect();
    let mut handlers: Vec<&Activated> = Vec::new();
    let mut ordered = inside;
    ordered.sort_by_key(|own| own.serial);
    let mut parts: BTreeMap<Part, Taken> = BTreeMap::new();
    let mut add = |part, time| {
        let own = parts.entry(part).or_default();
        (own.count, own.time) = (own.count + 1, own.time + time);
    };
    let mut exceptions = Interval::point(0);
    for own in ordered {
        if handlers.last().is_some_and(|handler| handler.has(own)) {
            continue;
        }
        match own.exception {
            Some(exception) if own.serial != call.serial => {
                add(Part::Exception(exception), own.gross);
                exceptions = exceptions + own.gross;
                handlers.push(own);
            }
            _ => add(Part::Function(own.function), own.own),
        }
    }
    let others = call.gross.since(call.net).since(exceptions);
    // The rest of the interruptions, where it is more than what the bounds leave open.
    if others.least > 0 {
        add(Part::Threads, others);
    }
    parts
}

/// The parts of two calls in order of the difference, of the activations in both.
pub fn differences(longest: &Activated, median: &Activated, all: &[Activated]) -> Vec<Difference> {
    let (a, b) = (parts(longest, all), parts(median, all));
    let names: std::collections::BTreeSet<Part> = a.keys().chain(b.keys()).copied().collect();
    let of = |parts: &BTreeMap<Part, Taken>, part| parts.get(part).copied().unwrap_or_default();
    let mut found: Vec<Difference> = names
        .iter()
        .map(|part| Difference { part: *part, longest: of(&a, part), median: of(&b, part) })
        .collect();
    found.sort_by_key(|own| (std::cmp::Reverse(own.size()), own.part));
    found
}
