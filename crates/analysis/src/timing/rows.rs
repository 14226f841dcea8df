//! What is measured, and its statistics.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use tracewright_base::Interval;

use super::activation::Until;
use super::clock::Moment;
use super::statistics::Statistics;
use super::values::OPEN;
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
    pub(super) measures: Box<[Statistics; Measure::ALL.len()]>,
}

/// A moment of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    /// [`OPEN`] where a bound is not known.
    least: u64,
    most: u64,
    /// Losses of the thread so far.
    losses: u64,
    epoch: u32,
    /// [`NO_THREAD`] for no moment.
    thread: u32,
}

const NO_THREAD: u32 = u32::MAX;

impl Before {
    const NONE: Before = Before { least: OPEN, most: OPEN, losses: 0, epoch: 0, thread: NO_THREAD };

    pub(super) fn new(moment: Moment, thread: usize, losses: u64) -> Before {
        let (least, most) = (moment.least.unwrap_or(OPEN), moment.most.unwrap_or(OPEN));
        let thread = u32::try_from(thread).unwrap_or(NO_THREAD);
        Before { least, most, losses, epoch: moment.epoch, thread }
    }

    /// The moment, if it is one of the same thread, and no trace of it was lost until `now`.
    fn same(self, now: &Before) -> Option<Moment> {
        let is_same = self.thread != NO_THREAD && self.thread == now.thread;
        let known = |bound: u64| Some(bound).filter(|bound| *bound != OPEN);
        let (epoch, least, most) = (self.epoch, known(self.least), known(self.most));
        (is_same && self.losses == now.losses).then_some(Moment { epoch, least, most })
    }
}

/// The last begin of an activation of a row, and the last end. They are apart from the row, in one
/// line of the processor's cache: each begin and each end of an activation needs them.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Recent {
    begin: Before,
    end: Before,
}

impl Recent {
    /// An activation begins: when the last one ended, and when it began.
    #[inline]
    pub(super) fn begins(&mut self, now: Before) -> [Option<Moment>; 2] {
        let Recent { begin, end } = self;
        let end = std::mem::replace(end, Before::NONE).same(&now);
        [end, std::mem::replace(begin, now).same(&now)]
    }

    /// An activation ends. `None`: it is not known when.
    #[inline]
    pub(super) fn ends(&mut self, now: Option<Before>) {
        self.end = now.unwrap_or(Before::NONE);
    }
}

impl Timed {
    pub(super) fn new(subject: Subject) -> Timed {
        Timed { subject, incomplete: 0, longest_interruption: None, measures: Box::default() }
    }

    /// The statistics of a measure.
    pub fn of(&self, measure: Measure) -> &Statistics {
        &self.measures[measure as usize]
    }

    /// Counts an activation that is not in the statistics: one in which trace was lost, with what
    /// is known of it, or one that is incomplete.
    pub(super) fn not_measured(&mut self, lost: Option<Until>) {
        let Some(until) = lost else {
            self.incomplete += 1;
            return;
        };
        self.measures[Measure::Gross as usize].add_lost(until.gross);
        self.measures[Measure::Net as usize].add_lost(until.net);
        if !self.subject.is_task() {
            self.measures[Measure::Own as usize].add_lost(until.own);
        }
        self.measures[Measure::Interrupted as usize].add_lost(0);
    }

    /// The answer of a limit.
    pub fn verdict(&self, limit: &Limit) -> Verdict {
        limit.verdict(self.of(limit.measure))
    }
}

/// No row.
const NONE: usize = usize::MAX;

/// The rows of all subjects.
#[derive(Debug)]
pub(super) struct Rows {
    /// The rows by number.
    pub(super) all: Vec<Timed>,
    /// Of each of them.
    pub(super) recent: Vec<Recent>,
    /// The number of [`Subject::Other`].
    pub(super) other: usize,
    numbers: Vec<usize>,
    /// Those of functions without symbols, by address.
    addresses: HashMap<u64, usize, BuildHasherDefault<Mix>>,
    others: HashMap<Subject, usize, BuildHasherDefault<Mix>>,
}

impl Default for Rows {
    fn default() -> Rows {
        Rows {
            all: Vec::new(),
            recent: Vec::new(),
            other: NONE,
            numbers: Vec::new(),
            addresses: HashMap::default(),
            others: HashMap::default(),
        }
    }
}

impl Rows {
    /// The number of its row.
    #[inline]
    pub(super) fn number(&mut self, subject: Subject) -> usize {
        match subject {
            Subject::Function(FunctionId::Known(number)) => {
                match self.numbers.get(number as usize) {
                    Some(&row) if row != NONE => row,
                    _ => self.find(subject),
                }
            }
            Subject::Function(FunctionId::At(address)) => match self.addresses.get(&address) {
                Some(&row) => row,
                None => self.find(subject),
            },
            _ => self.find(subject),
        }
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
            Subject::Function(FunctionId::At(address)) => {
                *self.addresses.entry(address).or_insert(next)
            }
            subject => *self.others.entry(subject).or_insert(next),
        };
        if number == next {
            self.all.push(Timed::new(subject));
            self.recent.push(Recent { begin: Before::NONE, end: Before::NONE });
            if subject == Subject::Other {
                self.other = number;
            }
        }
        number
    }
}
