//! Long counts of predicted branches give the same elements with cached blocks and without.

use std::sync::Arc;

use tracewright::base::{Element, Inconsistency, Uncached, Wire};
use tracewright::image::{Image, Region};
use tracewright::protocols::etrace::Params;
use tracewright::protocols::etrace::config::Profile;
use tracewright::protocols::etrace::packet::{BranchCount, Branches, Map, Packet, Payload, Start};
use tracewright_testing::short_or_long;

use crate::program::Random;
use crate::run::{cache, elements};

const BASE: u32 = 0x1000;
const WORDS: u32 = 256;

/// The bits of an offset, each at its place in an opcode.
fn scattered(offset: u32, places: &[(u32, u32, u32)]) -> u32 {
    places.iter().map(|&(from, len, to)| (offset >> from & ((1 << len) - 1)) << to).sum()
}

fn branch(offset: u32) -> u32 {
    0x0005_1063 | scattered(offset, &[(12, 1, 31), (5, 6, 25), (1, 4, 8), (11, 1, 7)])
}

fn jump(offset: u32, link: u32) -> u32 {
    let places = [(20, 1, 31), (1, 10, 21), (11, 1, 20), (12, 8, 12)];
    link << 7 | 0x6f | scattered(offset, &places)
}

/// Branches, jumps, calls and returns to random instructions, and a few between them. The last one
/// jumps to the first.
fn program(random: &mut Random, calls: bool) -> Vec<u8> {
    let word = |n: u32, random: &mut Random| {
        let to = random.below(WORDS.into()) as u32;
        let offset = to.wrapping_sub(n).wrapping_mul(4);
        match random.below(32) {
            _ if n == WORDS - 1 => jump(n.wrapping_neg().wrapping_mul(4), 0),
            0..=11 => branch(offset),
            // Never to itself alone.
            12 => jump(offset | 4, 0),
            13 | 14 if calls => jump(offset | 4, 1),
            15 if calls => 0x8067,
            _ => 0x13,
        }
    };
    (0..WORDS).flat_map(|n| word(n, random).to_le_bytes()).collect()
}

fn packets(random: &mut Random, params: &Params) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..40 {
        let start = Start {
            branch: true,
            address: (BASE / 2 + random.below(u64::from(WORDS)) as u32 * 2).into(),
            ..Start::default()
        };
        let mut all = vec![Payload::Start(start)];
        for _ in 0..random.below(6) {
            all.push(match random.below(4) {
                0 => Payload::Branches(Branches {
                    map: Map { bits: random.next() as u32 >> 1, len: 31 },
                    ..Branches::default()
                }),
                _ => {
                    let most = [70, 400, 3000][random.below(3) as usize];
                    let count = random.below(most) as u32;
                    Payload::BranchCount(BranchCount { count, report: None, failed: true })
                }
            });
        }
        all.into_iter().for_each(|payload| Packet::from(payload).emit(params, &mut bytes));
    }
    bytes
}

#[test]
fn long_counts_are_followed_among_cached_blocks_as_block_by_block() {
    let mut random = Random::new(11);
    let (mut ranges, mut lost, mut longest) = (0, 0, 0);
    for round in 0..short_or_long(300, 3000) {
        let mut params = Params::of(Profile::ReferenceFlow, false);
        params.widths.context = 0;
        params.widths.bpred_size = 1 + random.below(7) as u8;
        params.widths.f0s = 1;
        params.options.branch_prediction = true;
        let calls = random.below(3) == 0;
        if calls {
            params.options.implicit_return = true;
            params.widths.return_stack_size = 1 + random.below(3) as u8;
        }
        let region = Region::new("code", BASE.into(), program(&mut random, calls));
        let image = Arc::new(Image::new([region]));
        let bytes = packets(&mut random, &params);
        let (mut want, mut got) = (Vec::<(u64, Element)>::new(), Vec::<(u64, Element)>::new());
        elements(&bytes, &params, &mut Uncached(cache(&image, &params)), &mut want);
        elements(&bytes, &params, &mut cache(&image, &params), &mut got);
        let same = want.iter().zip(&got).take_while(|(a, b)| a == b).count();
        assert!(
            want == got,
            "round {round}: {same} the same of {} and {}, then {:?}, not {:?}, {}",
            want.len(),
            got.len(),
            got.get(same),
            want.get(same),
            params.to_text(),
        );
        let count = |is: fn(&Element) -> bool| want.iter().filter(|(_, own)| is(own)).count();
        ranges += count(|own| matches!(own, Element::Range(_)));
        lost +=
            count(|own| matches!(own, Element::Inconsistency(Inconsistency::AddressNotReached)));
        let of_packet = want.chunk_by(|(a, _), (b, _)| a == b).map(<[_]>::len);
        longest = longest.max(of_packet.max().unwrap_or(0));
    }
    println!("{ranges} ranges, {lost} lost, at most {longest} in a packet");
    assert!(ranges > 100_000 && lost > 100 && longest > 1000);
}
