//! The program: it squares 3, 2 and 1 in a function, and calls the operating system.

use tracewright::isa::assemble::a64;

/// The address of the program.
pub const START: u64 = 0x8_0000;
/// Calls `square` three times.
pub const MAIN: u64 = START;
/// The function `square`.
pub const SQUARE: u64 = START + 0x20;
/// The exception vector.
pub const VECTOR: u64 = START + 0x40;
/// The instruction after the SVC.
pub const AFTER_CALL: u64 = MAIN + 0x14;

/// Name, address and size in bytes.
pub const SYMBOLS: &[(&str, u64, u64)] =
    &[("main", MAIN, 0x1c), ("square", SQUARE, 8), ("vector", VECTOR, 8)];

/// The opcodes, from `START` on.
pub fn code() -> Option<Vec<u8>> {
    let opcodes = [
        0xd280_0073,         // main: mov x19, #3
        a64::bl(0x1c)?,      // again: bl square
        0xf100_0673,         // subs x19, x19, #1
        a64::b_cond(1, -8)?, // b.ne again
        a64::SVC,            // svc #0
        a64::WFI,            // wait: wfi
        a64::b(-4)?,         // b wait
        a64::NOP,
        0x9b13_7e60,  // square: mul x0, x19, x19
        a64::ret(30), // ret
        a64::NOP,
        a64::NOP,
        a64::NOP,
        a64::NOP,
        a64::NOP,
        a64::NOP,
        0xd538_5201, // vector: mrs x1, esr_el1
        a64::ERET,   // eret
    ];
    Some(opcodes.iter().flat_map(|opcode| opcode.to_le_bytes()).collect())
}
