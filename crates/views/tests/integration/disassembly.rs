//! The text of instructions: no panic, and the same branch targets as the classification.

use tracewright_base::{Isa, Kind};
use tracewright_isa::rv::Extensions;
use tracewright_isa::{ItState, classify};
use tracewright_testing::short_or_long;
use tracewright_views::disassembly::{Disassembler, disassemble, disassemble_with};

/// Opcodes in steps of an odd number, which would visit all 2^32.
fn opcodes() -> impl Iterator<Item = u32> {
    (0..short_or_long(40_000, 200_000u32)).map(|n| n.wrapping_mul(0x9e37_79b1))
}

#[test]
fn every_opcode_has_a_text() {
    for opcode in opcodes() {
        for isa in [Isa::A64, Isa::A32, Isa::T32, Isa::ThumbEe, Isa::Rv64] {
            assert!(!disassemble(isa, opcode, 0x8000).is_empty(), "{isa} {opcode:#x}");
        }
        assert!(!disassemble(Isa::T32, opcode >> 16, 0x8000).is_empty());
    }
}

/// Opcodes without an instruction, beside the one with a bit more or less. (Arm ARM, C4.1)
#[test]
fn unallocated_opcodes_have_no_name() {
    for (opcode, near, name) in [
        (0x0acd_8be1, 0x8acd_8be1, "and x1"),       // a shift of 34
        (0x0b2f_59b5, 0x0b2f_49b5, "add w21"),      // an extension by 6
        (0x52c4_641b, 0x52a4_641b, "mov w27"),      // hw 2
        (0x1279_688c, 0x1239_688c, "and w12"),      // N 1
        (0x720d_7c9f, 0x720d_789f, "tst w4"),       // all ones
        (0x0100_7271, 0x0000_7271, "udf #0x7271"),  // bits [31:16]
        (0x1ab3_b206, 0x1a93_b206, "csel w6"),      // bit [21]
        (0x0c60_6af8, 0x0c40_6af8, "ld1 {v24.2s"),  // bit [21]
        (0x7c23_aa42, 0x7c23_ca42, "str h2"),       // option
        (0xce1d_e77b, 0xce1d_677b, "eor3 v27.16b"), // bit [15]
        (0x0ee1_7787, 0x0ea1_7787, "sabd v7.2s"),   // size 3
        (0x4f05_4d89, 0x4f05_4589, "movi v9.4s"),   // o2
        (0x1e50_774b, 0x9e58_774b, "fcvtzs x11"),   // scale and rmode
        (0xf3ae_d0b6, 0xf3ae_d0bf, "autibsppc"),    // bits [4:0]
    ] {
        assert_eq!(disassemble(Isa::A64, opcode, 0), format!(".inst 0x{opcode:08x}"));
        let text = disassemble(Isa::A64, near, 0);
        assert!(text.starts_with(name), "{near:08x}: {text}");
    }
    // VLDRW.U32, VADD of a register, VCMP and a load of VPR of MVE are no accesses to coprocessors,
    // and MRC and MRRC are.
    for opcode in [0xed93_1f00, 0xee21_0f40, 0xfe01_0f00, 0xecfa_8f94, 0xed33_4eb0] {
        assert_eq!(disassemble(Isa::T32, opcode, 0), format!(".inst 0x{opcode:08x}"));
    }
    for (opcode, name) in [(0xee1d_0f70, "mrc p15"), (0xec51_0f0e, "mrrc p15")] {
        let text = disassemble(Isa::T32, opcode, 0);
        assert!(text.starts_with(name), "{opcode:08x}: {text}");
    }
}

#[test]
fn branch_targets_equal_those_of_the_classification() {
    let address = 0x4000_8000;
    let mut seen = 0;
    for opcode in opcodes() {
        // More branch opcodes: B, BL, B.cond, CBZ and CB of A64, B and BL of A32, wide T32.
        let forms = [
            (Isa::A64, opcode & 0x83ff_ffff | 0x1400_0000),
            (Isa::A64, opcode & 0x00ff_ffe0 | 0x5400_0000),
            (Isa::A64, opcode & 0x81ff_ffff | 0x3400_0000),
            (Isa::A64, opcode & 0x81ff_ffff | 0x7400_0000),
            (Isa::A32, opcode & 0x01ff_ffff | 0xea00_0000),
            (Isa::T32, opcode & 0x07ff_2fff | 0xf000_d000),
            (Isa::T32, opcode & 0x07ff_2fff | 0xf000_8000),
            (Isa::T32, opcode & 0x7ff | 0xe000),
            (Isa::T32, opcode & 0xfff | 0xd000),
            (Isa::T32, opcode & 0xaff | 0xb100),
        ];
        for (isa, opcode) in forms {
            let bytes = match isa {
                Isa::T32 if opcode <= 0xffff => opcode.to_le_bytes(),
                Isa::T32 => opcode.rotate_left(16).to_le_bytes(),
                _ => opcode.to_le_bytes(),
            };
            let Some(i) = classify(isa, &bytes, address, &mut ItState::default()) else { continue };
            let (Kind::Branch, Some(target)) = (i.kind, i.target) else { continue };
            let text = disassemble(isa, opcode, address);
            // The disassembler does not know all opcodes, and takes a few for other instructions.
            if !text.starts_with(['b', 'c', 't']) {
                continue;
            }
            seen += 1;
            let want = format!("0x{target:x}");
            assert!(text.ends_with(&want), "{isa} {opcode:#x}: {text}, not {want}");
        }
    }
    assert!(seen > short_or_long(100_000, 500_000), "{seen}");
}

/// Texts that were checked against the Arm ARM.
#[test]
fn texts() {
    for (isa, opcode, address, want) in [
        (Isa::A64, 0xd65f_03c0, 0x8000, "ret"),
        (Isa::A64, 0x9400_0004, 0x8000, "bl 0x8010"),
        (Isa::A64, 0x17ff_ffff, 0x8000, "b 0x7ffc"),
        // Two pages after the page of the instruction.
        (Isa::A64, 0xd000_0008, 0x8123, "adrp x8, 0xa000"),
        (Isa::T32, 0xbf00, 0x8000, "nop"),
        (Isa::T32, 0xf7ff_fffe, 0x8000, "bl.w 0x8000"),
        (Isa::Rv64, 0x13, 0x8000, "nop"),
        (Isa::Rv64, 0x0010_0513, 0x8000, "li a0, 1"),
        (Isa::Rv64, 0x4505, 0x8000, "li a0, 1"),
        (Isa::Rv64, 0x8c1d, 0x8000, "sub s0, s0, a5"),
        (Isa::Rv32, 0x8c3d, 0x8000, "xor s0, s0, a5"),
        (Isa::Rv64, 0x8c5d, 0x8000, "or s0, s0, a5"),
        (Isa::Rv64, 0x8c7d, 0x8000, "and s0, s0, a5"),
        (Isa::Rv64, 0x9c1d, 0x8000, "subw s0, s0, a5"),
        (Isa::Rv64, 0x9c3d, 0x8000, "addw s0, s0, a5"),
        (Isa::Rv32, 0x9c1d, 0x8000, ".inst 0x9c1d"),
        (Isa::Rv64, 0xffdf_f0ef, 0x8000, "jal 0x7ffc"),
        (Isa::Rv64, 0x0010_036f, 0x8000, "jal t1, 0x8800"),
        (Isa::Rv64, 0x00b5_0463, 0x8000, "beq a0, a1, 0x8008"),
        (Isa::Rv64, 0x0000_8067, 0x8000, "ret"),
        (Isa::Rv64, 0xfff5_00e7, 0x8000, "jalr -1(a0)"),
        (Isa::Rv64, 0x0005_0067, 0x8000, "jr 0(a0)"),
        (Isa::Rv64, 0x3020_0073, 0x8000, "mret"),
        (Isa::Rv64, 0x0000_0297, 0x8000, "auipc t0, 0x0"),
        (Isa::Rv64, 0x8082, 0x8000, "ret"),
        (Isa::Rv64, 0x9502, 0x8000, "c.jalr a0"),
        (Isa::Rv64, 0xc101, 0x8000, "c.beqz a0, 0x8000"),
        (Isa::Rv64, 0xbffd, 0x8000, "c.j 0x7ffe"),
        (Isa::Rv32, 0x2009, 0x8000, "c.jal 0x8002"),
        (Isa::Rv64, 0x2009, 0x8000, ".inst 0x2009"),
        (Isa::T32, 0xde, 0x8000, "lsls r6, r3, #0x3"),
    ] {
        assert_eq!(disassemble(isa, opcode, address), want);
    }
}

/// Cached text does not depend on the addresses at which the opcode was before.
#[test]
fn cached_text_is_that_of_the_address() {
    let mut extensions = Extensions::NONE;
    let custom = "name=jump mask=0x707f match=0x600b kind=branch offset=B";
    extensions.opcodes.push(custom.parse().expect(custom)).expect("room");
    let opcodes = [
        (Isa::A64, 0x1400_0010),
        (Isa::A64, 0x9000_0001),
        (Isa::A64, 0x9101_0021),
        (Isa::A32, 0xeb00_0004),
        (Isa::T32, 0xe7fe),
        (Isa::T32, 0xf000_f804),
        (Isa::Rv32, 0x2001),
        (Isa::Rv64, 0x2001),
        (Isa::Rv64, 0xa001),
        (Isa::Rv64, 0x0040_00ef),
        (Isa::Rv64, 0x0000_0013),
        (Isa::Rv64, 0x0055_660b),
    ];
    for riscv in [Extensions::NONE, extensions] {
        let mut words = Disassembler::new(riscv);
        for address in [0x8000, 0x0010_0000, 0x8000, 0x1_0004] {
            for (isa, opcode) in opcodes {
                let want = disassemble_with(isa, opcode, address, &riscv);
                assert_eq!(words.text(isa, opcode, address), want, "{isa} at {address:#x}");
            }
        }
    }
}
