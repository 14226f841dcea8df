//! Positions, steps, runs and stacks, compared with a decoding of the whole trace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tracewright::Trace;
use tracewright::analysis::stacks::{
    Begin, Ending, FunctionId, Position as StackPosition, Stacks, Visitor,
};
use tracewright::capture::Buffer;
use tracewright::decode::{Fork, Plan};
use tracewright::index::view::View;
use tracewright::index::{Answer, Index, Making, Query, Shape, is_gap};
use tracewright::views::instructions::{Expand, Step, Steps};
use tracewright_replay::{Direction, Machine, Position, Stopped};
use tracewright_testing::{Random, shared_or_none, times};

/// The instructions of a buffer in the order of the output: source and address.
#[derive(Default)]
struct All(Vec<(usize, u64)>);

impl Steps for All {
    fn step(&mut self, source: usize, _: u64, step: &Step) {
        self.0.push((source, step.address));
    }
}

/// A frame of a call stack: its function, and its number, as each frame has another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Called {
    function: FunctionId,
    number: u64,
}

/// Instructions of a source that have the same stack.
#[derive(Clone, Debug)]
struct Run {
    /// Instructions of the source before them.
    first: u64,
    count: u64,
    /// The outermost frame first.
    stack: Vec<Called>,
}

/// The frames at each run of instructions.
#[derive(Default)]
struct Frames {
    open: Vec<Vec<Called>>,
    /// By source.
    runs: Vec<Vec<Run>>,
    /// By number of a frame: instructions of its source before its end.
    ends: BTreeMap<u64, u64>,
    frames: u64,
}

impl Frames {
    fn called(&mut self, function: FunctionId) -> Called {
        self.frames += 1;
        Called { function, number: self.frames }
    }
}

impl Visitor for Frames {
    type Node = ();

    fn thread(&mut self, source: usize, thread: usize, _: Option<u64>) {
        self.open.resize(self.open.len().max(thread + 1), Vec::new());
        self.runs.resize(self.runs.len().max(source + 1), Vec::new());
    }

    fn begin(&mut self, position: &StackPosition, (): (), begin: &Begin) {
        let called = self.called(begin.function);
        self.open[position.thread].push(called);
    }

    fn end(&mut self, position: &StackPosition, (): (), ending: Ending, _: bool) {
        let called = self.open[position.thread].pop();
        if ending != Ending::TraceEnd {
            self.ends.extend(called.map(|called| (called.number, position.instructions)));
        }
    }

    fn beneath(&mut self, position: &StackPosition, (): (), begin: &Begin) -> ((), ()) {
        let called = self.called(begin.function);
        self.open[position.thread].insert(0, called);
        ((), ())
    }

    fn run(&mut self, position: &StackPosition, (): (), instructions: u64, _: u64) {
        let stack = self.open[position.thread].clone();
        let runs = &mut self.runs[position.source];
        let first = runs.last().map_or(0, |run| run.first + run.count);
        runs.push(Run { first, count: instructions, stack });
    }
}

/// A buffer, and everything that was executed in it.
struct Whole {
    instructions: Vec<(usize, u64)>,
    runs: Vec<Vec<Run>>,
    ends: BTreeMap<u64, u64>,
}

impl Whole {
    /// The number of instructions of the source of each instruction before it.
    fn owns(&self) -> Vec<u64> {
        let mut before = vec![0; 256];
        let own = |(source, _): &(usize, u64)| {
            before[*source] += 1;
            before[*source] - 1
        };
        self.instructions.iter().map(own).collect()
    }

    /// The run of a source that has its instruction `own`.
    fn run(&self, source: usize, own: u64) -> Option<&Run> {
        let has = |run: &&Run| run.first <= own && own < run.first + run.count;
        self.runs[source].iter().rfind(has)
    }
}

fn whole(trace: &Trace, number: usize, plan: &Plan) -> Whole {
    let bytes = trace.capture().buffers[plan.buffer].bytes();
    let mut session = trace.session(plan).expect("a session");
    let subject = trace.subject();
    let mut transfers = subject.transfers(plan, &subject.code(plan));
    let mut stacks = Stacks::new(plan.sources.len(), Frames::default());
    let mut expand = Expand::new(All::default(), trace.sources_of(number));
    let mut both = (&mut expand, &mut transfers);
    bytes.chunks(1 << 12).for_each(|part| session.feed(part, &mut both));
    session.finish(&mut both);
    transfers.take().each(0..usize::MAX, |found| stacks.transfers(found));
    stacks.finish();
    let Frames { runs, ends, .. } = stacks.visitor;
    Whole { instructions: expand.view.0, runs, ends }
}

/// The traces of the repository, and those beside it that are small.
fn traces() -> Vec<(String, Trace)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of captures")
        .filter_map(|entry| Some(entry.ok()?.path().join("capture")))
        .filter(|path| path.exists())
        .collect();
    paths.sort();
    assert!(paths.len() >= 11, "{paths:?}");
    if let Some(shared) = shared_or_none("conformance/arm/snapshots") {
        for name in ["juno_r1_1", "a57_single_step", "tc2-ptm-rstk-t32", "TC2"] {
            paths.extend(Some(shared.join(name)).filter(|path| path.exists()));
        }
    }
    let open = |path: PathBuf| {
        let trace = tracewright::open(&path).expect("a capture");
        (path.display().to_string(), trace)
    };
    paths.into_iter().map(open).collect()
}

fn index(trace: &Trace) -> Index {
    let len = trace.capture().buffers.iter().map(|buffer| buffer.len()).max().unwrap_or(0);
    let shape = Shape::new((len / 40).max(64), 4);
    let making = Making { shape, view: true, jobs: 1, ..Making::default() };
    let mut file = Vec::new();
    let write = |part: &[u8], _: u64| {
        file.extend_from_slice(part);
        Ok(true)
    };
    trace.subject().make(trace.plans(), &making, write).expect("an index");
    Index::read(file.into()).expect("its own index")
}

/// Calls `test` for each buffer with instructions of each trace, and returns their number.
fn each(mut test: impl FnMut(&str, &Trace, &Whole, &mut Machine<'_>)) -> usize {
    let mut count = 0;
    for (name, trace) in traces() {
        let index = index(&trace);
        for (number, plan) in trace.plans().iter().enumerate() {
            let Some(buffer) = index.buffer(plan.buffer) else { continue };
            let view = View::new(&index, buffer).expect("an index").expect("a view");
            let all = whole(&trace, number, plan);
            let machine = Machine::new(trace.subject(), plan, &index, &view, &[]).expect("a trace");
            assert_eq!(machine.is_none(), all.instructions.is_empty(), "{name}");
            if let Some(mut machine) = machine {
                test(&name, &trace, &all, &mut machine);
                count += 1;
            }
        }
    }
    count
}

/// The instructions of each source, forward and backward, are those of the whole trace.
#[test]
fn steps_are_the_trace_in_both_directions() {
    let count = each(|name, _, whole, machine| {
        let most = 3000;
        for source in machine.sources().to_vec() {
            let own = |all: &mut dyn Iterator<Item = &(usize, u64)>| -> Vec<u64> {
                let own = all.filter(|(number, _)| *number == source);
                own.map(|(_, address)| *address).take(most).collect()
            };
            let want = own(&mut whole.instructions.iter());
            machine.go_to_end(Direction::Backward).expect("the trace");
            let mut got = Vec::new();
            if machine.here().source == source {
                got.push(machine.here().address);
            }
            let mut places = vec![machine.here()];
            while got.len() < want.len() {
                let stop = machine.step(source, Direction::Forward).expect("a step");
                assert_eq!(stop.why, Stopped::Step, "{name}");
                got.push(machine.here().address);
                places.push(machine.here());
            }
            assert_eq!(got, want, "{name} source {source}");
            // As many steps back are the same list backwards.
            while let Some(place) = places.pop() {
                if place.source != source {
                    break;
                }
                assert_eq!(machine.here(), place, "{name} source {source}");
                let stop = machine.step(source, Direction::Backward).expect("a step");
                assert_eq!(
                    stop.why == Stopped::Begin,
                    places.last().is_none_or(|p| p.source != source)
                );
            }
            let want = own(&mut whole.instructions.iter().rev());
            machine.go_to_end(Direction::Forward).expect("the trace");
            let mut got = Vec::new();
            while got.len() < want.len() {
                got.push(machine.at(source).expect("the trace").expect("an instruction").address);
                machine.step(source, Direction::Backward).expect("a step");
            }
            assert_eq!(got, want, "{name} source {source}");
        }
        machine.go_to_end(Direction::Forward).expect("the trace");
        let last = machine.here();
        assert_eq!(last.number, whole.instructions.len() as u64 - 1, "{name}");
        assert_eq!(
            machine.step(last.source, Direction::Forward).expect("a step").why,
            Stopped::End
        );
        assert_eq!(machine.here(), last, "{name}");
    });
    assert!(count >= 9, "{count}");
}

/// A position that is gone to by its text, its number or its element is the same.
#[test]
fn positions_are_found_again() {
    let mut random = Random::new(1);
    let mut tried = 0;
    each(|name, _, whole, machine| {
        for _ in 0..times(60) {
            let number = random.below(whole.instructions.len() as u64);
            assert!(machine.go_to_instruction(number).expect("the trace"), "{name}");
            let here = machine.here();
            let want = whole.instructions[number as usize];
            assert_eq!(
                (here.number, here.source, here.address),
                (number, want.0, want.1),
                "{name}"
            );
            let position: Position = here.position.to_string().parse().expect("a position");
            machine.go_to_end(Direction::Backward).expect("the trace");
            assert!(machine.go(position).expect("the trace"));
            assert_eq!(machine.here(), here, "{name}");
            tried += 1;
        }
        assert!(!machine.go_to_instruction(whole.instructions.len() as u64).expect("the trace"));
    });
    assert!(tried >= 500, "{tried}");
}

/// From any position, n steps forward and n back lead to the same one.
#[test]
fn n_steps_and_n_back_are_the_identity() {
    let mut random = Random::new(2);
    each(|name, _, whole, machine| {
        for _ in 0..times(30) {
            let number = random.below(whole.instructions.len() as u64);
            machine.go_to_instruction(number).expect("the trace");
            let (here, source) = (machine.here(), machine.here().source);
            let mut steps = 0;
            for _ in 0..random.below(100) {
                match machine.step(source, Direction::Forward).expect("a step").why {
                    Stopped::End => break,
                    _ => steps += 1,
                }
            }
            for _ in 0..steps {
                machine.step(source, Direction::Backward).expect("a step");
            }
            assert_eq!(machine.here(), here, "{name}: {steps} steps");
        }
    });
}

/// The stack at any position is that of the whole trace, from which `calls` is made, however the
/// position is reached.
#[test]
fn stacks_are_those_of_the_whole_trace() {
    let mut random = Random::new(3);
    let mut tried = 0;
    each(|name, _, whole, machine| {
        let owns = whole.owns();
        for _ in 0..times(280) {
            let number = random.below(whole.instructions.len() as u64);
            machine.go_to_instruction(number).expect("the trace");
            for _ in 0..4 {
                let here = machine.here();
                let own = owns[here.number as usize];
                let run = whole.run(here.source, own);
                let run = run.unwrap_or_else(|| panic!("{name}: instruction {number}"));
                let want: Vec<_> = run.stack.iter().map(|called| called.function).collect();
                let got = machine.stack(here.source).expect("a stack");
                let functions: Vec<_> = got.iter().rev().map(|frame| frame.function).collect();
                assert_eq!(functions, want, "{name}: instruction {} {here:?}", here.number);
                assert_eq!(got.first().and_then(|frame| frame.address), Some(here.address));
                let outer = got.windows(2).all(|pair| pair[1].address == pair[0].ret);
                assert!(outer, "{got:?}");
                tried += 1;
                let direction =
                    if random.chance(128) { Direction::Forward } else { Direction::Backward };
                machine.step(here.source, direction).expect("a step");
            }
        }
    });
    assert!(tried >= 10_000, "{tried}");
}

/// Each frame begins with the first instruction of the whole trace that has it on its stack, and
/// ends where it ends in the whole trace.
#[test]
fn frames_begin_and_end_where_stacks_change() {
    let mut random = Random::new(5);
    let (mut begins, mut ends) = (0, 0);
    each(|name, _, whole, machine| {
        let owns = whole.owns();
        // Instructions by source and number in it.
        let mut numbers = vec![Vec::new(); 256];
        for (number, (source, _)) in (0u64..).zip(&whole.instructions) {
            numbers[*source].push(number);
        }
        for _ in 0..times(50) {
            let number = random.below(whole.instructions.len() as u64);
            machine.go_to_instruction(number).expect("the trace");
            let here = machine.here();
            let (own, source) = (owns[number as usize], here.source);
            let Some(run) = whole.run(source, own) else { continue };
            let n = random.below(run.stack.len() as u64) as usize;
            let called = run.stack[run.stack.len() - 1 - n];
            let runs = &whole.runs[source];
            let has = |run: &&Run| run.stack.contains(&called);
            let first = runs.iter().find(has).map(|run| numbers[source][run.first as usize]);
            let end = whole.ends.get(&called.number);
            let end = end.and_then(|own| numbers[source].get(*own as usize)).copied();
            if let Some(position) = machine.frame_begin(source, n).expect("the trace") {
                assert!(machine.go(position).expect("the trace"));
                assert_eq!(Some(machine.here().number), first, "{name} {number} {n}");
                begins += 1;
                machine.go(here.position).expect("the trace");
            }
            let got = machine.frame_end(source, n).expect("the trace");
            if let Some(position) = got {
                assert!(machine.go(position).expect("the trace"));
            }
            let got = got.map(|_| machine.here().number);
            assert_eq!(got, end, "{name} {number} {n}");
            ends += u64::from(end.is_some());
        }
    });
    assert!(begins >= 150 && ends >= 100, "{begins} {ends}");
}

/// The hits of breakpoints forward are those of the whole trace, those backward the same in
/// reverse, and the elements with them are those that a search finds.
#[test]
fn runs_stop_at_all_breakpoints() {
    let mut random = Random::new(4);
    let (mut hits, mut searched) = (0, 0);
    each(|name, _, whole, machine| {
        for _ in 0..times(6) {
            let most = [3, 20][random.below(2) as usize];
            let count = 1 + random.below(most) as usize;
            let mut pick =
                || whole.instructions[random.below(whole.instructions.len() as u64) as usize].1;
            // Also one that is never hit.
            let mut breakpoints: Vec<u64> = (0..count).map(|_| pick()).collect();
            breakpoints.push(1);
            let all = (0u64..).zip(&whole.instructions);
            let at = |(_, (_, address)): &(u64, &(usize, u64))| breakpoints.contains(address);
            let want: Vec<u64> = all.filter(at).map(|(number, _)| number).collect();
            let most = want.len().min(40);
            machine.go_to_end(Direction::Backward).expect("the trace");
            let (mut got, mut elements) = (Vec::new(), Vec::new());
            if breakpoints.contains(&machine.here().address) {
                got.push(machine.here().number);
                elements.push(machine.here().position.element);
            }
            while got.len() < most {
                let stop = machine.run(Direction::Forward, &breakpoints).expect("a run");
                assert_eq!(stop.why, Stopped::Breakpoint, "{name}");
                got.push(machine.here().number);
                elements.push(machine.here().position.element);
            }
            assert_eq!(got, want[..most], "{name} {breakpoints:x?}");
            if most == want.len() {
                let stop = machine.run(Direction::Forward, &breakpoints).expect("a run");
                assert_eq!(stop.why, Stopped::End, "{name}");
                assert_eq!(machine.here().number, whole.instructions.len() as u64 - 1);
            }
            machine.go_to_end(Direction::Forward).expect("the trace");
            let mut back = Vec::new();
            if breakpoints.contains(&machine.here().address) {
                back.push(machine.here().number);
            }
            while back.len() < most {
                let stop = machine.run(Direction::Backward, &breakpoints).expect("a run");
                assert_eq!(stop.why, Stopped::Breakpoint, "{name}");
                back.push(machine.here().number);
            }
            let last: Vec<u64> = want.iter().rev().take(most).copied().collect();
            assert_eq!(back, last, "{name} {breakpoints:x?}");
            hits += 2 * most;
            if most == want.len() {
                let mut found = Vec::new();
                for address in &breakpoints {
                    let query = Query::parse(&["all", "address", &format!("{address:#x}")]);
                    let answer = machine.finder().find(&query.expect("a query"));
                    let Answer::Elements(all) = answer.expect("an answer") else { panic!() };
                    found.extend(all.iter().map(|one| one.number));
                }
                found.sort_unstable();
                found.dedup();
                elements.dedup();
                assert_eq!(elements, found, "{name} {breakpoints:x?}");
                searched += 1;
            }
        }
    });
    assert!(hits >= 1000 && searched >= 20, "{hits} {searched}");
}

/// A trace whose bytes stop in the middle, followed by the same trace.
fn damaged(trace: &Trace) -> Trace {
    let mut capture = trace.capture().clone();
    for buffer in &mut capture.buffers {
        let bytes = buffer.bytes();
        let cut = bytes.len() * 2 / 3 / 16 * 16;
        let mut bytes = [&bytes[..cut], &[0xa5; 32], &bytes].concat();
        bytes.truncate(bytes.len() / 16 * 16);
        *buffer = Buffer::new(buffer.name.clone(), buffer.format.clone(), bytes);
    }
    capture.stamps.clear();
    Trace::new(capture)
}

/// A step over a loss states it, and no other step does; a run over it, too.
#[test]
fn losses_are_stated() {
    let mut lost = 0;
    for (name, trace) in traces() {
        let trace = damaged(&trace);
        let [plan] = trace.plans() else { continue };
        if plan.sources.len() > 1 {
            continue;
        }
        let index = index(&trace);
        let view = View::new(&index, &index.buffers()[0]).expect("an index").expect("a view");
        let machine = Machine::new(trace.subject(), plan, &index, &view, &[]).expect("a trace");
        let Some(mut machine) = machine else { continue };
        let items = trace.elements().expect("elements").take(20_000);
        let elements: Vec<_> = items.map(|item| item.expect("an element").element).collect();
        let mut any = None;
        loop {
            let from = machine.here().position.element;
            let stop = machine.step(machine.here().source, Direction::Forward).expect("a step");
            let to = machine.here().position.element;
            if stop.why == Stopped::End || to >= elements.len() as u64 {
                break;
            }
            let between = &elements[from as usize..to as usize];
            let want = between.iter().find(|element| is_gap(element));
            assert_eq!(stop.lost.as_ref(), want, "{name} {from} {to}");
            lost += u64::from(want.is_some());
            any = any.or(want.copied());
        }
        machine.go_to_end(Direction::Backward).expect("the trace");
        let stop = machine.run(Direction::Forward, &[]).expect("a run");
        assert_eq!(stop.why, Stopped::End);
        if (elements.len() as u64) < 20_000 {
            assert_eq!(stop.lost, any, "{name}");
        }
    }
    assert!(lost >= 3, "{lost}");
}
