//! Messages of several encoders in one stream, each with a source number (SRC).
//!
//! A message ends with a byte of MSEO 11, so a damaged message does not hide the boundaries of
//! those after it.

use alloc::vec::Vec;

use tracewright_base::{Fault, SyncSearch};
use tracewright_frames::{Event, Split};

use super::config::Config;
use super::packet::Span;
use super::packet::fields::{Fields, Reader};
use super::sync;
use crate::messages::{self, Rest};

/// Splits a stream into messages. A plain value: a clone is a checkpoint.
///
/// A piece is a message, and its ID the source number, whether or not an encoder has that number.
/// The result does not depend on the chunks of the input.
#[derive(Clone, Debug, PartialEq)]
pub struct Demux {
    /// The configuration of the first encoder: all have the fields before a message in common.
    config: Config,
    /// The next byte begins a message.
    synced: bool,
    /// Bytes of an incomplete message.
    rest: Rest,
    /// Bytes that have not been reported yet: offset, length, and the fault, if they are no bytes
    /// between messages.
    skipped: Option<(u64, u32, Option<Fault>)>,
}

/// SRC of the message `bytes`. `None` if the message is too short.
fn number(bytes: &[u8], config: &Config) -> Option<u16> {
    let mut reader = Reader::new(bytes, config);
    reader.fixed("TCODE", 0, 6);
    let number = reader.fixed("SRC", 0, config.link.source_bits.into()) as u16;
    reader.fault(true).is_none().then_some(number)
}

impl Demux {
    /// The demultiplexer of encoders that share a stream, the first of which has `config`.
    pub fn new(config: Config) -> Demux {
        Demux { config, synced: config.link.aligned, rest: Rest::default(), skipped: None }
    }

    /// A demultiplexer of the same encoders for another offset or buffer.
    #[must_use]
    pub fn fresh(&self) -> Demux {
        Demux::new(self.config)
    }

    /// Splits all of `bytes`, which are at offset `at` of the buffer.
    pub fn split<S: Split>(&mut self, at: u64, bytes: &[u8], out: &mut S) {
        self.take(at, bytes, false, out);
    }

    /// The bytes end at offset `at`, or some are missing there: reports the incomplete message.
    pub fn finish<S: Split>(&mut self, at: u64, out: &mut S) {
        self.take(at, &[], true, out);
        self.report(out);
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
        while let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) {
            let place = at.wrapping_add(taken as u64);
            if !self.synced {
                let (skip, found) = match sync::find(rest, &self.config) {
                    SyncSearch::At(skip) => (skip, true),
                    SyncSearch::NotIn(_) if end => {
                        let found = sync::find_at_end(rest, &self.config);
                        (found.unwrap_or(rest.len()), found.is_some())
                    }
                    SyncSearch::NotIn(skip) => (skip, false),
                };
                self.skip_over(place, skip, Some(Fault::Unsynchronised), out);
                taken += skip;
                self.synced = found;
                if !found {
                    break;
                }
                continue;
            }
            let len = match Span::of(rest) {
                Span::Between => {
                    self.skip_over(place, 1, None, out);
                    taken += 1;
                    continue;
                }
                Span::Calibration(len) => {
                    self.skip_over(place, len, None, out);
                    taken += len;
                    continue;
                }
                Span::Whole(len) => len,
                Span::Bad(len, fault) => {
                    self.skip_over(place, len, Some(fault), out);
                    taken += len;
                    continue;
                }
                Span::Partial if end => {
                    self.skip_over(place, rest.len(), Some(Fault::Truncated), out);
                    return bytes.len();
                }
                Span::Partial => break,
            };
            let message = rest.get(..len).unwrap_or_default();
            match number(message, &self.config) {
                Some(number) => {
                    self.report(out);
                    out.piece(number, place, true, message);
                }
                None => self.skip_over(place, len, Some(Fault::FieldsAfterBytes), out),
            }
            taken += len;
        }
        taken
    }

    /// Notes bytes that belong to no source.
    fn skip_over<S: Split>(&mut self, at: u64, len: usize, fault: Option<Fault>, out: &mut S) {
        let len = len as u32;
        match &mut self.skipped {
            // Only what does not depend on the chunks of the input is one run.
            Some((_, before, known))
                if *known == fault && matches!(fault, None | Some(Fault::Unsynchronised)) =>
            {
                *before += len;
            }
            _ => {
                self.report(out);
                self.skipped = (len > 0).then_some((at, len, fault));
            }
        }
    }

    fn report<S: Split>(&mut self, out: &mut S) {
        match self.skipped.take() {
            Some((at, len, None)) => out.event(at, Event::Null { len }),
            Some((at, len, Some(fault))) => out.event(at, Event::Bad { len, fault }),
            None => {}
        }
    }
}

/// The source numbers of the messages of `bytes`, each with the number of its messages, in
/// ascending order.
pub fn numbers(bytes: &[u8], config: &Config) -> Vec<(u16, usize)> {
    /// Counts messages by their number.
    struct Numbers(Vec<(u16, usize)>);

    impl Split for Numbers {
        fn piece(&mut self, id: u16, _: u64, _: bool, _: &[u8]) {
            messages::count(&mut self.0, id);
        }

        fn event(&mut self, _: u64, _: Event) {}
    }

    let mut numbers = Numbers(Vec::new());
    Demux::new(*config).split(0, bytes, &mut numbers);
    numbers.0
}
