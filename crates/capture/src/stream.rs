//! Sequential reading of files of any size.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::container::Container;
use crate::open_files::reason;
use crate::problem::{OpenError, Problem};

/// A reader of the file or pipe at `path`; `-` is the standard input.
///
/// # Errors
/// [`OpenError`] where the file cannot be opened.
pub fn stream(path: &Path) -> Result<Box<dyn Read>, OpenError> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    let unreadable = |error| OpenError::new(path, Problem::Unreadable(reason(&error)));
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().is_ok_and(|about| about.is_dir()) {
        return Err(unreadable(std::io::ErrorKind::IsADirectory.into()));
    }
    Ok(Box::new(file))
}

/// `input`, or what it contains where gzip compressed it.
///
/// # Errors
/// The first bytes cannot be read.
pub fn unpacked(mut input: Box<dyn Read>) -> io::Result<Box<dyn Read>> {
    /// The bytes that show that gzip compressed a file. (RFC 1952, 2.3.1)
    const MARK: u64 = 3;
    let mut first = Vec::new();
    input.by_ref().take(MARK).read_to_end(&mut first)?;
    let is_gzip = Container::probe(&first) == Some(Container::Gzip);
    let whole = Cursor::new(first).chain(input);
    Ok(if is_gzip { Box::new(Unpacked(MultiGzDecoder::new(whole))) } else { Box::new(whole) })
}

/// The contents of a stream that gzip compressed, whose errors state that.
struct Unpacked<R>(MultiGzDecoder<R>);

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into).map_err(|error| {
            let form = Container::Gzip;
            io::Error::new(error.kind(), format!("it is {form}, and damaged: {error}"))
        })
    }
}
