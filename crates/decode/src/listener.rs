//! What receives the findings of a session.

use std::ops::Range;

use tracewright_base::{self as base, Element, Fault, OffsetMap};
use tracewright_frames::{Event, Frame};
use tracewright_protocols::registry::AnyPacket;

/// Receives what a [`Session`](crate::Session) finds, in the order in which it becomes certain.
/// `source` is an index into the session's sources.
pub trait Listener {
    /// It wants packets and link events. Otherwise only [`element`](Listener::element) and
    /// [`repeat`](Listener::repeat) are called.
    const PACKETS: bool = true;
    /// It wants whole frames and fragments, too.
    const FRAMES: bool = false;

    /// An element.
    fn element(&mut self, source: usize, at: u64, element: Element);

    /// The same range so many times, one after another: turns of a loop of one block. Where a
    /// listener does not say otherwise it is told of each.
    #[inline]
    fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32) {
        for _ in 0..times {
            self.element(source, at, Element::Range(range));
        }
    }

    /// A packet, before its elements: `bytes[span]`, where `offsets` maps offsets in `bytes`.
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

    /// Whether each packet must be told. Where that is not so, those that a decoder can take faster
    /// together are [counted](Listener::packets), none of which is one from which a decoder may
    /// start.
    fn each_packet(&self) -> bool {
        Self::PACKETS
    }

    /// So many packets, `span`, that were decoded together: after their elements, and they are not
    /// told one by one.
    fn packets(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        count: usize,
    ) {
        let _ = (source, offsets, span, count);
    }

    /// Bytes of a source that are no packet: `bytes[span]`, where `offsets` maps offsets in
    /// `bytes`.
    fn bad(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        fault: Fault,
    ) {
        let _ = (source, offsets, span, bytes, fault);
    }

    /// Bytes of a source that may begin a synchronisation wait for what follows them.
    fn held(&mut self, source: usize, bytes: &[u8]) {
        let _ = (source, bytes);
    }

    /// Bytes of an id that no source has.
    fn unknown_id(&mut self, id: u16, at: u64, len: usize) {
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

/// The methods of a listener that passes on all but the elements: each `$to` is an `Option` of a
/// listener in `$this`. They stand here once, so that no listener can forget one of them.
macro_rules! pass_on {
    (|$this:ident| $($to:expr),+) => {
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

        fn packets(&mut self, source: usize, offsets: &OffsetMap<'_>, span: Range<usize>, count: usize) {
            let $this = self;
            $(if let Some(to) = $to {
                to.packets(source, offsets, span.clone(), count);
            })+
        }

        fn bad(
            &mut self,
            source: usize,
            offsets: &OffsetMap<'_>,
            span: Range<usize>,
            bytes: &[u8],
            fault: Fault,
        ) {
            let $this = self;
            $(if let Some(to) = $to {
                to.bad(source, offsets, span.clone(), bytes, fault);
            })+
        }

        fn held(&mut self, source: usize, bytes: &[u8]) {
            let $this = self;
            $(if let Some(to) = $to {
                to.held(source, bytes);
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

/// Both get everything.
impl<A: Listener, B: Listener> Listener for (A, B) {
    const PACKETS: bool = A::PACKETS || B::PACKETS;
    const FRAMES: bool = A::FRAMES || B::FRAMES;

    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.0.element(source, at, element);
        self.1.element(source, at, element);
    }

    fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32) {
        self.0.repeat(source, at, range, times);
        self.1.repeat(source, at, range, times);
    }

    fn each_packet(&self) -> bool {
        self.0.each_packet() || self.1.each_packet()
    }

    pass_on!(|this| Some(&mut this.0), Some(&mut this.1));

    fn full(&self) -> bool {
        self.0.full() && self.1.full()
    }
}

/// None wants nothing.
impl<L: Listener> Listener for Option<L> {
    const PACKETS: bool = L::PACKETS;
    const FRAMES: bool = L::FRAMES;

    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if let Some(listener) = self {
            listener.element(source, at, element);
        }
    }

    fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32) {
        if let Some(listener) = self {
            listener.repeat(source, at, range, times);
        }
    }

    fn each_packet(&self) -> bool {
        self.as_ref().is_some_and(L::each_packet)
    }

    pass_on!(|this| this);

    fn full(&self) -> bool {
        self.as_ref().is_none_or(L::full)
    }
}

impl<L: Listener> Listener for &mut L {
    const PACKETS: bool = L::PACKETS;
    const FRAMES: bool = L::FRAMES;

    fn element(&mut self, source: usize, at: u64, element: Element) {
        (**self).element(source, at, element);
    }

    fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32) {
        (**self).repeat(source, at, range, times);
    }

    fn each_packet(&self) -> bool {
        (**self).each_packet()
    }

    pass_on!(|this| Some(&mut **this));

    fn full(&self) -> bool {
        (**self).full()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CommittedListener;
    use tracewright_base::Piece;
    use tracewright_protocols::itm;

    /// Writes down what it is told.
    #[derive(Default)]
    struct Told(Vec<&'static str>);

    impl Listener for Told {
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

        fn bad(&mut self, _: usize, _: &OffsetMap<'_>, _: Range<usize>, _: &[u8], _: Fault) {
            self.0.push("bad");
        }

        fn held(&mut self, _: usize, _: &[u8]) {
            self.0.push("held");
        }

        fn unknown_id(&mut self, _: u16, _: u64, _: usize) {
            self.0.push("stranger");
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
            self.0.len() >= 8
        }
    }

    /// Says one of everything.
    fn say(mut listener: impl Listener) -> bool {
        let pieces = [Piece { start: 0, at: 0, fragment: true }];
        let offsets = OffsetMap::new(&pieces);
        listener.element(0, 0, Element::ExceptionReturn);
        listener.packet(0, &offsets, 0..1, &[0x70], AnyPacket::Itm(&itm::Packet::Overflow));
        listener.bad(0, &offsets, 0..1, &[0], Fault::Truncated);
        listener.held(0, &[0]);
        listener.unknown_id(1, 0, 1);
        listener.link(0, Event::Null { len: 1 });
        listener.packed(0, &[0]);
        listener.fragment(None, 0, &[0]);
        listener.full()
    }

    #[test]
    fn whoever_passes_on_passes_on_everything() {
        let all = ["element", "packet", "bad", "held", "stranger", "link", "packed", "fragment"];
        let (mut a, mut b, mut c, mut d) = <(Told, Told, Told, Told)>::default();
        assert!(say((&mut a, Some(&mut b))));
        assert!(say(CommittedListener::new(&mut c)));
        assert!(say(Some(CommittedListener::new((&mut d, None::<Told>)))));
        for told in [a, b, c, d] {
            assert_eq!(told.0, all);
        }
    }

    #[test]
    fn none_is_content_with_what_it_has() {
        assert!(None::<Told>.full());
        assert!(!(Told::default(), None::<Told>).full());
    }
}
