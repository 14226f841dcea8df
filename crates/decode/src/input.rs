//! The input of a session: bytes from memory, a file or a pipe.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

use tracewright_capture::Buffer;

/// The bytes of `buffer`, read when they are requested: a large buffer is never in memory as a
/// whole.
pub fn of(buffer: &Buffer) -> Box<dyn Input> {
    let reader = buffer.reader();
    if buffer.is_piped() {
        Piped::boxed(reader)
    } else {
        Box::new(Known::new(Reading(reader), buffer.len()))
    }
}

/// Waits until a file that grows may have more bytes.
pub fn pause(time: Duration) {
    thread::sleep(time);
}

/// A source of bytes for a session.
pub trait Input {
    /// Appends at most `most` bytes to `into`; `most` is at least 1. Where no bytes are available
    /// yet, the call waits for some if `wait` is set.
    ///
    /// # Errors
    /// Where the bytes cannot be read.
    fn more(&mut self, most: usize, wait: bool, into: &mut Vec<u8>) -> io::Result<More>;

    /// The number of bytes that are left, if it is known.
    fn left(&self) -> Option<u64> {
        None
    }
}

impl<I: Input + ?Sized> Input for &mut I {
    fn more(&mut self, most: usize, wait: bool, into: &mut Vec<u8>) -> io::Result<More> {
        (**self).more(most, wait, into)
    }

    fn left(&self) -> Option<u64> {
        (**self).left()
    }
}

/// An input whose length is known.
#[derive(Clone, Debug)]
pub struct Known<I> {
    input: I,
    left: u64,
}

impl<I: Input> Known<I> {
    /// `input` has approximately `len` bytes.
    pub fn new(input: I, len: u64) -> Self {
        Known { input, left: len }
    }
}

impl<I: Input> Input for Known<I> {
    fn more(&mut self, most: usize, wait: bool, into: &mut Vec<u8>) -> io::Result<More> {
        let before = into.len();
        let more = self.input.more(most, wait, into);
        self.left = self.left.saturating_sub((into.len() - before) as u64);
        more
    }

    fn left(&self) -> Option<u64> {
        Some(self.left)
    }
}

/// An input that counts the bytes that were taken.
#[derive(Debug)]
pub struct Counting<'a, I: ?Sized> {
    input: &'a mut I,
    taken: u64,
}

impl<'a, I: Input + ?Sized> Counting<'a, I> {
    /// Counts from here on.
    pub fn new(input: &'a mut I) -> Self {
        Counting { input, taken: 0 }
    }

    /// The number of bytes so far.
    pub fn taken(&self) -> u64 {
        self.taken
    }
}

impl<I: Input + ?Sized> Input for Counting<'_, I> {
    fn more(&mut self, most: usize, wait: bool, into: &mut Vec<u8>) -> io::Result<More> {
        let before = into.len();
        let more = self.input.more(most, wait, into);
        self.taken += (into.len() - before) as u64;
        more
    }

    fn left(&self) -> Option<u64> {
        self.input.left()
    }
}

/// The result of a request for bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// Bytes were appended.
    Some,
    /// No bytes are available yet.
    Later,
    /// The input has ended.
    End,
}

/// Bytes in memory, one part after another.
#[derive(Clone, Debug)]
pub struct Parts<I, B> {
    parts: I,
    /// The current part, and how many of its bytes are taken.
    current: Option<(B, usize)>,
}

impl<B: AsRef<[u8]>, I: Iterator<Item = B>> Parts<I, B> {
    /// All of `parts`.
    pub fn new(parts: impl IntoIterator<IntoIter = I, Item = B>) -> Self {
        Parts { parts: parts.into_iter(), current: None }
    }
}

impl<B: AsRef<[u8]>, I: Iterator<Item = B>> Input for Parts<I, B> {
    fn more(&mut self, most: usize, _: bool, into: &mut Vec<u8>) -> io::Result<More> {
        loop {
            if let Some((part, taken)) = &mut self.current {
                let rest = part.as_ref().get(*taken..).unwrap_or_default();
                if !rest.is_empty() {
                    let some = rest.get(..most).unwrap_or(rest);
                    into.extend_from_slice(some);
                    *taken += some.len();
                    return Ok(More::Some);
                }
            }
            match self.parts.next() {
                Some(part) => self.current = Some((part, 0)),
                None => return Ok(More::End),
            }
        }
    }
}

/// A reader that never blocks for long: a file.
#[derive(Debug)]
pub struct Reading<R>(pub R);

impl<R: Read> Input for Reading<R> {
    fn more(&mut self, most: usize, _: bool, into: &mut Vec<u8>) -> io::Result<More> {
        let before = into.len();
        into.resize(before.saturating_add(most), 0);
        let read = loop {
            match self.0.read(into.get_mut(before..).unwrap_or_default()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        into.truncate(before + read.as_ref().map_or(0, |len| (*len).min(most)));
        Ok(if read? == 0 { More::End } else { More::Some })
    }
}

/// Time between two looks at a file that grows.
const LOOK: Duration = Duration::from_millis(5);

/// A file that another program writes: it has no end.
#[derive(Debug)]
pub struct Following<R> {
    file: R,
    at: u64,
}

impl<R: Read + Seek> Following<R> {
    /// Reads `file` from its beginning.
    pub fn new(file: R) -> Self {
        Following { file, at: 0 }
    }
}

impl<R: Read + Seek> Input for Following<R> {
    fn more(&mut self, most: usize, wait: bool, into: &mut Vec<u8>) -> io::Result<More> {
        loop {
            let before = into.len();
            let more = Reading(&mut self.file).more(most, wait, into)?;
            self.at += (into.len() - before) as u64;
            if more == More::Some {
                return Ok(more);
            }
            if self.file.seek(SeekFrom::End(0))? < self.at {
                let why = "the file has become shorter";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
            }
            self.file.seek(SeekFrom::Start(self.at))?;
            if !wait {
                return Ok(More::Later);
            }
            pause(LOOK);
        }
    }
}

/// Bytes that are read from a pipe at a time.
const READ: usize = 1 << 16;
/// The most reads that wait to be decoded.
const MAX_READS: usize = 32;

/// A reader that may block: a pipe. A separate thread reads the pipe, so that available bytes can
/// be decoded while the thread waits for more. After this value is dropped, the thread ends at its
/// next read.
#[derive(Debug)]
pub struct Piped {
    reads: Receiver<io::Result<Vec<u8>>>,
    /// The current read, and how many of its bytes are taken.
    current: (Vec<u8>, usize),
}

impl Piped {
    /// Reads `pipe` to its end, on the calling thread where no thread can be started.
    pub fn boxed(pipe: impl Read + Send + 'static) -> Box<dyn Input> {
        match Piped::start(pipe) {
            Ok(piped) => Box::new(piped),
            Err(pipe) => Box::new(Reading(pipe)),
        }
    }

    /// Reads `pipe` to its end. Returns `pipe` where no thread can be started.
    fn start<R: Read + Send + 'static>(pipe: R) -> Result<Piped, R> {
        // A closure that could not be started is lost, so the pipe is sent to the thread.
        let (give, taken) = sync_channel::<R>(1);
        let (sender, reads) = sync_channel(MAX_READS);
        let read = move || {
            let Ok(mut pipe) = taken.recv() else { return };
            loop {
                let mut read = vec![0; READ];
                let read = match pipe.read(&mut read) {
                    Ok(0) => return,
                    Ok(some) => {
                        read.truncate(some);
                        Ok(read)
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let last = read.is_err();
                if sender.send(read).is_err() || last {
                    return;
                }
            }
        };
        match thread::Builder::new().spawn(read) {
            Ok(_) => give.send(pipe).map_err(|unsent| unsent.0)?,
            Err(_) => return Err(pipe),
        }
        Ok(Piped { reads, current: (Vec::new(), 0) })
    }
}

impl Input for Piped {
    fn more(&mut self, most: usize, wait: bool, into: &mut Vec<u8>) -> io::Result<More> {
        let (read, taken) = &mut self.current;
        if *taken >= read.len() {
            let next = if wait {
                self.reads.recv().map_err(|_| TryRecvError::Disconnected)
            } else {
                self.reads.try_recv()
            };
            match next {
                Ok(next) => (*read, *taken) = (next?, 0),
                Err(TryRecvError::Empty) => return Ok(More::Later),
                Err(TryRecvError::Disconnected) => return Ok(More::End),
            }
        }
        let rest = read.get(*taken..).unwrap_or_default();
        let some = rest.get(..most).unwrap_or(rest);
        into.extend_from_slice(some);
        *taken += some.len();
        Ok(More::Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(input: &mut dyn Input, most: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while input.more(most, true, &mut bytes).expect("bytes") != More::End {}
        bytes
    }

    #[test]
    fn all_inputs_give_the_same_bytes() {
        let bytes: Vec<u8> = (0..200_000u32).map(|n| (n % 251) as u8).collect();
        let parts = || [&bytes[..0], &bytes[..7], &bytes[7..7], &bytes[7..]];
        for most in [1000, 4096, 1 << 20] {
            assert_eq!(all(&mut Parts::new(parts()), most), bytes, "parts by {most}");
            assert_eq!(all(&mut Reading(&bytes[..]), most), bytes, "read by {most}");
            assert_eq!(
                all(&mut Piped::start(io::Cursor::new(bytes.clone())).ok().unwrap(), most),
                bytes
            );
        }
    }

    #[test]
    fn an_empty_pipe_is_reported() {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        let mut input = Piped::start(reader).ok().unwrap();
        let mut bytes = Vec::new();
        assert_eq!(input.more(9, false, &mut bytes).expect("nothing"), More::Later);
        io::Write::write_all(&mut writer, b"abc").expect("a write");
        assert_eq!(input.more(9, true, &mut bytes).expect("bytes"), More::Some);
        drop(writer);
        assert_eq!(input.more(9, true, &mut bytes).expect("the end"), More::End);
        assert_eq!(bytes, b"abc");
    }

    #[test]
    fn a_file_that_grows_has_no_end() {
        let mut input = Following::new(io::Cursor::new(b"abc".to_vec()));
        let mut bytes = Vec::new();
        assert_eq!(input.more(2, true, &mut bytes).expect("bytes"), More::Some);
        assert_eq!(input.more(9, true, &mut bytes).expect("bytes"), More::Some);
        assert_eq!(input.more(9, false, &mut bytes).expect("nothing"), More::Later);
        input.file.get_mut().extend(b"de");
        assert_eq!(input.more(9, true, &mut bytes).expect("bytes"), More::Some);
        assert_eq!(bytes, b"abcde");
        input.file.get_mut().truncate(1);
        assert!(input.more(9, true, &mut bytes).is_err());
    }

    #[test]
    fn a_failed_read_is_an_error() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::NotConnected.into())
            }
        }
        assert!(Piped::boxed(Broken).more(1, true, &mut Vec::new()).is_err());
        assert!(Reading(Broken).more(1, true, &mut Vec::new()).is_err());
    }
}
