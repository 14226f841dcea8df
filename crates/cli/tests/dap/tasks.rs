//! Steps where a handler switches tasks.

use std::fmt::Write;

use serde_json::json;

use crate::client::Client;
use crate::{Folder, text, tracewright};

/// Where the code of the first task, of the second one, of a function and of a handler is.
const FIRST: u64 = 0x8_1000;
const SECOND: u64 = 0x8_2000;
const FUNCTION: u64 = 0x8_4000;
const HANDLER: u64 = 0x9_0000;

/// The call in the first task.
const CALL: u64 = FIRST + 4;

const NOP: u32 = 0xd503_201f;
const RET: u32 = 0xd65f_03c0;
const ERET: u32 = 0xd69f_03e0;

fn opcode(address: u64) -> u32 {
    const AT: u64 = HANDLER + 8;
    const END: u64 = FUNCTION + 8;
    match address {
        CALL => 0x9400_0000 | ((FUNCTION - CALL) / 4) as u32,
        END => RET,
        AT => ERET,
        _ => NOP,
    }
}

/// A task calls a function, in which a handler switches to another task and back.
fn log() -> (String, Vec<u64>) {
    let mut log = String::from("step,address,isa,opcode,value,cause,target\n");
    let mut addresses = Vec::new();
    let mut steps = |log: &mut String, from: u64, count: u64| {
        for address in (0..count).map(|n| from + 4 * n) {
            let _ = writeln!(log, ",{address:x},A64,{:08x},,,", opcode(address));
            addresses.push(address);
        }
    };
    let context = |log: &mut String, id: u32| {
        let _ = writeln!(log, "contextid,,,,{id:x},,");
    };
    let interrupt = |log: &mut String, back: u64| {
        let _ = writeln!(log, "exception,{back:x},,,,irq,{HANDLER:x}");
    };
    context(&mut log, 0x51);
    steps(&mut log, FIRST, 2);
    steps(&mut log, FUNCTION, 1);
    interrupt(&mut log, FUNCTION + 4);
    steps(&mut log, HANDLER, 3);
    context(&mut log, 0x52);
    steps(&mut log, SECOND, 6);
    interrupt(&mut log, SECOND + 24);
    steps(&mut log, HANDLER, 3);
    context(&mut log, 0x51);
    steps(&mut log, FUNCTION + 4, 2);
    steps(&mut log, CALL + 4, 6);
    (log, addresses)
}

/// A step over the call passes the other task; a step of which the next instruction is one of the
/// other task ends there, and states that.
#[test]
fn steps_stay_in_their_task() {
    let folder = Folder::new("dap-tasks");
    let path = |name: &str| text(&folder, name);
    let (log, addresses) = log();
    std::fs::write(path("log.csv"), log).expect("a log");
    let words = (FIRST..HANDLER + 0x20).step_by(4).map(opcode);
    let image: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    std::fs::write(path("program.bin"), image).expect("an image");
    let (log, capture) = (path("log.csv"), path("capture"));
    let image = format!("{}@{FIRST:#x}", path("program.bin"));
    let options = ["encode", "--protocol", "ETM4", "--config", "TRCCONFIGR=0x841", "--image"];
    let files = [image.as_str(), "--log", log.as_str(), "-o", capture.as_str()];
    tracewright(&[&options[..], &files[..]].concat());
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
