//! RISC-V: RV32 and RV64 with C, and Zcmp and Zcmt where the processor has them. (RISC-V
//! Unprivileged ISA, "RV32/64G Instruction Set Listings", "C" and "Zc*"; Privileged ISA,
//! "Trap-Return Instructions")
//!
//! Decisions:
//! * Zcmp and Zcmt share opcodes with C.FSDSP of the extension D: [`Extensions`] selects. It also
//!   holds custom opcodes: a function, which takes precedence, and a table.
//! * Roles follow the hints of JAL and JALR for return-address stacks: X1 and X5 are link
//!   registers. (Unprivileged ISA, "Unconditional Jumps") A jump through one link register that
//!   writes the other is a [`Role::Swap`]; a jump that writes another register is a [`Role::Link`].
//! * A JALR after the AUIPC, LUI or C.LUI of its base register is [`Kind::Indirect`], and [`Upper`]
//!   has its target: the configuration of a trace unit determines whether the trace reports the
//!   target.
//! * ECALL and EBREAK are plain: the trace reports the exception. FENCE is a barrier, FENCE.I an
//!   [`Kind::Isb`]; WRS.NTO and WRS.STO are timed waits. None of them is a waypoint of this
//!   architecture.
//! * Undefined are the defined illegal instructions (all zeros, all ones, and UNIMP, which writes
//!   the read-only CSR `cycle`), reserved encodings of jumps and branches, and all encodings longer
//!   than 4 bytes. The first bits of an encoding determine its size.
//! * Hardware loops that jump back without an instruction are not supported: no packet reports
//!   them.

use core::fmt;

use tracewright_base::{Instruction, Isa, Kind, Role};

use crate::{Make, ONES, sign_extend, when};

pub mod opcodes;
mod upper;

pub use opcodes::{Opcode, Opcodes};
pub use upper::Upper;

/// Extensions of a processor that change or add opcodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// The processor has Zcmp and Zcmt: `CM.*` instructions in place of C.FSDSP.
    pub zcm: bool,
    /// JVT.base, the address of the jump table of Zcmt. Without it, the targets of CM.JT and
    /// CM.JALT are unknown.
    pub jump_table: Option<u64>,
    /// Custom opcodes as a table.
    pub opcodes: Opcodes,
    /// Custom opcodes as a function, which takes precedence over the table.
    pub custom: Option<Custom>,
}

impl Extensions {
    /// No extensions.
    pub const NONE: Extensions =
        Extensions { zcm: false, jump_table: None, opcodes: Opcodes::NONE, custom: None };

    /// The instruction at `address` if its opcode is custom. The bits above the length of the
    /// opcode, \[63:16] of a compressed opcode, are ignored.
    #[inline]
    pub fn custom(&self, isa: Isa, opcode: u64, address: u64) -> Option<Instruction> {
        if let Some(Custom(custom)) = self.custom
            && let Some(instruction) = custom(isa, opcode, address)
        {
            return Some(instruction);
        }
        let known = self.opcodes.find(opcode)?;
        Some(known.instruction(isa, opcode, address))
    }

    /// Whether there are custom opcodes.
    #[inline]
    pub const fn has_custom(&self) -> bool {
        self.custom.is_some() || !self.opcodes.is_empty()
    }
}

/// A function that classifies custom opcodes. The arguments are the instruction set, the opcode in
/// the lowest bits (with the following bytes of memory above it) and its address. The result is
/// `None` for a standard opcode.
#[derive(Clone, Copy)]
pub struct Custom(pub fn(Isa, u64, u64) -> Option<Instruction>);

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for Custom {}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Custom")
    }
}

/// Size in bytes of an instruction by its first halfword. ("Expanded Instruction-Length
/// Encoding")
#[inline]
pub const fn size(first: u16) -> u8 {
    match first & 0b111_1111 {
        low if low & 0b11 != 0b11 => 2,
        low if low & 0b1_1100 != 0b1_1100 => 4,
        low if low & 0b11_1111 == 0b01_1111 => 6,
        0b011_1111 => 8,
        // The encodings of 80 bits and more are not frozen.
        _ => 4,
    }
}

/// UNIMP: CSRRW X0, cycle, X0. A write to a read-only CSR is illegal. (Privileged ISA, "CSR Address
/// Mapping Conventions")
const UNIMP: u32 = 0xc000_1073;

/// Whether a standard opcode is defined to be illegal: no processor retires it. ("Expanded
/// Instruction-Length Encoding")
pub const fn is_illegal(opcode: u32) -> bool {
    opcode & 0xffff == 0 || opcode == ONES || opcode == UNIMP
}

/// The link registers: X1 and X5.
const fn is_link(register: u32) -> bool {
    register == 1 || register == 5
}

/// Classifies the instruction `opcode` at `address`. A compressed opcode is in bits \[15:0].
#[inline]
pub fn classify(isa: Isa, opcode: u64, address: u64, extensions: &Extensions) -> Instruction {
    match extensions.custom(isa, opcode, address) {
        Some(instruction) => instruction,
        None => standard(isa, opcode as u32, address, extensions.zcm),
    }
}

/// Classifies a standard opcode.
pub const fn standard(isa: Isa, opcode: u32, address: u64, zcm: bool) -> Instruction {
    let make = Make { isa, size: size(opcode as u16) };
    match opcode & 0b11 {
        0b11 if make.size == 4 => wide(make, opcode, address),
        0b11 => make.of(Kind::Undefined),
        0b10 if zcm && opcode >> 13 & 0b111 == 0b101 => move_or_table(make, opcode),
        _ => compressed(make, opcode, address),
    }
}

/// The index in the jump table, for CM.JT and CM.JALT of Zcmt.
pub const fn table_index(opcode: u32) -> Option<u8> {
    if opcode & 0xfc03 == 0xa002 { Some((opcode >> 2) as u8) } else { None }
}

/// 4-byte instructions, by major opcode, bits \[6:2].
const fn wide(make: Make, opcode: u32, address: u64) -> Instruction {
    let (rd, rs1, funct3) = (opcode >> 7 & 31, opcode >> 15 & 31, opcode >> 12 & 0b111);
    match opcode >> 2 & 0b1_1111 {
        // BRANCH: 010 and 011 are reserved. imm[12|10:5], imm[4:1|11].
        0b11000 if funct3 & 0b110 != 0b010 => {
            let offset = (opcode >> 31) << 12
                | (opcode >> 7 & 1) << 11
                | (opcode >> 25 & 0x3f) << 5
                | (opcode >> 8 & 0xf) << 1;
            when(true, make.branch(Role::Jump, address, sign_extend(offset, 13)))
        }
        // JALR.
        0b11001 if funct3 == 0 => make.indirect(role(rd, rs1)),
        // JAL: imm[20|10:1|11|19:12].
        0b11011 => {
            let offset = (opcode >> 31) << 20
                | (opcode >> 12 & 0xff) << 12
                | (opcode >> 20 & 1) << 11
                | (opcode >> 21 & 0x3ff) << 1;
            let role = match rd {
                0 => Role::Jump,
                1 | 5 => Role::Call,
                _ => Role::Link,
            };
            make.branch(role, address, sign_extend(offset, 21))
        }
        // Reserved conditions; encodings of 80 bits and more.
        0b11000 | 0b11001 | 0b11111 => make.of(Kind::Undefined),
        // MISC-MEM.
        0b00011 if funct3 == 0 => make.of(Kind::Barrier),
        0b00011 if funct3 == 1 => make.of(Kind::Isb),
        // SYSTEM.
        0b11100 => match opcode {
            // URET, SRET, MRET, MNRET, DRET.
            0x0020_0073 | 0x1020_0073 | 0x3020_0073 | 0x7020_0073 | 0x7b20_0073 => {
                make.indirect(Role::ExceptionReturn)
            }
            // WFI.
            0x1050_0073 => make.of(Kind::Wait),
            // WRS.NTO, WRS.STO.
            0x00d0_0073 | 0x01d0_0073 => make.of(Kind::TimedWait),
            UNIMP => make.of(Kind::Undefined),
            _ => make.plain(),
        },
        _ => make.plain(),
    }
}

/// The role of a JALR with these registers.
const fn role(rd: u32, rs1: u32) -> Role {
    match (is_link(rd), is_link(rs1)) {
        (true, true) if rd != rs1 => Role::Swap,
        (true, _) => Role::Call,
        (false, true) => Role::Return,
        (false, false) if rd == 0 => Role::Jump,
        (false, false) => Role::Link,
    }
}

/// Quadrants 0 to 2. ("RVC Instruction Set Listings")
const fn compressed(make: Make, opcode: u32, address: u64) -> Instruction {
    match (opcode & 0b11, opcode >> 13 & 0b111) {
        // The defined illegal instruction.
        (0b00, 0b000) if opcode & 0xffff == 0 => make.of(Kind::Undefined),
        // C.JAL; C.ADDIW in RV64.
        (0b01, 0b001) => match make.isa {
            Isa::Rv32 => make.branch(Role::Call, address, jump_offset(opcode)),
            _ => make.plain(),
        },
        // C.J.
        (0b01, 0b101) => make.branch(Role::Jump, address, jump_offset(opcode)),
        // C.BEQZ, C.BNEZ: imm[8|4:3], imm[7:6|2:1|5].
        (0b01, 0b110 | 0b111) => {
            let offset = (opcode >> 12 & 1) << 8
                | (opcode >> 5 & 0b11) << 6
                | (opcode >> 2 & 1) << 5
                | (opcode >> 10 & 0b11) << 3
                | (opcode >> 3 & 0b11) << 1;
            when(true, make.branch(Role::Jump, address, sign_extend(offset, 9)))
        }
        // rs2, bits [6:2], 0: C.JR and C.JALR, of rs1, bits [11:7]; C.EBREAK. Else C.MV and C.ADD.
        (0b10, 0b100) if opcode & 0x7c == 0 => match (opcode >> 12 & 1, opcode >> 7 & 31) {
            (0, 0) => make.of(Kind::Undefined),
            (1, 0) => make.plain(),
            (0, rs1) => make.indirect(role(0, rs1)),
            (_, rs1) => make.indirect(role(1, rs1)),
        },
        _ => make.plain(),
    }
}

/// imm\[11|4|9:8|10|6|7|3:1|5] of C.J and C.JAL, bits \[12:2].
const fn jump_offset(opcode: u32) -> i32 {
    let offset = (opcode >> 12 & 1) << 11
        | (opcode >> 8 & 1) << 10
        | (opcode >> 9 & 0b11) << 8
        | (opcode >> 6 & 1) << 7
        | (opcode >> 7 & 1) << 6
        | (opcode >> 2 & 1) << 5
        | (opcode >> 11 & 1) << 4
        | (opcode >> 3 & 0b111) << 1;
    sign_extend(offset, 12)
}

/// Zcmp and Zcmt. CM.JT and CM.JALT are direct branches; the block walk reads their target from the
/// table.
const fn move_or_table(make: Make, opcode: u32) -> Instruction {
    match table_index(opcode) {
        Some(0..32) => make.of(Kind::Branch),
        Some(_) => Instruction { role: Role::Call, ..make.of(Kind::Branch) },
        // CM.POPRETZ, CM.POPRET; register lists below 4 are reserved.
        None => match opcode & 0xff03 {
            0xbc02 | 0xbe02 if opcode >> 4 & 0xf >= 4 => make.indirect(Role::Return),
            _ => make.plain(),
        },
    }
}
