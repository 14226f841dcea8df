//! Numbers as text. Listings print millions of numbers, so nothing here allocates.

use tracewright_scan::append_ascii;

/// The distance between `9` + 1 and the first letter.
const LOWER: u64 = (b'a' - b'9' - 1) as u64;
const UPPER: u64 = (b'A' - b'9' - 1) as u64;

/// Lower-case hexadecimal, without leading zeros.
#[inline]
pub fn hex(value: u64, out: &mut String) {
    digits(LOWER, value, 1, out);
}

/// Lower-case hexadecimal, at least `width` digits, at most 16.
#[inline]
pub fn hex_padded(value: u64, width: u8, out: &mut String) {
    digits(LOWER, value, width, out);
}

/// Upper-case hexadecimal, without leading zeros.
#[inline]
pub fn upper_hex(value: u64, out: &mut String) {
    digits(UPPER, value, 1, out);
}

/// Upper-case hexadecimal, at least `width` digits, at most 16.
#[inline]
pub fn upper_hex_padded(value: u64, width: u8, out: &mut String) {
    digits(UPPER, value, width, out);
}

#[inline]
fn digits(letters: u64, value: u64, width: u8, out: &mut String) {
    let significant = 16 - value.leading_zeros() as usize / 4;
    let count = significant.max(width.into()).clamp(1, 16);
    let (high, low) = (eight(letters, value >> 32), eight(letters, value & 0xffff_ffff));
    let all = u128::from(high) << 64 | u128::from(low);
    append_ascii(all << (8 * (16 - count)), count, out);
}

/// The eight digits of a number below 2^32, one in each byte, the first one on top.
#[inline]
const fn eight(letters: u64, value: u64) -> u64 {
    let pairs = (value << 16 | value) & 0x0000_ffff_0000_ffff;
    let bytes = (pairs << 8 | pairs) & 0x00ff_00ff_00ff_00ff;
    let digits = (bytes << 4 | bytes) & 0x0f0f_0f0f_0f0f_0f0f;
    // 1 in the bytes of digits above 9.
    let above = digits + 0x0606_0606_0606_0606 >> 4 & 0x0101_0101_0101_0101;
    digits + 0x3030_3030_3030_3030 + above * letters
}

/// Decimal.
#[inline]
pub fn decimal(value: u64, out: &mut String) {
    match ShortText::decimal(value) {
        Some(text) => text.put(out),
        None => long_decimal(value, out),
    }
}

#[cold]
#[inline(never)]
fn long_decimal(value: u64, out: &mut String) {
    decimal(value / EIGHT_DIGITS, out);
    // Eight digits, with leading zeros.
    let low = u128::from(eight_decimal(value % EIGHT_DIGITS) | ZEROS);
    append_ascii(low << 64, 8, out);
}

/// The first number of nine digits.
const EIGHT_DIGITS: u64 = 100_000_000;

/// Eight characters `0`.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// At most 16 ASCII characters, which are appended without a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShortText {
    /// The first one is on top.
    characters: u128,
    len: usize,
}

impl ShortText {
    /// Constant text.
    pub const fn new<const N: usize>(text: &[u8; N]) -> ShortText {
        const { assert!(N <= 16) };
        let (mut characters, mut n) = (0, 0);
        while n < N {
            characters = characters << 8 | text[n] as u128;
            n += 1;
        }
        let unused = 8 * (16 - N as u32);
        ShortText { characters: if N == 0 { 0 } else { characters << unused }, len: N }
    }

    /// `text`, if it is short enough and ASCII.
    pub fn of(text: &str) -> Option<ShortText> {
        let mut bytes = [0; 16];
        bytes.get_mut(..text.len()).filter(|_| text.is_ascii())?.copy_from_slice(text.as_bytes());
        Some(ShortText { characters: u128::from_be_bytes(bytes), len: text.len() })
    }

    /// A number below 10^8.
    #[inline]
    pub const fn decimal(value: u64) -> Option<ShortText> {
        if value >= EIGHT_DIGITS {
            return None;
        }
        let digits = eight_decimal(value);
        let zeros = digits.leading_zeros() / 8;
        let zeros = if zeros > 7 { 7 } else { zeros };
        let characters = ((digits | ZEROS) as u128) << (64 + 8 * zeros);
        Some(ShortText { characters, len: 8 - zeros as usize })
    }

    /// Lower-case hexadecimal, without leading zeros.
    #[inline]
    pub const fn hex(value: u16) -> ShortText {
        let len = (16 - (value | 1).leading_zeros() as usize).div_ceil(4);
        let digits = eight(LOWER, value as u64) as u128;
        ShortText { characters: digits << (128 - 8 * len), len }
    }

    /// This text and `after`, at most 16 characters together.
    #[inline]
    pub const fn then(self, after: ShortText) -> ShortText {
        let len = self.len + after.len;
        debug_assert!(len <= 16);
        // A shift by all bits of an empty text after 16 characters makes no difference.
        let characters = self.characters | after.characters.wrapping_shr(8 * self.len as u32);
        ShortText { characters, len }
    }

    /// The number of characters.
    pub const fn len(self) -> usize {
        self.len
    }

    /// Whether there is no character.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Appends the text.
    #[inline(always)]
    pub fn put(self, out: &mut String) {
        append_ascii(self.characters, self.len, out);
    }
}

/// The eight decimal digits of a number below 10^8, one in each byte, the first one on top.
#[inline]
const fn eight_decimal(value: u64) -> u64 {
    // Two numbers of four digits, then four of two, then eight of one. The products divide by 100
    // and by 10 as long as the numbers are that small.
    let fours = value / 10_000 << 32 | value % 10_000;
    let hundreds = fours * 10_486 >> 20 & 0x0000_007f_0000_007f;
    let twos = hundreds << 16 | (fours - hundreds * 100);
    let tens = twos * 103 >> 10 & 0x000f_000f_000f_000f;
    tens << 8 | (twos - tens * 10)
}

/// A value of `total` bits in the form of OpenCSD: `0x????4A20 (15:0) ~[0x20]`. The low `known`
/// bits are known. The packet has the low `updated` bits; 0 leaves that part out.
pub fn value(total: u8, known: u8, value: u64, updated: u8, out: &mut String) {
    let value = low_bits(value, total);
    let known_digits = known.div_ceil(4);
    out.push_str("0x");
    for _ in known_digits..total.div_ceil(4) {
        out.push('?');
    }
    upper_hex_padded(value, known_digits, out);
    if known < total {
        out.push_str(" (");
        match known.checked_sub(1) {
            Some(top) => decimal(top.into(), out),
            None => out.push_str("-1"),
        }
        out.push_str(":0)");
    }
    if updated != 0 {
        out.push_str(" ~[0x");
        upper_hex(low_bits(value, updated), out);
        out.push(']');
    }
}

const fn low_bits(value: u64, count: u8) -> u64 {
    match count {
        0 => 0,
        1..=63 => value & (1 << count) - 1,
        64.. => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut String)) -> String {
        let mut out = String::new();
        write(&mut out);
        out
    }

    #[test]
    fn numbers() {
        for n in [
            0,
            1,
            9,
            10,
            15,
            16,
            255,
            256,
            0xdead_beef,
            99_999_999,
            100_000_000,
            100_000_001,
            1_234_567_890,
            9_999_999_999_999_999,
            10_000_000_000_000_000,
            10_000_000_000_000_009,
            u64::MAX / 2,
            u64::MAX,
        ] {
            assert_eq!(text(|out| hex(n, out)), format!("{n:x}"));
            assert_eq!(text(|out| upper_hex(n, out)), format!("{n:X}"));
            assert_eq!(text(|out| hex_padded(n, 8, out)), format!("{n:08x}"));
            assert_eq!(text(|out| upper_hex_padded(n, 12, out)), format!("{n:012X}"));
            assert_eq!(text(|out| decimal(n, out)), format!("{n}"));
        }
    }

    #[test]
    fn short_texts() {
        let (new, none) = (ShortText::new(b"Idx:"), ShortText::new(b""));
        let number = ShortText::decimal(1234).expect("8 digits");
        let all = new.then(number).then(ShortText::new(b"; "));
        assert_eq!(text(|out| all.put(out)), "Idx:1234; ");
        let full = ShortText::new(b"0123456789abcdef");
        assert_eq!(text(|out| full.then(none).put(out)), "0123456789abcdef");
        assert_eq!(text(|out| none.then(number).put(out)), "1234");
        assert_eq!((none.then(number).len(), full.len()), (4, 16));
        assert_eq!(ShortText::of("Idx:"), Some(new));
        assert_eq!(ShortText::of("0123456789abcdef"), Some(full));
        assert_eq!(ShortText::of("0123456789abcdefg"), None);
        assert_eq!(ShortText::of("\u{e4}"), None);
        for n in [0, 1, 9, 0x10, 0x6f, 0xabc, u16::MAX] {
            assert_eq!(text(|out| ShortText::hex(n).put(out)), format!("{n:x}"));
        }
        assert_eq!(ShortText::decimal(100_000_000), None);
    }

    /// Each quotient is exact: all numbers of four digits, in both halves.
    #[test]
    fn decimal_numbers() {
        for n in 0..10_000 {
            for n in [n, n * 10_000, n * 10_001] {
                assert_eq!(text(|out| decimal(n, out)), format!("{n}"));
            }
        }
    }

    /// Values from listings of OpenCSD.
    #[test]
    fn values() {
        for (total, known, number, updated, want) in [
            (64, 64, 0xffff_ffc0_0054_c358, 0, "0xFFFFFFC00054C358"),
            (32, 16, 0x4a20, 8, "0x????4A20 (15:0) ~[0x20]"),
            (64, 64, 0x82_f9d1_8bcc, 40, "0x00000082F9D18BCC ~[0x82F9D18BCC]"),
            (32, 0, 0, 0, "0x????????0 (-1:0)"),
            (64, 17, 0x1_2ebc, 17, "0x???????????12EBC (16:0) ~[0x12EBC]"),
            (32, 32, 0x1_0000_0004, 0, "0x00000004"),
        ] {
            assert_eq!(text(|out| value(total, known, number, updated, out)), want);
        }
    }
}
