//! Bytes that are no trace as they are, since they were received or stored in another way:
//! inverted, as samples of the line, in Manchester coding, at another bit rate, or without data.
//!
//! Each way is named by evidence of its own, and none where there is no evidence.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use tracewright_capture::Capture;
use tracewright_capture::levels::{BitOrder, Packed, packed_swo};
use tracewright_frames::{Framing, sync};
use tracewright_protocols::registry::AnyProtocol;

use super::arm::sync_points;
use super::fill::is_periodic;
use super::{Candidate, Detection, GOOD, Given};
use crate::swo::{evidence_a_byte, is_likely_itm};

/// How bytes were received or stored.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reception {
    /// A trace port sent this number of bytes of synchronisation packets, and no data.
    SyncsOnly(usize),
    /// The bytes are samples of the level of SWO. With the text, what is detected in the bytes that
    /// were sent.
    Samples(Packed, BitOrder, Option<String>),
    /// Two bits after one another, the first being bit 0 or bit 7 of a byte, are a bit in
    /// Manchester coding.
    Manchester(BitOrder),
    /// Each bit is inverted; without that, this is detected.
    Inverted(String),
    /// Bit 7 of each byte is bit 0; in the right order, this is detected.
    Reversed(String),
    /// Both; without them, this is detected.
    InvertedReversed(String),
    /// A UART received SWO at this multiple of its bit rate.
    Fast(f64),
    /// A UART received SWO at half of its bit rate.
    Half,
    /// A UART received SWO at a bit rate that is higher by this range of per cents.
    High(u32, u32),
    /// A UART received SWO at a bit rate that is lower by this range of per cents.
    Low(u32, u32),
}

/// Fewer bytes are no evidence.
const LEAST: usize = 64;

/// The bytes that are looked at.
const LOOK: usize = 1 << 15;

/// At most one byte of this many is an exception, such as the first after a pause.
const EXCEPTIONS: usize = 50;

/// How the bytes `head` of a buffer were received, which are no trace as they are, or of which
/// `best` explains all by packets that nearly any bytes are. `None`: it is not known.
pub fn reception(head: &[u8], best: Option<&Candidate>) -> Option<Reception> {
    let head = head.get(..LOOK).unwrap_or(head);
    if best.is_some_and(proves_itself) {
        let is_open = best.is_some_and(|best| !best.is_sure()) && head.len() >= LEAST;
        return if is_open { near_rate(head, EXCEEDS) } else { None };
    }
    if is_syncs(head) {
        return Some(Reception::SyncsOnly(head.len()));
    }
    if head.len() < LEAST || is_periodic(head, LEAST) {
        return None;
    }
    samples(head).or_else(|| manchester(head)).or_else(|| match best {
        Some(best) if best.is_sure() => None,
        _ => {
            let near = || near_rate(head, EXCEEDS);
            let low = || low_rate(head).filter(|_| is_clear_without_high_bit(head));
            other_rate(head).or_else(low).or_else(|| inverted(head)).or_else(near)
        }
    })
}

/// What the bytes `head` of a buffer may have been received as, where `best` explains them as the
/// packets of an ITM without synchronisation: the text and the values in them are wrong then.
pub fn possible_rate(head: &[u8], best: &Candidate) -> Option<Reception> {
    let head = head.get(..LOOK).unwrap_or(head);
    let is_open = head.len() >= LEAST && !proves_itself(best) && best.framing == Framing::Raw;
    if is_open { near_rate(head, 0.0) } else { None }
}

/// A bit rate that is too high or too low by some per cent.
fn near_rate(head: &[u8], exceeds: f64) -> Option<Reception> {
    low_rate(head).or_else(|| high_rate(head, exceeds))
}

/// Whether a source has a synchronisation or another protocol than an ITM, whose packets nearly any
/// bytes are.
pub(super) fn proves_itself(best: &Candidate) -> bool {
    let mut found = best.sources.iter().filter_map(|source| source.best());
    found.any(|best| best.protocol != AnyProtocol::Itm || best.counts.syncs > 0)
}

/// What is detected in `bytes`, where it is likely at least.
fn detected(bytes: &[u8]) -> Option<String> {
    let detection = Detection::of(bytes, &Capture::default(), &Given::default());
    detection.best().filter(|best| best.is_sure()).map(Candidate::summary)
}

/// Whether all of `head` is synchronisation packets of a trace port.
fn is_syncs(head: &[u8]) -> bool {
    let has_full = head.windows(sync::FULL.len()).any(|bytes| *bytes == sync::FULL);
    let has_half = head.windows(sync::HALF.len()).any(|bytes| *bytes == sync::HALF);
    let ends = head.iter().enumerate().filter(|(_, byte)| **byte == 0x7f);
    let ends: Vec<usize> = ends.map(|(at, _)| at).collect();
    head.len() >= 4 * sync::FULL.len()
        && (has_full || has_half)
        && head.iter().all(|byte| matches!(byte, 0x7f | 0xff))
        && ends.windows(2).all(|pair| matches!(pair, [a, b] if matches!(b - a, 2 | 4)))
        && ends.first().is_some_and(|first| *first < sync::FULL.len())
}

/// With fewer samples in a bit, their pattern alone is no evidence.
const SAMPLES: f64 = 1.9;

fn samples(head: &[u8]) -> Option<Reception> {
    [BitOrder::LeastFirst, BitOrder::MostFirst].into_iter().find_map(|order| {
        let found = packed_swo(head, order)?;
        let what = detected(&found.bytes);
        // Bytes that repeat, and pictures of one bit a point, may have stop bits by accident.
        let is_evidence = what.is_some() || found.samples >= SAMPLES && is_likely_itm(&found.bytes);
        is_evidence.then_some(Reception::Samples(found, order, what))
    })
}

/// The different bytes that are evidence of Manchester coding, which has 16: two are a pattern.
const CODED: usize = 8;

/// Whether at least one byte of ten differs from the most frequent one: a filling is no evidence.
fn varies(head: &[u8]) -> bool {
    let mut counts = [0usize; 256];
    for byte in head {
        counts.get_mut(usize::from(*byte)).into_iter().for_each(|count| *count += 1);
    }
    let most = counts.iter().max().copied().unwrap_or(0);
    (head.len() - most) * 10 >= head.len()
}

/// The two halves of a bit differ, from bit 0 or bit 1 of the first byte on.
fn manchester(head: &[u8]) -> Option<Reception> {
    if !varies(head) {
        return None;
    }
    [BitOrder::LeastFirst, BitOrder::MostFirst].into_iter().find_map(|order| {
        let bit = |n: usize| {
            let within = if order == BitOrder::MostFirst { 7 - n % 8 } else { n % 8 };
            head.get(n / 8).map(|byte| byte >> within & 1)
        };
        let mut different = [false; 256];
        head.iter().for_each(|byte| different[usize::from(*byte)] = true);
        let enough = different.iter().filter(|is| **is).count() >= CODED;
        (0..2).filter(|_| enough).find_map(|phase| {
            let bits = (phase..head.len() * 8 - 1).step_by(2);
            let all = bits.len();
            let equal = bits.filter(|n| bit(*n) == bit(n + 1)).count();
            (equal * EXCEPTIONS <= all).then_some(Reception::Manchester(order))
        })
    })
}

/// Evidence of a synchronisation, in bits for each byte: more than packets have.
const SYNCHRONISED: f64 = 16.0;

/// The evidence of one order of the bits exceeds that of each other one by this factor.
const EXCEEDS: f64 = 1.5;

/// What is detected in `bytes`, where a certain detection has such a score, and the evidence for
/// it. Messages without a pattern that begins them are no evidence.
fn proven(bytes: &[u8]) -> Option<(String, f64)> {
    let detection = Detection::of(bytes, &Capture::default(), &Given::default());
    let best = detection.best().filter(|best| best.is_sure())?;
    let mut found = best.sources.iter().filter_map(|source| source.best());
    let is_synchronised = found.any(|best| {
        let is_itm = best.protocol == AnyProtocol::Itm;
        best.counts.syncs > 0 && (is_itm || sync_points(best.protocol) > 0)
    });
    let (least, evidence) = match is_synchronised {
        true => (GOOD, SYNCHRONISED),
        false if proves_itself(best) => return None,
        false => (GOOD - UNSYNCHRONISED, evidence_a_byte(bytes)),
    };
    (best.score >= least).then(|| (best.summary(), evidence))
}

/// The points against an ITM without synchronisation.
const UNSYNCHRONISED: i64 = 150;

/// The bits are inverted, in the reverse order, or both, where only one of these explains the
/// bytes, and far better than the others and than the bytes as they are.
fn inverted(head: &[u8]) -> Option<Reception> {
    type Change = (fn(u8) -> u8, fn(String) -> Reception);
    const CHANGES: [Change; 3] = [
        (|byte| !byte, Reception::Inverted),
        (u8::reverse_bits, Reception::Reversed),
        (|byte| !byte.reverse_bits(), Reception::InvertedReversed),
    ];
    let changed = CHANGES.map(|(change, reception)| {
        let bytes: Vec<u8> = head.iter().map(|byte| change(*byte)).collect();
        let (what, evidence) = match proven(&bytes) {
            Some((what, evidence)) => (Some(what), evidence),
            None => (None, evidence_a_byte(&bytes)),
        };
        (reception, what, evidence)
    });
    let [first, second, third] = changed.each_ref().map(|(.., evidence)| *evidence);
    let as_is = evidence_a_byte(head);
    let others = [second.max(third), first.max(third), first.max(second)];
    let mut found =
        changed.into_iter().zip(others).filter_map(|((reception, what, own), other)| {
            let exceeds = own >= EXCEEDS * other.max(as_is);
            what.filter(|_| exceeds).map(reception)
        });
    found.next()
}

/// The multiples of the bit rate that leave a pattern in each byte.
const RATES: [f64; 6] = [4.0, 3.0, 2.5, 2.0, 1.5, 1.25];

/// What a UART receives at a multiple of the bit rate: bits that sample the same bit of the line.
struct Pattern {
    /// The bits that sample the start bit.
    zeros: u8,
    /// The bits that sample the same bit as the bit below them.
    same: u8,
}

impl Pattern {
    /// The pattern at `rate` times the bit rate. Bit `n` is sampled in the middle of the bit
    /// `n + 1` of the receiver.
    fn at(rate: f64) -> Pattern {
        let sampled = |n: u32| ((f64::from(n) + 0.5) / rate) as u32;
        let (mut zeros, mut same) = (0, 0);
        for n in 1..=8 {
            let bit = 1u8 << (n - 1);
            match sampled(n) {
                0 => zeros |= bit,
                line if line == sampled(n - 1) => same |= bit,
                _ => {}
            }
        }
        Pattern { zeros, same }
    }

    const fn rules(&self) -> u32 {
        self.zeros.count_ones() + self.same.count_ones()
    }

    const fn has(&self, byte: u8) -> bool {
        byte & self.zeros == 0 && (byte ^ byte << 1) & self.same == 0
    }

    /// The different bytes that are evidence: half of those that the pattern allows, if they are
    /// few.
    const fn enough(&self) -> usize {
        let allowed = 1usize << (8 - self.rules());
        if allowed / 2 < 16 { allowed / 2 } else { 16 }
    }
}

/// The per cents by which a bit rate may be too high without a pattern of [`RATES`].
const HIGH: RangeInclusive<u32> = 7..=21;

/// The different bytes that are evidence of one bit that repeats: with less, they may be letters of
/// one case.
const VARIED: usize = 32;

/// A bit rate that is too high by so little that a UART samples one bit twice, and takes the last
/// one for the stop bit. The packets in the bits that were sent have the evidence of those in the
/// bytes as they are, times `exceeds`.
fn high_rate(head: &[u8], exceeds: f64) -> Option<Reception> {
    let mut different = [false; 256];
    head.iter().for_each(|byte| different[usize::from(*byte)] = true);
    if different.iter().filter(|is| **is).count() < VARIED {
        return None;
    }
    // Bit `n` is bit `n - 1` of nearly all bytes.
    let repeats = |n: &u32| {
        let others = head.iter().filter(|byte| (*byte ^ *byte << 1) >> n & 1 != 0).count();
        others * EXCEPTIONS <= head.len()
    };
    let bits: Vec<u32> = (1..8).filter(repeats).collect();
    let [bit] = bits.as_slice() else { return None };
    let is_pattern = |percent: &u32| {
        let pattern = Pattern::at(1.0 + f64::from(*percent) / 100.0);
        pattern.zeros == 0 && u32::from(pattern.same) == 1 << bit
    };
    let (first, last) = (HIGH.clone().find(is_pattern)?, HIGH.clone().rfind(is_pattern)?);
    // The bits below the one that repeats are as sent, and those above it are one too high.
    let low = (1u8 << bit) - 1;
    let sent: Vec<u8> = head.iter().map(|byte| byte & low | byte >> 1 & !low & 0x7f).collect();
    let (own, other) = (evidence_a_byte(&sent), evidence_a_byte(head));
    (is_likely_itm(&sent) && own >= exceeds * other).then_some(Reception::High(first, last))
}

/// The lowest bit of a byte that samples the stop bit, or the pause behind it, where a bit rate is
/// too low, and the range of per cents: one of the two last bits.
const LOW: [(u8, u32, u32); 2] = [(6, 17, 25), (7, 6, 16)];

/// A bit rate that is too low by so little that a UART misses one or two bits of a byte, and takes
/// the stop bit for its last one. Of bytes after one another, the next start bit is its stop bit,
/// and it searches the next one inside of a byte.
fn low_rate(head: &[u8]) -> Option<Reception> {
    /// At most one byte of this many began inside of another.
    const INSIDE: usize = 10;
    let ones = |bit: u8| head.iter().filter(|byte| *byte >> bit & 1 != 0).count();
    let is_set = |bit: u8| (bit..8).all(|bit| (head.len() - ones(bit)) * INSIDE <= head.len());
    let mut different = [false; 128];
    let low = head.iter().map(|byte| usize::from(byte & 0x3f));
    low.for_each(|value| different[value] = true);
    let varied = different.iter().filter(|is| **is).count() >= LOW_VARIED;
    let found = LOW.into_iter().find(|(bit, ..)| is_set(*bit))?;
    // Each other bit is a bit of the packets; the one below the stop bit may be the last one that
    // was sent, which is 0 in text.
    let is_sent = |bit: u8| match ones(bit) * 10 / head.len() {
        0 => bit + 1 == found.0,
        tenths => tenths < 10,
    };
    (varied && (0..6).all(is_sent) && varies(head)).then_some(Reception::Low(found.1, found.2))
}

/// Whether the low bits, without the stop bit, are packets of an ITM, where the last bit that was
/// sent is 0 and is missed, and more so than the inverted or reversed bits.
fn is_clear_without_high_bit(head: &[u8]) -> bool {
    let changed = |change: fn(u8) -> u8| head.iter().map(|byte| change(*byte)).collect::<Vec<_>>();
    let sent = changed(|byte| byte & 0x7f);
    let others = [changed(|byte| !byte), changed(u8::reverse_bits)];
    let own = evidence_a_byte(&sent);
    is_likely_itm(&sent) && others.iter().all(|other| own > evidence_a_byte(other))
}

/// The different values of the low six bits that are evidence.
const LOW_VARIED: usize = 12;

fn other_rate(head: &[u8]) -> Option<Reception> {
    /// The bit that samples the stop bit of each second byte.
    const STOP: u8 = 1 << 3;
    /// The different bytes that are evidence.
    const DIFFERENT: usize = 8;
    // The number of different bytes that fit, where nearly all do. One alone is no evidence.
    let different = |fits: &dyn Fn(u8) -> bool| -> Option<usize> {
        let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
        for byte in head.iter().filter(|byte| fits(**byte)) {
            *counts.entry(*byte).or_default() += 1;
        }
        let fitting: usize = counts.values().sum();
        let most = counts.values().max().copied().unwrap_or(0);
        let is_most = (head.len() - fitting) * EXCEPTIONS <= head.len();
        (is_most && (fitting - most) * 10 >= fitting).then_some(counts.len())
    };
    for rate in RATES {
        let pattern = Pattern::at(rate);
        if different(&|byte| pattern.has(byte)) >= Some(pattern.enough()) {
            return Some(Reception::Fast(rate));
        }
    }
    (different(&|byte| byte & STOP != 0) >= Some(DIFFERENT)).then_some(Reception::Half)
}

impl fmt::Display for Reception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const RATE: &str = "; a wrong bit rate or core clock is set in the probe or in the target";
        match self {
            Reception::SyncsOnly(bytes) => write!(
                f,
                "all {bytes} bytes are synchronisation packets of a trace port (TPIU): no trace source \
                 sent data; check that the sources and the path to the port are enabled"
            ),
            Reception::Samples(found, order, what) => {
                let Packed { bytes, coding, samples } = found;
                let inside = match what {
                    Some(what) => format!(" are {what}"),
                    None => " have no known form".to_owned(),
                };
                write!(
                    f,
                    "the bytes are samples of the level of a serial wire (SWO), {order}: {} coding with \
                     {samples:.1} samples a bit; the first {} bytes in them{inside}; record the \
                     bytes with a UART, or the level as .sr, .vcd or .csv",
                    coding.name(),
                    bytes.len(),
                )
            }
            Reception::Manchester(order) => write!(
                f,
                "each two bits differ, {order}: Manchester coding; use a probe that decodes it, or \
                 asynchronous (NRZ) coding of SWO"
            ),
            Reception::Inverted(what) => write!(
                f,
                "each bit is inverted: without that, it is {what}; invert the line, or the levels of \
                 the receiver"
            ),
            Reception::Reversed(what) => write!(
                f,
                "the bits of each byte are in the reverse order: in the right one, it is {what}; \
                 receive the least significant bit first"
            ),
            Reception::InvertedReversed(what) => write!(
                f,
                "each bit is inverted, and the bits of each byte are in the reverse order: without \
                 that, it is {what}; invert the line, and receive the least significant bit first"
            ),
            Reception::Fast(rate) => write!(
                f,
                "nearly each byte repeats bits as a UART receives them at about {rate} times the bit \
                 rate of a serial wire (SWO){RATE}"
            ),
            Reception::High(least, most) => write!(
                f,
                "one bit of nearly each byte repeats the one below it, as a UART receives them at a bit \
                 rate of a serial wire (SWO) that seems to be {least} to {most} % too high: text and \
                 values are wrong then{RATE}"
            ),
            Reception::Low(least, most) => write!(
                f,
                "a high bit of nearly each byte is 1, as the stop bit that a UART receives at a bit \
                 rate of a serial wire (SWO) that seems to be {least} to {most} % too low: text and \
                 values are wrong then{RATE}"
            ),
            Reception::Half => write!(
                f,
                "bit 3 of nearly each byte is 1, as the stop bit that a UART with half of the bit rate \
                 of a serial wire (SWO) receives{RATE}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text of an ITM.
    fn swo() -> Vec<u8> {
        let text = b"The quick brown fox jumps over the lazy dog, 0123456789 times.\n";
        let write = |(n, byte): (usize, &u8)| match n % 9 {
            8 => vec![1, *byte, 0xc0, 0x80 | (n * 7 % 128) as u8, 2],
            _ => vec![1, *byte],
        };
        text.iter().cycle().take(900).enumerate().flat_map(write).collect()
    }

    /// What a UART receives at `rate` times the bit rate.
    fn received(bytes: &[u8], rate: f64) -> Vec<u8> {
        let mut line = vec![true; 30];
        for byte in bytes {
            line.push(false);
            line.extend((0..8).map(|n| byte >> n & 1 != 0));
            line.push(true);
        }
        let level = |at: f64| line.get(at as usize).is_none_or(|level| *level);
        let (mut out, mut at) = (Vec::new(), 0);
        while let Some(start) = line.get(at..).and_then(|rest| rest.iter().position(|high| !high)) {
            let start = (at + start) as f64;
            let bit = |n: u8| u8::from(level(start + (f64::from(n) + 1.5) / rate)) << n;
            out.push((0..8).map(bit).sum());
            // The next start bit is the next change to low.
            at = (start + 9.5 / rate) as usize;
            while line.get(at) == Some(&false) {
                at += 1;
            }
        }
        out
    }

    #[test]
    fn rates_are_found() {
        for rate in [1.25, 1.5, 2.0, 3.0, 4.0] {
            assert_eq!(other_rate(&received(&swo(), rate)), Some(Reception::Fast(rate)));
        }
        assert_eq!(other_rate(&received(&swo(), 0.5)), Some(Reception::Half));
        // At the right rate, and at one that leaves no pattern.
        assert_eq!(other_rate(&received(&swo(), 1.0)), None);
        let noise: Vec<u8> =
            (0..2000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        assert_eq!(reception(&noise, None), None);
    }

    #[test]
    fn codings_are_found() {
        let inverted: Vec<u8> = swo().iter().map(|byte| !byte).collect();
        assert!(
            matches!(reception(&inverted, None), Some(Reception::Inverted(what)) if what.contains("ITM"))
        );
        let reversed: Vec<u8> = swo().iter().map(|byte| byte.reverse_bits()).collect();
        assert!(matches!(reception(&reversed, None), Some(Reception::Reversed(_))));
        let both: Vec<u8> = reversed.iter().map(|byte| !byte).collect();
        assert!(matches!(reception(&both, None), Some(Reception::InvertedReversed(_))));
        // Each bit as two: a 1 is high and then low.
        let halves = |byte: &u8| {
            let word =
                (0..8).fold(0u16, |word, n| word | [2, 1][usize::from(byte >> n & 1)] << (2 * n));
            word.to_le_bytes()
        };
        let coded: Vec<u8> = swo().iter().flat_map(halves).collect();
        assert_eq!(reception(&coded, None), Some(Reception::Manchester(BitOrder::LeastFirst)));
        for packet in [&sync::FULL[..], &sync::HALF] {
            let syncs = packet.repeat(100);
            assert!(matches!(reception(&syncs[1..], None), Some(Reception::SyncsOnly(_))));
        }
        assert_eq!(reception(&[0xff; 400], None), None);
    }

    /// A bit rate that is too low by some per cent is named where pauses separate bytes; random
    /// bytes, and letters whose encoding sets the high bit, are none.
    #[test]
    fn low_rates_are_named() {
        let text = swo();
        for percent in [6, 8, 10, 12, 14, 18, 20, 24] {
            let rate = 1.0 - f64::from(percent) / 100.0;
            let bytes: Vec<u8> = text.iter().flat_map(|byte| received(&[*byte], rate)).collect();
            let is_near = matches!(reception(&bytes, None), Some(Reception::Low(least, most))
                if (least..=most).contains(&percent));
            assert!(is_near, "{percent}: {:?}", reception(&bytes, None));
        }
        let mut random = tracewright_testing::Random::new(5);
        assert_eq!(low_rate(&random.bytes(4000)), None);
        let set: Vec<u8> = random.bytes(4000).iter().map(|byte| 0xa0 | byte & 0x1f).collect();
        assert_eq!(low_rate(&set), None);
    }

    /// A bit rate that is too high by some per cent is named; lower-case text is none.
    #[test]
    fn high_rates_are_named() {
        let text = swo();
        for percent in HIGH {
            let bytes = received(&text, 1.0 + f64::from(percent) / 100.0);
            let found = high_rate(&bytes, 0.0);
            let is_near = matches!(found, Some(Reception::High(least, most))
                if (least..=most).contains(&percent));
            assert!(is_near, "{percent}: {found:?}");
        }
        assert_eq!(high_rate(&received(&text, 1.0), 0.0), None);
        let lower =
            b"the quick brown fox\njumps over\nthe lazy dog\n".iter().filter(|c| **c != b' ');
        let lower: Vec<u8> = lower.cycle().take(900).flat_map(|c| [1, *c]).collect();
        assert_eq!(high_rate(&lower, 0.0), None);
    }

    /// A disc of one bit a point, and random bytes 0x55 and 0xaa.
    #[test]
    fn pictures_and_patterns_are_no_reception() {
        let point =
            |x: i32, y: i32, bit: i32| (x * 8 + bit - 256).pow(2) + (y - 128).pow(2) < 10_000;
        let byte = |(x, y)| (0..8).map(|bit| u8::from(point(x, y, bit)) << (7 - bit)).sum();
        let disc: Vec<u8> = (0..256).flat_map(|y| (0..64).map(move |x| (x, y))).map(byte).collect();
        assert_eq!(reception(&disc, None), None);
        let pattern: Vec<u8> = (0..4000u32)
            .map(|n| if n.wrapping_mul(2_654_435_761) >> 31 == 0 { 0x55 } else { 0xaa })
            .collect();
        assert_eq!(reception(&pattern, None), None);
    }

    /// Memory that is filled with halves of bits, and records of a length and random bytes.
    #[test]
    fn fillings_and_records_are_no_reception() {
        let random = |n: u32| {
            let mixed = n.wrapping_mul(2_654_435_761);
            ((mixed ^ mixed >> 15).wrapping_mul(0x85eb_ca6b) >> 24) as u8
        };
        for filling in [0xa5, 0x99] {
            let rest = (0..60).map(random);
            let stack: Vec<u8> = std::iter::repeat_n(filling, 4000).chain(rest).collect();
            assert_eq!(reception(&stack, None), None, "{filling:#x}");
        }
        for len in [4, 7] {
            let record = |n: u32| {
                let data = (0..u32::from(len)).map(move |i| random(n * 16 + i));
                std::iter::once(len).chain(data)
            };
            let records: Vec<u8> = (0..300).flat_map(record).collect();
            assert_eq!(reception(&records, None), None, "{len}");
        }
    }
}
