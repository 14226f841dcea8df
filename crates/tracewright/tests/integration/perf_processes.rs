//! Processes in one trace buffer: made by trace units in software, written to a `perf.data` file,
//! and decoded. The expectation is what the trace units received.

#[path = "../../../../fuzz/src/perf.rs"]
mod damaged;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use tracewright::Trace;
use tracewright::analysis::{Filter, Profile, Profiler};
use tracewright::base::step::{Retired, Step, StepSink};
use tracewright::base::{Code, Context, Isa, Pc, Security, Space, Waypoints};
use tracewright::capture::perf::{
    self, Aux, Body, Form, Layout, MappedFile, Mmap, PerfData, Record, Search, Task,
};
use tracewright::decode::{Fork, Memory, Options, Plan, Program, Session, input, memory, parallel};
use tracewright::decode::{Jobs, Merging, Tally};
use tracewright::frames::Framing;
use tracewright::image::{Cache, CacheOptions, Image, Region};
use tracewright::logs::{Recorder, Recording};
use tracewright::protocols::registry::AnyProtocol;
use tracewright::views::Source;
use tracewright::views::text::{Listing, Shown};
use tracewright_testing::{Random, short_or_long, times};

/// The address of all programs.
const AT: u64 = 0x1000;
/// NOP.
const NOP: u32 = 0xd503_201f;

/// A loop of `len` instructions, the last of which branches to the first.
fn program(len: u32) -> Vec<u8> {
    let back = 0x1400_0000 | (len - 1).wrapping_neg() & 0x03ff_ffff;
    let nops = std::iter::repeat_n(NOP, len as usize - 1);
    nops.chain([back]).flat_map(u32::to_le_bytes).collect()
}

/// A part of an execution: thread, length of its loop, turns.
type Slice = (u32, u32, u32);

/// The trace of `slices`, which one processor executes one after another.
fn trace(
    protocol: AnyProtocol,
    framing: Framing,
    registers: &[(&str, u64)],
    slices: &[Slice],
) -> (Vec<u8>, tracewright::Capture) {
    let registers = registers.iter().map(|(name, value)| ((*name).to_owned(), *value));
    let mut recorder = Recorder::new(Recording {
        protocol,
        registers: registers.collect(),
        texts: Vec::new(),
        framing,
        messages: false,
        core: "ARMv8-A".into(),
        images: Vec::new(),
    })
    .expect("a trace unit");
    for &(thread, len, turns) in slices {
        let image = Arc::new(Image::new([Region::new("program", AT, program(len))]));
        let mut cache = Cache::new(image, Waypoints::default(), CacheOptions::default());
        let context = Context {
            context_id: Some(thread),
            vmid: Some(thread),
            el: Some(0),
            security: Some(Security::NonSecure),
            bits64: true,
            isa: Isa::A64,
        };
        recorder.step(0, &Step::Off);
        recorder.step(0, &Step::Context(context));
        recorder.step(0, &Step::On);
        for _ in 0..turns {
            for n in 0..len {
                let address = AT + 4 * u64::from(n);
                let pc = Pc { address, isa: Isa::A64, space: Space::ANY };
                let instruction = cache.instruction(pc).expect("an instruction");
                let last = n + 1 == len;
                let next = if last { AT } else { address + 4 };
                let retired =
                    Retired { address, next, next_isa: Isa::A64, taken: last, instruction };
                recorder.step(0, &Step::Retired(retired));
            }
        }
    }
    recorder.step(0, &Step::Halted);
    let capture = recorder.finish().expect("a capture");
    (capture.buffers[0].bytes().into_owned(), capture)
}

fn mmap(process: u32, path: &str, len: u32) -> Body {
    Body::Mmap(Mmap {
        process,
        thread: process,
        address: AT,
        len: u64::from(len) * 4,
        offset: 0,
        file: Some(MappedFile { identity: vec![0; 24], protection: 5, flags: 2 }),
        path: path.into(),
    })
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tracewright-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Protocol, framing, registers, and flags of AUX records.
type Unit = (AnyProtocol, Framing, Vec<(&'static str, u64)>, u64);

/// Units that trace threads in each way that perf configures.
fn units() -> Vec<Unit> {
    vec![
        // CONTEXTIDR_EL1 in context IDs.
        (AnyProtocol::Etmv4, Framing::Coresight, vec![("TRCCONFIGR", 0x41)], 0),
        (AnyProtocol::Etmv4, Framing::Raw, vec![("TRCCONFIGR", 0x51)], Aux::RAW),
        // CONTEXTIDR_EL2 in VMIDs: VMID and VMIDOPT.
        (
            AnyProtocol::Ete,
            Framing::Raw,
            vec![("TRCCONFIGR", 0x8081), ("TRCIDR2", 0x2000_1088)],
            Aux::RAW,
        ),
    ]
}

/// The file of a system with two processes with two threads, where a library is unloaded and
/// another mapped in its place.
fn system(folder: &Folder, unit: &Unit, parts: &[(u64, Vec<Slice>)]) -> PathBuf {
    let (protocol, framing, registers, flags) = unit;
    let recording = perf::Recording::default();
    let (_, template) = trace(*protocol, *framing, registers, &parts[0].1);
    let empty = tracewright::Capture { buffers: Vec::new(), ..template };
    let mut data = recording.of(&empty).expect("a file");
    let id = |time| recording.id(0, time);
    let fork = |process, thread, time| {
        let task = Task { process, parent_process: 1, thread, parent_thread: 1, time };
        Record::new(Body::Fork(task)).with_id(id(time))
    };
    data.records.push(fork(2000, 2000, 1));
    data.records.push(fork(3000, 3000, 1));
    let task =
        Task { process: 2000, parent_process: 2000, thread: 2001, parent_thread: 2000, time: 2 };
    data.records.push(Record::new(Body::Fork(task)).with_id(id(2)));
    data.records.push(Record::new(mmap(2000, "/lib/two.bin", 2)).with_id(id(5)));
    data.records.push(Record::new(mmap(3000, "/lib/three.bin", 3)).with_id(id(5)));
    // The library of length 2 is unloaded, which is not recorded.
    data.records.push(Record::new(mmap(2000, "/lib/five.bin", 5)).with_id(id(50)));
    let mut offset = 0;
    for (time, slices) in parts {
        let (bytes, _) = trace(*protocol, *framing, registers, slices);
        let aux = Aux { offset, size: bytes.len() as u64, flags: *flags };
        offset += aux.size.next_multiple_of(8);
        data.add_trace(&id(*time), 0, aux, bytes);
    }
    for (name, len) in [("two", 2), ("three", 3), ("five", 5)] {
        fs::write(folder.0.join(format!("{name}.bin")), program(len)).expect("a file");
    }
    let path = folder.0.join("perf.data");
    fs::write(&path, data.write(Layout::default())).expect("a file");
    path
}

fn search(folder: &Folder) -> Search {
    let files = ["two", "three", "five"].map(|name| folder.0.join(format!("{name}.bin")));
    Search { binaries: files.to_vec(), ..Search::default() }
}

/// Executions of the loop of each file.
fn counts(trace: &Trace, filter: &Filter) -> BTreeMap<String, u64> {
    let programs: Vec<Program> = trace.sources().iter().map(|s| s.program.clone()).collect();
    let mut profiler = Profiler::new(programs.clone());
    let summary = trace.decode(&mut profiler).expect("a trace");
    assert!(summary.sources.iter().all(|(_, counts)| counts.no_code == 0), "{summary}");
    let mut profile = Profile::default();
    profile.add(profiler.take(), &programs, &memory::modules(trace.capture()), filter);
    let modules = profile.modules.into_iter();
    modules.map(|((path, _), m)| (path, m.ranges.values().map(|r| r.total()).sum())).collect()
}

/// Threads of two processes alternate in one record, and a later record has another library at the
/// same address: each instruction is decoded in the file that it was executed in.
#[test]
fn each_instruction_is_in_its_file() {
    let parts = [
        (10, vec![(2000, 2, 7), (3000, 3, 4), (2001, 2, 5), (3000, 3, 2)]),
        (60, vec![(3000, 3, 3), (2001, 5, 9), (2000, 5, 1)]),
    ];
    for (n, unit) in units().iter().enumerate() {
        let folder = Folder::new(&format!("processes{n}"));
        let path = system(&folder, unit, &parts);
        let trace = Trace::new(perf::open(&path, &search(&folder)).expect("a capture"));
        let found = counts(&trace, &Filter::default());
        let want = [("/lib/two.bin", 12), ("/lib/three.bin", 9), ("/lib/five.bin", 10)];
        let want: BTreeMap<_, _> = want.map(|(path, count)| (path.to_owned(), count)).into();
        assert_eq!(found, want, "{unit:?}");
        let excluded = Filter { excluded: [2000].into(), ..Filter::default() };
        let found = counts(&trace, &excluded);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["/lib/three.bin"]);
    }
}

/// A buffer in which threads alternate often is decoded by several threads as by one: counts and
/// text.
#[test]
fn contexts_alternate_across_chunks() {
    let mut random = Random::new(5);
    let mut slices = Vec::new();
    for _ in 0..short_or_long(1000, 4000) {
        let turns = 1 + random.below(20) as u32;
        slices.push(random.pick(&[(2000, 2, turns), (3000, 3, turns), (2001, 2, turns)]));
    }
    let want: u64 = slices.iter().map(|(_, len, turns)| u64::from(len * turns)).sum();
    for (n, unit) in units().iter().enumerate() {
        let folder = Folder::new(&format!("contexts{n}"));
        let path = system(&folder, unit, &[(10, slices.clone())]);
        let capture = perf::open(&path, &search(&folder)).expect("a capture");
        let (memory, options) = (Memory::new(&capture), Options::default());
        let plan = Plan::new(&capture, 0, &options).expect("a buffer");
        let sources = Source::all(&capture, &plan, &memory);
        let bytes = capture.buffers[0].bytes();
        let decode = |jobs: usize| {
            let mut session = Session::new(&capture, &plan, &memory, &options).expect("a session");
            let shown = Shown { elements: true, ..Shown::default() };
            let view = Listing::new(Vec::new(), sources.clone(), None, shown);
            let mut both = (view, Merging(Tally::default()));
            let (mut text, mut tally) = (Vec::new(), Tally::default());
            let jobs = Jobs { step: 1 << 8, chunk: 1 << 10..=1 << 11, ..Jobs::new(jobs) };
            let mut input = input::Parts::new([&*bytes]);
            parallel::run(&mut session, &mut input, &mut both, &jobs, |(lines, counts), _| {
                text.extend(lines);
                tracewright::decode::Merge::merge(&mut tally, counts);
                true
            })
            .expect("a trace");
            (text, tally.sources[0].instructions, tally.sources[0].no_code)
        };
        let one = decode(1);
        assert_eq!((one.1, one.2), (want, 0), "{unit:?}");
        assert!(decode(3) == one, "{unit:?}");
    }
}

/// 2,000 damaged files of every form: see `fuzz/src/perf.rs`.
#[test]
fn damaged_files_are_decoded_without_panic() {
    let folder = Folder::new("damaged");
    let parts = [(10, vec![(2000, 2, 7), (3000, 3, 4)]), (60, vec![(3000, 3, 3), (2001, 5, 9)])];
    let mut files = Vec::new();
    for unit in units() {
        let bytes = fs::read(system(&folder, &unit, &parts)).expect("a file");
        let data = PerfData::read(&bytes.clone().into()).expect("a file");
        files.push(bytes);
        files.push(data.write(Layout { compressed: Some(100), ..Layout::default() }));
        let mut pipe = PerfData { form: Form::Pipe, big: true, ..data };
        let attr = pipe.attrs[0].clone();
        pipe.records.insert(0, Record::new(Body::Attr(Box::new(attr))));
        files.push(pipe.write(Layout::default()));
    }
    files.iter().for_each(|file| damaged::file(file));
    let mut random = Random::new(2000);
    for n in 0..times(2000) {
        let mut bytes = files[(n % files.len() as u64) as usize].clone();
        for _ in 0..=random.below(6) {
            let at = random.index(bytes.len());
            match random.below(5) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes[at] = random.pick(&[0, 0xff, 0x80, 7, 8]),
                2 if n % 4 == 0 => bytes.truncate(at.max(8)),
                3 => bytes.insert(at, random.next() as u8),
                _ => {
                    let from = random.index(bytes.len());
                    let len = random.index(64).min(bytes.len() - at.max(from));
                    bytes.copy_within(from..from + len, at);
                }
            }
        }
        damaged::file(&bytes);
    }
}
