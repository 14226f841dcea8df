//! ThumbEE, the T32 variant of Armv7 for dynamic compilers. (Armv7-A ARM, chapter A9)
//!
//! ThumbEE differs from T32 in the 16-bit encodings that begin with 1100. The branches to handlers
//! have the target TEEHBR + 32 * handler, which is not in the opcode: they are indirect. CHKA and
//! the null checks of loads and stores are plain: the trace reports the exception of a failed
//! check.

use tracewright_base::{Instruction, Isa, Kind, Role};

use crate::{Make, t32};

const NARROW: Make = Make { isa: Isa::ThumbEe, size: 2 };

/// Classifies the instruction `opcode` at `address`; the opcode is as [`t32::classify`] takes it.
pub const fn classify(opcode: u32, address: u64) -> Instruction {
    match opcode >> 8 {
        // HBP: imm3, handler5. HB: handler8.
        0xc0 | 0xc2 => NARROW.indirect(Role::Jump),
        // HBL: handler8. HBLP: imm5, handler5.
        0xc3..=0xc7 => NARROW.indirect(Role::Call),
        0xc1 => NARROW.of(Kind::Undefined),
        // Loads and stores of arrays and frames; CHKA.
        0xc8..=0xcf => NARROW.plain(),
        _ => {
            let like = t32::classify(opcode, address);
            // Only BLX, ENTERX and LEAVEX change the instruction set.
            let target_isa = match (like.target, like.target_isa) {
                (Some(_), Isa::T32) if !leavex(opcode) => Isa::ThumbEe,
                (None, _) => Isa::ThumbEe,
                (_, isa) => isa,
            };
            Instruction { isa: Isa::ThumbEe, target_isa, ..like }
        }
    }
}

const fn leavex(opcode: u32) -> bool {
    opcode >> 4 == 0x0f3b_f8f0
}
