//! The files that a command reads: no output may replace one of them.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use tracewright::Capture;
use tracewright::capture::{Kind, read_file};

use crate::fail::Fail;

/// The files and the folders that a command reads.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Inputs {
    /// The files that `capture` was read from, and the folder that contains it.
    pub fn of_capture(capture: &Capture) -> Inputs {
        let trace = capture.buffers.iter().flat_map(|buffer| &buffer.files).map(|file| &file.path);
        let memory = capture.memory.iter().map(|dump| &dump.path);
        let units = capture.sources.iter().map(|source| &source.path);
        // Descriptions, and what else was opened.
        let opened = capture.stamps.iter().map(|stamp| &stamp.path);
        let files = trace.chain(memory).chain(units).chain([&capture.path]).chain(opened);
        let mut inputs = Inputs { files: files.cloned().collect(), folders: Vec::new() };
        inputs.files.sort();
        inputs.files.dedup();
        if matches!(capture.kind, Kind::Snapshot | Kind::Folder) {
            let path = &capture.path;
            inputs.folders.push(match path.parent() {
                _ if path.is_dir() => path.clone(),
                Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
                _ => PathBuf::from("."),
            });
        }
        inputs
    }

    /// The files that the arguments of the command name: alone, after `=` or before `@`, or in a
    /// list. Standard output is none of them, whatever the verb reads.
    pub fn of_arguments() -> Inputs {
        let mut files = Vec::new();
        for argument in crate::arguments::all().iter().skip(1) {
            let text = argument.to_string_lossy().into_owned();
            files.push(PathBuf::from(argument));
            let values = text.split_once('=').map(|(_, value)| value.to_owned());
            for part in values.iter().chain([&text]).flat_map(|text| text.split(',')) {
                files.push(part.into());
                files.extend(part.rsplit_once('@').map(|(file, _)| file.into()));
            }
        }
        files.retain(|file| !is_standard(file));
        Inputs { files, folders: Vec::new() }
    }

    /// The files `files`.
    pub fn of_files(files: Vec<PathBuf>) -> Inputs {
        Inputs { files, folders: Vec::new() }
    }

    /// Adds the files with lists of paths that `given` names: see [`lists`].
    pub fn lists(mut self, given: &[PathBuf]) -> Inputs {
        self.files.extend(given.iter().filter_map(|path| list_of(path)));
        self
    }

    /// The files.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Adds a file.
    pub fn file(mut self, path: Option<&Path>) -> Inputs {
        self.files.extend(path.map(Path::to_owned));
        self
    }

    /// Adds the files of `--image FILE[@ADDRESS]`.
    pub fn images(mut self, images: &[String]) -> Inputs {
        for image in images {
            self.files.push(image.into());
            let image = image.rsplit_once(",pid=").map_or(image.as_str(), |(image, _)| image);
            self.files.push(image.into());
            self.files.extend(image.rsplit_once('@').map(|(file, _)| file.into()));
        }
        self
    }

    /// Fails where the file `path` of --output, or standard output for `None`, is an input, under
    /// any name, and where it is inside the folder of the capture.
    pub fn refuse(&self, path: Option<&Path>) -> Result<(), Fail> {
        self.refuse_as("--output", path)
    }

    /// As [`Inputs::refuse`], for the output of another option.
    pub fn refuse_as(&self, option: &str, path: Option<&Path>) -> Result<(), Fail> {
        let output = path.unwrap_or(Path::new(STDOUT));
        let refused = |why: &str| match path {
            Some(path) => Err(Fail::option(option, &path.to_string_lossy(), why)),
            None => Err(Fail::option("standard output", "of this command", why)),
        };
        if let Some(own) = identity(output, Metadata::is_file) {
            let same = |file: &&PathBuf| {
                let file = if *file == Path::new("-") { Path::new(STDIN) } else { file.as_path() };
                identity(file, Metadata::is_file).is_some_and(|its| its == own)
            };
            if let Some(input) = self.files.iter().find(same) {
                return refused(&format!(
                    "this file is read as {}; write to another file",
                    input.display()
                ));
            }
        }
        // A shell that redirects standard output has created the file already.
        let Some(path) = path.filter(|path| !fs::metadata(path).is_ok_and(|m| !m.is_file())) else {
            return Ok(());
        };
        let beside = |path: &Path| match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        // The folder of the file, and the folder of the file that a link leads to.
        let places = [fs::canonicalize(beside(path)), fs::canonicalize(path).map(|p| beside(&p))];
        for place in places.into_iter().flatten() {
            for folder in &self.folders {
                let Some(own) = identity(folder, Metadata::is_dir) else { continue };
                let is = |place: &Path| identity(place, Metadata::is_dir).is_some_and(|i| i == own);
                if place.ancestors().any(is) {
                    return refused(&format!(
                        "this file is inside the capture {}, which is read; write it elsewhere",
                        folder.display()
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Names of standard output.
const STDOUTS: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Whether `path` names standard output.
pub fn is_standard(path: &Path) -> bool {
    STDOUTS.iter().any(|stdout| path == Path::new(stdout))
}

const STDIN: &str = "/dev/stdin";
const STDOUT: &str = "/dev/stdout";

/// What identifies the file at `path` under any name: device and inode. `None` where there is no
/// file, and where it is not of the `kind`.
#[cfg(unix)]
fn identity(path: &Path, kind: fn(&Metadata) -> bool) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().filter(kind).map(|about| (about.dev(), about.ino()))
}

/// What identifies the file at `path`: its path without links.
#[cfg(not(unix))]
fn identity(path: &Path, kind: fn(&Metadata) -> bool) -> Option<PathBuf> {
    fs::metadata(path).ok().filter(kind)?;
    fs::canonicalize(path).ok()
}

/// `paths`, with the paths in the lines of FILE for each `@FILE`, unless that is a file itself.
pub fn lists(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Fail> {
    let mut all = Vec::new();
    for path in paths {
        let Some(list) = list_of(path) else {
            all.push(path.clone());
            continue;
        };
        let fail = |why: &str| Fail::input(&list, &format!("as a list of paths, {why}"));
        let bytes = read_file(&list).map_err(|why| fail(&format!("{why}")))?;
        let lines = str::from_utf8(bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes));
        let lines = lines.map_err(|_| fail("it is not text; give a capture without the @"))?;
        let before = all.len();
        let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
        all.extend(lines.map(PathBuf::from));
        if all.len() == before {
            return Err(fail("it has no path"));
        }
    }
    all.shrink_to_fit();
    Ok(all)
}

/// The file with a list of paths that `path` names.
fn list_of(path: &Path) -> Option<PathBuf> {
    let text = path.to_str()?.strip_prefix('@')?;
    (!path.exists()).then(|| PathBuf::from(text))
}

/// The byte order mark of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The text of the file at `path`, registers or a recording, without a byte order mark.
pub fn read_text(path: &Path) -> Result<String, Fail> {
    let bytes = read_file(path).map_err(|why| Fail::input(path, &why.to_string()))?;
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
    str::from_utf8(text).map(str::to_owned).map_err(|error| {
        let before = text.iter().take(error.valid_up_to());
        let line = before.filter(|&&byte| byte == b'\n').count() + 1;
        Fail::input(path, &format!("line {line} is not text in UTF-8; check that this is the file"))
    })
}
