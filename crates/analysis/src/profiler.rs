//! Counts of executed ranges and of what follows each, at addresses in memory.

use std::sync::Arc;

use tracewright_base::{self as base, Element, Gap, Kind, Last};
use tracewright_decode::{Fork, Listener, Merge, Program};
use tracewright_image::{MemoryId, Selection};

use crate::Counts;

/// A range of instructions, and the address that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Executed {
    /// The memory that the range is in.
    pub memory: MemoryId,
    /// The source.
    pub source: u16,
    /// The address of the first instruction.
    pub start: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Number of instructions.
    pub instructions: u32,
    /// The last instruction.
    pub last: Last,
    /// The start of the range that follows; `None` where it is not known, and where an exception
    /// follows.
    pub next: Option<u64>,
}

impl Executed {
    /// The address of the last instruction.
    pub fn last_address(&self) -> u64 {
        let end = self.start.wrapping_add(self.bytes.into()) & self.last.isa.address_mask();
        end.wrapping_sub(self.last.size().into())
    }

    /// Whether the last instruction is a branch that was taken.
    pub fn branches(&self) -> bool {
        branches(self.last)
    }
}

/// Whether `last` is a branch that was taken.
fn branches(last: Last) -> bool {
    matches!(last.kind, Kind::Branch | Kind::Indirect) && last.taken()
}

/// Instructions that were executed in sequence after a branch that was taken, up to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Following {
    /// The memory.
    pub memory: MemoryId,
    /// The source.
    pub source: u16,
    /// The address of the branch before; `None` where it is not known.
    pub from: Option<u64>,
    /// The address of the first instruction.
    pub start: u64,
    /// The address of the last instruction.
    pub last: u64,
}

/// The counts of a [`Profiler`].
#[derive(Clone, Debug, Default)]
pub struct RawProfile {
    /// Ranges with what follows them.
    pub executed: Counts<Executed>,
    /// Sequences between branches that were taken.
    pub following: Counts<Following>,
    /// Instructions.
    pub instructions: u64,
}

impl Merge for RawProfile {
    fn merge(&mut self, later: Self) {
        self.executed.merge(later.executed);
        self.following.merge(later.following);
        self.instructions = self.instructions.saturating_add(later.instructions);
    }
}

/// What the counts of later elements of a source depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// What selects the memory, where it is not that at the beginning.
    memory: Option<Selection>,
    /// The last range, until it is known what follows, and its memory.
    last: Option<(base::Range, MemoryId)>,
    /// The branch before the current sequence, and the first address of the sequence.
    sequence: Option<(Option<u64>, u64)>,
}

/// Counts ranges and sequences of all sources.
#[derive(Clone, Debug)]
pub struct Profiler {
    programs: Arc<[Program]>,
    states: Vec<State>,
    counts: RawProfile,
    /// Executed ranges may select other memory.
    watches_addresses: bool,
}

impl Profiler {
    /// A profiler of sources with these programs.
    pub fn new(programs: impl IntoIterator<Item = Program>) -> Profiler {
        let programs: Arc<[Program]> = programs.into_iter().collect();
        let states = vec![State::default(); programs.len()];
        let watches_addresses = programs.iter().any(Program::watches_addresses);
        Profiler { programs, states, counts: RawProfile::default(), watches_addresses }
    }

    /// The memory at the beginning of a source's trace.
    fn first(&self, source: usize) -> Selection {
        self.programs.get(source).map(Program::begin).unwrap_or_default()
    }

    /// Follows what `element` selects.
    fn follow(&mut self, source: usize, element: &Element) {
        let first = match self.states.get(source) {
            Some(State { memory: Some(memory), .. }) => *memory,
            _ => self.first(source),
        };
        if let (Some(program), Some(state)) =
            (self.programs.get(source), self.states.get_mut(source))
        {
            program.follow(state.memory.get_or_insert(first), element);
        }
    }

    #[inline]
    fn range(&mut self, source: usize, range: base::Range, times: u64) {
        let first = match self.states.get(source) {
            Some(State { memory: Some(memory), .. }) => *memory,
            _ => self.first(source),
        };
        let Some(state) = self.states.get_mut(source) else { return };
        let memory = state.memory.get_or_insert(first).memory;
        let whole = u64::from(range.instructions).saturating_mul(times);
        self.counts.instructions = self.counts.instructions.saturating_add(whole);
        match state.last {
            Some((last, its)) if its == memory => {
                count(&mut self.counts, source, &last, memory, Some(range.start), times);
                if branches(last.last) {
                    end_sequence(&mut self.counts, source, state, &last, memory, times);
                    state.sequence = Some((Some(last.last_address()), range.start));
                }
            }
            _ => {
                self.end(source, times);
                if let Some(state) = self.states.get_mut(source) {
                    state.sequence = Some((None, range.start));
                }
            }
        }
        if let Some(state) = self.states.get_mut(source) {
            state.last = Some((range, memory));
        }
    }

    /// It is not known what follows the last range of `source`.
    fn end(&mut self, source: usize, times: u64) {
        let Some(state) = self.states.get_mut(source) else { return };
        if let Some((last, memory)) = state.last.take() {
            count(&mut self.counts, source, &last, memory, None, times);
            end_sequence(&mut self.counts, source, state, &last, memory, times);
        }
        state.sequence = None;
    }
}

#[inline]
fn count(
    counts: &mut RawProfile,
    source: usize,
    range: &base::Range,
    memory: MemoryId,
    next: Option<u64>,
    times: u64,
) {
    let base::Range { start, bytes, instructions, last, .. } = *range;
    let source = source as u16;
    let key = Executed { memory, source, start, bytes, instructions, last, next };
    counts.executed.add(key, times);
}

#[inline]
fn end_sequence(
    counts: &mut RawProfile,
    source: usize,
    state: &State,
    last: &base::Range,
    memory: MemoryId,
    times: u64,
) {
    if let Some((from, start)) = state.sequence {
        let (source, last) = (source as u16, last.last_address());
        counts.following.add(Following { memory, source, from, start, last }, times);
    }
}

impl Listener for Profiler {
    const PACKETS: bool = false;

    #[inline]
    fn element(&mut self, source: usize, _: u64, element: Element) {
        match element {
            Element::Range(range) => {
                self.range(source, range, 1);
                if self.watches_addresses {
                    self.follow(source, &element);
                }
            }
            Element::Context(_) | Element::Timestamp { .. } | Element::DataAccess(_) => {
                self.follow(source, &element);
            }
            Element::Corrected { taken } => {
                if let Some(State { last: Some((range, _)), .. }) = self.states.get_mut(source) {
                    range.last = range.last.with_taken(taken);
                }
            }
            other if breaks(&other) => self.end(source, 1),
            _ => {}
        }
    }

    fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32) {
        self.repeat_path(source, at, &[range], times.into());
    }

    fn repeat_path(&mut self, source: usize, _: u64, ranges: &[base::Range], times: u64) {
        // After the first turn, each turn has the same counts.
        for (turn, count) in [(0, 1), (1, times.saturating_sub(1))] {
            if times > turn {
                ranges.iter().for_each(|range| self.range(source, *range, count));
            }
        }
    }
}

/// Whether it is not known what precedes the next range, or an exception does.
const fn breaks(element: &Element) -> bool {
    match element {
        Element::Gap(gap) => !matches!(gap, Gap::Data),
        Element::TraceOn(_)
        | Element::Unknown { .. }
        | Element::NoCode { .. }
        | Element::Exception(_)
        | Element::Undecodable { .. }
        | Element::End => true,
        Element::Inconsistency(reason) => !reason.is_ambiguity(),
        _ => false,
    }
}

impl Fork for Profiler {
    type State = Vec<State>;
    type Output = RawProfile;
    const GROWS: bool = false;

    fn fork(&self) -> Self {
        Profiler {
            programs: Arc::clone(&self.programs),
            states: vec![State::default(); self.programs.len()],
            counts: RawProfile::default(),
            watches_addresses: self.watches_addresses,
        }
    }

    fn state(&self) -> Vec<State> {
        self.states.clone()
    }

    fn resume(&mut self, states: Vec<State>) {
        self.states = states;
        self.counts = RawProfile::default();
    }

    fn take(&mut self) -> RawProfile {
        std::mem::take(&mut self.counts)
    }
}
