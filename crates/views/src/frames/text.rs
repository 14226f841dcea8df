//! Formatter frames as text.

use std::io;

use tracewright_frames::{Event, FRAME, Frame, Split};

use super::describe;
use crate::digits::{decimal, hex_padded};
use crate::lines::Lines;
use crate::text::{Tone, offset_digits};

/// Writes a line for each frame, and below it a line for each piece: offset, ID and bytes.
#[derive(Debug)]
pub struct Text<W> {
    lines: Lines<W>,
    digits: usize,
    colour: bool,
}

impl<W: io::Write> Text<W> {
    /// Writes to `out`. The buffer has `len` bytes, where that is known.
    pub fn new(out: W, len: Option<u64>, colour: bool) -> Self {
        let digits = offset_digits(len);
        Text { lines: Lines::new(out), digits, colour }
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

    fn begin(&mut self, at: u64) {
        let out = &mut self.lines.text;
        let wide = at.checked_ilog10().unwrap_or(0) as usize + 1;
        out.extend(std::iter::repeat_n(' ', self.digits.saturating_sub(wide)));
        decimal(at, out);
        out.push_str("  ");
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.lines.text.push(' ');
            hex_padded(byte.into(), 2, &mut self.lines.text);
        }
    }
}

impl<W: io::Write> Split for Text<W> {
    fn frame(&mut self, frame: &Frame<'_>) {
        self.begin(frame.offset(0));
        let start = self.lines.text.len();
        self.lines.text.push_str("frame    ");
        self.bytes(frame.bytes);
        if self.colour {
            Tone::Quiet.paint(start, &mut self.lines.text);
        }
        self.lines.end();
    }

    fn piece(&mut self, id: u16, at: u64, _fragment: bool, bytes: &[u8]) {
        // Pieces of messages can have any length.
        for (n, bytes) in bytes.chunks(2 * FRAME).enumerate() {
            self.begin(at.wrapping_add((n * 2 * FRAME) as u64));
            let start = self.lines.text.len();
            self.lines.text.push_str("  ID 0x");
            hex_padded(id.into(), 2, &mut self.lines.text);
            if self.colour {
                Tone::Name.paint(start, &mut self.lines.text);
            }
            self.bytes(bytes);
            self.lines.end();
        }
    }

    fn event(&mut self, at: u64, event: Event) {
        self.begin(at);
        let start = self.lines.text.len();
        let (kind, text) = describe(event);
        self.lines.text.push_str("  ");
        self.lines.text.push_str(kind);
        if !text.is_empty() {
            self.lines.text.push(' ');
            self.lines.text.push_str(&text);
        }
        if let Event::Footer(bytes) = event {
            self.bytes(&bytes);
        }
        if self.colour {
            let tone = match event {
                Event::Bad { .. } | Event::Reserved { .. } => Tone::Wrong,
                Event::Trigger(_) | Event::Flush(_) => Tone::Event,
                _ => Tone::Quiet,
            };
            tone.paint(start, &mut self.lines.text);
        }
        self.lines.end();
    }
}
