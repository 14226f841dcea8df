//! Why an index is not used.

use std::fmt;

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
                write!(f, "its format has version {version}, and this command reads version 1")
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
