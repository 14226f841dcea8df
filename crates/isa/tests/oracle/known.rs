//! Where the oracle and the architecture part, and why.

/// Opcodes that the oracle classifies differently.
pub(crate) struct Known {
    /// The opcodes are those with `opcode & mask == value`.
    pub(crate) mask: u32,
    /// See `mask`.
    pub(crate) value: u32,
    /// How the oracle's text begins.
    pub(crate) oracle: &'static str,
    /// Why ours stands.
    pub(crate) why: &'static str,
}

/// The oracle refuses an opcode, or decodes it as another instruction.
const REFUSED: &str = "no instruction";

const fn row(mask: u32, value: u32, oracle: &'static str, why: &'static str) -> Known {
    Known { mask, value, oracle, why }
}

const NEWER: &str = "newer than the oracle";
const FIXED: &str = "fields that should be one or zero are not: cores ignore them";
const UNPREDICTABLE: &str = "unpredictable: we take it as most cores do";
const NO_WRITE: &str = "unpredictable to name the PC here: no core branches";

pub(crate) const A64: &[Known] = &[
    // RETAASPPC, RETABSPPC with an offset; with a register.
    row(0xffc0_001f, 0x5500_001f, REFUSED, NEWER),
    row(0xffff_fbe0, 0xd65f_0be0, REFUSED, NEWER),
    // CB, CBB, CBH.
    row(0x7e00_0000, 0x7400_0000, REFUSED, NEWER),
    // TEXIT.
    row(0xffff_fbff, 0xd6ff_03e0, REFUSED, NEWER),
];

pub(crate) const A32: &[Known] = &[
    // BX, BXJ, BLX; ERET.
    row(0x0ff0_00f0, 0x0120_0010, REFUSED, FIXED),
    row(0x0ff0_00f0, 0x0120_0020, REFUSED, FIXED),
    row(0x0ff0_00f0, 0x0120_0030, REFUSED, FIXED),
    row(0x0ff0_00f0, 0x0160_0060, REFUSED, FIXED),
    // DSB, DMB, ISB.
    row(0xfff0_00e0, 0xf570_0040, REFUSED, FIXED),
    row(0xfff0_00f0, 0xf570_0060, REFUSED, FIXED),
    // RFE.
    row(0xfe50_0000, 0xf810_0000, REFUSED, FIXED),
    // MOV and its shifts; MVN.
    row(0x0fa0_f000, 0x01a0_f000, REFUSED, FIXED),
    row(0x0fa0_f000, 0x03a0_f000, REFUSED, FIXED),
];

pub(crate) const T32_NARROW: &[Known] = &[
    // BLX.
    row(0xff80, 0x4780, REFUSED, FIXED),
];

pub(crate) const T32_WIDE: &[Known] = &[
    // WLS, WLSTP, LE, LETP.
    row(0xf800_f001, 0xf000_c001, REFUSED, NEWER),
    // LEAVEX, ENTERX.
    row(0xffff_ffe0, 0xf3bf_8f00, REFUSED, "the oracle has no ThumbEE"),
    // CLRM.
    row(0xffff_8000, 0xe89f_8000, "ldm", NEWER),
    // BXAUT.
    row(0xfff0_0ff0, 0xfb50_0f10, "smml", NEWER),
    // RFE.
    row(0xffd0_0000, 0xe810_0000, REFUSED, FIXED),
    row(0xffd0_0000, 0xe990_0000, REFUSED, FIXED),
    row(0xffd0_0000, 0xe810_0000, "sha1", FIXED),
    // BXJ; SUBS PC, LR.
    row(0xfff0_d000, 0xf3c0_8000, REFUSED, FIXED),
    row(0xfff0_d000, 0xf3d0_8000, REFUSED, FIXED),
    // POP with SP in the list.
    row(0xffff_a000, 0xe8bd_a000, "pop", UNPREDICTABLE),
    // Data processing of an immediate, of a shifted register, shifts by a register.
    row(0xfa00_8f00, 0xf000_0f00, "", NO_WRITE),
    row(0xfe00_0f00, 0xea00_0f00, "", NO_WRITE),
    row(0xff80_ff00, 0xfa00_ff00, "", NO_WRITE),
];
