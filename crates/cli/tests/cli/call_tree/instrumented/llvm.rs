//! Conditions by llvm-cov: clang's instrumentation of the source, for this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tracewright_testing::{tool, without_tool};

use super::{Program, good, words};

/// A line and a column.
pub(super) type Place = (u64, u64);

/// The values of the conditions of an evaluation, and the outcome.
pub(super) type Vector = (Vec<Option<bool>>, bool);

/// What one function has of a decision of several conditions.
#[derive(Debug)]
pub(super) struct Record {
    /// By condition: whether it was shown to decide the outcome.
    pub(super) covered: Vec<bool>,
    pub(super) vectors: BTreeSet<Vector>,
}

/// What is instrumented of a program. Places in a macro are that of the outermost macro.
#[derive(Debug, Default)]
pub(super) struct Instrumented {
    /// By place: how often each condition was false and true, in the order of evaluation.
    pub(super) conditions: BTreeMap<Place, Vec<[u64; 2]>>,
    /// Decisions of several conditions, by place.
    pub(super) decisions: BTreeMap<Place, Vec<Record>>,
    /// The object file that describes the decisions.
    pub(super) map: PathBuf,
}

/// A record of a region: its begin and end, and the number of its file at `file`.
#[derive(Clone, Copy)]
struct Region {
    file: u64,
    from: Place,
    to: Place,
}

impl Region {
    fn of(record: &Value, file: usize) -> Region {
        let n = |n: usize| record[n].as_u64().expect("a number");
        Region { file: n(file), from: (n(0), n(1)), to: (n(2), n(3)) }
    }

    /// Its text, if it is in one line.
    fn text<'a>(&self, lines: &[&'a str]) -> Option<&'a str> {
        let columns = self.from.1 as usize - 1..self.to.1 as usize - 1;
        let line = lines.get(self.from.0 as usize - 1).filter(|_| self.from.0 == self.to.0);
        line?.get(columns)
    }
}

/// Runs the instrumented program, and reads what llvm-cov exports.
pub(super) fn decisions(program: &Program, folder: &Path) -> Option<Instrumented> {
    let clang = tool(&[("clang-22", "clang-22")])?;
    let (merge, cov) =
        (tool(&[("llvm-profdata-22", "llvm-22")])?, tool(&[("llvm-cov-22", "llvm-22")])?);
    let language = if program.is_cpp() { "c++" } else { "c" };
    let options = format!(
        "-w -O0 -fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc -Ihosted -x {language} \
         source/{} -c -o instrumented.o",
        program.file
    );
    good(Command::new(clang).args(words(&options)).current_dir(folder));
    let link = "--driver-mode=g++ -fprofile-instr-generate -x c hosted/main.c -x none \
                instrumented.o -o instrumented";
    let output = Command::new(clang).args(words(link)).current_dir(folder).output();
    let output = output.expect("the compiler runs");
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        let why = why.lines().next().unwrap_or_default();
        without_tool(&format!("clang-22 cannot link (Debian: libclang-rt-22-dev): {why}"));
        return None;
    }
    let profile = folder.join("instrumented.profraw");
    let mut run = Command::new(folder.join("instrumented"));
    good(run.env("LLVM_PROFILE_FILE", &profile).current_dir(folder));
    let merged = words("merge instrumented.profraw -o instrumented.profdata");
    good(Command::new(merge).args(merged).current_dir(folder));
    let export = words("export -instr-profile instrumented.profdata instrumented");
    let output = Command::new(cov).args(export).current_dir(folder).output();
    let all: Value = serde_json::from_slice(&output.expect("llvm-cov runs").stdout).expect("JSON");
    let map = folder.join("instrumented.o");
    let mut own = Instrumented { map, ..Instrumented::default() };
    let text = fs::read_to_string(folder.join("source").join(program.file)).expect("a source");
    let lines: Vec<&str> = text.lines().collect();
    for function in list(&all["data"][0]["functions"]) {
        let of_program = list(&function["filenames"])
            .iter()
            .all(|path| path.as_str().is_some_and(|path| path.ends_with(program.file)));
        if of_program {
            own.add(function, &lines);
        }
    }
    assert!(!own.decisions.is_empty(), "{}", program.name);
    Some(own)
}

/// The begin and the end of a record, and its file.
fn region(record: &Value) -> [Option<u64>; 5] {
    [0, 1, 2, 3, 6].map(|n| record[n].as_u64())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

impl Instrumented {
    fn add(&mut self, function: &Value, lines: &[&str]) {
        // The macro that has each file.
        let expansions: BTreeMap<u64, Region> = list(&function["regions"])
            .iter()
            .filter(|own| own[7] == 1)
            .map(|own| (own[6].as_u64().expect("a file"), Region::of(own, 5)))
            .collect();
        let outer = |mut own: Region| {
            while let Some(outer) = expansions.get(&own.file) {
                own = *outer;
            }
            own.from
        };
        // Where objects are destroyed behind a decision, it has a branch as a whole, beside that of
        // its first condition.
        let decisions: Vec<_> = list(&function["mcdc_records"]).iter().map(region).collect();
        let mut counts = BTreeMap::<Place, Vec<[u64; 2]>>::new();
        for own in list(&function["branches"]) {
            let region = Region::of(own, 6);
            // The conditions of `while (0)` and the like decide nothing.
            let constant = region.text(lines).is_some_and(|text| text.parse::<u64>().is_ok());
            let [yes, no] = [4, 5].map(|n| own[n].as_u64().expect("a count"));
            let is_whole =
                decisions.contains(&self::region(own)) && !expansions.contains_key(&region.file);
            if (!constant || own[8] != 4) && !is_whole {
                counts.entry(outer(region)).or_default().push([no, yes]);
            }
        }
        for (place, counts) in counts {
            let sums = self.conditions.entry(place).or_default();
            sums.resize(counts.len(), [0; 2]);
            for (sum, own) in sums.iter_mut().flatten().zip(counts.iter().flatten()) {
                *sum += own;
            }
        }
        for own in list(&function["mcdc_records"]) {
            let covered = list(&own[9]).iter().map(|own| own.as_bool().expect("a flag"));
            let vectors = list(&own[10]).iter().filter(|own| own["executed"] == true).map(|own| {
                let values = list(&own["conditions"]).iter().map(Value::as_bool);
                (values.collect(), own["result"].as_bool().expect("an outcome"))
            });
            let record = Record { covered: covered.collect(), vectors: vectors.collect() };
            self.decisions.entry(outer(Region::of(own, 6))).or_default().push(record);
        }
    }
}
