//! Trace buffers with registers: the reader returns the bytes that the models of the hardware
//! accepted, oldest first, in every mode and wrap position.

use crate::common;

use common::Folder;
use tracewright_capture::assignments;
use tracewright_capture::sink::Kind;
use tracewright_capture::{
    Buffer, BufferRef, Capture, Dump, Format, Note, Other, Problem, Raw, Registers, Source, open,
    write,
};
use tracewright_testing::{Random, short_or_long};
use tracewright_units::buffers::mtb::Mtb;
use tracewright_units::buffers::tmc::{self, PAGE, Tmc, table};
use tracewright_units::buffers::trbe::{
    Bytes, Cause, FillMode, Limit, Reg, Status, Trbe, TriggerMode,
};

/// A capture of one buffer with the stored `bytes`, and a device with `registers`.
fn capture(device_type: &str, bytes: &[u8], registers: &[(&str, u64)], format: Format) -> Capture {
    Capture {
        buffers: vec![Buffer::new("buffer", format, bytes.to_vec())],
        sources: vec![Source {
            name: "ete".into(),
            device_type: "ETE".into(),
            buffers: vec![BufferRef { buffer: 0, stream: None }],
            ..Source::default()
        }],
        others: vec![Other {
            name: "buffer".into(),
            class: "trace_sink".into(),
            device_type: device_type.into(),
            registers: Registers::from_iter(registers.iter().copied()),
            ..Other::default()
        }],
        ..Capture::default()
    }
}

/// The trace in the stored `bytes`, and in a snapshot on disk, too, if `disk`.
#[track_caller]
fn trace(mut capture: Capture, disk: bool) -> Vec<u8> {
    capture.read_sinks();
    assert!(capture.buffers[0].sink.is_some());
    let trace = capture.buffers[0].bytes().into_owned();
    // Only of a buffer without trace is there a note, which has the number of bytes.
    let empty = |note: &Note| matches!(note.problem, Problem::SinkEmpty { stored: 1.., .. });
    assert_eq!(capture.notes.len(), usize::from(trace.is_empty()), "{:?}", capture.notes);
    assert!(capture.notes.iter().all(empty), "{:?}", capture.notes);
    if disk {
        let folder = Folder::new();
        write(&capture, &folder.0).unwrap();
        let back = open(&folder.0).unwrap();
        assert_eq!(back, capture);
        assert_eq!(*back.buffers[0].bytes(), trace);
        // It can be written again.
        let again = Folder::new();
        write(&back, &again.0).unwrap();
        assert_eq!(open(&again.0).unwrap(), capture);
        let described = Folder::new();
        tracewright_capture::folder::write(&capture, &described.0).unwrap();
        let back = open(&described.0).unwrap();
        assert_eq!(&*back.buffers[0].bytes(), &trace[..]);
        assert_eq!(back.notes.len(), capture.notes.len(), "{:?}", back.notes);
        assert_eq!(back.buffers[0].sink, capture.buffers[0].sink);
    }
    trace
}

/// The last `len` bytes.
fn last(bytes: &[u8], len: usize) -> &[u8] {
    &bytes[bytes.len() - len.min(bytes.len())..]
}

const BASE: u64 = 0xffff_8000_1234_0000;

/// The registers of a Trace Buffer Unit that is disabled and complete.
fn trbe_registers(unit: &mut Trbe) -> Vec<(&'static str, u64)> {
    let list = [Reg::Base, Reg::Pointer, Reg::Limit, Reg::Status, Reg::Counter];
    list.map(|register| (register.name(), unit.read(register).known().unwrap())).to_vec()
}

/// Random sessions of a Trace Buffer Unit that are switched out and in: over 100,000 operations.
#[test]
fn trbe_in_every_mode() {
    let (mut operations, mut wrapped, mut full) = (0, 0, 0);
    for seed in 0.. {
        let mut random = Random::new(seed);
        let size = 0x1000 * (1 + random.below(2));
        let mut memory = Bytes::new(BASE, size as usize);
        let mut unit = Trbe::default();
        unit.features.align = random.pick(&[0, 6]);
        unit.features.capacity = random.pick(&[64, 1 << 20]);
        let limit = Limit::fill(BASE + size)
            .with_fill(random.pick(&FillMode::ALL))
            .with_trigger(random.pick(&TriggerMode::ALL));
        unit.write(Reg::Base, BASE);
        unit.write(Reg::Pointer, BASE);
        unit.write(Reg::Status, 0);
        unit.write(Reg::Counter, random.below(64) << 6);
        unit.synchronize();
        let mut accepted = Vec::new();
        for session in 0..1 + random.below(3) {
            unit.write(Reg::Limit, limit.enabled().0);
            unit.prohibit(false);
            unit.synchronize();
            for _ in 0..random.index(60) {
                operations += 1;
                match random.below(8) {
                    0 => unit.trigger(),
                    1 => unit.flushed(),
                    2 => unit.drain(&mut memory, random.index(300)),
                    _ => {
                        let len = random.index(600);
                        let bytes = random.bytes(len);
                        let offer = unit.offer(&bytes, &mut memory);
                        accepted.extend_from_slice(&bytes[..offer.accepted]);
                    }
                }
            }
            unit.prohibit(true);
            unit.synchronize();
            unit.trace_synchronize();
            unit.write(Reg::Limit, limit.0);
            unit.data_synchronize(&mut memory);
            unit.synchronize();
            let registers = trbe_registers(&mut unit);
            let capture = capture("TRBE", memory.all(), &registers, Format::SourceData);
            let got = trace(capture, session == 0 && seed % 100 == 0);
            assert_eq!(got, last(&accepted, size as usize), "seed {seed}");
            let status = Status(unit.read(Reg::Status).known().unwrap());
            wrapped += u64::from(status.wrapped());
            full += u64::from(status.cause() == Some(Cause::Filled) && status.stopped());
            // The context is restored with what was saved.
            let pointer = unit.read(Reg::Pointer).known().unwrap();
            unit.write(Reg::Pointer, pointer);
            unit.synchronize();
        }
        assert!(unit.violations.is_empty(), "{:?}", unit.violations);
        if operations >= short_or_long(40_000, 100_000) {
            break;
        }
    }
    assert!(wrapped > 200 && full > 40, "{wrapped} {full}");
}

/// Each wrap position of the ring: an ETR, an ETF and an ETB with formatter.
#[test]
fn frames_at_each_position() {
    let mut random = Random::new(1);
    for (kind, device_type, start) in [
        (tmc::Kind::Etb, "ETB", 0),
        (tmc::Kind::Etf, "ETF", 0),
        (tmc::Kind::Etr, "ETR", 0x8_8000_0000),
    ] {
        for frames in 0..40 {
            let mut tmc = Tmc::new(kind, start, 256);
            tmc.enable();
            let bytes = random.bytes(frames * 16);
            tmc.offer(&bytes);
            tmc.stop();
            let capture = capture(device_type, tmc.memory(), &tmc.registers(), Format::CoreSight);
            assert_eq!(trace(capture, frames == 20), last(&bytes, 256), "{device_type} {frames}");
        }
    }
}

/// Without formatter, the stop sequence is not part of the trace, wherever it ends.
#[test]
fn stop_sequence() {
    let mut random = Random::new(2);
    for len in 0..200 {
        let mut tmc = Tmc::new(tmc::Kind::Etf, 0, 64).formatted(false);
        tmc.enable();
        let mut bytes = random.bytes(len);
        if random.one_in(2) {
            // Trace may end as a stop sequence does.
            bytes.iter_mut().rev().take(3).for_each(|byte| *byte = 0);
        }
        tmc.offer(&bytes);
        tmc.stop();
        let registers = tmc.registers();
        let got = trace(capture("ETF", tmc.memory(), &registers, Format::SourceData), false);
        let stopped = (len + 1).next_multiple_of(4);
        let survives = if stopped < 64 { len } else { 64 - (stopped - len) };
        assert_eq!(got, last(&bytes, survives), "{len}");
    }
}

/// An ETR whose buffer is a list of pages: the dump has the pages in the order of the list, and the
/// list is in the memory of the capture.
#[test]
fn scatter_gather() {
    let pages = [0x9_0000_3000, 0x8_4000_0000, 0x8_4000_5000];
    let tables = table(&pages, &[0x8_0000_1000]).unwrap();
    let words: Vec<u8> = tables[0].1.iter().flat_map(|word| word.to_le_bytes()).collect();
    let size = pages.len() as u64 * PAGE;
    let mut random = Random::new(3);
    for written in [0x10, 0x1000, 0x1230, 0x3000, 0x4560, 0x8000] {
        let bytes = random.bytes(written);
        let mut memory = vec![0; size as usize];
        bytes.iter().enumerate().for_each(|(n, byte)| memory[n % size as usize] = *byte);
        let next = written as u64 % size;
        let pointer = pages[(next / PAGE) as usize] + next % PAGE;
        let registers = [
            ("RSZ", size / 4),
            ("STS", 0b1100 | u64::from(written as u64 >= size)),
            ("RWP", pointer & 0xffff_ffff),
            ("RWPHI", pointer >> 32),
            ("AXICTL", 1 << 7),
            ("DBALO", 0x0000_1000),
            ("DBAHI", 8),
        ];
        let mut capture = capture("ETR", &memory, &registers, Format::CoreSight);
        capture.memory.push(Dump::new("list", tables[0].0, words.clone()));
        assert_eq!(trace(capture, written == 0x4560), last(&bytes, size as usize), "{written:#x}");
    }
}

/// The Micro Trace Buffer at each position, and within the SRAM.
#[test]
fn mtb_at_each_position() {
    for packets in 0..40u32 {
        let mut mtb = Mtb::new(0x2000_0000, 128);
        mtb.start();
        let mut all = Vec::new();
        for n in 0..packets {
            mtb.packet(n * 4, n * 8 + 2);
            let destination = n * 8 + 2 | u32::from(n == 0);
            all.extend_from_slice(&(n * 4).to_le_bytes());
            all.extend_from_slice(&destination.to_le_bytes());
        }
        let registers = mtb.registers();
        let alone = capture("MTB", mtb.memory(), &registers, Format::SourceData);
        assert_eq!(trace(alone, packets == 20), last(&all, 128), "{packets}");
    }
}

/// The registers of a Trace Buffer Unit may be those of the core or of the source.
#[test]
fn registers_of_the_core() {
    let registers = [
        ("TRBBASER_EL1", 0x1000),
        ("TRBPTR_EL1", 0x1003),
        ("TRBLIMITR_EL1", 0x2006),
        ("TRBSR_EL1", Status::WRAP),
        ("CPSR", 5),
    ];
    let mut bytes = vec![7; 0x1000];
    bytes[..3].copy_from_slice(&[1, 2, 3]);
    for of_core in [true, false] {
        let mut capture = capture("", &bytes, &[], Format::SourceData);
        capture.others.clear();
        let registers = Registers::from_iter(registers);
        if of_core {
            capture.cores.push(tracewright_capture::Core {
                name: "cpu".into(),
                device_type: "ARMv9-A".into(),
                registers,
                ..tracewright_capture::Core::default()
            });
            capture.sources[0].core = Some(0);
        } else {
            capture.sources[0].registers = registers;
        }
        let got = trace(capture.clone(), true);
        assert_eq!((got.len(), &got[0xffd..]), (0x1000, &[1, 2, 3][..]));
        capture.read_sinks();
        let sink = capture.buffers[0].sink.as_ref().unwrap();
        assert_eq!((sink.layout.kind, sink.registers.0.len()), (Kind::Trbe, 4));
        // A buffer of several sources is not that of one Trace Buffer Unit.
        let mut framed = capture.clone();
        framed.buffers[0] = Buffer::new("buffer", Format::CoreSight, bytes.clone());
        framed.read_sinks();
        assert_eq!(framed.buffers[0].sink, None);
    }
}

/// Several buffers and devices: by name, and by the key `device`.
#[test]
fn devices_of_buffers() {
    let mut capture = capture("ETB", &[9; 64], &etb(4), Format::CoreSight);
    capture.buffers.push(Buffer::new("second", Format::CoreSight, vec![8; 64]));
    capture.others.push(Other {
        name: "etb2".into(),
        class: "trace_sink".into(),
        device_type: "ETB".into(),
        registers: Registers::from_iter(etb(8)),
        ..Other::default()
    });
    let mut unnamed = capture.clone();
    unnamed.read_sinks();
    assert_eq!((unnamed.buffers[0].len(), unnamed.buffers[1].len()), (16, 64));
    capture.buffers[1].device = Some("ETB2".into());
    capture.read_sinks();
    assert_eq!((capture.buffers[0].len(), capture.buffers[1].len()), (16, 32));
    let folder = Folder::new();
    write(&capture, &folder.0).unwrap();
    assert_eq!(open(&folder.0).unwrap(), capture);
}

/// The registers of an ETB of 64 bytes that has written `words`.
fn etb(words: u64) -> [(&'static str, u64); 3] {
    [("RDP", 16), ("RWP", words), ("STS", 0b1100)]
}

/// Registers that do not fit are noted, and the buffer is read as it is stored.
#[test]
fn what_does_not_fit_is_noted() {
    for (bytes, registers) in [
        (&[1u8; 32][..], vec![("RDP", 16), ("RWP", 4), ("STS", 1)]),
        (&[1; 32][..], vec![("TRBPTR_EL1", 0x1000), ("TRBLIMITR_EL1", 0x2000)]),
        (&[1; 32][..], vec![("POSITION", 0x44), ("MASTER", 6)]),
    ] {
        let mut capture = capture("", bytes, &registers, Format::CoreSight);
        capture.read_sinks();
        assert_eq!((capture.buffers[0].len(), &capture.buffers[0].sink), (32, &None));
        assert!(matches!(capture.notes[0].problem, Problem::SinkRegisters { .. }));
        let text = capture.notes[0].to_string();
        assert!(text.contains("is read as it is stored"), "{text}");
    }
}

/// `capture.toml` and the command line give the registers of a buffer.
#[test]
fn registers_beside_a_file() {
    let folder = Folder::new();
    folder.put("etb.bin", [[2; 16], [3; 16], [1; 32].first_chunk().copied().unwrap()].concat());
    folder.put(
        "capture.toml",
        "[[buffer]]\nfile = \"etb.bin\"\nformat = \"coresight\"\n[buffer.registers]\nRDP = 12\n\
         RWP = \"0x8\"\nSTS = 13\n[[source]]\nprotocol = \"ETE\"\n",
    );
    let capture = open(&folder.0).unwrap();
    let want = [[1; 16], [2; 16], [3; 16]].concat();
    assert_eq!(*capture.buffers[0].bytes(), want, "{:?}", capture.notes);
    let text = "RDP=12, RWP=8,STS=0xd";
    let registers = assignments(text, "--buffer-registers".as_ref()).unwrap();
    let raw = Raw { buffer_registers: Some(registers), ..Raw::default() };
    let capture = Capture::raw(&[folder.0.join("etb.bin")], &raw).unwrap();
    assert_eq!(*capture.buffers[0].bytes(), want);
    for wrong in ["RDP", "RDP=x", "=4"] {
        assert!(assignments(wrong, "".as_ref()).is_err(), "{wrong}");
    }
    assert_eq!(assignments("", "".as_ref()), Ok(Registers::default()));
}

/// A list of pages without an end is refused.
#[test]
fn list_without_end() {
    let registers =
        [("RSZ", 0xffff_fc00), ("RWP", 0x1000), ("STS", 1), ("AXICTL", 0x80), ("DBALO", 0x4000)];
    for words in [[0x0004_0003u32; 4], [0x0001_0002; 4]] {
        let mut capture = capture("ETR", &[0; 4096], &registers, Format::CoreSight);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        capture.memory.push(Dump::new("list", 0x4000, bytes.repeat(1 << 18)));
        capture.read_sinks();
        let text = capture.notes[0].to_string();
        assert!(text.contains("the list of pages at 0x4000"), "{text}");
    }
}
