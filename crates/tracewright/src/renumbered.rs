//! The sources of one buffer, numbered among those of all.

use std::ops::Range;

use tracewright_base::{
    self as base, BlockTransfer, CachedBlocks, Element, Fault, FunctionMarks, OffsetMap, RangeSum,
};
use tracewright_decode::Listener;
use tracewright_frames::{Event, Frame};
use tracewright_protocols::registry::AnyPacket;

/// Passes everything on to `listener`; source 0 of the session is source `first` there.
pub(crate) struct Renumbered<'a, L> {
    pub(crate) listener: &'a mut L,
    pub(crate) first: usize,
}

impl<L: Listener> Listener for Renumbered<'_, L> {
    const PACKETS: bool = L::PACKETS;
    const ERASED: bool = L::ERASED;
    const FRAMES: bool = L::FRAMES;
    const BY_SOURCE: bool = L::BY_SOURCE;
    const SUMS: bool = L::SUMS;
    const FUNCTIONS: bool = L::FUNCTIONS;

    #[inline(always)]
    fn sums_within(&self, source: usize) -> (u64, u64) {
        self.listener.sums_within(self.first + source)
    }

    #[inline(always)]
    fn sum(&mut self, source: usize, at: u64, sum: &RangeSum) {
        self.listener.sum(self.first + source, at, sum);
    }

    #[inline(always)]
    fn transfers(
        &mut self,
        source: usize,
        at: u64,
        transfers: &[BlockTransfer],
        blocks: &CachedBlocks<'_>,
    ) {
        self.listener.transfers(self.first + source, at, transfers, blocks);
    }

    #[inline]
    fn take_marks(&mut self, source: usize, blocks: &CachedBlocks<'_>) -> FunctionMarks {
        self.listener.take_marks(self.first + source, blocks)
    }

    #[inline]
    fn return_marks(&mut self, source: usize, marks: FunctionMarks) {
        self.listener.return_marks(self.first + source, marks);
    }

    fn enter_source(&mut self, source: usize) {
        self.listener.enter_source(self.first + source);
    }

    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.listener.element(self.first + source, at, element);
    }

    #[inline]
    fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32) {
        self.listener.repeat(self.first + source, at, range, times);
    }

    fn repeat_path(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64) {
        self.listener.repeat_path(self.first + source, at, ranges, times);
    }

    fn repeat_unlisted(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64) {
        self.listener.repeat_unlisted(self.first + source, at, ranges, times);
    }

    fn packet(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    ) {
        self.listener.packet(self.first + source, offsets, span, bytes, packet);
    }

    fn skipped_packet(&mut self, source: usize, at: u64, packet: Option<AnyPacket<'_>>) {
        self.listener.skipped_packet(self.first + source, at, packet);
    }

    fn wants_each_packet(&self) -> bool {
        self.listener.wants_each_packet()
    }

    fn packets(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        count: usize,
        syncs: usize,
    ) {
        self.listener.packets(self.first + source, offsets, span, count, syncs);
    }

    fn undecodable(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        fault: Fault,
    ) {
        self.listener.undecodable(self.first + source, offsets, span, bytes, fault);
    }

    fn awaiting_sync(&mut self, source: usize, bytes: &[u8]) {
        self.listener.awaiting_sync(self.first + source, bytes);
    }

    fn unknown_id(&mut self, id: u16, at: u64, len: usize) {
        self.listener.unknown_id(id, at, len);
    }

    fn link(&mut self, at: u64, event: Event) {
        self.listener.link(at, event);
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        self.listener.frame(frame);
    }

    fn packed(&mut self, at: u64, bytes: &[u8]) {
        self.listener.packed(at, bytes);
    }

    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        self.listener.fragment(id, at, bytes);
    }

    fn full(&self) -> bool {
        self.listener.full()
    }
}
