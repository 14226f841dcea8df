//! The effect of a write of trace on an exclusive monitor or a transaction. (Arm ARM, D6.2.3)

use std::ops::Range;

use super::choices::{Choices, MonitorWrite};

/// What watches addresses. [`Trbe::monitors`](super::Trbe::monitors) has those that observe the
/// writes of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Monitor {
    /// What it is.
    pub kind: MonitorKind,
    /// The watched addresses: the marked address of an exclusive monitor, the working set of a
    /// transaction. They are those that the unit writes to, in the same address space.
    pub marked: Range<u64>,
    /// Whether it is undisturbed.
    pub state: MonitorState,
}

/// What a [`Monitor`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonitorKind {
    /// An exclusive monitor between a Load-Exclusive and its Store-Exclusive.
    Exclusive,
    /// A transaction.
    Transaction,
}

/// The state of a [`Monitor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonitorState {
    /// Exclusive Access state, or a transaction that did not fail.
    Exclusive,
    /// Open Access state, or a failed transaction.
    Open,
}

impl Monitor {
    /// An undisturbed monitor of these addresses.
    pub fn new(kind: MonitorKind, marked: Range<u64>) -> Monitor {
        Monitor { kind, marked, state: MonitorState::Exclusive }
    }

    /// A write of trace to `address`. It has no effect on a monitor of other addresses (RDCVBN,
    /// RMDJNK); on one that watches the address, the effect that `choices` has for its kind
    /// (RNWSKV, RFVRXJ).
    pub fn trace_written(&mut self, address: u64, choices: &Choices) {
        let choice = match self.kind {
            MonitorKind::Exclusive => choices.exclusive,
            MonitorKind::Transaction => choices.transaction,
        };
        if self.marked.contains(&address) && choice == MonitorWrite::AsStore {
            self.state = MonitorState::Open;
        }
    }
}
