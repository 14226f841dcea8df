//! The samples of elements.

use std::collections::VecDeque;

use tracewright_base::{Code, Context, Element, Gap, Isa, Kind, Pc, Range, Waypoints};
use tracewright_image::{Cache, CacheOptions, TimeConversion};

use super::Receiver;
use crate::sources::Source;

/// Which samples are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// `b`: branches that were taken, and where the trace begins and ends.
    pub branches: bool,
    /// `i`: a sample each time that this number of instructions was executed.
    pub instructions: Option<u64>,
    /// `l`: the most branches before a sample that it has; 0 for none.
    pub last: usize,
    /// A sample each time that there are [`last`](Samples::last) branches: each branch is in one
    /// sample.
    pub each_branch: bool,
    /// How timestamps are converted to times, where they are.
    pub clock: Option<TimeConversion>,
}

/// A branch before a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Branch {
    /// Its address.
    pub from: u64,
    /// The address of the next instruction.
    pub to: u64,
    /// The instruction set of that.
    pub isa: Isa,
}

/// The event of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A branch that was taken, to the address; 0 where the trace ends.
    Branch(u64),
    /// A number of instructions.
    Instructions,
}

/// A sample.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// The event.
    pub event: Event,
    /// The address; 0 where the trace begins.
    pub address: u64,
    /// The number of events since the sample before.
    pub period: u64,
    /// The branches before, the oldest first.
    pub last: &'a VecDeque<Branch>,
}

/// What samples depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The last packet in perf's terms.
    last: Last,
    pub(super) context: Option<Context>,
    /// Instructions since the last sample.
    instructions: u64,
    /// The last branches.
    branches: VecDeque<Branch>,
    /// The time of the last timestamp in nanoseconds, where it can be converted.
    pub(super) time: Option<u64>,
}

impl State {
    /// The memory that it takes, in bytes.
    pub(super) fn weight(&self) -> usize {
        self.branches.len() * size_of::<Branch>()
    }
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
    /// The time of the record of the buffer in nanoseconds, where it has one.
    pub recorded: Option<u64>,
}

/// Makes samples of elements.
#[derive(Debug)]
pub struct Sampler {
    samples: Samples,
    sources: Vec<Traced>,
    states: Vec<State>,
    /// The instructions of sources whose instructions are not all of one size.
    caches: Vec<Option<Cache>>,
}

impl Sampler {
    pub(super) fn new(samples: Samples) -> Sampler {
        Sampler { samples, sources: Vec::new(), states: Vec::new(), caches: Vec::new() }
    }

    pub(super) fn begin(&mut self, sources: Vec<Traced>, before: Vec<State>) {
        self.caches = vec![None; sources.len()];
        self.states = before;
        self.states.resize(sources.len(), State::default());
        // Each buffer begins in the memory of its moment.
        self.states.iter_mut().for_each(|state| state.context = None);
        self.sources = sources;
    }

    pub(super) fn states(&self) -> &[State] {
        &self.states
    }

    pub(super) fn fork(&self) -> Sampler {
        Sampler {
            samples: self.samples,
            sources: self.sources.clone(),
            states: vec![State::default(); self.sources.len()],
            caches: vec![None; self.sources.len()],
        }
    }

    pub(super) fn resume(&mut self, states: Vec<State>) {
        self.states = states;
        for (traced, state) in self.sources.iter_mut().zip(&self.states) {
            match &state.context {
                Some(context) => _ = traced.source.follow(&Element::Context(*context)),
                None => traced.source.restart(),
            }
        }
    }

    pub(super) fn element(&mut self, n: usize, element: &Element, out: &mut impl Receiver) {
        match element {
            Element::Range(range) => self.range(n, range, out),
            Element::TraceOn(_) | Element::Gap(Gap::Start | Gap::Reset | Gap::Overflow) => {
                self.flush(n, out);
                let last = self.states.get(n).map(|state| state.last);
                if let Some(Last::Range(from, _)) = last.filter(|_| self.samples.branches) {
                    self.branch(n, from, 0, out);
                }
                if let Some(state) = self.states.get_mut(n) {
                    state.last = Last::Discontinuity;
                    state.branches.clear();
                }
            }
            Element::End => self.flush(n, out),
            Element::Exception(_) | Element::ExceptionReturn => {
                if let Some(State { last: Last::Range(_, taken), .. }) = self.states.get_mut(n) {
                    *taken = true;
                }
            }
            Element::Context(context) => {
                self.leave(n, context, out);
                if let Some(state) = self.states.get_mut(n) {
                    state.context = Some(*context);
                }
                if let Some(traced) = self.sources.get_mut(n) {
                    traced.source.follow(element);
                }
            }
            Element::Timestamp { value, .. } => {
                if let (Some(state), Some(clock)) = (self.states.get_mut(n), self.samples.clock) {
                    state.time = Some(clock.nanoseconds(*value));
                }
            }
            _ => {}
        }
    }

    /// A branch of user code does not lead into another thread, as what is between the two is not
    /// traced, and the branches of one thread are not those before a sample of another.
    fn leave(&mut self, n: usize, next: &Context, out: &mut impl Receiver) {
        let Some(State { last, context: Some(context), .. }) = self.states.get(n) else { return };
        if (context.context_id, context.vmid) == (next.context_id, next.vmid) {
            return;
        }
        // perf ends branch samples at each change.
        let ends = self.samples.branches || context.el.is_none_or(|level| level == 0);
        let last = *last;
        if self.samples.each_branch {
            self.flush(n, out);
        }
        if let Last::Range(from, true) = last
            && self.samples.branches
        {
            self.branch(n, from, 0, out);
        }
        if let Some(state) = self.states.get_mut(n) {
            state.branches.clear();
            if let (Last::Range(_, true), true) = (last, ends) {
                state.last = Last::Discontinuity;
            }
        }
    }

    /// The branches before the end of a path are in a sample at its last instruction.
    fn flush(&mut self, n: usize, out: &mut impl Receiver) {
        let Some(state) = self.states.get_mut(n) else { return };
        let Last::Range(address, _) = state.last else { return };
        let Samples { instructions, last, each_branch, .. } = self.samples;
        let (empty, period) = (state.branches.is_empty(), state.instructions);
        if last > 0 && (instructions.is_some() || each_branch && !empty) {
            state.instructions = 0;
            self.instruction_sample(n, address, period, out);
            if let Some(state) = self.states.get_mut(n).filter(|_| each_branch) {
                state.branches.clear();
            }
        }
    }

    /// A sample of a branch. It has that branch only, as perf writes it.
    fn branch(&mut self, n: usize, from: u64, to: u64, out: &mut impl Receiver) {
        let (Some(traced), Some(state)) = (self.sources.get(n), self.states.get(n)) else { return };
        let mut last = VecDeque::new();
        if self.samples.last > 0 {
            last.push_back(Branch { from, to, isa: Isa::default() });
        }
        let event = Event::Branch(to);
        out.sample(traced, state, &Sample { event, address: from, period: 1, last: &last });
    }

    fn instruction_sample(&self, n: usize, address: u64, period: u64, out: &mut impl Receiver) {
        if let (Some(traced), Some(state)) = (self.sources.get(n), self.states.get(n)) {
            let (event, last) = (Event::Instructions, &state.branches);
            out.sample(traced, state, &Sample { event, address, period, last });
        }
    }

    fn range(&mut self, n: usize, range: &Range, out: &mut impl Receiver) {
        let Samples { instructions, last, each_branch, branches, .. } = self.samples;
        let Some(state) = self.states.get_mut(n) else { return };
        let before = state.last;
        if let Last::Range(from, true) = before
            && last > 0
        {
            state.branches.push_back(Branch { from, to: range.start, isa: range.last.isa });
            if state.branches.len() > last {
                state.branches.pop_front();
            }
            if each_branch && state.branches.len() == last {
                let period = std::mem::take(&mut state.instructions);
                self.instruction_sample(n, range.start, period, out);
                if let Some(state) = self.states.get_mut(n) {
                    state.branches.clear();
                }
            }
        }
        match instructions {
            Some(period) => self.instructions(n, range, period, out),
            None => {
                if let Some(state) = self.states.get_mut(n) {
                    let sum = state.instructions.saturating_add(range.instructions.into());
                    state.instructions = sum;
                }
            }
        }
        if branches {
            match before {
                Last::Discontinuity => self.branch(n, 0, range.start, out),
                Last::Range(from, true) => self.branch(n, from, range.start, out),
                Last::Nothing | Last::Range(_, false) => {}
            }
        }
        let branch = matches!(range.last.kind, Kind::Branch | Kind::Indirect) && range.taken();
        if let Some(state) = self.states.get_mut(n) {
            state.last = Last::Range(range.last_address(), branch);
        }
    }

    fn instructions(&mut self, n: usize, range: &Range, period: u64, out: &mut impl Receiver) {
        let Some(state) = self.states.get_mut(n) else { return };
        let before = state.instructions;
        let sum = before.saturating_add(range.instructions.into());
        state.instructions = sum % period;
        // The number of the sampled instruction in the range.
        let mut next = period - before - 1;
        for _ in 0..sum / period {
            if let Some(address) = self.instruction(n, range, next) {
                self.instruction_sample(n, address, period, out);
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
