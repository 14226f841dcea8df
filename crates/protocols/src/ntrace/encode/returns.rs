//! The return stack: calls whose returns need no message. ("Implicit Return Optimization")

use alloc::vec::Vec;

/// Implicit returns of an encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReturnStack {
    /// Entries; 0 for none.
    pub depth: u16,
    /// Calls are counted, and returns are not compared. (`trTeInstImplicitReturnMode` 1)
    pub counter: bool,
}

/// The calls since the last synchronisation. A full stack drops its oldest entry.
#[derive(Clone, Debug)]
pub(super) struct Returns {
    stack: ReturnStack,
    /// NexRv: the stack has an entry more when it grows than when it shrinks.
    uneven: bool,
    entries: Vec<u64>,
    top: usize,
    count: u16,
}

impl Returns {
    pub(super) fn new(stack: ReturnStack, uneven: bool) -> Returns {
        let entries = match (stack.depth, stack.counter) {
            (0, _) | (_, true) => 0,
            (depth, false) => usize::from(depth) + usize::from(uneven),
        };
        Returns { stack, uneven, entries: alloc::vec![0; entries], top: 0, count: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.count = 0;
        if !self.uneven {
            self.top = 0;
        }
    }

    /// A call that returns to `address`.
    pub(super) fn push(&mut self, address: u64) {
        self.count = self.count.saturating_add(1).min(self.stack.depth);
        let last = self.entries.len().saturating_sub(1);
        self.top = if self.top >= last { 0 } else { self.top + 1 };
        if let Some(entry) = self.entries.get_mut(self.top) {
            *entry = address;
        }
    }

    /// A return.
    pub(super) fn pop(&mut self) -> Expected {
        if self.count == 0 {
            return Expected::Unknown;
        }
        self.count -= 1;
        if self.stack.counter {
            return Expected::Any;
        }
        let entry = self.entries.get(self.top).copied();
        self.top = match self.top {
            0 => usize::from(self.stack.depth).saturating_sub(1),
            top => top - 1,
        };
        entry.map_or(Expected::Unknown, Expected::Address)
    }
}

/// The target of a return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Expected {
    /// There is no call that it returns from.
    #[default]
    Unknown,
    /// The encoder does not compare.
    Any,
    /// The address after the call.
    Address(u64),
}

impl Expected {
    /// Whether a return to `address` needs no message.
    pub(super) const fn is(self, address: u64) -> bool {
        match self {
            Expected::Unknown => false,
            Expected::Any => true,
            Expected::Address(expected) => expected == address,
        }
    }
}
