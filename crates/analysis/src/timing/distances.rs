//! The time from one event to another.

use tracewright_base::{Element, Gap, Start};
use tracewright_decode::Listener;

use super::clock::Clock;
use super::points::{PointId, Points};
use super::statistics::{Place, Statistics};

/// An event: an element that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventAt {
    /// The number of the element, of all sources.
    pub number: u64,
    /// It is at the begin of a distance, not at the end.
    pub begins: bool,
    /// Of executed instructions: it is the first one. Otherwise it may be any of them.
    pub first: bool,
}

/// Events that begin and end distances, in pairs: each that begins one with the next one of the
/// same source that ends one. Of several that begin one before, it is the last.
#[derive(Clone, Debug)]
pub(super) struct Pairs<P> {
    /// In descending order: the next one is the last.
    events: Vec<EventAt>,
    number: u64,
    /// The begin that waits for an end, of each source.
    open: Vec<Option<(P, Place)>>,
    all: Vec<(P, P, Place)>,
    unpaired: (u64, u64),
}

impl<P: Copy> Pairs<P> {
    pub(super) fn new(mut events: Vec<EventAt>) -> Pairs<P> {
        // An element that is both ends a distance, and then begins one.
        events.sort_unstable_by_key(|event| std::cmp::Reverse((event.number, event.begins)));
        Pairs { events, number: 0, open: Vec::new(), all: Vec::new(), unpaired: (0, 0) }
    }

    /// The next event that is the element with the present number.
    pub(super) fn event(&mut self) -> Option<EventAt> {
        self.events.pop_if(|event| event.number == self.number)
    }

    /// The next element follows.
    pub(super) fn advance(&mut self) {
        self.number += 1;
    }

    /// Adds an event, which happened at `point`.
    pub(super) fn add(&mut self, begins: bool, point: P, place: Place) {
        if place.source >= self.open.len() {
            self.open.resize(place.source + 1, None);
        }
        let Some(open) = self.open.get_mut(place.source) else { return };
        match (begins, open.take()) {
            (true, before) => {
                self.unpaired.0 += u64::from(before.is_some());
                *open = Some((point, place));
            }
            (false, Some((from, place))) => self.all.push((from, point, place)),
            (false, None) => self.unpaired.1 += 1,
        }
    }

    /// Trace is lost: the end of the distance that is open may be in it.
    pub(super) fn lost(&mut self, source: usize) -> Option<P> {
        self.open.get_mut(source).and_then(Option::take).map(|(from, _)| from)
    }

    /// The pairs.
    pub(super) fn all(&self) -> &[(P, P, Place)] {
        &self.all
    }

    /// The numbers of begins without an end, and of ends without a begin.
    pub(super) fn unpaired(&self) -> (u64, u64) {
        (self.unpaired.0 + self.open.iter().flatten().count() as u64, self.unpaired.1)
    }
}

/// The distances from each event that begins one to the next event of the same source that ends
/// one. Of several that begin one before, it is the last.
#[derive(Clone, Debug)]
pub struct Distances {
    points: Points,
    pairs: Pairs<PointId>,
    lost: Vec<(PointId, PointId)>,
}

impl Distances {
    /// Of these events of a trace that is received from the begin on.
    pub fn new(clock: Clock, events: Vec<EventAt>) -> Distances {
        Distances { points: Points::new(clock), pairs: Pairs::new(events), lost: Vec::new() }
    }

    /// The statistics of all distances, and the numbers of begins without an end, and of ends
    /// without a begin.
    pub fn finish(&self) -> (Statistics, (u64, u64)) {
        let mut statistics = Statistics::default();
        for &(from, to, place) in self.pairs.all() {
            statistics.add(self.points.between(from, to), place);
        }
        for &(from, to) in &self.lost {
            statistics.add_lost(self.points.between(from, to).least);
        }
        statistics.finish();
        (statistics, self.pairs.unpaired())
    }

    fn event(&mut self, source: usize, at: u64, event: EventAt, element: &Element) {
        let instructions = match element {
            Element::Range(range) if !event.first => u64::from(range.instructions),
            _ => 0,
        };
        let point = self.points.mark_in(source, instructions);
        let place = Place { source, at, instructions: self.points.instructions(source) };
        self.pairs.add(event.begins, point, place);
    }

    /// Trace is lost: the end may be in it.
    fn gap(&mut self, source: usize) {
        if let Some(from) = self.pairs.lost(source) {
            let now = self.points.mark(source);
            self.lost.push((from, now));
        }
    }
}

impl Listener for Distances {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        while let Some(event) = self.pairs.event() {
            self.event(source, at, event, &element);
        }
        self.pairs.advance();
        match element {
            Element::Range(range) => {
                let instructions = u64::from(range.instructions);
                self.points.executed(source, instructions, range.cycles.get(), true);
            }
            _ => {
                let lost = match element {
                    Element::Gap(gap) => !matches!(gap, Gap::Data),
                    Element::TraceOn(Start::Overflow) | Element::Undecodable { .. } => true,
                    _ => false,
                };
                if lost {
                    self.gap(source);
                }
                self.points.element(source, &element);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracewright_base::{Counted, Instruction, Interval, Last, Range};

    #[test]
    fn pairs_of_events() {
        let timestamp = |value| Element::Timestamp { value, cycles: None };
        let event = |number, begins| EventAt { number, begins, first: false };
        let events = vec![
            event(1, true),
            event(2, true),
            event(4, false),
            event(5, false),
            event(6, true),
            event(8, false),
            event(8, true),
        ];
        let mut distances = Distances::new(Clock::Timestamps, events);
        let (start, bytes, instructions) = (0, 4, 1);
        let (cycles, last) = (Counted::UNKNOWN, Last::new(&Instruction::default(), false));
        let other = Element::Range(Range { start, bytes, instructions, cycles, last });
        let gap = Element::TraceOn(Start::Overflow);
        let elements = [
            timestamp(100),
            other,
            other,
            timestamp(110),
            other,
            other,
            other,
            timestamp(150),
            other,
            timestamp(160),
            gap,
            timestamp(170),
        ];
        for element in elements {
            distances.element(0, 0, element);
        }
        let (statistics, unpaired) = distances.finish();
        // The first begin has another one before its end; one end has no begin.
        assert_eq!((statistics.count(), unpaired), (2, (1, 1)));
        assert_eq!(statistics.min(), Some(Interval::new(0, 50)));
        assert_eq!(statistics.percentile(1000), Some(Interval::new(0, 50)));
        assert_eq!((statistics.lost(), statistics.max()), (1, Some(Interval::at_least(0))));
    }
}
