//! What receives the output of a session.

use std::ops::Range;

use tracewright_base::{
    self as base, BlockCounts, BlockId, BlockTransfer, CachedBlocks, Element, ExecutionCounts,
    ExecutionList, Fault, FunctionMarks, OffsetMap, Path, RangeSum,
};
use tracewright_frames::{Event, Frame};
use tracewright_image::Selection;
use tracewright_protocols::registry::AnyPacket;

/// Receives the elements, packets and link events of a [`Session`](crate::Session), in the order in
/// which they are emitted. `source` is an index into the sources of the session's plan; where
/// several plans are decoded one after another, the caller may number their sources on.
///
/// `at` is the offset in the trace buffer, in bytes: of an element's packet, or of the first byte
/// of an event of the link. [`Numbering`](tracewright_frames::Numbering) states how it is counted.
pub trait Listener {
    /// The listener wants packets and link events. Otherwise only [`element`](Listener::element),
    /// [`repeat`](Listener::repeat), [`repeat_path`](Listener::repeat_path),
    /// [`repeat_unlisted`](Listener::repeat_unlisted), [`unknown_id`](Listener::unknown_id) and
    /// [`full`](Listener::full) are called, and the methods for frames if
    /// [`FRAMES`](Listener::FRAMES) is set. A pair of listeners passes on to both what either
    /// wants: beside a counter of packets, as in `Trace::decode`, a listener gets packets, too.
    const PACKETS: bool = true;
    /// The listener wants whole frames and fragments, too.
    const FRAMES: bool = false;
    /// [`path`](Listener::path) may be called instead of [`element`](Listener::element).
    const PATHS: bool = false;
    /// The same for RISC-V, whose paths are longer: also for a listener that stores its output for
    /// each path.
    const BRANCH_PATHS: bool = false;
    /// The session reaches the listener through a pointer, so that the decoders are not compiled
    /// for this type: an element costs a call, and [`path`](Listener::path) is not called. For
    /// listeners that print, search or sum little.
    const ERASED: bool = false;
    /// The listener does not depend on the order of the elements of different sources. A session
    /// then decodes more bytes of a source at a time where the sources of a formatter alternate.
    const BY_SOURCE: bool = false;

    /// [`sum`](Listener::sum) may be called instead of [`cached_range`](Listener::cached_range),
    /// where a listener beside it has [`FUNCTIONS`](Listener::FUNCTIONS).
    const SUMS: bool = false;
    /// The listener has functions: with [`SUMS`](Listener::SUMS), ranges in one function are
    /// received as sums, and [`transfers`](Listener::transfers) are between them. Of two
    /// listeners side by side, one can have them.
    const FUNCTIONS: bool = false;
    /// [`take_counts`](Listener::take_counts) and [`counted`](Listener::counted) may be called
    /// instead of [`cached_range`](Listener::cached_range): see [`Counting`](crate::Counting).
    const COUNTS: bool = false;
    /// With [`COUNTS`](Listener::COUNTS): [`take_executions`](Listener::take_executions) and
    /// [`executed`](Listener::executed), or [`take_list`](Listener::take_list) and
    /// [`listed`](Listener::listed), are called instead of those. For a listener whose sums do
    /// not depend on the order of the ranges, nor on the offsets of those of packets that it also
    /// receives.
    const EXECUTIONS: bool = false;

    /// An element.
    fn element(&mut self, source: usize, at: u64, element: Element);

    /// See [`Sink::sums_within`](base::Sink::sums_within). A listener that any sum suits returns all
    /// addresses.
    #[inline]
    fn sums_within(&self, source: usize) -> (u64, u64) {
        let _ = source;
        (0, u64::MAX)
    }

    /// Consecutive ranges of cached blocks as their sum, at the offset of the last one: see
    /// [`Sink::sum`](base::Sink::sum). A listener with [`SUMS`](Listener::SUMS) implements it.
    #[inline]
    fn sum(&mut self, source: usize, at: u64, sum: &RangeSum) {
        let _ = (source, at, sum);
    }

    /// See [`Sink::transfers`](base::Sink::transfers). By default [`sum`](Listener::sum) is called
    /// with their instructions.
    #[inline(always)]
    fn transfers(
        &mut self,
        source: usize,
        at: u64,
        transfers: &[BlockTransfer],
        blocks: &CachedBlocks<'_>,
    ) {
        let instructions = transfers.iter().map(|transfer| u64::from(transfer.instructions)).sum();
        let from = transfers.last().map(BlockTransfer::from);
        if let Some((last, taken)) = from
            && let Some((cached, class)) = blocks.get(last)
        {
            let last = cached.range(class, taken);
            self.sum(source, at, &RangeSum { ranges: 0, instructions, last });
        }
    }

    /// See [`Sink::take_marks`](base::Sink::take_marks).
    #[inline]
    fn take_marks(&mut self, source: usize, blocks: &CachedBlocks<'_>) -> FunctionMarks {
        let _ = (source, blocks);
        FunctionMarks::default()
    }

    /// See [`Sink::return_marks`](base::Sink::return_marks).
    #[inline]
    fn return_marks(&mut self, source: usize, marks: FunctionMarks) {
        let _ = (source, marks);
    }

    /// See [`Sink::take_counts`](base::Sink::take_counts).
    #[inline]
    fn take_counts(&mut self, source: usize, blocks: &CachedBlocks<'_>) -> BlockCounts {
        let _ = (source, blocks);
        BlockCounts::default()
    }

    /// See [`Sink::counted`](base::Sink::counted).
    #[inline]
    fn counted(&mut self, source: usize, counts: BlockCounts, at: u64, last: Option<base::Range>) {
        let _ = (source, counts, at, last);
    }

    /// See [`Sink::take_executions`](base::Sink::take_executions).
    #[inline]
    fn take_executions(
        &mut self,
        source: usize,
        blocks: &CachedBlocks<'_>,
        slow: u16,
    ) -> ExecutionCounts {
        let _ = (source, blocks, slow);
        ExecutionCounts::default()
    }

    /// See [`Sink::executed`](base::Sink::executed).
    #[inline]
    fn executed(&mut self, source: usize, counts: ExecutionCounts) {
        let _ = (source, counts);
    }

    /// See [`Sink::take_list`](base::Sink::take_list).
    #[inline]
    fn take_list(&mut self, source: usize) -> ExecutionList {
        let _ = source;
        ExecutionList::default()
    }

    /// See [`Sink::listed`](base::Sink::listed).
    #[inline]
    fn listed(&mut self, source: usize, list: ExecutionList, blocks: &CachedBlocks<'_>) {
        let _ = (source, list, blocks);
    }

    /// A range of blocks that are cached: nearly all ranges. By default
    /// [`element`](Listener::element) is called. A listener that counts implements it: put in line
    /// where the decoder has the fields of the range in registers, it takes half as long.
    #[inline(always)]
    fn cached_range(&mut self, source: usize, at: u64, range: base::Range) {
        self.element(source, at, Element::Range(range));
    }

    /// As [`cached_range`](Listener::cached_range), with the number of the block among those of
    /// the source: see [`Sink::cached_block`](base::Sink::cached_block).
    #[inline(always)]
    fn cached_block(&mut self, source: usize, at: u64, id: BlockId, range: base::Range) {
        let _ = id;
        self.cached_range(source, at, range);
    }

    /// As [`repeat`](Listener::repeat), with the number of the block.
    #[inline(always)]
    fn repeat_block(
        &mut self,
        source: usize,
        at: u64,
        id: BlockId,
        range: base::Range,
        times: u32,
    ) {
        let _ = id;
        self.repeat(source, at, range, times);
    }

    /// The ranges of `path`, in order, all at the same offset: what a packet executes in blocks
    /// that are cached. Called only if [`PATHS`](Listener::PATHS) or
    /// [`BRANCH_PATHS`](Listener::BRANCH_PATHS) is set; by default
    /// [`element`](Listener::element) is called for each.
    #[inline]
    fn path(&mut self, source: usize, at: u64, path: &Path, blocks: &CachedBlocks<'_>) {
        path.for_each(blocks, |range| self.element(source, at, Element::Range(range)));
    }

    /// The same range `times` times in a row: iterations of a loop of one block. By default
    /// [`element`](Listener::element) is called for each.
    #[inline]
    fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32) {
        for _ in 0..times {
            self.element(source, at, Element::Range(range));
        }
    }

    /// All of `ranges`, in order, `times` times: the turns of a loop of several blocks. By default
    /// [`element`](Listener::element) is called for each.
    fn repeat_path(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64) {
        for _ in 0..times {
            for range in ranges {
                self.element(source, at, Element::Range(*range));
            }
        }
    }

    /// `times` further turns of a loop after those of [`repeat`](Listener::repeat) or
    /// [`repeat_path`](Listener::repeat_path), beyond the instructions that
    /// [`Options::max_expansion`](crate::Options::max_expansion) allows for the packet: listings
    /// only state their number, counts include them. By default they are received as the turns
    /// before them.
    fn repeat_unlisted(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64) {
        self.repeat_path(source, at, ranges, times);
    }

    /// The elements that follow are of `source`, up to the next call: for a listener that has a
    /// state for each source, and does not look for it at each element. What passes elements on
    /// passes this on before them.
    fn enter_source(&mut self, source: usize) {
        let _ = source;
    }

    /// The elements of `source` before the first one that is received selected this program memory:
    /// for a part of a trace. Called before that element, where memory is selected by time or by
    /// what the program does.
    fn select(&mut self, source: usize, selection: Selection) {
        let _ = (source, selection);
    }

    /// A packet, before its elements: `bytes[span]`, where `offsets` maps offsets in `bytes`.
    /// Packets of an STM consist of half bytes: `bytes` has one in each byte, and
    /// [`OffsetMap::bytes_in`] counts the bytes of a span.
    fn packet(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    ) {
        let _ = (source, offsets, span, bytes, packet);
    }

    /// A packet at offset `at` that is outside the part of the trace that is received, on which
    /// packets that follow may depend; `None` for undecodable bytes.
    fn skipped_packet(&mut self, source: usize, at: u64, packet: Option<AnyPacket<'_>>) {
        let _ = (source, at, packet);
    }

    /// Whether [`packet`](Listener::packet) must be called for each packet. Otherwise packets that
    /// a decoder takes at once are only [counted](Listener::packets).
    fn wants_each_packet(&self) -> bool {
        Self::PACKETS
    }

    /// With [`FRAMES`](Listener::FRAMES): whether the methods for frames are to be called. Otherwise
    /// a session decodes more bytes at a time.
    fn wants_frames(&self) -> bool {
        Self::FRAMES
    }

    /// `count` packets, `span`, that the decoder took at once. `syncs` of them are packets from
    /// which a decoder may start. Their elements precede this call.
    fn packets(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        count: usize,
        syncs: usize,
    ) {
        let _ = (source, offsets, span, count, syncs);
    }

    /// Undecodable bytes of a source: `bytes[span]`, where `offsets` maps offsets in `bytes`, which
    /// are half bytes for an STM: see [`packet`](Listener::packet).
    fn undecodable(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        fault: Fault,
    ) {
        let _ = (source, offsets, span, bytes, fault);
    }

    /// A source is not synchronised, and `bytes` may begin a synchronisation: decoding waits for
    /// the bytes that follow.
    fn awaiting_sync(&mut self, source: usize, bytes: &[u8]) {
        let _ = (source, bytes);
    }

    /// `len` bytes of a trace ID or source number that no source of the session has; 0 for bytes
    /// without framing.
    fn unknown_id(&mut self, id: u16, at: u64, len: usize) {
        let _ = (id, at, len);
    }

    /// An event of the trace link.
    fn link(&mut self, at: u64, event: Event) {
        let _ = (at, event);
    }

    /// A whole frame.
    fn frame(&mut self, frame: &Frame<'_>) {
        let _ = frame;
    }

    /// Bytes of frames and synchronisation packets, as they are in the buffer.
    fn packed(&mut self, at: u64, bytes: &[u8]) {
        let _ = (at, bytes);
    }

    /// All bytes of one fragment of a frame.
    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        let _ = (id, at, bytes);
    }

    /// Whether no more output is wanted. The caller of a session asks between the blocks of bytes
    /// that it feeds: [`Session::run`](crate::Session::run) and `Trace::decode` then end without
    /// [`Session::finish`](crate::Session::finish), so that pending elements are not emitted.
    fn full(&self) -> bool {
        false
    }
}

/// The methods of a listener that passes on everything but the elements: each `$to` is an `Option`
/// of a listener in `$this`. They are written once, so that no wrapper can omit one.
macro_rules! pass_on {
    (|$this:ident| $($to:expr),+) => {
        #[inline]
        fn enter_source(&mut self, source: usize) {
            let $this = self;
            $(if let Some(to) = $to {
                to.enter_source(source);
            })+
        }

        fn select(&mut self, source: usize, selection: tracewright_image::Selection) {
            let $this = self;
            $(if let Some(to) = $to {
                to.select(source, selection);
            })+
        }

        fn packet(
            &mut self,
            source: usize,
            offsets: &OffsetMap<'_>,
            span: Range<usize>,
            bytes: &[u8],
            packet: AnyPacket<'_>,
        ) {
            let $this = self;
            $(if let Some(to) = $to {
                to.packet(source, offsets, span.clone(), bytes, packet);
            })+
        }

        fn skipped_packet(&mut self, source: usize, at: u64, packet: Option<AnyPacket<'_>>) {
            let $this = self;
            $(if let Some(to) = $to {
                to.skipped_packet(source, at, packet);
            })+
        }

        fn packets(
            &mut self,
            source: usize,
            offsets: &OffsetMap<'_>,
            span: Range<usize>,
            count: usize,
            syncs: usize,
        ) {
            let $this = self;
            $(if let Some(to) = $to {
                to.packets(source, offsets, span.clone(), count, syncs);
            })+
        }

        fn undecodable(
            &mut self,
            source: usize,
            offsets: &OffsetMap<'_>,
            span: Range<usize>,
            bytes: &[u8],
            fault: Fault,
        ) {
            let $this = self;
            $(if let Some(to) = $to {
                to.undecodable(source, offsets, span.clone(), bytes, fault);
            })+
        }

        fn awaiting_sync(&mut self, source: usize, bytes: &[u8]) {
            let $this = self;
            $(if let Some(to) = $to {
                to.awaiting_sync(source, bytes);
            })+
        }

        fn unknown_id(&mut self, id: u16, at: u64, len: usize) {
            let $this = self;
            $(if let Some(to) = $to {
                to.unknown_id(id, at, len);
            })+
        }

        fn link(&mut self, at: u64, event: Event) {
            let $this = self;
            $(if let Some(to) = $to {
                to.link(at, event);
            })+
        }

        fn frame(&mut self, frame: &Frame<'_>) {
            let $this = self;
            $(if let Some(to) = $to {
                to.frame(frame);
            })+
        }

        fn packed(&mut self, at: u64, bytes: &[u8]) {
            let $this = self;
            $(if let Some(to) = $to {
                to.packed(at, bytes);
            })+
        }

        fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
            let $this = self;
            $(if let Some(to) = $to {
                to.fragment(id, at, bytes);
            })+
        }
    };
}

pub(crate) use pass_on;

/// Both listeners receive everything.
impl<A: Listener, B: Listener> Listener for (A, B) {
    const PACKETS: bool = A::PACKETS || B::PACKETS;
    const FRAMES: bool = A::FRAMES || B::FRAMES;
    const PATHS: bool = A::PATHS && B::PATHS;
    const BRANCH_PATHS: bool = A::BRANCH_PATHS && B::BRANCH_PATHS;
    const ERASED: bool = A::ERASED || B::ERASED;
    const BY_SOURCE: bool = A::BY_SOURCE && B::BY_SOURCE;
    const SUMS: bool = A::SUMS && B::SUMS && !(A::FUNCTIONS && B::FUNCTIONS);
    const FUNCTIONS: bool = A::FUNCTIONS || B::FUNCTIONS;

    #[inline(always)]
    fn sums_within(&self, source: usize) -> (u64, u64) {
        let (a, b) = (self.0.sums_within(source), self.1.sums_within(source));
        (a.0.max(b.0), a.1.min(b.1))
    }

    #[inline(always)]
    fn sum(&mut self, source: usize, at: u64, sum: &RangeSum) {
        self.0.sum(source, at, sum);
        self.1.sum(source, at, sum);
    }

    #[inline(always)]
    fn transfers(
        &mut self,
        source: usize,
        at: u64,
        transfers: &[BlockTransfer],
        blocks: &CachedBlocks<'_>,
    ) {
        self.0.transfers(source, at, transfers, blocks);
        self.1.transfers(source, at, transfers, blocks);
    }

    #[inline]
    fn take_marks(&mut self, source: usize, blocks: &CachedBlocks<'_>) -> FunctionMarks {
        match A::FUNCTIONS {
            true => self.0.take_marks(source, blocks),
            false => self.1.take_marks(source, blocks),
        }
    }

    #[inline]
    fn return_marks(&mut self, source: usize, marks: FunctionMarks) {
        match A::FUNCTIONS {
            true => self.0.return_marks(source, marks),
            false => self.1.return_marks(source, marks),
        }
    }

    #[inline]
    fn path(&mut self, source: usize, at: u64, path: &Path, blocks: &CachedBlocks<'_>) {
        self.0.path(source, at, path, blocks);
        self.1.path(source, at, path, blocks);
    }

    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.0.element(source, at, element);
        self.1.element(source, at, element);
    }

    #[inline(always)]
    fn cached_range(&mut self, source: usize, at: u64, range: base::Range) {
        self.0.cached_range(source, at, range);
        self.1.cached_range(source, at, range);
    }

    fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32) {
        self.0.repeat(source, at, range, times);
        self.1.repeat(source, at, range, times);
    }

    fn repeat_path(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64) {
        self.0.repeat_path(source, at, ranges, times);
        self.1.repeat_path(source, at, ranges, times);
    }

    fn repeat_unlisted(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64) {
        self.0.repeat_unlisted(source, at, ranges, times);
        self.1.repeat_unlisted(source, at, ranges, times);
    }

    fn wants_each_packet(&self) -> bool {
        self.0.wants_each_packet() || self.1.wants_each_packet()
    }

    fn wants_frames(&self) -> bool {
        self.0.wants_frames() || self.1.wants_frames()
    }

    pass_on!(|this| Some(&mut this.0), Some(&mut this.1));

    fn full(&self) -> bool {
        self.0.full() && self.1.full()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::committed_listener::CommittedListener;
    use crate::erased::{Erased, Typed};
    use tracewright_base::Piece;
    use tracewright_protocols::itm;

    /// Records the calls.
    #[derive(Default)]
    struct Recorder(Vec<&'static str>);

    impl Listener for Recorder {
        fn enter_source(&mut self, _: usize) {
            self.0.push("enter source");
        }

        fn select(&mut self, _: usize, _: Selection) {
            self.0.push("select");
        }

        fn element(&mut self, _: usize, _: u64, _: Element) {
            self.0.push("element");
        }

        fn packet(
            &mut self,
            _: usize,
            _: &OffsetMap<'_>,
            _: Range<usize>,
            _: &[u8],
            _: AnyPacket<'_>,
        ) {
            self.0.push("packet");
        }

        fn skipped_packet(&mut self, _: usize, _: u64, _: Option<AnyPacket<'_>>) {
            self.0.push("packet outside");
        }

        fn undecodable(
            &mut self,
            _: usize,
            _: &OffsetMap<'_>,
            _: Range<usize>,
            _: &[u8],
            _: Fault,
        ) {
            self.0.push("undecodable");
        }

        fn awaiting_sync(&mut self, _: usize, _: &[u8]) {
            self.0.push("awaiting sync");
        }

        fn unknown_id(&mut self, _: u16, _: u64, _: usize) {
            self.0.push("unknown id");
        }

        fn link(&mut self, _: u64, _: Event) {
            self.0.push("link");
        }

        fn packed(&mut self, _: u64, _: &[u8]) {
            self.0.push("packed");
        }

        fn fragment(&mut self, _: Option<u8>, _: u64, _: &[u8]) {
            self.0.push("fragment");
        }

        fn full(&self) -> bool {
            self.0.len() >= 11
        }
    }

    /// Calls each method once.
    fn call_all(mut listener: impl Listener) -> bool {
        let pieces = [Piece { start: 0, at: 0, fragment: true }];
        let offsets = OffsetMap::new(&pieces);
        listener.enter_source(0);
        listener.select(0, Selection::default());
        listener.element(0, 0, Element::ExceptionReturn);
        listener.packet(0, &offsets, 0..1, &[0x70], AnyPacket::Itm(&itm::Packet::Overflow));
        listener.skipped_packet(0, 0, None);
        listener.undecodable(0, &offsets, 0..1, &[0], Fault::Truncated);
        listener.awaiting_sync(0, &[0]);
        listener.unknown_id(1, 0, 1);
        listener.link(0, Event::Null { len: 1 });
        listener.packed(0, &[0]);
        listener.fragment(None, 0, &[0]);
        listener.full()
    }

    #[test]
    fn wrappers_pass_on_everything() {
        let all = [
            "enter source",
            "select",
            "element",
            "packet",
            "packet outside",
            "undecodable",
            "awaiting sync",
            "unknown id",
            "link",
            "packed",
            "fragment",
        ];
        let (mut a, mut b, mut c, mut d) = <(Recorder, Recorder, Recorder, Recorder)>::default();
        let mut e = Recorder::default();
        assert!(call_all((&mut a, Some(&mut b))));
        assert!(call_all(CommittedListener::new(&mut c)));
        assert!(call_all(Some(CommittedListener::new((&mut d, None::<Recorder>)))));
        let plan = crate::plan::Plan::with_sources(0, tracewright_frames::Framing::Raw, Vec::new());
        assert!(call_all(crate::folded::Folded::when(true, &plan, &mut e)));
        let mut f = Recorder::default();
        assert!(call_all(Erased::<true, true>(&mut Typed(&mut f))));
        for recorder in [a, b, c, d, e, f] {
            assert_eq!(recorder.0, all);
        }
    }

    #[test]
    fn none_is_full() {
        assert!(None::<Recorder>.full());
        assert!(!(Recorder::default(), None::<Recorder>).full());
    }
}
