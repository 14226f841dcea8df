//! Alignment Sync: 11 or more zeros and `1000_0000`. (Arm ARM K10.5.2.3)

use std::vec;
use std::vec::Vec;

use tracewright_base::{Fault, Parse, SyncSearch, Wire};

use super::super::{Packet, sync};
use super::ete_1_0;
use crate::ways::Random;

/// The same by the definition.
fn slow(bytes: &[u8]) -> SyncSearch {
    let ends = |k: &usize| {
        bytes[*k] == 0x80 && *k >= 11 && bytes[*k - 11..*k].iter().all(|&byte| byte == 0)
    };
    match (0..bytes.len()).find(ends) {
        Some(end) => SyncSearch::At(end - 11),
        None => {
            let zeros = bytes.iter().rev().take_while(|&&byte| byte == 0).count();
            SyncSearch::NotIn(bytes.len() - zeros.min(11))
        }
    }
}

fn run(before: &[u8], zeros: usize, after: &[u8]) -> Vec<u8> {
    [before, &vec![0; zeros], after].concat()
}

#[test]
fn found() {
    for (bytes, want) in [
        (run(&[], 0, &[]), SyncSearch::NotIn(0)),
        (run(&[], 11, &[0x80]), SyncSearch::At(0)),
        (run(&[], 11, &[0x80, 0x01]), SyncSearch::At(0)),
        (run(&[0xf7], 11, &[0x80]), SyncSearch::At(1)),
        // More zeros than needed: they may be the end of another packet.
        (run(&[0xf7], 14, &[0x80]), SyncSearch::At(4)),
        (run(&[], 10, &[0x80]), SyncSearch::NotIn(11)),
        (run(&[], 11, &[0x81]), SyncSearch::NotIn(12)),
        (run(&[0x9a], 10, &[]), SyncSearch::NotIn(1)),
        (run(&[0x9a], 11, &[]), SyncSearch::NotIn(1)),
        (run(&[0x9a], 20, &[]), SyncSearch::NotIn(10)),
        (run(&[0x9a, 0x80], 0, &[]), SyncSearch::NotIn(2)),
        (run(&run(&[1], 10, &[0x80]), 11, &[0x80]), SyncSearch::At(12)),
    ] {
        assert_eq!(sync::find(&bytes), want, "{bytes:02x?}");
        assert_eq!(slow(&bytes), want, "{bytes:02x?}");
    }
}

#[test]
fn as_defined() {
    let mut random = Random(0x5eed);
    for _ in 0..20_000 {
        let mut bytes = Vec::new();
        for _ in 0..random.next() % 6 {
            let zeros = (random.next() >> 20) % 16;
            let byte = [0x80, 0x00, 0xf7, 0x81][(random.next() >> 33) as usize % 4];
            bytes = run(&bytes, zeros as usize, &[byte]);
        }
        assert_eq!(sync::find(&bytes), slow(&bytes), "{bytes:02x?}");
        // Cut anywhere: what was left is enough to find it.
        if let SyncSearch::At(at) = slow(&bytes) {
            for cut in 0..bytes.len() {
                match sync::find(&bytes[..cut]) {
                    SyncSearch::At(found) => assert_eq!(found, at),
                    SyncSearch::NotIn(n) => {
                        assert!(n <= at, "{cut} of {bytes:02x?}");
                        assert_eq!(sync::find(&bytes[n..]), SyncSearch::At(at - n));
                    }
                }
            }
        }
    }
}

/// Once in step, any number of zeros from 11 on is one packet.
#[test]
fn packets() {
    let config = ete_1_0();
    for zeros in 1..40 {
        let bytes = run(&[], zeros, &[0x80, 0x01]);
        let want = match zeros {
            1..=10 => Parse::Bad(zeros + 1, Fault::Sequence),
            _ => Parse::Packet(Packet::AlignSync, zeros + 1),
        };
        assert_eq!(Packet::parse(&bytes, &config), want);
        assert_eq!(Packet::parse(&bytes[..zeros], &config), Parse::Partial);
        let bytes = run(&[], zeros.max(2), &[0x05]);
        assert_eq!(Packet::parse(&bytes, &config), Parse::Bad(bytes.len(), Fault::Sequence));
    }
    super::both_ways(&config, &run(&[], 11, &[0x80]), Packet::AlignSync);
}
