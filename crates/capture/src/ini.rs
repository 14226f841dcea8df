//! The ini files of snapshots: sections of `KEY=VALUE` lines, in order and with line numbers.
//!
//! `;` and `#` begin a comment anywhere in a line. Sections and keys may come twice. Nothing is an
//! error here: a line that is no `KEY=VALUE` is an [`Entry`] without a value, and lines before the first
//! header are in a section without a name.

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ini<'a> {
    /// Its sections, in order.
    pub sections: Vec<Section<'a>>,
}

/// A section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section<'a> {
    /// The text between the brackets; empty for what comes before the first header.
    pub name: &'a str,
    /// The header's line, from 1; 0 where there is none.
    pub line: u32,
    /// Its lines, in order.
    pub entries: Vec<Entry<'a>>,
}

/// A line that is neither blank nor a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// What stands before the first `=`, or the whole line.
    pub key: &'a str,
    /// What stands after it, without quotes around it.
    pub value: Option<&'a str>,
    /// Its line, from 1.
    pub line: u32,
}

impl<'a> Ini<'a> {
    /// Reads a file.
    pub fn parse(text: &'a str) -> Self {
        let mut sections = Vec::new();
        let mut current = Section { name: "", line: 0, entries: Vec::new() };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (line, n) in text.split('\n').zip(1u32..) {
            let line = line.split([';', '#', '\r']).next().unwrap_or_default().trim();
            if let Some(name) = header(line) {
                let next = Section { name, line: n, entries: Vec::new() };
                let done = std::mem::replace(&mut current, next);
                if done.line != 0 || !done.entries.is_empty() {
                    sections.push(done);
                }
            } else if !line.is_empty() {
                let entry = match line.split_once('=') {
                    Some((key, value)) => {
                        let value = value.trim().trim_matches(['"', '\'']).trim();
                        Entry { key: key.trim(), value: Some(value), line: n }
                    }
                    None => Entry { key: line, value: None, line: n },
                };
                current.entries.push(entry);
            }
        }
        if current.line != 0 || !current.entries.is_empty() {
            sections.push(current);
        }
        Ini { sections }
    }

    /// The first section called `name`, in any case.
    pub fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|s| s.name.eq_ignore_ascii_case(name))
    }
}

impl<'a> Section<'a> {
    /// The first entry with this key, in any case.
    pub fn entry(&self, key: &str) -> Option<(&'a str, u32)> {
        let entry = self.entries.iter().find(|e| e.key.eq_ignore_ascii_case(key));
        entry.and_then(|e| Some((e.value?, e.line)))
    }
}

fn header(line: &str) -> Option<&str> {
    Some(line.strip_prefix('[')?.split_once(']')?.0.trim())
}

/// The words of a comma separated list, blanks around them dropped, empty ones left out.
pub fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty())
}
