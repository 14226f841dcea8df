//! Files that are written while they are made.

use std::fmt::{self, Write};

use tracewright_capture::proto::Message;

/// Bytes that are collected before they are written.
const PIECE: usize = 1 << 16;

/// A file that is written in pieces: it is never in memory as a whole.
pub(crate) struct Pieces<'a> {
    piece: Vec<u8>,
    /// Receives each piece, and returns whether more is needed.
    write: &'a mut dyn FnMut(Vec<u8>) -> bool,
    wanted: bool,
}

impl<'a> Pieces<'a> {
    /// A file whose pieces `write` receives. It returns whether more are needed.
    pub(crate) fn new(write: &'a mut dyn FnMut(Vec<u8>) -> bool) -> Pieces<'a> {
        Pieces { piece: Vec::new(), write, wanted: true }
    }

    /// Whether more is needed.
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// Appends bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.flush();
        }
    }

    /// Appends a text.
    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Appends a field of a protobuf message.
    pub(crate) fn field(&mut self, number: u64, bytes: &[u8]) {
        let mut field = Message::default();
        field.bytes(number, bytes);
        self.bytes(&field.0);
    }

    /// Appends texts with commas between them, in brackets.
    pub(crate) fn list(&mut self, items: impl IntoIterator<Item = impl fmt::Display>) {
        self.text("[");
        for (n, item) in items.into_iter().enumerate() {
            if !self.wanted {
                return;
            }
            let comma = if n == 0 { "" } else { "," };
            let _ = write!(self, "{comma}{item}");
        }
        self.text("]");
    }

    /// Writes the last piece.
    pub(crate) fn finish(mut self) {
        self.flush();
    }

    fn flush(&mut self) {
        let piece = std::mem::take(&mut self.piece);
        if self.wanted && !piece.is_empty() {
            self.wanted = (self.write)(piece);
        }
    }
}

impl Write for Pieces<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_ends_where_no_more_is_needed() {
        for (most, want) in [(usize::MAX, 3 * PIECE + 1), (2, 2 * PIECE)] {
            let (mut count, mut len) = (0, 0);
            let mut write = |piece: Vec<u8>| {
                (count, len) = (count + 1, len + piece.len());
                count < most
            };
            let mut out = Pieces::new(&mut write);
            (0..3 * PIECE + 1).for_each(|_| out.text("a"));
            out.finish();
            assert_eq!(len, want);
        }
    }

    #[test]
    fn lists() {
        let mut text = Vec::new();
        let mut write = |piece: Vec<u8>| {
            text.extend(piece);
            true
        };
        let mut out = Pieces::new(&mut write);
        out.list([1, 2]);
        out.list([""; 0]);
        out.finish();
        assert_eq!(text, b"[1,2][]");
    }
}
