//! Where the bytes of a buffer come from: memory, a file, a pipe.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;

use tracewright_capture::Buffer;

/// The bytes of `buffer`, read as they are asked for: no more of them are in memory, however large
/// it is.
pub fn of(buffer: &Buffer) -> Box<dyn Input> {
    let reader = buffer.reader();
    if buffer.is_piped() {
        Box::new(Piped::new(reader))
    } else {
        Box::new(Known::new(Reading(reader), buffer.len()))
    }
}

/// Bytes on their way to a session.
pub trait Input {
    /// Appends at most `most` bytes, `most` being at least 1. Where none are there yet it waits for
    /// some, or does not.
    ///
    /// # Errors
    /// Where they cannot be read.
    fn more(&mut self, most: usize, wait: bool, into: &mut Vec<u8>) -> io::Result<More>;

    /// How many bytes are left, where that is known.
    fn left(&self) -> Option<u64> {
        None
    }
}

/// An input of which the length is known.
#[derive(Clone, Debug)]
pub struct Known<I> {
    input: I,
    left: u64,
}

impl<I: Input> Known<I> {
    /// `input` has about `len` bytes.
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

/// What came of asking for bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// There were some.
    Some,
    /// They are not there yet.
    Later,
    /// There are no more.
    End,
}

/// Bytes in memory, one part after another.
#[derive(Clone, Debug)]
pub struct Parts<I, B> {
    parts: I,
    /// The one in hand, and how much of it is taken.
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

/// What never lets one wait long: a file.
#[derive(Debug)]
pub struct Reading<R>(pub R);

impl<R: Read> Input for Reading<R> {
    fn more(&mut self, most: usize, _: bool, into: &mut Vec<u8>) -> io::Result<More> {
        let some = (&mut self.0).take(most as u64).read_to_end(into)?;
        Ok(if some == 0 { More::End } else { More::Some })
    }
}

/// Bytes that are read from a pipe at a time.
const GULP: usize = 1 << 16;
/// Gulps that wait to be decoded, at most.
const GULPS: usize = 32;

/// What may let one wait: a pipe. A thread of its own reads it, so that what has come can be
/// decoded while more is waited for. Where no one asks any more, the thread ends with the next
/// bytes.
#[derive(Debug)]
pub struct Piped {
    gulps: Receiver<io::Result<Vec<u8>>>,
    /// The gulp in hand, and how much of it is taken.
    current: (Vec<u8>, usize),
}

impl Piped {
    /// Reads `pipe` to its end.
    pub fn new(mut pipe: impl Read + Send + 'static) -> Piped {
        let (sender, gulps) = sync_channel(GULPS);
        thread::spawn(move || {
            loop {
                let mut gulp = vec![0; GULP];
                let gulp = match pipe.read(&mut gulp) {
                    Ok(0) => return,
                    Ok(some) => {
                        gulp.truncate(some);
                        Ok(gulp)
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let last = gulp.is_err();
                if sender.send(gulp).is_err() || last {
                    return;
                }
            }
        });
        Piped { gulps, current: (Vec::new(), 0) }
    }
}

impl Input for Piped {
    fn more(&mut self, most: usize, wait: bool, into: &mut Vec<u8>) -> io::Result<More> {
        let (gulp, taken) = &mut self.current;
        if *taken >= gulp.len() {
            let next = if wait {
                self.gulps.recv().map_err(|_| TryRecvError::Disconnected)
            } else {
                self.gulps.try_recv()
            };
            match next {
                Ok(next) => (*gulp, *taken) = (next?, 0),
                Err(TryRecvError::Empty) => return Ok(More::Later),
                Err(TryRecvError::Disconnected) => return Ok(More::End),
            }
        }
        let rest = gulp.get(*taken..).unwrap_or_default();
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
    fn all_give_the_same_bytes() {
        let bytes: Vec<u8> = (0..200_000u32).map(|n| (n % 251) as u8).collect();
        let parts = || [&bytes[..0], &bytes[..7], &bytes[7..7], &bytes[7..]];
        for most in [1000, 4096, 1 << 20] {
            assert_eq!(all(&mut Parts::new(parts()), most), bytes, "parts by {most}");
            assert_eq!(all(&mut Reading(&bytes[..]), most), bytes, "read by {most}");
            assert_eq!(all(&mut Piped::new(io::Cursor::new(bytes.clone())), most), bytes);
        }
    }

    #[test]
    fn a_pipe_says_that_there_is_nothing_yet() {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        let mut input = Piped::new(reader);
        let mut bytes = Vec::new();
        assert_eq!(input.more(9, false, &mut bytes).expect("nothing"), More::Later);
        io::Write::write_all(&mut writer, b"abc").expect("a write");
        assert_eq!(input.more(9, true, &mut bytes).expect("bytes"), More::Some);
        drop(writer);
        assert_eq!(input.more(9, true, &mut bytes).expect("the end"), More::End);
        assert_eq!(bytes, b"abc");
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::NotConnected.into())
            }
        }
        assert!(Piped::new(Broken).more(1, true, &mut Vec::new()).is_err());
        assert!(Reading(Broken).more(1, true, &mut Vec::new()).is_err());
    }
}
