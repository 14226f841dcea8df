//! Searches in the trace of a program: entries of functions and their call stacks, compared with
//! the call tree of QEMU's log; lines, compared with the line table that llvm-dwarfdump prints.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tracewright_testing::{is_long, tool};

use super::oracle::{self, Tree};
use super::{A32, A64, Machine, PROGRAMS, RISCV, T32, encoded, execute};
use crate::common::{Folder, args, tracewright};

/// The results of a query, in order.
fn find(snapshot: &Path, query: &str, options: &str) -> Vec<Value> {
    let mut all = args("find --format json", &[snapshot]);
    all.push(query.into());
    all.extend(args(options, &[]));
    let output = tracewright(&all);
    assert_eq!(output.err, "", "{query}");
    let lines = output.out.lines().skip(1).map(|line| serde_json::from_str(line).expect("JSON"));
    let lines: Vec<Value> = lines.collect();
    let none = lines.first().is_none_or(|line| line["count"] == 0);
    assert_eq!(output.code, Some(i32::from(none)), "{query}");
    lines
}

/// The call stacks at the calls of each function, in order.
fn stacks(tree: &Tree) -> BTreeMap<&str, Vec<Vec<&str>>> {
    let mut all: BTreeMap<&str, Vec<Vec<&str>>> = BTreeMap::new();
    let mut open: Vec<&str> = Vec::new();
    for (depth, address) in &tree.calls {
        let name = tree.names.get(address).expect("a function").as_str();
        open.resize(*depth, "_start");
        open.push(name);
        all.entry(name).or_default().push(open.clone());
    }
    all
}

/// The code of each line of `program.c`: the first address, and the one after the last.
fn code(elf: &Path) -> Option<BTreeMap<u32, Vec<(u64, u64)>>> {
    let dump = tool(&[("llvm-dwarfdump-19", "llvm-19")])?;
    let output = Command::new(dump).arg("--debug-line").arg(elf).output().expect("the tool runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    // The number of the file in the current table, and the row before in its sequence.
    let (mut file, mut number) = (None, None);
    let mut before: Option<(u64, u32, bool)> = None;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("debug_line[") {
            (file, before) = (None, None);
        } else if let Some(rest) = line.strip_prefix("file_names[") {
            number = rest.split(']').next().and_then(|n| n.trim().parse::<u32>().ok());
        } else if line == "name: \"program.c\"" {
            file = number;
        } else if line.starts_with("0x") {
            let cells: Vec<&str> = line.split_whitespace().collect();
            let address = u64::from_str_radix(&cells[0][2..], 16).expect("an address");
            let cell = |n: usize| cells[n].parse::<u32>().expect("a number");
            if let Some((start, line, true)) = before.filter(|(start, ..)| *start < address) {
                lines.entry(line).or_default().push((start, address));
            }
            let own = file == Some(cell(3));
            before = (!line.contains("end_sequence")).then_some((address, cell(1), own));
        }
    }
    lines.remove(&0);
    Some(lines)
}

/// The executed ranges, as `decode` lists them: the first address, and the one after the last.
fn ranges(snapshot: &Path) -> Vec<(u64, u64)> {
    let listed = tracewright(&args("decode --format json", &[snapshot])).out;
    let address = |value: &Value| {
        let text = value.as_str().expect("an address");
        u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("a number")
    };
    let lines = listed.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let ranges = lines.filter(|line| line["kind"] == "range");
    ranges.map(|line| (address(&line["start"]), address(&line["end"]))).collect()
}

fn check(machine: &Machine, program: usize) {
    let machine = Machine { optimise: "-O0", ..*machine };
    let (name, source) = PROGRAMS[program];
    let folder = Folder::new(&format!("search-{}-{name}", machine.name));
    let path = folder.path("");
    let Some((elf, log)) = execute(&machine, &path, name, source) else { return };
    let text = std::fs::read_to_string(&log).expect("a log");
    let tree = oracle::tree(&elf, &text, name == "coroutines");
    let snapshot = encoded(&path, machine.protocols[0], &elf, &log);
    let made = tracewright(&args("index --segment 256", &[&snapshot]));
    assert_eq!(made.code, Some(0), "{}", made.err);
    // Each entry of a function, with the whole stack.
    let stacks = stacks(&tree);
    let mut entries = 0;
    for (function, want) in &stacks {
        let found = find(&snapshot, &format!("all function {function}"), "--stack 1000000000");
        assert_eq!(found.len(), want.len(), "{function}");
        let count = find(&snapshot, &format!("count function {function}"), "");
        assert_eq!(count[0]["count"].as_u64(), Some(want.len() as u64), "{function}");
        // Each result of a long list is a search of its own.
        let step = if is_long() { 1 } else { want.len() / 20 + 1 };
        for (found, want) in found.iter().zip(want).step_by(step) {
            let stack = found["stack"].as_array().expect("a stack");
            let stack: Vec<&str> = stack.iter().filter_map(Value::as_str).collect();
            assert_eq!(stack, *want, "{found}");
            entries += 1;
        }
    }
    assert!(entries > 20, "{entries}");
    // A single result has a stack, too, which is the same without the index.
    let function = stacks.keys().last().expect("a function");
    let query = format!("last function {function}");
    let one = find(&snapshot, &query, "");
    assert_eq!(one, find(&snapshot, &query, "--no-index"));
    assert_eq!(
        one[0]["stack"].as_array().and_then(|stack| stack.last()),
        Some(&(*function).into())
    );
    // Each line: the ranges that execute one of its instructions.
    let ranges = ranges(&snapshot);
    let Some(lines) = code(&elf) else { return };
    assert!(lines.len() > 10, "{lines:?}");
    let step = if is_long() { 1 } else { 4 };
    for (line, code) in lines.iter().step_by(step) {
        let executes = |(start, end): &&(u64, u64)| code.iter().any(|(a, b)| start < b && a < end);
        let want = ranges.iter().filter(executes).count() as u64;
        for (index, file) in [("", "program.c"), ("--no-index", "/program.c")] {
            let count = find(&snapshot, &format!("count line {file}:{line}"), index);
            assert_eq!(count[0]["count"].as_u64(), Some(want), "{file}:{line} {index}");
        }
    }
    for (query, part) in [
        ("line program.c:9999", "no code was made of line 9999 of `program.c`"),
        ("line other.c:1", "no program file was made of a source file `other.c`"),
    ] {
        let mut words = args("find", &[&snapshot]);
        words.push(query.into());
        let failed = tracewright(&words);
        assert_eq!(failed.code, Some(2));
        assert!(failed.err.contains(part), "{}", failed.err);
    }
}

#[test]
fn entries_and_lines_are_those_of_the_program() {
    check(&A64, 0);
    if is_long() {
        for machine in [&A32, &T32, &RISCV] {
            check(machine, 0);
        }
        check(&A64, 1);
    }
}
