//! Whether executed lines are those that gcov counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::reasons::{self, What};
use super::{Build, Program, args, tracewright};

/// The executions of each line of the program, by its trace.
fn executed(program: &Program, snapshot: &Path) -> BTreeMap<u64, u64> {
    let output = tracewright(&args("coverage --format json", &[snapshot]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let all = output.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let own = |line: &Value| {
        line["type"] == "line"
            && line["path"].as_str().is_some_and(|own| own.ends_with(program.file))
    };
    all.filter(own)
        .map(|line| {
            let count = line["executions"].as_u64().expect("a count");
            (line["line"].as_u64().expect("a line"), count)
        })
        .collect()
}

/// The lines of which a statement has code in the line table, by another reader.
fn with_code(elf: &Path) -> BTreeSet<u64> {
    let output = Command::new("llvm-dwarfdump-19").arg("--debug-line").arg(elf).output();
    let text = String::from_utf8(output.expect("it runs").stdout).expect("text");
    let mut lines = BTreeSet::new();
    let mut before: Option<(u64, u64)> = None;
    for row in text.lines() {
        let cells: Vec<&str> = row.split_whitespace().collect();
        let [address, line, ..] = cells[..] else { continue };
        let address = address.strip_prefix("0x").and_then(|own| u64::from_str_radix(own, 16).ok());
        let (Some(address), Ok(line)) = (address, line.parse()) else { continue };
        if let Some((start, line)) = before
            && start != address
        {
            lines.insert(line);
        }
        before = Some((address, line)).filter(|_| cells.contains(&"is_stmt"));
    }
    lines
}

pub(super) fn compare(
    program: &Program,
    build: Build,
    (elf, snapshot): (&Path, &Path),
    counted: &BTreeMap<u64, u64>,
) {
    let found = executed(program, snapshot);
    let with_code = with_code(elf);
    let (optimises, name) = (build.level != "-O0", build.name());
    let lines: BTreeSet<u64> = counted.keys().chain(found.keys()).copied().collect();
    let (mut same, mut different) = (0, BTreeMap::<&str, usize>::new());
    for line in lines {
        let (own, want) = (found.get(&line), counted.get(&line));
        let what = match (own, want) {
            // Optimisers leave out code, or join it with that of other lines.
            (None, _) if optimises && !with_code.contains(&line) => {
                *different.entry("no statement has code").or_default() += 1;
                continue;
            }
            (None, _) => What::NotListed,
            (_, None) => What::NotCounted,
            (Some(own), Some(want)) if (*own > 0) != (*want > 0) => What::Executed,
            (Some(own), Some(want)) if !optimises && own != want => What::Count,
            _ => {
                same += 1;
                continue;
            }
        };
        let text = program.text.lines().nth(line as usize - 1).unwrap_or_default().trim();
        let why = reasons::of(what, program.file, &name, text);
        let why = why.unwrap_or_else(|| {
            panic!("{}:{line}: {name}: {what:?}: {own:?}, by gcov {want:?}: {text}", program.file)
        });
        *different.entry(why).or_default() += 1;
    }
    println!("{} {name}: {same} lines are the same; {different:?}", program.file);
    assert!(same >= if optimises { 1 } else { 30 }, "{} {name}", program.file);
}
