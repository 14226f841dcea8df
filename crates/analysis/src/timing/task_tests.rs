//! Runs and activations of random tasks, whose time is known, beside what the intervals are.

use std::collections::HashMap;

use super::*;
use crate::code::FunctionId;
use crate::stacks::{Begin, Ending, Entry, Position, Time, Visitor};
use crate::tasks::Tasks;

const WORK: FunctionId = FunctionId::Known(1);
const WAIT: FunctionId = FunctionId::Known(2);
const HANDLER: FunctionId = FunctionId::Known(3);

/// A task, and the begin of what is measured: when, and its net time before.
#[derive(Default)]
struct Task {
    nodes: Vec<usize>,
    net: u64,
    waits: bool,
    known: bool,
    run: Option<(u64, u64)>,
    /// `None` inside where it may have begun before the trace.
    active: Option<Option<(u64, u64)>>,
}

struct Execution {
    seed: u64,
    now: u64,
    timing: Timing,
    clock: Clock,
    tasks: Vec<Task>,
    current: usize,
    expected: HashMap<Subject, Vec<[u64; 2]>>,
}

impl Execution {
    fn new(seed: u64, clock: Clock) -> Execution {
        let timing = Timing::new(clock).with_tasks(Tasks::of_blocking([2]));
        let tasks = (0..3).map(|_| Task::default()).collect();
        let mut own =
            Execution { seed, now: 0, timing, clock, tasks, current: 0, expected: HashMap::new() };
        (0..3).for_each(|thread| _ = own.timing.thread(0, thread, Some(thread as u64)));
        own.tick();
        own.call(WORK, Entry::Before);
        own.tasks[0].known = true;
        own.tasks[0].active = Some(None);
        own
    }

    fn random(&mut self, below: u64) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 11) % below
    }

    fn position(&self) -> Position {
        let depth = self.tasks[self.current].nodes.len();
        Position { at: self.now, source: 0, thread: self.current, instructions: self.now, depth }
    }

    /// A point at which the clock is known.
    fn tick(&mut self) {
        let position = self.position();
        self.timing.time(&position, Time::Timestamp(self.now + 1));
    }

    fn call(&mut self, function: FunctionId, entry: Entry) {
        let begin = Begin { function, entry, address: None };
        let node = self.timing.begin(&self.position(), usize::MAX, &begin);
        self.tasks[self.current].nodes.push(node);
    }

    fn leave(&mut self) {
        let position = self.position();
        let node = self.tasks[self.current].nodes.pop().expect("a frame");
        self.timing.end(&position, node, Ending::Return, false);
    }

    /// The task executes, or a handler that interrupts it.
    fn run(&mut self, handles: bool) {
        let time = 1 + self.random(20);
        let node = *self.tasks[self.current].nodes.last().expect("a frame");
        self.timing.run(&self.position(), node, time, 0);
        self.now += time;
        self.tasks[self.current].net += if handles { 0 } else { time };
    }

    fn add(&mut self, subject: Subject, begin: Option<(u64, u64)>, thread: usize) {
        if let Some((at, net)) = begin {
            let durations = [self.now - at, self.tasks[thread].net - net];
            self.expected.entry(subject).or_default().push(durations);
        }
    }

    fn switch(&mut self) {
        let old = self.current;
        let run = self.tasks[old].run.take();
        self.add(Subject::Run(old), run, old);
        if self.tasks[old].waits {
            let active = self.tasks[old].active.take();
            self.add(Subject::Task(old), active.flatten(), old);
        }
        self.current = (old + 1 + self.random(2) as usize) % 3;
        let now = self.now;
        let new = &mut self.tasks[self.current];
        new.run = Some((now, new.net));
        if !std::mem::replace(&mut new.known, true) {
            // It has run before the trace.
            new.active = Some(None);
            self.call(WORK, Entry::Before);
        }
        self.run(false);
    }

    fn step(&mut self) {
        match self.random(10) {
            0 | 1 => self.switch(),
            2 => {
                self.call(HANDLER, Entry::Exception(15));
                self.run(true);
                if self.random(2) == 0 {
                    self.tick();
                }
                if self.random(2) == 0 {
                    // A tail call: what it calls is a part of the handler.
                    let node = self.tasks[self.current].nodes.pop().expect("a frame");
                    self.timing.end(&self.position(), node, Ending::Replaced, false);
                    self.call(WORK, Entry::TailCall);
                    self.run(true);
                }
                self.leave();
            }
            3 if !self.tasks[self.current].waits => {
                self.tasks[self.current].waits = true;
                self.call(WAIT, Entry::Call);
            }
            3 | 4 if self.tasks[self.current].waits => {
                self.leave();
                let now = self.now;
                let own = &mut self.tasks[self.current];
                own.waits = false;
                // Where no other task ran, it has not waited.
                if own.active.is_none() {
                    own.active = Some(Some((now, own.net)));
                }
            }
            5 => self.tick(),
            _ => self.run(false),
        }
    }
}

#[test]
fn times_of_tasks_contain_the_known_ones() {
    let (mut runs, mut activations) = (0, 0);
    for seed in 1..200 {
        for clock in [Clock::Timestamps, Clock::Instructions] {
            let mut own = Execution::new(seed, clock);
            (0..300).for_each(|_| own.step());
            own.tick();
            own.timing.finish();
            let rows = own.timing.rows().iter().filter(|row| row.subject.is_task());
            for row in rows {
                let expected = own.expected.remove(&row.subject).unwrap_or_default();
                match row.subject {
                    Subject::Run(_) => runs += expected.len(),
                    _ => activations += expected.len(),
                }
                for (measure, n) in [(Measure::Gross, 0), (Measure::Net, 1)] {
                    let found = row.of(measure);
                    assert_eq!(found.count(), expected.len() as u64, "{seed} {row:?}");
                    let all = expected.iter().map(|durations| durations[n]);
                    let sum: u64 = all.clone().sum();
                    let (min, max) = (all.clone().min(), all.max());
                    let bounds =
                        [(Some(found.sum()), Some(sum)), (found.min(), min), (found.max(), max)];
                    for (bound, value) in bounds {
                        let (Some(bound), Some(value)) = (bound, value) else { continue };
                        let most = bound.most.unwrap_or(u64::MAX);
                        assert!(
                            bound.least <= value && value <= most,
                            "{seed} {clock:?} {:?} {measure:?}: {value} in {bound:?}",
                            row.subject
                        );
                        let is_exact = own.clock == Clock::Instructions;
                        assert!(!is_exact || bound.least == most, "{seed} {bound:?}");
                    }
                    assert_eq!(row.of(Measure::Own).count(), 0);
                }
            }
            assert!(own.expected.values().all(Vec::is_empty), "{:?}", own.expected);
        }
    }
    assert!(runs > 10_000 && activations > 1_000, "{runs} {activations}");
}
