//! When events happened: between which points of time.
//!
//! A local timestamp follows the packets that it belongs to. Where it is not delayed, it is the
//! time of the packet directly before it; the others happened between the timestamp before and this
//! one. Where the timestamp was delayed, so did that packet. Where the packet was delayed, it may
//! be older than the timestamp before, but not than the event before it: events of a unit are in
//! order. (Armv7-M ARM, D4, "Local timestamp packet format 1", TC)
//!
//! Time is passed on as points between events. A point must be after all events that it is passed
//! on after, and before all others: one for which that is not known is left out, so that intervals
//! become wider, and never wrong.

use super::Stamp;

/// The most events that wait for a timestamp. Beyond, their time is not known.
const MAX_EVENTS: usize = 1 << 16;

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packet<E> {
    /// An event of which the time is wanted.
    Event(E),
    /// A local timestamp.
    Stamp(Stamp),
    /// Packets were lost.
    Lost,
    /// Another packet, to which the next timestamp belongs.
    Other,
}

/// An event, or a point of time, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<E> {
    /// The time at an offset.
    Point(u64, u64),
    /// An event at an offset.
    Event(u64, E),
    /// Packets were lost at an offset.
    Lost(u64),
    /// From an offset on, the time since the last point is not known.
    Unknown(u64),
}

/// What waits for the next timestamp.
#[derive(Clone, Debug)]
pub(crate) struct Window<E> {
    events: Vec<(u64, E)>,
    /// The last packet was one of `events`.
    last: bool,
    /// The first timestamp since the last event was passed on, which is exactly that of the event
    /// if `exact`; and the last one.
    first: Option<Stamp>,
    exact: bool,
    latest: Option<Stamp>,
}

impl<E> Default for Window<E> {
    fn default() -> Window<E> {
        let (events, last, first, exact, latest) = (Vec::new(), false, None, false, None);
        Window { events, last, first, exact, latest }
    }
}

impl<E> Window<E> {
    /// The next packet.
    pub(crate) fn take(&mut self, at: u64, packet: Packet<E>, out: &mut dyn FnMut(Step<E>)) {
        match packet {
            Packet::Stamp(stamp) => self.stamp(stamp, out),
            Packet::Other => self.last = false,
            Packet::Lost => {
                // What was lost may be older than the timestamps since the last event.
                let is_late = self.events.is_empty() && !self.is_exact();
                let late = if is_late { self.first.take() } else { None };
                self.finish(out);
                out(Step::Lost(at));
                if let Some(stamp) = late {
                    out(Step::Point(stamp.at, stamp.high));
                }
                out(Step::Unknown(at));
            }
            Packet::Event(event) => {
                if self.events.len() >= MAX_EVENTS {
                    self.finish(out);
                }
                self.events.push((at, event));
                self.last = true;
            }
        }
    }

    /// What waits has no later timestamp, which would state whether it was delayed.
    pub(crate) fn finish(&mut self, out: &mut dyn FnMut(Step<E>)) {
        match self.first {
            Some(first) if self.events.is_empty() => out(Step::Point(first.at, first.high)),
            _ => self.pass_exact(out),
        }
        (self.first, self.latest, self.last) = (None, None, false);
        self.events.drain(..).for_each(|(at, event)| out(Step::Event(at, event)));
    }

    /// Passes on the time of the last event, where it is known exactly.
    fn pass_exact(&self, out: &mut dyn FnMut(Step<E>)) {
        if let Some(first) = self.first.filter(|_| self.is_exact()) {
            out(Step::Point(first.at, first.high));
        }
    }

    /// Whether the time of the last event is one cycle.
    fn is_exact(&self) -> bool {
        self.exact && self.first.is_some_and(|first| first.low == first.high)
    }

    fn stamp(&mut self, stamp: Stamp, out: &mut dyn FnMut(Step<E>)) {
        if self.events.is_empty() {
            if self.first.is_none() {
                (self.first, self.exact) = (Some(stamp), false);
            }
            (self.latest, self.last) = (Some(stamp), false);
            return;
        }
        let is_exact = self.last && !stamp.late_packet && !stamp.late_stamp;
        let exact = if is_exact { self.events.pop() } else { None };
        let inexact = !self.events.is_empty();
        // Events before this one may be of its tick.
        let same_tick = inexact || self.latest.is_some_and(|latest| latest.low == stamp.low);
        if !stamp.late_packet {
            pass_points(self.first, self.latest, same_tick, out);
        } else {
            self.pass_exact(out);
        }
        self.events.drain(..).for_each(|(at, event)| out(Step::Event(at, event)));
        if let Some((at, event)) = exact {
            if stamp.low == stamp.high || !same_tick {
                out(Step::Point(at, stamp.low));
            }
            out(Step::Event(at, event));
        }
        (self.first, self.latest) = (Some(stamp), Some(stamp));
        (self.exact, self.last) = (is_exact, false);
    }
}

/// Passes on the time up to which the last events happened, and from which on others did.
/// `same_tick`: these may be of the tick of the last timestamp.
fn pass_points<E>(
    first: Option<Stamp>,
    latest: Option<Stamp>,
    same_tick: bool,
    out: &mut dyn FnMut(Step<E>),
) {
    let (Some(first), Some(latest)) = (first, latest) else { return };
    let one = first.low == latest.low;
    if !one || first.low == first.high || !same_tick {
        out(Step::Point(first.at, first.high));
    }
    if !one {
        let time = if same_tick { latest.low } else { latest.high };
        out(Step::Point(latest.at, time));
    }
}
