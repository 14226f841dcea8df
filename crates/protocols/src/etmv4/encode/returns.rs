//! The trace unit's return stack, whose addresses are not sent. (Arm ARM D5 and IHI 0064, "Return
//! stack")

/// The depth of an analyzer's stack.
const MAX_DEPTH: usize = 15;

/// Return addresses with their instruction set selector, newest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Returns {
    entries: [(u64, bool); MAX_DEPTH],
    len: u8,
    /// The depth of the stack.
    depth: u8,
}

impl Returns {
    /// An empty stack of `depth` entries, at most 15.
    pub(super) fn new(depth: u8) -> Self {
        Returns { entries: [(0, false); MAX_DEPTH], len: 0, depth: depth.min(MAX_DEPTH as u8) }
    }

    /// Pushes the return address of a branch with link that was traced as taken. A full stack drops
    /// the oldest entry.
    #[inline]
    pub(super) fn push(&mut self, address: u64, is1: bool) {
        if self.depth == 0 {
            return;
        }
        if self.len == self.depth {
            self.entries.copy_within(1.., 0);
            self.len -= 1;
        }
        if let Some(slot) = self.entries.get_mut(usize::from(self.len)) {
            *slot = (address, is1);
            self.len += 1;
        }
    }

    /// Whether an analyzer can infer that an indirect branch goes to `target`. Pops the entry then.
    #[inline]
    pub(super) fn matches(&mut self, target: u64, is1: bool) -> bool {
        let Some(top) = self.len.checked_sub(1) else { return false };
        let hit = self.entries.get(usize::from(top)) == Some(&(target, is1));
        self.len -= u8::from(hit);
        hit
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_top_matches_and_a_full_stack_drops_the_oldest() {
        let mut returns = Returns::new(2);
        for address in [0x10, 0x20, 0x30] {
            returns.push(address, false);
        }
        assert!(!returns.matches(0x20, false), "not the top");
        assert!(!returns.matches(0x30, true), "another instruction set");
        assert!(returns.matches(0x30, false));
        assert!(returns.matches(0x20, false));
        assert!(!returns.matches(0x10, false), "the oldest is dropped");
    }

    #[test]
    fn a_stack_of_depth_0_matches_nothing() {
        let mut returns = Returns::new(0);
        returns.push(0x10, false);
        assert!(!returns.matches(0x10, false));
    }
}
