//! Services for all parts of the reader: files, sections with their origins, notes.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::files::{self, Files};
use crate::ini::{Entry, Ini};
use crate::plain::plain;
use crate::{Bytes, Note, Origin, Pipe, Problem};

/// Limit of the size of an ini file in bytes.
const MAX_TEXT: usize = 16 << 20;
/// Number of malformed lines of a file that have a note each; further lines are counted.
const MAX_MALFORMED: usize = 8;

/// An ini file.
pub(super) struct Doc<'a> {
    pub(super) path: &'a Path,
    pub(super) ini: Ini<'a>,
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
    pub(super) files: Files,
    pub(super) notes: Vec<Note>,
    /// A device could not be read, so that links may refer to it in vain.
    pub(super) lost_device: bool,
}

impl Reader {
    pub(super) fn new(index: &Path) -> Self {
        Reader {
            root: index.parent().unwrap_or(Path::new("")).to_owned(),
            files: Files::default(),
            notes: Vec::new(),
            lost_device: false,
        }
    }

    pub(super) fn note(&mut self, origin: Origin, problem: Problem) {
        self.notes.push(Note { origin, problem });
    }

    /// Notes an unknown link target, unless a device could not be read, which has a note already.
    pub(super) fn unknown(&mut self, origin: Origin, problem: Problem) {
        if !self.lost_device {
            self.note(origin, problem);
        }
    }

    /// The text of an ini file.
    pub(super) fn text(&mut self, path: &Path) -> Result<String, Problem> {
        let bytes = self.files.open_named(path).map_err(Problem::Unreadable)?;
        if bytes.len() > MAX_TEXT {
            return Err(Problem::TooLarge(bytes.len() as u64));
        }
        let text = String::from_utf8_lossy(&bytes);
        if matches!(text, Cow::Owned(_)) {
            self.note(Origin::file(path), Problem::NotUtf8);
        }
        let shown = plain(&text);
        if matches!(shown, Cow::Owned(_)) {
            self.note(Origin::file(path), Problem::Control);
        }
        Ok(shown.into_owned())
    }

    /// The path and bytes of a file that the ini file `from` refers to.
    pub(super) fn bytes(&mut self, from: &Path, written: &str) -> (PathBuf, Result<Bytes, String>) {
        let path = self.find(from, written);
        let bytes = self.files.open_named(&path);
        (path, bytes)
    }

    /// The path and bytes of a file of trace data, which may be a pipe.
    pub(super) fn trace(
        &mut self,
        from: &Path,
        written: &str,
    ) -> (PathBuf, Result<(Bytes, Option<Pipe>), String>) {
        let path = self.find(from, written);
        let trace = self.files.trace_named(&path);
        (path, trace)
    }

    /// The path of a file that the ini file `from` refers to.
    pub(super) fn find(&self, from: &Path, written: &str) -> PathBuf {
        files::find(&self.root, from.parent().unwrap_or(Path::new("")), written)
    }

    /// Notes malformed lines in the sections that are read.
    pub(super) fn malformed(&mut self, doc: &Doc<'_>, used: &[&str]) {
        let mut count = 0;
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
            let is_used = |used: &&str| match used.strip_suffix('*') {
                Some(start) => name.starts_with(start),
                None => name == *used,
            };
            if !used.iter().any(is_used) {
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

    fn joined<'a>(&mut self, doc: &Doc<'a>, name: &str, once: bool) -> Option<Table<'a>> {
        let mut same = doc.ini.sections.iter().filter(|s| s.name.eq_ignore_ascii_case(name));
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

/// The first characters of a line, for a message.
fn short(text: &str) -> String {
    let text = text.trim();
    let mut short: String = text.chars().take(40).collect();
    if text.chars().nth(40).is_some() {
        short.push('…');
    }
    short
}
