//! Sequential reading of files of any size.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::open_files::reason;
use crate::problem::{OpenError, Problem};

/// A reader of the file or pipe at `path`; `-` is the standard input.
///
/// # Errors
/// [`OpenError`] where the file cannot be opened.
pub fn stream(path: &Path) -> Result<Box<dyn Read>, OpenError> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    let unreadable = |error| OpenError::new(path, Problem::Unreadable(reason(&error)));
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().is_ok_and(|about| about.is_dir()) {
        return Err(unreadable(std::io::ErrorKind::IsADirectory.into()));
    }
    Ok(Box::new(file))
}
