//! Standard output or an output file.

use std::cell::Cell;
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anstream::ColorChoice;
use tracewright::capture::Replacement;
use tracewright::capture::live::{Datagrams, UDP};
use tracewright::capture::plain::plain;

use crate::fail::Fail;
use crate::inputs::{Inputs, is_standard};
use crate::message;

/// Bytes that are buffered before they are written.
const BUFFERED: usize = 1 << 16;

/// Standard output or a file. A regular file is written under a temporary name, and appears under
/// its own at [`close`](Output::close): it does not change where the command fails.
pub struct Output {
    path: Option<PathBuf>,
    writer: Writer,
    terminal: bool,
    /// The reader of standard output closed it.
    closed: Cell<bool>,
    error: Option<io::Error>,
}

enum Writer {
    /// Standard output, a pipe or a device.
    Direct(Box<dyn Write>),
    File(BufWriter<Replacement>),
    /// Datagrams.
    Lines(Datagrams),
    /// The output is closed.
    None,
}

impl Output {
    /// Opens the file at `path`, or standard output for `-` or none, for a command that reads
    /// `inputs`.
    pub fn open(path: Option<&Path>, inputs: &Inputs) -> Result<Output, Fail> {
        let path = path.filter(|path| !is_standard(path));
        inputs.refuse(path)?;
        if path.is_none() {
            Inputs::of_arguments().refuse(None)?;
        }
        let (writer, terminal) = match path {
            Some(path) => {
                let opened = open(path).map_err(|error| Fail::write(Some(path), &error))?;
                (opened, false)
            }
            None => {
                let stdout = io::stdout();
                let terminal = stdout.is_terminal();
                let writer = BufWriter::with_capacity(BUFFERED, stdout.lock());
                (Writer::Direct(Box::new(writer)), terminal)
            }
        };
        let (path, closed) = (path.map(Path::to_path_buf), Cell::new(false));
        Ok(Output { path, writer, terminal, closed, error: None })
    }

    /// As [`open`](Output::open); `udp://HOST:PORT` receives each line as a datagram.
    pub fn open_lines(path: Option<&Path>, inputs: &Inputs) -> Result<Output, Fail> {
        let address = path.and_then(|path| Some((path, path.to_str()?.strip_prefix(UDP)?)));
        let Some((path, address)) = address else { return Output::open(path, inputs) };
        let lines = Datagrams::connect(address).map_err(|error| Fail::write(Some(path), &error))?;
        let (path, closed) = (Some(path.to_path_buf()), Cell::new(false));
        Ok(Output { path, writer: Writer::Lines(lines), terminal: false, closed, error: None })
    }

    /// Whether the output is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Opens standard output, for a command without an option for a file.
    pub fn standard() -> Result<Output, Fail> {
        Output::open(None, &Inputs::default())
    }

    /// Whether to use colours: what `--color` states; without it on a terminal, unless the
    /// environment disables it. (<https://no-color.org>)
    pub fn colour(&self) -> bool {
        match ColorChoice::global() {
            ColorChoice::Always | ColorChoice::AlwaysAnsi => return true,
            ColorChoice::Never => return false,
            ColorChoice::Auto => {}
        }
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        self.terminal && set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
    }

    /// Whether the reader closed the output, so that no more output is needed.
    pub fn closed(&self) -> bool {
        self.closed.get()
    }

    /// Writes `text` for people: characters that a terminal interprets or does not show are
    /// replaced. A carriage return leads back to the beginning of its line.
    pub fn print(&mut self, text: &str) -> Result<(), Fail> {
        let done = self.write_all(plain(text).replace('\r', "\u{fffd}").as_bytes());
        self.check(done)
    }

    /// Writes lines of JSON.
    pub fn json(&mut self, text: &str) -> Result<(), Fail> {
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

    /// Flushes the output. A file gets its name.
    pub fn close(mut self) -> Result<(), Fail> {
        let done = match std::mem::replace(&mut self.writer, Writer::None) {
            Writer::Direct(mut writer) => writer.flush(),
            Writer::Lines(mut lines) => lines.flush(),
            Writer::File(file) => {
                let done = match file.into_inner() {
                    Ok(file) => file.finish(),
                    Err(error) => Err(error.into_error()),
                };
                if done.is_err() {
                    self.unwritten();
                }
                done
            }
            Writer::None => Ok(()),
        };
        self.check(done)
    }

    /// Prints that the file at the path of the output is not written.
    fn unwritten(&self) {
        let Some(path) = &self.path else { return };
        let state = if path.exists() { "unchanged" } else { "not written" };
        message::line(&format!("note: {} is {state}, as the command fails", path.display()));
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

/// A file that is not closed is not written.
impl Drop for Output {
    fn drop(&mut self) {
        if let Writer::File(_) = &self.writer {
            self.unwritten();
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.writer {
            Writer::Direct(writer) => writer.write(bytes),
            Writer::File(file) => file.write(bytes),
            Writer::Lines(lines) => lines.write(bytes),
            Writer::None => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.writer {
            Writer::Direct(writer) => writer.flush(),
            Writer::File(file) => file.flush(),
            Writer::Lines(lines) => lines.flush(),
            Writer::None => Ok(()),
        }
    }
}

/// Names of open files of this process, which are written directly.
const OPEN: [&str; 3] = ["/dev/stderr", "/dev/fd", "/proc"];

fn open(path: &Path) -> io::Result<Writer> {
    let device = OPEN.iter().any(|name| path.starts_with(name))
        || fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir());
    if device {
        let file = OpenOptions::new().write(true).open(path)?;
        return Ok(Writer::Direct(Box::new(BufWriter::with_capacity(BUFFERED, file))));
    }
    Ok(Writer::File(BufWriter::with_capacity(BUFFERED, Replacement::new(path)?)))
}
