//! Requests that end others, a port, and breakpoints at instructions.

use serde_json::{Value, json};

use crate::client::Client;
use crate::{demo, line_with, sources};

/// A run that takes long ends with a request to pause, and goes on from there.
#[test]
fn a_long_run_is_paused() {
    let demo = demo();
    let mut client = Client::open(&demo.path, json!({ "stopAt": "start" }));
    // The condition is looked at at each line that is executed, and never holds.
    let source = json!({ "path": "program.c" });
    let lines = json!({ "source": source, "line": 1, "endLine": 10_000 });
    let lines = client.good("breakpointLocations", lines)["breakpoints"].clone();
    let lines = lines.as_array().expect("a list").clone();
    let condition = |line: &Value| json!({ "line": line["line"], "condition": "depth > 1000" });
    let list: Vec<Value> = lines.iter().map(condition).collect();
    let body = client.good("setBreakpoints", json!({ "source": source, "breakpoints": list }));
    assert_eq!(body["breakpoints"][0]["verified"], true, "{body}");
    let thread = json!({ "threadId": 1 });
    let (mut last, mut n) = (0, 0);
    while n < 3 || last == 0 {
        let first = client.send("continue", thread.clone());
        client.answer(first);
        client.good("pause", thread.clone());
        let stop = client.event("stopped")["body"].clone();
        assert_eq!(stop["reason"], "pause", "{n}: {stop}");
        let here = client.instruction();
        assert!(here >= last, "{here} {last}");
        (last, n) = (here, n + 1);
    }
    // With both at once the run ends before it begins, and there is one stop.
    let first = client.send_all(&[("continue", thread.clone()), ("pause", thread.clone())]);
    client.answer(first);
    client.answer(first + 1);
    assert_eq!(client.event("stopped")["body"]["reason"], "pause");
    assert!(client.events.iter().all(|event| event["event"] != "stopped"));
    // It is not paused again.
    let list = json!([]);
    client.good("setBreakpoints", json!({ "source": source, "breakpoints": list }));
    let stop = client.go("continue", json!({}));
    assert!(stop["text"].as_str().is_some_and(|text| text.contains("ends")), "{stop}");
    client.disconnect();
}

/// A request that is cancelled fails, whether it waits or is answered; others do not.
#[test]
fn requests_are_cancelled() {
    let demo = demo();
    let mut client = Client::open(&demo.path, json!({ "stopAt": "start" }));
    let evaluate = |text: &str| ("evaluate", json!({ "expression": text, "context": "repl" }));
    let count = client.console("count function is_safe");
    let first = client.send_all(&[
        evaluate("count function is_safe"),
        evaluate("count function show"),
        ("cancel", json!({ "requestId": 0 })),
        evaluate("count function is_safe"),
    ]);
    for n in [0, 1, 2, 3] {
        let answer = client.answer(first + n);
        assert_eq!(answer["success"], true, "{answer}");
        if n == 3 {
            assert_eq!(answer["body"]["result"], json!(count));
        }
    }
    let second = first + 5;
    let first = client.send_all(&[
        evaluate("count function is_safe"),
        evaluate("count function show"),
        ("cancel", json!({ "requestId": second })),
        ("threads", json!({})),
    ]);
    assert_eq!(second, first + 1);
    assert_eq!(client.answer(first)["success"], true);
    let answer = client.answer(second);
    assert_eq!((&answer["success"], &answer["message"]), (&json!(false), &json!("cancelled")));
    assert_eq!(client.answer(first + 2)["success"], true);
    assert_eq!(client.answer(first + 3)["success"], true);
    // A run is not ended by it.
    let request = client.send("continue", json!({ "threadId": 1 }));
    client.answer(request);
    client.good("cancel", json!({ "requestId": request }));
    let stop = client.event("stopped")["body"].clone();
    assert!(stop["text"].as_str().is_some_and(|text| text.contains("ends")), "{stop}");
    client.disconnect();
}

/// A connection over a port of the loopback interface.
#[test]
fn a_port_of_the_loopback_interface() {
    let demo = demo();
    let mut client = Client::connect(&[&demo.path]);
    client.launch(&demo.path, json!({ "stopAt": "first function show" }));
    assert_eq!(client.at().0, "show");
    client.disconnect();
}

/// Breakpoints at instructions, with an offset, and lines of a file that have code.
#[test]
fn breakpoints_at_instructions() {
    let demo = demo();
    let more = json!({ "stopAt": "first function show", "sourceMap": { "": sources() } });
    let mut client = Client::open(&demo.path, more);
    let reference = client.top()["instructionPointerReference"].clone();
    client.go("stepIn", json!({ "granularity": "instruction" }));
    let (second, after) = (client.top()["instructionPointerReference"].clone(), client.at());
    let address = |value: &Value| {
        let text = value.as_str().expect("an address").trim_start_matches("0x").to_owned();
        i64::from_str_radix(&text, 16).expect("an address")
    };
    let offset = address(&second) - address(&reference);
    let list = json!([
        { "instructionReference": reference, "offset": offset },
        { "instructionReference": "nowhere" },
        { "instructionReference": reference, "hitCondition": "3" },
    ]);
    let body = client.good("setInstructionBreakpoints", json!({ "breakpoints": list }));
    let set = body["breakpoints"].as_array().expect("a list").clone();
    let verified: Vec<bool> = set.iter().map(|one| one["verified"] == true).collect();
    assert_eq!(verified, [true, false, true], "{body}");
    assert_eq!(set[0]["instructionReference"], second);
    assert!(set[1]["message"].as_str().is_some_and(|text| text.contains("nowhere")), "{body}");
    // Both of each call, the first two at one of them.
    client.goto("start");
    let mut hits = Vec::new();
    while let Some(id) = client.go("continue", json!({}))["hitBreakpointIds"][0].as_u64() {
        let top = client.top()["instructionPointerReference"].clone();
        hits.push((id == set[2]["id"], top.clone(), client.instruction()));
    }
    let count: usize = client.console("count function show").parse().expect("a count");
    let third: Vec<usize> = (0..hits.len()).filter(|n| hits[*n].0).collect();
    assert_eq!((hits.len(), third.as_slice()), (count + 1, &[2][..]), "{hits:?}");
    assert!(hits.iter().all(|hit| hit.1 == *if hit.0 { &reference } else { &second }));
    assert_eq!(hits[2].2 + 1, hits[3].2);
    // Lines with code: that of the function is one, and a comment is none.
    let source = json!({ "path": format!("{}/program.c", sources()) });
    let comment = line_with("// Whether no queen");
    let lines = |client: &mut Client, from: u64, to: u64| {
        let arguments = json!({ "source": source, "line": from, "endLine": to });
        let body = client.good("breakpointLocations", arguments);
        let all = body["breakpoints"].as_array().expect("a list").clone();
        all.iter().map(|one| one["line"].as_u64().expect("a line")).collect::<Vec<u64>>()
    };
    let all = lines(&mut client, 1, 10_000);
    assert!(all.is_sorted() && all.contains(&after.1) && !all.contains(&comment), "{all:?}");
    assert_eq!(lines(&mut client, comment, comment), [0u64; 0]);
    assert_eq!(lines(&mut client, all[1], all[3]), all[1..=3]);
    // Each is one at which a breakpoint stays where it is set.
    let list: Vec<_> = all.iter().map(|line| json!({ "line": line })).collect();
    let body = client.good("setBreakpoints", json!({ "source": source, "breakpoints": list }));
    let set = body["breakpoints"].as_array().expect("a list").clone();
    let set: Vec<_> = set.iter().map(|one| one["line"].as_u64().unwrap_or(0)).collect();
    assert_eq!(set, all);
    client.disconnect();
}
