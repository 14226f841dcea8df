//! Call stacks of a `perf.data` file: its AUX records, joined by thread.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use tracewright::capture::Bytes;
use tracewright::capture::perf::{Aux, Body, Layout, PerfData, Recording};
use tracewright_testing::shared;

use crate::common::{Folder, Output, args, tracewright};

const NOP: u32 = 0xd503_201f;
const RET: u32 = 0xd65f_03c0;
/// A call of the function 0x1c bytes further on.
const CALL: u32 = 0x9400_0007;

/// Functions at 0x1000, 0x1020 and 0x1040. Each of the first two calls the next one.
fn program() -> Vec<u8> {
    let mut words = [NOP; 20];
    (words[1], words[9]) = (CALL, CALL);
    (words[11], words[19]) = (RET, RET);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// What a thread executes: the first function, which calls the second, which calls the third.
const PATH: [u64; 12] = [
    0x1000, 0x1004, 0x1020, 0x1024, 0x1040, 0x1044, 0x1048, 0x104c, 0x1028, 0x102c, 0x1008, 0x100c,
];

/// The steps of `thread` from and to these on the path, on a CPU, after a timestamp.
struct Stint {
    cpu: u64,
    thread: u64,
    time: u64,
    steps: std::ops::Range<usize>,
}

/// Two threads change their CPUs within functions: the stints of each of two AUX records.
fn stints() -> [[Stint; 2]; 2] {
    let stint = |cpu, thread, time, steps| Stint { cpu, thread, time, steps };
    [
        [stint(0, 1000, 100, 0..6), stint(1, 1001, 90, 0..3)],
        [stint(1, 1000, 120, 6..12), stint(0, 1001, 130, 3..12)],
    ]
}

/// Writes the trace of the stints as `perf.data`, with two AUX records for each CPU.
#[track_caller]
fn record(folder: &Folder, config: u64) {
    fs::write(folder.path("code.bin"), program()).unwrap();
    let timed = config >> 11 & 1 != 0;
    let (mut whole, mut offsets) = (None::<PerfData>, [0; 2]);
    for (stints, part) in stints().into_iter().zip(0..) {
        let mut log = String::from("cpu,step,address,isa,value\n");
        for Stint { thread, time, steps, .. } in &stints {
            // The command writes identifier 1000 + N for processor N of a log.
            let own = thread - 1000;
            if timed {
                writeln!(log, "{own},timestamp,,,{time:x}").unwrap();
            }
            for address in &PATH[steps.clone()] {
                writeln!(log, "{own},instruction,{address:x},A64,").unwrap();
            }
            if timed {
                writeln!(log, "{own},timestamp,,,{:x}", time + 5).unwrap();
            }
        }
        let [csv, data] = ["log.csv", "part"].map(|name| folder.path(name));
        fs::write(&csv, log).unwrap();
        let image = format!("{}@0x1000", folder.path("code.bin").display());
        let words = format!(
            "encode --protocol ETM4 --framing raw --config TRCCONFIGR={config:#x} --to perf --image \
             {image} --log"
        );
        let output = tracewright(&args(&words, &[&csv, Path::new("-o"), &data]));
        assert_eq!(output.code, Some(0), "{}", output.err);
        let read = PerfData::read(&Bytes::from(fs::read(&data).unwrap())).unwrap();
        let file = whole.get_or_insert_with(|| {
            let mut file = read.clone();
            let is_trace = |body: &Body| matches!(body, Body::Aux(_) | Body::AuxTrace(_));
            file.records.retain(|record| !is_trace(&record.body));
            file.trace.clear();
            file
        });
        let aux = read.records.iter().filter_map(|record| match record.body {
            Body::Aux(aux) => Some((record.id.cpu.unwrap(), aux)),
            _ => None,
        });
        for ((own, aux), bytes) in aux.zip(&read.trace) {
            let stint = stints.iter().find(|stint| stint.thread == 1000 + u64::from(own));
            let cpu = stint.unwrap().cpu as u32;
            let offset = &mut offsets[cpu as usize];
            let id = Recording::default().id(cpu, 10 * part + u64::from(cpu));
            let bytes = bytes[..aux.size as usize].to_vec();
            file.add_trace(&id, cpu, Aux { offset: *offset, ..aux }, bytes);
            *offset += aux.size.next_multiple_of(8);
        }
    }
    let bytes = whole.unwrap().write(Layout::default());
    fs::write(folder.path("perf.data"), bytes).unwrap();
}

fn run(folder: &Folder, words: &str) -> Output {
    let words = format!("{words} --binary {}", folder.path("code.bin").display());
    let output = tracewright(&args(&words, &[&folder.path("perf.data")]));
    assert_eq!(output.code, Some(0), "{words}: {}", output.err);
    output
}

#[test]
fn a_stack_continues_on_another_cpu() {
    let folder = Folder::new("joined");
    record(&folder, 0x841);
    let folded = run(&folder, "functions --format folded");
    let mut want = Vec::new();
    for thread in [1000, 1001] {
        for path in ["", ";0x1020", ";0x1020;0x1040"] {
            want.push(format!("traced_thread_{thread};[unknown]{path} 4"));
        }
    }
    let mut found: Vec<&str> = folded.out.lines().collect();
    found.sort_unstable();
    assert_eq!(found, want, "{}", folded.err);

    // Each function was called once by each thread, and returned.
    let table = run(&folder, "functions");
    assert!(table.out.contains("24 instructions, 4 calls, 4 returns"), "{}", table.out);
    for jobs in ["1", "3"] {
        let other = run(&folder, &format!("functions --jobs {jobs}"));
        assert_eq!(other.out, table.out);
    }
    let calls = run(&folder, "calls");
    for line in ["traced thread 1000", "traced thread 1001", "0x1040: 4"] {
        assert!(calls.out.contains(line), "{line}: {}", calls.out);
    }

    for format in ["callgrind", "pprof", "flame-graph"] {
        let file = folder.path(format);
        let words = format!("functions --format {format} --output {}", file.display());
        let output = run(&folder, &words);
        assert!(!fs::read(file).unwrap().is_empty(), "{format} {}", output.err);
    }
    let page = run(&folder, "report");
    assert!(page.out.contains("traced thread 1000") && page.out.contains("0x1040"));
    // Each buffer, with the names of its threads.
    let answers = tracewright_testing::embedded(&page.out);
    let capture = String::from_utf8_lossy(&answers["capture"]);
    assert!(capture.contains("\"name\":\"traced thread 1001\""), "{capture}");
}

/// The frames of a thread are where the timestamps of its CPUs are.
#[test]
fn a_timeline_has_the_times_of_all_cpus() {
    let folder = Folder::new("joined-timeline");
    record(&folder, 0x841);
    let chrome = run(&folder, "timeline --format chrome --frequency 1000000000");
    let file: serde_json::Value = serde_json::from_str(&chrome.out).unwrap();
    let events = file["traceEvents"].as_array().unwrap();
    let number = |event: &serde_json::Value, key: &str| event[key].as_f64().unwrap();
    let mut spans: BTreeMap<(u64, String), (f64, f64)> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let key = (event["tid"].as_u64().unwrap(), event["name"].as_str().unwrap().to_owned());
        let from = number(event, "ts");
        spans.insert(key, (from, from + number(event, "dur")));
    }
    let of = |name: &str| -> Vec<(f64, f64)> {
        spans.iter().filter(|((_, own), _)| own == name).map(|(_, span)| *span).collect()
    };
    // In ticks of the first timestamp: thread 1000 begins at 100 on CPU 0, and is in the third
    // function until after 120 on CPU 1; thread 1001 calls it after 130 on CPU 0.
    let third = of("0x1040");
    assert_eq!(third.len(), 2, "{}", chrome.out);
    let mut third: Vec<(f64, f64)> = third;
    third.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (first, second) = (third[0], third[1]);
    let tick = |ticks: f64| ticks / 1000.0;
    assert!(first.0 < tick(120.0) && first.1 >= tick(120.0), "{third:?}");
    assert!(second.0 >= tick(125.0) && second.1 <= tick(140.0), "{third:?}");
    assert!(first.1 <= second.0, "{third:?}");
}

/// Without timestamps, the order of the CPUs is not known.
#[test]
fn without_timestamps_each_cpu_is_by_itself() {
    let folder = Folder::new("joined-untimed");
    record(&folder, 0x41);
    let output = run(&folder, "functions --per-thread");
    assert!(output.err.contains("a thread has a call stack on each CPU"), "{}", output.err);
    for name in ["cpu0 traced thread 1000", "cpu1 traced thread 1000", "cpu1 traced thread 1001"] {
        assert!(output.out.contains(name), "{name}: {}", output.out);
    }
    let folded = run(&folder, "functions --format folded");
    let sum: u64 = folded
        .out
        .lines()
        .map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap())
        .sum();
    assert_eq!(sum, 24);
}

/// The trace units of processors without trace are not listed one by one.
#[test]
fn processors_without_trace_are_one_row() {
    let Some(captures) = shared("captures/simpleperf-etm") else { return };
    let output = tracewright(&args("info", &[&captures.join("perf_etm.data")]));
    let sources: Vec<&str> = output.out.lines().filter(|row| row.starts_with("source ")).collect();
    let rest = "source     7 without a trace buffer, cpu0 to cpu6";
    assert!(
        sources.len() == 2 && sources[0].contains("cpu7: ") && sources[1] == rest,
        "{sources:?}"
    );
}

/// The functions of real files have the instructions of the ranges, which `decode` lists.
#[test]
fn functions_have_all_instructions_of_captures() {
    let Some(captures) = shared("captures/simpleperf-etm") else { return };
    for file in ["perf_etm.data", "perf_kernel.data", "perf_with_unformatted_trace.data"] {
        let path = captures.join(file);
        let binaries = ["etm_test_loop", "rq_stats.ko"].map(|name| captures.join(name));
        let words =
            format!("--binary {} --binary {}", binaries[0].display(), binaries[1].display());
        let listed =
            tracewright(&args(&format!("decode --single --format json {words}"), &[&path]));
        let ranges: u64 = listed
            .out
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .filter(|line| line["kind"] == "range")
            .map(|line| line["instructions"].as_u64().unwrap())
            .sum();
        assert!(ranges > 0, "{file}");
        let folded = tracewright(&args(&format!("functions --format folded {words}"), &[&path]));
        assert_eq!(folded.code, Some(0), "{}", folded.err);
        let own = folded.out.lines().map(|line| line.rsplit_once(' ').unwrap().1);
        assert_eq!(own.map(|own| own.parse::<u64>().unwrap()).sum::<u64>(), ranges, "{file}");
        for verb in ["report", "timeline --format chrome", "calls"] {
            let output = tracewright(&args(&format!("{verb} {words}"), &[&path]));
            assert_eq!(output.code, Some(0), "{file} {verb}: {}", output.err);
            assert!(!output.out.is_empty(), "{file} {verb}");
        }
    }
}

/// Call paths of a whole file are one document, not one with an empty one after it.
#[test]
fn formats_of_call_paths_are_one_document() {
    let Some(path) = shared("captures/simpleperf-etm/perf_etm.data") else { return };
    for (format, mark) in [("flame-graph", "<?xml "), ("callgrind", "\ntotals: ")] {
        let words = format!("functions --format {format}");
        let output = tracewright(&args(&words, &[&path]));
        assert_eq!(output.code, Some(0), "{}", output.err);
        assert_eq!(output.out.matches(mark).count(), 1, "{}", output.out);
    }
}
