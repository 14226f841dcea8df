//! The record of tests that checked nothing.
//!
//! Each test program appends a line for each skip to a file in the build folder; the file is named
//! after the process that started the program, so that all programs of one `cargo test` share it.
//! The last test program of the workspace prints the summary.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::{env, fs, thread};

/// Variables that make missing data, and missing tools, a failure where they are `1`.
pub(crate) const REQUIRE_SHARED: &str = "TRACEWRIGHT_REQUIRE_SHARED";
pub(crate) const REQUIRE_TOOLS: &str = "TRACEWRIGHT_REQUIRE_TOOLS";

/// As [`skip`], but fails where the variable `required` is `1`.
#[track_caller]
pub(crate) fn skip_unless(required: &str, why: &str) {
    assert!(env::var_os(required).is_none_or(|value| value != "1"), "{required}: {why}");
    skip(why);
}

/// Records that the running test checks nothing, and why. The caller returns from the test.
#[track_caller]
pub fn skip(why: &str) {
    let thread = thread::current();
    // The harness names a thread after its test; a test without a thread is named by its place in
    // the source.
    let test = match thread.name() {
        Some(name) if name != "main" => name.to_owned(),
        _ => Location::caller().to_string(),
    };
    println!("skipped: {test}: {why}");
    let package = env::var("CARGO_PKG_NAME").unwrap_or_default();
    let line = format!("{package}\t{}\t{test}\t{why}\n", program());
    let record = record();
    let _ = record.parent().map(fs::create_dir_all);
    let file = fs::OpenOptions::new().append(true).create(true).open(record);
    // A record that cannot be written is no reason for a test to fail.
    let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
}

/// The name of the test program without its hash.
fn program() -> String {
    let path = env::current_exe().unwrap_or_default();
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    name.rsplit_once('-').map_or(name.clone(), |(name, _)| name.to_owned())
}

/// The folder of records: `skipped` beside the folder of the test programs, or the one that
/// `TRACEWRIGHT_SKIPPED` names.
fn folder() -> PathBuf {
    if let Some(folder) = env::var_os("TRACEWRIGHT_SKIPPED") {
        return folder.into();
    }
    let program = env::current_exe().unwrap_or_default();
    let build = program.parent().and_then(Path::parent).map(Path::to_owned);
    build.unwrap_or_else(env::temp_dir).join("skipped")
}

/// The record of this run of `cargo test`.
fn record() -> PathBuf {
    #[cfg(unix)]
    let run = std::os::unix::process::parent_id();
    #[cfg(not(unix))]
    let run = 0;
    folder().join(format!("{run}.tsv"))
}

/// Prints how many tests checked nothing in this run of `cargo test`, and why; writes the same to
/// `skipped/summary.txt` in the build folder, and removes the record.
pub fn print_summary() {
    let record = record();
    let lines = fs::read_to_string(&record).unwrap_or_default();
    let _ = fs::remove_file(&record);
    let summary = summary(&lines);
    print!("{summary}");
    let _ = fs::create_dir_all(folder());
    let _ = fs::write(folder().join("summary.txt"), summary);
}

fn summary(lines: &str) -> String {
    let rows: BTreeSet<(&str, &str)> =
        lines.lines().filter_map(|line| line.rsplit_once('\t')).collect();
    let tests: BTreeSet<&str> = rows.iter().map(|(test, _)| *test).collect();
    if tests.is_empty() {
        return "no test was skipped\n".to_owned();
    }
    // A test that misses several things counts once, under the first.
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut last = None;
    for (test, why) in rows {
        if last.replace(test) != Some(test) {
            *reasons.entry(group(why)).or_default() += 1;
        }
    }
    let mut out = format!("{} tests passed without checking anything:\n", tests.len());
    for (why, count) in &reasons {
        out += &format!("{count:6}  {why}\n");
    }
    if reasons.keys().any(|why| why.starts_with("shared/")) {
        out +=
            "The folder `shared` lies beside the repository, or where TRACEWRIGHT_SHARED points.\n";
    }
    out
}

/// A reason without the path inside a capture's folder: `shared/captures/NAME is missing`.
fn group(why: &str) -> String {
    let path = why.strip_suffix(" is missing").filter(|path| path.starts_with("shared/"));
    let Some(path) = path else { return why.to_owned() };
    let folder: Vec<&str> = path.split('/').take(3).collect();
    format!("{} is missing", folder.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_counts_each_test_once() {
        let lines = "a\ta\tone\tshared/x/y/1 is missing\na\ta\tone\tshared/z is missing\n\
                     a\ta\tone\tshared/x/y/2 is missing\na\tb\tone\tshared/x/y/3/4 is missing\n\
                     c\tc\ttwo\tnot installed: cc (Debian: gcc)\n";
        let want = "3 tests passed without checking anything:\n     \
                    1  not installed: cc (Debian: gcc)\n     2  shared/x/y is missing\n\
                    The folder `shared` lies beside the repository, or where TRACEWRIGHT_SHARED points.\n";
        assert_eq!(summary(lines), want);
        assert_eq!(summary(""), "no test was skipped\n");
    }
}
