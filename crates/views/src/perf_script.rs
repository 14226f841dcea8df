//! Branch and instruction samples as `perf script --itrace` prints them.
//! (tools/perf/util/cs-etm.c of Linux, `cs_etm__sample` and `cs_etm__flush`)

use std::fmt::Write;
use std::io;

use tracewright_base::{Code, Context, Element, Gap, Isa, Kind, Pc, Range, Waypoints};
use tracewright_capture::plain;
use tracewright_decode::{Fork, Listener};
use tracewright_image::{Cache, CacheOptions};

use crate::{Lines, Source};

/// Which samples are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Samples {
    /// `b`: branches that were taken, and where the trace begins and ends.
    Branches,
    /// `i`: each time that this number of instructions was executed.
    Instructions(u64),
}

/// The width of the name of an event.
const EVENT: usize = 20;

/// What is printed depends on this state of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The last packet in perf's terms.
    last: Last,
    context: Option<Context>,
    /// Instructions since the last sample.
    instructions: u64,
}

/// The last packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    /// None.
    #[default]
    Nothing,
    /// The trace begins, or continues after a loss.
    Discontinuity,
    /// A range: the address of its last instruction, and whether it is a branch that was taken or
    /// an exception follows.
    Range(u64, bool),
}

/// The sources of a buffer, with the number of the CPU of each.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The source.
    pub source: Source,
    /// Its CPU.
    pub cpu: u32,
    /// The thread that runs until the trace reports another.
    pub thread: Option<u32>,
}

/// Prints a line for each sample. The lines of one CPU or thread continue from buffer to buffer:
/// see [`begin`](PerfScript::begin).
#[derive(Debug)]
pub struct PerfScript<W> {
    lines: Lines<W>,
    samples: Samples,
    /// The name of the event.
    event: String,
    sources: Vec<Traced>,
    states: Vec<State>,
    /// The instructions of sources whose instructions are not all of one size.
    caches: Vec<Option<Cache>>,
}

impl<W: io::Write> PerfScript<W> {
    /// Prints `samples` of events in `modes` to `out`.
    pub fn new(out: W, samples: Samples, modes: &str) -> Self {
        let name = match samples {
            Samples::Branches => "branches",
            Samples::Instructions(_) => "instructions",
        };
        let colon = if modes.is_empty() { "" } else { ":" };
        PerfScript {
            lines: Lines::new(out),
            samples,
            event: format!("{name}{colon}{modes}"),
            sources: Vec::new(),
            states: Vec::new(),
            caches: Vec::new(),
        }
    }

    /// A buffer with these sources begins. `before` are the states at the end of the buffer before
    /// it, of the same sources.
    pub fn begin(&mut self, sources: Vec<Traced>, before: Vec<State>) {
        self.caches = vec![None; sources.len()];
        self.states = before;
        self.states.resize(sources.len(), State::default());
        // Each buffer begins in the memory of its moment.
        self.states.iter_mut().for_each(|state| state.context = None);
        self.sources = sources;
    }

    /// The states at the end of the buffer.
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// The beginning of a line: thread, CPU, period and event.
    fn start(&mut self, n: usize, period: u64) {
        let (Some(traced), Some(state)) = (self.sources.get(n), self.states.get(n)) else { return };
        let context = state.context.unwrap_or_default();
        let thread = traced.source.program.thread(&context);
        let id = thread.map(|thread| thread.id).or(traced.thread);
        let name = thread.and_then(|thread| thread.name.clone());
        let name = name.unwrap_or_else(|| format!(":{}", id.map_or(-1, i64::from)));
        let name = plain::line(&name);
        let (id, cpu) = (id.map_or(-1, i64::from), traced.cpu);
        let event = &self.event;
        let _ = write!(
            self.lines.text,
            "{name:>16} {id:>5} [{cpu:03}] {period:>10} {event:>EVENT$}:  "
        );
    }

    /// An address with its symbol and file.
    fn address(&mut self, n: usize, address: u64) {
        let Some(traced) = self.sources.get(n) else { return };
        let source = &traced.source;
        let out = &mut self.lines.text;
        let _ = write!(out, "{address:>16x} ");
        match source.program.symbol(&source.image, address) {
            Some(symbol) => {
                let offset = address.wrapping_sub(symbol.start);
                let _ = write!(out, "{}+0x{offset:x}", plain::line(symbol.name));
            }
            None => out.push_str("[unknown]"),
        }
        let file = source.program.file(&source.image, address);
        let _ = write!(out, " ({})", plain::line(file.unwrap_or("[unknown]")));
    }

    fn branch(&mut self, n: usize, from: u64, to: u64) {
        self.start(n, 1);
        self.address(n, from);
        self.lines.text.push_str(" => ");
        self.address(n, to);
        self.lines.end();
    }

    /// A branch does not lead into another thread: what is between the two is not traced.
    fn leave(&mut self, n: usize, next: &Context) {
        let Some(State { last: Last::Range(from, true), context: Some(context), .. }) =
            self.states.get(n).copied()
        else {
            return;
        };
        if (context.context_id, context.vmid) == (next.context_id, next.vmid) {
            return;
        }
        if self.samples == Samples::Branches {
            self.branch(n, from, 0);
        }
        if let Some(state) = self.states.get_mut(n) {
            state.last = Last::Discontinuity;
        }
    }

    fn range(&mut self, n: usize, range: &Range) {
        let Some(state) = self.states.get(n) else { return };
        match self.samples {
            Samples::Branches => match state.last {
                Last::Discontinuity => self.branch(n, 0, range.start),
                Last::Range(from, true) => self.branch(n, from, range.start),
                Last::Nothing | Last::Range(_, false) => {}
            },
            Samples::Instructions(period) => self.instructions(n, range, period),
        }
        let branch = matches!(range.last.kind, Kind::Branch | Kind::Indirect) && range.taken();
        if let Some(state) = self.states.get_mut(n) {
            state.last = Last::Range(range.last_address(), branch);
        }
    }

    fn instructions(&mut self, n: usize, range: &Range, period: u64) {
        let Some(state) = self.states.get_mut(n) else { return };
        let before = state.instructions;
        let sum = before.saturating_add(range.instructions.into());
        state.instructions = sum % period;
        // The number of the sampled instruction in the range.
        let mut next = period - before - 1;
        for _ in 0..sum / period {
            if let Some(address) = self.instruction(n, range, next) {
                self.start(n, period);
                self.address(n, address);
                self.lines.end();
            }
            next += period;
        }
    }

    /// The address of instruction `number` of a range.
    fn instruction(&mut self, n: usize, range: &Range, number: u64) -> Option<u64> {
        let isa = range.last.isa;
        if matches!(isa, Isa::A64 | Isa::A32) {
            return Some(range.start.wrapping_add(4 * number));
        }
        let (traced, state) = (self.sources.get(n)?, self.states.get(n)?);
        let context = state.context.unwrap_or_default();
        let cache = self.caches.get_mut(n)?.get_or_insert_with(|| {
            traced.source.program.cache(Waypoints::default(), CacheOptions::default())
        });
        cache.enter_context(&context);
        let mut address = range.start;
        for _ in 0..number {
            let pc = Pc { address, isa, space: context.space() };
            address = address.wrapping_add(cache.instruction(pc).ok()?.size.into());
        }
        Some(address & isa.address_mask())
    }
}

impl<W: io::Write> Listener for PerfScript<W> {
    const PACKETS: bool = false;
    const ERASED: bool = true;

    fn element(&mut self, n: usize, _: u64, element: Element) {
        match element {
            Element::Range(range) => self.range(n, &range),
            Element::TraceOn(_) | Element::Gap(Gap::Start | Gap::Reset | Gap::Overflow) => {
                let last = self.states.get(n).map(|state| state.last);
                if self.samples == Samples::Branches
                    && let Some(Last::Range(from, _)) = last
                {
                    self.branch(n, from, 0);
                }
                if let Some(state) = self.states.get_mut(n) {
                    state.last = Last::Discontinuity;
                }
            }
            Element::Exception(_) | Element::ExceptionReturn => {
                if let Some(State { last: Last::Range(_, taken), .. }) = self.states.get_mut(n) {
                    *taken = true;
                }
            }
            Element::Context(context) => {
                self.leave(n, &context);
                if let Some(state) = self.states.get_mut(n) {
                    state.context = Some(context);
                }
                if let Some(traced) = self.sources.get_mut(n) {
                    traced.source.follow(&element);
                }
            }
            _ => {}
        }
    }

    fn full(&self) -> bool {
        self.lines.broken()
    }
}

impl Fork for PerfScript<Vec<u8>> {
    type State = Vec<State>;
    type Output = Vec<u8>;

    fn fork(&self) -> Self {
        PerfScript {
            lines: Lines::new(Vec::new()),
            samples: self.samples,
            event: self.event.clone(),
            sources: self.sources.clone(),
            states: vec![State::default(); self.sources.len()],
            caches: vec![None; self.sources.len()],
        }
    }

    fn state(&self) -> Vec<State> {
        self.states.clone()
    }

    fn resume(&mut self, states: Vec<State>) {
        self.states = states;
        for (traced, state) in self.sources.iter_mut().zip(&self.states) {
            match &state.context {
                Some(context) => _ = traced.source.follow(&Element::Context(*context)),
                None => traced.source.restart(),
            }
        }
        self.lines.clear();
    }

    fn take(&mut self) -> Vec<u8> {
        self.lines.take()
    }

    fn weight(&self) -> usize {
        self.lines.waiting()
    }
}
