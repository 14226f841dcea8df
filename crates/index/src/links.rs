//! Events of the trace link as results of queries.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;

use tracewright_base::{Batch, Custom, Element, Part, Turns};
use tracewright_capture::Buffer;
use tracewright_decode::{Listener, Plan};
use tracewright_frames::{Event, Numbering, Split};

use crate::build::{fill, from};
use crate::found::Found;
use crate::position::Position;
use crate::query::Condition;
use crate::scan::Scan;

/// Bytes that are split at a time.
const STEP: usize = 1 << 16;

/// The events of the trace link that conditions select.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkQuery {
    kind: Condition,
    offsets: Range<u64>,
}

impl LinkQuery {
    /// `None` where `conditions` select elements only: an event of the link has an offset, and
    /// neither time nor context.
    pub(crate) fn of(conditions: &[Condition]) -> Option<LinkQuery> {
        let (kind, others) = conditions.split_first()?;
        let is_link = [Condition::Trigger, Condition::Flush, Condition::Sync, Condition::Barrier];
        let mut query = LinkQuery { kind: kind.clone(), offsets: 0..u64::MAX };
        for other in others {
            let Condition::Offset(range) = other else { return None };
            query.offsets = query.offsets.start.max(range.start)..query.offsets.end.min(range.end);
        }
        is_link.contains(kind).then_some(query)
    }

    /// Whether only the link has what is searched for.
    pub(crate) fn is_only_of_link(&self) -> bool {
        self.kind != Condition::Trigger
    }

    fn selects(&self, at: u64, event: Event) -> bool {
        self.offsets.contains(&at)
            && match event {
                Event::Trigger(_) => self.kind == Condition::Trigger,
                Event::Flush(_) => self.kind == Condition::Flush,
                Event::FullSync | Event::HalfSync => self.kind == Condition::Sync,
                Event::Barrier => self.kind == Condition::Barrier,
                _ => false,
            }
    }

    /// The events in the buffer of `plan`, with their offsets, in order.
    ///
    /// # Errors
    /// Where the buffer cannot be read.
    pub(crate) fn events(&self, buffer: &Buffer, plan: &Plan) -> io::Result<Vec<(u64, Event)>> {
        let mut found = Events { query: self, found: Vec::new() };
        if !plan.framed() {
            return Ok(found.found);
        }
        let (mut route, mut at) = (plan.route(Numbering::Capture), 0);
        let (mut reader, mut space) = (from(buffer, 0), vec![0; STEP]);
        loop {
            let bytes = fill(&mut *reader, &mut space)?;
            if bytes.is_empty() {
                break;
            }
            route.split(at, bytes, &mut found);
            at += bytes.len() as u64;
        }
        route.finish(at, &mut found);
        found.found.sort_by_key(|(at, _)| *at);
        Ok(found.found)
    }
}

/// Collects events.
struct Events<'a> {
    query: &'a LinkQuery,
    found: Vec<(u64, Event)>,
}

impl Split for Events<'_> {
    fn piece(&mut self, _: u16, _: u64, _: bool, _: &[u8]) {}

    fn event(&mut self, at: u64, event: Event) {
        if self.query.selects(at, event) {
            self.found.push((at, event));
        }
    }
}

/// `events` as results: each is before the first element at its offset or after it, whose number
/// and instruction it has. All elements up to the last event are decoded.
///
/// # Errors
/// Where the buffer cannot be read.
pub(crate) fn placed(events: Vec<(u64, Event)>, scan: &mut Scan<'_>) -> io::Result<Vec<Found>> {
    let mut places = Places { events: events.into(), found: Vec::new(), ..Places::default() };
    if !places.events.is_empty() {
        places.position = scan.go(0, &mut ())?;
        while scan.next(&mut places)? && !places.full() {}
        scan.leave();
        // Those after the last element.
        places.until(u64::MAX, 0);
    }
    Ok(places.found)
}

#[derive(Default)]
struct Places {
    events: VecDeque<(u64, Event)>,
    position: Position,
    found: Vec<Found>,
}

impl Places {
    /// Takes the events up to offset `at` of an element of `source`.
    fn until(&mut self, at: u64, source: usize) {
        while self.events.front().is_some_and(|(own, _)| *own <= at)
            && let Some((own, event)) = self.events.pop_front()
        {
            let element = match event {
                Event::Trigger(_) => Element::Trigger,
                Event::Flush(_) => Element::Custom(Custom::new("flush", 0)),
                Event::Barrier => Element::Custom(Custom::new("barrier", 0)),
                _ => Element::Custom(Custom::new("sync", 0)),
            };
            let (number, instruction) = (self.position.elements, self.position.instructions);
            let (time, context, link) = (None, None, Some(event));
            let found =
                Found { source, at: own, number, instruction, time, context, element, link };
            self.found.push(found);
        }
    }

    fn pass(&mut self, elements: u64, instructions: u64) {
        let Position { elements: all, instructions: executed, .. } = &mut self.position;
        *all = all.saturating_add(elements);
        *executed = executed.saturating_add(instructions);
    }
}

impl Listener for Places {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.until(at, source);
        let instructions = match element {
            Element::Range(range) => u64::from(range.instructions),
            _ => 0,
        };
        self.pass(1, instructions);
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        for part in batch.parts() {
            match part {
                Part::Steps(steps) => {
                    for step in steps {
                        self.until(batch.at(*step), batch.source);
                        self.pass(1, batch.instructions(std::slice::from_ref(step)));
                    }
                }
                Part::Element(at, element) => self.element(batch.source, at, element),
                Part::Turns(Turns { at, ranges, times, .. }) => {
                    self.until(at, batch.source);
                    let one: u64 = ranges.iter().map(|range| u64::from(range.instructions)).sum();
                    let elements = times.saturating_mul(ranges.len() as u64);
                    self.pass(elements, times.saturating_mul(one));
                }
            }
        }
    }

    fn full(&self) -> bool {
        self.events.is_empty()
    }
}
