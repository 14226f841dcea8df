//! Trace buffers.

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::PathBuf;
use std::{fmt, fs};

use crate::files::MAP_FROM;
use crate::{Bytes, Pipe};

/// How the bytes of a buffer are laid out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// `coresight`: 16-byte frames of several sources.
    #[default]
    CoreSight,
    /// `source_data`: one source's bytes as it wrote them.
    SourceData,
    /// `dstream_coresight`: frames with synchronisation packets, as a trace port probe keeps them.
    DstreamCoreSight,
    /// `encapsulated`: messages of several RISC-V sources, each with its source's number.
    Encapsulated,
    /// Another word, as written.
    Other(String),
}

impl Format {
    /// The format that a snapshot calls `word`, in any case.
    pub fn from_word(word: &str) -> Self {
        match word.to_ascii_lowercase().as_str() {
            "coresight" => Format::CoreSight,
            "source_data" => Format::SourceData,
            "dstream_coresight" => Format::DstreamCoreSight,
            "encapsulated" => Format::Encapsulated,
            _ => Format::Other(word.to_owned()),
        }
    }

    /// Several sources share the buffer, told apart by trace id, or by their numbers in messages.
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

/// One file of a buffer.
#[derive(Clone, Debug)]
pub struct File {
    /// Its name as the capture spells it.
    pub name: String,
    /// Where it was found; empty for bytes that never were a file.
    pub path: PathBuf,
    /// What it holds; of a pipe, nothing.
    pub bytes: Bytes,
    /// Where its bytes come through a pipe.
    pub pipe: Option<Pipe>,
    /// It was made for this capture, which takes it along when it is written ([`Spool`](crate::Spool)).
    pub spooled: bool,
}

impl File {
    /// All that it holds. Of a pipe, it waits for the end.
    pub fn all(&self) -> &[u8] {
        match &self.pipe {
            Some(pipe) => pipe.all(),
            None => &self.bytes,
        }
    }

    /// The same, to keep.
    pub(crate) fn shared(&self) -> Bytes {
        match &self.pipe {
            Some(pipe) => Bytes::from(pipe.all().to_vec()),
            None => self.bytes.clone(),
        }
    }

    /// Its size in bytes; of a pipe, as far as it was read.
    pub fn len(&self) -> u64 {
        self.pipe.as_ref().map_or(self.bytes.len() as u64, Pipe::so_far)
    }

    /// It holds no bytes. Of a pipe that is not known.
    pub fn is_empty(&self) -> bool {
        self.pipe.is_none() && self.bytes.is_empty()
    }

    /// Its bytes from front to back. A large file is read, not mapped, so that what was read need not stay
    /// in memory.
    fn reader(&self) -> Box<dyn Read + Send> {
        if let Some(pipe) = &self.pipe {
            return Box::new(pipe.reader());
        }
        let size = self.bytes.len() as u64;
        if size >= MAP_FROM && !self.path.as_os_str().is_empty() {
            // Where it is gone meanwhile, or another one, what is mapped is still there.
            let same = fs::File::open(&self.path)
                .ok()
                .filter(|file| file.metadata().is_ok_and(|about| about.len() == size));
            if let Some(file) = same {
                return Box::new(file.take(size));
            }
        }
        Box::new(io::Cursor::new(self.bytes.clone()))
    }
}

/// Equal where the bytes are.
impl PartialEq for File {
    fn eq(&self, other: &Self) -> bool {
        self.pipe.is_none() && other.pipe.is_none() && self.bytes == other.bytes
            || self.all() == other.all()
    }
}

/// One trace buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Its name, unique in the capture.
    pub name: String,
    /// Its files, in order. Those that could not be read are left out, and a note says so.
    pub files: Vec<File>,
    /// How its bytes are laid out.
    pub format: Format,
}

impl Buffer {
    /// A buffer in memory.
    pub fn new(name: impl Into<String>, format: Format, bytes: impl Into<Bytes>) -> Self {
        let name = name.into();
        let (path, bytes) = (PathBuf::new(), bytes.into());
        let file = File { name: name.clone(), path, bytes, pipe: None, spooled: false };
        Buffer { name, files: vec![file], format }
    }

    /// Its bytes: borrowed from the file where it is one, joined where there are several. Of a pipe, it
    /// waits for the end.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match self.files.as_slice() {
            [] => Cow::Borrowed(&[]),
            [file] => Cow::Borrowed(file.all()),
            _ => Cow::Owned(self.parts().collect::<Vec<_>>().concat()),
        }
    }

    /// Its files' bytes, one after another. Of a pipe, it waits for the end.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.files.iter().map(File::all)
    }

    /// Its size in bytes; of a pipe, as far as it was read.
    pub fn len(&self) -> u64 {
        self.files.iter().map(File::len).sum()
    }

    /// Its size in bytes, where that is known: `None` where some of it is still to come through a pipe.
    pub fn size(&self) -> Option<u64> {
        (!self.is_piped()).then(|| self.len())
    }

    /// Some of it comes through a pipe, and is not in memory.
    pub fn is_piped(&self) -> bool {
        self.files.iter().any(|file| file.pipe.as_ref().is_some_and(|pipe| !pipe.is_whole()))
    }

    /// It holds no bytes. Of a pipe that is not known.
    pub fn is_empty(&self) -> bool {
        self.files.iter().all(File::is_empty)
    }

    /// Its first bytes: at most `most`, and of a pipe at most 64 KiB. They are there still for whoever reads
    /// it.
    pub fn head(&self, most: usize) -> Cow<'_, [u8]> {
        match self.files.as_slice() {
            [] => Cow::Borrowed(&[]),
            [File { pipe: Some(pipe), .. }, ..] if !pipe.is_whole() => Cow::Owned(pipe.head(most)),
            [file, rest @ ..] => {
                let first = file.all();
                if first.len() >= most || rest.iter().any(|file| file.pipe.is_some()) {
                    return Cow::Borrowed(first.get(..most).unwrap_or(first));
                }
                let mut head = first.to_vec();
                for file in rest {
                    let bytes = file.all();
                    let room = most - head.len();
                    head.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
                }
                Cow::Owned(head)
            }
        }
    }

    /// Its bytes from front to back, without more of them in memory than are asked for.
    pub fn reader(&self) -> Box<dyn Read + Send> {
        let nothing: Box<dyn Read + Send> = Box::new(io::empty());
        self.files.iter().fold(nothing, |all, file| Box::new(all.chain(file.reader())))
    }
}
