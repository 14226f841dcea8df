//! Whether bytes are a program: a memory image without a header, given as trace data.
//!
//! A program calls itself: many of its calls with an immediate offset have a target among its own
//! bytes. In other bytes, such opcodes are rare, and their offsets point anywhere: a BL of A64 has
//! 6 fixed bits and reaches 128 MiB, so that one word of 30,000 is a call inside of 256 KiB. Data
//! that repeat a word do not look like a program: its calls have many offsets.

use std::collections::HashSet;

use tracewright_base::{Isa, Kind, Role};
use tracewright_isa::{ItState, classify};

/// Fewer different calls than these show nothing.
const CALLS: usize = 16;

/// In a program, at least one opcode of this many is a call of the program itself.
const OPCODES: usize = 100;

/// The instruction set of a program that `bytes` are. `None` where they are none.
pub fn program(bytes: &[u8]) -> Option<Isa> {
    let calls = [Isa::A64, Isa::A32, Isa::T32, Isa::Rv64].map(|isa| (isa, calls(isa, bytes)));
    let (isa, calls) = calls.into_iter().max_by_key(|(_, calls)| *calls)?;
    // Opcodes of T32 and RISC-V may begin at each halfword.
    let opcodes = bytes.len() / step(isa);
    (calls >= CALLS && calls * OPCODES >= opcodes).then_some(isa)
}

/// The alignment of opcodes in bytes.
const fn step(isa: Isa) -> usize {
    match isa {
        Isa::A64 | Isa::A32 | Isa::Jazelle => 4,
        Isa::T32 | Isa::ThumbEe | Isa::Rv32 | Isa::Rv64 => 2,
    }
}

/// The number of unconditional calls of `isa` with 4-byte opcodes whose target is in `bytes`; 0
/// where few of them differ. Shorter opcodes reach too little to distinguish a program.
fn calls(isa: Isa, bytes: &[u8]) -> usize {
    let step = step(isa);
    let is_call = |at: &usize| {
        let opcode = bytes.get(*at..*at + 4).unwrap_or_default();
        let found = classify(isa, opcode, *at as u64, &mut ItState::default());
        found.is_some_and(|call| {
            let target = call.target.is_some_and(|target| target < bytes.len() as u64);
            let is_call = call.kind == Kind::Branch && call.role == Role::Call;
            is_call && !call.conditional && call.size == 4 && target
        })
    };
    let found: Vec<usize> = (0..bytes.len()).step_by(step).filter(is_call).collect();
    let opcodes: HashSet<_> = found.iter().filter_map(|at| bytes.get(*at..*at + 4)).collect();
    if opcodes.len() < CALLS { 0 } else { found.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: impl Iterator<Item = u32>) -> Vec<u8> {
        words.flat_map(u32::to_le_bytes).collect()
    }

    /// Calls in each fourth word, back to the start, and words that are no calls.
    #[test]
    fn programs_call_themselves() {
        let calls =
            |bl: fn(u32) -> u32| words((0..256).map(|n| if n % 4 == 0 { bl(n) } else { 0 }));
        assert_eq!(
            program(&calls(|n| 0x9400_0000 | n.wrapping_neg() & 0x03ff_ffff)),
            Some(Isa::A64)
        );
        assert_eq!(
            program(&calls(|n| 0xeb00_0000 | n.wrapping_neg().wrapping_sub(2) & 0x00ff_ffff)),
            Some(Isa::A32)
        );
        // BL forwards by 2 to 510 bytes, and JAL ra forwards by 8 to 2024 bytes.
        assert_eq!(program(&calls(|n| 0xf800_f000 | n << 16)), Some(Isa::T32));
        assert_eq!(program(&calls(|n| 0x0080_00ef | n << 22)), Some(Isa::Rv64));
        // The same call again and again.
        assert_eq!(program(&calls(|_| 0xf802_f000)), None);
        // Calls of what is not there, too few calls, and none.
        assert_eq!(program(&calls(|_| 0x9500_0000)), None);
        assert_eq!(program(&words((0..16).map(|_| 0x9400_0000))[..60]), None);
        assert_eq!(program(&[]), None);
        let mut random = 1u32;
        let noise = words((0..1 << 14).map(|_| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            random ^ random >> 16
        }));
        assert_eq!(program(&noise), None);
    }
}
