//! Stores that a DWT reports in the trace of an ITM, placed in the handlers of an ETM of the same
//! processor.
//!
//! The traces have a common clock where the ITM has global timestamps, and the ETM timestamps. A
//! store is placed in a handler where the intervals of their times leave no other one; between two
//! handlers that are placed so, the others are placed by their number, if both traces have as many
//! and nothing was lost. Elsewhere it is not known which handler has named a task.
//!
//! | file | contents |
//! |---|---|
//! | `reported.rs` | [`Reported`]: handlers and stores in the trace of the ITM |
//! | `activations.rs` | [`Activations`]: handlers in the trace of the ETM |
//! | `place.rs` | [`place`]: which handler has named which task, as [`Stores`] |
//! | `search.rs` | a search of handlers by time |

mod activations;
mod place;
#[cfg(test)]
mod place_tests;
mod reported;
mod search;
#[cfg(test)]
mod tests;

pub use activations::Activations;
pub use place::{Trace, place};
pub use reported::Reported;

pub use crate::stored::{Stored, Stores};

/// A time of which the bounds are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The earliest time; `None` where it is not known.
    pub from: Option<u64>,
    /// The latest time.
    pub to: Option<u64>,
}

/// A handler in one of the traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handler {
    /// The number of the exception; `None` for a store outside of a handler that is known.
    pub number: Option<u16>,
    /// When it was entered and left.
    pub begin: Bounds,
    /// See `begin`.
    pub end: Bounds,
    /// The losses of trace before it.
    pub losses: u32,
    /// What it has named the running task by, which may be unknown.
    pub named: Option<Option<u64>>,
}
