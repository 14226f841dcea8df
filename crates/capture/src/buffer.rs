//! Trace buffers.

use std::borrow::Cow;
use std::fmt;
use std::io::Read;
use std::path::PathBuf;

use crate::Bytes;
use crate::buffer_file::{File, FilesReader};
use crate::sink::Sink;

/// The format of the bytes of a buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `coresight`: 16-byte formatter frames with the data of several sources.
    #[default]
    CoreSight,
    /// `source_data`: the unframed data of one source.
    SourceData,
    /// `dstream_coresight`: frames with synchronisation packets, as a trace port probe stores them.
    DstreamCoreSight,
    /// `encapsulated`: messages of several RISC-V sources, each with its source number.
    Encapsulated,
    /// An unknown format, as written.
    Other(String),
}

impl Format {
    /// The format with the name `word`, compared without case.
    pub fn from_word(word: &str) -> Self {
        match word.to_ascii_lowercase().as_str() {
            "coresight" => Format::CoreSight,
            "source_data" => Format::SourceData,
            "dstream_coresight" => Format::DstreamCoreSight,
            "encapsulated" => Format::Encapsulated,
            _ => Format::Other(word.to_owned()),
        }
    }

    /// Whether the buffer can contain several sources, distinguished by trace ID or source number.
    pub fn holds_several(&self) -> bool {
        !matches!(self, Format::SourceData)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::CoreSight => "coresight",
            Format::SourceData => "source_data",
            Format::DstreamCoreSight => "dstream_coresight",
            Format::Encapsulated => "encapsulated",
            Format::Other(word) => word,
        })
    }
}

/// A trace buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// The name, unique in the capture.
    pub name: String,
    /// The files, in order. Files that could not be read are omitted and have a note.
    pub files: Vec<File>,
    /// The format of the bytes.
    pub format: Format,
    /// The device that the capture names for the buffer.
    pub device: Option<String>,
    /// The registers of the buffer and the bytes as they were stored. `files` has the trace in
    /// them, oldest byte first.
    pub sink: Option<Box<Sink>>,
}

impl Buffer {
    /// A buffer in memory.
    pub fn new(name: impl Into<String>, format: Format, bytes: impl Into<Bytes>) -> Self {
        let name = name.into();
        let (path, bytes) = (PathBuf::new(), bytes.into());
        let file = File { name: name.clone(), path, bytes, pipe: None, spooled: false };
        Buffer { name, files: vec![file], format, device: None, sink: None }
    }

    /// A buffer without files.
    pub fn empty(name: String, format: Format) -> Self {
        Buffer { name, files: Vec::new(), format, device: None, sink: None }
    }

    /// The bytes: borrowed if the buffer is one file, joined if it is several. For a pipe, blocks
    /// until its end.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match self.files.as_slice() {
            [] => Cow::Borrowed(&[]),
            [file] => Cow::Borrowed(file.all()),
            _ => Cow::Owned(self.parts().collect::<Vec<_>>().concat()),
        }
    }

    /// The bytes of each file, in order. A large file is read into memory as a whole;
    /// [`Buffer::reader`] reads it in blocks. For a pipe, blocks until its end.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.files.iter().map(File::all)
    }

    /// The size in bytes; for a pipe, the number of bytes read so far.
    pub fn len(&self) -> u64 {
        self.files.iter().map(File::len).sum()
    }

    /// The size in bytes; `None` if data from a pipe are outstanding.
    pub fn size(&self) -> Option<u64> {
        (!self.is_piped()).then(|| self.len())
    }

    /// Whether data are read from a pipe and not in memory.
    pub fn is_piped(&self) -> bool {
        self.files.iter().any(|file| file.pipe.as_ref().is_some_and(|pipe| !pipe.is_whole()))
    }

    /// Whether there are no bytes. `false` for a pipe, whose size is unknown.
    pub fn is_empty(&self) -> bool {
        self.files.iter().all(File::is_empty)
    }

    /// The first bytes: at most `most`, and at most 64 KiB of a pipe. A later reader receives them
    /// as well.
    pub fn head(&self, most: usize) -> Cow<'_, [u8]> {
        match self.files.as_slice() {
            [] => Cow::Borrowed(&[]),
            [File { pipe: Some(pipe), .. }, ..] if !pipe.is_whole() => Cow::Owned(pipe.head(most)),
            [file, rest @ ..] => {
                let first = file.head(most);
                if first.len() >= most || rest.iter().any(|file| file.pipe.is_some()) {
                    return first;
                }
                let mut head = first.into_owned();
                for file in rest {
                    let room = most - head.len();
                    if room == 0 {
                        break;
                    }
                    head.extend_from_slice(&file.head(room));
                }
                Cow::Owned(head)
            }
        }
    }

    /// Drops the first `bytes` bytes; offsets count from the first byte that remains. Returns
    /// whether that was possible: bytes of a pipe cannot be dropped.
    pub fn skip(&mut self, bytes: u64) -> bool {
        if self.is_piped() {
            return bytes == 0;
        }
        let mut left = bytes;
        for file in &mut self.files {
            let drop = left.min(file.len());
            file.bytes = match &file.pipe {
                // All of it is in memory.
                Some(pipe) => Bytes::from(pipe.all().to_vec()).part(drop, u64::MAX),
                None => file.bytes.part(drop, u64::MAX),
            };
            file.pipe = None;
            left -= drop;
        }
        true
    }

    /// A reader of the bytes, which loads only the bytes that are requested.
    pub fn reader(&self) -> Box<dyn Read + Send> {
        Box::new(FilesReader::new(&self.files))
    }
}
