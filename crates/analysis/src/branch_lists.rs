//! Sequences of branches from an address on.

use std::collections::HashMap;
use std::sync::Arc;

use tracewright_base::{Batch, Element, Gap, Isa, Kind, Range, Turns};
use tracewright_decode::listener::each_part;
use tracewright_decode::{Event, Fork, Listener, Merge, Program, Size, Wants};
use tracewright_image::{MemoryId, Selection};

/// The most branches of a sequence. A longer one is continued by another from the next address on.
const MAX_BRANCHES: u32 = 1 << 12;

/// Whether each of a sequence of branches was taken. Bit 0 of the first byte is the first.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Branches {
    /// The bits.
    pub bits: Vec<u8>,
    /// The number of branches.
    pub len: u32,
}

impl Branches {
    fn push(&mut self, taken: bool) {
        let bit = self.len % 8;
        if bit == 0 {
            self.bits.push(0);
        }
        if let Some(last) = self.bits.last_mut() {
            *last |= u8::from(taken) << bit;
        }
        self.len += 1;
    }

    /// Whether branch `n` was taken.
    pub fn get(&self, n: u32) -> Option<bool> {
        let byte = self.bits.get(n as usize / 8).filter(|_| n < self.len)?;
        Some(byte >> (n % 8) & 1 != 0)
    }
}

/// Source, memory, address, whether it is of T32, and the branches.
type Key = (u16, MemoryId, u64, bool, Branches);

/// Counts of sequences.
#[derive(Clone, Debug, Default)]
pub struct BranchLists {
    pub(crate) counts: HashMap<Key, u64>,
}

impl Merge for BranchLists {
    fn merge(&mut self, later: Self) {
        for (key, count) in later.counts {
            let sum = self.counts.entry(key).or_default();
            *sum = sum.saturating_add(count);
        }
    }
}

/// What the sequences of a source depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    memory: Option<Selection>,
    /// The current sequence: its address, whether it is of T32, and its branches so far.
    current: Option<(u64, bool, Branches)>,
}

/// Counts the sequences of branches between indirect branches. The path of a sequence follows from
/// the program: each bit stands for a waypoint, and is set where it is a branch that was taken.
#[derive(Clone, Debug)]
pub struct BranchLister {
    programs: Arc<[Program]>,
    states: Vec<State>,
    counts: BranchLists,
}

impl BranchLister {
    /// For sources with these programs.
    pub fn new(programs: impl IntoIterator<Item = Program>) -> BranchLister {
        let programs: Arc<[Program]> = programs.into_iter().collect();
        let states = vec![State::default(); programs.len()];
        BranchLister { programs, states, counts: BranchLists::default() }
    }

    /// A text of the state of each source, which is the same where later counts are.
    pub fn describe(&self, states: &[State]) -> Vec<String> {
        let describe = |(source, state): (usize, &State)| {
            let first = || self.programs.get(source).map(Program::begin).unwrap_or_default();
            format!("{:?} {:?}", state.memory.unwrap_or_else(first), state.current)
        };
        states.iter().enumerate().map(describe).collect()
    }

    fn memory(&self, source: usize) -> Selection {
        let known = self.states.get(source).and_then(|state| state.memory);
        known.unwrap_or_else(|| self.programs.get(source).map(Program::begin).unwrap_or_default())
    }

    /// Follows what `element` selects: other memory ends the sequence.
    fn follow(&mut self, source: usize, element: &Element) {
        let mut memory = self.memory(source);
        let Some(program) = self.programs.get(source) else { return };
        if program.follow(&mut memory, element) {
            self.end(source);
        }
        if let Some(state) = self.states.get_mut(source) {
            state.memory = Some(memory);
        }
    }

    fn end(&mut self, source: usize) {
        let memory = self.memory(source);
        let Some(state) = self.states.get_mut(source) else { return };
        let Some((address, t32, branches)) = state.current.take() else { return };
        if branches.len > 0 {
            let key = (source as u16, memory.memory, address, t32, branches);
            let count = self.counts.counts.entry(key).or_default();
            *count = count.saturating_add(1);
        }
    }

    fn range(&mut self, source: usize, range: &Range) {
        let Some(state) = self.states.get_mut(source) else { return };
        let t32 = range.last.isa == Isa::T32;
        let current = state.current.get_or_insert_with(|| (range.start, t32, Branches::default()));
        let branch = matches!(range.last.kind, Kind::Branch | Kind::Indirect);
        // A range that ends within a block has no waypoint: an exception or a gap follows.
        if range.last.kind != Kind::Plain {
            current.2.push(branch && range.taken());
        }
        let indirect = range.last.kind == Kind::Indirect && range.taken();
        if indirect || current.2.len >= MAX_BRANCHES || range.last.kind == Kind::Plain {
            self.end(source);
        }
    }
}

impl Listener for BranchLister {
    fn element(&mut self, source: usize, _: u64, element: Element) {
        match element {
            Element::Range(range) => {
                self.range(source, &range);
                if self.programs.get(source).is_some_and(Program::watches_addresses) {
                    self.follow(source, &element);
                }
            }
            Element::Context(_) | Element::Timestamp { .. } | Element::DataAccess(_) => {
                self.follow(source, &element);
            }
            Element::Gap(Gap::Data) => {}
            Element::Gap(_)
            | Element::TraceOn(_)
            | Element::Unknown { .. }
            | Element::NoCode { .. }
            | Element::Exception(_)
            | Element::Undecodable { .. }
            | Element::End => self.end(source),
            Element::Inconsistency(reason) if !reason.is_ambiguity() => self.end(source),
            _ => {}
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        let source = batch.source;
        each_part(self, batch, |lister, turns| {
            let Turns { at, ranges, times, listed } = *turns;
            // Turns beyond the expansion that the options allow have no branches in the list.
            for _ in 0..if listed { times } else { 0 } {
                ranges.iter().for_each(|range| lister.element(source, at, Element::Range(*range)));
            }
        });
    }

    fn event(&mut self, event: &Event<'_>) {
        match *event {
            Event::Select { source, selection } => {
                if let Some(state) = self.states.get_mut(source) {
                    state.memory = Some(selection);
                }
            }
            Event::PartEnd => (0..self.states.len()).for_each(|source| self.end(source)),
            _ => {}
        }
    }

    fn wants(&self) -> Wants {
        Wants::ANY_ORDER
    }
}

impl Fork for BranchLister {
    type State = Vec<State>;
    type Output = BranchLists;

    fn fork(&self) -> Self {
        let states = vec![State::default(); self.programs.len()];
        BranchLister {
            programs: Arc::clone(&self.programs),
            states,
            counts: BranchLists::default(),
        }
    }

    fn state(&self) -> Vec<State> {
        self.states.clone()
    }

    fn resume(&mut self, states: Vec<State>) {
        self.states = states;
        self.counts = BranchLists::default();
    }

    fn take(&mut self) -> BranchLists {
        std::mem::take(&mut self.counts)
    }

    fn size(&self) -> Size {
        Size::FIXED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_bits_from_the_lowest_on() {
        let mut branches = Branches::default();
        let pattern = [true, false, true, true, false, false, false, true, true];
        pattern.iter().for_each(|taken| branches.push(*taken));
        assert_eq!((branches.bits.as_slice(), branches.len), (&[0b1000_1101, 1][..], 9));
        assert_eq!((0..9).filter_map(|n| branches.get(n)).collect::<Vec<_>>(), pattern);
        assert_eq!(branches.get(9), None);
    }
}
