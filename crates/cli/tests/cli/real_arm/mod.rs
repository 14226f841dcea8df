//! Programs that are cross-compiled, run under QEMU, encoded by trace units of ETMv1 and ETMv2, and
//! decoded: instructions, exceptions and data transfers are compared.
//!
//! | file | contents |
//! |---|---|
//! | `program/` | the program in C, for A32 and T32, with start code for bare metal and for Linux |
//! | `tools.rs` | compiler and QEMU |
//! | `watch.rs` | QEMU's log: registers, instruction by instruction |
//! | `moves.rs` | the data transfers of an instruction, from the registers before it |
//! | `openocd.rs` | the output of OpenOCD's analyser for the same captures |
//! | `run.rs` | the execution, as an execution log and as expected trace |

mod moves;
mod openocd;
mod run;
mod tools;
mod watch;

use std::fs;

use tracewright_testing::short_or_long;

use crate::common::{Folder, args, tracewright};
use run::{Flow, Run};
use tools::Machine;

/// Trace units and their configuration. ETMCR: CPRT 0x2, values 0x4, addresses 0x8, port size 0x70,
/// stall 0x80, all branches 0x100, cycles 0x1000, context IDs 0xc000.
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

/// The output agrees with that of OpenOCD's analyser, for the features that OpenOCD decodes
/// correctly.
#[test]
fn output_agrees_with_openocd() {
    let folder = Folder::new("real-arm-openocd");
    let path = folder.path("");
    let Some(_) = tracewright_testing::tool(&[("openocd", "openocd")]) else { return };
    let Some(elf) = tools::compile(Machine::Linux, &path) else { return };
    let Some(log) = tools::execute(Machine::Linux, &path) else { return };
    let run = Run::of(&watch::read(&log), &fs::read(&elf).expect("the program"));
    // The first 4000 rows contain calls, returns, loops, and accesses of each size.
    let csv: Vec<&str> = run.csv().lines().take(4000).collect();
    fs::write(path.join("log.csv"), csv.join("\n")).expect("a log");
    for control in openocd::CONTROLS {
        let snapshot = path.join("snapshot");
        let words = format!("encode --protocol ETM1 --config ETMCR={control:#x} --log");
        let mut words = args(&words, &[&path.join("log.csv")]);
        words.extend(args("--image", &[&elf]));
        words.extend(args("--output", &[&snapshot]));
        let output = tracewright(&words);
        assert_eq!(output.code, Some(0), "{control:#x}: {}", output.err);
        openocd::compare(control, &snapshot, &decoded(&snapshot));
        fs::remove_dir_all(&snapshot).expect("the folder is deleted");
    }
}

fn there_and_back(machine: Machine) {
    let folder = Folder::new(machine.name());
    let path = folder.path("");
    let Some(elf) = tools::compile(machine, &path) else { return };
    let Some(log) = tools::execute(machine, &path) else { return };
    let run = Run::of(&watch::read(&log), &fs::read(&elf).expect("the program"));
    run.check_coverage(machine);
    fs::write(path.join("log.csv"), run.csv()).expect("a log");
    // Most configurations are tested on one machine only, and some of them in a short run.
    let every = match machine {
        Machine::Bare => short_or_long(3, 1),
        Machine::Linux => short_or_long(8, 4),
    };
    for (protocol, config) in UNITS.into_iter().step_by(every) {
        let snapshot = path.join("snapshot");
        let words: String = config.split(' ').map(|one| format!(" --config {one}")).collect();
        let words = format!("encode --protocol {protocol}{words} --log");
        let mut words = args(&words, &[&path.join("log.csv")]);
        words.extend(args("--image", &[&elf]));
        words.extend(args("--output", &[&snapshot]));
        let output = tracewright(&words);
        assert_eq!(output.code, Some(0), "{protocol} {config}: {}", output.err);
        let control = config.strip_prefix("ETMCR=0x").and_then(|t| t.split(' ').next());
        let control = u32::from_str_radix(control.expect("ETMCR"), 16).expect("a number");
        let mut want = run.traced(control);
        let mut got = decoded(&snapshot);
        let pc = tracewright(&args("instructions --strict --format pc", &[&snapshot]));
        let listed: Vec<u32> = pc.out.lines().map(hex).collect();
        assert_eq!(pc.code, Some(0), "{protocol} {config}: {}", pc.err);
        let executed = want.flow.iter().filter_map(|flow| match flow {
            Flow::Ran { address, .. } => Some(*address),
            Flow::Raised { .. } => None,
        });
        assert!(executed.eq(listed), "{protocol} {config}: `instructions` differs");
        let n = want.flow.iter().zip(&got.flow).take_while(|(a, b)| a == b).count();
        let pair = (want.flow.get(n), got.flow.get(n));
        assert!(want.flow == got.flow, "{protocol} {config}: step {n}: {pair:x?}");
        if config.contains("miss=") {
            // Delayed values arrive out of order.
            want.moved.sort();
            got.moved.sort();
        }
        let n = want.moved.iter().zip(&got.moved).take_while(|(a, b)| a == b).count();
        let pair = (want.moved.get(n), got.moved.get(n));
        assert!(want.moved == got.moved, "{protocol} {config}: access {n}: {pair:x?}");
        fs::remove_dir_all(&snapshot).expect("the folder is deleted");
    }
    println!("{}: {}", machine.name(), run.sums());
}

/// The output of `tracewright decode` for a capture.
fn decoded(snapshot: &std::path::Path) -> run::Traced {
    let output = tracewright(&args("decode --strict --format json", &[snapshot]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let mut all = run::Traced::default();
    for line in output.out.lines() {
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
                all.flow.push(Flow::Raised { vector, back: must("return_address") });
            }
            _ if line["direction"].is_string() => all.moved.push(run::Moved {
                by: must("pc"),
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
