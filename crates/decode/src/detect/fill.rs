//! What a trace left of a buffer: memory that was cleared or filled before, behind the trace.
//!
//! A filling explains nothing, and no protocol explains it: zeros begin the alignment
//! synchronisation of several protocols, which never ends.

use tracewright_frames::sync;

/// Bytes of the word that a filling repeats: a byte, a halfword or a word.
const WORD: usize = 4;

/// Fewer equal words at the end may be trace: no packet has more zeros than 11.
const LEAST: usize = 4 * WORD;

/// The number of bytes before the filling at the end of `bytes`; all of them where there is none.
/// A trace port repeats its synchronisation packets where it has nothing to send: they are trace.
pub fn filled_from(bytes: &[u8]) -> usize {
    let Some((rest, word)) = bytes.split_last_chunk::<WORD>() else { return bytes.len() };
    let same = rest.iter().rev().zip(word.iter().rev().cycle()).take_while(|(a, b)| a == b);
    let from = rest.len() - same.count();
    let is_sync = [sync::FULL.as_slice(), &sync::HALF].iter().any(|packet| {
        let repeated = || packet.iter().cycle();
        (0..packet.len()).any(|turn| word.iter().eq(repeated().skip(turn).take(WORD)))
    });
    if bytes.len() - from < LEAST || is_sync { bytes.len() } else { from }
}

/// Bytes of a filling before a trace that remain: they may begin its synchronisation.
const MARGIN: usize = 16;

/// The number of bytes at the start of `bytes` that were cleared or filled, and are no trace: a
/// multiple of the length of a frame.
pub(super) fn filled_to(bytes: &[u8]) -> usize {
    let Some(first @ (0 | 0xff)) = bytes.first() else { return 0 };
    let same = bytes.iter().take_while(|byte| *byte == first).count();
    if same == bytes.len() || same < 4 * MARGIN { 0 } else { (same - MARGIN) / MARGIN * MARGIN }
}

/// Equal bytes in a row that are no trace, but memory without contents.
const RUN: usize = 32;

/// Whether most of `bytes` are in runs of equal bytes.
pub(super) fn is_sparse(bytes: &[u8]) -> bool {
    let runs = bytes.chunk_by(|a, b| a == b).map(<[u8]>::len).filter(|len| *len >= RUN);
    runs.sum::<usize>() * 2 > bytes.len()
}

/// The longest period that proves nothing: a frame.
const PERIOD: usize = 16;

/// Whether `bytes` repeat at most [`PERIOD`] bytes, from which at most one byte of `odd` differs:
/// whatever reads one period reads them all.
pub(super) fn is_periodic(bytes: &[u8], odd: usize) -> bool {
    repeats(bytes, PERIOD, odd)
}

/// The longest period of packets that may be an accident, and the bytes in which it is searched.
const PACKETS: usize = 256;
const SEARCHED: usize = 1 << 11;

/// Whether the first of `bytes` repeat some packets: that one period can be read is no evidence.
pub(super) fn repeats_packets(bytes: &[u8]) -> bool {
    repeats(bytes.get(..SEARCHED).unwrap_or(bytes), PACKETS, 64)
}

/// Whether `bytes` repeat at most `longest` bytes, from which at most one byte of `odd` differs.
fn repeats(bytes: &[u8], longest: usize, odd: usize) -> bool {
    let has_period = |period: usize| {
        let after = bytes.get(period..).unwrap_or_default();
        after.len() >= period && {
            let others = bytes.iter().zip(after).filter(|(a, b)| a != b).count();
            others * odd <= after.len()
        }
    };
    (1..=longest).any(has_period)
}

/// What the filling that begins at `from` repeats.
pub fn filling(bytes: &[u8], from: usize) -> String {
    let word = bytes.get(from..).and_then(|rest| rest.first_chunk::<WORD>());
    match word {
        Some(word) if word.iter().all(|byte| Some(byte) == word.first()) => {
            format!("{:#04x}", word[0])
        }
        Some(word) => format!("{:#010x}", u32::from_le_bytes(*word)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fillings_end_the_trace() {
        let trace: Vec<u8> = (1..=40).collect();
        for (word, len, want) in [
            ([0, 0, 0, 0], 16, 40),
            ([0, 0, 0, 0], 4000, 40),
            ([0xff; 4], 33, 40),
            ([0xef, 0xbe, 0xad, 0xde], 400, 40),
            // Too few, and the synchronisation packets of a port.
            ([0, 0, 0, 0], 12, 52),
            ([0xff, 0xff, 0xff, 0x7f], 400, 440),
            ([0xff, 0x7f, 0xff, 0x7f], 401, 441),
        ] {
            let bytes: Vec<u8> =
                trace.iter().copied().chain(word.into_iter().cycle().take(len)).collect();
            assert_eq!(filled_from(&bytes), want, "{word:?} {len}");
        }
        let page: Vec<u8> = (0..64).chain([0; 200]).chain(0..64).collect();
        assert!(is_sparse(&page) && !is_sparse(&page[..128]) && !is_sparse(&[]));
        let frame: Vec<u8> = (0..16).collect();
        let mut frames = frame.repeat(10);
        frames[20] = 0xff;
        assert!(is_periodic(&frames, 64) && is_periodic(&frame[..3].repeat(20), 64));
        assert!(
            !is_periodic(&trace, 8) && !is_periodic(&trace.repeat(9), 8) && !is_periodic(&frame, 8)
        );
        let line: Vec<u8> = (0..100).collect();
        assert!(repeats_packets(&line.repeat(3)) && !repeats_packets(&line[..99]));
        for (len, want) in [(0, 0), (63, 0), (64, 48), (100, 80), (1000, 976)] {
            for byte in [0, 0xff] {
                assert_eq!(filled_to(&[vec![byte; len], trace.clone()].concat()), want, "{len}");
            }
        }
        assert_eq!([filled_to(&[0; 1000]), filled_to(&[7; 1000]), filled_to(&[])], [0; 3]);
        assert_eq!(filled_from(&[0; 1000]), 0);
        assert_eq!(filled_from(&[0; 3]), 3);
        assert_eq!(filling(&[0; 8], 0), "0x00");
        assert_eq!(filling(&[1, 0xef, 0xbe, 0xad, 0xde], 1), "0xdeadbeef");
    }
}
