//! Calls: one row for each frame, written when it ends.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use tracewright::VisitFrames;
use tracewright::analysis::stacks::{Begin, Ending, Entry, FunctionId, Position, Time, Visitor};
use tracewright::analysis::{Code, ThreadNames};
use tracewright::decode::Tally;
use tracewright::joined::JoinedBuffers;
use tracewright::views::functions::is_called;

use super::common::infos;
use super::functions::in_part;
use super::{By, Definition, Division, Input};
use crate::arrays::column;
use crate::output::{Batches, Column, Output, choose};
use crate::query::TableError;
use crate::rows::Shared;

pub(super) const TABLE: Definition = Definition {
    name: "calls",
    about: "calls, from the first to the last instruction; in the order in which they end",
    columns: || infos(columns()),
    by: &[By::Window, By::Function],
    division: Division::Captures,
    read,
};

const ENTRIES: &[&str] = &["call", "tail-call", "jump", "exception", "before", "lost", "resumed"];
const ENDINGS: &[&str] = &[
    "return",
    "return-unseen-call",
    "replaced",
    "unwound",
    "lost",
    "switched",
    "too-deep",
    "trace-end",
];

/// A frame.
#[derive(Clone, Copy, Debug)]
struct Frame {
    id: u64,
    parent: Option<u64>,
    /// The node of the parent.
    node: usize,
    path: u32,
    begin: Begin,
    position: Position,
    time: Option<u64>,
    /// Instructions and cycles of the thread before it.
    before: (u64, u64),
    /// Instructions in the frame itself, and cycles in the frames that it called.
    own: u64,
    called: u64,
    /// Ticks in the frames that it called; `None` where those of one are not known.
    called_ticks: Option<u64>,
    end: Option<(Position, Option<u64>)>,
    inclusive: (u64, Option<u64>),
    ending: Option<Ending>,
    uncertain: bool,
    function: Option<i32>,
    thread: Option<i32>,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    source: usize,
    name: Option<i32>,
    /// Instructions, and cycles, of which some may be unknown.
    instructions: u64,
    cycles: u64,
    has_cycles: bool,
    cycles_lost: bool,
}

/// What the visitors of all buffers share.
struct State<'a, 'b> {
    output: Output<'a, 'b, Frame>,
    shared: Shared,
    code: Code,
    names: Option<ThreadNames>,
    /// The functions that are selected; all where there are none.
    functions: Vec<String>,
    next: u64,
    paths: HashMap<(Option<u32>, FunctionId), u32>,
    full: bool,
}

/// Receives the frames of a buffer.
struct Calls<'x, 'a, 'b> {
    state: &'x RefCell<State<'a, 'b>>,
    /// The names of its sources.
    sources: Vec<String>,
    threads: Vec<Thread>,
    open: Vec<Frame>,
    free: Vec<usize>,
    times: Vec<Option<u64>>,
}

/// The node of a thread, and of what is not known.
const ROOT: usize = usize::MAX;

impl Calls<'_, '_, '_> {
    fn frame(&mut self, position: &Position, parent: usize, begin: &Begin) -> usize {
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        let node = parent;
        let parent = self.open.get(node).copied();
        let parent_path = parent.map(|own| own.path);
        let next_path = state.paths.len() as u32;
        let path = *state.paths.entry((parent_path, begin.function)).or_insert(next_path);
        let name = state.code.name(begin.function);
        let function = match begin.function {
            FunctionId::Unknown => None,
            _ => Some(state.shared.functions.number(&name)),
        };
        let thread = self.threads.get(position.thread).cloned().unwrap_or_default();
        let frame = Frame {
            id: state.next,
            parent: parent.map(|own| own.id),
            node,
            path,
            begin: *begin,
            position: *position,
            time: self.times.get(position.source).copied().flatten(),
            before: (thread.instructions, thread.cycles),
            own: 0,
            called: 0,
            called_ticks: Some(0),
            end: None,
            inclusive: (0, None),
            ending: None,
            uncertain: false,
            function,
            thread: thread.name,
        };
        state.next += 1;
        match self.free.pop() {
            Some(node) => {
                if let Some(slot) = self.open.get_mut(node) {
                    *slot = frame;
                }
                node
            }
            None => {
                self.open.push(frame);
                self.open.len() - 1
            }
        }
    }
}

impl Visitor for Calls<'_, '_, '_> {
    type Node = usize;

    fn thread(&mut self, source: usize, thread: usize, id: Option<u64>) -> usize {
        if thread >= self.threads.len() {
            self.threads.resize(thread + 1, Thread::default());
        }
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        let source_name = self.sources.get(source).cloned().unwrap_or_default();
        // Threads without an identifier have numbers, but for the first one of a source.
        let of_source = |own: &&Thread| own.source == source && own.name.is_some();
        let number = self.threads.iter().take(thread).filter(of_source).count() + 1;
        let known = state.names.as_ref().map(|names| names.name(source, id));
        let name = known.unwrap_or_else(|| match id {
            Some(id) => format!("{source_name} thread {id}"),
            None if number > 1 => format!("{source_name} task {number}"),
            None => source_name,
        });
        if let Some(own) = self.threads.get_mut(thread) {
            (own.source, own.name) = (source, Some(state.shared.words.number(&name)));
        }
        ROOT
    }

    fn begin(&mut self, position: &Position, parent: usize, begin: &Begin) -> usize {
        self.frame(position, parent, begin)
    }

    fn end(&mut self, position: &Position, node: usize, ending: Ending, uncertain: bool) {
        let Some(mut frame) = self.open.get(node).copied() else { return };
        self.free.push(node);
        let thread = self.threads.get(position.thread).cloned().unwrap_or_default();
        let cycles = thread.cycles.saturating_sub(frame.before.1);
        let known = thread.has_cycles && !thread.cycles_lost && !uncertain;
        frame.inclusive =
            (thread.instructions.saturating_sub(frame.before.0), known.then_some(cycles));
        frame.end = Some((*position, self.times.get(position.source).copied().flatten()));
        (frame.ending, frame.uncertain) = (Some(ending), uncertain);
        if let Some(own) = self.open.get_mut(frame.node) {
            own.called = own.called.saturating_add(cycles);
            let both = own.called_ticks.zip(ticks(&frame));
            own.called_ticks = both.map(|(called, ticks)| called.saturating_add(ticks));
        }
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        let selected = state.functions.is_empty() || {
            let (name, symbol) =
                (state.code.name(frame.begin.function), state.code.symbol(frame.begin.function));
            state.functions.iter().any(|pattern| is_called(pattern, &name, symbol))
        };
        if selected && !state.full {
            state.full = !state.output.push(&mut state.shared, frame);
        }
    }

    fn beneath(&mut self, position: &Position, root: usize, begin: &Begin) -> (usize, usize) {
        let node = self.frame(position, ROOT, begin);
        if let Some(frame) = self.open.get_mut(node) {
            // All of the thread so far is in the frame.
            frame.before = (0, 0);
        }
        (node, root)
    }

    fn run(&mut self, position: &Position, node: usize, instructions: u64, cycles: u64) {
        if let Some(frame) = self.open.get_mut(node) {
            frame.own = frame.own.saturating_add(instructions);
        }
        if let Some(thread) = self.threads.get_mut(position.thread) {
            thread.instructions = thread.instructions.saturating_add(instructions);
            thread.cycles = thread.cycles.saturating_add(cycles);
            thread.has_cycles |= cycles > 0;
        }
    }

    fn time(&mut self, position: &Position, time: Time) {
        if position.source >= self.times.len() {
            self.times.resize(position.source + 1, None);
        }
        let thread = self.threads.get_mut(position.thread);
        match (time, thread) {
            (Time::Timestamp(value), _) => {
                if let Some(own) = self.times.get_mut(position.source) {
                    *own = Some(value);
                }
            }
            (Time::Cycles(cycles), Some(thread)) => {
                thread.cycles = thread.cycles.saturating_add(cycles);
                thread.has_cycles = true;
            }
            (Time::CyclesLost, Some(thread)) => thread.cycles_lost = true,
            (Time::TimestampsLost, _) | (_, None) => {}
        }
    }
}

impl VisitFrames for Calls<'_, '_, '_> {
    fn threads(&self) -> Vec<(usize, Option<u64>)> {
        Vec::new()
    }

    fn full(&self) -> bool {
        self.state.borrow().full
    }
}

fn read(input: &Input<'_>, batches: &mut Batches<'_>) -> Result<Tally, TableError> {
    let trace = &*in_part(input);
    let buffers: Vec<usize> = trace.plans().iter().map(|plan| plan.buffer).collect();
    let names = JoinedBuffers::new(trace.capture(), &buffers).map(|joined| joined.names());
    let joined = names.is_some();
    let state = State {
        output: Output::new(choose(columns(), input.columns), batches),
        shared: Shared::new(trace),
        code: Code::of_capture(trace.capture()),
        names,
        functions: input.query.functions.clone(),
        next: 0,
        paths: HashMap::new(),
        full: false,
    };
    let state = RefCell::new(state);
    let plan = Cell::new(0);
    let new = || {
        let number = plan.replace(plan.get() + 1);
        let sources = match joined {
            true => trace.capture().sources.iter().map(|source| source.name.clone()).collect(),
            false => trace.sources_of(number).iter().map(|own| own.name.clone()).collect(),
        };
        let (threads, open, free, times) = Default::default();
        Calls { state: &state, sources, threads, open, free, times }
    };
    let summary = trace.frames(&new)?.summary;
    let mut state = state.into_inner();
    state.output.flush(&mut state.shared);
    Ok(summary.formatter)
}

/// The position of an end that is not that of the trace.
fn end(frame: &Frame) -> Option<&Position> {
    frame.end.as_ref().map(|(position, _)| position).filter(|position| position.at != u64::MAX)
}

/// Ticks from the last timestamp before its begin to the last one before its end.
fn ticks(frame: &Frame) -> Option<u64> {
    frame.end.and_then(|(_, time)| time)?.checked_sub(frame.time?)
}

fn columns() -> Vec<Column<Frame>> {
    type Own = Frame;
    vec![
        column!(U64 "id" ! "number of the call, in the order in which calls begin", |_, r| r.id),
        column!(U64 "parent_id" ? "the call that it is in", |_, r| r.parent),
        column!(U32 "call_path_id" ! "number of its path, as in call_paths", |_, r| r.path),
        column!(Name(words) "thread" ? "name of the thread", |s, r| r.thread),
        column!(U32 "depth" ! "calls of the thread that it is in", |_, r| r.position.depth as u32),
        column!(Name(functions) "function" ? "name of the function; null where none is known",
            |s, r| r.function),
        column!(Hex "address" ? "address at which execution begins in it", |_, r| r.begin.address),
        column!(U64 "begin_offset" ? "offset of the packet", |_, r| {
            (r.position.at != u64::MAX).then_some(r.position.at)
        }),
        column!(U64 "end_offset" ? "offset of the packet; null at the end of the trace",
            |_, r| end(r).map(|own| own.at)),
        column!(U64 "begin_instruction" ! "instructions of the source before it",
            |_, r| r.position.instructions),
        column!(U64 "end_instruction" ? "instructions of the source before its end",
            |_, r| r.end.map(|(own, _)| own.instructions)),
        column!(U64 "begin_time" ? "last timestamp before it", |_, r| r.time),
        column!(U64 "end_time" ? "last timestamp before its end",
            |_, r| r.end.and_then(|(_, time)| time)),
        column!(I64 "ts" ? "begin in nanoseconds, where the clock is known",
            |s, r| s.nanoseconds(r.time)),
        column!(I64 "dur" ? "nanoseconds", |s, r| {
            let end = s.nanoseconds(r.end.and_then(|(_, time)| time));
            end.zip(s.nanoseconds(r.time)).map(|(end, begin)| end - begin)
        }),
        column!(U64 "instructions" ! "instructions in the function itself", |_, r| r.own),
        column!(U64 "inclusive_instructions" ! "with the functions that it calls",
            |_, r| r.inclusive.0),
        column!(U64 "cycles" ? "processor cycles in the function itself, from count to count",
            |_, r| r.inclusive.1.map(|all| all.saturating_sub(r.called))),
        column!(U64 "inclusive_cycles" ? "with the functions that it calls", |_, r| r.inclusive.1),
        column!(F64 "ipc" ? "instructions for each cycle, with the functions that it calls",
            |_, r| {
            let cycles = r.inclusive.1.filter(|cycles| *cycles > 0)?;
            Some(r.inclusive.0 as f64 / cycles as f64)
        }),
        column!(U64 "inclusive_ticks" ? "ticks from begin_time to end_time", |_, r| ticks(r)),
        column!(Kind(ENTRIES) "entry" ! "how it begins", |_, r| Some(r.begin.entry.name())),
        column!(Kind(ENDINGS) "ending" ? "how it ends",
            |_, r| r.ending.map(|ending| ending.name())),
        column!(U16 "exception" ? "number of the exception that it handles",
            |_, r| match r.begin.entry {
            Entry::Exception(number) => Some(number),
            _ => None,
        }),
        column!(Bool "uncertain" ! "trace was lost in it", |_, r| r.uncertain),
        column!(U64 "ticks" ? "ticks in the function itself, from timestamp to timestamp",
            |_, r| ticks(r)?.checked_sub(r.called_ticks?)),
    ]
}
