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
    const SIXTEEN_DIGITS: u64 = 10_000_000_000_000_000;
    if value >= SIXTEEN_DIGITS {
        decimal(value / SIXTEEN_DIGITS, out);
        // 16 digits, with leading zeros.
        return append_ascii(decimal_digits(value % SIXTEEN_DIGITS, 16), 16, out);
    }
    let count = value.checked_ilog10().unwrap_or(0) as usize + 1;
    append_ascii(decimal_digits(value, count), count, out);
}

/// The last `count` digits of `value`, at least one, the first one on top.
#[inline]
const fn decimal_digits(mut value: u64, count: usize) -> u128 {
    let (mut text, mut n) = (0, 0);
    while n < count {
        text = text >> 8 | ((b'0' as u64 + value % 10) as u128) << 120;
        value /= 10;
        n += 1;
    }
    text
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
