//! Single instructions, for trace units that trace each instruction.

use tracewright_base::{CodeSpace, Instruction, Isa, Kind, Role};

/// Recently decoded instructions by address and code space. It is a two-way set-associative cache
/// with first-in, first-out replacement. It grows, up to a limit, while many instructions are
/// decoded again.
#[derive(Clone, Debug, Default)]
pub(crate) struct InstructionCache {
    /// A power of two of them, the newer entry first. Empty until the first instruction.
    sets: Vec<[CachedInstruction; 2]>,
    /// Instructions that were inserted since the number of sets changed.
    inserted: usize,
}

/// One instruction, its address and its code space.
#[derive(Clone, Copy, Debug)]
struct CachedInstruction {
    address: u64,
    code_space: CodeSpace,
    instruction: Instruction,
}

impl CachedInstruction {
    /// An unused entry.
    const NONE: CachedInstruction =
        CachedInstruction { address: 0, code_space: CodeSpace::NONE, instruction: plain(0) };
}

/// An instruction of `size` bytes.
const fn plain(size: u8) -> Instruction {
    Instruction {
        kind: Kind::Plain,
        role: Role::Jump,
        size,
        conditional: false,
        isa: Isa::T32,
        target_isa: Isa::T32,
        target: None,
    }
}

/// The first number of sets.
const FIRST: usize = 1 << 9;
/// The maximum number of sets.
const MOST: usize = 1 << 14;

impl InstructionCache {
    /// Removes all instructions.
    pub(crate) fn clear(&mut self) {
        self.sets.fill([CachedInstruction::NONE; 2]);
    }

    /// The instruction at `address`, if it is stored.
    #[inline]
    pub(crate) fn find(&self, address: u64, code_space: CodeSpace) -> Option<&Instruction> {
        let set = self.sets.get(self.index(address))?;
        let cached = set
            .iter()
            .find(|cached| cached.address == address && cached.code_space == code_space)?;
        Some(&cached.instruction)
    }

    /// Stores an instruction that is not stored.
    pub(crate) fn insert(&mut self, address: u64, code_space: CodeSpace, instruction: Instruction) {
        self.inserted += 1;
        // Half of the entries are used, or fewer are used and were replaced.
        if self.inserted > self.sets.len() && self.sets.len() < MOST {
            let sets = (2 * self.sets.len()).max(FIRST);
            let before =
                std::mem::replace(&mut self.sets, vec![[CachedInstruction::NONE; 2]; sets]);
            let stored =
                before.iter().flatten().filter(|cached| cached.code_space != CodeSpace::NONE);
            stored.for_each(|&cached| self.put(cached));
            self.inserted = 0;
        }
        self.put(CachedInstruction { address, code_space, instruction });
    }

    fn put(&mut self, cached: CachedInstruction) {
        let index = self.index(cached.address);
        if let Some(set) = self.sets.get_mut(index) {
            let [newer, _] = *set;
            *set = [cached, newer];
        }
    }

    /// The set of an instruction. Adjacent instructions are in different sets.
    #[inline]
    fn index(&self, address: u64) -> usize {
        (address >> 1 ^ address >> 15) as usize & self.sets.len().wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_instructions_equal_inserted_instructions() {
        let mut instruction_cache = InstructionCache::default();
        let code_space = |n: u64| CodeSpace(1 + n as u32 % 2);
        let cached = |n: u64| (n * 0x9e37_79b9 & 0xffff_fffe, code_space(n));
        let instruction = |n: u64| plain(2 + 2 * (n as u8 % 2));
        assert!(instruction_cache.find(0, code_space(0)).is_none());
        for n in 0..200_000 {
            let (address, code_space) = cached(n);
            instruction_cache.insert(address, code_space, instruction(n));
            assert_eq!(instruction_cache.find(address, code_space), Some(&instruction(n)));
        }
        assert_eq!(instruction_cache.sets.len(), MOST, "it grows up to the limit");
        let stored = (0..200_000).filter(|&n| {
            let (address, code_space) = cached(n);
            let found = instruction_cache.find(address, code_space);
            assert!(found.is_none_or(|found| *found == instruction(n)), "{address:#x}");
            found.is_some()
        });
        assert!(stored.count() > MOST);
        instruction_cache.clear();
        assert!((0..200_000).all(|n| instruction_cache.find(cached(n).0, cached(n).1).is_none()));
    }
}
