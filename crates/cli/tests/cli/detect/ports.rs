//! Trace ports, and units that are named without their framing or trace ID.

use std::fs;

use tracewright::frames::sync;
use tracewright_testing::{sample, shared};

use super::inputs::SWO;
use crate::common::{Folder, args, tracewright};

/// The units of the SWO capture.
const UNITS: &str = "--protocol ITM@1 --protocol ETM3@2 --config ETMCR=0 --config ETMIDR=0x4114f250 --config \
     ETMCCER=0x30000000 --core ARMv7-M";

/// The elements in a listing, without their offsets.
fn elements(out: &str) -> Vec<&str> {
    out.lines().filter_map(|line| line.trim_start().split_once(' ')).map(|(_, rest)| rest).collect()
}

/// A trace port with half synchronisation packets only: the first frame is found, and the elements
/// are those of the frames.
#[test]
fn half_synchronisation_only() {
    let Some(path) = shared(SWO) else { return };
    let folder = Folder::new("detect-half");
    let frames = fs::read(&path).unwrap();
    let all = tracewright(&args(&format!("decode --framing coresight {UNITS}"), &[&path]));
    let mut port = Vec::new();
    for (n, pair) in frames.chunks(2).enumerate() {
        port.extend(pair);
        port.extend(sync::HALF.repeat([0, 3, 0, 0, 1, 0, 0, 0, 0, 0, 0][n % 11]));
    }
    let file = folder.path("port.bin");
    // The first frame has 4 half synchronisation packets; the second begins at byte 24.
    for (cut, align) in [(0, 0), (9, 15)] {
        fs::write(&file, &port[cut..]).unwrap();
        let found = tracewright(&args("decode", &[&file]));
        let decode = |align| {
            let options = format!("--framing tpiu-hsync-only --align {align} {UNITS}");
            tracewright(&args(&format!("decode {options}"), &[&file]))
        };
        assert!(found.out == decode(align).out, "cut at {cut}: {}", found.err);
        if cut == 0 {
            assert_eq!(elements(&found.out), elements(&all.out));
        } else {
            assert!(found.out != decode(0).out, "--align has no effect");
        }
    }
    let info = tracewright(&args("info", &[&file]));
    let want = "half synchronisation packets only from byte 15 on: ID 0x01 ITM";
    assert!(info.out.contains(want), "{}", info.out);
    // Without full synchronisation packets, nothing is decoded with the other framing.
    let output = tracewright(&args("decode --protocol ITM@1 --framing tpiu-hsync", &[&file]));
    assert_eq!(output.code, Some(1), "{}", output.err);
    assert!(output.err.contains("tpiu-hsync but tpiu-hsync-only"), "{}", output.err);
}

/// What is not given of a unit is detected, and the elements are those with all options.
#[test]
fn one_unit_in_frames() {
    let Some(path) = shared(SWO) else { return };
    let decode = |options: &str| tracewright(&args(&format!("decode {options}"), &[&path]));
    let want = decode("--framing coresight --protocol ITM@1");
    assert!(elements(&want.out).len() > 500, "{}", want.err);
    for options in sample(2, ["--protocol ITM", "--framing coresight --protocol ITM"]) {
        let output = decode(options);
        assert_eq!(output.code, Some(0), "{options}: {}", output.err);
        assert!(output.out == want.out, "{options}: {}", output.err);
        assert!(output.err.contains("was given; detected: CoreSight"), "{options}: {}", output.err);
    }
    let registers = UNITS.split_once("ETM3@2").map_or("", |(_, registers)| registers);
    let want = decode(&format!("--framing coresight --protocol ETM3@2 {registers}"));
    let output = decode("--protocol ETM3");
    assert!(output.out == want.out && elements(&want.out).len() > 200, "{}", output.err);
}

/// Options that do not explain the bytes are contradicted in one sentence, with those that do.
#[test]
fn wrong_options_are_contradicted() {
    let Some(path) = shared(SWO) else { return };
    let better = "use --framing coresight --protocol ITM@0x01 --protocol ETM3@0x02\n";
    for given in sample(2, ["--framing tpiu", "--protocol ETM4"]) {
        let output = tracewright(&args(&format!("info {given}"), &[&path]));
        assert_eq!(output.code, Some(2), "{given}: {}", output.err);
        let what = format!("{given} does not explain the bytes; detected: CoreSight");
        assert!(output.err.contains(&what), "{given}: {}", output.err);
        assert!(output.err.ends_with(better), "{given}: {}", output.err);
    }
    for (given, cause, next) in [
        ("--framing tpiu --protocol ITM", "the framing is not tpiu but coresight", "coresight"),
        ("--protocol ITM@2", "the protocol is not ITM but ETM3", "--protocol ETM3@0x02"),
    ] {
        let output = tracewright(&args(&format!("decode {given}"), &[&path]));
        assert_eq!(output.code, Some(1), "{given}: {}", output.err);
        let run = output.err.lines().find(|line| line.starts_with("help: run: tracewright "));
        assert!(output.err.contains(cause), "{given}: {}", output.err);
        assert!(run.is_some_and(|run| run.ends_with(next)), "{given}: {}", output.err);
    }
}

/// A short buffer of one source, described as frames.
#[test]
fn a_short_buffer_has_a_cause() {
    let Some(path) = shared("conformance/arm/snapshots/itm_only_raw") else { return };
    let cause = "the framing is not coresight but raw: the bytes are packets from one to the next";
    let output = tracewright(&args("decode --framing coresight", &[&path]));
    assert_eq!(output.code, Some(1), "{}", output.err);
    assert!(output.err.starts_with(&format!("note: {cause}\nhelp: run: ")), "{}", output.err);
    let output = tracewright(&args("info --framing coresight", &[&path]));
    assert!(output.out.contains(&format!("problems:\n  1. {cause}\n")), "{}", output.out);
    // The trace IDs of frames that are none mean nothing.
    assert!(!output.out.contains("\n  2. "), "{}", output.out);
}

/// A recording of a trace port that is described as frames: where decoding happens to find frames,
/// but starts late, the framing is named, too.
#[test]
fn frames_that_start_late_have_a_cause() {
    let Some(path) = shared("findings/repro/arm/link-trigger") else { return };
    let folder = Folder::new("detect-late-frames");
    let copy = folder.path("port");
    fs::create_dir(&copy).unwrap();
    for entry in fs::read_dir(&path).unwrap() {
        let from = entry.unwrap().path();
        fs::copy(&from, copy.join(from.file_name().unwrap())).unwrap();
    }
    let frames = fs::read(path.join("trace.bin")).unwrap();
    for every in [1, 2, 4, 8, 16, 32] {
        let mut port = Vec::new();
        for (n, frame) in frames.chunks(16).enumerate() {
            if n % every == 0 {
                port.extend(sync::FULL);
            }
            port.extend(frame);
        }
        fs::write(copy.join("trace.bin"), port).unwrap();
        let output = tracewright(&args("decode", &[&copy]));
        let cause = "note: the framing is not coresight but tpiu: ";
        assert!(output.err.contains(cause), "each {every}: {}", output.err);
        assert!(output.err.contains("help: run: "), "each {every}: {}", output.err);
    }
}
