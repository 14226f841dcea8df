//! Where answers go.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::fail::Fail;

/// Standard output or a file.
pub struct Output {
    path: Option<PathBuf>,
    writer: Box<dyn Write>,
    terminal: bool,
}

impl Output {
    /// Opens it.
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
        Ok(Output { path: path.map(Path::to_path_buf), writer, terminal })
    }

    /// A person reads it as it comes, in colour if they like.
    pub fn colour(&self) -> bool {
        self.terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
    }

    /// Says whether `result` is a failure. A reader that went away is none.
    pub fn check(&self, result: io::Result<()>) -> Result<(), Fail> {
        match result {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Fail::write(self.path.as_deref(), &error))
            }
            _ => Ok(()),
        }
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
