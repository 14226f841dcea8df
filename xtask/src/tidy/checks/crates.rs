//! What a crate may do and whom it may know.

use super::{Finding, Tree, lines_with};
use crate::tidy::tree::{File, lines};

/// From the bottom up: a crate may depend on those in earlier rows.
const LAYERS: [&[&str]; 12] = [
    &["base", "scan"],
    &["isa", "frames"],
    &["protocols", "image"],
    &["capture"],
    &["decode"],
    &["index"],
    &["model"],
    &["views"],
    &["tracewright"],
    &["cli"],
    &["xtask"],
    // For tests alone, and not published.
    &["testing"],
];

const NO_STD: [&str; 4] = ["base", "isa", "frames", "protocols"];

/// Crates depend downwards only. What tests alone use is free.
pub(super) fn layers(tree: &Tree) -> Vec<Finding> {
    let layer = |name: &str| LAYERS.iter().position(|row| row.contains(&name));
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|f| f.path.ends_with("/Cargo.toml")) {
        let Some(own) = file.crate_name() else { continue };
        let Some(own_layer) = layer(own) else {
            findings.push(Finding::new(file, 0, format!("crate `{own}` has no layer")));
            continue;
        };
        for (line, name) in dependencies(&file.text) {
            let Some(other) = short_name(name) else { continue };
            if layer(other).is_none_or(|other| other >= own_layer) {
                findings.push(Finding::new(file, line, format!("`{own}` depends on `{other}`")));
            }
        }
    }
    findings
}

/// A crate of the workspace by its folder.
fn short_name(name: &str) -> Option<&str> {
    if name == "tracewright" { Some(name) } else { name.strip_prefix("tracewright-") }
}

/// Names under `[dependencies]`, and their lines.
fn dependencies(manifest: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    lines(manifest).filter_map(move |(n, line)| {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]") && !line.contains("dev-");
            return None;
        }
        let name = line.split(['.', '=', ' ']).next()?;
        (inside && !name.is_empty() && !name.starts_with('#')).then_some((n, name))
    })
}

/// The crates at the bottom need no operating system.
pub(super) fn no_std(tree: &Tree) -> Vec<Finding> {
    let roots = roots(tree).filter(|f| f.crate_name().is_some_and(|name| NO_STD.contains(&name)));
    let mut findings: Vec<Finding> = roots
        .filter(|f| !f.code.contains("#![no_std]"))
        .map(|f| Finding::new(f, 1, "no #![no_std]"))
        .collect();
    for file in tree.sources().filter(|f| f.crate_name().is_some_and(|n| NO_STD.contains(&n))) {
        let uses =
            lines_with(&file.code, "std::").chain(lines_with(&file.code, "extern crate std"));
        findings.extend(uses.map(|line| Finding::new(file, line, "uses std")));
    }
    findings
}

/// Roots of libraries and programs.
fn roots(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.rust().filter(|f| f.path.ends_with("src/lib.rs") || f.path.ends_with("src/main.rs"))
}

/// Every crate but scan forbids unsafe code.
pub(super) fn forbid_unsafe(tree: &Tree) -> Vec<Finding> {
    let roots = roots(tree).filter(|f| f.crate_name() != Some("scan"));
    let mut findings: Vec<Finding> = roots
        .filter(|f| !f.code.contains("#![forbid(unsafe_code)]"))
        .map(|f| Finding::new(f, 1, "no #![forbid(unsafe_code)]"))
        .collect();
    for file in tree.rust().filter(|f| f.crate_name() != Some("scan")) {
        let uses = lines_with(&file.code, "unsafe");
        findings.extend(uses.map(|line| Finding::new(file, line, "unsafe code")));
    }
    findings
}

/// No state in statics.
pub(super) fn statics(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.sources() {
        for (line, text) in lines(&file.code) {
            let item = text.trim_start().trim_start_matches("pub").trim_start();
            let item = item.strip_prefix("(crate)").unwrap_or(item).trim_start();
            let state = ["Atomic", "Mutex", "RwLock", "Cell", "Once", "Lazy"];
            let mutable = item.starts_with("static mut ")
                || item.starts_with("static ") && state.iter().any(|s| text.contains(s));
            if mutable || text.contains("thread_local!") {
                findings.push(Finding::new(file, line, "a static that changes"));
            }
        }
    }
    findings
}

/// What touches the world, and which crates may.
const WORLD: [(&str, &[&str], &str); 15] = [
    ("std::fs", &["capture", "scan", "cli"], "touches files"),
    ("fs::read", &["capture", "scan"], "touches files"),
    ("File::open", &["capture", "scan"], "opens a file"),
    // The file of the option `-o FILE`.
    ("File::create", &["capture", "scan", "cli"], "creates a file"),
    ("std::thread", &["decode"], "starts threads"),
    ("thread::spawn", &["decode"], "starts threads"),
    ("std::net", &[], "talks to the network"),
    ("std::process::Command", &[], "starts programs"),
    ("SystemTime", &[], "reads the clock"),
    ("Instant::now", &["cli"], "reads the clock"),
    ("println!", &["cli"], "prints"),
    ("eprintln!", &["cli"], "prints"),
    ("print!", &["cli"], "prints"),
    ("eprint!", &["cli"], "prints"),
    ("dbg!", &[], "prints"),
];

/// Who may open files, start threads and print.
pub(super) fn world(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.sources() {
        let Some(name) = file.crate_name() else { continue };
        for (word, _, what) in WORLD.iter().filter(|(_, may, _)| !may.contains(&name)) {
            let uses = lines_with(&file.code, word);
            findings.extend(uses.map(|line| Finding::new(file, line, format!("`{name}` {what}"))));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    #[test]
    fn dependencies_point_down() {
        let down = "[package]\nname = \"x\"\n[dependencies]\ntracewright-base.workspace = true\n";
        assert_eq!(findings(layers, &[("crates/isa/Cargo.toml", down)]), [""; 0]);
        let up = "[dependencies]\nmemchr = \"2\"\ntracewright-views = { workspace = true }\n";
        assert_eq!(
            findings(layers, &[("crates/decode/Cargo.toml", up)]),
            ["crates/decode/Cargo.toml:3"]
        );
        let beside = "[dependencies]\ntracewright-isa.workspace = true\n";
        assert_eq!(
            findings(layers, &[("crates/frames/Cargo.toml", beside)]),
            ["crates/frames/Cargo.toml:2"]
        );
        let tests = "[dev-dependencies]\ntracewright-views.workspace = true\n";
        assert_eq!(findings(layers, &[("crates/decode/Cargo.toml", tests)]), [""; 0]);
        assert_eq!(findings(layers, &[("crates/new/Cargo.toml", "")]), ["crates/new/Cargo.toml:0"]);
    }

    #[test]
    fn the_bottom_is_no_std() {
        let good = "#![no_std]\nuse core::fmt;\n#[cfg(test)]\nextern crate std;\n";
        assert_eq!(findings(no_std, &[("crates/base/src/lib.rs", good)]), [""; 0]);
        let bad = "use std::fmt;";
        assert_eq!(
            findings(no_std, &[("crates/base/src/lib.rs", bad)]),
            ["crates/base/src/lib.rs:1", "crates/base/src/lib.rs:1"]
        );
        assert_eq!(findings(no_std, &[("crates/views/src/lib.rs", bad)]), [""; 0]);
    }

    #[test]
    fn unsafe_is_in_scan() {
        let good = "#![forbid(unsafe_code)]\n// unsafe words in comments\n";
        assert_eq!(findings(forbid_unsafe, &[("crates/base/src/lib.rs", good)]), [""; 0]);
        let bad = "fn f() { unsafe { g() } }";
        assert_eq!(
            findings(forbid_unsafe, &[("crates/base/src/lib.rs", bad)]),
            ["crates/base/src/lib.rs:1", "crates/base/src/lib.rs:1"]
        );
        assert_eq!(findings(forbid_unsafe, &[("crates/scan/src/lib.rs", bad)]), [""; 0]);
        let test = [("crates/base/tests/a.rs", bad)];
        assert_eq!(findings(forbid_unsafe, &test), ["crates/base/tests/a.rs:1"]);
    }

    #[test]
    fn no_static_changes() {
        let good = "static TABLE: [u8; 2] = [0, 1];\nfn f(x: &'static str, _: Option<Mutex>) {}";
        assert_eq!(findings(statics, &[("crates/base/src/lib.rs", good)]), [""; 0]);
        let bad = "pub(crate) static N: AtomicU32 = AtomicU32::new(0);\n    static mut M: u8 = 0;";
        assert_eq!(
            findings(statics, &[("crates/base/src/lib.rs", bad)]),
            ["crates/base/src/lib.rs:1", "crates/base/src/lib.rs:2"]
        );
    }

    #[test]
    fn the_world_is_touched_in_few_places() {
        let bad = "use std::fs;\nstd::thread::scope(|_| ());\nprintln!(\"\");\nlet s = \"dbg!\";\n";
        let at = |path: &str| findings(world, &[(path, bad)]);
        assert_eq!(
            at("crates/base/src/a.rs"),
            ["crates/base/src/a.rs:1", "crates/base/src/a.rs:2", "crates/base/src/a.rs:3"]
        );
        assert_eq!(
            at("crates/scan/src/a.rs"),
            ["crates/scan/src/a.rs:2", "crates/scan/src/a.rs:3"]
        );
        assert_eq!(at("crates/cli/src/a.rs"), ["crates/cli/src/a.rs:2"]);
        assert_eq!(at("crates/cli/tests/a.rs"), [""; 0]);
    }
}
