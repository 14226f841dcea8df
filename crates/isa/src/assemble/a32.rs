//! A32 encoders. A `condition` is 0 for EQ to 14 for always ([`ALWAYS`]).

use tracewright_base::{Instruction, Isa, Kind, Role};

use super::field;

/// The condition that always holds.
pub const ALWAYS: u8 = 14;

/// ISB SY; it takes no condition.
pub const ISB: u32 = 0xf57f_f06f;
/// DSB SY; it takes no condition.
pub const DSB: u32 = 0xf57f_f04f;

/// NOP.
pub const fn nop(condition: u8) -> u32 {
    with(condition, 0x0320_f000)
}

/// WFI.
pub const fn wfi(condition: u8) -> u32 {
    with(condition, 0x0320_f003)
}

/// UDF #0 where the condition is [`ALWAYS`], no instruction elsewhere.
pub const fn udf(condition: u8) -> u32 {
    with(condition, 0x07f0_00f0)
}

/// B.
pub const fn b(condition: u8, by: i32) -> Option<u32> {
    direct(with(condition, 0x0a00_0000), by)
}

/// BL.
pub const fn bl(condition: u8, by: i32) -> Option<u32> {
    direct(with(condition, 0x0b00_0000), by)
}

/// BLX to T32; `by` is a multiple of 2.
pub const fn blx(by: i32) -> Option<u32> {
    match direct(0xfa00_0000, by & !0b10) {
        Some(opcode) => Some(opcode | (by as u32 & 0b10) << 23),
        None => None,
    }
}

/// BX R`register`; with 14, LR, a return.
pub const fn bx(condition: u8, register: u8) -> u32 {
    with(condition, 0x012f_ff10 | register as u32 & 0xf)
}

/// BLX R`register`.
pub const fn blx_register(condition: u8, register: u8) -> u32 {
    with(condition, 0x012f_ff30 | register as u32 & 0xf)
}

/// ERET.
pub const fn eret(condition: u8) -> u32 {
    with(condition, 0x0160_006e)
}

/// MCR p15, 0, R0, c7, c5, 4: ISB of Armv6.
pub const fn cp15_isb(condition: u8) -> u32 {
    with(condition, 0x0e07_0f95)
}

/// MCR p15, 0, R0, c7, c10, 4: DSB of Armv6.
pub const fn cp15_dsb(condition: u8) -> u32 {
    with(condition, 0x0e07_0f9a)
}

/// What a data-processing instruction does. The number is that of the opcode field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alu {
    /// AND.
    And = 0,
    /// EOR.
    Eor = 1,
    /// SUB.
    Sub = 2,
    /// ADD.
    Add = 4,
    /// CMP: SUB for the flags alone.
    Cmp = 10,
    /// ORR.
    Orr = 12,
    /// MOV, of the second operand.
    Mov = 13,
}

impl Alu {
    const fn fields(self, flags: bool, d: u8, n: u8) -> u32 {
        let s = flags || matches!(self, Alu::Cmp);
        let fields = (self as u32) << 21 | (s as u32) << 20;
        match self {
            Alu::Cmp => fields | (n as u32 & 0xf) << 16,
            Alu::Mov => fields | (d as u32 & 0xf) << 12,
            _ => fields | (n as u32 & 0xf) << 16 | (d as u32 & 0xf) << 12,
        }
    }
}

/// `operation` of R`n` and R`m` shifted right by `shift` (0 to 31) into R`d`; `flags`: with an S.
pub const fn alu(
    condition: u8,
    operation: Alu,
    flags: bool,
    d: u8,
    n: u8,
    m: u8,
    shift: u8,
) -> u32 {
    let shift = if shift == 0 { 0 } else { (shift as u32 & 0x1f) << 7 | 1 << 5 };
    with(condition, operation.fields(flags, d, n) | shift | m as u32 & 0xf)
}

/// `operation` of R`n` and `immediate` into R`d`; `flags`: with an S.
pub const fn alu_immediate(
    condition: u8,
    operation: Alu,
    flags: bool,
    d: u8,
    n: u8,
    immediate: u8,
) -> u32 {
    with(condition, 0x0200_0000 | operation.fields(flags, d, n) | immediate as u32)
}

/// MOVW, or with `top` MOVT, of 16 bits into R`d`.
pub const fn mov16(condition: u8, top: bool, d: u8, bits: u16) -> u32 {
    let (high, low) = (bits as u32 >> 12, bits as u32 & 0xfff);
    let opcode = 0x0300_0000 | (top as u32) << 22 | high << 16 | (d as u32 & 0xf) << 12 | low;
    with(condition, opcode)
}

/// LDR, or STR, of R`t` at R`n` + `offset`, below 4096.
pub const fn move_word(condition: u8, load: bool, t: u8, n: u8, offset: u32) -> u32 {
    let registers = (n as u32 & 0xf) << 16 | (t as u32 & 0xf) << 12;
    with(condition, 0x0580_0000 | (load as u32) << 20 | registers | offset & 0xfff)
}

/// PUSH of the registers of `list`, bit n for Rn.
pub const fn push(condition: u8, list: u16) -> u32 {
    with(condition, 0x092d_0000 | list as u32)
}

/// POP of the registers of `list`, bit n for Rn.
pub const fn pop(condition: u8, list: u16) -> u32 {
    with(condition, 0x08bd_0000 | list as u32)
}

/// SVC #0.
pub const fn svc(condition: u8) -> u32 {
    with(condition, 0x0f00_0000)
}

const fn with(condition: u8, opcode: u32) -> u32 {
    (condition as u32) << 28 | opcode
}

/// `by` from the instruction; the field counts from two instructions on.
const fn direct(opcode: u32, by: i32) -> Option<u32> {
    match field(by.wrapping_sub(8), 24, 2) {
        Some(field) => Some(opcode | field),
        None => None,
    }
}

pub(super) fn assemble(instruction: &Instruction, by: Option<i32>) -> Option<u32> {
    let condition = if instruction.conditional { 0 } else { ALWAYS };
    match (instruction.kind, instruction.role) {
        (Kind::Plain, _) => Some(nop(condition)),
        (Kind::Branch, Role::Call) if instruction.target_isa == Isa::T32 => blx(by?),
        (Kind::Branch, Role::Call) => bl(condition, by?),
        (Kind::Branch, Role::Compare | Role::Loop) => None,
        (Kind::Branch, _) => b(condition, by?),
        (Kind::Indirect, Role::Jump) => Some(bx(condition, 12)),
        (Kind::Indirect, Role::Call) => Some(blx_register(condition, 12)),
        (Kind::Indirect, Role::ImpliedReturn) => Some(bx(condition, 14)),
        (Kind::Indirect, Role::ExceptionReturn) => Some(eret(condition)),
        (Kind::Indirect, _) => None,
        (Kind::Isb, _) if instruction.conditional => Some(cp15_isb(condition)),
        (Kind::Isb, _) => Some(ISB),
        (Kind::Barrier, _) if instruction.conditional => Some(cp15_dsb(condition)),
        (Kind::Barrier, _) => Some(DSB),
        (Kind::Wait, _) => Some(wfi(condition)),
        (Kind::TimedWait | Kind::TransactionStart, _) => None,
        (Kind::Undefined, _) => Some(udf(condition)),
    }
}
