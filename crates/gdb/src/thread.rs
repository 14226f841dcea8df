//! A thread of gdb.

/// A thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thread {
    /// The trace source.
    pub(crate) source: usize,
    /// The number of a task that waits; `None`: what the source executes.
    pub(crate) task: Option<u32>,
}

impl Thread {
    /// What a source executes.
    pub(crate) fn of(source: usize) -> Thread {
        Thread { source, task: None }
    }
}
