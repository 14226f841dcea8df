//! The invariants of ARCHITECTURE.md that can be checked by reading.
//!
//! A check takes the [`Tree`] and returns its findings; its test shows it a tree that breaks the
//! rule, so that no check can pass by looking at nothing.

use std::fmt;
use std::process::ExitCode;

mod checks;
mod rust;
mod tree;

pub(crate) use checks::CHECKS;
pub(crate) use tree::{File, Tree};

/// One rule.
pub(crate) struct Check {
    /// One word, for reports.
    pub(crate) name: &'static str,
    /// The rule.
    pub(crate) about: &'static str,
    /// What a person does who broke it.
    pub(crate) instead: &'static str,
    /// Looks for places that break it.
    pub(crate) run: fn(&Tree) -> Vec<Finding>,
}

/// A place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    /// Counted from 1; 0 for the whole file.
    line: usize,
    what: String,
}

impl Finding {
    pub(crate) fn new(file: &File, line: usize, what: impl Into<String>) -> Self {
        Finding { path: file.path.clone(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// Runs every check and prints what it found.
pub(crate) fn report(tree: &Tree) -> ExitCode {
    let mut found = 0;
    for check in CHECKS {
        for finding in (check.run)(tree) {
            found += 1;
            eprintln!("{finding}\n    {}: {}\n    {}", check.name, check.about, check.instead);
        }
    }
    if found > 0 {
        eprintln!("{found} findings");
        return ExitCode::FAILURE;
    }
    println!("{} checks, {} files: tidy", CHECKS.len(), tree.files.len());
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_is_tidy() {
        let tree = Tree::read(crate::root()).unwrap();
        assert!(tree.files.iter().any(|f| f.path == "crates/base/src/lib.rs"), "nothing was read");
        let findings: Vec<String> = CHECKS
            .iter()
            .flat_map(|check| {
                (check.run)(&tree).into_iter().map(|f| format!("{}: {f}", check.name))
            })
            .collect();
        assert!(findings.is_empty(), "run `cargo xtask tidy`:\n{}", findings.join("\n"));
    }

    #[test]
    fn names_are_one_of_a_kind() {
        for (i, check) in CHECKS.iter().enumerate() {
            assert!(CHECKS.iter().skip(i + 1).all(|other| other.name != check.name));
        }
    }
}
