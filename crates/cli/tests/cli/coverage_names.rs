//! Names of columns and kinds, what is printed with `--quiet`, and what `--save` overwrites.

use std::fs;

use crate::common::Folder;
use crate::coverage::{example, run};
use crate::coverage_runs::DECISIONS;

/// The columns have the names of the kinds of `--fail-under`, also where that had another one.
#[test]
fn columns_are_kinds() {
    let folder = Folder::new("coverage-columns");
    example(&folder, "demo");
    fs::write(folder.path("d.json"), DECISIONS).unwrap();
    let files = run(&folder, "coverage demo");
    let head: Vec<&str> = files.out.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(head, ["lines", "%", "branches", "%", "functions", "%", "file"]);
    let decisions = run(&folder, "coverage demo --decisions d.json --by decision");
    let head: Vec<&str> = decisions.out.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(head, ["decisions", "conditions", "MC/DC", "decision"]);
    run(&folder, "coverage demo --decisions d.json --save demo.runs");
    let runs = run(&folder, "coverage --load demo.runs --by run");
    let head: Vec<&str> = runs.out.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(
        head[..7],
        ["lines", "added", "branches", "added", "functions", "added", "decisions"]
    );
    for (kind, want) in
        [("decisions", "decisions"), ("outcomes", "decisions"), ("branches", "branches")]
    {
        let words = format!("coverage demo --decisions d.json --fail-under {kind}=99");
        let found = run(&folder, &words);
        let want = format!(" % of the outcomes of {want} occurred, less than 99 %");
        assert!(found.code == Some(1) && found.err.contains(&want), "{kind}: {}", found.err);
    }
}

/// Without `--by decision`, a line has the totals of decisions; it is not there without decisions.
#[test]
fn totals_of_decisions_are_shown() {
    let folder = Folder::new("coverage-decision-totals");
    example(&folder, "demo");
    fs::write(folder.path("d.json"), DECISIONS).unwrap();
    let all = run(&folder, "coverage demo --decisions d.json --by decision").out;
    let row: Vec<&str> = all.lines().last().unwrap().split("  ").map(str::trim).collect();
    let row: Vec<&str> = row.into_iter().filter(|cell| !cell.is_empty()).collect();
    let want = format!(
        "decisions: {} outcomes, {} values of conditions, {} conditions by MC/DC; --by decision \
         lists them",
        row[0], row[1], row[2]
    );
    for by in ["file", "function"] {
        let found = run(&folder, &format!("coverage demo --decisions d.json --by {by}"));
        assert_eq!(found.out.lines().last(), Some(want.as_str()));
        let without = run(&folder, &format!("coverage demo --by {by}"));
        assert!(!without.out.contains("decisions"), "{}", without.out);
    }
}

/// The reason of exit code 1 is printed whatever else is not.
#[test]
fn quiet_commands_state_which_limit_is_not_met() {
    let folder = Folder::new("coverage-quiet");
    example(&folder, "demo");
    let found = run(&folder, "coverage demo --quiet --fail-under 99 --fail-under branches=50");
    let want = "98.4 % of the lines were executed, less than 99 %\n";
    assert_eq!((found.code, found.err.as_str()), (Some(1), want));
}

/// A file that has no runs is not overwritten; one of runs is, and one without bytes.
#[test]
fn files_without_runs_are_not_overwritten() {
    let folder = Folder::new("coverage-save");
    example(&folder, "demo");
    for text in ["notes of mine\n", "{\"type\":\"coverage\",\"version\":1}\n"] {
        fs::write(folder.path("notes"), text).unwrap();
        let found = run(&folder, "coverage demo --save notes");
        assert_eq!((found.code, found.out.as_str()), (Some(2), ""), "{}", found.err);
        assert!(found.err.contains("--save notes: this file has no runs"), "{}", found.err);
        assert_eq!(fs::read_to_string(folder.path("notes")).unwrap(), text);
    }
    fs::write(folder.path("demo.runs"), "").unwrap();
    for tag in ["A", "B"] {
        let found = run(&folder, &format!("coverage demo --save demo.runs --tag {tag}"));
        assert_eq!(found.code, Some(0), "{}", found.err);
        let runs = run(&folder, "coverage --load demo.runs --by run");
        assert!(runs.out.lines().nth(1).unwrap().ends_with(&format!(" {tag}")), "{}", runs.out);
    }
}

/// What a buffer that ends inside a frame may have in the rest of it is unknown.
#[test]
fn a_buffer_that_ends_inside_a_frame_is_a_loss() {
    let folder = Folder::new("coverage-cut-frame");
    example(&folder, "demo");
    let path = folder.path("demo/ETB.bin");
    let bytes = fs::read(&path).unwrap();
    for (len, unknown) in [(64 * 16, false), (64 * 16 + 5, true)] {
        fs::write(&path, &bytes[..len]).unwrap();
        let found = run(&folder, "coverage demo --uncovered");
        assert_eq!(found.err.contains("losses of trace: 1;"), unknown, "{len}: {}", found.err);
        assert_eq!(found.out.contains(", unknown: 0, of "), !unknown, "{len}: {}", found.out);
    }
}
