//! Standard output or an output file.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::fail::Fail;

/// Standard output or a file.
pub struct Output {
    path: Option<PathBuf>,
    writer: Box<dyn Write>,
    terminal: bool,
    /// The reader of standard output closed it.
    closed: Cell<bool>,
    error: Option<io::Error>,
}

impl Output {
    /// Opens the file at `path`, or standard output.
    pub fn open(path: Option<&Path>) -> Result<Output, Fail> {
        let (writer, terminal): (Box<dyn Write>, bool) = match path {
            Some(path) => {
                let file = File::create(path).map_err(|error| Fail::write(Some(path), &error))?;
                (Box::new(BufWriter::with_capacity(1 << 16, file)), false)
            }
            None => {
                let stdout = io::stdout();
                let terminal = stdout.is_terminal();
                (Box::new(BufWriter::with_capacity(1 << 16, stdout.lock())), terminal)
            }
        };
        let (path, closed) = (path.map(Path::to_path_buf), Cell::new(false));
        Ok(Output { path, writer, terminal, closed, error: None })
    }

    /// Whether to use colours: on a terminal, unless the environment disables it.
    /// (<https://no-color.org>)
    pub fn colour(&self) -> bool {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        self.terminal && set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
    }

    /// Whether the reader closed the output, so that no more output is needed.
    pub fn closed(&self) -> bool {
        self.closed.get()
    }

    /// Writes `text`.
    pub fn print(&mut self, text: &str) -> Result<(), Fail> {
        let done = self.write_all(text.as_bytes());
        self.check(done)
    }

    /// Writes and flushes `bytes`, and returns whether more can be written. An error is stored for
    /// [`failed`](Self::failed).
    pub fn put(&mut self, bytes: &[u8]) -> bool {
        if self.error.is_none()
            && let Err(error) = self.write_all(bytes).and_then(|()| self.flush())
        {
            self.error = Some(error);
        }
        self.error.is_none()
    }

    /// The error of [`put`](Self::put), if any. A reader that closed the output is not an error.
    pub fn failed(&mut self) -> Result<(), Fail> {
        let done = self.error.take().map_or(Ok(()), Err);
        self.check(done)
    }

    /// Flushes the output.
    pub fn close(mut self) -> Result<(), Fail> {
        let done = self.flush();
        self.check(done)
    }

    /// Converts the error of `result`. A reader that closed the output is not an error.
    pub fn check(&self, result: io::Result<()>) -> Result<(), Fail> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.closed.set(true),
            Err(error) => return Err(Fail::write(self.path.as_deref(), &error)),
            Ok(()) => {}
        }
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
