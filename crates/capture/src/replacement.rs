//! Files that appear under their name when they are complete.
//!
//! The bytes go to a temporary file in the folder of the target, which is renamed at the end. So a
//! run that fails changes no file, and a file may replace one that is being read. The temporary
//! file is created exclusively, with a name that cannot be predicted, so that no link and no other
//! file can be in its place.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{fs, mem};

/// The most symbolic links that are followed.
const MAX_LINKS: usize = 40;

/// A file under a temporary name. It is deleted if it is dropped before
/// [`finish`](Replacement::finish); a process that is killed leaves it behind.
#[derive(Debug)]
pub struct Replacement {
    target: PathBuf,
    temporary: PathBuf,
    file: File,
}

impl Replacement {
    /// A file that will replace the regular file at `path`, or be created there. A symbolic link is
    /// followed: its target is replaced.
    ///
    /// # Errors
    /// Where the file at `path` is not a regular file that may be written, and where no file can be
    /// created in its folder.
    pub fn new(path: &Path) -> io::Result<Replacement> {
        let target = follow(path)?;
        let about = match fs::metadata(&target) {
            Ok(about) if about.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(about) if !about.is_file() => return Err(io::ErrorKind::InvalidInput.into()),
            Ok(about) => Some(about),
            Err(_) => None,
        };
        if about.is_some() {
            // A file that may not be written is not replaced. It is not truncated here.
            OpenOptions::new().write(true).open(&target)?;
        }
        let (temporary, file) = create(&target)?;
        let replacement = Replacement { target, temporary, file };
        if let Some(about) = about {
            adopt(&replacement.file, &about);
        }
        Ok(replacement)
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// Where it cannot be renamed. Then it is deleted.
    pub fn finish(mut self) -> io::Result<()> {
        fs::rename(&self.temporary, &self.target)?;
        mem::take(&mut self.temporary);
        Ok(())
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if !self.temporary.as_os_str().is_empty() {
            // Nothing else can be done with it.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// The path that `path` leads to, if it is a symbolic link, also one to a file that does not exist.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// The replaced file's owner and permissions, where the system allows.
fn adopt(file: &File, about: &fs::Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let _ = fchown(file, Some(about.uid()), Some(about.gid()));
    }
    let _ = file.set_permissions(about.permissions());
}

/// Creates a temporary file beside `target`: `.NAME.RANDOM.part`.
pub(crate) fn create(target: &Path) -> io::Result<(PathBuf, File)> {
    retry(|| {
        let path = temporary(target)?;
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        Ok((path, file))
    })
}

/// Tries again where a file of the same name exists.
pub(crate) fn retry<T>(mut create: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut tries = 0;
    loop {
        match create() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < 16 => tries += 1,
            done => return done,
        }
    }
}

/// A path beside `target` whose name cannot be predicted.
pub(crate) fn temporary(target: &Path) -> io::Result<PathBuf> {
    // The keys of each `RandomState` differ, and come from the operating system.
    let random = RandomState::new().hash_one(std::process::id());
    beside(target, &format!("{random:016x}.part"))
}

/// A hidden path beside `target`: `.NAME.END`.
pub(crate) fn beside(target: &Path, end: &str) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let mut whole = std::ffi::OsString::from(".");
    // File systems limit the length of names to 255 bytes.
    match name.to_str() {
        Some(text) if text.len() < 200 => whole.push(text),
        _ => whole.push("output"),
    }
    whole.push(format!(".{end}"));
    Ok(target.with_file_name(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Folder {
            let name = format!("tracewright-replacement-{}-{test}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let mut names: Vec<_> =
                entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_changes_at_the_end_only() {
        let folder = Folder::new("end");
        let path = folder.0.join("a");
        fs::write(&path, "old").unwrap();
        let mut file = Replacement::new(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(folder.names().len(), 2);
        file.finish().unwrap();
        assert_eq!((fs::read(&path).unwrap(), folder.names()), (b"new".into(), vec!["a".into()]));
        // A file that is not finished leaves nothing.
        let mut file = Replacement::new(&path).unwrap();
        file.write_all(b"newer").unwrap();
        drop(file);
        assert_eq!((fs::read(&path).unwrap(), folder.names()), (b"new".into(), vec!["a".into()]));
        assert!(Replacement::new(&folder.0).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = Folder::new("links");
        let [path, link, dangling] = ["a", "link", "dangling"].map(|name| folder.0.join(name));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("a", &link).unwrap();
        symlink("b", &dangling).unwrap();
        for path in [&link, &dangling] {
            let mut file = Replacement::new(path).unwrap();
            file.write_all(b"new").unwrap();
            file.finish().unwrap();
        }
        assert_eq!(folder.names(), ["a", "b", "dangling", "link"]);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
