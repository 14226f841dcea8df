//! The effect of single instructions on control flow: A64, A32, T32, ThumbEE and RISC-V.
//!
//! [`classify`] takes bytes, and the modules take opcodes:
//!
//! | module | classifies | architecture |
//! |---|---|---|
//! | [`a64`] | A64 | Armv8-A to Armv9.7-A |
//! | [`a32`] | A32 | Armv4 to Armv8 |
//! | [`t32`] | T32 | Armv4T to Armv8, and the loops of Armv8.1-M |
//! | [`thumbee`] | ThumbEE | Armv7 |
//! | [`rv`] | RISC-V | RV32 and RV64 with C, Zcmp, Zcmt |
//! | [`data`] | data accesses: A32, T32 | |
//! | [`it`] | the state of an IT block | |
//! | [`masking`] | masks of interrupts | |
//! | [`condition`] | conditions and flags | |
//! | [`assemble()`] | encoders, for tests and generated programs | |
//!
//! An opcode is classified as if the processor had every extension, so that the result does not
//! depend on the description of the core in a capture. Where two extensions share an opcode, the
//! documentation of the module states the choice. SVC, HVC, SMC, BKPT, BRK and similar instructions
//! are [`Kind::Plain`]: the trace reports the exception that they cause.
//!
//! ```
//! use tracewright_base::{Isa, Kind, Role};
//! use tracewright_isa::{ItState, classify};
//!
//! let it = &mut ItState::default();
//! let ret = classify(Isa::A64, &[0xc0, 0x03, 0x5f, 0xd6], 0x8000, it).unwrap();
//! assert_eq!((ret.kind, ret.role, ret.size), (Kind::Indirect, Role::Return, 4));
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

use tracewright_base::{Instruction, Isa, Kind, Role};

pub mod a32;
pub mod a64;
pub mod assemble;
pub mod condition;
pub mod data;
pub mod it;
pub mod masking;
pub mod rv;
pub mod t32;
pub mod thumbee;

pub use assemble::assemble;
pub use data::{Transfer, With, transfer};
pub use it::ItState;

/// The instruction at the start of `bytes`, which lie at `address`. Arm code is little endian.
///
/// `it` is the T32 IT state after the preceding instruction. The function advances it past this
/// instruction. At the target of a branch it is [`ItState::default`]. Other instruction sets ignore
/// it.
///
/// The result is `None` if the bytes do not hold the whole instruction (2 bytes suffice for a
/// 16-bit T32 and for a compressed RISC-V instruction), and for Jazelle. RISC-V is classified
/// without [`rv::Extensions`].
pub fn classify(isa: Isa, bytes: &[u8], address: u64, it: &mut ItState) -> Option<Instruction> {
    match isa {
        Isa::A64 => Some(a64::classify(word(bytes)?, address)),
        Isa::A32 => Some(a32::classify(word(bytes)?, address)),
        Isa::T32 | Isa::ThumbEe => {
            let opcode = thumb(bytes)?;
            let mut instruction = match isa {
                Isa::T32 => t32::classify(opcode, address),
                _ => thumbee::classify(opcode, address),
            };
            instruction.conditional |= it.conditional();
            *it = it.after(opcode);
            Some(instruction)
        }
        Isa::Rv32 | Isa::Rv64 => Some(rv::standard(isa, riscv(bytes)?, address, false)),
        Isa::Jazelle => None,
    }
}

/// The 4-byte opcode of erased memory. It is undefined in every instruction set.
const ONES: u32 = !0;

/// Whether an opcode that is classified as [`Kind::Undefined`] is defined to be illegal, so that no
/// processor executes it, whatever its extensions: the opcode of all ones; UDF in A64; the defined
/// illegal instructions in RISC-V. The opcode is in the form that `classify` of the module takes.
pub const fn is_illegal(isa: Isa, opcode: u32) -> bool {
    match isa {
        Isa::A64 => opcode >> 16 == 0 || opcode == ONES,
        Isa::Rv32 | Isa::Rv64 => rv::is_illegal(opcode),
        Isa::A32 | Isa::T32 => opcode == ONES,
        Isa::ThumbEe | Isa::Jazelle => false,
    }
}

/// Four bytes as an opcode.
fn word(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|b| u32::from_le_bytes(*b))
}

/// Two or four bytes as a T32 opcode, in the form that [`t32::classify`] takes.
fn thumb(bytes: &[u8]) -> Option<u32> {
    let first = u16::from_le_bytes(*bytes.first_chunk()?);
    if t32::is_wide(first) { word(bytes).map(|w| w.rotate_left(16)) } else { Some(first.into()) }
}

/// Two or four bytes as a RISC-V opcode, in the form that [`rv::classify`] takes. Of a longer
/// instruction, the opcode is the first four bytes. `None` if `bytes` is too short.
pub fn riscv(bytes: &[u8]) -> Option<u32> {
    let first = u16::from_le_bytes(*bytes.first_chunk()?);
    if rv::size(first) == 2 { Some(first.into()) } else { word(bytes) }
}

/// Constructor of instructions of one size and instruction set.
#[derive(Clone, Copy)]
struct Make {
    isa: Isa,
    size: u8,
}

impl Make {
    /// An instruction that is neither a branch nor a waypoint.
    const fn plain(self) -> Instruction {
        self.of(Kind::Plain)
    }

    /// An instruction other than a branch.
    const fn of(self, kind: Kind) -> Instruction {
        Instruction {
            kind,
            role: Role::Jump,
            size: self.size,
            conditional: false,
            isa: self.isa,
            target_isa: self.isa,
            target: None,
        }
    }

    const fn indirect(self, role: Role) -> Instruction {
        Instruction { role, ..self.of(Kind::Indirect) }
    }

    /// A direct branch to `base + offset`.
    const fn branch(self, role: Role, base: u64, offset: i32) -> Instruction {
        let target = base.wrapping_add_signed(offset as i64) & self.isa.address_mask();
        Instruction { role, target: Some(target), ..self.of(Kind::Branch) }
    }
}

/// `instruction` with the given `conditional`.
const fn when(conditional: bool, instruction: Instruction) -> Instruction {
    Instruction { conditional, ..instruction }
}

/// The sign extension of the lowest `width` bits, 1 to 32.
const fn sign_extend(value: u32, width: u32) -> i32 {
    (value << (32 - width)) as i32 >> (32 - width)
}
