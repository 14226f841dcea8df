//! Numbers as programs, debuggers and assemblers write them.
//!
//! | number | of |
//! |---|---|
//! | `0x41`, `0b1000001`, `65`, `0101`, `0x41UL`, `0x1234'5678` | C, C++ |
//! | `65u8`, `0x1234_5678` | Rust |
//! | `(byte) 0x41`, `0x41.toByte()`, `std::byte{0x41}`, `&H41` | Java, Kotlin, C++, Basic |
//! | `041h`, `$41`, `&41` | assemblers |
//! | `65 'A'`, `0x41 <main+4>`, `"0x41"`, `'A'` | GDB, JSON, C |

use super::strings::unescaped;
use super::text::{number, without_prefix};

/// A number: its value, in two's complement where it is negative, and its number of hexadecimal
/// digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) value: u64,
    negative: bool,
    /// The digits behind `0x`, or another mark of hexadecimal numbers.
    pub(super) digits: Option<usize>,
    /// The size in bytes of its type, where a cast or a suffix names it.
    pub(super) size: Option<usize>,
}

impl Number {
    /// Whether the number fits in `size` bytes.
    pub(super) const fn fits(self, size: usize) -> bool {
        match self.negative {
            _ if size >= 8 => true,
            true => self.value as i64 >> (8 * size - 1) == -1,
            false => self.value >> (8 * size) == 0,
        }
    }
}

/// Words around a number, and the size of their type in bytes.
const CASTS: [(&[u8], &[u8], usize); 6] = [
    (b"(byte)", b"", 1),
    (b"(short)", b"", 2),
    (b"(int)", b"", 4),
    (b"(long)", b"", 8),
    (b"std::byte{", b"}", 1),
    (b"", b".toByte()", 1),
];

/// The suffixes of Rust, and the size of their type in bytes.
const SUFFIXES: [(&[u8], usize); 8] = [
    (b"u8", 1),
    (b"i8", 1),
    (b"u16", 2),
    (b"i16", 2),
    (b"u32", 4),
    (b"i32", 4),
    (b"u64", 8),
    (b"i64", 8),
];

/// `cell` without what is around its digits and their marks, and the size that this states.
fn plain(cell: &[u8]) -> (&[u8], Option<usize>) {
    let mut cell = cell.trim_ascii();
    if let [mark @ (b'"' | b'\''), inside @ .., end] = cell
        && mark == end
        && inside.len() > 1
        && inside.first() != Some(&b'\\')
    {
        cell = inside;
    }
    // GDB prints a character or a symbol behind a number.
    if let Some(at) = cell.iter().position(|byte| *byte == b' ')
        && matches!(cell.get(at + 1), Some(b'\'' | b'<'))
    {
        cell = cell.get(..at).unwrap_or(cell);
    }
    let cast = CASTS.iter().find_map(|(before, behind, size)| {
        Some((cell.strip_prefix(*before)?.strip_suffix(*behind)?, *size))
    });
    let (cell, size) = cast.map_or((cell, None), |(cell, size)| (cell.trim_ascii(), Some(size)));
    let suffix = SUFFIXES.iter().find_map(|(end, size)| Some((cell.strip_suffix(*end)?, *size)));
    let (cell, size) = suffix.map_or((cell, size), |(cell, size)| (cell, Some(size)));
    let end = cell.iter().rposition(|byte| !b"uUlL".contains(byte)).map_or(0, |last| last + 1);
    (cell.get(..end).unwrap_or(cell), size)
}

/// The digits of a number that has a mark of its radix, and the radix.
fn marked(cell: &[u8]) -> Option<(&[u8], u32)> {
    Some(match cell {
        [b'0', b'x' | b'X', digits @ ..] | [b'&', b'H' | b'h', digits @ ..] => (digits, 16),
        [b'&' | b'$', digits @ ..] => (digits, 16),
        [digits @ .., b'h' | b'H'] => (digits, 16),
        [b'0', b'b' | b'B', digits @ ..] => (digits, 2),
        [b'0', b'o' | b'O', digits @ ..] => (digits, 8),
        _ => return None,
    })
}

/// A number: of `radix` where it has no mark of another one.
pub(super) fn literal(cell: &[u8], radix: u32) -> Option<Number> {
    if let [b'\'', .., b'\''] = cell
        && let Some(&[character]) = unescaped(cell.get(1..cell.len() - 1)?).as_deref()
    {
        let value = character.into();
        return Some(Number { value, negative: false, digits: None, size: Some(1) });
    }
    let (cell, size) = plain(cell);
    let (cell, negative) = cell.strip_prefix(b"-").map_or((cell, false), |cell| (cell, true));
    let (digits, own) = marked(cell).unwrap_or((cell, radix));
    let digits: Vec<u8> = digits.iter().copied().filter(|byte| !b"_'".contains(byte)).collect();
    let value = number(&digits, own)?;
    let value = if negative { value.wrapping_neg() } else { value };
    let is_hex = own == 16 && digits.len() != cell.len();
    Some(Number { value, negative, digits: is_hex.then_some(digits.len()), size })
}

/// A number in an assembler, which is octal with a zero before it.
pub(super) fn operand(cell: &[u8]) -> Option<Number> {
    let is_octal = cell.len() > 1
        && cell.first() == Some(&b'0')
        && cell.iter().all(|byte| (b'0'..=b'7').contains(byte));
    literal(cell, if is_octal { 8 } else { 10 })
}

/// A hexadecimal number without a mark.
pub(super) fn hexadecimal(cell: &[u8]) -> Option<Number> {
    Some(Number { value: number(plain(cell).0, 16)?, negative: false, digits: None, size: None })
}

/// Whether the numbers `cells` are hexadecimal without a mark: all are digits, and one is a letter.
pub(super) fn are_hexadecimal<'a>(cells: impl Iterator<Item = &'a [u8]> + Clone) -> bool {
    let digits = || cells.clone().map(|cell| plain(cell).0);
    let has_letters = |cell: &[u8]| cell.iter().any(u8::is_ascii_alphabetic);
    let is_hex = |cell: &[u8]| {
        !without_prefix(cell).1 && cell.iter().all(u8::is_ascii_hexdigit) && !cell.is_empty()
    };
    let is_binary = |cell: &[u8]| cell.starts_with(b"0b") && cell.len() > 2;
    digits().all(is_hex) && digits().any(has_letters) && !digits().all(is_binary)
}

/// The radix of the numbers `cells` without a mark. C and GDB write octal numbers with a zero
/// before them, and GDB binary ones without. `None`: it is not known.
pub(super) fn radix_of<'a>(cells: impl Iterator<Item = &'a [u8]> + Clone) -> Option<u32> {
    /// The fewest digits of a number that has no digits but 0 and 1 by chance.
    const BINARY: usize = 4;
    let digits = || {
        let cells = cells.clone().map(|cell| plain(cell).0);
        cells.filter(|digits| *digits != b"0" && marked(digits).is_none())
    };
    let is_padded = |cell: &[u8]| cell.len() > 1 && cell.first() == Some(&b'0');
    let longest = digits().map(<[u8]>::len).max().unwrap_or(0);
    let shortest = digits().map(<[u8]>::len).min().unwrap_or(0);
    let padded = digits().filter(|cell| is_padded(cell)).count();
    let only = |known: &[u8]| digits().all(|cell| cell.iter().all(|byte| known.contains(byte)));
    let is_whole = shortest == longest && matches!(longest, 8 | 16 | 32 | 64);
    if only(b"01") && longest > 1 && (padded == 0 || is_whole) {
        return Some(2).filter(|_| longest >= BINARY);
    }
    if padded == 0 || !only(b"0123456789") {
        return Some(10);
    }
    match padded == digits().count() && only(b"01234567") {
        true => Some(8),
        // Decimal numbers of one width.
        false => Some(10).filter(|_| shortest == longest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_programs() {
        for (text, radix, want, digits, size) in [
            ("0x41", 10, 0x41, Some(2), None),
            ("0x41UL", 10, 0x41, Some(2), None),
            ("65", 10, 65, None, None),
            ("041u", 8, 0o41, None, None),
            ("0b1000001", 10, 65, None, None),
            ("0x1234'5678", 10, 0x1234_5678, Some(8), None),
            ("0x1234_5678u32", 10, 0x1234_5678, Some(8), Some(4)),
            ("(byte) 0x41", 10, 0x41, Some(2), Some(1)),
            ("0xc1.toByte()", 10, 0xc1, Some(2), Some(1)),
            ("std::byte{0x41}", 10, 0x41, Some(2), Some(1)),
            ("&H41", 10, 0x41, Some(2), None),
            ("041h", 10, 0x41, Some(3), None),
            ("$41", 10, 0x41, Some(2), None),
            ("65 'A'", 10, 65, None, None),
            ("0x41 <main+4>", 10, 0x41, Some(2), None),
            ("\"0x41\"", 10, 0x41, Some(2), None),
            ("'A'", 10, 65, None, Some(1)),
            ("'\\x41'", 10, 65, None, Some(1)),
            ("'\\''", 10, 39, None, Some(1)),
        ] {
            let found = literal(text.as_bytes(), radix).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((found.value, found.digits, found.size), (want, digits, size), "{text}");
        }
        let negative = literal(b"-2", 10).unwrap();
        assert!(negative.fits(1) && negative.value == -2i64 as u64);
        for text in ["", "x", "0x", "1 2", "main", "'ab'", "-", "0xg1", "1.5"] {
            assert_eq!(literal(text.as_bytes(), 10), None, "{text}");
        }
        assert_eq!(operand(b"041").map(|number| number.value), Some(0o41));
        assert_eq!(operand(b"0").map(|number| number.value), Some(0));
    }
}
