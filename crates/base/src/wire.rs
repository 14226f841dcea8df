//! The seams between bytes, packets and elements.

use core::fmt;

use crate::{BlockCache, Fault, Feed, Sink, Step};

/// What the bytes at a place are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parse<P> {
    /// A packet and its length in bytes, at least 1.
    Packet(P, usize),
    /// The beginning of a packet; more bytes are needed to say which.
    Partial,
    /// This many bytes, at least 1, are no packet.
    Bad(usize, Fault),
}

/// Whether a decoder may start somewhere in some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncSearch {
    /// It may start at this offset.
    At(usize),
    /// It cannot start in this many bytes; the rest may be the beginning of a synchronisation.
    NotIn(usize),
}

/// A packet and where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spanned<P> {
    /// Place of its first byte in the capture.
    pub at: u64,
    /// Length in bytes of its source.
    pub len: u32,
    /// The packet.
    pub packet: P,
}

/// A packet as the wire spells it. `C` is the trace unit's configuration.
///
/// Parsing is pure: what completes a compressed field is decoder state. So `parse(emit(p)) == p`
/// always, and `emit(parse(b)) == b` for canonical bytes.
pub trait Wire<C>: Copy + Eq + fmt::Debug + fmt::Display {
    /// Reads the packet that starts at the first byte. `bytes` may end anywhere.
    fn parse(bytes: &[u8], config: &C) -> Parse<Self>;

    /// Writes the packet in its shortest form.
    fn emit(&self, config: &C, out: &mut impl Extend<u8>);
}

/// Packets to elements. A plain value: it holds what the next packet needs, and no totals. Its
/// default knows nothing.
pub trait Decode<C, P>: Clone + Eq + Default + fmt::Debug {
    /// Takes one packet.
    fn packet<K: BlockCache, S: Sink>(
        &mut self,
        p: Spanned<P>,
        config: &C,
        code: &mut K,
        sink: &mut S,
    );

    /// Takes as many whole packets as it can take faster at once than one by one, none for instance.
    /// The elements are those that [`packet`](Decode::packet) would make, and so is the state after it. None of
    /// the packets is one from which a decoder may start.
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

    /// Bytes that are no packet begin at `at`. The driver reports the bytes themselves; the decoder
    /// drops what it can no longer be sure of.
    fn bad<S: Sink>(&mut self, at: u64, fault: Fault, sink: &mut S);

    /// The trace ends: what was held back is said.
    fn finish<K: BlockCache, S: Sink>(&mut self, at: u64, config: &C, code: &mut K, sink: &mut S);
}

/// What a processor did, to packets: a trace unit in software. It is a plain value, too: cloning it
/// is a checkpoint. `C` is the configuration that a decoder of its packets is given.
pub trait Encode<C, P>: Clone + core::fmt::Debug {
    /// What the trace unit is told beside `C`: periods, filters, what to inject.
    type Settings: Clone + Default + core::fmt::Debug;

    /// A trace unit that has just been enabled.
    fn new(config: &C, settings: &Self::Settings) -> Self;

    /// Takes one step. Packets may be held back until later steps settle them.
    fn step(&mut self, step: &Step, config: &C, out: &mut impl Extend<P>);

    /// Tracing ends: what was held back is said.
    fn finish(&mut self, config: &C, out: &mut impl Extend<P>);

    /// For how many cycles the processor had to wait because the unit had no room. 0 for one that never asks it to.
    fn waited(&self) -> u64 {
        0
    }
}
