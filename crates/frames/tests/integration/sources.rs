//! The collected bytes equal the split pieces, however many bytes are consumed in between.

use crate::ways;

use tracewright_base::Piece;
use tracewright_frames::{Framing, Joiner, Link, Sources, Splitter};
use tracewright_testing::Random;
use ways::{Item, whole};

/// A link of some sources, with long runs of frames without an ID byte.
fn link(framing: Framing, random: &mut Random) -> Vec<u8> {
    let (mut joiner, mut out) = (Joiner::new(framing).full_sync_every(7), Vec::new());
    for _ in 0..40 {
        let len = 1 + random.index(900);
        let (id, bytes) = (0x10 + random.index(3) as u8, random.bytes(len));
        joiner.push(id, &bytes, &mut out).unwrap();
    }
    joiner.finish(&mut out);
    out
}

#[test]
fn sources_collect_pieces() {
    let mut random = Random::new(6);
    for framing in [Framing::Coresight, Framing::Tpiu, Framing::Dstream] {
        let bytes = link(framing, &mut random);
        for link in [Link::new(framing), Link::new(framing).opencsd()] {
            let (mut splitter, mut sources) = (Splitter::new(link), Sources::default());
            splitter.split(0, &bytes, &mut sources);
            splitter.finish(&mut sources);

            let items = whole(link, &bytes).out();
            for source in sources.iter() {
                let (mut want, mut pieces) = (Vec::new(), Vec::new());
                for item in &items {
                    if let Item::Piece { id, at, fragment, bytes } = item
                        && *id == source.id()
                    {
                        pieces.push(Piece {
                            start: want.len() as u32,
                            at: *at,
                            fragment: *fragment,
                        });
                        want.extend(bytes);
                    }
                }
                assert_eq!(source.bytes(), want, "{link:?}");
                assert_eq!(source.pieces(), pieces, "{link:?}");
            }
            let events = items.iter().filter(|item| matches!(item, Item::Event(..))).count();
            assert_eq!(sources.events().len(), events);
        }
    }
}

#[test]
fn consuming_bytes_does_not_change_other_offsets() {
    let mut random = Random::new(7);
    let bytes = link(Framing::Coresight, &mut random);
    let split = |cut: usize, sources: &mut Sources, consume: &mut dyn FnMut(usize) -> usize| {
        let mut splitter = Splitter::new(Link::new(Framing::Coresight));
        let mut out = vec![Vec::new(); 128];
        for (k, part) in bytes.chunks(cut).enumerate() {
            splitter.split((k * cut) as u64, part, sources);
            for source in sources.iter_mut() {
                let n = consume(source.bytes().len());
                let (bytes, offsets) = (source.bytes(), source.offsets());
                out[usize::from(source.id())].extend((0..n).map(|i| (offsets.at(i), bytes[i])));
                source.consume(n);
            }
        }
        out
    };
    let want = split(bytes.len(), &mut Sources::default(), &mut |n| n);
    for cut in [1, 16, 100, 1000] {
        let mut sources = Sources::default();
        let mut got = split(cut, &mut sources, &mut |n| random.index(n + 1));
        for source in sources.iter() {
            let rest = source.bytes().iter().enumerate();
            got[usize::from(source.id())].extend(rest.map(|(i, &b)| (source.offsets().at(i), b)));
        }
        assert_eq!(got, want, "{cut} bytes at a time");
    }
}
