//! A buffer of lines before a writer.

use std::io;

/// Bytes of text that are buffered before they are written.
const BUFFERED: usize = 1 << 15;

/// Capacities above this number of bytes are multiples of it.
const CAPACITY_STEP: usize = 1 << 18;

/// Capacity beyond them: text is taken when it is longer than a bound, by one range at most.
const SLACK: usize = 1 << 15;

/// Lines of text, written in large blocks. After the first error of the writer nothing more is
/// written.
#[derive(Debug)]
pub struct Lines<W> {
    out: W,
    /// The buffered text.
    pub text: String,
    error: Option<io::Error>,
    /// Text of this length is written.
    limit: usize,
    /// The number of writes. A position in `text` is valid while the number is the same.
    pub(crate) writes: u64,
}

/// Lines that are written to memory.
impl Lines<Vec<u8>> {
    /// Takes all text. From then on text is not copied to `out`, but remains where it was made
    /// until it is taken.
    pub fn take(&mut self) -> Vec<u8> {
        self.limit = usize::MAX;
        self.writes += 1;
        let len = self.waiting();
        // Little text may wait for long: it takes no more memory than its length.
        if len < CAPACITY_STEP / 2 || !self.out.is_empty() {
            self.out.extend_from_slice(self.text.as_bytes());
            self.text.clear();
            return std::mem::take(&mut self.out);
        }
        // An allocator reuses blocks of equal sizes.
        let room = len.next_multiple_of(CAPACITY_STEP) + SLACK;
        std::mem::replace(&mut self.text, String::with_capacity(room)).into_bytes()
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
        let text = String::with_capacity(2 * BUFFERED);
        Lines { out, text, error: None, limit: BUFFERED, writes: 0 }
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
        if self.text.len() >= self.limit {
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
