//! Durations of calls and exceptions.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::common::{Folder, Output, args, tracewright};

/// The built-in example.
fn demo(name: &str) -> (Folder, String) {
    let folder = Folder::new(name);
    let path = folder.path("capture").to_str().unwrap().to_owned();
    assert_eq!(tracewright(&["demo", "--write", &path]).code, Some(0));
    (folder, path)
}

fn lines(output: &Output, kind: &str) -> Vec<Value> {
    let all = output.out.lines().map(|line| serde_json::from_str(line).unwrap());
    all.filter(|line: &Value| line["type"] == kind).collect()
}

/// In instructions, the sums are those of the table of functions, which are found in another way.
#[test]
fn instructions_are_those_of_functions() {
    let (_folder, path) = demo("timing-instructions");
    let clock = ["--clock", "instructions", "--format", "json"];
    let timing = tracewright(&[&["timing", &path][..], &clock].concat());
    let functions = tracewright(&["functions", &path, "--format", "json"]);
    assert_eq!((timing.code, functions.code), (Some(0), Some(0)), "{}", timing.err);
    let totals: BTreeMap<String, Value> = lines(&functions, "function")
        .into_iter()
        .map(|line| (line["name"].as_str().unwrap().to_owned(), line))
        .collect();
    let mut compared = 0;
    for line in lines(&timing, "timing") {
        let Some(function) = totals.get(line["name"].as_str().unwrap()) else { continue };
        if line["incomplete"] != 0 {
            continue;
        }
        assert_eq!(line["own"]["count"], function["calls"], "{line}");
        for side in ["least", "most"] {
            assert_eq!(line["own"]["sum"][side], function["instructions"], "{line}");
        }
        compared += 1;
    }
    assert!(compared > 5, "{compared}");
    let exception = lines(&timing, "timing").into_iter().find(|line| line["exception"] == 15);
    let period = &exception.unwrap()["period"];
    let ends = ["max", "min"].map(|end| period[end]["least"].as_u64().unwrap());
    assert_eq!(period["spread"]["least"].as_u64(), Some(ends[0] - ends[1]), "{period}");
    let whole = &lines(&timing, "timings")[0];
    let all = lines(&functions, "stacks")[0]["instructions"].clone();
    assert_eq!((&whole["traced"], &whole["clock"]), (&all, &"instructions".into()));
}

/// The example has timestamps, which contain the true durations: those of the functions' ticks lie
/// between the bounds of the sum.
#[test]
fn timestamps_bound_the_estimates() {
    let (_folder, path) = demo("timing-timestamps");
    let timing = tracewright(&["timing", &path, "--format", "json"]);
    let functions = tracewright(&["functions", &path, "--format", "json"]);
    let mut compared = 0;
    for line in lines(&timing, "timing").iter().filter(|line| line["incomplete"] == 0) {
        let of_name = |function: &Value| function["name"] == line["name"];
        let Some(function) = lines(&functions, "function").into_iter().find(of_name) else {
            continue;
        };
        let ticks = function["ticks"].as_u64().unwrap();
        let (least, most) = (&line["own"]["sum"]["least"], &line["own"]["sum"]["most"]);
        assert!(least.as_u64().unwrap() <= ticks, "{line} {ticks}");
        assert!(most.as_u64().is_none_or(|most| ticks <= most), "{line} {ticks}");
        compared += 1;
    }
    assert!(compared > 5, "{compared}");
    assert_eq!(lines(&timing, "timings")[0]["clock"], "timestamps");
}

#[test]
fn limits_have_three_answers() {
    let (_folder, path) = demo("timing-limits");
    let run = |limit: &str, more: &[&str]| {
        tracewright(&[&["timing", &path, "--limit", limit][..], more].concat())
    };
    let instructions = &["--clock", "instructions"][..];
    let strict = &["--strict"][..];
    for (limit, more, answer, code) in [
        ("own(is_safe) <= 1000", instructions, "met: ", 0),
        ("own(is_*) <= 2", instructions, "violated: ", 1),
        ("own(is_safe) >= 1", instructions, "met: ", 0),
        ("gross(systick_handler) <= 1", &[][..], "open: ", 0),
        ("gross(systick_handler) <= 1", strict, "open: ", 1),
        ("gross(reset_handler) <= 1", &[][..], "no activation: ", 0),
        ("gross(exception:15) >= 1000000", &[][..], "violated: ", 1),
    ] {
        let output = run(limit, more);
        assert!(output.out.contains(&format!("\n{answer}{limit}")), "{limit}: {}", output.out);
        assert_eq!(output.code, Some(code), "{limit}: {}", output.err);
    }
    // A time needs a frequency.
    let output = run("net(is_safe) <= 5ms", &[]);
    assert!(output.err.contains("--frequency"), "{}", output.err);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""));
    let output = run("net(is_safe) <= 5ms", &["--frequency", "1M"]);
    assert!(output.out.contains("\nmet: net(is_safe) <= 5ms: most of 238 of is_safe: "));
    let output = run("net(no_such) <= 5", &[]);
    assert_eq!(output.code, Some(2), "{}", output.err);
    assert!(output.err.contains("--limit no_such: "), "{}", output.err);
    let output = run("nett(is_safe) <= 5", &[]);
    assert!(output.err.contains("gross, net, own"), "{}", output.err);
    let output = run("net(task:no_such) <= 5", &[]);
    assert_eq!(output.code, Some(2), "{}", output.err);
    assert!(output.err.contains("--limit net(task:no_such) <= 5: "), "{}", output.err);
    assert_eq!(run("own(task:ETM_0) <= 5", &[]).code, Some(2));
}

#[test]
fn options_that_do_not_apply_to_tasks_are_refused() {
    let (_folder, path) = demo("timing-tasks-refused");
    let run = |more: &[&str]| tracewright(&[&["timing", &path][..], more].concat());
    for more in [&["--load", "0"][..], &["--load", "0ms", "--frequency", "1M"]] {
        assert_eq!(run(more).code, Some(2), "{more:?}");
    }
    let output = run(&["--load", "1000"]);
    assert!(output.err.contains("--load 1000: the idle function"), "{}", output.err);
    let output = run(&["--load", "10ms", "--idle", "main"]);
    assert!(output.err.contains("--load 10ms: "), "{}", output.err);
    // The load by a task needs no idle function, and a task that does not exist is an error.
    let output = run(&["--load", "1000", "--task", "ETM_0"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let output = run(&["--load", "1000", "--task", "nobody"]);
    assert!(output.err.contains("--task nobody: "), "{}", output.err);
    let output = run(&["--task-times"]);
    assert!(output.err.contains("the trace shows no task"), "{}", output.err);
}

#[test]
fn options_select_and_measure() {
    let (_folder, path) = demo("timing-options");
    let run = |more: &[&str]| {
        let output = tracewright(&[&["timing", &path][..], more].concat());
        assert_eq!(output.code, Some(0), "{more:?} {}", output.err);
        output.out
    };
    let all = run(&[]);
    assert!(all.contains("  is_safe\n") && all.contains("  exception 15\n"), "{all}");
    let exceptions = run(&["--exceptions", "--measure", "period"]);
    assert!(exceptions.starts_with("period: from begin to begin, by timestamps\n"), "{exceptions}");
    assert!(!exceptions.contains("is_safe") && exceptions.contains("exception 15\n"));
    let one = run(&["--function", "is_*", "--rows", "1", "--histogram", "--frequency", "1M"]);
    assert!(one.contains("----") && one.contains(" us") && !one.contains("place"), "{one}");
    let interrupted = run(&["--measure", "interrupted"]);
    assert!(interrupted.contains(" (longest ") && interrupted.contains(" by exception "));
    let csv = run(&["--format", "csv"]);
    let columns = |line: &str| line.split(',').count();
    let head = csv.lines().next().map(columns);
    assert!(csv.lines().count() > 30 && csv.lines().all(|line| Some(columns(line)) == head));
    for jobs in ["2", "3"] {
        assert_eq!(run(&["--format", "csv", "--jobs", jobs]), csv);
    }
    let none = tracewright(&["timing", &path, "--function", "no_such"]);
    assert_eq!(none.code, Some(2), "{}", none.err);
    let cycles = tracewright(&["timing", &path, "--clock", "cycles"]);
    assert!(cycles.err.contains("no cycles: no duration is known"), "{}", cycles.err);
}

/// A trace without a clock is measured in instructions.
#[test]
fn the_clock_of_a_trace_without_one() {
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/captures/etmv1/capture");
    let output = tracewright(&["timing", capture]);
    assert!(output.err.contains("note: the trace has no timestamps"), "{}", output.err);
}

#[test]
fn an_itm_alone_has_no_calls() {
    let folder = Folder::new("timing-itm");
    let path = folder.path("itm.bin");
    let mut bytes = vec![0, 0, 0, 0, 0, 0x80];
    // Thread mode is no handler, also where it is entered. (Armv7-M ARM, D4.3.2)
    for (number, step) in [(0, 0x10), (15, 0x10), (15, 0x20), (0, 0x30), (0, 0x10), (0, 0x20)] {
        bytes.extend([0x0e, number, step, 0x30]);
    }
    fs::write(&path, bytes).unwrap();
    let output = tracewright(&args("timing --protocol ITM --format json", &[&path]));
    let rows = lines(&output, "timing");
    assert_eq!(rows.len(), 1, "{}", output.out);
    assert_eq!(rows[0]["exception"], 15);
    assert_eq!(rows[0]["gross"]["sum"]["least"], 3);
    for (words, why) in [
        ("--worst main", "no calls of functions"),
        ("--masked", "which of them mask interrupts is not known"),
    ] {
        let words = format!("timing --protocol ITM {words}");
        let output = tracewright(&args(&words, &[&path]));
        assert_eq!(output.code, Some(2), "{words}: {}", output.out);
        assert!(output.err.contains(why), "{}", output.err);
    }
}
