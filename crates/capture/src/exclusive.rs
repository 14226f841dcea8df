//! Files that several processes may write, of which each must write the same.
//!
//! The bytes go to a temporary file in the folder of the target. At the end they are written to the
//! disk, and get the name by a link, which replaces nothing. So a reader of the name never sees a
//! part of the bytes, whenever a process ends, and where two processes have written other bytes,
//! the second one knows. As nothing is replaced, what is no regular file cannot be written to.

use std::fs::{self, File, FileType};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::{error, fmt, mem};

use crate::replacement::{beside, create, retry};

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
    /// The name is that of something else.
    NotAFile {
        /// What it is, with an article.
        what: &'static str,
    },
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
            ExclusiveError::NotAFile { what } => {
                write!(f, "it is {what}; name a regular file, or one that does not exist")
            }
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
    /// Whether a file can be written at `path`, as far as that is known before it is: no file is
    /// created.
    ///
    /// # Errors
    /// [`ExclusiveError::NotAFile`], and where its folder does not exist.
    pub fn check(path: &Path) -> Result<(), ExclusiveError> {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
            Ok(about) => {
                let what = match fs::metadata(path) {
                    Ok(about) if about.is_file() => return Ok(()),
                    Ok(about) => kind(about.file_type()),
                    Err(_) if about.is_symlink() => "a symbolic link that leads to no file",
                    Err(error) => return Err(error.into()),
                };
                return Err(ExclusiveError::NotAFile { what });
            }
        }
        match fs::metadata(folder(path))?.is_dir() {
            true => Ok(()),
            false => Err(io::Error::from(io::ErrorKind::NotADirectory).into()),
        }
    }

    /// A file that will be at `path`.
    ///
    /// # Errors
    /// Those of [`check`](Exclusive::check), and where no file can be created in its folder.
    pub fn new(path: &Path) -> Result<Exclusive, ExclusiveError> {
        Exclusive::check(path)?;
        let (temporary, file) = create(path)?;
        Ok(Exclusive { target: path.to_owned(), temporary, file })
    }

    /// Writes the bytes to the disk, and gives the file its name.
    ///
    /// # Errors
    /// [`ExclusiveError::Other`] where another file has the name and other bytes: then these are
    /// in a file beside it, which has one name however often they are written.
    /// [`ExclusiveError::NotAFile`] where something else has got the name.
    pub fn finish(mut self) -> Result<Written, ExclusiveError> {
        self.file.sync_all()?;
        let written = match fs::hard_link(&self.temporary, &self.target) {
            Ok(()) => Written::New,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // To open a pipe waits for its other end.
                Exclusive::check(&self.target)?;
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
        let digest = self.digest()?;
        let mut number = 0;
        let written = retry(|| {
            let path = beside(&self.target, &format!("{digest:016x}-{number}.other"))?;
            number += 1;
            match fs::hard_link(&self.temporary, &path) {
                Err(error)
                    if error.kind() == io::ErrorKind::AlreadyExists
                        && fs::metadata(&path).is_ok_and(|about| about.is_file())
                        && same(&self.temporary, &path)? =>
                {
                    Ok(path)
                }
                done => done.map(|()| path),
            }
        })?;
        Ok(ExclusiveError::Other { target: mem::take(&mut self.target), written })
    }

    /// A digest of the bytes, for a name: other bytes may have the same.
    fn digest(&mut self) -> io::Result<u64> {
        self.file.rewind()?;
        let (mut hasher, mut bytes) = (DefaultHasher::new(), vec![0; 1 << 16]);
        loop {
            let len = self.file.read(&mut bytes)?;
            match bytes.get(..len) {
                None | Some([]) => return Ok(hasher.finish()),
                Some(bytes) => hasher.write(bytes),
            }
        }
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
        File::open(folder(path))?.sync_all()?;
    }
    Ok(())
}

/// The folder of `path`.
fn folder(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// What a file is that is no regular file.
fn kind(of: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if of.is_fifo() {
            return "a pipe";
        }
        if of.is_char_device() || of.is_block_device() {
            return "a device";
        }
        if of.is_socket() {
            return "a socket";
        }
    }
    if of.is_dir() { "a folder" } else { "no regular file" }
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
            // The same bytes again need no other file.
            assert!(matches!(write(other), Err(ExclusiveError::Other { .. })));
            assert_eq!(names(), n + 2);
        }
        fs::remove_dir_all(&folder).expect("the folder");
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_refused_and_nothing_is_left() {
        let name = format!("tracewright-exclusive-kinds-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(folder.join("inner")).expect("a folder");
        let names = || fs::read_dir(&folder).expect("the folder").count();
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(to, folder.join(name)).expect("a link");
        };
        link("nothing", "dangling");
        link("/dev/null", "device");
        let _socket =
            std::os::unix::net::UnixListener::bind(folder.join("socket")).expect("a socket");
        let refused = |path: &Path, why: &str| {
            let error = Exclusive::new(path).expect_err("no file").to_string();
            assert!(error.contains(why), "{error}");
        };
        refused(&folder.join("inner"), "a folder");
        refused(&folder.join("dangling"), "a symbolic link that leads to no file");
        refused(&folder.join("device"), "a device");
        refused(&folder.join("socket"), "a socket");
        refused(Path::new("/dev/full"), "a device");
        assert!(Exclusive::new(&folder.join("absent/a.part")).is_err());
        assert_eq!(names(), 4);
        // What appears while a file is written is not opened: that could wait for ever.
        let late = folder.join("late");
        let file = Exclusive::new(&late).expect("a temporary file");
        link("/dev/zero", "late");
        assert!(matches!(file.finish(), Err(ExclusiveError::NotAFile { what: "a device" })));
        assert_eq!(names(), 5);
        // A link to a file is compared with it.
        fs::write(folder.join("file"), b"1").expect("room");
        link("file", "to-file");
        let mut file = Exclusive::new(&folder.join("to-file")).expect("a temporary file");
        file.write_all(b"1").expect("room");
        assert_eq!(file.finish().expect("the same"), Written::Same);
        fs::remove_dir_all(&folder).expect("the folder");
    }
}
