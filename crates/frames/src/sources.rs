//! Collects the bytes of each source in one block.

use alloc::vec::Vec;

use tracewright_base::{OffsetMap, Piece};

use crate::FRAME;
use crate::split::{Event, Split};

/// Collects each source's bytes in one block, with a map to their offsets in the buffer.
///
/// The memory of a block is reused: see [`Source::consume`].
#[derive(Clone, Debug)]
pub struct Sources {
    sources: Vec<Source>,
    /// For each trace ID, the index of its source in `sources`, or `u8::MAX`.
    slots: [u8; 128],
    events: Vec<(u64, Event)>,
}

/// The bytes of one source that have not been consumed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    id: u16,
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
}

impl Default for Sources {
    fn default() -> Self {
        Sources { sources: Vec::new(), slots: [u8::MAX; 128], events: Vec::new() }
    }
}

impl Sources {
    /// The sources that had bytes, in the order of their first byte.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter()
    }

    /// The sources that had bytes, in the order of their first byte, to consume their bytes.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Source> {
        self.sources.iter_mut()
    }

    /// The source with `id`, if it had bytes.
    pub fn get(&self, id: u16) -> Option<&Source> {
        let slot = *self.slots.get(usize::from(id))?;
        self.sources.get(usize::from(slot))
    }

    /// The events of the link with their offsets, in order.
    pub fn events(&self) -> &[(u64, Event)] {
        &self.events
    }

    /// Drops the events so far.
    pub fn clear_events(&mut self) {
        self.events.clear();
    }

    #[inline]
    fn source(&mut self, id: u16) -> Option<&mut Source> {
        let slot = usize::from(*self.slots.get(usize::from(id))?);
        if slot >= self.sources.len() {
            return self.add(id);
        }
        self.sources.get_mut(slot)
    }

    /// Adds a source for `id`.
    #[cold]
    fn add(&mut self, id: u16) -> Option<&mut Source> {
        *self.slots.get_mut(usize::from(id))? = self.sources.len() as u8;
        self.sources.push(Source::new(id));
        self.sources.last_mut()
    }
}

impl Split for Sources {
    #[inline]
    fn piece(&mut self, id: u16, at: u64, fragment: bool, bytes: &[u8]) {
        if let Some(source) = self.source(id) {
            source.push(at, fragment, bytes);
        }
    }

    #[inline]
    fn short(&mut self, id: u16, at: u64, fragment: bool, word: u128, len: usize) {
        if let Some(source) = self.source(id) {
            source.push_short(at, fragment, word, len);
        }
    }

    #[inline]
    fn plain(&mut self, id: u8, at: u64, _frames: &[[u8; FRAME]], data: &[[u8; FRAME]]) {
        if let Some(source) = self.source(id.into()) {
            source.push_plain(at, data);
        }
    }

    fn event(&mut self, at: u64, event: Event) {
        self.events.push((at, event));
    }
}

impl Source {
    /// A source without bytes.
    pub fn new(id: u16) -> Self {
        Source { id, ..Source::default() }
    }

    /// Adds a [`piece`](Split::piece).
    #[inline]
    pub fn push(&mut self, at: u64, fragment: bool, bytes: &[u8]) {
        self.pieces.push(Piece { start: self.bytes.len() as u32, at, fragment });
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds a [`short`](Split::short) piece.
    #[inline]
    pub fn push_short(&mut self, at: u64, fragment: bool, word: u128, len: usize) {
        let start = self.bytes.len();
        self.pieces.push(Piece { start: start as u32, at, fragment });
        self.bytes.extend_from_slice(&word.to_le_bytes());
        self.bytes.truncate(start + len);
    }

    /// Adds [`plain`](Split::plain) frames' data.
    #[inline]
    pub fn push_plain(&mut self, at: u64, data: &[[u8; FRAME]]) {
        const DATA: usize = FRAME - 1;
        let start = self.bytes.len();
        self.pieces.extend((0..data.len()).map(|k| Piece {
            start: (start + DATA * k) as u32,
            at: at.wrapping_add((FRAME * k) as u64),
            fragment: true,
        }));
        // All 16 bytes of a frame are copied: the first byte of the next frame overwrites the last
        // one, which is no data.
        self.bytes.resize(start + DATA * data.len() + 1, 0);
        let mut rest = self.bytes.get_mut(start..).unwrap_or_default();
        for frame in data {
            if let Some(room) = rest.first_chunk_mut() {
                *room = *frame;
            }
            rest = rest.get_mut(DATA..).unwrap_or_default();
        }
        self.bytes.truncate(start + DATA * data.len());
    }

    /// The trace ID, or the source number.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// The bytes that have not been consumed.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The offsets of [`bytes`](Self::bytes) in the buffer.
    pub fn offsets(&self) -> OffsetMap<'_> {
        OffsetMap::new(&self.pieces)
    }

    /// The pieces from which [`offsets`](Self::offsets) is made.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Drops the first `n` bytes. A block should not grow past 4 GiB.
    pub fn consume(&mut self, n: usize) {
        let n = n.min(self.bytes.len());
        self.bytes.drain(..n);
        if self.bytes.is_empty() {
            return self.pieces.clear();
        }
        let n = n as u32;
        let first = self.pieces.partition_point(|piece| piece.start <= n).saturating_sub(1);
        self.pieces.drain(..first);
        for piece in &mut self.pieces {
            let cut = n.saturating_sub(piece.start);
            piece.fragment &= cut == 0;
            piece.at = piece.at.wrapping_add(u64::from(cut));
            piece.start = piece.start.saturating_sub(n);
        }
    }
}
