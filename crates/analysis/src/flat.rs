//! A flat profile: the instructions of each function, by the addresses that were executed. It
//! depends on no call stack, so it can be made of any part of a trace.

use std::collections::BTreeMap;

use tracewright_base::{Batch, Element, Range};
use tracewright_decode::listener::each_part;
use tracewright_decode::{Event, Listener, Wants};
use tracewright_image::{MemoryId, Selection};

use crate::code::{Code, Finder};
use crate::counts::Counts;

/// The size in bytes of the pages in which code without a symbol is counted.
pub const PAGE: u64 = 1 << 12;

/// What instructions are counted of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FlatCode {
    /// The function with this number in the [`Code`].
    Function(u32),
    /// Code without a symbol in the [`PAGE`] that begins at this address.
    Page(u64),
}

/// Counts the instructions of each function. A range counts where it begins.
#[derive(Clone, Debug)]
pub struct FlatProfile {
    finder: Finder,
    sources: Vec<Counted>,
}

/// What one source executed.
#[derive(Clone, Debug, Default)]
struct Counted {
    selection: Option<Selection>,
    /// Instructions of the ranges that begin at an address of a memory.
    instructions: Counts<(MemoryId, u64)>,
}

impl FlatProfile {
    /// Counts instructions of the functions of `code`.
    pub fn new(code: Code) -> FlatProfile {
        let sources = vec![Counted::default(); code.sources()];
        FlatProfile { finder: Finder::new(code), sources }
    }

    /// The functions.
    pub fn code(&self) -> &Code {
        self.finder.code()
    }

    /// Takes the instructions of a source since the last call.
    pub fn take(&mut self, source: usize) -> BTreeMap<FlatCode, u64> {
        let own = self.sources.get_mut(source).map(|own| std::mem::take(&mut own.instructions));
        let mut sums = BTreeMap::<FlatCode, u64>::new();
        for ((memory, start), instructions) in own.unwrap_or_default().into_counts() {
            let code = match self.finder.find(source, memory, start).found.function {
                Some(function) => FlatCode::Function(function),
                None => FlatCode::Page(start / PAGE * PAGE),
            };
            let sum = sums.entry(code).or_default();
            *sum = sum.saturating_add(instructions);
        }
        sums
    }

    /// `range` was executed this number of times.
    fn range(&mut self, source: usize, range: &Range, times: u64) {
        let Some(own) = self.sources.get_mut(source) else { return };
        let memory = match own.selection {
            Some(selection) => selection.memory,
            None => self.finder.code().start(source),
        };
        let instructions = u64::from(range.instructions).saturating_mul(times);
        own.instructions.add((memory, range.start), instructions);
    }
}

impl Listener for FlatProfile {
    fn element(&mut self, source: usize, _: u64, element: Element) {
        if let Element::Range(range) = element {
            return self.range(source, &range, 1);
        }
        if let Some(own) = self.sources.get_mut(source) {
            self.finder.code().follow(source, &mut own.selection, &element);
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        each_part(self, batch, |own, turns| {
            for range in turns.ranges {
                own.range(batch.source, range, turns.times);
            }
        });
    }

    fn event(&mut self, event: &Event<'_>) {
        if let Event::Select { source, selection } = *event
            && let Some(own) = self.sources.get_mut(source)
        {
            own.selection = Some(selection);
        }
    }

    fn wants(&self) -> Wants {
        Wants::ANY_ORDER
    }
}
