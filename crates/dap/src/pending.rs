//! What is to be done while the client waits for nothing.

use std::collections::VecDeque;

/// A piece of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Count the executions at the addresses of the breakpoint with this number.
    Count(u64),
    /// List the executions of the log point with this number.
    List(u64),
}

/// What is to be done.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) pieces: VecDeque<Piece>,
    /// Addresses and messages of log points that were listed: clients set all breakpoints of a file
    /// again when one is changed.
    pub(crate) listed: Vec<(u64, String)>,
}
