//! Listeners behind a pointer.

use std::ops::Range;

use tracewright_base::{self as base, Element, Fault, OffsetMap};
use tracewright_frames::{Event, Frame};
use tracewright_image::Selection;
use tracewright_protocols::registry::AnyPacket;

use crate::listener::Listener;
use crate::listener::pass_on;

/// [`Listener`] without what needs its type: constants and paths.
pub(crate) trait Receive {
    fn element(&mut self, source: usize, at: u64, element: Element);
    fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32);
    fn repeat_path(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64);
    fn repeat_unlisted(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64);
    fn wants_each_packet(&self) -> bool;
    fn wants_frames(&self) -> bool;
    fn full(&self) -> bool;
    fn enter_source(&mut self, source: usize);
    fn select(&mut self, source: usize, selection: Selection);
    fn packet(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    );
    fn skipped_packet(&mut self, source: usize, at: u64, packet: Option<AnyPacket<'_>>);
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
    fn frame(&mut self, frame: &Frame<'_>);
    fn packed(&mut self, at: u64, bytes: &[u8]);
    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]);
}

/// The methods of [`Receive`], or the same of [`Listener`], called for the listener in field 0.
macro_rules! receive {
    () => {
        fn element(&mut self, source: usize, at: u64, element: Element) {
            self.0.element(source, at, element);
        }

        fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32) {
            self.0.repeat(source, at, range, times);
        }

        fn repeat_path(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64) {
            self.0.repeat_path(source, at, ranges, times);
        }

        fn repeat_unlisted(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64) {
            self.0.repeat_unlisted(source, at, ranges, times);
        }

        fn wants_each_packet(&self) -> bool {
            self.0.wants_each_packet()
        }

        fn wants_frames(&self) -> bool {
            self.0.wants_frames()
        }

        fn full(&self) -> bool {
            self.0.full()
        }

        pass_on!(|this| Some(&mut *this.0));
    };
}

/// A listener with its type, as a [`Receive`].
pub(crate) struct Typed<'a, L>(pub(crate) &'a mut L);

impl<L: Listener> Receive for Typed<'_, L> {
    receive!();
}

/// A listener without its type. The decoders are compiled for this one, in this crate, in place of
/// each listener with [`Listener::ERASED`].
pub(crate) struct Erased<'a, const PACKETS: bool, const FRAMES: bool>(
    pub(crate) &'a mut dyn Receive,
);

impl<const PACKETS: bool, const FRAMES: bool> Listener for Erased<'_, PACKETS, FRAMES> {
    const PACKETS: bool = PACKETS;
    const FRAMES: bool = FRAMES;

    receive!();
}
