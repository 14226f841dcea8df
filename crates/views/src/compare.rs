//! The first difference of two traces, or of a trace and an execution log.
//!
//! Both sides are read in chunks of any size: what the side that is ahead has is queued until the
//! other side has reached it. Of a capture, elements are queued, and the instructions of a range
//! are made when they are compared. Executed instructions, exceptions, software writes, DWT events
//! and own content of protocols, with its bytes, are compared. Times and packets are not.

mod find;
mod queue;
mod side;

pub use find::Find;
pub use side::{Missing, Side};

use std::sync::Arc;

use tracewright_base::{Channel, DwtEvent, Isa, Software};

use queue::Queue;

/// What one source of a side may have waiting, in elements and events, while the sources of the
/// other side are behind. Where it has more, the inputs have their sources in too different an
/// order.
pub const MAX_AHEAD: usize = 1 << 20;

/// The events of each side in which both are searched for a place where they agree again.
pub const WINDOW: usize = 256;

/// The events that must be the same there.
const AGREED: usize = 8;

/// The events that [`Comparison::resynchronise`] looks at.
pub const AHEAD: usize = WINDOW + AGREED;

/// One event of a side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The offset of its packet in the buffer; `None` for an event of an execution log.
    pub at: Option<u64>,
    /// Trace is missing directly before it, after an earlier event.
    pub after_gap: bool,
    /// Only of a log: the trace may lack the event, because tracing is disabled before the next
    /// branch.
    pub optional: bool,
    /// The kind of event.
    pub what: What,
}

impl Event {
    /// Whether one side may have it after the end of the other one.
    fn may_end(&self) -> bool {
        self.optional || matches!(self.what, What::Exception(_))
    }
}

/// The kind of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Content of a protocol of another crate: [`Element::Custom`](tracewright_base::Element::Custom).
    Custom {
        /// The name of its kind.
        kind: &'static str,
        /// Its bytes.
        bytes: Arc<[u8]>,
    },
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

/// A difference of two sides.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Debug)]
pub struct Comparison {
    /// The first side.
    pub a: Side,
    /// The second side.
    pub b: Side,
    same: Vec<(u64, Option<Event>)>,
}

/// The number of optional events at the head of the log `right` that the trace `left`, which
/// restarts here, lacks. `None` where more events of the trace are needed to decide.
fn missing(left: &mut Queue, right: &Queue, ended: bool) -> Option<usize> {
    let right = right.events();
    let count = right.iter().zip(0..).take_while(|(h, n)| h.optional && (*n == 0 || !h.after_gap));
    let count = count.count();
    // The head of the log is not the start of a section between gaps: the trace is in the next
    // section.
    if right.front().is_some_and(|first| !first.after_gap) {
        return Some(count);
    }
    left.fill(count + 1);
    let left = left.events();
    let traced = left.iter().zip(right).take(count).all(|(a, b)| a.what.same(&b.what));
    let next = left.get(count);
    match next {
        _ if !traced => Some(count),
        Some(next) => Some(if next.after_gap { 0 } else { count }),
        // Nothing follows: the trace has all of them.
        None if ended => Some(0),
        None => None,
    }
}

impl Comparison {
    /// Compares two sides.
    pub fn new(a: Side, b: Side) -> Self {
        Comparison { a, b, same: Vec::new() }
    }

    /// The number of equal events of all sources.
    pub fn same(&self) -> u64 {
        self.same.iter().map(|(count, _)| count).sum()
    }

    /// The number of sources with equal events.
    pub fn sources(&self) -> usize {
        self.same.iter().filter(|(count, _)| *count > 0).count()
    }

    /// Compares the events that both sides have. Where a side has [ended](Side::finish), the further
    /// events of the other one are a difference, except exceptions: a trace can end with one.
    pub fn advance(&mut self) -> Option<Difference> {
        let Comparison { a, b, same } = self;
        let sources = a.sources().max(b.sources());
        a.grow(sources);
        b.grow(sources);
        same.resize(sources.max(same.len()), (0, None));
        let (a_ended, b_ended) = (a.ended(), b.ended());
        let both = a.queues().iter_mut().zip(b.queues());
        for (source, ((left, right), same)) in both.zip(same).enumerate() {
            let difference = |same: &(u64, Option<Event>), a: Option<&Event>, b: Option<&Event>| {
                let (same, before) = same.clone();
                Some(Difference { source, same, before, a: a.cloned(), b: b.cloned() })
            };
            loop {
                match (left.front(), right.front()) {
                    (Some(a), Some(b)) if b.optional && a.after_gap => {
                        match missing(left, right, a_ended) {
                            None => break,
                            Some(count) if count > 0 => {
                                right.skip(count);
                                continue;
                            }
                            _ => {}
                        }
                    }
                    (Some(_), Some(_)) => {}
                    (None, Some(b)) if a_ended => {
                        if !b.may_end() {
                            return difference(same, None, Some(b));
                        }
                        right.pop();
                        continue;
                    }
                    (Some(a), None) if b_ended => {
                        if !a.may_end() {
                            return difference(same, Some(a), None);
                        }
                        left.pop();
                        continue;
                    }
                    _ => break,
                }
                let (a, b) = (left.front(), right.front());
                if !a.zip(b).is_some_and(|(a, b)| a.what.same(&b.what)) {
                    return difference(same, a, b);
                }
                *same = (same.0 + 1, left.pop());
                right.pop();
            }
        }
        None
    }

    /// Skips the events of `source` from a difference on, up to where both sides agree again. The
    /// result is the number of events of each side that were skipped; `None` where they do not
    /// agree among the next [`WINDOW`] events of each. Both sides must have [`AHEAD`] events, or
    /// have ended.
    pub fn resynchronise(&mut self, source: usize) -> Option<(usize, usize)> {
        let ended = self.a.ended() && self.b.ended();
        let left = self.a.queues().get_mut(source)?;
        let right = self.b.queues().get_mut(source)?;
        left.fill(AHEAD);
        right.fill(AHEAD);
        let (a, b) = (left.events(), right.events());
        let agree = |i: usize, j: usize| {
            let rest = (a.len().saturating_sub(i), b.len().saturating_sub(j));
            let both = a.iter().skip(i).zip(b.iter().skip(j)).take(AGREED);
            let whole = rest.0 >= AGREED && rest.1 >= AGREED;
            (whole || ended && rest.0 == rest.1 && rest.0 > 0)
                && both.clone().all(|(a, b)| a.what.same(&b.what))
        };
        let pairs = (1..=2 * WINDOW).flat_map(|sum| {
            let least = sum.saturating_sub(WINDOW);
            (least..=sum.min(WINDOW)).map(move |i| (i, sum - i))
        });
        let (i, j) = pairs.into_iter().find(|(i, j)| agree(*i, *j))?;
        left.skip(i);
        right.skip(j);
        Some((i, j))
    }

    /// Skips all events of `source` that are there. The result is the number of events of each
    /// side.
    pub fn skip_all(&mut self, source: usize) -> (u64, u64) {
        let mut counts = [0; 2];
        for (side, count) in [&mut self.a, &mut self.b].into_iter().zip(&mut counts) {
            let Some(queue) = side.queues().get_mut(source) else { continue };
            loop {
                queue.fill(AHEAD);
                let there = queue.events().len();
                if there == 0 {
                    break;
                }
                queue.skip(there);
                *count += there as u64;
            }
        }
        counts.into()
    }

    /// Ends both sides, and compares the rest.
    pub fn finish(&mut self) -> Option<Difference> {
        self.a.finish();
        self.b.finish();
        self.advance()
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
        let mut side = Side::of_log(true);
        for &address in addresses {
            side.push(0, Some(address), What::Instruction { address, isa: Isa::A64 });
        }
        side
    }

    #[test]
    fn the_first_difference() {
        let mut compare = Comparison::new(side(&[4, 8, 12]), side(&[4, 8, 16]));
        let want = Difference {
            source: 0,
            same: 2,
            before: Some(at(8)),
            a: Some(at(12)),
            b: Some(at(16)),
        };
        assert_eq!(compare.advance(), Some(want));
    }

    /// An instruction that a side lacks, and one that is another: the rest is the same.
    #[test]
    fn the_sides_agree_again() {
        let all: Vec<u64> = (0..40).map(|n| 4 * n).collect();
        let mut other = all.clone();
        other.remove(5);
        other[20] = 0x1000;
        let mut compare = Comparison::new(side(&all), side(&other));
        compare.a.finish();
        compare.b.finish();
        let mut skipped = Vec::new();
        while let Some(difference) = compare.advance() {
            skipped.push((difference.same, compare.resynchronise(0)));
        }
        assert_eq!(skipped, [(5, Some((1, 0))), (20, Some((1, 1)))]);
        assert_eq!(compare.same(), 38);

        let mut compare = Comparison::new(side(&[4, 8]), side(&[12, 16]));
        compare.a.finish();
        compare.b.finish();
        assert!(compare.advance().is_some());
        assert_eq!(compare.resynchronise(0), None);
        assert_eq!(compare.skip_all(0), (2, 2));
        assert_eq!(compare.advance(), None);
    }

    #[test]
    fn one_side_ends_earlier() {
        let mut compare = Comparison::new(side(&[4, 8]), side(&[4]));
        assert_eq!(compare.advance(), None);
        compare.b.push(0, None, What::Exception(Some(1)));
        let difference = compare.finish().unwrap();
        assert_eq!((difference.same, difference.a, difference.b.is_some()), (1, Some(at(8)), true));

        let mut compare = Comparison::new(side(&[4]), side(&[4]));
        compare.a.push(0, Some(9), What::Exception(Some(1)));
        assert_eq!(compare.finish(), None);
        assert_eq!(compare.same(), 1);
    }

    /// In the log, tracing is disabled after instructions that no branch follows. A trace unit that
    /// traces each instruction has them; a trace unit that traces branches lacks them.
    #[test]
    fn straight_code_before_a_gap_is_optional() {
        for shown in [true, false] {
            let mut log = Side::of_log(true);
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
            let mut compare = Comparison::new(trace, log);
            assert_eq!(compare.advance(), None, "{shown}");
            assert_eq!(compare.finish(), None, "{shown}");
            assert_eq!(compare.same(), if shown { 8 } else { 6 });
        }
    }

    /// The bytes are compared, at their places among the other events; a log has none.
    #[test]
    fn own_content() {
        use tracewright_base::{BatchBuffer, CachedBlocks, Custom};
        use tracewright_decode::Listener;

        let side = |notes: &[&[u8]]| {
            let mut side = Side::of_capture(true, &[]);
            side.grow(1);
            let mut buffer = BatchBuffer::default();
            for (at, note) in (0..).zip(notes) {
                buffer.custom(at, "note", note);
            }
            side.begin(100);
            side.batch(&buffer.batch(0, CachedBlocks::none()));
            side
        };
        let note = |at, bytes: &[u8]| {
            let what = What::Custom { kind: "note", bytes: bytes.into() };
            Event { at: Some(at), after_gap: false, optional: false, what }
        };
        let mut compare = Comparison::new(side(&[b"ab", b"", b"cd"]), side(&[b"ab", b"", b"cd"]));
        assert_eq!((compare.finish(), compare.same()), (None, 3));
        let mut compare = Comparison::new(side(&[b"ab", b"cd"]), side(&[b"ab", b"ce"]));
        let (a, b) = (Some(note(1, b"cd")), Some(note(1, b"ce")));
        let before = Some(note(0, b"ab"));
        let want = Difference { source: 0, same: 1, before, a, b };
        assert_eq!(compare.advance(), Some(want));
        let mut compare = Comparison::new(side(&[b"ab"]), side(&[]));
        assert!(compare.finish().is_some_and(|difference| difference.a.is_some()));

        let mut long = Side::of_capture(true, &[]);
        long.grow(1);
        long.begin(10);
        long.custom(0, 0, Custom::new("note", 2000), &[0; 2000]);
        assert!(long.is_over(), "its bytes count");

        let mut alone = Side::of_capture(true, &[]).without_contents();
        alone.grow(1);
        alone.custom(0, 0, Custom::new("note", 1), b"a");
        assert_eq!(Comparison::new(alone, Side::of_log(true)).finish(), None);
    }

    #[test]
    fn exceptions_of_a_log_have_no_number() {
        assert!(What::Exception(None).same(&What::Exception(Some(3))));
        assert!(!What::Exception(Some(2)).same(&What::Exception(Some(3))));
    }
}
