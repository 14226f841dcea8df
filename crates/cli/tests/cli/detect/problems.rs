//! `info` states the problems that the summary of `decode` states.

use std::fs;
use std::path::Path;

use crate::common::{Folder, args, tracewright};

/// Each note of `decode` is a problem of `info`, in the same order.
fn agree(case: &str, path: &Path, options: &str) {
    let path = path.to_owned();
    let decode = tracewright(&args(&format!("decode --format none {options}"), &[&path]));
    let info = tracewright(&args(&format!("info {options}"), &[&path]));
    let notes = decode.err.lines().filter_map(|line| line.strip_prefix("note: "));
    // What was detected is shown above the problems, and files that are missing have other words.
    let other = |note: &&str| {
        note.starts_with("no --protocol") || note.starts_with("options") || note.contains(".ini:")
    };
    let notes = notes.filter(|note| !other(note));
    let (_, problems) = info.out.split_once("\nproblems:").unwrap();
    let (problems, _) = problems.split_once("\n\n").unwrap();
    for note in notes {
        assert!(problems.contains(note), "{case}: {note}: {problems}");
    }
    let none = problems == " none";
    let wrong = decode.err.lines().any(|line| line.starts_with("note: "));
    assert_eq!(none, !wrong, "{case}: {problems}: {}", decode.err);
}

#[test]
fn info_states_what_decode_states() {
    let folder = Folder::with_demo("detect-problems");
    let demo = folder.demo();
    agree("whole", &demo, "");
    let path = demo.join("ETB.bin");
    let bytes = fs::read(&path).unwrap();
    for at in [20, 40, 60, 80] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x36;
        fs::write(&path, damaged).unwrap();
        agree(&format!("damaged at {at}"), &demo, "");
    }
    for len in [16, 64, 100] {
        fs::write(&path, &bytes[..len]).unwrap();
        agree(&format!("cut at {len}"), &demo, "");
    }
    fs::write(&path, &bytes).unwrap();
    agree("another framing", &demo, "--framing raw");
    fs::remove_file(demo.join("demo.bin")).unwrap();
    agree("without memory", &demo, "");
    fs::remove_file(demo.join("demo_2.bin")).unwrap();
    agree("without any memory", &demo, "");
}

/// A buffer that was full or overwritten, and one that holds all trace.
#[test]
fn losses_of_buffers_are_problems() {
    let folder = Folder::new("detect-full");
    let log = folder.path("log.csv");
    fs::write(&log, super::certainty::log(400)).unwrap();
    for (mode, size, lost) in [
        ("fill", 256, "capture stopped when the buffer was full"),
        ("circular", 256, "overwritten"),
        ("circular", 65536, ""),
    ] {
        let to = folder.path(&format!("{mode}-{size}"));
        let words = format!(
            "encode --protocol ETM4 --config TRCCONFIGR=0x8 --sink etb --size {size} --mode {mode} --log"
        );
        let mut words = args(&words, &[&log]);
        words.extend(args("-o", &[&to]));
        let output = tracewright(&words);
        assert_eq!(output.code, Some(0), "{}", output.err);
        let info = tracewright(&args("info", &[&to]));
        let (_, problems) = info.out.split_once("\nproblems:").unwrap();
        let (problems, _) = problems.split_once("\n\n").unwrap();
        assert!(problems.contains(lost), "{mode}: {problems}");
        assert_eq!(problems.contains("ETB_0: trace"), !lost.is_empty(), "{mode}: {problems}");
        agree(mode, &to, "");
    }
}
