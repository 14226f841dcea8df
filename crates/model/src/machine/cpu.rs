//! Registers, flags and conditions.

use tracewright_base::{Access, Isa};
use tracewright_isa::ItState;
use tracewright_isa::condition::met;

use crate::program::Program;

/// The registers and flags of the processor.
#[derive(Clone, Debug)]
pub(super) struct Cpu {
    /// X0 to X30, or R0 to R14 in their low halves; 31 is SP in A64.
    pub(super) x: [u64; 32],
    pub(super) pc: u64,
    pub(super) isa: Isa,
    pub(super) it: ItState,
    /// Bits \[3] N, \[2] Z, \[1] C, \[0] V.
    pub(super) flags: u8,
    pub(super) ram: Vec<u8>,
    /// Data accesses of the last instruction.
    pub(super) accesses: Vec<Access>,
}

/// Register 13 in AArch32.
pub(super) const SP: usize = 13;
/// Register 14 in AArch32.
pub(super) const LR: usize = 14;

impl Cpu {
    /// The state after a reset.
    pub(super) fn new(program: &Program) -> Self {
        let (base, len) = program.ram;
        let mut x = [0; 32];
        let sp = base + len as u64;
        (x[4], x[SP], x[31]) = (base, sp, sp);
        Cpu {
            x,
            pc: program.entry,
            isa: program.isa,
            it: ItState::default(),
            flags: 0,
            ram: vec![0; len],
            accesses: Vec::new(),
        }
    }

    /// Whether the flags pass a condition, 0 for EQ to 15. (Arm ARM, "Condition codes")
    pub(super) fn holds(&self, condition: u8) -> bool {
        met(condition, self.flags)
    }

    /// Whether the condition of an AArch32 instruction passes.
    pub(super) fn passes(&self, opcode: u32, isa: Isa, it: ItState) -> bool {
        match isa {
            Isa::A32 => self.holds((opcode >> 28) as u8),
            Isa::T32 => self.holds(it.condition()),
            _ => true,
        }
    }

    /// Sets the flags of a - b with `bits` bits and returns the difference.
    pub(super) fn subtract(&mut self, a: u64, b: u64, bits: u32) -> u64 {
        let mask = u64::MAX >> (64 - bits);
        let result = a.wrapping_sub(b) & mask;
        let sign = |value: u64| value >> (bits - 1) & 1 != 0;
        let overflow = sign(a) != sign(b) && sign(result) != sign(a);
        let c = a & mask >= b & mask;
        self.flags = 0;
        self.set_nz(result, bits);
        self.flags |= u8::from(c) << 1 | u8::from(overflow);
        result
    }

    /// Sets the flags of a + b with 32 bits and returns the sum.
    pub(super) fn add(&mut self, a: u64, b: u64) -> u64 {
        let result = a.wrapping_add(b) & 0xffff_ffff;
        let overflow = (a ^ result) & (b ^ result) & 1 << 31 != 0;
        let c = (a & 0xffff_ffff) + (b & 0xffff_ffff) > 0xffff_ffff;
        self.flags = 0;
        self.set_nz(result, 32);
        self.flags |= u8::from(c) << 1 | u8::from(overflow);
        result
    }

    /// Sets N and Z of a result.
    pub(super) fn set_nz(&mut self, result: u64, bits: u32) {
        let negative = result >> (bits - 1) & 1 != 0;
        let zero = result & (u64::MAX >> (64 - bits)) == 0;
        self.flags = self.flags & 0b11 | u8::from(negative) << 3 | u8::from(zero) << 2;
    }

    /// Sets C.
    pub(super) fn set_c(&mut self, c: bool) {
        self.flags = self.flags & !0b10 | u8::from(c) << 1;
    }

    /// An address with the instruction set in bit 0.
    pub(super) fn interworking(address: u64) -> (u64, Isa) {
        let isa = if address & 1 != 0 { Isa::T32 } else { Isa::A32 };
        let clear = if isa == Isa::T32 { 1 } else { 3 };
        (address & 0xffff_ffff & !clear, isa)
    }
}
