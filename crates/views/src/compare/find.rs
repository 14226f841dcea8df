//! The packet of an event.

use std::ops::Range;

use tracewright_base::{self as base, Element, OffsetMap};
use tracewright_decode::Listener;
use tracewright_protocols::registry::AnyPacket;

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
    const ERASED: bool = true;

    fn element(&mut self, _: usize, _: u64, _: Element) {}

    fn repeat(&mut self, _: usize, _: u64, _: base::Range, _: u32) {}

    fn repeat_path(&mut self, _: usize, _: u64, _: &[base::Range], _: u64) {}

    fn packet(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    ) {
        if source != self.source || self.found.is_some() || offsets.at(span.start) != self.at {
            return;
        }
        let mut text = format!("{packet}, bytes");
        if let (Some(source), Some(bytes)) = (self.sources.get(source), bytes.get(span)) {
            let mut digits = String::new();
            source.packet_bytes(bytes, " ", &mut digits);
            text.push(' ');
            text.push_str(digits.trim_end());
        }
        self.found = Some(text);
    }

    fn full(&self) -> bool {
        self.found.is_some()
    }
}
