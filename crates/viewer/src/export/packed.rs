//! Answers in a file: compressed, as text, and together not longer than the file may be.

use std::io::Write;

use base64::prelude::{BASE64_STANDARD, Engine};
use flate2::Compression;
use flate2::write::DeflateEncoder;

/// Bytes as base64 of their deflated form. (RFC 1951, RFC 4648)
pub(super) fn packed(bytes: &[u8]) -> String {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    // A vector takes all bytes.
    let _ = encoder.write_all(bytes);
    BASE64_STANDARD.encode(encoder.finish().unwrap_or_default())
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
        let deflated = BASE64_STANDARD.decode(text).expect("base64");
        let mut back = Vec::new();
        flate2::read::DeflateDecoder::new(&deflated[..]).read_to_end(&mut back).expect("deflated");
        assert_eq!(back, bytes);
    }
}
