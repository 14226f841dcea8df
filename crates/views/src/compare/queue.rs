//! What is queued of one source.

use std::collections::VecDeque;
use std::sync::Arc;

use tracewright_base::{self as base, Element, Gap};

use super::{Event, What};
use crate::instructions::{Expand, Step, Steps};
use crate::sources::Source;

/// Instructions of a log without a branch that wait for it. Where there are more, they count as
/// traced.
const MAX_STRAIGHT: usize = 1 << 20;

/// An element of a capture. A count of turns takes one entry, whatever the count.
#[derive(Clone, Debug)]
pub(super) enum Queued {
    Element {
        at: u64,
        element: Element,
        /// How often it occurs in a row, at least 1.
        times: u32,
    },
    /// Turns of a loop of several ranges.
    Turns {
        at: u64,
        ranges: Box<[base::Range]>,
        /// The index of the next range.
        next: usize,
        /// The number of turns that are not finished, at least 1.
        turns: u64,
    },
    /// Turns that a listing does not have.
    Unlisted { at: u64, start: u64, turns: u64 },
    /// Own content of a protocol.
    Custom { at: u64, kind: &'static str, bytes: Arc<[u8]> },
}

// `docs/limits.md` states this size.
const _: () = assert!(size_of::<Queued>() <= 128 && size_of::<base::Range>() <= 128);

impl Queued {
    /// The number of elements that it counts as: at most 128 bytes each.
    pub(super) fn count(&self) -> usize {
        match self {
            Queued::Turns { ranges, .. } => 1 + ranges.len(),
            Queued::Custom { bytes, .. } => 1 + bytes.len() / 128,
            Queued::Element { .. } | Queued::Unlisted { .. } => 1,
        }
    }
}

/// The elements of a source, and the events of the first of them.
#[derive(Debug)]
pub(super) struct Queue {
    elements: VecDeque<Queued>,
    /// The sum of their [`count`](Queued::count)s.
    count: usize,
    /// The length of `elements`, and `count`, at the last [`mark`](Queue::mark).
    marked: (usize, usize),
    expand: Expand<Events>,
    /// The last range that was begun has further instructions.
    more: bool,
}

impl Queue {
    /// An empty queue. `source` is the source of a capture; the processor of a log has none.
    /// `events`: exceptions, software writes and events of the DWT are compared, too.
    pub(super) fn new(events: bool, source: &[Source]) -> Self {
        let events = Events { all: events, ..Events::default() };
        let expand = Expand::new(events, source);
        Queue { elements: VecDeque::new(), count: 0, marked: (0, 0), expand, more: false }
    }

    /// The number of elements and events.
    pub(super) fn len(&self) -> usize {
        self.count + self.events().len()
    }

    pub(super) fn push(&mut self, queued: Queued) {
        self.count += queued.count();
        self.elements.push_back(queued);
    }

    /// Marks the end of the queue.
    pub(super) fn mark(&mut self) {
        self.marked = (self.elements.len(), self.count);
    }

    /// Removes the elements after the mark.
    pub(super) fn undo(&mut self) {
        self.elements.truncate(self.marked.0);
        self.count = self.marked.1;
    }

    /// The events of the first elements.
    pub(super) fn events(&self) -> &VecDeque<Event> {
        &self.expand.view.queue
    }

    /// Makes events until there are `count`, or no further element.
    pub(super) fn fill(&mut self, count: usize) {
        while self.events().len() < count {
            if self.more {
                self.more = self.expand.continue_range();
            } else if !self.expand_next() {
                return;
            }
        }
    }

    /// Expands the next element, or the next turn of a loop. `false`: there is none.
    fn expand_next(&mut self) -> bool {
        let Queue { elements, count, expand, more, .. } = self;
        let finished = match elements.front_mut() {
            None => return false,
            Some(Queued::Element { at, element, times }) => {
                match element {
                    Element::Range(range) => *more = expand.begin(0, *at, *range),
                    element => expand.other(0, *at, element),
                }
                *times -= 1;
                *times == 0
            }
            Some(Queued::Turns { at, ranges, next, turns }) => {
                if let Some(range) = ranges.get(*next) {
                    *more = expand.begin(0, *at, *range);
                }
                *next += 1;
                if *next >= ranges.len() {
                    (*next, *turns) = (0, *turns - 1);
                }
                *turns == 0
            }
            Some(Queued::Unlisted { at, start, turns }) => {
                expand.view.push(Some(*at), What::Unlisted { start: *start, turns: *turns });
                true
            }
            Some(Queued::Custom { at, kind, bytes }) => {
                expand.view.push(Some(*at), What::Custom { kind, bytes: Arc::clone(bytes) });
                true
            }
        };
        if finished && let Some(first) = elements.pop_front() {
            *count -= first.count();
        }
        true
    }

    /// The next event.
    #[inline]
    pub(super) fn front(&mut self) -> Option<&Event> {
        if self.events().is_empty() {
            self.fill(1);
        }
        self.events().front()
    }

    /// Removes the next event.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        self.expand.view.queue.pop_front()
    }

    /// Removes the next `count` events.
    pub(super) fn skip(&mut self, count: usize) {
        self.expand.view.queue.drain(..count);
    }

    /// Takes an event that is no element.
    pub(super) fn event(&mut self, at: Option<u64>, what: What) {
        self.expand.view.push(at, what);
    }

    /// Takes an instruction of a log other than a branch.
    pub(super) fn straight(&mut self, what: What) {
        let events = &mut self.expand.view;
        if events.straight.len() >= MAX_STRAIGHT {
            events.settle(false);
        }
        let event = events.event(None, what);
        events.straight.push(event);
    }

    /// Queues the instructions since the last branch. They are `optional` where tracing is disabled
    /// before the next branch.
    pub(super) fn settle(&mut self, optional: bool) {
        self.expand.view.settle(optional);
    }

    /// Trace is missing before the next event.
    pub(super) fn gap(&mut self) {
        self.expand.view.gap();
    }
}

/// Events that are not compared yet.
#[derive(Debug, Default)]
struct Events {
    queue: VecDeque<Event>,
    gap: bool,
    /// There was an event.
    begun: bool,
    /// Only of a log: the instructions since the last branch. The next event decides whether they
    /// are optional.
    straight: Vec<Event>,
    /// Exceptions, software writes and DWT events are compared, too.
    all: bool,
}

impl Events {
    fn event(&mut self, at: Option<u64>, what: What) -> Event {
        let after_gap = std::mem::take(&mut self.gap);
        self.begun = true;
        Event { at, after_gap, optional: false, what }
    }

    fn push(&mut self, at: Option<u64>, what: What) {
        self.settle(false);
        let event = self.event(at, what);
        self.queue.push_back(event);
    }

    /// What is missing before the first event is no gap: each trace begins somewhere.
    fn gap(&mut self) {
        self.gap = self.begun;
    }

    fn settle(&mut self, optional: bool) {
        self.queue.extend(self.straight.drain(..).map(|event| Event { optional, ..event }));
    }
}

impl Steps for Events {
    const OPCODES: bool = false;

    fn step(&mut self, _: usize, at: u64, step: &Step) {
        self.push(Some(at), What::Instruction { address: step.address, isa: step.isa });
    }

    fn other(&mut self, _: usize, at: u64, element: &Element) {
        match *element {
            Element::Exception(exception) if self.all => {
                self.push(Some(at), What::Exception(Some(exception.number)));
            }
            Element::SoftwareWrite(write) if self.all => {
                self.push(Some(at), What::SoftwareWrite(write))
            }
            Element::DwtEvent(event) if self.all => self.push(Some(at), What::DwtEvent(event)),
            Element::Gap(Gap::Data) => {}
            Element::Gap(_)
            | Element::TraceOn(_)
            | Element::NoCode { .. }
            | Element::Undecodable { .. }
            | Element::Inconsistency(_)
            | Element::Unknown { .. } => self.gap(),
            _ => {}
        }
    }
}
