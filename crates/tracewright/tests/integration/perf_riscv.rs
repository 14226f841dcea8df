//! N-Trace of two processes, made by an encoder in software, in `perf.data` as the patches of
//! SpacemiT record it: the context ID of a process is the number of its thread.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracewright::analysis::{Filter, ModuleProfile, Profile, Profiler};
use tracewright::base::step::{Retired, Step, StepSink};
use tracewright::base::{Code, Context, Isa, Pc, Space, Waypoints};
use tracewright::capture::perf::{
    self, Aux, Body, Layout, MappedFile, Mmap, PerfData, RISCV_TRACE, Record, Search, Task,
};
use tracewright::decode::{Fork, Program, memory};
use tracewright::frames::Framing;
use tracewright::image::{Cache, CacheOptions, Image, Region};
use tracewright::logs::{Recorder, Recording};
use tracewright::protocols::registry::AnyProtocol;
use tracewright::{Files, Trace};

/// The address of all programs.
const AT: u64 = 0x1000;
/// `addi x0, x0, 0`.
const NOP: u32 = 0x13;
/// `beq x0, x0, 0`.
const BRANCH: u32 = 0x63;

/// A loop of `len` instructions, the last of which branches to the first: `len` below 9.
fn program(len: u32) -> Vec<u8> {
    let back = (len - 1).wrapping_mul(4).wrapping_neg();
    let back = BRANCH | (back >> 1 & 0xf) << 8 | (back >> 5 & 0x3f) << 25 | 1 << 7 | 1 << 31;
    let nops = std::iter::repeat_n(NOP, len as usize - 1);
    nops.chain([back]).flat_map(u32::to_le_bytes).collect()
}

/// Trace of threads in user mode, each with the length of its loop and its turns, in frames.
fn trace(number: u64, slices: &[(u32, u32, u32)]) -> Vec<u8> {
    let registers = [
        ("xlen", 64),
        ("source_width", 4),
        ("source", number),
        ("trTeContext", 1),
        ("trTeInstMode", 6),
    ];
    let registers = registers.map(|(name, value)| (name.to_owned(), value));
    let mut recorder = Recorder::new(Recording {
        protocol: AnyProtocol::Ntrace,
        registers: registers.to_vec(),
        texts: Vec::new(),
        framing: Framing::Coresight,
        messages: false,
        core: String::new(),
        images: Vec::new(),
    })
    .expect("an encoder");
    let isa = Isa::Rv64;
    for &(thread, len, turns) in slices {
        let image = Arc::new(Image::new([Region::new("program", AT, program(len))]));
        let mut cache = Cache::new(image, Waypoints::default(), CacheOptions::default());
        let context = Context { context_id: Some(thread), el: Some(0), isa, ..Context::default() };
        recorder.step(0, &Step::Off);
        recorder.step(0, &Step::Context(Context { bits64: true, ..context }));
        recorder.step(0, &Step::On);
        for n in (0..turns).flat_map(|_| 0..len) {
            let address = AT + 4 * u64::from(n);
            let pc = Pc { address, isa, space: Space::ANY };
            let instruction = cache.instruction(pc).expect("an instruction");
            let taken = n + 1 == len;
            let next = if taken { AT } else { address + 4 };
            let retired = Retired { address, next, next_isa: isa, taken, instruction };
            recorder.step(0, &Step::Retired(retired));
        }
    }
    recorder.step(0, &Step::Halted);
    recorder.finish().expect("a capture").buffers[0].bytes().into_owned()
}

/// Each instruction is in the file of its process, of both encoders.
#[test]
fn processes_of_two_encoders() {
    let recording = perf::Recording::default();
    let mut data = PerfData { attrs: vec![recording.attr()], ..PerfData::default() };
    let pmu = u64::from(data.attrs[0].kind);
    // Of each CPU: five parameters, N-Trace, context, SRC of four bits, its number.
    let words = [pmu << 32 | 2, 0, 5, 1, 1, 0, 4, 3, 1, 5, 1, 1, 0, 4, 9];
    let info = Body::AuxTraceInfo { kind: RISCV_TRACE, words: words.to_vec() };
    data.records.push(Record::new(info));
    for (process, path, len) in [(2000, "/lib/two.bin", 2), (3000, "/lib/three.bin", 3)] {
        let id = |time| recording.id(0, time);
        let task = Task { process, parent_process: 1, thread: process, parent_thread: 1, time: 1 };
        data.records.push(Record::new(Body::Fork(task)).with_id(id(1)));
        let mmap = Mmap {
            process,
            thread: process,
            address: AT,
            len: len * 4,
            offset: 0,
            file: Some(MappedFile { identity: vec![0; 24], protection: 5, flags: 2 }),
            path: path.into(),
        };
        data.records.push(Record::new(Body::Mmap(mmap)).with_id(id(5)));
    }
    for (cpu, number, slices) in
        [(0, 3, [(2000, 2, 7), (3000, 3, 4)]), (1, 9, [(3000, 3, 50), (2000, 2, 1)])]
    {
        let bytes = trace(number, &slices);
        let aux = Aux { offset: 0, size: bytes.len() as u64, flags: 0 };
        data.add_trace(&recording.id(cpu, 10), cpu, aux, bytes);
    }

    let binaries = [("/lib/two.bin", program(2)), ("/lib/three.bin", program(3))];
    let names = binaries.iter().map(|(name, _)| PathBuf::from(name)).collect();
    let all = binaries.into_iter().chain([("perf.data", data.write(Layout::default()))]);
    let files = Files::named(all.map(|(name, bytes)| (PathBuf::from(name), bytes)));
    let search = Search { binaries: names, files, ..Search::default() };
    let trace = Trace::new(perf::open(Path::new("perf.data"), &search).expect("a capture"));
    let programs: Vec<Program> = trace.sources().iter().map(|s| s.program.clone()).collect();
    let mut profiler = Profiler::new(programs.clone());
    let summary = trace.decode(&mut profiler).expect("a trace");
    assert!(summary.sources.iter().all(|(_, counts)| counts.no_code == 0), "{summary}");
    let mut profile = Profile::default();
    let modules = memory::modules(trace.capture());
    profile.add(profiler.take(), &programs, &modules, &Filter::default());
    let count = |m: &ModuleProfile| m.ranges.values().map(|r| r.total()).sum();
    let found = profile.modules.iter().map(|((path, _), m)| (path.as_str(), count(m)));
    let found: BTreeMap<&str, u64> = found.collect();
    assert_eq!(found, BTreeMap::from([("/lib/two.bin", 8), ("/lib/three.bin", 54)]));
}
