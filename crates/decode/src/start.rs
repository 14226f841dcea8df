//! Sources without synchronisation packets.
//!
//! An ITM emits synchronisation packets only where that is enabled, and many captures have none.
//! Then the first byte is parsed as a header: where a packet was cut there, a few packets are wrong
//! at most.

use tracewright_capture::Capture;
use tracewright_frames::{Event, Framing, Link, Split, Splitter};
use tracewright_protocols::itm::Search;

use crate::Plan;
use crate::input::{Input, More, Reading};

/// The bytes of a pipe that are searched first. The search doubles the number up to what the pipe's
/// buffer retains.
const LEAST: usize = 1 << 10;

/// Bytes are searched in chunks of this many, which stay in the processor's caches.
const CHUNK: usize = 1 << 16;

impl Plan {
    /// Makes each ITM without a synchronisation packet in its buffer start at its first byte.
    pub(crate) fn assume_starts(&mut self, capture: &Capture) {
        let Some(buffer) = capture.buffers.get(self.buffer) else { return };
        let piped = buffer.is_piped();
        let mut searches: Vec<_> = self
            .sources
            .iter()
            // A pipe is not read ahead where the option already states the start.
            .filter(|source| {
                source.config.assumes_synced().is_some_and(|assumed| !(piped && assumed))
            })
            .map(|source| (source.id, Search::default(), false))
            .collect();
        if searches.is_empty() {
            return;
        }
        let mut splitter = Splitter::new(Link::new(self.framing));
        let mut at = 0;
        let mut feed = |chunk: &[u8]| {
            let mut router = Router(&mut searches);
            if self.framing == Framing::Raw {
                router.feed(None, chunk);
            } else {
                splitter.split(at, chunk, &mut router);
            }
            at += chunk.len() as u64;
            searches.iter().all(|(_, _, found)| *found)
        };
        if piped {
            // A pipe is searched in its first bytes: no more of them than are needed.
            let (mut taken, mut most) = (0, LEAST);
            loop {
                let head = buffer.head(most);
                let more = head.get(taken..).unwrap_or_default();
                if feed(more) {
                    return;
                }
                taken = head.len();
                if taken < most {
                    break;
                }
                most *= 2;
            }
        } else {
            let (mut input, mut chunk) = (Reading(buffer.reader()), Vec::new());
            while let Ok(More::Some) = input.more(CHUNK, true, &mut chunk) {
                if feed(&chunk) {
                    return;
                }
                chunk.clear();
            }
        }
        for source in &mut self.sources {
            // What the options state stays.
            if let Some((_, _, false)) = searches.iter().find(|(id, ..)| *id == source.id) {
                source.config.assume_synced(true);
            }
        }
    }
}

/// For each source: its ID, its search, and whether the search has found a packet.
struct Router<'a>(&'a mut [(u16, Search, bool)]);

impl Router<'_> {
    /// Searches bytes of `id`, or of the only source.
    fn feed(&mut self, id: Option<u16>, bytes: &[u8]) {
        for (_, search, found) in self.0.iter_mut().filter(|s| id.is_none_or(|id| id == s.0)) {
            *found |= search.feed(bytes);
        }
    }
}

impl Split for Router<'_> {
    fn piece(&mut self, id: u16, _: u64, _: bool, bytes: &[u8]) {
        self.feed(Some(id), bytes);
    }

    fn event(&mut self, _: u64, _: Event) {}
}
