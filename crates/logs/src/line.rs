//! Lines of a log that is being written.

use std::fmt::Arguments;
use std::io::Write;

/// Text of lines. The last line may be open: further text of the same instruction can be appended.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    text: Vec<u8>,
    open: bool,
}

impl Line {
    /// Ends the open line, if there is one.
    pub(super) fn end(&mut self) {
        if std::mem::take(&mut self.open) {
            self.text.push(b'\n');
        }
    }

    /// Writes a complete line.
    pub(super) fn whole(&mut self, words: Arguments<'_>) {
        self.begin(words);
        self.end();
    }

    /// Begins a line that stays open.
    pub(super) fn begin(&mut self, words: Arguments<'_>) {
        self.end();
        self.open = true;
        // Writing to a vector does not fail.
        let _ = self.text.write_fmt(words);
    }

    /// Appends to the open line. Without an open line, the text is dropped.
    pub(super) fn more(&mut self, words: Arguments<'_>) {
        if self.open {
            let _ = self.text.write_fmt(words);
        }
    }

    /// Removes and returns the text so far. An open line stays.
    pub(super) fn take(&mut self) -> Vec<u8> {
        if self.open {
            let at = memchr::memrchr(b'\n', &self.text).map_or(0, |at| at + 1);
            let open = self.text.split_off(at);
            return std::mem::replace(&mut self.text, open);
        }
        std::mem::take(&mut self.text)
    }

    /// Bytes of text, the open line included.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }
}
