//! RISC-V encoders. Registers are numbers, 0 to 31. A compressed opcode is in bits \[15:0].

use tracewright_base::{Instruction, Isa, Kind, Role};

use super::field;

/// ADDI X0, X0, 0.
pub const NOP: u32 = 0x0000_0013;
/// C.NOP.
pub const C_NOP: u32 = 0x0001;
/// ECALL.
pub const ECALL: u32 = 0x0000_0073;
/// EBREAK.
pub const EBREAK: u32 = 0x0010_0073;
/// C.EBREAK.
pub const C_EBREAK: u32 = 0x9002;
/// URET.
pub const URET: u32 = 0x0020_0073;
/// SRET.
pub const SRET: u32 = 0x1020_0073;
/// MRET.
pub const MRET: u32 = 0x3020_0073;
/// WFI.
pub const WFI: u32 = 0x1050_0073;
/// WRS.NTO.
pub const WRS_NTO: u32 = 0x00d0_0073;
/// FENCE RW, RW.
pub const FENCE: u32 = 0x0330_000f;
/// FENCE.I.
pub const FENCE_I: u32 = 0x0000_100f;
/// UNIMP: CSRRW of a CSR that cannot be written, which raises an illegal instruction exception.
pub const UNIMP: u32 = 0xc000_1073;
/// The opcode that a branch of a reserved condition would have.
pub const UNDEFINED: u32 = 0x0000_2063;
/// C.UNIMP.
pub const C_UNIMP: u32 = 0x0000;

/// BEQ of `left` and `right`.
pub const fn beq(left: u8, right: u8, by: i32) -> Option<u32> {
    let Some(field) = field(by, 12, 1) else { return None };
    // `field` is imm[12:1].
    let high = (field >> 11 & 1) << 31 | (field >> 4 & 0x3f) << 25;
    let low = (field & 0xf) << 8 | (field >> 10 & 1) << 7;
    Some(0x63 | high | low | register(left, 15) | register(right, 20))
}

/// JAL.
pub const fn jal(rd: u8, by: i32) -> Option<u32> {
    let Some(field) = field(by, 20, 1) else { return None };
    // `field` is imm[20:1].
    let high = (field >> 19 & 1) << 31 | (field & 0x3ff) << 21;
    let low = (field >> 10 & 1) << 20 | (field >> 11 & 0xff) << 12;
    Some(0x6f | high | low | register(rd, 7))
}

/// JALR to `base + by`.
pub const fn jalr(rd: u8, base: u8, by: i32) -> Option<u32> {
    match field(by, 12, 0) {
        Some(field) => Some(0x67 | field << 20 | register(rd, 7) | register(base, 15)),
        None => None,
    }
}

/// LUI; bits \[31:12] of `value` count.
pub const fn lui(rd: u8, value: u32) -> u32 {
    0x37 | value & 0xffff_f000 | register(rd, 7)
}

/// AUIPC; bits \[31:12] of `value` count.
pub const fn auipc(rd: u8, value: u32) -> u32 {
    0x17 | value & 0xffff_f000 | register(rd, 7)
}

/// C.LUI of `pages`, -32 to 31 and not 0.
pub const fn c_lui(rd: u8, pages: i32) -> Option<u32> {
    match field(pages, 6, 0) {
        Some(f) if f != 0 && rd != 0 && rd != 2 => {
            Some(0x6001 | (f >> 5) << 12 | (f & 31) << 2 | register(rd, 7))
        }
        _ => None,
    }
}

/// C.J.
pub const fn c_j(by: i32) -> Option<u32> {
    c_jump(0xa001, by)
}

/// C.JAL, which RV64 does not have.
pub const fn c_jal(by: i32) -> Option<u32> {
    c_jump(0x2001, by)
}

const fn c_jump(opcode: u32, by: i32) -> Option<u32> {
    let Some(f) = field(by, 11, 1) else { return None };
    // `f` is imm[11:1]: bit n of the immediate is bit n - 1 here.
    let bits = (f >> 10 & 1) << 12
        | (f >> 3 & 1) << 11
        | (f >> 7 & 0b11) << 9
        | (f >> 9 & 1) << 8
        | (f >> 5 & 1) << 7
        | (f >> 6 & 1) << 6
        | (f & 0b111) << 3
        | (f >> 4 & 1) << 2;
    Some(opcode | bits)
}

/// C.BEQZ of `register`, 8 to 15.
pub const fn c_beqz(register: u8, by: i32) -> Option<u32> {
    let Some(f) = field(by, 8, 1) else { return None };
    if register < 8 || register > 15 {
        return None;
    }
    // `f` is imm[8:1].
    let bits = (f >> 7 & 1) << 12
        | (f >> 2 & 0b11) << 10
        | (f >> 5 & 0b11) << 5
        | (f & 0b11) << 3
        | (f >> 4 & 1) << 2;
    Some(0xc001 | bits | ((register - 8) as u32) << 7)
}

/// C.JR; with X1 or X5 a return.
pub const fn c_jr(base: u8) -> u32 {
    0x8002 | register(base, 7)
}

/// C.JALR.
pub const fn c_jalr(base: u8) -> u32 {
    0x9002 | register(base, 7)
}

/// CM.JT and, from 32 on, CM.JALT of Zcmt.
pub const fn cm_jt(index: u8) -> u32 {
    0xa002 | (index as u32) << 2
}

/// CM.POPRET of the register list `list`, 4 to 15.
pub const fn cm_popret(list: u8) -> u32 {
    0xbe02 | (list as u32 & 0xf) << 4
}

const fn register(number: u8, shift: u32) -> u32 {
    (number as u32 & 31) << shift
}

pub(super) fn assemble(instruction: &Instruction, by: Option<i32>) -> Option<u32> {
    let narrow = instruction.size == 2;
    match (instruction.kind, instruction.role) {
        (Kind::Plain, _) => Some(if narrow { C_NOP } else { NOP }),
        (Kind::Branch, _) if instruction.conditional && narrow => c_beqz(8, by?),
        (Kind::Branch, _) if instruction.conditional => beq(10, 11, by?),
        (Kind::Branch, Role::Call) if narrow && instruction.isa == Isa::Rv32 => c_jal(by?),
        (Kind::Branch, Role::Call) => jal(1, by?),
        (Kind::Branch, Role::Link) => jal(6, by?),
        (Kind::Branch, _) if narrow => c_j(by?),
        (Kind::Branch, _) => jal(0, by?),
        (Kind::Indirect, Role::Jump) if narrow => Some(c_jr(10)),
        (Kind::Indirect, Role::Return) if narrow => Some(c_jr(1)),
        (Kind::Indirect, Role::Call) if narrow => Some(c_jalr(10)),
        (Kind::Indirect, Role::Swap) if narrow => Some(c_jalr(5)),
        (Kind::Indirect, Role::Jump) => jalr(0, 10, 0),
        (Kind::Indirect, Role::Return) => jalr(0, 1, 0),
        (Kind::Indirect, Role::Call) => jalr(1, 10, 0),
        (Kind::Indirect, Role::Swap) => jalr(1, 5, 0),
        (Kind::Indirect, Role::Link) => jalr(6, 10, 0),
        (Kind::Indirect, Role::ExceptionReturn) => Some(MRET),
        (Kind::Indirect, _) => None,
        (Kind::Isb, _) => Some(FENCE_I),
        (Kind::Barrier, _) => Some(FENCE),
        (Kind::Wait, _) => Some(WFI),
        (Kind::TimedWait, _) => Some(WRS_NTO),
        (Kind::TransactionStart, _) => None,
        (Kind::Undefined, _) => Some(if narrow { C_UNIMP } else { UNDEFINED }),
    }
}
