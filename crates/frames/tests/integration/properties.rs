//! Properties of any bytes in any framing.

use crate::ways;

use tracewright_base::Fault;
use tracewright_frames::{Event, Framing, Joiner, Link, Splitter, sync};
use tracewright_testing::Random;
use ways::{Item, Record, cut, noise, quiet, runs, whole};

fn links() -> impl Iterator<Item = Link> {
    Framing::ALL.into_iter().flat_map(|framing| {
        [
            Link::new(framing),
            Link::new(framing).opencsd(),
            Link { barriers: false, ..Link::new(framing) },
        ]
    })
}

fn joined(framing: Framing, random: &mut Random, runs: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut joiner = Joiner::new(framing)
        .full_sync_every(random.index(5) as u32)
        .half_sync_every(random.index(5) as u32);
    let mut out = Vec::new();
    for (id, bytes) in runs {
        joiner.push(*id, bytes, &mut out).unwrap();
    }
    joiner.finish(&mut out);
    out
}

/// Each byte of the capture is in exactly one piece, event, ID byte or last byte of a frame.
fn conserved(link: Link, record: &Record, len: usize) {
    let mut seen = vec![0; len];
    // A synchronisation packet may continue after a footer.
    let in_footer = |at: u64| link.framing == Framing::Dstream && at % 512 >= 504;
    let mut mark = |at: u64, n: usize, skips: bool| {
        for at in (at..).filter(|&at| !(skips && in_footer(at))).take(n) {
            seen[at as usize] += 1;
        }
    };
    for item in &record.items {
        match item {
            Item::Piece { at, bytes, .. } => mark(*at, bytes.len(), false),
            Item::Event(at, event) => mark(
                *at,
                match event {
                    Event::FullSync => 4,
                    Event::HalfSync => 2,
                    Event::Barrier => 16,
                    Event::Footer(_) => 8,
                    Event::Trigger(_) | Event::Flush(_) => 1,
                    Event::Null { len }
                    | Event::Reserved { len, .. }
                    | Event::NoSource { len }
                    | Event::Bad { len, .. } => *len as usize,
                },
                matches!(event, Event::FullSync | Event::HalfSync),
            ),
            Item::Frame(bytes, offsets) => {
                mark(offsets[15], 1, false);
                for i in (0..15).step_by(2).filter(|&i| bytes[i] & 1 != 0) {
                    mark(offsets[i], 1, false);
                }
            }
            Item::Fragment(..) => {}
        }
    }
    for (at, seen) in seen.into_iter().enumerate() {
        assert_eq!(seen, 1, "byte {at}");
    }
}

/// Bytes of a piece equal those of the capture except for bit 0.
fn in_place(record: &Record, capture: &[u8]) {
    for item in &record.items {
        if let Item::Piece { at, bytes, .. } = item {
            for (got, was) in bytes.iter().zip(&capture[*at as usize..]) {
                assert_eq!(got | 1, was | 1, "piece at {at}");
            }
        }
    }
}

/// `skip` and `split` come to the same state.
fn skipped(link: Link, bytes: &[u8], random: &mut Random) {
    let (mut split, mut skip) = (Splitter::new(link), Splitter::new(link));
    let mut at = 0;
    while at < bytes.len() {
        let part = &bytes[at..at + 1 + random.index(bytes.len() - at)];
        split.split(at as u64, part, &mut Record::default());
        skip.skip(at as u64, part);
        at += part.len();
        assert_eq!(skip, split, "{link:?}: up to {at}");
    }
}

fn every_way(link: Link, bytes: &[u8], random: &mut Random) -> Record {
    let want = whole(link, bytes);
    assert_eq!(quiet(link, bytes), want.out(), "{link:?}");
    skipped(link, bytes, random);
    if link.framing != Framing::Raw {
        let each: Vec<_> = (0..bytes.len()).collect();
        assert_eq!(cut(link, bytes, &each), want, "{link:?}: byte by byte");
        for _ in 0..4 {
            let mut cuts: Vec<_> = (0..5).map(|_| random.index(bytes.len() + 1)).collect();
            cuts.sort_unstable();
            assert_eq!(cut(link, bytes, &cuts), want, "{link:?}: cut at {cuts:?}");
        }
    }
    if link == Link::new(link.framing) || !link.barriers {
        conserved(link, &want, bytes.len());
        in_place(&want, bytes);
    }
    want
}

#[test]
fn noise_is_accounted_for_in_any_cut() {
    let mut random = Random::new(1);
    for _ in 0..60 {
        let len = 20 + random.index(1200);
        let bytes = noise(&mut random, len);
        for link in links() {
            every_way(link, &bytes, &mut random);
        }
    }
}

#[test]
fn joined_bytes_are_split() {
    let mut random = Random::new(2);
    for round in 0..120 {
        let runs = runs(&mut random, 1 + round % 5, 1 + round);
        for link in links().filter(|link| link.framing != Framing::Raw) {
            let bytes = joined(link.framing, &mut random, &runs);
            let got = every_way(link, &bytes, &mut random);
            assert_eq!(got.runs(), runs, "{link:?}");
            for item in got.out() {
                if let Item::Event(_, event) = item {
                    let plain = !matches!(
                        event,
                        Event::Bad { .. }
                            | Event::NoSource { .. }
                            | Event::Reserved { .. }
                            | Event::Barrier
                    );
                    assert!(plain, "{link:?}: {event:?}");
                }
            }
            let odd = match link.framing {
                Framing::Coresight => bytes.len() % 16,
                Framing::Dstream => bytes.len() % 512,
                _ => 0,
            };
            assert_eq!(odd, 0, "{link:?}: {} bytes", bytes.len());
        }
    }
}

/// With a repeated trace ID, frames can be split from any frame on, and the bytes are the same.
#[test]
fn repeated_ids() {
    let mut random = Random::new(9);
    for round in 0..60 {
        let len = 200 + random.index(2000);
        let bytes = random.bytes(len);
        let mut joiner = Joiner::new(Framing::Coresight).repeat_id_every(8);
        let mut frames = Vec::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (some, after) = rest.split_at(1 + random.index(rest.len()));
            joiner.push(0x12, some, &mut frames).unwrap();
            rest = after;
        }
        joiner.finish(&mut frames);
        let link = Link::new(Framing::Coresight);
        assert_eq!(whole(link, &frames).runs(), [(0x12, bytes.clone())], "round {round}");
        for first in (0..frames.len()).step_by(16) {
            let runs = whole(link, &frames[first..]).runs();
            let got = runs.first().map_or(&[][..], |(_, run)| run);
            assert!(bytes.ends_with(got));
            // At most 9 frames are without an ID.
            assert!(got.len() + 9 * 15 + 14 >= (frames.len() - first) * 14 / 16, "{first}");
        }
    }
}

/// Half synchronisation packets at any position do not change the frames.
#[test]
fn half_synchronisation_anywhere() {
    let mut random = Random::new(6);
    for round in 0..100 {
        let runs = runs(&mut random, 1 + round % 3, 1 + round);
        let mut joiner = Joiner::new(Framing::Tpiu).full_sync_every(3);
        let mut plain = Vec::new();
        for (id, run) in &runs {
            joiner.push(*id, run, &mut plain).unwrap();
        }
        joiner.finish(&mut plain);
        let mut bytes = Vec::new();
        let mut rest = &plain[..];
        while let Some((&pair, mut after)) = rest.split_first_chunk::<2>() {
            bytes.extend(pair);
            // Full synchronisation packets are not interrupted.
            if rest.starts_with(&sync::FULL) {
                bytes.extend(&rest[2..4]);
                after = &rest[4..];
            }
            let some = [0, 0, 0, 0, 0, 1, 2, 9, 40][random.index(9)];
            let many = if random.index(200) == 0 { 300 } else { some };
            bytes.extend(sync::HALF.repeat(many));
            rest = after;
        }
        for link in [Link::new(Framing::TpiuHalf), Link::new(Framing::TpiuHalf).opencsd()] {
            let got = every_way(link, &bytes, &mut random);
            assert_eq!(got.runs(), runs);
            let bad = |item: &Item| matches!(item, Item::Event(_, Event::Bad { .. }));
            assert!(!got.items.iter().any(bad));
        }
    }
}

/// Where both numberings cut the same fragments, the bytes are the same.
#[test]
fn numberings_differ_in_offsets_only() {
    let mut random = Random::new(3);
    for round in 0..60 {
        let bytes = noise(&mut random, 600 + round);
        for framing in Framing::ALL {
            let capture = whole(Link::new(framing), &bytes);
            let reference = whole(Link::new(framing).opencsd(), &bytes);
            assert_eq!(capture.runs(), reference.runs());
            let fragments = |record: &Record| {
                let first = |item: &&Item| matches!(item, Item::Piece { fragment: true, .. });
                record.items.iter().filter(first).count()
            };
            if framing != Framing::Raw {
                assert_eq!(fragments(&capture), fragments(&reference));
            }
        }
    }
}

/// Where bytes of a frame are lost, only that frame is undecodable.
#[test]
fn a_hole_costs_one_frame() {
    let mut random = Random::new(4);
    for framing in [Framing::Tpiu, Framing::TpiuHalf] {
        for round in 0..200 {
            let mut joiner = Joiner::new(framing).full_sync_every(1).half_sync_every(0);
            let mut bytes = Vec::new();
            for (id, run) in runs(&mut random, 3, 60) {
                joiner.push(id, &run, &mut bytes).unwrap();
            }
            joiner.finish(&mut bytes);
            let frames = |record: &Record| -> Vec<[u8; 16]> {
                let frame = |item: &Item| match item {
                    Item::Frame(bytes, _) => Some(*bytes),
                    _ => None,
                };
                record.items.iter().filter_map(frame).collect()
            };
            let mut want = frames(&whole(Link::new(framing), &bytes));

            let hit = random.index(want.len());
            let lost = 1 + round % 15;
            let from = hit * 20 + 4 + random.index(17 - lost);
            bytes.drain(from..from + lost);
            want.remove(hit);
            let got = every_way(Link::new(framing), &bytes, &mut random);
            assert_eq!(frames(&got), want, "{lost} bytes lost of frame {hit}");
            let last = hit == want.len();
            let fault = if last { Fault::Truncated } else { Fault::Frame };
            let bad = Event::Bad { len: 16 - lost as u32, fault };
            let at = hit as u64 * 20 + 4;
            let bads: Vec<_> = got
                .out()
                .into_iter()
                .filter(|item| matches!(item, Item::Event(_, Event::Bad { .. })))
                .collect();
            assert_eq!(bads, [Item::Event(at, bad)], "{lost} bytes lost of frame {hit}");
        }
    }
}

#[test]
fn barriers_clear_the_id() {
    let mut random = Random::new(5);
    let runs = [(0x10, vec![1, 2, 3]), (0x11, vec![4; 20])];
    let one = joined(Framing::Coresight, &mut random, &runs);
    let bytes = [one.as_slice(), &sync::BARRIER, &[0; 16]].concat();
    let got = every_way(Link::new(Framing::Coresight), &bytes, &mut random).out();
    assert_eq!(
        got[got.len() - 2..],
        [
            Item::Event(one.len() as u64, Event::Barrier),
            Item::Event(one.len() as u64 + 16, Event::NoSource { len: 15 }),
        ]
    );
}
