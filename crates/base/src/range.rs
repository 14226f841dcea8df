//! Ranges of executed instructions.

use core::fmt;

use crate::instruction::{Instruction, Kind, Role};
use crate::isa::Isa;

/// Instructions that were executed in sequence, at consecutive addresses.
///
/// Its last instruction is the only one that can have changed the flow. Those before it are no
/// branches, or branches that were not taken: in an ETE with Source Address packets where ranges
/// are not split (`split_source_ranges` of the decoder's options), and in listings that join
/// ranges.
///
/// The sizes of its instructions are in program memory: `views::instructions` expands a range, and
/// `isa::classify` reads one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    /// Address of the first instruction.
    pub start: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Number of instructions.
    pub instructions: u32,
    /// Processor cycles of this range, where the protocol counts cycles by range.
    pub cycles: Counted,
    /// The last instruction: the only one that can be a taken branch.
    pub last: Last,
}

impl Range {
    /// The address after the last instruction, within the addresses of the instruction set.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.start.wrapping_add(self.bytes as u64) & self.last.isa.address_mask()
    }

    /// The address of the last instruction.
    #[inline]
    pub const fn last_address(&self) -> u64 {
        self.end().wrapping_sub(self.last.size() as u64)
    }

    /// Whether `has` holds for the addresses of the first and the last of its bytes, both included.
    /// A range that wraps around the end of the addresses of its instruction set is two: up to the
    /// last address, and from 0 on. One without bytes has its start after its end.
    #[inline]
    pub fn any_addresses(&self, has: impl Fn(u64, u64) -> bool) -> bool {
        let mask = self.last.isa.address_mask();
        let last = self.end().wrapping_sub(1) & mask;
        match self.start <= last || self.bytes == 0 {
            true => has(self.start, last),
            false => has(self.start, mask) || has(0, last),
        }
    }

    /// Whether the last instruction took effect (E atom). For a branch: whether it was taken.
    #[inline]
    pub const fn taken(&self) -> bool {
        self.last.taken()
    }
}

/// A count that may be unknown, in four bytes. Counts saturate at `u32::MAX - 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Counted(u32);

impl Counted {
    /// An unknown count.
    pub const UNKNOWN: Counted = Counted(u32::MAX);

    /// A known count.
    #[inline]
    pub const fn of(count: u32) -> Self {
        Counted(if count == u32::MAX { u32::MAX - 1 } else { count })
    }

    /// The count, if known.
    #[inline]
    pub const fn get(self) -> Option<u32> {
        if self.0 == u32::MAX { None } else { Some(self.0) }
    }

    /// The count, or `u32::MAX` if unknown, for checksums.
    #[inline]
    pub const fn word(self) -> u32 {
        self.0
    }
}

/// The last instruction of a [`Range`], in the four bytes of [`word`](Last::word).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Last {
    /// The effect on control flow.
    pub kind: Kind,
    /// The purpose of the branch.
    pub role: Role,
    /// The instruction set of the whole range.
    pub isa: Isa,
    /// Bits \[3:0] size in bytes; \[4] conditional; \[5] taken.
    bits: u8,
}

impl Last {
    const SIZE: u8 = 0x0f;
    const CONDITIONAL: u8 = 0x10;
    const TAKEN: u8 = 0x20;

    /// The summary of `instruction`. `taken`: the instruction took effect, as one that is no branch
    /// always does.
    #[inline]
    pub const fn new(instruction: &Instruction, taken: bool) -> Self {
        let mut bits = instruction.size & Self::SIZE;
        if instruction.conditional {
            bits |= Self::CONDITIONAL;
        }
        if taken {
            bits |= Self::TAKEN;
        }
        Last { kind: instruction.kind, role: instruction.role, isa: instruction.isa, bits }
    }

    /// Size in bytes.
    #[inline]
    pub const fn size(self) -> u8 {
        self.bits & Self::SIZE
    }

    /// Whether a condition decides on the effect.
    #[inline]
    pub const fn conditional(self) -> bool {
        self.bits & Self::CONDITIONAL != 0
    }

    /// Whether the instruction took effect.
    #[inline]
    pub const fn taken(self) -> bool {
        self.bits & Self::TAKEN != 0
    }

    /// All fields in one number, for checksums.
    #[inline]
    pub const fn word(self) -> u32 {
        u32::from_le_bytes([self.kind as u8, self.role as u8, self.isa as u8, self.bits])
    }

    /// The fields of a [`word`](Last::word). `None` where the number is not one.
    pub const fn of_word(word: u32) -> Option<Last> {
        let [kind, role, isa, bits] = word.to_le_bytes();
        let kind = match kind {
            0 => Kind::Plain,
            1 => Kind::Branch,
            2 => Kind::Indirect,
            3 => Kind::Isb,
            4 => Kind::Barrier,
            5 => Kind::Wait,
            6 => Kind::TimedWait,
            7 => Kind::TransactionStart,
            8 => Kind::Undefined,
            _ => return None,
        };
        let role = match role {
            0 => Role::Jump,
            1 => Role::Call,
            2 => Role::Return,
            3 => Role::ExceptionReturn,
            4 => Role::Loop,
            5 => Role::Compare,
            6 => Role::ImpliedReturn,
            7 => Role::Swap,
            8 => Role::Link,
            _ => return None,
        };
        let isa = match isa {
            0 => Isa::A64,
            1 => Isa::A32,
            2 => Isa::T32,
            3 => Isa::ThumbEe,
            4 => Isa::Jazelle,
            5 => Isa::Rv32,
            6 => Isa::Rv64,
            _ => return None,
        };
        if bits & !(Self::SIZE | Self::CONDITIONAL | Self::TAKEN) != 0 {
            return None;
        }
        Some(Last { kind, role, isa, bits })
    }

    /// The same instruction with another `taken`.
    #[inline]
    #[must_use]
    pub const fn with_taken(self, taken: bool) -> Self {
        let bits = self.bits & !Self::TAKEN | if taken { Self::TAKEN } else { 0 };
        Last { bits, ..self }
    }
}

impl fmt::Debug for Last {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Last")
            .field("kind", &self.kind)
            .field("role", &self.role)
            .field("isa", &self.isa)
            .field("size", &self.size())
            .field("conditional", &self.conditional())
            .field("taken", &self.taken())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_that_wraps_has_addresses_at_both_ends() {
        let (top, top_32) = (u64::MAX, 0xffff_ffff);
        let once = |first, last| [Some((first, last)), None];
        let twice = |first, last| [Some((first, last)), Some((0, 3))];
        for (start, bytes, isa, want) in [
            (0x1000, 8, Isa::A64, once(0x1000, 0x1007)),
            (top - 7, 8, Isa::A64, once(top - 7, top)),
            (top - 7, 12, Isa::A64, twice(top - 7, top)),
            (top_32 - 3, 8, Isa::A64, once(top_32 - 3, top_32 + 4)),
            (top_32 - 3, 4, Isa::T32, once(top_32 - 3, top_32)),
            (top_32 - 3, 8, Isa::A32, twice(top_32 - 3, top_32)),
            (0x1000, 0, Isa::A64, once(0x1000, 0xfff)),
        ] {
            let own = Instruction { isa, size: 4, ..Instruction::default() };
            let last = Last::new(&own, false);
            let range = Range { start, bytes, instructions: 1, cycles: Counted::UNKNOWN, last };
            let all = core::cell::Cell::new([None; 2]);
            range.any_addresses(|first, last| {
                let [before, _] = all.get();
                all.set(match before {
                    None => [Some((first, last)), None],
                    before => [before, Some((first, last))],
                });
                false
            });
            assert_eq!(all.get(), want, "{start:#x} {bytes}");
        }
        // One of the two is enough.
        let own = Instruction { isa: Isa::A64, size: 4, ..Instruction::default() };
        let last = Last::new(&own, false);
        let range =
            Range { start: top - 3, bytes: 8, instructions: 2, cycles: Counted::UNKNOWN, last };
        assert!(range.any_addresses(|first, _| first == 0));
        assert!(range.any_addresses(|_, last| last == top));
        assert!(!range.any_addresses(|first, last| first <= 4 && 4 <= last));
    }

    #[test]
    fn words_are_those_of_their_fields() {
        let mut known = 0;
        let numbers = || 0..16u8;
        let all = numbers().flat_map(|kind| numbers().map(move |role| (kind, role)));
        for (kind, role) in all {
            for isa in numbers() {
                for bits in [0, 0x3f, 0x40] {
                    let word = u32::from_le_bytes([kind, role, isa, bits]);
                    if let Some(last) = Last::of_word(word) {
                        assert_eq!(last.word(), word);
                        known += 1;
                    }
                }
            }
        }
        assert_eq!(known, 2 * 9 * 9 * 7);
        let undefined = Instruction { kind: Kind::Undefined, size: 8, ..Instruction::default() };
        let last = Last::new(&undefined, true);
        assert_eq!(Last::of_word(last.word()), Some(last));
    }
}
