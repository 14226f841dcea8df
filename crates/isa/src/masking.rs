//! Instructions that mask interrupts, or end it.
//!
//! | instruction set | instructions |
//! |---|---|
//! | T32 | CPSIE, CPSID; MSR to PRIMASK, BASEPRI, BASEPRI_MAX, CPSR |
//! | A32 | CPSIE, CPSID; MSR to CPSR |
//! | A64 | MSR DAIFSet, DAIFClr, DAIF, ICC_PMR_EL1 |
//! | RISC-V | CSR instructions on mstatus, sstatus |
//!
//! FAULTMASK and the mask of FIQ are not followed.

use tracewright_base::Isa;

/// What an instruction does to the mask of interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Masking {
    /// Interrupts are masked from here on: PRIMASK, the I bit, or the interrupt enable of RISC-V.
    Masks,
    /// They are no longer masked by it.
    Unmasks,
    /// The value of a general-purpose register decides.
    Decides {
        /// What is written.
        target: Target,
        /// The number of the register.
        register: u8,
    },
}

/// A system register that masks interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// PRIMASK: 1 masks interrupts. (M profile)
    Primask,
    /// BASEPRI: a priority other than 0 masks interrupts of it and less urgent ones. (M profile)
    Basepri,
    /// The same, written only where that masks more.
    BasepriMax,
    /// CPSR: bit 7 masks interrupts.
    Cpsr,
    /// DAIF: bit 7 masks interrupts.
    Daif,
    /// ICC_PMR_EL1: interrupts of this and less urgent priorities are masked.
    PriorityMask,
    /// mstatus or sstatus: a bit enables interrupts.
    Status,
}

impl Target {
    /// The name of the register.
    pub const fn name(self) -> &'static str {
        match self {
            Target::Primask => "PRIMASK",
            Target::Basepri => "BASEPRI",
            Target::BasepriMax => "BASEPRI_MAX",
            Target::Cpsr => "CPSR",
            Target::Daif => "DAIF",
            Target::PriorityMask => "ICC_PMR_EL1",
            Target::Status => "mstatus or sstatus",
        }
    }

    /// Whether it is a priority, beside the mask of all interrupts.
    pub const fn is_priority(self) -> bool {
        matches!(self, Target::Basepri | Target::BasepriMax | Target::PriorityMask)
    }

    /// Whether this value masks interrupts; `None` if that depends on more.
    pub const fn masks(self, value: u32) -> Option<bool> {
        match self {
            Target::Primask => Some(value & 1 != 0),
            Target::Basepri => Some(value != 0),
            Target::BasepriMax if value != 0 => Some(true),
            Target::Cpsr | Target::Daif => Some(value & 0x80 != 0),
            Target::BasepriMax | Target::PriorityMask | Target::Status => None,
        }
    }
}

/// What `opcode` does to the mask of interrupts (IRQ). A narrow T32 opcode is in bits \[15:0]; a
/// wide one has its first halfword in bits \[31:16].
pub const fn masking(isa: Isa, opcode: u32) -> Option<Masking> {
    match isa {
        Isa::T32 | Isa::ThumbEe => t32(opcode),
        Isa::A32 => a32(opcode),
        Isa::A64 => a64(opcode),
        Isa::Rv32 | Isa::Rv64 => riscv(opcode),
        Isa::Jazelle => None,
    }
}

/// The constant that `opcode` writes to a general-purpose register, and the number of the register:
/// MOV and MOVW with a constant of up to 8, or 16 bits.
pub const fn constant(isa: Isa, opcode: u32) -> Option<(u8, u32)> {
    match isa {
        // MOVS Rd, #imm8
        Isa::T32 if opcode >> 11 == 0b0_0100 => Some(((opcode >> 8 & 7) as u8, opcode & 0xff)),
        // MOV.W Rd, #imm8, with S or without; i:imm3 = 0.
        Isa::T32 if opcode & 0xffef_f000 == 0xf04f_0000 => {
            Some(((opcode >> 8 & 0xf) as u8, opcode & 0xff))
        }
        // MOVZ Xd or Wd, #imm16
        Isa::A64 if opcode & 0x7fe0_0000 == 0x5280_0000 => {
            Some(((opcode & 0x1f) as u8, opcode >> 5 & 0xffff))
        }
        _ => None,
    }
}

/// Whether `opcode` is a barrier, a hint, or a read of a mask, that writes no general-purpose
/// register but this one: such instructions stand between a constant and its use.
pub const fn leaves(isa: Isa, opcode: u32, register: u8) -> bool {
    match isa {
        // NOP; CPS; DSB, DMB, ISB; MRS Rd, SYSm
        Isa::T32 => {
            opcode == 0xbf00
                || opcode & 0xffff_ffe8 == 0xb660
                || opcode & 0xffff_ffc0 == 0xf3bf_8f40
                || opcode & 0xffff_f000 == 0xf3ef_8000 && (opcode >> 8 & 0xf) as u8 != register
        }
        // NOP; DSB, DMB, ISB; MRS
        Isa::A64 => {
            opcode == 0xd503_201f
                || opcode & 0xffff_f01f == 0xd503_301f
                || opcode & 0xfff0_0000 == 0xd530_0000 && (opcode & 0x1f) as u8 != register
        }
        _ => false,
    }
}

const fn set(masks: bool) -> Option<Masking> {
    Some(if masks { Masking::Masks } else { Masking::Unmasks })
}

/// (Armv7-M ARM, B5.2.1, B5.2.3; Armv8-A ARM, F5.1 and F5.2, "CPS", "MSR")
const fn t32(opcode: u32) -> Option<Masking> {
    // CPS<effect>: 1011_0110_011 im 0 A I F
    if opcode & 0xffff_ffe8 == 0xb660 && opcode & 0b10 != 0 {
        return set(opcode & 0x10 != 0);
    }
    // CPS.W: 1111_0011_1010_1111 1000_0 imod M A I F mode
    if opcode & 0xffff_f800 == 0xf3af_8000 && opcode & 0x400 != 0 && opcode & 0x40 != 0 {
        return set(opcode & 0x200 != 0);
    }
    // MSR SYSm, Rn: 1111_0011_1000_nnnn 1000_mm00 SYSm
    if opcode & 0xfff0_f300 == 0xf380_8000 {
        let register = (opcode >> 16 & 0xf) as u8;
        let target = match opcode & 0xff {
            16 => Target::Primask,
            17 => Target::Basepri,
            18 => Target::BasepriMax,
            _ => return None,
        };
        return Some(Masking::Decides { target, register });
    }
    // MSR CPSR_c, Rn: mask has bit 0 in bit [8].
    if opcode & 0xfff0_f1ff == 0xf380_8100 {
        return Some(Masking::Decides {
            target: Target::Cpsr,
            register: (opcode >> 16 & 0xf) as u8,
        });
    }
    None
}

/// (Armv8-A ARM, F5.1, "CPS", "MSR (immediate)", "MSR (register)")
const fn a32(opcode: u32) -> Option<Masking> {
    // CPS: 1111_0001_0000 imod M 0 .. A I F 0 mode
    if opcode & 0xfff1_fe20 == 0xf100_0000 && opcode & 0x8_0000 != 0 && opcode & 0x80 != 0 {
        return set(opcode & 0x4_0000 != 0);
    }
    if opcode >> 28 == 0xf {
        return None;
    }
    // MSR CPSR_c, #constant, without a rotation; a condition leaves it open.
    if opcode & 0x0ff1_ff00 == 0x0321_f000 && opcode >> 28 == 0xe {
        return set(opcode & 0x80 != 0);
    }
    // MSR CPSR_c, Rn
    if opcode & 0x0ff1_fff0 == 0x0121_f000 {
        return Some(Masking::Decides { target: Target::Cpsr, register: (opcode & 0xf) as u8 });
    }
    None
}

/// (Armv8-A ARM, C5.2.2, "DAIF"; GIC architecture, "ICC_PMR_EL1")
const fn a64(opcode: u32) -> Option<Masking> {
    let register = (opcode & 0x1f) as u8;
    match opcode & 0xffff_f0ff {
        0xd503_40df if opcode & 0x200 != 0 => return Some(Masking::Masks),
        0xd503_40ff if opcode & 0x200 != 0 => return Some(Masking::Unmasks),
        _ => {}
    }
    match opcode & 0xffff_ffe0 {
        0xd51b_4220 => Some(Masking::Decides { target: Target::Daif, register }),
        0xd518_4600 => Some(Masking::Decides { target: Target::PriorityMask, register }),
        _ => None,
    }
}

/// (RISC-V privileged architecture, 3.1.6.1, "mstatus", MIE is bit 3, SIE bit 1)
const fn riscv(opcode: u32) -> Option<Masking> {
    if opcode & 0x7f != 0x73 {
        return None;
    }
    let bit = match opcode >> 20 {
        0x300 => 1 << 3,
        0x100 => 1 << 1,
        _ => return None,
    };
    let target = Target::Status;
    let source = opcode >> 15 & 0x1f;
    match opcode >> 12 & 7 {
        0b110 if source & bit != 0 => Some(Masking::Unmasks),
        0b111 if source & bit != 0 => Some(Masking::Masks),
        0b101 => set(source & bit == 0),
        // CSRRW; CSRRS and CSRRC of another register than x0.
        0b001 => Some(Masking::Decides { target, register: source as u8 }),
        0b010 | 0b011 if source != 0 => Some(Masking::Decides { target, register: source as u8 }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opcodes of llvm-mc.
    #[test]
    fn instructions() {
        let decides = |target, register| Some(Masking::Decides { target, register });
        let (masks, unmasks) = (Some(Masking::Masks), Some(Masking::Unmasks));
        for (isa, opcode, expected) in [
            (Isa::T32, 0xb672, masks),                                 // cpsid i
            (Isa::T32, 0xb662, unmasks),                               // cpsie i
            (Isa::T32, 0xb671, None),                                  // cpsid f
            (Isa::T32, 0xb674, None),                                  // cpsid a
            (Isa::T32, 0xf381_8811, decides(Target::Basepri, 1)),      // msr basepri, r1
            (Isa::T32, 0xf383_8812, decides(Target::BasepriMax, 3)),   // msr basepri_max, r3
            (Isa::T32, 0xf380_8810, decides(Target::Primask, 0)),      // msr primask, r0
            (Isa::T32, 0xf380_8813, None),                             // msr faultmask, r0
            (Isa::T32, 0xf380_8808, None),                             // msr msp, r0
            (Isa::T32, 0xf380_8809, None),                             // msr psp, r0
            (Isa::T32, 0xf380_8100, decides(Target::Cpsr, 0)),         // msr cpsr_c, r0
            (Isa::T32, 0xf3ef_8011, None),                             // mrs r0, basepri
            (Isa::T32, 0xf3bf_8f6f, None),                             // isb
            (Isa::T32, 0xf3af_8000, None),                             // nop.w
            (Isa::T32, 0xf3af_8753, masks),                            // cpsid i, #19
            (Isa::A32, 0xf10c_0080, masks),                            // cpsid i
            (Isa::A32, 0xf108_0080, unmasks),                          // cpsie i
            (Isa::A32, 0xf102_0013, None),                             // cps #19
            (Isa::A32, 0xe321_f0d3, masks),                            // msr cpsr_c, #0xd3
            (Isa::A32, 0xe321_f013, unmasks),                          // msr cpsr_c, #0x13
            (Isa::A32, 0xe121_f002, decides(Target::Cpsr, 2)),         // msr cpsr_c, r2
            (Isa::A32, 0xe128_f002, None),                             // msr cpsr_f, r2
            (Isa::A64, 0xd503_42df, masks),                            // msr daifset, #2
            (Isa::A64, 0xd503_43df, masks),                            // msr daifset, #3
            (Isa::A64, 0xd503_42ff, unmasks),                          // msr daifclr, #2
            (Isa::A64, 0xd503_48df, None),                             // msr daifset, #8
            (Isa::A64, 0xd51b_4223, decides(Target::Daif, 3)),         // msr daif, x3
            (Isa::A64, 0xd53b_4223, None),                             // mrs x3, daif
            (Isa::A64, 0xd518_4600, decides(Target::PriorityMask, 0)), // msr icc_pmr_el1, x0
            (Isa::Rv64, 0x3004_7073, masks),                           // csrci mstatus, 8
            (Isa::Rv64, 0x3004_6073, unmasks),                         // csrsi mstatus, 8
            (Isa::Rv64, 0x1001_7573, masks),                           // csrrci a0, sstatus, 2
            (Isa::Rv64, 0x3000_2573, None),                            // csrr a0, mstatus
            (Isa::Rv64, 0x3005_1073, decides(Target::Status, 10)),     // csrw mstatus, a0
            (Isa::Rv32, 0x3440_5073, None),                            // csrwi mip, 0
        ] {
            assert_eq!(masking(isa, opcode), expected, "{isa:?} {opcode:#x}");
        }
    }

    #[test]
    fn constants() {
        for (isa, opcode, expected) in [
            (Isa::T32, 0x2350, Some((3, 0x50))),      // movs r3, #80
            (Isa::T32, 0xf04f_0350, Some((3, 0x50))), // mov.w r3, #80
            (Isa::T32, 0x1c1a, None),                 // adds r2, r3, #0
            (Isa::A64, 0xd280_1e00, Some((0, 0xf0))), // mov x0, #240
        ] {
            assert_eq!(constant(isa, opcode), expected, "{opcode:#x}");
        }
        // mrs r0, basepri; isb sy
        assert!(leaves(Isa::T32, 0xf3ef_8011, 1) && !leaves(Isa::T32, 0xf3ef_8011, 0));
        assert!(leaves(Isa::T32, 0xf3bf_8f6f, 1) && !leaves(Isa::T32, 0x4608, 0));
    }
}
