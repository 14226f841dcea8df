//! One of two sides.

use tracewright_base::{Batch, Custom, Element, Kind, Step, StepSink, Turns};
use tracewright_decode::Listener;
use tracewright_decode::listener::each_part;

use super::What;
use super::queue::{Queue, Queued};
use crate::sources::Source;

/// What is queued of a side, by source.
#[derive(Debug)]
pub struct Side {
    queues: Vec<Queue>,
    /// Exceptions, software writes and DWT events are compared, too.
    events: bool,
    /// Own content of protocols is compared, too.
    contents: bool,
    ended: bool,
    /// The elements that may be queued until the next [`begin`](Side::begin).
    room: usize,
    over: bool,
    missing: Missing,
    /// `missing` at the last [`begin`](Side::begin).
    marked: Missing,
}

/// Elements for which program memory is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Their number.
    pub count: u64,
    /// The address of the first.
    pub first: Option<u64>,
}

impl Side {
    /// The side of a capture: the listener of its session. `events`: exceptions, software writes,
    /// DWT events and own content of protocols are compared, too.
    pub fn of_capture(events: bool, sources: &[Source]) -> Self {
        let queue = |source| Queue::new(events, std::slice::from_ref(source));
        let queues = sources.iter().map(queue).collect();
        Side { queues, contents: events, ..Side::of_log(events) }
    }

    /// The same without own content of protocols: an execution log has none.
    pub fn without_contents(self) -> Self {
        Side { contents: false, ..self }
    }

    /// The side of an execution log. Each processor is a source. `events` as in
    /// [`of_capture`](Side::of_capture).
    pub fn of_log(events: bool) -> Self {
        let missing = Missing::default();
        let (queues, room, over) = (Vec::new(), usize::MAX, false);
        let contents = false;
        Side { queues, events, contents, ended: false, room, over, missing, marked: missing }
    }

    /// The number of sources.
    pub fn sources(&self) -> usize {
        self.queues.len()
    }

    /// The length of the longest queue, in elements and events.
    pub fn waiting(&self) -> usize {
        self.queues.iter().map(Queue::len).max().unwrap_or(0)
    }

    /// The number of events of `source` that are ready, or of those that its elements have at
    /// least.
    pub fn ready(&mut self, source: usize) -> usize {
        let queue = self.queues.get_mut(source);
        queue.map_or(0, |queue| {
            queue.fill(super::AHEAD);
            queue.events().len()
        })
    }

    /// From here on, at most `room` elements are queued.
    pub fn begin(&mut self, room: usize) {
        (self.room, self.over, self.marked) = (room, false, self.missing);
        self.queues.iter_mut().for_each(Queue::mark);
    }

    /// Whether there were more elements since [`begin`](Side::begin). Those are lost.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Removes the elements since [`begin`](Side::begin). Nothing may be compared in between.
    pub fn undo(&mut self) {
        self.missing = self.marked;
        self.queues.iter_mut().for_each(Queue::undo);
    }

    /// The elements for which program memory is missing.
    pub fn missing(&self) -> Missing {
        self.missing
    }

    /// The side ends.
    pub fn finish(&mut self) {
        self.ended = true;
        for queue in &mut self.queues {
            queue.settle(false);
        }
    }

    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    pub(super) fn queues(&mut self) -> &mut [Queue] {
        &mut self.queues
    }

    /// Adds queues up to `sources`.
    pub(super) fn grow(&mut self, sources: usize) {
        while self.queues.len() < sources {
            self.queues.push(Queue::new(self.events, &[]));
        }
    }

    fn log(&mut self, source: usize) -> &mut Queue {
        self.grow(source + 1);
        &mut self.queues[source]
    }

    fn queue(&mut self, source: usize, queued: Queued) {
        match self.room.checked_sub(queued.count()) {
            None => self.over = true,
            Some(room) => {
                self.room = room;
                if let Some(queue) = self.queues.get_mut(source) {
                    queue.push(queued);
                }
            }
        }
    }

    #[cfg(test)]
    pub(super) fn push(&mut self, source: usize, at: Option<u64>, what: What) {
        self.log(source).event(at, what);
    }

    #[cfg(test)]
    pub(super) fn straight(&mut self, source: usize, what: What) {
        self.log(source).straight(what);
    }

    #[cfg(test)]
    pub(super) fn settle(&mut self, source: usize, optional: bool) {
        self.log(source).settle(optional);
    }

    #[cfg(test)]
    pub(super) fn gap(&mut self, source: usize) {
        self.log(source).gap();
    }
}

/// The side of a capture.
impl Listener for Side {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if let Element::NoCode { address, .. } = element {
            self.missing.count += 1;
            self.missing.first.get_or_insert(address);
        }
        self.queue(source, Queued::Element { at, element, times: 1 });
    }

    fn custom(&mut self, source: usize, at: u64, custom: Custom, bytes: &[u8]) {
        if self.contents {
            self.queue(source, Queued::Custom { at, kind: custom.kind, bytes: bytes.into() });
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        let source = batch.source;
        each_part(self, batch, |side, &Turns { at, ranges, times, listed }| match *ranges {
            _ if !listed => {
                let start = ranges.first().map_or(0, |range| range.start);
                side.queue(source, Queued::Unlisted { at, start, turns: times });
            }
            [range] if let Ok(times @ 1..) = u32::try_from(times) => {
                side.queue(source, Queued::Element { at, element: Element::Range(range), times });
            }
            [] => {}
            _ if times > 0 => {
                let turns = Queued::Turns { at, ranges: ranges.into(), next: 0, turns: times };
                side.queue(source, turns);
            }
            _ => {}
        });
    }
}

/// The side of an execution log.
impl StepSink for Side {
    fn step(&mut self, cpu: u16, step: &Step) {
        let events = self.events;
        let queue = self.log(cpu.into());
        match *step {
            Step::Retired(retired) => {
                let (address, isa) = (retired.address, retired.instruction.isa);
                let what = What::Instruction { address, isa };
                match retired.instruction.kind {
                    Kind::Branch | Kind::Indirect => queue.event(None, what),
                    _ => queue.straight(what),
                }
            }
            Step::Off => {
                queue.settle(true);
                queue.gap();
            }
            Step::Overflow => queue.gap(),
            Step::Exception(_) if events => queue.event(None, What::Exception(None)),
            Step::SoftwareWrite(write) if events => queue.event(None, What::SoftwareWrite(write)),
            Step::DwtEvent(event) if events => queue.event(None, What::DwtEvent(event)),
            _ => {}
        }
    }
}
