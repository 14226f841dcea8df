//! Files that grow while they are read.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use tracewright_base::Invalid;

use crate::Bytes;
use crate::open_files::OpenFiles;

/// A file that is appended to. It has its name from the beginning: a reader sees what was written
/// so far.
#[derive(Debug)]
pub struct Growing(File);

impl Growing {
    /// A new file at `path`, which replaces another one.
    ///
    /// # Errors
    /// Where it cannot be created.
    pub fn create(path: &Path) -> io::Result<Growing> {
        File::create(path).map(Growing)
    }

    /// The file at `path`, of which the first `len` bytes remain.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn extend(path: &Path, len: u64) -> io::Result<Growing> {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.set_len(len)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Growing(file))
    }

    /// Appends `bytes`, which are in the file when this returns.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }
}

/// The bytes of the regular file at `path`. Those of a large file are read when they are needed.
///
/// # Errors
/// The reason why it cannot be read.
pub fn read_file(path: &Path) -> Result<Bytes, Invalid> {
    match OpenFiles::default().trace(path)? {
        (bytes, None) => Ok(bytes),
        (_, Some(_)) => Err("it is not a regular file".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_continued_where_it_was_cut() {
        let path = std::env::temp_dir().join(format!("tracewright-growing-{}", std::process::id()));
        Growing::create(&path).and_then(|mut file| file.append(b"one two")).unwrap();
        Growing::extend(&path, 4).and_then(|mut file| file.append(b"three")).unwrap();
        assert_eq!(read_file(&path).unwrap(), Bytes::from(b"one three".to_vec()));
        std::fs::remove_file(&path).unwrap();
        assert!(read_file(&path).is_err());
    }
}
