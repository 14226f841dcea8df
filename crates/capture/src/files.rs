//! Files, each opened once per capture.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Bytes, Pipe};

/// The open files of one capture.
#[derive(Default)]
pub(crate) struct Files {
    open: HashMap<PathBuf, Bytes>,
}

impl Files {
    /// The bytes of the file at `path`, which a capture refers to. A pipe or device is rejected, as
    /// reading it may not end.
    pub(crate) fn open_named(&mut self, path: &Path) -> Result<Bytes, String> {
        match std::fs::metadata(path) {
            Ok(about) if !about.is_file() && !about.is_dir() => {
                Err("it is not a regular file".into())
            }
            _ => self.open(path),
        }
    }

    /// The bytes of the file of trace data at `path`, which a capture refers to. It may be a named
    /// pipe.
    pub(crate) fn trace_named(&mut self, path: &Path) -> Result<(Bytes, Option<Pipe>), String> {
        match std::fs::metadata(path) {
            Ok(about) if is_pipe(&about) => Ok((Bytes::default(), Some(Pipe::new(path)))),
            _ => Ok((self.open_named(path)?, None)),
        }
    }

    /// The bytes of the file of trace data at `path`, which the user gave. `-` is the standard
    /// input, and the path may be a pipe or a device.
    pub(crate) fn trace(&mut self, path: &Path) -> Result<(Bytes, Option<Pipe>), String> {
        let piped = path == Path::new("-")
            || std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir());
        if piped {
            return Ok((Bytes::default(), Some(Pipe::new(path))));
        }
        Ok((self.open(path)?, None))
    }

    /// The bytes of the file at `path`, which the user gave.
    pub(crate) fn open(&mut self, path: &Path) -> Result<Bytes, String> {
        if let Some(bytes) = self.open.get(path) {
            return Ok(bytes.clone());
        }
        let bytes = read(path).map_err(|error| reason(&error))?;
        self.open.insert(path.to_owned(), bytes.clone());
        Ok(bytes)
    }
}

#[cfg(unix)]
fn is_pipe(about: &std::fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&about.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_: &std::fs::Metadata) -> bool {
    false
}

/// Files of at least this many bytes are mapped. A smaller file is read, so that it may change
/// afterwards.
pub(crate) const MAP_FROM: u64 = 1 << 20;

/// The bytes of the file at `path`.
pub(crate) fn read(path: &Path) -> io::Result<Bytes> {
    let about = std::fs::metadata(path)?;
    // Some systems open a folder without an error, and fail at the first read.
    if about.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if about.len() < MAP_FROM {
        return std::fs::read(path).map(Bytes::from);
    }
    tracewright_scan::map(path).map(|map| Bytes::new(Arc::new(map)))
}

/// The bytes of the file at `path`, which may be a pipe or a device, if there are at most `most`.
#[cfg(feature = "toml")]
pub(crate) fn read_small(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    if std::fs::metadata(path).is_ok_and(|about| about.is_dir()) {
        return Err(reason(&io::ErrorKind::IsADirectory.into()));
    }
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).and_then(|f| f.take(most + 1).read_to_end(&mut bytes));
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
