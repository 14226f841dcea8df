//! Folders whose files appear when all are written.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::open_files::reason;
use crate::problem::{OpenError, Problem};
use crate::replacement::{retry, temporary};

/// A folder that is being filled. Its files are written to a temporary folder inside it, and move
/// up at the end. Where that fails, and where the value is dropped before, the folder is left as it
/// was: empty, or not existing.
#[derive(Debug)]
pub struct NewFolder {
    folder: PathBuf,
    /// The temporary folder.
    temporary: PathBuf,
    /// The folders that were created, outermost first.
    created: Vec<PathBuf>,
    /// The files that have moved up.
    moved: Vec<OsString>,
    done: bool,
}

/// Whether files can be written to `folder`: it must be empty, or not exist.
///
/// # Errors
/// [`OpenError`] where the folder contains files, or where it cannot be listed.
pub fn check_empty(folder: &Path) -> Result<(), OpenError> {
    let problem = match fs::read_dir(folder).map(|mut entries| entries.next()) {
        Ok(None) => return Ok(()),
        Ok(Some(_)) => Problem::NotEmpty,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => Problem::NotWritten(reason(&error)),
    };
    Err(OpenError::new(folder, problem))
}

impl NewFolder {
    /// Creates `folder`, which must be empty if it exists.
    ///
    /// # Errors
    /// [`OpenError`] where it contains files, cannot be listed or cannot be written.
    pub fn new(folder: &Path) -> Result<NewFolder, OpenError> {
        check_empty(folder)?;
        let failed = |error: io::Error| OpenError::new(folder, Problem::NotWritten(reason(&error)));
        let missing: Vec<_> = folder
            .ancestors()
            .take_while(|path| !path.as_os_str().is_empty() && !path.exists())
            .map(Path::to_owned)
            .collect();
        let mut new = NewFolder {
            folder: folder.to_owned(),
            temporary: PathBuf::new(),
            created: Vec::new(),
            moved: Vec::new(),
            done: false,
        };
        for path in missing.into_iter().rev() {
            fs::create_dir(&path).map_err(failed)?;
            new.created.push(path);
        }
        let create = || {
            let path = temporary(&folder.join("capture"))?;
            fs::create_dir(&path)?;
            Ok(path)
        };
        new.temporary = retry(create).map_err(failed)?;
        Ok(new)
    }

    /// The folder to write to.
    pub(crate) fn path(&self) -> &Path {
        &self.temporary
    }

    /// Appends bytes to the file with this name.
    ///
    /// # Errors
    /// [`OpenError`] where it cannot be written.
    pub fn append(&self, name: &str, bytes: &[u8]) -> Result<(), OpenError> {
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).open(self.temporary.join(name));
        file.and_then(|mut file| file.write_all(bytes)).map_err(|error| {
            OpenError::new(&self.folder.join(name), Problem::NotWritten(reason(&error)))
        })
    }

    /// Moves all files to their place.
    ///
    /// # Errors
    /// [`OpenError`] where a file cannot be moved.
    pub fn finish(mut self) -> Result<(), OpenError> {
        let done = self.move_up();
        let folder = self.folder.clone();
        self.done = done.is_ok();
        done.map_err(|error| OpenError::new(&folder, Problem::NotWritten(reason(&error))))
    }

    fn move_up(&mut self) -> io::Result<()> {
        for entry in fs::read_dir(&self.temporary)? {
            let name = entry?.file_name();
            fs::rename(self.temporary.join(&name), self.folder.join(&name))?;
            self.moved.push(name);
        }
        fs::remove_dir(&self.temporary)
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        // Nothing else can be done with what cannot be deleted.
        for name in &self.moved {
            let _ = fs::remove_file(self.folder.join(name));
        }
        if !self.temporary.as_os_str().is_empty() {
            let _ = fs::remove_dir_all(&self.temporary);
        }
        for path in self.created.iter().rev() {
            let _ = fs::remove_dir(path);
        }
    }
}
