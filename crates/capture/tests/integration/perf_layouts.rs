//! The records that select memory, a process or a buffer, laid out from the source of those that
//! write them: the kernel (kernel/events/core.c) and perf (tools/perf), of Linux 6.1.192.

use tracewright_capture::TimeConversion;
use tracewright_capture::perf::{
    self, Attr, Aux, AuxTrace, Body, IdEntry, Layout, MappedFile, Mmap, PerfData, Record, SampleId,
    Task,
};

use crate::perf::synthetic;

/// A field of a record.
#[derive(Clone, Copy)]
enum Field {
    U16(u16),
    U32(u32),
    U64(u64),
    Raw(&'static [u8]),
}

use Field::{Raw, U16, U32, U64};

fn bytes(fields: &[Field]) -> Vec<u8> {
    let each = fields.iter().flat_map(|field| match field {
        U16(value) => value.to_le_bytes().to_vec(),
        U32(value) => value.to_le_bytes().to_vec(),
        U64(value) => value.to_le_bytes().to_vec(),
        Raw(bytes) => bytes.to_vec(),
    });
    each.collect()
}

/// `struct perf_event_header`: type, misc, size.
fn record(kind: u32, misc: u16, fields: &[Field]) -> Vec<u8> {
    let body = bytes(fields);
    [bytes(&[U32(kind), U16(misc), U16(8 + body.len() as u16)]), body].concat()
}

/// A file of one event and these records. (tools/perf/util/header.h, `struct perf_file_header`;
/// include/uapi/linux/perf_event.h, `struct perf_event_attr`)
fn file(sample_type: u64, flags: u64, records: &[u8]) -> Vec<u8> {
    const HEADER: u64 = 104;
    const ATTR: u64 = 112;
    let data = HEADER + ATTR + 16;
    let head = [
        Raw(b"PERFILE2"),
        U64(HEADER),
        U64(ATTR + 16),
        // The sections of the attributes, of the records, and of event types.
        U64(HEADER),
        U64(ATTR + 16),
        U64(data),
        U64(records.len() as u64),
        Raw(&[0; 16 + 32]),
        // type, size, config, sample_period, sample_type, read_format, flags.
        U32(9),
        U32(ATTR as u32),
        U64(0),
        U64(1),
        U64(sample_type),
        U64(0),
        U64(flags),
        Raw(&[0; ATTR as usize - 48]),
        Raw(&[0; 16]),
    ];
    [bytes(&head), records.to_vec()].concat()
}

/// The fields at the end of a record of the kernel: `__perf_event__output_id_sample`, core.c:7038:
/// TID, TIME, ID, STREAM_ID, CPU with a reserved word, IDENTIFIER.
const SAMPLED: u64 =
    Attr::TID | Attr::TIME | Attr::ID | Attr::STREAM_ID | Attr::CPU | Attr::IDENTIFIER;
const ID: [Field; 8] = [U32(7), U32(8), U64(99), U64(5), U64(6), U32(3), U32(0), U64(5)];

/// A row: the record, `misc`, the fields, and what they mean.
type Row = (u32, u16, Vec<Field>, Body);

/// The records of the kernel.
fn of_kernel() -> Vec<Row> {
    /// PERF_RECORD_MISC_USER, and PERF_RECORD_MISC_MMAP_BUILD_ID.
    const USER: u16 = 2;
    const BUILD_ID: u16 = 1 << 14;
    let mmap = |file| {
        let (address, len, offset) = (0xaaaa_0000, 0x2000, 0x1000);
        Body::Mmap(Mmap {
            process: 7,
            thread: 8,
            address,
            len,
            offset,
            file,
            path: "/bin/a".into(),
        })
    };
    let place = [U32(7), U32(8), U64(0xaaaa_0000), U64(0x2000), U64(0x1000)];
    // The name is padded to a multiple of eight bytes: core.c:8656.
    let name = [Raw(b"/bin/a\0\0")];
    let with = |parts: &[&[Field]]| parts.concat();
    let identity =
        |parts: &[Field]| Some(MappedFile { identity: bytes(parts), protection: 5, flags: 2 });
    let (numbers, mode) = ([U32(254), U32(1), U64(1234), U64(9)], [U32(5), U32(2)]);
    // A length, three zeros, and 20 bytes: core.c:8539.
    let id: [Field; 2] = [U32(20), Raw(&[0xab; 20])];
    let task = Task { process: 9, parent_process: 7, thread: 10, parent_thread: 8, time: 98 };
    let task_fields = || vec![U32(9), U32(7), U32(10), U32(8), U64(98)];
    vec![
        // `perf_event_mmap_output`, core.c:8497.
        (1, USER, with(&[&place, &name]), mmap(None)),
        (10, USER, with(&[&place, &numbers, &mode, &name]), mmap(identity(&numbers))),
        (10, USER | BUILD_ID, with(&[&place, &id, &mode, &name]), mmap(identity(&id))),
        // `perf_event_comm_output`, core.c:8153; PERF_RECORD_MISC_COMM_EXEC.
        (
            3,
            1 << 13,
            vec![U32(7), U32(8), Raw(b"prog\0\0\0\0")],
            Body::Comm { process: 7, thread: 8, name: "prog".into() },
        ),
        // `struct perf_task_event`, core.c:8027: pid, ppid, tid, ptid, time.
        (4, 0, task_fields(), Body::Exit(task)),
        (7, 0, task_fields(), Body::Fork(task)),
        // `perf_event_aux_event`, core.c:8820.
        (
            11,
            0,
            vec![U64(0x100), U64(0x40), U64(9)],
            Body::Aux(Aux { offset: 0x100, size: 0x40, flags: 9 }),
        ),
        // `perf_log_itrace_start`, core.c:9303.
        (12, 0, vec![U32(7), U32(8)], Body::TraceStart { process: 7, thread: 8 }),
        // `perf_event_switch_output`, core.c, of the events of a CPU: next_prev_pid, next_prev_tid;
        // PERF_RECORD_MISC_SWITCH_OUT.
        (15, 1 << 13, vec![U32(7), U32(8)], Body::Switch { process: 7, thread: 8 }),
        // `perf_event_text_poke_output`, core.c:9233; the padding of all lengths: core.c:9277.
        (
            20,
            1,
            vec![U64(0xffff_8000), U16(4), U16(4), Raw(&[1; 4]), Raw(&[2; 4]), Raw(&[0; 4])],
            Body::TextPoke { address: 0xffff_8000, old: vec![1; 4], new: vec![2; 4] },
        ),
        // `perf_report_aux_output_id`, core.c:9339.
        (21, 0, vec![U64(0x1234)], Body::HardwareId(0x1234)),
    ]
}

/// The records of perf, which have no identification.
fn of_perf() -> Vec<Row> {
    let entry = |id, index, cpu, thread| IdEntry { id, index, cpu, thread };
    vec![
        // `struct perf_record_id_index`, tools/lib/perf/include/perf/event.h:308; the thread of a
        // CPU is -1.
        (
            69,
            0,
            vec![U64(2), U64(5), U64(0), U64(3), U64(u64::MAX), U64(6), U64(1), U64(4), U64(7)],
            Body::IdIndex(vec![entry(5, 0, 3, u64::MAX), entry(6, 1, 4, 7)]),
        ),
        // `struct perf_record_auxtrace_info`, event.h:314: type, reserved, words.
        (
            70,
            0,
            vec![U32(3), U32(0), U64(1), U64(2)],
            Body::AuxTraceInfo { kind: 3, words: vec![1, 2] },
        ),
        // `struct perf_record_time_conv`, event.h:419; the fields behind the first three are newer.
        (
            79,
            0,
            vec![U64(10), U64(11), U64(12), U64(13), U64(14), Raw(&[1, 0, 0, 0, 0, 0, 0, 0])],
            Body::TimeConversion(TimeConversion { shift: 10, multiplier: 11, zero: 12 }),
        ),
        (
            79,
            0,
            vec![U64(10), U64(11), U64(12)],
            Body::TimeConversion(TimeConversion { shift: 10, multiplier: 11, zero: 12 }),
        ),
    ]
}

/// Reads a file and returns its records.
#[track_caller]
fn read(flags: u64, records: &[u8]) -> PerfData {
    let data = PerfData::read(&file(SAMPLED, flags, records).into()).unwrap();
    assert_eq!(data.problems, Vec::<String>::new());
    data
}

#[test]
fn records_of_the_kernel_have_their_fields_and_their_identification() {
    let id = SampleId {
        task: Some((7, 8)),
        time: Some(99),
        id: Some(5),
        stream: Some(6),
        cpu: Some(3),
        identifier: Some(5),
    };
    for (kind, misc, fields, body) in of_kernel() {
        let all = [fields.clone(), ID.to_vec()].concat();
        let want = Record { misc, body: body.clone(), id };
        assert_eq!(read(Attr::SAMPLE_ID_ALL, &record(kind, misc, &all)).records, [want]);
        // Without sample_id_all there is none. (core.c:7062, `perf_event__output_id_sample`)
        let want = Record { misc, body, id: SampleId::default() };
        assert_eq!(read(0, &record(kind, misc, &fields)).records, [want]);
    }
}

#[test]
fn records_of_perf_have_their_fields() {
    for (kind, misc, fields, body) in of_perf() {
        let want = Record { misc, body, id: SampleId::default() };
        assert_eq!(read(Attr::SAMPLE_ID_ALL, &record(kind, misc, &fields)).records, [want]);
    }
}

/// The bytes of trace follow the record and are not in its size.
/// (tools/perf/util/auxtrace.c:1902, `__auxtrace_mmap__read`)
#[test]
fn the_trace_follows_its_record() {
    let fields = [U64(16), U64(0x100), U64(77), U32(1), U32(u32::MAX), U32(3), U32(0)];
    let records = [
        record(71, 0, &fields),
        vec![0x5a; 16],
        record(12, 0, &[&[U32(1), U32(2)][..], &ID].concat()),
    ];
    let found = read(Attr::SAMPLE_ID_ALL, &records.concat());
    let trace = AuxTrace {
        size: 16,
        offset: 0x100,
        reference: 77,
        index: 1,
        thread: u32::MAX,
        cpu: 3,
        reserved: 0,
    };
    assert_eq!(found.records.len(), 2);
    assert_eq!(found.records[0].body, Body::AuxTrace(trace));
    assert_eq!(found.records[1].body, Body::TraceStart { process: 1, thread: 2 });
}

/// What the capture of a file with these further records knows.
fn linux_of(records: Vec<Record>) -> Box<tracewright_capture::Linux> {
    let mut data = synthetic(1, perf::SAMPLE_TYPE, 128);
    data.records.extend(records);
    let capture = perf::from_bytes(&data.write(Layout::default()).into()).expect("a capture");
    capture.linux.expect("a system")
}

/// A thread that no COMM and no FORK has is of the process that the record states, as for perf.
/// (tools/perf/util/cs-etm.c, `cs_etm__process_switch_cpu_wide`)
#[test]
fn a_switch_states_the_process_of_a_thread() {
    let records = |thread| {
        let fields = [&[U32(1000), U32(thread)][..], &ID].concat();
        read(Attr::SAMPLE_ID_ALL, &record(15, 1 << 13, &fields)).records
    };
    let process = |thread: u32| {
        let linux = linux_of(records(thread));
        linux.spaces.thread(7777, u64::MAX).map(|thread| thread.process)
    };
    assert_eq!(process(7777), Some(1000));
    assert_eq!(process(7778), None);
}

/// HEADER_BUILD_ID has the process, 20 bytes of the identifier, its length, three bytes, and the
/// path. `perf inject -b` writes it.
/// (tools/lib/perf/include/perf/event.h, `struct perf_record_header_build_id`;
/// PERF_RECORD_MISC_BUILD_ID_SIZE states that the length is there)
#[test]
fn a_record_has_the_build_id_of_a_file() {
    const SIZED: u16 = 1 << 15;
    for (misc, len, want) in [(2, 0, 20), (2 | SIZED, 20, 20), (2 | SIZED, 16, 16)] {
        let id: [u8; 20] = std::array::from_fn(|n| if n < want { 0xab } else { 0 });
        let fields = [
            U32(u32::MAX),
            Raw(if want == 20 { &[0xab; 20] } else { &SHORT }),
            Raw(if len == 20 { &[20, 0, 0, 0] } else { &[16, 0, 0, 0] }),
            Raw(b"/bin/prog\0\0\0\0\0\0\0"),
        ];
        let mut records = read(0, &record(67, misc, &fields)).records;
        let place = [U32(1000), U32(1000), U64(0x50_0000), U64(0x1000), U64(0)];
        let fields = [&place[..], &[Raw(b"/bin/prog\0\0\0\0\0\0\0")], &ID].concat();
        records.extend(read(Attr::SAMPLE_ID_ALL, &record(1, 2, &fields)).records);
        let linux = linux_of(records);
        let file = linux.spaces.modules().iter().find(|file| file.path == "/bin/prog");
        let found = file.and_then(|file| file.build_id.clone());
        assert_eq!(found.as_deref(), id.get(..want), "{misc:#x} {len}");
    }
}

/// An identifier of 16 bytes in the place of one of 20.
const SHORT: [u8; 20] = {
    let mut id = [0xab; 20];
    let mut n = 16;
    while n < 20 {
        id[n] = 0;
        n += 1;
    }
    id
};

/// The file of samples has the size of the structure of an event that each version of perf reads,
/// whatever that of the traced event is, and states that samples have branches.
/// (tools/perf/util/header.h, HEADER_BRANCH_STACK; tools/perf/builtin-inject.c, `__cmd_inject`)
#[test]
fn the_event_of_samples_has_the_fields_that_it_needs() {
    for size in [64, 112, 136] {
        let data = synthetic(1, perf::SAMPLE_TYPE, size);
        let samples = data.with_samples(&[], Attr::IP | Attr::TID, 1000);
        let found = PerfData::read(&samples.write(Layout::default()).into()).unwrap();
        let [attr] = found.attrs.as_slice() else { panic!("one event") };
        assert_eq!((attr.size, attr.sample_period), (96, 1000));
        assert_ne!(attr.branch_sample_type, 0);
        assert_eq!(found.features.get(&15), Some(&Vec::new()));
    }
}
