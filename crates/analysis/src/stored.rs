//! What handlers store to the variable of the running task.

use std::sync::Arc;

/// What a handler does to the running task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stored {
    /// It names none.
    #[default]
    Nothing,
    /// It names the task with this value.
    Named(u64),
    /// It is not known whether it names one, or which one.
    Unknown,
}

/// What the handlers of a source do to the running task, in order of their begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stores {
    /// The source.
    pub source: usize,
    /// The handlers.
    pub handlers: Arc<[Stored]>,
    /// Those that name a task, and those of which that is not known.
    pub named: usize,
    /// See `named`.
    pub unknown: usize,
}
