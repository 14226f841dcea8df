//! A file of a trace buffer.

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::PathBuf;
use std::vec;

use tracewright_image::BytesReader;

use crate::Bytes;
use crate::pipe::{Pipe, PipeReader};

/// A file of a buffer.
#[derive(Clone, Debug)]
pub struct File {
    /// The name as written in the capture.
    pub name: String,
    /// The path of the file; empty for bytes in memory.
    pub path: PathBuf,
    /// The contents; empty for a pipe.
    pub bytes: Bytes,
    /// The pipe, where the data are read from one.
    pub pipe: Option<Pipe>,
    /// The file was created by a [`Spool`](crate::Spool); writing the capture moves it.
    pub spooled: bool,
}

impl File {
    /// The contents. For a pipe, blocks until its end.
    pub fn all(&self) -> &[u8] {
        match &self.pipe {
            Some(pipe) => pipe.all(),
            None => &self.bytes,
        }
    }

    /// The first bytes of a file, or of a pipe that is in memory: at most `most`.
    pub(crate) fn head(&self, most: usize) -> Cow<'_, [u8]> {
        match &self.pipe {
            Some(pipe) => {
                let all = pipe.all();
                Cow::Borrowed(all.get(..most).unwrap_or(all))
            }
            None => self.bytes.head(most),
        }
    }

    /// The contents, shared. For a pipe, blocks until its end.
    pub(crate) fn shared(&self) -> Bytes {
        match &self.pipe {
            Some(pipe) => Bytes::from(pipe.all().to_vec()),
            None => self.bytes.clone(),
        }
    }

    /// The size in bytes; for a pipe, the number of bytes read so far.
    pub fn len(&self) -> u64 {
        self.pipe.as_ref().map_or_else(|| self.bytes.size(), Pipe::so_far)
    }

    /// Whether there are no bytes. `false` for a pipe, whose size is unknown.
    pub fn is_empty(&self) -> bool {
        self.pipe.is_none() && self.bytes.is_empty()
    }

    /// A reader of the bytes.
    fn reader(&self) -> FileReader {
        match &self.pipe {
            Some(pipe) => FileReader::Pipe(pipe.reader()),
            None => FileReader::Bytes(self.bytes.reader()),
        }
    }
}

/// A reader of one file.
enum FileReader {
    Pipe(PipeReader),
    Bytes(BytesReader),
}

impl Read for FileReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            FileReader::Pipe(pipe) => pipe.read(into),
            FileReader::Bytes(bytes) => bytes.read(into),
        }
    }
}

/// A reader of several files, one after another.
pub(crate) struct FilesReader {
    current: Option<FileReader>,
    rest: vec::IntoIter<FileReader>,
}

impl FilesReader {
    /// A reader of `files`.
    pub(crate) fn new(files: &[File]) -> FilesReader {
        let mut rest = files.iter().map(File::reader).collect::<Vec<_>>().into_iter();
        FilesReader { current: rest.next(), rest }
    }
}

impl Read for FilesReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(file) = &mut self.current {
            let read = file.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            self.current = self.rest.next();
        }
        Ok(0)
    }
}

/// Only the bytes are compared.
impl PartialEq for File {
    fn eq(&self, other: &Self) -> bool {
        self.pipe.is_none() && other.pipe.is_none() && self.bytes == other.bytes
            || self.all() == other.all()
    }
}
