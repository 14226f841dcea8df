//! The packet of an event.

use tracewright_base::{Batch, Element};
use tracewright_decode::{Event, Listener, Wants};

use crate::sources::Source;

/// Finds the packet at an offset, to show it.
#[derive(Clone, Debug)]
pub struct Find<'a> {
    sources: &'a [Source],
    source: usize,
    at: u64,
    /// The text of the packet and its bytes.
    pub found: Option<String>,
}

impl<'a> Find<'a> {
    /// Finds the packet of source `source` at offset `at`.
    pub fn new(sources: &'a [Source], source: usize, at: u64) -> Self {
        Find { sources, source, at, found: None }
    }
}

impl Listener for Find<'_> {
    fn element(&mut self, _: usize, _: u64, _: Element) {}

    fn batch(&mut self, _: &Batch<'_>) {}

    fn event(&mut self, event: &Event<'_>) {
        let Event::Packet { source, bytes, packet } = event else { return };
        if *source != self.source || self.found.is_some() || bytes.at() != self.at {
            return;
        }
        let mut text = format!("{packet}, bytes");
        if let Some(source) = self.sources.get(*source) {
            let mut digits = String::new();
            source.packet_bytes(bytes.get(), " ", &mut digits);
            text.push(' ');
            text.push_str(digits.trim_end());
        }
        self.found = Some(text);
    }

    fn wants(&self) -> Wants {
        Wants::EACH_PACKET
    }

    fn full(&self) -> bool {
        self.found.is_some()
    }
}
