//! Packets give the same elements many at once and one by one, for undamaged and damaged streams,
//! fed whole and in chunks.

use std::sync::Arc;

use tracewright::base::{
    Decode, Element, Feed, Inconsistency, OffsetMap, Parse, Piece, Sink, Spanned, Wire,
};
use tracewright::image::{Cache, CacheOptions, Image, Region};
use tracewright::protocols::etrace::config::Profile;
use tracewright::protocols::etrace::packet::Payload;
use tracewright::protocols::etrace::{Decoder, Etrace, Packet, Params};
use tracewright::protocols::{Observer, Protocol, Stream};
use tracewright_testing::short_or_long;

use crate::decode::elf;
use crate::program::Random;
use crate::run::{cache, elements, program};
use crate::streams::{self, draft, optional, reference, up_to};

/// The elements of a stream. Whether its decoder must take packets one by one.
struct Elements {
    each_packet: bool,
    elements: Vec<(u64, Element)>,
}

impl Sink for Elements {
    fn element(&mut self, at: u64, element: Element) {
        self.elements.push((at, element));
    }
}

impl Observer for Elements {
    fn wants_each_packet(&self) -> bool {
        self.each_packet
    }
}

/// The elements of a stream, fed in pieces of `size()` bytes.
fn fed(
    bytes: &[u8],
    params: &Params,
    code: &mut Cache,
    size: impl Fn() -> usize,
    each_packet: bool,
) -> Vec<(u64, Element)> {
    let mut stream = Stream::<Etrace>::new(*params);
    let mut output = Elements { each_packet, elements: Vec::new() };
    let piece = |at| [Piece { start: 0, at, fragment: true }];
    let (mut taken, mut end) = (0, 0);
    while end < bytes.len() {
        end = (end + size()).min(bytes.len());
        let pieces = piece(taken as u64);
        taken += stream.feed(&bytes[taken..end], &OffsetMap::new(&pieces), code, &mut output);
    }
    let pieces = piece(taken as u64);
    stream.finish(&bytes[taken..], &OffsetMap::new(&pieces), code, &mut output);
    output.elements
}

fn check(name: &str, bytes: &[u8], params: &Params, code: &mut Cache, random: &mut Random) {
    let want = fed(bytes, params, code, || bytes.len(), true);
    let mut whole: Vec<(u64, Element)> = Vec::new();
    elements(bytes, params, code, &mut whole);
    let size = 1 + random.below(90) as usize;
    for (way, got) in [("whole", whole), ("in pieces", fed(bytes, params, code, || size, false))] {
        let same = want.iter().zip(&got).take_while(|(a, b)| a == b).count();
        assert!(
            want == got,
            "{name} {way}: {same} the same of {} and {}, then {:?}, not {:?}",
            want.len(),
            got.len(),
            got.get(same),
            want.get(same),
        );
    }
}

#[test]
fn at_once_and_one_by_one() {
    let Some(root) = streams::shared() else { return };
    let mut random = Random::new(3);
    let mut all = reference(&root);
    all.extend(draft(&root));
    all.extend(optional(&root));
    all.retain(|stream| stream.bytes.len() < 120_000);
    let all = up_to(8_000, all);
    for stream in &all {
        let (name, params) = (stream.path.display().to_string(), &stream.params);
        let image = program(elf(&root, stream), params.rv64);
        let mut code = cache(&image, params);
        check(&name, &stream.bytes, params, &mut code, &mut random);
        for _ in 0..if stream.bytes.len() < 40_000 { short_or_long(3, 6) } else { 1 } {
            let mut damaged = stream.bytes.clone();
            for _ in 0..1 + random.below(12) {
                let at = random.below(damaged.len() as u64) as usize;
                damaged[at] ^= 1 << random.below(8);
            }
            check(&name, &damaged, params, &mut code, &mut random);
        }
    }
    println!("{} streams", all.len());
}

/// What the fast path spends of a packet's limit is not available to the walk that finishes the
/// packet: each jump costs 513 instructions of it.
#[test]
fn a_packet_has_one_limit() {
    const LIMIT: u32 = 138_000;
    let mut params = Params::of(Profile::ReferenceFlow, false);
    params.widths.context = 0;
    // Jumps to the next instruction, and two that do not jump.
    let jumps = [0x0040_006f_u32; 1000].into_iter().chain([0x13, 0x13]);
    let code: Vec<_> = jumps.flat_map(u32::to_le_bytes).collect();
    let image = Arc::new(Image::new([Region::new("code", 0x1000, code)]));
    let options = CacheOptions { max_expansion: LIMIT, ..CacheOptions::default() };
    // A start at 0x1000; the address of the last instruction; further starts, because the fast path
    // needs bytes behind a packet.
    let start = [0x43, 0x73, 0x00, 0x04];
    let bytes = [&start[..], &[0x42, 0x4a, 0x1f], &start.repeat(5)].concat();
    let mut counts = Vec::new();
    for each_packet in [true, false] {
        let mut code = Cache::new(Arc::clone(&image), Etrace::waypoints(&params), options);
        let all = fed(&bytes, &params, &mut code, || bytes.len(), each_packet);
        let limit = Element::Inconsistency(Inconsistency::ExpansionLimit);
        assert!(all.contains(&(4, limit)), "{all:?}");
        let ranges = all.iter().filter(|(at, e)| *at == 4 && matches!(e, Element::Range(_)));
        counts.push(ranges.count());
    }
    assert_eq!(counts, [3 * LIMIT as usize / 513; 2]);
}

/// The packets of a stream that can be on the fast path: how many are, and how many are of format 0
/// without being on it.
fn on_fast_path(bytes: &[u8], params: &Params, code: &mut Cache) -> (usize, usize) {
    let mut decoder = Decoder::default();
    let mut output = Elements { each_packet: false, elements: Vec::new() };
    let pieces = [Piece { start: 0, at: 0, fragment: true }];
    let (mut at, mut fast, mut slow) = (0, 0, 0);
    loop {
        let mut feed = Feed::new(bytes, OffsetMap::new(&pieces), 0);
        feed.taken = at;
        decoder.packets(&mut feed, params, code, &mut output);
        (at, fast) = (feed.taken, fast + feed.packets);
        let Parse::Packet(packet, len) = Packet::parse(&bytes[at..], params) else {
            return (fast, slow);
        };
        slow +=
            usize::from(matches!(packet.payload, Payload::BranchCount(_) | Payload::JumpTarget(_)));
        let packet = Spanned { at: at as u64, len: len as u32, packet: &packet };
        decoder.packet(packet, params, code, &mut output);
        at += len;
    }
}

/// Counts of predicted branches and indexes of the jump target cache do not end the fast path.
#[test]
fn optional_modes_are_on_the_fast_path() {
    let Some(root) = streams::shared() else { return };
    let mut count = 0;
    for stream in up_to(40_000, optional(&root)) {
        let mut params = stream.params;
        let modes = stream.program.split('.').nth(1).unwrap_or_default();
        params.options.branch_prediction = modes.contains('b');
        params.options.jump_target_cache = modes.contains('j');
        if modes.contains('i') || !modes.contains(['b', 'j']) {
            continue;
        }
        let image = program(elf(&root, &stream), params.rv64);
        let (fast, slow) = on_fast_path(&stream.bytes, &params, &mut cache(&image, &params));
        assert!(fast > 20 * slow, "{}: {fast}, {slow} of format 0 not", stream.program);
        count += 1;
    }
    assert!(count >= 3, "{count} streams");
}
