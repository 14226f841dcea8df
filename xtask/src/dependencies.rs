//! `cargo xtask dependencies`: licences and duplicate versions of all packages in the lock file.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};

/// SPDX identifiers of accepted licences.
const LICENCES: [&str; 10] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Packages of which several versions are accepted, with the reason.
const DUPLICATES: [(&str, &str); 1] =
    [("syn", "procedural macros of clap and of serde use different major versions")];

/// Lists packages as `NAME vVERSION|LICENCE` and checks them.
pub(crate) fn run(root: &Path) -> ExitCode {
    let output = Command::new("cargo")
        .args(["tree", "--workspace", "--all-features", "--target", "all", "--locked"])
        .args(["--edges", "normal,build,dev", "--prefix", "none", "--format", "{p}|{l}"])
        .current_dir(root)
        .output();
    let list = match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        Ok(output) => {
            eprintln!("cargo tree: {}", String::from_utf8_lossy(&output.stderr));
            return ExitCode::from(2);
        }
        Err(error) => {
            eprintln!("cargo: {error}");
            return ExitCode::from(2);
        }
    };
    let packages = packages(&list);
    let findings = findings(&packages);
    for finding in &findings {
        println!("{finding}");
    }
    println!("{} packages, {} findings", packages.len(), findings.len());
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Name, version and licence of each package, sorted and without repetitions.
fn packages(list: &str) -> Vec<(&str, &str, &str)> {
    let mut packages: Vec<_> = list
        .lines()
        .filter_map(|line| {
            let (package, licence) = line.split_once('|')?;
            let mut words = package.split(' ');
            let (name, version) = (words.next()?, words.next()?);
            Some((name, version, licence.trim_end_matches(" (*)")))
        })
        .collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

/// Unaccepted licences and unlisted duplicates.
fn findings(packages: &[(&str, &str, &str)]) -> Vec<String> {
    let mut findings = Vec::new();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for &(name, version, licence) in packages {
        if !accepted(licence) {
            findings.push(format!("{name} {version}: licence `{licence}` is not accepted"));
        }
        versions.entry(name).or_default().push(version);
    }
    for (name, versions) in versions {
        let listed = DUPLICATES.iter().any(|(known, _)| *known == name);
        if versions.len() > 1 && !listed {
            findings.push(format!("{name}: several versions, {}", versions.join(", ")));
        }
    }
    findings
}

/// Whether a licence expression can be satisfied with accepted licences. A `/` means OR.
fn accepted(expression: &str) -> bool {
    let text = expression.trim();
    if let Some(parts) = split(text, &[" OR ", "/"]) {
        return parts.into_iter().any(accepted);
    }
    if let Some(parts) = split(text, &[" AND "]) {
        return parts.into_iter().all(accepted);
    }
    match text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        Some(inside) => accepted(inside),
        None => LICENCES.contains(&text),
    }
}

/// The parts of `text` between `operators` outside parentheses; `None` without operator.
fn split<'a>(text: &'a str, operators: &[&str]) -> Option<Vec<&'a str>> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        let found = operators.iter().find(|operator| text[at..].starts_with(**operator));
        if let (0, Some(operator)) = (depth, found) {
            parts.push(&text[start..at]);
            start = at + operator.len();
        }
    }
    parts.push(text.get(start..)?);
    (parts.len() > 1).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licence_expressions() {
        for text in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
        ] {
            assert!(accepted(text), "{text}");
        }
        for text in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND MPL-2.0"] {
            assert!(!accepted(text), "{text}");
        }
    }

    #[test]
    fn duplicates_are_reported() {
        let list = "a v1.0.0|MIT\na v2.0.0|MIT\nsyn v1.0.0|MIT\nsyn v2.0.0|MIT (*)\nb v1.0.0|MIT\n\
                    b v1.0.0|MIT (*)\nc v0.1.0 (/some/where)|\n";
        let packages = packages(list);
        assert_eq!(packages.len(), 6);
        assert_eq!(
            findings(&packages),
            ["c v0.1.0: licence `` is not accepted", "a: several versions, v1.0.0, v2.0.0"]
        );
    }
}
