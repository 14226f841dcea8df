//! Decodes a buffer to segments, from the front.

use tracewright_decode::{Checkpoint, Route, Session};

use crate::checksum::Checksum;
use crate::collect::{Collector, Functions};
use crate::halves::Half;
use crate::probe::Probe;
use crate::segment::{Restart, Segment};
use crate::tiles::listener::{Pieces, SegmentPieces};

/// How a buffer is divided. All lengths are in bytes of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The length of a segment, a multiple of `step`.
    pub segment: u64,
    /// The bytes that are decoded at a time. States are compared after each step.
    pub step: usize,
    /// How far before a segment a decoder begins at most, so that its state is verified at the
    /// beginning of the segment. A multiple of `step`, and less than `segment`.
    pub near: u64,
    /// How far before a chunk a thread begins to decode. A multiple of `step`, and less than the
    /// length of a chunk.
    pub lead: u64,
    /// The most bytes in which a state is verified.
    pub limit: u64,
    /// The number of segments in a chunk: what a thread decodes at a time, and a batch of the file.
    pub chunk: u64,
    /// The binary logarithm of the length of a [tile](crate::view), which is a multiple of `step`.
    pub tile_log2: u8,
}

impl Default for Shape {
    fn default() -> Self {
        Shape::with_segment(3 << 13)
    }
}

impl Shape {
    /// The longest segment.
    pub const LONGEST: u64 = 1 << 30;

    /// The shape with segments of `segment` bytes, at most [`LONGEST`](Shape::LONGEST), and parts in
    /// the usual proportion.
    pub fn with_segment(segment: u64) -> Shape {
        Shape::new(segment, (CHUNK / segment.max(1)).max(LEAST_CHUNK))
    }

    /// The shape with segments of `segment` bytes, at most [`LONGEST`](Shape::LONGEST), and chunks
    /// of `chunk` segments, at least one and at most 2^20.
    pub fn new(segment: u64, chunk: u64) -> Shape {
        let (segment, chunk) = (segment.min(Shape::LONGEST), chunk.clamp(1, MOST_SEGMENTS));
        let step = (segment / 32).next_power_of_two().clamp(16, 1 << 12);
        let segment = segment.next_multiple_of(step).max(4 * step);
        let near = (segment / 4 * 3).next_multiple_of(step).min(segment - step);
        let lead = (chunk * segment / 64).next_multiple_of(step).max(near);
        let tile = (segment / 2).min(TILE).max(step);
        let tile_log2 = tile.ilog2() as u8;
        Shape { segment, step: step as usize, near, lead, limit: 8 * lead, chunk, tile_log2 }
    }
}

/// The number of bytes of a chunk, if those are at least [`LEAST_CHUNK`] segments.
const CHUNK: u64 = 1 << 22;
const LEAST_CHUNK: u64 = 16;

/// The longest tile, in bytes.
const TILE: u64 = 1 << 13;

/// The most segments of a chunk.
const MOST_SEGMENTS: u64 = 1 << 20;

/// The shortest distance of a probe from its segment is [`Shape::near`] divided by this.
const LEAST: u64 = 12;

/// Attempts that fail in a chunk before the probe rests until the next chunk.
const ATTEMPTS: u32 = 2;

/// A session that collects segments.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    pub(crate) session: Session,
    /// Finds restarts.
    probe: Probe,
    /// Verifies where the next chunk's decoding begins.
    pub(crate) handover: Probe,
    collector: Collector,
    /// The pieces of tiles, where they are wanted.
    pub(crate) view: Option<Pieces>,
    shape: Shape,
    /// What of the index is made.
    half: Half,
    /// The current segment: offset, state of the link at its beginning, activity of each source
    /// then, checksum of the bytes, restarts.
    begin: u64,
    link: Option<Vec<u8>>,
    activity: Vec<u64>,
    sum: Checksum,
    restarts: Vec<Restart>,
    failed: u32,
    /// How far before the next segment a probe begins, at the most, and the segment before which
    /// the last one began.
    near: u64,
    probed: u64,
}

impl Chain {
    /// A chain for `session`, which is in its initial state at the beginning of the buffer.
    pub(crate) fn new(session: Session, functions: Functions, full: bool, shape: Shape) -> Self {
        let probe = Probe::new(&session);
        let mut chain = Chain {
            session,
            handover: probe.clone(),
            probe,
            collector: Collector::new(functions, full),
            view: None,
            shape,
            half: Half::Both,
            begin: 0,
            link: None,
            activity: Vec::new(),
            sum: Checksum::default(),
            restarts: Vec::new(),
            failed: 0,
            near: shape.near,
            probed: 0,
        };
        chain.begin_chunk();
        chain
    }

    /// A chain that makes this part of an index.
    pub(crate) fn only(self, half: Half) -> Self {
        Chain { half, ..self }
    }

    /// How the buffer is divided.
    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The offset of the next byte.
    pub(crate) fn at(&self) -> u64 {
        self.session.state().at()
    }

    /// Continues from `state`, which is that at the beginning of a segment.
    pub(crate) fn resume(&mut self, state: Checkpoint) {
        self.session.resume(state);
        self.begin_chunk();
    }

    /// A chunk begins where the session is: what follows does not depend on what was before.
    pub(crate) fn begin_chunk(&mut self) {
        self.probe.stop();
        self.handover.stop();
        (self.failed, self.near, self.probed) = (0, self.shape.near, 0);
        self.collector.take(&[]);
        if let Some(view) = &mut self.view {
            view.begin();
        }
        self.begin_segment();
    }

    fn begin_segment(&mut self) {
        let state = self.session.state();
        self.begin = state.at();
        self.link = save(state.link());
        self.activity = (0..state.sources()).map(|n| state.activity(n)).collect();
        self.sum = Checksum::default();
        self.restarts.clear();
    }

    /// The number of bytes that are decoded next: a step, or those before the next probe or the end
    /// of the segment. `end`: the end of the chunk.
    pub(crate) fn next_len(&self, end: u64) -> usize {
        let at = self.at();
        let handover = end.saturating_sub(self.shape.lead);
        let probing = self.probe.from().is_some() || self.is_due(at);
        let probing = probing || self.handover.from().is_some() || at == handover;
        if probing && self.half != Half::View {
            return self.shape.step;
        }
        let boundary = self.boundary(at);
        let tile = self.view.as_ref().map_or(boundary, |view| (at / view.tile() + 1) * view.tile());
        let stops = [boundary.saturating_sub(self.near), handover, boundary, tile].into_iter();
        // A buffer may end within a step. All others are at multiples of a step.
        let step = self.shape.step;
        let stop = stops.filter(|stop| *stop > at && stop.is_multiple_of(step as u64)).min();
        stop.and_then(|stop| usize::try_from(stop - at).ok()).unwrap_or(step)
    }

    /// The end of the segment with offset `at`.
    const fn boundary(&self, at: u64) -> u64 {
        (at / self.shape.segment + 1) * self.shape.segment
    }

    /// Whether a probe begins at offset `at`.
    const fn is_due(&self, at: u64) -> bool {
        let boundary = self.boundary(at);
        at + self.near >= boundary
            && self.probed < boundary
            && self.probe.from().is_none()
            && self.failed < ATTEMPTS
    }

    /// Decodes the next [`next_len`](Self::next_len) bytes, or fewer at the end of the buffer.
    /// Returns the segment that ends with them. `end`: the end of the chunk.
    pub(crate) fn feed(&mut self, bytes: &[u8], end: u64) -> Option<Decoded> {
        if self.half == Half::View {
            return self.feed_view(bytes);
        }
        let at = self.at();
        if self.is_due(at) {
            self.probe.start(&mut self.session);
            self.probed = self.boundary(at);
        }
        if at + self.shape.lead == end {
            self.handover.start(&mut self.session);
        }
        match &mut self.view {
            None => self.session.feed(bytes, &mut self.collector),
            Some(view) => {
                self.session.feed(bytes, &mut (&mut self.collector, &mut *view));
                view.reach(self.session.state().at());
            }
        }
        self.sum.add(bytes);
        self.probe.feed(bytes, &mut self.session, &mut self.restarts);
        self.handover.feed(bytes, &mut self.session, &mut Vec::new());
        let at = self.at();
        if self.probe.from().is_some_and(|from| at >= from + self.shape.limit) {
            self.probe.stop();
            self.failed += 1;
        }
        at.is_multiple_of(self.shape.segment).then(|| self.end_segment())
    }

    /// Decodes bytes for the view alone.
    fn feed_view(&mut self, bytes: &[u8]) -> Option<Decoded> {
        self.session.feed(bytes, &mut self.view);
        let at = self.at();
        if let Some(view) = &mut self.view {
            view.reach(at);
        }
        at.is_multiple_of(self.shape.segment).then(|| self.end_segment())
    }

    fn end_segment(&mut self) -> Decoded {
        self.near = self.next_near();
        let state = self.session.state();
        let before = self.activity.iter().enumerate();
        let activity: Vec<u64> =
            before.map(|(n, before)| state.activity(n).saturating_sub(*before)).collect();
        let segment = Segment {
            len: state.at() - self.begin,
            checksum: self.sum.value(),
            link: self.link.take(),
            restarts: std::mem::take(&mut self.restarts),
            ..self.collector.take(&activity)
        };
        let view = self.view.as_mut().map(|view| {
            let at = self.session.state().at();
            if !at.is_multiple_of(view.tile()) || segment.len == 0 {
                view.cut(at);
            }
            view.take()
        });
        self.begin_segment();
        Decoded { segment, view }
    }

    /// The distance in which the states before this segment's end were verified, and a quarter
    /// more: a reader decodes these bytes, too, and one more segment where a state is verified only
    /// after the beginning of the next one. It decreases slowly, as the distances differ.
    fn next_near(&self) -> u64 {
        let Shape { near: most, step, .. } = self.shape;
        let taken = self.restarts.iter().map(|restart| restart.at - restart.from).max();
        match taken {
            Some(taken) if self.probe.from().is_none() => {
                let slowly = self.near - self.near / 8;
                let least = (most / LEAST).max(slowly);
                (taken + taken / 4).max(least).next_multiple_of(step as u64).min(most)
            }
            _ => most,
        }
    }

    /// The current segment, where it has bytes.
    pub(crate) fn close(&mut self) -> Option<Decoded> {
        (self.at() > self.begin).then(|| self.end_segment())
    }

    /// The trace ends: a segment without bytes for what the end makes certain.
    pub(crate) fn finish(&mut self) -> Decoded {
        match &mut self.view {
            None => self.session.finish(&mut self.collector),
            Some(view) if self.half == Half::View => self.session.finish(view),
            Some(view) => self.session.finish(&mut (&mut self.collector, view)),
        }
        self.end_segment()
    }
}

/// A segment that was decoded.
#[derive(Clone, Debug)]
pub(crate) struct Decoded {
    pub(crate) segment: Segment,
    /// Its pieces of tiles, where they are wanted.
    pub(crate) view: Option<SegmentPieces>,
}

/// The state of a link as bytes: those of [`Splitter::save`](tracewright_frames::Splitter::save).
fn save(link: &Route) -> Option<Vec<u8>> {
    let mut state = Vec::new();
    match link {
        Route::Frames(splitter) => splitter.save(&mut state).then_some(state),
        Route::Messages(_) | Route::External(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_that_no_trace_has_are_limited() {
        for (segment, chunk) in [(1 << 62, 1 << 62), (u64::MAX, u64::MAX), (0, 0), (1, u64::MAX)] {
            let shape = Shape::new(segment, chunk);
            assert!((1..=Shape::LONGEST).contains(&shape.segment), "{shape:?}");
            assert!(shape.segment.checked_mul(shape.chunk).is_some_and(|all| all > 0), "{shape:?}");
            assert!(shape.near < shape.segment && shape.near <= shape.lead, "{shape:?}");
        }
        assert_eq!(Shape::with_segment(u64::MAX), Shape::with_segment(Shape::LONGEST));
    }
}
