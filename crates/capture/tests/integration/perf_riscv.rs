//! `perf.data` with RISC-V trace: encoders, their trace IDs, and what is refused.

use std::collections::BTreeMap;

use tracewright_capture::perf::{self, Attr, Aux, Body, PerfData, RISCV_TRACE, Record, Recording};
use tracewright_capture::{Bytes, Capture, Format};
use tracewright_frames::{Framing, Joiner};

use crate::perf::{id_of, notes};

/// A message with SRC 9: ProgTraceSync, SYNC 3, I-CNT 0, F-ADDR 0x800, TSTAMP 0. Then Ownership.
const OF_9: &[u8] = &[0x24, 0xe4, 0x01, 0x00, 0x80, 0x01, 0x03, 0x08, 0xa4, 0xac, 0x0d, 0x03];
/// The first of them with SRC 3.
const OF_3: &[u8] = &[0x24, 0xcc, 0x01, 0x00, 0x80, 0x01, 0x03, 0xff, 0xff];

/// The slot of a CPU: N-Trace with context, whether SRC is inhibited, its width, the number.
fn slot(cpu: u64, inhibited: u64, source: u64) -> [u64; 7] {
    [cpu, 5, 1, 1, inhibited, 4, source]
}

/// A CPU, and its bytes by trace ID.
type OfCpu<'a> = (u32, &'a [(u8, &'a [u8])]);
/// The registers of a source, and the buffers that it has trace in.
type Found = (Vec<(String, u64)>, Vec<usize>);

/// A file with the words of AUXTRACE_INFO, and one AUX record of each CPU with frames of `pieces`.
fn file(words: &[u64], pieces: &[OfCpu<'_>]) -> PerfData {
    let attr = Attr { sample_type: perf::SAMPLE_TYPE, ..Recording::default().attr() };
    let mut data = PerfData { attrs: vec![attr], ..PerfData::default() };
    let info = Body::AuxTraceInfo { kind: RISCV_TRACE, words: words.to_vec() };
    data.records.push(Record::new(info));
    for (n, (cpu, parts)) in (0..).zip(pieces) {
        let (mut joiner, mut bytes) = (Joiner::new(Framing::Coresight), Vec::new());
        for (id, part) in *parts {
            joiner.push(*id, part, &mut bytes).expect("a trace ID");
        }
        joiner.finish(&mut bytes);
        let aux = Aux { offset: 0, size: bytes.len() as u64, flags: 0 };
        data.add_trace(&id_of(*cpu, 10 + n), *cpu, aux, bytes);
    }
    data
}

fn open(data: &PerfData) -> Result<Capture, String> {
    let bytes = Bytes::from(data.write(perf::Layout::default()));
    perf::from_bytes(&bytes).map_err(|error| error.to_string())
}

/// The registers of each source, and the buffers that it has trace in.
fn sources(capture: &Capture) -> BTreeMap<String, Found> {
    let of = |source: &tracewright_capture::Source| {
        assert_eq!(source.device_type, "NTRACE");
        let names = source.registers.0.iter().map(|register| register.name.clone());
        let registers = names.map(|name| (name.clone(), source.register(&name).unwrap()));
        let buffers = source.buffers.iter().map(|buffer| buffer.buffer);
        (source.name.clone(), (registers.collect(), buffers.collect()))
    };
    capture.sources.iter().map(of).collect()
}

/// Each CPU has the trace ID of the messages with its source number, whichever CPU's AUX record has
/// them.
#[test]
fn trace_ids_are_those_of_source_numbers() {
    let words = [&[(7 << 32) | 2][..], &slot(2, 0, 9), &slot(3, 0, 3)].concat();
    let twice = [OF_9, OF_9].concat();
    let capture = open(&file(
        &words,
        &[(2, &[(0x21, &twice), (0x22, &[OF_3, OF_3, OF_3].concat())]), (3, &[(0x22, OF_3)])],
    ))
    .unwrap();
    let registers = |number, id| {
        [("xlen", 64), ("source_width", 4), ("source", number), ("trace_id", id)]
            .map(|(name, value): (&str, u64)| (name.to_owned(), value))
            .to_vec()
    };
    let sources = sources(&capture);
    assert_eq!(sources["cpu2"], (registers(9, 0x21), vec![0]));
    assert_eq!(sources["cpu3"], (registers(3, 0x22), vec![0, 1]));
    assert!(capture.buffers.iter().all(|buffer| buffer.format == Format::CoreSight));
    assert_eq!(notes(&capture), <[String; 0]>::default());
}

/// Without SRC, the trace ID is the only one in the trace of the CPU.
#[test]
fn trace_ids_without_source_numbers() {
    let words = [&[(7 << 32) | 1][..], &slot(2, 1, 9)].concat();
    let capture = open(&file(&words, &[(2, &[(0x21, OF_9)])])).unwrap();
    let wanted = [("xlen", 64), ("trace_id", 0x21)].map(|(name, value)| (name.to_owned(), value));
    assert_eq!(sources(&capture)["cpu2"], (wanted.to_vec(), vec![0]));
}

/// What is refused states why.
#[test]
fn what_is_not_known_is_refused() {
    let one = |change: &dyn Fn(&mut Vec<u64>)| {
        let mut words = [&[(7 << 32) | 1][..], &slot(2, 0, 9)].concat();
        change(&mut words);
        open(&file(&words, &[])).unwrap_err()
    };
    for (why, error) in [
        ("without the parameters of its encoders", one(&|words| words.truncate(1))),
        ("ends within the trace unit 0 of 1", one(&|words| words.truncate(5))),
        ("ends within the trace unit 1 of 2", one(&|words| words[0] = 2)),
        ("E-Trace or of a vendor", one(&|words| words[3] = 0)),
        ("SRC of cpu2 has 13 bits, and 12 are the most", one(&|words| words[6] = 13)),
        ("CPU 4294967296 has no 32-bit number", one(&|words| words[1] = 1 << 32)),
        ("has no words", one(&Vec::clear)),
    ] {
        assert!(error.contains(why), "{error}");
    }
}
