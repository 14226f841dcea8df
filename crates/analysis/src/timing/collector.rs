//! From frames to durations.

use tracewright_base::Interval;

use super::Measure;
use super::activation::{Activation, Level, Measured, interrupts, lesser, longer};
use super::clock::{Clock, Event, Moment, SourceClock, Sum};
use super::log::Log;
use super::rows::{Before, Rows, Subject, Timed};
use super::statistics::{MAX_EXACT, Place, Statistics};
use super::worst::{Activated, MAX_RECORDS, Recorded};
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

    #[inline]
    pub(super) fn source(&mut self, source: usize) -> &mut SourceClock {
        if source >= self.sources.len() {
            self.add_sources(source);
        }
        &mut self.sources[source]
    }

    /// Adds the sources up to this one.
    #[cold]
    fn add_sources(&mut self, source: usize) {
        let first = (self.clock == Clock::Instructions).then_some(0);
        while source >= self.sources.len() {
            let epoch = self.epoch();
            self.sources.push(SourceClock {
                now: first,
                epoch,
                exact: first.is_some(),
                ..SourceClock::default()
            });
        }
    }

    /// The epoch of a source. Timestamps of all sources are those of one clock.
    fn epoch(&mut self) -> u32 {
        if self.clock != Clock::Timestamps {
            self.epochs += 1;
        }
        self.epochs
    }

    /// The activation on top of a thread, and its level.
    fn top(&self, thread: usize) -> (Option<usize>, Option<usize>) {
        let Some(Thread { open, level, .. }) = self.threads.get(thread) else {
            return (None, None);
        };
        let top = open.last().copied();
        let own = top.and_then(|top| self.activations.get(top)).map_or(*level, |own| own.level);
        (top, Some(own))
    }

    /// The activation on top of the thread executes from here on.
    fn execute_top(&mut self, source: usize, thread: usize) {
        let (top, level) = self.top(thread);
        self.execute(source, top, level);
        self.source(source).executes_top = true;
    }

    /// Another activation executes from here on, or none.
    fn execute(&mut self, source: usize, top: Option<usize>, level: Option<usize>) {
        let clock = self.source(source);
        clock.executes_top = false;
        let (exact, before, level_before) = (clock.exact, clock.top, clock.level);
        if before == top && level_before == level {
            return;
        }
        (clock.top, clock.level) = (top, level);
        if exact {
            return;
        }
        if before != top {
            self.part(source, before);
            self.part(source, top);
        }
        if level_before != level {
            self.part_of_level(source, level_before);
            self.part_of_level(source, level);
        }
    }

    /// The activation executes for a part of the window.
    fn part(&mut self, source: usize, number: Option<usize>) {
        let Some(number) = number else { return };
        let window = Some((source, self.source(source).window));
        let Some(own) = self.activations.get_mut(number) else { return };
        if own.part != window {
            own.part = window;
            let serial = own.serial;
            self.source(source).parts.push((number, serial));
        }
    }

    /// The level executes for a part of the window.
    fn part_of_level(&mut self, source: usize, number: Option<usize>) {
        let Some(number) = number else { return };
        let window = Some((source, self.source(source).window));
        let Some(own) = self.levels.get_mut(number) else { return };
        if own.part != window {
            own.part = window;
            self.source(source).levels.push(number);
        }
    }

    /// The thread of `position` executes, on this source and no other.
    #[inline]
    fn enter(&mut self, position: &Position) {
        if self.source(position.source).thread != Some(position.thread) {
            self.enter_thread(position);
        }
    }

    fn enter_thread(&mut self, position: &Position) {
        for source in 0..self.sources.len() {
            if source != position.source && self.source(source).thread == Some(position.thread) {
                self.source(source).thread = None;
                self.execute(source, None, None);
            }
        }
        let old = self.source(position.source).thread.replace(position.thread);
        self.task_runs(position, old);
        self.execute_top(position.source, position.thread);
    }

    /// The source reports something of the thread that it executed last, which may execute on
    /// another source since.
    fn report(&mut self, position: &Position) {
        if self.sources.iter().all(|source| source.thread != Some(position.thread)) {
            self.enter(position);
        }
    }

    /// Bounds what waits for the end of the window.
    pub(super) fn bound(&mut self, source: usize) {
        if self.source(source).events.len() >= self.most_events {
            self.close(source, None, None);
        }
    }

    /// The window of a source ends. Its duration, and the value of the clock; `None` if they are
    /// not known.
    fn close(&mut self, source: usize, duration: Option<u64>, now: Option<u64>) {
        let clock = self.source(source);
        let (top, level) = (clock.top, clock.level);
        if clock.parts.is_empty() && clock.levels.is_empty() && clock.events.is_empty() {
            clock.now = now;
            clock.window += 1;
            return self.whole(top, level, duration);
        }
        let mut parts = std::mem::take(&mut clock.parts);
        let mut levels = std::mem::take(&mut clock.levels);
        let mut events = std::mem::take(&mut clock.events);
        clock.now = now;
        clock.window += 1;
        if top.is_some() || !parts.is_empty() {
            self.total = self.total.saturating_add(duration.unwrap_or(0));
        }
        if parts.is_empty()
            && let Some(own) = top.and_then(|top| self.activations.get_mut(top))
        {
            own.own.whole(duration);
        }
        for (number, serial) in parts.drain(..) {
            if let Some(own) = self.activations.get_mut(number)
                && own.serial == serial
            {
                own.own.part(duration);
            }
        }
        if levels.is_empty()
            && let Some(own) = level.and_then(|level| self.levels.get_mut(level))
        {
            own.sum.whole(duration);
        }
        for level in levels.drain(..) {
            if let Some(own) = self.levels.get_mut(level) {
                own.sum.part(duration);
            }
        }
        for (event, serial) in events.drain(..) {
            match event {
                Event::Begin(number) => self.begun(number, serial, now),
                Event::End(number) => self.ended(number, now),
            }
        }
        // The memory is used again.
        let clock = self.source(source);
        (clock.parts, clock.levels, clock.events) = (parts, levels, events);
    }

    /// A window ended in which one activation executed, or none.
    fn whole(&mut self, top: Option<usize>, level: Option<usize>, duration: Option<u64>) {
        if top.is_some() {
            self.total = self.total.saturating_add(duration.unwrap_or(0));
        }
        if let Some(own) = top.and_then(|top| self.activations.get_mut(top)) {
            own.own.whole(duration);
        }
        if let Some(own) = level.and_then(|level| self.levels.get_mut(level)) {
            own.sum.whole(duration);
        }
    }

    /// The window of the begin of an activation ended.
    fn begun(&mut self, number: usize, serial: u64, now: Option<u64>) {
        let Some(own) = self.activations.get_mut(number).filter(|own| own.serial == serial) else {
            return;
        };
        own.begin.most = own.begin.most.or(now);
        own.behind = self.levels.get(own.level).map_or(0, |level| level.sum.least);
        self.follow(number);
    }

    /// The distance to the activation before.
    pub(super) fn follow(&mut self, number: usize) {
        let Some(own) = self.activations.get(number).filter(|own| own.begins) else { return };
        let begin = self.before(own, own.begin);
        let (Rows { all, recent, other, .. }, log) = (&mut self.rows, &mut self.log);
        log.begin(own.place);
        for number in [Some(own.row), own.exception].into_iter().flatten() {
            let Some(recent) = recent.get_mut(number).filter(|_| number != *other) else {
                continue;
            };
            let distances = [Measure::Gap, Measure::Period].into_iter().zip(recent.begins(begin));
            for (measure, before) in distances {
                if let Some(before) = before {
                    log.add(all, number, measure, own.begin.since(before));
                    self.stored += 1;
                }
            }
        }
        if log.is_full() {
            self.log.settle(&mut self.rows.all);
        }
    }

    /// A moment of the thread of an activation.
    fn before(&self, own: &Activation, moment: Moment) -> Before {
        let losses = self.threads.get(own.thread).map_or(0, |thread| thread.losses);
        Before::new(moment, own.thread, losses)
    }

    /// The window of the end of an activation ended: its durations are known.
    pub(super) fn ended(&mut self, number: usize, now: Option<u64>) {
        let Some(own) = self.activations.get_mut(number) else { return };
        own.end.most = own.end.most.or(now);
        let own = *own;
        let level = self.levels.get(own.level).map_or(Sum::default(), |level| level.sum);
        self.release(number, &own);
        let gross = own.end.since(own.begin);
        let whole = level.since(&own.before, 0);
        let net = Interval { least: own.least.saturating_sub(own.behind), most: whole.most };
        let net = Interval { most: lesser(net.most, gross.most), ..net };
        let itself = own.own.interval();
        let itself = Interval { most: lesser(itself.most, net.most), ..itself };
        let interrupted = Interval {
            least: net.most.map_or(0, |most| gross.least.saturating_sub(most)),
            most: gross.most.map(|most| most.saturating_sub(net.least)),
        };
        interrupts(&mut self.activations, &own, gross);
        let complete = own.begins && own.ends;
        let whole = complete || matches!(self.recorded, Recorded::Within(_));
        if whole && own.lost.is_none() && !matches!(self.recorded, Recorded::Nothing) {
            self.record(&own, gross, net, itself);
        }
        let end = self.before(&own, own.end);
        let (Rows { all, recent, other, .. }, log) = (&mut self.rows, &mut self.log);
        log.begin(own.place);
        for number in [Some(own.row), own.exception].into_iter().flatten() {
            let Some(recent) = recent.get_mut(number).filter(|_| number != *other) else {
                continue;
            };
            if let Some((duration, by)) = own.longest
                && let Some(row) = all.get_mut(number)
                && row.longest_interruption.is_none_or(|(before, _)| longer(duration, before))
            {
                row.longest_interruption = Some((duration, by));
            }
            if complete {
                recent.ends(Some(end).filter(|_| own.lost.is_none()));
            }
            if (!complete || own.lost.is_some())
                && let Some(row) = all.get_mut(number)
            {
                row.not_measured(own.lost.filter(|_| complete));
                continue;
            }
            log.add(all, number, Measure::Gross, gross);
            log.add(all, number, Measure::Net, net);
            if !own.is_task {
                log.add(all, number, Measure::Own, itself);
            }
            log.add(all, number, Measure::Interrupted, interrupted);
            self.stored += 4;
        }
        if log.is_full() || self.stored > self.most_exact {
            self.log.settle(&mut self.rows.all);
        }
        if self.stored > self.most_exact {
            let all = self.rows.all.iter_mut().flat_map(|row| row.measures.iter_mut());
            all.filter(|own| own.is_larger_than_bins()).for_each(Statistics::compact);
            self.stored = 0;
        }
    }

    fn record(&mut self, own: &Activation, gross: Interval, net: Interval, itself: Interval) {
        let subject = |row: usize| self.rows.all.get(row).map(|row| row.subject);
        let Some(function) = subject(own.row).and_then(Subject::function) else { return };
        let record = Activated {
            function,
            exception: own.exception.and_then(subject),
            thread: own.thread,
            place: own.place,
            end: own.end_at,
            gross,
            net,
            own: itself,
            serial: own.serial,
        };
        if self.recorded.has(&record) {
            match self.records.len() < MAX_RECORDS {
                true => self.records.push(record),
                false => self.unrecorded += 1,
            }
        }
    }

    fn release(&mut self, number: usize, own: &Activation) {
        if own.exception.is_some() {
            self.free_levels.push(own.level);
        }
        if let Some(slot) = self.activations.get_mut(number) {
            slot.serial = 0;
        }
        self.free.push(number);
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

    /// The clock of a source is not known for a while.
    fn unknown(&mut self, source: usize) {
        self.close(source, None, None);
        let epoch = self.epoch();
        let first = (self.clock == Clock::Instructions).then_some(0);
        let clock = self.source(source);
        (clock.epoch, clock.exact, clock.now) = (epoch, first.is_some(), first);
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
