//! What ends a run at a data access.

use std::ops::Range;

use tracewright::base::{Access, Direction as AccessDirection};

use crate::position::Position;

/// Addresses at which accesses end a run or a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The addresses of the bytes.
    pub addresses: Range<u64>,
    /// Reads end it.
    pub reads: bool,
    /// Writes end it.
    pub writes: bool,
}

/// An access that ended a run or a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accessed {
    /// The access.
    pub access: Access,
    /// The first watched address that it touches.
    pub address: u64,
    /// Its instruction, or where the trace does not state which one that is, the last one before it
    /// in the trace, or the first one.
    pub position: Position,
    /// Whether the trace states the instruction.
    pub is_stated: bool,
}

/// The addresses of an access. One of unknown size has one byte.
pub(crate) fn bytes_of(access: &Access) -> Option<Range<u64>> {
    let first = access.address()?;
    Some(first..first.saturating_add(u64::from(access.size).max(1)))
}

impl Watch {
    /// The first watched address that the access touches.
    pub fn touched(&self, access: &Access) -> Option<u64> {
        let own = bytes_of(access)?;
        let first = own.start.max(self.addresses.start);
        let wanted = match access.direction {
            AccessDirection::Read => self.reads,
            AccessDirection::Write => self.writes,
            AccessDirection::Unknown => true,
        };
        let done = !access.has(Access::STORE_FAILED);
        (wanted && done && first < own.end.min(self.addresses.end)).then_some(first)
    }
}
