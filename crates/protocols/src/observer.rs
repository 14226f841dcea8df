//! What receives the elements and packets of one source.

use alloc::vec::Vec;
use core::ops::Range;

use tracewright_base::{Element, Fault, OffsetMap, Sink};

use crate::registry::AnyPacket;

/// Receives the elements of one source, and its packets and undecodable bytes.
pub trait Observer: Sink {
    /// Whether the decoder may take several packets at once also where
    /// [each is wanted](Self::wants_each_packet), if every packet still comes between the same
    /// elements. The observer does not [pause](Self::pauses) then.
    const RUNS: bool = false;

    /// What is beside the elements.
    #[inline]
    fn event(&mut self, event: StreamEvent<'_>) {
        let _ = event;
    }

    /// Whether the decoder must take packets one by one, each preceded by
    /// [`StreamEvent::Packet`]. Otherwise the decoder may take several packets at once, which are
    /// reported by [`StreamEvent::Packets`].
    #[inline]
    fn wants_each_packet(&self) -> bool {
        false
    }

    /// Whether the stream is to stop after the packet that it took last. The bytes after it are not
    /// taken; the caller gives them again.
    #[inline]
    fn pauses(&self) -> bool {
        false
    }
}

/// What a stream reports beside elements. The spans of packets and of undecodable bytes tile the
/// bytes of the source.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StreamEvent<'a> {
    /// A packet, before the decoder takes it.
    Packet {
        /// Its bytes.
        bytes: SourceBytes<'a>,
        /// The packet.
        packet: AnyPacket<'a>,
    },
    /// Packets that the decoder took at once.
    Packets {
        /// Their bytes.
        bytes: SourceBytes<'a>,
        /// The number of packets.
        count: usize,
        /// How many of them are packets from which a decoder may start.
        syncs: usize,
    },
    /// Undecodable bytes.
    Undecodable {
        /// The bytes.
        bytes: SourceBytes<'a>,
        /// Why they are undecodable.
        fault: Fault,
    },
    /// The stream is not synchronised, and these bytes may begin a synchronisation: the stream
    /// waits for the bytes that follow.
    AwaitingSync {
        /// All bytes that were not taken.
        bytes: &'a [u8],
    },
}

/// Bytes of a source: `bytes[span]`, where `offsets` maps positions in `bytes` to offsets in the
/// buffer. Packets of an STM consist of half bytes: `bytes` has one in each byte.
#[derive(Clone, Debug)]
pub struct SourceBytes<'a> {
    /// The bytes in question, and others around them.
    pub bytes: &'a [u8],
    /// Which of them.
    pub span: Range<usize>,
    /// Where they are in the buffer.
    pub offsets: &'a OffsetMap<'a>,
}

impl<'a> SourceBytes<'a> {
    /// The offset of the first byte.
    pub fn at(&self) -> u64 {
        self.offsets.at(self.span.start)
    }

    /// The bytes.
    pub fn get(&self) -> &'a [u8] {
        self.bytes.get(self.span.clone()).unwrap_or_default()
    }

    /// Their number; of half bytes, that of the bytes which they begin.
    pub fn count(&self) -> usize {
        self.offsets.bytes_in(&self.span)
    }
}

impl<O: Observer + ?Sized> Observer for &mut O {
    #[inline]
    fn event(&mut self, event: StreamEvent<'_>) {
        (**self).event(event);
    }

    #[inline]
    fn wants_each_packet(&self) -> bool {
        (**self).wants_each_packet()
    }

    #[inline]
    fn pauses(&self) -> bool {
        (**self).pauses()
    }
}

/// Collects the elements.
impl Observer for Vec<(u64, Element)> {}

/// Ignores everything.
impl Observer for () {}
