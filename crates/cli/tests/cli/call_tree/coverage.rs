//! Coverage of a program from its trace, compared with that of gcov for the same source, compiled
//! for this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tracewright_testing::{tool, tool_since};

use super::{A64, HEADER, Machine, RISCV, START, encoded, execute, good, logged, words};
use crate::common::{Folder, args, tracewright};

const SOURCE: &str = include_str!("program/coverage.c");

/// The executions of each line by gcov.
fn gcov(folder: &Path) -> Option<BTreeMap<u64, u64>> {
    let gcc = tool_since(&[("gcc", "gcc")], (12, 2))?;
    let native = "#include \"program.c\"\nvolatile unsigned sink;\nint main(void) { program(); }\n";
    fs::write(folder.join("native.c"), native).expect("a source");
    let options = words("-O0 --coverage native.c -o native");
    good(Command::new(gcc).args(options).current_dir(folder));
    good(Command::new(folder.join("native")).current_dir(folder));
    good(Command::new("gcov").arg("native.c").current_dir(folder));
    let text = fs::read_to_string(folder.join("program.c.gcov")).expect("the output of gcov");
    let mut lines = BTreeMap::new();
    for line in text.lines() {
        let mut cells = line.splitn(3, ':').map(str::trim);
        let (Some(count), Some(number)) = (cells.next(), cells.next()) else { continue };
        let count = match count {
            "-" => continue,
            "#####" => 0,
            count => count.trim_end_matches('*').parse().expect("a count"),
        };
        lines.insert(number.parse().expect("a line"), count);
    }
    Some(lines)
}

/// The outcomes of a conditional branch: taken, not taken; `None` if it was not executed.
type Outcomes = Option<(u64, u64)>;

/// The executions of each line from the trace, and the outcomes of its branches.
fn lines(snapshot: &Path) -> BTreeMap<u64, (u64, Vec<Outcomes>)> {
    let output = tracewright(&args("coverage --strict --format json", &[snapshot]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let all = output.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let all = all.filter(|line| line["type"] == "line");
    all.map(|line| {
        let branches = line["branches"].as_array().expect("branches").iter();
        let outcomes =
            branches.map(|branch| Some((branch["taken"].as_u64()?, branch["not_taken"].as_u64()?)));
        let count = line["executions"].as_u64().expect("a count");
        (line["line"].as_u64().expect("a line"), (count, outcomes.collect()))
    })
    .collect()
}

#[test]
fn lines_are_those_of_gcov() {
    for machine in [A64, RISCV] {
        let machine = Machine { optimise: "-O0", ..machine };
        let folder = Folder::new(&format!("coverage-{}", machine.name));
        let path = folder.path("");
        let Some((elf, log)) = execute(&machine, &path, "coverage", SOURCE) else { return };
        let Some(want) = gcov(&path) else { return };
        let found = lines(&encoded(&path, machine.protocols[0], &elf, &log));
        let mut both = 0;
        for (line, count) in &want {
            if let Some((own, _)) = found.get(line) {
                assert_eq!(own, count, "{}: line {line}", machine.name);
                both += 1;
            }
        }
        assert!(both >= 29, "{}: {both} lines", machine.name);
        // The compilers differ on lines without code of their own: GCC has `case` labels, Clang
        // has braces.
        let text: Vec<&str> = SOURCE.lines().collect();
        let numbers = |lines: BTreeSet<u64>| -> Vec<&str> {
            lines.into_iter().map(|line| text[line as usize - 1].trim()).collect()
        };
        let (gcc, clang): (BTreeSet<u64>, BTreeSet<u64>) =
            (want.keys().copied().collect(), found.keys().copied().collect());
        assert_eq!(numbers(&gcc - &clang), ["case 5:", "case 9:", "default:"], "{}", machine.name);
        assert_eq!(numbers(&clang - &gcc), ["}", "}", "}"], "{}", machine.name);
        // The outcomes follow from the source: 20 numbers, of which 7 are less than 3 or 7.
        let branches = |text: &str| {
            let line = SOURCE.lines().position(|line| line.contains(text)).expect("a line");
            found[&(line as u64 + 1)].1.clone()
        };
        assert_eq!(
            branches("while (n < 20)").into_iter().map(sorted).collect::<Vec<_>>(),
            [(1, 20)]
        );
        assert_eq!(branches("if (n)"), [None], "not executed");
        assert_eq!(
            branches("if (total > 100000)").into_iter().map(sorted).collect::<Vec<_>>(),
            [(0, 1)]
        );
        let or = branches("n < 3 || n == 7");
        assert_eq!(or.len(), 2);
        assert_eq!(
            or.into_iter().map(|o| o.map(|(a, b)| a + b)).collect::<Vec<_>>(),
            [Some(20), Some(13)]
        );
    }
}

/// GCC begins statements of optimised code in rows of the line table without code.
#[test]
fn optimised_lines_are_executed() {
    let folder = Folder::new("coverage-optimised");
    let path = folder.path("");
    let Some(gcc) = tool_since(&[("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")], (12, 2))
    else {
        return;
    };
    for (name, text) in [("start.h", HEADER), ("start.c", START), ("program.c", SOURCE)] {
        fs::write(path.join(name), text).expect("a source");
    }
    let options = "-O2 -g -fno-pic -no-pie -static -nostdlib -ffreestanding start.c program.c -o";
    let elf = path.join("optimised.elf");
    good(Command::new(gcc).args(words(options)).arg(&elf).current_dir(&path));
    let Some(log) = logged(&A64, &elf, None) else { return };
    let Some(want) = gcov(&path) else { return };
    let found = lines(&encoded(&path, "ETM4", &elf, &log));
    let executed = want.iter().filter(|(_, count)| **count > 0);
    let found: Vec<_> = executed.filter_map(|(line, _)| Some((line, found.get(line)?.0))).collect();
    assert!(found.len() >= 12, "{found:?}");
    assert!(found.iter().all(|(_, count)| *count > 0), "{found:?}");
}

const LOOPS: &str = include_str!("program/loops.c");

/// Optimising compilers copy the conditions of loops. Where a line has fewer executions than for
/// gcov, they have left code out; where it has more, they have moved code of it to code that is
/// executed more often.
#[test]
fn optimised_counts_are_mostly_those_of_gcov() {
    // Of the lines that both have: how many have the same executions, at least, and how many more
    // than for gcov, at most.
    for (optimise, least, most) in [("-O0", 100, 0), ("-O1", 59, 3), ("-O2", 52, 3), ("-Os", 59, 3)]
    {
        let machine = Machine { optimise, ..A64 };
        let folder = Folder::new(&format!("loops{optimise}"));
        let path = folder.path("");
        let Some((elf, log)) = execute(&machine, &path, "loops", LOOPS) else { return };
        let Some(want) = gcov(&path) else { return };
        let found = lines(&encoded(&path, "ETM4", &elf, &log));
        let both = want.iter().filter_map(|(n, want)| Some((n, found.get(n)?.0, *want)));
        let both: Vec<_> = both.collect();
        let same = both.iter().filter(|(_, own, want)| own == want).count();
        let more: Vec<_> = both.iter().filter(|(_, own, want)| own > want).collect();
        assert!(same >= least && more.len() <= most, "{optimise}: {same} of {both:?}, {more:?}");
    }
}

const OUTCOMES: &str = include_str!("program/outcomes.c");

/// The counts of the branches of each line by gcov: of both outcomes of a condition, of all cases
/// of a `switch`.
fn gcov_branches(folder: &Path) -> Option<BTreeMap<u64, Vec<u64>>> {
    gcov(folder)?;
    let mut command = Command::new("gcov");
    command.args(["-b", "-c", "--json-format", "--stdout", "native.c"]);
    let output = command.current_dir(folder).output().expect("gcov runs");
    let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let files = all["files"].as_array().expect("files");
    let file = files.iter().find(|file| file["file"] == "program.c").expect("the program");
    let mut branches = BTreeMap::new();
    for line in file["lines"].as_array().expect("lines") {
        let own = line["branches"].as_array().expect("branches").iter();
        let counts: Vec<u64> = own.map(|b| b["count"].as_u64().expect("a count")).collect();
        if !counts.is_empty() {
            branches.insert(line["line_number"].as_u64().expect("a line"), counts);
        }
    }
    Some(branches)
}

/// The outcomes of branches, in any order. A branch that was not executed has no counts.
fn in_order(outcomes: impl IntoIterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> =
        outcomes.into_iter().map(|(a, b)| (a.min(b), a.max(b))).collect();
    all.sort_unstable();
    all
}

/// One comparison for each case of a `switch` but the last, one after another.
fn compared(cases: &[u64]) -> Vec<(u64, u64)> {
    let mut left: u64 = cases.iter().sum();
    let cases = &cases[..cases.len() - 1];
    let each = cases.iter().map(|count| {
        left -= count;
        (*count, left)
    });
    in_order(each)
}

#[test]
fn branches_are_those_of_gcov() {
    for machine in [A64, RISCV] {
        let machine = Machine { optimise: "-O0", ..machine };
        let folder = Folder::new(&format!("outcomes-{}", machine.name));
        let path = folder.path("");
        let Some((elf, log)) = execute(&machine, &path, "outcomes", OUTCOMES) else { return };
        let Some(want) = gcov_branches(&path) else { return };
        let found = lines(&encoded(&path, machine.protocols[0], &elf, &log));
        let (mut same, mut explained) = (0, 0);
        for (number, text) in (1..).zip(OUTCOMES.lines().map(str::trim)) {
            let gcc = want.get(&number).map_or(&[][..], Vec::as_slice);
            let own = found.get(&number).map_or(&[][..], |line| line.1.as_slice());
            let own = in_order(own.iter().map(|outcomes| outcomes.unwrap_or_default()));
            let pairs = || gcc.chunks_exact(2).map(|pair| (pair[0], pair[1]));
            let different = match (text, machine.name) {
                // A conditional select, which is no branch.
                ("return n > 4 ? 3 : 5;", "a64") => Some(vec![]),
                // The first condition decides whether the second is evaluated, and the result of
                // both whether the loop continues.
                ("} while (n > 3 && total < 40);", _) => {
                    let [first, second] = [gcc[1], gcc[3]];
                    Some(in_order([(gcc[0], first), (gcc[2], second + first)]))
                }
                // The second condition is the value that is returned.
                ("return n && n < 7;", _) => Some(in_order(pairs().take(1))),
                // The range of a table of addresses: the last case is the default.
                ("switch (n) { // a table", "riscv") => {
                    let (default, cases) = gcc.split_last().expect("cases");
                    Some(in_order([(*default, cases.iter().sum())]))
                }
                _ if text.starts_with("switch") => Some(compared(gcc)),
                _ => None,
            };
            match different {
                Some(different) => {
                    assert_ne!(in_order(pairs()), different, "{}: line {number}", machine.name);
                    assert_eq!(own, different, "{}: line {number}", machine.name);
                    explained += 1;
                }
                None => {
                    assert_eq!(own, in_order(pairs()), "{}: line {number}", machine.name);
                    same += usize::from(!gcc.is_empty());
                }
            }
        }
        assert!(same + explained == want.len() && same >= 6, "{same} {explained} {want:?}");
    }
}

/// The outcomes of a branch, whichever of the two is the branch that is taken.
fn sorted(outcomes: Outcomes) -> (u64, u64) {
    let (a, b) = outcomes.expect("an executed branch");
    (a.min(b), a.max(b))
}

/// The program file is that of a process: of a `perf.data` file.
#[test]
fn lines_of_processes() {
    let machine = Machine { optimise: "-O0", ..A64 };
    let folder = Folder::new("coverage-perf");
    let path = folder.path("");
    let Some((elf, log)) = execute(&machine, &path, "coverage", SOURCE) else { return };
    let snapshot = encoded(&path, "ETM4", &elf, &log);
    let data = path.join("perf.data");
    let mut all = args("encode --protocol ETM4 --to perf --log", &[&log]);
    all.extend(args("--image", &[&elf]));
    all.extend(args("--output", &[&data]));
    let output = tracewright(&all);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let (want, found) = (lines(&snapshot), lines(&data));
    assert!(want.len() >= 29 && want.values().any(|line| line.0 == 21), "{want:?}");
    assert_eq!(found, want);
}

#[test]
fn formats_of_coverage_tools() {
    let machine = Machine { optimise: "-O0", ..A64 };
    let folder = Folder::new("coverage-formats");
    let path = folder.path("");
    let Some((elf, log)) = execute(&machine, &path, "coverage", SOURCE) else { return };
    let snapshot = encoded(&path, "ETM4", &elf, &log);
    let file = |format: &str| {
        let to = path.join(format);
        let mut all = args(&format!("coverage --format {format} -o"), &[&to]);
        all.extend(args("", &[&snapshot]));
        let output = tracewright(&all);
        assert_eq!(output.code, Some(0), "{format}: {}", output.err);
        to
    };
    let found = lines(&snapshot);
    let json = |format: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(file(format)).expect("a file")).expect("JSON")
    };
    let gcov = json("gcov");
    let own = gcov["files"][0]["lines"].as_array().expect("lines");
    let own: Vec<u64> = own.iter().filter_map(|line| line["count"].as_u64()).collect();
    assert!(own.iter().eq(found.values().map(|(count, _)| count)));
    let llvm = json("llvm-cov");
    let totals = &llvm["data"][0]["totals"]["lines"];
    let executed = found.values().filter(|(count, _)| *count > 0).count();
    assert_eq!(totals["covered"].as_u64(), Some(executed as u64));
    let drcov = fs::read(file("drcov")).expect("a file");
    let text = String::from_utf8_lossy(&drcov);
    let blocks = text.lines().find_map(|line| line.strip_prefix("BB Table: ")).expect("a table");
    let blocks: usize = blocks.trim_end_matches(" bbs").parse().expect("a number");
    let header = drcov.windows(5).position(|w| w == b" bbs\n").expect("a table") + 5;
    assert_eq!(drcov.len() - header, 8 * blocks);

    let lcov = file("lcov");
    let cobertura = fs::read_to_string(file("cobertura")).expect("a file");
    for (line, (count, _)) in &found {
        assert!(cobertura.contains(&format!("<line number=\"{line}\" hits=\"{count}\"")));
    }
    // The same lines, and the sums of their branches.
    let sonar = fs::read_to_string(file("sonarqube")).expect("a file");
    assert_eq!(sonar.matches("<lineToCover ").count(), found.len());
    for (line, (count, branches)) in &found {
        let (all, occurred) = (2 * branches.len(), branches.iter().flatten());
        let occurred: usize =
            occurred.map(|(a, b)| usize::from(*a > 0) + usize::from(*b > 0)).sum();
        let branches = match all {
            0 => String::new(),
            _ => format!(" branchesToCover=\"{all}\" coveredBranches=\"{occurred}\""),
        };
        let covered = *count > 0;
        let want = format!("lineNumber=\"{line}\" covered=\"{covered}\"{branches}/>");
        assert!(sonar.contains(&want), "{want}: {sonar}");
    }
    let limits =
        args("coverage --format junit --fail-under 50 --fail-under lines=99", &[&snapshot]);
    let limits = tracewright(&limits);
    let first = "<testsuites tests=\"2\" failures=\"1\" errors=\"0\">";
    assert!(limits.code == Some(1) && limits.out.contains(first), "{}", limits.out);
    fs::write(path.join("junit"), &limits.out).expect("a file");
    assert_eq!(tracewright(&args("coverage --format junit", &[&snapshot])).code, Some(2));
    // The options of this verb.
    let mut all = args("coverage --fail-under 99", &[&snapshot]);
    assert_eq!(tracewright(&all).code, Some(1));
    all = args("coverage --fail-under 50", &[&snapshot]);
    assert_eq!(tracewright(&all).code, Some(0));
    let mut all = args("coverage --annotate program.c --source-root", &[&path]);
    all.extend(args("", &[&snapshot]));
    let annotated = tracewright(&all).out;
    assert!(
        annotated.contains("        21            +1-20     39    while (n < 20) {"),
        "{annotated}"
    );

    if tool_since(&[("genhtml", "lcov")], (1, 16)).is_some() {
        let mut command = Command::new("genhtml");
        command.args(["-q", "--branch-coverage", "-o"]).arg(path.join("html")).arg(&lcov);
        good(&mut command);
        let mut command = Command::new("lcov");
        command.args(["--rc", "lcov_branch_coverage=1", "--summary"]).arg(&lcov);
        let output = command.output().expect("lcov runs");
        let text =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        let want = format!("({executed} of {} lines)", found.len());
        assert!(text.contains(&want), "{want}: {text}");
    }
    if tool(&[("xmllint", "libxml2-utils")]).is_some() {
        let files = ["cobertura", "sonarqube", "junit"].map(|name| path.join(name));
        good(Command::new("xmllint").arg("--noout").args(files));
    }
}
