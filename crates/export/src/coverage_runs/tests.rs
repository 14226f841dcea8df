//! Random runs: summed in any order, written and read, damaged.

use std::collections::{BTreeMap, BTreeSet};

use tracewright_analysis::coverage::{BranchOutcomes, FunctionLine, Line, SourceFile};
use tracewright_analysis::coverage_runs::{
    ConditionKey, CoverageRuns, CoveredDecision, CoveredFile, DecisionKey, Digest, FunctionCode,
    FunctionState, ProgramKey, Run, RunInput, RunProgram, RunsDifference,
};
use tracewright_analysis::decisions::{ConditionCoverage, Criterion, DecisionCoverage, Vector};
use tracewright_symbols::Region;
use tracewright_testing::{Random, times};

use super::*;

fn program(name: &str, code: u8, address: u64) -> RunProgram {
    RunProgram {
        key: ProgramKey {
            machine: 183,
            bits64: true,
            code: Digest::of(&[code]),
            obligations: Digest::of(name.as_bytes()),
        },
        paths: BTreeSet::from([format!("/{code}/{name}")]),
        build_ids: BTreeSet::from(["0a1b".to_owned()]),
        parts: vec![(address, 64)],
        mapped: false,
        in_memory: true,
    }
}

fn run(tag: &str, programs: &[usize]) -> Run {
    Run {
        tags: Some(tag.to_owned()).filter(|tag| !tag.is_empty()).into_iter().collect(),
        id: Digest::default(),
        tool: "tracewright 0".to_owned(),
        options: vec!["\u{1} \"quoted\"".to_owned()],
        inputs: vec![RunInput { path: "trace".to_owned(), content: Some((3, Digest::of(b"x"))) }],
        losses: 0,
        sound: true,
        programs: programs.iter().copied().collect(),
    }
}

fn source(random: &mut Random, lost: bool) -> SourceFile {
    let mut source = SourceFile::default();
    let count = |random: &mut Random| {
        let own = if random.one_in(2) { 0 } else { random.between(1, 9) as u64 };
        Some(own).filter(|own| !lost || *own > 0)
    };
    for line in 1..20 {
        let mut own = Line { count: count(random), branches: Vec::new() };
        // Branches that were not executed may not be listed.
        if random.one_in(3) {
            let counts = [count(random), count(random)];
            own.branches.push(BranchOutcomes { address: u64::from(line) * 8, counts });
        }
        source.lines.insert(line, own);
    }
    for line in [3, 9] {
        let (name, symbol) = (format!("f{line}"), format!("_f{line}"));
        let lines = (line, line + 5);
        source.functions.push(FunctionLine { name, symbol, lines, count: count(random) });
    }
    source
}

fn decision(random: &mut Random, lost: bool) -> (DecisionKey, CoveredDecision) {
    let region = |column: u32| Region { start: (4, column), end: (4, column + 1) };
    let condition = |n: u32, next| ConditionKey { region: region(n), text: "a".to_owned(), next };
    let conditions = vec![condition(5, [Err(false), Ok(1)]), condition(9, [Err(false), Err(true)])];
    let whole = Region { start: (4, 5), end: (4, 10) };
    let key = DecisionKey { file: "a.c".to_owned(), region: whole, conditions, exact: true };
    let mut covered = DecisionCoverage {
        outcomes: [Some(0); 2],
        conditions: vec![ConditionCoverage { values: [Some(0); 2], independent: Some(false) }; 2],
        copies: 1,
        ..DecisionCoverage::default()
    };
    let all = [([Some(false), None], false), ([Some(true), Some(false)], false)];
    let all = all.into_iter().chain([([Some(true), Some(true)], true)]);
    for (values, outcome) in all {
        if random.one_in(3) {
            let times = random.between(1, 5) as u64;
            let add = |sum: &mut Option<u64>| *sum = sum.map(|sum| sum + times);
            add(&mut covered.outcomes[usize::from(outcome)]);
            for (own, value) in covered.conditions.iter_mut().zip(values) {
                value.into_iter().for_each(|value| add(&mut own.values[usize::from(value)]));
            }
            covered.vectors.insert(Vector { values: values.to_vec(), outcome }, times);
        }
    }
    let covered = CoveredDecision::of(&covered, &covered, lost);
    (key, covered)
}

/// A run of a program, or of two.
fn random_run(random: &mut Random, tag: &str) -> CoverageRuns {
    let lost = random.one_in(4);
    let mut all = CoverageRuns::default();
    let mut programs = vec![all.program(program("own", 1, 0x1000))];
    if random.one_in(2) {
        programs.push(all.program(program("library", 2, 0x8000)));
    }
    for n in &programs {
        for path in ["a.c", "b.c"] {
            if random.one_in(3) {
                continue;
            }
            // One of both functions can be compared with another state of the program.
            let code = FunctionCode { start: 24, digest: Digest::of(path.as_bytes()) };
            let codes = BTreeMap::from([((path.to_owned(), (3, 8), "_f3".to_owned()), code)]);
            let file = CoveredFile::of(path, &source(random, lost), &codes);
            all.files.insert((*n, path.to_owned()), file);
        }
    }
    if random.one_in(2) {
        all.decisions.extend([decision(random, lost)]);
    }
    all.runs.push(Run { losses: u64::from(lost), ..run(tag, &programs) });
    all.finish();
    identify(&mut all);
    all
}

/// Sums runs in a random order, and in random groups.
fn summed(random: &mut Random, mut all: Vec<CoverageRuns>) -> CoverageRuns {
    while all.len() > 1 {
        let mut own = all.swap_remove(random.index(all.len()));
        let other = all.swap_remove(random.index(all.len()));
        own.add(other);
        if random.one_in(2) {
            own.finish();
            own = read(&write(&own)).expect("what was written");
        }
        all.push(own);
    }
    let mut own = all.pop().unwrap_or_default();
    own.finish();
    own
}

/// The sum has the same bytes whatever the order and the groups, and its values are those of a sum
/// of each line by itself.
#[test]
fn sums_do_not_depend_on_the_order() {
    let mut random = Random::new(17);
    for round in 0..times(40) {
        let count = random.between(1, 9);
        let tags = ["", "A", "B", "TEST-10", "TEST-2"];
        let all: Vec<_> = (0..count)
            .map(|n| random_run(&mut random, tags[(n + round as usize) % tags.len()]))
            .collect();
        let first = summed(&mut random, all.clone());
        let bytes = write(&first);
        for _ in 0..3 {
            let other = summed(&mut random, all.clone());
            assert!(bytes == write(&other), "round {round}");
        }
        assert_eq!(read(&bytes).expect("what was written"), first);
        assert_eq!(first.difference(), None);
        check_lines(&first, &all);
        // The parts of the runs add up to what is covered.
        let added: u64 = first.parts().iter().flatten().map(|part| part.added).sum();
        let files = first.files.values().flat_map(CoveredFile::cells);
        let cells = files.chain(first.decisions.values().flat_map(CoveredDecision::cells));
        assert_eq!(added, cells.filter(|cell| !cell.runs.is_empty()).count() as u64);
    }
}

/// Lines of the source files, from the runs one by one.
fn check_lines(sum: &CoverageRuns, all: &[CoverageRuns]) {
    let lost = all.iter().any(|own| own.losses() > 0);
    let mut want = BTreeMap::new();
    for ((_, path), file) in all.iter().flat_map(|own| &own.files) {
        for (line, [cell]) in &file.lines {
            *want.entry((path.clone(), *line)).or_insert(0) += cell.count.unwrap_or(0);
        }
    }
    let sources = sum.sources(Criterion::Masking);
    let mut seen = 0;
    for (path, source) in &sources {
        for (line, own) in &source.lines {
            let count = want[&(path.clone(), *line)];
            assert_eq!(own.count, Some(count).filter(|count| *count > 0 || !lost));
            seen += 1;
        }
    }
    assert_eq!(seen, want.len());
}

/// What one run measures and another does not is unknown where nothing covers it.
#[test]
fn decisions_that_are_not_measured_are_unknown() {
    let mut random = Random::new(5);
    let mut own = random_run(&mut random, "own");
    own.decisions.clear();
    let mut other = own.clone();
    let (key, mut none) = decision(&mut random, false);
    none.vectors.clear();
    let zero = DecisionCoverage {
        outcomes: [Some(0), Some(2)],
        conditions: vec![
            ConditionCoverage { values: [Some(0), Some(2)], independent: Some(false) };
            2
        ],
        ..DecisionCoverage::default()
    };
    other.decisions.insert(key, CoveredDecision::of(&zero, &zero, false));
    other.runs[0].tags = BTreeSet::from(["other".to_owned()]);
    for mut sum in [[own.clone(), other.clone()], [other, own]].map(|all| {
        let mut random = Random::new(1);
        summed(&mut random, all.to_vec())
    }) {
        let covered = sum.decisions.pop_first().expect("a decision").1;
        assert_eq!(covered.outcomes.map(|cell| cell.count), [None, Some(2)]);
        assert_eq!(covered.conditions[0].independent, [None; 2]);
    }
}

/// Other code in the place of a program is refused in any order; programs that runs have together
/// are not.
#[test]
fn other_programs_are_refused() {
    let one = |programs: &[RunProgram], tag: &str| {
        let mut all = CoverageRuns::default();
        let numbers: Vec<_> = programs.iter().map(|own| all.program(own.clone())).collect();
        all.runs.push(run(tag, &numbers));
        all.finish();
        identify(&mut all);
        all
    };
    let (a, b) = (program("own", 1, 0x1000), program("own", 2, 0x1000));
    let (far, elsewhere) = (program("far", 3, 0x9000), program("more", 4, 0x1020));
    let moved = RunProgram { paths: BTreeSet::from(["x".to_owned()]), ..a.clone() };
    let place = |own: &Option<RunsDifference>| matches!(own, Some(RunsDifference::Place(_)));
    let nothing = |own: &Option<RunsDifference>| matches!(own, Some(RunsDifference::Nothing(_)));
    let none = |own: &Option<RunsDifference>| own.is_none();
    type Check<'a> = &'a dyn Fn(&Option<RunsDifference>) -> bool;
    let cases: [(Vec<Vec<RunProgram>>, Check<'_>); 7] = [
        (vec![vec![a.clone()], vec![moved]], &none),
        (vec![vec![a.clone()], vec![b.clone()]], &place),
        (vec![vec![a.clone(), b.clone()], vec![a.clone(), b.clone()]], &none),
        (vec![vec![a.clone()], vec![elsewhere]], &place),
        (vec![vec![a.clone()], vec![far.clone()]], &nothing),
        (vec![vec![a.clone()], vec![a.clone(), far.clone()], vec![far.clone()]], &none),
        (vec![vec![a.clone(), far.clone()], vec![b, far]], &place),
    ];
    for (n, (sets, is)) in cases.into_iter().enumerate() {
        let all: Vec<_> =
            sets.iter().zip(["A", "B", "C"]).map(|(own, tag)| one(own, tag)).collect();
        for seed in 1..6 {
            let sum = summed(&mut Random::new(seed), all.clone());
            assert!(is(&sum.difference()), "case {n}: {:?}", sum.difference());
        }
    }
}

/// A file that was cut at any byte, or in which any byte was changed, is refused.
#[test]
fn damaged_files_are_refused() {
    let mut random = Random::new(3);
    let mut all = random_run(&mut random, "A");
    while all.decisions.is_empty() || all.files.is_empty() {
        all = random_run(&mut random, "A");
    }
    let bytes = write(&all);
    assert_eq!(read(&bytes).as_ref(), Ok(&all));
    for cut in 0..bytes.len() {
        let error = read(&bytes[..cut]).expect_err("a file that was cut");
        let line = 1 + bytes[..cut].iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(error.line, line, "{cut}: {error}");
    }
    for at in 0..bytes.len() {
        let mut wrong = bytes.clone();
        wrong[at] ^= 1 << random.below(7);
        let error = read(&wrong).expect_err("a file that was altered");
        // The place is at or behind the byte.
        let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        assert!(error.line >= line, "{at}: {error}");
    }
    let mut longer = bytes.clone();
    longer.extend_from_slice(b"{}\n");
    assert!(read(&longer).is_err());
    let text = String::from_utf8(bytes).expect("text");
    let other = text.replacen("\"version\":1", "\"version\":2", 1);
    let error = read(other.as_bytes()).expect_err("another version").to_string();
    assert_eq!(error, "line 1: version 2 of the format; 1 is known");
}

/// Of a state and itself, the functions are the same of which the code is known and which one
/// program has; nothing but what is in them is valid.
#[test]
fn a_state_is_valid_for_itself() {
    let mut valid_files = 0;
    for seed in 0..times(50) {
        let all = random_run(&mut Random::new(seed), "a");
        let (valid, changes) = all.clone().valid_for(&all);
        for own in &changes {
            let programs = all.files.keys().filter(|(_, path)| *path == own.path).count();
            let known = own.symbol == "_f3" && programs == 1;
            let want = if known { FunctionState::Unchanged } else { FunctionState::Unknown };
            assert_eq!(own.state, want, "{own:?}");
        }
        for ((program, path), file) in &valid.files {
            valid_files += 1;
            let whole = &all.files[&(*program, path.clone())];
            let lines = whole.lines.iter().filter(|(line, _)| (3..=8).contains(line));
            assert!(lines.eq(&file.lines), "{seed}");
            let branches = whole.branches.iter().filter(|(key, _)| (3..=8).contains(&key.line));
            assert!(branches.eq(&file.branches), "{seed}");
            let functions = whole.functions.iter().filter(|(key, _)| key.symbol == "_f3");
            assert!(functions.eq(&file.functions), "{seed}");
        }
        let one = all.programs.len() == 1 && valid.files.contains_key(&(0, "a.c".to_owned()));
        let want = if one { all.decisions } else { BTreeMap::new() };
        assert_eq!(valid.decisions, want, "{seed}");
    }
    assert!(valid_files > 10);
}
