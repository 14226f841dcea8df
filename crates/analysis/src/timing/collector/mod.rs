//! From frames to durations.
//!
//! | file | contents |
//! |---|---|
//! | `mod.rs` | [`Timing`]: the visitor that receives the frames |
//! | `windows.rs` | the window of each source, and what executes in it |
//! | `durations.rs` | from activations to the durations of their rows |

mod durations;
mod windows;

use super::activation::{Activation, Level, Measured};
use super::clock::{Clock, Event, SourceClock, Sum};
use super::log::Log;
use super::rows::{Rows, Subject, Timed};
use super::statistics::{MAX_EXACT, Place, Statistics};
use super::worst::{Activated, Recorded};
use crate::code::FunctionId;
use crate::stacks::{Begin, Ending, Entry, Position, Time, Visitor};

/// A thread.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    /// The activations that are open.
    pub(super) open: Vec<usize>,
    /// The level of the thread itself.
    pub(super) level: usize,
    pub(super) losses: u64,
    /// The source that executed it first, and its identifier.
    source: usize,
    id: Option<u64>,
}

/// Measures activations. It receives the frames of [`Stacks`](crate::Stacks) in order.
#[derive(Debug)]
pub struct Timing {
    clock: Clock,
    sources: Vec<SourceClock>,
    pub(super) threads: Vec<Thread>,
    pub(super) activations: Vec<Activation>,
    free: Vec<usize>,
    pub(super) levels: Vec<Level>,
    free_levels: Vec<usize>,
    pub(super) serial: u64,
    epochs: u32,
    pub(super) rows: Rows,
    /// Durations that are not in the statistics of the rows yet.
    log: Log,
    /// The durations that are stored one by one.
    stored: u64,
    most_exact: u64,
    most_events: usize,
    /// The clock has advanced.
    ticks: bool,
    /// The trace has timestamps, and counts of cycles.
    timestamps: bool,
    cycles: bool,
    /// The time of all sources, as far as it is known.
    total: u64,
    /// Losses of trace.
    losses: u64,
    /// The activations that are recorded.
    recorded: Recorded,
    /// Functions have a row for each caller.
    by_caller: bool,
    /// Places have no number of an instruction: the trace has none.
    pub(super) of_events: bool,
    records: Vec<Activated>,
    unrecorded: u64,
    /// The tasks.
    pub(super) measured: Option<Box<Measured>>,
}

/// The most begins and ends of calls that wait for the next point at which the clock of a source is
/// known. Beyond, the time of those is not known.
pub const MAX_EVENTS: usize = 1 << 18;

/// No activation.
const NONE: usize = usize::MAX;

impl Timing {
    /// Durations by this clock.
    pub fn new(clock: Clock) -> Timing {
        Timing {
            clock,
            sources: Vec::new(),
            threads: Vec::new(),
            activations: Vec::new(),
            free: Vec::new(),
            levels: Vec::new(),
            free_levels: Vec::new(),
            serial: 0,
            epochs: 0,
            rows: Rows::default(),
            log: Log::default(),
            stored: 0,
            most_exact: MAX_EXACT,
            most_events: MAX_EVENTS,
            ticks: false,
            timestamps: false,
            cycles: false,
            total: 0,
            losses: 0,
            recorded: Recorded::Nothing,
            by_caller: false,
            of_events: false,
            records: Vec::new(),
            unrecorded: 0,
            measured: None,
        }
    }

    /// Measures the functions by caller.
    #[must_use]
    pub fn by_caller(self, by_caller: bool) -> Timing {
        Timing { by_caller, ..self }
    }

    /// Records these activations one by one, too.
    #[must_use]
    pub fn recording(self, recorded: Recorded) -> Timing {
        Timing { recorded, ..self }
    }

    /// The recorded activations in which no trace was lost, and the number of those that were too
    /// many.
    pub fn records(&self) -> (&[Activated], u64) {
        (&self.records, self.unrecorded)
    }

    /// The same with other bounds.
    #[cfg(test)]
    pub(super) fn with_bounds(self, most_exact: u64, most_events: usize) -> Timing {
        Timing { most_exact, most_events, ..self }
    }

    /// The clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Whether the trace has this clock.
    pub fn ticks(&self) -> bool {
        self.ticks
    }

    /// Whether the trace has another clock.
    pub fn has(&self, clock: Clock) -> bool {
        match clock {
            Clock::Timestamps => self.timestamps,
            Clock::Cycles => self.cycles,
            Clock::Instructions => true,
        }
    }

    /// The time in which instructions are traced, of all sources together, without that before the
    /// first and after the last point at which the clock is known.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Losses of trace.
    pub fn losses(&self) -> u64 {
        self.losses
    }

    /// Closes the last window of each source, and returns the durations of each function and
    /// exception. An interruption names its row by the index in it.
    pub fn finish(&mut self) -> &[Timed] {
        for source in 0..self.sources.len() {
            self.close(source, None, None);
        }
        self.finish_tasks();
        self.log.settle(&mut self.rows.all);
        for row in &mut self.rows.all {
            row.measures.iter_mut().for_each(Statistics::finish);
        }
        &self.rows.all
    }

    /// The durations, as [`finish`](Self::finish) returned them.
    pub fn rows(&self) -> &[Timed] {
        &self.rows.all
    }

    /// The threads: the source that executed each first, and its identifier in the trace.
    pub fn threads(&self) -> impl Iterator<Item = (usize, Option<u64>)> + '_ {
        self.threads.iter().map(|thread| (thread.source, thread.id))
    }

    fn level(&mut self) -> usize {
        match self.free_levels.pop() {
            Some(level) => {
                if let Some(slot) = self.levels.get_mut(level) {
                    *slot = Level::default();
                }
                level
            }
            None => {
                self.levels.push(Level::default());
                self.levels.len() - 1
            }
        }
    }

    pub(super) fn insert(&mut self, own: Activation) -> usize {
        match self.free.pop() {
            Some(number) => {
                if let Some(slot) = self.activations.get_mut(number) {
                    *slot = own;
                }
                number
            }
            None => {
                self.activations.push(own);
                self.activations.len() - 1
            }
        }
    }

    /// What is measured of a function above `parent`.
    fn subject(&self, function: FunctionId, parent: Option<usize>) -> Subject {
        // What handlers of an ITM execute is not known: they have rows as exceptions only.
        if matches!(function, FunctionId::Handler(_)) {
            return Subject::Other;
        }
        if !self.by_caller {
            return Subject::Function(function);
        }
        let parent = parent.and_then(|parent| self.activations.get(parent));
        let row = parent.and_then(|parent| self.rows.all.get(parent.row));
        match row.and_then(|row| row.subject.function()) {
            Some(caller) => Subject::Call(function, caller),
            None => Subject::Function(function),
        }
    }

    /// An activation that begins here, above `parent`.
    fn activation(
        &mut self,
        position: &Position,
        begin: &Begin,
        parent: Option<usize>,
    ) -> Activation {
        self.serial += 1;
        let is_measured = self.measured.is_none() || self.measures(position.thread);
        let subject = match is_measured {
            true => self.subject(begin.function, parent),
            false => Subject::Other,
        };
        let row = self.rows.number(subject);
        let exception = match begin.entry {
            Entry::Exception(_) if !is_measured => Some(self.rows.number(Subject::Other)),
            Entry::Exception(number) => {
                Some(self.rows.number(Subject::Exception(position.source, number)))
            }
            _ => None,
        };
        let level = match (exception, parent.and_then(|parent| self.activations.get(parent))) {
            (Some(_), _) => self.level(),
            (None, Some(parent)) => parent.level,
            (None, None) => self.threads.get(position.thread).map_or(0, |thread| thread.level),
        };
        let sum = self.levels.get(level).map_or(Sum::default(), |level| level.sum);
        let clock = self.source(position.source);
        let (moment, exact) = (clock.moment(), clock.exact && clock.now.is_some());
        Activation {
            serial: self.serial,
            row,
            exception,
            thread: position.thread,
            place: Place {
                source: position.source,
                at: position.at,
                instructions: position.instructions,
            },
            begins: begin.entry.is_call(),
            begin: moment,
            level,
            before: sum,
            behind: if exact { sum.least } else { u64::MAX },
            parent,
            ..Activation::default()
        }
    }
}

impl Visitor for Timing {
    type Node = usize;

    fn thread(&mut self, source: usize, thread: usize, id: Option<u64>) -> usize {
        while self.threads.len() <= thread {
            let level = self.level();
            self.threads.push(Thread { open: Vec::new(), level, losses: 0, source, id: None });
        }
        if let Some(own) = self.threads.get_mut(thread) {
            (own.source, own.id) = (source, id);
        }
        NONE
    }

    fn entered(&mut self, thread: usize, _: FunctionId) {
        self.task_enters(thread);
    }

    fn begin(&mut self, position: &Position, _: usize, begin: &Begin) -> usize {
        self.enter(position);
        let parent = self.top(position.thread).0;
        let mut own = self.activation(position, begin, parent);
        if self.measured.is_some() {
            own.waits = self.task_calls(position, begin);
        }
        let (serial, level) = (own.serial, own.level);
        let number = self.insert(own);
        if let Some(thread) = self.threads.get_mut(position.thread) {
            thread.open.push(number);
        }
        let clock = self.source(position.source);
        if clock.exact && clock.now.is_some() {
            self.follow(number);
        } else {
            clock.events.push((Event::Begin(number), serial));
        }
        self.execute(position.source, Some(number), Some(level));
        self.source(position.source).executes_top = true;
        self.bound(position.source);
        number
    }

    fn end(&mut self, position: &Position, node: usize, ending: Ending, _: bool) {
        self.enter(position);
        if self.continues(node, ending) {
            return;
        }
        let clock = self.source(position.source);
        let (moment, exact) = (clock.moment(), clock.exact && clock.now.is_some());
        if let Some(thread) = self.threads.get_mut(position.thread)
            && let Some(at) = thread.open.iter().rposition(|own| *own == node)
        {
            thread.open.remove(at);
        }
        let Some(own) = self.activations.get_mut(node) else { return };
        let waited = own.waits;
        own.end = moment;
        own.end_at = position.instructions;
        own.ends = matches!(
            ending,
            Ending::Return | Ending::UnseenCall | Ending::Replaced | Ending::Unwound | Ending::Lost
        );
        own.least = self.levels.get(own.level).map_or(0, |level| level.sum.least);
        let serial = own.serial;
        // It executes until here.
        self.execute_top(position.source, position.thread);
        if exact {
            self.ended(node, None);
        } else {
            self.source(position.source).events.push((Event::End(node), serial));
            self.bound(position.source);
        }
        if waited {
            self.task_returns(position, ending);
        }
        if let Some(handler) = self.replaced_beneath(position.thread, ending) {
            self.end(position, handler, ending, false);
        }
    }

    fn beneath(&mut self, position: &Position, root: usize, begin: &Begin) -> (usize, usize) {
        self.enter(position);
        let own = self.activation(position, begin, None);
        let waits = self.measured.is_some() && self.task_waited(position, begin);
        let number = self.insert(Activation { begins: false, waits, ..own });
        let mut first = None;
        if let Some(thread) = self.threads.get_mut(position.thread) {
            first = thread.open.first().copied();
            thread.open.insert(0, number);
        }
        if let Some(above) = first.and_then(|first| self.activations.get_mut(first)) {
            above.parent = Some(number);
        }
        self.execute_top(position.source, position.thread);
        (number, root)
    }

    fn run(&mut self, position: &Position, _: usize, instructions: u64, cycles: u64) {
        self.enter(position);
        self.cycles |= cycles > 0;
        if !self.source(position.source).executes_top {
            self.execute_top(position.source, position.thread);
        }
        let duration = match self.clock {
            Clock::Instructions => instructions,
            Clock::Cycles => cycles,
            Clock::Timestamps => 0,
        };
        let clock = self.source(position.source);
        if duration == 0 {
            clock.exact &= instructions == 0;
            return;
        }
        // The cycles before the first count are not known.
        let known = clock.now.is_some();
        let now = clock.now.map_or(0, |now| now.saturating_add(duration));
        self.ticks = true;
        self.close(position.source, known.then_some(duration), Some(now));
        self.source(position.source).exact = true;
    }

    fn time(&mut self, position: &Position, time: Time) {
        self.report(position);
        self.timestamps |= matches!(time, Time::Timestamp(1..));
        self.cycles |= matches!(time, Time::Cycles(_));
        let source = position.source;
        match (time, self.clock) {
            (Time::Timestamp(value), Clock::Timestamps) if value > 0 => {
                self.ticks = true;
                let before = self.source(source).now;
                match before {
                    Some(before) if before > value => {
                        self.epochs += 1;
                        let epoch = self.epochs;
                        self.close(source, None, None);
                        let clock = self.source(source);
                        (clock.epoch, clock.now) = (epoch, Some(value));
                    }
                    before => {
                        let duration = before.map(|before| value - before);
                        self.close(source, duration, Some(value));
                    }
                }
                self.source(source).exact = false;
            }
            (Time::Cycles(cycles), Clock::Cycles) => {
                self.ticks = true;
                let before = self.source(source).now;
                let now = before.map_or(0, |before| before.saturating_add(cycles));
                self.close(source, before.map(|_| cycles), Some(now));
                self.source(source).exact = false;
            }
            (Time::CyclesLost, Clock::Cycles) => self.unknown(source),
            (Time::TimestampsLost, Clock::Timestamps) => {
                self.close(source, None, None);
                self.epochs += 1;
                self.source(source).epoch = self.epochs;
            }
            _ => {}
        }
    }

    fn lost(&mut self, position: &Position) {
        self.report(position);
        self.losses += 1;
        self.mark_lost(position);
        self.source(position.source).exact = false;
        self.execute(position.source, None, None);
        if self.clock != Clock::Timestamps {
            self.unknown(position.source);
        }
    }

    fn buffer(&mut self, source: usize) {
        if self.clock != Clock::Timestamps {
            self.unknown(source);
        }
    }
}
