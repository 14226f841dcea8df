//! Bytes that are not aligned to those of the trace unit.

use alloc::vec::Vec;

use tracewright_base::{OffsetMap, Piece};

/// The result of a search for a synchronisation at any bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitSearch {
    /// It begins at this byte.
    At(usize),
    /// It ends inside or before byte `byte`. The packets after it begin at bit `shift` of that
    /// byte, 0 to 7, where bit 0 is the lowest.
    After {
        /// The byte in which the next packet begins.
        byte: usize,
        /// The bit at which it begins.
        shift: u8,
    },
    /// It does not begin in this many first bytes.
    NotIn(usize),
}

/// A copy of bytes, shifted so that packets begin at byte boundaries. Byte k begins in byte k of
/// the source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Realigned {
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
}

impl Realigned {
    /// Copies the bytes from bit `shift` of byte `from` on, at most `limit` of them. The last byte
    /// of `bytes` is not complete, so no byte begins in it.
    pub(crate) fn fill(
        &mut self,
        bytes: &[u8],
        from: usize,
        limit: usize,
        shift: u8,
        offsets: &OffsetMap<'_>,
    ) {
        let pairs = bytes.get(from..).unwrap_or_default().windows(2).take(limit);
        self.bytes.clear();
        self.bytes.extend(pairs.map(|pair| match *pair {
            [low, high] => (u16::from_le_bytes([low, high]) >> shift) as u8,
            _ => 0,
        }));
        self.pieces.clear();
        self.pieces.extend(offsets.pieces_in(from..from + self.bytes.len().max(1)));
    }

    /// Empties the buffers, which stay allocated.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.pieces.clear();
    }

    /// The bytes, and their offsets in the trace buffer.
    pub(crate) fn block(&self) -> (&[u8], OffsetMap<'_>) {
        (&self.bytes, OffsetMap::new(&self.pieces))
    }
}

/// The number of zero bits at the end of `bytes`, which follow `before` zero bits. 255 stands for
/// 255 and more.
#[inline]
pub(crate) fn zeros_at_end(bytes: &[u8], before: u8) -> u8 {
    match bytes.last() {
        None => before,
        Some(0) => count_zeros(bytes, before),
        Some(byte) => byte.leading_zeros() as u8,
    }
}

#[cold]
fn count_zeros(bytes: &[u8], before: u8) -> u8 {
    let tail = bytes.iter().rev().take_while(|&&byte| byte == 0).take(32).count();
    let more = match bytes.iter().rev().nth(tail) {
        Some(byte) => byte.leading_zeros() as usize,
        None => usize::from(before),
    };
    (8 * tail + more).min(255) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros() {
        assert_eq!(zeros_at_end(&[0x01, 0, 0], 3), 23);
        assert_eq!(zeros_at_end(&[0, 0], 3), 19);
        assert_eq!(zeros_at_end(&[], 3), 3);
        assert_eq!(zeros_at_end(&[0xff], 3), 0);
        assert_eq!(zeros_at_end(&[0; 100], 0), 255);
    }

    #[test]
    fn shifted() {
        let pieces = [
            Piece { start: 0, at: 100, fragment: true },
            Piece { start: 3, at: 200, fragment: true },
        ];
        let mut realigned = Realigned::default();
        realigned.fill(&[0x10, 0x32, 0x54, 0x76, 0x98], 1, 9, 4, &OffsetMap::new(&pieces));
        let (bytes, offsets) = realigned.block();
        assert_eq!(bytes, [0x43, 0x65, 0x87]);
        assert_eq!([offsets.at(0), offsets.at(1), offsets.at(2)], [101, 102, 200]);
    }
}
