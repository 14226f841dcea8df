//! The return stack: the targets of returns that no message reports. ("Implicit Return
//! Optimization")
//!
//! Whatever the depth of the encoder's stack, or of its counter, is: it reports the returns whose
//! entries it has dropped, and the decoder pops its own entries at these, too.

use alloc::collections::VecDeque;

/// The most entries. The counter of a P550 counts 1023 calls.
const MAX_ENTRIES: usize = 4096;

/// The return addresses of traced calls. A full stack drops its oldest entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Returns {
    entries: VecDeque<u64>,
    /// The least number of entries since [`mark`](Returns::mark).
    low: usize,
}

impl Returns {
    /// A call that returns to `address`.
    #[inline]
    pub(super) fn push(&mut self, address: u64) {
        if self.entries.len() >= MAX_ENTRIES {
            self.entries.pop_front();
            self.low = 0;
        }
        self.entries.push_back(address);
    }

    /// The return address of the last call.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<u64> {
        let address = self.entries.pop_back();
        self.low = self.low.min(self.entries.len());
        address
    }

    /// The return address of the last call, which stays.
    #[inline]
    pub(super) fn last(&self) -> Option<u64> {
        self.entries.back().copied()
    }

    /// Drops all calls.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.low = 0;
    }

    /// The number of entries, for [`is_as_at`](Returns::is_as_at).
    pub(super) fn mark(&mut self) -> usize {
        self.low = self.entries.len();
        self.low
    }

    /// Whether the entries are those at the last mark, which returned `mark`.
    pub(super) fn is_as_at(&self, mark: usize) -> bool {
        self.entries.len() == mark && self.low == mark
    }

    /// Forgets the mark: states that differ in it only are equal.
    pub(super) fn forget_mark(&mut self) {
        self.low = 0;
    }
}
