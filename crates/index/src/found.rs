//! A result of a query.

use tracewright_base::{Context, Element};
use tracewright_frames as frames;

/// An element that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The number of its source in the plan of the buffer.
    pub source: usize,
    /// Its offset in the buffer.
    pub at: u64,
    /// Its number, counted from 0 over all sources in the order of the output.
    pub number: u64,
    /// The number of instructions before it, of all sources.
    pub instruction: u64,
    /// The last timestamp of its source, up to and including it.
    pub time: Option<u64>,
    /// The context of its source.
    pub context: Option<Context>,
    /// The element.
    pub element: Element,
    /// Of an event of the trace link: the event. It has the number and the instruction of the first
    /// element at its offset or after it.
    pub link: Option<frames::Event>,
}
