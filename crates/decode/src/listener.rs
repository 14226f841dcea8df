//! What receives the output of a session.

use tracewright_base::{Batch, Custom, Element, Fault, Part, Turns};
use tracewright_frames::{self as frames, Frame};
use tracewright_image::Selection;
use tracewright_protocols::registry::AnyPacket;

pub use tracewright_protocols::observer::SourceBytes;

/// Receives the output of a [`Session`](crate::Session), in order. `source` is an index into the
/// sources of the session's plan; where several plans are decoded one after another, the caller may
/// number their sources on.
///
/// Only [`element`](Listener::element) has to be implemented. A listener that has to be fast
/// implements [`batch`](Listener::batch), which receives the elements of a source in large parts:
/// by default it calls `element` for each. What it wants beside elements it states with
/// [`wants`](Listener::wants), and receives as [`event`](Listener::event)s.
///
/// `at` is the offset in the trace buffer, in bytes: of an element's packet, or of the first byte
/// of an event of the link. [`Numbering`](tracewright_frames::Numbering) states how it is counted.
pub trait Listener {
    /// An element. Turns of a loop are received one by one.
    fn element(&mut self, source: usize, at: u64, element: Element);

    /// [`Element::Custom`], with its bytes.
    fn custom(&mut self, source: usize, at: u64, custom: Custom, bytes: &[u8]) {
        let _ = bytes;
        self.element(source, at, Element::Custom(custom));
    }

    /// What a source reported, in order. [`Wants::any_order`] states how the batches of several
    /// sources follow each other.
    ///
    /// A listener that wraps another one forwards this function, [`custom`](Self::custom),
    /// [`event`](Self::event), [`wants`](Self::wants) and [`full`](Self::full), too.
    ///
    /// ```
    /// use tracewright_base::{Batch, Element, Part};
    /// use tracewright_decode::Listener;
    ///
    /// struct Instructions(u64);
    ///
    /// impl Listener for Instructions {
    ///     fn element(&mut self, _: usize, _: u64, element: Element) {
    ///         if let Element::Range(range) = element {
    ///             self.0 += u64::from(range.instructions);
    ///         }
    ///     }
    ///
    ///     fn batch(&mut self, batch: &Batch<'_>) {
    ///         for part in batch.parts() {
    ///             match part {
    ///                 Part::Steps(steps) => self.0 += batch.instructions(steps),
    ///                 Part::Element(at, element) => self.element(batch.source, at, element),
    ///                 Part::Turns(turns) => {
    ///                     let one: u64 = turns.ranges.iter().map(|r| u64::from(r.instructions)).sum();
    ///                     self.0 += turns.times * one;
    ///                 }
    ///             }
    ///         }
    ///     }
    /// }
    /// ```
    fn batch(&mut self, batch: &Batch<'_>) {
        each_element(self, batch);
    }

    /// What is beside the elements. If [each packet](Packets::Each) is wanted, an event comes
    /// between the elements before and after it.
    fn event(&mut self, event: &Event<'_>) {
        let _ = event;
    }

    /// What is wanted beside elements. It does not change while a session is fed.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// Whether no more output is wanted. The caller of a session asks between the blocks of bytes
    /// that it feeds, and then ends without [`Session::finish`](crate::Session::finish), so that
    /// pending elements are not emitted. The rest of a block still arrives: a listener that is full
    /// ignores it. A block has 64 KiB in [`Session::run`](crate::Session::run), 4 KiB in
    /// `Trace::decode`, and [`Jobs::step`](crate::Jobs::step) bytes in
    /// [`parallel::run`](crate::parallel::run); a caller of [`Session::feed`](crate::Session::feed)
    /// that needs an earlier end feeds less at a time.
    fn full(&self) -> bool {
        false
    }
}

/// Calls [`Listener::element`] for each element of `batch`, and for those of each turn of a loop:
/// the default of [`Listener::batch`].
pub fn each_element<L: Listener + ?Sized>(listener: &mut L, batch: &Batch<'_>) {
    each_part(listener, batch, |listener, turns| each_turn(listener, batch.source, turns));
}

/// Calls [`Listener::element`] for each range of each turn.
pub fn each_turn<L: Listener + ?Sized>(listener: &mut L, source: usize, turns: &Turns<'_>) {
    for _ in 0..turns.times {
        for range in turns.ranges {
            listener.element(source, turns.at, Element::Range(*range));
        }
    }
}

/// Calls [`Listener::element`] for each element of `batch`, and `turns` for turns of loops.
pub fn each_part<L: Listener + ?Sized>(
    listener: &mut L,
    batch: &Batch<'_>,
    mut turns: impl FnMut(&mut L, &Turns<'_>),
) {
    for part in batch.parts() {
        match part {
            Part::Steps(steps) => {
                for &step in steps {
                    if let Some(range) = batch.range(step) {
                        listener.element(batch.source, batch.at(step), Element::Range(range));
                    }
                }
            }
            Part::Element(at, Element::Custom(custom)) => {
                listener.custom(batch.source, at, custom, batch.content(&custom));
            }
            Part::Element(at, element) => listener.element(batch.source, at, element),
            Part::Turns(loops) => turns(listener, &loops),
        }
    }
}

/// What a [`Listener`] wants beside elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wants {
    /// Packets, undecodable bytes, and events of the link.
    pub packets: Packets,
    /// Whole frames and fragments, too.
    pub frames: bool,
    /// Bytes before a synchronisation in the pieces that the frames have, as OpenCSD lists them.
    pub pieces: bool,
    /// The listener does not depend on the order of the elements of different sources. A session
    /// then decodes more bytes of a source at a time where the sources of a formatter alternate.
    pub any_order: bool,
    /// Elements are not wanted either, and a caller need not decode for this listener.
    pub nothing: bool,
}

/// How packets are received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Packets {
    /// Not at all.
    #[default]
    None,
    /// Those that a decoder takes at once as [`Event::Packets`], at any place between batches.
    Counted,
    /// Each, before its elements.
    Each,
}

impl Wants {
    /// Elements only.
    pub const ELEMENTS: Wants = Wants {
        packets: Packets::None,
        frames: false,
        pieces: false,
        any_order: false,
        nothing: false,
    };
    /// Nothing: what `()` wants.
    pub const NOTHING: Wants = Wants { nothing: true, ..Wants::ANY_ORDER };
    /// Elements in any order of the sources.
    pub const ANY_ORDER: Wants = Wants { any_order: true, ..Wants::ELEMENTS };
    /// Each packet.
    pub const EACH_PACKET: Wants = Wants { packets: Packets::Each, ..Wants::ELEMENTS };
    /// Counts of packets, in any order.
    pub const COUNTS: Wants = Wants { packets: Packets::Counted, ..Wants::ANY_ORDER };

    /// The same with packets in this way.
    #[must_use]
    pub const fn with_packets(self, packets: Packets) -> Wants {
        Wants { packets, nothing: false, ..self }
    }

    /// The same with or without frames.
    #[must_use]
    pub const fn with_frames(self, frames: bool) -> Wants {
        Wants { frames, nothing: false, ..self }
    }

    /// The same with the [pieces](Self::pieces) of frames.
    #[must_use]
    pub const fn with_pieces(self) -> Wants {
        Wants { pieces: true, nothing: false, ..self }
    }

    /// What either wants, in an order that suits both.
    #[must_use]
    pub fn and(self, other: Wants) -> Wants {
        Wants {
            packets: self.packets.max(other.packets),
            frames: self.frames || other.frames,
            pieces: self.pieces || other.pieces,
            any_order: self.any_order && other.any_order,
            nothing: self.nothing && other.nothing,
        }
    }
}

/// What a session reports beside elements: see [`Listener::wants`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A packet, before its elements.
    Packet {
        /// The index of the source.
        source: usize,
        /// Its bytes.
        bytes: SourceBytes<'a>,
        /// The packet.
        packet: AnyPacket<'a>,
    },
    /// Packets that the decoder took at once. Their elements precede them.
    Packets {
        /// The index of the source.
        source: usize,
        /// Their bytes.
        bytes: SourceBytes<'a>,
        /// The number of packets.
        count: usize,
        /// How many of them are packets from which a decoder may start.
        syncs: usize,
    },
    /// A packet outside of the part of the trace that is received, on which packets that follow may
    /// depend.
    Skipped {
        /// The index of the source.
        source: usize,
        /// Its offset.
        at: u64,
        /// `None` for undecodable bytes.
        packet: Option<AnyPacket<'a>>,
    },
    /// Undecodable bytes of a source.
    Undecodable {
        /// The index of the source.
        source: usize,
        /// The bytes.
        bytes: SourceBytes<'a>,
        /// Why they are undecodable.
        fault: Fault,
    },
    /// A source is not synchronised, and the bytes may begin a synchronisation: decoding waits for
    /// those that follow.
    AwaitingSync {
        /// The index of the source.
        source: usize,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// Elements that are not received, because a window begins after them, selected this program
    /// memory for those of the source that follow. Received in any case, where memory is selected
    /// by time or by what the program does.
    Select {
        /// The index of the source.
        source: usize,
        /// What is selected.
        selection: Selection,
    },
    /// The part of the trace that is received ends: elements of no source follow. Received in any
    /// case. A trace that is received to its end has the element [`End`](Element::End) before it.
    PartEnd,
    /// Bytes of a trace ID or source number that no source of the session has; 0 for bytes without
    /// framing. Received in any case.
    UnknownId {
        /// The trace ID.
        id: u16,
        /// The offset of the first of them.
        at: u64,
        /// The number of bytes.
        len: usize,
    },
    /// An event of the trace link.
    Link {
        /// Its offset.
        at: u64,
        /// The event.
        event: frames::Event,
    },
    /// A whole frame.
    Frame(&'a Frame<'a>),
    /// Bytes of frames and synchronisation packets, as they are in the buffer.
    Packed {
        /// The offset of the first byte.
        at: u64,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// All bytes of one fragment of a frame.
    Fragment {
        /// The trace ID, where it is known.
        id: Option<u8>,
        /// The offset of the first byte.
        at: u64,
        /// The bytes.
        bytes: &'a [u8],
    },
}

impl Event<'_> {
    /// The source of packets and of undecodable bytes.
    pub fn source(&self) -> Option<usize> {
        match *self {
            Event::Packet { source, .. }
            | Event::Packets { source, .. }
            | Event::Skipped { source, .. }
            | Event::Undecodable { source, .. }
            | Event::AwaitingSync { source, .. }
            | Event::Select { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl<L: Listener + ?Sized> Listener for &mut L {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        (**self).element(source, at, element);
    }

    fn custom(&mut self, source: usize, at: u64, custom: Custom, bytes: &[u8]) {
        (**self).custom(source, at, custom, bytes);
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        (**self).batch(batch);
    }

    fn event(&mut self, event: &Event<'_>) {
        (**self).event(event);
    }

    fn wants(&self) -> Wants {
        (**self).wants()
    }

    fn full(&self) -> bool {
        (**self).full()
    }
}

/// Receives nothing, and wants nothing.
impl Listener for () {
    fn element(&mut self, _source: usize, _at: u64, _element: Element) {}

    fn batch(&mut self, _batch: &Batch<'_>) {}

    fn wants(&self) -> Wants {
        Wants::NOTHING
    }
}

/// `None` receives nothing, and wants nothing more.
impl<L: Listener> Listener for Option<L> {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if let Some(listener) = self {
            listener.element(source, at, element);
        }
    }

    fn custom(&mut self, source: usize, at: u64, custom: Custom, bytes: &[u8]) {
        if let Some(listener) = self {
            listener.custom(source, at, custom, bytes);
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        if let Some(listener) = self {
            listener.batch(batch);
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        if let Some(listener) = self {
            listener.event(event);
        }
    }

    fn wants(&self) -> Wants {
        self.as_ref().map_or(Wants::NOTHING, L::wants)
    }

    fn full(&self) -> bool {
        self.as_ref().is_none_or(L::full)
    }
}

/// Both listeners receive everything that either wants. The pair is full when both are.
impl<A: Listener, B: Listener> Listener for (A, B) {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.0.element(source, at, element);
        self.1.element(source, at, element);
    }

    fn custom(&mut self, source: usize, at: u64, custom: Custom, bytes: &[u8]) {
        self.0.custom(source, at, custom, bytes);
        self.1.custom(source, at, custom, bytes);
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        self.0.batch(batch);
        self.1.batch(batch);
    }

    fn event(&mut self, event: &Event<'_>) {
        self.0.event(event);
        self.1.event(event);
    }

    fn wants(&self) -> Wants {
        self.0.wants().and(self.1.wants())
    }

    fn full(&self) -> bool {
        self.0.full() && self.1.full()
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::{
        BatchBuffer, CachedBlocks, Counted, Instruction, Last, OffsetMap, Piece,
    };
    use tracewright_protocols::itm;

    use super::*;
    use crate::committed_listener::CommittedListener;
    use crate::error_limit::ErrorLimit;
    use crate::fork::{Fork, Merging};
    use crate::timed::Timed;

    /// Records what it receives.
    #[derive(Default)]
    struct Recorder(Vec<String>);

    impl Listener for Recorder {
        fn element(&mut self, source: usize, at: u64, element: Element) {
            self.0.push(format!("{source} {at} {element}"));
        }

        fn custom(&mut self, source: usize, at: u64, custom: Custom, bytes: &[u8]) {
            self.0.push(format!("{source} {at} {} {bytes:?}", custom.kind));
        }

        fn event(&mut self, event: &Event<'_>) {
            self.0.push(format!("{event:?}"));
        }

        fn wants(&self) -> Wants {
            Wants { frames: true, ..Wants::EACH_PACKET }
        }

        fn full(&self) -> bool {
            self.0.len() >= 14
        }
    }

    impl Fork for Recorder {
        type State = ();
        type Output = Vec<u8>;

        fn fork(&self) -> Self {
            Recorder::default()
        }

        fn state(&self) {}

        fn resume(&mut self, (): ()) {}

        fn take(&mut self) -> Vec<u8> {
            Vec::new()
        }
    }

    /// A batch, and each event once.
    fn call_all(mut listener: impl Listener) -> bool {
        let pieces = [Piece { start: 0, at: 0, fragment: true }];
        let offsets = OffsetMap::new(&pieces);
        let bytes = || SourceBytes { bytes: &[0x70], span: 0..1, offsets: &offsets };
        let last = Last::new(&Instruction::default(), true);
        let range = tracewright_base::Range {
            start: 0x100,
            bytes: 4,
            instructions: 1,
            cycles: Counted::UNKNOWN,
            last,
        };
        let mut buffer = BatchBuffer::default();
        buffer.element(1, Element::ExceptionReturn);
        let (ranges, listed) = (&[range][..], true);
        buffer.turns(Turns { at: 2, ranges, times: 2, listed });
        buffer.custom(2, "own", &[7, 8]);
        let packet = AnyPacket::Itm(&itm::Packet::Overflow);
        listener.batch(&buffer.batch(3, CachedBlocks::none()));
        let source = 0;
        let link = frames::Event::Null { len: 1 };
        for event in [
            Event::Packet { source, bytes: bytes(), packet },
            Event::Packets { source, bytes: bytes(), count: 1, syncs: 0 },
            Event::Skipped { source, at: 0, packet: None },
            Event::Undecodable { source, bytes: bytes(), fault: Fault::Truncated },
            Event::AwaitingSync { source, bytes: &[0] },
            Event::Select { source, selection: Selection::default() },
            Event::PartEnd,
            Event::UnknownId { id: 1, at: 0, len: 1 },
            Event::Link { at: 0, event: link },
            Event::Packed { at: 0, bytes: &[0] },
            Event::Fragment { id: None, at: 0, bytes: &[0] },
        ] {
            listener.event(&event);
        }
        let wants = Wants { frames: true, ..Wants::EACH_PACKET };
        assert_eq!(listener.wants(), wants);
        listener.full()
    }

    #[test]
    fn wrappers_pass_on_everything() {
        let mut want = Recorder::default();
        assert!(call_all(&mut want));
        assert_eq!(want.0.len(), 15);
        assert_eq!(want.0[..2], ["3 1 exception-return", &want.0[2]]);
        assert_eq!(want.0[3], "3 2 own [7, 8]");
        let (mut a, mut b, mut c, mut d) = <(Recorder, Recorder, Recorder, Recorder)>::default();
        let (mut e, mut f) = (Recorder::default(), Recorder::default());
        assert!(call_all((&mut a, Some(&mut b))));
        assert!(call_all(CommittedListener::new(&mut c)));
        assert!(call_all(Some(CommittedListener::new((&mut d, None::<Recorder>)))));
        let plan = crate::plan::Plan::with_sources(0, tracewright_frames::Framing::Raw, Vec::new());
        assert!(call_all(crate::folded::Folded::when(true, &plan, &mut e)));
        let dynamic: &mut dyn Listener = &mut f;
        assert!(call_all(dynamic));
        let mut merging = Merging(Recorder::default());
        assert!(call_all(&mut merging));
        let [mut i, mut j] =
            [None, Some(u64::MAX)].map(|most| ErrorLimit::new(most, Recorder::default()));
        assert!(call_all(&mut i) && call_all(&mut j));
        let [mut g, mut h] = [true, false].map(|wanted| Timed::when(wanted, Recorder::default()));
        assert!(call_all(&mut g) && call_all(&mut h));
        for recorder in
            [a, b, c, d, e, f, merging.0, g.listener, h.listener, i.listener, j.listener]
        {
            assert_eq!(recorder.0, want.0);
        }
    }

    #[test]
    fn none_is_full() {
        assert!(None::<Recorder>.full());
        assert!(!(Recorder::default(), None::<Recorder>).full());
    }

    #[test]
    fn a_pair_wants_what_either_wants() {
        struct Counts;
        impl Listener for Counts {
            fn element(&mut self, _: usize, _: u64, _: Element) {}

            fn wants(&self) -> Wants {
                Wants::COUNTS
            }
        }
        assert_eq!((Counts, None::<Counts>).wants(), Wants::COUNTS);
        let both = (Counts, Recorder::default()).wants();
        assert_eq!((both.packets, both.frames, both.any_order), (Packets::Each, true, false));
    }
}
