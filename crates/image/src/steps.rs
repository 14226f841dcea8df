//! Single instructions, for trace units that trace each.

use tracewright_base::{CodeSpace, Instruction, Isa, Kind, Role};

/// Instructions that were looked up lately, each by its address and what selects it. Two may share a place; a
/// third takes that of the one that came first. It grows, up to a bound, while many are made again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    /// A power of two of them, or none until there is an instruction.
    slots: Vec<[Step; 2]>,
    /// How many instructions came since there are so many places.
    made: usize,
}

/// One instruction and what selects it.
#[derive(Clone, Copy, Debug)]
struct Step {
    address: u64,
    code_space: CodeSpace,
    instruction: Instruction,
}

impl Step {
    /// There is none.
    const NONE: Step = Step { address: 0, code_space: CodeSpace::NONE, instruction: plain(0) };
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

/// How many places there are at first.
const FIRST: usize = 1 << 9;
/// And at most.
const MOST: usize = 1 << 14;

impl Steps {
    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.slots.fill([Step::NONE; 2]);
    }

    /// The instruction, where it is kept.
    #[inline]
    pub(crate) fn find(&self, address: u64, code_space: CodeSpace) -> Option<&Instruction> {
        let place = self.slots.get(self.home(address))?;
        let step =
            place.iter().find(|step| step.address == address && step.code_space == code_space)?;
        Some(&step.instruction)
    }

    /// Keeps an instruction that was not there.
    pub(crate) fn insert(&mut self, address: u64, code_space: CodeSpace, instruction: Instruction) {
        self.made += 1;
        // Half of the room was taken, or less was and is made again.
        if self.made > self.slots.len() && self.slots.len() < MOST {
            let room = (2 * self.slots.len()).max(FIRST);
            let before = std::mem::replace(&mut self.slots, vec![[Step::NONE; 2]; room]);
            let kept = before.iter().flatten().filter(|step| step.code_space != CodeSpace::NONE);
            kept.for_each(|&step| self.put(step));
            self.made = 0;
        }
        self.put(Step { address, code_space, instruction });
    }

    fn put(&mut self, step: Step) {
        let home = self.home(step.address);
        if let Some(place) = self.slots.get_mut(home) {
            let [newer, _] = *place;
            *place = [step, newer];
        }
    }

    /// Where an instruction is kept: neighbours do not meet.
    #[inline]
    fn home(&self, address: u64) -> usize {
        (address >> 1 ^ address >> 15) as usize & self.slots.len().wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_was_put_in() {
        let mut steps = Steps::default();
        let code_space = |n: u64| CodeSpace(1 + n as u32 % 2);
        let step = |n: u64| (n * 0x9e37_79b9 & 0xffff_fffe, code_space(n));
        let instruction = |n: u64| plain(2 + 2 * (n as u8 % 2));
        assert!(steps.find(0, code_space(0)).is_none());
        for n in 0..200_000 {
            let (address, code_space) = step(n);
            steps.insert(address, code_space, instruction(n));
            assert_eq!(steps.find(address, code_space), Some(&instruction(n)));
        }
        assert_eq!(steps.slots.len(), MOST, "it grows, but not for ever");
        let kept = (0..200_000).filter(|&n| {
            let (address, code_space) = step(n);
            let found = steps.find(address, code_space);
            assert!(found.is_none_or(|found| *found == instruction(n)), "{address:#x}");
            found.is_some()
        });
        assert!(kept.count() > MOST);
        steps.clear();
        assert!((0..200_000).all(|n| steps.find(step(n).0, step(n).1).is_none()));
    }
}
