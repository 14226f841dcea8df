//! Where files are: on the disk of this machine, or in memory under their names.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::Bytes;
use crate::stamp::Stamp;

/// The files that captures and programs are read from. The default is the disk of this machine; the
/// alternative is bytes in memory, or bytes that are read when they are needed
/// ([`Bytes::on_demand`]), each under the path that it would have on a disk. No file is opened
/// then: this is how a program without a disk, or one that has an archive, reads captures.
///
/// ```
/// use tracewright_capture::{Access, Files, open_with};
///
/// let files = Files::named([
///     ("a/snapshot.ini", &b"[snapshot]\nversion=1.0\n[device_list]\nd=etm.ini\n"[..]),
///     ("a/etm.ini", b"[device]\nname=ETM_0\nclass=trace_source\ntype=ETM4\n"),
/// ]);
/// let capture = open_with("a".as_ref(), Access::of(files))?;
/// assert_eq!(capture.sources[0].name, "ETM_0");
/// # Ok::<(), tracewright_capture::OpenError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// `None`: the files are on the disk.
    named: Option<Arc<BTreeMap<PathBuf, Bytes>>>,
}

impl Files {
    /// The files `files`, by their paths. A folder exists where a file is in it. Of two files with
    /// the same path, the last is used.
    pub fn named<P: Into<PathBuf>, B: Into<Bytes>>(
        files: impl IntoIterator<Item = (P, B)>,
    ) -> Files {
        let files = files.into_iter().map(|(path, bytes)| (plain(&path.into()), bytes.into()));
        Files { named: Some(Arc::new(files.collect())) }
    }

    /// Whether the files are on the disk, where pipes and the standard input are, too.
    pub(crate) fn is_disk(&self) -> bool {
        self.named.is_none()
    }

    /// Whether there is anything at `path`.
    pub fn exists(&self, path: &Path) -> bool {
        self.about(path).is_ok()
    }

    /// Whether there is a regular file at `path`.
    pub fn is_file(&self, path: &Path) -> bool {
        self.about(path).is_ok_and(|about| about.kind == FileKind::File)
    }

    /// Whether there is a folder at `path`.
    pub fn is_folder(&self, path: &Path) -> bool {
        self.about(path).is_ok_and(|about| about.kind == FileKind::Folder)
    }

    /// What is at `path`.
    pub(crate) fn about(&self, path: &Path) -> io::Result<About> {
        let Some(named) = &self.named else {
            return fs::metadata(path).map(|about| About::of(path, &about));
        };
        let path = plain(path);
        if let Some(bytes) = named.get(&path) {
            return Ok(About { kind: FileKind::File, len: bytes.size(), stamp: None });
        }
        let next = named.range(path.clone()..).next();
        match next.is_some_and(|(file, _)| file.starts_with(&path)) {
            true => Ok(About { kind: FileKind::Folder, len: 0, stamp: None }),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Whether the last component of `path` itself is a symbolic link or a folder.
    pub(crate) fn leads_elsewhere(&self, path: &Path) -> bool {
        match self.is_disk() {
            true => {
                fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink() || about.is_dir())
            }
            false => self.is_folder(path),
        }
    }

    /// The path without symbolic links and relative components, if there is anything at it.
    pub fn canonical(&self, path: &Path) -> Option<PathBuf> {
        match self.is_disk() {
            true => fs::canonicalize(path).ok(),
            false => self.exists(path).then(|| plain(path)),
        }
    }

    /// The paths of what is in a folder.
    pub(crate) fn in_folder(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let Some(named) = &self.named else {
            return Ok(fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect());
        };
        if self.about(folder)?.kind != FileKind::Folder {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let folder = plain(folder);
        let files = named.range(folder.clone()..).take_while(|(file, _)| file.starts_with(&folder));
        let names = files.filter_map(|(file, _)| file.strip_prefix(&folder).ok()?.iter().next());
        let mut paths: Vec<PathBuf> = names.map(|name| folder.join(name)).collect();
        paths.dedup();
        Ok(paths)
    }

    /// Opens what is at `path`, and its state as it was opened. Opening a pipe waits for a writer.
    pub(crate) fn open(&self, path: &Path) -> io::Result<(Opened, About)> {
        let Some(named) = &self.named else {
            let file = fs::File::open(path)?;
            let about = About::of(path, &file.metadata()?);
            return Ok((Opened::File(file), about));
        };
        let about = self.about(path)?;
        let bytes = named.get(&plain(path)).cloned().ok_or(io::ErrorKind::IsADirectory)?;
        Ok((Opened::Bytes(bytes), about))
    }

    /// The first bytes of the file at `path`, at most `most` of them.
    pub(crate) fn head(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        self.open(path)?.0.reader().take(most).read_to_end(&mut head)?;
        Ok(head)
    }
}

/// A file that is open.
pub(crate) enum Opened {
    /// On the disk.
    File(fs::File),
    /// In memory, or read when its bytes are needed.
    Bytes(Bytes),
}

impl Opened {
    /// A reader from the beginning.
    pub(crate) fn reader(self) -> Box<dyn Read> {
        match self {
            Opened::File(file) => Box::new(file),
            Opened::Bytes(bytes) => Box::new(bytes.reader()),
        }
    }
}

/// The kind of what is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    File,
    Folder,
    /// A named pipe.
    Pipe,
    /// A device, for example.
    Other,
}

/// What is at a path.
#[derive(Clone, Debug)]
pub(crate) struct About {
    pub(crate) kind: FileKind,
    /// The size in bytes.
    pub(crate) len: u64,
    /// The state of a file on the disk.
    pub(crate) stamp: Option<Stamp>,
}

impl About {
    fn of(path: &Path, about: &Metadata) -> About {
        let kind = match about {
            about if about.is_file() => FileKind::File,
            about if about.is_dir() => FileKind::Folder,
            about if is_pipe(about) => FileKind::Pipe,
            _ => FileKind::Other,
        };
        About { kind, len: about.len(), stamp: Some(Stamp::of(path, about)) }
    }

    /// The device and the number of the file on it, where the system has them.
    pub(crate) fn identity(&self) -> Option<(u64, u64)> {
        self.stamp.as_ref()?.identity
    }
}

#[cfg(unix)]
fn is_pipe(about: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&about.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_: &Metadata) -> bool {
    false
}

/// `path` without `.`, and without `..` where a component is before it.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Files {
        let names = ["a/b/one", "a/two", "./a/b/c/../three", "/usr/lib/four", "a-b/five"];
        Files::named(names.map(|name| (name, name.as_bytes().to_vec())))
    }

    #[test]
    fn names_are_paths() {
        let files = files();
        for (path, is_file, is_folder) in [
            ("a/b/one", true, false),
            ("./a/./b/one", true, false),
            ("a/b/../two", true, false),
            ("a/b/three", true, false),
            ("/usr/lib/four", true, false),
            ("usr/lib/four", false, false),
            ("a", false, true),
            ("a/b/", false, true),
            ("", false, true),
            (".", false, true),
            ("/usr", false, true),
            ("a/b/c", false, false),
            ("a/b/one/x", false, false),
            ("a/tw", false, false),
            ("-", false, false),
        ] {
            let path = Path::new(path);
            assert_eq!(
                (files.is_file(path), files.is_folder(path)),
                (is_file, is_folder),
                "{path:?}"
            );
            assert_eq!(files.exists(path), is_file || is_folder, "{path:?}");
        }
    }

    #[test]
    fn folders_are_listed() {
        let list = |path: &str| files().in_folder(Path::new(path));
        assert_eq!(list("a").unwrap(), [Path::new("a/b"), Path::new("a/two")]);
        assert_eq!(list("a/b").unwrap(), [Path::new("a/b/one"), Path::new("a/b/three")]);
        assert_eq!(list("a/two").unwrap_err().kind(), io::ErrorKind::NotADirectory);
        assert_eq!(list("c").unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn only_the_head_is_read() {
        assert_eq!(files().head(Path::new("a/two"), 3).unwrap(), b"a/t");
        assert_eq!(
            files().head(Path::new("a"), 3).unwrap_err().kind(),
            io::ErrorKind::IsADirectory
        );
        assert!(files().head(Path::new("Cargo.toml"), 3).is_err(), "the disk is not used");
        assert!(Files::default().exists(Path::new("Cargo.toml")));
    }
}
