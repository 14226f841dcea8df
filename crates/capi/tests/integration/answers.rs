//! The same answers in C and in Rust, of all captures at hand.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use tracewright::export::{Dialect, Format};
use tracewright::Element;
use tracewright_testing::{sample, shared};

use crate::client::{capture, compile, run};

/// Captures of this repository, and those beside it: folders with a `snapshot.ini`, and files of
/// perf.
fn captures() -> Vec<PathBuf> {
    let mut found = Vec::new();
    add(&capture("."), &mut found);
    if let Some(beside) = shared("conformance") {
        add(&beside, &mut found);
    }
    if let Some(beside) = shared("captures") {
        add(&beside, &mut found);
    }
    found.sort();
    found
}

fn add(folder: &Path, found: &mut Vec<PathBuf>) {
    let is_index = |name: &str| matches!(name, "snapshot.ini" | "capture.toml");
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap_or_default());
        if path.is_dir() {
            add(&path, found);
        } else if is_index(&name) {
            found.push(folder.to_owned());
        } else if name.ends_with(".data") {
            found.push(path);
        }
    }
}

/// What `answers.c` prints, from the library; `None` where it is an error.
fn answers(path: &Path) -> Option<String> {
    let trace = tracewright::open(path).ok()?;
    let (mut elements, mut instructions) = (0u64, 0u64);
    for item in trace.elements().ok()? {
        elements += 1;
        if let Element::Range(range) = item.ok()?.element {
            instructions += u64::from(range.instructions);
        }
    }
    let found = trace.find("count any", None).ok()?.count;
    let mut text =
        format!("{elements} elements, {found} found, {instructions} instructions in ranges\n");
    for row in trace.functions().ok()?.rows {
        let all = &row.totals;
        let (calls, own, inclusive) = (all.calls, all.instructions, all.inclusive_instructions);
        let _ = writeln!(text, "{calls} {own} {inclusive} {}", row.name);
    }
    let profile = Format::Json.write(&trace.profile().ok()?, Dialect::Full).ok()?;
    text.push_str(&String::from_utf8(profile).unwrap());
    Some(text)
}

/// A tenth of the captures; all in a long run.
#[test]
fn answers_are_those_of_the_library() {
    let Some(program) = compile("tests/integration/answers.c", &[]) else { return };
    let mut compared = 0;
    for path in sample(10, captures()) {
        let done = run(&program, &[path.to_str().unwrap()]);
        assert!(done.status.success(), "{}", path.display());
        let done = String::from_utf8(done.stdout).unwrap();
        match answers(&path) {
            Some(want) => assert!(done == want, "{}\n{done}\n{want}", path.display()),
            // The text of an error.
            None => assert_eq!(done.lines().count(), 1, "{}: {done}", path.display()),
        }
        compared += 1;
    }
    assert!(compared > 0);
}
