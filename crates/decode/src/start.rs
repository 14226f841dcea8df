//! Sources that never synchronise.
//!
//! An ITM emits synchronisation packets only where it is told to, and many captures have none. Then
//! the first byte is taken for a header: a packet that was cut costs a few wrong ones at most.

use tracewright_capture::Capture;
use tracewright_frames::{Event, Framing, Link, Split, Splitter};
use tracewright_protocols::itm::Search;
use tracewright_protocols::registry::AnyConfig;

use crate::Plan;

/// Bytes are searched in stretches of this many.
const STRETCH: usize = 1 << 20;

impl Plan {
    /// Lets each ITM without a synchronisation packet in its buffer start at its first byte.
    pub(crate) fn settle_starts(&mut self, capture: &Capture) {
        let mut searches: Vec<_> = self
            .sources
            .iter()
            .filter(|source| matches!(source.config, AnyConfig::Itm(_)))
            .map(|source| (source.id, Search::default(), false))
            .collect();
        if searches.is_empty() {
            return;
        }
        let Some(buffer) = capture.buffers.get(self.buffer) else { return };
        let mut splitter = Splitter::new(Link::new(self.framing));
        let mut at = 0;
        for stretch in buffer.parts().flat_map(|part| part.chunks(STRETCH)) {
            let mut router = Router(&mut searches);
            if self.framing == Framing::Raw {
                router.feed(None, stretch);
            } else {
                splitter.split(at, stretch, &mut router);
            }
            at += stretch.len() as u64;
            if searches.iter().all(|(_, _, found)| *found) {
                return;
            }
        }
        for source in &mut self.sources {
            if let AnyConfig::Itm(config) = &mut source.config {
                config.assume_synced =
                    searches.iter().any(|(id, _, found)| *id == source.id && !found);
            }
        }
    }
}

/// For each source: its id, its search, and whether that has found a packet.
struct Router<'a>(&'a mut [(u8, Search, bool)]);

impl Router<'_> {
    /// Bytes of `id`, or of the only source.
    fn feed(&mut self, id: Option<u8>, bytes: &[u8]) {
        for (_, search, found) in self.0.iter_mut().filter(|s| id.is_none_or(|id| id == s.0)) {
            *found |= search.feed(bytes);
        }
    }
}

impl Split for Router<'_> {
    fn piece(&mut self, id: u8, _: u64, _: bool, bytes: &[u8]) {
        self.feed(Some(id), bytes);
    }

    fn event(&mut self, _: u64, _: Event) {}
}
