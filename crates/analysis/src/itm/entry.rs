//! One event of an ITM.

use tracewright_base::{Channel, Dwt, Fault, Gap};

use super::{Span, Value};

/// An event of an ITM or STM.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The offset of its first packet in the trace buffer.
    pub at: u64,
    /// Its time in ticks; `None` where the trace has none.
    ///
    /// The time of a packet is that of the local timestamp after it, the latest at which it was
    /// generated. After packets were lost, the time continues from the last one that is known: it
    /// lacks the time of the loss.
    pub time: Option<u64>,
    /// The earliest time at which the packet was generated; `None` where it is not known.
    ///
    /// It is `time` for the last packet before a local timestamp that is not delayed, and for a
    /// time that was recorded. For others it is that of the local timestamp before: several packets
    /// share a timestamp, or it was delayed. It is not known where the packet was delayed, and
    /// before the first timestamp.
    pub earliest: Option<u64>,
    /// The timestamp, or the packet before it, was delayed in the trace unit.
    pub late: bool,
    /// What it sent is in [`Value`](Content::Value)s, too, which follow it.
    pub typed: bool,
    /// What happened.
    pub content: Content,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A line of text, without its line feed.
    Text {
        /// The port.
        channel: Channel,
        /// The bytes.
        text: Vec<u8>,
    },
    /// A software write, as it was written.
    Write {
        /// The port.
        channel: Channel,
        /// Width of the data.
        bits: u8,
        /// The data.
        value: u64,
        /// Its bytes are also in a line of [`Text`](Content::Text).
        in_text: bool,
    },
    /// A value of a signal: of a port or a comparator whose type is known.
    Value(Value),
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
