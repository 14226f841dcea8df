//! Timelines and call paths for other tools.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tracewright_testing::tool;

use super::{A64, PROGRAMS, encoded, execute, functions};
use crate::common::{Folder, args, tracewright};

fn written(folder: &Path, snapshot: &Path, verb: &str, format: &str) -> PathBuf {
    let to = folder.join(format!("{verb}.{format}"));
    let mut all = args(&format!("{verb} --format {format} -o"), &[&to]);
    all.extend(args("", &[snapshot]));
    let output = tracewright(&all);
    assert_eq!(output.code, Some(0), "{format}: {}", output.err);
    to
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("JSON")
}

#[test]
fn files_for_other_tools() {
    let folder = Folder::new("call-formats");
    let path = folder.path("");
    let (name, source) = PROGRAMS[1];
    let Some((elf, log)) = execute(&A64, &path, name, source) else { return };
    let snapshot = encoded(&path, "ETM4", &elf, &log);
    let (found, stacks) = functions(&snapshot, "");
    let frames = stacks["begun"].as_u64().expect("a number") as usize;
    let instructions = stacks["instructions"].as_u64().expect("a number");

    // Folded stacks: each function has its instructions.
    let folded =
        fs::read_to_string(written(&path, &snapshot, "functions", "folded")).expect("text");
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for line in folded.lines() {
        let (stack, count) = line.rsplit_once(' ').expect("a count");
        let leaf = stack.rsplit(';').next().expect("a function");
        *sums.entry(leaf).or_default() += count.parse::<u64>().expect("a count");
    }
    let want: BTreeMap<&str, u64> =
        found.iter().map(|(name, sums)| (name.as_str(), sums.instructions)).collect();
    assert_eq!(sums, want);

    let graph = written(&path, &snapshot, "functions", "flame-graph");
    let text = fs::read_to_string(&graph).expect("text");
    assert!(text.contains(&format!("{instructions} instructions</text>")));
    assert!(text.matches("<rect ").count() > found.len());
    if tool(&[("xmllint", "libxml2-utils")]).is_some() {
        super::good(Command::new("xmllint").arg("--noout").arg(&graph));
    }

    let callgrind = written(&path, &snapshot, "functions", "callgrind");
    if tool(&[("callgrind_annotate", "valgrind")]).is_some() {
        let mut command = Command::new("callgrind_annotate");
        let output = command.args(["--threshold=100", "--inclusive=yes"]).arg(&callgrind).output();
        let output = output.expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout).replace(',', "");
        let row = format!("{instructions} (100.0%)");
        assert!(
            text.lines().any(|l| l.trim_start().starts_with(&row) && l.ends_with(":_start")),
            "{text}"
        );
    }

    // A complete event for each frame.
    let chrome = json(&written(&path, &snapshot, "timeline", "chrome"));
    let events = chrome["traceEvents"].as_array().expect("events");
    let complete: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
    assert_eq!(complete.len(), frames);
    let last = |name: &str| complete.iter().filter(|e| e["name"] == name).count() as u64;
    for (name, sums) in found.iter().filter(|(_, sums)| sums.calls > 0) {
        assert_eq!(last(name), sums.calls, "{name}");
    }

    // Events of speedscope nest, and their times never go back.
    let speedscope = json(&written(&path, &snapshot, "timeline", "speedscope"));
    let count = speedscope["shared"]["frames"].as_array().expect("frames").len() as u64;
    let profile = &speedscope["profiles"][0];
    let (mut open, mut now, mut opened) = (Vec::new(), 0.0, 0);
    for event in profile["events"].as_array().expect("events") {
        let (frame, at) = (event["frame"].as_u64().expect("a frame"), event["at"].as_f64());
        let at = at.expect("a time");
        assert!(frame < count && at >= now, "{event}");
        now = at;
        if event["type"] == "O" {
            open.push(frame);
            opened += 1;
        } else {
            assert_eq!(open.pop(), Some(frame), "{event}");
        }
    }
    assert!(open.is_empty() && opened == frames);
    assert_eq!(profile["endValue"].as_f64(), Some(now));

    // Perfetto: packets of protobuf, as protoc finds them.
    let perfetto = written(&path, &snapshot, "timeline", "perfetto");
    if tool(&[("protoc", "protobuf-compiler")]).is_some() {
        let input = fs::File::open(&perfetto).expect("the file");
        let output = Command::new("protoc").arg("--decode_raw").stdin(input).output();
        let output = output.expect("protoc runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout);
        let of = |kind: u64| text.lines().filter(|l| *l == format!("    9: {kind}")).count();
        assert_eq!((of(1), of(2)), (frames, frames));
    }

    let vcd = fs::read_to_string(written(&path, &snapshot, "timeline", "vcd")).expect("text");
    let (head, changes) = vcd.split_once("$enddefinitions $end\n").expect("definitions");
    assert!(head.contains("$timescale 1ps $end") && head.contains("$var string 1 ! function $end"));
    let times: Vec<u64> =
        changes.lines().filter_map(|line| line.strip_prefix('#')?.parse().ok()).collect();
    assert!(times.len() > 100 && times.is_sorted_by(|a, b| a < b));
    assert!(changes.ends_with("s- !\nb0 \"\n"), "{changes}");
}
