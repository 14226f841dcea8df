//! The built-in example: its program is compiled, its trace is made of an execution under QEMU, and
//! what the command answers is what that execution did. `BLESS=1` writes the program and the trace.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, str};

use serde_json::Value;
use tracewright::base::{Cause, Channel, Isa, Kind, Software, Step};
use tracewright::capture::{Source, core_type};
use tracewright::decode::Memory;
use tracewright::frames::{Framing, Joiner};
use tracewright::logs::{Assembler, Format, Lookup, Reader};
use tracewright::protocols::encoders::AnyUnit;
use tracewright::protocols::registry::AnyProtocol;
use tracewright_testing::{tool, tool_since, without_tool};

use crate::common::{Folder, Output, args, command, tracewright};

/// A file of the examples.
pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/demo").join(name)
}

/// Compares a file of the examples, or writes it.
pub(crate) fn blessed(name: &str, bytes: &[u8]) {
    if env::var_os("BLESS").is_some() {
        fs::write(file(name), bytes).unwrap();
    }
    assert!(fs::read(file(name)).unwrap() == bytes, "{name} differs: BLESS=1 writes it");
}

/// A folder with the example in `example`.
fn example(test: &str) -> (Folder, PathBuf) {
    let folder = Folder::new(test);
    let path = folder.path("example");
    let output = tracewright(&args("demo --write", &[&path]));
    assert_eq!((output.code, output.out.as_str()), (Some(0), ""), "{}", output.err);
    (folder, path)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
}

/// The version of the compiler that made the programs: another one may write other code.
const COMPILER: &str = "19.1.7";

/// Compiles the program `name` of the examples in `folder`, and compares it.
pub(crate) fn compiled(folder: &str, name: &str, options: &str) {
    let Some(clang) = tool(&[("clang-19", "clang-19")]) else { return };
    if tool(&[("ld.lld-19", "lld-19")]).is_none() {
        return;
    }
    let version = Command::new(clang).arg("--version").output().unwrap().stdout;
    if !str::from_utf8(&version).unwrap().contains(COMPILER) {
        return without_tool("clang-19 is not version 19.1.7");
    }
    let made = Folder::new(&format!("{name}-program"));
    let elf = made.path("program.elf");
    let common = "-O1 -g -gdwarf-4 -ffreestanding -nostdlib -fuse-ld=lld-19 \
                  -ffile-compilation-dir=. -Wall -Wextra -Werror";
    let files = format!("-T {name}.ld {name}.c -o");
    let mut command = Command::new(clang);
    command.args(words(options)).args(words(common)).args(words(&files)).arg(&elf);
    let output = command.current_dir(file(folder)).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    blessed(&format!("{folder}{name}.elf"), &fs::read(&elf).unwrap());
}

#[test]
fn the_program_is_that_of_its_source() {
    let options = "--target=thumbv7em-none-eabi -mcpu=cortex-m7 \
                   -Wl,--build-id=none,-z,max-page-size=4";
    compiled("", "program", options);
}

/// QEMU's log of the execution, without what was not executed. With `-icount` and
/// `sleep=off`, QEMU has no time but that of the instructions: each execution is the same.
fn execute() -> Option<String> {
    let qemu = tool_since(&[("qemu-system-arm", "qemu-system-arm")], (7, 2))?;
    let folder = Folder::new("demo-execution");
    let log = folder.path("log");
    let options = "-M mps2-an500 -nographic -semihosting -icount shift=5,sleep=off -singlestep \
                   -d exec,nochain,cpu,int -D";
    let mut command = Command::new(qemu);
    command.args(words(options)).arg(&log).arg("-kernel").arg(file("program.elf"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(log).unwrap();
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines() {
        // An access to a device is executed again.
        if line.starts_with("cpu_io_recompile") {
            while lines.pop().is_some_and(|line| !line.starts_with("Trace ")) {}
        } else {
            lines.push(line);
        }
    }
    Some(lines.join("\n"))
}

/// The address and the symbol of a `Trace` line.
fn traced(line: &str) -> Option<(u64, &str)> {
    let (numbers, name) = line.strip_prefix("Trace ")?.rsplit_once("] ")?;
    let pc = numbers.rsplit('[').next()?.split('/').nth(1)?;
    Some((u64::from_str_radix(pc, 16).unwrap(), name))
}

/// The value of a register in a line of registers.
fn register(line: &str, name: &str) -> Option<u64> {
    let value = words(line).find_map(|word| word.strip_prefix(name)?.strip_prefix('='))?;
    u64::from_str_radix(value, 16).ok()
}

/// The executed instructions: address, symbol, and the values of R0 and R1 before.
fn executed(log: &str) -> Vec<(u64, &str, [u64; 2])> {
    let mut all = Vec::new();
    for line in log.lines() {
        if let Some((pc, name)) = traced(line) {
            all.push((pc, name, [0; 2]));
        } else if let Some(r0) = register(line, "R00") {
            all.last_mut().unwrap().2 = [r0, register(line, "R01").unwrap()];
        } else if line.starts_with("Stopped execution") || line.contains("DIVBYZERO") {
            // It is executed again after the exception.
            all.pop();
        }
    }
    all
}

/// The first instruction of each function.
fn starts<'a>(executed: &[(u64, &'a str, [u64; 2])]) -> BTreeMap<&'a str, u64> {
    let mut starts = BTreeMap::new();
    for &(pc, name, _) in executed {
        let start = starts.entry(name).or_insert(pc);
        *start = pc.min(*start);
    }
    starts
}

/// The time of the first instruction.
const START: u64 = 1000;

/// Instructions between two exceptions of the timer: 2500 cycles of 40 ns, at 32 ns an instruction.
const PERIOD: u64 = 2500 * 40 / 32;

/// The two trace units, and the formatter behind them.
struct Units {
    etm: AnyUnit,
    itm: AnyUnit,
    /// Their trace IDs.
    ids: [u8; 2],
    joiner: Joiner,
    /// What the ETM has written and the formatter has not.
    fresh: Vec<u8>,
    frames: Vec<u8>,
}

impl Units {
    fn new(folder: &Path) -> Units {
        let trace = tracewright::open(folder).unwrap();
        let source = |name: &str| {
            let mut sources = trace.capture().sources.iter();
            sources.find(|source| source.name == name).unwrap().clone()
        };
        let unit = |protocol: AnyProtocol, source: &Source| {
            let value = |name: &str| source.register(name);
            let core = core_type("Cortex-M7");
            AnyUnit::new(protocol, core, &value).unwrap().unwrap()
        };
        let etm = unit(AnyProtocol::Etmv4, &source("ETM_0"));
        let itm = unit(AnyProtocol::Itm, &source("ITM_0"));
        let ids = [&etm, &itm].map(|unit| unit.config().trace_id());
        let joiner = Joiner::new(Framing::Coresight);
        Units { etm, itm, ids, joiner, fresh: Vec::new(), frames: Vec::new() }
    }

    fn step(&mut self, step: &Step) {
        let mut written = Vec::new();
        self.etm.step(step, &mut self.fresh);
        self.itm.step(step, &mut written);
        self.push(written, 64);
    }

    /// Formats what was written. The ETM has a FIFO of `depth` bytes.
    fn push(&mut self, written: Vec<u8>, depth: usize) {
        if !written.is_empty() || self.fresh.len() > depth {
            self.joiner.push(self.ids[0], &self.fresh, &mut self.frames).unwrap();
            self.joiner.push(self.ids[1], &written, &mut self.frames).unwrap();
            self.fresh.clear();
        }
    }

    fn finish(mut self) -> Vec<u8> {
        let mut written = Vec::new();
        self.etm.finish(&mut self.fresh);
        self.itm.finish(&mut written);
        self.push(written, 0);
        self.joiner.finish(&mut self.frames);
        self.frames
    }
}

/// What the units trace of the execution. An instruction takes a tick of the time. An exception of
/// the timer is taken at a multiple of its period after the first one, so that `wfi` takes the
/// ticks until then.
fn encoded(log: &str, folder: &Path) -> Vec<u8> {
    let trace = tracewright::open(folder).unwrap();
    let image = Memory::new(trace.capture()).of(trace.capture(), &Source::default());
    let mut assembler = Assembler::new(Lookup::new(image));
    assembler.isa = Isa::T32;
    let mut units = Units::new(folder);
    let all = executed(log);
    // Its first instruction is the store: of R1, to the address in R0.
    let store = starts(&all)["write_port"];
    let mut writes: VecDeque<[u64; 2]> =
        all.iter().filter(|at| at.0 == store).map(|at| at.2).collect();
    let (mut time, mut tick, mut asleep) = (START, None::<u64>, false);
    units.step(&Step::Timestamp(time));
    let mut take = |_: u16, step: &Step| {
        if let Step::Retired(retired) = step
            && retired.instruction.kind == Kind::Wait
        {
            units.step(&Step::Timestamp(time));
            asleep = true;
        }
        units.step(step);
        match step {
            Step::Exception(taken) if taken.cause == Cause::Vector(15) => {
                let due = tick.map_or(time, |tick| tick + PERIOD);
                assert!(asleep || due.abs_diff(time) < 32, "{due} {time}");
                let slept = due.saturating_sub(time);
                (tick, asleep, time) = (Some(due), false, time + slept);
                units.step(&Step::Cycles(slept as u32));
                units.step(&Step::Timestamp(time));
            }
            Step::Exception(_) => units.step(&Step::Timestamp(time)),
            Step::Retired(retired) => {
                time += 1;
                units.step(&Step::Cycles(1));
                if retired.address == store {
                    let [port, value] = writes.pop_front().unwrap();
                    let port = ((port - 0xe000_0000) / 4) as u8;
                    let channel = Channel::Port { page: Some(0), port };
                    units.step(&Step::SoftwareWrite(Software::new(channel, 8, value & 0xff)));
                }
                if time.is_multiple_of(500) {
                    units.step(&Step::Timestamp(time));
                }
            }
            _ => {}
        }
    };
    let mut reader = Reader::new(Format::Qemu, Isa::T32);
    let mut entry = |entry| assembler.entry(&entry, &mut take);
    reader.feed(log.as_bytes(), &mut entry).unwrap();
    reader.finish(&mut entry).unwrap();
    assembler.finish(&mut take);
    assert!(writes.is_empty());
    // The debugger of the semihosting call halts the processor.
    units.step(&Step::Timestamp(time));
    units.step(&Step::Halted);
    units.finish()
}

#[test]
fn the_trace_is_that_of_an_execution() {
    let Some(log) = execute() else { return };
    let (_folder, path) = example("demo-trace");
    blessed("trace.bin", &encoded(&log, &path));
}

/// The calls and the instructions of each function, by its name: counts of addresses in the log,
/// where no loop begins with the first instruction of a function.
fn sums(log: &str) -> BTreeMap<&str, (u64, u64)> {
    let all = executed(log);
    let starts = starts(&all);
    let mut sums: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (pc, name, _) in all {
        let sum = sums.entry(name).or_default();
        sum.0 += u64::from(starts[name] == pc);
        sum.1 += 1;
    }
    // The trace begins in it.
    sums.get_mut("reset_handler").unwrap().0 -= 1;
    sums
}

#[test]
fn functions_are_those_of_the_execution() {
    let Some(log) = execute() else { return };
    let (_folder, path) = example("demo-functions");
    let output = tracewright(&args("functions --strict --format json", &[&path]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let lines: Vec<Value> =
        output.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let functions = lines.iter().filter(|line| line["type"] == "function");
    let number = |line: &Value, name: &str| line[name].as_u64().unwrap();
    let found: BTreeMap<&str, (u64, u64)> = functions
        .map(|f| (f["name"].as_str().unwrap(), (number(f, "calls"), number(f, "instructions"))))
        .collect();
    assert_eq!(found, sums(&log));
    let counts = lines.last().unwrap();
    let taken = log.matches("...taking pending").count() as u64;
    assert_eq!(number(counts, "exceptions"), taken);
    assert_eq!(number(counts, "exception_returns"), taken);
    assert_eq!(number(counts, "begun"), number(counts, "ended"));
    assert_eq!(number(counts, "losses"), 0);
}

/// The solutions of the puzzle, by another method: all permutations in order.
fn solutions(size: u8) -> Vec<String> {
    let mut all: Vec<Vec<u8>> = vec![Vec::new()];
    for _ in 0..size {
        let longer = |row: Vec<u8>| {
            let rest: Vec<u8> = (1..=size).filter(|at| !row.contains(at)).collect();
            rest.into_iter().map(move |at| [&row[..], &[at]].concat())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    // No two queens are in a diagonal.
    all.retain(|row| {
        (0..row.len()).all(|b| (0..b).all(|a| usize::from(row[a].abs_diff(row[b])) != b - a))
    });
    all.iter().map(|row| row.iter().map(u8::to_string).collect()).collect()
}

#[test]
fn the_text_has_the_solutions() {
    let (_folder, path) = example("demo-text");
    let output = tracewright(&args("decode --only text --format json", &[&path]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let lines = output.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let texts = lines
        .filter(|line| line["port"] == 0)
        .filter_map(|line| line["text"].as_str().map(str::to_owned));
    let text: String = texts.collect();
    let five = solutions(5);
    assert_eq!(five.len(), 10);
    let head = format!("5 queens\n{}\nsolutions: 10, ticks for 100: ", five.join("\n"));
    assert!(text.starts_with(&head), "{text}");
    let end = "\n3 queens\nfault: division by zero\nsolutions: 0, ticks for 100: 0\n";
    assert!(text.ends_with(end), "{text}");
}

#[test]
fn the_source_is_beside_the_capture() {
    let (folder, path) = example("demo-source");
    let source = fs::read_to_string(file("program.c")).unwrap();
    let lines = || source.lines().filter(|line| line.len() > 10);
    // The folder of the process is another one.
    let run = |words: &str| {
        let mut command = command(&args(words, &[&path]));
        let output: Output = command.current_dir(folder.path("")).output().unwrap().into();
        assert_eq!(output.code, Some(0), "{words}: {}", output.err);
        output.out
    };
    let annotated = run("coverage --annotate program.c");
    assert!(lines().all(|line| annotated.contains(line)), "{annotated}");
    let files = run("coverage");
    assert!(files.contains("  program.c\n"), "{files}");
    // The source of functions, and not their instructions.
    let report = run("report");
    let shown = lines().filter(|line| report.contains(line)).count();
    assert!(shown > 20 && !report.contains("movs r"), "{shown}");
}
