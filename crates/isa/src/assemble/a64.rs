//! A64 encoders.

use tracewright_base::{Instruction, Kind, Role};

use super::field;

/// NOP.
pub const NOP: u32 = 0xd503_201f;
/// UDF #0.
pub const UDF: u32 = 0x0000_0000;
/// SVC #0.
pub const SVC: u32 = 0xd400_0001;
/// ERET.
pub const ERET: u32 = 0xd69f_03e0;
/// ISB SY.
pub const ISB: u32 = 0xd503_3fdf;
/// DSB SY.
pub const DSB: u32 = 0xd503_3f9f;
/// WFE.
pub const WFE: u32 = 0xd503_205f;
/// WFI.
pub const WFI: u32 = 0xd503_207f;
/// WFIT X0.
pub const WFIT: u32 = 0xd503_1020;
/// TSTART X0.
pub const TSTART: u32 = 0xd523_3060;

/// B.
pub const fn b(by: i32) -> Option<u32> {
    or(0x1400_0000, field(by, 26, 2), 0)
}

/// BL.
pub const fn bl(by: i32) -> Option<u32> {
    or(0x9400_0000, field(by, 26, 2), 0)
}

/// B.cond; `condition` 0 is EQ.
pub const fn b_cond(condition: u8, by: i32) -> Option<u32> {
    or(0x5400_0000 | condition as u32 & 0xf, field(by, 19, 2), 5)
}

/// CBZ of X`register`, or CBNZ.
pub const fn cbz(nonzero: bool, register: u8, by: i32) -> Option<u32> {
    let opcode = 0xb400_0000 | (nonzero as u32) << 24 | register as u32 & 0x1f;
    or(opcode, field(by, 19, 2), 5)
}

/// TBZ of `bit` of X`register`, or TBNZ.
pub const fn tbz(nonzero: bool, register: u8, bit: u8, by: i32) -> Option<u32> {
    let bit = bit as u32;
    let bits = (bit >> 5 & 1) << 31 | (bit & 0x1f) << 19;
    let opcode = 0x3600_0000 | bits | (nonzero as u32) << 24 | register as u32 & 0x1f;
    or(opcode, field(by, 14, 2), 5)
}

/// CBEQ of X`left` and X`right`.
pub const fn cbeq(left: u8, right: u8, by: i32) -> Option<u32> {
    let opcode = 0xf4c0_0000 | (right as u32 & 0x1f) << 16 | left as u32 & 0x1f;
    or(opcode, field(by, 9, 2), 5)
}

/// BR X`register`.
pub const fn br(register: u8) -> u32 {
    0xd61f_0000 | (register as u32 & 0x1f) << 5
}

/// BLR X`register`.
pub const fn blr(register: u8) -> u32 {
    0xd63f_0000 | (register as u32 & 0x1f) << 5
}

/// RET X`register`; 30 is LR.
pub const fn ret(register: u8) -> u32 {
    0xd65f_0000 | (register as u32 & 0x1f) << 5
}

const fn or(opcode: u32, field: Option<u32>, shift: u32) -> Option<u32> {
    match field {
        Some(field) => Some(opcode | field << shift),
        None => None,
    }
}

pub(super) fn assemble(instruction: &Instruction, by: Option<i32>) -> Option<u32> {
    match (instruction.kind, instruction.role) {
        (Kind::Plain, _) => Some(NOP),
        (Kind::Branch, Role::Call) => bl(by?),
        (Kind::Branch, Role::Compare) => cbeq(0, 1, by?),
        (Kind::Branch, Role::Loop) => None,
        (Kind::Branch, _) if instruction.conditional => b_cond(0, by?),
        (Kind::Branch, _) => b(by?),
        (Kind::Indirect, Role::Jump) => Some(br(16)),
        (Kind::Indirect, Role::Call) => Some(blr(16)),
        (Kind::Indirect, Role::Return) => Some(ret(30)),
        (Kind::Indirect, Role::ExceptionReturn) => Some(ERET),
        (Kind::Indirect, _) => None,
        (Kind::Isb, _) => Some(ISB),
        (Kind::Barrier, _) => Some(DSB),
        (Kind::Wait, _) => Some(WFI),
        (Kind::TimedWait, _) => Some(WFIT),
        (Kind::TransactionStart, _) => Some(TSTART),
        (Kind::Undefined, _) => Some(UDF),
    }
}
