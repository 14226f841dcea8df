//! Threads of one program: QEMU's log of each thread, on a processor of its own, and in slices on
//! one processor, as a system executes them that is not traced itself.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tracewright_testing::{Random, tool, tool_since};

use super::oracle::{Sums, Tree, pc, tree};
use super::{A64, address, compile, encoded, good, table, words};
use crate::common::{Folder, args, tracewright};

const SOURCE: &str = include_str!("program/threads.c");

/// A thread: the addresses that it executes, and its call tree.
struct Thread {
    addresses: Vec<u64>,
    tree: Tree,
}

/// Runs the program at `elf` with a log of each thread.
fn threads(folder: &Path, elf: &Path) -> Option<Vec<Thread>> {
    tool(&[("llvm-objdump-19", "llvm-19")])?;
    let qemu = tool_since(&[(A64.qemu, "qemu-user")], (7, 2))?;
    let options = words("-singlestep -d exec,nochain,cpu,tid -D");
    good(Command::new(qemu).args(options).arg(folder.join("thread-%d.log")).arg(elf));
    let files = fs::read_dir(folder).expect("the folder").map(|file| file.expect("a file").path());
    let mut logs: Vec<_> =
        files.filter(|path| path.to_string_lossy().contains("/thread-")).collect();
    logs.sort();
    let threads = logs.iter().filter_map(|path| {
        let text = fs::read_to_string(path).expect("a log");
        let addresses: Vec<u64> = text.lines().filter_map(pc).collect();
        (!addresses.is_empty()).then(|| Thread { tree: tree(elf, &text, false), addresses })
    });
    Some(threads.collect())
}

/// The sums of all threads.
fn sums(threads: &[Thread]) -> BTreeMap<u64, Sums> {
    let mut all: BTreeMap<u64, Sums> = BTreeMap::new();
    for (address, sums) in threads.iter().flat_map(|thread| &thread.tree.functions) {
        let sum = all.entry(*address).or_default();
        sum.calls += sums.calls;
        sum.instructions += sums.instructions;
        sum.inclusive += sums.inclusive;
    }
    all
}

/// The calls of each thread that the command lists, in the order of the threads' names.
fn calls(snapshot: &Path) -> Vec<Vec<(usize, u64)>> {
    let output = tracewright(&args("calls --format json", &[snapshot]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let mut all: BTreeMap<String, Vec<(usize, u64)>> = BTreeMap::new();
    for line in output.out.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        if line["type"] == "begin" && (line["entry"] == "call" || line["entry"] == "tail-call") {
            let depth = line["depth"].as_u64().expect("a depth") as usize;
            let thread = line["thread"].as_str().expect("a thread").to_owned();
            all.entry(thread).or_default().push((depth, address(&line)));
        }
    }
    all.into_values().collect()
}

fn compare(threads: &[Thread], snapshot: &Path, what: &str) {
    let (rows, stacks) = table(snapshot, "");
    let found: BTreeMap<u64, Sums> = rows.iter().map(|(_, at, sums)| (*at, *sums)).collect();
    for (name, at, sums) in &rows {
        assert_eq!(Some(sums), super::threads::sums(threads).get(at), "{what}: {name}");
    }
    assert_eq!(found, sums(threads), "{what}");
    assert_eq!(stacks["begun"], stacks["ended"], "{what}");
    let mut want: Vec<_> = threads.iter().map(|thread| thread.tree.calls.clone()).collect();
    let mut found = calls(snapshot);
    want.sort();
    found.sort();
    assert_eq!(found, want, "{what}");
}

/// All threads in slices of a few instructions on one processor, with an interrupt and another
/// context identifier at each change.
fn in_slices(threads: &[Thread]) -> String {
    let mut log = "step,address,isa,value,cause,target,el\n".to_owned();
    let mut left: Vec<_> =
        threads.iter().map(|thread| thread.addresses.iter().peekable()).collect();
    let (mut current, mut random) = (0, Random::new(3));
    let _ = writeln!(log, "contextid,,,1,,,0");
    while left.iter_mut().any(|rest| rest.peek().is_some()) {
        for _ in 0..random.between(1, 150) {
            if let Some(address) = left[current].next() {
                let _ = writeln!(log, "instruction,{address:x},A64,,,,0");
            }
        }
        let waiting: Vec<usize> =
            (0..left.len()).filter(|&n| n != current && left[n].peek().is_some()).collect();
        let ended = left[current].peek().is_none();
        if waiting.is_empty() && !ended {
            continue;
        }
        // A thread ends with a system call.
        let last = threads[current].addresses.last().copied().unwrap_or_default() + 4;
        let resume = left[current].peek().map_or(last, |resume| **resume);
        let cause = if ended { "call" } else { "irq" };
        let _ = writeln!(log, "exception,{resume:x},,,{cause},400,\noff");
        if waiting.is_empty() {
            break;
        }
        current = random.pick(&waiting);
        let _ = writeln!(log, "on\ncontextid,,,{:x},,,0", current + 1);
    }
    log
}

/// Each thread on a processor of its own.
fn side_by_side(threads: &[Thread]) -> String {
    let mut log = "cpu,step,address,isa,el,cause,target\n".to_owned();
    for (cpu, thread) in threads.iter().enumerate() {
        for address in &thread.addresses {
            let _ = writeln!(log, "{cpu},,{address:x},A64,0,,");
        }
        let last = thread.addresses.last().copied().unwrap_or_default() + 4;
        let _ = writeln!(log, "{cpu},exception,{last:x},,,call,400\n{cpu},off,,,,,");
    }
    log
}

#[test]
fn threads_have_stacks_of_their_own() {
    let folder = Folder::new("call-tree-threads");
    let path = folder.path("");
    let Some(elf) = compile(&A64, &path, "threads", SOURCE) else { return };
    let Some(threads) = threads(&path, &elf) else { return };
    assert_eq!(threads.len(), 4);
    for (name, log) in [("slices", in_slices(&threads)), ("cores", side_by_side(&threads))] {
        let folder = path.join(name);
        fs::create_dir(&folder).expect("a folder");
        let file = folder.join("log.csv");
        fs::write(&file, log).expect("a log");
        for protocol in A64.protocols {
            let snapshot = encoded(&folder, protocol, &elf, &file);
            compare(&threads, &snapshot, &format!("{name} {protocol}"));
        }
    }
}
