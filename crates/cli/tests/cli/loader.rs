//! A program of two threads that loads a shared library, unloads it, and loads another one in its
//! place: from QEMU's log to `perf.data`, and to programs that are built with its profile.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::common::{Folder, args, tracewright};
use crate::perf::{ok, run};
use tracewright::base::Space;
use tracewright::capture::perf::{Body, Layout, Mmap, PerfData, Record, Recording, Units};
use tracewright::capture::{Bytes, TimeConversion};
use tracewright::image::{Elf, Image, Load};
use tracewright_testing::{tool, tool_since};

const LIBRARIES: [&str; 2] = ["libfirst.so", "libsecond.so"];
/// The address at which the program loads the libraries.
const BASE: u64 = 0x4000_0000;

/// SVC #0.
const SYSTEM_CALL: u32 = 0xd400_0001;

/// What was executed between two mappings: the thread and the address of each instruction, and the
/// library that is mapped.
#[derive(Default)]
struct Interval {
    library: Option<usize>,
    steps: Vec<(u32, u64)>,
}

impl Interval {
    /// The addresses of the instructions of a thread.
    fn of(&self, thread: u32) -> impl Iterator<Item = u64> {
        self.steps.iter().filter(move |(its, _)| *its == thread).map(|(_, pc)| *pc)
    }
}

/// Builds and executes the program. `None` where a tool is missing.
#[track_caller]
fn executed(folder: &Folder, options: &str) -> Option<(Vec<Interval>, Option<i32>)> {
    let clang = tool(&[("clang-22", "clang-22"), ("clang-19", "clang-19")])?;
    tool(&[("ld.lld-22", "lld-22"), ("ld.lld-19", "lld-19")])?;
    let qemu = tool_since(&[("qemu-aarch64", "qemu-user")], (7, 2))?;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
    let all = "--target=aarch64-linux-gnu -O1 -g -fdebug-info-for-profiling -ffreestanding \
               -nostdlib -fuse-ld=lld -Wl,--build-id=sha1 -Wl,-z,max-page-size=4096";
    let words = format!("{all} {options} -static -Wl,--emit-relocs -o");
    ok(clang, &words, &[&folder.path("program"), &sources.join("loader_program.c")]);
    for (name, kind) in LIBRARIES.iter().zip(["-DFIRST", "-DSECOND"]) {
        let words = format!("{all} -fPIC -shared -Wl,-e,work {kind} -o");
        ok(clang, &words, &[&folder.path(name), &sources.join("loader_library.c")]);
    }
    let libraries = LIBRARIES.map(|name| folder.path(name));
    let (log, program) = (folder.path("log"), folder.path("program"));
    let paths: [&Path; 4] = [&log, &program, &libraries[0], &libraries[1]];
    let execute = || {
        let mut code = None;
        for single in ["-singlestep", "-one-insn-per-tb"] {
            let words = format!("{single} -d exec,nochain,strace -D");
            code = run(qemu, &words, &paths).1;
            if code != Some(1) {
                break;
            }
        }
        (code, fs::read_to_string(&log).unwrap())
    };
    // Where the processor is busy, the emulator may interrupt a block, which is then logged twice.
    let (code, log) = std::iter::repeat_with(execute)
        .take(10)
        .find(|(_, log)| !log.contains("Stopped execution"))
        .expect("an execution without an interruption");
    let (mut intervals, mut opened) = (vec![Interval::default()], None);
    for line in log.lines() {
        if let Some(at) = line.find("Trace ") {
            let mut words = line[at + 6..].split([':', '/']);
            let thread = words.next().unwrap().parse().unwrap();
            let pc = u64::from_str_radix(words.nth(1).unwrap(), 16).unwrap();
            intervals.last_mut().unwrap().steps.push((thread, pc));
        }
        if line.contains(" openat(") {
            opened = LIBRARIES.iter().position(|name| line.contains(name));
        }
        if line.contains(" mmap(") && opened.is_some() {
            intervals.push(Interval { library: opened, steps: Vec::new() });
        }
    }
    Some((intervals, code))
}

/// Encodes an interval, each thread on a CPU of its own.
#[track_caller]
fn encode(folder: &Folder, interval: &Interval) -> PerfData {
    let mut log = String::from("cpu,step,address,isa,value,cause\n");
    for thread in 0..2 {
        if interval.of(thread).next().is_some() {
            writeln!(log, "{thread},contextid,,,{:x}", 1000 + thread).unwrap();
        }
    }
    let [csv, data, program] = ["log.csv", "part", "program"].map(|name| folder.path(name));
    let code = fs::read(&program).unwrap();
    let mut before = [None; 2];
    for (thread, pc) in &interval.steps {
        let last = before.get_mut(*thread as usize).and_then(|last| last.replace(*pc));
        // A system call that does not continue behind it enters a signal handler, or leaves it.
        if let Some(last) = last.filter(|last| last + 4 != *pc)
            && opcode(&code, last) == Some(SYSTEM_CALL)
        {
            writeln!(log, "{thread},exception,{:x},,,call", last + 4).unwrap();
        }
        writeln!(log, "{thread},instruction,{pc:x},A64,").unwrap();
    }
    fs::write(&csv, log).unwrap();
    let library = interval.library.map_or(String::new(), |n| {
        format!("--image {}@{BASE:#x}", folder.path(LIBRARIES[n]).display())
    });
    let words = format!(
        "encode --protocol ETM4 --framing raw --config TRCCONFIGR=0x41 --to perf {library} --log"
    );
    let paths = [&csv, Path::new("--image"), &program, Path::new("-o"), &data];
    let output = tracewright(&args(&words, &paths));
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(!output.err.contains("note"), "{}", output.err);
    PerfData::read(&Bytes::from(fs::read(&data).unwrap())).unwrap()
}

/// The recording of all intervals: each mapping of a library, and after it the trace.
fn recorded(folder: &Folder, intervals: &[Interval]) -> PerfData {
    let parts: Vec<PerfData> = intervals.iter().map(|interval| encode(folder, interval)).collect();
    let cpus = |data: &PerfData| {
        data.records.iter().filter(|record| matches!(record.body, Body::Aux(_))).count()
    };
    let whole = parts.iter().find(|part| cpus(part) == 2).expect("both threads in an interval");
    let is_library = |record: &Record| match &record.body {
        Body::Mmap(mmap) => LIBRARIES.iter().any(|name| mmap.path.ends_with(name)),
        _ => false,
    };
    let is_trace = |record: &Record| matches!(record.body, Body::Aux(_) | Body::AuxTrace(_));
    let mut data = PerfData { records: Vec::new(), trace: Vec::new(), ..whole.clone() };
    let first = whole.records.iter().filter(|record| !is_library(record) && !is_trace(record));
    data.records.extend(first.cloned());
    let recording = Recording::default();
    let mut offsets = [0; 2];
    for (part, time) in parts.into_iter().zip((100..).step_by(100)) {
        let libraries = part.records.iter().filter(|record| is_library(record)).cloned();
        data.records.extend(libraries.map(|record| record.with_id(recording.id(0, time))));
        let aux = part.records.iter().filter_map(|record| match record.body {
            Body::Aux(aux) => Some((record.id.cpu.unwrap(), aux)),
            _ => None,
        });
        for ((cpu, aux), bytes) in aux.zip(&part.trace) {
            let offset = &mut offsets[cpu as usize];
            let aux = tracewright::capture::perf::Aux { offset: *offset, ..aux };
            data.add_trace(
                &recording.id(cpu, time + 50),
                cpu,
                aux,
                bytes[..aux.size as usize].to_vec(),
            );
            *offset += aux.size.next_multiple_of(8);
        }
    }
    data
}

/// The recording of all intervals with one AUX record for each CPU: which library is in memory
/// follows from the timestamps in the trace.
#[track_caller]
fn recorded_at_once(folder: &Folder, intervals: &[Interval]) -> PerfData {
    let image = |name: &str, bias| {
        let file = Bytes::from(fs::read(folder.path(name)).unwrap());
        Image::from_elf(&file, name, bias).unwrap()
    };
    let (program, libraries) = (image("program", 0), LIBRARIES.map(|name| image(name, BASE)));
    let mut log = String::from("cpu,step,address,isa,opcode,value\n");
    for (n, interval) in intervals.iter().enumerate() {
        for thread in 0..2 {
            if n == 0 {
                writeln!(log, "{thread},contextid,,,,{:x}", 1000 + thread).unwrap();
            }
            writeln!(log, "{thread},timestamp,,,,{:x}", 1000 * n + 1).unwrap();
        }
        for (thread, pc) in &interval.steps {
            let image =
                interval.library.filter(|_| *pc >= BASE).map_or(&program, |n| &libraries[n]);
            let opcode = image.run(image.view(Space::ANY), *pc).first_chunk().unwrap();
            let opcode = u32::from_le_bytes(*opcode);
            writeln!(log, "{thread},instruction,{pc:x},A64,{opcode:08x},").unwrap();
        }
    }
    let [csv, data] = ["all.csv", "all"].map(|name| folder.path(name));
    fs::write(&csv, log).unwrap();
    let words = "encode --protocol ETM4 --framing raw --config TRCCONFIGR=0x841 --to perf --log";
    let paths = [&csv, Path::new("--image"), &folder.path("program"), Path::new("-o"), &data];
    let output = tracewright(&args(words, &paths));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let mut data = PerfData::read(&Bytes::from(fs::read(&data).unwrap())).unwrap();
    let (mut mapped, mut trace) = (Vec::new(), 0);
    for record in &mut data.records {
        match &mut record.body {
            // The timestamps are those of the virtual counter.
            Body::AuxTraceInfo { words, .. } => {
                let mut units = Units::read(words).unwrap();
                units.version = 2;
                units.cpus.values_mut().for_each(|unit| unit.params.push(1));
                *words = units.words();
            }
            Body::Aux(_) => {
                trace += 1;
                record.id.time = Some(5000);
            }
            Body::Mmap(mmap) if mmap.path.ends_with("program") => mapped.push(mmap.clone()),
            _ => {}
        }
    }
    assert_eq!(trace, 2);
    // The libraries are mapped at 1000 and at 2000 nanoseconds, each segment from its offset.
    for (interval, time) in intervals.iter().zip((0..).step_by(1000)) {
        let Some(n) = interval.library else { continue };
        let path = folder.path(LIBRARIES[n]);
        let file = Bytes::from(fs::read(&path).unwrap());
        let elf = Elf::read(&file, LIBRARIES[n], Load::default()).unwrap();
        for segment in elf.segments.iter().filter(|segment| segment.executable) {
            let mmap = Mmap {
                address: BASE + segment.address,
                len: segment.file_size,
                offset: segment.offset,
                path: path.to_string_lossy().into_owned(),
                ..mapped[0].clone()
            };
            let record = Record::new(Body::Mmap(mmap));
            let record = record.with_build_id(elf.build_id.as_deref().unwrap());
            data.records.push(record.with_id(Recording::default().id(0, time)));
        }
    }
    let conversion = TimeConversion { shift: 0, multiplier: 1, zero: 0 };
    data.records.push(Record::new(Body::TimeConversion(conversion)));
    data
}

/// With one AUX record for each CPU, the timestamps in the trace select the library.
#[test]
fn libraries_are_selected_by_the_timestamps_of_the_trace() {
    let folder = Folder::new("loader-times");
    let Some((intervals, _)) = executed(&folder, "") else { return };
    let data = folder.path("perf.data");
    fs::write(&data, recorded_at_once(&folder, &intervals).write(Layout::default())).unwrap();
    for jobs in ["1", "4"] {
        let words = format!("instructions --jobs {jobs}");
        let output = tracewright(&args(&words, &[&data]));
        assert_eq!((output.code, output.notes().as_str()), (Some(0), ""));
        // The lines of both CPUs are in the order of time; those of each are as it executed them.
        let lines = || {
            let lines = output.out.lines().filter_map(|line| line.split_once("  0x"));
            lines.map(|(cpu, line)| {
                let (pc, _) = line.split_once(' ').unwrap();
                (cpu, u64::from_str_radix(pc, 16).unwrap())
            })
        };
        for (thread, cpu) in (0..).zip(["cpu0", "cpu1"]) {
            let found: Vec<_> = lines().filter(|(own, _)| *own == cpu).map(|(_, pc)| pc).collect();
            let want: Vec<_> = intervals.iter().flat_map(|i| i.of(thread)).collect();
            let same = found.iter().zip(&want).take_while(|(found, want)| found == want).count();
            assert!(found == want, "{same} of {} and {}", found.len(), want.len());
        }
        let cpus: Vec<_> = lines().map(|(cpu, _)| cpu).collect();
        let changes = cpus.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!((2..2 * intervals.len()).contains(&changes), "{changes}");
    }
    let output = tracewright(&args("profile --format folded", &[&data]));
    // Without the conversion of timestamps, memory is that of the moment of the record.
    let mut other = recorded_at_once(&folder, &intervals);
    other.records.retain(|record| !matches!(record.body, Body::TimeConversion(_)));
    fs::write(&data, other.write(Layout::default())).unwrap();
    let last = tracewright(&args("profile --format folded", &[&data]));
    assert!(!last.out.contains(LIBRARIES[0]), "{}", last.out);
    for (n, name) in LIBRARIES.iter().enumerate() {
        let inside = intervals.iter().filter(|interval| interval.library == Some(n));
        let want = inside.flat_map(|interval| &interval.steps).filter(|(_, pc)| *pc >= BASE);
        let lines = output.out.lines().filter(|line| line.starts_with(name));
        let sum: usize = lines.filter_map(|l| l.rsplit(' ').next()?.parse::<usize>().ok()).sum();
        assert_eq!(sum, want.count(), "{name}: {}", output.out);
    }
}

/// A timestamp is a time as the record TIME_CONV converts it (perf_event_open(2), `time_zero`): 5
/// seconds, and a millisecond each tick. Instructions up to the first branch after a timestamp may
/// have been executed before it.
#[test]
fn samples_have_the_times_of_the_trace() {
    let folder = Folder::new("loader-sample-times");
    let Some((intervals, _)) = executed(&folder, "") else { return };
    let mut data = recorded_at_once(&folder, &intervals);
    let time = |ticks: u64| 5_000_000_000 + ticks * 1_000_000;
    for record in &mut data.records {
        record.id.time = record.id.time.map(time);
        if let Body::TimeConversion(conversion) = &mut record.body {
            *conversion = TimeConversion { shift: 1, multiplier: 2_000_000, zero: time(0) };
        }
    }
    let [path, samples] = ["perf.data", "samples"].map(|name| folder.path(name));
    fs::write(&path, data.write(Layout::default())).unwrap();
    let output = tracewright(&args("perf-script --itrace=i1i", &[&path]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    for thread in 0..2 {
        let cpu = format!("[{thread:03}]");
        let of_cpu = output.out.lines().filter(|line| line.contains(&cpu));
        let found: Vec<(String, u64)> = of_cpu
            .map(|line| {
                let mut words = line.split_whitespace();
                let time = words.by_ref().find(|word| word.ends_with(':')).unwrap();
                let pc = words.nth(2).unwrap();
                (time.to_owned(), u64::from_str_radix(pc, 16).unwrap())
            })
            .collect();
        let want = intervals.iter().zip(5..).flat_map(|(interval, seconds)| {
            interval.of(thread).map(move |pc| (format!("{seconds}.001000:"), pc))
        });
        let want: Vec<_> = want.collect();
        assert!(found.iter().map(|(_, pc)| pc).eq(want.iter().map(|(_, pc)| pc)), "{cpu}");
        let other = (0..want.len()).filter(|n| found[*n].0 != want[*n].0);
        for n in other {
            let later = want[n..].iter().take(16).find(|(time, _)| *time != want[n].0);
            assert_eq!(later.map(|(time, _)| time), Some(&found[n].0), "{cpu} {n}");
        }
    }
    let words = "profile --format perf-data --itrace i10il4 -o";
    assert_eq!(tracewright(&args(words, &[&samples, &path])).code, Some(0));
    let Some(perf) = tool_since(&[("perf", "linux-perf")], (6, 1)) else { return };
    let times = |text: &str| -> Vec<String> {
        let words = text.split_whitespace().filter(|word| word.ends_with(".001000:"));
        words.map(str::to_owned).collect()
    };
    let of_perf = times(&ok(perf, "script -F cpu,time,ip -i", &[&samples]));
    let output = tracewright(&args("perf-script --itrace=i10il4", &[&path]));
    let mut want = times(&output.out);
    want.sort();
    assert!(want.len() > 20 && of_perf == want, "{of_perf:?}\n{want:?}");
}

#[test]
fn libraries_that_replace_each_other_are_decoded_and_profiled() {
    let folder = Folder::new("loader");
    let Some((intervals, code)) = executed(&folder, "") else { return };
    assert_eq!(intervals.len(), 3);
    let data = folder.path("perf.data");
    fs::write(&data, recorded(&folder, &intervals).write(Layout::default())).unwrap();
    // Every instruction, by interval and CPU.
    let output = tracewright(&args("instructions --format pc", &[&data]));
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    let found = output.out.lines().map(|pc| u64::from_str_radix(pc, 16).unwrap());
    let want = intervals.iter().flat_map(|interval| (0..2).flat_map(|thread| interval.of(thread)));
    let (found, want) = (found.collect::<Vec<_>>(), want.collect::<Vec<_>>());
    let same = found.iter().zip(&want).take_while(|(found, want)| found == want).count();
    assert!(found == want, "{same} of {} and {}", found.len(), want.len());
    // Every branch, by interval and CPU, of the program and of both libraries.
    let output = tracewright(&args("branches --format json", &[&data]));
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    let lines = output.out.lines().map(|line| serde_json::from_str(line).unwrap());
    let found = lines.filter_map(|line: serde_json::Value| {
        let address =
            |key: &str| u64::from_str_radix(line[key].as_str()?.strip_prefix("0x")?, 16).ok();
        let exception = line["kind"].as_str()?.starts_with("exception ");
        let pair = (address("from")?, address("to")?);
        (!exception && pair.1 != pair.0 + 4).then_some(pair)
    });
    let want = intervals.iter().flat_map(|interval| {
        (0..2).flat_map(|thread| {
            let steps: Vec<u64> = interval.of(thread).collect();
            let pairs: Vec<_> = steps.windows(2).map(|pair| (pair[0], pair[1])).collect();
            pairs.into_iter().filter(|(from, to)| *to != from + 4)
        })
    });
    let (found, want) = (found.collect::<Vec<_>>(), want.collect::<Vec<_>>());
    let same = found.iter().zip(&want).take_while(|(found, want)| found == want).count();
    assert!(found == want, "{same} of {} and {}", found.len(), want.len());
    // The instructions of each file.
    let output = tracewright(&args("profile --format json", &[&data]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let (mut found, mut file) = (BTreeMap::new(), String::new());
    for line in output.out.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        match line["type"].as_str().unwrap() {
            "file" => file = line["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned(),
            "range" => {
                let count = line["taken"].as_u64().unwrap() + line["not_taken"].as_u64().unwrap();
                *found.entry(file.clone()).or_insert(0) +=
                    count * line["instructions"].as_u64().unwrap();
            }
            _ => {}
        }
    }
    let mut want = BTreeMap::new();
    for interval in &intervals {
        for (_, pc) in &interval.steps {
            let library = interval.library.filter(|_| *pc >= BASE);
            let file = library.map_or("program", |n| LIBRARIES[n]);
            *want.entry(file.to_owned()).or_insert(0u64) += 1;
        }
    }
    assert_eq!(found, want);
    assert_eq!(want.len(), 3);
    // Both threads, and the functions of both libraries, are named.
    let output = tracewright(&args("decode", &[&data]));
    for want in ["thread 1000 ", "thread 1001 ", "<work>", "<fibonacci>", "<second_thread"] {
        assert!(output.out.contains(want), "{want}");
    }
    rebuilt(&folder, &data, code);
}

/// The opcode at an address of a program without relocation.
fn opcode(program: &[u8], pc: u64) -> Option<u32> {
    let word = |at: usize| Some(u64::from_le_bytes(program.get(at..at + 8)?.try_into().ok()?));
    let count = u16::from_le_bytes(program.get(56..58)?.try_into().ok()?);
    (0..usize::from(count)).find_map(|n| {
        let segment = word(32)? as usize + 56 * n;
        let inside =
            pc.checked_sub(word(segment + 16)?).filter(|at| *at < word(segment + 32).unwrap())?;
        let at = (word(segment + 8)? + inside) as usize;
        Some(u32::from_le_bytes(program.get(at..at + 4)?.try_into().ok()?))
    })
}

/// Calls, recursion, indirect branches, signals and two libraries: each branch within a file is
/// counted as often as the log has it.
#[test]
fn counts_are_those_of_the_log() {
    let folder = Folder::new("loader-counts");
    let Some((intervals, _)) = executed(&folder, "-DSIGNAL") else { return };
    let data = folder.path("perf.data");
    fs::write(&data, recorded(&folder, &intervals).write(Layout::default())).unwrap();
    let program = fs::read(folder.path("program")).unwrap();
    let (mut want, mut executed, mut signals) = (BTreeMap::new(), 0, 0);
    for interval in &intervals {
        let place = |pc: u64| match interval.library.filter(|_| pc >= BASE) {
            Some(n) => (LIBRARIES[n], pc - BASE),
            None => ("program", pc),
        };
        for thread in 0..2 {
            let steps: Vec<u64> = interval.of(thread).collect();
            executed += steps.len() as u64;
            for pair in steps.windows(2).filter(|pair| pair[1] != pair[0] + 4) {
                let ((file, from), (other, to)) = (place(pair[0]), place(pair[1]));
                if opcode(&program, pair[0]) == Some(SYSTEM_CALL) {
                    signals += 1;
                } else if file == other {
                    *want.entry((file.to_owned(), from, to)).or_insert(0u64) += 1;
                }
            }
        }
    }
    // Into the handler and back, twice.
    assert_eq!(signals, 4);
    let output = tracewright(&args("profile --format json", &[&data]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let (mut found, mut file, mut instructions) = (BTreeMap::new(), String::new(), 0);
    for line in output.out.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let address =
            |key: &str| u64::from_str_radix(line[key].as_str()?.strip_prefix("0x")?, 16).ok();
        match line["type"].as_str().unwrap() {
            "profile" => instructions = line["instructions"].as_u64().unwrap(),
            "file" => file = line["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned(),
            "branch" => {
                let pair = (file.clone(), address("from").unwrap(), address("to").unwrap_or(0));
                // The others are those between files.
                if want.contains_key(&pair) {
                    *found.entry(pair).or_insert(0) += line["count"].as_u64().unwrap();
                }
            }
            _ => {}
        }
    }
    assert_eq!(instructions, executed);
    assert_eq!(found, want);
    assert!(want.keys().any(|(file, ..)| file == LIBRARIES[1]), "{want:?}");
}

/// Builds the program with BOLT, and a library with clang.
fn rebuilt(folder: &Folder, data: &Path, code: Option<i32>) {
    let [profile, fdata, program, rebuilt] =
        ["profile", "fdata", "program", "rebuilt"].map(|name| folder.path(name));
    let libraries = LIBRARIES.map(|name| folder.path(name));
    let write = |words: &str| {
        let words = format!("profile {words} -o");
        let output = tracewright(&args(&words, &[&profile, data]));
        assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    };
    if let Some(bolt) = tool(&[("llvm-bolt-22", "bolt-22"), ("llvm-bolt-19", "bolt-19")]) {
        let dialect = if bolt.ends_with("19") { "--dialect ranges" } else { "" };
        write(&format!("--format bolt --module program {dialect}"));
        ok(bolt, "-aggregate-only -pa -p", &[&profile, Path::new("-o"), &fdata, &program]);
        let words = "-reorder-blocks=ext-tsp -data";
        let text = ok(bolt, words, &[&fdata, &program, Path::new("-o"), &rebuilt]);
        assert!(text.contains("modified layout of"), "{text}");
        assert_eq!(run("qemu-aarch64", "", &[&rebuilt, &libraries[0], &libraries[1]]).1, code);
    }
    let clang = tool(&[("clang-22", "clang-22"), ("clang-19", "clang-19")]);
    write(&format!("--format llvm --module {}", LIBRARIES[1]));
    let text = fs::read_to_string(&profile).unwrap();
    assert!(text.starts_with("fibonacci:"), "{text}");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/loader_library.c");
    let words = format!(
        "--target=aarch64-linux-gnu -O2 -g -ffreestanding -nostdlib -shared -fPIC -fuse-ld=lld \
         -Wl,-e,work -Wl,-z,max-page-size=4096 -DSECOND -fprofile-sample-use={} -o",
        profile.display()
    );
    ok(clang.unwrap_or("clang"), &words, &[&libraries[1], &source]);
    assert_eq!(run("qemu-aarch64", "", &[&program, &libraries[0], &libraries[1]]).1, code);
}
