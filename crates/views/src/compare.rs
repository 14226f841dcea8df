//! Two traces, or a trace and what an execution log says, side by side: where they first differ.
//!
//! Both sides come in pieces, as fast as they like: what one side is ahead is kept until the other side has
//! caught up. Compared are executed instructions, exceptions and software writes; not times, and not how
//! the trace says it.

use std::collections::VecDeque;
use std::ops::Range;

use tracewright_base::{
    Channel, DwtEvent, Element, Gap, Isa, Kind, OffsetMap, Software, Step, StepSink,
};
use tracewright_decode::Listener;
use tracewright_protocols::registry::AnyPacket;

use crate::Source;
use crate::instructions::{Step as Executed, Steps};

/// One thing that happened on a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Happened {
    /// Place of its packet in the buffer; `None` in an execution log.
    pub at: Option<u64>,
    /// The trace was not whole just before it, or began there.
    pub after_gap: bool,
    /// A log's: a trace unit need not say it, because tracing is switched off before the next branch.
    pub optional: bool,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// An instruction was executed.
    Instruction {
        /// Its address.
        address: u64,
        /// Its instruction set.
        isa: Isa,
    },
    /// An exception was taken: its number in the protocol, where there is a protocol.
    Exception(Option<u16>),
    /// The program wrote into the trace.
    Software(Software),
    /// The debug hardware reported.
    DwtEvent(DwtEvent),
}

impl What {
    /// Both sides say the same, as far as both say it.
    fn same(&self, other: &What) -> bool {
        match (self, other) {
            (What::Exception(a), What::Exception(b)) => a.is_none() || b.is_none() || a == b,
            (What::Software(a), What::Software(b)) => {
                (offset(a.channel), a.bits, a.value()) == (offset(b.channel), b.bits, b.value())
            }
            (What::DwtEvent(a), What::DwtEvent(b)) => {
                (a.discriminator, a.size, a.value) == (b.discriminator, b.size, b.value)
            }
            _ => self == other,
        }
    }
}

/// A log need not say that a port is in page 0, the only one of most units.
fn offset(channel: Channel) -> Channel {
    match channel {
        Channel::Port { page: None, port } => Channel::Port { page: Some(0), port },
        other => other,
    }
}

/// What a side has said and the other has not.
#[derive(Clone, Debug, Default)]
pub struct Side {
    queues: Vec<VecDeque<Happened>>,
    gaps: Vec<bool>,
    /// A log's instructions since the last branch: what comes says whether a trace unit must say them.
    straight: Vec<Vec<Happened>>,
    /// Exceptions count.
    pub exceptions: bool,
}

impl Side {
    /// A side that says nothing yet.
    pub fn new(exceptions: bool) -> Self {
        Side { exceptions, ..Side::default() }
    }

    /// How many sources have said something.
    pub fn sources(&self) -> usize {
        self.queues.len()
    }

    /// The most that waits of one source.
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

    fn happened(&mut self, source: usize, at: Option<u64>, what: What) -> Happened {
        let after_gap = self.gaps.get_mut(source).is_some_and(core::mem::take);
        Happened { at, after_gap, optional: false, what }
    }

    fn push(&mut self, source: usize, at: Option<u64>, what: What) {
        self.grow(source);
        self.settle(source, false);
        let happened = self.happened(source, at, what);
        if let Some(queue) = self.queues.get_mut(source) {
            queue.push_back(happened);
        }
    }

    /// What a log says of an instruction that is no branch.
    fn hold(&mut self, source: usize, what: What) {
        self.grow(source);
        let happened = self.happened(source, None, what);
        if let Some(straight) = self.straight.get_mut(source) {
            straight.push(happened);
        }
    }

    /// The instructions since the last branch: `optional` where nothing comes that says them.
    fn settle(&mut self, source: usize, optional: bool) {
        let (Some(straight), Some(queue)) =
            (self.straight.get_mut(source), self.queues.get_mut(source))
        else {
            return;
        };
        queue.extend(straight.drain(..).map(|happened| Happened { optional, ..happened }));
    }

    /// Nothing more comes.
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

/// A capture's side: what a session finds goes through [`Expand`](crate::instructions::Expand) to here.
impl Steps for Side {
    const OPCODES: bool = false;

    fn step(&mut self, source: usize, at: u64, step: &Executed) {
        self.push(source, Some(at), What::Instruction { address: step.address, isa: step.isa });
    }

    fn other(&mut self, source: usize, at: u64, element: &Element) {
        match *element {
            Element::Exception(exception) if self.exceptions => {
                self.push(source, Some(at), What::Exception(Some(exception.number)));
            }
            Element::SoftwareWrite(write) => self.push(source, Some(at), What::Software(write)),
            Element::DwtEvent(report) => self.push(source, Some(at), What::DwtEvent(report)),
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

/// A log's side.
impl StepSink for Side {
    fn step(&mut self, cpu: u16, step: &Step) {
        let source = usize::from(cpu);
        match *step {
            Step::Retired(retired) => {
                let (address, isa) = (retired.address, retired.instruction.isa);
                let what = What::Instruction { address, isa };
                match retired.instruction.kind {
                    Kind::Branch | Kind::Indirect => self.push(source, None, what),
                    _ => self.hold(source, what),
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
            Step::SoftwareWrite(write) => self.push(source, None, What::Software(write)),
            Step::DwtEvent(report) => self.push(source, None, What::DwtEvent(report)),
            _ => {}
        }
    }
}

/// Where two sides differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which source, in the order of each side.
    pub source: usize,
    /// How many things were the same before.
    pub same: u64,
    /// The last of those.
    pub before: Option<Happened>,
    /// What the first side has next; `None` where it has ended.
    pub a: Option<Happened>,
    /// What the second side has next.
    pub b: Option<Happened>,
}

/// Two sides on their way.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The first side.
    pub a: Side,
    /// The second side.
    pub b: Side,
    same: Vec<(u64, Option<Happened>)>,
    /// No more comes of either side.
    ended: bool,
}

/// How many of the log's next things, which a trace unit need not say, the trace `left` leaves out where it
/// begins anew. `None` where more must come of it to say so.
fn hidden(left: &VecDeque<Happened>, right: &VecDeque<Happened>) -> Option<usize> {
    let count = right.iter().zip(0..).take_while(|(h, n)| h.optional && (*n == 0 || !h.after_gap));
    let count = count.count();
    // In the middle of a stretch of the log: the trace is in its next.
    if right.front().is_some_and(|first| !first.after_gap) {
        return Some(count);
    }
    let said = left.iter().zip(right).take(count).all(|(a, b)| a.what.same(&b.what));
    let next = left.get(count);
    match next {
        _ if !said => Some(count),
        Some(next) => Some(if next.after_gap { 0 } else { count }),
        None => None,
    }
}

impl Comparison {
    /// Two sides that have said nothing yet.
    pub fn new(exceptions: bool) -> Self {
        let side = Side::new(exceptions);
        Comparison { a: side.clone(), b: side, ..Comparison::default() }
    }

    /// Things that were the same, of all sources.
    pub fn same(&self) -> u64 {
        self.same.iter().map(|(count, _)| count).sum()
    }

    /// How many sources have something that is the same.
    pub fn sources(&self) -> usize {
        self.same.iter().filter(|(count, _)| *count > 0).count()
    }

    /// Compares as far as both sides have come.
    pub fn advance(&mut self) -> Option<Difference> {
        let sources = self.a.sources().max(self.b.sources());
        self.same.resize(sources.max(self.same.len()), (0, None));
        let both = self.a.queues.iter_mut().zip(&mut self.b.queues);
        for (source, ((left, right), same)) in both.zip(&mut self.same).enumerate() {
            while let (Some(a), Some(b)) = (left.front(), right.front()) {
                if b.optional && a.after_gap {
                    match hidden(left, right) {
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

    /// Both sides have ended: whether one has more than the other. Exceptions at the very end do not count:
    /// a trace unit may end with one.
    pub fn finish(&mut self) -> Option<Difference> {
        self.ended = true;
        self.a.finish();
        self.b.finish();
        if let Some(difference) = self.advance() {
            return Some(difference);
        }
        let ends = |queue: Option<&VecDeque<Happened>>| {
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

/// Looks for the packet at a place, to show it.
#[derive(Clone, Debug)]
pub struct Find<'a> {
    sources: &'a [Source],
    source: usize,
    at: u64,
    /// The packet and its bytes.
    pub found: Option<String>,
}

impl<'a> Find<'a> {
    /// Looks for the packet of source `source` that begins at `at`.
    pub fn new(sources: &'a [Source], source: usize, at: u64) -> Self {
        Find { sources, source, at, found: None }
    }
}

impl Listener for Find<'_> {
    fn element(&mut self, _: usize, _: u64, _: Element) {}

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

    fn at(address: u64) -> Happened {
        let what = What::Instruction { address, isa: Isa::A64 };
        Happened { at: Some(address), after_gap: false, optional: false, what }
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

    /// A log whose tracing is off behind two instructions that no branch follows: a unit that says every
    /// instruction says them, one that says branches does not.
    #[test]
    fn straight_code_before_a_gap_need_not_be_said() {
        for shown in [true, false] {
            let mut log = Side::new(true);
            for chunk in [&[4, 8, 12][..], &[4], &[4, 8, 12, 16]] {
                for &address in chunk {
                    let what = What::Instruction { address, isa: Isa::A64 };
                    match address {
                        4 | 12 if chunk.len() < 4 => log.hold(0, what),
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
    fn a_log_does_not_number_exceptions() {
        assert!(What::Exception(None).same(&What::Exception(Some(3))));
        assert!(!What::Exception(Some(2)).same(&What::Exception(Some(3))));
    }
}
