//! What reading a capture may access.

use crate::files::Files;

/// Where the files of a capture are, and what they may refer to.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Access {
    /// Trace data may be read from named pipes, which wait for their writers. Otherwise only
    /// regular files are read.
    pub pipes: bool,
    /// The files: those of the disk, or bytes in memory.
    pub files: Files,
    /// Formats of buffers that are known beside those of [`Format`](crate::Format): they are
    /// read as [`Format::Other`](crate::Format::Other) without a note.
    pub formats: Vec<String>,
}

impl Access {
    /// Regular files of the disk, and trace data from named pipes if `pipes`.
    pub fn with_pipes(pipes: bool) -> Access {
        Access { pipes, ..Access::default() }
    }

    /// Whether `word` is among the known formats, compared without case.
    pub(crate) fn knows_format(&self, word: &str) -> bool {
        self.formats.iter().any(|known| known.eq_ignore_ascii_case(word))
    }

    /// The files `files`.
    pub fn of(files: Files) -> Access {
        Access { files, ..Access::default() }
    }
}
