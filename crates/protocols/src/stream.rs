//! The one loop from a source's bytes to its elements.

use core::ops::Range;

use tracewright_base::{
    BlockCache, Decode, Element, Fault, Feed, Gap, OffsetMap, Parse, Sink, Spanned, SyncSearch,
    Wire,
};

use crate::observer::{Observer, SourceBytes, StreamEvent};
use crate::packet_run::PacketRun;
use crate::protocol::{Protocol, Resume};
use crate::realign::{BitSearch, Realigned, zeros_at_end};
use crate::registry::Listed;

/// The state of one source between its bytes and its elements: synchronisation and decoder. It is a
/// plain value: a clone is a checkpoint.
///
/// The elements do not depend on how the bytes are cut into pieces. The spans of packets and of
/// [`Element::Undecodable`] tile the bytes.
#[derive(Clone, Debug)]
pub struct Stream<P: Protocol> {
    /// The configuration, with what packets have changed of it: see [`Protocol::learn`].
    config: P::Config,
    decoder: P::Decoder,
    synced: bool,
    /// The bit of a byte at which packets begin, 0 to 7.
    shift: u8,
    /// The length of the run at the end of the bytes taken that may begin a synchronisation packet:
    /// bytes of [`Protocol::SYNC_RUN`], or zero bits if packets may begin inside a byte.
    run: u8,
    /// Buffer for packets that begin inside a byte. It is empty between calls.
    realigned: Realigned,
    /// Offset of the last packet, or of the first byte of the last undecodable run.
    /// [`Element::End`] is reported there.
    last: u64,
    /// Undecodable bytes that are not reported yet: offset of the first, length, fault.
    undecodable: Option<(u64, u32, Fault)>,
}

/// Bytes that are realigned at once.
const WINDOW: usize = 1 << 12;

impl<P: Protocol> PartialEq for Stream<P> {
    fn eq(&self, other: &Self) -> bool {
        self.decoder == other.decoder
            && self.synced == other.synced
            && (self.shift, self.run) == (other.shift, other.run)
            && self.undecodable == other.undecodable
            && self.config == other.config
    }
}

impl<P: Protocol> Stream<P> {
    /// A stream in its initial state.
    pub fn new(config: P::Config) -> Self {
        let synced = P::starts_synced(&config);
        Stream {
            config,
            decoder: P::Decoder::default(),
            synced,
            shift: 0,
            run: 0,
            realigned: Realigned::default(),
            last: 0,
            undecodable: None,
        }
    }

    /// Returns to the initial state. The configuration stays. For bytes that do not follow those
    /// fed so far.
    pub fn reset(&mut self) {
        *self = Stream::new(self.config.clone());
    }

    /// Whether both streams emit the same elements for the same bytes from here on, up to and
    /// including the end of the trace. (Streams that compare equal may differ in the offset of
    /// [`Element::End`].)
    pub fn agrees(&self, other: &Self) -> bool {
        self.last == other.last && self == other
    }

    /// Offset of the last packet, or of the first byte of the last undecodable run.
    pub const fn last(&self) -> u64 {
        self.last
    }

    /// The trace unit's configuration.
    pub fn config(&self) -> &P::Config {
        &self.config
    }

    /// The decoder.
    pub fn decoder(&self) -> &P::Decoder {
        &self.decoder
    }

    /// Whether the next byte begins a packet.
    pub fn synced(&self) -> bool {
        self.synced
    }

    /// Whether no byte is skipped until the trace restarts.
    #[inline]
    pub fn stays_synced(&self) -> bool {
        self.synced && P::RESUME == Resume::Next
    }

    /// Bytes that may belong to this source are missing before offset `at`.
    pub fn lost<S: Sink>(&mut self, at: u64, sink: &mut S) {
        self.report_undecodable(sink);
        self.last = at;
        self.run = 0;
        self.decoder.bad(at, Fault::Unsynchronised, sink);
    }

    fn report_undecodable<S: Sink>(&mut self, sink: &mut S) {
        if let Some((at, len, fault)) = self.undecodable.take() {
            sink.element(at, Element::Undecodable { len, fault });
        }
    }
}

impl<P: Listed> Stream<P> {
    /// Takes as much of `bytes` as makes whole packets and returns how much that is. The caller
    /// gives the remaining bytes again, together with those that follow.
    #[must_use = "the bytes that were not taken are given again with those that follow"]
    pub fn feed<K: BlockCache, O: Observer>(
        &mut self,
        bytes: &[u8],
        offsets: &OffsetMap<'_>,
        code: &mut K,
        observer: &mut O,
    ) -> usize {
        if P::UNALIGNED {
            return self.take_unaligned(bytes, offsets, code, observer);
        }
        let taken = self.take(0, bytes, offsets, code, observer, false);
        self.run = self.run_before(taken, bytes);
        taken
    }

    /// The trace ends. `rest` is what [`feed`](Self::feed) did not take.
    pub fn finish<K: BlockCache, O: Observer>(
        &mut self,
        rest: &[u8],
        offsets: &OffsetMap<'_>,
        code: &mut K,
        observer: &mut O,
    ) {
        self.close(rest, offsets, code, observer);
        observer.element(self.last, Element::End);
    }

    /// The trace ends here, at offset `at`, and the bytes that follow are those of another one.
    /// `rest` is what [`feed`](Self::feed) did not take.
    pub fn restart<K: BlockCache, O: Observer>(
        &mut self,
        at: u64,
        rest: &[u8],
        offsets: &OffsetMap<'_>,
        code: &mut K,
        observer: &mut O,
    ) {
        self.close(rest, offsets, code, observer);
        observer.element(at, Element::Gap(Gap::Reset));
        self.reset();
        self.last = at;
    }

    /// Reports the incomplete packet at the end of a trace, and what waits.
    fn close<K: BlockCache, O: Observer>(
        &mut self,
        rest: &[u8],
        offsets: &OffsetMap<'_>,
        code: &mut K,
        observer: &mut O,
    ) {
        let taken = if !self.synced && P::sync_at_end(&self.config, rest).is_some() {
            self.take(0, rest, offsets, code, observer, true)
        } else {
            0
        };
        if taken < rest.len() {
            let fault = if self.synced { Fault::Truncated } else { Fault::Unsynchronised };
            self.take_undecodable(taken..rest.len(), rest, offsets, fault, observer);
        }
        self.report_undecodable(observer);
        self.decoder.finish(self.last, &self.config, code, observer);
    }

    /// Like [`feed`](Self::feed), for packets that may begin inside a byte.
    fn take_unaligned<K: BlockCache, O: Observer>(
        &mut self,
        bytes: &[u8],
        offsets: &OffsetMap<'_>,
        code: &mut K,
        observer: &mut O,
    ) -> usize {
        let (before, mut taken) = (self.run, 0);
        let mut window = WINDOW;
        loop {
            if !self.synced && !self.seek(&mut taken, before, bytes, offsets, observer) {
                break;
            }
            if self.shift == 0 {
                taken = self.take(taken, bytes, offsets, code, observer, false);
                if self.synced || observer.pauses() {
                    break;
                }
                continue;
            }
            let mut realigned = core::mem::take(&mut self.realigned);
            realigned.fill(bytes, taken, window, self.shift, offsets);
            let (block, map) = realigned.block();
            let (len, n) = (block.len(), self.take(0, block, &map, code, observer, false));
            realigned.clear();
            self.realigned = realigned;
            // A packet may be longer than the window.
            window = if n == 0 { window.saturating_mul(2) } else { WINDOW };
            taken += n;
            if self.synced && taken + len - n + 1 >= bytes.len() || observer.pauses() {
                break;
            }
        }
        self.run = zeros_at_end(bytes.get(..taken).unwrap_or_default(), before);
        taken
    }

    /// Searches the bytes after the first `taken` for a synchronisation at any bit, and skips the
    /// bytes before it. `before`: zero bits before `bytes`. Returns `false` where there is none.
    fn seek<O: Observer>(
        &mut self,
        taken: &mut usize,
        before: u8,
        bytes: &[u8],
        offsets: &OffsetMap<'_>,
        observer: &mut O,
    ) -> bool {
        self.shift = 0;
        let (done, rest) = bytes.split_at_checked(*taken).unwrap_or((bytes, &[]));
        let (skip, found) = match P::sync_bit(&self.config, rest, zeros_at_end(done, before)) {
            BitSearch::At(n) => (n, Some(0)),
            BitSearch::After { byte, shift } => (byte, Some(shift)),
            BitSearch::NotIn(n) => (n, None),
        };
        if skip > 0 {
            let span = *taken..*taken + skip;
            self.take_undecodable(span, bytes, offsets, Fault::Unsynchronised, observer);
            *taken += skip;
        }
        match found {
            Some(shift) => (self.synced, self.shift) = (true, shift),
            None if *taken < bytes.len() => {
                let bytes = bytes.get(*taken..).unwrap_or_default();
                observer.event(StreamEvent::AwaitingSync { bytes });
            }
            None => {}
        }
        found.is_some()
    }

    /// Decodes whole packets of `bytes` from `from` on and returns where the bytes taken end.
    /// `end`: no bytes follow.
    fn take<K: BlockCache, O: Observer>(
        &mut self,
        from: usize,
        bytes: &[u8],
        offsets: &OffsetMap<'_>,
        code: &mut K,
        observer: &mut O,
        end: bool,
    ) -> usize {
        let mut feed = Feed::new(bytes, *offsets, self.last);
        feed.taken = from;
        while let rest = feed.rest()
            && !rest.is_empty()
            && !observer.pauses()
        {
            let taken = feed.taken;
            if !self.synced && P::UNALIGNED {
                // `take_unaligned` searches at every bit.
                break;
            }
            if !self.synced {
                if let Some(len) = self.sync_remainder(taken, bytes) {
                    let span = taken..taken + len;
                    self.resume(span, bytes, offsets, Fault::Unsynchronised, code, observer);
                    feed.taken += len;
                    continue;
                }
                let skipped = matches!(self.undecodable, Some((.., Fault::Unsynchronised)));
                let search = if skipped { P::sync_behind } else { P::sync };
                let (skip, found) = match search(&self.config, rest) {
                    SyncSearch::At(n) => (n, true),
                    SyncSearch::NotIn(n) => match P::sync_at_end(&self.config, rest) {
                        Some(n) if end => (n, true),
                        _ => (n, false),
                    },
                };
                if skip > 0 {
                    self.take_undecodable(
                        taken..taken + skip,
                        bytes,
                        offsets,
                        Fault::Unsynchronised,
                        observer,
                    );
                    feed.taken += skip;
                }
                if !found {
                    observer.event(StreamEvent::AwaitingSync { bytes: feed.rest() });
                    break;
                }
                self.synced = true;
                continue;
            }
            // Undecodable bytes are reported before the elements of the next packet.
            if !observer.wants_each_packet() && self.undecodable.is_none() {
                // Single packets, below, are counted in `self.last` only.
                (feed.last, feed.packets, feed.syncs) = (self.last, 0, 0);
                self.decoder.packets(&mut feed, &self.config, code, observer);
                self.last = feed.last;
                if feed.taken != taken {
                    let bytes = SourceBytes { bytes, span: taken..feed.taken, offsets };
                    let (count, syncs) = (feed.packets, feed.syncs);
                    observer.event(StreamEvent::Packets { bytes, count, syncs });
                    continue;
                }
            }
            let mut passed = false;
            if P::IN_ORDER && O::RUNS && observer.wants_each_packet() && self.undecodable.is_none()
            {
                (feed.last, feed.packets, feed.syncs) = (self.last, 0, 0);
                let mut run = PacketRun::<P, O>::new(&feed, &self.config, offsets, observer);
                self.decoder.packets(&mut feed, &self.config, code, &mut run);
                passed = run.pass(feed.taken);
                self.last = feed.last;
                if feed.taken != taken {
                    continue;
                }
            }
            // The packet stays where it was parsed: a copy of it waits for the parser's stores.
            match &P::Packet::parse(rest, &self.config) {
                &Parse::Packet(ref packet, len) => {
                    self.report_undecodable(observer);
                    let at = feed.offsets.at(taken);
                    self.last = at;
                    observer.prepare(&code.blocks(), P::EXPANDS);
                    if !passed {
                        let bytes = SourceBytes { bytes, span: taken..taken + len, offsets };
                        let packet = P::any_packet(packet);
                        observer.event(StreamEvent::Packet { bytes, packet });
                    }
                    P::learn(&mut self.config, packet);
                    let spanned = Spanned { at, len: len as u32, packet };
                    self.decoder.packet(spanned, &self.config, code, observer);
                    feed.taken += len;
                }
                Parse::Partial => break,
                &Parse::Bad(len, fault) => {
                    if let Some(len) = self.sync_remainder(taken, bytes) {
                        let span = taken..taken + len;
                        self.resume(span, bytes, offsets, fault, code, observer);
                        feed.taken += len;
                        continue;
                    }
                    let (len, synced) = self.bad_len(taken, len.clamp(1, rest.len()), bytes);
                    self.take_undecodable(taken..taken + len, bytes, offsets, fault, observer);
                    feed.taken += len;
                    self.synced = synced;
                }
            }
        }
        feed.taken
    }

    /// The length of the run of [`Protocol::SYNC_RUN`] that ends before byte `taken` of the bytes
    /// fed.
    #[inline]
    fn run_before(&self, taken: usize, bytes: &[u8]) -> u8 {
        match &P::SYNC_RUN {
            Some(run) => run.at_end(bytes.get(..taken).unwrap_or_default(), self.run),
            None => 0,
        }
    }

    /// The number of bytes from byte `taken` on that end a synchronisation packet whose first bytes
    /// were taken as a part of other packets.
    #[cold]
    fn sync_remainder(&self, taken: usize, bytes: &[u8]) -> Option<usize> {
        let rest = bytes.get(taken..).unwrap_or_default();
        P::SYNC_RUN.as_ref()?.remainder(self.run_before(taken, bytes), rest)
    }

    /// The number of bytes that the bad packet of `len` bytes at byte `taken` takes, and whether a
    /// packet follows them. Where packets may begin inside a byte, a synchronisation may begin
    /// before it or inside it: then these are the bytes before it, or those that end it.
    #[cold]
    fn bad_len(&self, taken: usize, len: usize, bytes: &[u8]) -> (usize, bool) {
        let next = P::RESUME == Resume::Next;
        if !P::UNALIGNED || self.shift != 0 {
            return (len, next);
        }
        let (before, rest) = bytes.split_at_checked(taken).unwrap_or((bytes, &[]));
        let packet = rest.get(..len).unwrap_or(rest);
        match P::sync_bit(&self.config, packet, zeros_at_end(before, self.run)) {
            BitSearch::At(n @ 1..) => (n, false),
            BitSearch::After { byte: n @ 1.., shift } => (n, shift == 0),
            _ => (len, next),
        }
    }

    /// Reports the undecodable bytes of `span`, which end a synchronisation packet. The decoder
    /// takes that packet, and the next byte begins another one.
    #[cold]
    fn resume<K: BlockCache, O: Observer>(
        &mut self,
        span: Range<usize>,
        bytes: &[u8],
        offsets: &OffsetMap<'_>,
        fault: Fault,
        code: &mut K,
        observer: &mut O,
    ) {
        let (at, len) = (offsets.at(span.start), span.len() as u32);
        self.take_undecodable(span, bytes, offsets, fault, observer);
        self.synced = true;
        if let Some(run) = &P::SYNC_RUN {
            self.report_undecodable(observer);
            let spanned = Spanned { at, len, packet: &run.packet };
            self.decoder.packet(spanned, &self.config, code, observer);
        }
    }

    /// Reports undecodable bytes to the observer and the decoder. Their element waits, because more
    /// unsynchronised bytes may follow.
    fn take_undecodable<O: Observer>(
        &mut self,
        span: Range<usize>,
        bytes: &[u8],
        offsets: &OffsetMap<'_>,
        fault: Fault,
        observer: &mut O,
    ) {
        let at = offsets.at(span.start);
        let len = offsets.bytes_in(&span) as u32;
        let bytes = SourceBytes { bytes, span, offsets };
        observer.event(StreamEvent::Undecodable { bytes, fault });
        match &mut self.undecodable {
            // Unsynchronised bytes are one run, however they arrive.
            Some((_, run, Fault::Unsynchronised)) if fault == Fault::Unsynchronised => *run += len,
            _ => {
                self.report_undecodable(observer);
                self.last = at;
                self.decoder.bad(at, fault, observer);
                self.undecodable = Some((at, len, fault));
            }
        }
    }
}
