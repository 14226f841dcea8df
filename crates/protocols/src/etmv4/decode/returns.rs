//! The return stack: where branches with link will come back to. (ETE K10.5.5.3)

/// How many return addresses an analyzer keeps, whatever the trace unit's own depth is.
const DEPTH: usize = 15;

/// A return address and its instruction set selector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Return {
    pub(super) address: u64,
    pub(super) is1: bool,
}

/// The analyzer's return stack. The oldest entry makes room when it is full; entries that the trace
/// unit has long dropped do no harm, because it only leaves out addresses that it pushed itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Returns {
    /// Newest at `len - 1`; beyond it all default, so that equal stacks compare equal.
    entries: [Return; DEPTH],
    len: u8,
}

impl Returns {
    #[inline]
    pub(super) fn push(&mut self, entry: Return) {
        if usize::from(self.len) == DEPTH {
            self.entries.copy_within(1.., 0);
            self.len -= 1;
        }
        if let Some(slot) = self.entries.get_mut(usize::from(self.len)) {
            *slot = entry;
            self.len += 1;
        }
    }

    /// The newest entry.
    #[inline]
    pub(super) fn top(&self) -> Option<Return> {
        self.entries.get(usize::from(self.len.checked_sub(1)?)).copied()
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Return> {
        let top = self.len.checked_sub(1)?;
        self.len = top;
        self.entries.get_mut(usize::from(top)).map(core::mem::take)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_makes_room() {
        let mut returns = Returns::default();
        for address in 0..20 {
            returns.push(Return { address, is1: false });
        }
        for address in (5..20).rev() {
            assert_eq!(returns.pop(), Some(Return { address, is1: false }));
        }
        assert_eq!(returns.pop(), None);
        assert_eq!(returns, Returns::default());
    }
}
