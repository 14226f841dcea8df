//! A32: Armv4 to Armv8. (Arm ARM, "A32 Base Instruction Set Encoding")
//!
//! Decisions:
//! * Whatever loads or computes the PC is an indirect branch. Encodings that are unpredictable
//!   because they name the PC are plain where no core branches (byte and halfword loads,
//!   multiplies, MOVW, MOVT), and indirect branches where most do (LDRT, shifts by a register).
//! * ERET, RFE, LDM of user registers with the PC, and data processing with S into the PC return
//!   from an exception.
//! * `LDR PC, [SP], #imm` returns whatever the offset.
//! * A barrier can be a write to CP15, the only form before Armv7.
//! * Undefined are the permanently undefined encodings and the opcode of all ones only. The opcode
//!   of all zeros is ANDEQ R0, R0, R0.

use tracewright_base::{Instruction, Isa, Kind, Role};

use crate::{Make, ONES, sign_extend, when};

const A32: Make = Make { isa: Isa::A32, size: 4 };

const PC: u32 = 15;

/// Classifies the instruction `opcode` at `address`.
pub const fn classify(opcode: u32, address: u64) -> Instruction {
    // The condition, bits [31:28]: 1111 is a space of its own, 1110 means always.
    let condition = opcode >> 28;
    if condition == 0b1111 {
        return unconditional(opcode, address);
    }
    let instruction = match opcode >> 24 & 0b1111 {
        0b0000..=0b0011 => data_processing(opcode),
        0b0100..=0b0111 => load_store(opcode),
        0b1000 | 0b1001 => load_multiple(opcode),
        0b1010 => direct(Role::Jump, opcode, address),
        0b1011 => direct(Role::Call, opcode, address),
        _ => A32.of(coprocessor(opcode)),
    };
    when(condition != 0b1110, instruction)
}

/// B and BL: imm24, from the PC, two instructions ahead.
const fn direct(role: Role, opcode: u32, address: u64) -> Instruction {
    A32.branch(role, address.wrapping_add(8), sign_extend(opcode, 24) << 2)
}

const fn unconditional(opcode: u32, address: u64) -> Instruction {
    match opcode >> 24 & 0b1111 {
        // BLX: imm24, and bit 24 for half a word.
        0b1010 | 0b1011 => {
            let offset = sign_extend(opcode, 24) << 2 | (opcode >> 23 & 0b10) as i32;
            let branch = A32.branch(Role::Call, address.wrapping_add(8), offset);
            Instruction { target_isa: Isa::T32, ..branch }
        }
        // RFE: `1111_100p_u0w1`.
        0b1000 | 0b1001 if opcode >> 20 & 0b101 == 0b001 => A32.indirect(Role::ExceptionReturn),
        // DSB, DMB, ISB: `1111_0101_0111`, and which in bits [7:4].
        0b0101 if opcode >> 20 & 0b1111 == 0b0111 => A32.of(match opcode >> 4 & 0b1111 {
            0b0100 | 0b0101 => Kind::Barrier,
            0b0110 => Kind::Isb,
            _ => Kind::Plain,
        }),
        0b1111 if opcode == ONES => A32.of(Kind::Undefined),
        _ => A32.plain(),
    }
}

/// Bits \[27:26] are 00: data processing, and what shares the space with it.
const fn data_processing(opcode: u32) -> Instruction {
    let immediate = opcode >> 25 & 1 == 1;
    // Bits [24:23] 10 without S, bit 20: where TST, TEQ, CMP and CMN would not set flags.
    if opcode >> 20 & 0b1_1001 == 0b1_0000 {
        return if immediate {
            A32.of(match opcode & 0x0fff_ffff {
                // WFE, WFI. MOVW, MOVT, MSR and the other hints are plain.
                0x320_f002 | 0x320_f003 => Kind::Wait,
                _ => Kind::Plain,
            })
        } else {
            miscellaneous(opcode)
        };
    }
    // Bits 7 and 4: multiplies, extra loads and stores.
    if !immediate && opcode & 0x90 == 0x90 {
        return A32.plain();
    }
    // TST, TEQ, CMP, CMN write flags alone.
    if opcode >> 23 & 0b11 == 0b10 || opcode >> 12 & 0b1111 != PC {
        return A32.plain();
    }
    A32.indirect(match opcode & 0x0fff_ffff {
        // MOV PC, LR.
        0x1a0_f00e => Role::ImpliedReturn,
        // S, bit 20: SUBS PC, LR, #imm and its like restore the status.
        _ if opcode >> 20 & 1 == 1 => Role::ExceptionReturn,
        _ => Role::Jump,
    })
}

/// Bits \[27:23] are 00010 and bit 20 is 0: which in bits \[22:21] and \[7:4].
const fn miscellaneous(opcode: u32) -> Instruction {
    match (opcode >> 21 & 0b11, opcode >> 4 & 0b1111) {
        // BX, BLX of a register, BXJ. Bits [19:8] should be ones.
        (0b01, 0b0001) if opcode & 0b1111 == 14 => A32.indirect(Role::ImpliedReturn),
        (0b01, 0b0001 | 0b0010) => A32.indirect(Role::Jump),
        (0b01, 0b0011) => A32.indirect(Role::Call),
        // ERET.
        (0b11, 0b0110) => A32.indirect(Role::ExceptionReturn),
        _ => A32.plain(),
    }
}

/// Bits \[27:26] are 01: loads and stores of words and bytes, and media instructions.
const fn load_store(opcode: u32) -> Instruction {
    // Bits 25 and 4: media instructions.
    if opcode >> 25 & 1 == 1 && opcode >> 4 & 1 == 1 {
        // UDF: `0111_1111 .. 1111 ..`, under any condition.
        let udf = opcode & 0x0ff0_00f0 == 0x07f0_00f0;
        return if udf { A32.of(Kind::Undefined) } else { A32.plain() };
    }
    // A word (bit 22 clear) is loaded (bit 20) to the PC.
    if opcode >> 20 & 0b101 != 0b001 || opcode >> 12 & 0b1111 != PC {
        return A32.plain();
    }
    // LDR PC, [SP], #imm: bits [25:16] are 0_0100_1101 and 1101.
    let pop = opcode >> 16 & 0x3ff == 0x09d;
    A32.indirect(if pop { Role::ImpliedReturn } else { Role::Jump })
}

/// Bits \[27:25] are 100: LDM with the PC in the list (bit 20, bit 15).
const fn load_multiple(opcode: u32) -> Instruction {
    if opcode & 0x0010_8000 != 0x0010_8000 {
        return A32.plain();
    }
    A32.indirect(match opcode >> 16 & 0x1ff {
        // LDMIA SP!, {.., PC} without SP: POP.
        0x0bd if opcode >> 13 & 1 == 0 => Role::ImpliedReturn,
        // Bit 22: the status is restored.
        row if row & 0x40 != 0 => Role::ExceptionReturn,
        _ => Role::Jump,
    })
}

/// Barriers that are writes to CP15: MCR p15, 0, Rt, c7, ... (Arm ARM, CP15DSB, CP15DMB, CP15ISB)
pub(crate) const fn coprocessor(opcode: u32) -> Kind {
    match opcode & 0x0fff_0fff {
        0x0e07_0f9a | 0x0e07_0fba => Kind::Barrier,
        0x0e07_0f95 => Kind::Isb,
        _ => Kind::Plain,
    }
}
