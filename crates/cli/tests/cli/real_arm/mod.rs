//! Real programs, cross-compiled and run under QEMU, through trace units of ETMv1 and ETMv2 and back: the
//! instructions that were executed, the exceptions, and each datum that was moved.
//!
//! | file | holds |
//! |---|---|
//! | `program/` | the program in C, A32 and T32, and what begins it: bare, with vectors and a timer, and under Linux |
//! | `tools.rs` | compiler and QEMU |
//! | `watch.rs` | QEMU's log: registers, instruction by instruction |
//! | `moves.rs` | what an instruction moves, by the registers before it |
//! | `openocd.rs` | what OpenOCD's analyser says of the same captures |
//! | `run.rs` | what happened, as an execution log and as what a trace must say |

mod moves;
mod openocd;
mod run;
mod tools;
mod watch;

use std::fs;

use crate::common::{Folder, args, tracewright};
use run::{Flow, Run};
use tools::Machine;

/// Trace units, and what they are told. ETMCR: CPRT 0x2, values 0x4, addresses 0x8, port size 0x70, stall 0x80, all
/// branches 0x100, cycles 0x1000, context ids 0xc000.
const UNITS: [(&str, &str); 10] = [
    ("ETM1", "ETMCR=0x9e"),
    ("ETM1", "ETMCR=0x18e early-data=60 noise=1 fifo=9"),
    ("ETM1", "ETMCR=0x10ae waits=20 noise=1 fifo=20"),
    ("ETM1", "ETMCR=0x94 ETMCCR=0"),
    ("ETM1", "ETMCR=0x80"),
    ("ETM2", "ETMCR=0x9e"),
    ("ETM2", "ETMCR=0x18e noise=1 ETMSYNCFR=300"),
    ("ETM2", "ETMCR=0x10ae fold=120 waits=20 fifo=20"),
    ("ETM2", "ETMCR=0x9e miss=60 ETMIDR=0x41012110"),
    ("ETM2", "ETMCR=0xa0 fold=60"),
];

#[test]
fn bare_with_exceptions() {
    there_and_back(Machine::Bare);
}

#[test]
fn under_linux() {
    there_and_back(Machine::Linux);
}

/// OpenOCD's analyser and this one say the same of an ETMv1, as far as that one is right.
#[test]
fn as_openocd_reads_it() {
    let folder = Folder::new("real-arm-openocd");
    let path = folder.path("");
    let Some(_) = tracewright_testing::tool(&[("openocd", "openocd")]) else { return };
    let Some(elf) = tools::compile(Machine::Linux, &path) else { return };
    let Some(log) = tools::execute(Machine::Linux, &path) else { return };
    let run = Run::of(&watch::read(&log), &fs::read(&elf).expect("the program"));
    // The first 4000 rows hold calls, returns, loops, and accesses of each size.
    let csv: Vec<&str> = run.csv().lines().take(4000).collect();
    fs::write(path.join("log.csv"), csv.join("\n")).expect("a log");
    for control in openocd::CONTROLS {
        let snapshot = path.join("snapshot");
        let words = format!("encode --protocol ETM1 --config ETMCR={control:#x} --log");
        let mut words = args(&words, &[&path.join("log.csv")]);
        words.extend(args("--image", &[&elf]));
        words.extend(args("--output", &[&snapshot]));
        let said = tracewright(&words);
        assert_eq!(said.code, Some(0), "{control:#x}: {}", said.err);
        openocd::compare(control, &snapshot, &decoded(&snapshot));
        fs::remove_dir_all(&snapshot).expect("it goes away");
    }
}

fn there_and_back(machine: Machine) {
    let folder = Folder::new(machine.name());
    let path = folder.path("");
    let Some(elf) = tools::compile(machine, &path) else { return };
    let Some(log) = tools::execute(machine, &path) else { return };
    let run = Run::of(&watch::read(&log), &fs::read(&elf).expect("the program"));
    run.does_something(machine);
    fs::write(path.join("log.csv"), run.csv()).expect("a log");
    // One machine is enough for most of what a unit can be told.
    let every = if machine == Machine::Bare { 1 } else { 4 };
    for (protocol, told) in UNITS.into_iter().step_by(every) {
        let snapshot = path.join("snapshot");
        let words: String = told.split(' ').map(|one| format!(" --config {one}")).collect();
        let words = format!("encode --protocol {protocol}{words} --log");
        let mut words = args(&words, &[&path.join("log.csv")]);
        words.extend(args("--image", &[&elf]));
        words.extend(args("--output", &[&snapshot]));
        let said = tracewright(&words);
        assert_eq!(said.code, Some(0), "{protocol} {told}: {}", said.err);
        let control = told.strip_prefix("ETMCR=0x").and_then(|t| t.split(' ').next());
        let control = u32::from_str_radix(control.expect("ETMCR"), 16).expect("a number");
        let mut want = run.traced(control);
        let mut got = decoded(&snapshot);
        let pc = tracewright(&args("instructions --strict --format pc", &[&snapshot]));
        let listed: Vec<u32> = pc.out.lines().map(hex).collect();
        assert_eq!(pc.code, Some(0), "{protocol} {told}: {}", pc.err);
        let executed = want.flow.iter().filter_map(|flow| match flow {
            Flow::Ran { address, .. } => Some(*address),
            Flow::Raised { .. } => None,
        });
        assert!(executed.eq(listed), "{protocol} {told}: `instructions` says otherwise");
        let n = want.flow.iter().zip(&got.flow).take_while(|(a, b)| a == b).count();
        let pair = (want.flow.get(n), got.flow.get(n));
        assert!(want.flow == got.flow, "{protocol} {told}: step {n}: {pair:x?}");
        if told.contains("miss=") {
            // Values come when they come.
            want.moved.sort();
            got.moved.sort();
        }
        let n = want.moved.iter().zip(&got.moved).take_while(|(a, b)| a == b).count();
        let pair = (want.moved.get(n), got.moved.get(n));
        assert!(want.moved == got.moved, "{protocol} {told}: access {n}: {pair:x?}");
        fs::remove_dir_all(&snapshot).expect("it goes away");
    }
    println!("{}: {}", machine.name(), run.sums());
}

/// What `tracewright decode` says of a capture.
fn decoded(snapshot: &std::path::Path) -> run::Said {
    let said = tracewright(&args("decode --strict --format json", &[snapshot]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let mut all = run::Said::default();
    for line in said.out.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let field = |name: &str| line[name].as_str().map(hex);
        let must = |name: &str| field(name).unwrap_or_else(|| panic!("{name} in {line}"));
        match line["kind"].as_str().unwrap_or("") {
            "range" => {
                assert_eq!(line["instructions"], 1, "{line}");
                let thumb = line["isa"] == "T32";
                let passed = line["taken"] == true;
                all.flow.push(Flow::Ran { address: must("start"), thumb, passed });
            }
            "exception" => {
                let vector = line["number"].as_u64().expect("a number") as u32;
                all.flow.push(Flow::Raised { vector, back: must("return") });
            }
            _ if line["direction"].is_string() => all.moved.push(run::Moved {
                by: must("by"),
                load: line["direction"] == "read",
                address: field("address"),
                size: line["size"].as_u64().expect("a size") as u8,
                value: field("value"),
                coprocessor: line["coprocessor"] == true,
            }),
            _ => {}
        }
    }
    all
}

fn hex(text: &str) -> u32 {
    u32::from_str_radix(text.trim_start_matches("0x"), 16).expect("hexadecimal")
}
