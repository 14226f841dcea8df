//! The callees that execute a branch before they return. (Implicit returns without `irets`)
//!
//! With the depth of the return stack alone a decoder cannot tell two visits of an instruction at
//! one depth apart, if no branch and no packet is in between. The second visit follows a call after
//! an implied return. If the callee always executes a branch, or a jump of unknown target, before
//! it returns, then so does the earlier visit: both run the same instructions from there on. Its
//! visit then ended at that branch, and there is only one. So a call of such a callee needs no
//! report. The first call of a callee is reported, because the unit does not know it yet.

use alloc::boxed::Box;

/// The number of callees that the unit knows.
const KNOWN: usize = 256;

/// The most nested callees whose first branch is awaited.
const NESTED: usize = 16;

/// The callees that the unit knows, and those that run and have executed no branch yet.
#[derive(Clone, Debug)]
pub(super) struct Callees {
    /// Entries of callees that execute a branch before they return, by their low bits.
    branching: Box<[Option<u64>; KNOWN]>,
    /// Entries of the running callees without a branch so far, the outermost first.
    running: [u64; NESTED],
    len: usize,
}

impl Default for Callees {
    fn default() -> Self {
        Callees { branching: Box::new([None; KNOWN]), running: [0; NESTED], len: 0 }
    }
}

impl Callees {
    /// Whether the callee at `entry` executes a branch before it returns.
    pub(super) fn branches(&self, entry: u64) -> bool {
        self.branching.get(slot(entry)).copied().flatten() == Some(entry)
    }

    /// A branch, or a jump of unknown target other than a return.
    #[inline]
    pub(super) fn branch(&mut self) {
        if self.len > 0 {
            let Callees { branching, running, len } = self;
            for &entry in running.iter().take(*len) {
                if let Some(known) = branching.get_mut(slot(entry)) {
                    *known = Some(entry);
                }
            }
            *len = 0;
        }
    }

    /// A call of the callee at `entry`.
    pub(super) fn call(&mut self, entry: u64) {
        if self.len == NESTED {
            // The outer ones stay unknown.
            self.len = 0;
        }
        if let Some(place) = self.running.get_mut(self.len) {
            *place = entry;
            self.len += 1;
        }
    }

    /// A return, implied or not.
    pub(super) fn ret(&mut self) {
        if self.len == 0 {
            return;
        }
        self.len -= 1;
        if let Some(entry) = self.running.get(self.len)
            && let Some(known) = self.branching.get_mut(slot(*entry))
            && *known == Some(*entry)
        {
            // The program has changed.
            *known = None;
        }
    }

    /// Other instructions follow than those of the running callees.
    pub(super) fn interrupt(&mut self) {
        self.len = 0;
    }
}

const fn slot(entry: u64) -> usize {
    (entry >> 1) as usize % KNOWN
}
