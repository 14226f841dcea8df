//! The streams of a source that a plan has, the registers that it needs, and what it assumes of
//! others.

use tracewright_capture::{Buffer, BufferRef, Capture, Format, Kind, Register, Registers, Source};
use tracewright_decode::{Memory, Options, Plan, Session, Why};
use tracewright_protocols::registry::AnyProtocol;

/// An ETMv4 that traces instructions and data.
const DATA: &[(&str, u64)] = &[
    ("TRCCONFIGR", 0x3_0001),
    ("TRCTRACEIDR", 0x10),
    ("TRCIDR0", 0x2800_0eb9),
    ("TRCIDR1", 0x4100_f403),
    ("TRCIDR2", 0x488),
    ("TRCIDR8", 0),
];

/// A capture of a source with two buffers, of which `links` has the number and the stream.
fn capture(
    device_type: &str,
    registers: &[(&str, u64)],
    format: Format,
    links: &[(usize, Option<u8>)],
) -> Capture {
    let links = links.iter().map(|&(buffer, stream)| BufferRef { buffer, stream });
    let source = Source {
        name: "unit".into(),
        device_type: device_type.into(),
        registers: Registers::from_iter(registers.iter().copied()),
        buffers: links.collect(),
        ..Source::default()
    };
    let buffer = |name: &str| Buffer::new(name, format.clone(), vec![0; 16]);
    Capture {
        kind: Kind::Snapshot,
        buffers: vec![buffer("first"), buffer("second")],
        sources: vec![source],
        ..Capture::default()
    }
}

/// The streams of a plan: name, protocol, trace ID.
fn streams(capture: &Capture, buffer: usize) -> Vec<(String, AnyProtocol, u16)> {
    let plan = Plan::new(capture, buffer, &Options::default()).unwrap();
    // A session accepts the names.
    Session::new(capture, &plan, &Memory::new(capture), &Options::default()).unwrap();
    let sources = plan.sources.into_iter();
    sources.map(|planned| (planned.name, planned.config.protocol(), planned.id)).collect()
}

/// *Reference CoreSight Trace Decoder*, 4.2.3.4: a stream has a link of its own, or that without a
/// stream. IHI 0064: the trace ID of the data stream is the next.
#[test]
fn data_streams() {
    let instructions = || ("unit".to_owned(), AnyProtocol::Etmv4, 0x10);
    let data = || ("unit(stream:1)".to_owned(), AnyProtocol::Etmv4d, 0x11);
    for format in [Format::CoreSight, Format::SourceData] {
        for (links, first, second) in [
            (&[(0, None)][..], vec![instructions()], vec![]),
            (&[(0, Some(0)), (1, Some(1))], vec![instructions()], vec![data()]),
            (&[(1, Some(1))], vec![], vec![data()]),
            (&[(0, None), (1, Some(1))], vec![instructions()], vec![data()]),
            (&[(0, Some(0)), (1, None)], vec![instructions()], vec![data()]),
        ] {
            let capture = capture("ETM4.0", DATA, format.clone(), links);
            assert_eq!(streams(&capture, 0), first, "{links:?}");
            assert_eq!(streams(&capture, 1), second, "{links:?}");
        }
    }
    let both = [(0, Some(0)), (0, Some(1))];
    let both = capture("ETM4", DATA, Format::CoreSight, &both);
    assert_eq!(streams(&both, 0), [instructions(), data()]);
    for (device_type, stream) in [("ETE", 1), ("ETM4", 2), ("ITM", 1)] {
        let registers = [DATA, &[("ITMTCR", 0x10 << 16)]].concat();
        let links = [(0, Some(stream))];
        let capture = capture(device_type, &registers, Format::CoreSight, &links);
        let plan = Plan::new(&capture, 0, &Options::default()).unwrap();
        assert_eq!((plan.sources.len(), plan.skipped[0].why), (0, Why::NoStream(stream)));
    }
}

/// A data stream in the frames of the unit is named by the programming of the unit.
#[test]
fn data_stream_in_the_same_frames() {
    for (configuration, links, named) in [
        (0x3_0001, &[(0, None)][..], true),
        (0x1_0001, &[(0, None)], true),
        (0x0_0001, &[(0, None)], false),
        // The plan has the stream.
        (0x3_0001, &[(0, None), (0, Some(1))], false),
    ] {
        let registers = [&[("TRCCONFIGR", configuration)], &DATA[1..]].concat();
        let capture = capture("ETM4", &registers, Format::CoreSight, links);
        let plan = Plan::new(&capture, 0, &Options::default()).unwrap();
        let name = |id| plan.data_stream(id).map(|planned| planned.name.as_str());
        assert_eq!((name(0x10), name(0x12)), (None, None));
        assert_eq!(name(0x11), named.then_some("unit"), "{configuration:#x} {links:?}");
    }
}

/// *Reference CoreSight Trace Decoder*, 4.3: in frames a source needs its trace ID.
#[test]
fn trace_ids() {
    const ETM3: &[(&str, u64)] = &[("ETMCR", 0), ("ETMIDR", 0x4100_f250)];
    const PTM: &[(&str, u64)] = &[("ETMCR", 0), ("ETMCCER", 0)];
    for (device_type, registers, ids) in [
        ("ETM4", &[DATA[0], DATA[2], DATA[4]][..], &[("TRCTRACEIDR", 0x10)][..]),
        ("ETE", &[DATA[0], DATA[2], DATA[4]], &[("TRCTRACEIDR", 0x10)]),
        ("ETM3.5", ETM3, &[("ETMTRACEIDR", 0x10)]),
        ("PTM1.1", PTM, &[("ETMTRACEIDR", 0x10)]),
        (
            "ITM",
            &[],
            &[("CONTROL_REGISTER", 0x10_0000), ("ITMTCR", 0x10_0000), ("ITM_TCR", 0x10_0000)],
        ),
        ("STM", &[], &[("STMTCSR", 0x10_0000), ("STM_TCSR", 0x10_0000)]),
    ] {
        let links = [(0, None)];
        let without = capture(device_type, registers, Format::CoreSight, &links);
        let plan = Plan::new(&without, 0, &Options::default()).unwrap();
        let [skipped] = plan.skipped.as_slice() else {
            panic!("{device_type}: {:?}", plan.sources)
        };
        assert!(matches!(skipped.why, Why::Missing(_)), "{device_type}: {:?}", skipped.why);
        assert!(skipped.message.contains(ids[0].0), "{}", skipped.message);
        // The message has all registers that are missing.
        let bare = capture(device_type, &[], Format::CoreSight, &links);
        let plan = Plan::new(&bare, 0, &Options::default()).unwrap();
        let [skipped] = plan.skipped.as_slice() else { panic!("{device_type}") };
        assert!(skipped.message.contains(ids[0].0), "{}", skipped.message);
        assert!(skipped.missing.contains(&ids[0].0), "{:?}", skipped.missing);
        let named = |register: &&str| skipped.message.contains(*register);
        assert!(skipped.missing.iter().all(named), "{:?}: {}", skipped.missing, skipped.message);
        // Without frames there is no ID.
        let unframed = capture(device_type, registers, Format::SourceData, &links);
        assert_eq!(streams(&unframed, 0).len(), 1, "{device_type}");
        for id in ids {
            let mut with = without.clone();
            with.sources[0].registers.0.push(register(*id));
            assert_eq!(streams(&with, 0)[0].2, 0x10, "{device_type} {id:?}");
        }
    }
}

fn register((name, value): (&str, u64)) -> Register {
    Register { name: name.into(), id: None, size: None, value: value.into() }
}

/// *Reference CoreSight Trace Decoder*, 4.3.3: what is assumed of registers that are missing is
/// noted, where something depends on it.
#[test]
fn assumptions() {
    let needed = [DATA[0], DATA[1], DATA[2], DATA[4]];
    const ETM3: &[(&str, u64)] =
        &[("ETMCR", 1 << 28), ("ETMIDR", 0x4100_f250), ("ETMTRACEIDR", 0x10)];
    for (device_type, registers, assumed) in [
        ("ETM4", DATA, &[][..]),
        ("ETM4", &needed, &["TRCIDR1", "TRCIDR8"]),
        ("ETE", &needed, &["TRCIDR8"]),
        ("ETM3", ETM3, &["ETMCCER"]),
        ("ETM3", &[("ETMCR", 0), ETM3[1], ETM3[2]], &[]),
    ] {
        let capture = capture(device_type, registers, Format::CoreSight, &[(0, None)]);
        let plan = Plan::new(&capture, 0, &Options::default()).unwrap();
        let notes: Vec<_> = plan.notes().collect();
        assert_eq!(notes.len(), assumed.len(), "{notes:?}");
        for (note, name) in notes.iter().zip(assumed) {
            assert!(note.contains(name) && note.contains("is missing and taken as"), "{note}");
        }
        // The options of raw trace data need not list everything.
        let raw = Capture { kind: Kind::Raw, ..capture };
        assert_eq!(Plan::new(&raw, 0, &Options::default()).unwrap().notes().count(), 0);
    }
}
