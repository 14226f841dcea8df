//! The packets that a decoder takes at once, one by one between their elements.

use tracewright_base::{
    BatchBuffer, BlockId, CachedBlocks, Element, Feed, Forward, OffsetMap, Parse, Sink, Turns, Wire,
};

use crate::observer::{Observer, SourceBytes, StreamEvent};
use crate::registry::Listed;

/// Passes elements to an observer, each after the packets up to its own. For the fast path of a
/// protocol with [`IN_ORDER`](crate::Protocol::IN_ORDER), which does not construct packets.
pub(crate) struct PacketRun<'a, P: Listed, O> {
    bytes: &'a [u8],
    config: &'a P::Config,
    offsets: &'a OffsetMap<'a>,
    forward: Forward<'a>,
    observer: &'a mut O,
    /// Where the packet begins that the observer receives next, and its offset; 0 for the first
    /// one, which comes before all elements.
    next: usize,
    at: u64,
}

impl<'a, P: Listed, O: Observer> PacketRun<'a, P, O> {
    /// The packets from those on that `feed` has not taken.
    #[inline]
    pub(crate) fn new(
        feed: &Feed<'a>,
        config: &'a P::Config,
        offsets: &'a OffsetMap<'a>,
        observer: &'a mut O,
    ) -> Self {
        let Feed { bytes, taken, offsets: forward, .. } = *feed;
        PacketRun { bytes, config, offsets, forward, observer, next: taken, at: 0 }
    }

    /// Passes on the packets before `end`. Whether the one at `end` was passed on, because there
    /// were elements that belong after it.
    #[inline]
    pub(crate) fn pass(&mut self, end: usize) -> bool {
        while self.next < end {
            self.packet();
        }
        self.next > end
    }

    #[inline(always)]
    fn until(&mut self, at: u64) {
        while self.at <= at {
            self.packet();
        }
    }

    #[inline(never)]
    fn packet(&mut self) {
        let rest = self.bytes.get(self.next..).unwrap_or_default();
        let Parse::Packet(packet, len) = &P::Packet::parse(rest, self.config) else {
            // The decoder takes whole packets.
            (self.next, self.at) = (usize::MAX, u64::MAX);
            return;
        };
        let span = self.next..self.next + len;
        self.next = span.end;
        self.at = if span.end < self.bytes.len() { self.forward.at(span.end) } else { u64::MAX };
        let bytes = SourceBytes { bytes: self.bytes, span, offsets: self.offsets };
        self.observer.event(StreamEvent::Packet { bytes, packet: P::any_packet(packet) });
    }
}

impl<P: Listed, O: Observer> Sink for PacketRun<'_, P, O> {
    const WITH_PACKETS: bool = true;

    #[inline]
    fn element(&mut self, at: u64, element: Element) {
        self.until(at);
        self.observer.element(at, element);
    }

    #[inline(always)]
    fn step(&mut self, at: u64, id: BlockId, taken: bool, blocks: &CachedBlocks<'_>) {
        if self.at <= at {
            self.observer.prepare(blocks, true);
            self.until(at);
        }
        self.observer.step(at, id, taken, blocks);
    }

    fn return_steps(&mut self, buffer: BatchBuffer, blocks: &CachedBlocks<'_>) {
        let batch = buffer.batch(0, *blocks);
        for &step in batch.steps() {
            self.step(batch.at(step), step.id(), step.taken(), blocks);
        }
        // Elements that follow may come after further packets.
        self.observer.prepare(blocks, true);
    }

    fn custom(&mut self, at: u64, kind: &'static str, bytes: &[u8]) {
        self.until(at);
        self.observer.custom(at, kind, bytes);
    }

    fn turns(&mut self, turns: Turns<'_>) {
        self.until(turns.at);
        self.observer.turns(turns);
    }
}
