//! Files that several processes may write, of which each must write the same.
//!
//! The bytes go to a temporary file in the folder of the target. At the end they are written to the
//! disk, and get the name by a link, which replaces nothing. So a reader of the name never sees a
//! part of the bytes, whenever a process ends, and where two processes have written other bytes,
//! the second one knows.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::{error, fmt, mem};

use crate::replacement::{create, retry, temporary};

/// A file under a temporary name. It is deleted if it is dropped before
/// [`finish`](Exclusive::finish); a process that is killed leaves it behind.
#[derive(Debug)]
pub struct Exclusive {
    target: PathBuf,
    temporary: PathBuf,
    file: File,
}

/// Whether a file is there since [`Exclusive::finish`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It is.
    New,
    /// It was there before, with the same bytes.
    Same,
}

/// Why a file did not get its name.
#[derive(Debug)]
pub enum ExclusiveError {
    /// It cannot be written.
    Write(io::Error),
    /// There is one with other bytes.
    Other {
        /// The name.
        target: PathBuf,
        /// The file with the bytes that were written.
        written: PathBuf,
    },
}

impl fmt::Display for ExclusiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExclusiveError::Write(error) => error.fmt(f),
            ExclusiveError::Other { target, written } => write!(
                f,
                "there is a file {} with other bytes; those that were written are in {}",
                target.display(),
                written.display()
            ),
        }
    }
}

impl error::Error for ExclusiveError {}

impl From<io::Error> for ExclusiveError {
    fn from(error: io::Error) -> ExclusiveError {
        ExclusiveError::Write(error)
    }
}

impl Exclusive {
    /// A file that will be at `path`.
    ///
    /// # Errors
    /// Where no file can be created in its folder.
    pub fn new(path: &Path) -> io::Result<Exclusive> {
        let (temporary, file) = create(path)?;
        Ok(Exclusive { target: path.to_owned(), temporary, file })
    }

    /// Writes the bytes to the disk, and gives the file its name.
    ///
    /// # Errors
    /// [`ExclusiveError::Other`] where another file has the name and other bytes: then these are
    /// in a file beside it.
    pub fn finish(mut self) -> Result<Written, ExclusiveError> {
        self.file.sync_all()?;
        let written = match fs::hard_link(&self.temporary, &self.target) {
            Ok(()) => Written::New,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !same(&self.temporary, &self.target)? {
                    return Err(self.other()?);
                }
                Written::Same
            }
            Err(error) => return Err(error.into()),
        };
        sync_folder(&self.target)?;
        Ok(written)
    }

    /// Another file has the name: the bytes stay beside it, under a name that shows it.
    fn other(&mut self) -> io::Result<ExclusiveError> {
        let written = retry(|| {
            let path = temporary(&self.target)?.with_extension("other");
            fs::hard_link(&self.temporary, &path).map(|()| path)
        })?;
        Ok(ExclusiveError::Other { target: mem::take(&mut self.target), written })
    }
}

impl Write for Exclusive {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        // Nothing else can be done with it.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Whether two files have the same bytes.
fn same(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut left, mut right) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let len = one.read(&mut left)?;
        if len == 0 {
            return Ok(true);
        }
        let (left, right) = (left.get(..len), right.get_mut(..len));
        let (Some(left), Some(right)) = (left, right) else { return Ok(false) };
        match other.read_exact(right) {
            Ok(()) if left == right => {}
            Ok(()) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// Writes the names of the folder of `path` to the disk, where the system can.
fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_writer_must_write_the_same() {
        let name = format!("tracewright-exclusive-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("a.part");
        let write = |bytes: &[u8]| {
            let mut file = Exclusive::new(&path).expect("a temporary file");
            file.write_all(bytes).expect("room");
            file.finish()
        };
        let names = || fs::read_dir(&folder).expect("the folder").count();
        drop(Exclusive::new(&path).expect("a temporary file"));
        assert_eq!(names(), 0);
        let long = vec![7; 1 << 17];
        assert_eq!(write(&long).expect("no other file"), Written::New);
        assert_eq!(write(&long).expect("the same bytes"), Written::Same);
        assert_eq!(names(), 1);
        let mut changed = long.clone();
        changed[(1 << 16) + 5] = 8;
        for (n, other) in
            [&changed[..], &long[1..], b"", &[&long[..], &[7]].concat()].into_iter().enumerate()
        {
            match write(other) {
                Err(ExclusiveError::Other { target, written }) => {
                    assert_eq!(target, path);
                    assert_eq!(fs::read(written).expect("its bytes"), other);
                }
                others => panic!("{others:?}"),
            }
            assert_eq!((fs::read(&path).expect("the first one"), names()), (long.clone(), n + 2));
        }
        fs::remove_dir_all(&folder).expect("the folder");
    }
}
