//! Files as they were when they were opened, so that a change while they are read is noticed.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// A file that a capture was read from, with its state when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The path.
    pub path: PathBuf,
    /// The size in bytes.
    pub len: u64,
    /// The time of the last modification, where the system records it: in nanoseconds since 1970 on
    /// Unix, in its own unit elsewhere.
    pub modified: Option<i128>,
    /// The time of the last change of the file or of what the system records of it, in nanoseconds
    /// since 1970, on Unix. Programs cannot set it.
    pub changed: Option<i128>,
    /// The device and the number of the file on it, where the system has them.
    pub identity: Option<(u64, u64)>,
}

impl Stamp {
    /// The state that `about` describes.
    pub(crate) fn of(path: &Path, about: &Metadata) -> Stamp {
        Stamp {
            path: path.to_owned(),
            len: about.len(),
            modified: modified(about),
            changed: changed(about),
            identity: identity(about),
        }
    }

    /// Whether the file has another size, another time of modification or is another file than
    /// when it was opened; or does not exist.
    pub fn is_changed(&self) -> bool {
        let now = std::fs::metadata(&self.path).map(|about| Stamp::of(&self.path, &about));
        // Another name or another permission is no change of what was read.
        now.ok().is_none_or(|now| Stamp { changed: self.changed, ..now } != *self)
    }
}

#[cfg(unix)]
fn identity(about: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((about.dev(), about.ino()))
}

#[cfg(unix)]
fn modified(about: &Metadata) -> Option<i128> {
    use std::os::unix::fs::MetadataExt;
    Some(i128::from(about.mtime()) * 1_000_000_000 + i128::from(about.mtime_nsec()))
}

#[cfg(unix)]
fn changed(about: &Metadata) -> Option<i128> {
    use std::os::unix::fs::MetadataExt;
    Some(i128::from(about.ctime()) * 1_000_000_000 + i128::from(about.ctime_nsec()))
}

#[cfg(not(unix))]
fn changed(_: &Metadata) -> Option<i128> {
    None
}

#[cfg(windows)]
fn modified(about: &Metadata) -> Option<i128> {
    Some(std::os::windows::fs::MetadataExt::last_write_time(about).into())
}

#[cfg(not(any(unix, windows)))]
fn modified(_: &Metadata) -> Option<i128> {
    None
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}
