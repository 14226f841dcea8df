//! What a path is, by its content.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::cycles;
use crate::files::reason;
use crate::{OpenError, Wrong, ini::Ini};

/// What a path turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// An Arm snapshot, and its index: the `snapshot.ini`.
    Snapshot(PathBuf),
    /// A folder with a description in TOML, and that file: `capture.toml`.
    Folder(PathBuf),
    /// The cycles of one trace port.
    Cycles(cycles::Form),
    /// An ELF file.
    Program,
    /// A `perf.data` file.
    Perf,
    /// Anything else.
    Raw,
}

/// The first bytes of an ELF file.
pub(crate) const ELF: &[u8] = b"\x7fELF";
/// The first bytes of a `perf.data` file, in either byte order, and of its first version.
const PERF: [&[u8]; 3] = [b"PERFILE2", b"2ELIFREP", b"PERFFILE"];
/// How much is looked at: an ini file shows what it is by then.
const LOOK: u64 = 64 << 10;
/// The file name of the description of a folder.
pub(crate) const DESCRIPTION: &str = "capture.toml";
/// The usual name of an index.
pub(crate) const INDEX: &str = "snapshot.ini";

/// Looks at `path`; `-` is the standard input.
///
/// # Errors
/// [`OpenError`] where it cannot be read, and where a folder or an ini file has no index.
pub fn probe(path: &Path) -> Result<Found, OpenError> {
    if path == Path::new("-") {
        return Ok(Found::Raw);
    }
    if path.is_dir() {
        let described = path.join(DESCRIPTION);
        if described.is_file() {
            return Ok(Found::Folder(described));
        }
        return in_folder(path).map(Found::Snapshot);
    }
    // What is read of a pipe is gone from it.
    if fs::metadata(path).is_ok_and(|about| !about.is_file()) {
        return Ok(Found::Raw);
    }
    if path.file_name().is_some_and(|name| name == DESCRIPTION) {
        return Ok(Found::Folder(path.to_owned()));
    }
    let head = head(path)?;
    if head.starts_with(ELF) {
        return Ok(Found::Program);
    }
    if let Some(form) = cycles::Form::probe(path, &head) {
        return Ok(Found::Cycles(form));
    }
    if PERF.iter().any(|magic| head.starts_with(magic)) {
        return Ok(Found::Perf);
    }
    match role(&head) {
        Role::Index => Ok(Found::Snapshot(path.to_owned())),
        Role::Part => {
            let beside = path.parent().unwrap_or(Path::new(""));
            index_in(beside)
                .map(Found::Snapshot)
                .ok_or_else(|| OpenError::new(path, Wrong::NoIndexBeside))
        }
        Role::None => Ok(Found::Raw),
    }
}

/// What an ini file is to a snapshot.
#[derive(PartialEq)]
enum Role {
    Index,
    Part,
    None,
}

fn role(head: &[u8]) -> Role {
    // Trace is full of zeros; text has none.
    if head.contains(&0) {
        return Role::None;
    }
    let text = String::from_utf8_lossy(head);
    let ini = Ini::parse(&text);
    let has = |names: &[&str]| names.iter().any(|name| ini.section(name).is_some());
    if has(&["device_list", "snapshot"]) {
        Role::Index
    } else if has(&["device", "trace_buffers", "global", "trace", "regs"]) {
        Role::Part
    } else {
        Role::None
    }
}

fn in_folder(path: &Path) -> Result<PathBuf, OpenError> {
    if let Err(error) = fs::read_dir(path) {
        return Err(OpenError::new(path, Wrong::Unreadable(reason(&error))));
    }
    index_in(path).ok_or_else(|| OpenError::new(path, Wrong::NoIndex))
}

/// The index in a folder: `snapshot.ini`, or the only ini file that is one.
fn index_in(folder: &Path) -> Option<PathBuf> {
    let usual = folder.join(INDEX);
    if usual.is_file() {
        return Some(usual);
    }
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut found = fs::read_dir(listed).ok()?.flatten().map(|entry| entry.path()).filter(|path| {
        path.extension().is_some_and(|e| e.eq_ignore_ascii_case("ini"))
            && head(path).is_ok_and(|head| role(&head) == Role::Index)
    });
    found.next().filter(|_| found.next().is_none())
}

fn head(path: &Path) -> Result<Vec<u8>, OpenError> {
    let mut head = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(LOOK).read_to_end(&mut head));
    match read {
        Ok(_) => Ok(head),
        Err(error) => Err(OpenError::new(path, Wrong::Unreadable(reason(&error)))),
    }
}
