//! Bytes as text in JSON. (RFC 4648, section 4)

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Three bytes are four digits; a shorter end is filled with `=`.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3) {
        let word = part.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte));
        let word = word << (8 * (3 - part.len()));
        for n in 0..4 {
            let digit = (word >> (18 - 6 * n) & 0x3f) as usize;
            let is_used = n <= part.len();
            let digit = DIGITS.get(digit).filter(|_| is_used).copied();
            text.push(digit.map_or('=', char::from));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    /// The vectors of RFC 4648, section 10.
    #[test]
    fn test_vectors() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(super::encode(bytes.as_bytes()), text);
        }
    }
}
