//! Instruction sets.

use core::fmt;

/// An instruction set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Isa {
    /// AArch64: 4-byte instructions.
    #[default]
    A64,
    /// AArch32 ("ARM"): 4-byte instructions.
    A32,
    /// AArch32 Thumb and Thumb-2: 2-byte and 4-byte instructions.
    T32,
    /// ThumbEE, the T32 variant of Armv7 for dynamic compilers.
    ThumbEe,
    /// Jazelle: Java byte codes.
    Jazelle,
    /// RISC-V, XLEN 32.
    Rv32,
    /// RISC-V, XLEN 64.
    Rv64,
}

impl Isa {
    /// The mask of a code address: 32 bits in AArch32 and RV32, 64 bits elsewhere.
    #[inline]
    pub const fn address_mask(self) -> u64 {
        // Branchless, because every range of instructions uses the mask.
        let wide = matches!(self, Isa::A64 | Isa::Rv64) as u64;
        wide.wrapping_neg() | 0xffff_ffff
    }

    /// Alignment of a code address: the size of the smallest instruction in bytes.
    #[inline]
    pub const fn alignment(self) -> u64 {
        match self {
            Isa::A64 | Isa::A32 => 4,
            Isa::T32 | Isa::ThumbEe | Isa::Rv32 | Isa::Rv64 => 2,
            Isa::Jazelle => 1,
        }
    }
}

impl Isa {
    /// The name of the instruction set.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::A64 => "A64",
            Isa::A32 => "A32",
            Isa::T32 => "T32",
            Isa::ThumbEe => "ThumbEE",
            Isa::Jazelle => "Jazelle",
            Isa::Rv32 => "RV32",
            Isa::Rv64 => "RV64",
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
