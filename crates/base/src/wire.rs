//! The interfaces between bytes, packets, elements and steps.

use core::fmt;

use crate::cached_block::BlockCache;
use crate::fault::Fault;
use crate::feed::Feed;
use crate::sink::Sink;
use crate::step::Step;

/// The result of parsing at an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parse<P> {
    /// A packet and its length in elements of the slice, at least 1: bytes, for an STM nibbles.
    Packet(P, usize),
    /// The beginning of a packet that continues after the given bytes.
    Partial,
    /// The number of undecodable bytes (for an STM nibbles), at least 1, and the reason.
    Bad(usize, Fault),
}

/// The result of a search for a synchronization point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncSearch {
    /// A decoder can start at this offset.
    At(usize),
    /// A decoder cannot start in this number of bytes. The remaining bytes may begin a
    /// synchronization packet.
    NotIn(usize),
}

/// A packet with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spanned<P> {
    /// Offset of the first byte in the trace buffer.
    pub at: u64,
    /// Length in bytes of the source; for an STM in nibbles.
    pub len: u32,
    /// The packet.
    pub packet: P,
}

/// A packet in its encoded form. `C` is the configuration of the trace unit.
///
/// Parsing has no state: a compressed field stays compressed, and the decoder completes it. So
/// `parse(emit(p)) == p` for all packets, and `emit(parse(b)) == b` for canonical bytes.
pub trait Wire<C>: Copy + Eq + fmt::Debug + fmt::Display {
    /// Parses the packet that starts at the first byte. `bytes` may end inside a packet.
    fn parse(bytes: &[u8], config: &C) -> Parse<Self>;

    /// Emits the packet in its shortest form.
    fn emit(&self, config: &C, out: &mut impl Extend<u8>);
}

/// A decoder from packets to elements. It is a plain value that holds the state that the next
/// packet needs, and no totals. The default is the
/// initial state.
pub trait Decode<C, P>: Clone + Eq + Default + fmt::Debug {
    /// Takes one packet.
    fn packet<K: BlockCache, S: Sink>(
        &mut self,
        p: Spanned<&P>,
        config: &C,
        code: &mut K,
        sink: &mut S,
    );

    /// The fast path: takes complete packets while the fast path supports them, possibly none. The
    /// elements and the state afterwards are those that [`packet`](Decode::packet) would make. None
    /// of the packets is one from which a decoder may start.
    #[inline]
    fn packets<K: BlockCache, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        config: &C,
        code: &mut K,
        sink: &mut S,
    ) {
        let _ = (feed, config, code, sink);
    }

    /// Takes the position of undecodable bytes. `Stream` (`tracewright-protocols`) emits
    /// [`Element::Undecodable`]; the decoder drops the state that is uncertain.
    ///
    /// [`Element::Undecodable`]: crate::Element::Undecodable
    fn bad<S: Sink>(&mut self, at: u64, fault: Fault, sink: &mut S);

    /// Ends the trace: emits pending elements. `Stream` (`tracewright-protocols`) emits
    /// [`Element::End`].
    ///
    /// [`Element::End`]: crate::Element::End
    fn finish<K: BlockCache, S: Sink>(&mut self, at: u64, config: &C, code: &mut K, sink: &mut S);
}

/// An encoder from steps to packets: a trace unit in software. It is a plain value: a clone is a
/// checkpoint. `C` is the configuration with which the packets are decoded.
pub trait Encode<C, P>: Clone + core::fmt::Debug {
    /// Settings of the trace unit beside `C`: periods, filters, injected behaviour.
    type Settings: Clone + Default + core::fmt::Debug;

    /// A trace unit when tracing is enabled.
    fn new(config: &C, settings: &Self::Settings) -> Self;

    /// Takes one step. Packets can be pending until later steps.
    fn step(&mut self, step: &Step, config: &C, out: &mut impl Extend<P>);

    /// Ends tracing: emits pending packets.
    fn finish(&mut self, config: &C, out: &mut impl Extend<P>);

    /// Number of cycles for which the processor stalled because the FIFO of the unit was full. 0
    /// for a unit that never stalls the processor.
    fn waited(&self) -> u64 {
        0
    }
}
