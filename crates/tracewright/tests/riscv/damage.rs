//! Damaged streams: the decoder does not panic, each walk ends, and from the next packet of format
//! 3 on the elements are those of the undamaged stream.

use std::path::Path;

use tracewright::base::{Element, Parse, Wire};
use tracewright::protocols::etrace::packet::{Packet, Payload};
use tracewright_testing::{Random, short_or_long};

use crate::decode::elf;
use crate::run::{cache, elements, program};
use crate::streams::{self, Stream, up_to};

/// The bytes that may be decoded wrongly before alignment is found again: the look-ahead.
pub const REACH: usize = 600;

/// Damages `bytes` before `end`. The result is the offset of the damage, and the shift of the bytes
/// after it.
fn damage(random: &mut Random, bytes: &mut Vec<u8>, end: usize) -> (usize, isize) {
    let at = random.index(end);
    let count = 1 + random.index(40);
    match random.index(5) {
        0 => {
            bytes[at] ^= 1 << random.index(8);
            (at + 1, 0)
        }
        1 => {
            for byte in bytes.iter_mut().skip(at).take(count) {
                *byte = random.index(256) as u8;
            }
            (at + count, 0)
        }
        2 => {
            for byte in bytes.iter_mut().skip(at).take(count) {
                *byte = 0;
            }
            (at + count, 0)
        }
        3 => {
            bytes.drain(at..at + count);
            (at + count, -(count as isize))
        }
        _ => {
            let extra: Vec<u8> = (0..count).map(|_| random.index(256) as u8).collect();
            bytes.splice(at..at, extra);
            (at, count as isize)
        }
    }
}

/// The offsets of packets with a full address.
pub fn starts(stream: &Stream) -> Vec<usize> {
    let (mut at, mut starts) = (0, Vec::new());
    while let Parse::Packet(packet, len) = Packet::parse(&stream.bytes[at..], &stream.params) {
        if matches!(packet.payload, Payload::Start(_) | Payload::Trap(_)) {
            starts.push(at);
        }
        at += len;
    }
    starts
}

fn check(root: &Path, stream: &Stream, random: &mut Random, times: usize) -> usize {
    let Stream { path, params, bytes, .. } = stream;
    let image = program(elf(root, stream), params.rv64);
    let mut code = cache(&image, params);
    let mut clean: Vec<(u64, Element)> = Vec::new();
    elements(bytes, params, &mut code, &mut clean);
    let starts = starts(stream);
    let mut compared = 0;
    // One packet may count predicted branches up to a bound.
    let counted = if params.widths.bpred_size > 0 { params.choices.longest_count } else { 0 };
    let most = 50_000 + counted as usize * 2;
    for _ in 0..times {
        let mut damaged = bytes.clone();
        let seed = *random;
        let (until, moved) = damage(random, &mut damaged, bytes.len() - 50);
        let mut got: Vec<(u64, Element)> = Vec::new();
        elements(&damaged, params, &mut code, &mut got);
        let name = format!("{} from {seed:?}", path.display());
        assert!(got.len() < clean.len() * 4 + most, "{name}: {} elements", got.len());
        let Some(start) = starts.iter().find(|start| **start >= until + REACH) else { continue };
        let after = |list: &[(u64, Element)], at: isize| -> Vec<(u64, Element)> {
            let from = list.partition_point(|(place, _)| *place as isize <= at);
            list[from..].to_vec()
        };
        let start = *start as isize;
        let want = after(&clean, start);
        let got = after(&got, start + moved);
        let same = want
            .iter()
            .zip(&got)
            .take_while(|((a, x), (b, y))| *a as isize + moved == *b as isize && x == y)
            .count();
        assert!(
            same == want.len() && same == got.len(),
            "{name}: after {start} {same} of {} are the same, then {:?}, not {:?}",
            want.len(),
            got.get(same),
            want.get(same),
        );
        compared += 1;
    }
    compared
}

#[test]
fn damaged_streams() {
    let Some(root) = streams::shared() else { return };
    let mut random = Random::new(0x5eed);
    let mut all = streams::reference(&root);
    all.extend(streams::draft(&root));
    all.retain(|stream| stream.bytes.len() < 40_000);
    let (all, times) = (up_to(20_000, all), short_or_long(5, 30));
    let mut compared = 0;
    for stream in &all {
        compared += check(&root, stream, &mut random, times);
    }
    eprintln!("{compared} of {} damaged streams were compared after the damage", all.len() * times);
    assert!(compared > short_or_long(40, 500), "only {compared} streams");
}

/// With the optional modes there is more that damage can do.
#[test]
fn damaged_streams_with_optional_modes() {
    let Some(root) = streams::shared() else { return };
    let mut random = Random::new(0xdead);
    for stream in &up_to(10_000, streams::optional(&root)) {
        check(&root, stream, &mut random, short_or_long(5, 20));
    }
}
