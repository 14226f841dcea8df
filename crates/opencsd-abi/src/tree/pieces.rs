//! The pieces of frames that are not decoded.

use tracewright_frames::{Event, FRAME, Frame, Framing, Split};
use tracewright_opencsd::frames::RawFrames;

use crate::log;
use crate::outlet::Outlet;

/// Pieces of frames in order, and the lines of the frames.
#[derive(Debug)]
pub struct Pieces {
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
    /// How many pieces are taken.
    taken: usize,
    framing: Framing,
    raw: Option<RawFrames>,
    lines: String,
}

/// A piece of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// What it is.
    pub kind: Kind,
    start: usize,
    end: usize,
    /// All 16 bytes from `start` on are stored, of which those after `end` are not data.
    padded: bool,
}

/// What a piece is.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Bytes of a source.
    Source {
        /// Its trace ID.
        id: u16,
        /// Their offset.
        at: u64,
        /// They are the first of a fragment.
        fragment: bool,
    },
    /// Four full synchronisation packets, which separate two traces.
    Barrier,
    /// Bytes of a reserved trace ID.
    Reserved {
        /// Their number.
        len: u32,
    },
    /// Bytes before the first trace ID.
    Unknown {
        /// Their number.
        len: u32,
    },
}

impl Pieces {
    /// No pieces.
    pub fn new(framing: Framing) -> Self {
        let (bytes, pieces, lines) = (Vec::new(), Vec::new(), String::new());
        Pieces { bytes, pieces, taken: 0, framing, raw: None, lines }
    }

    /// Drops all pieces.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.pieces.clear();
        self.lines.clear();
        self.taken = 0;
    }

    /// Frames are printed as they are (`packed`), as the data of each ID (`unpacked`), or both.
    pub fn print(&mut self, packed: bool, unpacked: bool) {
        self.raw = Some(RawFrames::new(self.framing, packed, unpacked));
    }

    /// Whether frames are printed.
    pub fn prints(&self) -> bool {
        self.raw.is_some()
    }

    /// Prints the lines of the frames so far.
    pub fn print_lines(&mut self, outlet: &Outlet) {
        for line in self.lines.split_inclusive('\n') {
            log::message(outlet.printer.as_ref(), line);
        }
        self.lines.clear();
    }

    /// Takes the next piece.
    pub fn next(&mut self) -> Option<Piece> {
        let piece = *self.pieces.get(self.taken)?;
        self.taken += 1;
        Some(piece)
    }

    /// The trace ID of the next piece, if it is one of a source.
    pub fn peek(&self) -> Option<u16> {
        match self.pieces.get(self.taken)?.kind {
            Kind::Source { id, .. } => Some(id),
            _ => None,
        }
    }

    /// The bytes of a piece.
    pub fn bytes(&self, piece: &Piece) -> &[u8] {
        self.bytes.get(piece.start..piece.end).unwrap_or_default()
    }

    /// The bytes of a short piece, and their number: see [`Split::short`].
    #[inline]
    pub fn word(&self, piece: &Piece) -> Option<(u128, usize)> {
        let bytes = self.bytes.get(piece.start..).filter(|_| piece.padded)?;
        Some((u128::from_le_bytes(*bytes.first_chunk()?), piece.end - piece.start))
    }

    /// Drops the pieces if all are taken.
    pub fn drop_taken(&mut self) {
        if self.taken == self.pieces.len() {
            self.bytes.clear();
            self.pieces.clear();
            self.taken = 0;
        }
    }

    fn push(&mut self, kind: Kind, bytes: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.pieces.push(Piece { kind, start, end: self.bytes.len(), padded: false });
    }

    /// Adds a piece of `len` bytes, of which all 16 are copied: that needs no loop.
    #[inline]
    fn push_short(&mut self, kind: Kind, bytes: &[u8; FRAME], len: usize) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.pieces.push(Piece { kind, start, end: start + len, padded: true });
    }
}

/// Collects the pieces of a splitter, and the lines of frames if `RAW`.
pub struct Collector<'a, const RAW: bool>(pub &'a mut Pieces);

impl<const RAW: bool> Split for Collector<'_, RAW> {
    const FRAGMENTS: bool = RAW;

    fn piece(&mut self, id: u16, at: u64, fragment: bool, bytes: &[u8]) {
        self.0.push(Kind::Source { id, at, fragment }, bytes);
    }

    #[inline]
    fn short(&mut self, id: u16, at: u64, fragment: bool, word: u128, len: usize) {
        self.0.push_short(Kind::Source { id, at, fragment }, &word.to_le_bytes(), len);
    }

    fn plain(&mut self, id: u8, at: u64, frames: &[[u8; FRAME]], data: &[[u8; FRAME]]) {
        let mut at = at;
        for (frame, bytes) in frames.iter().zip(data) {
            if RAW && let [data @ .., _] = bytes {
                self.packed(at, frame);
                self.end_frame();
                self.fragment(Some(id), at, data);
            }
            let kind = Kind::Source { id: id.into(), at, fragment: true };
            self.0.push_short(kind, bytes, FRAME - 1);
            at = at.wrapping_add(FRAME as u64);
        }
    }

    fn event(&mut self, at: u64, event: Event) {
        let Pieces { raw, lines, .. } = self.0;
        if RAW && let Some(raw) = raw {
            raw.event(at, event, lines);
        }
        match event {
            Event::Barrier => self.0.push(Kind::Barrier, &[]),
            Event::Null { len } | Event::Reserved { len, .. } => {
                self.0.push(Kind::Reserved { len }, &[]);
            }
            Event::Trigger(_) | Event::Flush(_) => self.0.push(Kind::Reserved { len: 1 }, &[]),
            Event::NoSource { len } => self.0.push(Kind::Unknown { len }, &[]),
            _ => {}
        }
    }

    fn frame(&mut self, _: &Frame<'_>) {
        self.end_frame();
    }

    fn packed(&mut self, at: u64, bytes: &[u8]) {
        let Pieces { raw, lines, .. } = self.0;
        if RAW && let Some(raw) = raw {
            raw.packed(at, bytes, lines);
        }
    }

    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        let Pieces { raw, lines, .. } = self.0;
        if RAW && let Some(raw) = raw {
            raw.fragment(id, at, bytes, lines);
        }
    }
}

impl<const RAW: bool> Collector<'_, RAW> {
    fn end_frame(&mut self) {
        let Pieces { raw, lines, .. } = self.0;
        if RAW && let Some(raw) = raw {
            raw.frame(lines);
        }
    }
}
