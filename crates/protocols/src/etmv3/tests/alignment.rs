//! Captures that are not aligned to the bytes of the trace unit. (IHI 0014, 7.7.2)

use std::vec::Vec;

use tracewright_base::Element;
use tracewright_testing::short_or_long;

use super::program::arm;
use super::*;
use crate::etmv3::Etmv3;
use crate::ways;

const NOP: u32 = 0xe1a0_0000;
const BX_LR: u32 = 0xe12f_ff1e;

/// A-sync, I-sync and some atoms and branches, all in the A32 code at 0x8000.
const PERIOD: [u8; 18] =
    [0, 0, 0, 0, 0, 0x80, 0x08, 0x21, 0x00, 0x80, 0x00, 0x00, 0x88, 0x8c, 0x01, 0x8c, 0x66, 0x84];

/// The bits of `bytes`, the low bit of each byte first.
fn bits(bytes: &[u8]) -> Vec<bool> {
    bytes.iter().flat_map(|byte| (0..8).map(move |k| byte >> k & 1 != 0)).collect()
}

/// The bytes of `bits`, and zeros up to the end of the last one.
fn bytes(bits: &[bool]) -> Vec<u8> {
    let byte = |chunk: &[bool]| chunk.iter().rev().fold(0, |b, &bit| b << 1 | u8::from(bit));
    bits.chunks(8).map(byte).collect()
}

/// The elements from the last `periods` times that tracing begins, without offsets.
fn last_periods(bytes: &[u8], periods: usize) -> Vec<Element> {
    let code = arm(&[NOP, NOP, NOP, NOP, BX_LR, NOP]);
    let elements = ways::check::<Etmv3, _>(&unit(3, 0), &mut code.clone(), bytes).elements;
    let elements = elements.into_iter().map(|(_, element)| element);
    let elements: Vec<_> =
        elements.filter(|element| !matches!(element, Element::Undecodable { .. })).collect();
    let starts: Vec<_> =
        (0..elements.len()).filter(|&k| matches!(elements[k], Element::TraceOn(_))).collect();
    let first = starts.len().checked_sub(periods).map_or(0, |k| starts[k]);
    elements[first..].to_vec()
}

/// A capture may begin at any bit.
#[test]
fn shifted_captures() {
    let stream = PERIOD.repeat(2);
    let want = last_periods(&stream, 2);
    for shift in 1..8 {
        for before in [true, false] {
            let shifted = [&std::vec![before; shift][..], &bits(&stream)].concat();
            assert_eq!(last_periods(&bytes(&shifted), 2), want, "shifted by {shift}");
        }
        let late = &bits(&stream)[shift..];
        assert_eq!(last_periods(&bytes(late), 1), last_periods(&stream, 1), "without {shift}");
    }
}

/// A capture that loses or repeats bits is decoded again from the next A-sync on.
#[test]
fn lost_and_repeated_bits() {
    let stream = PERIOD.repeat(4);
    let want = last_periods(&stream, 2);
    let stream = bits(&stream);
    // The lost bits are not those of the next A-sync.
    for at in (8 * PERIOD.len()..8 * (2 * PERIOD.len() - 1)).step_by(short_or_long(7, 3)) {
        for count in 1..8 {
            let lost = [&stream[..at], &stream[at + count..]].concat();
            assert_eq!(last_periods(&bytes(&lost), 2), want, "{count} bits lost at {at}");
            let repeated = [&stream[..at], &stream[at - count..]].concat();
            assert_eq!(last_periods(&bytes(&repeated), 2), want, "{count} bits twice at {at}");
        }
    }
}
