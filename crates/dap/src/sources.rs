//! Source files: where they are on this machine, and which one the client means.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::message::{Arguments, Refused, refused};
use crate::program::Program;

/// The most bytes of a source file.
const MOST_BYTES: u64 = 1 << 24;

/// The files of this machine.
pub trait SourceFiles {
    /// Whether there is a file.
    fn exists(&self, path: &Path) -> bool;

    /// Reads a file of at most `most` bytes.
    ///
    /// # Errors
    /// Where it cannot be read, or is longer.
    fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>>;
}

/// Source files of the program.
pub(crate) struct Sources<'a> {
    files: &'a dyn SourceFiles,
    /// Beginnings of paths of the compiler, and what replaces them.
    map: Vec<(String, String)>,
    /// The path of each file of the program on this machine, once it was asked for.
    found: Vec<Option<PathBuf>>,
}

/// The names in a path, of either kind of system.
fn names(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split(['/', '\\']).filter(|name| !name.is_empty() && *name != ".")
}

/// The number of names at the end that two paths share.
fn shared(one: &str, other: &str) -> usize {
    let both = names(one).rev().zip(names(other).rev());
    both.take_while(|(a, b)| a == b).count()
}

impl<'a> Sources<'a> {
    pub(crate) fn new(
        files: &'a dyn SourceFiles,
        map: Vec<(String, String)>,
        folder: Option<&Path>,
        program: &Program,
    ) -> Sources<'a> {
        let mut sources = Sources { files, map, found: Vec::new() };
        let find = |path: &String| sources.find(path, folder);
        sources.found = program.files.iter().map(find).collect();
        sources
    }

    /// The path of a source file after the replacements.
    fn mapped(&self, path: &str) -> Option<PathBuf> {
        self.map.iter().find_map(|(from, to)| {
            let rest = path.strip_prefix(from.as_str())?;
            // Whole names are replaced; an empty beginning is one of each path.
            let is_whole = from.is_empty() || from.ends_with(['/', '\\']) || rest.is_empty();
            if !is_whole && !rest.starts_with(['/', '\\']) {
                return None;
            }
            let rest = rest.trim_start_matches(['/', '\\']);
            Some(Path::new(to).join(rest))
        })
    }

    /// Where a file is: where the compiler has read it, or beside the program.
    fn find(&self, path: &str, folder: Option<&Path>) -> Option<PathBuf> {
        if let Some(mapped) = self.mapped(path) {
            return Some(mapped);
        }
        let own = PathBuf::from(path);
        if own.is_absolute() && self.files.exists(&own) {
            return Some(own);
        }
        let all: Vec<&str> = names(path).filter(|name| *name != "..").collect();
        let beside = |from: usize| {
            let mut path = folder?.to_owned();
            path.extend(all.get(from..)?);
            self.files.exists(&path).then_some(path)
        };
        (0..all.len()).find_map(beside)
    }

    /// What describes a file to the client.
    pub(crate) fn describe(&self, program: &Program, file: usize) -> Value {
        let path = program.files.get(file).map_or("", String::as_str);
        let name = names(path).next_back().unwrap_or(path);
        match self.found.get(file).and_then(Option::as_ref) {
            Some(found) => json!({ "name": name, "path": found.to_string_lossy() }),
            // It is not on this machine: the client may have it.
            None => json!({ "name": name, "path": path, "presentationHint": "deemphasize" }),
        }
    }

    /// The files that the client means.
    pub(crate) fn meant(
        &self,
        program: &Program,
        source: &Arguments,
    ) -> Result<Vec<usize>, Refused> {
        let Some(path) = source.text("path")?.or(source.text("name")?) else {
            return refused("the source has no path");
        };
        let exact = |file: usize| {
            let own = program.files.get(file).map(String::as_str) == Some(path);
            let found = self.found.get(file).and_then(Option::as_ref);
            own || found.is_some_and(|found| found == Path::new(path))
        };
        let all = 0..program.files.len();
        let exactly: Vec<usize> = all.clone().filter(|file| exact(*file)).collect();
        if !exactly.is_empty() {
            return Ok(exactly);
        }
        // The most names at the end of the path.
        let counts: Vec<usize> = program.files.iter().map(|own| shared(own, path)).collect();
        let best = counts.iter().copied().max().unwrap_or(0);
        Ok(all.filter(|file| best > 0 && counts.get(*file) == Some(&best)).collect())
    }

    /// The text of a file of the program.
    pub(crate) fn text(&self, program: &Program, source: &Arguments) -> Result<String, Refused> {
        let files = self.meant(program, source)?;
        let found = files.iter().find_map(|file| self.found.get(*file)?.as_ref());
        let Some(path) = found else {
            return refused("the program has no such source file, or it is not on this machine");
        };
        match self.files.read(path, MOST_BYTES) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) => refused(format!("{} cannot be read: {error}", path.display())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_share_names() {
        for (one, other, count) in [
            ("/a/b/main.c", "/x/b/main.c", 2),
            ("C:\\a\\main.c", "a/main.c", 2),
            ("./main.c", "main.c", 1),
            ("domain.c", "main.c", 0),
        ] {
            assert_eq!(shared(one, other), count, "{one} {other}");
        }
    }
}
