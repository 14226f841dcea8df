//! Samples of the level of SWO that are stored as bytes, eight in each: what a synchronous port or
//! a simple logic analyser records.

use std::fmt;

use super::edges::{Edges, MAX_CHANGES};
use super::{Coding, Recorded, SwoOptions, decode};

/// Which bit of a byte is its first sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitOrder {
    /// Bit 0.
    LeastFirst,
    /// Bit 7.
    MostFirst,
}

impl fmt::Display for BitOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BitOrder::LeastFirst => "bit 0 of a byte first",
            BitOrder::MostFirst => "bit 7 of a byte first",
        })
    }
}

/// SWO in samples of its level.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed {
    /// The bytes that were sent.
    pub bytes: Vec<u8>,
    /// How bits are sent.
    pub coding: Coding,
    /// The samples in a bit.
    pub samples: f64,
}

/// The bytes that are looked at: they have 80 bytes of SWO with 8 samples in a bit.
const LOOK: usize = 1 << 13;

/// Each sample is taken this often: a bit may have one sample.
const REPEATED: usize = 2;

/// Fewer bytes of SWO show nothing, and more errors than one in this many bytes are those of other
/// data.
const LEAST: usize = 16;
const ERRORS: usize = 50;

/// SWO in `bytes`, which are samples of its level. `None`: they are none.
pub fn packed_swo(bytes: &[u8], order: BitOrder) -> Option<Packed> {
    let mut edges = Edges::default();
    for byte in bytes.get(..LOOK).unwrap_or(bytes) {
        for n in 0..8 {
            let bit = if order == BitOrder::MostFirst { 7 - n } else { n };
            for _ in 0..REPEATED {
                edges.level(byte >> bit & 1 != 0, MAX_CHANGES).ok()?;
            }
        }
    }
    let recorded = Recorded { edges, rate: Some(1 << 32) };
    let found = decode(recorded, &SwoOptions::default()).ok()?;
    let is_swo = found.bytes.len() >= LEAST && found.errors as usize * ERRORS <= found.bytes.len();
    let samples = (1u64 << 32) as f64 / found.baud? as f64 / REPEATED as f64;
    is_swo.then_some(Packed { bytes: found.bytes, coding: found.coding, samples })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Levels in each form, with `samples` samples in a bit or in half a bit, as bytes.
    fn pack(bytes: &[u8], coding: Coding, samples: usize, order: BitOrder) -> Vec<u8> {
        let idle = coding == Coding::Uart;
        let mut levels = vec![idle; 40];
        for byte in bytes {
            let bits = (0..8).map(|n| byte >> n & 1 != 0);
            match coding {
                Coding::Manchester => {
                    levels.extend([true, false]);
                    bits.for_each(|bit| levels.extend([bit, !bit]));
                    levels.extend([false; 6]);
                }
                Coding::Uart | Coding::Inverted => {
                    let frame = std::iter::once(false).chain(bits).chain([true]);
                    levels.extend(frame.map(|level| level == idle));
                }
            }
        }
        levels.extend(vec![idle; 64]);
        let all: Vec<bool> = levels.iter().flat_map(|level| vec![*level; samples]).collect();
        let of = |chunk: &[bool]| {
            let bits = chunk.iter().enumerate().filter(|(_, level)| **level);
            bits.fold(0, |byte, (n, _)| match order {
                BitOrder::LeastFirst => byte | 1 << n,
                BitOrder::MostFirst => byte | 0x80 >> n,
            })
        };
        all.chunks(8).map(of).collect()
    }

    #[test]
    fn samples_in_bytes_are_decoded() {
        let swo: Vec<u8> = b"\x01H\x01e\x01l\x01l\x01o\x01\n\xc0\x85\x02".repeat(6);
        for order in [BitOrder::LeastFirst, BitOrder::MostFirst] {
            for coding in [Coding::Uart, Coding::Inverted, Coding::Manchester] {
                for samples in [1, 2, 3, 4, 8] {
                    let found = packed_swo(&pack(&swo, coding, samples, order), order).unwrap();
                    assert_eq!((found.coding, &found.bytes), (coding, &swo), "{samples} {order:?}");
                    let halves = if coding == Coding::Manchester { 2 } else { 1 };
                    let share = found.samples / (samples * halves) as f64;
                    assert!((share - 1.0).abs() < 0.2, "{share} {coding:?} {samples}");
                }
            }
            // A trace is no recording of levels.
            let words = |n: u32| [3, 1].into_iter().chain((n * 97).to_le_bytes());
            let trace: Vec<u8> = (0..200).flat_map(words).collect();
            assert_eq!(packed_swo(&trace, order), None);
        }
    }
}
