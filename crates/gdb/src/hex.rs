//! Numbers and bytes in hexadecimal.

/// A number of at most 16 digits.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 16 || !text.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok()
}

/// The value of a digit.
pub(crate) fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// Bytes of two digits each.
pub(crate) fn bytes(text: &[u8]) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_chunks::<2>();
    let byte = |[high, low]: &[u8; 2]| Some(digit(*high)? << 4 | digit(*low)?);
    if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
}

/// Appends the two digits of each byte.
pub(crate) fn put(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            out.push(DIGITS.get(usize::from(digit)).copied().unwrap_or(b'0'));
        }
    }
}

/// Appends a little-endian value of `size` bytes; of an unknown one, `xx` for each byte.
pub(crate) fn put_value(value: Option<u64>, size: usize, out: &mut Vec<u8>) {
    match value {
        Some(value) => put(value.to_le_bytes().get(..size).unwrap_or_default(), out),
        None => out.extend(std::iter::repeat_n(b'x', 2 * size)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_back() {
        let mut text = Vec::new();
        put(&[0, 0x1f, 0xa0], &mut text);
        assert_eq!(text, b"001fa0");
        assert_eq!(bytes(&text), Some(vec![0, 0x1f, 0xa0]));
        assert_eq!((bytes(b"0"), bytes(b"0g"), bytes(b"")), (None, None, Some(vec![])));
    }

    #[test]
    fn numbers_have_at_most_16_digits() {
        assert_eq!(number(b"ffffffffffffffff"), Some(u64::MAX));
        for text in [&b""[..], b"10000000000000000", b"+1", b"x", b"\xff"] {
            assert_eq!(number(text), None, "{text:?}");
        }
    }

    #[test]
    fn unknown_values_are_not_zero() {
        let mut text = Vec::new();
        put_value(Some(0x8001), 4, &mut text);
        put_value(None, 2, &mut text);
        assert_eq!(text, b"01800000xxxx");
    }
}
