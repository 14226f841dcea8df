//! Steps and runs in both directions.

use serde_json::json;

use crate::client::Client;
use crate::{demo, line_with, tracewright};

/// Instructions forward are those of the listing, and back the same in reverse.
#[test]
fn instructions_are_those_of_the_listing() {
    const STEPS: usize = 60;
    let demo = demo();
    let listed = tracewright(&["instructions", &demo.path, "--format", "pc"]);
    let want: Vec<u64> = listed
        .lines()
        .take(STEPS + 1)
        .map(|line| u64::from_str_radix(line, 16).expect("an address"))
        .collect();
    let mut client = Client::open(&demo.path, json!({ "stopAt": "start" }));
    let address = |client: &mut Client| {
        let top = client.top();
        let text = top["instructionPointerReference"].as_str().expect("an address").to_owned();
        u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("an address")
    };
    let mut got = vec![address(&mut client)];
    for _ in 0..STEPS {
        let stop = client.go("stepIn", json!({ "granularity": "instruction" }));
        assert_eq!(stop["reason"], "step", "{stop}");
        got.push(address(&mut client));
    }
    assert_eq!(got, want);
    for n in (0..STEPS).rev() {
        client.go("stepBack", json!({ "granularity": "instruction" }));
        assert_eq!(address(&mut client), want[n]);
    }
    let stop = client.go("stepBack", json!({ "granularity": "instruction" }));
    assert_eq!(stop["reason"], "entry", "{stop}");
    assert!(stop["text"].as_str().is_some_and(|text| text.contains("begins")), "{stop}");
    client.disconnect();
}

/// Lines forward and back pass over calls, also over recursion; as many back lead to the same
/// place.
#[test]
fn lines_pass_over_calls_in_both_directions() {
    let demo = demo();
    let mut client = Client::open(&demo.path, json!({ "stopAt": "first function solve" }));
    assert_eq!(client.at().0, "solve");
    let mut places = vec![(client.instruction(), client.at())];
    loop {
        let stop = client.go("next", json!({}));
        assert_eq!(stop["reason"], "step", "{stop}");
        let at = client.at();
        if at.0 != "solve" {
            assert_eq!(at.0, "main");
            break;
        }
        places.push((client.instruction(), at));
        assert!(places.len() < 100, "{places:?}");
    }
    let lines: Vec<u64> = places.iter().map(|(_, (_, line))| *line).collect();
    for text in ["unsigned solutions = place(size, 0, found)", "print_number(average)"] {
        assert!(lines.contains(&line_with(text)), "{text}: {lines:?}");
    }
    assert!(places.is_sorted());
    // Back into the function by its last line, as nothing else is known of what returned.
    let (last, _) = *places.last().as_ref().expect("a place");
    client.goto(&format!("instruction {last}"));
    for place in places.iter().rev().skip(1) {
        let stop = client.go("stepBack", json!({}));
        assert_eq!(stop["reason"], "step", "{stop}");
        assert_eq!(&(client.instruction(), client.at()), place);
    }
    client.disconnect();
}

/// Into a function and out of it; back out by the beginning of the call.
#[test]
fn into_a_function_and_out() {
    let demo = demo();
    let mut client = Client::open(&demo.path, json!({ "stopAt": "nth 20 function place" }));
    let depth = client.frames(1).len();
    let begin = client.instruction();
    let mut entered = None;
    for _ in 0..20 {
        client.go("stepIn", json!({}));
        let (name, _) = client.at();
        if name != "place" {
            entered = Some(name);
            break;
        }
    }
    assert_eq!(entered.as_deref(), Some("is_safe"));
    assert_eq!(client.frames(1).len(), depth + 1);
    let inside = client.instruction();
    client.go("stepOut", json!({}));
    assert_eq!((client.at().0.as_str(), client.frames(1).len()), ("place", depth));
    assert!(client.instruction() > inside);
    // The first instruction of this call of `place`.
    let frame = client.top();
    assert_eq!(frame["canRestart"], true);
    client.good("restartFrame", json!({ "frameId": frame["id"] }));
    client.event("stopped");
    assert_eq!((client.instruction(), client.frames(1).len()), (begin, depth));
    // Over the instruction of a call, and back over it.
    client.goto("first function solve");
    let mut calls = 0;
    for _ in 0..60 {
        let (from, depth) = (client.instruction(), client.frames(1).len());
        client.go("next", json!({ "granularity": "instruction" }));
        let to = client.instruction();
        if client.frames(1).len() != depth {
            break;
        }
        calls += u64::from(to > from + 1);
    }
    assert!(calls >= 3, "{calls}");
    client.disconnect();
}

/// The functions that a line calls, in order, and a step into one of them.
#[test]
fn into_a_function_of_the_line() {
    let demo = demo();
    let mut client = Client::open(&demo.path, json!({ "stopAt": "start" }));
    // A line with a call, and one in which an exception is taken.
    let line = line_with("return passed * 100 / solutions");
    let source = json!({ "path": "program.c" });
    let calls = line_with("print_number(average)");
    for line in [calls, line] {
        let list = json!([{ "line": line }]);
        client.good("setBreakpoints", json!({ "source": source, "breakpoints": list }));
        client.go("continue", json!({}));
        let top = client.top();
        assert_eq!(top["line"], line);
        let body = client.good("stepInTargets", json!({ "frameId": top["id"] }));
        let targets = body["targets"].as_array().expect("targets").clone();
        let names: Vec<&str> = targets.iter().filter_map(|one| one["label"].as_str()).collect();
        // Nothing has moved.
        assert_eq!(client.top()["line"], line);
        // Those that steps enter.
        let (from, depth) = (client.instruction(), client.frames(1).len());
        client.go("next", json!({ "granularity": "line" }));
        let end = client.instruction();
        client.goto(&format!("instruction {from}"));
        let mut want = Vec::new();
        while client.instruction() < end {
            client.go("stepIn", json!({ "granularity": "instruction" }));
            let frames = client.frames(1);
            if frames.len() > depth && client.instruction() < end {
                let name = frames[0]["name"].as_str().expect("a name").to_owned();
                // Exceptions are not called.
                want.extend(Some(name).filter(|name| !name.contains(" [")));
                client.go("stepOut", json!({}));
            }
        }
        assert_eq!(names, want);
        assert_eq!(names.is_empty(), line != calls, "{names:?}");
        client.goto(&format!("instruction {from}"));
        for (target, name) in targets.iter().zip(&want) {
            client.go("stepIn", json!({ "targetId": target["id"] }));
            let frames = client.frames(1);
            assert_eq!((frames[0]["name"].as_str(), frames.len()), (Some(&**name), depth + 1));
        }
    }
    client.refused("stepIn", json!({ "threadId": 1, "targetId": 1 }));
    client.disconnect();
}

/// A step in a handler returns to what was interrupted, and a step over an interrupt passes it.
#[test]
fn interrupts_are_passed_over() {
    let demo = demo();
    let mut client =
        Client::open(&demo.path, json!({ "stopAt": "nth 3 function systick_handler" }));
    let frames = client.frames(1);
    assert!(frames[0]["name"].as_str().is_some_and(|name| name.starts_with("systick_handler")));
    assert!(
        frames[0]["name"].as_str().is_some_and(|name| name.contains("exception")),
        "{frames:?}"
    );
    let interrupted = frames[1].clone();
    let first = client.instruction();
    client.go("stepOut", json!({}));
    let after = client.instruction();
    assert_eq!(client.top()["name"], interrupted["name"]);
    assert!(after > first + 3);
    // The instruction before the interrupt, and from there the one behind the interrupt.
    client.goto(&format!("instruction {}", first - 1));
    client.go("next", json!({ "granularity": "instruction" }));
    assert_eq!(client.instruction(), after);
    client.go("stepBack", json!({}));
    assert!(client.instruction() < first);
    client.disconnect();
}

/// The hits of a breakpoint forward are those of a search, and backward the same in reverse.
#[test]
fn hits_are_those_of_a_search() {
    let demo = demo();
    let mut client = Client::open(&demo.path, json!({ "stopAt": "start" }));
    let body =
        client.good("setFunctionBreakpoints", json!({ "breakpoints": [{ "name": "show" }] }));
    assert_eq!(body["breakpoints"][0]["verified"], true, "{body}");
    let count: usize = client.console("count function show").parse().expect("a count");
    assert!(count >= 5, "{count}");
    let mut forward = Vec::new();
    loop {
        let stop = client.go("continue", json!({}));
        if stop["reason"] != "function breakpoint" {
            assert!(stop["text"].as_str().is_some_and(|text| text.contains("ends")), "{stop}");
            break;
        }
        assert_eq!(stop["hitBreakpointIds"][0], body["breakpoints"][0]["id"]);
        forward.push(client.instruction());
    }
    assert_eq!(forward.len(), count);
    let mut backward = Vec::new();
    while client.go("reverseContinue", json!({}))["reason"] == "function breakpoint" {
        backward.push(client.instruction());
    }
    backward.reverse();
    assert_eq!(forward, backward);
    assert_eq!(client.instruction(), 0);
    // A step over the calls stops at a breakpoint in them.
    client.goto("first function solve");
    let mut stop = json!(null);
    for _ in 0..20 {
        stop = client.go("next", json!({}));
        if stop["reason"] != "step" {
            break;
        }
    }
    assert_eq!(stop["reason"], "function breakpoint", "{stop}");
    assert_eq!(client.instruction(), forward[0]);
    client.disconnect();
}

/// Where trace was lost, a run ends if that is wanted, and a step over it states it both ways.
#[test]
fn losses_are_stated() {
    let demo = demo();
    let buffer = format!("{}/ETB.bin", demo.path);
    let mut bytes = std::fs::read(&buffer).expect("a buffer");
    bytes[992..1056].fill(0x80);
    std::fs::write(&buffer, bytes).expect("written");
    let mut client = Client::open(&demo.path, json!({ "stopAt": "start" }));
    client.good("setExceptionBreakpoints", json!({ "filters": ["loss"] }));
    let mut found = 0;
    loop {
        let stop = client.go("continue", json!({}));
        if stop["reason"] != "exception" {
            break;
        }
        let (behind, at) = (client.instruction(), client.at());
        if behind == 0 {
            continue;
        }
        let back = client.go("stepBack", json!({ "granularity": "instruction" }));
        assert!(back["text"].as_str().is_some_and(|text| text.contains("lost")), "{back}");
        assert_eq!(client.instruction() + 1, behind);
        let again = client.go("stepIn", json!({ "granularity": "instruction" }));
        assert!(again["text"].as_str().is_some_and(|text| text.contains("lost")), "{again}");
        assert_eq!((client.instruction(), client.at()), (behind, at));
        found += 1;
    }
    assert!(found >= 1);
    // Callers from before a loss are marked: a line states that, and they are less prominent.
    let (mut marked, mut certain) = (0, 0);
    client.goto("last gap");
    for _ in 0..200 {
        let frames = client.frames(1);
        let hints: Vec<_> =
            frames.iter().filter_map(|one| one["presentationHint"].as_str()).collect();
        let first = hints.iter().position(|hint| *hint != "normal").unwrap_or(hints.len());
        match frames.get(first) {
            Some(frame) => {
                assert_eq!(frame["name"], "[trace was lost here]", "{frames:?}");
                assert_eq!(hints[first], "label");
                assert!(first + 1 < hints.len(), "{frames:?}");
                assert!(hints[first + 1..].iter().all(|hint| *hint == "subtle"), "{frames:?}");
                client.refused("restartFrame", json!({ "frameId": frame["id"] }));
                marked += 1;
            }
            None => certain += 1,
        }
        client.go("stepIn", json!({ "granularity": "instruction" }));
    }
    assert!(marked > 0, "{certain}");
    client.disconnect();
}
