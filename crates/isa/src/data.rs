//! Data transfers of instructions between the core and memory or a coprocessor: A32 and T32.
//!
//! Loads, stores and coprocessor register transfers are *data instructions*. (IHI 0014, 4.10.2)
//! Preloads transfer no data. [`transfer`] takes opcodes in the form of the other modules.

use tracewright_base::{Direction, Isa};

/// The data transfers of one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The direction.
    pub direction: Direction,
    /// Size of one transfer in bytes: 1, 2 or 4; 0 if the opcode does not determine it.
    pub size: u8,
    /// Number of transfers of up to 32 bits; `None` if the coprocessor, or element size and
    /// alignment, determine it.
    pub count: Option<u8>,
    /// The other end of the transfer.
    pub with: With,
    /// Whether a load multiple loads the PC.
    pub loads_pc: bool,
    /// Whether each register has two transfers: VLDR, VSTR, VLDM and VSTM of double-precision
    /// registers.
    pub doubles: bool,
}

/// The other end of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum With {
    /// Memory.
    Memory,
    /// Memory, with an exclusive access (LDREX, STREX).
    Exclusive,
    /// Memory, with a load and a store at the same address (SWP).
    Swap,
    /// A coprocessor or floating-point register, without an address.
    Coprocessor,
}

impl Transfer {
    /// Whether it loads from memory, and whether it stores to memory.
    pub const fn accesses(&self) -> (bool, bool) {
        match (self.with, self.direction) {
            (With::Coprocessor, _) | (_, Direction::Unknown) => (false, false),
            (With::Swap, _) => (true, true),
            (_, Direction::Read) => (true, false),
            (_, Direction::Write) => (false, true),
        }
    }

    /// Whether the instruction can transfer more than one word (LSM).
    pub const fn multiple(&self) -> bool {
        !matches!(self.count, Some(0 | 1))
    }

    /// Index of the register word of transfer `k`: 0 is the low word of the first register.
    /// Transfers are in the order of memory, and a big-endian double has its high word first. (IHI
    /// 0014, 4.9.1 and 4.9.2)
    pub const fn word(&self, k: u8, big_endian: bool) -> u8 {
        if self.doubles && big_endian { k ^ 1 } else { k }
    }
}

/// The data transfers of the instruction `opcode`; `None` without transfers, and for A64, Jazelle
/// and RISC-V, which are not supported. ThumbEE has the transfers of T32, except for its own
/// opcodes.
pub const fn transfer(isa: Isa, opcode: u32) -> Option<Transfer> {
    match isa {
        Isa::A32 => a32(opcode),
        Isa::T32 => t32(opcode),
        Isa::ThumbEe if opcode >> 12 == 0b1100 => None,
        Isa::ThumbEe => t32(opcode),
        Isa::A64 | Isa::Jazelle | Isa::Rv32 | Isa::Rv64 => None,
    }
}

/// A transfer of `count` times `size` bytes; `load` is the L bit.
const fn moves(load: bool, size: u8, count: u8) -> Transfer {
    Transfer {
        direction: if load { Direction::Read } else { Direction::Write },
        size,
        count: Some(count),
        with: With::Memory,
        loads_pc: false,
        doubles: false,
    }
}

const fn exclusive(load: bool, size: u8, count: u8) -> Transfer {
    Transfer { with: With::Exclusive, ..moves(load, size, count) }
}

/// A load or store multiple of the registers in `list`.
const fn multiple(load: bool, list: u32) -> Transfer {
    Transfer { loads_pc: load && list >> 15 & 1 != 0, ..moves(load, 4, list.count_ones() as u8) }
}

const fn bit(opcode: u32, n: u32) -> bool {
    opcode >> n & 1 != 0
}

/// A transfer that the opcode does not determine: CLREX, BXJ.
const UNKNOWN: Transfer = Transfer {
    direction: Direction::Unknown,
    size: 0,
    count: None,
    with: With::Memory,
    loads_pc: false,
    doubles: false,
};

const fn a32(opcode: u32) -> Option<Transfer> {
    let load = bit(opcode, 20);
    if opcode >> 28 == 0b1111 {
        return match opcode >> 24 & 0xf {
            0b0100 if !load => Some(elements(opcode)),
            0b0101 if opcode == 0xf57f_f01f => Some(UNKNOWN),
            // RFE and SRS: a return address and a PSR.
            0b1000 | 0b1001 => Some(Transfer { loads_pc: load, ..moves(load, 4, 2) }),
            0b1100..=0b1110 => coprocessor(opcode),
            _ => None,
        };
    }
    match opcode >> 25 & 0b111 {
        0b000 if opcode & 0x0fff_fff0 == 0x012f_ff20 => Some(UNKNOWN),
        0b000 if opcode & 0x90 == 0x90 => extra(opcode),
        0b010 => Some(moves(load, if bit(opcode, 22) { 1 } else { 4 }, 1)),
        0b011 if !bit(opcode, 4) => Some(moves(load, if bit(opcode, 22) { 1 } else { 4 }, 1)),
        0b100 => Some(multiple(load, opcode & 0xffff)),
        0b110 | 0b111 => coprocessor(opcode),
        _ => None,
    }
}

/// Bits \[7] and \[4] set: multiplies, semaphores, halfwords, doublewords.
const fn extra(opcode: u32) -> Option<Transfer> {
    let load = bit(opcode, 20);
    Some(match (opcode >> 5 & 0b11, load) {
        (0b00, _) if !bit(opcode, 24) => return None,
        (0b00, _) => match opcode >> 21 & 0b111 {
            0b000 if !load => Transfer { with: With::Swap, ..moves(true, 4, 2) },
            0b010 if !load => Transfer { with: With::Swap, ..moves(true, 1, 2) },
            size @ 0b100.. => {
                let (bytes, count) = match size & 0b11 {
                    0b00 => (4, 1),
                    0b01 => (4, 2),
                    0b10 => (1, 1),
                    _ => (2, 1),
                };
                // LDA and STL, bits [9:8] clear, are not exclusive.
                if opcode >> 8 & 0b11 == 0 {
                    moves(load, bytes, count)
                } else {
                    exclusive(load, bytes, count)
                }
            }
            _ => return None,
        },
        (0b01, _) => moves(load, 2, 1),
        (0b10, false) => moves(true, 4, 2),
        (0b11, false) => moves(false, 4, 2),
        (0b10, true) => moves(true, 1, 1),
        (_, _) => moves(true, 2, 1),
    })
}

/// Coprocessor and floating-point instructions, alike in A32 and T32 but for the top bits.
const fn coprocessor(opcode: u32) -> Option<Transfer> {
    let load = bit(opcode, 20);
    let vector = opcode >> 9 & 0b111 == 0b101;
    match opcode >> 24 & 0xf {
        // MCRR and MRRC; 0000x is undefined.
        0b1100 if opcode >> 21 & 0b111 == 0b010 => Some(register(load, 2)),
        0b1100 if opcode >> 21 & 0b111 == 0b000 => None,
        0b1100 | 0b1101 if vector => {
            let double = bit(opcode, 8);
            let words = match (opcode >> 24 & 1, opcode >> 21 & 1) {
                // VLDR and VSTR.
                (1, 0) => 1 + double as u32,
                // VLDM and VSTM; an odd count of words is FLDMX, whose last word is no transfer.
                _ if double => opcode & 0xfe,
                _ => opcode & 0xff,
            };
            Some(Transfer { doubles: double, ..moves(load, 4, words as u8) })
        }
        0b1100 | 0b1101 => Some(Transfer { count: None, ..moves(load, 4, 1) }),
        0b1110 if bit(opcode, 4) => Some(register(load, 1)),
        _ => None,
    }
}

/// A coprocessor register transfer. (CPRT)
const fn register(load: bool, count: u8) -> Transfer {
    Transfer { with: With::Coprocessor, ..moves(load, 4, count) }
}

/// VLDn and VSTn. Bit \[21] is the L bit.
const fn elements(opcode: u32) -> Transfer {
    let load = bit(opcode, 21);
    let registers = match opcode >> 8 & 0xf {
        _ if bit(opcode, 23) => 0,
        0b0000..=0b0011 => 4,
        0b0100..=0b0110 => 3,
        0b0111 => 1,
        0b1000..=0b1010 => 2,
        _ => 0,
    };
    match registers {
        0 => Transfer { count: None, size: 0, ..moves(load, 4, 1) },
        d => moves(load, 4, 2 * d),
    }
}

const fn t32(opcode: u32) -> Option<Transfer> {
    if opcode >> 16 == 0 {
        return narrow(opcode);
    }
    let load = bit(opcode, 20);
    match opcode >> 24 & 0xff {
        0xf3 if opcode == 0xf3bf_8f2f || opcode & 0xfff0_f000 == 0xf3c0_8000 => Some(UNKNOWN),
        0xe8 | 0xe9 if bit(opcode, 22) => dual(opcode),
        0xe8 | 0xe9 => match opcode >> 23 & 0b11 {
            0b00 | 0b11 => Some(Transfer { loads_pc: load, ..moves(load, 4, 2) }),
            _ => Some(multiple(load, opcode & 0xffff)),
        },
        0xf9 if !load => Some(elements(opcode)),
        0xf8 | 0xf9 => match opcode >> 21 & 0b11 {
            // PLD, PLDW and PLI.
            0b00 | 0b01 if load && opcode >> 12 & 0xf == 15 => None,
            0b00 => Some(moves(load, 1, 1)),
            0b01 => Some(moves(load, 2, 1)),
            0b10 => Some(moves(load, 4, 1)),
            _ => None,
        },
        0xec..=0xee | 0xfc..=0xfe => coprocessor(opcode),
        _ => None,
    }
}

/// Load and store dual and exclusive, and table branches.
const fn dual(opcode: u32) -> Option<Transfer> {
    let load = bit(opcode, 20);
    Some(match (opcode >> 23 & 0b11, bit(opcode, 21)) {
        (0b00, false) => exclusive(load, 4, 1),
        (0b01, false) => match opcode >> 4 & 0xf {
            // TBB and TBH.
            0b0000 if load => moves(true, 1, 1),
            0b0001 if load => moves(true, 2, 1),
            0b0100 | 0b1100 => exclusive(load, 1, 1),
            0b0101 | 0b1101 => exclusive(load, 2, 1),
            0b1110 => exclusive(load, 4, 1),
            0b0111 | 0b1111 => exclusive(load, 4, 2),
            // LDA and STL.
            0b1000 => moves(load, 1, 1),
            0b1001 => moves(load, 2, 1),
            0b1010 => moves(load, 4, 1),
            _ => return None,
        },
        _ => moves(load, 4, 2),
    })
}

const fn narrow(opcode: u32) -> Option<Transfer> {
    let load = bit(opcode, 11);
    Some(match opcode >> 11 {
        0b01001 => moves(true, 4, 1),
        0b01010 | 0b01011 => match opcode >> 9 & 0b111 {
            0b000 => moves(false, 4, 1),
            0b001 => moves(false, 2, 1),
            0b010 => moves(false, 1, 1),
            0b011 | 0b110 => moves(true, 1, 1),
            0b100 => moves(true, 4, 1),
            _ => moves(true, 2, 1),
        },
        0b01100 | 0b01101 | 0b10010 | 0b10011 => moves(load, 4, 1),
        0b01110 | 0b01111 => moves(load, 1, 1),
        0b10000 | 0b10001 => moves(load, 2, 1),
        // PUSH with LR, POP with PC.
        0b10110 if opcode >> 9 & 0b11 == 0b10 => {
            moves(false, 4, (opcode & 0x1ff).count_ones() as u8)
        }
        0b10111 if opcode >> 9 & 0b11 == 0b10 => Transfer {
            loads_pc: bit(opcode, 8),
            ..moves(true, 4, (opcode & 0x1ff).count_ones() as u8)
        },
        0b11000 | 0b11001 => moves(load, 4, (opcode & 0xff).count_ones() as u8),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const R: Direction = Direction::Read;
    const W: Direction = Direction::Write;

    type Row = (u32, &'static str, Direction, u8, Option<u8>, With);

    #[track_caller]
    fn rows(isa: Isa, rows: &[Row]) {
        for &(opcode, text, direction, size, count, with) in rows {
            let got = transfer(isa, opcode).unwrap_or_else(|| panic!("{text} moves nothing"));
            assert_eq!(
                (got.direction, got.size, got.count, got.with),
                (direction, size, count, with),
                "{text} {opcode:08x}"
            );
        }
    }

    /// A double from 0x2000 to r0 and r1 of the floating-point registers: little-endian, the word
    /// at 0x2000 belongs to r0; big-endian, to r1. Pairs of core registers and single words have
    /// the same order. (IHI 0014, 4.9.1)
    #[test]
    fn words_of_doubles() {
        for (isa, opcode, text, big) in [
            (Isa::A32, 0xed91_0b00, "vldr d0, [r1]", &[1, 0][..]),
            (Isa::T32, 0xed91_0b00, "vldr d0, [r1]", &[1, 0]),
            (Isa::A32, 0xed81_0b00, "vstr d0, [r1]", &[1, 0]),
            (Isa::A32, 0xec91_0b04, "vldmia r1, {d0, d1}", &[1, 0, 3, 2]),
            (Isa::A32, 0xed91_0a00, "vldr s0, [r1]", &[0]),
            (Isa::A32, 0xec91_0a02, "vldmia r1, {s0, s1}", &[0, 1]),
            (Isa::A32, 0xe1c1_40d0, "ldrd r4, r5, [r1]", &[0, 1]),
        ] {
            let got = transfer(isa, opcode).unwrap();
            let words = |big_endian| (0..got.count.unwrap()).map(move |k| got.word(k, big_endian));
            assert!(words(true).eq(big.iter().copied()), "{text}");
            assert!(words(false).eq(0..big.len() as u8), "{text}");
        }
    }

    /// Rows: opcode, instruction, direction, bytes, transfers, other end. Opcodes by LLVM's
    /// assembler.
    #[test]
    fn a32_transfers() {
        use With::{Coprocessor, Exclusive, Memory, Swap};
        rows(
            Isa::A32,
            &[
                (0xe591_0004, "ldr r0, [r1, #4]", R, 4, Some(1), Memory),
                (0xe481_0004, "str r0, [r1], #4", W, 4, Some(1), Memory),
                (0xe7d1_0002, "ldrb r0, [r1, r2]", R, 1, Some(1), Memory),
                (0xe5c1_0000, "strb r0, [r1]", W, 1, Some(1), Memory),
                (0xe4b1_0000, "ldrt r0, [r1]", R, 4, Some(1), Memory),
                (0xe4e1_0000, "strbt r0, [r1]", W, 1, Some(1), Memory),
                (0xe1d1_00b0, "ldrh r0, [r1]", R, 2, Some(1), Memory),
                (0xe181_00b2, "strh r0, [r1, r2]", W, 2, Some(1), Memory),
                (0xe1d1_00d0, "ldrsb r0, [r1]", R, 1, Some(1), Memory),
                (0xe1d1_00f0, "ldrsh r0, [r1]", R, 2, Some(1), Memory),
                (0xe1c1_40d0, "ldrd r4, r5, [r1]", R, 4, Some(2), Memory),
                (0xe1c1_40f8, "strd r4, r5, [r1, #8]", W, 4, Some(2), Memory),
                (0xe8b0_000e, "ldmia r0!, {r1, r2, r3}", R, 4, Some(3), Memory),
                (0xe92d_4030, "push {r4, r5, lr}", W, 4, Some(3), Memory),
                (0xe8bd_8010, "pop {r4, pc}", R, 4, Some(2), Memory),
                (0xf8bd_0a00, "rfeia sp!", R, 4, Some(2), Memory),
                (0xf96d_0513, "srsdb sp!, #19", W, 4, Some(2), Memory),
                (0xe102_0091, "swp r0, r1, [r2]", R, 4, Some(2), Swap),
                (0xe142_0091, "swpb r0, r1, [r2]", R, 1, Some(2), Swap),
                (0xe191_0f9f, "ldrex r0, [r1]", R, 4, Some(1), Exclusive),
                (0xe182_0f91, "strex r0, r1, [r2]", W, 4, Some(1), Exclusive),
                (0xe1b2_0f9f, "ldrexd r0, r1, [r2]", R, 4, Some(2), Exclusive),
                (0xe1a4_0f92, "strexd r0, r2, r3, [r4]", W, 4, Some(2), Exclusive),
                (0xe1d1_0f9f, "ldrexb r0, [r1]", R, 1, Some(1), Exclusive),
                (0xe1e2_0f91, "strexh r0, r1, [r2]", W, 2, Some(1), Exclusive),
                (0xee0d_0f30, "mcr p15, #0, r0, c13, c0, #1", W, 4, Some(1), Coprocessor),
                (0xee10_0f10, "mrc p15, #0, r0, c0, c0, #0", R, 4, Some(1), Coprocessor),
                (0xec41_0f02, "mcrr p15, #0, r0, r1, c2", W, 4, Some(2), Coprocessor),
                (0xec51_0f0e, "mrrc p15, #0, r0, r1, c14", R, 4, Some(2), Coprocessor),
                (0xfe01_0e10, "mcr2 p14, #0, r0, c1, c0, #0", W, 4, Some(1), Coprocessor),
                (0xed91_1600, "ldc p6, c1, [r1]", R, 4, None, Memory),
                (0xeda1_1601, "stc p6, c1, [r1, #4]!", W, 4, None, Memory),
                (0xed91_0a00, "vldr s0, [r1]", R, 4, Some(1), Memory),
                (0xed91_0b00, "vldr d0, [r1]", R, 4, Some(2), Memory),
                (0xedc1_0b02, "vstr d16, [r1, #8]", W, 4, Some(2), Memory),
                (0xecb0_0b06, "vldmia r0!, {d0, d1, d2}", R, 4, Some(6), Memory),
                (0xed2d_0a03, "vpush {s0, s1, s2}", W, 4, Some(3), Memory),
                (0xee00_1a10, "vmov s0, r1", W, 4, Some(1), Coprocessor),
                (0xee10_1a10, "vmov r1, s0", R, 4, Some(1), Coprocessor),
                (0xec51_0b10, "vmov r0, r1, d0", R, 4, Some(2), Coprocessor),
                (0xec41_0a10, "vmov s0, s1, r0, r1", W, 4, Some(2), Coprocessor),
                (0xeef1_0a10, "vmrs r0, fpscr", R, 4, Some(1), Coprocessor),
                (0xee80_0b10, "vdup.32 d0, r0", W, 4, Some(1), Coprocessor),
                (0xf421_078f, "vld1.32 {d0}, [r1]", R, 4, Some(2), Memory),
                (0xf421_0a8f, "vld1.32 {d0, d1}, [r1]", R, 4, Some(4), Memory),
                (0xf401_06cf, "vst1.64 {d0, d1, d2}, [r1]", W, 4, Some(6), Memory),
                (0xf401_020f, "vst1.8 {d0, d1, d2, d3}, [r1]", W, 4, Some(8), Memory),
                (0xf421_004f, "vld4.16 {d0, d1, d2, d3}, [r1]", R, 4, Some(8), Memory),
                (0xf421_044f, "vld3.16 {d0, d1, d2}, [r1]", R, 4, Some(6), Memory),
                (0xf421_088f, "vld2.32 {d0, d1}, [r1]", R, 4, Some(4), Memory),
                (0xf421_038f, "vld2.32 {d0, d1, d2, d3}, [r1]", R, 4, Some(8), Memory),
                (0xf4a1_088f, "vld1.32 {d0[1]}, [r1]", R, 0, None, Memory),
                (0xf57f_f01f, "clrex", Direction::Unknown, 0, None, Memory),
                (0xe12f_ff20, "bxj r0", Direction::Unknown, 0, None, Memory),
            ],
        );
    }

    #[test]
    fn t32_transfers() {
        use With::{Coprocessor, Exclusive, Memory};
        rows(
            Isa::T32,
            &[
                (0x4802, "ldr r0, [pc, #8]", R, 4, Some(1), Memory),
                (0x5088, "str r0, [r1, r2]", W, 4, Some(1), Memory),
                (0x5288, "strh r0, [r1, r2]", W, 2, Some(1), Memory),
                (0x5488, "strb r0, [r1, r2]", W, 1, Some(1), Memory),
                (0x5688, "ldrsb r0, [r1, r2]", R, 1, Some(1), Memory),
                (0x5888, "ldr r0, [r1, r2]", R, 4, Some(1), Memory),
                (0x5a88, "ldrh r0, [r1, r2]", R, 2, Some(1), Memory),
                (0x5c88, "ldrb r0, [r1, r2]", R, 1, Some(1), Memory),
                (0x5e88, "ldrsh r0, [r1, r2]", R, 2, Some(1), Memory),
                (0x6048, "str r0, [r1, #4]", W, 4, Some(1), Memory),
                (0x9801, "ldr r0, [sp, #4]", R, 4, Some(1), Memory),
                (0x7848, "ldrb r0, [r1, #1]", R, 1, Some(1), Memory),
                (0x8048, "strh r0, [r1, #2]", W, 2, Some(1), Memory),
                (0xb530, "push {r4, r5, lr}", W, 4, Some(3), Memory),
                (0xbd10, "pop {r4, pc}", R, 4, Some(2), Memory),
                (0xc006, "stm r0!, {r1, r2}", W, 4, Some(2), Memory),
                (0xc80e, "ldm r0!, {r1, r2, r3}", R, 4, Some(3), Memory),
                (0xf853_2b04, "ldr r2, [r3], #4", R, 4, Some(1), Memory),
                (0xf8c3_8000, "str.w r8, [r3]", W, 4, Some(1), Memory),
                (0xf893_8000, "ldrb.w r8, [r3]", R, 1, Some(1), Memory),
                (0xf9b3_8000, "ldrsh.w r8, [r3]", R, 2, Some(1), Memory),
                (0xf823_8c02, "strh r8, [r3, #-2]", W, 2, Some(1), Memory),
                (0xe92d_4170, "push.w {r4, r5, r6, r8, lr}", W, 4, Some(5), Memory),
                (0xe8bd_8110, "pop.w {r4, r8, pc}", R, 4, Some(3), Memory),
                (0xe9bd_c000, "rfeia sp!", R, 4, Some(2), Memory),
                (0xe82d_c013, "srsdb sp!, #19", W, 4, Some(2), Memory),
                (0xe9d2_0102, "ldrd r0, r1, [r2, #8]", R, 4, Some(2), Memory),
                (0xe8e2_0102, "strd r0, r1, [r2], #8", W, 4, Some(2), Memory),
                (0xe851_0f00, "ldrex r0, [r1]", R, 4, Some(1), Exclusive),
                (0xe842_1000, "strex r0, r1, [r2]", W, 4, Some(1), Exclusive),
                (0xe8d1_0f4f, "ldrexb r0, [r1]", R, 1, Some(1), Exclusive),
                (0xe8c2_1f50, "strexh r0, r1, [r2]", W, 2, Some(1), Exclusive),
                (0xe8c3_1270, "strexd r0, r1, r2, [r3]", W, 4, Some(2), Exclusive),
                (0xe8d1_0fef, "ldaex r0, [r1]", R, 4, Some(1), Exclusive),
                (0xe8d1_0faf, "lda r0, [r1]", R, 4, Some(1), Memory),
                (0xe8d0_f001, "tbb [r0, r1]", R, 1, Some(1), Memory),
                (0xe8d0_f011, "tbh [r0, r1, lsl #1]", R, 2, Some(1), Memory),
                (0xee0d_0f30, "mcr p15, #0, r0, c13, c0, #1", W, 4, Some(1), Coprocessor),
                (0xec51_0f0e, "mrrc p15, #0, r0, r1, c14", R, 4, Some(2), Coprocessor),
                (0xed91_0b00, "vldr d0, [r1]", R, 4, Some(2), Memory),
                (0xecb0_0b04, "vldmia r0!, {d0, d1}", R, 4, Some(4), Memory),
                (0xee00_1a10, "vmov s0, r1", W, 4, Some(1), Coprocessor),
                (0xf921_078f, "vld1.32 {d0}, [r1]", R, 4, Some(2), Memory),
                (0xf981_088f, "vst1.32 {d0[1]}, [r1]", W, 0, None, Memory),
                (0xf3bf_8f2f, "clrex", Direction::Unknown, 0, None, Memory),
            ],
        );
    }

    #[test]
    fn nothing_moves() {
        for (isa, opcode, text) in [
            (Isa::A32, 0xe000_0291, "mul r0, r1, r2"),
            (Isa::A32, 0xf5d0_f000, "pld [r0]"),
            (Isa::A32, 0xe081_0002, "add r0, r1, r2"),
            (Isa::A32, 0xf221_0111, "vmov d0, d1"),
            (Isa::A32, 0xee30_0a81, "vadd.f32 s0, s1, s2"),
            (Isa::A32, 0xea00_0002, "b #8"),
            (Isa::A32, 0xef00_0000, "svc #0"),
            (Isa::A32, 0xee12_1683, "cdp p6, #1, c1, c2, c3, #4"),
            (Isa::A32, 0xfa00_0002, "blx #8"),
            (Isa::A32, 0xe611_0f12, "sadd16 r0, r1, r2"),
            (Isa::T32, 0xf890_f000, "pld [r0]"),
            (Isa::T32, 0xf990_f000, "pli [r0]"),
            (Isa::T32, 0x1888, "adds r0, r1, r2"),
            (Isa::T32, 0xb002, "add sp, #8"),
            (Isa::T32, 0xb110, "cbz r0, #4"),
            (Isa::T32, 0xbf08, "it eq"),
            (Isa::T32, 0xbf00, "nop"),
            (Isa::T32, 0xf000_f804, "bl #8"),
            (Isa::T32, 0xeb01_0002, "add.w r0, r1, r2"),
            (Isa::T32, 0xfb01_f002, "mul r0, r1, r2"),
            (Isa::T32, 0xef02_0d44, "vadd.f32 q0, q1, q2"),
            (Isa::T32, 0xbe00, "bkpt #0"),
        ] {
            assert_eq!(transfer(isa, opcode), None, "{text}");
        }
    }

    #[test]
    fn which_read_the_pc() {
        for (isa, opcode, text, pc) in [
            (Isa::A32, 0xe8bd_8010, "pop {r4, pc}", true),
            (Isa::A32, 0xe8bd_0030, "pop {r4, r5}", false),
            (Isa::A32, 0xf8bd_0a00, "rfeia sp!", true),
            (Isa::A32, 0xe92d_8001, "stmdb sp!, {r0, pc}", false),
            (Isa::T32, 0xbd10, "pop {r4, pc}", true),
            (Isa::T32, 0xb510, "push {r4, lr}", false),
            (Isa::T32, 0xe8bd_8110, "pop.w {r4, r8, pc}", true),
        ] {
            assert_eq!(transfer(isa, opcode).map(|t| t.loads_pc), Some(pc), "{text}");
        }
    }
}
