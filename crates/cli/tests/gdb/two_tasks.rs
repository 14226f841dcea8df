//! A capture with two tasks: a handler switches from one to the other and back.

use std::fmt::Write;

use crate::{Folder, tracewright};

/// Where the code of the first task, of the second one, of a function and of a handler is.
pub const FIRST: u64 = 0x8_1000;
pub const SECOND: u64 = 0x8_2000;
pub const FUNCTION: u64 = 0x8_4000;
pub const HANDLER: u64 = 0x9_0000;

/// The call in the first task.
pub const CALL: u64 = FIRST + 4;

const NOP: u32 = 0xd503_201f;
const RET: u32 = 0xd65f_03c0;
pub const ERET: u32 = 0xd69f_03e0;

pub fn opcode(address: u64) -> u32 {
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

/// The capture of the log in a folder, and the addresses of its instructions.
pub fn capture(folder: &Folder) -> (String, Vec<u64>) {
    let path = |name: &str| folder.path(name).to_str().expect("a path").to_owned();
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
    (capture, addresses)
}
