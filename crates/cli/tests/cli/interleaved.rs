//! Listings of several CPUs in the order of timestamps.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::common::{Folder, Output, args, command, tracewright};
use tracewright::capture::Bytes;
use tracewright::capture::perf::{Aux, Body, Layout, PerfData, Recording};
use tracewright_testing::Random;

/// The address of a loop of 16 instructions.
const LOOP: u64 = 0x1000;
const CPUS: u64 = 3;

/// A file with several AUX records of each CPU, which executes the loop between timestamps. CPU 2
/// begins later and has no timestamps in its second record.
#[track_caller]
fn recorded(folder: &Folder) {
    let mut random = Random::new(8);
    let nops = std::iter::repeat_n(0xd503_201fu32, 15).chain([0x17ff_fff1]);
    let code: Vec<u8> = nops.flat_map(u32::to_le_bytes).collect();
    fs::write(folder.path("code.bin"), code).unwrap();
    let (mut now, mut whole, mut offsets) = (100, None::<PerfData>, [0; CPUS as usize]);
    for part in 0..3 {
        let mut log = String::from("cpu,step,address,isa,value\n");
        for cpu in 0..CPUS {
            writeln!(log, "{cpu},contextid,,,{:x}", 1000 + cpu).unwrap();
        }
        for step in 0..120 {
            let cpu = random.below(CPUS);
            // The first timestamps of each CPU, and about two in three later turns.
            let silent = cpu == 2 && part == 1;
            if (step < 3 || random.below(3) > 0) && !silent {
                now += random.below(3);
                writeln!(log, "{cpu},timestamp,,,{now:x}").unwrap();
            }
            for n in 0..16 {
                writeln!(log, "{cpu},instruction,{:x},A64,", LOOP + 4 * n).unwrap();
            }
        }
        let [csv, data] = ["log.csv", "part"].map(|name| folder.path(name));
        fs::write(&csv, log).unwrap();
        let image = format!("{}@{LOOP:#x}", folder.path("code.bin").display());
        let words = format!(
            "encode --protocol ETM4 --framing raw --config TRCCONFIGR=0x841 --to perf --image \
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
        for ((cpu, aux), bytes) in aux.zip(&read.trace) {
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

/// The value of the timestamp in a line.
fn time(line: &str) -> Option<u64> {
    if line.starts_with('{') {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let value = (line["kind"] == "timestamp").then(|| line["value"].as_str().unwrap())?;
        return value.parse().ok();
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "timestamp")?;
    words.get(at + 1)?.parse().ok()
}

/// The lines of all buffers, each listed alone, by the definition: sorted by time and CPU.
#[track_caller]
fn expected(folder: &Folder, words: &str, names: &[Vec<String>]) -> Vec<String> {
    let (mut all, mut head) = (Vec::new(), Vec::new());
    for (cpu, names) in names.iter().enumerate() {
        let mut now = 0;
        for name in names {
            let words = format!("{words} --jobs 1 --source {name}");
            let output = tracewright(&args(&words, &[&folder.path("perf.data")]));
            assert_eq!(output.code, Some(0), "{}", output.err);
            let mut lines: Vec<&str> = output.out.lines().collect();
            if words.contains("json") {
                head = vec![lines.remove(0).to_owned()];
            }
            now = now.max(lines.iter().find_map(|line| time(line)).unwrap_or(0));
            for line in lines {
                now = now.max(time(line).unwrap_or(0));
                let name = words.starts_with("instructions") && !line.starts_with('{');
                let name = if name { format!("cpu{cpu}  ") } else { String::new() };
                all.push((now, cpu, format!("{name}{line}")));
            }
        }
    }
    all.sort_by_key(|(time, cpu, _)| (*time, *cpu));
    head.into_iter().chain(all.into_iter().map(|(.., line)| line)).collect()
}

#[test]
fn lines_of_several_cpus_are_in_the_order_of_time() {
    let folder = Folder::new("interleaved");
    recorded(&folder);
    let file = folder.path("perf.data");
    let capture = tracewright::read_capture(&file).unwrap();
    let names: Vec<Vec<String>> = (0..CPUS)
        .map(|cpu| {
            let names = capture.buffers.iter().map(|buffer| buffer.name.clone());
            names.filter(|name| name.starts_with(&format!("cpu{cpu}@"))).collect()
        })
        .collect();
    assert!(names.iter().all(|names| names.len() == 3), "{names:?}");
    let binary = format!("--binary {}", folder.path("code.bin").display());
    for verb in ["decode", "decode --format json", "instructions", "instructions --format json"] {
        let words = format!("{verb} {binary}");
        let want = expected(&folder, &words, &names);
        assert!(want.len() > 500, "{} lines", want.len());
        for jobs in ["1", "7"] {
            let output = tracewright(&args(&format!("{words} --jobs {jobs}"), &[&file]));
            assert_eq!(output.code, Some(0), "{}", output.err);
            let found: Vec<&str> = output.out.lines().collect();
            let same = found.iter().zip(&want).take_while(|(found, want)| found == want).count();
            let at = (found.get(same), want.get(same));
            assert!(found == want, "{words}, {jobs} jobs: line {same}: {at:?}");
        }
        // The CPUs alternate.
        let cpu = |line: &String| line.contains("cpu1");
        assert!(want.windows(2).filter(|pair| cpu(&pair[0]) != cpu(&pair[1])).count() > 60);
    }
    // Packets have no lines of elements.
    let words = format!("packets {binary} --jobs");
    let one = tracewright(&args(&format!("{words} 1"), &[&file]));
    let four = tracewright(&args(&format!("{words} 4"), &[&file]));
    assert_eq!((one.code, &one.out, &one.err), (Some(0), &four.out, &four.err));
    // Without timestamps, in the order of the records.
    let mut data = PerfData::read(&Bytes::from(fs::read(&file).unwrap())).unwrap();
    for record in &mut data.records {
        if let Body::AuxTraceInfo { words, .. } = &mut record.body {
            let changed = words.iter_mut().filter(|word| **word == 0x841);
            changed.for_each(|word| *word = 0x41);
        }
    }
    fs::write(&file, data.write(Layout::default())).unwrap();
    let output = tracewright(&args(&format!("decode {binary} --jobs 4"), &[&file]));
    let starts = output.out.lines().filter(|line| line.contains("start of trace"));
    let cpus: Vec<&str> = starts.filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(cpus, ["cpu0", "cpu1", "cpu2"].repeat(3));
}

/// Where the system starts no thread for each CPU, all of the trace is listed, and a note states
/// the other order.
#[test]
fn without_threads_the_cpus_are_listed_one_after_another() {
    let folder = Folder::new("interleaved-threads");
    recorded(&folder);
    let data = folder.path("perf.data");
    let sorted = |out: &str| {
        let mut lines: Vec<String> = out.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    for (words, code) in [("decode", 0), ("instructions", 0), ("decode --strict", 1)] {
        let want = tracewright(&args(words, &[&data]));
        let mut run = command(&args(words, &[&data]));
        let run: Output =
            run.env("RUST_MIN_STACK", (1u64 << 46).to_string()).output().unwrap().into();
        assert_eq!(run.code, Some(code), "{}", run.err);
        assert!(run.out != want.out && sorted(&run.out) == sorted(&want.out), "{words}");
        let note = "one CPU after another instead of in the order of time";
        assert!(run.err.contains(note), "{words}: {}", run.err);
    }
}
