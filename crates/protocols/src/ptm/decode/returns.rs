//! The return stack.

use tracewright_base::Isa;

/// Entries that are kept. A unit may have fewer: it then traces more targets, and only the oldest
/// entries here are never asked for.
const DEPTH: usize = 16;

/// Return addresses of the calls that were followed, newest last. (IHI 0035, "Use of a return
/// stack")
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returns {
    // Entries from `len` on are always the same: equal stacks compare equal.
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
    /// Puts an address on the stack. A full stack forgets its oldest entry.
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

    /// Takes the newest address.
    pub fn pop(&mut self) -> Option<(u32, Isa)> {
        self.len = self.len.checked_sub(1)?;
        let entry = self.entries.get_mut(usize::from(self.len))?;
        Some(core::mem::replace(entry, NONE))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.len.into()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}
