//! Why an exemption is not valid.

use std::fmt;

use crate::coverage_runs::Digest;

/// Why an exemption is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExemptionError {
    /// It has no digest of the text; this is the one of the text.
    Missing(Digest),
    /// The text was changed; this is its digest.
    Stale(Digest),
    /// The text cannot be read.
    Unreadable(String),
    /// Several source files have this path at their ends.
    Files(usize),
    /// Several functions have this name.
    Several(String),
    /// The last line of several, and the number of lines of the function or of the file.
    Outside(u32, u32),
}

impl fmt::Display for ExemptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExemptionError::Missing(digest) => {
                write!(f, "`hash` is missing; that of the text is {digest}")
            }
            ExemptionError::Stale(digest) => write!(
                f,
                "stale: the text was changed since the exemption was written; if it is still \
                 valid, its hash is {digest}"
            ),
            ExemptionError::Unreadable(why) => {
                write!(f, "whether the text was changed is not known: {why}")
            }
            ExemptionError::Files(count) => {
                write!(f, "{count} source files have this path; name more of its folders")
            }
            ExemptionError::Several(name) => write!(
                f,
                "several functions have the name {name}; give the symbol of one, or lines without \
                 a function"
            ),
            ExemptionError::Outside(line, lines) => {
                write!(f, "line {line} is outside of the text, which has {lines} lines")
            }
        }
    }
}

impl std::error::Error for ExemptionError {}
