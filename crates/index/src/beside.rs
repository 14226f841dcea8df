//! The file of an index: where it is, and whether it is that of a capture.

use std::path::{Path, PathBuf};
use std::{error, fmt};

use tracewright_base::Invalid;
use tracewright_capture::Kind;

use crate::error::IndexError;

/// Why an index is not used.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unusable {
    /// The file cannot be read.
    Read(Invalid),
    /// It is no index of the capture.
    Index(IndexError),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::Read(why) => why.fmt(f),
            Unusable::Index(error) => error.fmt(f),
        }
    }
}

impl error::Error for Unusable {}

/// The path of the index beside the capture at `path`, which is of this kind: that of its folder,
/// or of the file.
pub fn beside(kind: Kind, path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let path = match (kind, path.parent()) {
        (Kind::Snapshot | Kind::Folder, Some(folder)) if !path.is_dir() => folder.to_owned(),
        _ => path,
    };
    // A path such as `.` has no file name.
    let path = match path.file_name() {
        Some(_) => path,
        None => path.canonicalize().unwrap_or(path),
    };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".twx");
    path.with_file_name(name)
}

/// How much of a trace is compared with its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Each segment, unless the file is that of which the index was made.
    Data,
    /// The length. Segments are compared when they are decoded: see [`PartOf`](crate::part::PartOf).
    Length,
}
