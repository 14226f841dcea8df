//! T32 encoders. Names with `_w` are the wide (32-bit) forms.

use tracewright_base::{Instruction, Isa, Kind, Role};

use super::field;

/// NOP.
pub const NOP: u32 = 0xbf00;
/// NOP.W.
pub const NOP_W: u32 = 0xf3af_8000;
/// UDF #0.
pub const UDF: u32 = 0xde00;
/// UDF.W #0.
pub const UDF_W: u32 = 0xf7f0_a000;
/// WFI.
pub const WFI: u32 = 0xbf30;
/// WFI.W.
pub const WFI_W: u32 = 0xf3af_8003;
/// ISB SY.
pub const ISB: u32 = 0xf3bf_8f6f;
/// DSB SY.
pub const DSB: u32 = 0xf3bf_8f4f;
/// ERET.
pub const ERET: u32 = 0xf3de_8f00;
/// POP {PC}.
pub const POP_PC: u32 = 0xbd00;
/// POP.W {PC}: LDR PC, \[SP\], #4.
pub const POP_PC_W: u32 = 0xf85d_fb04;
/// LDR PC, \[R12\].
pub const LDR_PC_W: u32 = 0xf8dc_f000;

/// IT of 1 to 4 instructions: `condition` holds for the first, and for those of `then` that are
/// true; its opposite for the others.
pub const fn it(condition: u8, then: &[bool]) -> Option<u32> {
    let condition = condition as u32 & 0xf;
    if then.len() > 3 {
        return None;
    }
    let (mut mask, mut i) = (0b1000 >> then.len(), 0);
    while i < then.len() {
        let bit = if then[i] { condition & 1 } else { !condition & 1 };
        mask |= bit << (3 - i);
        i += 1;
    }
    Some(0xbf00 | condition << 4 | mask)
}

/// B.
pub const fn b(by: i32) -> Option<u32> {
    or(0xe000, field(by.wrapping_sub(4), 11, 1))
}

/// B with a condition, 0 (EQ) to 13.
pub const fn b_cond(condition: u8, by: i32) -> Option<u32> {
    if condition > 13 {
        return None;
    }
    or(0xd000 | (condition as u32) << 8, field(by.wrapping_sub(4), 8, 1))
}

/// CBZ of R`register`, 0 to 7, or CBNZ; `by` is 4 to 130.
pub const fn cbz(nonzero: bool, register: u8, by: i32) -> Option<u32> {
    match field(by.wrapping_sub(4), 7, 1) {
        Some(field) if by >= 4 => {
            let opcode = 0xb100 | (nonzero as u32) << 11 | register as u32 & 0b111;
            Some(opcode | (field & 0b10_0000) << 4 | (field & 0b1_1111) << 3)
        }
        _ => None,
    }
}

/// B.W.
pub const fn b_w(by: i32) -> Option<u32> {
    direct(0xf000_9000, by)
}

/// BL.
pub const fn bl(by: i32) -> Option<u32> {
    direct(0xf000_d000, by)
}

/// BLX to A32, from an instruction at `address`; the target is a multiple of 4.
pub const fn blx(address: u64, by: i32) -> Option<u32> {
    let by = by.wrapping_add((address & 0b10) as i32);
    if by & 0b11 != 0 {
        return None;
    }
    direct(0xf000_c000, by)
}

/// B.W with a condition, 0 (EQ) to 13.
pub const fn b_cond_w(condition: u8, by: i32) -> Option<u32> {
    match field(by.wrapping_sub(4), 20, 1) {
        Some(field) if condition <= 13 => {
            let (s, j2, j1) = (field >> 19 & 1, field >> 18 & 1, field >> 17 & 1);
            let high = s << 26 | (condition as u32) << 22 | (field >> 11 & 0x3f) << 16;
            Some(0xf000_8000 | high | j1 << 13 | j2 << 11 | field & 0x7ff)
        }
        _ => None,
    }
}

/// BX R`register`; with 14, LR, a return.
pub const fn bx(register: u8) -> u32 {
    0x4700 | (register as u32 & 0xf) << 3
}

/// BLX R`register`.
pub const fn blx_register(register: u8) -> u32 {
    0x4780 | (register as u32 & 0xf) << 3
}

/// LE LR: back by up to 4092 bytes; `by` counts from the instruction.
pub const fn le(by: i32) -> Option<u32> {
    looping(0xf00f_c001, 4i32.wrapping_sub(by))
}

/// WLS LR, R`register`: on by up to 4094 + 4 bytes; `by` counts from the instruction.
pub const fn wls(register: u8, by: i32) -> Option<u32> {
    if register > 14 {
        return None;
    }
    looping(0xf040_c001 | (register as u32) << 16, by.wrapping_sub(4))
}

/// What a narrow instruction of two low registers does; the number is its opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alu {
    /// ANDS.
    And = 0x4000,
    /// EORS.
    Eor = 0x4040,
    /// CMP.
    Cmp = 0x4280,
    /// ORRS.
    Orr = 0x4300,
    /// MULS.
    Mul = 0x4340,
}

/// `operation` of R`d` and R`m` into R`d`, both below 8. Sets flags outside an IT block.
pub const fn alu(operation: Alu, d: u8, m: u8) -> u32 {
    operation as u32 | low(m) << 3 | low(d)
}

/// ADDS, or SUBS, of R`n` and R`m` into R`d`, all below 8.
pub const fn add(subtract: bool, d: u8, n: u8, m: u8) -> u32 {
    0x1800 | (subtract as u32) << 9 | low(m) << 6 | low(n) << 3 | low(d)
}

/// MOVS (0), CMP (1), ADDS (2) or SUBS (3) of R`d`, below 8, and `immediate`.
pub const fn immediate(operation: u8, d: u8, immediate: u8) -> u32 {
    0x2000 | (operation as u32 & 3) << 11 | low(d) << 8 | immediate as u32
}

/// LSRS of R`m` by `shift` (1 to 31) into R`d`, both below 8.
pub const fn lsr(d: u8, m: u8, shift: u8) -> u32 {
    0x0800 | (shift as u32 & 0x1f) << 6 | low(m) << 3 | low(d)
}

/// LDR, or STR, of R`t` at R`n` + `offset`, a multiple of 4 below 128; registers below 8.
pub const fn move_word(load: bool, t: u8, n: u8, offset: u32) -> u32 {
    0x6000 | (load as u32) << 11 | (offset >> 2 & 0x1f) << 6 | low(n) << 3 | low(t)
}

/// LDR.W, or STR.W, of R`t` at R`n` + `offset`, below 4096.
pub const fn move_word_w(load: bool, t: u8, n: u8, offset: u32) -> u32 {
    let registers = (n as u32 & 0xf) << 16 | (t as u32 & 0xf) << 12;
    0xf8c0_0000 | (load as u32) << 20 | registers | offset & 0xfff
}

/// ADD.W of R`n` and R`m` into R`d`; no flags.
pub const fn add_w(d: u8, n: u8, m: u8) -> u32 {
    0xeb00_0000 | (n as u32 & 0xf) << 16 | (d as u32 & 0xf) << 8 | m as u32 & 0xf
}

/// EOR.W of R`n` and R`m` into R`d`; no flags.
pub const fn eor_w(d: u8, n: u8, m: u8) -> u32 {
    0xea80_0000 | (n as u32 & 0xf) << 16 | (d as u32 & 0xf) << 8 | m as u32 & 0xf
}

/// MOVW, or with `top` MOVT, of 16 bits into R`d`.
pub const fn mov16(top: bool, d: u8, bits: u16) -> u32 {
    let bits = bits as u32;
    let fields = (bits >> 11 & 1) << 26 | (bits >> 12) << 16 | (bits >> 8 & 7) << 12 | bits & 0xff;
    0xf240_0000 | (top as u32) << 23 | fields | (d as u32 & 0xf) << 8
}

/// PUSH of the registers of `list`, bit n for Rn below 8, and with `lr` LR.
pub const fn push(list: u8, lr: bool) -> u32 {
    0xb400 | (lr as u32) << 8 | list as u32
}

/// POP of the registers of `list`, bit n for Rn below 8, and with `pc` PC: a return.
pub const fn pop(list: u8, pc: bool) -> u32 {
    0xbc00 | (pc as u32) << 8 | list as u32
}

/// SVC #0.
pub const SVC: u32 = 0xdf00;

const fn low(register: u8) -> u32 {
    register as u32 & 0b111
}

const fn looping(opcode: u32, length: i32) -> Option<u32> {
    if length < 0 || length > 0xffe || length & 1 != 0 {
        return None;
    }
    let length = length as u32;
    Some(opcode | (length >> 2) << 1 | (length >> 1 & 1) << 11)
}

const fn or(opcode: u32, field: Option<u32>) -> Option<u32> {
    match field {
        Some(field) => Some(opcode | field),
        None => None,
    }
}

/// S:I1:I2:imm10:imm11, where J = NOT(I) EOR S.
const fn direct(opcode: u32, by: i32) -> Option<u32> {
    match field(by.wrapping_sub(4), 24, 1) {
        Some(field) => {
            let s = field >> 23 & 1;
            let (j1, j2) = (!(field >> 22 ^ s) & 1, !(field >> 21 ^ s) & 1);
            let fields = s << 26 | (field >> 11 & 0x3ff) << 16 | j1 << 13 | j2 << 11;
            Some(opcode | fields | field & 0x7ff)
        }
        None => None,
    }
}

pub(super) fn assemble(i: &Instruction, by: Option<i32>, address: u64) -> Option<u32> {
    let narrow = i.size == 2;
    match (i.kind, i.role) {
        (Kind::Plain, _) => Some(if narrow { NOP } else { NOP_W }),
        (Kind::Branch, Role::Call) if i.target_isa == Isa::A32 => blx(address, by?),
        (Kind::Branch, Role::Call) => bl(by?),
        (Kind::Branch, Role::Compare) => None,
        (Kind::Branch, Role::Loop) => le(by?).or(wls(0, by?)),
        (Kind::Branch, _) if i.conditional && narrow => b_cond(0, by?),
        (Kind::Branch, _) if i.conditional => b_cond_w(0, by?),
        (Kind::Branch, _) if narrow => b(by?),
        (Kind::Branch, _) => b_w(by?),
        (Kind::Indirect, Role::Jump) => Some(if narrow { bx(12) } else { LDR_PC_W }),
        (Kind::Indirect, Role::Call) => Some(blx_register(12)),
        (Kind::Indirect, Role::ImpliedReturn) => Some(if narrow { bx(14) } else { POP_PC_W }),
        (Kind::Indirect, Role::ExceptionReturn) => Some(ERET),
        (Kind::Indirect, _) => None,
        (Kind::Isb, _) => Some(ISB),
        (Kind::Barrier, _) => Some(DSB),
        (Kind::Wait, _) => Some(if narrow { WFI } else { WFI_W }),
        (Kind::TimedWait | Kind::TransactionStart, _) => None,
        (Kind::Undefined, _) => Some(if narrow { UDF } else { UDF_W }),
    }
}
