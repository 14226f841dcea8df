//! Answers in a file: compressed, as text, and together not longer than the file may be.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// Bytes as base64 of their deflated form. (RFC 1951, RFC 4648)
pub(super) fn packed(bytes: &[u8]) -> String {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    // A vector takes all bytes.
    let _ = encoder.write_all(bytes);
    base64(&encoder.finish().unwrap_or_default())
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The digits of 6 bits each. (RFC 4648, 4)
pub(super) fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |n: usize| u32::from(three.get(n).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for n in 0..4 {
            let digit = (group >> (18 - 6 * n) & 63) as usize;
            let digit = DIGITS.get(digit).copied().unwrap_or(b'=');
            out.push(if n > three.len() { '=' } else { char::from(digit) });
        }
    }
    out
}

/// Answers by name, and how many more characters there may be.
#[derive(Debug)]
pub(super) struct Packed {
    answers: Vec<(String, String)>,
    left: usize,
}

impl Packed {
    pub(super) fn new(most: usize) -> Packed {
        Packed { answers: Vec::new(), left: most }
    }

    /// How many more characters there may be.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Adds answers, all or none: those that are longer than `most` together, or than what is left,
    /// are not added.
    pub(super) fn add(&mut self, answers: Vec<(String, Vec<u8>)>, most: usize) -> Option<usize> {
        let answers: Vec<(String, String)> =
            answers.into_iter().map(|(name, bytes)| (name, packed(&bytes))).collect();
        // With the quotes, the colon and the comma.
        let size = answers.iter().map(|(name, text)| name.len() + text.len() + 6).sum();
        if size > most.min(self.left) {
            return None;
        }
        self.left -= size;
        self.answers.extend(answers);
        Some(size)
    }

    /// Adds an answer whose room was set aside.
    pub(super) fn add_always(&mut self, name: &str, bytes: &[u8]) {
        self.answers.push((name.to_owned(), packed(bytes)));
    }

    /// An object in JSON with all of them. Neither names nor texts have a character to be escaped.
    pub(super) fn json(&self) -> String {
        let mut out = String::from("{");
        for (n, (name, text)) in self.answers.iter().enumerate() {
            out.push_str(if n > 0 { ",\n\"" } else { "\"" });
            out.push_str(name);
            out.push_str("\":\"");
            out.push_str(text);
            out.push('"');
        }
        out.push('}');
        out
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// The vectors of RFC 4648, 10.
    #[test]
    fn digits_of_six_bits() {
        for (text, want) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(text.as_bytes()), want);
        }
        assert_eq!(base64(&[0xff, 0xef, 0xbe]), "/+++");
    }

    #[test]
    fn answers_have_a_bound() {
        let mut own = Packed::new(200);
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(own.add(vec![("a".into(), bytes.clone())], 1000), None);
        let size = own.add(vec![("a".into(), vec![0; 1000])], 1000).expect("it fits");
        assert_eq!(own.left(), 200 - size);
        let before = own.json();
        let two = vec![("b".to_owned(), vec![1]), ("c".to_owned(), bytes)];
        assert_eq!(own.add(two, 1000), None);
        assert_eq!(own.json(), before, "all or none");
        assert!(before.len() <= 200);
    }

    #[test]
    fn answers_are_deflated() {
        let bytes = b"answers answers answers".repeat(9);
        let text = packed(&bytes);
        let mut deflated = Vec::new();
        for four in text.as_bytes().chunks(4) {
            let digit = |n: usize| DIGITS.iter().position(|own| *own == four[n]);
            let group = (0..4).fold(0, |sum, n| sum << 6 | digit(n).unwrap_or(0) as u32);
            let count = (0..4).filter(|n| digit(*n).is_some()).count() - 1;
            deflated.extend(group.to_be_bytes()[1..=count].iter());
        }
        let mut back = Vec::new();
        flate2::read::DeflateDecoder::new(&deflated[..]).read_to_end(&mut back).expect("deflated");
        assert_eq!(back, bytes);
    }
}
