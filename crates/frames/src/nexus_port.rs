//! A narrow trace port of RISC-V: messages that begin at any bit of what was received.
//!
//! A Pin Interface Block with 1, 2 or 4 data signals sends the bytes of N-Trace messages, the least
//! significant bits first, and ones at any number of clock edges while it has none. A receiver that
//! packs the bits into bytes therefore has messages that begin inside a byte, and not all at the
//! same bit. (Trace Control Interface 1.0, "Order of bits and bytes", "PIB Parallel Protocol";
//! N-Trace 1.0, "N-Trace Transmission Protocol")
//!
//! A message begins with two zeros (MSEO 00), so that behind a message it begins at the first zero,
//! whatever the width of the port is.

use alloc::vec::Vec;

/// MSEO 11: the last byte of a message.
const END_OF_MESSAGE: u8 = 0b11;
/// MSEO 10 is reserved.
const RESERVED: u8 = 0b10;

/// The most bytes of a message. The longest of 1.0 has 38.
const MAX_LEN: usize = 64;

/// The number of messages in a row that prove a place where one begins.
const CHAIN: usize = 4;

/// The bits that are passed where no such place is near.
const STEP: usize = 128;

/// The patterns that a port repeats for the calibration of receivers, by its number of signals: 1
/// or 8 (and a serial wire), 2, 4, and 16, which an idle byte follows. ("PIB Calibration
/// Patterns")
pub const CALIBRATION: [(&str, &[u8]); 4] = [
    ("1 or 8 signals, or a serial wire", &[0xaa, 0x55, 0x00, 0xff]),
    ("2 signals", &[0x66, 0x66, 0xcc, 0x33]),
    ("4 signals", &[0x5a, 0x5a, 0xf0, 0x0f]),
    ("16 signals", &[0xaa, 0xaa, 0x55, 0x55, 0x00, 0x00, 0xff]),
];

/// What [`aligned`] made of received bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aligned {
    /// Messages that begin at bytes, and idle bytes.
    pub bytes: Vec<u8>,
    /// The number of messages.
    pub messages: u64,
    /// Those of them that begin inside a received byte.
    pub inside: u64,
    /// The number of `bytes` that are in no message, and not idle.
    pub others: u64,
}

/// The messages in `received`, each from a byte on. Ones between them become idle bytes (0xff), and
/// less than 8 of them nothing. Bits that are no message are bytes as they follow one another.
///
/// ```
/// use tracewright_frames::nexus_port::aligned;
///
/// // After 12 ones: ProgTraceCorrelation with EVCODE 4, I-CNT 4.
/// let found = aligned(&[0xff, 0x4f, 0x08, 0x34, 0xf1]);
/// assert_eq!(found.bytes, [0xff, 0x84, 0x40, 0x13]);
/// assert_eq!((found.messages, found.inside), (1, 1));
/// ```
pub fn aligned(received: &[u8]) -> Aligned {
    let bits = Bits(received);
    let mut out = Aligned::default();
    let (mut at, mut ones) = (bits.start(0), 0_usize);
    out.copy(&bits, 0, at);
    out.others += at as u64 / 8;
    while at < bits.len() {
        if bits.is_one(at) {
            (at, ones) = (at + 1, ones + 1);
            continue;
        }
        out.bytes.resize(out.bytes.len() + core::mem::take(&mut ones) / 8, 0xff);
        let (end, is_message) = match bits.message(at) {
            Found::Message(len) => (at + 8 * len, true),
            Found::Unfinished => (bits.len(), false),
            Found::None => (bits.start(at + 1), false),
        };
        if is_message {
            out.messages += 1;
            out.inside += u64::from(at % 8 != 0);
        } else {
            out.others += (end - at) as u64 / 8;
        }
        out.copy(&bits, at, end);
        at = end;
    }
    out.bytes.resize(out.bytes.len() + ones / 8, 0xff);
    out
}

impl Aligned {
    /// Adds the bits from `from` to `end`; of the last ones, less than 8, nothing.
    fn copy(&mut self, bits: &Bits<'_>, from: usize, end: usize) {
        let whole = (from..end).step_by(8).filter(|at| at + 8 <= end);
        self.bytes.extend(whole.filter_map(|at| bits.byte(at)));
    }
}

/// Received bits: the first one is bit 0 of the first byte.
struct Bits<'a>(&'a [u8]);

/// What begins at a bit.
enum Found {
    /// A message, and the number of its bytes.
    Message(usize),
    /// A message that the bits do not have to its end.
    Unfinished,
    /// No message.
    None,
}

impl Bits<'_> {
    const fn len(&self) -> usize {
        self.0.len() * 8
    }

    fn is_one(&self, at: usize) -> bool {
        self.0.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 != 0)
    }

    /// The 8 bits from `at` on.
    fn byte(&self, at: usize) -> Option<u8> {
        let low = u16::from(*self.0.get(at / 8)?);
        let shift = at % 8;
        let high = match shift {
            0 => 0,
            _ => u16::from(*self.0.get(at / 8 + 1)?),
        };
        Some(((high << 8 | low) >> shift) as u8)
    }

    /// The message from `at` on, of which bytes have MSEO 11 at the end only, and no one 10; or a
    /// calibration pattern.
    fn message(&self, at: usize) -> Found {
        let mut valid = true;
        for n in 0..MAX_LEN {
            let Some(byte) = self.byte(at + 8 * n) else { return Found::Unfinished };
            match byte & 0b11 {
                END_OF_MESSAGE if n > 0 && (valid || self.is_calibration(at, n + 1)) => {
                    return Found::Message(n + 1);
                }
                END_OF_MESSAGE => return Found::None,
                RESERVED => valid = false,
                mseo => valid &= n > 0 || mseo == 0,
            }
        }
        Found::None
    }

    /// Whether the `len` bytes from `at` on are a calibration pattern.
    fn is_calibration(&self, at: usize, len: usize) -> bool {
        CALIBRATION.iter().any(|(_, pattern)| {
            let mut bytes = pattern.iter().enumerate();
            pattern.len() == len && bytes.all(|(n, byte)| self.byte(at + 8 * n) == Some(*byte))
        })
    }

    /// The first bit from `from` on at which a message or idle ones begin, as the messages behind
    /// it show; or a later one, before which there is none.
    fn start(&self, from: usize) -> usize {
        let mut from = from;
        while from < self.len() {
            // Behind the end of a message at each of the bits, or a message there itself.
            let places = (from..from + 8).flat_map(|at| [Some(at), self.behind(at)]);
            let valid = places.flatten().filter(|at| self.is_start(*at));
            match valid.min() {
                Some(at) => return at,
                None => from += STEP,
            }
        }
        self.len()
    }

    /// The bit behind the first byte with MSEO 11, of the bytes from `at` on.
    fn behind(&self, at: usize) -> Option<usize> {
        let mut bytes = (0..MAX_LEN).map(|n| (n, self.byte(at + 8 * n)));
        let (end, _) = bytes.find(|(_, byte)| byte.is_some_and(|b| b & 0b11 == END_OF_MESSAGE))?;
        Some(at + 8 * (end + 1))
    }

    /// Whether `CHAIN` messages follow one another from `at` on, or those up to the end.
    fn is_start(&self, at: usize) -> bool {
        let (mut at, mut count) = (at, 0);
        while count < CHAIN {
            let ones = (at..self.len()).take(8 * MAX_LEN).take_while(|at| self.is_one(*at)).count();
            at += ones;
            match self.message(at) {
                _ if ones == 8 * MAX_LEN => return true,
                Found::Message(len) if self.is_usual(at) => at += 8 * len,
                Found::Unfinished => return count > 0,
                Found::Message(_) | Found::None => return false,
            }
            count += 1;
        }
        true
    }

    /// Whether TCODE of the message at `at` is one of N-Trace, of SiFive, or of a vendor, or it is
    /// a calibration pattern.
    fn is_usual(&self, at: usize) -> bool {
        let Some(byte) = self.byte(at) else { return false };
        let mseo = byte & 0b11;
        mseo == RESERVED
            || matches!(byte >> 2, 2..=4 | 7..=9 | 11 | 12 | 27..=30 | 33..=35 | 56..=62)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages, with the number of ones before each.
    const STREAM: &[(usize, &[u8])] = &[
        (0, &[0x24, 0x0d, 0x00, 0x83]),
        (3, &[0x10, 0xa1, 0x00, 0x80, 0x00, 0x00, 0x00, 0x07]),
        (0, &[0x70, 0xd0, 0x1d, 0x1d, 0xf8, 0xff]),
        (8, &[0x0c, 0xff]),
        (21, &[0x10, 0x88, 0x05, 0x83]),
        (1, &[0x84, 0x40, 0x13]),
        (16, &[]),
    ];

    /// The bits of messages, and of `head` before them.
    fn sent(head: &[bool], stream: &[(usize, &[u8])]) -> Vec<u8> {
        let mut bits = head.to_vec();
        for (ones, message) in stream {
            bits.extend((0..*ones).map(|_| true));
            bits.extend(message.iter().flat_map(|byte| (0..8).map(move |n| byte >> n & 1 != 0)));
        }
        bits.resize(bits.len().next_multiple_of(8), true);
        let byte =
            |bits: &[bool]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
        bits.chunks(8).map(byte).collect()
    }

    /// The messages are the same, whatever bit of a byte the first one begins at.
    #[test]
    fn every_phase() {
        let want: Vec<u8> = [
            &[0x24, 0x0d, 0x00, 0x83, 0x10, 0xa1, 0x00, 0x80, 0x00, 0x00, 0x00, 0x07][..],
            &[0x70, 0xd0, 0x1d, 0x1d, 0xf8, 0xff, 0xff, 0x0c, 0xff, 0xff, 0xff],
            &[0x10, 0x88, 0x05, 0x83, 0x84, 0x40, 0x13, 0xff, 0xff],
        ]
        .concat();
        for phase in 0..8 {
            // The last bits of a message that is cut.
            let head: Vec<bool> = (0..phase).map(|n| n % 3 != 0).collect();
            let found = aligned(&sent(&head, STREAM));
            assert_eq!(found.messages, 6, "{phase}: {found:02x?}");
            assert!(found.inside > 0, "{phase}");
            assert_eq!((found.bytes, found.others), (want.clone(), 0), "{phase}");
        }
        assert_eq!(aligned(&[]), Aligned::default());
    }

    /// Damage costs the messages around it, in bits of any port.
    #[test]
    fn goes_on_after_damage() {
        let stream: Vec<(usize, &[u8])> = STREAM.iter().copied().cycle().take(60).collect();
        let clean = sent(&[], &stream);
        for at in [0, 1, 40, 77, 100, 101, 102, 200] {
            let mut bytes = clean.clone();
            bytes[at] ^= 0x5a;
            let (found, whole) = (aligned(&bytes), aligned(&clean));
            assert!(found.messages + 8 >= whole.messages, "{at}: {}", found.messages);
            assert!(found.bytes.ends_with(&whole.bytes[whole.bytes.len() - 60..]), "{at}");
            assert!(found.bytes.len() <= bytes.len());
        }
    }

    /// The patterns are not searched for messages, and what follows one begins at its own bit.
    #[test]
    fn calibration_patterns() {
        for (name, pattern) in CALIBRATION {
            let head: Vec<bool> = [true, false, true].to_vec();
            let stream: Vec<(usize, &[u8])> =
                (0..20).map(|_| (0, pattern)).chain(STREAM.iter().copied()).collect();
            let found = aligned(&sent(&head, &stream));
            let first = found.bytes.windows(4).position(|w| w == [0x24, 0x0d, 0x00, 0x83]);
            assert!(first.is_some_and(|first| first >= 16 * pattern.len()), "{name}: {found:02x?}");
        }
    }
}
