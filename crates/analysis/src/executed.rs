//! What a profile counts: executed ranges, sequences, and missing memory.

use tracewright_base::{Kind, Last};
use tracewright_image::MemoryId;

/// A range of instructions, and the address that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Executed {
    /// The memory that the range is in.
    pub memory: MemoryId,
    /// The source.
    pub source: u16,
    /// The address of the first instruction.
    pub start: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Number of instructions.
    pub instructions: u32,
    /// The last instruction.
    pub last: Last,
    /// The start of the range that follows; `None` where it is not known, and where an exception
    /// follows.
    pub next: Option<u64>,
}

impl Executed {
    /// The address of the last instruction.
    pub fn last_address(&self) -> u64 {
        let end = self.start.wrapping_add(self.bytes.into()) & self.last.isa.address_mask();
        end.wrapping_sub(self.last.size().into())
    }

    /// Whether the last instruction is a branch that was taken.
    pub fn branches(&self) -> bool {
        branches(self.last)
    }
}

/// Whether `last` is a branch that was taken.
pub(crate) fn branches(last: Last) -> bool {
    matches!(last.kind, Kind::Branch | Kind::Indirect) && last.taken()
}

/// Instructions that were executed in sequence after a branch that was taken, up to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Following {
    /// The memory.
    pub memory: MemoryId,
    /// The source.
    pub source: u16,
    /// The address of the branch before; `None` where it is not known.
    pub from: Option<u64>,
    /// The address of the first instruction.
    pub start: u64,
    /// The address of the last instruction.
    pub last: u64,
}

/// An address without program memory, at which the path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Missing {
    /// The memory.
    pub memory: MemoryId,
    /// The source.
    pub source: u16,
    /// The address.
    pub address: u64,
}
