//! Messages of several harts in one stream, each with its source's number (`srcID`).
//!
//! The encapsulation tells where a message ends and whose it is, and nothing marks its beginning: once a header is
//! damaged, what follows cannot be told from payload. So each message is looked into: where one is none of
//! its hart's, and those after it are none either, boundaries are looked for anew, and every hart is told that some of
//! its messages may be missing. A message that is damaged inside is its own hart's matter.
//! (*Unformatted Trace & Diagnostic Data Packet Encapsulation*, "Encapsulation")

use alloc::vec::Vec;

use tracewright_base::{Fault, Parse, Wire};
use tracewright_frames::{Event, Split};

use super::config::Params;
use super::packet::envelope::{Envelope, Extent};
use super::packet::{Packet, Payload, Shape};
use super::sync;
use super::{Etrace, Protocol};

/// So many messages one after another that make sense are no accident.
const CHAIN: usize = 8;

/// So many messages are looked at, at most, to find as many: others may be of harts that nobody knows, or say
/// nothing.
const LOOKED_AT: usize = 64;

/// Takes a stream apart, message by message. A plain value: to clone it is to take a checkpoint.
///
/// A piece is a message, and its id the number in it ([`Link::source`](super::config::Link::source) of its hart), whether
/// or not a hart has that.
///
/// Bytes may be given in any pieces; what comes out is the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Demux {
    /// Their trace units.
    harts: Vec<Params>,
    /// The number of each, and what most of its messages are like.
    quick: Vec<(u16, Option<Shape>)>,
    /// As they were before the first message.
    fresh: Vec<Params>,
    /// The next byte begins a message.
    synced: bool,
    /// Bytes that make no whole message yet.
    rest: Vec<u8>,
    /// Bytes that are none, and have not been reported yet: place and length.
    bad: Option<(u64, u32)>,
    /// The same of bytes that say nothing.
    nulls: Option<(u64, u32)>,
}

/// What stands at the beginning of some bytes.
enum Message {
    /// A header without payload.
    Null,
    /// A message of so many bytes.
    Of {
        len: usize,
        /// Whose: the place among the harts, and the number.
        hart: Option<usize>,
        number: u16,
        /// What it says, where its hart can have said it.
        packet: Option<Packet>,
    },
    /// More bytes must follow.
    Partial,
    /// No message.
    Bad,
}

/// What follows a place.
enum Chain {
    /// Messages enough that make sense.
    Whole,
    /// So many that make sense, up to the end of the bytes.
    Unfinished(usize),
    /// Something that is none.
    Broken,
}

impl Demux {
    /// Of these harts, whose link is the same. `None` where there is none, or the link has no numbers.
    pub fn new(harts: Vec<Params>) -> Option<Demux> {
        harts.first().filter(|hart| hart.link.has_sources())?;
        Some(Demux::of(harts))
    }

    fn of(harts: Vec<Params>) -> Demux {
        let synced = harts.first().is_some_and(|hart| hart.link.aligned);
        let quick = harts.iter().map(|hart| (hart.link.source, Shape::of(hart))).collect();
        let (fresh, rest) = (harts.clone(), Vec::new());
        Demux { harts, quick, fresh, synced, rest, bad: None, nulls: None }
    }

    /// The same at another place, or in another buffer.
    #[must_use]
    pub fn fresh(&self) -> Demux {
        Demux::of(self.fresh.clone())
    }

    /// Takes all of `bytes`, which are in the capture from `at` on.
    pub fn split<S: Split>(&mut self, at: u64, bytes: &[u8], out: &mut S) {
        self.take(at, bytes, false, out);
    }

    /// Goes past all of `bytes` as [`split`](Self::split) does, and says nothing. What comes after them is the same.
    pub fn skip(&mut self, at: u64, bytes: &[u8]) {
        self.take(at, bytes, false, &mut Nowhere);
    }

    /// The bytes end before place `at`, or some are missing there: says what is no whole message.
    pub fn finish<S: Split>(&mut self, at: u64, out: &mut S) {
        self.take(at, &[], true, out);
        self.say_nulls(out);
        self.say_bad(out);
        *self = self.fresh();
    }

    fn take<S: Split>(&mut self, at: u64, bytes: &[u8], end: bool, out: &mut S) {
        let mut rest = core::mem::take(&mut self.rest);
        let at = at.wrapping_sub(rest.len() as u64);
        let taken = if rest.is_empty() {
            let taken = self.messages(at, bytes, end, out);
            rest.extend_from_slice(bytes.get(taken..).unwrap_or_default());
            0
        } else {
            rest.extend_from_slice(bytes);
            self.messages(at, &rest, end, out)
        };
        rest.drain(..taken);
        self.rest = rest;
    }

    /// Takes whole messages, and returns how many bytes they are.
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
                    self.say_bad(out);
                    let (_, len) = self.nulls.get_or_insert((place, 0));
                    *len += 1;
                    taken += 1;
                }
                Message::Of { len, hart, number, packet } => {
                    if hart.is_some() && packet.is_none() {
                        match self.chain(rest.get(len..).unwrap_or_default()) {
                            Chain::Whole => {}
                            // A few at the end must do.
                            Chain::Unfinished(packets)
                                if end && (packets > 0 || rest.len() == len) => {}
                            Chain::Unfinished(_) if !end => break,
                            Chain::Unfinished(_) | Chain::Broken => {
                                self.synced = false;
                                continue;
                            }
                        }
                    }
                    self.say_nulls(out);
                    self.say_bad(out);
                    if let (Some(n), Some(packet)) = (hart, &packet) {
                        self.learn(n, packet);
                    }
                    out.piece(number, place, true, rest.get(..len).unwrap_or_default());
                    taken += len;
                }
                Message::Partial if end => {
                    self.say_nulls(out);
                    self.say_bad(out);
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

    /// Takes messages of the usual form as far as they go, and returns how many bytes they are.
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

    /// What hart `n` says may change how its next messages are read.
    fn learn(&mut self, n: usize, packet: &Packet) {
        let (Some(hart), Some((_, shape))) = (self.harts.get_mut(n), self.quick.get_mut(n)) else {
            return;
        };
        Etrace::learn(hart, packet);
        // What was learned is borne out, or taken back, by the next packet.
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

    /// How many bytes come before the first message, and whether it is there.
    fn find(&self, bytes: &[u8], end: bool) -> (usize, bool) {
        for at in 0..bytes.len() {
            let rest = bytes.get(at..).unwrap_or_default();
            // A known hart's message is the first.
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
                    // No message has so many.
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
            self.say_nulls(out);
            let (_, bad) = self.bad.get_or_insert((at, 0));
            *bad += len as u32;
        }
    }

    fn say_bad<S: Split>(&mut self, out: &mut S) {
        if let Some((at, len)) = self.bad.take() {
            out.event(at, Event::Bad { len, fault: Fault::Unsynchronised });
        }
    }

    fn say_nulls<S: Split>(&mut self, out: &mut S) {
        if let Some((at, len)) = self.nulls.take() {
            out.event(at, Event::Null { len });
        }
    }
}

/// The numbers in messages at the start of `bytes`, the first of which begins there, and how many messages have
/// each, in the order of the numbers.
pub fn numbers(bytes: &[u8], params: &Params) -> Vec<(u16, usize)> {
    let mut found: Vec<(u16, usize)> = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let len = match Envelope::extent(rest, params) {
            Extent::Null => 1,
            Extent::Of { len, source } => {
                match found.binary_search_by_key(&source, |(number, _)| *number) {
                    Ok(n) => found.get_mut(n).into_iter().for_each(|(_, count)| *count += 1),
                    Err(n) => found.insert(n, (source, 1)),
                }
                len
            }
            Extent::Partial | Extent::Bad => break,
        };
        rest = rest.get(len..).unwrap_or_default();
    }
    found
}

/// Hears nothing.
struct Nowhere;

impl Split for Nowhere {
    fn piece(&mut self, _: u16, _: u64, _: bool, _: &[u8]) {}

    fn event(&mut self, _: u64, _: Event) {}
}
