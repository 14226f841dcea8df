//! Random programs under a model of the DWT and the ITM: the true time of each switch and each step
//! of an exception lies in what the points of time around it allow, and the intervals are not wider
//! than the timestamps allow.

use std::collections::BTreeMap;
use std::sync::Arc;

use tracewright_base::{Channel, Dwt, DwtEvent, Element, Gap, Software};
use tracewright_decode::{Fork, Listener};
use tracewright_symbols::Functions;
use tracewright_testing::{Random, times};

use crate::code::{Code, FunctionId};
use crate::itm::Origin;
use crate::local_time::model::{Program, Trace, Unit, What, dwt};
use crate::running::{EventTasks, RunningEvents, Watched};
use crate::stacks::{Begin, Ending, Entry, Position, Stacks, Time, Visitor};
use crate::tasks::Tasks;
use crate::timing::{Clock, Measure, Subject, Timing};
use crate::transfers::Transfers;

/// The frames of a trace.
fn stacks<V: Visitor>(trace: &Trace, tasks: &Tasks, visitor: V) -> Stacks<V> {
    let functions = Functions::new(Vec::new());
    let mut transfers = Transfers::new(Code::of(functions, 1), Vec::new()).watching(tasks);
    for (at, element) in (0..).zip(&trace.elements) {
        transfers.element(0, at, *element);
    }
    let part = transfers.take();
    let mut stacks = Stacks::new(1, visitor).with_events(tasks.events());
    stacks.transfers(part.transfers());
    stacks.finish();
    stacks
}

/// When each frame begins and ends: the element, and the points before and after it.
#[derive(Default)]
struct Recorder {
    now: Option<u64>,
    open: Vec<usize>,
    all: Vec<(u64, FunctionId, Option<u64>, Option<u64>)>,
    lost: u64,
}

impl Recorder {
    fn add(&mut self, position: &Position, function: FunctionId) {
        if position.at != u64::MAX {
            self.open.push(self.all.len());
            self.all.push((position.at, function, self.now, None));
        }
    }
}

impl Visitor for Recorder {
    type Node = Executed;

    fn thread(&mut self, _: usize, _: usize, _: Option<u64>) -> Executed {
        Executed(FunctionId::Unknown)
    }

    fn begin(&mut self, position: &Position, _: Executed, begin: &Begin) -> Executed {
        // A thread that runs already has no begin.
        if begin.entry != Entry::Before {
            self.add(position, begin.function);
        }
        Executed(begin.function)
    }

    fn end(&mut self, position: &Position, node: Executed, ending: Ending, _: bool) {
        // Where a loss ends a frame is not known.
        if ending != Ending::Lost {
            self.add(position, node.0);
        }
    }

    fn beneath(&mut self, _: &Position, root: Executed, _: &Begin) -> (Executed, Executed) {
        (root, root)
    }

    fn run(&mut self, _: &Position, _: Executed, _: u64, _: u64) {}

    fn time(&mut self, _: &Position, time: Time) {
        match time {
            Time::Timestamp(value) => {
                assert!(self.now.is_none_or(|now| now <= value), "{:?} {value}", self.now);
                self.open.drain(..).for_each(|n| self.all[n].3 = Some(value));
                self.now = Some(value);
            }
            _ => {
                self.open.clear();
                self.now = None;
            }
        }
    }

    fn lost(&mut self, _: &Position) {
        self.lost += 1;
    }
}

/// The function of a frame.
#[derive(Clone, Copy, Debug)]
struct Executed(FunctionId);

fn tasks(by_address: bool) -> Tasks {
    let watched: Arc<[Watched]> = Arc::new([Watched { address: 0x2000_0010, size: 4 }]);
    let given = RunningEvents { origin: Origin::Comparator(1), bits: 32, idle: Vec::new() };
    let own = match by_address {
        true => EventTasks::new(watched, [None; 4], None),
        false => EventTasks::new(Arc::new([]), [None; 4], Some(given)),
    };
    Tasks::with_events(own)
}

fn random_trace(seed: u64, unit: Unit) -> (Vec<(u64, What)>, Trace) {
    let mut random = Random::new(seed);
    let program = Program::run(&mut random, 60);
    let trace = Trace::of(&program, unit, &mut random);
    (program, trace)
}

fn units(seed: u64) -> Unit {
    let bit = |n: u64| seed >> n & 1 != 0;
    let tick = [1, 1, 4, 64][(seed / 8 % 4) as usize];
    Unit { tick, delays: bit(0), losses: bit(1), by_address: bit(2) }
}

#[test]
fn true_times_lie_between_the_points_around_them() {
    let (mut exact, mut checked, mut narrow) = (0, 0, 0);
    for seed in 0..times(400) {
        let unit = units(seed);
        let (_, trace) = random_trace(seed, unit);
        let recorder = stacks(&trace, &tasks(unit.by_address), Recorder::default()).visitor;
        assert_eq!(recorder.lost > 0, trace.elements.iter().any(Element::is_after_overflow));
        for (at, function, from, to) in &recorder.all {
            // The time before that of the trace, or that of the trace's end.
            let Some(&time) = trace.times.get(at) else { continue };
            let what = format!("seed {seed} {unit:?} at {at} {function:?}: {time} {from:?} {to:?}");
            assert!(from.is_none_or(|from| from <= time), "{what}");
            assert!(to.is_none_or(|to| time <= to), "{what}");
            checked += 1;
            exact += u64::from(from.is_some() && from == to);
            // A unit that delays nothing, and counts each cycle, gives the narrowest intervals.
            if let Some(bounds) = trace.bounds.get(at)
                && unit.tick == 1
                && !unit.delays
                && !unit.losses
            {
                narrow += 1;
                assert_eq!((*from, *to), *bounds, "{what}");
            }
        }
    }
    assert!(exact * 8 > checked && checked > exact && checked > 10_000, "{exact} of {checked}");
    assert!(narrow > 1_000, "{narrow}");
}

/// The runs of tasks that are complete: the time of each from the return that begins it to the
/// one that ends it, and the same without handlers.
fn true_runs(program: &[(u64, What)]) -> BTreeMap<u64, Vec<[u64; 2]>> {
    let mut runs: BTreeMap<u64, Vec<[u64; 2]>> = BTreeMap::new();
    let (mut named, mut current) = (None, None::<(u64, u64)>);
    let (mut depth, mut entered, mut handlers) = (0, 0, 0);
    for &(time, what) in program {
        match what {
            What::Entered(_) => {
                entered = if depth == 0 { time } else { entered };
                depth += 1;
            }
            What::Exited(_) => {
                depth -= 1;
                handlers += if depth == 0 { time - entered } else { 0 };
            }
            What::Store(value) => named = Some(u64::from(value)),
            What::Returned(0) => {
                let Some(value) = named.filter(|v| current.is_none_or(|own| own.0 != *v)) else {
                    continue;
                };
                if let Some((task, begin)) = current.replace((value, time)) {
                    let gross = time - begin;
                    runs.entry(task).or_default().push([gross, gross - handlers]);
                }
                handlers = 0;
            }
            _ => {}
        }
    }
    runs
}

#[test]
fn true_durations_of_tasks_lie_in_the_intervals() {
    for seed in 0..times(300) {
        let unit = Unit { losses: false, ..units(seed) };
        let (program, trace) = random_trace(seed, unit);
        let tasks = tasks(unit.by_address);
        let timing = Timing::new(Clock::Timestamps).with_tasks(tasks.clone());
        let mut timing = stacks(&trace, &tasks, timing).visitor;
        timing.finish();
        let runs = true_runs(&program);
        let threads: Vec<_> = timing.threads().collect();
        let mut found = 0;
        for row in timing.rows() {
            let Subject::Run(thread) = row.subject else { continue };
            let Some(own) = threads[thread].1.and_then(|id| runs.get(&id)) else { continue };
            found += 1;
            for (n, measure) in [Measure::Gross, Measure::Net].into_iter().enumerate() {
                let statistics = row.of(measure);
                let mut values: Vec<u64> = own.iter().map(|own| own[n]).collect();
                values.sort_unstable();
                let what = format!("seed {seed} {unit:?} {measure:?}");
                assert_eq!(statistics.count(), values.len() as u64, "{what}");
                let sum = statistics.sum();
                let total: u64 = values.iter().sum();
                assert!(sum.least <= total && sum.most.is_none_or(|m| total <= m), "{what} {sum}");
                let ends =
                    [(statistics.min(), values[0]), (statistics.max(), values[values.len() - 1])];
                for (interval, value) in ends {
                    let own = interval.expect("durations");
                    assert!(own.least <= value, "{what} {own} {value}");
                    assert!(own.most.is_none_or(|most| value <= most), "{what} {own} {value}");
                }
            }
        }
        assert_eq!(found, runs.len(), "seed {seed}");
    }
}

/// The tasks in order, as they are switched.
#[derive(Default)]
struct Order {
    threads: Vec<Option<u64>>,
    order: Vec<Option<u64>>,
    exceptions: Vec<u16>,
}

impl Visitor for Order {
    type Node = ();

    fn thread(&mut self, _: usize, _: usize, id: Option<u64>) {
        self.threads.push(id);
    }

    fn begin(&mut self, position: &Position, (): (), begin: &Begin) {
        match begin.entry {
            Entry::Exception(number) => self.exceptions.push(number),
            _ => self.order.push(self.threads[position.thread]),
        }
    }

    fn end(&mut self, _: &Position, (): (), _: Ending, _: bool) {}

    fn beneath(&mut self, _: &Position, (): (), _: &Begin) -> ((), ()) {
        ((), ())
    }

    fn run(&mut self, _: &Position, (): (), _: u64, _: u64) {}
}

fn order(elements: &[Element]) -> Vec<Option<u64>> {
    let trace = Trace { elements: elements.to_vec(), ..Trace::default() };
    stacks(&trace, &tasks(false), Order::default()).visitor.order
}

/// Rows: packets, and the tasks in order.
#[test]
fn switches() {
    let entered = |n: u32| dwt(1, 2, n | 1 << 12, false);
    let exited = |n: u32| dwt(1, 2, n | 2 << 12, false);
    let returned = |n: u32| dwt(1, 2, n | 3 << 12, false);
    let store = |value: u32| dwt(19, 4, value, false);
    let half = |value: u32| dwt(19, 2, value, false);
    let read = |value: u32| dwt(18, 4, value, false);
    let other = |value: u32| dwt(17, 4, value, false);
    let lost = Element::Gap(Gap::Overflow);
    for (elements, want) in [
        // Without exception packets, at the store.
        (vec![store(1), store(2), store(2), store(1)], vec![None, Some(1), Some(2), Some(1)]),
        (vec![store(1), read(2), other(3), half(4), store(1)], vec![None, Some(1), None, Some(1)]),
        // Before the scheduler starts, a store in Thread mode names a task that does not run yet.
        (vec![store(1), entered(11), exited(11), returned(0)], vec![None]),
        // Two handlers in a row.
        (
            vec![entered(14), store(1), exited(14), entered(15), exited(15), returned(0), store(2)],
            vec![None, Some(1), Some(2)],
        ),
        // A loss: who runs is not known up to the next store and return.
        (
            vec![entered(14), store(1), exited(14), returned(0), lost, returned(0), store(2)],
            vec![None, Some(1), None, Some(2)],
        ),
        (
            vec![
                entered(14),
                store(1),
                exited(14),
                returned(0),
                lost,
                store(2),
                exited(14),
                returned(0),
            ],
            vec![None, Some(1), None, Some(2)],
        ),
        // A handler whose entry is not in the trace has interrupted some task.
        (
            vec![entered(14), store(1), exited(14), returned(0), returned(15), returned(0)],
            vec![None, Some(1), None],
        ),
    ] {
        assert_eq!(order(&elements), want, "{elements:?}");
    }
}

/// Software names the task: where exceptions are traced, it runs from the return to Thread mode on,
/// wherever the write is among the packets of the DWT.
#[test]
fn switches_by_software() {
    let write = |port: u8, bits: u8, value: u64| {
        let channel = Channel::Port { page: Some(0), port };
        Element::SoftwareWrite(Software::new(channel, bits, value))
    };
    let step = |number: u32, step: u32| dwt(1, 2, number | step << 12, false);
    let given = RunningEvents { origin: Origin::Port(3), bits: 16, idle: vec![9] };
    let own = EventTasks::new(Arc::new([]), [None; 4], Some(given));
    assert!(own.is_idle(9) && !own.is_idle(3) && own.is_known());
    let tasks = Tasks::with_events(own);
    let order = |elements: Vec<Element>| {
        let trace = Trace { elements, ..Trace::default() };
        stacks(&trace, &tasks, Order::default()).visitor.order
    };
    let found = order(vec![
        write(3, 16, 1),
        write(4, 16, 2),
        write(3, 32, 3),
        write(3, 16, 4),
        write(3, 16, 4),
        write(3, 16, 1),
    ]);
    assert_eq!(found, [None, Some(1), Some(4), Some(1)]);
    let handler = |inside: Vec<Element>| [vec![step(14, 1)], inside, vec![step(14, 2), step(0, 3)]];
    let found = order(
        [
            handler(vec![write(3, 16, 1)]).concat(),
            vec![write(3, 16, 2)],
            handler(Vec::new()).concat(),
            handler(vec![write(3, 16, 2)]).concat(),
        ]
        .concat(),
    );
    assert_eq!(found, [None, Some(1), None, Some(2)]);
}

/// Timestamps of an STM are those of its writes.
#[test]
fn writes_of_an_stm_have_their_times() {
    let given = RunningEvents { origin: Origin::Master(65, 3), bits: 64, idle: Vec::new() };
    let tasks = Tasks::with_events(EventTasks::new(Arc::new([]), [None; 4], Some(given)));
    let channel = Channel::Master { master: Some(65), channel: Some(3) };
    let writes = [(1, 100), (2, 250), (1, 300)];
    let elements = writes
        .map(|(task, time)| Element::SoftwareWrite(Software::new(channel, 64, task).at_time(time)));
    let trace = Trace { elements: elements.to_vec(), ..Trace::default() };
    let timing = Timing::new(Clock::Timestamps).with_tasks(tasks.clone());
    let mut timing = stacks(&trace, &tasks, timing).visitor;
    timing.finish();
    let gross = |row: &crate::timing::Timed| row.of(Measure::Gross).sum();
    let rows: Vec<_> = timing.rows().iter().filter(|row| gross(row).least > 0).collect();
    let sums: Vec<_> = rows.iter().map(|row| gross(row)).collect();
    assert_eq!(sums, [150, 50].map(tracewright_base::Interval::point));
}

#[test]
fn packets_are_transfers_and_back() {
    let mut random = Random::new(5);
    for _ in 0..times(1000) {
        let event = DwtEvent {
            discriminator: random.below(32) as u8,
            size: random.pick(&[1, 2, 4]),
            value: random.next() as u32,
            after_overflow: false,
        };
        let found: Dwt = crate::transfer::Transfer::of_dwt(0, 0, &event).dwt();
        assert_eq!(found, event.meaning());
    }
}
