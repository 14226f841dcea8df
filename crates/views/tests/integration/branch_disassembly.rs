//! Branches, loops, waits and conditional selections as text, against LLVM where it has them.

use tracewright_base::Isa;
use tracewright_testing::short_or_long;
use tracewright_views::disassembly::disassemble;

use crate::llvm::{self, Known, compare};
use crate::system_disassembly::sweep;

#[test]
fn a64_against_llvm() {
    let classes = [
        // WFET and WFIT, TSTART, TTEST, TCOMMIT, TCANCEL, RETAASPPCR and RETABSPPCR.
        (0xd503_1000, 0x3f),
        (0xd523_3060, 0x1f),
        (0xd523_3160, 0x1f),
        (0xd503_307f, 0),
        (0xd460_0000, 0x001f_ffe0),
        (0xd65f_0be0, 0x41f),
    ];
    let count = short_or_long(300, 20_000);
    compare(&llvm::A64, &sweep(1, count, &classes), &[], count * 5 / 6);
}

#[test]
fn m_profile_against_llvm() {
    let classes = [
        // Loops.
        (0xf000_c001, 0x007f_0ffe),
        (0xf00f_c001, 0x0030_0ffe),
        (0xf000_e001, 0x004f_0000),
        // CSEL and its like, CLRM.
        (0xea50_8000, 0x000f_3fff),
        (0xe89f_0000, 0xdfff),
        // Pointer authentication.
        (0xf3af_8000, 0x003f),
        (0xfb50_0f00, 0x000f_f01f),
        (0xfb60_f000, 0x000f_0f0f),
    ];
    let count = short_or_long(1_500, 100_000);
    compare(&llvm::M_PROFILE, &sweep(2, count, &classes), M_PROFILE, count / 2);
}

const M_PROFILE: &[Known] = &[
    Known {
        why: "a target instead of an offset from the PC",
        explains: |_, ours, llvm| {
            let (Some(ours), Some(llvm)) = (ours.rsplit_once(' '), llvm.rsplit_once(" #")) else {
                return false;
            };
            let target =
                ours.1.strip_prefix("0x").and_then(|hex| u32::from_str_radix(hex, 16).ok());
            let offset = llvm.1.parse::<i32>().ok();
            ours.0 == llvm.0 && offset.map(|offset| 4u32.wrapping_add_signed(offset)) == target
        },
    },
    Known { why: "hints of the A profile", explains: |_, _, llvm| llvm.starts_with("hint") },
    Known {
        why: "WLS and WLSTP of PC are unpredictable",
        explains: |opcode, _, _| opcode >> 16 & 0xff8f == 0xf00f,
    },
    Known {
        why: "LLVM takes a CSEL of zero for RRXS",
        explains: |opcode, _, llvm| opcode & 0xffff_f0f0 == 0xea5f_8030 && llvm.starts_with("rrxs"),
    },
    Known {
        why: "long shifts, and unpredictable registers of CSEL",
        explains: |opcode, _, _| {
            let (n, d, m) = (opcode >> 16 & 0xf, opcode >> 8 & 0xf, opcode & 0xf);
            opcode >> 20 == 0xea5 && (n == 13 || m == 13 || matches!(d, 13 | 15))
        },
    },
    Known { why: "unpredictable registers", explains: |_, _, llvm| llvm.is_empty() },
];

/// What LLVM 19 does not have. (Arm ARM, C6.2, CB, CBB, CBH, TCHANGEF, TCHANGEB, TEXIT)
#[test]
fn texts() {
    for (opcode, want) in [
        (0x7401_0040, "cbgt w0, w1, 0x8008"),
        (0xf4e1_2000, "cbne x0, x1, 0x7c00"),
        (0xf4df_0021, "cbeq x1, xzr, 0x8004"),
        (0x7421_8040, "cbbge w0, w1, 0x8008"),
        (0x74c1_c040, "cbheq w0, w1, 0x8008"),
        (0x741f_0040, "cbgt w0, wzr, 0x8008"),
        (0x7500_8040, "cbgt w0, #0x1, 0x8008"),
        (0xf53f_8040, "cblt x0, #0x3f, 0x8008"),
        (0xf421_8040, ".inst 0xf4218040"),
        (0x7481_0040, ".inst 0x74810040"),
        (0x7500_4040, ".inst 0x75004040"),
        (0xd580_0001, "tchangef x1, x0"),
        (0xd586_03ff, "tchangeb xzr, xzr, nb"),
        (0xd590_0fe1, "tchangef x1, #0x7f"),
        (0xd6ff_03e0, "texit"),
        (0xd6ff_07e0, "texit nb"),
    ] {
        assert_eq!(disassemble(Isa::A64, opcode, 0x8000), want);
    }
    // Loops of an A profile are BLX with an odd offset, and a branch has its target.
    assert_eq!(disassemble(Isa::T32, 0xf00f_c00b, 0x8000), "le lr, 0x7ff0");
    assert_eq!(disassemble(Isa::T32, 0xf044_c003, 0x8000), "wls lr, r4, 0x8008");
}
