//! Decodes segments of a buffer, in any order.

use std::io::{self, Read};

use tracewright_capture::Buffer;
use tracewright_decode::{Checkpoint, Listener, Session};
use tracewright_image::{MemorySelectors, Selection};

use crate::build::{fill, from};
use crate::index::IndexedBuffer;
use crate::position::Position;

/// Bytes that are decoded at a time. A window decodes the same steps with and without an index.
const STEP: usize = 1 << 12;

/// Blocks of code that each source may have in a few segments of a large program.
const BLOCKS: usize = 1 << 14;

/// Decodes segments of a buffer, in any order. The part that the index does not cover is one more
/// segment; without an index it is the only one.
pub(crate) struct Scan<'a> {
    session: Session,
    blank: Checkpoint,
    buffer: &'a Buffer,
    index: Option<&'a IndexedBuffer>,
    /// The segment that is decoded next, and a reader of its bytes.
    next: usize,
    reader: Option<Box<dyn Read + Send>>,
    space: Vec<u8>,
}

impl<'a> Scan<'a> {
    /// A scan with `session`, which is in its initial state.
    pub(crate) fn new(
        session: Session,
        buffer: &'a Buffer,
        index: Option<&'a IndexedBuffer>,
    ) -> Self {
        let (mut session, space) = (session, vec![0; STEP]);
        if index.is_some() {
            session.reserve_blocks(BLOCKS);
        }
        let blank = session.state().clone();
        Scan { session, blank, buffer, index, next: 0, reader: None, space }
    }

    /// Begins again, without the index.
    pub(crate) fn without_index(&mut self) {
        self.index = None;
        self.session.resume(self.blank.clone());
        (self.next, self.reader) = (0, None);
    }

    /// What selects the memory of a source, and what is selected before the next segment.
    pub(crate) fn selected(&self, source: usize) -> Option<(MemorySelectors, Selection)> {
        self.session.selected(source)
    }

    /// The number of segments.
    pub(crate) fn len(&self) -> usize {
        match self.index {
            Some(index) if index.is_complete() => index.len(),
            Some(index) => index.len() + 1,
            None => 1,
        }
    }

    /// Decodes the segments before segment `end` for `listener`, and the rest of the last step. The
    /// steps are at fixed offsets of the buffer, as the order of packets and events of the link
    /// depends on them.
    pub(crate) fn run(&mut self, end: usize, listener: &mut dyn Listener) -> io::Result<()> {
        let last = end >= self.len();
        let end = match self.index {
            Some(index) if !last => index.begin(end).unwrap_or(u64::MAX),
            _ => u64::MAX,
        };
        let mut at = self.session.state().at();
        let mut reader = from(self.buffer, at);
        while at < end && !listener.full() {
            let len = STEP - (at % STEP as u64) as usize;
            let bytes = fill(&mut *reader, self.space.get_mut(..len).unwrap_or_default())?;
            if bytes.is_empty() {
                break;
            }
            self.session.feed(bytes, listener);
            at += bytes.len() as u64;
        }
        if last && !listener.full() {
            self.session.finish(listener);
        }
        Ok(())
    }

    /// The segment that is decoded next.
    pub(crate) fn segment(&self) -> usize {
        self.next
    }

    /// What is known at the beginning of segment `n`.
    pub(crate) fn position(&self, n: usize) -> Position {
        match self.index {
            Some(index) => index.position(n),
            None => {
                let sources = self.blank.sources();
                let (times, contexts) = (vec![None; sources], vec![None; sources]);
                Position { times, contexts, ..Position::default() }
            }
        }
    }

    /// Goes to segment `n`, or to one before it, and returns what is known there. What is decoded
    /// for this is passed to `listener`: see [`IndexedBuffer::seek`].
    pub(crate) fn go(&mut self, n: usize, listener: &mut dyn Listener) -> io::Result<Position> {
        if self.next == n {
            return Ok(self.position(n));
        }
        self.reader = None;
        self.session.resume(self.blank.clone());
        let Some(index) = self.index.filter(|_| n > 0) else {
            self.next = 0;
            return Ok(self.position(0));
        };
        let start = index.seek(&mut self.session, self.buffer, n, listener)?;
        self.session.resume(start.state);
        self.next = start.segment;
        Ok(start.position)
    }

    /// The listener stopped inside a segment: the next segment is sought again.
    pub(crate) fn leave(&mut self) {
        (self.next, self.reader) = (usize::MAX, None);
    }

    /// Decodes the next segment for `listener`. Returns whether another one follows.
    pub(crate) fn next(&mut self, listener: &mut dyn Listener) -> io::Result<bool> {
        let at = self.session.state().at();
        let end = self.index.and_then(|index| index.begin(self.next + 1)).unwrap_or(u64::MAX);
        let reader = self.reader.get_or_insert_with(|| from(self.buffer, at));
        let mut ended = false;
        while self.session.state().at() < end && !listener.full() {
            let left = usize::try_from(end - self.session.state().at()).unwrap_or(usize::MAX);
            let most = left.min(self.space.len());
            let bytes = fill(&mut **reader, self.space.get_mut(..most).unwrap_or_default())?;
            if bytes.is_empty() {
                ended = true;
                break;
            }
            self.session.feed(bytes, listener);
        }
        self.next += 1;
        let last = self.next == self.len();
        if listener.full() {
            return Ok(!last);
        }
        if ended && end != u64::MAX {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if last {
            self.session.finish(listener);
            // The session is not in a state of the buffer.
            (self.next, self.reader) = (usize::MAX, None);
        }
        Ok(!last)
    }
}
