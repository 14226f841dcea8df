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

/// The distances from each event that begins one to the next event of the same source that ends
/// one. Of several that begin one before, it is the last.
#[derive(Clone, Debug)]
pub struct Distances {
    points: Points,
    /// In descending order: the next one is the last.
    events: Vec<EventAt>,
    number: u64,
    /// The begin that waits for an end, of each source.
    open: Vec<Option<(PointId, Place)>>,
    pairs: Vec<(PointId, PointId, Place)>,
    lost: Vec<(PointId, PointId)>,
    unpaired: (u64, u64),
}

impl Distances {
    /// Of these events of a trace that is received from the begin on.
    pub fn new(clock: Clock, mut events: Vec<EventAt>) -> Distances {
        // An element that is both ends a distance, and then begins one.
        events.sort_unstable_by_key(|event| std::cmp::Reverse((event.number, event.begins)));
        Distances {
            points: Points::new(clock),
            events,
            number: 0,
            open: Vec::new(),
            pairs: Vec::new(),
            lost: Vec::new(),
            unpaired: (0, 0),
        }
    }

    /// The statistics of all distances, and the numbers of begins without an end, and of ends
    /// without a begin.
    pub fn finish(&self) -> (Statistics, (u64, u64)) {
        let mut statistics = Statistics::default();
        for &(from, to, place) in &self.pairs {
            statistics.add(self.points.between(from, to), place);
        }
        for &(from, to) in &self.lost {
            statistics.add_lost(self.points.between(from, to).least);
        }
        statistics.finish();
        let open = self.open.iter().flatten().count() as u64;
        (statistics, (self.unpaired.0 + open, self.unpaired.1))
    }

    fn event(&mut self, source: usize, at: u64, event: EventAt, element: &Element) {
        let instructions = match element {
            Element::Range(range) if !event.first => u64::from(range.instructions),
            _ => 0,
        };
        let point = self.points.mark_in(source, instructions);
        let place = Place { source, at, instructions: self.points.instructions(source) };
        if source >= self.open.len() {
            self.open.resize(source + 1, None);
        }
        let Some(open) = self.open.get_mut(source) else { return };
        match (event.begins, open.take()) {
            (true, before) => {
                self.unpaired.0 += u64::from(before.is_some());
                *open = Some((point, place));
            }
            (false, Some((from, place))) => self.pairs.push((from, point, place)),
            (false, None) => self.unpaired.1 += 1,
        }
    }

    /// Trace is lost: the end may be in it.
    fn gap(&mut self, source: usize) {
        let open = self.open.get_mut(source).and_then(Option::take);
        if let Some((from, _)) = open {
            let now = self.points.mark(source);
            self.lost.push((from, now));
        }
    }
}

impl Listener for Distances {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        while let Some(event) = self.events.pop_if(|event| event.number == self.number) {
            self.event(source, at, event, &element);
        }
        self.number += 1;
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
