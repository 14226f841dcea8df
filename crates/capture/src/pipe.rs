//! Trace data from a pipe. Their length is unknown, and they can be read only once.

use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::{fmt, fs};

/// Number of first bytes that are stored, so that the format can be detected before decoding.
const HEAD: usize = 1 << 16;

/// A pipe, or the standard input, opened at the first read. Clones share the pipe.
#[derive(Clone)]
pub struct Pipe(Arc<Shared>);

struct Shared {
    path: PathBuf,
    state: Mutex<State>,
    /// All bytes, where [`Pipe::all`] was called.
    all: OnceLock<Vec<u8>>,
}

#[derive(Default)]
struct State {
    /// The source of the bytes after `head`: `Some` while the pipe is open and has no reader.
    open: Option<Box<dyn Read + Send>>,
    /// The first bytes.
    head: Vec<u8>,
    /// Number of bytes read so far.
    read: u64,
    /// A reader was created.
    given: bool,
    ended: bool,
    /// The error that ended the reading of the head.
    error: Option<io::Error>,
}

impl State {
    /// Counts `bytes`, and stores the first of them in the head.
    fn record(&mut self, bytes: &[u8]) {
        self.read += bytes.len() as u64;
        let room = HEAD - self.head.len().min(HEAD);
        self.head.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }
}

impl Pipe {
    /// The pipe at `path`; `-` is the standard input.
    pub fn new(path: &Path) -> Pipe {
        let (path, state, all) = (path.to_owned(), Mutex::default(), OnceLock::new());
        Pipe(Arc::new(Shared { path, state, all }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of bytes read so far.
    pub fn so_far(&self) -> u64 {
        self.0.all.get().map_or_else(|| self.state().read, |all| all.len() as u64)
    }

    /// Whether all bytes are in memory.
    pub fn is_whole(&self) -> bool {
        self.0.all.get().is_some()
    }

    /// The first bytes: at most `most`, and at most 64 KiB. Blocks until they have arrived; once
    /// there is a reader, returns those of them that it has read.
    pub fn head(&self, most: usize) -> Vec<u8> {
        let most = most.min(HEAD);
        if let Some(all) = self.0.all.get() {
            return all.get(..most).unwrap_or(all).to_vec();
        }
        let mut state = self.state();
        let mut some = vec![0; HEAD];
        while !state.given && !state.ended && state.error.is_none() && state.head.len() < most {
            let room = HEAD - state.head.len();
            match self.read(&mut state, &mut some[..room]) {
                Ok(0) => state.ended = true,
                Ok(n) => state.record(&some[..n]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => state.error = Some(error),
            }
        }
        state.head.get(..most).unwrap_or(&state.head).to_vec()
    }

    /// The bytes that have been read so far, of the first 64 KiB. Blocks until there are some.
    pub fn first(&self) -> Vec<u8> {
        self.head(1);
        match self.0.all.get() {
            Some(all) => all.get(..HEAD).unwrap_or(all).to_vec(),
            None => self.state().head.clone(),
        }
    }

    fn read(&self, state: &mut State, into: &mut [u8]) -> io::Result<usize> {
        if state.open.is_none() {
            state.open = Some(open(&self.0.path)?);
        }
        state.open.as_mut().map_or(Ok(0), |open| open.read(into))
    }

    /// All bytes, up to the end or a read error. Blocks until the end. Once a reader was created,
    /// only the head is available.
    pub fn all(&self) -> &[u8] {
        self.0.all.get_or_init(|| {
            if self.state().given {
                return self.state().head.clone();
            }
            let mut all = Vec::new();
            // Bytes that were read before an error remain.
            let _ = self.reader().read_to_end(&mut all);
            all
        })
    }

    /// A reader of the bytes from the first on.
    pub fn reader(&self) -> PipeReader {
        if let Some(all) = self.0.all.get() {
            return PipeReader { pipe: self.clone(), from: From::Memory(Cursor::new(all.clone())) };
        }
        let mut state = self.state();
        let from = if std::mem::replace(&mut state.given, true) {
            From::Error(io::Error::other("a pipe can be read only once"))
        } else {
            let rest = match (state.error.take(), state.open.take(), state.ended) {
                (Some(error), _, _) => From::Error(error),
                (None, _, true) => From::Memory(Cursor::default()),
                (None, Some(open), false) => From::Open(open),
                (None, None, false) => From::Path,
            };
            From::Head(Cursor::new(state.head.clone()), Box::new(rest))
        };
        drop(state);
        PipeReader { pipe: self.clone(), from }
    }
}

fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    Ok(Box::new(fs::File::open(path)?))
}

impl fmt::Debug for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pipe {}", self.0.path.display())
    }
}

/// The bytes of a [`Pipe`], from the first on.
pub struct PipeReader {
    pipe: Pipe,
    from: From,
}

enum From {
    /// The stored head, then the remaining bytes.
    Head(Cursor<Vec<u8>>, Box<From>),
    Memory(Cursor<Vec<u8>>),
    Open(Box<dyn Read + Send>),
    /// A pipe that is not open yet.
    Path,
    Error(io::Error),
}

impl Read for PipeReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match &mut self.from {
                From::Head(head, rest) => match head.read(into)? {
                    0 if !into.is_empty() => {
                        self.from = std::mem::replace(&mut **rest, From::Path);
                        continue;
                    }
                    some => return Ok(some),
                },
                From::Memory(bytes) => return bytes.read(into),
                From::Path => {
                    self.from = From::Open(open(&self.pipe.0.path)?);
                    continue;
                }
                From::Open(open) => open.read(into)?,
                From::Error(error) => return Err(io::Error::new(error.kind(), error.to_string())),
            };
            self.pipe.state().record(into.get(..read).unwrap_or_default());
            return Ok(read);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipe_of(bytes: &[u8]) -> Pipe {
        let pipe = Pipe::new(Path::new("nowhere"));
        pipe.state().open = Some(Box::new(Cursor::new(bytes.to_vec())));
        pipe
    }

    fn read(pipe: &Pipe) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        pipe.reader().read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn reading_the_head_consumes_nothing() {
        for len in [0, 5, HEAD, 3 * HEAD + 1] {
            let bytes: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
            let head = &bytes[..len.min(HEAD)];
            let looked = pipe_of(&bytes);
            assert_eq!(looked.head(3), &head[..len.min(3)]);
            assert_eq!(looked.head(usize::MAX), head);
            assert_eq!(read(&looked).unwrap(), bytes);
            assert_eq!(looked.head(HEAD), head, "after it was read");
            assert_eq!(looked.so_far(), len as u64);

            let whole = pipe_of(&bytes);
            assert_eq!(whole.all(), bytes);
            assert_eq!((whole.head(HEAD), read(&whole).unwrap()), (head.to_vec(), bytes.clone()));
            assert_eq!(read(&whole).unwrap(), bytes, "memory can be read repeatedly");
        }
    }

    #[test]
    fn a_pipe_is_read_once() {
        let pipe = pipe_of(b"trace");
        assert_eq!(read(&pipe).unwrap(), b"trace");
        assert!(read(&pipe).unwrap_err().to_string().contains("once"));
        assert_eq!(pipe.all(), b"trace", "the head is stored");
    }

    #[test]
    fn a_missing_pipe_is_an_error() {
        let pipe = Pipe::new(Path::new("/nowhere/at all"));
        assert_eq!(pipe.so_far(), 0);
        assert_eq!(read(&pipe).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
