//! Single instructions, for trace units that trace each.

use tracewright_base::{Instruction, Isa, Kind, Realm, Role};

/// Instructions that were looked up lately, each by its address and what selects it. Two may share a place; a
/// third takes that of the one that came first. It grows, up to a bound, while many are made again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    /// A power of two of them, or none until there is an instruction.
    places: Vec<[Step; 2]>,
    /// How many instructions came since there are so many places.
    made: usize,
}

/// One instruction and what selects it.
#[derive(Clone, Copy, Debug)]
struct Step {
    address: u64,
    realm: Realm,
    instruction: Instruction,
}

impl Step {
    /// There is none.
    const NONE: Step = Step { address: 0, realm: Realm::NONE, instruction: plain(0) };
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
        self.places.fill([Step::NONE; 2]);
    }

    /// The instruction, where it is kept.
    #[inline]
    pub(crate) fn find(&self, address: u64, realm: Realm) -> Option<&Instruction> {
        let place = self.places.get(self.home(address))?;
        let step = place.iter().find(|step| step.address == address && step.realm == realm)?;
        Some(&step.instruction)
    }

    /// Keeps an instruction that was not there.
    pub(crate) fn insert(&mut self, address: u64, realm: Realm, instruction: Instruction) {
        self.made += 1;
        // Half of the room was taken, or less was and is made again.
        if self.made > self.places.len() && self.places.len() < MOST {
            let room = (2 * self.places.len()).max(FIRST);
            let before = std::mem::replace(&mut self.places, vec![[Step::NONE; 2]; room]);
            let kept = before.iter().flatten().filter(|step| step.realm != Realm::NONE);
            kept.for_each(|&step| self.put(step));
            self.made = 0;
        }
        self.put(Step { address, realm, instruction });
    }

    fn put(&mut self, step: Step) {
        let home = self.home(step.address);
        if let Some(place) = self.places.get_mut(home) {
            let [newer, _] = *place;
            *place = [step, newer];
        }
    }

    /// Where an instruction is kept: neighbours do not meet.
    #[inline]
    fn home(&self, address: u64) -> usize {
        (address >> 1 ^ address >> 15) as usize & self.places.len().wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_was_put_in() {
        let mut steps = Steps::default();
        let realm = |n: u64| Realm(1 + n as u32 % 2);
        let step = |n: u64| (n * 0x9e37_79b9 & 0xffff_fffe, realm(n));
        let instruction = |n: u64| plain(2 + 2 * (n as u8 % 2));
        assert!(steps.find(0, realm(0)).is_none());
        for n in 0..200_000 {
            let (address, realm) = step(n);
            steps.insert(address, realm, instruction(n));
            assert_eq!(steps.find(address, realm), Some(&instruction(n)));
        }
        assert_eq!(steps.places.len(), MOST, "it grows, but not for ever");
        let kept = (0..200_000).filter(|&n| {
            let (address, realm) = step(n);
            let found = steps.find(address, realm);
            assert!(found.is_none_or(|found| *found == instruction(n)), "{address:#x}");
            found.is_some()
        });
        assert!(kept.count() > MOST);
        steps.clear();
        assert!((0..200_000).all(|n| steps.find(step(n).0, step(n).1).is_none()));
    }
}
