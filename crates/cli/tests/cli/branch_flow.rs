//! Changes of flow in the format of TRACE32: written ones by a reader that follows GNATcoverage's,
//! and logs of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::common::Folder;
use crate::coverage::{example, objects, run};

/// The change of flow in each line: target and caller.
fn changes(text: &str) -> Vec<(u64, u64)> {
    let rule = "#".repeat(71);
    let mut lines = text.lines();
    for want in [rule.as_str(), "# Branch Flow trace file", "# target; caller; trace record", &rule]
    {
        assert_eq!(lines.next(), Some(want));
    }
    let address = |text: &str| {
        let (class, digits) = text.split_once(":0x").expect("an access class");
        assert!(class.chars().all(char::is_alphabetic), "{text}");
        u64::from_str_radix(digits, 16).unwrap()
    };
    let change = |line: &str| {
        let (to, from) = line.split_once("; ").expect("two addresses");
        (address(to), address(from))
    };
    lines.map(change).collect()
}

/// Executed instructions with their sizes, in order.
fn executed(path: &str, folder: &Folder) -> Vec<(u64, u64)> {
    let listed = run(folder, &format!("instructions {path} --format json"));
    let number = |own: &Value, key: &str| {
        let text = own[key].as_str().unwrap().trim_start_matches("0x").to_owned();
        (u64::from_str_radix(&text, 16).unwrap(), text.len())
    };
    let of = |own: &Value| {
        let thumb = own["isa"] == "T32" || own["isa"] == "RV64" || own["isa"] == "RV32";
        let size = if thumb && number(own, "opcode").1 <= 4 { 2 } else { 4 };
        (number(own, "address").0, size)
    };
    objects(&listed, "instruction").iter().map(of).collect()
}

/// From the target of each line to the caller of the next one, the instructions are those that were
/// executed, in order; but for those before a loss that are stated to be left out.
fn check(path: &str, folder: &Folder) {
    let written = run(folder, &format!("branches {path} --format branchflow"));
    assert_eq!(written.code, Some(0), "{path}: {}", written.err);
    let want = executed(path, folder);
    let sizes: BTreeMap<u64, u64> = want.iter().copied().collect();
    let changes = changes(&written.out);
    let mut found = Vec::new();
    for pair in changes.windows(2) {
        let ((start, _), (_, last)) = (pair[0], pair[1]);
        let mut at = start;
        while at <= last {
            found.push(at);
            at += sizes[&at];
        }
        assert_eq!(found.last(), Some(&last), "{path}: {start:#x} {last:#x}");
    }
    let want: Vec<u64> = want.iter().map(|own| own.0).collect();
    if written.err.contains("is left out") {
        let mut rest = want.iter();
        assert!(found.iter().all(|own| rest.any(|want| want == own)), "{path}");
        assert!(found.len() < want.len() && found.len() + 16 > want.len(), "{path}");
    } else {
        let first = found.iter().zip(&want).position(|(found, want)| found != want);
        assert_eq!((first, found.len()), (None, want.len()), "{path}");
    }
    assert!(changes.len() > 20, "{path}");
}

/// Captures of the repository whose trace is of one source, without losses.
fn captures() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
    ["etmv4", "etmv3", "ptm", "ete"].map(|name| folder.join(name).join("capture")).into()
}

#[test]
fn written_changes_lead_through_what_was_executed() {
    let folder = Folder::new("branch-flow");
    example(&folder, "demo");
    check("demo", &folder);
    for capture in captures() {
        check(&capture.to_string_lossy(), &folder);
    }
}

/// A log of changes, encoded and decoded again, has the instructions and the coverage of the trace
/// that it was written from.
#[test]
fn logs_of_changes_have_the_instructions_between_them() {
    let folder = Folder::new("branch-flow-log");
    example(&folder, "demo");
    run(&folder, "branches demo --format branchflow -o flow.log");
    let image = "--image demo/program.bin";
    let info = run(&folder, &format!("log info flow.log {image}"));
    assert_eq!(info.code, Some(0), "{}", info.err);
    assert!(
        info.out.contains("flow.log: branchflow, ") && info.out.contains("T32"),
        "{}",
        info.out
    );
    let encoded = run(&folder, &format!("encode --log flow.log {image} --protocol ETM4 -o back"));
    assert_eq!(encoded.code, Some(0), "{}", encoded.err);
    assert!(!encoded.err.contains("tracing is off"), "{}", encoded.err);
    assert_eq!(executed("back", &folder), executed("demo", &folder));
    let lines =
        |path: &str| objects(&run(&folder, &format!("coverage {path} --format json")), "line");
    assert_eq!(lines("back"), lines("demo"));
    // As columns, they are read without the program.
    let converted = run(&folder, &format!("log convert flow.log --to csv {image} -o flow.csv"));
    assert_eq!(converted.code, Some(0), "{}", converted.err);
    let of_columns = run(&folder, "log info flow.csv");
    let count = |text: &str| {
        let line = text.lines().find(|line| line.contains(" instructions")).unwrap();
        line.split_whitespace().find_map(|word| word.parse::<u64>().ok())
    };
    assert_eq!(count(&of_columns.out), count(&info.out));
    let refused = run(&folder, "log info flow.log");
    assert!(refused.out.contains("--image"), "{} {}", refused.out, refused.err);
}

/// What one change states of another program is not followed, and is named.
#[test]
fn changes_that_no_code_explains_are_named() {
    let folder = Folder::new("branch-flow-other");
    example(&folder, "demo");
    run(&folder, "branches demo --format branchflow -o flow.log");
    let text = fs::read_to_string(folder.path("flow.log")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    // A line is missing in the middle.
    lines.remove(600);
    fs::write(folder.path("flow.log"), lines.join("\n")).unwrap();
    let encoded =
        run(&folder, "encode --log flow.log --image demo/program.bin --protocol ETM4 -o back");
    assert_eq!(encoded.code, Some(0), "{}", encoded.err);
    let all: BTreeSet<u64> = executed("demo", &folder).into_iter().map(|own| own.0).collect();
    assert!(executed("back", &folder).iter().all(|own| all.contains(&own.0)));
    assert!(encoded.err.contains("changes of flow have no code"), "{}", encoded.err);
    fs::write(folder.path("wrong.log"), text.replace("; C:", " C:")).unwrap();
    let wrong = run(&folder, "log info wrong.log --image demo/program.bin");
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("line 5: expected a change of flow"), "{}", wrong.err);
}

#[test]
fn several_sources_are_refused() {
    let folder = Folder::new("branch-flow-several");
    let mut log = String::from("cpu,address,opcode,isa\n");
    for n in 0..8 {
        for cpu in [0, 1] {
            log += &format!("{cpu},{:#x},0xd503201f,A64\n", 0x8000 + cpu * 0x1000 + n * 4);
        }
    }
    fs::write(folder.path("two.csv"), log).unwrap();
    fs::write(folder.path("nops.bin"), 0xd503_201f_u32.to_le_bytes().repeat(0x800)).unwrap();
    let encoded =
        run(&folder, "encode --log two.csv --image nops.bin@0x8000 --protocol ETM4 -o two");
    assert_eq!(encoded.code, Some(0), "{}", encoded.err);
    example(&folder, "demo");
    for (words, want) in [
        ("two", "the format has one processor, and instructions are in "),
        ("demo --limit 3", "not with --limit"),
    ] {
        let found = run(&folder, &format!("branches {words} --format branchflow"));
        assert_eq!((found.code, found.out.as_str()), (Some(2), ""), "{words}: {}", found.err);
        assert!(found.err.contains(want), "{words}: {}", found.err);
    }
}
