//! `perf.data`: files of simpleperf with what is known of them, and every form that can be read,
//! written here.

use std::collections::BTreeMap;
use std::fs;

use tracewright_base::{Context, Space};
use tracewright_capture::perf::{
    self, Attr, Aux, AuxTrace, Body, CS_ETM, Form, IdEntry, Layout, MappedFile, Mmap, PerfData,
    Record, Recording, SampleId, Search, Task, Unit, Units,
};
use tracewright_capture::{Bytes, Capture, Format, Kind, Queue, Severity};
use tracewright_testing::{Random, shared};

use crate::perf_files::vmlinux;

/// Reads a file of simpleperf.
#[track_caller]
fn simpleperf(name: &str) -> Option<Capture> {
    let path = shared(&format!("captures/simpleperf-etm/{name}"))?;
    Some(tracewright_capture::open(&path).expect("a capture"))
}

pub fn notes(capture: &Capture) -> Vec<String> {
    let warnings = capture.notes.iter().filter(|note| note.severity() >= Severity::Warning);
    warnings.map(|note| note.problem.to_string()).collect()
}

/// The figures of each file are from AOSP's description of its test data, and from perf's own dump
/// of the records.
#[test]
fn files_of_simpleperf() {
    let Some(capture) = simpleperf("perf_etm.data") else { return };
    assert_eq!(capture.kind, Kind::Perf);
    let sizes: Vec<u64> = capture.buffers.iter().map(|buffer| buffer.len()).collect();
    assert_eq!(sizes, [0x50, 0x50, 0x50, 0x90]);
    assert_eq!(capture.sources.len(), 8);
    assert!(capture.sources.iter().all(|source| source.device_type == "ETM4.2"));
    let linux = capture.linux.as_ref().expect("a system");
    assert!(linux.parts.iter().all(|part| part.queue == Queue::Cpu(7) && part.cpu == Some(7)));
    let found: Vec<_> = linux.spaces.modules().iter().filter(|m| m.found.is_some()).collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, "/data/local/tmp/etm_test_loop");
    // Only CPU 7 has bytes.
    let linked = capture.sources.iter().filter(|source| !source.buffers.is_empty());
    assert_eq!(linked.map(|source| source.name.as_str()).collect::<Vec<_>>(), ["cpu7"]);

    let capture = simpleperf("perf_with_unformatted_trace.data").expect("a capture");
    assert_eq!(capture.buffers.len(), 1);
    assert_eq!(capture.buffers[0].format, Format::SourceData);
    assert_eq!(capture.buffers[0].len(), 0x4c);
    assert_eq!(capture.sources.len(), 2);
    assert!(capture.sources.iter().all(|source| source.device_type == "ETE"));

    let capture = simpleperf("perf_with_missing_aux_data.data").expect("a capture");
    assert!(capture.buffers.is_empty());
    assert!(notes(&capture)[0].contains("6 AUX records announce 1535344 bytes"));
    // The registers are those of an ETMv4, whose mark in the file is that of an ETE.
    assert!(capture.sources.iter().all(|source| source.device_type == "ETM4.2"));

    let capture = simpleperf("perf_kernel.data").expect("a capture");
    let sizes: Vec<u64> = capture.buffers.iter().map(|buffer| buffer.len()).collect();
    assert_eq!(sizes, [0x3ff0, 0x1940, 0x3ff0]);
    let cpus: Vec<_> = capture.linux.expect("a system").parts.iter().map(|p| p.queue).collect();
    assert_eq!(cpus, [Queue::Cpu(6), Queue::Cpu(6), Queue::Cpu(0)]);
}

/// The identification of a record of thread 1000.
pub fn id_of(cpu: u32, time: u64) -> SampleId {
    SampleId { task: Some((1000, 1000)), ..Recording::default().id(cpu, time) }
}

fn unit(version: u64, id: u64) -> Unit {
    let mut params = vec![0x40, id, 0x2800_0ea1, 0x4100_f424, 0x1088, 0, 0xcc];
    params.extend((version == 2).then_some(1));
    Unit { mark: 0x4040_4040_4040_4040, params }
}

/// A file with two CPUs, whose events have `sample_type` and attributes of `size` bytes.
pub fn synthetic(version: u64, sample_type: u64, size: u32) -> PerfData {
    let recording = Recording::default();
    let attr = Attr { sample_type, size, ..recording.attr() };
    let mut data = PerfData { attrs: vec![attr.clone()], ..PerfData::default() };
    let id = |cpu: u32, time: u64| {
        let id = id_of(cpu, time);
        SampleId {
            task: id.task.filter(|_| sample_type & Attr::TID != 0),
            time: id.time.filter(|_| sample_type & Attr::TIME != 0),
            id: id.id.filter(|_| sample_type & Attr::ID != 0),
            stream: None,
            cpu: id.cpu.filter(|_| sample_type & Attr::CPU != 0),
            identifier: id.identifier.filter(|_| sample_type & Attr::IDENTIFIER != 0),
        }
    };
    let cpus = BTreeMap::from([(2, unit(version, 0x14)), (3, unit(version, 0x16))]);
    let units = Units { version, pmu: perf::PMU, snapshot: false, cpus };
    let mut add = |record: Record| data.records.push(record);
    add(Record::new(Body::AuxTraceInfo { kind: CS_ETM, words: units.words() }));
    let comm = Body::Comm { process: 1000, thread: 1000, name: "prog".into() };
    add(Record::new(comm).exec().with_id(id(2, 1)));
    let mmap = Mmap {
        process: 1000,
        thread: 1000,
        address: 0x40_0000,
        len: 0x1000,
        offset: 0,
        file: Some(MappedFile { identity: vec![0; 24], protection: 4, flags: 2 }),
        path: "/bin/prog".into(),
    };
    add(Record::new(Body::Mmap(mmap)).with_id(id(2, 2)));
    let task =
        Task { process: 1000, parent_process: 1000, thread: 1001, parent_thread: 1000, time: 3 };
    add(Record::new(Body::Fork(task)).with_id(id(2, 3)));
    for (cpu, time, offset, size) in [(3u32, 20, 0u64, 20u64), (2, 10, 0, 16), (3, 30, 24, 40)] {
        let bytes = (0..size).map(|n| (n + offset) as u8 | 1).collect();
        data.add_trace(&id(cpu, time), cpu, Aux { offset, size, flags: Aux::RAW }, bytes);
    }
    data
}

/// Name, bytes and moment of each buffer.
pub fn buffers(capture: &Capture) -> Vec<(Queue, Vec<u8>, bool)> {
    let linux = capture.linux.as_ref().expect("a system");
    let parts = linux.parts.iter().zip(&capture.buffers);
    let raw = |buffer: &tracewright_capture::Buffer| buffer.format == Format::SourceData;
    parts.map(|(part, b)| (part.queue, b.bytes().into_owned(), raw(b))).collect()
}

/// Every version, size of the attributes, sample type, form, byte order and compression: all files
/// are read as they were written, and give the same buffers.
#[test]
fn every_form_is_read_as_it_was_written() {
    let full = perf::SAMPLE_TYPE;
    // The identification of simpleperf's files, and those of perf with and without an identifier.
    let types =
        [full, full & !Attr::IDENTIFIER, full & !Attr::ID, Attr::TID | Attr::TIME | Attr::CPU];
    for version in [0, 1, 2] {
        for (size, sample_type) in
            [64, 72, 80, 96, 104, 112, 120, 128, 136].iter().zip(types.iter().cycle())
        {
            let want = synthetic(version, *sample_type, *size);
            let order = [Queue::Cpu(2), Queue::Cpu(3), Queue::Cpu(3)];
            for big in [false, true] {
                for form in [Form::File, Form::Pipe] {
                    for (compressed, padded) in [
                        (None, false),
                        (Some(7), false),
                        (Some(64), true),
                        (Some(1 << 16), false),
                        (Some(1 << 16), true),
                    ] {
                        let mut data = PerfData { big, form, ..want.clone() };
                        if form == Form::Pipe {
                            let attr = data.attrs[0].clone();
                            data.records.insert(0, Record::new(Body::Attr(Box::new(attr))));
                        }
                        let bytes = Bytes::from(data.write(Layout { compressed, padded }));
                        let read = PerfData::read(&bytes).expect("a file");
                        assert_eq!(read.problems, [""; 0], "{form:?} {big} {compressed:?}");
                        assert_eq!(read.records, data.records, "{form:?} {big} {compressed:?}");
                        assert_eq!(read.trace, data.trace);
                        assert_eq!(read.attrs, data.attrs);
                        let capture = perf::from_bytes(&bytes).expect("a capture");
                        let all = buffers(&capture);
                        assert_eq!(all.iter().map(|(queue, ..)| *queue).collect::<Vec<_>>(), order);
                        assert_eq!(
                            all.iter().map(|(_, b, _)| b.len()).collect::<Vec<_>>(),
                            [16, 20, 40]
                        );
                    }
                }
            }
        }
    }
}

/// Records without an identifier have the sample type of the first event, also if their ID is one
/// of another event.
#[test]
fn records_without_an_identifier_are_of_the_first_event() {
    let mut data = synthetic(1, perf::SAMPLE_TYPE & !Attr::IDENTIFIER, 128);
    let ids = data.records.iter().filter_map(|record| record.id.id).collect();
    data.attrs[0].ids.clear();
    data.attrs.push(Attr { size: 64, ids, ..Attr::default() });
    let read = PerfData::read(&data.write(Layout::default()).into()).expect("a file");
    assert_eq!(read, PerfData { features: read.features.clone(), ..data });
}

/// A pipe, a folder with several data files, and the file: the same buffers.
#[test]
fn a_folder_has_the_records_of_all_its_files() {
    let whole = synthetic(1, perf::SAMPLE_TYPE, 128);
    let want =
        buffers(&perf::from_bytes(&whole.write(Layout::default()).into()).expect("a capture"));
    let folder = std::env::temp_dir().join(format!("tracewright-perf-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    // The trace is in `data.0` and `data.1`, which have no header.
    let is_trace = |record: &Record| matches!(record.body, Body::Aux(_) | Body::AuxTrace(_));
    let mut main = whole.clone();
    main.records.retain(|record| !is_trace(record));
    main.trace.clear();
    fs::write(folder.join("data"), main.write(Layout::default())).expect("a file");
    let trace: Vec<_> = whole.records.iter().filter(|record| is_trace(record)).cloned().collect();
    for (n, (records, bytes)) in
        [(&trace[..2], &whole.trace[..1]), (&trace[2..], &whole.trace[1..])].into_iter().enumerate()
    {
        let part = PerfData {
            form: Form::Pipe,
            records: records.to_vec(),
            trace: bytes.to_vec(),
            ..whole.clone()
        };
        let bytes = part.write(Layout::default());
        fs::write(folder.join(format!("data.{n}")), &bytes[16..]).expect("a file");
    }
    let capture = tracewright_capture::open(&folder);
    fs::remove_dir_all(&folder).expect("no folder");
    assert_eq!(buffers(&capture.expect("a capture")), want);
}

#[test]
fn trace_of_threads_and_snapshots() {
    let mut data = synthetic(1, perf::SAMPLE_TYPE, 128);
    // The buffer of a thread has the records of several CPUs.
    for record in &mut data.records {
        if let Body::AuxTrace(trace) = &mut record.body {
            *trace = AuxTrace { cpu: u32::MAX, thread: 1000, ..*trace };
        }
    }
    let mut at = 0;
    let sizes: Vec<u64> = data.trace.iter().map(|bytes| bytes.len() as u64).collect();
    let mut sizes = sizes.into_iter();
    let mut starts = Vec::new();
    for record in &mut data.records {
        match &mut record.body {
            Body::Aux(aux) => {
                aux.offset = at;
                starts.push(at);
            }
            Body::AuxTrace(trace) => {
                trace.offset = at;
                at += sizes.next().expect("a size");
            }
            _ => {}
        }
    }
    let capture = perf::from_bytes(&data.write(Layout::default()).into()).expect("a capture");
    let linux = capture.linux.as_ref().expect("a system");
    assert!(linux.parts.iter().all(|part| part.queue == Queue::Thread(1000)));
    let cpus: Vec<_> = linux.parts.iter().map(|part| part.cpu).collect();
    assert_eq!(cpus, [Some(2), Some(3), Some(3)]);
    // Raw trace belongs to the unit of the CPU that ran.
    let links =
        |n: usize| capture.sources[n].buffers.iter().map(|link| link.buffer).collect::<Vec<_>>();
    assert_eq!((links(0), links(1)), (vec![0], vec![1, 2]));

    // A snapshot: the offset is that of the end, the size may be more than what was copied.
    let mut data = synthetic(1, perf::SAMPLE_TYPE, 128);
    data.records.retain(|record| !matches!(record.body, Body::Aux(_) | Body::AuxTrace(_)));
    data.trace.clear();
    let flags = Aux::OVERWRITE | Aux::RAW;
    let id = id_of(2, 5);
    data.add_trace(&id, 2, Aux { offset: 1000, size: 0, flags }, (0..32).collect());
    let Some(Body::Aux(aux)) = data.records.iter_mut().rev().nth(1).map(|r| &mut r.body) else {
        panic!()
    };
    *aux = Aux { offset: 1032, size: 4096, flags };
    let capture = perf::from_bytes(&data.write(Layout::default()).into()).expect("a capture");
    assert_eq!(buffers(&capture), [(Queue::Cpu(2), (0..32).collect(), true)]);
}

/// Trace IDs of AUX_OUTPUT_HW_ID: version 0.0 has one for the system, 0.1 one for each sink.
#[test]
fn trace_ids_of_the_hardware() {
    let ids = |records: &[(u32, u64)]| {
        let mut data = synthetic(2, perf::SAMPLE_TYPE, 128);
        for record in &mut data.records {
            if let Body::Aux(aux) = &mut record.body {
                aux.flags = 0;
            }
        }
        // Frames with bytes of ID 0x31 only: its byte and 14 of data, and the auxiliary byte.
        let frame = [0x63, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0];
        let (frames, size): (Bytes, u64) = (frame.to_vec().into(), 16);
        data.trace.iter_mut().for_each(|bytes| *bytes = frames.clone());
        for record in &mut data.records {
            match &mut record.body {
                Body::Aux(aux) => aux.size = size,
                Body::AuxTrace(trace) => trace.size = size,
                _ => {}
            }
        }
        for (cpu, word) in records {
            let id = id_of(*cpu, 1);
            data.records.insert(1, Record::new(Body::HardwareId(*word)).with_id(id));
        }
        perf::from_bytes(&data.write(Layout::default()).into())
    };
    let links = |capture: &Capture| {
        let sources = capture.sources.iter();
        sources.map(|s| (s.register("TRCTRACEIDR"), s.buffers.len())).collect::<Vec<_>>()
    };
    let capture = ids(&[(2, 0x30), (3, 0x31)]).expect("a capture");
    assert_eq!(links(&capture), [(Some(0x30), 0), (Some(0x31), 3)]);
    // Both CPUs have ID 0x31, each in its own sink.
    let word = |id: u64, sink: u64| 1 << 56 | sink << 8 | id;
    let capture = ids(&[(2, word(0x31, 7)), (3, word(0x31, 8))]).expect("a capture");
    assert_eq!(links(&capture), [(Some(0x31), 1), (Some(0x31), 2)]);
    let error = ids(&[(2, 1 << 60)]).expect_err("a later version");
    assert!(error.to_string().contains("version 1.0"), "{error}");
}

/// AUX records without a CPU have that of the event, by its identifier.
#[test]
fn identifiers_of_events_have_their_cpus() {
    let sample_type = Attr::TIME | Attr::ID | Attr::IDENTIFIER;
    let mut data = synthetic(1, sample_type, 128);
    data.attrs[0].ids = vec![2, 3];
    let mut cpus = [3u64, 2, 3].into_iter();
    for record in &mut data.records {
        if let Body::Aux(_) = record.body {
            let id = cpus.next();
            (record.id.id, record.id.identifier) = (id, id);
        }
    }
    let want = |data: &PerfData| {
        let capture = perf::from_bytes(&data.write(Layout::default()).into()).expect("a capture");
        buffers(&capture).iter().map(|(queue, ..)| *queue).collect::<Vec<_>>()
    };
    assert_eq!(want(&data), []);
    let entry = |id: u64| IdEntry { id, index: 0, cpu: id, thread: u64::MAX };
    data.records.insert(0, Record::new(Body::IdIndex(vec![entry(2), entry(3)])));
    assert_eq!(want(&data), [Queue::Cpu(2), Queue::Cpu(3), Queue::Cpu(3)]);
}

#[test]
fn losses_are_reported() {
    let mut data = synthetic(1, perf::SAMPLE_TYPE, 128);
    let id = id_of(2, 50);
    let lost = Aux { offset: 500, size: 0, flags: Aux::TRUNCATED };
    data.records.push(Record::new(Body::Aux(lost)).with_id(id));
    let absent = Aux { offset: 900, size: 77, flags: 0 };
    data.records.push(Record::new(Body::Aux(absent)).with_id(id));
    data.records.push(Record::new(Body::Lost { event: 1, count: 5 }).with_id(id));
    for (n, record) in data.records.iter_mut().enumerate() {
        if let Body::Aux(aux) = &mut record.body
            && aux.size == 16
        {
            assert!(n > 0);
            aux.flags |= Aux::COLLISION | Aux::PARTIAL;
        }
    }
    // Bytes that no AUX record announces.
    let unclaimed = AuxTrace { size: 64, offset: 5000, cpu: 3, ..AuxTrace::default() };
    data.records.push(Record::new(Body::AuxTrace(unclaimed)));
    data.trace.push(vec![1; 64].into());
    let capture = perf::from_bytes(&data.write(Layout::default()).into()).expect("a capture");
    let notes = notes(&capture).join("\n");
    for text in [
        "1 AUX records announce 77 bytes of trace that are not in the file",
        "1 AUX records report that trace was lost and none was stored",
        "5 records were lost from time 50 ns on",
        "it has gaps (PARTIAL), the buffer wrapped (COLLISION)",
        "bytes of trace belong to no AUX record",
    ] {
        assert!(notes.contains(text), "{text}: {notes}");
    }
}

/// Executing another program, unloading and mapping over: each AUX record has the memory of its
/// moment, and each process its own.
#[test]
fn memory_is_that_of_the_moment() {
    let folder = std::env::temp_dir().join(format!("tracewright-maps-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let file = |name: &str, byte: u8| {
        let path = folder.join(name);
        fs::write(&path, [byte; 64]).expect("a file");
        path
    };
    let search =
        Search { binaries: vec![file("one.bin", 1), file("two.bin", 2)], ..Search::default() };
    let mut data = synthetic(1, perf::SAMPLE_TYPE, 128);
    let mmap = |process, path: &str, time| {
        Record::new(Body::Mmap(Mmap {
            process,
            thread: process,
            address: 0x1000,
            len: 64,
            offset: 0,
            file: Some(MappedFile { identity: vec![0; 24], protection: 5, flags: 2 }),
            path: path.into(),
        }))
        .with_id(id_of(2, time))
    };
    data.records.push(mmap(1000, "/lib/two.bin", 25));
    data.records.push(mmap(1000, "/lib/one.bin", 5));
    data.records.push(mmap(2000, "/lib/two.bin", 5));
    let path = folder.join("perf.data");
    fs::write(&path, data.write(Layout::default())).expect("a file");
    let capture = perf::open(&path, &search);
    fs::remove_dir_all(&folder).expect("no folder");
    let capture = capture.expect("a capture");
    let linux = capture.linux.as_ref().expect("a system");
    let byte = |buffer: usize, thread: Option<u32>| {
        let viewpoint = linux.viewpoint(buffer, 0).expect("a buffer");
        let context = Context { context_id: thread, ..Context::default() };
        let image = viewpoint.spaces.image(viewpoint.memory(&context));
        image.run(image.view(Space::ANY), 0x1000).first().copied()
    };
    // The moments of the buffers are 10, 20 and 30.
    assert_eq!([0, 1, 2].map(|n| byte(n, None)), [Some(1), Some(1), Some(2)]);
    // A thread of the same process, another process, and an unknown one.
    assert_eq!(byte(0, Some(1001)), Some(1));
    assert_eq!(byte(0, Some(2000)), Some(2));
    assert_eq!(byte(0, Some(3000)), None);
}

/// An ELF file with one segment, of the type `e_type`.
pub fn elf(e_type: u16, address: u64, code: &[u8]) -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend(e_type.to_le_bytes());
    file.extend(183u16.to_le_bytes());
    file.extend(1u32.to_le_bytes());
    // Entry, program headers, section headers.
    [0u64, 64, 0].iter().for_each(|word| file.extend(word.to_le_bytes()));
    file.extend(0u32.to_le_bytes());
    [64u16, 56, 1, 64, 0, 0].iter().for_each(|half| file.extend(half.to_le_bytes()));
    file.extend(1u32.to_le_bytes());
    file.extend(5u32.to_le_bytes());
    let len = code.len() as u64;
    [120, address, address, len, len, 8].iter().for_each(|word| file.extend(word.to_le_bytes()));
    file.extend(code);
    file
}

/// The first byte at `address` that a buffer sees.
pub fn byte_at(capture: &Capture, buffer: usize, address: u64) -> Option<u8> {
    let viewpoint = capture.linux.as_ref().expect("a system").viewpoint(buffer, 0)?;
    let image = viewpoint.spaces.image(viewpoint.start());
    image.run(image.view(Space::ANY), address).first().copied()
}

/// The kernel's code from the copy of its memory, from a file, and from BPF programs; and its code
/// before and after the kernel changes it.
#[test]
fn the_kernel_is_that_of_the_moment() {
    const KERNEL: u64 = 0xffff_8000_0800_0000;
    let folder = std::env::temp_dir().join(format!("tracewright-kernel-{}", std::process::id()));
    fs::create_dir_all(folder.join("kcore_dir")).expect("a folder");
    let mut data = synthetic(1, perf::SAMPLE_TYPE, 128);
    let kernel = Mmap {
        process: u32::MAX,
        thread: 0,
        address: KERNEL,
        len: 0x100,
        offset: KERNEL,
        file: None,
        path: "[kernel.kallsyms]_text".into(),
    };
    let code: Vec<u8> = (0x40..0x60).collect();
    data.records.push(Record::new(Body::Mmap(kernel)).with_id(id_of(2, 1)));
    let poke = Body::TextPoke { address: KERNEL + 8, old: vec![0x48; 4], new: vec![0x77; 4] };
    data.records.push(Record::new(poke).with_id(id_of(2, 15)));
    // A BPF program: see `bpf.rs` for the offsets.
    let mut info = vec![0; 128];
    for (at, word) in [(16, 4u64), (24, 8), (104, 1 | 1 << 32), (112, 0), (120, 12)] {
        info[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }
    info[64..68].copy_from_slice(b"xdp\0");
    let mut section = 1u32.to_le_bytes().to_vec();
    section.extend([128u32.to_le_bytes(), 16u32.to_le_bytes(), [0; 4], [0; 4]].concat());
    section.extend(&info);
    section.extend((KERNEL + 0x10_0000).to_le_bytes());
    section.extend([0x99, 0x98, 0x97, 0x96]);
    section.extend(4u32.to_le_bytes());
    data.features.insert(25, section);
    let bytes = data.write(Layout::default());
    fs::write(folder.join("data"), &bytes).expect("a file");
    // The memory of the kernel at the end of the recording has the changed code.
    let mut last = code.clone();
    last[8..12].copy_from_slice(&[0x77; 4]);
    fs::write(folder.join("kcore_dir/kcore"), elf(4, KERNEL, &last)).expect("a file");
    let vmlinux = vmlinux(KERNEL, &code, &[("_text", 0)]);
    fs::write(folder.join("vmlinux"), vmlinux).expect("a file");
    let search = Search { binaries: vec![folder.join("vmlinux")], ..Search::default() };
    let copied = perf::open(&folder, &Search::default());
    let main = folder.join("data");
    let named = perf::open(&main, &search);
    fs::remove_dir_all(&folder).expect("no folder");
    for (capture, name) in [(copied, "kcore"), (named, "vmlinux")] {
        let capture = capture.expect("a capture");
        let found = capture.linux.as_ref().expect("a system").spaces.modules().to_vec();
        let found: Vec<_> = found.iter().filter_map(|m| m.found.as_ref()?.file_name()).collect();
        assert!(found.contains(&name.as_ref()), "{found:?}");
        // The moments of the buffers are 10, 20 and 30; the code changes at 15.
        for (buffer, want) in [(0, 0x48), (1, 0x77), (2, 0x77)] {
            assert_eq!(byte_at(&capture, buffer, KERNEL + 8), Some(want), "{name} {buffer}");
            assert_eq!(byte_at(&capture, buffer, KERNEL + 12), Some(0x4c), "{name} {buffer}");
            assert_eq!(byte_at(&capture, buffer, KERNEL + 0x10_0000), Some(0x99), "{name}");
        }
        assert_eq!(byte_at(&capture, 0, KERNEL + 0x1000), None);
    }
}

/// A relocatable file with the code `text` at offset 64 and CALL26 relocations: offset and symbol.
pub fn module(text: &[u8], calls: &[(u64, &str)]) -> Vec<u8> {
    let names = "\0.text\0.rela.text\0.symtab\0.strtab\0";
    let mut strings = String::from("\0");
    let (mut symbols, mut relocations) = (vec![0; 24], Vec::new());
    for (n, (at, name)) in (1u64..).zip(calls) {
        symbols.extend((strings.len() as u32).to_le_bytes());
        // Global, of no section.
        symbols.extend([0x10, 0, 0, 0]);
        symbols.extend([0; 16]);
        strings += &format!("{name}\0");
        for word in [*at, n << 32 | 283, 0] {
            relocations.extend(word.to_le_bytes());
        }
    }
    let mut file = elf(1, 0, &[]);
    file.truncate(64);
    let mut sections = vec![[0u64; 8]];
    // Name, type, offset, size, link, info, entry size.
    for (name, kind, link, info, entry, bytes) in [
        (1, 1u64, 0u64, 0u64, 0u64, text),
        (7, 4, 3, 1, 24, &relocations),
        (18, 2, 4, 1, 24, &symbols),
        (26, 3, 0, 0, 0, strings.as_bytes()),
        (26, 3, 0, 0, 0, names.as_bytes()),
    ] {
        let at = file.len() as u64;
        sections.push([
            name | kind << 32,
            0,
            0,
            at,
            bytes.len() as u64,
            link | info << 32,
            8,
            entry,
        ]);
        file.extend(bytes);
    }
    let at = file.len() as u64;
    sections.iter().flatten().for_each(|word| file.extend(word.to_le_bytes()));
    file[40..48].copy_from_slice(&at.to_le_bytes());
    // No program headers; section headers of 64 bytes, their number, and that of the names.
    let halves = [64u16, 56, 0, 64, sections.len() as u16, 5];
    file[32..40].fill(0);
    file.splice(52..64, halves.iter().flat_map(|half| half.to_le_bytes()));
    file
}

/// Branches of a module to the kernel have their targets where the kernel's symbols are known: from
/// its file or from a list. Another one is not a part of the code, and a note reports it.
#[test]
fn branches_of_modules_are_relocated() {
    const KERNEL: u64 = 0xffff_8000_0800_0000;
    const MODULE: u64 = 0xffff_8000_0700_0000;
    let folder = std::env::temp_dir().join(format!("tracewright-module-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    // BL, BL, NOP.
    let text: Vec<u8> =
        [0x9400_0000u32, 0x9400_0000, 0xd503_201f].iter().flat_map(|w| w.to_le_bytes()).collect();
    let ko = folder.join("driver.ko");
    fs::write(&ko, module(&text, &[(0, "schedule"), (4, "nowhere")])).expect("a file");
    let list = folder.join("kallsyms");
    let lines = format!("{KERNEL:x} T _text\n{:x} T schedule\t[core]\n", KERNEL + 0x100);
    fs::write(&list, lines).expect("a file");
    let mut data = synthetic(1, perf::SAMPLE_TYPE, 128);
    let mmap = Mmap {
        process: u32::MAX,
        thread: 0,
        address: MODULE,
        len: 0x1000,
        offset: 0,
        file: None,
        path: "/lib/modules/driver.ko".into(),
    };
    data.records.push(Record::new(Body::Mmap(mmap)).with_id(id_of(2, 1)));
    let path = folder.join("perf.data");
    fs::write(&path, data.write(Layout::default())).expect("a file");
    let open = |binaries| perf::open(&path, &Search { binaries, ..Search::default() });
    let (alone, listed) = (open(vec![ko.clone()]), open(vec![ko, list]));
    fs::remove_dir_all(&folder).expect("no folder");
    let opcode = |capture: &Capture, at: u64| {
        let viewpoint = capture.linux.as_ref().expect("a system").viewpoint(0, 0)?;
        let image = viewpoint.spaces.image(viewpoint.start());
        let bytes = image.run(image.view(Space::ANY), MODULE + at).first_chunk()?;
        Some(u32::from_le_bytes(*bytes))
    };
    for (capture, first, count) in [
        (alone.expect("a capture"), None, 2),
        // BL counts instructions: 0x100_0100 / 4.
        (listed.expect("a capture"), Some(0x9400_0000 | 0x40_0040), 1),
    ] {
        assert_eq!(opcode(&capture, 0), first);
        assert_eq!(opcode(&capture, 4), None);
        assert_eq!(opcode(&capture, 8), Some(0xd503_201f));
        let want = format!("{count} branches to other files or sections are not relocated");
        assert!(notes(&capture).iter().any(|note| note.contains(&want)), "{:?}", notes(&capture));
    }
}

/// Bytes that the notes account for, and those of buffers and padding, are all bytes of trace.
#[test]
fn damaged_files_are_read_without_panic() {
    let mut random = Random::new(21);
    let files: Vec<Vec<u8>> = [
        synthetic(1, perf::SAMPLE_TYPE, 128).write(Layout::default()),
        synthetic(2, perf::SAMPLE_TYPE, 136).write(Layout { compressed: Some(64), padded: true }),
        PerfData { form: Form::Pipe, big: true, ..synthetic(0, perf::SAMPLE_TYPE, 112) }
            .write(Layout::default()),
    ]
    .into();
    for n in 0..tracewright_testing::times(2000) {
        let mut bytes = files[(n % files.len() as u64) as usize].clone();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(4) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes[at] = [0, 0xff, 0x80, 8][random.below(4) as usize],
                2 => bytes.truncate(at.max(1)),
                _ => {
                    let from = random.below(bytes.len() as u64) as usize;
                    let len = (random.below(32) as usize).min(bytes.len() - at.max(from));
                    bytes.copy_within(from..from + len, at);
                }
            }
        }
        let size = bytes.len() as u64;
        let Ok(capture) = perf::from_bytes(&Bytes::from(bytes)) else { continue };
        // The buffers are parts of the file: a hostile file has no more than it contains, for each
        // AUX record.
        let most = capture.buffers.iter().map(|buffer| buffer.len()).max().unwrap_or(0);
        assert!(most <= size, "{most} bytes of {size}");
        assert!(capture.buffers.len() as u64 <= size / 48);
    }
}
