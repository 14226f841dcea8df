//! One event of an ITM.

use tracewright_base::{Channel, Dwt, Fault, Gap};

use super::Span;

/// An event of an ITM or STM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The offset of its first packet in the trace buffer.
    pub at: u64,
    /// Its time in ticks; `None` where the trace has none.
    ///
    /// The time of a packet is that of the local timestamp after it. After packets were lost, the
    /// time continues from the last one that is known: it lacks the time of the loss.
    pub time: Option<u64>,
    /// The timestamp, or the packet before it, was delayed in the trace unit.
    pub late: bool,
    /// What happened.
    pub content: Content,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A line of text, without its line feed.
    Text {
        /// The port.
        channel: Channel,
        /// The bytes.
        text: Vec<u8>,
    },
    /// A software write that is not text.
    Write {
        /// The port.
        channel: Channel,
        /// Width of the data.
        bits: u8,
        /// The data.
        value: u64,
    },
    /// An event of the DWT, and where it is a step of an exception, the span of that.
    Dwt {
        /// The event.
        event: Dwt,
        /// The exception.
        span: Option<Span>,
    },
    /// A global timestamp.
    GlobalTime(u64),
    /// Packets were lost.
    Lost(Gap),
    /// Undecodable bytes.
    Undecodable {
        /// Their number.
        len: u32,
        /// Why.
        fault: Fault,
    },
}
