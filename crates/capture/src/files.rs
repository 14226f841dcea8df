//! Files, each opened once per capture.

use std::any::Any;
use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Bytes;
use crate::access::Access;
use crate::large_file::LargeFile;
use crate::limits::{MAX_DESCRIPTION, MAX_DESCRIPTIONS, MAX_FILES, MAX_MEMORY};
use crate::origin::shortened;
use crate::pipe::Pipe;
use crate::problem::Problem;
use crate::stamp::Stamp;

/// Files of at least this many bytes are read when their bytes are needed. A smaller file is read
/// when it is opened.
const LARGE_FROM: u64 = 1 << 20;

/// The number of large files that stay open.
const MAX_OPEN: usize = 64;

/// The open files of one capture.
#[derive(Default)]
pub(crate) struct Files {
    access: Access,
    /// The folder of the capture, without symbolic links.
    root: Option<PathBuf>,
    open: HashMap<PathBuf, Bytes>,
    /// The same by device and number on it, as several paths may lead to one file.
    same: HashMap<(u64, u64), Bytes>,
    /// What was made of the content of files, by their paths without symbolic links.
    pub(crate) parsed: HashMap<PathBuf, Arc<dyn Any + Send + Sync>>,
    /// Whether a folder is inside of `root`.
    folders: HashMap<PathBuf, bool>,
    /// The state of each file when it was opened.
    pub(crate) stamps: Vec<Stamp>,
    /// The number of bytes of descriptions that were read.
    described_bytes: u64,
    /// The number of bytes of memory.
    memory: u64,
    /// The number of files of trace data.
    traces: usize,
    /// The number of large files that are open.
    large: usize,
}

impl Files {
    /// The files of the capture in the folder `root`.
    pub(crate) fn of(root: &Path, access: Access) -> Files {
        let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
        Files { access, root: fs::canonicalize(root).ok(), ..Files::default() }
    }

    /// Whether the file at `path` is in the folder of the capture, symbolic links resolved. A file
    /// that does not exist is.
    pub(crate) fn is_inside(&mut self, path: &Path) -> bool {
        let Some(root) = &self.root else { return true };
        let elsewhere = |about: Metadata| about.is_symlink() || about.is_dir();
        let ordinary =
            path.file_name().is_some() && !fs::symlink_metadata(path).is_ok_and(elsewhere);
        match path.parent().filter(|_| ordinary) {
            // The folder determines it, and most files of a capture are in the same folder.
            Some(folder) => {
                let inside = *self.folders.entry(folder.to_owned()).or_insert_with(|| {
                    let empty = folder.as_os_str().is_empty();
                    let folder = if empty { Path::new(".") } else { folder };
                    fs::canonicalize(folder).is_ok_and(|folder| folder.starts_with(root))
                });
                inside || !path.exists()
            }
            None => fs::canonicalize(path).map_or(true, |path| path.starts_with(root)),
        }
    }

    /// The text of the index of the capture that the user gave as `given`: the index, its folder,
    /// or another file of it.
    pub(crate) fn index(&mut self, index: &Path, given: &Path) -> Result<Vec<u8>, Problem> {
        if index == given { self.described(index) } else { self.description(index) }
    }

    /// The text of a file that describes the capture. It is in the folder of the capture, as
    /// messages quote it.
    pub(crate) fn description(&mut self, path: &Path) -> Result<Vec<u8>, Problem> {
        if !self.is_inside(path) {
            return Err(Problem::OutsideDescription(shortened(&path.to_string_lossy())));
        }
        self.described(path)
    }

    fn described(&mut self, path: &Path) -> Result<Vec<u8>, Problem> {
        let unreadable = |why: String| Problem::Unreadable(why);
        let (mut file, about) = open_regular(path).map_err(unreadable)?;
        if about.len() > MAX_DESCRIPTION {
            return Err(Problem::TooLarge { size: about.len(), limit: MAX_DESCRIPTION });
        }
        self.described_bytes += about.len();
        if self.described_bytes > MAX_DESCRIPTIONS {
            return Err(Problem::TooManyDescriptions(MAX_DESCRIPTIONS));
        }
        let bytes = read_exactly(&mut file, about.len());
        let bytes = bytes.map_err(|error| unreadable(reason(&error)))?;
        self.stamp(path, &about);
        Ok(bytes)
    }

    /// The bytes of the file of program memory at `path`, which a capture refers to. A pipe or
    /// device is rejected, as reading it may not end.
    pub(crate) fn open_named(&mut self, path: &Path) -> Result<Bytes, String> {
        if let Some(bytes) = self.open.get(path) {
            return Ok(bytes.clone());
        }
        let (file, about) = open_regular(path)?;
        let known = Stamp::of(path, &about).identity.and_then(|id| self.same.get(&id));
        if let Some(bytes) = known.cloned() {
            self.open.insert(path.to_owned(), bytes.clone());
            return Ok(bytes);
        }
        let memory = self.memory.saturating_add(about.len());
        if memory > MAX_MEMORY {
            return Err(format!("the files of program memory exceed {MAX_MEMORY} bytes"));
        }
        let bytes = self.read(path, file, &about)?;
        self.memory = memory;
        Ok(bytes)
    }

    /// Whether the capture refers to the greatest number of files of trace data.
    pub(crate) fn has_all_traces(&self) -> bool {
        self.traces >= MAX_FILES
    }

    /// The bytes of the file of trace data at `path`, which a capture refers to. It may be a named
    /// pipe where the access allows it.
    pub(crate) fn trace_named(&mut self, path: &Path) -> Result<(Bytes, Option<Pipe>), String> {
        self.traces += 1;
        match fs::metadata(path) {
            Ok(about) if is_pipe(&about) && self.access.pipes => {
                Ok((Bytes::default(), Some(Pipe::new(path))))
            }
            Ok(about) if is_pipe(&about) => {
                Err("it is a named pipe, which is read with --pipes only".into())
            }
            _ => Ok((self.trace_file(path)?, None)),
        }
    }

    /// The bytes of the file of trace data at `path`, which the user gave. `-` is the standard
    /// input, and the path may be a pipe or a device.
    pub(crate) fn trace(&mut self, path: &Path) -> Result<(Bytes, Option<Pipe>), String> {
        let piped = path == Path::new("-")
            || fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir());
        if piped {
            return Ok((Bytes::default(), Some(Pipe::new(path))));
        }
        Ok((self.trace_file(path)?, None))
    }

    /// The bytes of a regular file of trace data. Its size is not limited, as it is read in blocks.
    fn trace_file(&mut self, path: &Path) -> Result<Bytes, String> {
        if let Some(bytes) = self.open.get(path) {
            return Ok(bytes.clone());
        }
        let (file, about) = open_regular(path)?;
        self.read(path, file, &about)
    }

    /// The bytes of the file at `path`, which the user gave. It may be a pipe.
    pub(crate) fn open(&mut self, path: &Path) -> Result<Bytes, String> {
        let about = fs::metadata(path).map_err(|error| reason(&error))?;
        // Some systems report length 0 for files that they generate on reading.
        if about.is_dir() || about.is_file() && about.len() > 0 {
            return self.open_named(path);
        }
        read_small(path, MAX_MEMORY).map(Bytes::from)
    }

    fn read(&mut self, path: &Path, mut file: fs::File, about: &Metadata) -> Result<Bytes, String> {
        let stamp = Stamp::of(path, about);
        let bytes = if about.len() < LARGE_FROM {
            let bytes = read_exactly(&mut file, about.len()).map_err(|error| reason(&error))?;
            Bytes::from(bytes)
        } else {
            let size = usize::try_from(about.len()).map_err(|_| "it is too large".to_owned())?;
            self.large += 1;
            let held = (self.large <= MAX_OPEN).then_some(file);
            Bytes::on_demand(Arc::new(LargeFile::new(path.to_owned(), size, held)))
        };
        if let Some(id) = stamp.identity {
            self.same.insert(id, bytes.clone());
        }
        self.stamp(path, about);
        self.open.insert(path.to_owned(), bytes.clone());
        Ok(bytes)
    }

    fn stamp(&mut self, path: &Path, about: &Metadata) {
        self.stamps.push(Stamp::of(path, about));
    }
}

/// The bytes of the regular file at `path`, of at most `most` bytes. An empty file, as those that
/// the system generates seem to be, is not opened.
///
/// # Errors
/// The reason why it is not read.
pub fn read_regular(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let empty = fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() == 0);
    if empty {
        return Err("it is empty".to_owned());
    }
    let (mut file, about) = open_regular(path)?;
    if about.len() > most {
        return Err(format!("it has {} bytes; at most {most} are read", about.len()));
    }
    read_exactly(&mut file, about.len()).map_err(|error| reason(&error))
}

/// Opens the regular file at `path`. Its state is that of the open file.
fn open_regular(path: &Path) -> Result<(fs::File, Metadata), String> {
    let check = |about: &Metadata| match about {
        _ if about.is_file() => Ok(()),
        // Some systems open a folder without an error, and fail at the first read.
        _ if about.is_dir() => Err(reason(&io::ErrorKind::IsADirectory.into())),
        _ => Err("it is not a regular file".to_owned()),
    };
    // Opening a pipe waits for a writer.
    check(&fs::metadata(path).map_err(|error| reason(&error))?)?;
    let opened = fs::File::open(path).and_then(|file| Ok((file.metadata()?, file)));
    let (about, file) = opened.map_err(|error| reason(&error))?;
    check(&about)?;
    Ok((file, about))
}

/// The first `len` bytes of `file`, or fewer if it is shorter. No bytes are requested from a file
/// that reports length 0: the system generates some of these on reading, without an end.
fn read_exactly(file: &mut fs::File, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if len > 0 {
        bytes.try_reserve_exact(usize::try_from(len).unwrap_or(usize::MAX))?;
        file.take(len).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

#[cfg(unix)]
fn is_pipe(about: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&about.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_: &Metadata) -> bool {
    false
}

/// The bytes of the file at `path`, which may be a pipe or a device, if there are at most `most`.
pub(crate) fn read_small(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    if fs::metadata(path).is_ok_and(|about| about.is_dir()) {
        return Err(reason(&io::ErrorKind::IsADirectory.into()));
    }
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|f| f.take(most + 1).read_to_end(&mut bytes));
    read.map_err(|error| reason(&error))?;
    if bytes.len() as u64 > most {
        return Err(format!("it is longer than {most} bytes"));
    }
    Ok(bytes)
}

/// The reason why a file could not be read or written, with the same text on every system.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::IsADirectory => "it is a folder".into(),
        io::ErrorKind::NotADirectory => "a component of the path is not a folder".into(),
        io::ErrorKind::InvalidFilename | io::ErrorKind::InvalidInput => "invalid file name".into(),
        _ => error.to_string().to_lowercase(),
    }
}

/// The path of a capture's file `written`: relative to the folder of the index, else to that of the
/// file that refers to it. Captures of other systems may separate folders by backslashes.
pub(crate) fn find(root: &Path, beside: &Path, written: &str) -> PathBuf {
    let slashes = written.replace('\\', "/");
    for name in [written, &slashes] {
        for folder in [root, beside] {
            let path = folder.join(name);
            if path.exists() {
                return path;
            }
        }
    }
    root.join(slashes)
}
