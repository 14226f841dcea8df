//! Names and texts from outside: nothing that a terminal interprets is printed.

use std::fs;

use crate::common::{Folder, args, tracewright};

/// A sequence that sets colours, an override of the direction of text, and a space without width.
const ODD: &str = "a\u{1b}[31mb\u{202e}c\u{200b}d";

#[track_caller]
fn check(text: &str) {
    let odd = |c: &char| c.is_control() && *c != '\n' || "\u{202e}\u{200b}".contains(*c);
    assert_eq!(text.chars().find(odd), None, "{text:?}");
}

#[test]
#[cfg(unix)]
fn names_of_files_and_folders() {
    let folder = Folder::with_demo("names-files");
    let odd = folder.path(ODD);
    fs::rename(folder.demo(), &odd).unwrap();
    let (trace, image) = (odd.join(format!("{ODD}.bin")), odd.join(format!("{ODD}.mem")));
    fs::copy(odd.join("ETB.bin"), &trace).unwrap();
    fs::write(&image, [0; 8]).unwrap();
    for verb in ["info", "packets", "decode", "instructions", "frames", "bench"] {
        let run = tracewright(&args(verb, &[&odd]));
        assert_eq!(run.code, Some(0), "{}", run.err);
        check(&run.out);
        check(&run.err);
        let raw = format!("{verb} --protocol ITM --framing coresight --id 0x20 --image");
        for path in [&trace, &odd.join(format!("{ODD}-missing"))] {
            let run = tracewright(&args(&raw, &[&image, path]));
            check(&run.out);
            check(&run.err);
            let raw = format!("{verb} --protocol ITM --framing coresight --id 0x20");
            let run = tracewright(&args(&raw, &[path]));
            check(&run.out);
            check(&run.err);
        }
    }
    let run = tracewright(&args("demo --write", &[&odd]));
    assert_eq!(run.code, Some(2));
    check(&run.err);
    let run = tracewright(&args("demo --write", &[&folder.path(&format!("{ODD}2"))]));
    assert_eq!(run.code, Some(0));
    check(&run.err);
}

#[test]
fn texts_of_files() {
    let folder = Folder::with_demo("names-texts");
    let demo = folder.demo();
    let replace = |name: &str, old: &str, new: &str| {
        let text = fs::read_to_string(demo.join(name)).unwrap();
        assert!(text.contains(old), "{text}");
        fs::write(demo.join(name), text.replace(old, new)).unwrap();
    };
    replace("snapshot.ini", "version=1.0", &format!("version=1.0\ndescription={ODD}"));
    replace("ITM_0.ini", "name=ITM_0", &format!("name=ITM_{ODD}"));
    replace("trace.ini", "ITM_0", &format!("ITM_{ODD}"));
    replace("ETM_0.ini", "[regs]", &format!("[regs]\n{ODD}=5\nTRC{ODD}"));
    for verb in ["info", "packets", "decode", "instructions", "frames", "bench"] {
        let run = tracewright(&args(verb, &[&demo]));
        assert_eq!(run.code, Some(0), "{}", run.err);
        check(&run.out);
        check(&run.err);
    }
    // Escape sequences, a bell and a carriage return in a log.
    let log = folder.path("log.csv");
    let title = "\u{1b}]0;title\u{7}\u{202e}\rA32";
    for text in [
        format!("address,isa,opcode\n8000,{title},e1a0c00d\n"),
        format!("address,{title}\n8000,A32\n"),
        format!("{title}\n"),
    ] {
        fs::write(&log, text).unwrap();
        for verb in ["log info", "log convert --to csv"] {
            let run = tracewright(&args(verb, &[&log]));
            check(&run.err);
            check(&run.out);
        }
    }
}

/// The messages on wrong arguments repeat them.
#[test]
fn arguments() {
    let odd = format!("{ODD}\n\u{1b}[2Jtracewright: fine\r\u{9b}0m");
    let (option, id) = (format!("--{odd}"), format!("--id={odd}"));
    for words in [
        vec![odd.as_str()],
        vec!["decode", "in", &odd],
        vec!["decode", "in", &option],
        vec!["decode", "in", &id],
        vec!["decode", "in", "--format", &odd],
        vec!["decode", "in", "--jobs", &odd],
        vec!["decode", "in", "--max-expansion", &odd],
        vec!["decode", "in", "--protocol", &format!("ITM@{odd}")],
        vec!["decode", "in", "--all-buffers", "--source", &odd],
        vec!["decode", &odd],
        vec!["decode", &odd, "--image", &odd],
        vec!["log", "info", &odd],
        vec!["compare", &odd, &odd],
        vec!["encode", &odd, "-o", &odd],
        vec!["completions", &odd],
    ] {
        let run = tracewright(&words);
        assert_eq!(run.code, Some(2), "{words:?}: {}", run.err);
        assert_eq!(run.out, "");
        check(&run.err);
        assert!(!run.err.contains("\ntracewright: fine"), "{}", run.err);
        assert!(!run.err.is_empty());
    }
}

/// Thousands of notes are counted.
#[test]
fn repeated_notes_are_counted() {
    let folder = Folder::with_demo("names-notes");
    let unit = folder.demo().join("ETM_0.ini");
    let mut text = fs::read_to_string(&unit).unwrap();
    text += &(0..5_000).map(|n| format!("REG_{n}=bad\n")).collect::<String>();
    fs::write(&unit, text).unwrap();
    for (verb, most) in [("decode", 150), ("info", 150)] {
        let run = tracewright(&args(verb, &[&folder.demo()]));
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert!(run.err.lines().count() < most, "{verb}: {}", run.err.lines().count());
        let lines = run.out.lines().count();
        assert!(lines < 2_000, "{verb}: {lines}");
        assert!((run.err + &run.out).contains("4900 more problems of this kind"), "{verb}");
    }
}
