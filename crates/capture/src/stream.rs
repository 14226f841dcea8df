//! Files that are read from front to back, whatever their size.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::files::reason;
use crate::{OpenError, Wrong};

/// The bytes of the file or pipe at `path`, as they come; `-` is the standard input.
///
/// # Errors
/// [`OpenError`] where it cannot be opened.
pub fn stream(path: &Path) -> Result<Box<dyn Read>, OpenError> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    let unreadable = |error| OpenError::new(path, Wrong::Unreadable(reason(&error)));
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().is_ok_and(|about| about.is_dir()) {
        return Err(unreadable(std::io::ErrorKind::IsADirectory.into()));
    }
    Ok(Box::new(file))
}
