//! Detection of framing, alignment, protocol and configuration, on captures of this repository:
//! each is given as the bytes of its buffer, without its registers.

use std::fs;
use std::path::{Path, PathBuf};

use tracewright_capture::{Capture, open};
use tracewright_decode::detect::complete::complete;
use tracewright_decode::detect::{Certainty, Detection, Given, HEAD};
use tracewright_decode::raw::{RawFraming, RawTrace, Unit};
use tracewright_frames::{Framing, Joiner};
use tracewright_protocols::registry::AnyProtocol;
use tracewright_testing::{Random, sample};

fn small(name: &str) -> Capture {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
    open(&root.join(name).join("capture")).unwrap()
}

/// Only the program memory.
fn program(capture: &Capture) -> Capture {
    Capture { memory: capture.memory.clone(), ..Capture::default() }
}

/// Frames that are cut at each byte: the offset of the first frame and the protocol are found.
#[test]
fn frames_are_aligned_and_their_protocol_is_found() {
    for (name, want) in
        [("etmv3", AnyProtocol::Etmv3), ("ptm", AnyProtocol::Ptm), ("stm", AnyProtocol::Stm)]
    {
        let capture = small(name);
        // The unit synchronises at the beginning only: a cut trace goes on with the whole one.
        let bytes = capture.buffers[0].bytes().repeat(3);
        for cut in sample(2, [0, 1, 6, 11, 15]) {
            let detection = Detection::of(&bytes[cut..], &program(&capture), &Given::default());
            let best = detection.best().unwrap_or_else(|| panic!("{name} cut at {cut}: nothing"));
            let skip = (16 - cut) % 16;
            assert_eq!((best.framing, best.skip), (Framing::Coresight, skip), "{name}, cut {cut}");
            let source = best.sources.iter().max_by_key(|source| source.bytes).unwrap();
            assert_eq!(
                source.best().map(|inference| inference.protocol),
                Some(want),
                "{name}, cut {cut}"
            );
        }
    }
}

/// Bytes that are no trace are not called trace with certainty.
#[test]
fn nothing_is_certain_about_other_bytes() {
    let mut random = Random::new(7);
    let noise: Vec<u8> = (0..1024).map(|_| random.next() as u8).collect();
    let text = b"The quick brown fox jumps over the lazy dog.\n".repeat(20);
    let code: Vec<u8> = (0..256u32).flat_map(|n| (0xd503_201f ^ n << 5).to_le_bytes()).collect();
    for (name, bytes) in [
        ("noise", noise),
        ("text", text),
        ("code", code),
        ("zeros", vec![0; 1024]),
        ("none", vec![]),
    ] {
        let detection = Detection::of(&bytes, &Capture::default(), &Given::default());
        let sources = detection.best().map_or(&[][..], |best| &best.sources);
        for source in sources {
            assert!(source.certainty() < Certainty::Certain, "{name}: {source:?}");
        }
    }
}

/// Frames with ITMs of the trace IDs from 1 to `count`, each with text that begins with `start`.
fn itms(count: u8, start: &[u8]) -> Vec<u8> {
    let (mut frames, mut joiner) = (Vec::new(), Joiner::new(Framing::Coresight));
    for round in 0..12u8 {
        for id in 1..=count {
            let text = (0..12u8).flat_map(|n| [0x01, b'a' + (n + round) % 26]);
            let begin = if round == 0 { start } else { &[] };
            let bytes: Vec<u8> = begin.iter().copied().chain(text).collect();
            joiner.push(id, &bytes, &mut frames).unwrap();
        }
    }
    joiner.finish(&mut frames);
    frames
}

/// A link has a few ITMs at most: of more, none is likely.
#[test]
fn many_sources_of_one_protocol_are_not_likely() {
    const SYNC: [u8; 6] = [0, 0, 0, 0, 0, 0x80];
    for (count, sure) in [(1, true), (4, true), (5, false), (12, false)] {
        let frames = itms(count, &SYNC);
        let detection = Detection::of(&frames, &Capture::default(), &Given::default());
        let best = detection.best().unwrap();
        assert_eq!(best.framing, Framing::Coresight, "{count}");
        let likely = best.sources.iter().filter(|source| source.certainty() >= Certainty::Likely);
        assert_eq!(likely.count(), if sure { usize::from(count) } else { 0 }, "{count}");
        assert_eq!(best.is_sure(), sure, "{count}");
    }
    let frames = itms(12, &[]);
    let detection = Detection::of(&frames, &Capture::default(), &Given::default());
    assert!(detection.best().is_none_or(|best| !best.is_sure()));
}

/// At most `HEAD` bytes are looked at.
#[test]
fn the_look_is_bounded() {
    let detection = Detection::of(&vec![0; HEAD + 1], &Capture::default(), &Given::default());
    assert_eq!(detection.looked, HEAD);
}

/// A file in a temporary folder.
struct File(PathBuf);

impl File {
    fn new(test: &str, bytes: &[u8]) -> File {
        let name = format!("tracewright-detect-{}-{test}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, bytes).unwrap();
        File(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A description without units is completed; what one states stays as it is.
#[test]
fn descriptions_are_completed() {
    let capture = small("etmv3");
    let bytes = capture.buffers[0].bytes().repeat(3);
    let file = File::new("complete", &bytes[5..]);
    let (mut raw, mut notes) = (RawTrace::default(), Vec::new());
    let detection = complete(&file.0, &mut raw, &[], None, &mut notes).unwrap();
    assert!(detection.is_some());
    assert_eq!(raw.framing, RawFraming::Framed(Framing::Coresight));
    assert_eq!(raw.skip, 11);
    assert_eq!(raw.units.len(), 1);
    assert_eq!(raw.units[0].protocol, "ETM3");

    let given = RawTrace {
        units: vec![Unit { protocol: "ETM3".into(), id: None }],
        registers: vec!["ETMCR=0x1000".into(), "ETMIDR=0x4114f250".into()],
        ..RawTrace::default()
    };
    // The registers stay, and the framing is found.
    let mut found = given.clone();
    complete(&file.0, &mut found, &[], None, &mut notes).unwrap();
    assert_eq!((&found.registers, found.skip, found.framing), (&given.registers, 11, raw.framing));
    assert_eq!(found.units, raw.units);
    // Nothing is left to find.
    let given = RawTrace { framing: RawFraming::Framed(Framing::Raw), ..given };
    let mut same = given.clone();
    let detection = complete(&file.0, &mut same, &[], None, &mut notes).unwrap();
    assert!(detection.is_none());
    assert_eq!((same.registers, same.skip, same.framing), (given.registers, 0, given.framing));
}

/// A file without bytes is called so.
#[test]
fn empty_files_are_named() {
    let file = File::new("empty", &[]);
    let error = complete(&file.0, &mut RawTrace::default(), &[], None, &mut Vec::new());
    let error = error.err().unwrap().to_string();
    assert!(error.contains(": there are no bytes: nothing was captured"), "{error}");
}

/// The registers of a known core are assumed, which a note states.
#[test]
fn registers_of_cores_are_assumed() {
    let capture = small("etmv3");
    let file = File::new("core", &capture.buffers[0].bytes());
    let mut raw = RawTrace {
        units: vec![Unit { protocol: "ETM3".into(), id: Some(0x10) }],
        registers: vec!["ETMCR=0x1000".into()],
        core: Some("Cortex-M3".into()),
        framing: RawFraming::Framed(Framing::Coresight),
        ..RawTrace::default()
    };
    let mut notes = Vec::new();
    complete(&file.0, &mut raw, &[], Some(0), &mut notes).unwrap();
    assert!(raw.registers.contains(&"ETMIDR=0x4114f250".to_owned()), "{:?}", raw.registers);
    assert_eq!(
        notes,
        [
            "ETMIDR=0x4114f250 is assumed, as a Cortex-M3 has it",
            "ETMCCER=0x18541800 is assumed, as a Cortex-M4 has it: the value of a Cortex-M3 is not known",
        ]
    );
    // The value of a related core is called so.
    raw.registers.retain(|text| text.starts_with("ETMCR"));
    raw.core = Some("Cortex-R4".into());
    notes.clear();
    complete(&file.0, &mut raw, &[], Some(0), &mut notes).unwrap();
    let want = "ETMIDR=0x4104f230 is assumed, as a Cortex-R5 has it: the value of a Cortex-R4 is not known";
    assert_eq!(notes.first().map(String::as_str), Some(want));
    assert_eq!(notes.len(), 2, "{notes:?}");
}
