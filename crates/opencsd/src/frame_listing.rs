//! Formatter frames in the format of OpenCSD's `trc_pkt_lister`.

use std::io;

use tracewright_frames::{Event, Frame, Framing, Split};
use tracewright_views::Lines;

use crate::frames::RawFrames;

/// Writes OpenCSD's lines of raw frames. The splitter must number offsets as OpenCSD does.
#[derive(Debug)]
pub struct FrameListing<W> {
    lines: Lines<W>,
    frames: RawFrames,
}

impl<W: io::Write> FrameListing<W> {
    /// Writes to `out`: frames as they are (`packed`), the data of each ID in them (`unpacked`), or
    /// both.
    pub fn new(out: W, framing: Framing, packed: bool, unpacked: bool) -> Self {
        FrameListing { lines: Lines::new(out), frames: RawFrames::new(framing, packed, unpacked) }
    }

    /// The writer has failed.
    pub fn broken(&self) -> bool {
        self.lines.broken()
    }

    /// Writes the lines that wait.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(mut self) -> io::Result<()> {
        self.frames.finish(&mut self.lines.text);
        self.lines.finish()
    }
}

impl<W: io::Write> Split for FrameListing<W> {
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
