//! Branches in order, and samples with the branches before each: those of QEMU's log, and what the
//! tools of compilers read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Folder, args, tracewright};
use crate::perf::{encode, executed, executed_of, ok, run};
use tracewright::capture::perf::{self, Search};
use tracewright_testing::{shared, tool, tool_since};

/// The options for one segment at the address.
const LINKED: &str = "-O1 -gdwarf-4 -Wl,-z,noseparate-code -Wl,--no-rosegment \
                      -Wl,-z,max-page-size=4096 -Wl,--image-base=0x400000";

/// The pairs of addresses between which the log does not go on, without system calls: in order.
fn pairs(folder: &Folder, steps: &[(u64, String)]) -> Vec<(u64, u64)> {
    let program = fs::read(folder.path("program")).unwrap();
    let calls = |pc: u64| {
        let at = (pc - 0x40_0000) as usize;
        // SVC #0.
        program[at..at + 4] == [0x01, 0x00, 0x00, 0xd4]
    };
    let pairs = steps.windows(2).map(|pair| (pair[0].0, pair[1].0));
    pairs.filter(|(from, to)| *to != from + 4 && !calls(*from)).collect()
}

/// The counts of pairs.
fn counts(pairs: &[(u64, u64)]) -> BTreeMap<(u64, u64), u64> {
    let mut counts = BTreeMap::new();
    pairs.iter().for_each(|pair| *counts.entry(*pair).or_default() += 1);
    counts
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

/// The branches of `profile --format json`.
fn profiled(path: &Path) -> BTreeMap<(u64, u64), u64> {
    let output = tracewright(&args("profile --format json", &[path]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let lines = output.out.lines().map(|line| serde_json::from_str(line).unwrap());
    let branches = lines.filter(|line: &serde_json::Value| line["type"] == "branch");
    let counted = branches.filter_map(|line| {
        let address = |key: &str| line[key].as_str().map(hex);
        Some(((address("from")?, address("to")?), line["count"].as_u64()?))
    });
    counted.collect()
}

/// Each branch of the log, in order, with the name of its functions.
#[test]
fn branches_are_those_of_the_log() {
    let folder = Folder::new("branches");
    let Some(steps) = executed_of(&folder, "branch_program.c", LINKED) else { return };
    let want = pairs(&folder, &steps);
    assert!(want.len() > 1000 && steps.iter().any(|(_, name)| name == "handler"));
    let data = folder.path("perf.data");
    for words in
        ["--protocol ETM4 --to perf", "--protocol ETE --to perf --config TRCCONFIGR=0x80c1"]
    {
        encode(&folder, words, &data);
        for jobs in ["1", "3"] {
            let words = format!("branches --format json --jobs {jobs}");
            let output = tracewright(&args(&words, &[&data]));
            assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{words}");
            let (mut found, mut exceptions) = (Vec::new(), 0);
            for line in output.out.lines().skip(1) {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                let kind = line["kind"].as_str().unwrap();
                exceptions += u32::from(kind.starts_with("exception "));
                if let (false, Some(from), Some(to)) =
                    (kind.starts_with("exception "), line["from"].as_str(), line["to"].as_str())
                {
                    found.push((hex(from), hex(to)));
                }
            }
            let same = found.iter().zip(&want).take_while(|(a, b)| a == b).count();
            assert!(found == want, "{same} of {} and {}", found.len(), want.len());
            assert!(exceptions > 0);
        }
        let output = tracewright(&args("branches --limit 40", &[&data]));
        assert_eq!(output.out.lines().count(), 40);
        for want in ["<fibonacci", "> -> 0x", "  call\n", "  return\n"] {
            assert!(output.out.contains(want), "{want}: {}", output.out);
        }
        assert_eq!(profiled(&data), counts(&want));
    }
}

/// Each branch of the log is in one sample, as perf reads them, and as they are profiled again.
#[test]
fn samples_have_each_branch_once() {
    let folder = Folder::new("samples");
    let Some(steps) = executed_of(&folder, "branch_program.c", LINKED) else { return };
    let want = counts(&pairs(&folder, &steps));
    let [data, samples] = ["perf.data", "samples.data"].map(|name| folder.path(name));
    encode(&folder, "--protocol ETM4 --to perf", &data);
    let output = tracewright(&args("profile --format perf-data -o", &[&samples, &data]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert_eq!(output.err.lines().count(), 1, "{}", output.err);
    assert!(output.err.contains("note: each branch is in one of"), "{}", output.err);
    // The exceptions of system calls are branches in the terms of perf.
    let of_log = |found: BTreeMap<(u64, u64), u64>| {
        let found = found.into_iter().filter(|(pair, _)| want.contains_key(pair));
        found.collect::<BTreeMap<_, _>>()
    };
    assert_eq!(of_log(profiled(&samples)), want);
    // The counts of both are summed, as they are of one program.
    let output = tracewright(&args("profile --quiet --format json", &[&data, &samples]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let sum: u64 = want.values().sum();
    let lines = output.out.lines().filter_map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let of_branch = line["type"] == "branch";
        let pair = (line["from"].as_str().map(hex)?, line["to"].as_str().map(hex)?);
        line["count"].as_u64().filter(|_| of_branch && want.contains_key(&pair))
    });
    assert_eq!(lines.sum::<u64>(), 2 * sum);
    let Some(perf) = tool_since(&[("perf", "linux-perf")], (6, 1)) else { return };
    let words = "script -F brstack -i";
    let output = Command::new(perf).args(args(words, &[&samples])).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let entries = text.split_whitespace().filter_map(|entry| {
        let mut parts = entry.split('/');
        Some((hex(parts.next()?), hex(parts.next()?)))
    });
    assert_eq!(of_log(counts(&entries.collect::<Vec<_>>())), want);
    let report = ok(perf, "report --stdio --sort symbol -i", &[&samples]);
    assert!(report.contains("fibonacci"), "{report}");
    // The file states that it has branches.
    let report = ok(perf, "report --stdio --sort symbol_from,symbol_to -i", &[&samples]);
    assert!(report.lines().any(|line| line.matches("fibonacci").count() == 2), "{report}");
    // The samples that perf makes of the trace, in a file.
    let words = "profile --format perf-data --itrace i100il16 -o";
    assert_eq!(tracewright(&args(words, &[&samples, &data])).code, Some(0));
    let lines = |words: &str, path: &Path| {
        let output = Command::new(perf).args(args(words, &[path])).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let want = lines("script --itrace=i100il16 -F ip,sym,brstack -i", &data);
    let found = lines("script -F ip,sym,brstack -i", &samples);
    assert!(found == want && found.lines().count() > 20, "{found}\n{want}");
    // The file that perf makes has the same.
    let injected = folder.path("injected.data");
    ok(perf, "inject --strip --itrace=i100il16 -i", &[&data, Path::new("-o"), &injected]);
    assert!(lines("script -F ip,sym,brstack -i", &injected) == found);
}

/// The tools of compilers find the entries of functions that the log has.
#[test]
fn tools_of_compilers_read_the_samples() {
    let folder = Folder::new("samples-tools");
    let Some(steps) = executed(&folder) else { return };
    let [data, samples, out, program] =
        ["perf.data", "samples.data", "out", "program"].map(|name| folder.path(name));
    encode(&folder, "--protocol ETM4 --to perf", &data);
    let output = tracewright(&args("profile --quiet --format perf-data -o", &[&samples, &data]));
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    let entries = |name: &str| {
        let calls = steps.windows(2).filter(|pair| pair[0].1 != name && pair[1].1 == name);
        let first = steps.iter().filter(|(_, its)| its == name).map(|(pc, _)| *pc).min();
        calls.filter(|pair| Some(pair[1].0) == first).count()
    };
    let check = |tool: &str| {
        let text = fs::read_to_string(&out).unwrap();
        for name in ["collatz", "twice", "thrice"] {
            let line = text.lines().find(|line| line.starts_with(&format!("{name}:")));
            let head = line.and_then(|line| line.split(':').nth(2)?.parse().ok());
            assert_eq!(head, Some(entries(name)), "{tool} {name}: {text}");
        }
    };
    if let Some(autofdo) = tool(&[("create_llvm_prof", "autofdo")]) {
        let words = format!(
            "--profiler=perf --format=text --binary={} --profile={} --out={}",
            program.display(),
            samples.display(),
            out.display()
        );
        ok(autofdo, &words, &[]);
        check(autofdo);
    }
    if tool_since(&[("perf", "linux-perf")], (6, 1)).is_none() {
        return;
    }
    if let Some(profgen) = tool(&[("llvm-profgen-22", "llvm-22"), ("llvm-profgen-19", "llvm-19")]) {
        let words = format!(
            "--format text --perfdata {} --binary {} --output",
            samples.display(),
            program.display()
        );
        ok(profgen, &words, &[&out]);
        check(profgen);
    }
    if let Some(bolt) = tool(&[("perf2bolt-22", "bolt-22"), ("perf2bolt-19", "bolt-19")]) {
        let (text, code) = run(bolt, "-p", &[&samples, Path::new("-o"), &out, &program]);
        assert_eq!(code, Some(0), "{text}");
        let taken = steps.windows(2).filter(|pair| pair[1].0 != pair[0].0 + 4).count();
        assert!(text.contains(&format!(" {taken} brstack entries")), "{taken}: {text}");
        let fdata = fs::read_to_string(&out).unwrap();
        let line = format!(" collatz/1 0 0 {}", entries("collatz"));
        assert!(fdata.lines().any(|found| found.ends_with(&line)), "{fdata}");
    }
}

/// Two processes on one CPU, of which one leads into the other without an exception between: the
/// branches of a sample are those of its process, whose files are mapped at other addresses.
#[test]
fn samples_have_the_branches_of_one_process() {
    let Some(data) = shared("findings/repro/linux/cross-pid/direct.data") else { return };
    let Some(program) = shared("findings/repro/linux/lib/prog") else { return };
    let folder = Folder::new("samples-processes");
    let samples = folder.path("samples.data");
    let words = "profile --quiet --format perf-data -o";
    let output = tracewright(&args(words, &[&samples, &data, Path::new("--binary"), &program]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let found = perf::branch_samples(&samples, &Search::default()).unwrap().unwrap();
    let mut branches = BTreeMap::new();
    for sample in &found.samples {
        let (process, _) = sample.task.unwrap();
        let place = if process == 101 { 0x40_0000..0x41_0000 } else { 0x50_0000..0x51_0000 };
        for (from, to) in &sample.branches {
            assert!(place.contains(from) && place.contains(to), "{process}: {from:#x} {to:#x}");
            *branches.entry(process).or_insert(0) += 1;
        }
    }
    // Those that `branches` lists, but what leads to the other process.
    assert_eq!(branches, BTreeMap::from([(101, 4), (202, 10)]));
}
