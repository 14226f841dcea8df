//! The ways in which each test vector is decoded: whole, cut at each byte, resumed from a clone,
//! parsed and emitted.
#![allow(dead_code, reason = "each protocol uses the ways that fit it")]
//!
//! A protocol's tests call [`check`]. Only this file uses the streaming interface.

use core::ops::Range;
use std::vec::Vec;

pub(crate) use tracewright_testing::Random;

use tracewright_base::{BlockCache, Decode, Element, OffsetMap, Parse, Piece, Sink, Spanned, Wire};

use crate::observer::{Observer, StreamEvent};
use crate::protocol::Protocol;
use crate::registry::Listed;
use crate::stream::Stream;

const WHOLE: [Piece; 1] = [Piece { start: 0, at: 0, fragment: true }];

/// The packets and elements of some bytes.
#[derive(Clone, Debug)]
pub(crate) struct Output<P: Protocol> {
    pub(crate) packets: Vec<(u64, P::Packet)>,
    pub(crate) elements: Vec<(u64, Element)>,
    /// Spans of packets and of undecodable bytes, in order.
    spans: Vec<Range<u64>>,
}

impl<P: Protocol> Default for Output<P> {
    fn default() -> Self {
        Output { packets: Vec::new(), elements: Vec::new(), spans: Vec::new() }
    }
}

impl<P: Protocol> Sink for Output<P> {
    fn element(&mut self, at: u64, element: Element) {
        self.elements.push((at, element));
    }
}

impl<P: Listed> Observer for Output<P> {
    fn event(&mut self, event: StreamEvent<'_>) {
        if let StreamEvent::Packet { bytes, .. } | StreamEvent::Undecodable { bytes, .. } = &event {
            self.spans.push(bytes.at()..bytes.at() + bytes.span.len() as u64);
        }
        if let StreamEvent::Packet { bytes, packet } = event {
            self.packets.extend(P::packet(packet).map(|packet| (bytes.at(), *packet)));
        }
    }

    fn wants_each_packet(&self) -> bool {
        true
    }
}

/// Decodes `bytes`, fed in pieces that end at `cuts`.
pub(crate) fn decode<P: Listed, K: BlockCache>(
    config: &P::Config,
    code: &mut K,
    bytes: &[u8],
    cuts: &[usize],
) -> Output<P> {
    let mut output = Output::default();
    let mut stream = Stream::<P>::new(config.clone());
    let mut start = 0;
    for &cut in cuts.iter().chain([&bytes.len()]) {
        let pieces = [Piece { start: 0, at: start as u64, fragment: true }];
        // A clone replaces the stream at every cut: a checkpoint is as good as the original.
        let mut resumed = stream.clone();
        let part = &bytes[start..cut.max(start)];
        start += resumed.feed(part, &OffsetMap::new(&pieces), code, &mut output);
        stream = resumed;
    }
    let pieces = [Piece { start: 0, at: start as u64, fragment: true }];
    stream.finish(&bytes[start..], &OffsetMap::new(&pieces), code, &mut output);
    output
}

/// Decodes `bytes` in every way and returns the output of the bytes fed whole.
#[track_caller]
pub(crate) fn check<P: Listed, K: BlockCache>(
    config: &P::Config,
    code: &mut K,
    bytes: &[u8],
) -> Output<P> {
    let whole = decode::<P, K>(config, code, bytes, &[]);
    // The spans tile the bytes.
    let mut at = 0;
    for span in &whole.spans {
        assert_eq!(span.start, at, "a hole or an overlap in {:?}", whole.spans);
        at = span.end;
    }
    assert_eq!(at, bytes.len() as u64, "bytes not accounted for");

    for cut in 0..=bytes.len() {
        let parts = decode::<P, K>(config, code, bytes, &[cut]);
        assert_eq!(parts.elements, whole.elements, "elements, cut at {cut}");
        assert_eq!(parts.packets, whole.packets, "packets, cut at {cut}");
    }
    let every: Vec<usize> = (0..bytes.len()).collect();
    let parts = decode::<P, K>(config, code, bytes, &every);
    assert_eq!(parts.elements, whole.elements, "elements, byte by byte");

    for (at, packet) in &whole.packets {
        round_trip::<P>(config, *packet, *at);
    }
    whole
}

/// `parse(emit(p)) == p`, and every strict prefix of the bytes is `Partial`.
#[track_caller]
pub(crate) fn round_trip<P: Protocol>(config: &P::Config, packet: P::Packet, at: u64) {
    let mut bytes = Vec::new();
    packet.emit(config, &mut bytes);
    assert_eq!(
        P::Packet::parse(&bytes, config),
        Parse::Packet(packet, bytes.len()),
        "packet at {at} as {bytes:02x?}"
    );
    for len in 0..bytes.len() {
        let prefix = P::Packet::parse(&bytes[..len], config);
        assert_eq!(prefix, Parse::Partial, "{len} of {bytes:02x?}, {packet:?}");
    }
}

/// Decodes packets without bytes. The offsets are the numbers of the packets.
pub(crate) fn decoded<P: Protocol, K: BlockCache>(
    config: &P::Config,
    code: &mut K,
    packets: &[P::Packet],
) -> Vec<(u64, Element)> {
    let mut elements = Vec::new();
    let mut decoder = P::Decoder::default();
    for (at, packet) in packets.iter().enumerate() {
        let spanned = Spanned { at: at as u64, len: 1, packet };
        decoder.packet(spanned, config, code, &mut elements);
    }
    decoder.finish(packets.len() as u64, config, code, &mut elements);
    elements.push((packets.len() as u64, Element::End));
    elements
}

/// Checks of arbitrary bytes: no panic, spans that tile the bytes, and the same elements for any
/// cut.
#[track_caller]
pub(crate) fn garbage<P: Listed, K: BlockCache>(config: &P::Config, code: &mut K, bytes: &[u8]) {
    let whole = decode::<P, K>(config, code, bytes, &[]);
    let covered: u64 = whole.spans.iter().map(|s| s.end - s.start).sum();
    assert_eq!(covered, bytes.len() as u64, "bytes not accounted for");
    for cut in [bytes.len() / 3, bytes.len() / 2, bytes.len().saturating_sub(1)] {
        let parts = decode::<P, K>(config, code, bytes, &[cut]);
        assert_eq!(parts.elements, whole.elements, "cut at {cut} of {bytes:02x?}");
    }
}

/// The offset map of a block at offset 0.
pub(crate) fn whole() -> OffsetMap<'static> {
    OffsetMap::new(&WHOLE)
}

#[test]
fn bytes_differ_by_seed() {
    assert_ne!(Random::new(1).bytes(16), Random::new(2).bytes(16));
    assert_eq!(whole().at(7), 7);
}
