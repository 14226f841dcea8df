//! Tasks of FreeRTOS in the trace of an ETM without data trace, named by the stores that a DWT
//! reports in the trace of an ITM beside it. Both traces have timestamps of one clock, which counts
//! ten ticks an instruction. What is true follows from QEMU's log.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;
use tracewright::frames::{Framing, Joiner};
use tracewright_testing::skip;

use super::event_tasks::{Program, Writer, of_log};
use super::named_tasks::{
    FREERTOS, Run, Step, blocks, check, execute, lines, missing, order, runs, symbols,
};
use super::tasks::compile;
use crate::common::{Folder, args, tracewright};

/// Ticks of the clock in the time of an instruction.
const TICKS: u64 = 10;

/// How the units send.
#[derive(Clone, Copy, Debug)]
struct Units {
    /// Instructions between timestamps of the ETM.
    stamps: usize,
    /// Packets of the ITM between global timestamps; 0 for none of them.
    global: usize,
}

/// The trace of the ITM: global timestamps of 48 bits. (Armv7-M ARM, D4.2.5)
fn itm(program: &Program, units: Units) -> Vec<u8> {
    let mut writer = Writer::new();
    for (n, &(time, what)) in program.iter().enumerate() {
        writer.packet(what, false);
        writer.bytes.extend([0xc0, 0]);
        if units.global == 0 || n % units.global != 0 {
            continue;
        }
        if n == 0 {
            writer.bytes.extend([0xb4, 0x80, 0x80, 0x80, 0]);
        }
        let part = |shift: u32| (time >> shift) as u8 & 0x7f;
        writer.bytes.extend([0x94, 0x80 | part(0), 0x80 | part(7), 0x80 | part(14)]);
        writer.bytes.push(part(21) & 0x1f);
    }
    writer.bytes
}

/// The log of the instructions with timestamps.
fn with_timestamps(elf: &Path, log: &Path, steps: &[Step], units: Units) -> PathBuf {
    let plain = elf.with_extension("csv");
    let mut all = args("log convert --to csv", &[log]);
    all.extend(args("--image", &[elf]));
    all.extend(args("--output", &[&plain]));
    assert_eq!(tracewright(&all).code, Some(0));
    let text = fs::read_to_string(&plain).expect("a log");
    let lines: Vec<&str> = text.lines().collect();
    let (mut out, mut count) = (String::new(), 0);
    for (n, line) in lines.iter().enumerate() {
        out.push_str(line);
        out.push('\n');
        let columns: Vec<&str> = line.split(',').collect();
        let next: Option<Vec<&str>> = lines.get(n + 1).map(|line| line.split(',').collect());
        let revoked = next.is_some_and(|next| next[1] == "withdrawn" && next[2] == columns[2]);
        if columns[1] != "instruction" || revoked {
            continue;
        }
        count += 1;
        if count % units.stamps == 0 {
            out.push_str(&format!("0,timestamp,,,,,,,,{:x},,,\n", count as u64 * TICKS));
        }
    }
    assert_eq!(count, steps.len());
    let path = elf.with_extension("stamped.csv");
    fs::write(&path, out).expect("a log");
    path
}

/// Makes a snapshot of both traces in one buffer.
fn snapshot(elf: &Path, log: &Path, itm: &[u8], name: &str) -> PathBuf {
    let folder = elf.with_file_name(name);
    let options = "encode --protocol ETM3 --core Cortex-M3 --config ETMCR=0x10000000 --framing raw \
                   --log";
    let mut all = args(options, &[log]);
    all.extend(args("--image", &[elf]));
    all.extend(args("--output", &[&folder]));
    let output = tracewright(&all);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let (buffer, mut bytes) = (folder.join("ETB_0.bin"), Vec::new());
    let etm = fs::read(&buffer).expect("a buffer");
    let mut joiner = Joiner::new(Framing::Coresight);
    joiner.push(0x10, &etm, &mut bytes).expect("frames");
    joiner.push(0x20, itm, &mut bytes).expect("frames");
    joiner.finish(&mut bytes);
    fs::write(buffer, bytes).expect("a buffer");
    let edit = |name: &str, from: &str, to: &str| {
        let path = folder.join(name);
        let text = fs::read_to_string(&path).expect("a description");
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replace(from, to)).expect("a description");
    };
    edit("snapshot.ini", "device1=ETM3_0.ini", "device1=ETM3_0.ini\ndevice2=ITM_0.ini");
    edit("trace.ini", "source_data", "coresight");
    edit("trace.ini", "ETM3_0=ETB_0", "ETM3_0=ETB_0\nITM_0=ETB_0");
    let variable = symbols(elf)[FREERTOS];
    let device = format!(
        "[device]\nname=ITM_0\nclass=trace_source\ntype=ITM\n\n[regs]\nITMTCR=0x0020040f\n\
         DWT_COMP1={variable:#x}\n"
    );
    fs::write(folder.join("ITM_0.ini"), device).expect("a description");
    folder
}

/// The sums of the runs of each task: their number, and their instructions.
fn sums(expected: &[Run]) -> BTreeMap<u64, (u64, u64)> {
    let mut sums = BTreeMap::<u64, (u64, u64)>::new();
    for (task, count) in expected {
        let sum = sums.entry(task.unwrap_or(0)).or_default();
        *sum = (sum.0 + 1, sum.1 + count);
    }
    sums
}

/// Asserts that what is known of tasks is true, where not all is: no task has more than it
/// executed, and those that are known are in order. Returns how many runs are known.
fn check_part(snapshot: &Path, expected: &[Run]) -> u64 {
    let rows = lines("timing --clock instructions --task-times --format json", snapshot);
    let sums = sums(expected);
    let known: Vec<&Value> = rows
        .iter()
        .filter(|row| row["kind"] == "run" && row["id"].as_u64().is_some_and(|id| id != 0))
        .collect();
    let mut found = BTreeMap::<u64, (u64, u64)>::new();
    for row in known {
        let (id, net) = (row["id"].as_u64().expect("an identifier"), &row["net"]);
        let sum = found.entry(id).or_default();
        sum.0 += net["count"].as_u64().unwrap_or(0);
        sum.1 += net["sum"]["least"].as_u64().unwrap_or(0);
    }
    for (id, (count, sum)) in &found {
        let want = sums.get(id).unwrap_or_else(|| panic!("{id:#x} did not run"));
        assert!(*count <= want.0 && *sum <= want.1, "{id:#x} {count} {sum} {want:?}");
    }
    let executed: Vec<u64> = expected.iter().filter_map(|(task, _)| *task).collect();
    let order = order(snapshot, &blocks(&rows));
    assert!(missing(&order, &executed).is_some(), "{order:x?} {executed:x?}");
    found.values().map(|(count, _)| count).sum()
}

#[test]
fn tasks_are_those_that_the_dwt_beside_an_etm_reports() {
    let Some(kernel) = env::var_os("TRACEWRIGHT_FREERTOS").map(PathBuf::from) else {
        return skip("TRACEWRIGHT_FREERTOS does not name the sources of FreeRTOS");
    };
    for (level, name) in [("-O0", "freertos-reported"), ("-O2", "freertos-reported-optimised")] {
        let folder = Folder::new(name);
        let path = folder.path("");
        let Some(elf) = compile(&path, &kernel, level) else { return };
        let Some((steps, log, _)) = execute(&elf, "mps2-an385", FREERTOS) else { return };
        let expected = runs(&steps);
        assert!(expected.len() > 100, "{}", expected.len());
        let raw = fs::read_to_string(elf.with_extension("raw")).expect("a log");
        let program = of_log(&raw, &steps);
        let make = |units: Units, name: &str| {
            let log = with_timestamps(&elf, &log, &steps, units);
            snapshot(&elf, &log, &itm(&program, units), name)
        };
        // Both units state often enough when a handler begins.
        let dense = make(Units { stamps: 20, global: 1 }, "dense");
        check(&dense, &expected, true);
        let output = tracewright(&args("functions", &[&dense]));
        assert!(!output.err.contains("not known"), "{}", output.err);
        // They do not, or not always.
        let (mut known, mut unknown) = (0, 0);
        for (stamps, global) in [(300, 4), (700, 6), (1500, 8)] {
            let sparse = make(Units { stamps, global }, &format!("sparse-{stamps}"));
            let own = check_part(&sparse, &expected);
            let output = tracewright(&args("functions", &[&sparse]));
            let unplaced = output.err.contains("it is not known of ");
            let none = output.err.contains("no timestamps show which handler");
            // The run before the first store, and the one at the end, are not whole.
            assert!(unplaced || none || own + 3 > expected.len() as u64, "{own} {}", output.err);
            (known, unknown) = (known + own, unknown + u64::from(unplaced || none));
        }
        assert!(known > 0 && unknown > 0, "{known} {unknown}");
        // Nothing joins them.
        let apart = make(Units { stamps: 20, global: 0 }, "apart");
        let output = tracewright(&args("functions", &[&apart]));
        assert!(output.err.contains("the ITM has no global timestamps"), "{}", output.err);
    }
}
