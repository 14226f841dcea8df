//! What the listing knows of one source.

use tracewright_base::{Fault, Gap};
use tracewright_protocols::TraceForm;
use tracewright_protocols::registry::AnyConfig;

use super::super::element::Style;
use super::super::held::Held;
use super::super::packet_text::Behaviour;
use super::super::source::SourceText;
use super::super::unsynced::Unsynced;

/// One source of the listing.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Source {
    pub id: u16,
    pub config: AnyConfig,
    pub text: SourceText,
    pub behaviour: Behaviour,
    pub style: Style,
    /// The loss that OpenCSD reports with the next packet.
    pub lost: Option<Gap>,
    /// The reason of the bytes that are undecodable, until their element.
    pub fault: Option<Fault>,
    pub unsynced: Unsynced,
    /// The decoder has had a synchronisation since the last loss.
    pub running: bool,
    /// Trace was lost in an overflow, and has not restarted.
    pub overflowed: bool,
    pub unsynced_line: UnsyncedLine,
    /// The offset of the last line, if its bytes come before a synchronisation.
    pub unsynced_at: Option<u64>,
    /// Elements that wait for another element or packet: see [`Behaviour::drops_at_end`].
    pub held: Held,
    /// The offset of the last packet in the capture, and the offset that OpenCSD lists for it.
    pub seen: (u64, u64),
}

impl Source {
    /// A source before its first byte. `lost` is reported with its first packet.
    pub fn new(
        id: u16,
        config: &AnyConfig,
        lost: Option<Gap>,
        unsynced_line: UnsyncedLine,
    ) -> Self {
        let text = SourceText::new(config);
        let behaviour = text.behaviour();
        Source {
            id,
            config: config.clone(),
            text,
            behaviour,
            style: SourceText::style(config),
            lost,
            fault: None,
            unsynced: Unsynced::new(behaviour.unsynced),
            running: false,
            overflowed: false,
            unsynced_line,
            unsynced_at: None,
            held: Held::default(),
            seen: (0, 0),
        }
    }

    /// A decoder gets its trace as nibbles.
    pub fn has_half_bytes(&self) -> bool {
        self.config.protocol().form() == TraceForm::HalfBytes
    }

    /// The offset that is listed for an element at `at` in the capture.
    pub const fn listed_at(&self, at: u64) -> u64 {
        if at == self.seen.0 { self.seen.1 } else { at }
    }
}

/// Whether a line of bytes before a synchronisation was listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnsyncedLine {
    No,
    Yes,
    /// Not by this worker, and no packet of the source has come to this worker: an earlier worker
    /// may have listed one.
    NotHere,
}

impl UnsyncedLine {
    /// Records that such a line is to be listed. Whether one was listed before it.
    pub fn again(&mut self) -> bool {
        let yes = *self == UnsyncedLine::Yes;
        if *self == UnsyncedLine::No {
            *self = UnsyncedLine::Yes;
        }
        yes
    }
}
