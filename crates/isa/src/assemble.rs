//! Opcodes of instructions that change the flow: the way back from [`classify`](crate::classify).
//!
//! [`assemble`] finds an opcode for a classified instruction, one of many; the modules hold the
//! encoders it is made of, for those who want a certain one. Offsets are in bytes from the
//! instruction; an encoder answers `None` where the offset does not fit.

use tracewright_base::{Instruction, Isa};

pub mod a32;
pub mod a64;
pub mod rv;
pub mod t32;

/// An opcode that is `instruction` at `address`, in the form that the `classify` of its
/// instruction set takes.
///
/// `None` where there is none: the target is too far or not aligned, no instruction has this mix
/// of kind, role, size and condition, or only an IT block would make it conditional. ThumbEE
/// and Jazelle are not assembled.
pub fn assemble(instruction: &Instruction, address: u64) -> Option<u32> {
    let by = match instruction.target {
        Some(target) => Some(offset(instruction.isa, address, target)?),
        None => None,
    };
    let opcode = match instruction.isa {
        Isa::A64 => a64::assemble(instruction, by),
        Isa::A32 => a32::assemble(instruction, by),
        Isa::T32 => t32::assemble(instruction, by, address),
        Isa::Rv32 | Isa::Rv64 => rv::assemble(instruction, by),
        _ => None,
    }?;
    // Whatever the encoders do not look at must come back as it was.
    let back = match instruction.isa {
        Isa::A64 => crate::a64::classify(opcode, address),
        Isa::A32 => crate::a32::classify(opcode, address),
        isa @ (Isa::Rv32 | Isa::Rv64) => crate::rv::standard(isa, opcode, address, false),
        _ => crate::t32::classify(opcode, address),
    };
    (back == *instruction).then_some(opcode)
}

/// How far `target` is from `address`, around the end of the address space where that is nearer.
fn offset(isa: Isa, address: u64, target: u64) -> Option<i32> {
    let by = target.wrapping_sub(address);
    match isa {
        Isa::A64 | Isa::Rv64 => i32::try_from(by as i64).ok(),
        _ => Some(by as i32),
    }
}

/// `by` as a field of `width` bits that counts units of `1 << shift` bytes, sign included.
const fn field(by: i32, width: u32, shift: u32) -> Option<u32> {
    let limit = 1 << (width + shift - 1);
    if by < -limit || by >= limit || by & ((1 << shift) - 1) != 0 {
        return None;
    }
    Some((by >> shift) as u32 & ((1 << width) - 1))
}
