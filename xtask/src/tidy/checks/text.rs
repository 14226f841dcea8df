//! Rules for the text of any file.

use super::{Finding, Tree, holds};
use crate::tidy::tree::{File, lines};

const LINES: usize = 800;

/// Files stay short.
pub(super) fn length(tree: &Tree) -> Vec<Finding> {
    let long = |f: &&File| f.text.lines().count() > LINES;
    let files = tree.files.iter().filter(|f| f.path.ends_with(".rs") || f.path.ends_with(".md"));
    files
        .filter(long)
        .map(|f| Finding::new(f, LINES + 1, format!("{} lines", f.text.lines().count())))
        .collect()
}

/// The text of a file that people read: comments of Rust, all of the rest.
fn prose(file: &File) -> &str {
    if file.path.ends_with(".rs") { &file.comments } else { &file.text }
}

/// Words that put work off.
const LATER: [&str; 4] =
    [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("HA", "CK")];

/// Nothing is left for later.
pub(super) fn leftovers(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (line, text) in lines(prose(file)) {
            for word in LATER.iter().filter(|word| holds(text, word)) {
                findings.push(Finding::new(file, line, format!("`{word}`")));
            }
        }
    }
    findings
}

/// Comments do not name issues.
pub(super) fn history(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        for (line, text) in lines(&file.comments) {
            let text = text.to_lowercase();
            let named =
                ["issue #", "pr #", "bug #", "fixes #", "closes #", "(#", "/issues/", "/pull/"]
                    .iter()
                    .any(|word| {
                        text.match_indices(word).any(|(at, _)| {
                            text[at + word.len()..].starts_with(|c: char| c.is_ascii_digit())
                        })
                    });
            if named {
                findings.push(Finding::new(file, line, "names an issue"));
            }
        }
    }
    findings
}

/// Beginnings of paths that one machine has.
const MACHINES: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/wo", "rk/"), concat!("/Us", "ers/"), concat!("/ro", "ot/")];

/// No file knows where it lies.
pub(super) fn machines(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (line, text) in lines(&file.text) {
            for path in MACHINES {
                let absolute = text.match_indices(path).any(|(at, _)| {
                    !text[..at].ends_with(|c: char| c.is_alphanumeric() || "._-/)".contains(c))
                });
                if absolute {
                    findings.push(Finding::new(file, line, format!("`{path}`")));
                }
            }
        }
    }
    findings
}

/// Targets of links in a document, and their lines.
fn targets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    lines(text).flat_map(|(line, text)| {
        text.match_indices("](").filter_map(move |(at, _)| {
            let target = text[at + 2..].split(')').next()?;
            let target = target.split('#').next()?;
            let outside = target.contains("://") || target.starts_with("mailto:");
            (!outside && !target.is_empty()).then_some((line, target))
        })
    })
}

/// `target` as seen from the document `from`, as a path from the root.
fn resolve(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn documents(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.files.iter().filter(|f| f.path.ends_with(".md"))
}

/// Links between documents and to files lead somewhere.
pub(super) fn links(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in documents(tree) {
        for (line, target) in targets(&file.text) {
            let path = resolve(&file.path, target);
            let folder = format!("{path}/");
            if !tree.paths.iter().any(|p| *p == path || p.starts_with(&folder)) {
                findings.push(Finding::new(file, line, format!("link to `{target}`")));
            }
        }
    }
    findings
}

/// Documents can be found.
pub(super) fn found(tree: &Tree) -> Vec<Finding> {
    let doors = ["README.md", "ARCHITECTURE.md"];
    let linked: Vec<String> = documents(tree)
        .filter(|f| doors.contains(&f.path.as_str()))
        .flat_map(|f| targets(&f.text).map(|(_, target)| resolve(&f.path, target)))
        .collect();
    documents(tree)
        .filter(|f| f.path.starts_with("docs/") && !linked.contains(&f.path))
        .map(|f| Finding::new(f, 0, "no link leads here"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    #[test]
    fn files_are_short() {
        let long = "\n".repeat(LINES + 1);
        assert_eq!(findings(length, &[("crates/a/src/a.rs", &long)]), ["crates/a/src/a.rs:801"]);
        assert_eq!(findings(length, &[("crates/a/src/a.rs", &long[1..])]), [""; 0]);
    }

    #[test]
    fn nothing_is_left_for_later() {
        let word = LATER[0];
        let bad = format!("fn f() {{}} // {word}: more\nlet x = \"{word}\";");
        assert_eq!(
            findings(leftovers, &[("a.rs", &bad), ("b.md", &bad)]),
            ["a.rs:1", "b.md:1", "b.md:2"]
        );
    }

    #[test]
    fn comments_name_no_issues() {
        let bad = "// fixes #12\n// see issue #3\nlet a = 1; // b.eq (#4)\n// add r0, #4\n";
        assert_eq!(findings(history, &[("a.rs", bad)]), ["a.rs:1", "a.rs:2", "a.rs:3"]);
    }

    #[test]
    fn no_path_of_one_machine() {
        let bad = format!("a {}me/b\n../{}c\n", MACHINES[0], &MACHINES[0][1..]);
        assert_eq!(findings(machines, &[("a.md", &bad)]), ["a.md:1"]);
    }

    #[test]
    fn links_lead_somewhere() {
        let text =
            "[a](docs/a.md) [b](docs/b.md#part)\n[c](https://example.org) [d](#here)\n[e](docs)";
        let files = [("README.md", text), ("docs/a.md", "[up](../README.md)")];
        assert_eq!(findings(links, &files), ["README.md:1"]);
    }

    #[test]
    fn documents_can_be_found() {
        let files =
            [("README.md", "[a](docs/a.md)"), ("docs/a.md", "[b](b.md)"), ("docs/b.md", "")];
        assert_eq!(findings(found, &files), ["docs/b.md:0"]);
    }
}
