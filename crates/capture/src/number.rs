//! Parsing of numbers in captures and on command lines.

/// Parses a decimal number, or a hexadecimal number after `0x`.
pub(crate) fn number(text: &str) -> Option<u128> {
    let text = text.trim();
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => (hex, 16),
        None => (text, 10),
    };
    // The parser of the standard library accepts a sign.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    u128::from_str_radix(digits, radix).ok()
}

/// Parses a number of at most 64 bits.
pub(crate) fn number64(text: &str) -> Option<u64> {
    number(text).and_then(|n| u64::try_from(n).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (text, want) in [
            ("0", Some(0)),
            ("0x1C5", Some(0x1c5)),
            ("0XfF", Some(255)),
            (" 42 ", Some(42)),
            ("0010", Some(10)),
            // 17 digits, more than 64 bits.
            ("0x12340000123400000", Some(0x1_2340_0001_2340_0000)),
            ("0xffffffffffffffffffffffffffffffff", Some(u128::MAX)),
            ("0x1ffffffffffffffffffffffffffffffff", None),
            ("", None),
            ("0x", None),
            ("-1", None),
            ("+1", None),
            ("0x-1", None),
            ("12 34", None),
            ("1F", None),
        ] {
            assert_eq!(number(text), want, "{text:?}");
        }
        assert_eq!(number64("0xffffffffffffffff"), Some(u64::MAX));
        assert_eq!(number64("0x10000000000000000"), None);
    }
}
