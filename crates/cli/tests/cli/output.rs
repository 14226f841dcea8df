//! Output in every format, on standard output and in files.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::process::Stdio;

use crate::common::{Folder, Output, args, command, tracewright};
use serde_json::Value;

/// Every verb that reads a capture.
const VERBS: [&str; 5] = ["info", "packets", "decode", "instructions", "frames"];

#[test]
fn the_demo_is_reproducible() {
    let folder = Folder::new("reproducible");
    let demo = || -> Output {
        let mut command = command(&["demo"]);
        command.current_dir(folder.path("")).output().unwrap().into()
    };
    let (first, second) = (demo(), demo());
    assert_eq!((first.code, first.err.as_str()), (Some(0), ""));
    assert_eq!(first.out, second.out);
    assert_eq!(first.out, include_str!("golden/demo.txt"));
    // No file is written unless it is asked for.
    assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 0);
    let output: Output = command(&["demo", "--report", "r.html"])
        .current_dir(folder.path(""))
        .output()
        .unwrap()
        .into();
    assert_eq!(output.code, Some(0), "{}", output.err);
    let named = output.out.strip_prefix(first.out.as_str()).unwrap();
    assert!(named.contains("r.html"), "{named}");
    // The report has the functions of the example.
    let report = fs::read_to_string(folder.path("r.html")).unwrap();
    let texts = ["\"is_safe\"", "\"systick_handler\"", r"\n24135\n", "fault: division by zero"];
    // Its source is built in: there is no file of that name.
    let source = "if (is_safe(row, at)) {";
    assert!(texts.iter().chain(&[source]).all(|text| report.contains(text)));
    let output = tracewright(&["demo", "--report", "/nonexistent/report.html"]);
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("/nonexistent/report.html"), "{}", output.err);
}

/// The expected addresses follow from the program: three iterations of the loop, the call, the
/// handler, and the wait.
#[test]
fn addresses_of_the_example() {
    let folder = Folder::with_demo("pc");
    let output = tracewright(&args("instructions --format pc", &[&folder.demo()]));
    let round = ["80004", "80020", "80024", "80008", "8000c"];
    let start = ["80000"].into_iter().chain(round).chain(round).chain(round);
    let want: Vec<_> = start.chain(["80010", "80040", "80044", "80014", "80018"]).collect();
    assert_eq!(output.out.lines().collect::<Vec<_>>(), want);
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
}

/// A trace without instructions is explained.
#[test]
fn software_writes_have_no_addresses() {
    let folder = Folder::with_demo("written");
    for (ids, instructions) in [("--id 0x20", false), ("--id 0x10 --id 0x20", true)] {
        let output =
            tracewright(&args(&format!("instructions --format pc {ids}"), &[&folder.demo()]));
        let want = (Some(i32::from(!instructions)), !instructions);
        assert_eq!((output.code, output.out.is_empty()), want);
        assert_eq!(
            output.err.contains("the trace contains no instructions"),
            !instructions,
            "{}",
            output.err
        );
    }
}

/// Raw frame lines exist only in OpenCSD's format.
#[test]
fn frame_lines_between_packets() {
    let folder = Folder::with_demo("raw-frames");
    let words = "packets --raw-frames packed,unpacked --format";
    let output = tracewright(&args(&format!("{words} opencsd"), &[&folder.demo()]));
    assert_eq!((output.code, output.out.matches("RAW_PACKED").count()), (Some(0), 9));
    for format in ["text", "json", "none"] {
        let output = tracewright(&args(&format!("{words} {format}"), &[&folder.demo()]));
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{format}");
        assert!(output.err.contains("needs --format opencsd"), "{}", output.err);
    }
}

/// Scripts wait for the lines after a buffer.
#[test]
fn opencsd_listings_end_as_those_of_the_reference() {
    let folder = Folder::with_demo("listing-ends");
    let ends = |words: &str| {
        let output = tracewright(&args(&format!("{words} --format opencsd"), &[&folder.demo()]));
        assert_eq!(output.code, Some(0), "{}", output.err);
        let lines = output.out.lines().filter(|line| !line.starts_with("Idx:"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let done = "Trace Packet Lister : Trace buffer done, processed 144 bytes.".to_owned();
    let ends_of_data = ["ID:10\tEND OF TRACE DATA", "ID:20\tEND OF TRACE DATA"].map(str::to_owned);
    let [first, second] = ends_of_data;
    assert_eq!(ends("packets"), [first.clone(), second.clone(), done.clone()]);
    assert_eq!(ends("decode --packets"), [first, second, done.clone()]);
    assert_eq!(ends("decode"), [done]);
}

#[test]
fn output_does_not_depend_on_its_destination() {
    let folder = Folder::with_demo("same");
    for verb in VERBS {
        let all = args(verb, &[&folder.demo()]);
        let output = tracewright(&all);
        assert_eq!(output.code, Some(0), "{verb}: {}", output.err);
        assert!(!output.out.contains('\u{1b}'), "{verb}: colour without a terminal");
        assert_eq!(tracewright(&all).out, output.out, "{verb}: the same again");
        let file = folder.path("output");
        let to_file = tracewright(&args(&format!("{verb} -o"), &[&file, &folder.demo()]));
        assert_eq!((to_file.code, to_file.out.as_str()), (Some(0), ""), "{verb}");
        assert_eq!(fs::read_to_string(&file).unwrap(), output.out, "{verb}: to a file");
        let plain = command(&all).env("NO_COLOR", "1").output().unwrap();
        assert_eq!(String::from_utf8(plain.stdout).unwrap(), output.out, "{verb}: NO_COLOR");
        let index = tracewright(&args(verb, &[&folder.demo().join("snapshot.ini")]));
        if verb != "info" {
            assert_eq!(index.out, output.out, "{verb}: by its index");
        }
    }
    for jobs in ["--jobs 1", "--jobs 7"] {
        let output = tracewright(&args(&format!("decode {jobs}"), &[&folder.demo()]));
        assert_eq!(output.out, tracewright(&args("decode", &[&folder.demo()])).out, "{jobs}");
    }
}

#[test]
fn every_line_of_json_is_an_object() {
    let folder = Folder::with_demo("json");
    for (verb, types) in [
        ("info", &["capture", "overview", "buffer", "source", "device", "image"][..]),
        ("packets", &["buffer", "packet", "summary"]),
        ("decode", &["buffer", "element", "summary", "text"]),
        ("decode --packets --stats", &["buffer", "element", "packet", "summary", "text"]),
        ("instructions", &["buffer", "element", "instruction", "summary"]),
        ("frames", &["buffer", "frame", "piece"]),
    ] {
        let output = tracewright(&args(&format!("{verb} --format json"), &[&folder.demo()]));
        assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{verb}");
        let mut lines = output.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
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
    let output = tracewright(&args("decode --format json", &[&folder.demo()]));
    let kind = |kind: &str| -> Value {
        let lines = output.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
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

/// Raw trace data with two trace IDs decode like the snapshot.
#[test]
fn raw_data_decode_like_the_snapshot() {
    let folder = Folder::with_demo("raw");
    let want = tracewright(&args("instructions --format pc", &[&folder.demo()]));
    let image = folder.demo().join("demo.bin");
    let words = "instructions --format pc --framing coresight --protocol ETM4@0x10 --protocol ITM@0x20 \
                 --config TRCCONFIGR=0x1841 --config TRCIDR0=0x28000ea1 --config TRCIDR2=0x488 --image";
    let output = tracewright(&args(words, &[&image, &folder.demo().join("ETB.bin")]));
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    assert_eq!(output.out, want.out);
}

#[test]
fn a_closed_output_is_not_an_error() {
    let folder = Folder::with_demo("closed-pipe");
    // More than the capacity of a pipe.
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
fn completions_list_the_verbs() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = tracewright(&["completions", shell]);
        assert_eq!(output.code, Some(0), "{shell}");
        assert!(VERBS.iter().all(|verb| output.out.contains(verb)), "{shell}");
    }
}

#[test]
fn manual_pages_have_the_options_of_each_verb() {
    let folder = Folder::new("output-man");
    let output = tracewright(&args("man", &[&folder.path("")]));
    assert_eq!((output.code, output.out.as_str(), output.err.as_str()), (Some(0), "", ""));
    let page = |name: &str| fs::read_to_string(folder.path(name)).unwrap();
    assert!(page("tracewright.1").contains(".TH tracewright 1"));
    for verb in VERBS {
        assert!(page("tracewright.1").contains(&format!("tracewright\\-{verb}(1)")), "{verb}");
        assert!(page(&format!("tracewright-{verb}.1")).contains(".SH OPTIONS"), "{verb}");
    }
    assert!(page("tracewright-decode.1").contains("\\-\\-strict"));
    let output = tracewright(&args("man", &[&folder.path("tracewright.1/none")]));
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""));
}

#[test]
fn a_typo_is_an_error_with_a_suggestion() {
    let output = tracewright(&["decod", "x"]);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""));
    assert!(output.err.contains("'decode'"), "{}", output.err);
}

/// An ETMv3 traces an instruction that fails its condition as an N atom: it had no effect. (IHI
/// 0014, 4.1)
#[test]
fn instructions_that_failed_their_condition_are_marked() {
    let folder = Folder::new("output-failed");
    let (trace, code) = (folder.path("trace.bin"), folder.path("code.bin"));
    // A-sync, I-sync at 8000, E, N.
    let bytes = [0, 0, 0, 0, 0, 0x80, 0x08, 0x21, 0, 0x80, 0, 0, 0x84, 0xc0];
    fs::write(&trace, bytes).unwrap();
    // Two MOVEQ R0, R0.
    fs::write(&code, 0x01a0_0000u32.to_le_bytes().repeat(2)).unwrap();
    let words = format!(
        "--protocol ETM3 --framing raw --config ETMCR=0 --config ETMIDR=0x4100f230 --image {}@0x8000",
        code.display()
    );
    let output = tracewright(&args(&format!("instructions {words}"), &[&trace]));
    let lines: Vec<_> = output.out.lines().filter(|line| line.starts_with("0x")).collect();
    let failed = lines.iter().map(|line| line.contains("condition failed")).collect::<Vec<_>>();
    assert_eq!(failed, [false, true], "{}{}", output.out, output.err);
    let output = tracewright(&args(&format!("instructions --format json {words}"), &[&trace]));
    let steps = output.out.lines().filter(|line| line.contains("\"type\":\"instruction\""));
    let failed = steps.map(|line| line.contains("\"passed\":false")).collect::<Vec<_>>();
    assert_eq!(failed, [false, true], "{}{}", output.out, output.err);
}
