//! Where rows come from: the elements of a source, as a decoder emits them.
//!
//! This is the only listener for the tables of elements.

use std::mem;

use tracewright::base::{Element, Range};
use tracewright::decode::{Fork, Listener};

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
    const PACKETS: bool = false;

    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.0.push(Event { source: source as u32, range: (0, 1), times: 1, at, element });
    }

    fn repeat_unlisted(&mut self, source: usize, at: u64, ranges: &[Range], times: u64) {
        let of = ranges.len() as u32;
        self.0.extend((0..).zip(ranges).map(|(n, range)| {
            let element = Element::Range(*range);
            Event { source: source as u32, range: (n, of), times, at, element }
        }));
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
    fn weight(&self) -> usize {
        self.0.len() * size_of::<Event>()
    }
}
