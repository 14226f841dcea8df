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
/// TCOMMIT.
pub const TCOMMIT: u32 = 0xd503_307f;
/// TCANCEL #0.
pub const TCANCEL: u32 = 0xd460_0000;
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

/// What an instruction of two registers does with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alu {
    /// ADD.
    Add,
    /// SUB.
    Sub,
    /// SUBS: a comparison, too.
    Subs,
    /// AND.
    And,
    /// ORR.
    Orr,
    /// EOR.
    Eor,
    /// MUL.
    Mul,
}

/// `operation` of X`a` and X`b` into X`d`.
pub const fn alu(operation: Alu, d: u8, a: u8, b: u8) -> u32 {
    let opcode = match operation {
        Alu::Add => 0x8b00_0000,
        Alu::Sub => 0xcb00_0000,
        Alu::Subs => 0xeb00_0000,
        Alu::And => 0x8a00_0000,
        Alu::Orr => 0xaa00_0000,
        Alu::Eor => 0xca00_0000,
        Alu::Mul => 0x9b00_7c00,
    };
    opcode | (b as u32 & 0x1f) << 16 | two(a, d)
}

/// ADD of `immediate` (12 bits) to X`a` into X`d`.
pub const fn add_immediate(d: u8, a: u8, immediate: u32) -> u32 {
    0x9100_0000 | (immediate & 0xfff) << 10 | two(a, d)
}

/// SUBS of `immediate` (12 bits) from X`a` into X`d`; with 31 a CMP.
pub const fn subs_immediate(d: u8, a: u8, immediate: u32) -> u32 {
    0xf100_0000 | (immediate & 0xfff) << 10 | two(a, d)
}

/// LSR of X`a` by `shift` into X`d`.
pub const fn lsr(d: u8, a: u8, shift: u8) -> u32 {
    0xd340_fc00 | (shift as u32 & 0x3f) << 16 | two(a, d)
}

/// MOVZ of 16 bits at bit 16 * `half` into X`d`.
pub const fn movz(d: u8, half: u8, bits: u16) -> u32 {
    0xd280_0000 | (half as u32 & 3) << 21 | (bits as u32) << 5 | d as u32 & 0x1f
}

/// MOVK of 16 bits at bit 16 * `half` into X`d`.
pub const fn movk(d: u8, half: u8, bits: u16) -> u32 {
    0xf280_0000 | (half as u32 & 3) << 21 | (bits as u32) << 5 | d as u32 & 0x1f
}

/// LDR of X`t` from X`n` + `offset`, a multiple of 8 below 32768.
pub const fn ldr(t: u8, n: u8, offset: u32) -> u32 {
    0xf940_0000 | (offset >> 3 & 0xfff) << 10 | two(n, t)
}

/// STR of X`t` to X`n` + `offset`, a multiple of 8 below 32768.
pub const fn str(t: u8, n: u8, offset: u32) -> u32 {
    0xf900_0000 | (offset >> 3 & 0xfff) << 10 | two(n, t)
}

/// STP of X`t` and X`u` to SP - 16, which becomes SP.
pub const fn push(t: u8, u: u8) -> u32 {
    0xa9bf_03e0 | (u as u32 & 0x1f) << 10 | t as u32 & 0x1f
}

/// LDP of X`t` and X`u` from SP, which becomes SP + 16.
pub const fn pop(t: u8, u: u8) -> u32 {
    0xa8c1_03e0 | (u as u32 & 0x1f) << 10 | t as u32 & 0x1f
}

const fn two(n: u8, d: u8) -> u32 {
    (n as u32 & 0x1f) << 5 | d as u32 & 0x1f
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
