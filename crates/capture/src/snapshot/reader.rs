//! Services for all parts of the reader: files, sections with their origins, notes.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::Bytes;
use crate::access::Access;
use crate::ini::{Entry, Ini, list, utf16};
use crate::limits::{MAX_FILES, MAX_MALFORMED};
use crate::notes::Notes;
use crate::number::number;
use crate::open_files::{self, OpenFiles};
use crate::origin::Origin;
use crate::origin::shortened;
use crate::pipe::Pipe;
use crate::plain::plain;
use crate::problem::Problem;

/// An ini file.
pub(super) struct Doc<'a> {
    pub(super) path: &'a Path,
    pub(super) ini: Ini<'a>,
    /// The indices of the sections by their name in lower case.
    sections: HashMap<String, Vec<usize>>,
}

impl<'a> Doc<'a> {
    /// The ini file at `path` with these contents.
    pub(super) fn new(path: &'a Path, text: &'a str) -> Doc<'a> {
        let ini = Ini::parse(text);
        let mut sections: HashMap<String, Vec<usize>> = HashMap::new();
        for (n, section) in ini.sections.iter().enumerate() {
            sections.entry(section.name.to_ascii_lowercase()).or_default().push(n);
        }
        Doc { path, ini, sections }
    }

    /// The place of the first section with this name among all, compared without case.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.sections.get(&name.to_ascii_lowercase())?.first().copied()
    }
}

/// The joined sections of one name, with the first line of each key.
pub(super) struct Table<'a> {
    pub(super) origin: Origin,
    pub(super) entries: Vec<Entry<'a>>,
}

impl<'a> Table<'a> {
    /// The value of a key, and its origin.
    pub(super) fn value(&self, key: &str) -> Option<(&'a str, Origin)> {
        let entry = self.entries.iter().find(|e| e.key.eq_ignore_ascii_case(key))?;
        Some((entry.value?, self.key(entry)))
    }

    /// The origin of a line.
    pub(super) fn key(&self, entry: &Entry<'_>) -> Origin {
        self.origin.key(entry.line, entry.key)
    }
}

/// The state of reading a snapshot.
pub(super) struct Reader {
    /// The folder of the index.
    pub(super) root: PathBuf,
    pub(super) files: OpenFiles,
    pub(super) notes: Notes,
    /// The file of each device that was read, by the name of the device.
    pub(super) described: HashMap<String, PathBuf>,
    /// The names of the devices that were read, by file.
    pub(super) device_files: HashMap<PathBuf, String>,
    /// The names of the devices that were read, by location.
    pub(super) located: HashMap<Vec<(String, String)>, String>,
    /// A device could not be read, so that links may refer to it in vain.
    pub(super) lost_device: bool,
}

impl Reader {
    pub(super) fn new(index: &Path, access: Access) -> Self {
        let root = index.parent().unwrap_or(Path::new("")).to_owned();
        Reader {
            files: OpenFiles::in_folder(&root, access),
            root,
            notes: Notes::default(),
            described: HashMap::new(),
            device_files: HashMap::new(),
            located: HashMap::new(),
            lost_device: false,
        }
    }

    pub(super) fn note(&mut self, origin: Origin, problem: Problem) {
        self.notes.add(origin, problem);
    }

    /// Notes an unknown link target, unless a device could not be read, which has a note already.
    pub(super) fn unknown(&mut self, origin: Origin, problem: Problem) {
        if !self.lost_device {
            self.note(origin, problem);
        }
    }

    /// The text of an ini file in the folder of the capture.
    pub(super) fn text(&mut self, path: &Path) -> Result<String, Problem> {
        let bytes = self.files.description(path)?;
        Ok(self.decoded(path, &bytes))
    }

    /// The text of the index, of the capture that the user gave as `given`.
    pub(super) fn index(&mut self, index: &Path, given: &Path) -> Result<String, Problem> {
        let bytes = self.files.index(index, given)?;
        Ok(self.decoded(index, &bytes))
    }

    fn decoded(&mut self, path: &Path, bytes: &[u8]) -> String {
        let text = match utf16(bytes) {
            Some(text) => Cow::Owned(text),
            None => {
                let text = String::from_utf8_lossy(bytes);
                if matches!(text, Cow::Owned(_)) {
                    self.note(Origin::file(path), Problem::NotUtf8);
                }
                text
            }
        };
        let shown = plain(&text);
        if matches!(shown, Cow::Owned(_)) {
            self.note(Origin::file(path), Problem::Control);
        }
        shown.into_owned()
    }

    /// The path and bytes of a file that the ini file of `at` refers to.
    pub(super) fn bytes(&mut self, at: &Origin, written: &str) -> (PathBuf, Result<Bytes, String>) {
        let path = self.find(at, written);
        let bytes = self.files.open_named(&path);
        (path, bytes)
    }

    /// The path and bytes of a file of trace data, which may be a pipe.
    pub(super) fn trace(
        &mut self,
        at: &Origin,
        written: &str,
    ) -> (PathBuf, Result<(Bytes, Option<Pipe>), String>) {
        let path = self.find(at, written);
        let trace = self.files.trace_named(&path);
        (path, trace)
    }

    /// Whether no further file of trace data can be opened, which is noted.
    pub(super) fn has_all_files(&mut self, at: &Origin) -> bool {
        let full = self.files.has_all_traces();
        if full {
            self.note(at.clone(), Problem::TooMany("files of trace data", MAX_FILES));
        }
        full
    }

    /// The path of a file that the ini file of `at` refers to.
    pub(super) fn path(&self, at: &Origin, written: &str) -> PathBuf {
        open_files::find(
            self.files.source(),
            &self.root,
            at.path.parent().unwrap_or(Path::new("")),
            written,
        )
    }

    /// The path of a file that the ini file of `at` refers to. A file outside of the capture's
    /// folder is noted.
    fn find(&mut self, at: &Origin, written: &str) -> PathBuf {
        let path = self.path(at, written);
        if !self.files.is_inside(&path) {
            self.note(at.clone(), Problem::Outside(shortened(written)));
        }
        path
    }

    /// Notes malformed lines in the sections that are read.
    pub(super) fn malformed(&mut self, doc: &Doc<'_>, used: &[&str]) {
        let mut count = 0;
        let exact: HashSet<&str> = used.iter().copied().collect();
        let prefixes: Vec<&str> = used.iter().filter_map(|used| used.strip_suffix('*')).collect();
        for section in &doc.ini.sections {
            let origin = Origin::section(doc.path, section.line, section.name);
            if section.name.is_empty() && section.line == 0 {
                for entry in &section.entries {
                    count += 1;
                    let origin = Origin::file(doc.path).key(entry.line, entry.key);
                    if count <= MAX_MALFORMED {
                        self.note(origin, Problem::OutsideSection);
                    }
                }
                continue;
            }
            let name = section.name.to_ascii_lowercase();
            let is_used = exact.contains(name.as_str())
                || prefixes.iter().any(|start| name.starts_with(start));
            if !is_used {
                continue;
            }
            for entry in section.entries.iter().filter(|e| e.value.is_none()) {
                count += 1;
                if count <= MAX_MALFORMED {
                    let origin = Origin { line: Some(entry.line), ..origin.clone() };
                    self.note(origin, Problem::Malformed(short(entry.key)));
                }
            }
        }
        if count > MAX_MALFORMED {
            self.note(Origin::file(doc.path), Problem::MoreMalformed(count - MAX_MALFORMED));
        }
    }

    /// The joined sections called `name`; `None` without one. Repeated keys are noted.
    pub(super) fn section<'a>(&mut self, doc: &Doc<'a>, name: &str) -> Option<Table<'a>> {
        self.joined(doc, name, true)
    }

    /// As [`Reader::section`], but keys may be repeated.
    pub(super) fn lines<'a>(&mut self, doc: &Doc<'a>, name: &str) -> Option<Table<'a>> {
        self.joined(doc, name, false)
    }

    /// Notes repeated keys of a table whose lines are all used.
    pub(super) fn repeated_keys(&mut self, table: &Table<'_>) {
        let mut seen = HashMap::new();
        for entry in &table.entries {
            let first = *seen.entry(entry.key.to_ascii_lowercase()).or_insert(entry.line);
            if first != entry.line {
                self.note(table.key(entry), Problem::RepeatedKey(first));
            }
        }
    }

    fn joined<'a>(&mut self, doc: &Doc<'a>, name: &str, once: bool) -> Option<Table<'a>> {
        let same = doc.sections.get(&name.to_ascii_lowercase())?;
        let mut same = same.iter().filter_map(|n| doc.ini.sections.get(*n));
        let first = same.next()?;
        let origin = Origin::section(doc.path, first.line, first.name);
        let mut entries = first.entries.clone();
        for again in same {
            self.note(
                Origin::section(doc.path, again.line, again.name),
                Problem::DuplicateSection(first.line),
            );
            entries.extend_from_slice(&again.entries);
        }
        let mut table = Table { origin, entries: Vec::new() };
        self.fill(&mut table, entries, once);
        Some(table)
    }

    /// One section, not joined with others of its name: several dumps may have the same name.
    pub(super) fn alone<'a>(
        &mut self,
        path: &Path,
        section: &crate::ini::Section<'a>,
    ) -> Table<'a> {
        let origin = Origin::section(path, section.line, section.name);
        let mut table = Table { origin, entries: Vec::new() };
        self.fill(&mut table, section.entries.clone(), true);
        table
    }

    fn fill<'a>(&mut self, table: &mut Table<'a>, entries: Vec<Entry<'a>>, once: bool) {
        let mut seen = std::collections::HashMap::new();
        for entry in entries.into_iter().filter(|e| e.value.is_some()) {
            let first = *seen.entry(entry.key.to_ascii_lowercase()).or_insert(entry.line);
            if once && first != entry.line {
                self.note(table.key(&entry), Problem::DuplicateKey(first));
            } else {
                table.entries.push(entry);
            }
        }
    }
}

/// The words of a location, a list of `key:value`. Lists are equal irrespective of order, case,
/// blanks and leading zeros.
pub(super) fn location_words(text: &str) -> Vec<(String, String)> {
    let mut words: Vec<_> = list(text)
        .map(|word| {
            let (key, value) = word.split_once(':').unwrap_or(("", word));
            let value = match number(value) {
                Some(n) => n.to_string(),
                None => value.trim().to_ascii_lowercase(),
            };
            (key.trim().to_ascii_lowercase(), value)
        })
        .collect();
    words.sort();
    words
}

/// The first characters of a line, for a message.
fn short(text: &str) -> String {
    let text = text.trim();
    let mut short: String = text.chars().take(40).collect();
    if text.chars().nth(40).is_some() {
        short.push('…');
    }
    short
}
