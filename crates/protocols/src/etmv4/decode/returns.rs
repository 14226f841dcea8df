//! The return stack: where branches with link will come back to. (ETE K10.5.5.3)

/// How many return addresses an analyzer keeps, whatever the trace unit's own depth is.
pub(super) const DEPTH: u8 = 15;

/// How many slots there are; a power of two.
pub(super) const SLOTS: usize = 16;

/// A return address and its instruction set selector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Return {
    pub(super) address: u64,
    pub(super) is1: bool,
}

/// The analyzer's return stack. The oldest entry makes room when it is full; entries that the trace
/// unit has long dropped do no harm, because it only leaves out addresses that it pushed itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Returns {
    /// A ring: the newest is at [`slot`](Returns::slot), older ones before it. What lies beyond them
    /// means nothing.
    entries: [Return; SLOTS],
    slot: u8,
    len: u8,
}

impl Returns {
    #[inline]
    pub(super) fn push(&mut self, entry: Return) {
        self.slot = self.slot.wrapping_add(1);
        self.len = (self.len + 1).min(DEPTH);
        self.entries[self.slot()] = entry;
    }

    /// Where the newest entry is, of [`SLOTS`].
    #[inline]
    pub(super) fn slot(&self) -> usize {
        usize::from(self.slot) % SLOTS
    }

    /// The newest entry.
    #[inline]
    pub(super) fn top(&self) -> Option<Return> {
        (self.len > 0).then(|| self.entries[self.slot()])
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Return> {
        let top = self.top()?;
        self.slot = self.slot.wrapping_sub(1);
        self.len -= 1;
        Some(top)
    }

    /// Takes up entries that were pushed elsewhere: `count` of them, the newest at `slot`, `entry` says what is at each.
    /// There were `most` at one time, so that older ones may have had to go.
    pub(super) fn take_up(
        &mut self,
        slot: usize,
        count: u8,
        most: u8,
        entry: impl Fn(usize) -> Option<Return>,
    ) {
        self.slot = slot as u8;
        self.len = self.len.min(DEPTH.saturating_sub(most)) + count;
        for age in 0..count {
            let slot = usize::from(self.slot.wrapping_sub(age)) % SLOTS;
            self.entries[slot] = entry(slot).unwrap_or_default();
        }
    }

    /// The entries, the newest first.
    fn iter(&self) -> impl Iterator<Item = Return> {
        (0..self.len).map(|age| self.entries[usize::from(self.slot.wrapping_sub(age)) % SLOTS])
    }
}

/// Equal where the same comes back; where in the ring it is does not matter.
impl PartialEq for Returns {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl Eq for Returns {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_makes_room() {
        let mut returns = Returns::default();
        for address in 0..20 {
            returns.push(Return { address, is1: false });
        }
        let mut others = Returns::default();
        for address in 5..20 {
            others.push(Return { address, is1: false });
        }
        assert_eq!(returns, others);
        for address in (5..20).rev() {
            assert_eq!(returns.top(), Some(Return { address, is1: false }));
            assert_eq!(returns.pop(), Some(Return { address, is1: false }));
            assert_ne!(returns, others);
        }
        assert_eq!(returns.pop(), None);
        assert_eq!(returns, Returns::default());
    }
}
