//! The output of a splitter.

use tracewright_base::Fault;

use crate::FRAME;

/// Receives the output of a [`Splitter`](crate::Splitter), in the order of the bytes.
///
/// Every byte of the buffer is in exactly one of: a piece, an event, the ID bytes of a
/// [`frame`](Split::frame), or its last byte.
pub trait Split {
    /// Whether [`fragment`](Self::fragment) is called.
    const FRAGMENTS: bool = false;

    /// Bytes of source `id`, which is the trace ID of frames, 0x01 to 0x6f, or the source number of
    /// messages. They equal the bytes of the buffer from offset `at` on, except for bit 0 of even
    /// bytes of a frame. `fragment`: the bytes are the first ones after a change of ID or of frame.
    ///
    /// With [`Numbering::Opencsd`](crate::Numbering) a piece is a whole fragment.
    fn piece(&mut self, id: u16, at: u64, fragment: bool, bytes: &[u8]);

    /// A [`piece`](Self::piece) of `len` bytes, 1 to 15: the low bytes of `word`, the lowest first.
    /// Higher bytes of `word` are not data.
    ///
    /// A collector may copy all 16 bytes, which needs no loop, and drop those after `len`.
    #[inline]
    fn short(&mut self, id: u16, at: u64, fragment: bool, word: u128, len: usize) {
        self.piece(id, at, fragment, word.to_le_bytes().get(..len).unwrap_or_default());
    }

    /// An event: anything other than bytes of a source.
    fn event(&mut self, at: u64, event: Event);

    /// A whole frame, before its pieces and events.
    #[inline]
    fn frame(&mut self, frame: &Frame<'_>) {
        let _ = frame;
    }

    /// Bytes of frames and of synchronisation packets as they are in the buffer, in order, in runs
    /// of any length. Those of an [`Event::Barrier`] are not among them.
    #[inline]
    fn packed(&mut self, at: u64, bytes: &[u8]) {
        let _ = (at, bytes);
    }

    /// Contiguous frames from offset `at` on, without an ID byte, all of source `id`: `frames` as
    /// they are in the buffer, and `data` with bit 0 restored in the even bytes. Byte 15 of each
    /// element of `data` is not data.
    ///
    /// The default passes on each frame; a collector may take all of them at once.
    #[inline]
    fn plain(&mut self, id: u8, at: u64, frames: &[[u8; FRAME]], data: &[[u8; FRAME]]) {
        let mut at = at;
        for (bytes, [data @ .., _]) in frames.iter().zip(data) {
            self.packed(at, bytes);
            self.frame(&Frame::straight(bytes, at, at));
            if Self::FRAGMENTS {
                self.fragment(Some(id), at, data);
            }
            self.piece(id.into(), at, true, data);
            at = at.wrapping_add(FRAME as u64);
        }
    }

    /// All bytes of one fragment, before its pieces or events. The ID is `None` before
    /// the first ID byte. `at` is counted as OpenCSD counts. Called only where
    /// [`FRAGMENTS`](Self::FRAGMENTS) is set.
    #[inline]
    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        let _ = (id, at, bytes);
    }
}

/// An event of a trace link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A full synchronisation packet, 4 bytes. (A DSTREAM footer may be among them.)
    FullSync,
    /// A half synchronisation packet, 2 bytes. (A DSTREAM footer may be between them.)
    HalfSync,
    /// 16 bytes that the operating system's trace driver (Linux `coresight`) writes between two
    /// separate traces. The trace ID after them is not known, and the bytes of a source after them
    /// do not continue those before them.
    Barrier,
    /// The end of a DSTREAM block.
    Footer([u8; 8]),
    /// One byte of the trigger ID, with its value.
    Trigger(u8),
    /// One byte of the flush ID, with its value.
    Flush(u8),
    /// Padding: bytes of the null ID, and bytes of a link that belong to no source.
    Null {
        /// The number of bytes.
        len: u32,
    },
    /// Bytes of a reserved ID.
    Reserved {
        /// The ID.
        id: u8,
        /// The number of bytes.
        len: u32,
    },
    /// Bytes before the first ID byte: their source is not known.
    NoSource {
        /// The number of bytes.
        len: u32,
    },
    /// Undecodable bytes.
    Bad {
        /// The number of bytes.
        len: u32,
        /// [`Fault::Unsynchronised`] before the first full synchronisation packet, [`Fault::Frame`]
        /// in a frame that a synchronisation packet interrupts, [`Fault::Truncated`] in one that
        /// the end of the buffer truncates.
        fault: Fault,
    },
}

/// A whole frame. (IHI 0029, "Formatter data processing")
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The bytes in the buffer. An even byte is an ID byte where bit 0 is set. Byte 15 holds, for
    /// each even byte, bit 0 of the data, or whether an ID takes effect after the next byte.
    pub bytes: &'a [u8; FRAME],
    /// Offset of its first byte in the buffer.
    pub(crate) start: u64,
    /// The same offset, counted by the link's numbering.
    pub(crate) index: u64,
    /// One bit for each byte: whether the byte is not contiguous with the one before it.
    pub(crate) cuts: u16,
    /// Half synchronisation packets before each pair of bytes since the start of the frame: 8 bits
    /// for each pair.
    pub(crate) halves: u64,
    /// Offsets of all bytes, where `start` and `halves` do not determine them.
    pub(crate) offsets: Option<&'a [u64; FRAME]>,
}

impl<'a> Frame<'a> {
    /// A frame whose bytes are contiguous.
    #[inline]
    pub(crate) const fn straight(bytes: &'a [u8; FRAME], start: u64, index: u64) -> Self {
        Frame { bytes, start, index, cuts: 0, halves: 0, offsets: None }
    }

    /// A frame whose bytes are at `offsets`.
    pub(crate) fn scattered(bytes: &'a [u8; FRAME], offsets: &'a [u64; FRAME], index: u64) -> Self {
        let [start, ..] = *offsets;
        let mut cuts = 0;
        for (i, pair) in (1..).zip(offsets.windows(2)) {
            cuts |= u16::from(!matches!(pair, [a, b] if a.wrapping_add(1) == *b)) << i;
        }
        Frame { bytes, start, index, cuts, halves: 0, offsets: Some(offsets) }
    }

    /// Whether byte `i` is an ID byte.
    pub fn is_id(&self, i: usize) -> bool {
        i.is_multiple_of(2) && self.bytes.get(i).is_some_and(|byte| byte & 1 != 0)
    }

    /// Offset of byte `i` in the buffer, independent of the numbering.
    #[inline]
    pub fn offset(&self, i: usize) -> u64 {
        match self.offsets.and_then(|offsets| offsets.get(i)) {
            Some(&offset) => offset,
            None => self.start.wrapping_add(i as u64 + gap(self.halves, i)),
        }
    }

    /// Offset of the first byte, counted by the link's numbering.
    pub fn at(&self) -> u64 {
        self.index
    }
}

/// Bytes of half synchronisation packets before byte `i` of a frame.
#[inline]
pub(crate) const fn gap(halves: u64, i: usize) -> u64 {
    2 * (halves >> (4 * (i & (FRAME - 2))) & 0xff)
}
