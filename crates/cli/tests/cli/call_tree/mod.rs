//! Call stacks of programs that ran under QEMU, compared with call trees that are made of QEMU's
//! log without this project: calls, instructions of each function, and with the functions that it
//! calls.
//!
//! | file | contents |
//! |---|---|
//! | `program/` | the programs in C, without a C library |
//! | `oracle.rs` | the call tree by the stack pointer |
//! | `coverage.rs` | coverage of a program, compared with gcov |
//! | `decisions.rs` | decisions and conditions, compared with what the program records |
//! | `event_tasks.rs` | tasks of FreeRTOS that a DWT names in the trace of an ITM |
//! | `formats.rs` | files for other tools, read by those tools |
//! | `instrumented/` | coverage of programs, compared with what gcov and llvm-cov count of them |
//! | `losses.rs` | frames where a part of the trace is missing |
//! | `named_tasks.rs` | tasks of FreeRTOS that stores to a variable or context IDs name |
//! | `parts.rs` | traces cut into parts |
//! | `random_decisions.rs` | random programs with decisions |
//! | `reported_tasks.rs` | tasks of FreeRTOS in an ETM, that a DWT names in the ITM beside it |
//! | `search.rs` | entries of functions and lines that `find` finds, with their call stacks |
//! | `rtos.rs` | tasks of FreeRTOS |
//! | `sweep.rs` | decisions at each level of optimisation, compared with listings of instructions, too |
//! | `tasks.rs` | the order of tasks of FreeRTOS, beside what a hook recorded |
//! | `threads.rs` | threads, on one processor and on several |

mod counted_tasks;
mod coverage;
mod decisions;
mod decisions_of_tasks;
mod event_tasks;
mod formats;
mod instrumented;
mod losses;
mod named_tasks;
mod object_code;
mod oracle;
mod orti;
mod parts;
mod random_decisions;
mod reported_tasks;
mod rtos;
mod search;
mod states;
mod sweep;
mod tasks;
mod threads;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tracewright_testing::{is_long, skip, times, tool, tool_since};

use crate::common::{Folder, args, tracewright};
use oracle::{Sums, Tree};

const HEADER: &str = include_str!("program/start.h");
const START: &str = include_str!("program/start.c");

const PROGRAMS: [(&str, &str); 6] = [
    ("recursion", include_str!("program/recursion.c")),
    ("branches", include_str!("program/branches.c")),
    ("tails", include_str!("program/tails.c")),
    ("jumps", include_str!("program/jumps.c")),
    ("coroutines", include_str!("program/coroutines.c")),
    ("signals", include_str!("program/signals.c")),
];
const CPP: &str = include_str!("program/exceptions.cpp");
const RUST: &str = include_str!("program/program.rs");

/// A processor: options of the compiler, QEMU, and trace protocols.
struct Machine {
    name: &'static str,
    compile: &'static str,
    optimise: &'static str,
    qemu: &'static str,
    /// GCC with a C library: the begin of the names of its programs, and the package.
    gnu: Option<(&'static str, &'static str)>,
    gnu_options: &'static str,
    protocols: &'static [&'static str],
}

const A64: Machine = Machine {
    name: "a64",
    compile: "--target=aarch64-linux-gnu",
    optimise: "-O1",
    qemu: "qemu-aarch64",
    gnu: Some(("aarch64-linux-gnu", "g++-aarch64-linux-gnu")),
    gnu_options: "",
    protocols: &["ETM4", "ETE"],
};
const A32: Machine = Machine {
    name: "a32",
    compile: "--target=arm-linux-gnueabihf -march=armv7-a -marm",
    optimise: "-O1",
    qemu: "qemu-arm",
    gnu: Some(("arm-linux-gnueabihf", "g++-arm-linux-gnueabihf")),
    gnu_options: "-marm",
    protocols: &["ETM3", "PTM"],
};
const T32: Machine = Machine {
    name: "t32",
    compile: "--target=arm-linux-gnueabihf -march=armv7-a -mthumb",
    optimise: "-O1",
    qemu: "qemu-arm",
    gnu: Some(("arm-linux-gnueabihf", "g++-arm-linux-gnueabihf")),
    gnu_options: "-mthumb",
    protocols: &["ETM3", "PTM"],
};
const RISCV: Machine = Machine {
    name: "riscv",
    compile: "--target=riscv64-linux-gnu -march=rv64imac -mabi=lp64",
    optimise: "-O1",
    qemu: "qemu-riscv64",
    gnu: Some(("riscv64-linux-gnu", "g++-riscv64-linux-gnu")),
    gnu_options: "",
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
    let elf = compile(machine, folder, name, source)?;
    let log = logged(machine, &elf, None)?;
    Some((elf, log))
}

/// Compiles a program without a C library.
fn compile(machine: &Machine, folder: &Path, name: &str, source: &str) -> Option<PathBuf> {
    let clang = tool(&[("clang-19", "clang-19")])?;
    tool(&[("ld.lld-19", "lld-19")])?;
    for (name, text) in [("start.h", HEADER), ("start.c", START), ("program.c", source)] {
        fs::write(folder.join(name), text).expect("a source");
    }
    let options = format!(
        "{} {} -g -fno-pic -static -nostdlib -ffreestanding -fuse-ld=lld-19 -fno-inline \
         -fno-asynchronous-unwind-tables start.c program.c -o {name}.elf",
        machine.compile, machine.optimise
    );
    good(Command::new(clang).args(words(&options)).current_dir(folder));
    Some(folder.join(format!("{name}.elf")))
}

/// The path of a part of the C library's start code.
fn start_file(compiler: &str, name: &str) -> String {
    let found = Command::new(compiler).arg(format!("-print-file-name={name}")).output();
    let found = String::from_utf8(found.expect("the compiler runs").stdout).expect("a path");
    found.trim().to_owned()
}

/// The program in C++, with the C library and its unwinder. Without `crtbeginT.o`, which sorts all
/// frame descriptions at the first exception.
fn compile_cpp(machine: &Machine, folder: &Path, more: &str) -> Option<PathBuf> {
    let (gcc, package) = machine.gnu?;
    let compiler = format!("{gcc}-g++");
    tool(&[(&compiler, package)])?;
    fs::write(folder.join("program.cpp"), CPP).expect("a source");
    let part = |name| start_file(&compiler, name);
    let elf = folder.join("exceptions.elf");
    let options = "-g -O1 -static -no-pie -fno-inline -nostartfiles -Wl,--eh-frame-hdr";
    let mut command = Command::new(&compiler);
    command.args(words(options)).args(words(machine.gnu_options)).args(words(more));
    command.arg("-o").arg(&elf);
    command.args(["crt1.o", "crti.o", "crtbegin.o"].map(part)).arg("program.cpp");
    good(command.args(["crtend.o", "crtn.o"].map(part)).current_dir(folder));
    Some(elf)
}

/// The program in Rust, by the compiler in `TRACEWRIGHT_RUSTC`, or `rustc`, if it has the standard
/// library for A64.
fn compile_rust(folder: &Path) -> Option<PathBuf> {
    let linker = tool_since(&[("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")], (12, 2))?;
    let rustc = std::env::var_os("TRACEWRIGHT_RUSTC").unwrap_or("rustc".into());
    let target = ["--target", "aarch64-unknown-linux-gnu"];
    let library = Command::new(&rustc).args(target).args(["--print", "target-libdir"]).output();
    let library = library.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    if !library.is_ok_and(|path| Path::new(path.trim()).is_dir()) {
        skip("rustc has no standard library for aarch64-unknown-linux-gnu; see TRACEWRIGHT_RUSTC");
        return None;
    }
    fs::write(folder.join("program.rs"), RUST).expect("a source");
    let elf = folder.join("rust.elf");
    let options = "-g --edition 2021 -C opt-level=1 -C target-feature=+crt-static \
                   -C relocation-model=static program.rs -o";
    let mut command = Command::new(rustc);
    // The start code is that of C++.
    let [first, second, third] = ["crt1.o", "crti.o", "crtbegin.o"].map(|f| start_file(linker, f));
    let [fourth, fifth] = ["crtend.o", "crtn.o"].map(|name| start_file(linker, name));
    let script = format!(
        "#!/bin/sh\nexec {linker} -nostartfiles -Wl,--eh-frame-hdr {first} {second} {third} \"$@\" \
         {fourth} {fifth}\n"
    );
    let path = folder.join("gcc-without-start");
    fs::write(&path, script).expect("a script");
    good(Command::new("chmod").arg("+x").arg(&path));
    let linker = format!("linker={}", path.display());
    command.args(target).arg("-C").arg(linker).args(words(options)).arg(&elf);
    good(command.current_dir(folder));
    Some(elf)
}

/// Runs a program, and writes the part of QEMU's log that is used: each instruction, with the stack
/// pointer and condition flags before it, and the exceptions of system calls. With a function, from
/// its first instruction to its return, without exceptions.
fn logged(machine: &Machine, elf: &Path, function: Option<&str>) -> Option<PathBuf> {
    tool(&[("llvm-objdump-19", "llvm-19")])?;
    let qemu = tool_since(&[(machine.qemu, "qemu-user")], (7, 2))?;
    let options = words("-singlestep -d exec,nochain,cpu -D /dev/stdout");
    let mut child = Command::new(qemu).args(options).arg(elf).stdout(Stdio::piped()).spawn();
    let child = child.as_mut().expect("the emulator runs");
    let log = elf.with_extension("log");
    let mut out = BufWriter::new(fs::File::create(&log).expect("a log"));
    let first = function.map(|name| oracle::address(elf, name));
    // The address and the stack pointer at which the function has returned.
    let mut end = None;
    // The exceptions, which QEMU does not log for a program of Linux.
    let exceptions = match function {
        None => oracle::system_calls(elf),
        Some(_) => HashSet::new(),
    };
    let mut exception = None;
    let mut record: Vec<String> = Vec::new();
    let (mut begun, mut ended) = (first.is_none(), false);
    let mut flush = |record: &mut Vec<String>| {
        let at = record.first().and_then(|line| oracle::pc(line));
        let sp = record.iter().find_map(|line| oracle::registers(line).0);
        let lr = record.iter().find_map(|line| oracle::registers(line).1);
        if !begun && at.is_some() && at == first {
            (begun, end) = (true, Some((lr.map(|lr| lr & !1), sp)));
        }
        ended |= end.is_some_and(|(lr, before)| lr == at && before == sp);
        if begun && !ended {
            if let Some(lines) = exception.take() {
                writeln!(out, "{lines}").expect("lines");
            }
            for line in record.iter() {
                let status = line.split(' ').next().filter(|word| word.starts_with("PSR="));
                if line.starts_with("Trace ") || line.starts_with("Stopped ") {
                    writeln!(out, "{line}").expect("a line");
                } else if let Some(status) = status {
                    writeln!(out, "{status}").expect("a line");
                }
            }
            if let Some(sp) = sp {
                writeln!(out, " SP={sp:x}").expect("a line");
            }
            // The handler is at another exception level, which is not traced.
            exception = at.filter(|at| exceptions.contains(at)).map(|at| {
                format!(
                    "Taking exception 2 [SVC] on CPU 0\n...with ELR {:#x}\n...to EL1 PC 0x400\n\
                     Exception return from AArch64 EL1 to AArch64 EL0 PC 0x0",
                    at + 4
                )
            });
        }
        record.clear();
    };
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    for line in lines.map(|line| line.expect("text")) {
        if line.starts_with("Trace ") || line.starts_with("Stopped ") {
            flush(&mut record);
        }
        record.push(line);
    }
    flush(&mut record);
    assert!(child.wait().expect("the emulator ends").success());
    out.flush().expect("a log");
    Some(log)
}

/// The address of a line.
fn address(line: &Value) -> u64 {
    let text = line["address"].as_str().and_then(|text| text.strip_prefix("0x"));
    let text = text.unwrap_or_else(|| panic!("{line} has no address"));
    u64::from_str_radix(text, 16).expect("hexadecimal")
}

/// The functions that the command finds in a trace, by name.
fn functions(snapshot: &Path, options: &str) -> (BTreeMap<String, Sums>, Value) {
    let (rows, stacks) = table(snapshot, options);
    (rows.into_iter().map(|(name, _, sums)| (name, sums)).collect(), stacks)
}

/// The names, the addresses and the sums of the functions that the command finds in a trace, and
/// what it prints of all of them.
fn table(snapshot: &Path, options: &str) -> (Vec<(String, u64, Sums)>, Value) {
    let output = tracewright(&args(&format!("functions --format json {options}"), &[snapshot]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let (mut all, mut stacks) = (Vec::new(), Value::Null);
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
                let name = line["name"].as_str().expect("a name");
                all.push((name.to_owned(), address(&line), sums));
            }
            Some("stacks") => stacks = line,
            _ => {}
        }
    }
    (all, stacks)
}

/// The calls that the command lists in order: the depth and the address of each function.
fn calls(snapshot: &Path) -> Vec<(usize, u64)> {
    let output = tracewright(&args("calls --format json", &[snapshot]));
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
                    all.push((depth as usize, address(&line)));
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
        // RISC-V has other lines, and no `sa_restorer`.
        if name == "signals" && machine.name == "riscv" {
            continue;
        }
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

/// The trace of a program with a C library: what `function` executes.
fn check_whole(machine: &Machine, elf: &Path, function: &str) {
    let Some(log) = logged(machine, elf, Some(function)) else { return };
    let text = fs::read_to_string(&log).expect("a log");
    let tree = oracle::tree(elf, &text, false);
    assert!(tree.calls.len() > 100, "{} calls", tree.calls.len());
    for protocol in machine.protocols {
        let snapshot = encoded(elf.parent().expect("a folder"), protocol, elf, &log);
        compare(&tree, &snapshot, &format!("{} {} {protocol}", machine.name, elf.display()));
    }
}

/// The programs of C++ execute half a million instructions, most of them in the unwinder. By
/// default a part of the program runs, on one processor.
fn exceptions(machine: &Machine) {
    let folder = Folder::new(&format!("exceptions-{}", machine.name));
    if is_long() {
        let Some(elf) = compile_cpp(machine, &folder.path(""), "") else { return };
        return check_whole(machine, &elf, "main");
    }
    if machine.name == "a64" {
        let Some(elf) = compile_cpp(machine, &folder.path(""), "-DSHORT") else { return };
        check_whole(&Machine { protocols: &["ETM4"], ..A64 }, &elf, "_ZL6directj");
    }
}

fn compare(tree: &Tree, snapshot: &Path, what: &str) {
    let (rows, stacks) = table(snapshot, "--jobs 1");
    let found: BTreeMap<u64, Sums> =
        rows.iter().map(|(_, address, sums)| (*address, *sums)).collect();
    assert_eq!(found.len(), rows.len(), "{what}");
    let (ours, theirs) = (calls(snapshot), &tree.calls);
    let name = |address: &u64| tree.names.get(address).map_or("?", String::as_str);
    if let Some(n) = (0..ours.len().max(theirs.len())).find(|&n| ours.get(n) != theirs.get(n)) {
        let near = |all: &[(usize, u64)]| -> Vec<String> {
            let lines = all.iter().take(n + 6).skip(n.saturating_sub(12));
            lines.map(|(depth, address)| format!("{depth} {}", name(address))).collect()
        };
        panic!("{what}: call {n} differs:\n{:#?}\nwant {:#?}", near(&ours), near(theirs));
    }
    for address in found.keys().chain(tree.functions.keys()) {
        let (own, want) = (found.get(address), tree.functions.get(address));
        assert_eq!(own, want, "{what}: {}", name(address));
    }
    assert_eq!(stacks["instructions"].as_u64(), Some(tree.instructions), "{what}");
    assert_eq!(stacks["begun"], stacks["ended"], "{what}");
    let sum: u64 = found.values().map(|sums| sums.instructions).sum();
    assert_eq!(sum, tree.instructions, "{what}");
    assert!(parts::same_in_parts(snapshot).0 > 20, "{what}");
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

#[test]
fn exceptions_a64() {
    exceptions(&A64);
}

#[test]
fn exceptions_a32() {
    exceptions(&A32);
}

#[test]
fn exceptions_t32() {
    exceptions(&T32);
}

#[test]
fn exceptions_riscv() {
    exceptions(&RISCV);
}

/// By default a part of the program.
#[test]
fn rust() {
    let folder = Folder::new("call-tree-rust");
    let Some(elf) = compile_rust(&folder.path("")) else { return };
    match is_long() {
        true => check_whole(&A64, &elf, "program"),
        false => check_whole(&Machine { protocols: &["ETM4"], ..A64 }, &elf, "part"),
    }
}
