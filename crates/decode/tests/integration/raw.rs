//! Captures made of raw trace data.

use std::path::PathBuf;

use tracewright_capture::{Capture, Format};
use tracewright_decode::raw::{RawFraming, RawTrace, Unit, capture};
use tracewright_frames::{Framing, Joiner};

/// A file in the temporary folder, deleted on drop.
struct File(PathBuf);

impl File {
    fn new(name: &str, bytes: &[u8]) -> File {
        let name = format!("tracewright-decode-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).unwrap();
        File(path)
    }

    fn open(&self, raw: &RawTrace) -> Result<(Capture, Vec<String>), String> {
        let mut notes = Vec::new();
        let capture = capture(&self.0, raw, &mut notes).map_err(|error| error.to_string())?;
        Ok((capture, notes))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// CoreSight formatter frames with 40 bytes of each trace ID.
fn frames(ids: &[u8]) -> Vec<u8> {
    let mut frames = Vec::new();
    let mut joiner = Joiner::new(Framing::Coresight);
    for &id in ids {
        joiner.push(id, &[0x55; 40], &mut frames).unwrap();
    }
    joiner.finish(&mut frames);
    frames
}

fn unit(protocol: &str, id: Option<u16>) -> Unit {
    Unit { protocol: protocol.to_owned(), id }
}

#[test]
fn a_single_trace_id_is_inferred() {
    let framing = RawFraming::Framed(Framing::Coresight);
    let raw = RawTrace { units: vec![unit("ITM", None)], framing, ..RawTrace::default() };
    for (ids, want) in [(&[0x20][..], 0x20 << 16), (&[0x20, 0x21], 0)] {
        let file = File::new("ids", &frames(ids));
        let (capture, notes) = file.open(&raw).unwrap();
        assert_eq!(capture.buffers[0].format, Format::CoreSight);
        assert_eq!(capture.sources[0].register("ITMTCR").unwrap_or(0), want);
        assert_eq!(notes.len(), usize::from(ids.len() == 1), "{notes:?}");
    }
}

#[test]
fn several_units_share_formatter_frames() {
    let file = File::new("units", &frames(&[0x10, 0x11]));
    let units = vec![unit("ITM", Some(0x10)), unit("ITM", Some(0x11))];
    let (capture, notes) = file.open(&RawTrace { units, ..RawTrace::default() }).unwrap();
    let sources: Vec<_> =
        capture.sources.iter().map(|s| (s.name.as_str(), s.register("ITMTCR"))).collect();
    assert_eq!(sources, [("ITM@0x10", Some(0x10 << 16)), ("ITM@0x11", Some(0x11 << 16))]);
    assert_eq!((&capture.buffers[0].format, notes.len()), (&Format::CoreSight, 0));
}

#[test]
fn invalid_descriptions_are_reported() {
    let file = File::new("invalid", &[0; 64]);
    let raw = |protocol, id, framing| RawTrace {
        units: vec![unit(protocol, id)],
        framing,
        ..RawTrace::default()
    };
    for (raw, want) in [
        (RawTrace::default(), "give the protocol"),
        (raw("ITM", Some(0x80), RawFraming::Auto), "<protocol> ITM@0x80: `0x80` is not a trace ID"),
        (raw("ITM", None, RawFraming::Etb), "<framing> etb: needs <protocol> ETM1 or ETM2"),
        (raw("etrace", None, RawFraming::Encapsulated), "add <register> source_width=N"),
    ] {
        let error = file.open(&raw).unwrap_err();
        assert!(error.contains(want), "{error}");
    }
    let registers = vec!["FOO=1".to_owned()];
    let (_, notes) =
        file.open(&RawTrace { registers, ..raw("ITM", None, RawFraming::Auto) }).unwrap();
    assert!(notes[0].starts_with("<register> FOO=1: unknown register FOO, not used;"), "{notes:?}");
}
