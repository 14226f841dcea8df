//! Answers: the same wherever they go, in every format.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::process::Stdio;

use crate::common::{Folder, args, command, tracewright};
use serde_json::Value;

/// Every verb that reads a capture.
const VERBS: [&str; 5] = ["info", "packets", "decode", "instructions", "frames"];

#[test]
fn the_example_is_the_same_each_time() {
    let (first, second) = (tracewright(&["demo"]), tracewright(&["demo"]));
    assert_eq!((first.code, first.err.as_str()), (Some(0), ""));
    assert_eq!(first.out, second.out);
    assert_eq!(first.out, include_str!("golden/demo.txt"));
}

/// Laid out from the program: three times round the loop, the call, the handler, and the wait.
#[test]
fn addresses_of_the_example() {
    let folder = Folder::with_demo("pc");
    let said = tracewright(&args("instructions --format pc", &[&folder.demo()]));
    let round = ["80004", "80020", "80024", "80008", "8000c"];
    let start = ["80000"].into_iter().chain(round).chain(round).chain(round);
    let want: Vec<_> = start.chain(["80010", "80040", "80044", "80014", "80018"]).collect();
    assert_eq!(said.out.lines().collect::<Vec<_>>(), want);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
}

/// What has no instruction says so.
#[test]
fn no_addresses_of_what_was_written() {
    let folder = Folder::with_demo("written");
    for (ids, silent) in [("--id 0x20", false), ("--id 0x10 --id 0x20", true)] {
        let said =
            tracewright(&args(&format!("instructions --format pc {ids}"), &[&folder.demo()]));
        assert_eq!((said.code, said.out.is_empty()), (Some(0), !silent));
        assert_eq!(said.err.contains("no instruction is in this trace"), !silent, "{}", said.err);
    }
}

/// Frame lines are the reference's; other formats have none, and say so.
#[test]
fn frame_lines_between_packets() {
    let folder = Folder::with_demo("raw-frames");
    let words = "packets --raw-frames packed,unpacked --format";
    let said = tracewright(&args(&format!("{words} opencsd"), &[&folder.demo()]));
    assert_eq!((said.code, said.out.matches("RAW_PACKED").count()), (Some(0), 9));
    for format in ["text", "json", "none"] {
        let said = tracewright(&args(&format!("{words} {format}"), &[&folder.demo()]));
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{format}");
        assert!(said.err.contains("add --format opencsd"), "{}", said.err);
    }
}

#[test]
fn answers_do_not_depend_on_where_they_go() {
    let folder = Folder::with_demo("same");
    for verb in VERBS {
        let all = args(verb, &[&folder.demo()]);
        let said = tracewright(&all);
        assert_eq!(said.code, Some(0), "{verb}: {}", said.err);
        assert!(!said.out.contains('\u{1b}'), "{verb}: colour without a terminal");
        assert_eq!(tracewright(&all).out, said.out, "{verb}: the same again");
        let file = folder.path("answer");
        let to_file = tracewright(&args(&format!("{verb} -o"), &[&file, &folder.demo()]));
        assert_eq!((to_file.code, to_file.out.as_str()), (Some(0), ""), "{verb}");
        assert_eq!(fs::read_to_string(&file).unwrap(), said.out, "{verb}: to a file");
        let plain = command(&all).env("NO_COLOR", "1").output().unwrap();
        assert_eq!(String::from_utf8(plain.stdout).unwrap(), said.out, "{verb}: NO_COLOR");
        let index = tracewright(&args(verb, &[&folder.demo().join("snapshot.ini")]));
        if verb != "info" {
            assert_eq!(index.out, said.out, "{verb}: by its index");
        }
    }
    for jobs in ["--jobs 1", "--jobs 7"] {
        let said = tracewright(&args(&format!("decode {jobs}"), &[&folder.demo()]));
        assert_eq!(said.out, tracewright(&args("decode", &[&folder.demo()])).out, "{jobs}");
    }
}

#[test]
fn every_line_of_json_is_an_object() {
    let folder = Folder::with_demo("json");
    for (verb, types) in [
        ("info", &["capture", "buffer", "source", "image"][..]),
        ("packets", &["buffer", "packet", "summary"]),
        ("decode", &["buffer", "element", "summary"]),
        ("decode --packets --stats", &["buffer", "element", "packet", "summary"]),
        ("instructions", &["buffer", "element", "instruction", "summary"]),
        ("frames", &["buffer", "frame", "piece"]),
    ] {
        let said = tracewright(&args(&format!("{verb} --format json"), &[&folder.demo()]));
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{verb}");
        let mut lines = said.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let head = lines.next().unwrap();
        assert_eq!((&head["schema"], &head["version"]), (&"tracewright".into(), &2.into()));
        assert_eq!(head["verb"], verb.split(' ').next().unwrap());
        let found: BTreeSet<_> =
            lines.map(|line| line["type"].as_str().unwrap().to_owned()).collect();
        let want: BTreeSet<_> = types.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(found, want, "{verb}");
    }
}

#[test]
fn fields_of_json() {
    let folder = Folder::with_demo("fields");
    let said = tracewright(&args("decode --format json", &[&folder.demo()]));
    let kind = |kind: &str| -> Value {
        let lines = said.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.into_iter().find(|line| line["kind"] == kind || line["type"] == kind).unwrap()
    };
    let range = kind("range");
    for (key, want) in [
        ("source", "ETM_0".into()),
        ("start", "0x80000".into()),
        ("end", "0x80008".into()),
        ("instructions", Value::from(2)),
        ("isa", "A64".into()),
        ("last", "branch".into()),
        ("role", "call".into()),
        ("taken", true.into()),
        ("symbol", "main".into()),
    ] {
        assert_eq!(range[key], want, "{key}");
    }
    assert_eq!(kind("timestamp")["value"], "100000");
    assert_eq!(kind("exception")["name"], "call");
    assert_eq!(kind("exception")["return_address"], "0x80014");
    assert_eq!(kind("software-write")["value"], "0x61757173");
    assert_eq!(kind("summary")["sources"][0]["instructions"], 21);
    assert_eq!(kind("summary")["has_errors"], false);
}

/// Two trace ids in one buffer of bare bytes, and program memory beside it.
#[test]
fn bare_bytes_say_the_same_as_the_snapshot() {
    let folder = Folder::with_demo("raw");
    let want = tracewright(&args("instructions --format pc", &[&folder.demo()]));
    let image = folder.demo().join("demo.bin");
    let words = "instructions --format pc --framing coresight --protocol ETM4@0x10 --protocol ITM@0x20 \
                 --config TRCCONFIGR=0x1841 --config TRCIDR0=0x28000ea1 --config TRCIDR2=0x488 --image";
    let said = tracewright(&args(words, &[&image, &folder.demo().join("ETB.bin")]));
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert_eq!(said.out, want.out);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = Folder::with_demo("closed-pipe");
    // Much more than a pipe holds.
    let bytes = fs::read(folder.demo().join("ETB.bin")).unwrap().repeat(5_000);
    fs::write(folder.demo().join("ETB.bin"), bytes).unwrap();
    let all = args("decode", &[&folder.demo()]);
    let mut child = command(&all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut some = [0; 100];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn completions_name_the_verbs() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let said = tracewright(&["completions", shell]);
        assert_eq!(said.code, Some(0), "{shell}");
        assert!(VERBS.iter().all(|verb| said.out.contains(verb)), "{shell}");
    }
}

#[test]
fn a_typo_is_an_error_with_a_suggestion() {
    let said = tracewright(&["decod", "x"]);
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""));
    assert!(said.err.contains("'decode'"), "{}", said.err);
}
