//! The last instructions before an event: an exception, an address, the end of the trace.

use std::collections::VecDeque;

use tracewright_base::{Element, Gap};
use tracewright_decode::{Fork, Size};

use crate::instructions::{Step, Steps};

/// An event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Event {
    /// The end of the trace.
    #[default]
    End,
    /// An exception, with this number if there is one.
    Exception(Option<u16>),
    /// An instruction at an address in one of the ranges: the first and the last address.
    Address(Vec<(u64, u64)>),
}

/// What precedes an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Step(Step),
    Other(Element),
}

/// An item, its source, and its offset in the trace.
type Placed = (usize, u64, Item);

/// Finds an event, and what was before it.
#[derive(Clone, Debug)]
pub struct History {
    event: Event,
    /// The number of instructions before the event.
    count: usize,
    /// The first event, not the last one.
    first: bool,
    recent: VecDeque<Placed>,
    /// Instructions among `recent`.
    steps: usize,
    found: Option<Vec<Placed>>,
    /// Events so far.
    pub events: u64,
}

/// Other elements that are stored for each instruction.
pub const OTHERS: usize = 8;

impl History {
    /// The last `count` instructions before the last `event`, or before the `first`.
    pub fn new(event: Event, count: usize, first: bool) -> History {
        let (recent, steps, found) = (VecDeque::new(), 0, None);
        History { event, count, first, recent, steps, found, events: 0 }
    }

    fn push(&mut self, placed: Placed) {
        self.steps += usize::from(matches!(placed.2, Item::Step(_)));
        self.recent.push_back(placed);
        while self.steps > self.count || self.recent.len() > OTHERS * self.count.max(1) {
            match self.recent.pop_front() {
                Some((.., Item::Step(_))) => self.steps -= 1,
                Some(_) => {}
                None => break,
            }
        }
    }

    fn fire(&mut self) {
        self.events += 1;
        self.found = Some(self.recent.iter().copied().collect());
    }

    /// Writes what was found to `view`; nothing if the event did not occur.
    pub fn show(&mut self, view: &mut impl Steps) {
        if self.event == Event::End {
            self.fire();
        }
        for (source, at, item) in self.found.iter().flatten() {
            match item {
                Item::Step(step) => view.step(*source, *at, step),
                Item::Other(element) => view.other(*source, *at, element),
            }
        }
    }
}

impl Steps for History {
    fn step(&mut self, source: usize, at: u64, step: &Step) {
        if self.full() {
            return;
        }
        self.push((source, at, Item::Step(*step)));
        if let Event::Address(ranges) = &self.event
            && ranges.iter().any(|(first, last)| (*first..=*last).contains(&step.address))
        {
            self.fire();
        }
    }

    fn other(&mut self, source: usize, at: u64, element: &Element) {
        if self.full() || matches!(element, Element::Gap(Gap::Start) | Element::End) {
            return;
        }
        self.push((source, at, Item::Other(*element)));
        if let (Event::Exception(number), Element::Exception(exception)) = (&self.event, element)
            && number.is_none_or(|number| number == exception.number)
        {
            self.fire();
        }
    }

    fn full(&self) -> bool {
        self.first && self.events > 0
    }
}

/// One thread finds the event: what is stored depends on all of the trace before.
impl Fork for History {
    type State = ();
    type Output = ();

    fn fork(&self) -> Self {
        History::new(self.event.clone(), self.count, self.first)
    }

    fn state(&self) {}

    fn resume(&mut self, (): ()) {}

    fn take(&mut self) {}

    fn size(&self) -> Size {
        Size::FIXED
    }
}
