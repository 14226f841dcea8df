//! Where rows come from: the elements of a source, as a decoder emits them.
//!
//! This is the only listener for the tables of elements.

use std::mem;

use tracewright::base::{Batch, Element};
use tracewright::decode::listener::{each_part, each_turn};
use tracewright::decode::{Fork, Listener, Size};

/// An element, or a range of further turns of a loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    /// The number of the source among those of the buffer.
    pub(crate) source: u32,
    /// The number of the range in a turn, and the number of ranges of a turn.
    pub(crate) range: (u32, u32),
    /// The number of turns; 1 of an element.
    pub(crate) times: u64,
    /// The offset.
    pub(crate) at: u64,
    pub(crate) element: Element,
}

/// Elements that wait.
#[derive(Debug, Default)]
pub(crate) struct Events(Vec<Event>);

impl Listener for Events {
    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.0.push(Event { source: source as u32, range: (0, 1), times: 1, at, element });
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        let source = batch.source;
        each_part(self, batch, |events, turns| {
            if turns.listed {
                return each_turn(events, source, turns);
            }
            let of = turns.ranges.len() as u32;
            let (times, at) = (turns.times, turns.at);
            events.0.extend((0..).zip(turns.ranges).map(|(n, range)| {
                let element = Element::Range(*range);
                Event { source: source as u32, range: (n, of), times, at, element }
            }));
        });
    }
}

impl Fork for Events {
    type State = ();
    type Output = Vec<Event>;

    fn fork(&self) -> Self {
        Events::default()
    }

    fn state(&self) {}

    fn resume(&mut self, (): ()) {
        self.0.clear();
    }

    fn take(&mut self) -> Vec<Event> {
        let capacity = self.0.len();
        mem::replace(&mut self.0, Vec::with_capacity(capacity))
    }

    #[inline]
    fn size(&self) -> Size {
        Size::of(self.0.len() * size_of::<Event>())
    }
}
