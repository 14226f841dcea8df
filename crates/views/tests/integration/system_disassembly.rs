//! System and media instructions as text: all encoding classes against LLVM.

use tracewright_base::Isa;
use tracewright_testing::{Random, short_or_long};
use tracewright_views::disassembly::disassemble;

use crate::llvm::{self, Known, allocated, compare};

/// Opcodes with the fixed bits of one of `classes`: the bits, and which of them are random.
pub fn sweep(seed: u64, count: usize, classes: &[(u32, u32)]) -> Vec<u32> {
    let mut random = Random::new(seed);
    let opcode = |&(fixed, free): &(u32, u32)| fixed | (random.next() >> 32) as u32 & free;
    classes.iter().cycle().take(count).map(opcode).collect()
}

#[test]
fn a64_against_llvm() {
    let classes = [
        // MSR and MRS, hints, fields of PSTATE, SYS of CRn 7 and 8.
        (0xd510_0000, 0x002f_ffff),
        (0xd503_201f, 0xfe0),
        (0xd500_401f, 0x0007_0fe0),
        (0xd508_7000, 0x0007_0fff),
        (0xd508_8000, 0x0007_0fff),
        // Floating point and Advanced SIMD.
        (0x1e20_0000, 0x40df_ffff),
        (0x0e20_0400, 0x60df_fbff),
        (0x0c00_0000, 0x41df_ffff),
        (0x3c00_0000, 0xc1ff_ffff),
        (0x2c00_0000, 0xd1ff_ffff),
        // FMLAL and FMLSL of vectors and of an element.
        (0x0e20_cc00, 0x609f_23ff),
        (0x0f80_0000, 0x603f_cbff),
    ];
    let count = short_or_long(1_500, 200_000);
    compare(&llvm::A64, &sweep(1, count, &classes), A64, count / 4);
}

const A64: &[Known] = &[
    Known {
        why: "LLVM names other system registers",
        explains: |opcode, ours, llvm| {
            let unnamed = ours.contains(" s2_") || ours.contains(" s3_");
            opcode >> 20 == 0xd51 | opcode >> 20 & 2
                && (unnamed || [" s2_", "s3_"].iter().any(|name| llvm.contains(name)))
        },
    },
    Known {
        why: "PSTATE.PM has no name",
        explains: |_, ours, llvm| ours.is_empty() && llvm.starts_with("msr pm, "),
    },
    Known {
        why: "SYS of unnamed operations, and registers where none is taken",
        explains: |opcode, ours, llvm| {
            opcode >> 19 == 0x1aa1 && (ours.starts_with("sys ") || llvm.starts_with("sys "))
        },
    },
    Known {
        why: "a shift amount of zero may be omitted",
        explains: |_, ours, llvm| {
            let shown = |text: &str| text.replace(", lsl #0]", "]").replace(" #0]", "]");
            shown(ours) == shown(llvm)
        },
    },
    Known {
        why: "op0 of MRS and MSR is 2 or 3; LLVM shows what its version lacks as registers and numbers",
        explains: |opcode, ours, llvm| {
            let field = opcode & 0xfff8_f01f == 0xd500_401f;
            let hint = matches!(ours, "gcsb dsync" | "chkfeat x16" | "clrbhb");
            (ours.is_empty() || field) && llvm.contains(" s0_")
                || hint && llvm.starts_with("hint #")
        },
    },
];

/// Whatever has a name is allocated: random opcodes, and those that differ in few bits from ones
/// that are.
#[test]
fn a64_names_are_allocated() {
    let classes = [
        (0, u32::MAX),
        // Integers.
        (0x0a00_0000, 0xe1ff_ffff),
        (0x1200_0000, 0xe1ff_ffff),
        (0x1a00_0000, 0xe1ff_ffff),
        // Loads and stores.
        (0x0c00_0000, 0xf1ff_ffff),
        (0x3820_0800, 0xc7df_f3ff),
        // Floating point, vectors, cryptography.
        (0x0e00_0000, 0x71ff_ffff),
        (0x0e20_0400, 0x71df_fbff),
        (0x0f00_0400, 0x71ff_fbff),
        (0x1e00_0000, 0xe1ff_ffff),
        (0xce00_0000, 0x00ff_ffff),
    ];
    let opcodes = sweep(4, short_or_long(5_000, 400_000), &classes);
    allocated(&llvm::A64, &opcodes, LATER);
}

/// Beginnings of names that LLVM has with other features or in later versions: FEAT_CMPBR,
/// FEAT_HBC, FEAT_TEV.
const LATER: &[&str] = &["cb", "bc.", "tchange", "texit"];

#[test]
fn a32_against_llvm() {
    let classes = [
        // Media, halfword multiplications, hints.
        (0xe600_0010, 0x01ff_ffef),
        (0xe680_0010, 0x007f_ffef),
        (0xe7a0_0050, 0x005f_ffaf),
        (0xe700_f010, 0x007f_0fef),
        (0xe160_0080, 0x000f_0f6f),
        (0xe320_f000, 0xff),
        (0x0320_f000, 0xf000_00ff),
        // CPS, SETEND, barriers, memory hints, LDMIB and STMIB.
        (0xf100_0000, 0x000e_01df),
        (0xf101_0000, 0x200),
        (0xf57f_f040, 0x3f),
        (0xf510_f000, 0x00cf_0fff),
        (0xe980_0000, 0x007f_ffff),
    ];
    let count = short_or_long(1_500, 200_000);
    compare(&llvm::A32, &sweep(2, count, &classes), A32, count / 4);
}

const ACCEPTED: Known = Known {
    why: "unallocated or unpredictable opcodes that the general disassembler accepts",
    explains: |_, _, llvm| llvm.is_empty(),
};
const A32: &[Known] = &[
    ACCEPTED,
    Known {
        why: "a bit field beyond bit 31 is unpredictable",
        explains: |_, ours, llvm| ours.is_empty() && llvm.get(1..4) == Some("bfx"),
    },
];
const T32: &[Known] = &[
    ACCEPTED,
    Known {
        why: "instructions of the M profile",
        explains: |_, ours, _| {
            let name = ours.split(' ').next().unwrap_or_default();
            matches!(name, "pac" | "pacbti" | "aut" | "bti" | "pacg" | "autg" | "bxaut")
        },
    },
];

#[test]
fn t32_against_llvm() {
    let classes = [
        (0xfb20_0000, 0x006f_ff1f),
        (0xfbc0_00c0, 0x001f_ff1f),
        (0xfac0_f080, 0x001f_0f3f),
        (0xf3af_8000, 0x7ff),
    ];
    let count = short_or_long(1_500, 200_000);
    compare(&llvm::T32, &sweep(3, count, &classes), T32, count / 8);
}

/// Rows from the Arm ARM.
#[test]
fn texts() {
    for (isa, opcode, want) in [
        (Isa::A64, 0xd503_42df, "msr daifset, #0x2"),
        (Isa::A64, 0xd500_40bf, "msr spsel, #0x0"),
        (Isa::A64, 0xd538_5201, "mrs x1, esr_el1"),
        (Isa::A64, 0xd51b_d043, "msr tpidr_el0, x3"),
        (Isa::A64, 0xd503_245f, "bti c"),
        (Isa::A64, 0xd503_20bf, "sevl"),
        (Isa::A64, 0xd50b_7527, "ic ivau, x7"),
        (Isa::A64, 0xd508_871f, "tlbi vmalle1"),
        (Isa::A64, 0x0e22_ec20, "fmlal v0.2s, v1.2h, v2.2h"),
        (Isa::A64, 0x6ebf_cfff, "fmlsl2 v31.4s, v31.4h, v31.4h"),
        (Isa::A64, 0x6fb2_8820, "fmlal2 v0.4s, v1.4h, v2.h[7]"),
        (Isa::A64, 0x0f92_4020, "fmlsl v0.2s, v1.2h, v2.h[1]"),
        (Isa::A32, 0xf10c_0080, "cpsid i"),
        (Isa::A32, 0xf102_0013, "cps #0x13"),
        (Isa::A32, 0xe320_f003, "wfi"),
        (Isa::A32, 0xf57f_f05b, "dmb ish"),
        (Isa::A32, 0xe7e4_3255, "ubfx r3, r5, #0x4, #0x5"),
        (Isa::A32, 0xe9a0_0006, "stmib r0!, {r1, r2}"),
        (Isa::T32, 0xf3ef_8010, "mrs r0, primask"),
        (Isa::T32, 0xf380_8811, "msr basepri, r0"),
        (Isa::T32, 0xf3ef_8000, "mrs r0, apsr"),
        (Isa::T32, 0xee1d_0f70, "mrc p15, 0, r0, c13, c0, 3"),
        (Isa::T32, 0xb672, "cpsid i"),
    ] {
        assert_eq!(disassemble(isa, opcode, 0x8000), want, "{opcode:x}");
    }
}
