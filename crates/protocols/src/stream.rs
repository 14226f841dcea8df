//! The one loop from bytes to elements.

use tracewright_base::{
    Code, Decode, Element, Fault, Feed, OffsetMap, Parse, Range, Sink, Spanned, Sync, Wire,
};

use crate::protocol::{Protocol, Resume};

/// Watches packets on their way to the decoder.
pub trait Tap<P: Protocol> {
    /// A packet, before the decoder sees it: `bytes[span]`, where `offsets` maps offsets in
    /// `bytes`.
    fn packet(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: core::ops::Range<usize>,
        bytes: &[u8],
        packet: &P::Packet,
    );

    /// Bytes that are no packet: `bytes[span]`, where `offsets` maps offsets in `bytes`.
    fn bad(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: core::ops::Range<usize>,
        bytes: &[u8],
        fault: Fault,
    );

    /// Bytes that may begin a synchronisation wait for what follows them.
    fn held(&mut self, bytes: &[u8]) {
        let _ = bytes;
    }

    /// It wants each packet: the decoder must take them one by one.
    #[inline]
    fn each(&self) -> bool {
        true
    }

    /// The decoder has taken so many packets, `span`, at once: they are not told one by one.
    #[inline]
    fn packets(&mut self, offsets: &OffsetMap<'_>, span: core::ops::Range<usize>, count: usize) {
        let _ = (offsets, span, count);
    }
}

/// Elements to one, packets to the other.
struct Apart<'a, S, T>(&'a mut S, &'a mut T);

impl<S: Sink, T> Sink for Apart<'_, S, T> {
    #[inline]
    fn element(&mut self, at: u64, element: Element) {
        self.0.element(at, element);
    }

    #[inline]
    fn repeat(&mut self, at: u64, range: Range, times: u32) {
        self.0.repeat(at, range, times);
    }

    #[inline]
    fn full(&self) -> bool {
        self.0.full()
    }
}

impl<P: Protocol, S, T: Tap<P>> Tap<P> for Apart<'_, S, T> {
    #[inline]
    fn packet(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: core::ops::Range<usize>,
        bytes: &[u8],
        packet: &P::Packet,
    ) {
        self.1.packet(offsets, span, bytes, packet);
    }

    #[inline]
    fn bad(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: core::ops::Range<usize>,
        bytes: &[u8],
        fault: Fault,
    ) {
        self.1.bad(offsets, span, bytes, fault);
    }

    #[inline]
    fn held(&mut self, bytes: &[u8]) {
        self.1.held(bytes);
    }

    #[inline]
    fn each(&self) -> bool {
        self.1.each()
    }

    #[inline]
    fn packets(&mut self, offsets: &OffsetMap<'_>, span: core::ops::Range<usize>, count: usize) {
        self.1.packets(offsets, span, count);
    }
}

/// A source on its way from bytes to elements: a plain value, cloned to take a checkpoint.
///
/// Bytes may be fed in any pieces; the elements are the same. Spans of packets and of
/// [`Element::Undecodable`] tile the bytes.
#[derive(Clone, Debug)]
pub struct Stream<P: Protocol> {
    config: P::Config,
    decoder: P::Decoder,
    synced: bool,
    /// Place of the last packet or bad byte: where the trace is said to end.
    last: u64,
    /// Bytes that are no packet and have not been reported yet: place and length.
    bad: Option<(u64, u32, Fault)>,
}

impl<P: Protocol> PartialEq for Stream<P> {
    fn eq(&self, other: &Self) -> bool {
        self.decoder == other.decoder
            && self.synced == other.synced
            && self.bad == other.bad
            && self.config == other.config
    }
}

impl<P: Protocol> Stream<P> {
    /// A stream that knows nothing yet.
    pub fn new(config: P::Config) -> Self {
        let synced = P::starts_synced(&config);
        Stream { config, decoder: P::Decoder::default(), synced, last: 0, bad: None }
    }

    /// Forgets everything but the configuration: what comes next does not follow what was.
    pub fn reset(&mut self) {
        *self = Stream::new(self.config.clone());
    }

    /// Whether the two will say the same of the same bytes to come, and of their end. (Two that are
    /// only equal may differ in where the trace is said to end.)
    pub fn agrees(&self, other: &Self) -> bool {
        self.last == other.last && self == other
    }

    /// The trace unit's configuration.
    pub fn config(&self) -> &P::Config {
        &self.config
    }

    /// The decoder, to compare or to look into.
    pub fn decoder(&self) -> &P::Decoder {
        &self.decoder
    }

    /// Whether the next byte begins a packet.
    pub fn synced(&self) -> bool {
        self.synced
    }

    /// Takes as much of `bytes` as makes whole packets and returns how much that was. The caller
    /// keeps the rest and gives it again with what follows.
    pub fn feed<K: Code, S: Sink, T: Tap<P>>(
        &mut self,
        bytes: &[u8],
        offsets: &OffsetMap<'_>,
        code: &mut K,
        sink: &mut S,
        tap: &mut T,
    ) -> usize {
        self.feed_to(bytes, offsets, code, &mut Apart(sink, tap))
    }

    /// The same to one who hears elements and packets.
    pub fn feed_to<K: Code, E: Sink + Tap<P>>(
        &mut self,
        bytes: &[u8],
        offsets: &OffsetMap<'_>,
        code: &mut K,
        observer: &mut E,
    ) -> usize {
        self.take(bytes, offsets, code, observer, false)
    }

    /// `end`: no more bytes follow these.
    fn take<K: Code, E: Sink + Tap<P>>(
        &mut self,
        bytes: &[u8],
        offsets: &OffsetMap<'_>,
        code: &mut K,
        observer: &mut E,
        end: bool,
    ) -> usize {
        let mut feed = Feed::new(bytes, *offsets, self.last);
        while let rest = feed.rest()
            && !rest.is_empty()
        {
            let taken = feed.taken;
            if !self.synced {
                let (skip, found) = match P::sync(&self.config, rest) {
                    Sync::At(n) => (n, true),
                    Sync::NotIn(n) => match P::sync_at_end(&self.config, rest) {
                        Some(n) if end => (n, true),
                        _ => (n, false),
                    },
                };
                if skip > 0 {
                    self.lose(taken..taken + skip, bytes, offsets, Fault::Unsynchronised, observer);
                    feed.taken += skip;
                }
                if !found {
                    observer.held(feed.rest());
                    break;
                }
                self.synced = true;
                continue;
            }
            if !observer.each() && self.bad.is_none() {
                (feed.last, feed.packets) = (self.last, 0);
                self.decoder.packets(&mut feed, &self.config, code, observer);
                self.last = feed.last;
                if feed.taken != taken {
                    observer.packets(offsets, taken..feed.taken, feed.packets);
                    continue;
                }
            }
            match P::Packet::parse(rest, &self.config) {
                Parse::Packet(packet, len) => {
                    self.report_bad(observer);
                    let at = feed.offsets.at(taken);
                    self.last = at;
                    observer.packet(offsets, taken..taken + len, bytes, &packet);
                    P::learn(&mut self.config, &packet);
                    let spanned = Spanned { at, len: len as u32, packet };
                    self.decoder.packet(spanned, &self.config, code, observer);
                    feed.taken += len;
                }
                Parse::Partial => break,
                Parse::Bad(len, fault) => {
                    let len = len.clamp(1, rest.len());
                    self.lose(taken..taken + len, bytes, offsets, fault, observer);
                    feed.taken += len;
                    self.synced = P::RESUME == Resume::Next;
                }
            }
        }
        feed.taken
    }

    /// The trace ends. `rest` is what [`feed`](Self::feed) did not take.
    pub fn finish<K: Code, S: Sink, T: Tap<P>>(
        &mut self,
        rest: &[u8],
        offsets: &OffsetMap<'_>,
        code: &mut K,
        sink: &mut S,
        tap: &mut T,
    ) {
        self.finish_to(rest, offsets, code, &mut Apart(sink, tap));
    }

    /// The same to one who hears elements and packets.
    pub fn finish_to<K: Code, E: Sink + Tap<P>>(
        &mut self,
        rest: &[u8],
        offsets: &OffsetMap<'_>,
        code: &mut K,
        observer: &mut E,
    ) {
        let taken = if !self.synced && P::sync_at_end(&self.config, rest).is_some() {
            self.take(rest, offsets, code, observer, true)
        } else {
            0
        };
        if taken < rest.len() {
            let fault = if self.synced { Fault::Truncated } else { Fault::Unsynchronised };
            self.lose(taken..rest.len(), rest, offsets, fault, observer);
        }
        self.report_bad(observer);
        self.decoder.finish(self.last, &self.config, code, observer);
    }

    /// Bytes before place `at` were lost that may have been this source's.
    pub fn lost<S: Sink>(&mut self, at: u64, sink: &mut S) {
        self.report_bad(sink);
        self.last = at;
        self.decoder.bad(at, Fault::Unsynchronised, sink);
    }

    fn lose<E: Sink + Tap<P>>(
        &mut self,
        span: core::ops::Range<usize>,
        bytes: &[u8],
        offsets: &OffsetMap<'_>,
        fault: Fault,
        observer: &mut E,
    ) {
        let at = offsets.at(span.start);
        let len = offsets.bytes_in(&span) as u32;
        observer.bad(offsets, span, bytes, fault);
        match &mut self.bad {
            // Unsynchronised bytes are one run, however they arrive.
            Some((_, run, Fault::Unsynchronised)) if fault == Fault::Unsynchronised => *run += len,
            _ => {
                self.report_bad(observer);
                self.last = at;
                self.decoder.bad(at, fault, observer);
                self.bad = Some((at, len, fault));
            }
        }
    }

    fn report_bad<S: Sink>(&mut self, sink: &mut S) {
        if let Some((at, len, fault)) = self.bad.take() {
            sink.element(at, Element::Undecodable { len, fault });
        }
    }
}
