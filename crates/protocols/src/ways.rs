//! The ways that every vector is taken: whole, cut at each byte, resumed from a clone, round trip.
#![allow(dead_code, reason = "each protocol uses the ways that fit it")]
//!
//! A protocol's tests call [`check`]; it is the one place that touches the streaming interface.

use core::ops::Range;
use std::vec::Vec;

pub(crate) use tracewright_testing::Random;

use tracewright_base::{Code, Decode, Element, Fault, OffsetMap, Parse, Piece, Spanned, Wire};

use crate::{Protocol, Stream, Tap};

const WHOLE: [Piece; 1] = [Piece { start: 0, at: 0, fragment: true }];

/// What a stream said of some bytes.
#[derive(Clone, Debug)]
pub(crate) struct Said<P: Protocol> {
    pub(crate) packets: Vec<(u64, P::Packet)>,
    pub(crate) elements: Vec<(u64, Element)>,
    /// Spans of packets and of bad bytes, in order.
    spans: Vec<Range<u64>>,
}

impl<P: Protocol> Default for Said<P> {
    fn default() -> Self {
        Said { packets: Vec::new(), elements: Vec::new(), spans: Vec::new() }
    }
}

struct Spans<'a, P: Protocol>(&'a mut Said<P>);

impl<P: Protocol> Tap<P> for Spans<'_, P> {
    fn packet(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        _: &[u8],
        packet: &P::Packet,
    ) {
        let at = offsets.at(span.start);
        self.0.spans.push(at..at + span.len() as u64);
        self.0.packets.push((at, *packet));
    }

    fn bad(&mut self, offsets: &OffsetMap<'_>, span: Range<usize>, _bytes: &[u8], _fault: Fault) {
        let at = offsets.at(span.start);
        self.0.spans.push(at..at + span.len() as u64);
    }
}

/// Feeds `bytes` cut into `parts`.
pub(crate) fn said<P: Protocol, K: Code>(
    config: &P::Config,
    code: &mut K,
    bytes: &[u8],
    cuts: &[usize],
) -> Said<P> {
    let mut said = Said::default();
    let mut elements = Vec::new();
    let mut stream = Stream::<P>::new(config.clone());
    let mut start = 0;
    for &cut in cuts.iter().chain([&bytes.len()]) {
        let pieces = [Piece { start: 0, at: start as u64, fragment: true }];
        // A clone takes over at every cut: a checkpoint must be as good as the original.
        let mut resumed = stream.clone();
        start += resumed.feed(
            &bytes[start..cut.max(start)],
            &OffsetMap::new(&pieces),
            code,
            &mut elements,
            &mut Spans(&mut said),
        );
        stream = resumed;
    }
    let pieces = [Piece { start: 0, at: start as u64, fragment: true }];
    let (rest, offsets) = (&bytes[start..], OffsetMap::new(&pieces));
    stream.finish(rest, &offsets, code, &mut elements, &mut Spans(&mut said));
    said.elements = elements;
    said
}

/// Takes `bytes` every way and returns what the stream said of them whole.
#[track_caller]
pub(crate) fn check<P: Protocol, K: Code>(
    config: &P::Config,
    code: &mut K,
    bytes: &[u8],
) -> Said<P> {
    let whole = said::<P, K>(config, code, bytes, &[]);
    // Conservation: the spans tile the bytes.
    let mut at = 0;
    for span in &whole.spans {
        assert_eq!(span.start, at, "a hole or an overlap in {:?}", whole.spans);
        at = span.end;
    }
    assert_eq!(at, bytes.len() as u64, "bytes not accounted for");

    for cut in 0..=bytes.len() {
        let parts = said::<P, K>(config, code, bytes, &[cut]);
        assert_eq!(parts.elements, whole.elements, "elements, cut at {cut}");
        assert_eq!(parts.packets, whole.packets, "packets, cut at {cut}");
    }
    let every: Vec<usize> = (0..bytes.len()).collect();
    let parts = said::<P, K>(config, code, bytes, &every);
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

/// Decodes packets without bytes. Places count packets.
pub(crate) fn decoded<P: Protocol, K: Code>(
    config: &P::Config,
    code: &mut K,
    packets: &[P::Packet],
) -> Vec<(u64, Element)> {
    let mut elements = Vec::new();
    let mut decoder = P::Decoder::default();
    for (at, &packet) in packets.iter().enumerate() {
        let spanned = Spanned { at: at as u64, len: 1, packet };
        decoder.packet(spanned, config, code, &mut elements);
    }
    decoder.finish(packets.len() as u64, config, code, &mut elements);
    elements
}

/// Any bytes at all: no panic, conservation, and the same elements for any cut.
#[track_caller]
pub(crate) fn garbage<P: Protocol, K: Code>(config: &P::Config, code: &mut K, bytes: &[u8]) {
    let whole = said::<P, K>(config, code, bytes, &[]);
    let covered: u64 = whole.spans.iter().map(|s| s.end - s.start).sum();
    assert_eq!(covered, bytes.len() as u64, "bytes not accounted for");
    for cut in [bytes.len() / 3, bytes.len() / 2, bytes.len().saturating_sub(1)] {
        let parts = said::<P, K>(config, code, bytes, &[cut]);
        assert_eq!(parts.elements, whole.elements, "cut at {cut} of {bytes:02x?}");
    }
}

/// The map of a block that begins the capture.
pub(crate) fn whole() -> OffsetMap<'static> {
    OffsetMap::new(&WHOLE)
}

/// Keeps the helpers that not every protocol uses from being called dead.
#[test]
fn bytes_differ_by_seed() {
    assert_ne!(Random::new(1).bytes(16), Random::new(2).bytes(16));
    assert_eq!(whole().at(7), 7);
}
