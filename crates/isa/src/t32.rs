//! T32: Armv4T to Armv8, A, R and M profile. (Arm ARM, "T32 Instruction Set Encoding";
//! Armv8-M ARM, "T32 Instruction Set Encoding")
//!
//! Decisions:
//! * BLX with an odd halfword offset has no meaning in the A profile; it is the space of the
//!   low-overhead loops of Armv8.1-M. WLS, WLSTP, LE and LETP are direct branches, conditional
//!   except for the LE without a counter. DLS, DLSTP and LCTP only set the counter: plain.
//! * BF, BFX, BFL, BFLX and BFCSEL announce a later branch. They are plain: a processor may ignore
//!   them, and the trace reports the branch at its execution.
//! * BX, BLX, BXNS and BLXNS are classified alike. BXAUT of Armv8.1-M is a BX; it has the encoding
//!   of SMMULR with the PC as destination, which is unpredictable.
//! * ENTERX and LEAVEX are direct branches to the next instruction in the other instruction set.
//!   (Armv7-A ARM, A9.1.3; IHI 0014, "Direct branch instructions")
//! * CLRM has the encoding of LDM from the PC. It is plain.
//! * Undefined are the permanently undefined encodings, the empty rows of the 16-bit tables and the
//!   wide opcode of all ones. The narrow opcode of all zeros is MOVS R0, R0.

use tracewright_base::{Instruction, Isa, Kind, Role};

use crate::{Make, ONES, a32, sign_extend, when};

const NARROW: Make = Make { isa: Isa::T32, size: 2 };
const WIDE: Make = Make { isa: Isa::T32, size: 4 };

const PC: u32 = 15;
const LR: u32 = 14;

/// Whether an instruction that begins with this halfword has 32 bits.
#[inline]
pub const fn is_wide(first: u16) -> bool {
    first >> 11 >= 0b11101
}

/// Classifies the instruction `opcode` at `address`.
///
/// A narrow opcode is in bits \[15:0]. A wide one has its first halfword in bits \[31:16].
pub const fn classify(opcode: u32, address: u64) -> Instruction {
    match opcode >> 27 {
        0b11101 => dual_multiple(opcode),
        0b11110 if opcode >> 15 & 1 == 1 => branch_control(opcode, address),
        0b11110 => WIDE.plain(),
        0b11111 => load_store(opcode),
        _ => narrow(opcode & 0xffff, address),
    }
}

/// The PC as the instruction at `address` reads it.
const fn pc(address: u64) -> u64 {
    address.wrapping_add(4)
}

const fn narrow(opcode: u32, address: u64) -> Instruction {
    let row = opcode >> 8;
    match row {
        // ADD and MOV between high registers: to the PC, DN:Rdn 1:111.
        0x44 | 0x46 if opcode & 0x87 == 0x87 => NARROW.indirect(match opcode {
            0x46f7 => Role::ImpliedReturn,
            _ => Role::Jump,
        }),
        // BX and BLX; with NS, bit 2. Rm in bits [6:3].
        0x47 if opcode >> 7 & 1 == 1 => NARROW.indirect(Role::Call),
        0x47 if opcode >> 3 & 0b1111 == 14 => NARROW.indirect(Role::ImpliedReturn),
        0x47 => NARROW.indirect(Role::Jump),
        // CBZ and CBNZ: i:imm5, forwards.
        0xb1 | 0xb3 | 0xb9 | 0xbb => {
            let offset = opcode >> 3 & 0b1_1111 | opcode >> 4 & 0b10_0000;
            when(true, NARROW.branch(Role::Jump, pc(address), (offset << 1) as i32))
        }
        // POP with the PC.
        0xbd => NARROW.indirect(Role::ImpliedReturn),
        0xb7 | 0xb8 | 0xde => NARROW.of(Kind::Undefined),
        // WFE, WFI.
        0xbf if opcode == 0xbf20 || opcode == 0xbf30 => NARROW.of(Kind::Wait),
        // B with a condition: imm8.
        0xd0..=0xdd => {
            when(true, NARROW.branch(Role::Jump, pc(address), sign_extend(opcode, 8) << 1))
        }
        // B: imm11.
        0xe0..=0xe7 => NARROW.branch(Role::Jump, pc(address), sign_extend(opcode, 11) << 1),
        _ => NARROW.plain(),
    }
}

/// Bits \[31:27] are 11101: load and store multiple, dual and exclusive, table branches,
/// coprocessors.
const fn dual_multiple(opcode: u32) -> Instruction {
    match opcode >> 20 & 0xff {
        // RFE: decrement before, increment after.
        0x81 | 0x83 | 0x99 | 0x9b => WIDE.indirect(Role::ExceptionReturn),
        // LDM with the PC in the list, bit 15. From the PC: CLRM.
        0x89 | 0x8b | 0x91 | 0x93 if opcode >> 15 & 1 == 1 => match opcode >> 16 {
            0xe89f => WIDE.plain(),
            // LDMIA SP!: POP.
            0xe8bd => WIDE.indirect(Role::ImpliedReturn),
            _ => WIDE.indirect(Role::Jump),
        },
        // TBB, TBH.
        0x8d if opcode & 0xffe0 == 0xf000 => WIDE.indirect(Role::Jump),
        // MCR: the same bits as in A32.
        0xe0 => WIDE.of(a32::coprocessor(opcode)),
        _ => WIDE.plain(),
    }
}

/// Bits \[31:27] are 11110 and bit 15 is 1: "Branches and miscellaneous control".
const fn branch_control(opcode: u32, address: u64) -> Instruction {
    match opcode >> 12 & 0b101 {
        // Bits [25:22], 1110 or 1111: there is no such condition, other instructions are there.
        0b000 if opcode >> 23 & 0b111 == 0b111 => control(opcode, address),
        // B with a condition: S:J2:J1:imm6:imm11.
        0b000 => {
            let offset = opcode >> 26 & 1;
            let offset = offset << 1 | opcode >> 11 & 1;
            let offset = offset << 1 | opcode >> 13 & 1;
            let offset = offset << 6 | opcode >> 16 & 0x3f;
            let offset = offset << 11 | opcode & 0x7ff;
            when(true, WIDE.branch(Role::Jump, pc(address), sign_extend(offset, 20) << 1))
        }
        0b001 => WIDE.branch(Role::Jump, pc(address), offset(opcode)),
        0b101 => WIDE.branch(Role::Call, pc(address), offset(opcode)),
        _ if opcode & 1 == 1 => future_or_loop(opcode, address),
        // BLX: the target is a multiple of 4.
        _ => Instruction {
            target_isa: Isa::A32,
            ..WIDE.branch(Role::Call, pc(address) & !0b11, offset(opcode))
        },
    }
}

/// B without a condition, BL and BLX: S:I1:I2:imm10:imm11, where I = NOT(J EOR S).
const fn offset(opcode: u32) -> i32 {
    let s = opcode >> 26 & 1;
    let i1 = !(opcode >> 13 ^ s) & 1;
    let i2 = !(opcode >> 11 ^ s) & 1;
    let offset = s << 23 | i1 << 22 | i2 << 21 | (opcode >> 16 & 0x3ff) << 11 | opcode & 0x7ff;
    sign_extend(offset, 24) << 1
}

/// Armv8.1-M, "Branch future and low-overhead loop instructions": bit 12 is 0, bits 14 and 0 are 1.
const fn future_or_loop(opcode: u32, address: u64) -> Instruction {
    // The loops' offset: imml:immh, bits [10:1] and bit 11.
    let length = ((opcode >> 1 & 0x3ff) << 2 | (opcode >> 11 & 1) << 1) as i32;
    // Bit 13 set: DLS, DLSTP, LCTP.
    match (opcode >> 16, opcode >> 13 & 1) {
        // boff, bits [26:23], names the branch: BF and its like.
        (0xf080.., _) => WIDE.plain(),
        (_, 1) => WIDE.plain(),
        // LE with LR, LETP.
        (0xf00f | 0xf01f, _) => when(true, WIDE.branch(Role::Loop, pc(address), -length)),
        // LE without a counter.
        (0xf02f, _) => WIDE.branch(Role::Loop, pc(address), -length),
        // WLSTP and WLS, the count in Rn, bits [19:16].
        (0xf000..=0xf04e, _) if opcode >> 16 & 0b1111 != PC => {
            when(true, WIDE.branch(Role::Loop, pc(address), length))
        }
        _ => WIDE.of(Kind::Undefined),
    }
}

/// Bits \[31:27] are 11110, \[25:23] 111, and bits 15, 14 and 12 are 1, 0 and 0.
const fn control(opcode: u32, address: u64) -> Instruction {
    let next = pc(address);
    match opcode {
        // WFE, WFI.
        0xf3af_8002 | 0xf3af_8003 => WIDE.of(Kind::Wait),
        0xf3bf_8f00..=0xf3bf_8fff => match opcode >> 4 & 0b1111 {
            // LEAVEX, ENTERX.
            0b0000 => Instruction { target_isa: Isa::T32, ..WIDE.branch(Role::Jump, next, 0) },
            0b0001 => Instruction { target_isa: Isa::ThumbEe, ..WIDE.branch(Role::Jump, next, 0) },
            0b0100 | 0b0101 => WIDE.of(Kind::Barrier),
            0b0110 => WIDE.of(Kind::Isb),
            _ => WIDE.plain(),
        },
        // BXJ: Rm in bits [19:16].
        0xf3c0_8000..=0xf3cf_ffff => WIDE.indirect(Role::Jump),
        // SUBS PC, LR, #imm8; ERET with 0.
        0xf3d0_8000..=0xf3df_ffff => WIDE.indirect(Role::ExceptionReturn),
        // UDF: imm4 and imm12.
        _ if opcode & 0xfff0_f000 == 0xf7f0_a000 => WIDE.of(Kind::Undefined),
        _ => WIDE.plain(),
    }
}

/// Bits \[31:27] are 11111: loads and stores of one register, and data processing.
const fn load_store(opcode: u32) -> Instruction {
    if opcode == ONES {
        return WIDE.of(Kind::Undefined);
    }
    // BXAUT: the address in Rn, bits [19:16].
    if opcode & 0xfff0_0ff0 == 0xfb50_0f10 {
        let returns = opcode >> 16 & 0b1111 == LR;
        return WIDE.indirect(if returns { Role::ImpliedReturn } else { Role::Jump });
    }
    if opcode >> 12 & 0b1111 != PC {
        return WIDE.plain();
    }
    let load = match opcode >> 20 {
        // LDR with a 12-bit offset; the literal form has bit 23 for the sign.
        0xf8d => true,
        0xf85 if opcode >> 16 & 0b1111 == PC => true,
        // LDR with an 8-bit offset (bit 11), or with a register and a shift (bits [11:6] are 0).
        // Neither before (P, bit 10) nor written back (W, bit 8) is no instruction.
        0xf85 if opcode >> 8 & 0b1101 == 0b1000 => return WIDE.of(Kind::Undefined),
        0xf85 => opcode >> 11 & 1 == 1 || opcode >> 6 & 0b1_1111 == 0,
        _ => false,
    };
    if !load {
        return WIDE.plain();
    }
    // LDR PC, [SP], #imm8: after, up, written back.
    let pop = opcode >> 8 == 0x00f8_5dfb;
    WIDE.indirect(if pop { Role::ImpliedReturn } else { Role::Jump })
}
