//! N-Trace messages give the same elements many at once and one by one, for undamaged and damaged
//! streams, fed whole and in pieces.

use tracewright::base::{Decode, Element, Feed, OffsetMap, Parse, Piece, Sink, Spanned, Wire};
use tracewright::image::Cache;
use tracewright::protocols::ntrace::{Config, Decoder, Message, Ntrace, Packet};
use tracewright::protocols::{Observer, Stream};
use tracewright_testing::{Random, short_or_long};

use crate::ntrace_encode::{encode, unit};
use crate::ntrace_roundtrip::{marked, named, options, random_mix};
use crate::ntrace_run::cache;
use crate::program;

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

/// The elements of a stream, fed in pieces of `size()` bytes, and its decoder at the end.
fn fed(
    bytes: &[u8],
    config: &Config,
    (code, paths): (&mut Cache, bool),
    size: impl Fn() -> usize,
    each_packet: bool,
) -> (Vec<(u64, Element)>, Decoder) {
    let mut stream = Stream::<Ntrace>::new(*config);
    code.use_paths(paths.into());
    let mut output = Elements { each_packet, elements: Vec::new() };
    let piece = |at| [Piece { start: 0, at, fragment: true }];
    let (mut taken, mut end) = (0, 0);
    while end < bytes.len() {
        end = (end + size()).min(bytes.len());
        let pieces = piece(taken as u64);
        taken += stream.feed(&bytes[taken..end], &OffsetMap::new(&pieces), code, &mut output);
    }
    let decoder = stream.decoder().clone();
    let pieces = piece(taken as u64);
    stream.finish(&bytes[taken..], &OffsetMap::new(&pieces), code, &mut output);
    (output.elements, decoder)
}

fn check(name: &str, bytes: &[u8], config: &Config, code: &mut Cache, random: &mut Random) {
    let (want, decoder) = fed(bytes, config, (code, false), || bytes.len(), true);
    let size = 1 + random.below(90) as usize;
    for (way, (got, last)) in [
        ("whole", fed(bytes, config, (code, true), || bytes.len(), false)),
        ("without paths", fed(bytes, config, (code, false), || bytes.len(), false)),
        ("in pieces", fed(bytes, config, (code, true), || size, false)),
        ("byte by byte", fed(bytes, config, (code, true), || 1, false)),
    ] {
        let same = want.iter().zip(&got).take_while(|(a, b)| a == b).count();
        assert!(
            want == got && last == decoder,
            "{name} {way}: {same} the same of {} and {}, then {:?}, not {:?}\n{last:?}\n{decoder:?}",
            want.len(),
            got.len(),
            got.get(same),
            want.get(same),
        );
    }
}

/// The messages that are on the fast path, and the branch messages that are not.
fn on_fast_path(bytes: &[u8], config: &Config, code: &mut Cache) -> (usize, usize) {
    let mut decoder = Decoder::default();
    let mut output = Elements { each_packet: false, elements: Vec::new() };
    let pieces = [Piece { start: 0, at: 0, fragment: true }];
    let (mut at, mut fast, mut slow) = (0, 0, 0);
    loop {
        let mut feed = Feed::new(bytes, OffsetMap::new(&pieces), 0);
        feed.taken = at;
        decoder.packets(&mut feed, config, code, &mut output);
        (at, fast) = (feed.taken, fast + feed.packets);
        let Parse::Packet(packet, len) = Packet::parse(&bytes[at..], config) else {
            return (fast, slow);
        };
        let is_branch = match packet.message {
            Message::DirectBranch { .. } => true,
            Message::IndirectBranch { btype, .. } | Message::IndirectBranchHist { btype, .. } => {
                btype == 0
            }
            _ => false,
        };
        // The last messages have too few bytes after them.
        slow += usize::from(is_branch && at + 32 < bytes.len());
        let spanned = Spanned { at: at as u64, len: len as u32, packet: &packet };
        decoder.packet(spanned, config, code, &mut output);
        at += len;
    }
}

#[test]
fn at_once_and_one_by_one() {
    for seed in 0..short_or_long(60, 1000) {
        let mut random = Random::new(seed);
        let mix = random_mix(&mut random);
        let run = program::run(seed, 20 + random.below(200) as usize, 1000, mix);
        let options = options(&mut random, if mix.rv64 { 64 } else { 32 });
        let (config, settings) = unit(&named(&options));
        let steps = marked(&mut random, &run.steps);
        let (_, bytes) = encode(&steps, &config, &settings);
        let mut code = cache(&run.image, &config);
        let name = format!("seed {seed} {options:?}");
        check(&name, &bytes, &config, &mut code, &mut random);
        for _ in 0..4 {
            let mut damaged = bytes.clone();
            for _ in 0..1 + random.below(12) {
                let at = random.below(damaged.len() as u64) as usize;
                damaged[at] ^= 1 << random.below(8);
            }
            check(&name, &damaged, &config, &mut code, &mut random);
        }
    }
}

/// Plain branch and history messages are all on the fast path, once the program is in the cache.
#[test]
fn branches_are_on_the_fast_path() {
    for options in [
        &[("mode", "btm")][..],
        &[("mode", "htm")],
        &[("mode", "htm"), ("implicit-return-depth", "16"), ("trTsEnable", "1"), ("src_bits", "3")],
    ] {
        let mix = program::Mix { rv64: true, ..program::Mix::default() };
        let run = program::run(7, 200, 20_000, mix);
        let (config, settings) = unit(options);
        let (_, bytes) = encode(&run.steps, &config, &settings);
        let mut code = cache(&run.image, &config);
        code.use_paths(1);
        on_fast_path(&bytes, &config, &mut code);
        let (fast, slow) = on_fast_path(&bytes, &config, &mut code);
        assert!(fast > 100 && slow <= 2, "{options:?}: {fast} fast, {slow} slow");
    }
}
