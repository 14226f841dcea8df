//! Detection of the format of a file or folder by its content.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::container::Container;
use crate::cycles;
use crate::dump::ELF;
use crate::files::{FileKind, Files};
use crate::ini::{Ini, utf16};
use crate::levels::may_be_levels;
use crate::memory_file::is_core;
use crate::open_files::reason;
use crate::perf::BranchList;
use crate::pipe::Pipe;
use crate::problem::{OpenError, Problem};

/// The format of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// An Arm snapshot, with the path of its index, usually `snapshot.ini`.
    Snapshot(PathBuf),
    /// A folder with a `capture.toml`, with the path of that file.
    Folder(PathBuf),
    /// A file with the cycles of one trace port.
    Cycles(cycles::Form),
    /// An ELF file.
    Program,
    /// A `perf.data` file.
    Perf,
    /// A file that holds no trace data as it is: an archive, a recording of levels, text.
    Container(Container),
    /// Anything else.
    Raw,
}

/// The first bytes of a `perf.data` file of version 2 in either byte order, and of version 1.
const PERF: [&[u8]; 3] = [b"PERFILE2", b"2ELIFREP", b"PERFFILE"];
/// Number of bytes that are examined. An ini file has a section that identifies it by then.
const LOOK: u64 = 64 << 10;
/// The file name of the description of a folder.
pub(crate) const DESCRIPTION: &str = "capture.toml";
/// The usual file name of the index of a snapshot.
pub(crate) const INDEX: &str = "snapshot.ini";

/// Detects the format of `path`; `-` is the standard input.
///
/// # Errors
/// [`OpenError`] where the path cannot be read, and where a folder or an ini file has no index.
pub fn probe(path: &Path) -> Result<Found, OpenError> {
    probe_in(&Files::default(), path)
}

/// As [`probe`], of the path of a file in `files`.
///
/// # Errors
/// As [`probe`].
pub fn probe_in(files: &Files, path: &Path) -> Result<Found, OpenError> {
    if files.is_disk() && path == Path::new("-") {
        return Ok(Found::Raw);
    }
    if files.is_folder(path) {
        let described = path.join(DESCRIPTION);
        if files.is_file(&described) {
            return Ok(Found::Folder(described));
        }
        // `perf record --threads` and `--kcore` write a folder.
        let data = path.join("data");
        if files.is_file(&data) && head(files, &data).is_ok_and(|head| is_perf(&head)) {
            return Ok(Found::Perf);
        }
        return in_folder(files, path).map(Found::Snapshot);
    }
    // A pipe can be read only once.
    if files.about(path).is_ok_and(|about| about.kind != FileKind::File) {
        return Ok(Found::Raw);
    }
    if path.file_name().is_some_and(|name| name == DESCRIPTION) {
        return Ok(Found::Folder(path.to_owned()));
    }
    let head = head(files, path)?;
    if head.starts_with(ELF) {
        // A core dump may have a trace buffer.
        return Ok(if is_core(&head) { Found::Raw } else { Found::Program });
    }
    if let Some(form) = cycles::Form::probe(files, path, &head) {
        return Ok(Found::Cycles(form));
    }
    if is_perf(&head) {
        return Ok(Found::Perf);
    }
    if BranchList::is_at(&head) {
        let why = "it is a branch list of simpleperf: `tracewright profile` and `tracewright merge` \
                   read it";
        return Err(OpenError::new(path, Problem::Perf(why.into())));
    }
    if let Some(container) = Container::probe(&head).filter(|container| !container.is_memory()) {
        return Ok(Found::Container(container));
    }
    match role(&head) {
        Role::Index => Ok(Found::Snapshot(path.to_owned())),
        Role::Part => {
            let beside = path.parent().unwrap_or(Path::new(""));
            index_in(files, beside)
                .map(Found::Snapshot)
                .ok_or_else(|| OpenError::new(path, Problem::NoIndexBeside))
        }
        Role::None => Ok(Found::Raw),
    }
}

/// Detects the format of a pipe, all of which is read into memory.
pub fn probe_pipe(pipe: &Pipe) -> Found {
    let all = pipe.all();
    let head = all.get(..LOOK as usize).unwrap_or(all);
    if head.starts_with(ELF) && !is_core(head) {
        return Found::Program;
    }
    if is_perf(head) {
        return Found::Perf;
    }
    // Levels of a serial wire may be in it.
    let container = Container::probe(head);
    match container.filter(|container| !container.is_memory() && !may_be_levels(head)) {
        Some(container) => Found::Container(container),
        None => Found::Raw,
    }
}

/// Whether a file with the first bytes `head` is a `perf.data` file.
fn is_perf(head: &[u8]) -> bool {
    PERF.iter().any(|magic| head.starts_with(magic))
}

/// The role of an ini file in a snapshot.
#[derive(PartialEq)]
enum Role {
    Index,
    Part,
    None,
}

fn role(head: &[u8]) -> Role {
    let text = match utf16(head) {
        Some(text) => Cow::Owned(text),
        // Trace data contain zero bytes; text does not.
        None if head.contains(&0) => return Role::None,
        None => String::from_utf8_lossy(head),
    };
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

fn in_folder(files: &Files, path: &Path) -> Result<PathBuf, OpenError> {
    if let Err(error) = files.in_folder(path) {
        return Err(OpenError::new(path, Problem::Unreadable(reason(&error))));
    }
    index_in(files, path).ok_or_else(|| OpenError::new(path, Problem::NoIndex))
}

/// The index in a folder: `snapshot.ini`, or the only ini file with the sections of an index.
fn index_in(files: &Files, folder: &Path) -> Option<PathBuf> {
    let usual = folder.join(INDEX);
    if files.is_file(&usual) {
        return Some(usual);
    }
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut found = files.in_folder(listed).ok()?.into_iter().filter(|path| {
        // Opening a pipe waits for a writer.
        path.extension().is_some_and(|e| e.eq_ignore_ascii_case("ini"))
            && files.is_file(path)
            && head(files, path).is_ok_and(|head| role(&head) == Role::Index)
    });
    found.next().filter(|_| found.next().is_none())
}

fn head(files: &Files, path: &Path) -> Result<Vec<u8>, OpenError> {
    let head = files.head(path, LOOK);
    head.map_err(|error| OpenError::new(path, Problem::Unreadable(reason(&error))))
}
