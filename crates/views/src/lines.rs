//! A buffer of lines before a writer.

use std::io;

/// Bytes of text that are buffered before they are written.
const BUFFERED: usize = 1 << 15;

/// Capacities above this number of bytes are multiples of it.
const CAPACITY_STEP: usize = 1 << 18;

/// Lines of text, written in large blocks. After the first error of the writer nothing more is
/// written.
#[derive(Debug)]
pub struct Lines<W> {
    out: W,
    /// The buffered text.
    pub text: String,
    error: Option<io::Error>,
    /// The number of writes. A position in `text` is valid while the number is the same.
    pub(crate) writes: u64,
}

/// Lines that are written to memory.
impl Lines<Vec<u8>> {
    /// Takes all text.
    pub fn take(&mut self) -> Vec<u8> {
        self.write();
        // An allocator reuses blocks of equal sizes.
        let len = self.out.len();
        let empty = Vec::with_capacity(if len < CAPACITY_STEP {
            len
        } else {
            len.next_multiple_of(CAPACITY_STEP)
        });
        std::mem::replace(&mut self.out, empty)
    }

    /// The number of bytes of text.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.out.len() + self.text.len()
    }

    /// Drops all text.
    pub fn clear(&mut self) {
        self.out.clear();
        self.text.clear();
    }
}

impl<W: io::Write> Lines<W> {
    /// An empty buffer before `out`.
    pub fn new(out: W) -> Self {
        Lines { out, text: String::with_capacity(2 * BUFFERED), error: None, writes: 0 }
    }

    /// Ends a line.
    #[inline]
    pub fn end(&mut self) {
        self.text.push('\n');
        self.relieve();
    }

    /// Writes the buffered text when it is large enough.
    #[inline]
    pub fn relieve(&mut self) {
        if self.text.len() >= BUFFERED {
            self.write();
        }
    }

    /// The writer has failed.
    pub fn broken(&self) -> bool {
        self.error.is_some()
    }

    /// Writes the buffered text and flushes the writer.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(mut self) -> io::Result<()> {
        self.write();
        match self.error {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }

    fn write(&mut self) {
        self.writes += 1;
        if self.error.is_none()
            && let Err(error) = self.out.write_all(self.text.as_bytes())
        {
            self.error = Some(error);
        }
        self.text.clear();
    }
}
