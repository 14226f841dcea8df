//! The source files that the line table of a program names.

use std::path::Path;
use std::{fs, io};

/// The text of a source file of a capture: at its path, or, as the program may have been compiled
/// elsewhere, at the same path from the folder of the capture.
///
/// # Errors
/// That of the path itself, where neither file can be read.
pub fn read(capture: &Path, path: &str) -> io::Result<String> {
    fs::read_to_string(path).or_else(|error| {
        let folder = if capture.is_dir() { Some(capture) } else { capture.parent() };
        let path = Path::new(path);
        let beside = folder.filter(|_| path.is_relative()).map(|folder| folder.join(path));
        beside.and_then(|path| fs::read_to_string(path).ok()).ok_or(error)
    })
}
