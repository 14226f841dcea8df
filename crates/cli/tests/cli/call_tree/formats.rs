//! Timelines and call paths for other tools.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tracewright_testing::{times, tool, tool_since};

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
    if tool_since(&[("callgrind_annotate", "valgrind")], (3, 19)).is_some() {
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
    if tool_since(&[("protoc", "protobuf-compiler")], (3, 21)).is_some() {
        let input = fs::File::open(&perfetto).expect("the file");
        let output = Command::new("protoc").arg("--decode_raw").stdin(input).output();
        let output = output.expect("protoc runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout);
        let of = |kind: u64| text.lines().filter(|l| *l == format!("    9: {kind}")).count();
        assert_eq!((of(1), of(2)), (frames, frames));
    }

    // Common Trace Format: each frame has an event of its begin and one of its end.
    let ctf = written(&path, &snapshot, "timeline", "ctf");
    if tool_since(&[("babeltrace2", "babeltrace2")], (2, 0)).is_some() {
        let output = Command::new("babeltrace2").arg(&ctf).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for event in ["func_entry", "func_exit"] {
            assert_eq!(text.matches(&format!("cyg_profile:{event}:")).count(), frames, "{text}");
        }
        let entries = text.lines().filter(|l| l.contains("func_entry") && l.contains("\"middle\""));
        assert_eq!(entries.count() as u64, found["middle"].calls);
    }
    let mut again = args("timeline --format ctf -o", &[&ctf]);
    again.extend(args("", &[&snapshot]));
    assert_eq!(tracewright(&again).code, Some(2), "the folder is not empty");

    // The Firefox Profiler: as many instructions and calls as there are, in a consistent table.
    let firefox = json(&written(&path, &snapshot, "timeline", "firefox"));
    firefox_profile(&firefox, instructions, found.len());

    // pprof: values of each call path, as protoc finds them.
    let pprof = written(&path, &snapshot, "functions", "pprof");
    if tool_since(&[("protoc", "protobuf-compiler")], (3, 21)).is_some() {
        let input = fs::File::open(&pprof).expect("the file");
        let output = Command::new("protoc").arg("--decode_raw").stdin(input).output();
        let output = output.expect("protoc runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout);
        for (name, sums) in &found {
            assert!(text.contains(&format!("6: \"{name}\"")), "{name} {sums:?}");
        }
        let samples = text.lines().filter(|line| *line == "2 {").count();
        assert!(samples >= folded.lines().count(), "{samples}");
    }

    let btf = fs::read_to_string(written(&path, &snapshot, "timeline", "btf")).expect("text");
    assert_eq!(runnables(&btf), frames);

    let vcd = fs::read_to_string(written(&path, &snapshot, "timeline", "vcd")).expect("text");
    let (head, changes) = vcd.split_once("$enddefinitions $end\n").expect("definitions");
    assert!(head.contains("$timescale 1ps $end") && head.contains("$var string 1 ! function $end"));
    let times: Vec<u64> =
        changes.lines().filter_map(|line| line.strip_prefix('#')?.parse().ok()).collect();
    assert!(times.len() > 100 && times.is_sorted_by(|a, b| a < b));
    assert!(changes.ends_with("s- !\nb0 \"\n"), "{changes}");
    assert!(head.contains(" task $end"), "{head}");
}

/// Follows the states of processes and runnables in a file of the Best Trace Format as its document
/// draws them, and returns the number of runnables that started.
fn runnables(btf: &str) -> usize {
    let mut states: BTreeMap<String, &str> = BTreeMap::new();
    let (mut running, mut now, mut started) = (BTreeMap::new(), 0, 0);
    for line in btf.lines().skip_while(|line| line.starts_with('#')) {
        let row: Vec<&str> = line.split(',').collect();
        let &[time, source, _, kind, target, instance, event] = &row[..] else { panic!("{line}") };
        let time: u64 = time.parse().expect("a time");
        assert!(time >= std::mem::replace(&mut now, time), "{line}");
        let own = format!("{kind} {target} {instance}");
        let state = states.insert(own.clone(), event);
        let allowed = match event {
            "start" => state.is_none(),
            "preempt" | "suspend" | "terminate" => matches!(state, Some("start" | "resume")),
            "resume" => matches!(state, Some("preempt" | "suspend")),
            _ => false,
        };
        assert!(allowed, "{line}: it was {state:?}");
        let begins = matches!(event, "start" | "resume");
        if kind == "R" {
            // Its process executes.
            assert!(running.values().any(|(name, _)| name == source), "{line}: {running:?}");
            started += usize::from(event == "start");
        } else {
            assert!(matches!(kind, "T" | "I"), "{line}");
            let process = (target.to_owned(), instance.to_owned());
            let before = match begins {
                true => running.insert(source.to_owned(), process),
                false => running.remove(source).filter(|own| *own != process),
            };
            assert_eq!(before, None, "{line}: a core executes one process");
        }
    }
    started
}

/// The structure of a profile that the crate fxprof-processed-profile 0.8.1 writes, without the
/// contents of its lists.
const FIREFOX: &str = r#"{"meta":{"categories":[],"debug":false,"extensions":{"baseURL":[],"id":[],
"length":0,"name":[]},"interval":1,"preprocessedProfileVersion":55,"processType":0,"product":"",
"sampleUnits":{"eventDelay":"ms","threadCPUDelta":"µs","time":"ms"},"startTime":0,
"symbolicated":false,"pausedRanges":[],"version":24,"usesOnlyOneStackType":true,
"sourceCodeIsNotOnSearchfox":true,"markerSchema":[]},"libs":[],"threads":[{"frameTable":{
"length":1,"address":[],"inlineDepth":[],"category":[],"subcategory":[],"func":[],
"nativeSymbol":[],"innerWindowID":[],"line":[],"column":[]},"funcTable":{"length":1,"name":[],
"isJS":[],"relevantForJS":[],"resource":[],"fileName":[],"lineNumber":[],"columnNumber":[]},
"markers":{"length":0,"category":[],"data":[],"endTime":[],"name":[],"phase":[],"startTime":[]},
"name":"App","isMainThread":true,"nativeSymbols":{"length":0,"address":[],"functionSize":[],
"libIndex":[],"name":[]},"pausedRanges":[],"pid":"1","processName":"App",
"processShutdownTime":null,"processStartupTime":0,"processType":"default","registerTime":0,
"resourceTable":{"length":0,"lib":[],"name":[],"host":[],"type":[]},"samples":{"length":2,
"weightType":"tracing-ms","stack":[],"timeDeltas":[],"weight":[],"threadCPUDelta":[]},
"stackTable":{"length":1,"prefix":[],"frame":[]},"stringArray":[],"tid":"1",
"unregisterTime":null,"showMarkersInTimeline":false}],"pages":[],"profilerOverhead":[],
"counters":[]}"#;

/// The names of all fields.
fn fields(value: &Value, before: &str, all: &mut Vec<String>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let name = format!("{before}.{name}");
        all.push(name.clone());
        fields(value, &name, all);
        value.as_array().into_iter().flatten().take(1).for_each(|v| fields(v, &name, all));
    }
}

fn firefox_profile(profile: &Value, instructions: u64, functions: usize) {
    let (mut found, mut want) = (Vec::new(), Vec::new());
    fields(profile, "", &mut found);
    fields(&serde_json::from_str(FIREFOX).expect("JSON"), "", &mut want);
    found.retain(|name| !name.starts_with(".meta.categories."));
    found.sort();
    want.sort();
    assert_eq!(found, want);
    let thread = &profile["threads"][0];
    for table in ["frameTable", "funcTable", "markers", "samples", "stackTable"] {
        let table = thread[table].as_object().expect("a table");
        let length = table["length"].as_u64().expect("a length") as usize;
        for (name, column) in table.iter().filter(|(_, column)| column.is_array()) {
            assert_eq!(column.as_array().map(Vec::len), Some(length), "{name}");
        }
    }
    let numbers = |table: &str, column: &str| -> Vec<Option<f64>> {
        thread[table][column].as_array().expect("a column").iter().map(Value::as_f64).collect()
    };
    let (prefixes, frames) = (numbers("stackTable", "prefix"), numbers("stackTable", "frame"));
    for (n, (prefix, frame)) in prefixes.iter().zip(&frames).enumerate() {
        assert!(prefix.is_none_or(|prefix| (prefix as usize) < n), "stack {n}");
        assert!(frame.is_some_and(|frame| (frame as usize) < functions), "stack {n}");
    }
    let stacks = numbers("samples", "stack");
    assert!(stacks.iter().flatten().all(|stack| (*stack as usize) < prefixes.len()));
    assert_eq!(stacks.last(), Some(&None));
    // An instruction is a nanosecond where the trace has no time.
    let sum: f64 = numbers("samples", "weight").into_iter().flatten().sum();
    assert_eq!((sum * 1e6).round() as u64, instructions);
}

/// The page needs nothing else, and a browser shows its functions and its timeline.
#[test]
fn report() {
    let folder = Folder::new("call-report");
    let path = folder.path("");
    let (name, source) = PROGRAMS[1];
    let Some((elf, log)) = execute(&A64, &path, name, source) else { return };
    let snapshot = encoded(&path, "ETM4", &elf, &log);
    let (found, stacks) = functions(&snapshot, "");
    let page = path.join("report.html");
    let mut all = args("report --source-root", &[&path]);
    all.extend(args("-o", &[&page, &snapshot]));
    let output = tracewright(&all);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let html = fs::read_to_string(&page).expect("a page");
    assert!(
        !html.contains(" src=") && !html.contains("<link rel=\"s") && !html.contains("@import")
    );
    assert!(html.contains("content=\"default-src 'none';"));
    let (_, rest) = html.split_once("type=\"application/json\">").expect("data");
    let (data, _) = rest.split_once("</script>").expect("the end of the data");
    let data: Value = serde_json::from_str(data).expect("JSON");
    assert_eq!(data["instructions"], stacks["instructions"]);
    let rows = data["functions"].as_array().expect("functions");
    assert_eq!(rows.len(), found.len());
    for row in rows {
        let sums = &found[row[0].as_str().expect("a name")];
        let want = [sums.calls, sums.instructions, sums.inclusive].map(Some);
        assert_eq!([row[1].as_u64(), row[2].as_u64(), row[3].as_u64()], want);
    }
    let slices = data["threads"][0]["slices"].as_array().expect("slices");
    assert_eq!(slices.len() as u64, stacks["begun"].as_u64().expect("a number"));
    // The source of the functions is on the page.
    assert!(html.contains("sink ^= n;"));

    // A browser takes seconds: only where tests may take long.
    if times(0) == 0 || tool(&[("chromium", "chromium")]).is_none() {
        return;
    }
    let words = "--headless --no-sandbox --disable-gpu --virtual-time-budget=4000 --dump-dom";
    let mut command = Command::new("chromium");
    let address = format!("file://{}#p=functions.instructions", page.display());
    command.args(words.split(' ')).arg("--window-size=1400,1600").arg(address);
    let output = command.output().expect("the browser runs");
    let shown = String::from_utf8_lossy(&output.stdout);
    for name in found.keys() {
        assert!(shown.contains(&format!(">{name}<")), "{name}: {shown}");
    }
    assert!(shown.contains("<canvas") && shown.contains(">Flame graph<"), "{shown}");
}

/// The last instructions of QEMU's log are those before the event.
#[test]
fn history() {
    let folder = Folder::new("call-history");
    let path = folder.path("");
    let (name, source) = PROGRAMS[1];
    let Some((elf, log)) = execute(&A64, &path, name, source) else { return };
    let snapshot = encoded(&path, "ETM4", &elf, &log);
    let text = fs::read_to_string(&log).expect("a log");
    let pcs: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("Trace "))
        .filter_map(|line| line.split('[').nth(1)?.split('/').nth(1))
        .map(|pc| pc.trim_start_matches('0'))
        .collect();
    let listed = |options: &str| -> Vec<String> {
        let output = tracewright(&args(&format!("history {options}"), &[&snapshot]));
        assert_eq!(output.code, Some(0), "{}", output.err);
        let lines = output.out.lines().filter_map(|line| line.strip_prefix("0x"));
        let lines = lines.filter_map(|line| line.split(' ').next());
        lines.map(|pc| pc.trim_start_matches('0').to_owned()).collect()
    };
    assert_eq!(listed("--count 30"), pcs[pcs.len() - 30..]);
    let output = tracewright(&args("functions --format json --function middle", &[&snapshot]));
    assert!(output.out.contains("\"name\":\"middle\""), "{}", output.err);
    // `finish` is executed once, `middle` several times.
    let nm = Command::new("llvm-nm-19").arg(&elf).output().expect("it runs").stdout;
    let nm = String::from_utf8_lossy(&nm).into_owned();
    let middle = nm.lines().find(|line| line.ends_with(" middle")).expect("a symbol");
    let middle = middle.split(' ').next().expect("an address").trim_start_matches('0');
    let at = pcs.iter().position(|pc| *pc == middle).expect("a call");
    assert_eq!(listed("--before middle --first --count 5"), pcs[at - 4..=at]);
    let at = pcs.iter().rposition(|pc| *pc == middle).expect("a call");
    assert_eq!(listed("--before middle --count 5"), pcs[at - 4..=at]);
    assert_eq!(listed(&format!("--before 0x{middle} --count 5")), pcs[at - 4..=at]);
    let none = tracewright(&args("history --before nothing", &[&snapshot]));
    assert_eq!(none.code, Some(2), "{}", none.out);
    // The address of a function in its file is not that in a process.
    let data = path.join("perf.data");
    let mut all = args("encode --protocol ETM4 --to perf --log", &[&log]);
    all.extend(args("--image", &[&elf]));
    all.extend(args("--output", &[&data]));
    assert_eq!(tracewright(&all).code, Some(0));
    let refused = tracewright(&args("history --before middle", &[&data]));
    assert_eq!(refused.code, Some(2), "{}", refused.out);
    assert!(refused.err.contains("another address in each process"), "{}", refused.err);
}

/// A capture differs from another one by the functions that each has, and not from itself.
#[test]
fn differences() {
    let folder = Folder::new("call-diff");
    let path = folder.path("");
    let Some((elf, log)) = execute(&A64, &path, PROGRAMS[0].0, PROGRAMS[0].1) else { return };
    let snapshot = encoded(&path, "ETM4", &elf, &log);
    let ete = encoded(&path, "ETE", &elf, &log);
    for options in ["", "--coverage"] {
        let same = tracewright(&args(&format!("diff {options}"), &[&snapshot, &ete]));
        assert_eq!((same.code, same.out.as_str()), (Some(0), "no difference\n"), "{}", same.err);
    }
    // The same program with one call less.
    let source = PROGRAMS[0].1.replace("ackermann(2, 3) + ", "");
    let other = path.join("other");
    fs::create_dir(&other).expect("a folder");
    let Some((elf, log)) = execute(&A64, &other, "other", &source) else { return };
    let other = encoded(&other, "ETM4", &elf, &log);
    // Their build IDs differ, where the linker makes some.
    let output = tracewright(&args("diff --force --format json", &[&snapshot, &other]));
    assert_eq!(output.code, Some(1), "{}", output.err);
    let (before, _) = functions(&snapshot, "");
    let lines = output.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let row = lines.into_iter().find(|line| line["name"] == "ackermann").expect("a row");
    assert_eq!(row["calls"], 0);
    assert_eq!(row["calls_before"].as_u64(), Some(before["ackermann"].calls));
    assert_eq!(row["instructions_before"].as_u64(), Some(before["ackermann"].instructions));
}
