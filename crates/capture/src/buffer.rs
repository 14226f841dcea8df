//! Trace buffers.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use crate::Bytes;

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
            _ => Format::Other(word.to_owned()),
        }
    }

    /// Several sources share the buffer, told apart by trace id.
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
    /// What it holds.
    pub bytes: Bytes,
}

/// Equal where the bytes are.
impl PartialEq for File {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
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
        let file = File { name: name.clone(), path: PathBuf::new(), bytes: bytes.into() };
        Buffer { name, files: vec![file], format }
    }

    /// Its bytes: borrowed from the file where it is one, joined where there are several.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match self.files.as_slice() {
            [] => Cow::Borrowed(&[]),
            [file] => Cow::Borrowed(&file.bytes),
            _ => Cow::Owned(self.parts().collect::<Vec<_>>().concat()),
        }
    }

    /// Its files' bytes, one after another.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.files.iter().map(|file| &*file.bytes)
    }

    /// Its size in bytes.
    pub fn len(&self) -> u64 {
        self.files.iter().map(|file| file.bytes.len() as u64).sum()
    }

    /// It holds no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
