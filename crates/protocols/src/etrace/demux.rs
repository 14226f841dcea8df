//! Messages of several harts in one stream, each with a source number (`srcID`).
//!
//! The encapsulation has the length and the source of a message, but no mark at its beginning:
//! after a damaged header the next headers cannot be distinguished from payload. So each message is
//! parsed. If it is not a packet of its hart, and those after it are not either, the demultiplexer
//! searches for message boundaries again, and reports to every hart that messages may be missing. A
//! message that is damaged inside affects only its own hart. (*Unformatted Trace & Diagnostic Data
//! Packet Encapsulation*, "Encapsulation")

use alloc::vec::Vec;

use tracewright_base::{Fault, Parse, Wire};
use tracewright_frames::{Event, Split};

use super::config::Params;
use super::packet::envelope::{Envelope, Extent};
use super::packet::{Packet, Payload, Shape};
use super::sync;
use super::{Etrace, Protocol};
use crate::messages::{self, Rest};

/// The number of valid messages in a row that prove the message boundaries.
const CHAIN: usize = 8;

/// The most messages that are examined to find them. Messages of unknown harts and null messages
/// prove nothing.
const LOOKED_AT: usize = 64;

/// Splits a stream into messages. A plain value: a clone is a checkpoint.
///
/// A piece is a message, and its ID the source number
/// ([`Link::source`](super::config::Link::source) of its hart), whether or not a hart has that
/// number.
///
/// The result does not depend on the chunks of the input.
#[derive(Clone, Debug, PartialEq)]
pub struct Demux {
    /// The parameters of the harts.
    harts: Vec<Params>,
    /// The source number of each hart, and the layout of its most frequent messages.
    quick: Vec<(u16, Option<Shape>)>,
    /// The parameters before the first message.
    fresh: Vec<Params>,
    /// The next byte begins a message.
    synced: bool,
    /// Bytes of an incomplete message.
    rest: Rest,
    /// Undecodable bytes that have not been reported yet: offset and length.
    bad: Option<(u64, u32)>,
    /// Null bytes that have not been reported yet: offset and length.
    nulls: Option<(u64, u32)>,
}

/// The start of some bytes.
enum Message {
    /// A header without payload.
    Null,
    /// A message.
    Of {
        len: usize,
        /// The index of the hart, and the source number.
        hart: Option<usize>,
        number: u16,
        /// The packet, if it is valid for the hart.
        packet: Option<Packet>,
    },
    /// More bytes must follow.
    Partial,
    /// No message.
    Bad,
}

/// The messages after an offset.
enum Chain {
    /// Enough valid messages.
    Whole,
    /// The number of valid messages up to the end of the bytes.
    Unfinished(usize),
    /// Bytes that are not a message.
    Broken,
}

impl Demux {
    /// The demultiplexer of these harts, which share a link. `None` without harts, or if the link
    /// has no source numbers.
    pub fn new(harts: Vec<Params>) -> Option<Demux> {
        harts.first().filter(|hart| hart.link.has_sources())?;
        Some(Demux::of(harts))
    }

    fn of(harts: Vec<Params>) -> Demux {
        let synced = harts.first().is_some_and(|hart| hart.link.aligned);
        let quick = harts.iter().map(|hart| (hart.link.source, Shape::of(hart))).collect();
        let (fresh, rest) = (harts.clone(), Rest::default());
        Demux { harts, quick, fresh, synced, rest, bad: None, nulls: None }
    }

    /// A demultiplexer of the same harts for another offset or buffer.
    #[must_use]
    pub fn fresh(&self) -> Demux {
        Demux::of(self.fresh.clone())
    }

    /// Splits all of `bytes`, which are at offset `at` of the buffer.
    pub fn split<S: Split>(&mut self, at: u64, bytes: &[u8], out: &mut S) {
        self.take(at, bytes, false, out);
    }

    /// The bytes end at offset `at`, or some are missing there: reports the incomplete message.
    pub fn finish<S: Split>(&mut self, at: u64, out: &mut S) {
        self.take(at, &[], true, out);
        self.report_nulls(out);
        self.report_bad(out);
        *self = self.fresh();
    }

    fn take<S: Split>(&mut self, at: u64, bytes: &[u8], end: bool, out: &mut S) {
        let mut rest = core::mem::take(&mut self.rest);
        rest.take(at, bytes, |at, bytes| self.messages(at, bytes, end, out));
        self.rest = rest;
    }

    /// Splits whole messages, and returns the number of their bytes.
    fn messages<S: Split>(&mut self, at: u64, bytes: &[u8], end: bool, out: &mut S) -> usize {
        let mut taken = 0;
        loop {
            if self.synced && self.bad.is_none() && self.nulls.is_none() {
                taken += self.usual(
                    at.wrapping_add(taken as u64),
                    bytes.get(taken..).unwrap_or_default(),
                    out,
                );
            }
            let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) else { break };
            let place = at.wrapping_add(taken as u64);
            if !self.synced {
                let (skip, found) = self.find(rest, end);
                self.lose(place, skip, out);
                taken += skip;
                if !found {
                    break;
                }
                self.synced = true;
                continue;
            }
            match self.message(rest) {
                Message::Null => {
                    self.report_bad(out);
                    let (_, len) = self.nulls.get_or_insert((place, 0));
                    *len += 1;
                    taken += 1;
                }
                Message::Of { len, hart, number, packet } => {
                    if hart.is_some() && packet.is_none() {
                        match self.chain(rest.get(len..).unwrap_or_default()) {
                            Chain::Whole => {}
                            // A few messages suffice at the end of the bytes.
                            Chain::Unfinished(packets)
                                if end && (packets > 0 || rest.len() == len) => {}
                            Chain::Unfinished(_) if !end => break,
                            Chain::Unfinished(_) | Chain::Broken => {
                                self.synced = false;
                                continue;
                            }
                        }
                    }
                    self.report_nulls(out);
                    self.report_bad(out);
                    if let (Some(n), Some(packet)) = (hart, &packet) {
                        self.learn(n, packet);
                    }
                    out.piece(number, place, true, rest.get(..len).unwrap_or_default());
                    taken += len;
                }
                Message::Partial if end => {
                    self.report_nulls(out);
                    self.report_bad(out);
                    let (len, fault) = (rest.len() as u32, Fault::Truncated);
                    out.event(place, Event::Bad { len, fault });
                    taken = bytes.len();
                }
                Message::Partial => break,
                Message::Bad => self.synced = false,
            }
        }
        taken
    }

    /// Splits messages of the most frequent layout, and returns the number of their bytes.
    #[inline]
    fn usual<S: Split>(&self, at: u64, bytes: &[u8], out: &mut S) -> usize {
        let mut taken = 0;
        let known = self.quick.first().and_then(|(_, shape)| *shape);
        let Some(any) = known else { return 0 };
        while let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty())
            && let Some(number) = any.number(rest)
            && let Some((_, Some(shape))) = self.quick.iter().find(|(known, _)| *known == number)
            && let Some(quick) = shape.read(rest)
        {
            let message = rest.get(..quick.len).unwrap_or_default();
            out.piece(number, at.wrapping_add(taken as u64), true, message);
            taken += quick.len;
        }
        taken
    }

    /// A packet of hart `n` may change its parameters.
    fn learn(&mut self, n: usize, packet: &Packet) {
        let (Some(hart), Some((_, shape))) = (self.harts.get_mut(n), self.quick.get_mut(n)) else {
            return;
        };
        Etrace::learn(hart, packet);
        // The next packet confirms or reverts the change.
        *shape = if hart.before.is_some() { None } else { Shape::of(hart) };
    }

    fn message(&self, bytes: &[u8]) -> Message {
        let Some(params) = self.harts.first() else { return Message::Bad };
        let (len, number) = match Envelope::extent(bytes, params) {
            Extent::Null => return Message::Null,
            Extent::Partial => return Message::Partial,
            Extent::Bad => return Message::Bad,
            Extent::Of { len, source } => (len, source),
        };
        let Some(whole) = bytes.get(..len) else { return Message::Partial };
        let hart = self.harts.iter().position(|hart| hart.link.source == number);
        let packet = hart.and_then(|n| self.harts.get(n)).and_then(|hart| {
            match Packet::parse(whole, hart) {
                Parse::Packet(packet, taken)
                    if taken == len && sync::makes_sense(&packet, hart) =>
                {
                    Some(packet)
                }
                _ => None,
            }
        });
        Message::Of { len, hart, number, packet }
    }

    /// The number of bytes before the first message, and whether a message was found.
    fn find(&self, bytes: &[u8], end: bool) -> (usize, bool) {
        for at in 0..bytes.len() {
            let rest = bytes.get(at..).unwrap_or_default();
            // The first message must be that of a known hart.
            match self.message(rest) {
                Message::Of { packet: Some(_), .. } => {}
                Message::Partial if !end => return (at, false),
                _ => continue,
            }
            match self.chain(rest) {
                Chain::Whole => return (at, true),
                Chain::Unfinished(_) if !end => return (at, false),
                Chain::Unfinished(packets) if packets > 0 => return (at, true),
                _ => {}
            }
        }
        (bytes.len(), false)
    }

    fn chain(&self, bytes: &[u8]) -> Chain {
        let most = self.harts.first().map_or(0, sync::longest);
        let (mut at, mut good, mut nulls) = (0, 0, 0);
        for _ in 0..LOOKED_AT {
            let rest = bytes.get(at..).unwrap_or_default();
            match self.message(rest) {
                Message::Null if !rest.is_empty() => {
                    nulls += 1;
                    at += 1;
                    // No message is that long.
                    if nulls > most {
                        return Chain::Whole;
                    }
                }
                Message::Of { len, packet: Some(packet), .. } => {
                    good += usize::from(!matches!(packet.payload, Payload::Null { .. }));
                    nulls = 0;
                    at += len;
                }
                Message::Of { len, hart: None, .. } => {
                    nulls = 0;
                    at += len;
                }
                Message::Of { .. } | Message::Bad => return Chain::Broken,
                Message::Null | Message::Partial => return Chain::Unfinished(good),
            }
            if good == CHAIN {
                return Chain::Whole;
            }
        }
        if good > 0 { Chain::Whole } else { Chain::Broken }
    }

    fn lose<S: Split>(&mut self, at: u64, len: usize, out: &mut S) {
        if len > 0 {
            self.report_nulls(out);
            let (_, bad) = self.bad.get_or_insert((at, 0));
            *bad += len as u32;
        }
    }

    fn report_bad<S: Split>(&mut self, out: &mut S) {
        if let Some((at, len)) = self.bad.take() {
            out.event(at, Event::Bad { len, fault: Fault::Unsynchronised });
        }
    }

    fn report_nulls<S: Split>(&mut self, out: &mut S) {
        if let Some((at, len)) = self.nulls.take() {
            out.event(at, Event::Null { len });
        }
    }
}

/// The source numbers of the messages from the start of `bytes` on, each with the number of its
/// messages, in ascending order.
pub fn numbers(bytes: &[u8], params: &Params) -> Vec<(u16, usize)> {
    let mut found: Vec<(u16, usize)> = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let len = match Envelope::extent(rest, params) {
            Extent::Null => 1,
            Extent::Of { len, source } => {
                messages::count(&mut found, source);
                len
            }
            Extent::Partial | Extent::Bad => break,
        };
        rest = rest.get(len..).unwrap_or_default();
    }
    found
}
