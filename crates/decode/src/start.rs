//! Sources without synchronisation packets.
//!
//! An ITM emits synchronisation packets only where that is enabled, and many captures have none.
//! Then the first byte is parsed as a header: where a packet was cut there, a few packets are wrong
//! at most.

use tracewright_capture::Capture;
use tracewright_frames::{Event, FRAME, Framing, Link, Split, Splitter};
use tracewright_protocols::itm::Search;

use crate::input::{Input, More, Reading};
use crate::plan::Plan;
use crate::route::Route;

/// The bytes of a pipe that are searched first. The search doubles the number up to what the pipe's
/// buffer retains.
const LEAST: usize = 1 << 10;

/// Bytes are searched in chunks of this many, which stay in the processor's caches.
const CHUNK: usize = 1 << 16;

impl Plan {
    /// Makes each ITM without a synchronisation packet in its buffer start at its first byte. In an
    /// empty buffer, whose bytes a session receives later, no start is assumed.
    pub(crate) fn assume_starts(&mut self, capture: &Capture) {
        let Some(buffer) = capture.buffers.get(self.buffer) else { return };
        if buffer.is_empty() {
            return;
        }
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
        let mut route = match &self.link {
            Some(link) => Route::External(link.fresh()),
            None => Route::Frames(Splitter::new(Link::new(self.framing))),
        };
        let mut at = 0;
        let mut feed = |chunk: &[u8]| {
            let mut router = Router(&mut searches);
            match &mut route {
                Route::Frames(_) if self.framing == Framing::Raw => router.feed(None, chunk),
                Route::Frames(splitter) if router.skips(splitter, at, chunk) => {}
                route => route.split(at, chunk, &mut router),
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
    /// Whether `chunk`, at offset `at`, is whole memory-aligned frames without a byte of the
    /// sources. Then only the ID of the next byte changes, and it stays another one.
    fn skips(&self, splitter: &Splitter, at: u64, chunk: &[u8]) -> bool {
        let whole = |n: u64| n.is_multiple_of(FRAME as u64);
        splitter.link().framing == Framing::Coresight
            && whole(at)
            && whole(chunk.len() as u64)
            && self.0.iter().all(|&(id, ..)| {
                // An ID byte is even and has bit 0 set.
                let id_byte = (id << 1) as u8 | 1;
                splitter.id().map(u16::from) != Some(id)
                    && !chunk.iter().step_by(2).fold(false, |any, &byte| any | (byte == id_byte))
            })
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames of IDs 1 and 2: `ids` has the ID of each, and whether it is stated.
    fn frames(ids: &[(u8, bool)]) -> Vec<u8> {
        let frame = |&(id, stated): &(u8, bool)| {
            let mut frame = [0; FRAME];
            // Odd bytes may have any value.
            frame[1] = 1 << 1 | 1;
            frame[0] = if stated { id << 1 | 1 } else { 0 };
            frame
        };
        ids.iter().flat_map(frame).collect()
    }

    #[test]
    fn chunks_without_the_source_are_skipped() {
        for (chunks, skipped) in [
            ([&[(2, true), (2, false)][..], &[(2, false)]], [true, true]),
            ([&[(1, true), (2, true)], &[(2, false)]], [false, true]),
            ([&[(2, true), (1, true)], &[(1, false)]], [false, false]),
            ([&[(1, false)], &[(2, true), (1, true)]], [true, false]),
        ] {
            let mut searches = vec![(1, Search::default(), false)];
            let mut splitter = Splitter::new(Link::new(Framing::Coresight));
            let mut at = 0;
            for (chunk, want) in chunks.map(frames).iter().zip(skipped) {
                let mut router = Router(&mut searches);
                let skips = router.skips(&splitter, at, chunk);
                assert_eq!(skips, want, "{chunks:?} at {at}");
                if !skips {
                    splitter.split(at, chunk, &mut router);
                }
                at += chunk.len() as u64;
                assert!(!router.skips(&splitter, at, &[0; FRAME - 1]));
            }
        }
    }
}
