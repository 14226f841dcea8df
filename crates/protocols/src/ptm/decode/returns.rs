//! The return stack.

use tracewright_base::Isa;

/// Entries of the stack. A unit with fewer entries traces more targets, and the oldest entries here
/// are then unused.
const DEPTH: usize = 16;

/// Return addresses of the traced calls, the newest last. (IHI 0035, "Use of a return
/// stack")
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returns {
    // Entries from `len` on are always `NONE`, so that equal stacks compare equal.
    entries: [(u32, Isa); DEPTH],
    len: u8,
}

const NONE: (u32, Isa) = (0, Isa::A32);

impl Default for Returns {
    /// The empty stack.
    fn default() -> Self {
        Returns { entries: [NONE; DEPTH], len: 0 }
    }
}

impl Returns {
    /// Pushes an address. A full stack drops its oldest entry.
    pub fn push(&mut self, address: u32, isa: Isa) {
        if usize::from(self.len) == DEPTH {
            self.entries.copy_within(1.., 0);
            self.len -= 1;
        }
        if let Some(entry) = self.entries.get_mut(usize::from(self.len)) {
            *entry = (address, isa);
            self.len += 1;
        }
    }

    /// Pops the newest address.
    pub fn pop(&mut self) -> Option<(u32, Isa)> {
        self.len = self.len.checked_sub(1)?;
        let entry = self.entries.get_mut(usize::from(self.len))?;
        Some(core::mem::replace(entry, NONE))
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.len.into()
    }

    /// Whether the stack is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}
