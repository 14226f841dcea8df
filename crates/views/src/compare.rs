//! The first difference of two traces, or of a trace and an execution log.
//!
//! Both sides are read in chunks of any size: events of the side that is ahead are queued until the
//! other side has reached them. Executed instructions, exceptions, software writes and DWT events
//! are compared. Times and packets are not.

use std::collections::VecDeque;
use std::ops::Range;

use tracewright_base::{
    self as base, Channel, DwtEvent, Element, Gap, Isa, Kind, OffsetMap, Software, Step, StepSink,
};
use tracewright_decode::Listener;
use tracewright_protocols::registry::AnyPacket;

use crate::Source;
use crate::instructions::{Step as Executed, Steps};

/// One event of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The offset of its packet in the buffer; `None` for an event of an execution log.
    pub at: Option<u64>,
    /// Trace is missing directly before it, or the trace starts with it.
    pub after_gap: bool,
    /// Only of a log: the trace may lack the event, because tracing is disabled before the next
    /// branch.
    pub optional: bool,
    /// The kind of event.
    pub what: What,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// An instruction was executed.
    Instruction {
        /// Its address.
        address: u64,
        /// Its instruction set.
        isa: Isa,
    },
    /// An exception was taken: its number in the protocol; `None` in an execution log.
    Exception(Option<u16>),
    /// A software write.
    SoftwareWrite(Software),
    /// An event of the Data Watchpoint and Trace unit.
    DwtEvent(DwtEvent),
    /// Further turns of a counted loop, beyond [`Options::max_expansion`]. Their instructions are
    /// not compared.
    ///
    /// [`Options::max_expansion`]: tracewright_decode::Options::max_expansion
    Unlisted {
        /// The address of the first instruction of a turn.
        start: u64,
        /// The number of turns.
        turns: u64,
    },
}

impl What {
    /// Whether both are the same, as far as both are known.
    fn same(&self, other: &What) -> bool {
        match (self, other) {
            (What::Exception(a), What::Exception(b)) => a.is_none() || b.is_none() || a == b,
            (What::SoftwareWrite(a), What::SoftwareWrite(b)) => {
                (paged(a.channel), a.bits, a.value()) == (paged(b.channel), b.bits, b.value())
            }
            (What::DwtEvent(a), What::DwtEvent(b)) => {
                (a.discriminator, a.size, a.value) == (b.discriminator, b.size, b.value)
            }
            _ => self == other,
        }
    }
}

/// A channel with page 0 for an unknown page: a log need not state the page.
fn paged(channel: Channel) -> Channel {
    match channel {
        Channel::Port { page: None, port } => Channel::Port { page: Some(0), port },
        other => other,
    }
}

/// The queued events of a side.
#[derive(Clone, Debug, Default)]
pub struct Side {
    queues: Vec<VecDeque<Event>>,
    gaps: Vec<bool>,
    /// Only of a log: the instructions since the last branch. The next event decides whether they
    /// are optional.
    straight: Vec<Vec<Event>>,
    /// Exceptions are compared.
    pub exceptions: bool,
}

impl Side {
    /// A side without events.
    pub fn new(exceptions: bool) -> Self {
        Side { exceptions, ..Side::default() }
    }

    /// The number of sources.
    pub fn sources(&self) -> usize {
        self.queues.len()
    }

    /// The length of the longest queue.
    pub fn waiting(&self) -> usize {
        self.queues.iter().map(VecDeque::len).max().unwrap_or(0)
    }

    fn grow(&mut self, source: usize) {
        if self.queues.len() <= source {
            self.queues.resize_with(source + 1, VecDeque::new);
            self.gaps.resize(source + 1, false);
            self.straight.resize_with(source + 1, Vec::new);
        }
    }

    fn event(&mut self, source: usize, at: Option<u64>, what: What) -> Event {
        let after_gap = self.gaps.get_mut(source).is_some_and(core::mem::take);
        Event { at, after_gap, optional: false, what }
    }

    fn push(&mut self, source: usize, at: Option<u64>, what: What) {
        self.grow(source);
        self.settle(source, false);
        let event = self.event(source, at, what);
        if let Some(queue) = self.queues.get_mut(source) {
            queue.push_back(event);
        }
    }

    /// Takes an instruction of a log other than a branch.
    fn straight(&mut self, source: usize, what: What) {
        self.grow(source);
        let event = self.event(source, None, what);
        if let Some(straight) = self.straight.get_mut(source) {
            straight.push(event);
        }
    }

    /// Queues the instructions since the last branch. They are `optional` where tracing is disabled
    /// before the next branch.
    fn settle(&mut self, source: usize, optional: bool) {
        let (Some(straight), Some(queue)) =
            (self.straight.get_mut(source), self.queues.get_mut(source))
        else {
            return;
        };
        queue.extend(straight.drain(..).map(|event| Event { optional, ..event }));
    }

    /// Ends the side.
    pub fn finish(&mut self) {
        for source in 0..self.queues.len() {
            self.settle(source, false);
        }
    }

    fn gap(&mut self, source: usize) {
        if let Some(gap) = self.gaps.get_mut(source) {
            *gap = true;
        }
    }
}

/// The side of a capture: the receiver of an [`Expand`](crate::instructions::Expand).
impl Steps for Side {
    const OPCODES: bool = false;

    fn step(&mut self, source: usize, at: u64, step: &Executed) {
        self.push(source, Some(at), What::Instruction { address: step.address, isa: step.isa });
    }

    fn unlisted(&mut self, source: usize, at: u64, ranges: &[base::Range], turns: u64) -> bool {
        let start = ranges.first().map_or(0, |range| range.start);
        self.push(source, Some(at), What::Unlisted { start, turns });
        true
    }

    fn other(&mut self, source: usize, at: u64, element: &Element) {
        match *element {
            Element::Exception(exception) if self.exceptions => {
                self.push(source, Some(at), What::Exception(Some(exception.number)));
            }
            Element::SoftwareWrite(write) => {
                self.push(source, Some(at), What::SoftwareWrite(write))
            }
            Element::DwtEvent(event) => self.push(source, Some(at), What::DwtEvent(event)),
            Element::Gap(Gap::Data) => {}
            Element::Gap(_)
            | Element::TraceOn(_)
            | Element::NoCode { .. }
            | Element::Undecodable { .. }
            | Element::Inconsistency(_)
            | Element::Unknown { .. } => self.gap(source),
            _ => {}
        }
    }
}

/// The side of an execution log.
impl StepSink for Side {
    fn step(&mut self, cpu: u16, step: &Step) {
        let source = usize::from(cpu);
        match *step {
            Step::Retired(retired) => {
                let (address, isa) = (retired.address, retired.instruction.isa);
                let what = What::Instruction { address, isa };
                match retired.instruction.kind {
                    Kind::Branch | Kind::Indirect => self.push(source, None, what),
                    _ => self.straight(source, what),
                }
            }
            Step::Off => {
                self.settle(source, true);
                self.gap(source);
            }
            Step::Overflow => self.gap(source),
            Step::Exception(_) if self.exceptions => {
                self.push(source, None, What::Exception(None));
            }
            Step::SoftwareWrite(write) => self.push(source, None, What::SoftwareWrite(write)),
            Step::DwtEvent(event) => self.push(source, None, What::DwtEvent(event)),
            _ => {}
        }
    }
}

/// A difference of two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The index of the source on each side.
    pub source: usize,
    /// The number of equal events before it.
    pub same: u64,
    /// The last of these events.
    pub before: Option<Event>,
    /// The next event of the first side; `None` where the side has ended.
    pub a: Option<Event>,
    /// The next event of the second side; `None` where the side has ended.
    pub b: Option<Event>,
}

/// A comparison of two sides.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The first side.
    pub a: Side,
    /// The second side.
    pub b: Side,
    same: Vec<(u64, Option<Event>)>,
    /// Both sides have ended.
    ended: bool,
}

/// The number of optional events at the head of the log `right` that the trace `left`, which
/// restarts here, lacks. `None` where more events of the trace are needed to decide.
fn missing(left: &VecDeque<Event>, right: &VecDeque<Event>) -> Option<usize> {
    let count = right.iter().zip(0..).take_while(|(h, n)| h.optional && (*n == 0 || !h.after_gap));
    let count = count.count();
    // The head of the log is not the start of a section between gaps: the trace is in the next
    // section.
    if right.front().is_some_and(|first| !first.after_gap) {
        return Some(count);
    }
    let traced = left.iter().zip(right).take(count).all(|(a, b)| a.what.same(&b.what));
    let next = left.get(count);
    match next {
        _ if !traced => Some(count),
        Some(next) => Some(if next.after_gap { 0 } else { count }),
        None => None,
    }
}

impl Comparison {
    /// Two sides without events.
    pub fn new(exceptions: bool) -> Self {
        let side = Side::new(exceptions);
        Comparison { a: side.clone(), b: side, ..Comparison::default() }
    }

    /// The number of equal events of all sources.
    pub fn same(&self) -> u64 {
        self.same.iter().map(|(count, _)| count).sum()
    }

    /// The number of sources with equal events.
    pub fn sources(&self) -> usize {
        self.same.iter().filter(|(count, _)| *count > 0).count()
    }

    /// Compares the events that both sides have.
    pub fn advance(&mut self) -> Option<Difference> {
        let sources = self.a.sources().max(self.b.sources());
        self.same.resize(sources.max(self.same.len()), (0, None));
        let both = self.a.queues.iter_mut().zip(&mut self.b.queues);
        for (source, ((left, right), same)) in both.zip(&mut self.same).enumerate() {
            while let (Some(a), Some(b)) = (left.front(), right.front()) {
                if b.optional && a.after_gap {
                    match missing(left, right) {
                        None if !self.ended => break,
                        Some(count) if count > 0 => {
                            right.drain(..count);
                            continue;
                        }
                        _ => {}
                    }
                }
                if !a.what.same(&b.what) {
                    let (count, before) = *same;
                    let (a, b) = (Some(*a), Some(*b));
                    return Some(Difference { source, same: count, before, a, b });
                }
                *same = (same.0 + 1, left.pop_front());
                right.pop_front();
            }
        }
        None
    }

    /// Ends both sides, and compares the rest. Additional exceptions at the end of one side are no
    /// difference: a trace can end with one.
    pub fn finish(&mut self) -> Option<Difference> {
        self.ended = true;
        self.a.finish();
        self.b.finish();
        if let Some(difference) = self.advance() {
            return Some(difference);
        }
        let ends = |queue: Option<&VecDeque<Event>>| {
            let mut rest = queue.into_iter().flatten();
            rest.find(|h| !h.optional && !matches!(h.what, What::Exception(_))).copied()
        };
        (0..self.same.len()).find_map(|source| {
            let (a, b) = (ends(self.a.queues.get(source)), ends(self.b.queues.get(source)));
            let (same, before) = self.same.get(source).copied().unwrap_or_default();
            (a.is_some() || b.is_some()).then_some(Difference { source, same, before, a, b })
        })
    }
}

/// Finds the packet at an offset, to show it.
#[derive(Clone, Debug)]
pub struct Find<'a> {
    sources: &'a [Source],
    source: usize,
    at: u64,
    /// The text of the packet and its bytes.
    pub found: Option<String>,
}

impl<'a> Find<'a> {
    /// Finds the packet of source `source` at offset `at`.
    pub fn new(sources: &'a [Source], source: usize, at: u64) -> Self {
        Find { sources, source, at, found: None }
    }
}

impl Listener for Find<'_> {
    fn element(&mut self, _: usize, _: u64, _: Element) {}

    fn repeat(&mut self, _: usize, _: u64, _: base::Range, _: u32) {}

    fn repeat_path(&mut self, _: usize, _: u64, _: &[base::Range], _: u64) {}

    fn packet(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    ) {
        if source != self.source || self.found.is_some() || offsets.at(span.start) != self.at {
            return;
        }
        let mut text = format!("{packet}, bytes");
        if let (Some(source), Some(bytes)) = (self.sources.get(source), bytes.get(span)) {
            let mut digits = String::new();
            source.packet_bytes(bytes, " ", &mut digits);
            text.push(' ');
            text.push_str(digits.trim_end());
        }
        self.found = Some(text);
    }

    fn full(&self) -> bool {
        self.found.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: u64) -> Event {
        let what = What::Instruction { address, isa: Isa::A64 };
        Event { at: Some(address), after_gap: false, optional: false, what }
    }

    fn side(addresses: &[u64]) -> Side {
        let mut side = Side::new(true);
        for &address in addresses {
            side.push(0, Some(address), What::Instruction { address, isa: Isa::A64 });
        }
        side
    }

    #[test]
    fn the_first_difference() {
        let mut compare =
            Comparison { a: side(&[4, 8, 12]), b: side(&[4, 8, 16]), ..Comparison::default() };
        let want = Difference {
            source: 0,
            same: 2,
            before: Some(at(8)),
            a: Some(at(12)),
            b: Some(at(16)),
        };
        assert_eq!(compare.advance(), Some(want));
    }

    #[test]
    fn one_side_ends_earlier() {
        let mut compare = Comparison { a: side(&[4, 8]), b: side(&[4]), ..Comparison::default() };
        assert_eq!(compare.advance(), None);
        compare.b.push(0, None, What::Exception(Some(1)));
        let difference = compare.finish().unwrap();
        assert_eq!((difference.same, difference.a, difference.b.is_some()), (1, Some(at(8)), true));

        let mut compare = Comparison { a: side(&[4]), b: side(&[4]), ..Comparison::default() };
        compare.a.push(0, Some(9), What::Exception(Some(1)));
        assert_eq!(compare.finish(), None);
        assert_eq!(compare.same(), 1);
    }

    /// In the log, tracing is disabled after instructions that no branch follows. A trace unit that
    /// traces each instruction has them; a trace unit that traces branches lacks them.
    #[test]
    fn straight_code_before_a_gap_is_optional() {
        for shown in [true, false] {
            let mut log = Side::new(true);
            for chunk in [&[4, 8, 12][..], &[4], &[4, 8, 12, 16]] {
                for &address in chunk {
                    let what = What::Instruction { address, isa: Isa::A64 };
                    match address {
                        4 | 12 if chunk.len() < 4 => log.straight(0, what),
                        _ => log.push(0, None, what),
                    }
                }
                log.settle(0, true);
                log.gap(0);
            }
            let mut trace = side(if shown { &[4, 8, 12] } else { &[4, 8] });
            for next in [&[4][..], &[4, 8, 12, 16]] {
                trace.gap(0);
                for &address in next.iter().filter(|_| shown || next.len() > 1) {
                    trace.push(0, Some(address), What::Instruction { address, isa: Isa::A64 });
                }
            }
            let mut compare = Comparison { a: trace, b: log, ..Comparison::default() };
            assert_eq!(compare.advance(), None, "{shown}");
            assert_eq!(compare.finish(), None, "{shown}");
            assert_eq!(compare.same(), if shown { 8 } else { 6 });
        }
    }

    #[test]
    fn exceptions_of_a_log_have_no_number() {
        assert!(What::Exception(None).same(&What::Exception(Some(3))));
        assert!(!What::Exception(Some(2)).same(&What::Exception(Some(3))));
    }
}
