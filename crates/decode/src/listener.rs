//! What receives the findings of a session.

use std::ops::Range;

use tracewright_base::{Element, Fault, Places};
use tracewright_frames::{Event, Frame};
use tracewright_protocols::registry::AnyPacket;

/// Receives what a [`Session`](crate::Session) finds, in the order in which it becomes certain.
/// `source` is an index into the session's sources.
pub trait Listener {
    /// It wants packets and link events. Otherwise only [`element`](Listener::element) is called.
    const PACKETS: bool = true;
    /// It wants whole frames and fragments, too.
    const FRAMES: bool = false;

    /// An element.
    fn element(&mut self, source: usize, at: u64, element: Element);

    /// A packet, before its elements: `bytes[span]`, where `places` maps offsets in `bytes`.
    fn packet(
        &mut self,
        source: usize,
        places: &Places<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    ) {
        let _ = (source, places, span, bytes, packet);
    }

    /// Bytes of a source that are no packet: `bytes[span]`, where `places` maps offsets in `bytes`.
    fn bad(
        &mut self,
        source: usize,
        places: &Places<'_>,
        span: Range<usize>,
        bytes: &[u8],
        fault: Fault,
    ) {
        let _ = (source, places, span, bytes, fault);
    }

    /// Bytes of a source that may begin a synchronisation wait for what follows them.
    fn held(&mut self, source: usize, bytes: &[u8]) {
        let _ = (source, bytes);
    }

    /// Bytes of an id that no source has.
    fn stranger(&mut self, id: u8, at: u64, len: usize) {
        let _ = (id, at, len);
    }

    /// Something that the link says beside the bytes of the sources.
    fn link(&mut self, at: u64, event: Event) {
        let _ = (at, event);
    }

    /// A whole frame.
    fn frame(&mut self, frame: &Frame<'_>) {
        let _ = frame;
    }

    /// Bytes of frames and synchronisation packets as they arrive.
    fn packed(&mut self, at: u64, bytes: &[u8]) {
        let _ = (at, bytes);
    }

    /// All bytes of one fragment of a frame.
    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        let _ = (id, at, bytes);
    }

    /// Whether no more is wanted. Asked between blocks of bytes.
    fn full(&self) -> bool {
        false
    }
}

/// Both get everything.
impl<A: Listener, B: Listener> Listener for (A, B) {
    const PACKETS: bool = A::PACKETS || B::PACKETS;
    const FRAMES: bool = A::FRAMES || B::FRAMES;

    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.0.element(source, at, element);
        self.1.element(source, at, element);
    }

    fn packet(
        &mut self,
        source: usize,
        places: &Places<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    ) {
        self.0.packet(source, places, span.clone(), bytes, packet);
        self.1.packet(source, places, span, bytes, packet);
    }

    fn bad(
        &mut self,
        source: usize,
        places: &Places<'_>,
        span: Range<usize>,
        bytes: &[u8],
        fault: Fault,
    ) {
        self.0.bad(source, places, span.clone(), bytes, fault);
        self.1.bad(source, places, span, bytes, fault);
    }

    fn held(&mut self, source: usize, bytes: &[u8]) {
        self.0.held(source, bytes);
        self.1.held(source, bytes);
    }

    fn stranger(&mut self, id: u8, at: u64, len: usize) {
        self.0.stranger(id, at, len);
        self.1.stranger(id, at, len);
    }

    fn link(&mut self, at: u64, event: Event) {
        self.0.link(at, event);
        self.1.link(at, event);
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        self.0.frame(frame);
        self.1.frame(frame);
    }

    fn packed(&mut self, at: u64, bytes: &[u8]) {
        self.0.packed(at, bytes);
        self.1.packed(at, bytes);
    }

    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        self.0.fragment(id, at, bytes);
        self.1.fragment(id, at, bytes);
    }

    fn full(&self) -> bool {
        self.0.full() && self.1.full()
    }
}

/// None wants nothing.
impl<L: Listener> Listener for Option<L> {
    const PACKETS: bool = L::PACKETS;
    const FRAMES: bool = L::FRAMES;

    fn element(&mut self, source: usize, at: u64, element: Element) {
        if let Some(listener) = self {
            listener.element(source, at, element);
        }
    }

    fn packet(
        &mut self,
        source: usize,
        places: &Places<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    ) {
        if let Some(listener) = self {
            listener.packet(source, places, span, bytes, packet);
        }
    }

    fn bad(
        &mut self,
        source: usize,
        places: &Places<'_>,
        span: Range<usize>,
        bytes: &[u8],
        fault: Fault,
    ) {
        if let Some(listener) = self {
            listener.bad(source, places, span, bytes, fault);
        }
    }

    fn stranger(&mut self, id: u8, at: u64, len: usize) {
        if let Some(listener) = self {
            listener.stranger(id, at, len);
        }
    }

    fn link(&mut self, at: u64, event: Event) {
        if let Some(listener) = self {
            listener.link(at, event);
        }
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        if let Some(listener) = self {
            listener.frame(frame);
        }
    }

    fn packed(&mut self, at: u64, bytes: &[u8]) {
        if let Some(listener) = self {
            listener.packed(at, bytes);
        }
    }

    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        if let Some(listener) = self {
            listener.fragment(id, at, bytes);
        }
    }

    fn full(&self) -> bool {
        self.as_ref().is_some_and(L::full)
    }
}

impl<L: Listener> Listener for &mut L {
    const PACKETS: bool = L::PACKETS;
    const FRAMES: bool = L::FRAMES;

    fn element(&mut self, source: usize, at: u64, element: Element) {
        (**self).element(source, at, element);
    }

    fn packet(
        &mut self,
        source: usize,
        places: &Places<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    ) {
        (**self).packet(source, places, span, bytes, packet);
    }

    fn bad(
        &mut self,
        source: usize,
        places: &Places<'_>,
        span: Range<usize>,
        bytes: &[u8],
        fault: Fault,
    ) {
        (**self).bad(source, places, span, bytes, fault);
    }

    fn held(&mut self, source: usize, bytes: &[u8]) {
        (**self).held(source, bytes);
    }

    fn stranger(&mut self, id: u8, at: u64, len: usize) {
        (**self).stranger(id, at, len);
    }

    fn link(&mut self, at: u64, event: Event) {
        (**self).link(at, event);
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        (**self).frame(frame);
    }

    fn packed(&mut self, at: u64, bytes: &[u8]) {
        (**self).packed(at, bytes);
    }

    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        (**self).fragment(id, at, bytes);
    }

    fn full(&self) -> bool {
        (**self).full()
    }
}
