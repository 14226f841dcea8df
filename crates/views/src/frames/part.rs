//! A part of the frames of a buffer.

use std::ops::Range;

use tracewright_frames::{Event, FRAME, Frame, Numbering, Split, sync};

/// Passes on frames with bytes at some offsets, with all of their pieces and events, and the data
/// of some trace IDs.
#[derive(Debug)]
pub struct Part<'a, S> {
    to: &'a mut S,
    numbering: Numbering,
    offset: Option<Range<u64>>,
    /// Only their pieces are passed on, without frames and events; everything where it is empty.
    ids: &'a [u16],
    /// The offsets of the last frame, and whether it is inside.
    frame: (Range<u64>, bool),
    /// Nothing was passed on.
    empty: bool,
}

impl<'a, S: Split> Part<'a, S> {
    /// Passes on to `to` what is at `offset` and has one of `ids`. The splitter numbers offsets by
    /// `numbering`.
    pub fn new(
        to: &'a mut S,
        numbering: Numbering,
        offset: Option<Range<u64>>,
        ids: &'a [u16],
    ) -> Self {
        Part { to, numbering, offset, ids, frame: (0..0, false), empty: true }
    }

    /// What receives the frames and the data.
    pub const fn receiver(&self) -> &S {
        self.to
    }

    /// Whether nothing was passed on.
    pub const fn is_empty(&self) -> bool {
        self.empty
    }

    fn touches(&self, at: u64, len: usize) -> bool {
        let end = at.saturating_add(len as u64);
        self.offset.as_ref().is_none_or(|range| at < range.end && end > range.start)
    }

    /// Whether `len` bytes at `at` are inside, or in a frame that is.
    fn has(&mut self, at: u64, len: usize) -> bool {
        let (frame, inside) = &self.frame;
        let has = if frame.contains(&at) { *inside } else { self.touches(at, len) };
        self.empty &= !has;
        has
    }

    fn has_id(&self, id: u16) -> bool {
        self.ids.is_empty() || self.ids.contains(&id)
    }
}

impl<S: Split> Split for Part<'_, S> {
    const FRAGMENTS: bool = S::FRAGMENTS;

    fn frame(&mut self, frame: &Frame<'_>) {
        let (start, last) = match self.numbering {
            Numbering::Capture => (frame.offset(0), frame.offset(FRAME - 1)),
            Numbering::Opencsd => (frame.at(), frame.at() + FRAME as u64 - 1),
        };
        let inside = self.touches(start, (last - start + 1) as usize);
        self.frame = (start..last + 1, inside);
        if inside && self.ids.is_empty() {
            self.empty = false;
            self.to.frame(frame);
        }
    }

    fn piece(&mut self, id: u16, at: u64, fragment: bool, bytes: &[u8]) {
        if self.has_id(id) && self.has(at, bytes.len()) {
            self.to.piece(id, at, fragment, bytes);
        }
    }

    fn event(&mut self, at: u64, event: Event) {
        if self.ids.is_empty() && self.has(at, len(event)) {
            self.to.event(at, event);
        }
    }

    /// The bytes of a frame come before the frame.
    fn packed(&mut self, at: u64, bytes: &[u8]) {
        if !self.ids.is_empty() {
            return;
        }
        for (n, part) in (0..).zip(bytes.chunks(FRAME)) {
            let at = at.saturating_add(n * FRAME as u64);
            if self.touches(at, part.len()) {
                self.to.packed(at, part);
            }
        }
    }

    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        let selected = self.ids.is_empty() || id.is_some_and(|id| self.has_id(id.into()));
        if selected && self.has(at, bytes.len()) {
            self.to.fragment(id, at, bytes);
        }
    }
}

/// The number of bytes of an event.
const fn len(event: Event) -> usize {
    match event {
        Event::FullSync => sync::FULL.len(),
        Event::HalfSync => sync::HALF.len(),
        Event::Barrier => sync::BARRIER.len(),
        Event::Footer(footer) => footer.len(),
        Event::Trigger(_) | Event::Flush(_) => 1,
        Event::Null { len } | Event::Reserved { len, .. } | Event::NoSource { len } => len as usize,
        Event::Bad { len, .. } => len as usize,
    }
}
