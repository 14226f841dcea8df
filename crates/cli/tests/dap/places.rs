//! Breakpoints, stacks, what is known, and jumps.

use serde_json::{Value, json};
use tracewright_testing::shared;

use crate::client::Client;
use crate::{demo, line_with, sources, tracewright};

fn source() -> Value {
    json!({ "path": format!("{}/program.c", sources()) })
}

/// Lines with code are verified, others are moved or refused with a reason; numbers of executions
/// arrive later.
#[test]
fn breakpoints_at_lines() {
    let demo = demo();
    let more = json!({ "stopAt": "start", "sourceMap": { "": sources() } });
    let mut client = Client::open(&demo.path, more);
    let call = line_with("unsigned solutions = place(size, 0, found)");
    let comment = line_with("// Whether no queen");
    let list = json!([
        { "line": call },
        { "line": comment },
        { "line": 100_000 },
        { "line": call, "condition": "size == 5" },
        { "line": call, "condition": "depth >= 1" },
        { "line": call, "hitCondition": "2" },
        { "line": call, "hitCondition": "many" },
    ]);
    let body = client.good("setBreakpoints", json!({ "source": source(), "breakpoints": list }));
    let set = body["breakpoints"].as_array().expect("a list").clone();
    let verified: Vec<bool> = set.iter().map(|one| one["verified"] == true).collect();
    assert_eq!(verified, [true, true, false, false, true, true, false], "{body}");
    assert!(set[1]["line"].as_u64().is_some_and(|line| line > comment), "{body}");
    for n in [2, 3, 6] {
        assert!(set[n]["message"].is_string() && set[n]["reason"] == "failed", "{body}");
    }
    let counted = client.event("breakpoint")["body"]["breakpoint"].clone();
    assert_eq!(counted["id"], set[0]["id"]);
    assert_eq!(counted["message"], "executed 2 times in the trace", "{counted}");
    // The second execution by its number alone.
    let list = json!([{ "line": call, "hitCondition": "2" }]);
    client.good("setBreakpoints", json!({ "source": source(), "breakpoints": list }));
    let stop = client.go("continue", json!({}));
    assert_eq!(stop["reason"], "breakpoint", "{stop}");
    let second = client.instruction();
    assert_eq!(client.at(), ("solve".into(), call));
    assert!(client.go("continue", json!({}))["text"].is_string());
    client.go("reverseContinue", json!({}));
    assert_eq!(client.instruction(), second);
    let list = json!([{ "line": call, "hitCondition": "< 2" }]);
    client.good("setBreakpoints", json!({ "source": source(), "breakpoints": list }));
    client.go("reverseContinue", json!({}));
    assert!(client.instruction() < second);
    assert_eq!(client.at(), ("solve".into(), call));
    // A path that no file of the program has.
    let arguments =
        json!({ "source": { "path": "/nowhere/other.c" }, "breakpoints": [{ "line": 1 }] });
    let body = client.good("setBreakpoints", arguments);
    assert_eq!(body["breakpoints"][0]["verified"], false, "{body}");
    client.disconnect();
}

/// A log point lists its executions, and nothing stops there.
#[test]
fn log_points_list_executions() {
    let demo = demo();
    let mut client = Client::open(&demo.path, json!({ "stopAt": "start" }));
    let call = line_with("unsigned solutions = place(size, 0, found)");
    let list = json!([{ "line": call, "logMessage": "solve {n} of {instruction}: {size}" }]);
    let arguments = json!({ "source": source(), "breakpoints": list });
    client.good("setBreakpoints", arguments.clone());
    let line = "function solve";
    let count: u64 = client.console(&format!("count {line}")).parse().expect("a count");
    assert_eq!(count, 2);
    let mut numbers = Vec::new();
    for n in 1..=count {
        let body = client.event("output")["body"].clone();
        let text = body["output"].as_str().expect("a text").to_owned();
        assert_eq!(body["line"], call, "{body}");
        let rest = text.strip_prefix(&format!("solve {n} of ")).expect("the text");
        assert!(rest.contains(": <unavailable>  ["), "{text}");
        let (number, _) = rest.split_once(':').expect("a number");
        numbers.push(number.parse::<u64>().expect("a number"));
    }
    // They are not listed again where the breakpoints of the file are set again.
    client.good("setBreakpoints", arguments);
    client.event("breakpoint");
    client.goto(&format!("instruction {}", numbers[1]));
    assert_eq!(client.at(), ("solve".into(), call));
    client.goto("start");
    let stop = client.go("continue", json!({}));
    assert_ne!(stop["reason"], "breakpoint");
    assert!(client.events.iter().all(|event| {
        !event["body"]["output"].as_str().is_some_and(|text| text.starts_with("solve"))
    }));
    client.disconnect();
}

/// The stack in a recursion: whole, in parts, with lines, and equal to what the trace has.
#[test]
fn stacks_are_paged() {
    let demo = demo();
    let more = json!({ "stopAt": "first function show" });
    let mut client = Client::open(&demo.path, more);
    let all = client.frames(1);
    let names: Vec<&str> = all.iter().filter_map(|frame| frame["name"].as_str()).collect();
    assert_eq!(names[0], "show");
    assert_eq!(names.iter().filter(|name| **name == "place").count(), 6, "{names:?}");
    assert_eq!(names[names.len() - 2..], ["main", "reset_handler"]);
    let recursive = line_with("count += place(size, row + 1, found)");
    assert!(all[2..7].iter().all(|frame| frame["line"] == recursive), "{all:?}");
    assert!(all[0]["source"]["path"].as_str().is_some_and(|path| path.ends_with("program.c")));
    let mut parts = Vec::new();
    for start in (0..all.len()).step_by(3) {
        let arguments = json!({ "threadId": 1, "startFrame": start, "levels": 3 });
        let body = client.good("stackTrace", arguments);
        assert_eq!(body["totalFrames"], all.len());
        parts.extend(body["stackFrames"].as_array().expect("frames").clone());
    }
    assert_eq!(parts, all);
    // Frames of an earlier stop have no scopes.
    let old = all[0]["id"].clone();
    client.go("stepBack", json!({}));
    let why = client.refused("scopes", json!({ "frameId": old }));
    assert!(why.contains("earlier"), "{why}");
    assert!(client.refused("stackTrace", json!({ "threadId": 99 })).contains("99"));
    client.disconnect();
}

/// The program counter is known, and no other register has a value.
#[test]
fn unknown_is_unavailable() {
    let demo = demo();
    let mut client = Client::open(&demo.path, json!({ "stopAt": "first function show" }));
    let top = client.top();
    let body = client.good("scopes", json!({ "frameId": top["id"] }));
    let scope = |name: &str| {
        let all = body["scopes"].as_array().expect("scopes");
        let own = all.iter().find(|scope| scope["name"] == name);
        own.map(|scope| scope["variablesReference"].clone())
    };
    assert!(scope("Traced memory").is_none());
    let arguments = json!({ "variablesReference": scope("Registers").expect("a scope") });
    let registers = client.good("variables", arguments)["variables"].clone();
    let registers = registers.as_array().expect("a list").clone();
    assert_eq!(registers[0]["value"], top["instructionPointerReference"]);
    assert_eq!(registers.len(), 17);
    assert!(registers[1..].iter().all(|one| one["value"] == "unavailable"), "{registers:?}");
    let arguments = json!({ "variablesReference": scope("Trace").expect("a scope") });
    let trace = client.good("variables", arguments)["variables"].clone();
    let trace = trace.as_array().expect("a list").clone();
    let number = client.instruction().to_string();
    assert_eq!((&trace[0]["name"], &trace[0]["value"]), (&json!("instruction"), &json!(number)));
    let lazy = trace.last().expect("a variable").clone();
    let arguments = json!({ "variablesReference": lazy["variablesReference"] });
    let count = client.good("variables", arguments)["variables"][0]["value"].clone();
    let all = client.console("count function show");
    assert_eq!(count, format!("{all}, 0 before here"));
    // What is not in the trace is refused, and a data breakpoint, too.
    let refused = json!({ "expression": "ticks_", "context": "watch" });
    assert!(client.refused("evaluate", refused).contains("not known"));
    let value = client.good("evaluate", json!({ "expression": "column", "context": "hover" }));
    assert_eq!(value["result"], "unavailable", "{value}");
    let info = client.good("dataBreakpointInfo", json!({ "name": "column" }));
    assert!(info["dataId"].is_null() && info["description"].is_string(), "{info}");
    let list = json!({ "breakpoints": [{ "dataId": "0x20000000+4" }] });
    let body = client.good("setDataBreakpoints", list);
    assert_eq!(body["breakpoints"][0]["verified"], false, "{body}");
    client.refused("readMemory", json!({ "memoryReference": "0x20000000", "count": 4 }));
    client.disconnect();
}

/// Jumps to executions of a line, queries, and what the program has printed.
#[test]
fn places_in_time() {
    let demo = demo();
    let mut client = Client::open(&demo.path, json!({ "stopAt": "start" }));
    let line = line_with("return passed * 100 / solutions");
    let body = client.good("gotoTargets", json!({ "source": source(), "line": line }));
    let targets = body["targets"].as_array().expect("targets").clone();
    let labels: Vec<&str> = targets.iter().filter_map(|target| target["label"].as_str()).collect();
    let want =
        ["next execution (#1 of 2)", "first execution (#1 of 2)", "last execution (#2 of 2)"];
    assert_eq!(labels, want, "{body}");
    let mut places = Vec::new();
    for target in &targets {
        client.good("goto", json!({ "threadId": 1, "targetId": target["id"] }));
        assert_eq!(client.event("stopped")["body"]["reason"], "goto");
        assert_eq!(client.at(), ("ticks_per_solution".into(), line));
        places.push(client.instruction());
    }
    assert!(places[0] == places[1] && places[1] < places[2], "{places:?}");
    client.refused("goto", json!({ "threadId": 1, "targetId": 77 }));
    let why =
        client.refused("evaluate", json!({ "expression": "goto nowhere", "context": "repl" }));
    assert!(why.contains("nowhere"), "{why}");
    assert!(client.console("last exception").contains("exception"));
    // An exception as a breakpoint.
    client.goto("start");
    client.good("setExceptionBreakpoints", json!({ "filters": ["exception"] }));
    let stop = client.go("continue", json!({}));
    assert_eq!(stop["reason"], "exception", "{stop}");
    assert!(client.top()["name"].as_str().is_some_and(|name| name.contains("exception")));
    let first = client.instruction();
    let stop = client.go("continue", json!({}));
    assert_eq!(stop["reason"], "exception", "{stop}");
    client.go("reverseContinue", json!({}));
    assert_eq!(client.instruction(), first);
    let info = client.good("exceptionInfo", json!({ "threadId": 1 }));
    assert_eq!(info["details"]["typeName"], "SysTick", "{info}");
    // Interrupts, and faults, apart.
    for (filter, names) in [("interrupt", vec!["SysTick"; 5]), ("fault", vec!["UsageFault"])] {
        client.good("setExceptionBreakpoints", json!({ "filters": [filter] }));
        client.goto("start");
        assert!(client.refused("exceptionInfo", json!({ "threadId": 1 })).contains("not ended"));
        let (mut forward, mut backward) = (Vec::new(), Vec::new());
        while client.go("continue", json!({}))["reason"] == "exception" {
            let info = client.good("exceptionInfo", json!({ "threadId": 1 }));
            forward.push((info["details"]["typeName"].clone(), client.instruction()));
        }
        while client.go("reverseContinue", json!({}))["reason"] == "exception" {
            let info = client.good("exceptionInfo", json!({ "threadId": 1 }));
            backward.push((info["details"]["typeName"].clone(), client.instruction()));
        }
        backward.reverse();
        assert_eq!(forward, backward);
        let found: Vec<_> = forward.into_iter().map(|(name, _)| name).collect();
        assert_eq!(found, names);
    }
    let list = json!({ "filters": ["nonsense"] });
    let body = client.good("setExceptionBreakpoints", list);
    assert_eq!(body["breakpoints"][0]["verified"], false, "{body}");
    client.goto("start");
    client.events.clear();
    client.go("continue", json!({}));
    let printed: String = client
        .events
        .iter()
        .filter(|event| event["body"]["category"] == "stdout")
        .map(|event| event["body"]["output"].as_str().expect("a text").to_owned())
        .collect();
    let itm = tracewright(&["itm", &demo.path]);
    assert!(printed.contains("5 queens\n"), "{printed} {itm}");
    let with_place = client.events.iter().filter(|event| event["body"]["line"].is_u64()).count();
    assert!(with_place >= 5, "{:?}", client.events);
    client.disconnect();
}

/// Code in memory, and a source file.
#[test]
fn code_and_sources() {
    let demo = demo();
    let more = json!({ "stopAt": "first function show", "sourceMap": { "": sources() } });
    let mut client = Client::open(&demo.path, more);
    let text = include_str!("../../src/demo/program.c");
    let body = client.good("source", json!({ "sourceReference": 0, "source": source() }));
    assert_eq!(body["content"], text);
    client.refused("source", json!({ "sourceReference": 0, "source": { "path": "/etc/passwd" } }));
    let files = client.good("loadedSources", json!({}))["sources"].clone();
    assert!(files.as_array().is_some_and(|files| !files.is_empty()));
    let reference = client.top()["instructionPointerReference"].clone();
    let listed = tracewright(&["instructions", &demo.path, "--function", "show", "--limit", "1"]);
    let arguments = json!({
        "memoryReference": reference, "instructionOffset": -8, "instructionCount": 24,
    });
    let body = client.good("disassemble", arguments);
    let all = body["instructions"].as_array().expect("instructions").clone();
    assert_eq!(all.len(), 24);
    assert_eq!(all[8]["address"], reference, "{body} {listed}");
    assert_eq!(all[8]["symbol"], "show");
    let address = |n: usize| {
        let text = all[n]["address"].as_str().expect("an address");
        u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("an address")
    };
    for n in 1..all.len() {
        let bytes = all[n - 1]["instructionBytes"].as_str().expect("bytes");
        assert_eq!(address(n), address(n - 1) + bytes.split(' ').count() as u64, "{n}: {body}");
    }
    let body = client.good("readMemory", json!({ "memoryReference": reference, "count": 3 }));
    assert_eq!(body["data"].as_str().map(str::len), Some(4), "{body}");
    let far = json!({ "memoryReference": "0xfffffffffffffff0", "instructionCount": 4 });
    let body = client.good("disassemble", far);
    assert_eq!(body["instructions"][3]["presentationHint"], "invalid", "{body}");
    client.disconnect();
}

/// Several processors without a program file: each is a thread.
#[test]
fn threads_are_sources() {
    let Some(capture) = shared("conformance/arm/snapshots/TC2") else { return };
    let path = capture.to_str().expect("a path");
    let mut client = Client::open(path, json!({}));
    let body = client.good("threads", json!({}));
    let threads = body["threads"].as_array().expect("threads").clone();
    assert_eq!(threads.len(), 4, "{body}");
    for thread in &threads {
        let id = thread["id"].as_u64().expect("a number");
        let arguments = json!({ "threadId": id, "granularity": "instruction" });
        let before = client.frames(id)[0].clone();
        client.go("stepBack", arguments);
        assert_ne!(client.frames(id)[0], before);
    }
    client.disconnect();
}
