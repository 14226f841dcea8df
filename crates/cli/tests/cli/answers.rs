//! The same answers from the command and from the library, of all captures at hand.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tracewright::decode::Options;
use tracewright::export::{Dialect, Format};
use tracewright::frames::Numbering;
use tracewright_testing::{sample, shared};

use crate::common::{Folder, tracewright};

/// Captures of this repository, and those beside it: folders with a description, and files of perf.
fn captures() -> Vec<PathBuf> {
    let mut found = Vec::new();
    add(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures"), &mut found);
    for beside in ["conformance", "captures"].into_iter().filter_map(shared) {
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
        } else if name.ends_with(".data") && is_perf(&path) {
            found.push(path);
        }
    }
}

/// Other dumps have the same extension.
fn is_perf(path: &Path) -> bool {
    let mut magic = [0; 8];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && &magic == b"PERFILE2"
}

/// Calls, instructions and name of each function.
type Rows = Vec<(u64, u64, u64, String)>;

fn functions_of_command(path: &str) -> Rows {
    let done = tracewright(&["functions", "--format", "json", path]);
    let rows = done.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut rows: Rows = rows
        .filter(|row| row["type"] == "function")
        .map(|row| {
            let number = |key: &str| row[key].as_u64().unwrap_or(0);
            let name = row["name"].as_str().unwrap().to_owned();
            (number("calls"), number("instructions"), number("inclusive_instructions"), name)
        })
        .collect();
    rows.sort();
    rows
}

/// A tenth of the captures; all in a long run.
#[test]
fn answers_are_those_of_the_library() {
    let folder = Folder::new("answers");
    let mut compared = 0;
    for path in sample(10, captures()) {
        let name = path.to_str().unwrap();
        let Ok(trace) = tracewright::open(&path) else {
            assert_ne!(tracewright(&["functions", name]).code, Some(0), "{name}");
            continue;
        };
        // What the command does without options.
        let options = Options { numbering: Numbering::Capture, ..Options::default() };
        let trace = trace.with_options(options).partial();
        let Ok(functions) = trace.functions() else {
            assert_ne!(tracewright(&["functions", name]).code, Some(0), "{name}");
            continue;
        };
        let row = |row: &tracewright::FunctionRow| {
            let all = &row.totals;
            (all.calls, all.instructions, all.inclusive_instructions, row.name.clone())
        };
        let mut rows: Rows = functions.rows.iter().map(row).collect();
        rows.sort();
        assert_eq!(functions_of_command(name), rows, "{name}");

        let found = tracewright(&["find", name, "count", "any"]).out;
        let found: u64 = found.lines().map(|line| line.parse::<u64>().unwrap()).sum();
        assert_eq!(found, trace.find("count any", None).unwrap().count, "{name}");
        assert_eq!(found, trace.elements().unwrap().count() as u64, "{name}");

        let profile = Format::Json.write(&trace.profile().unwrap(), Dialect::Full).unwrap();
        let done = tracewright(&["profile", "--format", "json", name]);
        // Where nothing was executed, the command writes no profile.
        if done.code == Some(0) {
            assert!(done.out.as_bytes() == profile, "{name}: the profile differs");
        }

        let file = folder.path("index");
        let _ = std::fs::remove_file(&file);
        let done = tracewright(&["index", name, "-o", file.to_str().unwrap()]);
        if let Ok(index) = std::fs::read(&file) {
            assert!(index == trace.index().unwrap(), "{name}: the index differs; {}", done.err);
        }
        compared += 1;
    }
    assert!(compared > 0);
}
