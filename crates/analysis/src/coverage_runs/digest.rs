//! SHA-256 digests.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A SHA-256 digest. (FIPS 180-4, 6.2)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Digest {
        let mut digester = Digester::default();
        digester.add(bytes);
        digester.finish()
    }

    /// A digest of 64 lower-case hexadecimal digits, which is how it is displayed.
    pub fn parse(text: &str) -> Option<Digest> {
        let digits = text.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let digit = |own: Option<&u8>| match own? {
                own @ b'0'..=b'9' => Some(own - b'0'),
                own @ b'a'..=b'f' => Some(own - b'a' + 10),
                _ => None,
            };
            *byte = digit(pair.first())? << 4 | digit(pair.get(1))?;
        }
        Some(Digest(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Computes a digest of bytes that come in parts.
#[derive(Clone, Debug, Default)]
pub struct Digester(Sha256);

impl Digester {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Adds a number as 8 bytes, the lowest first.
    pub fn number(&mut self, number: u64) {
        self.add(&number.to_le_bytes());
    }

    /// Adds a text with its length in front.
    pub fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.add(text.as_bytes());
    }

    /// The digest of all bytes.
    pub fn finish(self) -> Digest {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(&self.0.finalize());
        Digest(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of FIPS 180-2, appendix B.1.
    #[test]
    fn digests_are_those_of_the_standard() {
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of(b"abc").to_string(), text);
        assert_eq!(Digest::parse(text), Some(Digest::of(b"abc")));
        for wrong in [&text[1..], &text.to_uppercase(), &text.replace('b', "g"), ""] {
            assert_eq!(Digest::parse(wrong), None, "{wrong}");
        }
    }
}
