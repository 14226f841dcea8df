//! The data transfers of an Armv5TE instruction, from its opcode and the registers before it. (Arm
//! ARM, DDI 0100)

use super::watch::Before;

/// One transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) load: bool,
    /// `None` for a coprocessor.
    pub(super) address: Option<u32>,
    pub(super) size: u8,
    /// The register.
    pub(super) register: usize,
}

/// Whether an instruction with the condition field `c` passes for the N, Z, C and V flags of `psr`.
/// (Bits \[31:28])
pub(super) fn passes(c: u32, psr: u32) -> bool {
    let flag = |bit: u32| psr >> bit & 1 != 0;
    let (n, z, c_flag, v) = (flag(31), flag(30), flag(29), flag(28));
    let base = match c >> 1 {
        0 => z,
        1 => c_flag,
        2 => n,
        3 => v,
        4 => c_flag && !z,
        5 => n == v,
        6 => n == v && !z,
        _ => return true,
    };
    base != (c & 1 != 0)
}

fn one(load: bool, address: u32, size: u8, register: usize) -> Vec<Move> {
    vec![Move { load, address: Some(address), size, register }]
}

fn several(load: bool, first: u32, registers: &[usize]) -> Vec<Move> {
    let all = (first..).step_by(4).zip(registers);
    all.map(|(at, &register)| Move { load, address: Some(at), size: 4, register }).collect()
}

fn listed(list: u32) -> Vec<usize> {
    (0..16).filter(|n| list >> n & 1 != 0).collect()
}

/// The transfers of an A32 instruction that passes its condition.
pub(super) fn a32(opcode: u32, before: &Before) -> Vec<Move> {
    let bit = |n: u32| opcode >> n & 1 != 0;
    let reg = |low: u32| (opcode >> low & 0xf) as usize;
    let read = |n: usize| if n == 15 { before.r[15] + 8 } else { before.r[n] };
    let (rn, rd, load) = (read(reg(16)), reg(12), bit(20));
    let address = |offset: u32| match (bit(24), bit(23)) {
        (false, _) => rn,
        (true, true) => rn.wrapping_add(offset),
        (true, false) => rn.wrapping_sub(offset),
    };
    match opcode >> 25 & 0b111 {
        // SWP, SWPB
        0b000 if opcode & 0x0fb0_0ff0 == 0x0100_0090 => {
            let size = if bit(22) { 1 } else { 4 };
            [one(true, rn, size, rd), one(false, rn, size, reg(0))].concat()
        }
        // LDRH, STRH, LDRSB, LDRSH, LDRD, STRD
        0b000 if opcode & 0x90 == 0x90 && opcode >> 5 & 0b11 != 0 => {
            let offset = if bit(22) { opcode >> 4 & 0xf0 | opcode & 0xf } else { read(reg(0)) };
            let at = address(offset);
            match (opcode >> 5 & 0b11, load) {
                (0b10, true) => one(true, at, 1, rd),
                (0b01, _) | (_, true) => one(load, at, 2, rd),
                (kind, false) => several(kind == 0b10, at, &[rd, rd + 1]),
            }
        }
        // LDR, STR, LDRB, STRB
        0b010 | 0b011 => {
            let offset = match bit(25) {
                false => opcode & 0xfff,
                true => shifted(read(reg(0)), opcode >> 7 & 0x1f, opcode >> 5 & 0b11),
            };
            one(load, address(offset), if bit(22) { 1 } else { 4 }, rd)
        }
        // LDM, STM
        0b100 => {
            let list = listed(opcode);
            let len = 4 * list.len() as u32;
            let first = match (bit(24), bit(23)) {
                (false, true) => rn,
                (true, true) => rn + 4,
                (false, false) => rn - len + 4,
                (true, false) => rn - len,
            };
            several(load, first, &list)
        }
        // MCR, MRC
        0b111 if opcode & 0x0f00_0010 == 0x0e00_0010 => {
            vec![Move { load, address: None, size: 4, register: rd }]
        }
        _ => Vec::new(),
    }
}

/// The offset in a shifted register. The programs do not use RRX.
fn shifted(value: u32, amount: u32, kind: u32) -> u32 {
    match (kind, amount) {
        (0, _) => value << amount,
        (1, 0) => 0,
        (1, _) => value >> amount,
        (2, 0) => (value as i32 >> 31) as u32,
        (2, _) => (value as i32 >> amount) as u32,
        _ => value.rotate_right(amount),
    }
}

/// The transfers of a 16-bit T32 instruction.
pub(super) fn t32(opcode: u32, before: &Before) -> Vec<Move> {
    let low = |shift: u32| (opcode >> shift & 7) as usize;
    let r = |n: usize| before.r[n];
    let (imm5, load) = (opcode >> 6 & 0x1f, opcode >> 11 & 1 != 0);
    let (imm8, rn) = ((opcode & 0xff) * 4, r(low(3)));
    match opcode >> 11 {
        0b01001 => one(true, (r(15) & !3) + 4 + imm8, 4, low(8)),
        0b01010 | 0b01011 => {
            let (load, size) = match opcode >> 9 & 7 {
                0 => (false, 4),
                1 => (false, 2),
                2 => (false, 1),
                3 | 6 => (true, 1),
                4 => (true, 4),
                _ => (true, 2),
            };
            one(load, rn.wrapping_add(r(low(6))), size, low(0))
        }
        0b01100 | 0b01101 => one(load, rn + imm5 * 4, 4, low(0)),
        0b01110 | 0b01111 => one(load, rn + imm5, 1, low(0)),
        0b10000 | 0b10001 => one(load, rn + imm5 * 2, 2, low(0)),
        0b10010 | 0b10011 => one(load, r(13) + imm8, 4, low(8)),
        // PUSH, POP
        0b10110 | 0b10111 if opcode >> 9 & 3 == 2 => {
            let mut list = listed(opcode & 0xff);
            if opcode >> 8 & 1 != 0 {
                list.push(if load { 15 } else { 14 });
            }
            several(load, if load { r(13) } else { r(13) - 4 * list.len() as u32 }, &list)
        }
        // LDMIA, STMIA
        0b11000 | 0b11001 => several(load, r(low(8)), &listed(opcode & 0xff)),
        _ => Vec::new(),
    }
}
