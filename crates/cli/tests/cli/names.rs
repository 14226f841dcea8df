//! Names and texts from outside: nothing that a terminal interprets is printed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{Folder, args, command, tracewright};

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

/// Names in the built-in example, and names of the same length that would end a field, a line or a
/// record, or begin one, of some format.
const NAMES: [(&str, &str); 7] = [
    ("print_number", "a;b:1 c,\"d\"\u{1b}"),
    ("is_safe", "(1)\nx\r\n"),
    ("ticks_per_solution", "end_of_record\nDA:1"),
    ("write_port", "x\n12345:9:"),
    ("usage_fault_handler", "x\nend_of_record\n#1;"),
    ("systick_handler", "a$end\n#5\nsx ! b"),
    ("program.c", "p\nDA:1 99"),
];

/// Replaces the names in an ELF file.
fn with_names(elf: &[u8]) -> Vec<u8> {
    let mut elf = elf.to_vec();
    for (name, odd) in NAMES {
        let name = [b"\0", name.as_bytes(), b"\0"].concat();
        let places: Vec<usize> =
            elf.windows(name.len()).enumerate().filter(|(_, w)| *w == name).map(|w| w.0).collect();
        assert!(!places.is_empty(), "{odd:?}");
        for at in places {
            elf[at + 1..][..odd.len()].copy_from_slice(odd.as_bytes());
        }
    }
    elf
}

/// How often each combination of separators is in a line, with what precedes the first one of
/// `keys`, if any.
fn lines<'a>(
    text: &'a str,
    separators: &[char],
    keys: &[char],
) -> BTreeMap<(&'a str, String), u32> {
    let mut lines = BTreeMap::new();
    for line in text.lines() {
        let key = line.split_once(keys).map_or("", |(key, _)| key);
        let of = line.chars().filter(|c| separators.contains(c)).collect();
        *lines.entry((key, of)).or_default() += 1;
    }
    lines
}

/// Counts each kind of value of each field in a document.
fn values(value: &Value, name: &str, counts: &mut BTreeMap<(String, &'static str), u32>) {
    let kind = match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| values(value, name, counts));
            "object"
        }
        Value::Array(list) => {
            list.iter().for_each(|value| values(value, name, counts));
            "list"
        }
        Value::String(_) => "text",
        _ => "other",
    };
    *counts.entry((name.to_owned(), kind)).or_default() += 1;
}

/// The values of the documents in `text`, or of one in each line.
fn documents(text: &str, by_line: bool) -> BTreeMap<(String, &'static str), u32> {
    let mut counts = BTreeMap::new();
    for text in if by_line { text.lines().collect() } else { vec![text] } {
        values(&serde_json::from_str(text).expect("JSON"), "", &mut counts);
    }
    counts
}

/// No text format has more lines, fields or records for the names of functions and files.
#[test]
fn no_name_is_a_record() {
    let folder = Folder::new("names-formats");
    let (plain, odd) = (folder.path("plain"), folder.path("odd"));
    for path in [&plain, &odd] {
        assert_eq!(tracewright(&args("demo --write", &[path])).code, Some(0));
    }
    let elf = odd.join("program.bin");
    fs::write(&elf, with_names(&fs::read(&elf).unwrap())).unwrap();
    // The path of the program is in some formats.
    #[cfg(unix)]
    let odd = {
        let path = folder.path("odd\n\u{1b}[31mDA:1;\u{9b}");
        fs::rename(&odd, &path).unwrap();
        path
    };
    let run = |words: &str, path: &Path| {
        let run = command(&args(words, &[path])).output().unwrap();
        let err = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(0), "{words}: {err}");
        check(&err);
        String::from_utf8_lossy(&run.stdout).into_owned()
    };
    // The command, the separators of its lines, and what ends the kind of a line.
    for (words, separators, keys) in [
        ("decode", "", ""),
        ("decode --lines", "", ""),
        ("instructions", "", ""),
        ("instructions --lines", "", ""),
        ("history", "", ""),
        ("calls", "", ""),
        ("functions", "", ""),
        ("functions --per-thread", "", ""),
        ("coverage", "", ""),
        ("coverage --by function", "", ""),
        ("info", "", ""),
        ("functions --format folded", "; ", ""),
        ("functions --format flame-graph", "<>\"", ""),
        ("functions --format callgrind", "", "="),
        ("timeline --format vcd", "$", ""),
        ("timeline --format btf", ",", ""),
        ("coverage --format lcov", ",", ":"),
        ("coverage --format cobertura", "<>\"", ""),
        ("profile --format autofdo", "", ""),
        ("profile --format bolt", " ", ""),
        ("profile --format bolt --dialect simpleperf", "", ""),
        ("profile --format llvm", ": ", ""),
        ("profile --format llvm-unsymbolized", "", ""),
        ("profile --format folded", "; ", ""),
        ("profile --format callgrind", "", "="),
    ] {
        let (got, want) = (run(words, &odd), run(words, &plain));
        let odd = |c: &char| c.is_control() && !"\n\t".contains(*c) || *c == '\u{202e}';
        assert_eq!(got.chars().find(odd), None, "{words}: {got:?}");
        let [separators, keys] = [separators, keys].map(|text| text.chars().collect::<Vec<_>>());
        // A function whose name is left out is one with the others without a name.
        let known = lines(&want, &separators, &keys);
        for (line, count) in lines(&got, &separators, &keys) {
            assert!(
                known.get(&line).is_some_and(|most| count <= *most),
                "{words}: {line:?}: {got}"
            );
        }
    }
    for (words, by_line) in [
        ("decode --format json", true),
        ("calls --format json", true),
        ("functions --format json", true),
        ("coverage --format json", true),
        ("profile --format json", true),
        ("info --format json", true),
        ("coverage --format gcov", false),
        ("coverage --format llvm-cov", false),
        ("timeline --format chrome", false),
        ("timeline --format firefox", false),
        ("timeline --format speedscope", false),
    ] {
        let (got, want) = (run(words, &odd), run(words, &plain));
        assert_eq!(got.chars().find(|c| c.is_control() && *c != '\n'), None, "{words}");
        let known = documents(&want, by_line);
        for (value, count) in documents(&got, by_line) {
            assert!(known.get(&value).is_some_and(|most| count <= *most), "{words}: {value:?}");
        }
    }
    // The table of modules of drcov precedes its blocks.
    let modules = |path: &Path| {
        let text = run("coverage --format drcov", path);
        let table = text.split("BB Table").next().unwrap_or_default();
        (table.lines().count(), table.contains('\u{1b}'))
    };
    assert_eq!(modules(&odd), modules(&plain));
    assert!(!modules(&odd).1);
}
