//! Lines on their way to a writer.

use std::io;

/// Bytes that wait before they are written.
const ENOUGH: usize = 1 << 15;

/// Room for much text is had in multiples of this many bytes.
const ROOM: usize = 1 << 18;

/// Lines of text, written when many wait. The first error of the writer is kept and ends the writing.
#[derive(Debug)]
pub struct Lines<W> {
    out: W,
    /// The text that waits.
    pub text: String,
    error: Option<io::Error>,
    /// How often text was written.
    pub(crate) writes: u64,
}

/// Text that is kept, to be taken.
impl Lines<Vec<u8>> {
    /// Takes all that there is.
    pub fn take(&mut self) -> Vec<u8> {
        self.write();
        // Like sizes are easily had again.
        let len = self.out.len();
        let room = Vec::with_capacity(if len < ROOM { len } else { len.next_multiple_of(ROOM) });
        std::mem::replace(&mut self.out, room)
    }

    /// How many bytes wait to be taken.
    pub fn waiting(&self) -> usize {
        self.out.len() + self.text.len()
    }

    /// Drops all that there is.
    pub fn clear(&mut self) {
        self.out.clear();
        self.text.clear();
    }
}

impl<W: io::Write> Lines<W> {
    /// Lines for `out`.
    pub fn new(out: W) -> Self {
        Lines { out, text: String::with_capacity(2 * ENOUGH), error: None, writes: 0 }
    }

    /// Ends a line.
    #[inline]
    pub fn end(&mut self) {
        self.text.push('\n');
        self.relieve();
    }

    /// Writes what waits, where it is much.
    #[inline]
    pub fn relieve(&mut self) {
        if self.text.len() >= ENOUGH {
            self.write();
        }
    }

    /// Whether the writer takes no more.
    pub fn broken(&self) -> bool {
        self.error.is_some()
    }

    /// Writes what waits.
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
