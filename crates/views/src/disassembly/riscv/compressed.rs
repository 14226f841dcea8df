//! Compressed instructions, expanded to instructions of 4 bytes. (Unprivileged ISA, "RVC
//! Instruction Set Listings")

use tracewright_base::Isa;

/// Major opcodes with their lowest bits.
const LOAD: u32 = 0x03;
const LOAD_FP: u32 = 0x07;
const OP_IMM: u32 = 0x13;
const OP_IMM_32: u32 = 0x1b;
const STORE: u32 = 0x23;
const STORE_FP: u32 = 0x27;
const OP: u32 = 0x33;
const LUI: u32 = 0x37;
const OP_32: u32 = 0x3b;

/// The stack pointer.
const SP: u32 = 2;

/// Gathers bits of `opcode`: each pair is the position of a bit, and its position in the result.
fn gathered(opcode: u32, bits: &[(u32, u32)]) -> u32 {
    bits.iter().map(|&(from, to)| (opcode >> from & 1) << to).fold(0, |all, bit| all | bit)
}

fn i_type(major: u32, funct3: u32, rd: u32, rs1: u32, immediate: u32) -> u32 {
    immediate << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | major
}

fn s_type(major: u32, funct3: u32, rs1: u32, rs2: u32, immediate: u32) -> u32 {
    (immediate >> 5 & 0x7f) << 25
        | rs2 << 20
        | rs1 << 15
        | funct3 << 12
        | (immediate & 0x1f) << 7
        | major
}

fn r_type(major: u32, funct7: u32, funct3: u32, rd: u32, rs1: u32, rs2: u32) -> u32 {
    funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | major
}

/// The sign-extended immediate of C.ADDI and similar instructions, bits \[12] and \[6:2].
fn immediate(opcode: u32) -> u32 {
    let bits = (opcode >> 12 & 1) << 5 | opcode >> 2 & 0x1f;
    bits | if bits >> 5 != 0 { u32::MAX << 6 } else { 0 }
}

/// The expansion of `opcode`. `None` for jumps, branches and reserved opcodes.
pub(super) fn expanded(isa: Isa, opcode: u32) -> Option<u32> {
    let rv64 = isa == Isa::Rv64;
    let (rd, rs2) = (opcode >> 7 & 31, opcode >> 2 & 31);
    // The three bits of registers 8 to 15.
    let (near, nearer) = (8 + (opcode >> 7 & 7), 8 + (opcode >> 2 & 7));
    // Offsets of words and doublewords from a register.
    let word = gathered(opcode, &[(6, 2), (10, 3), (11, 4), (12, 5), (5, 6)]);
    let double = gathered(opcode, &[(10, 3), (11, 4), (12, 5), (5, 6), (6, 7)]);
    Some(match (opcode & 0b11, opcode >> 13 & 0b111) {
        (0b00, 0b000) => {
            let bits = [(6, 2), (5, 3), (11, 4), (12, 5), (7, 6), (8, 7), (9, 8), (10, 9)];
            match gathered(opcode, &bits) {
                0 => return None,
                by => i_type(OP_IMM, 0, nearer, SP, by),
            }
        }
        (0b00, 0b001) => i_type(LOAD_FP, 3, nearer, near, double),
        (0b00, 0b010) => i_type(LOAD, 2, nearer, near, word),
        (0b00, 0b011) if rv64 => i_type(LOAD, 3, nearer, near, double),
        (0b00, 0b011) => i_type(LOAD_FP, 2, nearer, near, word),
        (0b00, 0b101) => s_type(STORE_FP, 3, near, nearer, double),
        (0b00, 0b110) => s_type(STORE, 2, near, nearer, word),
        (0b00, 0b111) if rv64 => s_type(STORE, 3, near, nearer, double),
        (0b00, 0b111) => s_type(STORE_FP, 2, near, nearer, word),
        (0b01, 0b000) => i_type(OP_IMM, 0, rd, rd, immediate(opcode)),
        (0b01, 0b001) if rv64 && rd != 0 => i_type(OP_IMM_32, 0, rd, rd, immediate(opcode)),
        (0b01, 0b010) => i_type(OP_IMM, 0, rd, 0, immediate(opcode)),
        (0b01, 0b011) if rd == SP => {
            let by = gathered(opcode, &[(6, 4), (2, 5), (5, 6), (3, 7), (4, 8)]);
            let sign = if opcode >> 12 & 1 != 0 { u32::MAX << 9 } else { 0 };
            match by | sign {
                0 => return None,
                by => i_type(OP_IMM, 0, SP, SP, by),
            }
        }
        (0b01, 0b011) => match immediate(opcode) {
            0 => return None,
            pages => pages << 12 | rd << 7 | LUI,
        },
        (0b01, 0b100) => return arithmetic(rv64, opcode, near, nearer),
        (0b10, 0b000) => i_type(OP_IMM, 1, rd, rd, shift(rv64, opcode)?),
        (0b10, 0b001 | 0b011) if opcode >> 13 & 0b111 == 0b001 || rv64 => {
            let by = gathered(opcode, &[(5, 3), (6, 4), (12, 5), (2, 6), (3, 7), (4, 8)]);
            let major = if opcode >> 13 & 0b111 == 0b001 { LOAD_FP } else { LOAD };
            if major == LOAD && rd == 0 {
                return None;
            }
            i_type(major, 3, rd, SP, by)
        }
        (0b10, 0b010 | 0b011) => {
            let by = gathered(opcode, &[(4, 2), (5, 3), (6, 4), (12, 5), (2, 6), (3, 7)]);
            let major = if opcode >> 13 & 0b111 == 0b010 { LOAD } else { LOAD_FP };
            if major == LOAD && rd == 0 {
                return None;
            }
            i_type(major, 2, rd, SP, by)
        }
        // C.MV has the text of MV.
        (0b10, 0b100) if rs2 != 0 && opcode >> 12 & 1 == 0 => i_type(OP_IMM, 0, rd, rs2, 0),
        (0b10, 0b100) if rs2 != 0 => r_type(OP, 0, 0, rd, rd, rs2),
        (0b10, 0b101 | 0b111) if opcode >> 13 & 0b111 == 0b101 || rv64 => {
            let by = gathered(opcode, &[(10, 3), (11, 4), (12, 5), (7, 6), (8, 7), (9, 8)]);
            let major = if opcode >> 13 & 0b111 == 0b101 { STORE_FP } else { STORE };
            s_type(major, 3, SP, rs2, by)
        }
        (0b10, 0b110 | 0b111) => {
            let by = gathered(opcode, &[(9, 2), (10, 3), (11, 4), (12, 5), (7, 6), (8, 7)]);
            let major = if opcode >> 13 & 0b111 == 0b110 { STORE } else { STORE_FP };
            s_type(major, 2, SP, rs2, by)
        }
        _ => return None,
    })
}

/// A shift amount; `None` where it is not less than the width of a register.
fn shift(rv64: bool, opcode: u32) -> Option<u32> {
    let by = (opcode >> 12 & 1) << 5 | opcode >> 2 & 0x1f;
    (rv64 || by < 32).then_some(by)
}

/// C.SRLI, C.SRAI, C.ANDI, and instructions with two registers.
fn arithmetic(rv64: bool, opcode: u32, rd: u32, rs2: u32) -> Option<u32> {
    let wide = opcode >> 12 & 1 != 0;
    Some(match (opcode >> 10 & 0b11, opcode >> 5 & 0b11) {
        (0b00, _) => i_type(OP_IMM, 5, rd, rd, shift(rv64, opcode)?),
        (0b01, _) => i_type(OP_IMM, 5, rd, rd, shift(rv64, opcode)? | 0x400),
        (0b10, _) => i_type(OP_IMM, 7, rd, rd, immediate(opcode)),
        (_, 0b00) if !wide => r_type(OP, 0x20, 0, rd, rd, rs2),
        (_, 0b01) if !wide => r_type(OP, 0, 4, rd, rd, rs2),
        (_, 0b10) if !wide => r_type(OP, 0, 6, rd, rd, rs2),
        (_, 0b11) if !wide => r_type(OP, 0, 7, rd, rd, rs2),
        (_, 0b00) if rv64 => r_type(OP_32, 0x20, 0, rd, rd, rs2),
        (_, 0b01) if rv64 => r_type(OP_32, 0, 0, rd, rd, rs2),
        _ => return None,
    })
}
