//! Processes in one trace buffer: made by trace units in software, written to a `perf.data` file,
//! and decoded. The expectation is what the trace units received.

#[path = "../../../../fuzz/src/perf.rs"]
mod damaged;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

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
use tracewright::{Files, ImageSource, Trace};
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

/// The trace of `slices`, which one processor executes one after another at EL0.
fn trace(
    protocol: AnyProtocol,
    framing: Framing,
    registers: &[(&str, u64)],
    slices: &[Slice],
) -> (Vec<u8>, tracewright::Capture) {
    let user: Vec<_> = slices.iter().map(|slice| (*slice, 0, Security::NonSecure)).collect();
    trace_at(protocol, framing, registers, &user)
}

/// The trace of slices, each at an exception level and in a security state.
fn trace_at(
    protocol: AnyProtocol,
    framing: Framing,
    registers: &[(&str, u64)],
    slices: &[(Slice, u8, Security)],
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
    for &((thread, len, turns), el, security) in slices {
        let image = Arc::new(Image::new([Region::new("program", AT, program(len))]));
        let mut cache = Cache::new(image, Waypoints::default(), CacheOptions::default());
        let context = Context {
            context_id: Some(thread),
            vmid: Some(thread),
            el: Some(el),
            security: Some(security),
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
    let (protocol, framing, registers, _) = unit;
    let traces = parts.iter().map(|(time, slices)| {
        let (bytes, capture) = trace(*protocol, *framing, registers, slices);
        (*time, bytes, capture)
    });
    system_of(folder, unit, traces.collect())
}

/// The same file, with the trace at each of these times.
fn system_of(
    folder: &Folder,
    unit: &Unit,
    traces: Vec<(u64, Vec<u8>, tracewright::Capture)>,
) -> PathBuf {
    let flags = unit.3;
    let recording = perf::Recording::default();
    let template = traces[0].2.clone();
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
    for (time, bytes, _) in traces {
        let aux = Aux { offset, size: bytes.len() as u64, flags };
        offset += aux.size.next_multiple_of(8);
        data.add_trace(&id(time), 0, aux, bytes);
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

/// The same from memory: the files of the processes are found among those that are named.
#[test]
fn files_of_processes_are_in_memory() {
    let parts = [(10, vec![(2000, 2, 7), (3000, 3, 4)]), (60, vec![(2000, 5, 1)])];
    for (n, unit) in units().iter().enumerate() {
        let folder = Folder::new(&format!("memory{n}"));
        let (path, search) = (system(&folder, unit, &parts), search(&folder));
        let want = Trace::new(perf::open(&path, &search).expect("a capture"));
        let want = counts(&want, &Filter::default());
        let paths = search.binaries.iter().chain([&path]);
        let files = Files::named(paths.map(|path| (path.clone(), fs::read(path).expect("a file"))));
        drop(folder);
        let search = Search { files, ..search };
        let trace = Trace::new(perf::open(&path, &search).expect("a capture"));
        assert_eq!(counts(&trace, &Filter::default()), want, "{unit:?}");
        assert_eq!(want.len(), 3);
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

/// The memory of the host is not that of a guest, of firmware, or of the Secure world; several
/// threads decode as one. Where CONTEXTIDR_EL2 is traced, EL1 is a guest, and EL0 after it of the
/// same thread until EL2.
#[test]
fn the_exception_level_selects_the_memory_of_the_host() {
    use Security::{NonSecure, Secure};
    let levels = [(0, NonSecure), (1, NonSecure), (2, NonSecure), (3, Secure), (1, Secure)];
    for (n, unit) in units().iter().enumerate() {
        let (protocol, framing, registers, _) = unit;
        let host_at_el2 = registers.iter().any(|(_, value)| *value == 0x8081);
        let mut random = Random::new(11);
        let (mut slices, mut guest) = (Vec::new(), None);
        let (mut want, mut outside) = (0, 0);
        let mut users = std::collections::BTreeSet::new();
        for _ in 0..short_or_long(400, 2000) {
            let thread = random.pick(&[2000, 2001]);
            let (el, security) = random.pick(&levels);
            let turns = 1 + random.below(20) as u32;
            if security == NonSecure && host_at_el2 {
                guest = match el {
                    1 => Some(thread),
                    0 => guest.filter(|id| *id == thread),
                    _ => None,
                };
                users.extend(guest.filter(|_| el == 0));
            }
            let own = security == NonSecure && (!host_at_el2 || el == 2 || guest.is_none());
            *(if own { &mut want } else { &mut outside }) += u64::from(turns);
            slices.push(((thread, 2, turns), el, security));
        }
        assert!(want > 0 && outside > 0);
        let (bytes, template) = trace_at(*protocol, *framing, registers, &slices);
        let folder = Folder::new(&format!("levels{n}"));
        let path = system_of(&folder, unit, vec![(10, bytes.clone(), template)]);
        let capture = perf::open(&path, &search(&folder)).expect("a capture");
        let (memory, options) = (Memory::new(&capture), Options::default());
        let plan = Plan::new(&capture, 0, &options).expect("a buffer");
        let sources = Source::all(&capture, &plan, &memory);
        let programs: Vec<Program> = sources.iter().map(|s| s.program.clone()).collect();
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
            (text, tally.sources[0].ranges, tally.sources[0].no_code > 0)
        };
        let one = decode(1);
        assert_eq!((one.1, one.2), (want, true), "{unit:?}");
        assert!(decode(3) == one, "{unit:?}");
        // The virtual CPUs that execute EL0 of a guest.
        let found = capture.linux.as_ref().expect("a system").spaces.guest_users();
        assert_eq!(found, users.into_iter().collect::<Vec<_>>(), "{unit:?}");
        // Code that is not the host's is counted for no file.
        let mut profiler = Profiler::new(programs.clone());
        let mut session = Session::new(&capture, &plan, &memory, &options).expect("a session");
        session.run([&*bytes], &mut profiler);
        let mut profile = Profile::default();
        let modules = memory::modules(&capture);
        profile.add(profiler.take(), &programs, &modules, &Filter::default());
        let counts = profile.modules.values().flat_map(|m| m.ranges.values().map(|r| r.total()));
        assert_eq!(counts.sum::<u64>(), want, "{unit:?}");
    }
}

/// Memory that is added is over that of the files, in all processes or in one; and in code that is
/// not the host's.
#[test]
fn added_images_are_used_in_all_processes_or_in_one() {
    let slices = vec![(2000, 2, 7), (3000, 3, 4), (2001, 2, 5)];
    let unit = &units()[0];
    let folder = Folder::new("images");
    let path = system(&folder, unit, &[(10, slices.clone())]);
    let image = |name: &str, process: &str| {
        format!("{}@{AT:#x}{process}", folder.0.join(format!("{name}.bin")).display())
    };
    let open = |search: &Search, images: &[String]| {
        let mut trace = Trace::new(perf::open(&path, search).expect("a capture"));
        for image in images {
            let image = ImageSource::parse(image).expect("an image");
            trace = trace.with_image(&image).expect("an image");
        }
        let mut tally = Tally::default();
        let _ = trace.decode(&mut tally).expect("a trace");
        (tally.sources[0].instructions, tally.sources[0].no_code)
    };
    let none = Search::default();
    let all = 2 * 7 + 3 * 4 + 2 * 5;
    assert_eq!(open(&none, &[]), (0, 3));
    let (two, three) = (image("two", ",pid=2000"), image("three", ",pid=0xbb8"));
    assert_eq!(open(&none, std::slice::from_ref(&two)), (24, 1));
    assert_eq!(open(&none, &[three.clone(), two.clone()]), (all, 0));
    // The first one is over the others.
    assert_eq!(open(&none, &[two.clone(), three.clone(), image("five", "")]), (all, 0));
    assert_eq!(open(&none, &[three, image("two", ""), image("five", "")]), (all, 0));
    // The file of the process is another one.
    let wrong = Search { binaries: vec![folder.0.join("three.bin")], ..Search::default() };
    fs::rename(folder.0.join("two.bin"), folder.0.join("own.bin")).expect("a file");
    assert_eq!(open(&wrong, &[image("own", ",pid=2000")]), (all, 0));
    let trace = Trace::new(perf::open(&path, &none).expect("a capture"));
    let trace = trace.with_image(&ImageSource::parse(&image("own", ",pid=99")).unwrap()).unwrap();
    let notes: Vec<_> = trace.capture().notes.iter().map(ToString::to_string).collect();
    assert!(notes.iter().any(|note| note.contains("process 99")), "{notes:?}");
    for (text, why) in [(",pid=x", "is not a process"), (",pid=4294967296", "is not a process")] {
        let error = ImageSource::parse(&image("own", text)).expect_err("no number").to_string();
        assert!(error.contains(why), "{error}");
    }
    let error = Trace::new(tracewright::Capture::default())
        .with_image(&ImageSource::parse(&image("own", ",pid=1")).unwrap())
        .expect_err("no processes")
        .to_string();
    assert!(error.contains("describes no processes"), "{error}");
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
