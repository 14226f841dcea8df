//! The source files that the line table of a program names. They are read only in folders that the
//! user names, in that of a program that the user names, and in that of the capture: what a line
//! table names may be any file of the machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;
use std::{fs, io};

use tracewright::analysis::coverage::SourceFile;
use tracewright::capture::read_regular;

use crate::fail::Fail;
use crate::inputs::{Inputs, is_standard};
use crate::message;

/// The most bytes of a source file.
const MAX_SOURCE: u64 = 16 << 20;

/// The most bytes of a line that is shown.
const MAX_LINE: usize = 1 << 12;

/// The most notes on source files.
const MAX_NOTES: usize = 8;

/// Reads source files.
pub struct Sources<'a> {
    /// Folders of the user.
    roots: &'a [PathBuf],
    /// What was read: by the path in the line table, the file, or why there is none.
    read: Mutex<BTreeMap<String, Result<PathBuf, String>>>,
    /// The files that were opened, or could not be.
    opened: Mutex<Vec<PathBuf>>,
}

impl<'a> Sources<'a> {
    /// Source files in the folders `roots`, and in those of the programs.
    pub fn new(roots: &'a [PathBuf]) -> Self {
        Sources { roots, read: Mutex::default(), opened: Mutex::default() }
    }

    /// The text of the source file with the path `path` in the line table, and the file.
    pub fn read(&self, path: &str, source: &SourceFile) -> Result<(String, PathBuf), String> {
        let found = self.find(path, source);
        if let Ok(mut read) = self.read.lock() {
            let what = found.as_ref().map(|(_, file)| file.clone()).map_err(Clone::clone);
            read.insert(path.to_owned(), what);
        }
        found
    }

    fn find(&self, path: &str, source: &SourceFile) -> Result<(String, PathBuf), String> {
        let mut why = None;
        let mut read = |folder: &Path, file: &Path| {
            let own = inside(folder, file)?;
            let text = self.text(&own);
            let text = text.inspect_err(|error| why = Some(format!("{}: {error}", file.display())));
            Some((text.ok()?, own))
        };
        for root in self.roots {
            if let Some(text) = ends(path).find_map(|end| read(root, &root.join(end))) {
                return Ok(text);
            }
        }
        for folder in &source.folders {
            // A path that is not relative replaces the folder.
            if let Some(text) = read(folder, &folder.join(path)) {
                return Ok(text);
            }
        }
        Err(why.unwrap_or_else(|| {
            let folders = self.roots.iter().chain(&source.folders);
            let folders: Vec<_> = folders.map(|folder| folder.display().to_string()).collect();
            match folders.is_empty() {
                true => "no folder of source files is known".to_owned(),
                false => format!("it is not in {}", folders.join(", ")),
            }
        }))
    }

    /// The text of a file that the user named, or of one in a known folder.
    pub fn text(&self, file: &Path) -> Result<String, String> {
        if let Ok(mut opened) = self.opened.lock() {
            opened.push(file.to_owned());
        }
        let bytes = read_regular(file, MAX_SOURCE)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The text of a file in a known folder, all of which is in the output.
    pub fn whole(&self, file: &Path) -> io::Result<Vec<u8>> {
        let text = self.text(file).map_err(io::Error::other)?;
        if let Ok(mut read) = self.read.lock() {
            read.insert(file.display().to_string(), Ok(file.to_owned()));
        }
        Ok(text.into_bytes())
    }

    /// Fails where the file `output` of --output, or standard output for `-` or none, is one of the
    /// files that were opened.
    pub fn refuse(&self, output: Option<&Path>) -> Result<(), Fail> {
        let opened = self.opened.lock().map(|opened| opened.clone()).unwrap_or_default();
        Inputs::of_files(opened).refuse(output.filter(|path| !is_standard(path)))
    }

    /// Prints which files were read, and which could not be.
    pub fn print(&self) {
        let read = self.read.lock().map(|mut read| std::mem::take(&mut *read)).unwrap_or_default();
        let (found, missing): (Vec<_>, Vec<_>) = read.into_iter().partition(|(_, r)| r.is_ok());
        let found = found.into_iter().filter_map(|(_, file)| file.ok());
        let found: BTreeSet<_> = found.map(|file| file.display().to_string()).collect();
        let found: Vec<_> = found.into_iter().collect();
        if !found.is_empty() {
            message::line(&format!("note: the output has lines of {}", found.join(", ")));
        }
        for (path, why) in missing.iter().take(MAX_NOTES) {
            let why = why.as_ref().err().map_or("", String::as_str);
            message::line(&format!("note: the source file {path} is not shown: {why}"));
        }
        if missing.len() > MAX_NOTES {
            message::line(&format!("note: {} more source files", missing.len() - MAX_NOTES));
        }
        if !missing.is_empty() {
            message::line("help: name the folder of the source files with --source-root FOLDER");
        }
    }
}

/// The path and its ends, the longest first, without folders that lead out of it. Folders are
/// separated as on any system.
fn ends(path: &str) -> impl Iterator<Item = String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop(),
            _ if part.ends_with(':') => {}
            _ => parts.push(part),
        }
    }
    let parts: Vec<String> = parts.into_iter().map(str::to_owned).collect();
    (0..parts.len()).map(move |n| parts.get(n..).unwrap_or_default().join("/"))
}

/// The path of `file` without symbolic links, if it is in `folder`.
fn inside(folder: &Path, file: &Path) -> Option<PathBuf> {
    let folder = fs::canonicalize(folder).ok()?;
    let file = fs::canonicalize(file).ok().filter(|file| file.starts_with(&folder))?;
    debug_assert!(file.components().all(|part| part != Component::ParentDir));
    Some(file)
}

/// The beginning of a line of a source file.
pub fn line(text: &str) -> String {
    match text.char_indices().nth(MAX_LINE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_paths() {
        for (path, want) in [
            ("/a/b/../c.c", &["a/c.c", "c.c"][..]),
            ("../../etc/passwd", &["etc/passwd", "passwd"]),
            ("C:\\src\\.\\d.c", &["src/d.c", "d.c"]),
            ("/", &[]),
        ] {
            assert_eq!(ends(path).collect::<Vec<_>>(), want, "{path}");
        }
    }
}
