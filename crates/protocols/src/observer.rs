//! What receives the elements and packets of one source.

use alloc::vec::Vec;
use core::ops::Range;

use tracewright_base::{Element, Fault, OffsetMap, Sink};

use crate::registry::AnyPacket;

/// Receives the elements of one source, and its packets and undecodable bytes. The methods that an
/// observer does not implement ignore what they are given.
///
/// `bytes[span]` are the bytes in question in each method, and `offsets` maps positions in `bytes`
/// to offsets in the buffer. The spans of packets and of undecodable bytes tile the bytes of the
/// source.
pub trait Observer: Sink {
    /// Whether the decoder may take several packets at once also where
    /// [each is wanted](Self::wants_each_packet), if every packet still comes between the same
    /// elements. The observer does not [pause](Self::pauses) then.
    const RUNS: bool = false;

    /// A packet, before the decoder takes it.
    #[inline]
    fn packet(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    ) {
        let _ = (offsets, span, bytes, packet);
    }

    /// Whether the decoder must take packets one by one, each preceded by [`packet`](Self::packet).
    /// Otherwise the decoder may take several packets at once, which are reported by
    /// [`packets`](Self::packets).
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

    /// `count` packets, `span`, that the decoder took at once. `syncs` of them are packets from
    /// which a decoder may start.
    #[inline]
    fn packets(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        count: usize,
        syncs: usize,
    ) {
        let _ = (offsets, span, bytes, count, syncs);
    }

    /// Undecodable bytes.
    #[inline]
    fn undecodable(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        fault: Fault,
    ) {
        let _ = (offsets, span, bytes, fault);
    }

    /// The stream is not synchronised, and `bytes` may begin a synchronisation: the stream waits
    /// for the bytes that follow.
    #[inline]
    fn awaiting_sync(&mut self, bytes: &[u8]) {
        let _ = bytes;
    }
}

impl<O: Observer + ?Sized> Observer for &mut O {
    #[inline]
    fn packet(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    ) {
        (**self).packet(offsets, span, bytes, packet);
    }

    #[inline]
    fn wants_each_packet(&self) -> bool {
        (**self).wants_each_packet()
    }

    #[inline]
    fn pauses(&self) -> bool {
        (**self).pauses()
    }

    #[inline]
    fn packets(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        count: usize,
        syncs: usize,
    ) {
        (**self).packets(offsets, span, bytes, count, syncs);
    }

    #[inline]
    fn undecodable(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        fault: Fault,
    ) {
        (**self).undecodable(offsets, span, bytes, fault);
    }

    #[inline]
    fn awaiting_sync(&mut self, bytes: &[u8]) {
        (**self).awaiting_sync(bytes);
    }
}

/// Collects the elements.
impl Observer for Vec<(u64, Element)> {}

/// Ignores everything.
impl Observer for () {}
