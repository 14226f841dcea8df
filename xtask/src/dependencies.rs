//! `cargo xtask dependencies`: licences and duplicate versions of all packages in the lock files.
//! Advisories are for `cargo deny check`, with `deny.toml`, where cargo-deny is installed.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};

/// SPDX identifiers of accepted licences.
const LICENCES: [&str; 11] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    // Of tiny-keccak, on wasm only.
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Workspaces of their own, which have a lock file each.
const OTHERS: [&str; 5] = ["fuzz", "python", "sql", "tests/header", "tests/no_std"];

/// Packages that make files or drive tests in those, and are in nothing that is published: their
/// licences, NCSA and MPL-2.0, need not be accepted.
const UNPUBLISHED: [&str; 2] = ["libfuzzer-sys", "cbindgen"];

/// Packages of which several versions are accepted, with the reason.
const DUPLICATES: [(&str, &str); 3] = [
    ("syn", "procedural macros of clap and of serde use different major versions"),
    ("getrandom", "of Arrow on wasm, and of the compiler of zstd; the command has none by default"),
    ("r-efi", "of getrandom, on UEFI only"),
];

/// Checks the packages of all workspaces, and their advisories where cargo-deny is installed.
pub(crate) fn run(root: &Path) -> ExitCode {
    let mut good = true;
    for folder in [""].iter().chain(&OTHERS) {
        let list = match list(&root.join(folder)) {
            Ok(list) => list,
            Err(error) => {
                eprintln!("{}: {error}", root.join(folder).join("Cargo.lock").display());
                return ExitCode::from(2);
            }
        };
        let mut packages = packages(&list);
        packages.retain(|(name, ..)| folder.is_empty() || !UNPUBLISHED.contains(name));
        // Versions that occur twice take time of each build; the others are built by few.
        let mut findings = findings(&packages);
        findings.retain(|finding| folder.is_empty() || finding.contains("licence"));
        for finding in &findings {
            println!("{finding}");
        }
        let name = if folder.is_empty() { "workspace" } else { folder };
        println!("{name}: {} packages, {} findings", packages.len(), findings.len());
        good &= findings.is_empty();
    }
    good &= advisories(root);
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Lists the packages in the lock file of a workspace as `NAME vVERSION|LICENCE`.
fn list(folder: &Path) -> Result<String, String> {
    let output = Command::new("cargo")
        .args(["tree", "--workspace", "--all-features", "--target", "all", "--locked"])
        .args(["--edges", "normal,build,dev", "--prefix", "none", "--format", "{p}|{l}"])
        .current_dir(folder)
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Whether no package has an advisory: as far as cargo-deny and its network are there.
fn advisories(root: &Path) -> bool {
    let mut command = Command::new("cargo");
    command.args(["deny", "check", "advisories"]).current_dir(root);
    match command.output() {
        Ok(output) if output.status.success() => {
            println!("advisories: none");
            true
        }
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            let is_absent = text.contains("no such command") || text.contains("failed to fetch");
            match is_absent {
                true => println!("SKIPPED: advisories; to enable them: cargo install cargo-deny"),
                false => println!("{text}"),
            }
            is_absent
        }
        Err(_) => true,
    }
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

    /// The lists of `deny.toml` are those of this file.
    #[test]
    fn deny_has_the_same_lists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let text = std::fs::read_to_string(root.join("deny.toml")).unwrap();
        let list = |key: &str| {
            let (_, list) = text.split_once(&format!("\n{key} = [")).unwrap();
            let (list, _) = list.split_once(']').unwrap();
            list.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(list("allow"), LICENCES);
        assert_eq!(list("skip"), DUPLICATES.map(|(name, _)| name));
    }

    /// The least version of Rust is the same wherever it is stated.
    #[test]
    fn the_least_rust_is_stated_once() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let text = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
        let manifest = text("Cargo.toml");
        let (_, version) = manifest.split_once("\nrust-version = \"").unwrap();
        let (version, _) = version.split_once('"').unwrap();
        assert!(text("clippy.toml").contains(&format!("\nmsrv = \"{version}\"\n")));
        assert!(text("README.md").contains(&format!("Rust {version} or later")));
    }

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
