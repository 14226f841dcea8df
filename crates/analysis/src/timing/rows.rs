//! What is measured, and its statistics.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use tracewright_base::Interval;

use super::clock::Moment;
use super::statistics::{Bounds, Place, Statistics};
use super::{Limit, Measure, Verdict};
use crate::code::FunctionId;
use crate::counts::Mix;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// A function.
    Function(FunctionId),
    /// A function, and the one that calls it, or that it interrupts.
    Call(FunctionId, FunctionId),
    /// An exception with this number, of a source.
    Exception(usize, u16),
    /// The task with this number of a thread, from where a function in which it waited returns to
    /// where it waits again.
    Task(usize),
    /// The task with this number of a thread, from where it runs to where another one does.
    Run(usize),
    /// What is not measured.
    Other,
}

impl Subject {
    /// The function, if it is one.
    pub const fn function(self) -> Option<FunctionId> {
        match self {
            Subject::Function(function) | Subject::Call(function, _) => Some(function),
            Subject::Exception(..) | Subject::Task(_) | Subject::Run(_) | Subject::Other => None,
        }
    }

    /// The number of the thread, if it is a task.
    pub const fn task(self) -> Option<usize> {
        match self {
            Subject::Task(thread) | Subject::Run(thread) => Some(thread),
            _ => None,
        }
    }

    /// Whether it is a task.
    pub const fn is_task(self) -> bool {
        self.task().is_some()
    }
}

/// The durations of a function or an exception.
#[derive(Clone, Debug)]
pub struct Timed {
    /// What is measured.
    pub subject: Subject,
    /// Activations that began before the trace or a loss of trace, that continue what began
    /// earlier, or whose end is not in the trace. They are not in the statistics.
    pub incomplete: u64,
    /// The longest exception that interrupted an activation, and the number of its row.
    pub longest_interruption: Option<(Interval, usize)>,
    /// The last durations, of all measures. They are added to the statistics together, because
    /// consecutive activations are those of other rows, whose memory is not cached.
    waiting: Vec<Waiting>,
    pub(super) measures: Box<[Statistics; Measure::ALL.len()]>,
    /// The last begin, and the last end.
    pub(super) last: Option<Before>,
    pub(super) last_end: Option<Before>,
}

/// A duration that is not in the statistics yet.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    measure: Measure,
    duration: Bounds,
}

/// The most durations of a row that wait.
const WAITING: usize = 64;

/// A moment of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pub(super) moment: Moment,
    pub(super) thread: usize,
    /// Losses of the thread so far.
    pub(super) losses: u64,
}

impl Timed {
    pub(super) fn new(subject: Subject) -> Timed {
        Timed {
            subject,
            incomplete: 0,
            longest_interruption: None,
            waiting: Vec::new(),
            measures: Box::default(),
            last: None,
            last_end: None,
        }
    }

    /// The statistics of a measure.
    pub fn of(&self, measure: Measure) -> &Statistics {
        &self.measures[measure as usize]
    }

    /// The answer of a limit.
    pub fn verdict(&self, limit: &Limit) -> Verdict {
        limit.verdict(self.of(limit.measure))
    }

    /// Adds a duration. It is in the statistics after [`settle`](Self::settle).
    #[inline]
    pub(super) fn add(&mut self, measure: Measure, duration: Interval, place: Place) {
        self.waiting.push(Waiting { measure, duration: Bounds::new(duration, place) });
        if self.waiting.len() >= WAITING {
            self.settle();
        }
    }

    /// Adds what waits to the statistics.
    pub(super) fn settle(&mut self) {
        for Waiting { measure, duration } in self.waiting.drain(..) {
            self.measures[measure as usize].push(duration);
        }
    }
}

/// No row.
const NONE: usize = usize::MAX;

/// The rows of all subjects.
#[derive(Debug)]
pub(super) struct Rows {
    /// The rows by number.
    pub(super) all: Vec<Timed>,
    numbers: Vec<usize>,
    others: HashMap<Subject, usize, BuildHasherDefault<Mix>>,
    /// The last one that was looked up.
    last: (Subject, usize),
}

impl Default for Rows {
    fn default() -> Rows {
        let last = (Subject::Function(FunctionId::Unknown), NONE);
        Rows { all: Vec::new(), numbers: Vec::new(), others: HashMap::default(), last }
    }
}

impl Rows {
    /// The number of its row.
    #[inline]
    pub(super) fn number(&mut self, subject: Subject) -> usize {
        if self.last.0 != subject || self.last.1 == NONE {
            self.last = (subject, self.find(subject));
        }
        self.last.1
    }

    fn find(&mut self, subject: Subject) -> usize {
        let next = self.all.len();
        let number = match subject {
            Subject::Function(FunctionId::Known(number)) => {
                let number = number as usize;
                if number >= self.numbers.len() {
                    self.numbers.resize(number + 1, NONE);
                }
                let Some(slot) = self.numbers.get_mut(number) else { return NONE };
                if *slot == NONE {
                    *slot = next;
                }
                *slot
            }
            subject => *self.others.entry(subject).or_insert(next),
        };
        if number == next {
            self.all.push(Timed::new(subject));
        }
        number
    }
}
