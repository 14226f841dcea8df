//! Formatter frames as JSON Lines.

use std::io;

use tracewright_frames::{Event, Frame, Split};

use super::describe;
use crate::json::Object;
use crate::lines::Lines;

/// Writes an object for each frame, piece and event.
#[derive(Debug)]
pub struct Json<W> {
    lines: Lines<W>,
}

impl<W: io::Write> Json<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Json { lines: Lines::new(out) }
    }

    /// The writer has failed.
    pub fn broken(&self) -> bool {
        self.lines.broken()
    }

    /// Writes the lines that wait.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(self) -> io::Result<()> {
        self.lines.finish()
    }
}

impl<W: io::Write> Split for Json<W> {
    fn frame(&mut self, frame: &Frame<'_>) {
        Object::new(&mut self.lines.text)
            .text("type", "frame")
            .number("offset", frame.offset(0))
            .bytes("bytes", frame.bytes)
            .end();
        self.lines.end();
    }

    fn piece(&mut self, id: u16, at: u64, fragment: bool, bytes: &[u8]) {
        Object::new(&mut self.lines.text)
            .text("type", "piece")
            .number("offset", at)
            .number("id", id.into())
            .mark("continues", !fragment)
            .bytes("bytes", bytes)
            .end();
        self.lines.end();
    }

    fn event(&mut self, at: u64, event: Event) {
        let (kind, text) = describe(event);
        let o = Object::new(&mut self.lines.text)
            .text("type", "event")
            .number("offset", at)
            .text("kind", kind);
        let o = match event {
            Event::Trigger(value) | Event::Flush(value) => o.number("value", value.into()),
            Event::Null { len } | Event::NoSource { len } => o.number("len", len.into()),
            Event::Reserved { id, len } => o.number("id", id.into()).number("len", len.into()),
            Event::Bad { len, .. } => o.number("len", len.into()).text("text", &text),
            Event::Footer(bytes) => o.bytes("bytes", &bytes),
            Event::FullSync | Event::HalfSync | Event::Barrier => o,
        };
        o.end();
        self.lines.end();
    }
}
