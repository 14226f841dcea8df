//! Parts of a trace in the format of OpenCSD: their lines are those of the whole listing.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use tracewright_testing::{Random, shared, short_or_long};

use crate::common::{Folder, args, tracewright};

/// The captures of the repository.
fn captures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path().join("capture"));
    let mut captures: Vec<PathBuf> = entries.filter(|path| path.exists()).collect();
    captures.sort();
    assert!(captures.len() >= 11);
    captures
}

/// The lines of a successful run, and the last one, which states the number of bytes.
fn listing(words: &str, capture: &Path) -> (Vec<String>, String) {
    let words = format!("{words} --format opencsd");
    let output = tracewright(&args(&words, &[capture]));
    assert_eq!(output.code, Some(0), "{words} {}: {}", capture.display(), output.err);
    assert!(!output.err.contains("index"), "{words} {}: {}", capture.display(), output.err);
    let mut lines: Vec<String> = output.out.lines().map(str::to_owned).collect();
    let end = lines.pop().unwrap();
    assert!(end.starts_with("Trace Packet Lister : Trace buffer done"), "{end}");
    (lines, end)
}

/// The offset that a line states. A message about an error precedes the line of the packet.
fn offset(line: &str) -> Option<u64> {
    let rest = line.split_once("Idx:")?.1;
    rest.split_once(';')?.0.parse().ok()
}

/// Compares the part of `capture` at `offsets` with the lines of the whole listing `all`.
fn same(verb: &str, capture: &Path, all: &(Vec<String>, String), offsets: &Range<u64>) -> usize {
    let (start, end) = (offsets.start, offsets.end);
    let mut got = listing(&format!("{verb} --offset {start}..{end}"), capture);
    // The end of a source has no offset of its own.
    got.0.retain(|line| !line.ends_with("END OF TRACE DATA"));
    let inside = |line: &&String| offset(line).is_some_and(|at| offsets.contains(&at));
    let want: Vec<String> = all.0.iter().filter(inside).cloned().collect();
    let name = capture.display();
    assert_eq!(got.0, want, "{verb} {name} {offsets:?}");
    assert_eq!(got.1, all.1, "{verb} {name} {offsets:?}");
    want.len()
}

const VERBS: [&str; 4] = ["packets", "packets --bytes", "decode", "decode --packets"];

#[test]
fn windows_are_parts_of_the_listing() {
    let (mut random, mut lines) = (Random::new(1), 0);
    for capture in captures() {
        for verb in VERBS {
            let all = listing(verb, &capture);
            let last = all.0.iter().filter_map(|line| offset(line)).max().unwrap();
            for _ in 0..short_or_long(1, 8) {
                let start = random.below(last);
                let end = start + 1 + random.below(last - start + 1);
                lines += same(verb, &capture, &all, &(start..end));
            }
        }
    }
    assert!(lines > 200, "{lines}");
}

/// Addresses, times and channels that packets before the window have a part of.
#[test]
fn packets_of_a_window_are_complete() {
    for (path, verb, offsets, text) in [
        ("captures/ti-am243x-r5f/freertos", "packets", 36143..36160, "Addr=0x700AD136"),
        ("conformance/arm/snapshots/Snowball", "packets", 3225..3230, "TS=0x00000058E92EE6EF"),
        ("conformance/arm/snapshots/stm_only", "decode", 8291..8295, "(Ma:0x41; Ch:0x00)"),
        (
            "conformance/arm/snapshots/trace_file_vmid",
            "decode --packets",
            1567..1600,
            "Addr=0x000000000009B1C0",
        ),
    ] {
        let Some(capture) = shared(path) else { continue };
        let words = format!("{verb} --offset {}..{}", offsets.start, offsets.end);
        let (lines, _) = listing(&words, &capture);
        assert!(lines.iter().any(|line| line.contains(text)), "{words} {path}: {lines:?}");
        assert!(!lines.iter().any(|line| line.contains("NO_SYNC")), "{words} {path}: {lines:?}");
        same(verb, &capture, &listing(verb, &capture), &offsets);
    }
}

/// Times divide what has one, and the counts are those of the part.
#[test]
fn windows_of_times() {
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/etmv4/capture");
    for verb in VERBS {
        let whole = listing(verb, &capture).0;
        let time = |range: &str| listing(&format!("{verb} --time {range}"), &capture).0;
        let (all, first) = (time("404813497457.."), time("404813497457..404813497567"));
        let rest = time("404813497567..");
        assert!(!first.is_empty() && !rest.is_empty(), "{verb}");
        assert_eq!([first, rest].concat(), all, "{verb}");
        assert!(all.len() < whole.len() && whole.ends_with(&all), "{verb}");
        assert_eq!(time("..404813497457"), [""; 0], "{verb}");
    }
    let counts = |format: &str| {
        let words = format!("packets --offset 60..70 --stats --format {format}");
        let output = tracewright(&args(&words, &[&capture]));
        output.err.lines().filter(|line| line.starts_with(' ')).map(str::to_owned).collect()
    };
    let (opencsd, text): (Vec<String>, Vec<String>) = (counts("opencsd"), counts("text"));
    assert_eq!(opencsd, text);
    assert!(opencsd.iter().any(|line| line.contains("exception-return")), "{opencsd:?}");
}

/// The frames of a window are those with bytes in it.
#[test]
fn frames_of_a_window() {
    let folder = Folder::with_demo("opencsd-frames");
    let verb = "packets --raw-frames packed,unpacked";
    let (all, _) = listing(verb, &folder.demo());
    let (got, _) = listing(&format!("{verb} --offset 20..40"), &folder.demo());
    let frame = |line: &&String| line.starts_with("Frame Data");
    let offset_of_frame = |line: &String| -> u64 {
        line["Frame Data; Index".len()..].split(';').next().unwrap().trim().parse().unwrap()
    };
    let packed = |lines: &[String]| {
        let all = lines.iter().filter(frame).filter(|line| line.contains("RAW_PACKED"));
        all.map(offset_of_frame).collect::<Vec<_>>()
    };
    assert_eq!(packed(&got), [16, 32]);
    assert!(packed(&all).len() > 2);
    let lines = got.iter().filter(|line| !frame(line));
    assert!(lines.clone().count() > 3);
    assert!(lines.filter_map(|line| offset(line)).all(|at| (20..40).contains(&at)), "{got:?}");
    assert!(all.iter().filter(|line| got.contains(line)).eq(&got));
}

/// The offsets of the lines of `words` in JSON, of the type `of`.
fn offsets(words: &str, of: &str, capture: &Path) -> Vec<u64> {
    let output = tracewright(&args(&format!("{words} --format json"), &[capture]));
    let line = format!("{{\"type\":\"{of}\"");
    let lines = output.out.lines().filter(|text| text.starts_with(&line));
    lines.map(|line| number(line.split_once("\"offset\":").unwrap().1)).collect()
}

/// The number that `text` begins with.
fn number(text: &str) -> u64 {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..len].parse().unwrap()
}

#[test]
fn selections_are_parts_of_the_listing() {
    let folder = Folder::with_demo("opencsd-selections");
    let demo = folder.demo();
    let of = |verb: &str, has: &[&str]| -> Vec<String> {
        let selected = |line: &String| has.iter().any(|text| line.contains(text));
        listing(verb, &demo).0.into_iter().filter(selected).collect()
    };
    for (verb, kinds, texts) in [
        ("decode", "exception,context", &["ELEM_EXCEPTION(", "ELEM_PE_CONTEXT("][..]),
        ("decode", "gap", &["ELEM_NO_SYNC("]),
        ("packets", "atoms", &["I_ATOM_"]),
        ("decode --packets", "atoms,exception", &["I_ATOM_", "I_EXCEPT ", "ELEM_EXCEPTION("]),
        ("decode --packets", "gap", &["ELEM_NO_SYNC("]),
        ("decode", "end", &["ELEM_EO_TRACE("]),
    ] {
        let got = listing(&format!("{verb} --only {kinds}"), &demo).0;
        assert_eq!(got, of(verb, texts), "{verb} {kinds}");
        assert!(!got.is_empty(), "{verb} {kinds}");
    }
    let both = listing("decode --only range --offset 30..60", &demo).0;
    let inside = |line: &String| offset(line).is_some_and(|at| (30..60).contains(&at));
    let ranges: Vec<String> = of("decode", &["INSTR_RANGE"]).into_iter().filter(inside).collect();
    assert_eq!(both, ranges);
    assert!(both.len() > 3);
    let output = tracewright(&args("decode --format opencsd --function no_such", &[&demo]));
    assert_eq!(output.code, Some(2), "{}", output.err);
}

/// The same is selected as in JSON.
#[test]
fn selections_are_those_of_the_other_formats() {
    let folder = Folder::with_demo("opencsd-functions");
    let etmv4 = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/etmv4/capture");
    for (capture, verb, of, select, least) in [
        (&folder.demo(), "decode --only range", "element", "--function square", 3),
        (&folder.demo(), "decode --only range", "element", "--address 0x80024..0x80028", 3),
        (&folder.demo(), "decode --only range", "element", "--context 0x2a", 3),
        (&folder.demo(), "packets", "packet", "--function main", 3),
        (&folder.demo(), "packets", "packet", "--address 0x80000", 1),
        (&etmv4, "packets", "packet", "--context 0x7895dcd0", 20),
        (&etmv4, "packets", "packet", "--context 0x7895dcd0 --only atoms", 5),
    ] {
        let (lines, _) = listing(&format!("{verb} {select}"), capture);
        let got: Vec<u64> = lines.iter().filter_map(|line| offset(line)).collect();
        let want = offsets(&format!("{verb} {select}"), of, capture);
        // OpenCSD counts the offsets of some bytes of frames in another way.
        let differ = got.iter().zip(&want).filter(|(got, want)| got != want).count();
        assert_eq!(got.len(), want.len(), "{verb} {select}");
        assert!(differ * 4 <= got.len(), "{verb} {select}: {got:?} {want:?}");
        assert!(got.len() >= least, "{verb} {select}: {got:?}");
    }
}

/// A selection does not depend on the number of threads.
#[test]
fn selections_on_threads() {
    let Some(capture) = shared("captures/ti-am243x-r5f/freertos") else { return };
    for words in [
        "decode --packets --only exception,context,isync",
        "packets --address 0x700a0b30..0x700a0b80",
    ] {
        let one = listing(&format!("{words} --jobs 1"), &capture);
        assert!(one.0.len() > 3, "{words}");
        assert!(listing(&format!("{words} --jobs 3"), &capture) == one, "{words}");
    }
}

/// The elements of this format are not those that `find` numbers; an index is not used.
#[test]
fn numbers_are_refused() {
    let folder = Folder::with_demo("opencsd-numbers");
    let demo = folder.demo();
    let made = tracewright(&args("index", &[&demo]));
    assert_eq!(made.code, Some(0), "{}", made.err);
    for words in ["decode --at 3", "decode --at 3 --offset 0..9", "packets --instruction 2..9"] {
        let output = tracewright(&args(&format!("{words} --format opencsd"), &[&demo]));
        assert_eq!(output.code, Some(2), "{words}: {}", output.err);
        assert_eq!(output.out, "", "{words}");
        assert!(output.err.contains("select them with --offset"), "{words}: {}", output.err);
    }
    assert!(!listing("decode --offset 30..60", &demo).0.is_empty());
}
