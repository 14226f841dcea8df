//! The effect of a write of trace on an exclusive monitor or a transaction. (Arm ARM, D6.2.3)

use std::ops::Range;

use super::choices::MonitorWrite;

/// What watches addresses: an exclusive monitor between a Load-Exclusive and its Store-Exclusive,
/// or a transaction with its working set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Monitor {
    /// The watched addresses.
    pub marked: Range<u64>,
    /// Whether it is undisturbed.
    pub state: MonitorState,
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
    /// A monitor of these addresses.
    pub fn new(marked: Range<u64>) -> Monitor {
        Monitor { marked, state: MonitorState::Exclusive }
    }

    /// A write of trace to `address`. It has no effect on a monitor of other addresses (RDCVBN,
    /// RMDJNK); on one that watches the address, the effect `choice` (RNWSKV, RFVRXJ).
    pub fn trace_written(&mut self, address: u64, choice: MonitorWrite) {
        if self.marked.contains(&address) && choice == MonitorWrite::AsStore {
            self.state = MonitorState::Open;
        }
    }
}
