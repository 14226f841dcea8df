//! Tasks of FreeRTOS on a Cortex-M3, in QEMU's log of a whole machine. The trace has no identifiers
//! of tasks: task switches are those of the PendSV handler, which returns to another task.
//!
//! The sources of FreeRTOS (V11) are in the folder that `TRACEWRIGHT_FREERTOS` names, as in the
//! repository `FreeRTOS-Kernel`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;
use tracewright_testing::{skip, tool, tool_since};

use super::oracle::{Frame, Program, Sums, pc, registers, unwind};
use super::{address, good, table, words};
use crate::common::{Folder, args, tracewright};

const FILES: [(&str, &str); 4] = [
    ("FreeRTOSConfig.h", include_str!("program/freertos/FreeRTOSConfig.h")),
    ("program.c", include_str!("program/freertos/program.c")),
    ("program.ld", include_str!("program/freertos/program.ld")),
    // What FreeRTOS uses of the C library.
    (
        "string.h",
        "#include <stddef.h>\nvoid *memset(void *, int, size_t);\n\
         void *memcpy(void *, const void *, size_t);\n",
    ),
];

/// Compiles the program with FreeRTOS.
fn compile(folder: &Path) -> Option<PathBuf> {
    compile_by("clang-19", "-O1 -fno-inline", folder, "")
}

/// The same by a compiler with these options.
pub(super) fn compile_by(
    compiler: &str,
    options: &str,
    folder: &Path,
    more: &str,
) -> Option<PathBuf> {
    let kernel = kernel()?;
    tool(&[(compiler, compiler)])?;
    tool(&[("ld.lld-19", "lld-19")])?;
    for (name, text) in FILES {
        fs::write(folder.join(name), text).expect("a source");
    }
    if !more.is_empty() {
        let name = folder.join("FreeRTOSConfig.h");
        let text = FILES[0].1;
        let has = |line: &&str| {
            let name = line.split(' ').nth(1).unwrap_or_default();
            !more.contains(&format!(" {name} "))
        };
        let retained: Vec<&str> = text.lines().filter(has).collect();
        fs::write(name, format!("{}\n{more}", retained.join("\n"))).expect("a source");
    }
    fs::write(folder.join("stdlib.h"), "").expect("a source");
    let target = if compiler.starts_with("clang") { CLANG } else { "-mthumb" };
    let mut command = Command::new(compiler);
    let all = "-mcpu=cortex-m3 -g -ffreestanding -nostdlib -T program.ld program.c -o rtos.elf -I.";
    command.args(words(options)).args(words(target)).args(words(all));
    command.args(includes(&kernel));
    let files = if more.is_empty() { &KERNEL[..3] } else { &KERNEL[..] };
    command.args(files.iter().map(|name| kernel.join(name)));
    good(command.arg(kernel.join("portable/GCC/ARM_CM3/port.c")).current_dir(folder));
    Some(folder.join("rtos.elf"))
}

/// The decisions of the kernel, by clang.
pub(super) fn mapping(folder: &Path) -> Option<PathBuf> {
    let (kernel, clang) = (kernel()?, tool(&[("clang-19", "clang-19")])?);
    let objects = KERNEL.map(|name| {
        let mut command = Command::new(clang);
        let options = "--target=thumbv7m-none-eabi -ffreestanding -w -c -fprofile-instr-generate \
                       -fcoverage-mapping -fcoverage-mcdc -I.";
        command.args(words(options)).args(includes(&kernel)).arg(kernel.join(name));
        let object = format!("{name}.map");
        good(command.args(["-o", &object]).current_dir(folder));
        object
    });
    let mut command = Command::new("ld.lld-19");
    good(command.args(["-r", "-o", "map.o"]).args(objects).current_dir(folder));
    Some(folder.join("map.o"))
}

const KERNEL: [&str; 6] =
    ["tasks.c", "queue.c", "list.c", "timers.c", "event_groups.c", "stream_buffer.c"];
const CLANG: &str = "--target=thumbv7m-none-eabi -fuse-ld=lld-19";

/// The sources of FreeRTOS.
pub(super) fn kernel() -> Option<PathBuf> {
    let kernel = env::var_os("TRACEWRIGHT_FREERTOS").map(PathBuf::from);
    if kernel.is_none() {
        skip("TRACEWRIGHT_FREERTOS does not name the sources of FreeRTOS");
    }
    kernel
}

fn includes(kernel: &Path) -> Vec<PathBuf> {
    let port = kernel.join("portable/GCC/ARM_CM3");
    vec!["-I".into(), kernel.join("include"), "-I".into(), port]
}

/// Runs the program, and writes QEMU's log without what was not executed.
pub(super) fn execute(elf: &Path) -> Option<PathBuf> {
    let qemu = tool_since(&[("qemu-system-arm", "qemu-system-arm")], (7, 2))?;
    let raw = elf.with_extension("raw");
    let options = "-M mps2-an385 -nographic -semihosting -icount shift=5 -singlestep \
                   -d exec,nochain,cpu,int -D";
    let mut command = Command::new(qemu);
    good(command.args(words(options)).arg(&raw).arg("-kernel").arg(elf));
    let text = fs::read_to_string(raw).expect("a log");
    let mut all: Vec<&str> = Vec::new();
    for line in text.lines() {
        // An access to a device is executed again.
        if line.starts_with("cpu_io_recompile") {
            while all.pop().is_some_and(|line| !line.starts_with("Trace ")) {}
        } else if !line.starts_with("R0") {
            all.push(line);
        }
    }
    let log = elf.with_extension("log");
    fs::write(&log, all.join("\n")).expect("a log");
    Some(log)
}

/// An instruction, and the changes of handlers before it.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    pc: u64,
    sp: u64,
    /// The end of a handler, and then the begin of one.
    exit: bool,
    entry: bool,
}

fn steps(log: &str) -> Vec<Step> {
    let (mut all, mut next): (Vec<Step>, Step) = (Vec::new(), Step::default());
    for line in log.lines() {
        if let Some(pc) = pc(line) {
            all.push(Step { pc, ..std::mem::take(&mut next) });
        } else if line.starts_with("Stopped execution") {
            let revoked = all.pop().expect("an instruction");
            (next.exit, next.entry) = (revoked.exit, revoked.entry);
        } else if line.starts_with("Taking exception 8 ") {
            next.exit = true;
        } else if line.starts_with("...taking pending") {
            next.entry = true;
        } else if let (Some(sp), _) = registers(line) {
            all.last_mut().expect("an instruction").sp = sp;
        }
    }
    all
}

/// The addresses of the tasks' stacks.
fn regions(elf: &Path) -> Vec<(u64, u64)> {
    let output = Command::new("llvm-nm-19").arg("-S").arg(elf).output().expect("the tool runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let hex = |text: &str| u64::from_str_radix(text, 16).expect("hexadecimal");
    let lines = text.lines().filter_map(|line| match line.split(' ').collect::<Vec<_>>()[..] {
        [start, size, _, name] if name.starts_with("stack_") && hex(size) > 0 => {
            Some((hex(start), hex(start) + hex(size)))
        }
        _ => None,
    });
    lines.collect()
}

/// The calls, the sums of the functions, and the numbers of changes of the stack and of stacks.
type Tree = (Vec<(usize, u64)>, BTreeMap<u64, Sums>, u64, usize);

/// The next instruction of the same task or handler after each one.
fn following(steps: &[Step], region: impl Fn(u64) -> Option<usize>) -> Vec<Option<usize>> {
    let (mut all, mut handlers, mut begun) = (vec![None; steps.len()], Vec::new(), 0);
    let mut last: HashMap<(usize, Option<usize>), usize> = HashMap::new();
    for (n, step) in steps.iter().enumerate() {
        if step.exit {
            handlers.pop();
        }
        if step.entry {
            begun += 1;
            handlers.push(begun);
        }
        let place = match handlers.last() {
            Some(handler) => (*handler, None),
            None => (0, region(step.sp)),
        };
        if let Some(before) = last.insert(place, n) {
            all[before] = Some(n);
        }
    }
    all
}

/// The call tree by the stack pointer: a stack for each task, and one for the handlers.
fn tree(elf: &Path, log: &str) -> Tree {
    let mut program = Program::read(elf);
    let (steps, regions) = (steps(log), regions(elf));
    assert_eq!(regions.len(), 5);
    let region = |sp: u64| regions.iter().position(|(start, end)| *start < sp && sp <= *end);
    let following = following(&steps, region);
    let mut at =
        |pc: u64| program.function(pc).unwrap_or_else(|| panic!("{pc:#x} has no function"));
    let functions: Vec<(usize, bool)> = steps.iter().map(|step| at(step.pc)).collect();
    let (mut sums, mut calls, mut switches) = (BTreeMap::new(), Vec::new(), 0);
    let mut tasks: HashMap<Option<usize>, Vec<Frame>> = HashMap::new();
    let frame = |function: usize, sp: u64, ret: u64| Frame { function, sp, ret };
    tasks.insert(None, vec![frame(functions[0].0, u64::MAX, 0)]);
    // The frames of handlers, and the number of frames below each handler.
    let (mut handlers, mut begins): (Vec<Frame>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut here = None;
    for (n, step) in steps.iter().enumerate() {
        let (function, _) = functions[n];
        let top = handlers.last().or(tasks[&here].last()).expect("a frame");
        assert_eq!(program.name(top.function), program.name(function), "{n} {:#x}", step.pc);
        let active: BTreeSet<usize> =
            tasks[&here].iter().chain(&handlers).map(|frame| frame.function).collect();
        let sum = |sums: &mut BTreeMap<u64, Sums>, function: usize, change: fn(&mut Sums)| {
            change(sums.entry(program.start(function)).or_default());
        };
        sum(&mut sums, function, |sums| sums.instructions += 1);
        active.iter().for_each(|f| sum(&mut sums, *f, |sums| sums.inclusive += 1));
        // What the instruction does, which an interrupt does not change.
        if let Some(after) = following[n] {
            let (next, (to, entry)) = (steps[after], functions[after]);
            let frames = match handlers.is_empty() {
                true => tasks.get_mut(&here).expect("frames"),
                false => &mut handlers,
            };
            let top = *frames.last().expect("a frame");
            let mut called = false;
            if next.pc == step.pc + program.size(step.pc) && to == function {
                // It continues.
            } else if let Some(ret) = program.link(step.pc) {
                frames.push(frame(to, next.sp, ret));
                called = true;
            } else if next.pc == top.ret && next.sp == top.sp {
                frames.pop();
            } else if entry && to != function {
                frames.last_mut().expect("a frame").function = to;
                called = true;
            } else if to != function || next.sp > top.sp {
                unwind(frames, to, next.sp);
            }
            if called {
                sum(&mut sums, to, |sums| sums.calls += 1);
                calls.push((tasks[&here].len() + handlers.len() - 1, program.start(to)));
            }
        }
        let Some(next) = steps.get(n + 1) else { break };
        let (to, _) = functions[n + 1];
        if next.exit {
            handlers.truncate(begins.pop().expect("a handler"));
        }
        if next.entry {
            begins.push(handlers.len());
            handlers.push(frame(to, next.sp, 0));
            sum(&mut sums, to, |sums| sums.calls += 1);
            calls.push((tasks[&here].len() + handlers.len() - 1, program.start(to)));
        } else if next.exit && handlers.is_empty() && region(next.sp) != here {
            here = region(next.sp);
            switches += 1;
            tasks.entry(here).or_insert_with(|| vec![frame(to, u64::MAX, 0)]);
        }
    }
    (calls, sums, switches, tasks.len())
}

/// The calls and exceptions that the command lists in order.
fn calls(snapshot: &Path) -> Vec<(usize, u64)> {
    let output = tracewright(&args("calls --strict --format json", &[snapshot]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let lines = output.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let begins = |line: &Value| {
        let entry = line["entry"].as_str().unwrap_or_default();
        line["type"] == "begin" && matches!(entry, "call" | "tail-call" | "exception")
    };
    let calls = lines.filter(begins);
    calls.map(|line| (line["depth"].as_u64().expect("a depth") as usize, address(&line))).collect()
}

#[test]
fn tasks_of_freertos() {
    let folder = Folder::new("call-tree-freertos");
    let path = folder.path("");
    let Some(elf) = compile(&path) else { return };
    let Some(log) = execute(&elf) else { return };
    let (want, sums, switches, stacks_used) = tree(&elf, &fs::read_to_string(&log).expect("a log"));
    assert!(want.len() > 500 && switches > 30, "{} calls, {switches} switches", want.len());
    let name = |at: u64| {
        let symbols = Program::read(&elf);
        symbols.names().find(|(start, _)| *start == at).map_or("?".into(), |(_, name)| name)
    };
    for (protocol, core) in [("ETM4", "Cortex-M33"), ("ETM3", "Cortex-M3")] {
        let snapshot = path.join(protocol);
        let mut all = args(&format!("encode --protocol {protocol} --core {core} --log"), &[&log]);
        all.extend(args("--image", &[&elf]));
        all.extend(args("--output", &[&snapshot]));
        let output = tracewright(&all);
        assert_eq!(output.code, Some(0), "{protocol}: {}", output.err);
        let found = calls(&snapshot);
        let length = found.len().max(want.len());
        if let Some(n) = (0..length).find(|&n| found.get(n) != want.get(n)) {
            let near = |all: &[(usize, u64)]| -> Vec<String> {
                let lines = all.iter().take(n + 6).skip(n.saturating_sub(12));
                lines.map(|(depth, address)| format!("{depth} {}", name(*address))).collect()
            };
            panic!("{protocol}: call {n} differs:\n{:#?}\nwant {:#?}", near(&found), near(&want));
        }
        // A table for each task.
        let output = tracewright(&args("functions --per-thread --format json", &[&snapshot]));
        let lines =
            output.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let names: BTreeSet<String> =
            lines.filter_map(|line| Some(line["thread"].as_str()?.to_owned())).collect();
        assert_eq!(names.len(), stacks_used, "{names:?}");
        let (rows, stacks) = table(&snapshot, "");
        for (name, address, own) in &rows {
            assert_eq!(Some(own), sums.get(address), "{protocol}: {name}");
        }
        assert_eq!(rows.len(), sums.len(), "{protocol}");
        assert_eq!(stacks["switches"].as_u64(), Some(switches), "{protocol}");
        assert_eq!(stacks["begun"], stacks["ended"], "{protocol}");
    }
}
