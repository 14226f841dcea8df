//! The mapping from bytes of a source to offsets in the buffer.

use core::ops;

/// Bytes of one source that are consecutive in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Offset of the first byte in the block of the source.
    pub start: u32,
    /// Offset of the first byte in the trace buffer.
    pub at: u64,
    /// Whether the piece begins a fragment: all bytes of one trace ID in a frame, up to the next
    /// change of the ID. Without framing a session begins one at each call, and where offsets are
    /// counted as OpenCSD counts also at each 1024 bytes of the buffer.
    pub fragment: bool,
}

/// The map from offsets in a block of one source to offsets in the trace buffer.
///
/// The pieces are in order of `start`; the first starts at 0.
#[derive(Clone, Copy, Debug)]
pub struct OffsetMap<'a> {
    pieces: &'a [Piece],
    /// Offsets in the block count nibbles.
    nibbles: bool,
    /// The block lacks the first nibble of its first byte.
    odd: bool,
}

impl<'a> OffsetMap<'a> {
    /// Makes the map. Without pieces an offset maps to itself.
    pub const fn new(pieces: &'a [Piece]) -> Self {
        OffsetMap { pieces, nibbles: false, odd: false }
    }

    /// The same map for a block with one nibble in each byte, low nibble first.
    #[must_use]
    pub const fn of_nibbles(self) -> Self {
        OffsetMap { nibbles: true, ..self }
    }

    /// The same map of nibbles, without the first nibble.
    #[must_use]
    pub const fn without_first_nibble(self) -> Self {
        OffsetMap { odd: true, ..self }
    }

    /// The offset in the buffer of `offset` in the block.
    #[inline]
    pub fn at(&self, offset: usize) -> u64 {
        let byte = if self.nibbles { (offset + self.odd as usize) / 2 } else { offset };
        match self.pieces {
            [only] => only.at + byte as u64,
            pieces => {
                let k = pieces.partition_point(|p| p.start as usize <= byte).saturating_sub(1);
                match pieces.get(k) {
                    Some(p) => p.at + (byte as u64).saturating_sub(u64::from(p.start)),
                    None => byte as u64,
                }
            }
        }
    }

    /// Whether `offset` in the block is the high nibble of a byte.
    #[inline]
    pub const fn is_high_half(&self, offset: usize) -> bool {
        self.nibbles && (offset + self.odd as usize) % 2 == 1
    }

    /// Number of bytes that begin in `span` of the block. Of nibbles, the low nibbles count.
    #[inline]
    pub const fn bytes_in(&self, span: &ops::Range<usize>) -> usize {
        let odd = self.odd as usize;
        if self.nibbles {
            (span.end + odd).div_ceil(2) - (span.start + odd).div_ceil(2)
        } else {
            span.end - span.start
        }
    }

    /// The pieces of `span` of the block, with `start` counted from the start of the span.
    pub fn pieces_in(&self, span: ops::Range<usize>) -> impl Iterator<Item = Piece> + 'a {
        let pieces = self.pieces;
        let first = pieces.partition_point(|p| p.start as usize <= span.start).saturating_sub(1);
        let ops::Range { start, end } = span;
        pieces.iter().skip(first).take_while(move |p| (p.start as usize) < end).map(move |p| {
            let before = start.saturating_sub(p.start as usize);
            Piece {
                start: (p.start as usize).saturating_sub(start) as u32,
                at: p.at + before as u64,
                fragment: p.fragment && before == 0,
            }
        })
    }

    /// Splits `bytes` at the beginnings of fragments. (A listing groups undecodable bytes by
    /// fragment.)
    pub fn fragments(
        &self,
        bytes: ops::Range<usize>,
    ) -> impl Iterator<Item = ops::Range<usize>> + 'a {
        let (scale, odd) = (if self.nibbles { 2 } else { 1 }, self.odd as usize);
        let mut start = bytes.start;
        let mut cuts = self
            .pieces
            .iter()
            .filter(|p| p.fragment)
            .map(move |p| (p.start as usize * scale).saturating_sub(odd))
            .filter(move |&cut| cut > bytes.start && cut < bytes.end)
            .chain(core::iter::once(bytes.end));
        core::iter::from_fn(move || {
            let end = cuts.next()?;
            let cut = start..end;
            start = end;
            Some(cut)
        })
    }
}

/// Looks up offsets in ascending order, without a search.
#[derive(Clone, Copy, Debug)]
pub struct Forward<'a> {
    offsets: OffsetMap<'a>,
    /// Index of the piece after the current piece.
    next: usize,
    /// Offset of that piece in the block, in bytes.
    until: usize,
    /// The difference between the offsets in the buffer and in the block.
    add: u64,
}

impl<'a> Forward<'a> {
    /// A look-up from offset 0 on.
    pub const fn new(offsets: OffsetMap<'a>) -> Self {
        Forward { offsets, next: 0, until: 0, add: 0 }
    }

    /// The offset in the buffer of `offset` in the block, which is at least the last `offset`.
    #[inline]
    pub fn at(&mut self, offset: usize) -> u64 {
        let OffsetMap { nibbles, odd, .. } = self.offsets;
        let byte = (offset + odd as usize) >> nibbles as u32;
        if byte >= self.until {
            self.advance(byte);
        }
        self.add.wrapping_add(byte as u64)
    }

    /// The same, with the offset in the block at which the consecutive bytes end. For whole bytes.
    #[inline]
    pub fn run(&mut self, offset: usize) -> (u64, usize) {
        if self.offsets.nibbles {
            return (self.at(offset), offset + 1);
        }
        self.go(offset);
        (self.add.wrapping_add(offset as u64), self.until)
    }

    #[inline(never)]
    fn advance(&mut self, byte: usize) {
        self.go(byte);
    }

    /// Advances to the piece of `byte`.
    #[inline(always)]
    fn go(&mut self, byte: usize) {
        while byte >= self.until {
            let Some(piece) = self.offsets.pieces.get(self.next) else {
                self.until = usize::MAX;
                break;
            };
            self.next += 1;
            self.add = piece.at.wrapping_sub(u64::from(piece.start));
            self.until =
                self.offsets.pieces.get(self.next).map_or(usize::MAX, |p| p.start as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn forward_finds_the_same_offsets() {
        for offsets in [
            OffsetMap::new(&PIECES),
            OffsetMap::new(&PIECES).of_nibbles(),
            OffsetMap::new(&PIECES).of_nibbles().without_first_nibble(),
        ] {
            for step in 1..5 {
                let mut forward = Forward::new(offsets);
                for offset in (0..40).step_by(step) {
                    assert_eq!(forward.at(offset), offsets.at(offset), "{offset} by {step}");
                }
            }
        }
    }

    use super::*;

    #[test]
    fn nibbles() {
        let offsets = OffsetMap::new(&PIECES).of_nibbles();
        assert!(!offsets.is_high_half(0) && offsets.is_high_half(1));
        let odd = offsets.without_first_nibble();
        assert!(odd.is_high_half(0) && !odd.is_high_half(1));
        // Every split of a block counts each byte once.
        for offsets in [offsets, odd] {
            for cut in 0..=9 {
                let (a, b) = (offsets.bytes_in(&(0..cut)), offsets.bytes_in(&(cut..9)));
                assert_eq!(a + b, offsets.bytes_in(&(0..9)), "cut at {cut}");
            }
        }
        assert_eq!((offsets.bytes_in(&(0..9)), odd.bytes_in(&(0..9))), (5, 4));
    }

    const PIECES: [Piece; 3] = [
        Piece { start: 0, at: 17, fragment: true },
        Piece { start: 5, at: 24, fragment: false },
        Piece { start: 9, at: 33, fragment: true },
    ];

    #[test]
    fn offsets_follow_the_pieces() {
        let offsets = OffsetMap::new(&PIECES);
        for (byte, at) in [(0, 17), (4, 21), (5, 24), (8, 27), (9, 33), (20, 44)] {
            assert_eq!(offsets.at(byte), at, "byte {byte}");
        }
    }

    #[test]
    fn fragments_are_split_at_their_beginnings() {
        let offsets = OffsetMap::new(&PIECES);
        assert!(offsets.fragments(2..12).eq([2..9, 9..12]));
        assert!(offsets.fragments(9..12).eq([core::ops::Range { start: 9, end: 12 }]));
    }
}
