//! Messages that are damaged, cut, or wrong.

use serde_json::json;
use tracewright_testing::{Random, times};

use crate::client::Client;
use crate::demo;

/// The commands of the protocol that are known.
const COMMANDS: [&str; 34] = [
    "initialize",
    "launch",
    "attach",
    "configurationDone",
    "threads",
    "stackTrace",
    "scopes",
    "variables",
    "setBreakpoints",
    "setFunctionBreakpoints",
    "setInstructionBreakpoints",
    "setDataBreakpoints",
    "setExceptionBreakpoints",
    "dataBreakpointInfo",
    "breakpointLocations",
    "loadedSources",
    "source",
    "continue",
    "reverseContinue",
    "pause",
    "gotoTargets",
    "goto",
    "restartFrame",
    "disassemble",
    "readMemory",
    "evaluate",
    "cancel",
    "exceptionInfo",
    "stepInTargets",
    "next",
    "stepIn",
    "stepOut",
    "stepBack",
    "nonsense",
];

/// Members that requests have, with values of wrong types and out of range.
fn arguments(random: &mut Random) -> serde_json::Value {
    let names = [
        "threadId",
        "frameId",
        "variablesReference",
        "source",
        "breakpoints",
        "line",
        "levels",
        "startFrame",
        "targetId",
        "memoryReference",
        "count",
        "offset",
        "instructionOffset",
        "instructionCount",
        "expression",
        "granularity",
        "name",
        "filters",
        "context",
    ];
    let mut all = serde_json::Map::new();
    for name in names {
        let value = match random.below(16) {
            0 => json!(null),
            1 => json!(-1),
            2 => json!(i64::MAX),
            3 => json!(u64::MAX),
            4 => json!(1e300),
            5 => json!("0xffffffffffffffff"),
            6 => json!([1, null, {}]),
            7 => json!([{ "line": 5, "name": "show", "instructionReference": "0x0" }]),
            8 => json!({ "path": "program.c" }),
            9 => json!(random.below(4)),
            10 => json!("all any"),
            11 => json!("instruction"),
            _ => continue,
        };
        all.insert(name.into(), value);
    }
    json!(all)
}

/// Each request is answered, whatever its arguments are.
#[test]
fn random_requests_are_answered() {
    let demo = demo();
    let mut client = Client::open(&demo.path, json!({}));
    let mut random = Random::new(57);
    for _ in 0..times(200) {
        let command = COMMANDS[random.below(COMMANDS.len() as u64) as usize];
        let answer = client.request(command, arguments(&mut random));
        assert_eq!(answer["command"], command);
        client.events.clear();
    }
    assert!(client.good("threads", json!({}))["threads"].is_array());
    client.disconnect();
}

/// What is no message is stated; what follows is answered.
#[test]
fn damaged_messages_are_stated() {
    let demo = demo();
    let mut client = Client::start(&[]);
    for bytes in [
        &b"nonsense\r\n\r\n"[..],
        b"Content-Length: 3\r\n\r\n{{{",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 4\r\n\r\n\xff\xfe\x00\x01",
        b"Content-Length: 99999999999999999999\r\n\r\n",
    ] {
        client.write(bytes);
        let text = client.event("output")["body"]["output"].clone();
        assert!(text.as_str().is_some_and(|text| text.contains("not understood")), "{text}");
    }
    assert!(client.refused("next", json!({ "threadId": 1 })).contains("launch"));
    let why = client.refused("launch", json!({ "capture": "/nowhere" }));
    assert!(why.contains("nowhere"), "{why}");
    assert!(client.refused("launch", json!({ "capture": 3 })).contains("capture"));
    let arguments = json!({ "capture": demo.path, "stopAt": "nowhere" });
    assert!(client.refused("launch", arguments).contains("stopAt"));
    for option in ["--nonsense", "--at", "--committed"] {
        let arguments = json!({ "capture": demo.path, "arguments": [option] });
        assert!(client.refused("launch", arguments).contains(option));
    }
    // A launch that fails may be followed by another one, byte by byte.
    let message = json!({
        "seq": 99, "type": "request", "command": "launch", "arguments": { "capture": demo.path },
    });
    let message = message.to_string();
    let message = format!("Content-Length: {}\r\n\r\n{message}", message.len());
    for byte in message.as_bytes() {
        client.write(&[*byte]);
    }
    assert_eq!(client.answer(99)["success"], true);
    client.write(b"Content-Length: 37\r\n\r\n{\"seq\":100,\"type\":\"request\",\"command\"");
    client.close();
    assert!(client.ended());
}
