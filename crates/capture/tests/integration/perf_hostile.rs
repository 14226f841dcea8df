//! `perf.data` files whose records overlap, repeat or contain one another, so that the work for one
//! of them may depend on all others.

use std::time::{Duration, Instant};

use tracewright_capture::perf::{
    self, Attr, Aux, AuxTrace, Body, CS_ETM, Form, Layout, Mmap, PerfData, Record, Recording,
    Search, Task, Units,
};
use tracewright_capture::{Bytes, Capture};

use crate::perf::{elf, id_of, notes, synthetic};
use crate::perf_files::Folder;

/// Far more than any of the files takes, also on a loaded machine and without optimisation; a small
/// part of what work for each pair of records takes.
const SOON: Duration = Duration::from_secs(30);

#[track_caller]
fn soon<T>(what: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = what();
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    done
}

/// A file with two CPUs, and these records after the first one.
fn file(records: impl IntoIterator<Item = Record>) -> PerfData {
    let mut data = synthetic(1, perf::SAMPLE_TYPE, 128);
    data.records.truncate(1);
    data.trace.clear();
    data.records.extend(records);
    data
}

fn capture(data: &PerfData) -> Capture {
    let bytes = data.write(Layout::default());
    soon(|| perf::from_bytes(&bytes.into())).expect("a capture")
}

#[track_caller]
fn has_note(capture: &Capture, text: &str) {
    let notes = notes(capture);
    assert!(notes.iter().any(|note| note.contains(text)), "{notes:?}");
}

fn aux(offset: u64, size: u64, flags: u64) -> Record {
    Record::new(Body::Aux(Aux { offset, size, flags })).with_id(id_of(2, 10))
}

/// An AUXTRACE record of CPU 2.
fn trace(offset: u64, size: u64) -> Record {
    let trace = AuxTrace { size, offset, cpu: 2, thread: u32::MAX, ..AuxTrace::default() };
    Record::new(Body::AuxTrace(trace))
}

#[test]
fn bytes_are_announced_once() {
    let records = [trace(0, 64), aux(0, 48, 0), aux(16, 48, 0), aux(48, 16, 0), aux(0, 8, 0)];
    let mut data = file(records);
    data.trace.push(vec![1; 64].into());
    let read = capture(&data);
    let sizes: Vec<u64> = read.buffers.iter().map(|buffer| buffer.len()).collect();
    assert_eq!(sizes, [48, 16]);
    has_note(&read, "2 AUX records announce 56 bytes of trace that other AUX records announce");
    // Snapshots overlap: 8 times on average.
    let snapshots = (0..20).map(|_| aux(64, 64, Aux::OVERWRITE));
    let mut data = file([trace(0, 64)].into_iter().chain(snapshots));
    data.trace.push(vec![1; 64].into());
    let read = capture(&data);
    assert_eq!(read.buffers.len(), 8);
    has_note(&read, "12 AUX records announce 768 bytes of trace that other AUX records announce");
}

/// Each AUX record begins with the first of many AUXTRACE records, and announces more than all.
#[test]
fn a_gap_is_found_without_a_search_through_all_parts() {
    const COUNT: u64 = 40_000;
    let traces = (0..COUNT).map(|n| trace(8 * n, 8));
    let mut data = file(traces.chain((0..COUNT).map(|_| aux(0, 8 * COUNT + 1, 0))));
    data.trace = (0..COUNT).map(|_| Bytes::from(vec![0; 8])).collect();
    let read = capture(&data);
    assert_eq!(read.buffers.len(), 0);
    has_note(&read, "40000 AUX records announce 12800040000 bytes of trace that are not in");
    // Parts that follow one another, or overlap, are one.
    let mut data = file([trace(0, 16), trace(8, 16), trace(24, 8), trace(40, 8), aux(4, 28, 0)]);
    data.trace = [16u8, 16, 8, 8].map(|len| Bytes::from(vec![len; len.into()])).to_vec();
    data.records.push(aux(32, 8, 0));
    let read = capture(&data);
    let mut want = vec![16; 12];
    want.extend([16; 8]);
    want.extend([8; 8]);
    assert_eq!(read.buffers.len(), 1);
    assert_eq!(*read.buffers[0].bytes(), want);
    has_note(&read, "1 AUX records announce 8 bytes of trace that are not in the file");
}

/// A process with many mappings executes another program, and is forked again and again.
#[test]
fn a_fork_copies_what_the_child_has_only() {
    const COUNT: u32 = 20_000;
    let maps = (0..COUNT).map(|n| {
        let address = u64::from(n) << 12;
        let mmap = Mmap { process: 1000, address, len: 4096, path: "/a".into(), ..Mmap::default() };
        Record::new(Body::Mmap(mmap)).with_id(id_of(2, 1))
    });
    let comm = Body::Comm { process: 1000, thread: 1000, name: "b".into() };
    let exec = Record::new(comm).exec().with_id(id_of(2, 2));
    let forks = (1..COUNT).map(|n| {
        let (process, parent_process) = (1000 + n, 1000);
        let (thread, parent_thread, time) = (process, parent_process, 3);
        let task = Task { process, parent_process, thread, parent_thread, time };
        Record::new(Body::Fork(task)).with_id(id_of(2, 3))
    });
    let maps: Vec<_> = maps.collect();
    let read = capture(&file(maps.iter().cloned().chain([exec]).chain(forks.clone())));
    assert_eq!(read.linux.expect("a system").spaces.threads().count(), COUNT as usize);
    // Children that have the mappings: together more than the limit, where their code is known.
    let data = file(maps.into_iter().chain(forks));
    let folder = Folder::new("forks");
    folder.write("a", elf(3, 0, &[1; 16]));
    let path = folder.write("perf.data", data.write(Layout::default()));
    let search = Search { symfs: Some(folder.0.clone()), ..Search::default() };
    let read = soon(|| perf::open(&path, &search)).expect("a capture");
    has_note(&read, "more than 1048576 changes and regions");
    let unknown = notes(&capture(&data));
    assert!(!unknown.iter().any(|note| note.contains("changes and regions")), "{unknown:?}");
}

/// Records with identifiers that no event has, or the last one.
#[test]
fn the_event_of_a_record_is_found_without_a_search_through_all_events() {
    let attr = Recording::default().attr();
    let event = |n: u64| Attr { ids: (1000 * n..1000 * n + 1000).collect(), ..attr.clone() };
    let comms = (0..10_000).map(|_| {
        let comm = Body::Comm { process: 1, thread: 1, name: "a".into() };
        Record::new(comm).with_id(id_of(2, 1))
    });
    let mut data = file(comms);
    data.attrs = (1..1000).map(event).collect();
    let read = soon(|| PerfData::read(&data.write(Layout::default()).into())).expect("a file");
    assert_eq!(read, PerfData { features: read.features.clone(), ..data });
}

/// The events are the same bytes of the file.
#[test]
fn identifiers_that_events_share_are_bounded() {
    let attr = Recording::default().attr();
    let mut data = file([]);
    data.attrs = vec![Attr { ids: (0..1000).collect(), ..attr.clone() }];
    data.attrs.extend((0..2000).map(|_| Attr { ids: Vec::new(), ..attr.clone() }));
    let mut bytes = data.write(Layout::default());
    // The header has the size of an event and the offset of the first; offset and size of its
    // identifiers are at its end.
    let word = |bytes: &[u8], at: usize| {
        u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes")) as usize
    };
    let (size, first) = (word(&bytes, 16), word(&bytes, 24));
    let ids = bytes[first + size - 16..first + size].to_vec();
    for n in 1..2001 {
        let at = first + (n + 1) * size - 16;
        bytes[at..at + 16].copy_from_slice(&ids);
    }
    let len = bytes.len();
    let read = soon(|| PerfData::read(&bytes.into())).expect("a file");
    let total: usize = read.attrs.iter().map(|attr| attr.ids.len()).sum();
    assert!((1000..=len / 8).contains(&total), "{total}");
    assert!(read.problems[0].contains("events are not read: all identifiers have more bytes"));
}

/// A record takes its bytes and about 250 more: 1.4 million of 8 bytes take more than 256 MiB.
#[test]
fn the_memory_of_records_is_bounded() {
    const FINISHED_ROUND: u32 = 68;
    let mut data = file([]);
    data.form = Form::Pipe;
    let mut bytes = data.write(Layout::default());
    bytes.extend(record(FINISHED_ROUND, &[]).repeat(1_400_000));
    let read = soon(|| PerfData::read(&bytes.into())).expect("a file");
    let problem = read.problems.last().expect("a problem");
    assert!(problem.contains("they need more than"), "{problem}");
}

#[test]
fn the_number_of_events_is_bounded() {
    let attr = Attr { ids: Vec::new(), ..Recording::default().attr() };
    let mut data = file([]);
    data.attrs = vec![attr; 4097];
    let read = soon(|| PerfData::read(&data.write(Layout::default()).into())).expect("a file");
    assert_eq!(read.attrs.len(), 4096);
    assert!(read.problems[0].contains("more than 4096 events"), "{:?}", read.problems);
}

#[test]
fn the_size_of_feature_sections_is_bounded() {
    let mut data = file([]);
    // Two sections of 40 MiB, of features that are not known.
    data.features.extend([(40, vec![0; 40 << 20]), (41, vec![0; 40 << 20])]);
    let read = soon(|| PerfData::read(&data.write(Layout::default()).into())).expect("a file");
    assert!(read.features.contains_key(&40) && !read.features.contains_key(&41));
    assert!(
        read.problems.iter().any(|problem| problem.contains("41 (41943040 bytes")
            && problem.contains("all sections have more than 67108864 bytes")),
        "{:?}",
        read.problems
    );
}

#[test]
fn the_number_of_mapped_files_is_bounded() {
    let maps = (0..65_600u64).map(|n| {
        let path = format!("/{n}");
        let map = Mmap { process: 1000, address: n << 16, len: 4096, path, ..Mmap::default() };
        Record::new(Body::Mmap(map)).with_id(id_of(2, 1))
    });
    has_note(&capture(&file(maps)), "more than 65536 mapped files");
}

/// A program file with many segments, of which each mapping has to be searched for.
#[test]
fn the_steps_of_searches_are_bounded() {
    const SEGMENTS: u16 = 65_000;
    let one = elf(3, 0, &[1; 16]);
    let mut program = one[..64].to_vec();
    // e_phnum, and the program headers: the file offset, the address.
    program[56..58].copy_from_slice(&SEGMENTS.to_le_bytes());
    let code = 64 + 56 * u64::from(SEGMENTS);
    for n in 0..u64::from(SEGMENTS) {
        let mut header = one[64..120].to_vec();
        header[8..16].copy_from_slice(&code.to_le_bytes());
        header[16..24].copy_from_slice(&(16 * n).to_le_bytes());
        program.extend(header);
    }
    program.extend([1; 16]);
    let folder = Folder::new("searches");
    folder.write("a", program);
    let maps = |count: u64| {
        file((0..count).map(|n| {
            let path = "/a".to_owned();
            let map =
                Mmap { process: 1000, address: n << 24, len: 0x10_0000, path, ..Mmap::default() };
            Record::new(Body::Mmap(map)).with_id(id_of(2, 1))
        }))
    };
    for (count, bounded) in [(100, false), ((1 << 27) / u64::from(SEGMENTS) + 2, true)] {
        let path = folder.write("perf.data", maps(count).write(Layout::default()));
        let search = Search { symfs: Some(folder.0.clone()), ..Search::default() };
        let read = soon(|| perf::open(&path, &search)).expect("a capture");
        let found = notes(&read);
        let note = found.iter().any(|note| note.contains("need more than 134217728 steps"));
        assert_eq!(note, bounded, "{count}: {found:?}");
    }
}

/// 400 trace units with one trace ID, and 2000 AUX records with its trace.
#[test]
fn the_links_between_trace_units_and_records_are_bounded() {
    const COUNT: u64 = 2000;
    let mut data = synthetic(1, perf::SAMPLE_TYPE, 128);
    let Body::AuxTraceInfo { words, .. } = &data.records[0].body else { panic!("no units") };
    let mut units = Units::read(words).expect("units");
    let unit = units.cpus[&2].clone();
    units.cpus = (0..400).map(|cpu| (cpu, unit.clone())).collect();
    let info = Record::new(Body::AuxTraceInfo { kind: CS_ETM, words: units.words() });
    data.records = vec![info, trace(0, 16 * COUNT)];
    data.records.extend((0..COUNT).map(|n| aux(16 * n, 16, 0)));
    // Formatter frames that begin with the ID 0x14.
    let mut frame = [0; 16];
    frame[0] = 0x14 << 1 | 1;
    data.trace = vec![Bytes::from(frame.repeat(COUNT as usize))];
    let read = capture(&data);
    let links: usize = read.sources.iter().map(|source| source.buffers.len()).sum();
    assert_eq!(links, 1 << 19);
    has_note(&read, "more than 524288 pairs of a trace unit and an AUX record");
}

/// A record of kind `number` with these bytes.
fn record(number: u32, bytes: &[u8]) -> Vec<u8> {
    let size = 8 + bytes.len() as u16;
    [&number.to_le_bytes()[..], &[0, 0], &size.to_le_bytes(), bytes].concat()
}

/// Compressed records of a pipe.
fn compressed(parts: impl Iterator<Item = Vec<u8>>) -> Bytes {
    let mut data = PerfData { form: Form::Pipe, ..file([]) };
    data.attrs.clear();
    let mut bytes = data.write(Layout::default());
    parts.for_each(|part| bytes.extend(record(81, &part)));
    bytes.into()
}

/// A zstd frame of one block, which repeats a zero `count` times. (RFC 8878, 3.1.1)
fn zeros(count: u32) -> Vec<u8> {
    // Magic number; descriptor; a window of 128 KiB; Last_Block and RLE_Block.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3];
    frame.extend(&(3 | count << 3).to_le_bytes()[..3]);
    frame.push(0);
    frame
}

/// A record that continues in each of many compressed records is not copied for each.
#[test]
fn a_record_in_many_compressed_parts() {
    const PART: u32 = 1 << 10;
    let body = trace(0, 100 << 20);
    let Body::AuxTrace(body) = body.body else { panic!("no trace") };
    let mut head = Vec::new();
    head.extend([body.size, 0, 0].map(u64::to_le_bytes).concat());
    head.extend([2, u32::MAX, 2, 0].map(u32::to_le_bytes).concat());
    let head = record(71, &head);
    // A frame with one block that is not compressed.
    let mut first = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3];
    first.extend(&(1 | (head.len() as u32) << 3).to_le_bytes()[..3]);
    first.extend(&head);
    let parts = |count: usize| {
        compressed([first.clone()].into_iter().chain((0..count).map(|_| zeros(PART))))
    };
    let read = soon(|| PerfData::read(&parts(20_000))).expect("a file");
    assert!(read.trace.is_empty());
    assert!(
        read.problems[0].contains("end within one: 20480048 bytes lost"),
        "{:?}",
        read.problems
    );
    let whole = soon(|| PerfData::read(&parts(100 << 10))).expect("a file");
    assert_eq!(whole.trace.iter().map(Bytes::len).collect::<Vec<_>>(), [100 << 20]);
    assert_eq!(whole.problems, [""; 0]);
}

/// All compressed records together may unpack to 1 GiB.
#[test]
fn what_compressed_records_unpack_to_is_bounded() {
    // Zeros are no record, so that nothing of them is stored.
    let part = || {
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3];
        (0..15_000).for_each(|_| frame.extend([2, 0, 0x10, 0]));
        frame
    };
    let read = soon(|| PerfData::read(&compressed((0..10).map(|_| part())))).expect("a file");
    assert!(read.problems[0].contains("one without a size"), "{:?}", read.problems);
}
