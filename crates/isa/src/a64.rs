//! A64: Armv8-A to Armv9.7-A. (Arm ARM, "A64 Instruction Set Encoding")
//!
//! Decisions:
//! * SSBB and PSSBB are DSBs of a CRm of their own, so they are barriers. SB and CSDB are plain.
//! * DRPS, TCANCEL, TENTER and TCHANGE are plain: Debug state is not traced, the trace reports
//!   TCANCEL and TENTER, and TCHANGE does not branch.
//! * TEXIT is an exception return.
//! * Undefined are UDF, the encoding groups without instructions, everything that is not allocated
//!   among the branches and the exception-generating instructions, and the opcode of all ones.
//!   Other unallocated encodings are plain.

use tracewright_base::{Instruction, Isa, Kind, Role};

use crate::{Make, ONES, sign_extend, when};

const A64: Make = Make { isa: Isa::A64, size: 4 };

/// Classifies the instruction `opcode` at `address`.
pub const fn classify(opcode: u32, address: u64) -> Instruction {
    // op0, bits [28:25].
    match opcode >> 25 & 0b1111 {
        // Bit 31 set: SME. Clear: UDF, the rest of the group is not allocated.
        0b0000 if opcode >> 31 == 1 => A64.plain(),
        0b0000 | 0b0001 | 0b0011 => A64.of(Kind::Undefined),
        0b1010 | 0b1011 => branches(opcode, address),
        0b1111 if opcode == ONES => A64.of(Kind::Undefined),
        _ => A64.plain(),
    }
}

/// Whether `opcode` is in a group that consists of plain instructions, or NOP.
#[inline]
pub const fn is_plain(opcode: u32) -> bool {
    // By op0: all but those that `classify` distinguishes.
    const GROUPS: u32 = 0b0111_0011_1111_0100;
    GROUPS >> (opcode >> 25 & 0b1111) & 1 != 0 || opcode == 0xd503_201f
}

/// "Branches, Exception Generating and System instructions": bits \[28:26] are 101.
const fn branches(opcode: u32, address: u64) -> Instruction {
    let undefined = A64.of(Kind::Undefined);
    match opcode >> 24 {
        // B and BL: imm26.
        0x14..=0x17 => A64.branch(Role::Jump, address, sign_extend(opcode, 26) << 2),
        0x94..=0x97 => A64.branch(Role::Call, address, sign_extend(opcode, 26) << 2),
        // B.cond, and BC.cond with bit 4 set: imm19.
        0x54 => compare(address, sign_extend(opcode >> 5, 19) << 2),
        // RETAASPPC and RETABSPPC with an offset, imm16.
        0x55 if opcode & 0xffc0_001f == 0x5500_001f => A64.indirect(Role::Return),
        // CBZ and CBNZ: imm19.
        0x34 | 0x35 | 0xb4 | 0xb5 => compare(address, sign_extend(opcode >> 5, 19) << 2),
        // TBZ and TBNZ: imm14.
        0x36 | 0x37 | 0xb6 | 0xb7 => compare(address, sign_extend(opcode >> 5, 14) << 2),
        0x74 | 0x75 | 0xf4 | 0xf5 if compare_allocated(opcode) => {
            when(true, A64.branch(Role::Compare, address, sign_extend(opcode >> 5, 9) << 2))
        }
        0xd4 if exception_allocated(opcode) => A64.plain(),
        0xd5 => system(opcode),
        0xd6 | 0xd7 => register(opcode),
        _ => undefined,
    }
}

/// A direct branch that a condition or a comparison decides on.
const fn compare(address: u64, offset: i32) -> Instruction {
    when(true, A64.branch(Role::Jump, address, offset))
}

/// FEAT_CMPBR: CB, CBB and CBH with a condition, imm9 in bits \[13:5].
const fn compare_allocated(opcode: u32) -> bool {
    // cc, bits [23:21]: 100 and 101 are not allocated.
    let condition = opcode >> 21 & 0b111;
    let allocated = if opcode >> 24 & 1 == 0 {
        // Registers; bits [15:14]: 00 CB, 10 CBB, 11 CBH. The narrow ones have no 64-bit form.
        match opcode >> 14 & 0b11 {
            0b00 => true,
            0b01 => false,
            _ => opcode >> 31 == 0,
        }
    } else {
        // Immediate, imm6 in bits [20:15].
        opcode >> 14 & 1 == 0
    };
    allocated && !matches!(condition, 0b100 | 0b101)
}

/// "Exception generation": opc, bits \[23:21]; op2, \[4:2]; LL, \[1:0].
const fn exception_allocated(opcode: u32) -> bool {
    match opcode >> 21 & 0b111 {
        // SVC, HVC, SMC.
        0b000 => matches!(opcode & 0b11111, 1..=3),
        // BRK, HLT, TCANCEL.
        0b001..=0b011 => opcode & 0b11111 == 0,
        // DCPS1 to DCPS3.
        0b101 => matches!(opcode & 0b11111, 1..=3),
        // TENTER.
        0b111 => true,
        _ => false,
    }
}

/// Hints, barriers, system registers and system instructions.
const fn system(opcode: u32) -> Instruction {
    A64.of(match opcode {
        0xd503_205f | 0xd503_207f => Kind::Wait,
        // WFET and WFIT: the register in bits [4:0].
        0xd503_1000..=0xd503_103f => Kind::TimedWait,
        // TSTART, the register in bits [4:0].
        0xd523_3060..=0xd523_307f => Kind::TransactionStart,
        // Barriers: CRm in bits [11:8], op2 in [7:5].
        0xd503_3000..=0xd503_3fff => match opcode & 0xff {
            // DSB nXS: CRm is xx10.
            0b001_11111 if opcode >> 8 & 0b11 == 0b10 => Kind::Barrier,
            // DSB, DMB.
            0b100_11111 | 0b101_11111 => Kind::Barrier,
            0b110_11111 => Kind::Isb,
            _ => Kind::Plain,
        },
        // Bits [25:24] are 01; bit 23 set is not allocated otherwise.
        _ if opcode >> 23 & 1 == 1 && !is_tchange(opcode) => Kind::Undefined,
        _ => Kind::Plain,
    })
}

/// TCHANGEF and TCHANGEB, of a register or an immediate: bit 18 distinguishes them, bit 17 is NB.
const fn is_tchange(opcode: u32) -> bool {
    opcode & 0xfff9_fc00 == 0xd580_0000 || opcode & 0xfff9_f000 == 0xd590_0000
}

/// "Unconditional branch (register)": opc, bits \[24:21]; op2, \[20:16], all ones; op3, \[15:10];
/// Rn, \[9:5]; op4, \[4:0].
const fn register(opcode: u32) -> Instruction {
    let role = match opcode & !0x3ff | opcode & 0x1f {
        // BR, BRAAZ, BRABZ; BLR, BLRAAZ, BLRABZ.
        0xd61f_0000 | 0xd61f_081f | 0xd61f_0c1f => Role::Jump,
        0xd63f_0000 | 0xd63f_081f | 0xd63f_0c1f => Role::Call,
        0xd65f_0000 => Role::Return,
        _ => match opcode {
            // BRAA, BRAB; BLRAA, BLRAB.
            0xd71f_0800..=0xd71f_0fff => Role::Jump,
            0xd73f_0800..=0xd73f_0fff => Role::Call,
            // RETAA and RETAASPPC with a register; the same of key B.
            0xd65f_0be0..=0xd65f_0bff | 0xd65f_0fe0..=0xd65f_0fff => Role::Return,
            // ERET, ERETAA, ERETAB; TEXIT without and with NB.
            0xd69f_03e0 | 0xd69f_0bff | 0xd69f_0fff | 0xd6ff_03e0 | 0xd6ff_07e0 => {
                Role::ExceptionReturn
            }
            // DRPS.
            0xd6bf_03e0 => return A64.plain(),
            _ => return A64.of(Kind::Undefined),
        },
    };
    A64.indirect(role)
}
