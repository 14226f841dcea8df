//! The link layer in the words of the reference packet lister.

use std::io;

use tracewright_frames::{Event, Frame, Framing, Split};

use crate::Lines;
use crate::opencsd::frames::RawFrames;

/// Writes the reference's raw frame lines. The splitter must number as the reference does.
#[derive(Debug)]
pub struct Opencsd<W> {
    lines: Lines<W>,
    frames: RawFrames,
}

impl<W: io::Write> Opencsd<W> {
    /// Frames as they are, or what is in them, or both, to `out`.
    pub fn new(out: W, framing: Framing, packed: bool, unpacked: bool) -> Self {
        Opencsd { lines: Lines::new(out), frames: RawFrames::new(framing, packed, unpacked) }
    }

    /// Whether the writer takes no more.
    pub fn broken(&self) -> bool {
        self.lines.broken()
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(mut self) -> io::Result<()> {
        self.frames.finish(&mut self.lines.text);
        self.lines.finish()
    }
}

impl<W: io::Write> Split for Opencsd<W> {
    const FRAGMENTS: bool = true;

    fn piece(&mut self, _id: u16, _at: u64, _fragment: bool, _bytes: &[u8]) {}

    fn event(&mut self, at: u64, event: Event) {
        self.frames.event(at, event, &mut self.lines.text);
    }

    fn frame(&mut self, _frame: &Frame<'_>) {
        self.frames.frame(&mut self.lines.text);
        self.lines.relieve();
    }

    fn packed(&mut self, at: u64, bytes: &[u8]) {
        self.frames.packed(at, bytes, &mut self.lines.text);
    }

    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        self.frames.fragment(id, at, bytes, &mut self.lines.text);
    }
}
