//! Breakpoints at lines with several addresses: their executions have one count together.

use std::fmt::Write;
use std::process::Command;

use serde_json::{Value, json};
use tracewright_testing::tool;

use crate::client::Client;
use crate::{Folder, text, tracewright};

/// Where the program begins.
const BASE: u64 = 0x8000;

/// How often the program passes its loop.
const TURNS: usize = 5;

/// A log of the program with this code, which has no conditional branches.
fn log(code: &[u8]) -> String {
    let mut log = String::from("cpu,step,address,isa,size,value\n");
    let (mut address, mut turns) = (BASE, 0);
    while turns < TURNS {
        let _ = writeln!(log, "0,instruction,{address:x},A32,,");
        let at = (address - BASE) as usize;
        let opcode = u32::from_le_bytes(code[at..at + 4].try_into().expect("a word"));
        address += 4;
        if opcode >> 24 == 0xea {
            let words = (opcode << 8) as i32 >> 8;
            address = (address + 4).wrapping_add_signed(4 * i64::from(words));
            turns += 1;
        }
    }
    log
}

/// The instructions at which runs from the beginning of the trace stop, and their addresses.
fn stops(client: &mut Client, condition: Option<&str>) -> Vec<(u64, String)> {
    let line = include_str!("hits.c").lines().position(|line| line.contains("sink = n"));
    let one = json!({ "line": line.expect("it") + 1, "hitCondition": condition });
    let arguments = json!({ "source": { "path": "hits.c" }, "breakpoints": [one] });
    let body = client.good("setBreakpoints", arguments);
    assert_eq!(body["breakpoints"][0]["verified"], true, "{body}");
    client.goto("start");
    let mut all = Vec::new();
    while client.go("continue", json!({}))["hitBreakpointIds"].is_array() {
        let top = client.top()["instructionPointerReference"].clone();
        all.push((client.instruction(), top.as_str().expect("an address").to_owned()));
    }
    all
}

/// The executions that a hit condition names are those among the stops without one.
#[test]
fn executions_of_several_addresses_have_one_count() {
    let compiler = [("arm-linux-gnueabihf-gcc", "gcc-arm-linux-gnueabihf")];
    let Some(compiler) = tool(&compiler) else { return };
    let folder = Folder::new("dap-hits");
    let path = |name: &str| text(&folder, name);
    std::fs::write(path("hits.c"), include_str!("hits.c")).expect("a source");
    let run = |program: &str, options: &str| {
        let status = Command::new(program).args(options.split(' ')).current_dir(path("")).status();
        assert!(status.expect("it runs").success(), "{options}");
    };
    let options = "-march=armv7-a+fp -marm -g -O1 -static -nostdlib -fno-pie -Wl,--build-id=none \
                   -Wl,-Ttext=0x8000 hits.c -o hits.elf";
    run(compiler, options);
    run(&compiler.replace("gcc", "objcopy"), "-O binary -j .text hits.elf hits.bin");
    let code = std::fs::read(path("hits.bin")).expect("the code");
    std::fs::write(path("log.csv"), log(&code)).expect("a log");
    let (elf, log, capture) = (path("hits.elf"), path("log.csv"), path("capture"));
    let options = ["encode", "--protocol", "ETM3", "--config", "ETMCR=0xd000", "--image"];
    tracewright(&[&options[..], &[&elf, "--log", &log, "-o", &capture]].concat());

    let mut client = Client::open(&capture, json!({ "stopAt": "start" }));
    let all = stops(&mut client, None);
    let mut addresses: Vec<&str> = all.iter().map(|(_, at)| at.as_str()).collect();
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!((addresses.len(), all.len()), (3, 3 * TURNS), "{all:?}");
    // Each has its number, forward and back.
    for n in 1..=all.len() + 1 {
        let got = stops(&mut client, Some(&n.to_string()));
        let want: Vec<_> = all.get(n - 1).into_iter().cloned().collect();
        assert_eq!(got, want, "{n}");
        client.goto("end");
        let stop = client.go("reverseContinue", json!({}));
        assert_eq!(stop["hitBreakpointIds"].is_array(), n <= all.len(), "{n}");
        assert!(n > all.len() || client.instruction() == all[n - 1].0, "{n}");
    }
    let each: Vec<_> = all.iter().skip(3).step_by(4).cloned().collect();
    assert_eq!(stops(&mut client, Some("% 4")), each);
    assert_eq!(stops(&mut client, Some(">= 8")), all[7..]);
    assert_eq!(stops(&mut client, Some("< 5")), all[..4]);
    client.goto("end");
    client.go("reverseContinue", json!({}));
    assert_eq!(client.instruction(), all[3].0);
    // In the middle of the trace, the place has its number.
    client.goto(&format!("instruction {}", all[7].0));
    let line = client.top()["line"].clone();
    let body = client.good("gotoTargets", json!({ "source": { "path": "hits.c" }, "line": line }));
    let labels = body["targets"].as_array().expect("targets").iter();
    let labels: Vec<&Value> = labels.map(|own| &own["label"]).collect();
    let want = [
        "previous execution (#7",
        "next execution (#9",
        "first execution (#1",
        "last execution (#15",
    ];
    let want: Vec<String> = want.iter().map(|own| format!("{own} of 15)")).collect();
    assert_eq!(labels, want.iter().collect::<Vec<_>>(), "{body}");
    client.disconnect();
}
