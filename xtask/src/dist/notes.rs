//! What changed, from the changelog and its fragments.

use std::fs;
use std::path::Path;

use super::{VERSION, failed};

/// The headings of fragments, in the order of the notes.
const HEADINGS: [&str; 4] = ["Added", "Changed", "Fixed", "Removed"];

/// The notes of the release: the newest section of the changelog, and all fragments.
pub(super) fn notes(root: &Path) -> Result<String, String> {
    let path = root.join("CHANGELOG.md");
    let changelog = fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
    let section = changelog.split("\n## ").nth(1);
    let section = section.ok_or_else(|| format!("{}: no section", path.display()))?;
    let (title, text) = section.split_once('\n').unwrap_or((section, ""));
    if title != "Unreleased" && title != VERSION {
        return Err(format!(
            "{}: the first section is `{title}`, not `Unreleased` or `{VERSION}`",
            path.display()
        ));
    }
    let mut notes = format!("# Tracewright {VERSION}\n\n{}\n", text.trim());
    let entries = fragments(&root.join("changelog"))?;
    for heading in HEADINGS {
        let list: Vec<&str> = entries.iter().filter_map(|entry| entry.under(heading)).collect();
        if !list.is_empty() {
            notes += &format!("\n## {heading}\n\n{}\n", list.join("\n"));
        }
    }
    Ok(notes)
}

/// The text under one heading of a fragment.
struct Entry {
    heading: String,
    text: String,
}

impl Entry {
    fn under(&self, heading: &str) -> Option<&str> {
        (self.heading == heading).then_some(&self.text)
    }
}

/// The entries of all fragments, by the name of the file.
fn fragments(folder: &Path) -> Result<Vec<Entry>, String> {
    let list = fs::read_dir(folder).map_err(|error| failed(folder, &error))?;
    let mut paths: Vec<_> = list.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.file_name().is_some_and(|name| name != "README.md"));
    paths.sort();
    let mut entries = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
        let found = fragment(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        entries.extend(found);
    }
    Ok(entries)
}

/// The entries of a fragment.
fn fragment(text: &str) -> Result<Vec<Entry>, String> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            if !HEADINGS.contains(&heading) {
                return Err(format!("`{heading}` is not one of {}", HEADINGS.join(", ")));
            }
            entries.push(Entry { heading: heading.to_owned(), text: String::new() });
        } else if !line.is_empty() {
            let last = entries.last_mut().ok_or("text before the first heading")?;
            last.text += if last.text.is_empty() { "" } else { "\n" };
            last.text += line;
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_put_together() {
        let entries = fragment("### Fixed\n- a\n  b\n\n### Added\n\n- c\n").unwrap();
        let text: Vec<(&str, &str)> =
            entries.iter().map(|entry| (&*entry.heading, &*entry.text)).collect();
        assert_eq!(text, [("Fixed", "- a\n  b"), ("Added", "- c")]);
        assert!(fragment("### Other\n- a").is_err());
        assert!(fragment("- a").is_err());
    }

    /// Each line of each fragment of this repository is in the notes once.
    #[test]
    fn notes_have_all_changes() {
        let notes = notes(crate::root()).unwrap();
        let mut count = 0;
        for entry in fragments(&crate::root().join("changelog")).unwrap() {
            assert_eq!(notes.matches(&*entry.text).count(), 1, "{}", entry.text);
            count += 1;
        }
        assert!(count > 0 || notes.lines().count() > 10, "{notes}");
        let order: Vec<_> =
            HEADINGS.iter().filter_map(|name| notes.find(&format!("\n## {name}\n"))).collect();
        assert!(order.is_sorted());
    }
}
