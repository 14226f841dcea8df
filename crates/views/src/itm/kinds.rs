//! Which events are shown.

use tracewright_analysis::itm::{Content, Entry, Origin, Value};
use tracewright_base::Dwt;

use super::Format;

/// A kind of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A line of text on a port.
    Text,
    /// A software write.
    Write,
    /// A value of a signal: of a port or comparator whose type is known.
    Value,
    /// A step of an exception.
    Exception,
    /// A sample of the program counter.
    Sample,
    /// Watched data: a comparator matched.
    Data,
    /// Counters wrapped.
    Counter,
    /// A global timestamp.
    Time,
    /// Packets were lost, or bytes cannot be decoded.
    Lost,
    /// An event that the architecture reserves.
    Reserved,
}

impl Kind {
    /// The kind of an event.
    pub const fn of(content: &Content) -> Kind {
        match content {
            Content::Text { .. } => Kind::Text,
            Content::Write { .. } => Kind::Write,
            Content::Value(_) => Kind::Value,
            Content::Dwt { event, .. } => match event {
                Dwt::Counters(_) | Dwt::PmuCounters(_) => Kind::Counter,
                Dwt::Exception { .. } => Kind::Exception,
                Dwt::PcSample(_) | Dwt::Sleep | Dwt::Prohibited => Kind::Sample,
                Dwt::DataPc { .. }
                | Dwt::DataMatch { .. }
                | Dwt::DataAddress { .. }
                | Dwt::DataValue { .. } => Kind::Data,
                Dwt::Reserved { .. } => Kind::Reserved,
            },
            Content::GlobalTime(_) => Kind::Time,
            Content::Lost(_) | Content::Undecodable { .. } => Kind::Lost,
        }
    }

    /// The name in all formats.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Write => "write",
            Kind::Value => "value",
            Kind::Exception => "exception",
            Kind::Sample => "sample",
            Kind::Data => "data",
            Kind::Counter => "counter",
            Kind::Time => "time",
            Kind::Lost => "lost",
            Kind::Reserved => "reserved",
        }
    }
}

/// Which events are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Only these kinds. All where it is empty; then text shows the writes in a line of text as
    /// that line only, and what has typed values as those only.
    pub kinds: Vec<Kind>,
    /// Only the text and the writes of these ports; everything where it is empty.
    pub ports: Vec<u16>,
}

impl Shown {
    pub(super) fn shows(&self, entry: &Entry, format: Format) -> bool {
        let in_text = matches!(entry.content, Content::Write { in_text: true, .. });
        let also = in_text || entry.typed;
        if also && format == Format::Text && self.kinds.is_empty() {
            return false;
        }
        let kind = Kind::of(&entry.content);
        if !self.kinds.is_empty() && !self.kinds.contains(&kind) {
            return false;
        }
        if self.ports.is_empty() {
            return true;
        }
        let port = match &entry.content {
            Content::Text { channel, .. } | Content::Write { channel, .. } => super::port(*channel),
            Content::Value(Value { origin: Origin::Port(port), .. }) => Some(*port),
            _ => None,
        };
        port.is_some_and(|port| self.ports.contains(&port))
    }
}
