//! Elements as an iterator.

use std::collections::VecDeque;
use tracewright_decode::listener::each_part;

use tracewright_base::{Batch, Element, Range, Turns};
use tracewright_decode::{Listener, Session, Tally};

use crate::chunks::Chunks;
use crate::error::DecodeError;
use crate::summary::Summary;
use crate::trace::Trace;

/// One element of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Item {
    /// The source that it comes from: an index into [`Trace::sources`].
    pub source: usize,
    /// Offset in the buffer of its source, in bytes: of the packet that traced it; for RISC-V, of
    /// the packet at which it is emitted. Offsets do not always rise.
    pub offset: u64,
    /// What the trace reports.
    pub element: Element,
}

/// The elements of a [`Trace`], in the order in which they become certain. Made by
/// [`Trace::elements`].
///
/// The buffer is decoded as the iterator is advanced: a chunk at a time, on the caller's thread.
#[derive(Debug)]
pub struct Elements<'a> {
    trace: &'a Trace,
    /// Which of the trace's plans is next, and the number of its first source.
    next: (usize, usize),
    running: Option<Running<'a>>,
    items: Items,
    summary: Summary,
    failed: bool,
}

/// The buffer that is being decoded.
#[derive(Debug)]
struct Running<'a> {
    session: Session,
    input: Chunks<'a>,
    tally: Tally,
    /// The number of sources up to its last one.
    sources: usize,
}

impl Trace {
    /// The elements of all buffers, one after the other, as an iterator.
    ///
    /// ```
    /// let trace = tracewright::Trace::new(tracewright::Capture::default());
    /// // A capture without a buffer has nothing to decode.
    /// assert!(trace.elements().is_err());
    /// ```
    ///
    /// # Errors
    /// As [`decode`](Trace::decode). A buffer that cannot be read to its end is an item of the
    /// iterator.
    pub fn elements(&self) -> Result<Elements<'_>, DecodeError> {
        self.check()?;
        Ok(Elements::new(self))
    }
}

/// What was decoded and not taken yet.
#[derive(Debug, Default)]
struct Items {
    waiting: VecDeque<Waiting>,
}

/// Items that are not taken yet. A packet can count billions of them.
#[derive(Debug)]
enum Waiting {
    /// An item.
    Item(Item),
    /// The turns of a loop, at least one.
    Path {
        source: usize,
        offset: u64,
        ranges: Vec<Range>,
        /// The index of the next range.
        next: usize,
        /// The number of turns that are not finished.
        times: u64,
    },
}

impl Items {
    /// The next item.
    fn take(&mut self) -> Option<Item> {
        let (item, finished) = match self.waiting.front_mut()? {
            Waiting::Item(item) => (*item, true),
            Waiting::Path { source, offset, ranges, next, times } => {
                let element = Element::Range(*ranges.get(*next)?);
                *next += 1;
                if *next == ranges.len() {
                    (*next, *times) = (0, *times - 1);
                }
                (Item { source: *source, offset: *offset, element }, *times == 0)
            }
        };
        if finished {
            self.waiting.pop_front();
        }
        Some(item)
    }
}

impl Listener for Items {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.waiting.push_back(Waiting::Item(Item { source, offset: at, element }));
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        // The turns of a loop take one entry: a packet can count billions of them.
        each_part(self, batch, |items, turns| {
            let &Turns { at: offset, ranges, times, .. } = turns;
            if times > 0 && !ranges.is_empty() {
                let (source, ranges) = (batch.source, ranges.to_vec());
                items.waiting.push_back(Waiting::Path { source, offset, ranges, next: 0, times });
            }
        });
    }
}

impl<'a> Elements<'a> {
    pub(crate) fn new(trace: &'a Trace) -> Elements<'a> {
        let summary = Summary::new(trace.left_out());
        let items = Items::default();
        Elements { trace, next: (0, 0), running: None, items, summary, failed: false }
    }

    /// The counts of the buffers that are decoded to their end, and what was left out.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Decodes until there is an element. `false` at the end of the last buffer.
    fn advance(&mut self) -> Result<bool, DecodeError> {
        while self.items.waiting.is_empty() {
            let Some(running) = &mut self.running else {
                let (n, first) = self.next;
                let Some(plan) = self.trace.plans().get(n) else { return Ok(false) };
                let session = self.trace.session(plan)?.numbered_from(first);
                let sources = first + plan.sources.len();
                let (input, tally) =
                    (Chunks::of(&self.trace.capture().buffers[plan.buffer]), Tally::default());
                self.running = Some(Running { session, input, tally, sources });
                self.next = (n + 1, sources);
                continue;
            };
            let Running { session, input, tally, sources } = running;
            let mut both = (&mut self.items, &mut *tally);
            if !input.next(|bytes| session.feed(bytes, &mut both))? {
                session.finish(&mut both);
                let decoded = self.trace.sources().get(..*sources).unwrap_or_default();
                self.summary.add(decoded, std::mem::take(tally));
                self.running = None;
            }
        }
        Ok(true)
    }
}

impl Iterator for Elements<'_> {
    type Item = Result<Item, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        match self.advance() {
            Ok(true) => self.items.take().map(Ok),
            Ok(false) => None,
            Err(error) => {
                self.failed = true;
                Some(Err(error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::{BatchBuffer, CachedBlocks, Counted, Isa, Last};
    use tracewright_isa::assemble::a64;
    use tracewright_isa::{ItState, classify};

    use super::*;

    #[test]
    fn the_iterations_of_a_loop_take_one_entry() {
        let mut items = Items::default();
        let nop = classify(Isa::A64, &a64::NOP.to_le_bytes(), 0, &mut ItState::default()).unwrap();
        let last = Last::new(&nop, false);
        let range = Range { start: 0, bytes: 4, instructions: 1, cycles: Counted::UNKNOWN, last };
        let turns = |items: &mut Items, at, ranges: &[Range], times| {
            let mut buffer = BatchBuffer::default();
            buffer.turns(Turns { at, ranges, times, listed: true });
            items.batch(&buffer.batch(0, CachedBlocks::none()));
        };
        turns(&mut items, 1, &[range], u64::MAX);
        turns(&mut items, 2, &[range], 0);
        items.element(0, 3, Element::End);
        assert_eq!(items.waiting.len(), 2);

        let offsets: Vec<u64> =
            std::iter::from_fn(|| items.take()).take(3).map(|item| item.offset).collect();
        assert_eq!(offsets, [1, 1, 1]);
        items.waiting.pop_front();
        turns(&mut items, 4, &[range, Range { start: 8, ..range }], 2);
        let rest = std::iter::from_fn(|| items.take()).map(|item| item.offset).collect::<Vec<_>>();
        assert_eq!(rest, [3, 4, 4, 4, 4]);
    }
}
