//! Parameters of trace sources, from files and single values.

use std::fmt::Write;
use std::path::Path;

use crate::device::{Register, Source, Text};
use crate::files::Files;
use crate::limits::MAX_PARAMETERS;
use crate::number::number;
use crate::open_files::read_small;
use crate::origin::Origin;
use crate::plain::plain;
use crate::problem::{OpenError, Problem};

impl Source {
    /// Adds a parameter: a register where `value` is a number, else a word that the protocol maps
    /// to a number.
    pub fn parameter(&mut self, name: &str, value: &str) {
        let name = plain(name).into_owned();
        match number(value) {
            Some(value) => self.registers.0.push(Register { name, id: None, size: None, value }),
            None => self.words.push((name, plain(value).into_owned())),
        }
    }

    /// Adds the parameters of the file at `path` of `files`: `name = value` lines, in TOML or
    /// without quotes. Text after `#` and lines with `[section]` are ignored. Parameters that the
    /// source already has are retained. The lines after `[[name]]` form one text parameter `name`.
    ///
    /// # Errors
    /// [`OpenError`] where the file cannot be read, or a line is not an assignment.
    pub fn read_parameters(&mut self, files: &Files, path: &Path) -> Result<(), OpenError> {
        let bytes = read_small(files, path, MAX_PARAMETERS)
            .map_err(|why| OpenError::new(path, Problem::Unreadable(why)))?;
        // The table of a list that contains the line.
        let mut entry: Option<Text> = None;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        for (n, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.starts_with('[') {
                self.texts.extend(entry.take());
                let name = line.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
                entry = name.map(|name| {
                    let name = name.trim().to_owned();
                    let key = Some(name.clone());
                    let origin = Origin { line: Some(n), key, ..Origin::file(path) };
                    Text { name, origin, ..Text::default() }
                });
                continue;
            }
            if line.is_empty() {
                continue;
            }
            let Some((name, value)) = line.split_once('=') else {
                let origin = Origin { line: Some(n), ..Origin::file(path) };
                return Err(OpenError::at(origin, Problem::NotAssignment(line.to_owned())));
            };
            let (name, value) = (name.trim().trim_matches('"'), value.trim());
            if let Some(entry) = &mut entry {
                entry.pair(name, value.trim_matches(['"', '\'']));
                continue;
            }
            let has = self.registers.get(name).is_some()
                || self.words.iter().any(|(word, _)| word.eq_ignore_ascii_case(name));
            if !has {
                self.parameter(name, value.trim_matches(['"', '\'']));
                let key = Some(name.to_owned());
                let origin = Origin { line: Some(n), key, ..Origin::file(path) };
                self.origins.push((name.to_owned(), origin));
            }
        }
        self.texts.extend(entry);
        Ok(())
    }
}

impl Text {
    /// Appends `KEY=VALUE`, the value without blanks.
    pub(crate) fn pair(&mut self, key: &str, value: &str) {
        let before = if self.text.is_empty() { "" } else { " " };
        let value: String = value.split_whitespace().collect();
        let _ = write!(self.text, "{before}{key}={value}");
    }
}
