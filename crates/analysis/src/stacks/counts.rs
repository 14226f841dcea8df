//! What was found.

/// What was found, so that calls and returns can be reconciled. Each branch with link is one of
/// `calls`, and each return one of those that follow it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackCounts {
    /// Instructions.
    pub instructions: u64,
    /// Branches with link.
    pub calls: u64,
    /// Returns to the return address of the frame on top.
    pub returns: u64,
    /// Returns to a function that was entered before the trace began, or while trace was lost.
    pub returns_of_unseen_calls: u64,
    /// Returns and branches to a frame further down.
    pub unwinding: u64,
    /// Returns to none of the return addresses.
    pub other_returns: u64,
    /// Branches to the first instruction of another function.
    pub tail_calls: u64,
    /// Branches into the middle of another function.
    pub jumps: u64,
    /// Exceptions.
    pub exceptions: u64,
    /// Returns from exceptions.
    pub exception_returns: u64,
    /// Switches to another thread.
    pub switches: u64,
    /// Losses of trace.
    pub losses: u64,
    /// Frames that began.
    pub begun: u64,
    /// Frames that ended.
    pub ended: u64,
    /// Frames that ended because too many were open.
    pub too_deep: u64,
}

impl StackCounts {
    /// Adds what was found in another buffer.
    pub fn add(&mut self, other: &StackCounts) {
        for (own, its) in self.all().into_iter().zip({ *other }.all()) {
            *own = own.saturating_add(*its);
        }
    }

    /// The number of frames that are open.
    pub(super) fn open(&self) -> u64 {
        self.begun.saturating_sub(self.ended)
    }

    fn all(&mut self) -> [&mut u64; 15] {
        [
            &mut self.instructions,
            &mut self.calls,
            &mut self.returns,
            &mut self.returns_of_unseen_calls,
            &mut self.unwinding,
            &mut self.other_returns,
            &mut self.tail_calls,
            &mut self.jumps,
            &mut self.exceptions,
            &mut self.exception_returns,
            &mut self.switches,
            &mut self.losses,
            &mut self.begun,
            &mut self.ended,
            &mut self.too_deep,
        ]
    }
}
