//! Where execution leads from a branch, by the code alone.

use std::collections::BTreeSet;

use tracewright_base::{Code as _, Instruction, Kind, Pc, Role, Space};
use tracewright_image::Cache;
use tracewright_symbols::CodeStates;

/// The most instructions that are followed from a branch.
const MOST: usize = 4096;
/// The most instructions without a conditional branch.
const STRAIGHT: usize = 512;
/// The most branches in a row, as those to the end of a condition.
const BRANCHES: usize = 64;

/// Reads the code of a program file.
pub(super) struct Walk<'a> {
    pub(super) cache: &'a mut Cache,
    pub(super) states: &'a CodeStates,
    pub(super) bias: u64,
    /// The instructions that [`Walk::reaches`] may still follow: functions of a hostile file may
    /// overlap.
    pub(super) left: u64,
}

impl Walk<'_> {
    /// The instruction at an address of the file.
    pub(super) fn instruction(&mut self, address: u64) -> Option<Instruction> {
        let isa = self.states.at(address)?;
        let pc = Pc { address: address.wrapping_add(self.bias), isa, space: Space::ANY };
        let found = self.cache.instruction(pc).ok()?;
        let target = found.target.map(|target| target.wrapping_sub(self.bias));
        Some(Instruction { target, ..found })
    }

    /// Whether it is a conditional branch.
    pub(super) fn is_conditional(instruction: &Instruction) -> bool {
        instruction.conditional && matches!(instruction.kind, Kind::Branch | Kind::Indirect)
    }

    /// Whether it writes a return address.
    pub(super) fn calls(instruction: &Instruction) -> bool {
        matches!(instruction.role, Role::Call | Role::Link | Role::Swap)
    }

    /// Where execution continues after the branch at `address`: where it is not taken, and where it
    /// is.
    pub(super) fn edges(&mut self, address: u64) -> Option<[u64; 2]> {
        let instruction = self.instruction(address)?;
        let next = address.checked_add(instruction.size.into())?;
        Some([next, instruction.target?])
    }

    /// Where unconditional branches lead from `address`.
    pub(super) fn destination(&mut self, mut address: u64) -> u64 {
        for _ in 0..BRANCHES {
            let Some(instruction) = self.instruction(address) else { break };
            let jumps = instruction.kind == Kind::Branch
                && !instruction.conditional
                && matches!(instruction.role, Role::Jump);
            let Some(target) = instruction.target.filter(|_| jumps) else { break };
            address = target;
        }
        address
    }

    /// The bytes of an instruction: as a word, or as a halfword.
    pub(super) fn opcode(&mut self, address: u64) -> Option<u32> {
        let own = self.instruction(address)?;
        let pc = Pc {
            address: address.wrapping_add(self.bias),
            isa: self.states.at(address)?,
            space: Space::ANY,
        };
        let mut bytes = [0; 4];
        let wanted = bytes.get_mut(..usize::from(own.size))?;
        (self.cache.read(pc, wanted) == wanted.len()).then(|| u32::from_le_bytes(bytes))
    }

    /// The instructions that are executed from `start` on, up to a conditional branch, a return or
    /// a jump to an unknown address; and the conditional branch, if it is one. Functions that are
    /// called are left out. `None` where there are too many.
    pub(super) fn straight(&mut self, start: u64) -> Option<(Vec<u64>, Option<u64>)> {
        let (mut address, mut path) = (start, Vec::new());
        while path.len() < STRAIGHT && self.left > 0 {
            self.left -= 1;
            let Some(own) = self.instruction(address) else { return Some((path, None)) };
            if Walk::is_conditional(&own) {
                return Some((path, Some(address)));
            }
            path.push(address);
            let calls = Walk::calls(&own);
            let next = match own.kind {
                Kind::Branch if !calls => own.target,
                Kind::Indirect if !calls => None,
                Kind::Undefined => None,
                _ => address.checked_add(own.size.into()),
            };
            let Some(next) = next else { return Some((path, None)) };
            address = next;
        }
        None
    }

    /// Those of the branches `wanted` that execution may reach first from `start`. `None` where too
    /// much code is before them.
    pub(super) fn reaches(&mut self, start: u64, wanted: &BTreeSet<u64>) -> Option<BTreeSet<u64>> {
        let (mut left, mut seen) = (vec![start], BTreeSet::new());
        let mut found = BTreeSet::new();
        while let Some(address) = left.pop() {
            if wanted.contains(&address) {
                found.insert(address);
                continue;
            }
            if !seen.insert(address) {
                continue;
            }
            if seen.len() > MOST || self.left == 0 {
                return None;
            }
            self.left -= 1;
            let Some(own) = self.instruction(address) else { continue };
            let calls = Walk::calls(&own);
            let (falls, jumps) = match own.kind {
                Kind::Branch => (calls || own.conditional, !calls),
                Kind::Indirect => (calls || own.conditional, false),
                Kind::Undefined => (false, false),
                _ => (true, false),
            };
            if falls {
                left.extend(address.checked_add(own.size.into()));
            }
            if jumps {
                left.extend(own.target);
            }
        }
        Some(found)
    }
}
