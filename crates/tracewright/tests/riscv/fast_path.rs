//! Packets give the same elements many at once and one by one: clean and damaged streams, whole and
//! in chunks.

use std::ops::Range;

use tracewright::base::{Element, Fault, OffsetMap, Piece};
use tracewright::image::Cache;
use tracewright::protocols::etrace::{Etrace, Packet, Params};
use tracewright::protocols::{Stream, Tap};

use crate::decode::elf;
use crate::program::Random;
use crate::run::{cache, elements, program};
use crate::streams::{self, draft, optional, reference};

/// Wants to see each packet, so that there are no more of them at once.
struct Each;

impl Tap<Etrace> for Each {
    fn packet(&mut self, _: &OffsetMap<'_>, _: Range<usize>, _: &[u8], _: &Packet) {}

    fn bad(&mut self, _: &OffsetMap<'_>, _: Range<usize>, _: &[u8], _: Fault) {}
}

/// The elements of a stream, fed in pieces of so many bytes. `tap` sees the packets.
fn fed<T: Tap<Etrace>>(
    bytes: &[u8],
    params: &Params,
    code: &mut Cache,
    size: impl Fn() -> usize,
    tap: &mut T,
) -> Vec<(u64, Element)> {
    let mut stream = Stream::<Etrace>::new(*params);
    let mut emitted: Vec<(u64, Element)> = Vec::new();
    let piece = |at| [Piece { start: 0, at, fragment: true }];
    let (mut taken, mut end) = (0, 0);
    while end < bytes.len() {
        end = (end + size()).min(bytes.len());
        let pieces = piece(taken as u64);
        taken += stream.feed(&bytes[taken..end], &OffsetMap::new(&pieces), code, &mut emitted, tap);
    }
    let pieces = piece(taken as u64);
    stream.finish(&bytes[taken..], &OffsetMap::new(&pieces), code, &mut emitted, tap);
    emitted
}

fn check(name: &str, bytes: &[u8], params: &Params, code: &mut Cache, random: &mut Random) {
    let want = fed(bytes, params, code, || bytes.len(), &mut Each);
    let mut whole: Vec<(u64, Element)> = Vec::new();
    elements(bytes, params, code, &mut whole);
    let size = 1 + random.below(90) as usize;
    for (way, got) in [("whole", whole), ("in pieces", fed(bytes, params, code, || size, &mut ()))]
    {
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
    let Some(root) = streams::shared("at_once_and_one_by_one") else { return };
    let mut random = Random(3);
    let mut all = reference(&root);
    all.extend(draft(&root));
    all.extend(optional(&root));
    all.retain(|stream| stream.bytes.len() < 120_000);
    for stream in &all {
        let (name, params) = (stream.path.display().to_string(), &stream.params);
        let image = program(elf(&root, stream), params.rv64);
        let mut code = cache(&image, params);
        check(&name, &stream.bytes, params, &mut code, &mut random);
        for _ in 0..if stream.bytes.len() < 40_000 { 6 } else { 1 } {
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
