//! Data breakpoints, and memory that data accesses show.

use std::fmt::Write;
use std::process::Command;

use serde_json::{Value, json};
use tracewright_testing::tool;

use crate::client::Client;
use crate::{Folder, text, tracewright};

/// Where the variables of the program are.
const DATA: u64 = 0x20000;

/// The log of the program in `watched.c`, and the values that it writes to its first variable, with
/// the number of the instruction.
fn log() -> (String, Vec<(u64, u32)>) {
    let mut log = String::from("cpu,step,address,isa,size,value\n");
    let (mut count, mut writes) = (0, Vec::new());
    let mut step = |address: u64, access: Option<(&str, u64, u32, u32)>| {
        let _ = writeln!(log, "0,instruction,{address:x},A32,,");
        if let Some((kind, at, size, value)) = access {
            let _ = writeln!(log, "0,{kind},{at:x},,{size},{value:x}");
            if (kind, at) == ("write", DATA) {
                writes.push((count, value));
            }
        }
        count += 1;
    };
    (0..3).for_each(|n| step(0x8000 + 4 * n, None));
    let mut sum = 0;
    for n in (1..=5).rev() {
        step(0x800c, Some(("read", DATA, 4, sum)));
        step(0x8010, None);
        sum += n;
        step(0x8014, Some(("write", DATA, 4, sum)));
        step(0x8018, None);
        step(0x801c, Some(("write", DATA + 4, 1, n)));
        step(0x8020, None);
        step(0x8024, None);
    }
    (0..3).for_each(|n| step(0x8028 + 4 * n, None));
    (log, writes)
}

/// The data accesses of the instruction at which the trace stands.
fn accesses(client: &mut Client) -> Vec<Value> {
    let id = client.top()["id"].clone();
    let scopes = client.good("scopes", json!({ "frameId": id }))["scopes"].clone();
    let mut scopes = scopes.as_array().expect("a list").iter();
    let own = scopes.find(|scope| scope["name"] == "Accesses").expect("the scope");
    let reference = json!({ "variablesReference": own["variablesReference"] });
    client.good("variables", reference)["variables"].as_array().expect("a list").clone()
}

/// Who wrote a variable last, and before that; forward the same, behind each write.
#[test]
fn who_wrote_it_last() {
    let compiler = [("arm-linux-gnueabihf-gcc", "gcc-arm-linux-gnueabihf")];
    let Some(compiler) = tool(&compiler) else { return };
    let folder = Folder::new("dap");
    let path = |name: &str| text(&folder, name);
    std::fs::write(path("watched.c"), include_str!("../gdb/watched.c")).expect("a source");
    let (log, writes) = log();
    std::fs::write(path("log.csv"), log).expect("a log");
    let options = "-march=armv7-a+fp -marm -g -O1 -static -nostdlib -fno-pie -Wl,--build-id=none \
                   -Wl,-Ttext=0x8000 -Wl,-Tbss=0x20000 watched.c -o watched.elf";
    let compiled =
        Command::new(compiler).args(options.split_whitespace()).current_dir(path("")).status();
    assert!(compiled.expect("the compiler runs").success());
    let (elf, log, capture) = (path("watched.elf"), path("log.csv"), path("capture"));
    tracewright(&[
        "encode",
        "--log",
        &log,
        "--protocol",
        "ETM3",
        "--config",
        "ETMCR=0xd00c",
        "--image",
        &elf,
        "-o",
        &capture,
    ]);
    let mut client = Client::open(&capture, json!({}));
    let info = client.good("dataBreakpointInfo", json!({ "name": "values", "bytes": 4 }));
    let list = json!([{ "dataId": info["dataId"], "accessType": "write" }]);
    let body = client.good("setDataBreakpoints", json!({ "breakpoints": list }));
    assert_eq!(body["breakpoints"][0]["verified"], true, "{body} {info}");
    let mut got = Vec::new();
    loop {
        let stop = client.go("reverseContinue", json!({}));
        if stop["reason"] != "data breakpoint" {
            break;
        }
        assert_eq!(stop["hitBreakpointIds"][0], body["breakpoints"][0]["id"]);
        let number = client.instruction();
        let all = accesses(&mut client);
        let (_, value) = writes.iter().find(|(own, _)| *own == number).expect("a write");
        assert_eq!(all.len(), 1, "{all:?}");
        assert_eq!(all[0]["name"], "values");
        let text = all[0]["value"].as_str().expect("a text");
        assert!(text.contains(&format!("<- {value:#010x}")), "{text} {value}");
        got.push(number);
    }
    // The instruction behind it makes none.
    client.go("stepIn", json!({ "granularity": "instruction" }));
    client.go("stepIn", json!({ "granularity": "instruction" }));
    assert!(accesses(&mut client).is_empty());
    client.goto("start");
    got.reverse();
    let want: Vec<u64> = writes.iter().map(|(number, _)| *number).collect();
    assert_eq!(got, want);
    // What no access has shown is not 0.
    let value = json!({ "expression": "values", "context": "watch" });
    assert_eq!(client.good("evaluate", value.clone())["result"], "unavailable");
    for (number, written) in &writes {
        let stop = client.go("continue", json!({}));
        assert_eq!(stop["reason"], "data breakpoint", "{stop}");
        assert_eq!(client.instruction(), number + 1);
        let reference = json!({ "memoryReference": format!("{DATA:#x}"), "count": 4 });
        let data = client.good("readMemory", reference)["data"].clone();
        // The first three of four bytes: the others are 0.
        let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let first = [digits[(written >> 2) as usize], digits[(written << 4 & 0x3f) as usize]];
        let first = String::from_utf8(first.to_vec()).expect("text");
        assert_eq!(data, format!("{first}AAAA=="), "{written}");
    }
    assert_ne!(client.go("continue", json!({}))["reason"], "data breakpoint");
    // Only the writes of some values, in both directions.
    let of = |condition: &str| json!([{ "dataId": info["dataId"], "accessType": "write", "condition": condition }]);
    let body = client.good("setDataBreakpoints", json!({ "breakpoints": of("value >= 12") }));
    assert_eq!(body["breakpoints"][0]["verified"], true, "{body}");
    let large: Vec<u64> = writes.iter().filter(|own| own.1 >= 12).map(|own| own.0).collect();
    assert!(large.len() > 1 && large.len() < writes.len());
    let run = |client: &mut Client, from: &str, command: &str| {
        client.goto(from);
        let mut all = Vec::new();
        while client.go(command, json!({}))["reason"] == "data breakpoint" {
            all.push(client.instruction());
        }
        all
    };
    let forward: Vec<u64> = large.iter().map(|number| number + 1).collect();
    assert_eq!(run(&mut client, "start", "continue"), forward);
    let backward: Vec<u64> = large.iter().rev().copied().collect();
    assert_eq!(run(&mut client, "end", "reverseContinue"), backward);
    let first = format!("instruction < {}", writes[1].0);
    client.good("setDataBreakpoints", json!({ "breakpoints": of(&first) }));
    assert_eq!(run(&mut client, "start", "continue"), [writes[0].0 + 1]);
    // Where the condition does not hold, what is at the next instruction ends a run or a step.
    client.good("setDataBreakpoints", json!({ "breakpoints": of("value > 1000") }));
    client.goto(&format!("instruction {}", writes[1].0));
    client.go("stepIn", json!({ "granularity": "instruction" }));
    assert_eq!(client.instruction(), writes[1].0 + 1);
    let behind = client.top()["instructionPointerReference"].clone();
    let list = json!([{ "instructionReference": behind }]);
    client.good("setInstructionBreakpoints", json!({ "breakpoints": list }));
    let stops = |client: &mut Client, from: &str, command: &str| {
        client.goto(from);
        let mut all = Vec::new();
        while client.go(command, json!({}))["hitBreakpointIds"].is_array() {
            all.push(client.instruction());
        }
        all
    };
    let all: Vec<u64> = writes.iter().map(|own| own.0 + 1).collect();
    assert_eq!(stops(&mut client, "start", "continue"), all);
    // Going back, at the instruction that makes the access.
    let own = json!([{ "instructionReference": behind, "offset": -4 }]);
    client.good("setInstructionBreakpoints", json!({ "breakpoints": own }));
    let all: Vec<u64> = writes.iter().rev().map(|own| own.0).collect();
    assert_eq!(stops(&mut client, "end", "reverseContinue"), all);
    client.good("setInstructionBreakpoints", json!({ "breakpoints": [] }));
    let counted = json!([{ "dataId": info["dataId"], "hitCondition": "2" }]);
    let body = client.good("setDataBreakpoints", json!({ "breakpoints": counted }));
    assert_eq!(body["breakpoints"][0]["verified"], false, "{body}");
    // The value is that of an access.
    let list = json!([{ "name": "main", "condition": "value == 1" }]);
    let body = client.good("setFunctionBreakpoints", json!({ "breakpoints": list }));
    assert_eq!(body["breakpoints"][0]["verified"], false, "{body}");
    client.disconnect();
}
