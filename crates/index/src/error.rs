//! Why an index is not used, and why a query has no answer.

use std::{fmt, io};

use tracewright_base::remedy::IMAGE;

/// Why an index is not used, or not all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexError {
    /// The file is not an index.
    NotAnIndex,
    /// The format has another version.
    Version(u16),
    /// The bytes of the file at an offset are not those that were written.
    Damaged {
        /// The offset.
        at: u64,
    },
    /// The index was made with other options, registers or another version of Tracewright.
    OtherConfiguration,
    /// The index was made with other program memory.
    OtherMemory,
    /// The index was made of another trace.
    OtherTrace {
        /// The name of the buffer.
        buffer: String,
    },
    /// The index has no segments of a buffer.
    NoSegments {
        /// The name of the buffer.
        buffer: String,
    },
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IndexError::NotAnIndex => f.write_str("it is not an index"),
            IndexError::Version(version) => {
                write!(
                    f,
                    "its format has version {version}, which this command does not read: make the \
                     index again"
                )
            }
            IndexError::Damaged { at } => write!(f, "it is damaged at byte {at}"),
            IndexError::OtherConfiguration => f.write_str(
                "it was made with other options, other registers or another version of tracewright",
            ),
            IndexError::OtherMemory => f.write_str("it was made with other program memory"),
            IndexError::OtherTrace { buffer } => {
                write!(f, "it was made of other trace data than those of the buffer `{buffer}`")
            }
            IndexError::NoSegments { buffer } => {
                write!(f, "it has no part of the buffer `{buffer}`")
            }
        }
    }
}

impl std::error::Error for IndexError {}

impl From<IndexError> for io::Error {
    fn from(error: IndexError) -> Self {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}

/// Why a query has no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum FindError {
    /// The buffer cannot be read.
    Read(io::Error),
    /// No source has the function.
    UnknownFunction(String),
    /// The memory of the program depends on the context, so that code has no fixed addresses.
    NoFixedAddresses,
    /// No program file has line numbers.
    NoLines,
    /// No program file was made of the source file.
    UnknownFile(String),
    /// No code was made of the line.
    NoCode {
        /// The source file.
        file: String,
        /// The line.
        line: u32,
    },
}

impl std::fmt::Display for FindError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FindError::Read(error) => write!(f, "the trace cannot be read: {error}"),
            FindError::UnknownFunction(name) => {
                write!(
                    f,
                    "no program image has a function `{name}`; names are those of the symbols, or \
                     demangled, with or without parameters"
                )
            }
            FindError::NoFixedAddresses => f.write_str(
                "functions and lines of programs of several processes are not searched; use \
                 `address A..B`",
            ),
            FindError::NoLines => write!(
                f,
                "no program file has line numbers (DWARF); add one with {IMAGE}, or use `address \
                 A..B`",
            ),
            FindError::UnknownFile(file) => {
                write!(f, "no program file was made of a source file `{file}`")
            }
            FindError::NoCode { file, line } => {
                write!(f, "no code was made of line {line} of `{file}`")
            }
        }
    }
}

impl std::error::Error for FindError {}

impl From<io::Error> for FindError {
    fn from(error: io::Error) -> Self {
        FindError::Read(error)
    }
}

impl From<IndexError> for FindError {
    fn from(error: IndexError) -> Self {
        FindError::Read(error.into())
    }
}
