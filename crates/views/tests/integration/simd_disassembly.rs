//! Floating-point and Advanced SIMD instructions as text: a table, and all encoding classes against
//! LLVM.

use tracewright_base::Isa;
use tracewright_testing::{Random, short_or_long};
use tracewright_views::disassembly::disassemble;

use crate::llvm::{self, Known, compare};

/// 32 random bits.
fn word(random: &mut Random) -> u32 {
    (random.next() >> 32) as u32
}

/// An opcode of A32: a random one of a random encoding class.
fn a32(random: &mut Random) -> u32 {
    let word = word(random);
    let pick = random.next() as u32;
    let condition = if pick >> 8 & 3 == 0 { (pick >> 12) % 14 } else { 14 } << 28;
    match pick & 7 {
        0 => 0xf200_0000 | word & 0x01ff_ffff,
        1 => 0xf400_0000 | word & 0x00ef_ffff,
        2 => {
            let coprocessor = [8, 9, 10, 11, 13][(pick >> 16) as usize % 5] << 8;
            0xfc00_0000 + ((pick >> 4) % 3 << 24) | word & 0x00ff_f0ff | coprocessor
        }
        3 => 0xf280_0000 | word & 0x017f_ffff,
        4 => condition | 0x0e00_0800 | word & 0x00ff_f3ff,
        5 => condition | 0x0eb0_0840 | word & 0x00ff_f3ef,
        6 => condition | 0x0c00_0800 | word & 0x01ff_f3ff,
        _ => 0xf3b0_0000 | word & 0x004f_ffef,
    }
}

/// The same instruction in T32, where conditions are not in the opcode.
fn t32(opcode: u32) -> u32 {
    match opcode >> 24 {
        top @ (0xf2 | 0xf3) => (top & 1) << 28 | 0xef00_0000 | opcode & 0x00ff_ffff,
        0xf4 => 0xf900_0000 | opcode & 0x00ff_ffff,
        0xfc.. => opcode,
        _ => opcode & 0x0fff_ffff | 0xe000_0000,
    }
}

#[test]
fn a32_against_llvm() {
    let mut random = Random::new(1);
    let count = short_or_long(1_500, 400_000);
    let opcodes: Vec<_> = (0..count).map(|_| a32(&mut random)).collect();
    compare(&llvm::A32, &opcodes, KNOWN, count / 4);
}

#[test]
fn t32_against_llvm() {
    let mut random = Random::new(2);
    let count = short_or_long(1_500, 400_000);
    let opcodes: Vec<_> = (0..count).map(|_| t32(a32(&mut random))).collect();
    compare(&llvm::T32, &opcodes, KNOWN, count / 4);
}

const EXTRACT: Known = Known {
    why: "LLVM names VEXT by the greatest unit of its index",
    explains: |_, ours, llvm| ours.starts_with("vext.8") && llvm.starts_with("vext."),
};
const FRACTION: Known = Known {
    why: "a fixed-point conversion with less than no fraction bits is unpredictable",
    explains: |_, ours, llvm| ours.is_empty() && llvm.starts_with("vcvt") && llvm.contains("#-"),
};
const LIST: Known = Known {
    why: "a list of registers beyond D31 is unpredictable: LLVM continues with others",
    explains: |_, ours, llvm| {
        let last = ["d29", "d30", "d31"];
        let other = ["d0", "d1", "d2", "fpinst2", "mvfr0"];
        let beyond = |last: &str, other: &str| {
            llvm.contains(&format!("{last}, {other}"))
                || llvm.split_once(&format!("{last}[")).is_some_and(|(_, after)| {
                    after.split_once("], ").is_some_and(|(_, after)| after.starts_with(other))
                })
        };
        ours.is_empty() && last.iter().any(|last| other.iter().any(|other| beyond(last, other)))
    },
};

const PROFILE: Known = Known {
    why: "LLVM has the registers of the M profile for that profile only",
    explains: |opcode, ours, llvm| {
        opcode & 0x0fe0_0fff == 0x0ee0_0a10 && !ours.is_empty() && llvm.is_empty()
    },
};

const EXTENDED: Known = Known {
    why: "FLDMX and FSTMX of registers beyond D15, and more than 16 registers, are unpredictable",
    explains: |_, ours, llvm| {
        let extended = llvm.starts_with("fldm") || llvm.starts_with("fstm");
        let many = ["vldm", "vstm", "vpush", "vpop"].iter().any(|name| llvm.starts_with(name))
            && llvm.matches(" d").count() > 16;
        ours.is_empty() && (extended || many)
    },
};

const KNOWN: &[Known] = &[EXTRACT, FRACTION, LIST, PROFILE, EXTENDED];

/// Rows from the Arm ARM, one or two of each encoding class.
#[test]
fn texts() {
    for (isa, opcode, want) in [
        (Isa::A32, 0xed2d_8b10, "vpush {d8, d9, d10, d11, d12, d13, d14, d15}"),
        (Isa::A32, 0xecbd_8b04, "vpop {d8, d9}"),
        (Isa::A32, 0xeef1_fa10, "vmrs apsr_nzcv, fpscr"),
        (Isa::A32, 0xeee1_0a10, "vmsr fpscr, r0"),
        (Isa::A32, 0xeeb7_0a00, "vmov.f32 s0, #1.0"),
        (Isa::A32, 0x0e31_0b02, "vaddeq.f64 d0, d1, d2"),
        (Isa::A32, 0xed9f_0a01, "vldr s0, [pc, #0x4]"),
        (Isa::A32, 0xf202_0844, "vadd.i8 q0, q1, q2"),
        (Isa::A32, 0xf280_0050, "vmov.i32 q0, #0x0"),
        (Isa::A32, 0xf421_0a8f, "vld1.32 {d0, d1}, [r1]"),
        (Isa::T32, 0xed2d_8b02, "vpush {d8}"),
        (Isa::T32, 0xee07_0a90, "vmov s15, r0"),
        (Isa::T32, 0xef00_0d40, "vadd.f32 q0, q0, q0"),
        (Isa::T32, 0xf961_0a8d, "vld1.32 {d16, d17}, [r1]!"),
    ] {
        assert_eq!(disassemble(isa, opcode, 0x8000), want, "{opcode:x}");
    }
}
