//! Messages from bytes, and back. (Debug Adapter Protocol, "Base Protocol")
//!
//! A message is a header of lines that end with CR LF, an empty line, and as many bytes of JSON as
//! `Content-Length` states.

use std::fmt;

/// The most bytes of a message.
pub const MOST: usize = 1 << 22;

/// The most bytes of a header.
const MOST_HEADER: usize = 1 << 12;

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The header has no `Content-Length`, or one that is not a number.
    NoLength,
    /// The header does not end.
    LongHeader,
    /// The message is longer than [`MOST`].
    TooLong,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::NoLength => f.write_str("a header has no Content-Length"),
            Damage::LongHeader => f.write_str("a header does not end"),
            Damage::TooLong => write!(f, "a message has more than {MOST} bytes"),
        }
    }
}

/// What a framer has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// The content of a message.
    Message(Vec<u8>),
    /// Bytes that are not a message.
    Damaged(Damage),
}

/// What the next byte belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Header,
    /// A message: the number of its bytes that lack.
    Content(usize),
    /// A message that is too long: the number of its bytes that lack.
    Skipped(usize),
}

/// Finds messages in bytes that may be cut anywhere.
#[derive(Clone, Debug, Default)]
pub struct Framer {
    part: Part,
    bytes: Vec<u8>,
}

impl Framer {
    /// Takes bytes, and passes what they complete to `each`.
    pub fn feed(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Received)) {
        while !bytes.is_empty() {
            let taken = match self.part {
                Part::Header => self.header(bytes, each),
                Part::Content(lacks) | Part::Skipped(lacks) => {
                    let taken = lacks.min(bytes.len());
                    let lacks = lacks - taken;
                    if let Part::Content(_) = self.part {
                        self.bytes.extend_from_slice(bytes.get(..taken).unwrap_or_default());
                        self.part = Part::Content(lacks);
                        if lacks == 0 {
                            each(Received::Message(std::mem::take(&mut self.bytes)));
                        }
                    } else {
                        self.part = Part::Skipped(lacks);
                    }
                    if lacks == 0 {
                        self.part = Part::Header;
                    }
                    taken
                }
            };
            bytes = bytes.get(taken..).unwrap_or_default();
        }
    }

    /// Takes bytes of a header, at most up to its end, and returns their number.
    fn header(&mut self, bytes: &[u8], each: &mut dyn FnMut(Received)) -> usize {
        for (n, byte) in bytes.iter().enumerate() {
            self.bytes.push(*byte);
            if self.bytes.ends_with(b"\n\r\n") || self.bytes.ends_with(b"\n\n") {
                let length = length(&self.bytes);
                self.bytes.clear();
                match length {
                    None => each(Received::Damaged(Damage::NoLength)),
                    Some(0) => each(Received::Message(Vec::new())),
                    Some(length) if length > MOST => {
                        each(Received::Damaged(Damage::TooLong));
                        self.part = Part::Skipped(length);
                    }
                    Some(length) => self.part = Part::Content(length),
                }
                return n + 1;
            }
            if self.bytes.len() >= MOST_HEADER {
                self.bytes.clear();
                each(Received::Damaged(Damage::LongHeader));
            }
        }
        bytes.len()
    }
}

/// The length that a header states.
fn length(header: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(header).ok()?;
    let value = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("content-length").then_some(value)
    })?;
    value.trim().parse().ok()
}

/// Appends a message with this content.
pub fn emit(content: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", content.len()).as_bytes());
    out.extend_from_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(parts: &[&[u8]]) -> Vec<Received> {
        let (mut framer, mut all) = (Framer::default(), Vec::new());
        for part in parts {
            framer.feed(part, &mut |received| all.push(received));
        }
        all
    }

    #[test]
    fn messages_are_cut_anywhere() {
        let mut bytes = Vec::new();
        emit(b"{\"a\":1}", &mut bytes);
        bytes.extend_from_slice(b"X: y\r\ncontent-length:2\r\n\r\n{}");
        emit(b"", &mut bytes);
        let want = [b"{\"a\":1}".to_vec(), b"{}".to_vec(), Vec::new()].map(Received::Message);
        assert_eq!(all(&[&bytes]), want);
        for cut in 0..=bytes.len() {
            let (first, rest) = bytes.split_at(cut);
            assert_eq!(all(&[first, rest]), want, "cut at {cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(all(&single), want);
    }

    #[test]
    fn damage_is_reported_and_passed() {
        let good = b"Content-Length: 2\r\n\r\n{}";
        let message = Received::Message(b"{}".to_vec());
        for (bytes, damage) in [
            (b"nonsense\r\n\r\n".to_vec(), Damage::NoLength),
            (b"Content-Length: -1\r\n\r\n".to_vec(), Damage::NoLength),
            (b"Content-Length: 1e9\r\n\r\n".to_vec(), Damage::NoLength),
            (b"Content-Length: \xff\r\n\r\n".to_vec(), Damage::NoLength),
            (vec![b'x'; MOST_HEADER], Damage::LongHeader),
        ] {
            let got = all(&[&bytes, good]);
            assert_eq!(got, [Received::Damaged(damage), message.clone()], "{bytes:?}");
        }
        let long = format!("Content-Length: {}\r\n\r\n", MOST + 1);
        let content = vec![b' '; MOST + 1];
        let got = all(&[long.as_bytes(), &content, good]);
        assert_eq!(got, [Received::Damaged(Damage::TooLong), message]);
    }
}
