//! Call stacks of programs that ran under QEMU, compared with call trees that are made of QEMU's
//! log without this project: calls, instructions of each function, and with the functions that it
//! calls.
//!
//! | file | contents |
//! |---|---|
//! | `program/` | the programs in C, without a C library |
//! | `oracle.rs` | the call tree by the stack pointer |
//! | `coverage.rs` | coverage of a program, compared with gcov |
//! | `formats.rs` | files for other tools, read by those tools |
//! | `losses.rs` | frames where a part of the trace is missing |
//! | `search.rs` | entries of functions and lines that `find` finds, with their call stacks |

mod coverage;
mod formats;
mod losses;
mod oracle;
mod search;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tracewright_testing::{times, tool};

use crate::common::{Folder, args, tracewright};
use oracle::{Sums, Tree};

const HEADER: &str = include_str!("program/start.h");
const START: &str = include_str!("program/start.c");

const PROGRAMS: [(&str, &str); 4] = [
    ("recursion", include_str!("program/recursion.c")),
    ("branches", include_str!("program/branches.c")),
    ("jumps", include_str!("program/jumps.c")),
    ("coroutines", include_str!("program/coroutines.c")),
];

/// A processor: options of the compiler, QEMU, and trace protocols.
struct Machine {
    name: &'static str,
    compile: &'static str,
    optimise: &'static str,
    qemu: &'static str,
    protocols: &'static [&'static str],
}

const A64: Machine = Machine {
    name: "a64",
    compile: "--target=aarch64-linux-gnu",
    optimise: "-O1",
    qemu: "qemu-aarch64",
    protocols: &["ETM4", "ETE"],
};
const A32: Machine = Machine {
    name: "a32",
    compile: "--target=arm-linux-gnueabihf -march=armv7-a -marm",
    optimise: "-O1",
    qemu: "qemu-arm",
    protocols: &["ETM3", "PTM"],
};
const T32: Machine = Machine {
    name: "t32",
    compile: "--target=arm-linux-gnueabihf -march=armv7-a -mthumb",
    optimise: "-O1",
    qemu: "qemu-arm",
    protocols: &["ETM3", "PTM"],
};
const RISCV: Machine = Machine {
    name: "riscv",
    compile: "--target=riscv64-linux-gnu -march=rv64imac -mabi=lp64",
    optimise: "-O1",
    qemu: "qemu-riscv64",
    protocols: &["etrace"],
};

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn good(command: &mut Command) {
    let output = command.output().expect("the tool runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Compiles a program, and runs it: the program, and QEMU's log.
fn execute(
    machine: &Machine,
    folder: &Path,
    name: &str,
    source: &str,
) -> Option<(PathBuf, PathBuf)> {
    let clang = tool(&[("clang-19", "clang-19")])?;
    tool(&[("ld.lld-19", "lld-19")])?;
    tool(&[("llvm-objdump-19", "llvm-19")])?;
    let qemu = tool(&[(machine.qemu, "qemu-user")])?;
    for (name, text) in [("start.h", HEADER), ("start.c", START), ("program.c", source)] {
        fs::write(folder.join(name), text).expect("a source");
    }
    let options = format!(
        "{} {} -g -fno-pic -static -nostdlib -ffreestanding -fuse-ld=lld-19 -fno-inline \
         -fno-asynchronous-unwind-tables start.c program.c -o {name}.elf",
        machine.compile, machine.optimise
    );
    good(Command::new(clang).args(words(&options)).current_dir(folder));
    let (elf, log) = (folder.join(format!("{name}.elf")), folder.join(format!("{name}.log")));
    good(Command::new(qemu).args(words("-singlestep -d exec,nochain,cpu -D")).arg(&log).arg(&elf));
    Some((elf, log))
}

/// The functions that the command finds in a trace, and what it prints of all of them.
fn functions(snapshot: &Path, options: &str) -> (BTreeMap<String, Sums>, Value) {
    let output =
        tracewright(&args(&format!("functions --strict --format json {options}"), &[snapshot]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let mut all = BTreeMap::new();
    let mut stacks = Value::Null;
    for line in output.out.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let number = |name: &str| line[name].as_u64().unwrap_or_default();
        match line["type"].as_str() {
            Some("function") => {
                let sums = Sums {
                    calls: number("calls"),
                    instructions: number("instructions"),
                    inclusive: number("inclusive_instructions"),
                };
                all.insert(line["name"].as_str().expect("a name").to_owned(), sums);
            }
            Some("stacks") => stacks = line,
            _ => {}
        }
    }
    (all, stacks)
}

/// The calls that the command lists in order: the depth and the name of each function.
fn calls(snapshot: &Path) -> Vec<(usize, String)> {
    let output = tracewright(&args("calls --strict --format json", &[snapshot]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let (mut all, mut open) = (Vec::new(), 0);
    for line in output.out.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let depth = line["depth"].as_u64().unwrap_or_default();
        match line["type"].as_str() {
            Some("begin") => {
                assert_eq!(depth, open, "{line}");
                open += 1;
                if matches!(line["entry"].as_str(), Some("call" | "tail-call")) {
                    let name = line["function"].as_str().expect("a name");
                    all.push((depth as usize, name.to_owned()));
                }
            }
            Some("end") => {
                open -= 1;
                assert_eq!(depth, open, "{line}");
            }
            _ => {}
        }
    }
    assert_eq!(open, 0);
    all
}

/// The snapshot of a program's trace.
fn encoded(folder: &Path, protocol: &str, elf: &Path, log: &Path) -> PathBuf {
    let snapshot = folder.join(protocol);
    let mut all = args(&format!("encode --protocol {protocol} --log"), &[log]);
    all.extend(args("--image", &[elf]));
    all.extend(args("--output", &[&snapshot]));
    let output = tracewright(&all);
    assert_eq!(output.code, Some(0), "{protocol}: {}", output.err);
    snapshot
}

/// The trace of each program. By default half of the programs: `first`, and each second one after
/// it.
fn check(machine: &Machine, first: usize) {
    let (first, step) = if times(0) > 0 { (0, 1) } else { (first, 2) };
    for (name, source) in PROGRAMS.into_iter().skip(first).step_by(step) {
        let folder = Folder::new(&format!("call-tree-{}-{name}", machine.name));
        let path = folder.path("");
        let Some((elf, log)) = execute(machine, &path, name, source) else { return };
        let text = fs::read_to_string(&log).expect("a log");
        let tree = oracle::tree(&elf, &text, name == "coroutines");
        assert!(tree.calls.len() > 30, "{name}: {} calls", tree.calls.len());
        for protocol in machine.protocols {
            let snapshot = encoded(&path, protocol, &elf, &log);
            compare(&tree, &snapshot, &format!("{} {name} {protocol}", machine.name));
        }
    }
}

fn compare(tree: &Tree, snapshot: &Path, what: &str) {
    let (found, stacks) = functions(snapshot, "--jobs 1");
    assert_eq!(found, tree.functions, "{what}");
    assert_eq!(stacks["instructions"].as_u64(), Some(tree.instructions), "{what}");
    assert_eq!(stacks["begun"], stacks["ended"], "{what}");
    assert_eq!(calls(snapshot), tree.calls, "{what}");
    let sum: u64 = found.values().map(|sums| sums.instructions).sum();
    assert_eq!(sum, tree.instructions, "{what}");
}

#[test]
fn a64() {
    check(&A64, 0);
}

#[test]
fn a32() {
    check(&A32, 0);
}

#[test]
fn t32() {
    check(&T32, 1);
}

#[test]
fn riscv() {
    check(&RISCV, 1);
}
