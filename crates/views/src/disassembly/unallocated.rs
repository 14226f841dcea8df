//! Opcodes for which the general disassembler has a text, although no instruction has them.

/// Whether no instruction of A64 has `opcode`, although the general disassembler names it.
pub(super) fn a64(opcode: u32) -> bool {
    // Where op0 is 0, only UDF is known, whose bits [31:16] are 0.
    let reserved = opcode >> 25 & 0xf == 0 && opcode >> 16 != 0;
    reserved || A64.iter().any(|(mask, value)| opcode & mask == *value)
}

/// Whether a 4-byte opcode of T32 is a load, a store or an operation of coprocessors 14 and 15. The
/// M profile has vectors there (MVE), and the A profile next to nothing.
pub(super) const fn t32(opcode: u32) -> bool {
    let coprocessor = matches!(opcode >> 8 & 0xf, 14 | 15);
    let moves_two = opcode & 0x0fe0_0000 == 0x0c40_0000;
    coprocessor
        && match opcode >> 24 {
            0xec | 0xed | 0xfc | 0xfd => !moves_two,
            0xee | 0xfe => opcode >> 4 & 1 == 0,
            _ => false,
        }
}

/// The bits of an opcode that a row has, and their values. (Arm ARM, C4.1)
const A64: &[(u32, u32)] = &[
    // Move wide: opc is not 1, and a 32-bit register has two halves.
    (0x9fc0_0000, 0x12c0_0000),
    (0x7f80_0000, 0x3280_0000),
    // Logical immediates: N is 0 for a 32-bit register, and an element does not consist of ones.
    (0x9fc0_0000, 0x1240_0000),
    (0x1f80_fc00, 0x1200_fc00),
    (0x1fc0_fc00, 0x1200_7c00),
    (0x1fc0_fc00, 0x1200_bc00),
    (0x1fc0_fc00, 0x1200_dc00),
    (0x1fc0_fc00, 0x1200_ec00),
    (0x1fc0_fc00, 0x1200_f400),
    (0x1fc0_fc00, 0x1200_f800),
    // Shifted registers: the amount is less than the size.
    (0x9f00_8000, 0x0a00_8000),
    (0x9f20_8000, 0x0b00_8000),
    // Extended registers: the amount is at most 4, and opt is 0.
    (0x1f20_1800, 0x0b20_1800),
    (0x1f20_1400, 0x0b20_1400),
    (0x1fa0_0000, 0x0ba0_0000),
    (0x1f60_0000, 0x0b60_0000),
    // ADC and SBC, conditional comparisons and selections, one and two sources: bit [21] is 0.
    (0x1f20_0000, 0x1a20_0000),
    // Conditional comparisons: S is 1, and o2 and o3 are 0. Selections: S and bit [11] are 0.
    (0x3fe0_0000, 0x1a40_0000),
    (0x1fe0_0400, 0x1a40_0400),
    (0x1fe0_0010, 0x1a40_0010),
    (0x3fe0_0000, 0x3a80_0000),
    (0x1fe0_0800, 0x1a80_0800),
    // Structures of vectors: bit [31] is 0, Rm is 0 without writeback, and only LD1 and ST1 have
    // 1D.
    (0xbe00_0000, 0x8c00_0000),
    (0xbf20_0000, 0x0c20_0000),
    (0xbf90_0000, 0x0c10_0000),
    (0xbf88_0000, 0x0c08_0000),
    (0xbf84_0000, 0x0c04_0000),
    (0xbf82_0000, 0x0c02_0000),
    (0xbf81_0000, 0x0c01_0000),
    (0xff00_bc00, 0x0c00_0c00),
    (0xff00_7c00, 0x0c00_0c00),
    (0xbf90_0000, 0x0d10_0000),
    (0xbf88_0000, 0x0d08_0000),
    (0xbf84_0000, 0x0d04_0000),
    (0xbf82_0000, 0x0d02_0000),
    // Register offsets: option is that of a word or a doubleword.
    (0x3b20_4c00, 0x3820_0800),
    // Cryptographic instructions of four, three and two registers.
    (0xffc0_8000, 0xce00_8000),
    (0xffe0_c000, 0xce40_c000),
    (0xffe0_8000, 0xce60_0000),
    (0xffe0_2000, 0xce60_2000),
    (0xffe0_1000, 0xce60_1000),
    (0xffe0_cc00, 0xce60_cc00),
    (0xffd0_0000, 0xced0_0000),
    (0xffc8_0000, 0xcec8_0000),
    (0xffc4_0000, 0xcec4_0000),
    (0xffc2_0000, 0xcec2_0000),
    (0xffc1_0000, 0xcec1_0000),
    (0xffc0_8000, 0xcec0_0000),
    (0xffc0_4000, 0xcec0_4000),
    (0xffc0_2000, 0xcec0_2000),
    (0xffc0_1000, 0xcec0_1000),
    (0xffc0_0800, 0xcec0_0800),
    (0xffa0_0000, 0xcea0_0000),
    // Copies: size is 0, and a doubleword needs a whole vector.
    (0x9fe0_8400, 0x0e80_0400),
    (0x9f60_c400, 0x0e40_4400),
    (0xffe0_fc00, 0x0e00_1c00),
    (0xffef_f400, 0x0e08_0400),
    // Dot products of bytes: size is 2.
    (0x9fe0_fc00, 0x0e00_9400),
    (0x9fe0_fc00, 0x0e40_9400),
    (0x9fe0_fc00, 0x0ec0_9400),
    // FCMLA and FCADD: size is not 0.
    (0xbfe0_e400, 0x2e00_c400),
    (0xbfe0_ec00, 0x2e00_e400),
    // SQDMLAL, SQDMLSL and SQDMULL: size is not 0.
    (0x9fe0_dc00, 0x0e20_9000),
    (0x9fe0_fc00, 0x0e20_d000),
    // Three registers of the same type: only bitwise operations have 1D.
    (0xdfe0_8400, 0x0ee0_8400),
    (0xdfe0_c400, 0x0ee0_4400),
    (0xdfe0_e400, 0x0ee0_2400),
    (0xdfe0_f400, 0x0ee0_0400),
    (0xdfe0_fc00, 0x0ee0_1400),
    (0xdfe0_c400, 0x0e60_c400),
    // Halving, multiplication, minimum and maximum have no doublewords, SQDMULH no bytes.
    (0x9fe0_ec00, 0x0ee0_0400),
    (0x9fe0_fc00, 0x0ee0_2400),
    (0x9fe0_e400, 0x0ee0_6400),
    (0x9fe0_f400, 0x0ee0_9400),
    (0x9fe0_f400, 0x0ee0_a400),
    (0x9fe0_fc00, 0x0ee0_b400),
    (0x9fe0_fc00, 0x0e20_b400),
    // PMUL has bytes only.
    (0xbfa0_fc00, 0x2ea0_9c00),
    (0xbf60_fc00, 0x2e60_9c00),
    // Scalars: comparisons and shifts have doublewords only, SQDMULH halfwords and words.
    (0xdfa0_f400, 0x5e20_3400),
    (0xdf60_f400, 0x5e20_3400),
    (0xdfa0_ec00, 0x5e20_4400),
    (0xdf60_ec00, 0x5e20_4400),
    (0xdfa0_f400, 0x5e20_8400),
    (0xdf60_f400, 0x5e20_8400),
    (0xdfe0_fc00, 0x5ee0_b400),
    (0xdfe0_fc00, 0x5e20_b400),
    // Two registers: sizes of floating-point comparisons, FCVTXN, REV32 and URECPE.
    (0x9fbf_cc00, 0x0e20_c800),
    (0xbfff_fc00, 0x2e21_6800),
    (0xbfbf_fc00, 0x2ea0_0800),
    (0x9fff_fc00, 0x0ee1_c800),
    // Scalars: comparisons with zero, ABS and NEG have doublewords only.
    (0xdfbf_cc00, 0x5e20_8800),
    (0xdf7f_cc00, 0x5e20_8800),
    // Pairwise operations and operations across a vector of half precision: sz is 0.
    (0xff7f_cc00, 0x5e70_c800),
    (0xbf7f_cc00, 0x0e70_c800),
    // SSHLL and USHLL have no doublewords.
    (0x9fc0_fc00, 0x0f40_a400),
    // Modified immediates: o2 is 1 for half precision only.
    (0x9ff8_8c00, 0x0f00_0c00),
    (0x9ff8_cc00, 0x0f00_8c00),
    (0x9ff8_ec00, 0x0f00_cc00),
    (0x9ff8_fc00, 0x0f00_ec00),
    (0xbff8_fc00, 0x2f00_fc00),
    // Elements of FCMLA, FMULX, FMLAL, and of SQRDMLAH and the like.
    (0xbfc0_9400, 0x2f00_1000),
    (0xbfc0_9400, 0x2fc0_1000),
    (0xffc0_9c00, 0x2f40_1800),
    (0xbfe0_9400, 0x2fa0_1000),
    (0xffc0_9400, 0x2f80_1000),
    (0xffc0_f400, 0x2fc0_9000),
    (0xdfc0_d400, 0x5f00_d000),
    (0xdfc0_d400, 0x5fc0_d000),
    (0xff00_f400, 0x5f00_f000),
    (0xdfc0_f400, 0x5f00_c000),
    (0xdfc0_f400, 0x5fc0_c000),
    // Fixed-point conversions: the fraction of a 32-bit register has at most 32 bits; rmode.
    (0xdf20_8000, 0x1e00_0000),
    (0x5f36_0000, 0x1e12_0000),
    (0x5f2e_0000, 0x1e0a_0000),
    (0x5f36_0000, 0x1e00_0000),
    (0x5f2e_0000, 0x1e00_0000),
    // LDAPR: Rs is 31.
    (0x3ff0_fc00, 0x38a0_c000),
    (0x3fe8_fc00, 0x38a0_c000),
    (0x3fe4_fc00, 0x38a0_c000),
    (0x3fe2_fc00, 0x38a0_c000),
    (0x3fe1_fc00, 0x38a0_c000),
    // FCMP: bits [2:0] are 0.
    (0x5f20_3c04, 0x1e20_2004),
    (0x5f20_3c02, 0x1e20_2002),
    (0x5f20_3c01, 0x1e20_2001),
    // FRINT32, FRINT64 and BFCVT of half precision.
    (0xfffe_7c00, 0x1ee8_4000),
    (0xbfc0_b400, 0x2fc0_8000),
    // AUTIASPPC and AUTIBSPPC of an address: bits [4:0] are ones.
    (0xffc0_0010, 0xf380_0000),
    (0xffc0_0008, 0xf380_0000),
    (0xffc0_0004, 0xf380_0000),
    (0xffc0_0002, 0xf380_0000),
    (0xffc0_0001, 0xf380_0000),
    (0xffff_fc00, 0x1ee3_4000),
];
