//! Listeners behind a pointer.

use std::ops::Range;

use tracewright_base::{self as base, Element, Fault, OffsetMap};
use tracewright_frames::Event;
use tracewright_image::Selection;
use tracewright_protocols::registry::AnyPacket;

use crate::{Listener, Session};

/// What a session calls of a listener without frames and paths: the part of [`Listener`] that needs
/// no type.
pub(crate) trait Receive {
    fn element(&mut self, source: usize, at: u64, element: Element);
    fn select(&mut self, source: usize, selection: Selection);
    fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32);
    fn repeat_path(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64);
    fn repeat_unlisted(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64);
    fn packet(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    );
    fn wants_each_packet(&self) -> bool;
    fn packets(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        count: usize,
        syncs: usize,
    );
    fn undecodable(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        fault: Fault,
    );
    fn awaiting_sync(&mut self, source: usize, bytes: &[u8]);
    fn unknown_id(&mut self, id: u16, at: u64, len: usize);
    fn link(&mut self, at: u64, event: Event);
    fn full(&self) -> bool;
}

/// Implements [`Receive`], or that part of [`Listener`], by calling the same methods of `$to` in
/// `$this`.
macro_rules! receive {
    (|$this:ident| $to:expr) => {
        fn element(&mut self, source: usize, at: u64, element: Element) {
            let $this = self;
            $to.element(source, at, element);
        }

        fn select(&mut self, source: usize, selection: Selection) {
            let $this = self;
            $to.select(source, selection);
        }

        fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32) {
            let $this = self;
            $to.repeat(source, at, range, times);
        }

        fn repeat_path(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64) {
            let $this = self;
            $to.repeat_path(source, at, ranges, times);
        }

        fn repeat_unlisted(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64) {
            let $this = self;
            $to.repeat_unlisted(source, at, ranges, times);
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
            $to.packet(source, offsets, span, bytes, packet);
        }

        fn wants_each_packet(&self) -> bool {
            let $this = self;
            $to.wants_each_packet()
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
            $to.packets(source, offsets, span, count, syncs);
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
            $to.undecodable(source, offsets, span, bytes, fault);
        }

        fn awaiting_sync(&mut self, source: usize, bytes: &[u8]) {
            let $this = self;
            $to.awaiting_sync(source, bytes);
        }

        fn unknown_id(&mut self, id: u16, at: u64, len: usize) {
            let $this = self;
            $to.unknown_id(id, at, len);
        }

        fn link(&mut self, at: u64, event: Event) {
            let $this = self;
            $to.link(at, event);
        }

        fn full(&self) -> bool {
            let $this = self;
            $to.full()
        }
    };
}

/// A listener with its type, as a [`Receive`].
pub(crate) struct Typed<'a, L>(pub(crate) &'a mut L);

impl<L: Listener> Receive for Typed<'_, L> {
    receive!(|this| this.0);
}

/// A listener without its type. The decoders are compiled for this one, in this crate, in place of
/// each listener with [`Listener::ERASED`].
pub(crate) struct Erased<'a, const PACKETS: bool>(pub(crate) &'a mut dyn Receive);

impl<const PACKETS: bool> Listener for Erased<'_, PACKETS> {
    const PACKETS: bool = PACKETS;

    receive!(|this| this.0);
}

/// What a session does for an erased listener.
#[derive(Clone, Copy)]
pub(crate) enum Call<'a> {
    Feed(&'a [u8]),
    Finish,
}

impl Session {
    /// [`feed`](Session::feed) or [`finish`](Session::finish), for a listener with
    /// [`Listener::ERASED`] that wants no frames.
    pub(crate) fn erased<L: Listener>(&mut self, call: Call<'_>, listener: &mut L) {
        let mut typed = Typed(listener);
        if L::PACKETS {
            self.with_packets(call, &mut typed);
        } else {
            self.with_elements(call, &mut typed);
        }
    }

    // Neither is generic nor in line, so that both are compiled in this crate.
    #[inline(never)]
    fn with_packets(&mut self, call: Call<'_>, listener: &mut dyn Receive) {
        self.call(call, &mut Erased::<true>(listener));
    }

    #[inline(never)]
    fn with_elements(&mut self, call: Call<'_>, listener: &mut dyn Receive) {
        self.call(call, &mut Erased::<false>(listener));
    }

    fn call<L: Listener>(&mut self, call: Call<'_>, listener: &mut L) {
        match call {
            Call::Feed(bytes) => self.feed(bytes, listener),
            Call::Finish => self.finish(listener),
        }
    }
}
