//! The Manchester form of SWO: idle low; a start bit of 1, one to eight bytes from bit 0 on, a stop
//! bit that stays low. A 1 is high and then low, a 0 is low and then high. (CoreSight Components
//! TRM, DDI 0314, "SWO", "Physical pin protocol")

use super::edges::Edges;

/// The most bytes between a start and a stop bit.
const MAX_BYTES: usize = 8;

/// The bytes, and the sample at which the start bit of each begins; and the number of packets that
/// are not whole bytes.
pub(super) struct Decoded {
    pub(super) bytes: Vec<u8>,
    pub(super) times: Vec<u64>,
    pub(super) errors: u64,
}

/// The length of half a bit in samples: that of the shortest pulses. `None` where pulses have more
/// than two lengths: high ones are half a bit or a bit long.
pub(super) fn half(edges: &Edges) -> Option<f64> {
    let highs = || {
        let falling = edges.changes.iter().skip(2).step_by(2);
        edges.changes.iter().skip(1).step_by(2).zip(falling).map(|(up, down)| down - up)
    };
    let least = highs().min()? as f64;
    let (mut short, mut long, mut sum) = (0u64, 0u64, 0u64);
    for high in highs() {
        match high as f64 / least {
            ..1.6 => {
                short += 1;
                sum += high;
            }
            ..2.6 => long += 1,
            _ => return None,
        }
    }
    // Each packet begins with a pulse of half a bit, or of a bit.
    (short > 0 && short + long > 1).then(|| sum as f64 / short as f64)
}

/// Decodes packets whose bits have two halves of `half` samples.
pub(super) fn decode(edges: &Edges, half: f64) -> Decoded {
    let mut out = Decoded { bytes: Vec::new(), times: Vec::new(), errors: 0 };
    // Changes to high are at odd numbers.
    let mut at = 1;
    while let Some(&start) = edges.changes.get(at) {
        let (bits, next) = packet(edges, at, half);
        let whole = bits.len() % 8 == 1 && bits.len() > 8 && bits.len() <= 1 + 8 * MAX_BYTES;
        // The start bit is 1.
        if whole && bits.first() == Some(&true) {
            let data = bits.get(1..).unwrap_or_default();
            for (n, byte) in data.chunks(8).enumerate() {
                let value = byte.iter().rev().fold(0, |value, bit| value << 1 | u8::from(*bit));
                out.bytes.push(value);
                out.times.push(start + (half * (2 + 16 * n) as f64) as u64);
            }
        } else if edges.samples as f64 - start as f64 > half * 18.0 {
            out.errors += 1;
        }
        at = next;
    }
    out
}

/// The bits from the change to high number `at` on, and the number of the change to high that
/// follows them.
fn packet(edges: &Edges, at: usize, half: f64) -> (Vec<bool>, usize) {
    let mut halves: Vec<bool> = Vec::new();
    let mut at = at;
    let next = loop {
        let Some(&up) = edges.changes.get(at) else { break at };
        let Some(&down) = edges.changes.get(at + 1) else { break at + 2 };
        let high = ((down - up) as f64 / half).round() as usize;
        halves.extend(std::iter::repeat_n(true, high.min(3)));
        at += 2;
        let after = edges.changes.get(at).map_or(edges.samples, |next| *next);
        let low = ((after - down) as f64 / half).round() as usize;
        halves.extend(std::iter::repeat_n(false, low.min(3)));
        // The stop bit, where the start bit of the next packet follows it.
        let stops = low == 2 && halves.len().is_multiple_of(2);
        if low > 2
            || stops
            || edges.changes.get(at).is_none()
            || halves.len() > 4 * 8 * (MAX_BYTES + 1)
        {
            break at;
        }
    };
    let mut bits = Vec::new();
    for pair in halves.chunks(2) {
        match pair {
            [true, false] => bits.push(true),
            [false, true] => bits.push(false),
            // The stop bit.
            _ => break,
        }
    }
    (bits, next)
}

#[cfg(test)]
mod tests {
    use super::super::edges::MAX_CHANGES;
    use super::*;

    /// The levels of packets of `bytes`, with `half` samples in half a bit.
    fn edges(packets: &[&[u8]], half: f64) -> Edges {
        let mut halves = vec![false; 9];
        for bytes in packets {
            halves.extend([true, false]);
            for byte in *bytes {
                (0..8).for_each(|n| {
                    let bit = byte >> n & 1 != 0;
                    halves.extend([bit, !bit]);
                });
            }
            halves.extend([false; 5]);
        }
        halves.extend([false; 20]);
        let mut edges = Edges::default();
        for sample in 0..(halves.len() as f64 * half) as usize {
            edges.level(halves[(sample as f64 / half) as usize], MAX_CHANGES).unwrap();
        }
        edges.with_rise()
    }

    #[test]
    fn packets_of_one_to_eight_bytes() {
        let all: Vec<u8> = (0..=255).collect();
        for length in 1..=8 {
            for half_bit in [2.0, 3.4, 8.0, 100.5] {
                let packets: Vec<&[u8]> = all.chunks(length).collect();
                let edges = edges(&packets, half_bit);
                let found = half(&edges).unwrap();
                assert!((found / half_bit - 1.0).abs() < 0.15, "{found} for {half_bit}");
                let decoded = decode(&edges, found);
                assert_eq!(decoded.bytes, all, "{length} bytes, {half_bit} samples");
                assert_eq!(decoded.errors, 0);
                assert!(decoded.times.is_sorted());
            }
        }
    }

    /// The start bit of a packet follows the stop bit of the one before it.
    #[test]
    fn packets_without_idle_time() {
        let all: Vec<u8> = (0..=255).collect();
        let mut halves = vec![false; 9];
        for bytes in all.chunks(3) {
            halves.extend([true, false]);
            for n in bytes.iter().flat_map(|byte| (0..8).map(move |n| byte >> n & 1 != 0)) {
                halves.extend([n, !n]);
            }
            halves.extend([false; 2]);
        }
        halves.extend([false; 20]);
        let mut edges = Edges::default();
        for high in halves {
            (0..4).for_each(|_| edges.level(high, MAX_CHANGES).unwrap());
        }
        let decoded = decode(&edges.with_rise(), 4.0);
        assert_eq!((decoded.bytes, decoded.errors), (all, 0));
    }

    #[test]
    fn other_packets_are_counted() {
        let mut halves = vec![true, false, true, false, false, true];
        halves.extend([false; 60]);
        let mut edges = Edges::default();
        for high in [vec![false; 4], halves].concat() {
            (0..4).for_each(|_| edges.level(high, MAX_CHANGES).unwrap());
        }
        let decoded = decode(&edges.with_rise(), 4.0);
        assert_eq!((decoded.bytes.len(), decoded.errors), (0, 1));
    }
}
