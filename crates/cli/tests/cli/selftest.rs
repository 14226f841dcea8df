//! `tracewright selftest`, and the requirements of `docs/qualification.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use tracewright::analysis::coverage_runs::Digest;

use crate::common::{Folder, args, tracewright};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The rows of the table of requirements: number, tests, whether the self-test has it.
fn requirements() -> Vec<(String, String, bool)> {
    let text = fs::read_to_string(root().join("docs/qualification.md")).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [number, _, tests, own] = cells[..] else { return None };
        let numbered = number.rsplit_once('-')?.1.parse::<u32>().is_ok();
        numbered.then(|| (number.to_owned(), tests.to_owned(), own == "yes"))
    };
    text.lines().filter(|line| line.starts_with("| ")).filter_map(row).collect()
}

/// Each requirement has tests, and each of them exists.
#[test]
fn requirements_have_tests() {
    let all = requirements();
    let numbers: BTreeSet<&str> = all.iter().map(|own| own.0.as_str()).collect();
    assert!(all.len() >= 25 && numbers.len() == all.len(), "{numbers:?}");
    for (number, tests, _) in &all {
        for test in tests.split("; ") {
            let (path, name) = test.split_once(": ").expect("a file and a test");
            let (path, name) = (path.trim_matches('`'), name.trim_matches('`'));
            let text = fs::read_to_string(root().join(path))
                .unwrap_or_else(|error| panic!("{number}: {path}: {error}"));
            let own = format!("fn {name}()");
            let before = text.split(&own).next().filter(|before| before.len() < text.len());
            let before = before.unwrap_or_else(|| panic!("{number}: {path} has no {name}"));
            assert!(before.trim_end().ends_with("#[test]"), "{number}: {name} is no test");
        }
    }
}

/// Each line has a number of the table, and each number of it that the self-test has has a line.
/// All are met; the elements are those of the listings of `tests/captures`.
#[test]
fn all_requirements_are_met() {
    let folder = Folder::new("selftest");
    let results = folder.path("results.txt");
    let mut words = args("selftest --save", &[&results]);
    let output = tracewright(&words);
    let stored = concat!(env!("CARGO_MANIFEST_DIR"), "/src/verbs/selftest/results.txt");
    if std::env::var_os("BLESS").is_some() {
        fs::copy(&results, stored).unwrap();
        return;
    }
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let lines: Vec<&str> = output.out.lines().collect();
    let (last, lines) = lines.split_last().unwrap();
    let shown: Vec<&str> = lines
        .iter()
        .map(|line| line.strip_prefix("ok").expect("met").split_whitespace().next().unwrap())
        .collect();
    let all = requirements();
    let wanted: Vec<&str> = all.iter().filter(|own| own.2).map(|own| own.0.as_str()).collect();
    assert_eq!(shown, wanted);
    assert!(last.starts_with("passed: ") && last.ends_with(&format!("met {}", wanted.len())));
    assert_eq!(fs::read_to_string(&results).unwrap(), fs::read_to_string(stored).unwrap());
    let text = fs::read_to_string(&results).unwrap();
    let digests: BTreeMap<&str, &str> = text.lines().filter_map(|l| l.split_once(' ')).collect();
    let folders = [
        "etmv1",
        "etmv2",
        "etmv3",
        "ptm",
        "etmv4",
        "ete",
        "itm",
        "stm",
        "etrace-1.0",
        "etrace-2.0",
        "etrace-draft",
        "ntrace-htm",
        "ntrace-btm",
    ];
    for (n, name) in folders.iter().enumerate() {
        let path = root().join("tests/captures").join(name).join("elements.txt");
        let digest = Digest::of(&fs::read(path).unwrap()).to_string();
        assert_eq!(digests[format!("DEC-{}", n + 1).as_str()], digest, "{name}");
    }
    // Another result, one that is missing, and a part.
    let other = digests["DEC-7"].chars().rev().collect::<String>();
    let wrong = text.replacen(digests["DEC-7"], &other, 1).replacen("COV-2", "COV-99", 1);
    fs::write(folder.path("wrong.txt"), wrong).unwrap();
    words = args("selftest --results", &[&folder.path("wrong.txt")]);
    let output = tracewright(&words);
    assert_eq!(output.code, Some(1), "{}", output.out);
    let failed: Vec<&str> =
        output.out.lines().filter(|line| line.starts_with("FAILED  ")).collect();
    assert_eq!(failed.len(), 2, "{}", output.out);
    assert!(failed[0].contains("DEC-7") && failed[1].contains("COV-2"), "{}", output.out);
    assert!(output.out.contains("no result is stored") && output.out.contains("FAILED: "));
    let part = tracewright(&args("selftest --only COV --only DEC-1", &[]));
    let shown = part.out.lines().filter(|line| line.starts_with("ok")).count();
    // One of a group, and a group of five.
    assert_eq!((part.code, shown), (Some(0), 6), "{}", part.out);
    for none in ["NONE", "CO", "COV-6", "DEC-", ""] {
        let none = tracewright(&["selftest", "--only", none]);
        assert_eq!((none.code, none.out.as_str()), (Some(2), ""), "{}", none.err);
        assert!(none.err.contains("docs/qualification.md"), "{}", none.err);
    }
    // What is no file of results.
    for damaged in ["hello\n", "DEC-1 00\n", " \n", "DEC-1\n"] {
        fs::write(folder.path("wrong.txt"), format!("{text}{damaged}")).unwrap();
        let refused = tracewright(&args("selftest --results", &[&folder.path("wrong.txt")]));
        assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{}", refused.err);
        assert!(refused.err.contains("line 20"), "{}", refused.err);
    }
    let path = results.to_str().unwrap();
    let same = tracewright(&["selftest", "--results", path, "--save", path]);
    assert_eq!(same.code, Some(2));
    assert!(same.err.contains("--save") && !same.err.contains("--output"), "{}", same.err);
    assert_eq!(fs::read_to_string(&results).unwrap(), text);
}

/// The captures of the suite are those of `tests/captures`; BLESS=1 writes them. They are small.
#[test]
fn captures_are_those_of_the_tests() {
    let captures = root().join("tests/captures");
    let mut files = Vec::new();
    for entry in fs::read_dir(&captures).unwrap() {
        let folder = entry.unwrap().path().join("capture");
        if folder.is_dir() {
            let all = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
            files.extend(all);
        }
    }
    files.sort();
    let mut want = Vec::new();
    for path in files {
        let bytes = fs::read(&path).unwrap();
        let name = path.strip_prefix(&captures).unwrap().to_str().unwrap().replace('\\', "/");
        want.extend(format!("{name} {}\n", bytes.len()).into_bytes());
        want.extend(bytes);
    }
    let stored = concat!(env!("CARGO_MANIFEST_DIR"), "/src/verbs/selftest/captures.bin");
    if std::env::var_os("BLESS").is_some() {
        fs::write(stored, &want).unwrap();
    }
    assert!(fs::read(stored).unwrap() == want, "BLESS=1 writes {stored}");
    assert!(want.len() < 100_000, "{}", want.len());
}
