//! What has happened and is not visible everywhere yet: direct writes, trace operations, flushes.

use super::reg::Reg;

/// A direct write that no context synchronization event has followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) register: Reg,
    pub(super) value: u64,
}

/// How far the youngest trace operation is synchronized with the instructions of software.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Order {
    /// It was generated.
    Generated,
    /// A context synchronization event followed.
    Ordered,
    /// A TSB CSYNC followed that: it is finished, and has written its registers.
    Finished,
    /// A second context synchronization event followed: software reads what it wrote.
    #[default]
    Visible,
}

/// A flush of the trace unit that was initiated, by the event that its end generates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flush {
    /// A Trigger Event in the mode Stop on trigger.
    Stop,
    /// A Trigger Event in the mode IRQ on trigger.
    Irq,
    /// A Manual Stop.
    Manual,
}
