//! Bytes on their way to a decoder.

use crate::{Forward, OffsetMap};

/// A block of one source's bytes, and how far its decoder is.
#[derive(Clone, Debug)]
pub struct Feed<'a> {
    /// The block.
    pub bytes: &'a [u8],
    /// How many of the bytes are taken.
    pub taken: usize,
    /// Where they were in the capture, for rising offsets from `taken` on.
    pub offsets: Forward<'a>,
    /// Place of the packet that was taken last; of one in an earlier block, where none was.
    pub last: u64,
    /// How many packets [`Decode::packets`](crate::Decode::packets) has taken.
    pub packets: usize,
}

impl<'a> Feed<'a> {
    /// A block of which nothing is taken.
    pub const fn new(bytes: &'a [u8], offsets: OffsetMap<'a>, last: u64) -> Self {
        Feed { bytes, taken: 0, offsets: Forward::new(offsets), last, packets: 0 }
    }

    /// What is not taken.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.taken..).unwrap_or_default()
    }
}
