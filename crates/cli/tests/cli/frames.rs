//! `frames`: frames at some offsets, and the data of some trace IDs.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::common::{Folder, args, tracewright};

/// The lines of a successful run.
fn lines(words: &str, path: &Path) -> Vec<String> {
    let output = tracewright(&args(&format!("frames {words}"), &[path]));
    assert_eq!(output.code, Some(0), "{words}: {}", output.err);
    output.out.lines().map(str::to_owned).collect()
}

/// The levels of a TPIU's port of 8 bits that sends `bytes`.
fn levels(bytes: &[u8]) -> String {
    let mut dump = "$var wire 1 c TRACECLK $end $var wire 8 d TRACEDATA [7:0] $end\n\
                    $enddefinitions $end\n#0 0c b0 d\n"
        .to_owned();
    for (time, byte) in (1..).zip(bytes) {
        writeln!(dump, "#{time} {}c b{byte:b} d", time % 2).unwrap();
    }
    dump
}

/// The frames of a recording of levels need no protocol. The skipped bytes are those of the trace.
#[test]
fn frames_of_levels() {
    let folder = Folder::new("frames-levels");
    let path = folder.path("port.vcd");
    let frame = [0x21, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0];
    let sync = [0xff, 0xff, 0xff, 0x7f];
    fs::write(&path, levels(&[&sync[..], &frame, &sync, &frame].concat())).unwrap();
    let ids = |words: &str| {
        let lines = lines(words, &path);
        lines.iter().filter(|line| line.contains("ID 0x10 01 02 03")).count()
    };
    assert_eq!(ids("--pins"), 2);
    assert_eq!(ids("--skip 20 --pins"), 1);
    assert_eq!(ids("--protocol ITM --framing tpiu --skip 20 --pins"), 1);
}

/// The offset of a line of text.
fn offset(line: &str) -> u64 {
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn frames_at_offsets() {
    let folder = Folder::with_demo("frames-offset");
    let demo = folder.demo();
    let all = lines("", &demo);
    let inside = |line: &&String| (16..48).contains(&offset(line));
    let want: Vec<String> = all.iter().filter(inside).cloned().collect();
    assert_eq!(lines("--offset 31..33", &demo), want);
    assert!(want.len() > 3 && want.len() < all.len());
    assert_eq!(lines("--offset ..9999", &demo), all);
    // The other formats have the same frames.
    let all = lines("--format json", &demo);
    let got = lines("--format json --offset 31..33", &demo);
    let number = |line: &String| -> Option<u64> {
        line.split_once("\"offset\":")?.1.split([',', '}']).next()?.parse().ok()
    };
    let inside = |line: &&String| number(line).is_none_or(|at| (16..48).contains(&at));
    assert!(got.iter().eq(all.iter().filter(inside)), "{got:?}");
    let all = lines("--format opencsd", &demo);
    let got = lines("--format opencsd --offset 31..33", &demo);
    let number = |line: &String| -> u64 {
        line["Frame Data; Index".len()..].split(';').next().unwrap().trim().parse().unwrap()
    };
    let inside = |line: &&String| (16..48).contains(&number(line));
    assert!(got.iter().eq(all.iter().filter(inside)), "{got:?}");
    assert!(got.iter().any(|line| line.contains("RAW_PACKED")), "{got:?}");
    let packed = lines("--format opencsd --raw-frames packed --offset 31..33", &demo);
    assert_eq!(packed.len(), 2, "{packed:?}");
}

#[test]
fn data_of_ids() {
    let folder = Folder::with_demo("frames-id");
    let demo = folder.demo();
    let all = lines("", &demo);
    for id in ["0x10", "0x20"] {
        let want: Vec<String> =
            all.iter().filter(|line| line.contains(&format!("ID {id}"))).cloned().collect();
        assert_eq!(lines(&format!("--id {id}"), &demo), want);
        assert!(!want.is_empty() && want.len() < all.len(), "{id}");
        // A dump without a description, too.
        let got = lines(&format!("--id {id} --framing coresight"), &demo.join("ETB.bin"));
        assert_eq!(got, want, "{id}");
    }
    assert_eq!(lines("--id 0x10 --id 0x20", &demo).len(), of_ids(&all));
    let counts = lines("--id 0x10 --format none", &demo).join("\n");
    assert!(counts.contains("ID 0x10") && !counts.contains("ID 0x20"), "{counts}");
    let output = tracewright(&args("frames --id 0x33", &[&demo]));
    assert_eq!((output.code, output.out.as_str()), (Some(0), ""));
    assert!(output.err.contains("nothing is in the selection"), "{}", output.err);
}

fn of_ids(lines: &[String]) -> usize {
    lines.iter().filter(|line| line.contains("  ID 0x")).count()
}

#[test]
fn options_without_an_effect_are_refused() {
    let folder = Folder::with_demo("frames-refused");
    for words in ["--at 5", "--time 7..8", "--instruction 1..", "--no-index", "--raw-frames packed"]
    {
        let output = tracewright(&args(&format!("frames {words}"), &[&folder.demo()]));
        assert_eq!(output.code, Some(2), "{words}: {}", output.err);
        assert_eq!(output.out, "", "{words}");
    }
}

/// Data that are detected as unframed have no frames.
#[test]
fn unframed_data_have_no_frames() {
    let folder = Folder::new("frames-none");
    let path = folder.path("swo.bin");
    let text = b"Hello from the target, line 1\nand line 2\n".repeat(20);
    let sync = [0, 0, 0, 0, 0, 0x80];
    let packets: Vec<u8> = text.iter().flat_map(|byte| [1, *byte]).collect();
    fs::write(&path, [&sync[..], &packets, &sync, &packets].concat()).unwrap();
    for format in ["text", "json", "none"] {
        let output = tracewright(&args(&format!("frames --format {format}"), &[&path]));
        let part = "contains unframed trace data of one source";
        assert!(output.err.contains(part), "{format}: {}{}", output.out, output.err);
        assert!(!output.out.contains("frame "), "{format}: {}", output.out);
    }
    let output = tracewright(&args("frames --framing coresight", &[&path]));
    assert!(output.out.contains("frame"), "{}", output.err);
}
