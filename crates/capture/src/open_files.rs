//! Files, each opened once per capture.

use std::any::Any;
use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracewright_base::Invalid;
use tracewright_base::remedy::PIPES;

use crate::Bytes;
use crate::access::Access;
use crate::files::{About, FileKind, Files, Opened};
use crate::large_file::LargeFile;
use crate::limits::{MAX_DESCRIPTION, MAX_DESCRIPTIONS, MAX_FILES, MAX_MEMORY, MAX_REPEATED};
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
pub(crate) struct OpenFiles {
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
    /// The bytes of all files of trace data, each once; and those of files that the capture names
    /// again.
    trace_bytes: u64,
    repeated: u64,
    /// The number of large files that are open.
    large: usize,
}

impl OpenFiles {
    /// The files that `access` allows, in any folder.
    pub(crate) fn of(access: Access) -> OpenFiles {
        OpenFiles { access, ..OpenFiles::default() }
    }

    /// The files of the capture in the folder `root`.
    pub(crate) fn in_folder(root: &Path, access: Access) -> OpenFiles {
        let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
        OpenFiles { root: access.files.canonical(root), ..OpenFiles::of(access) }
    }

    /// Where the files are.
    pub(crate) fn source(&self) -> &Files {
        &self.access.files
    }

    /// What may be read.
    pub(crate) fn access(&self) -> &Access {
        &self.access
    }

    /// Whether the file at `path` is in the folder of the capture, symbolic links resolved. A file
    /// that does not exist is.
    pub(crate) fn is_inside(&mut self, path: &Path) -> bool {
        let Some(root) = &self.root else { return true };
        let files = &self.access.files;
        let ordinary = path.file_name().is_some() && !files.leads_elsewhere(path);
        match path.parent().filter(|_| ordinary) {
            // The folder determines it, and most files of a capture are in the same folder.
            Some(folder) => {
                let inside = *self.folders.entry(folder.to_owned()).or_insert_with(|| {
                    let empty = folder.as_os_str().is_empty();
                    let folder = if empty { Path::new(".") } else { folder };
                    files.canonical(folder).is_some_and(|folder| folder.starts_with(root))
                });
                inside || !files.exists(path)
            }
            None => files.canonical(path).is_none_or(|path| path.starts_with(root)),
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
        let (file, about) = open_regular(self.source(), path).map_err(unreadable)?;
        if about.len > MAX_DESCRIPTION {
            return Err(Problem::TooLarge { size: about.len, limit: MAX_DESCRIPTION });
        }
        self.described_bytes += about.len;
        if self.described_bytes > MAX_DESCRIPTIONS {
            return Err(Problem::TooManyDescriptions(MAX_DESCRIPTIONS));
        }
        let bytes = read_exactly(file, about.len);
        let bytes = bytes.map_err(|error| unreadable(reason(&error)))?;
        self.stamps.extend(about.stamp);
        Ok(bytes)
    }

    /// The bytes of the file of program memory at `path`, which a capture refers to. A pipe or
    /// device is rejected, as reading it may not end.
    pub(crate) fn open_named(&mut self, path: &Path) -> Result<Bytes, String> {
        if let Some(bytes) = self.open.get(path) {
            return Ok(bytes.clone());
        }
        let (file, about) = open_regular(self.source(), path)?;
        let known = about.identity().and_then(|id| self.same.get(&id));
        if let Some(bytes) = known.cloned() {
            self.open.insert(path.to_owned(), bytes.clone());
            return Ok(bytes);
        }
        let memory = self.memory.saturating_add(about.len);
        if memory > MAX_MEMORY {
            return Err(format!("the files of program memory exceed {MAX_MEMORY} bytes"));
        }
        let bytes = self.read(path, file, about)?;
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
        match self.source().about(path) {
            Ok(about) if about.kind == FileKind::Pipe && self.access.pipes => {
                Ok((Bytes::default(), Some(Pipe::new(path))))
            }
            Ok(about) if about.kind == FileKind::Pipe => {
                Err(format!("it is a named pipe, which is read with {PIPES} only"))
            }
            _ => {
                let bytes = self.trace_file(path)?;
                if self.repeated > self.trace_bytes.saturating_add(MAX_REPEATED) {
                    return Err(format!(
                        "files of trace data that are named repeatedly have more bytes than all \
                         files, and {MAX_REPEATED}"
                    ));
                }
                Ok((bytes, None))
            }
        }
    }

    /// The bytes of the file of trace data at `path`, which the user gave. `-` is the standard
    /// input, and the path may be a pipe or a device.
    pub(crate) fn trace(&mut self, path: &Path) -> Result<(Bytes, Option<Pipe>), String> {
        let files = self.source();
        let regular = |about: About| matches!(about.kind, FileKind::File | FileKind::Folder);
        let piped = files.is_disk()
            && (path == Path::new("-") || files.about(path).is_ok_and(|about| !regular(about)));
        if piped {
            return Ok((Bytes::default(), Some(Pipe::new(path))));
        }
        Ok((self.trace_file(path)?, None))
    }

    /// The bytes of a regular file of trace data. Its size is not limited, as it is read in blocks.
    fn trace_file(&mut self, path: &Path) -> Result<Bytes, String> {
        if let Some(bytes) = self.open.get(path).cloned() {
            self.repeated = self.repeated.saturating_add(bytes.size());
            return Ok(bytes);
        }
        let (file, about) = open_regular(self.source(), path)?;
        if let Some(bytes) = about.identity().and_then(|id| self.same.get(&id)).cloned() {
            self.repeated = self.repeated.saturating_add(bytes.size());
            self.open.insert(path.to_owned(), bytes.clone());
            return Ok(bytes);
        }
        let bytes = self.read(path, file, about)?;
        self.trace_bytes = self.trace_bytes.saturating_add(bytes.size());
        Ok(bytes)
    }

    /// The bytes of the file at `path`, which the user gave. It may be a pipe.
    pub(crate) fn open(&mut self, path: &Path) -> Result<Bytes, String> {
        let about = self.source().about(path).map_err(|error| reason(&error))?;
        // Some systems report length 0 for files that they generate on reading.
        if about.kind == FileKind::Folder || about.kind == FileKind::File && about.len > 0 {
            return self.open_named(path);
        }
        read_small(self.source(), path, MAX_MEMORY).map(Bytes::from)
    }

    fn read(&mut self, path: &Path, file: Opened, about: About) -> Result<Bytes, String> {
        let bytes = match file {
            Opened::Bytes(bytes) => bytes,
            Opened::File(_) if about.len < LARGE_FROM => {
                Bytes::from(read_exactly(file, about.len).map_err(|error| reason(&error))?)
            }
            Opened::File(file) => {
                self.large += 1;
                let held = (self.large <= MAX_OPEN).then_some(file);
                Bytes::on_demand(Arc::new(LargeFile::new(path.to_owned(), about.len, held)))
            }
        };
        if let Some(id) = about.identity() {
            self.same.insert(id, bytes.clone());
        }
        self.stamps.extend(about.stamp);
        self.open.insert(path.to_owned(), bytes.clone());
        Ok(bytes)
    }
}

/// The bytes of the regular file at `path`, of at most `most` bytes. An empty file, as those that
/// the system generates seem to be, is not opened.
///
/// # Errors
/// The reason why it is not read.
pub fn read_regular(path: &Path, most: u64) -> Result<Vec<u8>, Invalid> {
    let files = Files::default();
    let empty = |about: About| about.kind == FileKind::File && about.len == 0;
    if files.about(path).is_ok_and(empty) {
        return Err("it is empty".into());
    }
    let (file, about) = open_regular(&files, path)?;
    if about.len > most {
        return Err(format!("it has {} bytes; at most {most} are read", about.len).into());
    }
    read_exactly(file, about.len).map_err(|error| reason(&error).into())
}

/// Opens the regular file at `path`. Its state is that of the open file.
fn open_regular(files: &Files, path: &Path) -> Result<(Opened, About), String> {
    let check = |about: &About| match about.kind {
        FileKind::File => Ok(()),
        // Some systems open a folder without an error, and fail at the first read.
        FileKind::Folder => Err(reason(&io::ErrorKind::IsADirectory.into())),
        FileKind::Pipe | FileKind::Other => Err("it is not a regular file".to_owned()),
    };
    // Opening a pipe waits for a writer.
    check(&files.about(path).map_err(|error| reason(&error))?)?;
    let (file, about) = files.open(path).map_err(|error| reason(&error))?;
    check(&about)?;
    Ok((file, about))
}

/// The first `len` bytes of `file`, or fewer if it is shorter. No bytes are requested from a file
/// that reports length 0: the system generates some of these on reading, without an end.
fn read_exactly(file: Opened, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if len > 0 {
        bytes.try_reserve_exact(usize::try_from(len).unwrap_or(usize::MAX))?;
        file.reader().take(len).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// The bytes of the file at `path`, which may be a pipe or a device, if there are at most `most`.
pub(crate) fn read_small(files: &Files, path: &Path, most: u64) -> Result<Vec<u8>, String> {
    if files.is_folder(path) {
        return Err(reason(&io::ErrorKind::IsADirectory.into()));
    }
    let bytes = files.head(path, most + 1).map_err(|error| reason(&error))?;
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
pub(crate) fn find(files: &Files, root: &Path, beside: &Path, written: &str) -> PathBuf {
    let slashes = written.replace('\\', "/");
    for name in [written, &slashes] {
        for folder in [root, beside] {
            let path = folder.join(name);
            if files.exists(&path) {
                return path;
            }
        }
    }
    root.join(slashes)
}
