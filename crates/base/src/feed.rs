//! Bytes that are passed to a decoder.

use crate::offset_map::{Forward, OffsetMap};

/// A block of one source's bytes, and how many of them the decoder has taken.
#[derive(Clone, Debug)]
pub struct Feed<'a> {
    /// The block.
    pub bytes: &'a [u8],
    /// How many of the bytes are taken.
    pub taken: usize,
    /// Maps indices in `bytes` to offsets in the trace buffer. Look-ups must be in ascending order,
    /// from `taken` on.
    pub offsets: Forward<'a>,
    /// Offset of the packet that was taken last, in this block or in an earlier one.
    pub last: u64,
    /// How many packets [`Decode::packets`](crate::Decode::packets) has taken.
    pub packets: usize,
    /// How many of them are packets from which a decoder may start.
    pub syncs: usize,
}

impl<'a> Feed<'a> {
    /// A block of which no bytes are taken.
    pub const fn new(bytes: &'a [u8], offsets: OffsetMap<'a>, last: u64) -> Self {
        Feed { bytes, taken: 0, offsets: Forward::new(offsets), last, packets: 0, syncs: 0 }
    }

    /// The bytes that are not taken.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.taken..).unwrap_or_default()
    }
}
