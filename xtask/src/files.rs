//! Files and folders, with errors that name them.

use std::fs;
use std::path::Path;

/// An empty folder.
pub(crate) fn fresh(folder: &Path) -> Result<(), String> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| failed(folder, &error))?;
    }
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))
}

/// The text of an error with a file.
pub(crate) fn failed(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Writes a file, and its folder.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    folder_of(path)?;
    fs::write(path, text).map_err(|error| failed(path, &error))
}

/// Copies a file with its permissions, and makes its folder.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), String> {
    folder_of(to)?;
    // A library that is in use must not be overwritten in place.
    let _ = fs::remove_file(to);
    fs::copy(from, to).map(|_| ()).map_err(|error| failed(from, &error))
}

fn folder_of(path: &Path) -> Result<(), String> {
    let Some(folder) = path.parent() else { return Ok(()) };
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))
}

/// Makes a symbolic link to a file of the same folder.
pub(crate) fn link(to: &str, path: &Path) -> Result<(), String> {
    folder_of(path)?;
    let _ = fs::remove_file(path);
    #[cfg(unix)]
    let done = std::os::unix::fs::symlink(to, path);
    #[cfg(not(unix))]
    let done = path.parent().map_or(Ok(0), |folder| fs::copy(folder.join(to), path)).map(|_| ());
    done.map_err(|error| failed(path, &error))
}

/// Copies a file or a folder, with links.
pub(crate) fn copy_all(from: &Path, to: &Path) -> Result<(), String> {
    let found = from.symlink_metadata().map_err(|error| failed(from, &error))?;
    if found.is_symlink() {
        let target = fs::read_link(from).map_err(|error| failed(from, &error))?;
        return link(&target.to_string_lossy(), to);
    }
    if !found.is_dir() {
        return copy(from, to);
    }
    for entry in fs::read_dir(from).map_err(|error| failed(from, &error))? {
        let entry = entry.map_err(|error| failed(from, &error))?;
        copy_all(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
