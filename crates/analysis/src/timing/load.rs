//! The load of processors over time.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use tracewright_base::Interval;

use super::clock::Clock;
use crate::code::FunctionId;
use crate::stacks::{Begin, Ending, Entry, Position, Time, Visitor};

/// The most intervals of time of all sources.
pub const MAX_SLICES: usize = 1 << 20;

/// A part of the time of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// The time that is traced.
    pub traced: u64,
    /// The time in idle functions, without exception handlers, for certain and at most.
    pub idle: (u64, u64),
}

impl Slice {
    /// The time outside of idle functions.
    pub fn busy(&self) -> Interval {
        let less = |idle: u64| self.traced.saturating_sub(idle);
        Interval::new(less(self.idle.1), less(self.idle.0))
    }
}

/// A frame: whether execution in it is idle.
#[derive(Clone, Copy, Debug)]
struct Frame {
    serial: u64,
    is_idle: bool,
    is_exception: bool,
    /// A tail call has replaced the handler: it ends where what it calls does.
    replaced: bool,
    /// It, or a frame beneath it and above the last exception, is that of an idle function.
    idle: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Source {
    now: Option<u64>,
    /// In the time since `now`, idle functions were executed, others, and neither is known.
    idle: bool,
    busy: bool,
    lost: bool,
    /// Whether what was executed last is idle.
    last: Option<bool>,
}

/// Measures how much time each source spends in idle functions. It receives the frames of
/// [`Stacks`](crate::Stacks) in order.
#[derive(Clone, Debug)]
pub struct Load {
    clock: Clock,
    width: u64,
    functions: HashSet<FunctionId>,
    /// The threads whose load is measured, without handlers; all of them where there is none.
    only: Option<BTreeSet<usize>>,
    /// The threads in which the processor is idle, and those of which it is not known.
    idle_threads: BTreeSet<usize>,
    unknown_threads: BTreeSet<usize>,
    sources: Vec<Source>,
    threads: HashMap<usize, Vec<Frame>>,
    slices: BTreeMap<(usize, u64), Slice>,
    dropped: bool,
    serial: u64,
}

impl Load {
    /// In parts of `width` by the clock, with these idle functions.
    pub fn new(clock: Clock, width: u64, functions: HashSet<FunctionId>) -> Load {
        Load {
            clock,
            width: width.max(1),
            functions,
            only: None,
            idle_threads: BTreeSet::new(),
            unknown_threads: BTreeSet::new(),
            sources: Vec::new(),
            threads: HashMap::new(),
            slices: BTreeMap::new(),
            dropped: false,
            serial: 0,
        }
    }

    /// That of some threads, without exception handlers.
    #[must_use]
    pub fn of_threads(self, threads: BTreeSet<usize>) -> Load {
        Load { only: Some(threads), ..self }
    }

    /// These threads are those of idle tasks, and of these others it is not known which task they
    /// are.
    #[must_use]
    pub fn with_idle_threads(
        self,
        idle_threads: BTreeSet<usize>,
        unknown_threads: BTreeSet<usize>,
    ) -> Load {
        Load { idle_threads, unknown_threads, ..self }
    }

    /// Marks that a thread executes on a source. `certain`: even if it has no frame.
    fn executes(&mut self, source: usize, thread: usize, certain: bool) {
        let idle = match self.is_idle(thread) {
            None if !certain => return,
            idle => idle.unwrap_or(self.only.is_some()),
        };
        let in_handler = self.threads.get(&thread).and_then(|own| own.last());
        let is_unknown = self.unknown_threads.contains(&thread)
            && !in_handler.is_some_and(|frame| frame.is_exception);
        let own = self.source(source);
        own.idle |= idle || is_unknown;
        own.busy |= !idle || is_unknown;
        if certain {
            own.last = Some(idle).filter(|_| !is_unknown);
        }
    }

    /// Whether what a thread executes is no load.
    fn is_idle(&self, thread: usize) -> Option<bool> {
        let frames = self.threads.get(&thread)?;
        let top = frames.last()?;
        Some(match &self.only {
            None => top.idle,
            Some(only) => {
                !only.contains(&thread) || top.idle || frames.iter().any(|frame| frame.is_exception)
            }
        })
    }

    /// The width of a part.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// The parts in which something is traced: the source, the begin, and what is known.
    pub fn slices(&self) -> impl Iterator<Item = (usize, u64, Slice)> + '_ {
        self.slices
            .iter()
            .map(|((source, n), slice)| (*source, n.saturating_mul(self.width), *slice))
    }

    /// Whether there were more than [`MAX_SLICES`].
    pub fn is_cut(&self) -> bool {
        self.dropped
    }

    fn source(&mut self, source: usize) -> &mut Source {
        if source >= self.sources.len() {
            let now = (self.clock == Clock::Instructions).then_some(0);
            self.sources.resize(source + 1, Source { now, ..Source::default() });
        }
        &mut self.sources[source]
    }

    /// Time passed up to `now`.
    fn advance(&mut self, source: usize, now: u64) {
        let own = self.source(source);
        let before = own.now.replace(now).filter(|before| *before < now && !own.lost);
        let (mut idle, mut busy) = (own.idle, own.busy);
        if !idle && !busy {
            // What was executed before is executed still.
            (idle, busy) = (own.last == Some(true), own.last != Some(true));
        }
        (own.idle, own.busy, own.lost) = (false, false, false);
        let Some(mut from) = before else { return };
        while from < now {
            let number = from / self.width;
            let to = number.saturating_add(1).saturating_mul(self.width).min(now);
            if self.slices.len() >= MAX_SLICES && !self.slices.contains_key(&(source, number)) {
                self.dropped = true;
                return;
            }
            let slice = self.slices.entry((source, number)).or_default();
            let time = to - from;
            slice.traced += time;
            slice.idle.0 += if busy { 0 } else { time };
            slice.idle.1 += if idle { time } else { 0 };
            from = to;
        }
    }

    fn frame(&mut self, thread: usize, begin: &Begin, beneath: bool) -> Frame {
        self.serial += 1;
        let is_exception = matches!(begin.entry, Entry::Exception(_));
        let is_idle = self.functions.contains(&begin.function)
            || !is_exception && self.idle_threads.contains(&thread);
        let idle = is_idle || beneath && !is_exception;
        Frame { serial: self.serial, is_idle, is_exception, replaced: false, idle }
    }
}

impl Visitor for Load {
    type Node = u64;

    fn thread(&mut self, _: usize, _: usize, _: Option<u64>) -> u64 {
        0
    }

    fn begin(&mut self, position: &Position, _: u64, begin: &Begin) -> u64 {
        let top = self.threads.get(&position.thread).and_then(|frames| frames.last());
        let frame = self.frame(position.thread, begin, top.is_some_and(|top| top.idle));
        self.threads.entry(position.thread).or_default().push(frame);
        frame.serial
    }

    fn end(&mut self, position: &Position, node: u64, ending: Ending, _: bool) {
        let Some(frames) = self.threads.get_mut(&position.thread) else { return };
        let Some(at) = frames.iter().rposition(|frame| frame.serial == node) else { return };
        let is_replaced = ending == Ending::Replaced;
        match frames.get_mut(at).filter(|frame| is_replaced && frame.is_exception) {
            Some(handler) => handler.replaced = true,
            None => _ = frames.remove(at),
        }
        while !matches!(ending, Ending::Replaced | Ending::TooDeep)
            && frames.last().is_some_and(|frame| frame.replaced)
        {
            frames.pop();
        }
    }

    fn beneath(&mut self, position: &Position, root: u64, begin: &Begin) -> (u64, u64) {
        let frame = self.frame(position.thread, begin, false);
        let frames = self.threads.entry(position.thread).or_default();
        frames.insert(0, frame);
        let mut idle = false;
        for frame in frames {
            idle = frame.is_idle || idle && !frame.is_exception;
            frame.idle = idle;
        }
        (frame.serial, root)
    }

    fn run(&mut self, position: &Position, _: u64, instructions: u64, cycles: u64) {
        self.executes(position.source, position.thread, true);
        let clock = self.clock;
        let own = self.source(position.source);
        let duration = match clock {
            Clock::Instructions => instructions,
            Clock::Cycles => cycles,
            Clock::Timestamps => 0,
        };
        if duration > 0 {
            let now = own.now.map_or(0, |now| now.saturating_add(duration));
            self.advance(position.source, now);
        }
    }

    fn time(&mut self, position: &Position, time: Time) {
        let source = position.source;
        // The frame on top may have executed a part of a range that is traced later.
        self.executes(source, position.thread, false);
        match (time, self.clock) {
            (Time::Timestamp(value), Clock::Timestamps) if value > 0 => self.advance(source, value),
            (Time::Cycles(cycles), Clock::Cycles) => {
                let now = self.source(source).now.map_or(0, |now| now.saturating_add(cycles));
                self.advance(source, now);
            }
            (Time::CyclesLost, Clock::Cycles) | (Time::TimestampsLost, Clock::Timestamps) => {
                self.source(source).lost = true;
            }
            _ => {}
        }
    }

    fn lost(&mut self, position: &Position) {
        // The time up to the next point at which the clock is known is not attributed.
        let instructions = self.clock == Clock::Instructions;
        let own = self.source(position.source);
        (own.lost, own.last) = (!instructions, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random runs in an idle function, in another one and in handlers: the true idle time of each
    /// part lies between the bounds.
    #[test]
    fn idle_time_lies_in_the_bounds() {
        let (idle, busy) = (FunctionId::Known(1), FunctionId::Known(2));
        for seed in 1..200u64 {
            let mut state = seed;
            let mut random = |below: u64| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 11) % below
            };
            let mut load = Load::new(Clock::Timestamps, 100, [idle].into());
            let mut true_idle: BTreeMap<u64, u64> = BTreeMap::new();
            let (mut now, position) = (1000u64, Position::default());
            let begin = |function, entry| Begin { function, entry, address: None };
            load.time(&position, Time::Timestamp(now));
            let mut end = now;
            for _ in 0..200 {
                let is_idle = random(2) == 0;
                let function = if is_idle { idle } else { busy };
                let frame = load.begin(&position, 0, &begin(function, Entry::Call));
                let handler = (random(3) == 0)
                    .then(|| load.begin(&position, 0, &begin(busy, Entry::Exception(15))));
                let time = random(60);
                load.run(&position, 0, 1 + time, 0);
                for tick in now..now + time {
                    *true_idle.entry(tick / 100).or_default() +=
                        u64::from(is_idle && handler.is_none());
                }
                now += time;
                if let Some(handler) = handler {
                    load.end(&position, handler, Ending::Return, false);
                }
                load.end(&position, frame, Ending::Return, false);
                if random(4) == 0 {
                    load.time(&position, Time::Timestamp(now));
                    end = now;
                }
            }
            for (_, from, slice) in load.slices() {
                if from + 100 > end {
                    continue;
                }
                let value = true_idle.get(&(from / 100)).copied().unwrap_or(0);
                assert_eq!(slice.traced, 100, "seed {seed} at {from}");
                let bounds = slice.idle.0..=slice.idle.1;
                assert!(bounds.contains(&value), "seed {seed} at {from}: {value} in {slice:?}");
            }
        }
    }

    #[test]
    fn a_loss_is_not_attributed() {
        let mut load = Load::new(Clock::Timestamps, 10, HashSet::new());
        let position = Position::default();
        for (value, lost) in [(100, false), (110, false), (120, true), (130, false)] {
            if lost {
                load.lost(&position);
            }
            load.run(&position, 0, 1, 0);
            load.time(&position, Time::Timestamp(value));
        }
        let found: Vec<_> = load.slices().map(|own| (own.1, own.2.busy())).collect();
        assert_eq!(found, [(100, Interval::point(10)), (120, Interval::point(10))]);
        assert!(!load.is_cut());
    }
}
