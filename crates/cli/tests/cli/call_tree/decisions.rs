//! Decisions and conditions of random programs, compared with those that the same program records
//! where it is compiled for this machine with a call for each condition.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tracewright_testing::{Random, short_or_long, tool, tool_since};

use super::random_decisions::{Program, program};
use super::{A64, HEADER, Machine, RISCV, START, T32, encoded, good, logged, words};
use crate::common::{Folder, args, tracewright};

const RECORD: &str = include_str!("program/decisions.h");

/// The evaluations of a decision: values and outcome, and how often.
pub(super) type Vectors = BTreeMap<String, u64>;

/// What the program records on this machine, by decision.
pub(super) fn recorded(folder: &Path, text: &str) -> Option<Vec<Vectors>> {
    let gcc = tool_since(&[("gcc", "gcc")], (12, 2))?;
    let head = "#define NOINLINE __attribute__((noinline))\nvolatile unsigned sink;\n";
    fs::write(folder.join("record.h"), format!("{head}{RECORD}")).unwrap();
    fs::write(
        folder.join("native.c"),
        format!("{text}int main(void) {{ program(); report(); }}\n"),
    )
    .unwrap();
    good(Command::new(gcc).args(words("-w -O0 native.c -o native")).current_dir(folder));
    let output = Command::new(folder.join("native")).output().expect("it runs");
    let mut all = Vec::<Vectors>::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let [decision, vector, count] = line.split(' ').collect::<Vec<_>>()[..] else { panic!() };
        let decision: usize = decision.parse().unwrap();
        all.resize_with(all.len().max(decision + 1), Vectors::new);
        all[decision].insert(vector.to_owned(), count.parse().unwrap());
    }
    Some(all)
}

/// The coverage mapping of the program by clang, which does not run.
pub(super) fn mapping(machine: &Machine, folder: &Path) -> Option<PathBuf> {
    let clang = tool(&[("clang-19", "clang-19")])?;
    let options = format!(
        "{} -w -c -fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc program.c -o map.o",
        machine.compile
    );
    good(Command::new(clang).args(words(&options)).current_dir(folder));
    Some(folder.join("map.o"))
}

/// The decisions of a trace, by line.
pub(super) fn decisions(snapshot: &Path, map: &Path) -> BTreeMap<usize, Value> {
    decisions_with(snapshot, map, "")
}

/// The same with further options.
pub(super) fn decisions_with(snapshot: &Path, map: &Path, more: &str) -> BTreeMap<usize, Value> {
    let root = map.parent().unwrap();
    let mut words = args(&format!("coverage --format json {more}"), &[snapshot]);
    words.extend(args("--decisions", &[map]));
    words.extend(args("--source-root", &[root]));
    let output = tracewright(&words);
    assert!(matches!(output.code, Some(0 | 1)), "{}", output.err);
    let all = output.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let all = all.filter(|line| line["type"] == "decision");
    all.map(|line| (line["line"].as_u64().unwrap() as usize, line)).collect()
}

pub(super) fn vectors(decision: &Value) -> Vectors {
    let all = decision["vectors"].as_array().expect("vectors").iter();
    all.map(|own| {
        let outcome = u8::from(own["outcome"].as_bool().unwrap());
        let text = format!("{}{outcome}", own["values"].as_str().unwrap());
        (text, own["count"].as_u64().unwrap())
    })
    .collect()
}

/// Whether two evaluations show that condition `n` is independent, by GNATcoverage's rule.
fn independent(want: &Vectors, n: usize, unique: bool) -> bool {
    let all: Vec<&[u8]> = want.keys().map(String::as_bytes).collect();
    all.iter().any(|a| {
        all.iter().any(|b| {
            let others = (0..a.len() - 1).filter(|own| *own != n && (unique || *own > n));
            a[n] == b'T'
                && b[n] == b'F'
                && a.last() != b.last()
                && others.into_iter().all(|n| a[n] == b'-' || b[n] == b'-' || a[n] == b[n])
        })
    })
}

/// Compares what is measured with what the program recorded; returns how many decisions are
/// measured, at least in part: what is covered of them was executed.
pub(super) fn compare(
    found: &BTreeMap<usize, Value>,
    own: &Program,
    want: &[Vectors],
    what: &str,
) -> usize {
    let mut measured = 0;
    for (n, line) in own.lines.iter().enumerate() {
        let Some(decision) = found.get(line) else { continue };
        let whole = decision["unmeasured"].as_array().is_some_and(Vec::is_empty);
        let named = decision["unnamed_copies"] == 0;
        measured += usize::from(decision["copies"].as_u64() > Some(0));
        if whole && named {
            assert_eq!(vectors(decision), want[n], "{what}: {decision}");
        }
        for (vector, count) in vectors(decision) {
            let all = want[n].get(&vector).copied().unwrap_or(0);
            assert!(count <= all, "{what}: {vector} of {decision}");
        }
        for (n, (own, want)) in decision["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .zip(std::iter::repeat(&want[n]))
            .enumerate()
        {
            let shown = independent(want, n, false);
            match own["independent"].as_bool() {
                Some(true) => assert!(shown, "{what}: condition {n} of {decision}"),
                Some(false) => assert!(!shown, "{what}: condition {n} of {decision}"),
                None => assert!(!whole, "{what}: {decision}"),
            }
            for (key, value) in [("false", b'F'), ("true", b'T')] {
                let occurred = want.keys().any(|vector| vector.as_bytes()[n] == value);
                if let Some(count) = own[key].as_u64() {
                    assert_eq!(count > 0, occurred, "{what}: condition {n} of {decision}");
                }
            }
        }
    }
    measured
}

/// A program for `machine`: its compiler and options, with the name of the test.
pub(super) fn build(machine: &Machine, folder: &Path, compiler: &str, level: &str) -> PathBuf {
    let (target, linker) = match compiler.starts_with("clang") {
        true => (machine.compile, "-fuse-ld=lld-19"),
        // The start code is not among variables.
        false => (machine.gnu_options, "-ftoplevel-reorder"),
    };
    let elf = folder.join(format!("{compiler}{level}.elf"));
    let options = format!(
        "{target} {level} -w -g -fno-pic -no-pie -static -nostdlib -ffreestanding {linker} \
         -fno-asynchronous-unwind-tables start.c program.c -o"
    );
    good(Command::new(compiler).args(words(&options)).arg(&elf).current_dir(folder));
    elf
}

/// The decisions of a random program for `machine`, at each level of optimisation.
fn check(machine: &Machine, gcc: Option<&str>, seed: u64, negates: bool) {
    let folder = Folder::new(&format!("decisions-{}-{seed}", machine.name));
    let path = folder.path("");
    let own = program(&mut Random::new(seed), negates);
    for (name, text) in [("start.h", HEADER), ("start.c", START), ("program.c", &own.texts[0])] {
        fs::write(path.join(name), text).expect("a source");
    }
    let Some(want) = recorded(&path, &own.texts[1]) else { return };
    let Some(map) = mapping(machine, &path) else { return };
    let Some(_) = tool(&[("ld.lld-19", "lld-19")]) else { return };
    let gcc = gcc.filter(|gcc| tool(&[(gcc, "gcc-aarch64-linux-gnu")]).is_some());
    for compiler in ["clang-19"].into_iter().chain(gcc) {
        for level in ["-O0", "-Og", "-O2"] {
            let what = format!("{} {compiler} {level} {seed}", machine.name);
            let elf = build(machine, &path, compiler, level);
            let Some(log) = logged(machine, &elf, None) else { return };
            let snapshot = encoded(&path, machine.protocols[0], &elf, &log);
            let found = decisions(&snapshot, &map);
            let measured = compare(&found, &own, &want, &what);
            if machine.name == "riscv" {
                // Loops are counted.
                let options = "encode --protocol ntrace --config trTeInstEnRepeatedHistory=1 \
                               --log";
                let other = path.join("ntrace");
                let mut words = args(options, &[&log]);
                words.extend(args("--image", &[&elf]));
                words.extend(args("--output", &[&other]));
                let output = tracewright(&words);
                assert_eq!(output.code, Some(0), "{}", output.err);
                for (line, decision) in decisions(&other, &map) {
                    assert_eq!(Some(&decision), found.get(&line), "{what} N-Trace");
                }
                fs::remove_dir_all(&other).expect("a folder");
            }
            match (compiler, level) {
                ("clang-19", "-O0") => {
                    // Values, too, in part. Clang 19 does not describe all that have `!`.
                    let known = own.lines.iter().filter(|line| found.contains_key(line)).count();
                    let least = if negates || machine.name == "riscv" { 5 } else { known };
                    assert!(measured >= least, "{what}: {measured} of {known}");
                }
                (_, "-O0") => {
                    // Clang 19 describes no decisions with `!` in front of parentheses.
                    let known = own.lines.iter().filter(|line| found.contains_key(line)).count();
                    let whole = |line| {
                        found.get(line).is_some_and(|own: &Value| {
                            own["unmeasured"].as_array().is_some_and(Vec::is_empty)
                        })
                    };
                    let measured = own.lines.iter().filter(|line| whole(line)).count();
                    let least = if negates { 10 } else { known };
                    assert!(measured >= least && known > 30, "{what}: {measured} of {known}");
                }
                _ => {}
            }
            if level == "-O0" {
                for jobs in ["--jobs 1", "--jobs 3"] {
                    assert_eq!(decisions_with(&snapshot, &map, jobs), found, "{what} {jobs}");
                }
                // Two captures of one program have the sum of both.
                let twice =
                    decisions_with(&snapshot, &map, &format!("--add {}", snapshot.display()));
                for (line, own) in &found {
                    let own = vectors(own).into_iter().map(|(vector, count)| (vector, 2 * count));
                    assert!(own.eq(vectors(&twice[line])), "{what}");
                }
                options(&snapshot, &map, &own, &want);
                formats(&snapshot, &map, &found);
                outcomes(&snapshot, (&map, &elf), &found, &what);
                cut(&snapshot, &map, &own, &want, &what);
            }
            fs::remove_dir_all(&snapshot).expect("a folder");
        }
    }
}

/// The criterion, the least share, and the file of decisions as an output.
fn options(snapshot: &Path, map: &Path, own: &Program, want: &[Vectors]) {
    let unique = decisions_with(snapshot, map, "--mcdc unique-cause");
    for (n, line) in own.lines.iter().enumerate() {
        let Some(decision) = unique.get(line) else { continue };
        for (at, condition) in decision["conditions"].as_array().unwrap().iter().enumerate() {
            if let Some(shown) = condition["independent"].as_bool() {
                assert_eq!(shown, independent(&want[n], at, true), "{at} of {decision}");
            }
        }
    }
    let run = |more: &str| {
        let mut words = args(&format!("coverage --by decision {more}"), &[snapshot]);
        words.extend(args("--decisions", &[map]));
        tracewright(&words)
    };
    // Not all conditions of a random program are shown.
    let output = run("--fail-under mcdc=100 --fail-under decisions=0");
    assert_eq!(output.code, Some(1), "{}", output.err);
    assert!(output.err.contains("% of the conditions were shown to decide the outcome, less than"));
    assert!(output.out.lines().last().is_some_and(|line| line.ends_with("  all")));
    assert_eq!(run("--fail-under mcdc=0").code, Some(0));
    let before = fs::read(map).unwrap();
    let output = run(&format!("--output {}", map.display()));
    assert_eq!(output.code, Some(2), "{}", output.err);
    assert_eq!(fs::read(map).unwrap(), before);
}

/// The formats of other tools have the conditions that were shown to be independent.
fn formats(snapshot: &Path, map: &Path, found: &BTreeMap<usize, Value>) {
    let text = |format: &str| {
        let mut words = args(&format!("coverage --format {format}"), &[snapshot]);
        words.extend(args("--decisions", &[map]));
        words.extend(args("--source-root", &[map.parent().unwrap()]));
        let output = tracewright(&words);
        assert_eq!(output.code, Some(0), "{}", output.err);
        output.out
    };
    let json = |format: &str| serde_json::from_str::<Value>(&text(format)).expect("JSON");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let shown = |decision: &Value| {
        let all = list(&decision["conditions"]);
        let own: Option<Vec<bool>> =
            all.iter().map(|condition| condition["independent"].as_bool()).collect();
        own
    };
    // Decisions of which something is unknown are left out.
    let known: BTreeMap<u64, Vec<Vec<bool>>> = {
        let mut known = BTreeMap::<u64, Vec<Vec<bool>>>::new();
        for (line, own) in found {
            if let Some(own) = shown(own) {
                known.entry(*line as u64).or_default().push(own);
            }
        }
        known
    };
    let gcov = json("gcov");
    assert_eq!(gcov["format_version"], "2");
    let mut of_gcov = BTreeMap::new();
    for line in list(&gcov["files"]).iter().flat_map(|file| list(&file["lines"])) {
        let mut blocks = list(&line["branches"]).into_iter();
        assert!(blocks.all(|own| own["source_block_id"].is_u64()), "{line}");
        for own in list(&line["conditions"]) {
            let count = own["count"].as_u64().unwrap() / 2;
            let missing = list(&own["not_covered_true"]);
            let independent = (0..count).map(|n| !missing.contains(&n.into())).collect();
            let line = line["line_number"].as_u64().unwrap();
            of_gcov.entry(line).or_insert_with(Vec::new).push(independent);
        }
    }
    let llvm = json("llvm-cov");
    let mut of_llvm = BTreeMap::new();
    for file in list(&llvm["data"][0]["files"]) {
        for own in list(&file["mcdc_records"]) {
            let independent = list(&own[9]).iter().map(|own| own.as_bool().unwrap()).collect();
            of_llvm.entry(own[0].as_u64().unwrap()).or_insert_with(Vec::new).push(independent);
        }
    }
    let mut of_lcov = BTreeMap::<u64, Vec<Vec<bool>>>::new();
    for record in text("lcov").lines().filter_map(|line| line.strip_prefix("MCDC:")) {
        let [line, _, sense, taken, index, _] = record.splitn(6, ',').collect::<Vec<_>>()[..]
        else {
            panic!("{record}");
        };
        if sense == "t" {
            let lists = of_lcov.entry(line.parse().unwrap()).or_default();
            if index == "0" {
                lists.push(Vec::new());
            }
            lists.last_mut().unwrap().push(taken == "1");
        }
    }
    // The list has one decision of a line, and a line here has no more.
    assert_eq!(of_gcov, known);
    assert_eq!(of_llvm, known);
    assert_eq!(of_lcov, known);
}

/// Outcomes of branches, without their order, show each value and outcome that the trace shows, and
/// nothing else; and of decisions with one condition, whether it is independent.
fn outcomes(
    snapshot: &Path,
    (map, elf): (&Path, &Path),
    found: &BTreeMap<usize, Value>,
    what: &str,
) {
    let trace = snapshot.with_extension("gnatcov");
    let written = args("coverage --format gnatcov --quiet -o", &[&trace, snapshot]);
    assert_eq!(tracewright(&written).code, Some(0), "{what}");
    let alone = decisions_with(&trace, map, &format!("--image {}", elf.display()));
    assert_eq!(alone.len(), found.len(), "{what}");
    let occurred = |own: &Value, key: &str| own[key].as_u64().map(|count| count > 0);
    let mut known = 0;
    for (line, own) in &alone {
        let want = &found[line];
        let conditions = |own: &Value| own["conditions"].as_array().unwrap().clone();
        let (these, those) = (conditions(own), conditions(want));
        let several = these.len() > 1;
        let parts = these.iter().zip(&those).chain([(own, want)]);
        for ((own, want), key) in parts.flat_map(|part| ["false", "true"].map(|key| (part, key))) {
            let value = occurred(own, key);
            if value.is_some() {
                assert_eq!(value, occurred(want, key), "{what}: line {line}: {own} {want}");
                known += 1;
            }
        }
        for (own, want) in these.iter().zip(&those) {
            match own["independent"].as_bool() {
                None => {}
                own => assert_eq!((own, several), (want["independent"].as_bool(), false), "{what}"),
            }
        }
        let reasons = own["unmeasured"].as_array().unwrap();
        let is_whole = want["unmeasured"].as_array().unwrap().is_empty();
        let has_branch = !reasons
            .iter()
            .any(|own| own["reason"].as_str().unwrap().contains("no branch of its own"));
        assert!(!is_whole || reasons.is_empty() || !has_branch, "{what}: line {line}: {own}");
    }
    assert!(known > 40, "{what}: {known}");
    fs::remove_file(trace).unwrap();
}

/// Of a trace whose begin or end is missing, nothing else is covered than of the whole.
fn cut(snapshot: &Path, map: &Path, own: &Program, want: &[Vectors], what: &str) {
    let files = fs::read_dir(snapshot).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|own| own == "bin"))
        .map(|path| (fs::metadata(&path).unwrap().len(), path))
        .collect();
    files.sort();
    // Program memory is larger.
    let (_, trace) = files.first().expect("a trace");
    let whole = fs::read(trace).unwrap();
    let mut random = Random::new(whole.len() as u64);
    for round in 0..4 {
        let at = random.between(1, whole.len() - 1);
        fs::write(trace, if round % 2 == 0 { &whole[at..] } else { &whole[..at] }).unwrap();
        let found = decisions(snapshot, map);
        for (n, line) in own.lines.iter().enumerate() {
            let Some(decision) = found.get(line) else { continue };
            for (vector, count) in vectors(decision) {
                let all = want[n].get(&vector).copied().unwrap_or(0);
                assert!(count <= all, "{what}, {round}, {at}: {vector} of {decision}");
            }
        }
    }
    fs::write(trace, whole).unwrap();
}

#[test]
fn decisions_of_a64() {
    for n in 0..short_or_long(2, 20) {
        check(&A64, Some("aarch64-linux-gnu-gcc"), 100 + n as u64, n % 2 == 1);
    }
}

#[test]
fn decisions_of_t32() {
    for n in 0..short_or_long(1, 10) {
        check(&T32, None, 200 + n as u64, n % 2 == 1);
    }
}

#[test]
fn decisions_of_riscv() {
    for n in 0..short_or_long(1, 10) {
        check(&RISCV, None, 300 + n as u64, n % 2 == 1);
    }
}
