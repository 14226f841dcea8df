//! Encoders of control flow instructions: the inverse of [`classify`](crate::classify).
//!
//! [`assemble`] returns one of the opcodes of a classified instruction. The modules hold the
//! encoders of single instructions. Offsets are in bytes from the instruction; an encoder returns
//! `None` if the offset does not fit.

use tracewright_base::{Instruction, Isa};

pub mod a32;
pub mod a64;
pub mod rv;
pub mod t32;

/// An opcode of `instruction` at `address`, in the form that the `classify` of its instruction set
/// takes.
///
/// The result is `None` if the target is out of range or not aligned, if no instruction has this
/// combination of kind, role, size and condition, or if only an IT block makes the instruction
/// conditional. ThumbEE and Jazelle have no encoders.
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
    // Fields that the encoders ignore must be unchanged after classification.
    let back = match instruction.isa {
        Isa::A64 => crate::a64::classify(opcode, address),
        Isa::A32 => crate::a32::classify(opcode, address),
        isa @ (Isa::Rv32 | Isa::Rv64) => crate::rv::standard(isa, opcode, address, false),
        _ => crate::t32::classify(opcode, address),
    };
    (back == *instruction).then_some(opcode)
}

/// The distance from `address` to `target`, across the end of the address space if that is shorter.
fn offset(isa: Isa, address: u64, target: u64) -> Option<i32> {
    let by = target.wrapping_sub(address);
    match isa {
        Isa::A64 | Isa::Rv64 => i32::try_from(by as i64).ok(),
        _ => Some(by as i32),
    }
}

/// `by` as a signed field of `width` bits in units of `1 << shift` bytes.
const fn field(by: i32, width: u32, shift: u32) -> Option<u32> {
    let limit = 1 << (width + shift - 1);
    if by < -limit || by >= limit || by & ((1 << shift) - 1) != 0 {
        return None;
    }
    Some((by >> shift) as u32 & ((1 << width) - 1))
}
