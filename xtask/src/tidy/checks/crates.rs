//! Rules for crates: dependencies, `no_std`, unsafe code, statics, and use of the operating system.

use super::{Finding, Tree, lines_with};
use crate::tidy::tree::{File, lines};

/// The published crates, lowest layer first. A crate depends only on crates of lower layers.
const LAYERS: [&[&str]; 17] = [
    &["base", "scan"],
    &["isa", "frames"],
    &["units"],
    &["protocols", "image"],
    &["symbols"],
    &["capture"],
    &["logs"],
    &["decode"],
    &["analysis"],
    &["index"],
    &["export"],
    &["views"],
    &["opencsd"],
    &["tracewright"],
    &["columns", "fleet", "replay"],
    &["viewer", "gdb", "dap"],
    &["cli"],
];

/// Crates whose interface other languages call: they have unsafe code, and the state that such an
/// interface has without a handle.
const FOREIGN: [&str; 3] = ["capi", "opencsd-abi", "wasm"];

/// Crates that may have unsafe code.
fn may_be_unsafe(file: &File) -> bool {
    file.crate_name().is_some_and(|name| name == "scan" || FOREIGN.contains(&name))
}

/// Crates that need no operating system.
const NO_STD: [&str; 4] = ["base", "isa", "frames", "protocols"];

/// Published crates depend on lower layers only. Development dependencies are exempt, and so are
/// crates with `publish = false`, on which no published crate depends.
pub(super) fn layers(tree: &Tree) -> Vec<Finding> {
    let layer = |name: &str| LAYERS.iter().position(|row| row.contains(&name));
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|f| f.path.ends_with("/Cargo.toml")) {
        let Some(own) = file.crate_name() else { continue };
        let Some(own_layer) = layer(own) else {
            if !lines(&file.text).any(|(_, line)| line == "publish = false") {
                findings.push(Finding::new(file, 0, format!("crate `{own}` has no layer")));
            }
            continue;
        };
        for (line, name) in dependencies(&file.text) {
            let Some(other) = short_name(name) else { continue };
            if layer(other).is_none_or(|other| other >= own_layer) {
                findings.push(Finding::new(file, line, format!("`{own}` depends on `{other}`")));
            }
        }
    }
    findings.extend(unlisted(tree));
    findings
}

/// Differences between the crates that exist, the layers, and the table in ARCHITECTURE.md.
fn unlisted(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.files.iter().find(|f| f.path == "ARCHITECTURE.md") else {
        return Vec::new();
    };
    let manifests = || tree.files.iter().filter(|f| f.path.ends_with("/Cargo.toml"));
    let crates: Vec<&str> = manifests().filter_map(File::crate_name).collect();
    let absent = LAYERS.iter().flat_map(|row| row.iter()).filter(|name| !crates.contains(name));
    let absent = absent.map(|name| format!("layer of `{name}`, a crate that does not exist"));
    let missing = crates.iter().filter(|name| !page.text.contains(&format!("`crates/{name}`")));
    let missing = missing.map(|name| format!("`crates/{name}` is not in the table of folders"));
    absent.chain(missing).map(|what| Finding::new(page, 0, what)).collect()
}

/// The folder of a crate of the workspace.
fn short_name(name: &str) -> Option<&str> {
    if name == "tracewright" { Some(name) } else { name.strip_prefix("tracewright-") }
}

/// The names under `[dependencies]`, with their line numbers.
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

/// The crates of `NO_STD` declare `no_std` and do not use `std`.
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

/// The root files of libraries and programs.
pub(super) fn roots(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.rust().filter(|f| f.path.ends_with("src/lib.rs") || f.path.ends_with("src/main.rs"))
}

/// Every crate but scan and those with a C interface forbids unsafe code.
pub(super) fn forbid_unsafe(tree: &Tree) -> Vec<Finding> {
    let roots = roots(tree).filter(|f| !may_be_unsafe(f));
    let mut findings: Vec<Finding> = roots
        .filter(|f| !f.code.contains("#![forbid(unsafe_code)]"))
        .map(|f| Finding::new(f, 1, "no #![forbid(unsafe_code)]"))
        .collect();
    for file in tree.rust().filter(|f| !may_be_unsafe(f)) {
        let uses = lines_with(&file.code, "unsafe");
        findings.extend(uses.map(|line| Finding::new(file, line, "unsafe code")));
    }
    findings
}

/// The arguments of the process, which are set once.
const ARGUMENTS: &str = "crates/cli/src/arguments.rs";

/// No static holds mutable state, but in crates with a C interface.
pub(super) fn statics(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let foreign = |file: &&File| {
        file.path == ARGUMENTS || file.crate_name().is_some_and(|name| FOREIGN.contains(&name))
    };
    for file in tree.sources().filter(|file| !foreign(file)) {
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

/// Uses of the operating system, the crates that may contain them, and the text of the finding.
const WORLD: [(&str, &[&str], &str); 11] = [
    ("std::fs", &["capture", "cli", "opencsd-abi"], "touches files"),
    // A client of the C interface names files with memory.
    ("fs::read", &["capture", "opencsd-abi"], "touches files"),
    ("File::open", &["capture"], "opens a file"),
    // The output file of `-o FILE`.
    ("File::create", &["capture", "cli"], "creates a file"),
    // A server answers while it takes requests; those of debuggers read a request to stop while
    // they replay.
    ("std::thread", &["decode", "viewer", "gdb", "dap"], "starts threads"),
    ("thread::spawn", &["decode"], "starts threads"),
    ("std::net", &["capture", "viewer", "gdb", "dap"], "talks to the network"),
    ("tokio::net", &["viewer"], "accepts connections"),
    // `view` opens the browser, `gdb` starts gdb.
    ("std::process::Command", &["cli"], "starts programs"),
    ("SystemTime", &[], "reads the clock"),
    ("Instant::now", &["cli"], "reads the clock"),
];

/// Only certain crates open files and start threads.
pub(super) fn world(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    // A build script talks to Cargo by printing.
    for file in tree.sources().filter(|file| !file.path.ends_with("/build.rs")) {
        let Some(name) = file.crate_name() else { continue };
        for (word, _, what) in WORLD.iter().filter(|(_, may, _)| !may.contains(&name)) {
            let uses = lines_with(&file.code, word);
            findings.extend(uses.map(|line| Finding::new(file, line, format!("`{name}` {what}"))));
        }
    }
    findings
}

/// The files of capture that are about the disk only: those that write, that watch a file, or that
/// wait for data; and the notation of the command.
const DISK: [&str; 16] = [
    "capture.rs",
    "exclusive.rs",
    "files.rs",
    "folder/write.rs",
    "growing.rs",
    "image_source.rs",
    "large_file.rs",
    "live.rs",
    "new_folder.rs",
    "pipe.rs",
    "read_if.rs",
    "replacement.rs",
    "snapshot/write.rs",
    "spool.rs",
    "stamp.rs",
    "stream.rs",
];

/// Whatever capture reads, it reads through `Files`, so that it may be in memory.
pub(super) fn files(tree: &Tree) -> Vec<Finding> {
    const FOLDER: &str = "crates/capture/src/";
    let through = |path: &str| !DISK.contains(&path);
    let sources = tree.sources().filter(|f| f.path.strip_prefix(FOLDER).is_some_and(through));
    let words = ["fs::", "File::open", ".is_file()", ".is_dir()", ".exists()", "canonicalize("];
    let mut findings = Vec::new();
    for file in sources {
        let uses = words.iter().flat_map(|word| lines_with(&file.code, word));
        findings.extend(uses.map(|line| Finding::new(file, line, "reads the disk, not `Files`")));
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
        let unpublished = "publish = false\n[dependencies]\ntracewright-views.workspace = true\n";
        assert_eq!(findings(layers, &[("crates/model/Cargo.toml", unpublished)]), [""; 0]);
        let equipment = "[dependencies]\ntracewright-model.workspace = true\n";
        assert_eq!(
            findings(layers, &[("crates/views/Cargo.toml", equipment)]),
            ["crates/views/Cargo.toml:2"]
        );
    }

    #[test]
    fn layers_and_table_list_the_crates_that_exist() {
        let manifests: Vec<String> = LAYERS
            .iter()
            .flat_map(|row| row.iter())
            .map(|name| format!("crates/{name}/Cargo.toml"))
            .collect();
        let page: String = LAYERS
            .iter()
            .flat_map(|row| row.iter())
            .map(|name| format!("| `crates/{name}` |\n"))
            .collect();
        let mut files: Vec<(&str, &str)> = vec![("ARCHITECTURE.md", page.as_str())];
        files.extend(manifests.iter().map(|path| (path.as_str(), "")));
        assert_eq!(findings(layers, &files), [""; 0]);
        // `cli` has a layer and is absent; `model` exists and is not in the table.
        files.pop();
        files.push(("crates/model/Cargo.toml", "publish = false\n"));
        assert_eq!(findings(layers, &files), ["ARCHITECTURE.md:0", "ARCHITECTURE.md:0"]);
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
        for path in ["crates/scan/src/lib.rs", "crates/opencsd-abi/src/exports/trees.rs"] {
            assert_eq!(findings(forbid_unsafe, &[(path, bad)]), [""; 0]);
        }
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
        let bad =
            "use std::fs;\nstd::thread::scope(|_| ());\nSystemTime::now();\nlet s = \"std::fs\";\n";
        let at = |path: &str| findings(world, &[(path, bad)]);
        assert_eq!(
            at("crates/base/src/a.rs"),
            ["crates/base/src/a.rs:1", "crates/base/src/a.rs:2", "crates/base/src/a.rs:3"]
        );
        assert_eq!(
            at("crates/capture/src/a.rs"),
            ["crates/capture/src/a.rs:2", "crates/capture/src/a.rs:3"]
        );
        assert_eq!(at("crates/cli/src/a.rs"), ["crates/cli/src/a.rs:2", "crates/cli/src/a.rs:3"]);
        assert_eq!(at("crates/cli/tests/a.rs"), [""; 0]);
    }

    #[test]
    fn capture_reads_through_files() {
        let direct = "fn read(path: &Path) { let bytes = std::fs::read(path); }\nfn is() { path.is_file() }\n";
        assert_eq!(
            findings(files, &[("crates/capture/src/snapshot/reader.rs", direct)]),
            ["crates/capture/src/snapshot/reader.rs:1", "crates/capture/src/snapshot/reader.rs:2"]
        );
        assert_eq!(findings(files, &[("crates/capture/src/growing.rs", direct)]), [""; 0]);
        let named = "fn read(files: &Files) { files.is_file(path) }\n";
        assert_eq!(findings(files, &[("crates/capture/src/probe.rs", named)]), [""; 0]);
    }
}
