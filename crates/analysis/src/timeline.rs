//! The frames of a trace over time.

use std::collections::BTreeSet;

use crate::code::FunctionId;
use crate::itm::Recording;
use crate::outermost::Outermost;
use crate::stacks::{Begin, Ending, Entry, Position, Time, Visitor};

/// A frame from its begin to its end. Positions are numbers of instructions of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The thread.
    pub thread: u32,
    /// The number of frames beneath it. It is negative for callers that were found later.
    pub depth: i32,
    /// The function.
    pub function: FunctionId,
    /// How it begins.
    pub entry: Entry,
    /// How it ends.
    pub ending: Ending,
    /// Trace was lost while it was open.
    pub uncertain: bool,
    /// Where it begins.
    pub begin: u64,
    /// Where it ends.
    pub end: u64,
}

/// A timestamp, after a number of instructions of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSample {
    /// Instructions of the source before it.
    pub instructions: u64,
    /// Ticks of the timestamp clock.
    pub ticks: u64,
}

/// When something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeEstimate {
    /// The last timestamp before it.
    pub after: Option<u64>,
    /// The first timestamp after it.
    pub before: Option<u64>,
    /// Between the two in proportion to the instructions, in thousandths of a tick.
    pub estimate: u128,
}

/// What the positions of a source are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Axis {
    /// Numbers of instructions, whose times follow from timestamps.
    Timestamps,
    /// Numbers of instructions.
    Instructions,
    /// Ticks of the local timestamps of an ITM.
    Ticks,
    /// Offsets in the trace buffer.
    Bytes,
}

impl Axis {
    /// The unit of times on it.
    pub const fn unit(self) -> &'static str {
        match self {
            Axis::Timestamps => "ticks",
            Axis::Instructions => "instructions",
            Axis::Ticks => "ticks of the ITM",
            Axis::Bytes => "bytes of the trace",
        }
    }
}

/// A thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimelineThread {
    /// The source; of joined buffers, the number of the thread.
    pub source: usize,
    /// Its identifier in the trace.
    pub id: Option<u64>,
    /// The source that executed it first.
    pub first_source: usize,
    /// Where its first frame begins.
    begin: Option<u64>,
    /// Callers that were found beneath its first frame.
    beneath: i32,
}

impl Joined {
    /// Makes room for the source with this number.
    fn reserve(&mut self, source: usize) {
        if self.sources.len() <= source {
            self.sources.resize_with(source + 1, JoinedSource::default);
        }
    }
}

/// The frames of all threads.
#[derive(Clone, Debug)]
pub struct Timeline {
    slices: Vec<Slice>,
    /// The threads, by number.
    pub threads: Vec<TimelineThread>,
    time_samples: Vec<Vec<TimeSample>>,
    /// Losses of trace: the source, and instructions before.
    pub losses: Vec<(usize, u64)>,
    /// The thread that executes on a source from a number of instructions on.
    running: Vec<(usize, u64, usize)>,
    /// Sources with positions in ticks: ITMs with timestamps.
    clocked: BTreeSet<usize>,
    /// Sources with positions in bytes of the trace: ITMs without timestamps.
    untimed: BTreeSet<usize>,
    limit: usize,
    /// Frames that were left out, because there are more than the limit.
    pub left_out: u64,
    joined: Option<Joined>,
    /// The functions that threads began with.
    entered: Vec<(usize, FunctionId)>,
}

/// The threads of joined buffers. Each has positions of its own: its instructions, on all sources.
#[derive(Clone, Debug, Default)]
struct Joined {
    /// Instructions of each thread.
    executed: Vec<u64>,
    sources: Vec<JoinedSource>,
}

#[derive(Clone, Debug, Default)]
struct JoinedSource {
    thread: Option<usize>,
    /// The last timestamp.
    ticks: Option<u64>,
    /// The threads that it executed before the first timestamp of its buffer, each with its
    /// instructions before.
    early: Vec<(usize, u64)>,
}

/// A frame that is left out.
const NONE: usize = usize::MAX;

impl Timeline {
    /// A timeline of at most `limit` frames.
    pub fn new(limit: usize) -> Timeline {
        Timeline {
            slices: Vec::new(),
            threads: Vec::new(),
            time_samples: Vec::new(),
            losses: Vec::new(),
            running: Vec::new(),
            clocked: BTreeSet::new(),
            untimed: BTreeSet::new(),
            limit,
            left_out: 0,
            joined: None,
            entered: Vec::new(),
        }
    }

    /// As [`new`](Self::new), of [joined](crate::stacks::Stacks::joined) buffers: a thread may
    /// move between sources. Positions are numbers of instructions of the thread, and what is of a
    /// source elsewhere is of a thread.
    pub fn joined(limit: usize) -> Timeline {
        Timeline { joined: Some(Joined::default()), ..Timeline::new(limit) }
    }

    /// The frames of each thread in order of their begin; a caller precedes what it calls.
    pub fn by_thread(&self) -> Vec<Vec<Slice>> {
        let mut all = vec![Vec::new(); self.threads.len()];
        for slice in &self.slices {
            if let Some(list) = all.get_mut(slice.thread as usize) {
                list.push(*slice);
            }
        }
        // Callers that were found later are last.
        all.iter_mut().for_each(|list| list.sort_by_key(|slice| (slice.begin, slice.depth.min(0))));
        all
    }

    /// Removes the frames of all threads but those of which `has` is true. When the others run
    /// remains.
    pub fn retain_threads(&mut self, has: impl Fn(usize) -> bool) {
        self.slices.retain(|slice| has(slice.thread as usize));
    }

    /// The outermost function of each thread, where there is only one.
    pub fn outermost(&self) -> Vec<Option<FunctionId>> {
        self.outermost_without(|_| false)
    }

    /// As [`outermost`](Self::outermost), without some functions beneath it.
    pub fn outermost_without(
        &self,
        without: impl Fn(FunctionId) -> bool,
    ) -> Vec<Option<FunctionId>> {
        let mut found = vec![Outermost::default(); self.threads.len()];
        for (thread, function) in self.entered.iter().filter(|(_, function)| !without(*function)) {
            if let Some(own) = found.get_mut(*thread) {
                own.enter(*function);
            }
        }
        for slice in self.slices.iter().filter(|slice| !without(slice.function)) {
            if let Some(own) = found.get_mut(slice.thread as usize) {
                own.add(slice.depth, slice.function);
            }
        }
        found.into_iter().map(Outermost::function).collect()
    }

    /// The threads that a source executes in order: from which number of instructions on, and the
    /// number of the thread. As many as frames are stored.
    pub fn running(&self, source: usize) -> impl Iterator<Item = (u64, usize)> {
        self.running.iter().filter(move |run| run.0 == source).map(|run| (run.1, run.2))
    }

    /// The timestamps of a source.
    pub fn time_samples(&self, source: usize) -> &[TimeSample] {
        self.time_samples.get(source).map_or(&[], Vec::as_slice)
    }

    /// Whether all sources with frames have timestamps.
    pub fn has_time(&self) -> bool {
        // Those of ITMs have positions of their own. A thread of joined buffers may execute between
        // two timestamps.
        let least = if self.joined.is_some() { 1 } else { 2 };
        let timed = |thread: &TimelineThread| self.time_samples(thread.source).len() >= least;
        !self.slices.is_empty()
            && self.threads.iter().filter(|thread| thread.begin.is_some()).all(timed)
    }

    /// Adds the exceptions and losses of the ITM that is source number `source`, as a thread. Its
    /// positions are ticks, or where it has no times, offsets.
    pub fn add_recording(&mut self, source: usize, recording: &Recording) {
        let thread = self.threads.len();
        self.threads.push(TimelineThread {
            source,
            id: None,
            first_source: source,
            begin: None,
            beneath: 0,
        });
        for slice in recording.slices() {
            self.add(Slice {
                thread: thread as u32,
                depth: slice.depth as i32,
                function: FunctionId::Handler(slice.number),
                entry: Entry::Exception(slice.number),
                ending: if slice.uncertain { Ending::Lost } else { Ending::Return },
                uncertain: slice.uncertain,
                begin: slice.begin,
                end: slice.end,
            });
        }
        self.losses.extend(recording.losses().map(|at| (source, at)));
        self.left_out += recording.left_out();
        if recording.is_timed() { &mut self.clocked } else { &mut self.untimed }.insert(source);
    }

    /// The trace has no instructions: positions are offsets in the trace, whose times follow from
    /// timestamps, if there are any.
    pub fn has_no_instructions(&mut self) {
        if !self.has_time() {
            let sources: Vec<usize> = self.threads.iter().map(|thread| thread.source).collect();
            self.untimed.extend(sources);
        }
    }

    /// What a position of a source is.
    pub fn axis(&self, source: usize) -> Axis {
        match (self.clocked.contains(&source), self.untimed.contains(&source)) {
            (true, _) => Axis::Ticks,
            (_, true) => Axis::Bytes,
            _ if self.has_time() => Axis::Timestamps,
            _ => Axis::Instructions,
        }
    }

    /// The moment of a position in a source: after `instructions` instructions.
    pub fn time_at(&self, source: usize, instructions: u64) -> TimeEstimate {
        let time_samples = self.time_samples(source);
        let next = time_samples.partition_point(|sample| sample.instructions <= instructions);
        let before = next.checked_sub(1).and_then(|n| time_samples.get(n));
        let after = time_samples.get(next);
        let thousandths = |ticks: u64| u128::from(ticks) * 1000;
        let estimate = match (before, after) {
            (Some(a), Some(b)) => {
                let part = u128::from(instructions - a.instructions);
                let whole = u128::from((b.instructions - a.instructions).max(1));
                let between = thousandths(b.ticks.saturating_sub(a.ticks));
                thousandths(a.ticks) + between * part / whole
            }
            (Some(only), None) | (None, Some(only)) => thousandths(only.ticks),
            (None, None) => thousandths(instructions),
        };
        let ticks = |sample: &TimeSample| sample.ticks;
        TimeEstimate { after: before.map(ticks), before: after.map(ticks), estimate }
    }

    /// The number of the source on the timeline, and the instructions before a position.
    fn place(&mut self, position: &Position) -> (usize, u64) {
        let (number, thread) = (position.source, position.thread);
        let Some(joined) = &mut self.joined else { return (number, position.instructions) };
        if joined.executed.len() <= thread {
            joined.executed.resize(thread + 1, 0);
        }
        joined.reserve(number);
        let executed = |joined: &Joined, n: usize| joined.executed.get(n).copied().unwrap_or(0);
        let at = executed(joined, thread);
        let Some(source) = joined.sources.get_mut(number) else { return (thread, at) };
        if source.thread == Some(thread) {
            return (thread, at);
        }
        let before = source.thread.replace(thread);
        match source.ticks {
            // The switch is after this timestamp.
            Some(ticks) => {
                if let Some(before) = before {
                    let end = executed(joined, before);
                    self.add_time(before, TimeSample { instructions: end, ticks });
                }
                self.add_time(thread, TimeSample { instructions: at, ticks });
            }
            None => source.early.push((thread, at)),
        }
        (thread, at)
    }

    fn add_time(&mut self, source: usize, sample: TimeSample) {
        if source >= self.time_samples.len() {
            self.time_samples.resize_with(source + 1, Vec::new);
        }
        let Some(time_samples) = self.time_samples.get_mut(source) else { return };
        match time_samples.last_mut() {
            // Time never goes back.
            Some(last) if sample.ticks < last.ticks => {}
            Some(last) if last.instructions == sample.instructions => last.ticks = sample.ticks,
            _ => time_samples.push(sample),
        }
    }

    fn add(&mut self, slice: Slice) -> usize {
        if self.slices.len() >= self.limit {
            self.left_out += 1;
            return NONE;
        }
        self.slices.push(slice);
        self.slices.len() - 1
    }
}

impl Visitor for Timeline {
    type Node = usize;

    fn thread(&mut self, source: usize, thread: usize, id: Option<u64>) -> usize {
        if thread >= self.threads.len() {
            self.threads.resize(thread + 1, TimelineThread::default());
        }
        let number = if self.joined.is_some() { thread } else { source };
        if let Some(own) = self.threads.get_mut(thread) {
            (own.source, own.id, own.first_source) = (number, id, source);
        }
        NONE
    }

    fn entered(&mut self, thread: usize, function: FunctionId) {
        self.entered.push((thread, function));
    }

    fn begin(&mut self, position: &Position, _: usize, begin: &Begin) -> usize {
        let (_, at) = self.place(position);
        let Some(thread) = self.threads.get_mut(position.thread) else { return NONE };
        thread.begin.get_or_insert(at);
        let depth = position.depth as i32 - thread.beneath;
        self.add(Slice {
            thread: position.thread as u32,
            depth,
            function: begin.function,
            entry: begin.entry,
            ending: Ending::TraceEnd,
            uncertain: false,
            begin: at,
            end: at,
        })
    }

    fn end(&mut self, position: &Position, node: usize, ending: Ending, uncertain: bool) {
        let at = match &self.joined {
            None => position.instructions,
            // The trace of the thread ends, whatever its source executes.
            Some(joined) => joined.executed.get(position.thread).copied().unwrap_or(0),
        };
        if let Some(slice) = self.slices.get_mut(node) {
            slice.end = at;
            (slice.ending, slice.uncertain) = (ending, uncertain);
        }
    }

    fn beneath(&mut self, position: &Position, root: usize, begin: &Begin) -> (usize, usize) {
        let Some(thread) = self.threads.get_mut(position.thread) else { return (NONE, root) };
        thread.beneath += 1;
        let (depth, from) = (-thread.beneath, thread.begin.unwrap_or_default());
        let slice = Slice {
            thread: position.thread as u32,
            depth,
            function: begin.function,
            entry: begin.entry,
            ending: Ending::TraceEnd,
            uncertain: false,
            begin: from,
            end: from,
        };
        (self.add(slice), root)
    }

    fn run(&mut self, position: &Position, _: usize, instructions: u64, _: u64) {
        self.place(position);
        if let Some(joined) = &mut self.joined {
            if let Some(executed) = joined.executed.get_mut(position.thread) {
                *executed = executed.saturating_add(instructions);
            }
            return;
        }
        let last = self.running.iter().rev().find(|run| run.0 == position.source);
        if last.is_none_or(|run| run.2 != position.thread) && self.running.len() < self.limit {
            let from = position.instructions.saturating_sub(instructions);
            self.running.push((position.source, from, position.thread));
        }
    }

    fn time(&mut self, position: &Position, time: Time) {
        let Time::Timestamp(ticks) = time else { return };
        // A source may have a timestamp before its first thread.
        let known = self.joined.is_none() || position.thread < self.threads.len();
        let place = known.then(|| self.place(position));
        if let Some(joined) = &mut self.joined {
            joined.reserve(position.source);
        }
        let own = self.joined.as_mut().and_then(|own| own.sources.get_mut(position.source));
        let early = own.map(|own| {
            own.ticks = own.ticks.max(Some(ticks));
            std::mem::take(&mut own.early)
        });
        for (thread, instructions) in early.into_iter().flatten() {
            self.add_time(thread, TimeSample { instructions, ticks });
        }
        if let Some((source, instructions)) = place {
            self.add_time(source, TimeSample { instructions, ticks });
        }
    }

    fn lost(&mut self, position: &Position) {
        let place = self.place(position);
        self.losses.push(place);
    }

    fn buffer(&mut self, source: usize) {
        let joined = self.joined.as_mut();
        if let Some(own) = joined.and_then(|joined| joined.sources.get_mut(source)) {
            *own = JoinedSource::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let mut timeline = Timeline::new(10);
        assert_eq!(timeline.time_at(0, 7).estimate, 7_000);
        for (instructions, ticks) in [(10, 100), (20, 110), (20, 130), (40, 120), (50, 160)] {
            let position = Position { instructions, ..Position::default() };
            timeline.time(&position, Time::Timestamp(ticks));
        }
        for (instructions, after, before, estimate) in [
            (0, None, Some(100), 100_000),
            (10, Some(100), Some(130), 100_000),
            (15, Some(100), Some(130), 115_000),
            (20, Some(130), Some(160), 130_000),
            (49, Some(130), Some(160), 159_000),
            (60, Some(160), None, 160_000),
        ] {
            let want = TimeEstimate { after, before, estimate };
            assert_eq!(timeline.time_at(0, instructions), want, "{instructions}");
        }
    }
}
