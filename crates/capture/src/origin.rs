//! Origins: places in the files of a capture.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::limits::MAX_SHOWN;

/// The place in a capture that a message refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The file.
    pub path: PathBuf,
    /// The line in the file, from 1.
    pub line: Option<u32>,
    /// The section, without brackets.
    pub section: Option<String>,
    /// The key.
    pub key: Option<String>,
}

impl Origin {
    /// The origin of a whole file.
    pub fn file(path: &Path) -> Self {
        Origin { path: path.to_owned(), ..Origin::default() }
    }

    /// The origin of a section, with the line of its header; 0 for none.
    pub fn section(path: &Path, line: u32, section: &str) -> Self {
        let line = Some(line).filter(|n| *n != 0);
        Origin { path: path.to_owned(), line, section: Some(shortened(section)), key: None }
    }

    /// The origin of a key in the section, with its line.
    #[must_use]
    pub fn key(&self, line: u32, key: &str) -> Self {
        Origin { line: Some(line), key: Some(shortened(key)), ..self.clone() }
    }
}

/// The first bytes of a text of a file, for a message.
pub(crate) fn shortened(text: &str) -> String {
    if text.len() <= MAX_SHOWN {
        return text.to_owned();
    }
    // A character has at most 4 bytes.
    let start = (MAX_SHOWN - 3..=MAX_SHOWN).rev().find_map(|end| text.get(..end));
    let start = start.unwrap_or_default();
    format!("{start}…")
}

/// `file.ini:3: [section] key: `, of that what is known, with a blank after it. A capture in memory
/// has no path.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.path.as_os_str().is_empty(), self.line) {
            (false, Some(line)) => write!(f, "{}:{line}: ", self.path.display())?,
            (false, None) => write!(f, "{}: ", self.path.display())?,
            (true, Some(line)) => write!(f, "line {line}: ")?,
            (true, None) => {}
        }
        if let Some(section) = &self.section {
            write!(f, "[{section}] ")?;
        }
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_parts_are_written() {
        let file = Origin::section(Path::new("a.ini"), 3, "regs").key(4, "TRCIDR0");
        assert_eq!(file.to_string(), "a.ini:4: [regs] TRCIDR0: ");
        assert_eq!(Origin::file(Path::new("a.ini")).to_string(), "a.ini: ");
        let memory = Origin { section: Some("regs".into()), ..Origin::default() };
        assert_eq!(memory.to_string(), "[regs] ");
        assert_eq!(Origin::default().to_string(), "");
    }
}
