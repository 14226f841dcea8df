//! Steps where a handler switches tasks.

use serde_json::json;

use crate::Folder;
use crate::client::Client;
use crate::two_tasks::{CALL, ERET, FUNCTION, SECOND, capture, opcode};

/// Each task is a thread of its own. One that waits has the stack that it had, and is not stepped.
#[test]
fn tasks_that_wait_are_threads() {
    let folder = Folder::new("dap-waiting-tasks");
    let (capture, addresses) = capture(&folder);
    let number = |address: u64| addresses.iter().position(|own| *own == address).expect("it");
    let mut client = Client::open(&capture, json!({ "stopAt": "start" }));
    let threads = |client: &mut Client| -> Vec<(u64, String)> {
        let body = client.good("threads", json!({}));
        let all = body["threads"].as_array().expect("threads").iter();
        all.map(|own| (own["id"].as_u64().unwrap(), own["name"].as_str().unwrap().to_owned()))
            .collect()
    };
    let stack = |client: &mut Client, id: u64| -> Vec<String> {
        let body = client.good("stackTrace", json!({ "threadId": id }));
        let frames = body["stackFrames"].as_array().expect("frames").iter();
        frames
            .map(|own| own["instructionPointerReference"].as_str().unwrap_or("-").to_owned())
            .collect()
    };
    let first = threads(&mut client);
    assert_eq!(first.len(), 1, "{first:?}");
    assert!(first[0].1.contains("thread 81"), "{first:?}");
    // In the second task, the first one is in the function that it has called.
    client.goto(&format!("instruction {}", number(SECOND) + 2));
    let inside = threads(&mut client);
    let [(own, name), (other, waits)] = &inside[..] else { panic!("{inside:?}") };
    assert!(name.contains("thread 82") && !name.contains("waits"), "{inside:?}");
    assert!(waits.contains("thread 81") && waits.ends_with(", waits"), "{inside:?}");
    assert_eq!(*other, first[0].0);
    let hex = |address: u64| format!("{address:#x}");
    assert_eq!(stack(&mut client, *other), [hex(FUNCTION + 4), hex(CALL + 4)]);
    assert_eq!(stack(&mut client, *own), [hex(SECOND + 8)]);
    let refused = client.refused("next", json!({ "threadId": other }));
    assert!(refused.contains("the task waits"), "{refused}");
    let frame = client.good("stackTrace", json!({ "threadId": other }));
    let frame = &frame["stackFrames"][0];
    assert_eq!(frame["canRestart"], json!(false));
    let scopes = client.good("scopes", json!({ "frameId": frame["id"] }));
    let names = scopes["scopes"].as_array().expect("scopes").iter();
    assert!(
        names.clone().count() > 0 && names.into_iter().all(|own| own["name"] != "Trace"),
        "{scopes}"
    );
    // A stop names the task that executes.
    let stop = client.go("next", json!({ "threadId": own, "granularity": "instruction" }));
    assert_eq!(stop["threadId"], json!(own), "{stop}");
    client.goto(&format!("instruction {}", number(CALL + 4)));
    let back = threads(&mut client);
    assert_eq!(back[0].0, first[0].0, "{back:?}");
    assert!(back[1].1.contains("thread 82, waits"), "{back:?}");
    assert_eq!(stack(&mut client, back[1].0), [hex(SECOND + 24)]);
    client.disconnect();
}

/// Runs end behind returns from exceptions.
#[test]
fn returns_from_exceptions() {
    let folder = Folder::new("dap-returns");
    let (capture, addresses) = capture(&folder);
    let mut client = Client::open(&capture, json!({ "stopAt": "start" }));
    let filters = json!({ "filters": ["return"] });
    let body = client.good("setExceptionBreakpoints", filters);
    assert_eq!(body["breakpoints"][0]["verified"], true, "{body}");
    let last = |n: &usize| opcode(addresses[*n]) == ERET;
    let behind: Vec<u64> = (0..addresses.len()).filter(last).map(|n| n as u64 + 1).collect();
    assert_eq!(behind.len(), 2);
    for number in &behind {
        let stop = client.go("continue", json!({}));
        assert_eq!(stop["reason"], "exception", "{stop}");
        assert_eq!(stop["text"], "returned from an exception");
        assert_eq!(client.instruction(), *number);
        let info = client.good("exceptionInfo", json!({ "threadId": 1 }));
        assert_eq!(info["exceptionId"], "exception-return", "{info}");
    }
    assert_ne!(client.go("continue", json!({}))["reason"], "exception");
    for number in behind.iter().rev() {
        client.go("reverseContinue", json!({}));
        assert_eq!(client.instruction(), *number);
    }
    let all = client.console("count exception-return");
    assert!(all == "2" || all == "4", "{all}");
    client.disconnect();
}

/// A step over the call passes the other task; a step of which the next instruction is one of the
/// other task ends there, and states that.
#[test]
fn steps_stay_in_their_task() {
    let folder = Folder::new("dap-tasks");
    let (capture, addresses) = capture(&folder);
    let number = |address: u64| addresses.iter().position(|own| *own == address).expect("it");
    let by = json!({ "granularity": "instruction" });
    let mut client = Client::open(&capture, json!({ "stopAt": "start" }));
    // Over the call.
    client.goto(&format!("instruction {}", number(CALL)));
    let stop = client.go("next", by.clone());
    assert_eq!((stop["reason"].as_str(), &stop["text"]), (Some("step"), &json!(null)), "{stop}");
    assert_eq!(client.instruction(), number(CALL + 4) as u64);
    // The last instruction of the handler, behind which the other task executes.
    client.goto(&format!("instruction {}", number(SECOND) - 1));
    let stop = client.go("next", by);
    let stated = stop["text"].as_str().is_some_and(|text| text.contains("another task"));
    assert!(stated, "{stop}");
    assert_eq!(client.instruction(), number(SECOND) as u64);
    client.disconnect();
}
