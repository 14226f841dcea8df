//! What every part of the reader needs: files, sections with places, notes.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::files::{self, Files};
use crate::ini::{Entry, Ini};
use crate::plain::plain;
use crate::{Bytes, Note, Origin, Pipe, Wrong};

/// An ini file is smaller than this; what is larger is something else.
const MOST_TEXT: usize = 16 << 20;
/// So many malformed lines of one file are named; the rest are counted.
const MOST_MALFORMED: usize = 8;

/// One ini file.
pub(super) struct Doc<'a> {
    pub(super) path: &'a Path,
    pub(super) ini: Ini<'a>,
}

/// All of a file's sections of one name, with each key's first line only.
pub(super) struct Table<'a> {
    pub(super) origin: Origin,
    pub(super) entries: Vec<Entry<'a>>,
}

impl<'a> Table<'a> {
    /// A key's value and place.
    pub(super) fn value(&self, key: &str) -> Option<(&'a str, Origin)> {
        let entry = self.entries.iter().find(|e| e.key.eq_ignore_ascii_case(key))?;
        Some((entry.value?, self.key(entry)))
    }

    /// A line's place.
    pub(super) fn key(&self, entry: &Entry<'_>) -> Origin {
        self.origin.key(entry.line, entry.key)
    }
}

/// The state of a read.
pub(super) struct Reader {
    /// The folder of the index.
    pub(super) root: PathBuf,
    pub(super) files: Files,
    pub(super) notes: Vec<Note>,
    /// A device could not be read: links to it lead nowhere.
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

    pub(super) fn note(&mut self, origin: Origin, wrong: Wrong) {
        self.notes.push(Note { origin, wrong });
    }

    /// Notes that a link leads nowhere, unless that may be for want of a device that was noted.
    pub(super) fn unknown(&mut self, origin: Origin, wrong: Wrong) {
        if !self.lost_device {
            self.note(origin, wrong);
        }
    }

    /// The text of an ini file.
    pub(super) fn text(&mut self, path: &Path) -> Result<String, Wrong> {
        let bytes = self.files.open_named(path).map_err(Wrong::Unreadable)?;
        if bytes.len() > MOST_TEXT {
            return Err(Wrong::TooLarge(bytes.len() as u64));
        }
        let text = String::from_utf8_lossy(&bytes);
        if matches!(text, Cow::Owned(_)) {
            self.note(Origin::file(path), Wrong::NotUtf8);
        }
        let shown = plain(&text);
        if matches!(shown, Cow::Owned(_)) {
            self.note(Origin::file(path), Wrong::Control);
        }
        Ok(shown.into_owned())
    }

    /// The bytes of a file that the ini file `from` names, and where it is.
    pub(super) fn bytes(&mut self, from: &Path, written: &str) -> (PathBuf, Result<Bytes, String>) {
        let path = self.find(from, written);
        let bytes = self.files.open_named(&path);
        (path, bytes)
    }

    /// The same of a file of trace, which may be a pipe.
    pub(super) fn trace(
        &mut self,
        from: &Path,
        written: &str,
    ) -> (PathBuf, Result<(Bytes, Option<Pipe>), String>) {
        let path = self.find(from, written);
        let trace = self.files.trace_named(&path);
        (path, trace)
    }

    /// Where a file is that the ini file `from` names.
    pub(super) fn find(&self, from: &Path, written: &str) -> PathBuf {
        files::find(&self.root, from.parent().unwrap_or(Path::new("")), written)
    }

    /// Notes the lines that cannot be read, in the sections that are used.
    pub(super) fn malformed(&mut self, doc: &Doc<'_>, used: &[&str]) {
        let mut count = 0;
        for section in &doc.ini.sections {
            let origin = Origin::section(doc.path, section.line, section.name);
            if section.name.is_empty() && section.line == 0 {
                for entry in &section.entries {
                    count += 1;
                    let origin = Origin::file(doc.path).key(entry.line, entry.key);
                    if count <= MOST_MALFORMED {
                        self.note(origin, Wrong::OutsideSection);
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
                if count <= MOST_MALFORMED {
                    let origin = Origin { line: Some(entry.line), ..origin.clone() };
                    self.note(origin, Wrong::Malformed(short(entry.key)));
                }
            }
        }
        if count > MOST_MALFORMED {
            self.note(Origin::file(doc.path), Wrong::MoreMalformed(count - MOST_MALFORMED));
        }
    }

    /// The sections called `name` as one, where there is one. Keys that come twice are noted.
    pub(super) fn section<'a>(&mut self, doc: &Doc<'a>, name: &str) -> Option<Table<'a>> {
        self.joined(doc, name, true)
    }

    /// As [`Reader::section`], where a key may come more than once.
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
                Wrong::DuplicateSection(first.line),
            );
            entries.extend_from_slice(&again.entries);
        }
        let mut table = Table { origin, entries: Vec::new() };
        self.fill(&mut table, entries, once);
        Some(table)
    }

    /// One section by itself: dumps may share a name.
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
                self.note(table.key(&entry), Wrong::DuplicateKey(first));
            } else {
                table.entries.push(entry);
            }
        }
    }
}

/// As much of a line as fits in a message.
fn short(text: &str) -> String {
    let text = text.trim();
    let mut short: String = text.chars().take(40).collect();
    if text.chars().nth(40).is_some() {
        short.push('…');
    }
    short
}
