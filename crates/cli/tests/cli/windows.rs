//! Parts of a trace: all verbs have the same instructions of them, to the last range.

use std::path::Path;

use serde_json::Value;
use tracewright_testing::{Random, times};

use crate::common::{Folder, args, tracewright};

fn output(words: &str, path: &Path) -> String {
    let output = tracewright(&args(words, &[path]));
    assert_eq!(output.code, Some(0), "{words}: {}", output.err);
    output.out
}

fn rows(words: &str, path: &Path) -> Vec<Value> {
    let text = output(&format!("{words} --format json"), path);
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The last number of a file of callgrind.
fn total(words: &str, path: &Path) -> u64 {
    let text = output(&format!("{words} --format callgrind"), path);
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ")).expect("the total");
    total.parse().expect("a number")
}

fn check(window: &str, path: &Path) -> u64 {
    let number = |value: &Value| value.as_u64().expect("a number");
    let ranges = rows(&format!("decode {window}"), path);
    let ranges = ranges.iter().filter(|row| row["kind"] == "range");
    let want: u64 = ranges.map(|row| number(&row["instructions"])).sum();
    if want == 0 {
        return 0;
    }
    let functions = rows(&format!("functions {window}"), path);
    assert_eq!(number(&functions.last().expect("rows")["instructions"]), want, "{window}");
    let timing = rows(&format!("timing --clock instructions {window}"), path);
    assert_eq!(number(&timing.last().expect("rows")["traced"]), want, "{window}");
    let calls = rows(&format!("calls {window}"), path);
    let last = calls.iter().filter_map(|row| row["instruction"].as_u64()).max();
    assert_eq!(last, Some(want), "{window}");
    for verb in ["functions", "profile"] {
        assert_eq!(total(&format!("{verb} {window}"), path), want, "{verb} {window}");
    }
    // A line is executed where its first instruction is.
    if window.contains("--instruction 0..") {
        let coverage = rows(&format!("coverage {window}"), path);
        assert!(number(&coverage.last().expect("rows")["executed_lines"]) > 0, "{window}");
    }
    want
}

#[test]
fn instructions_of_windows() {
    let folder = Folder::new("windows");
    let path = folder.path("demo");
    assert_eq!(tracewright(&args("demo --write", &[&path])).code, Some(0));
    let whole = check("", &path);
    check("--instruction 0..1", &path);
    let mut random = Random::new(1);
    for _ in 0..times(6) {
        let first = random.below(whole - 1);
        let count = random.pick(&[1, 2, 10, 300]).min(whole - first);
        let window = format!("--instruction {first}..{}", first + count);
        // Ranges are whole, but for the list of instructions.
        assert!(check(&window, &path) >= count);
        let listed = output(&format!("instructions --format pc {window}"), &path);
        assert_eq!(listed.lines().count() as u64, count, "{window}");
        let begin = random.below(1000);
        check(&format!("--offset {begin}..{}", begin + 1 + random.below(200)), &path);
        check(&format!("--at {}", random.below(2000)), &path);
    }
}
