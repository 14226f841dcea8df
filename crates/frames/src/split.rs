//! What comes out of a link.

use tracewright_base::Fault;

use crate::{FRAME, unpack::gap};

/// Receives what a [`Splitter`](crate::Splitter) finds, in the order of the stream.
///
/// Every byte of the capture is in exactly one of: a piece, an event, the ID bytes of a
/// [`frame`](Split::frame), or its last byte.
pub trait Split {
    /// Whether it wants to hear of [`fragment`](Self::fragment)s.
    const FRAGMENTS: bool = false;

    /// Bytes of source `id`: of frames its trace id, 0x01 to 0x6f; of messages the source's number.
    /// They are what the capture holds from `at` on, but for bit 0 of even bytes of a frame.
    /// `fragment`: they are the first after a change of id or of frame.
    ///
    /// Under [`Numbering::Reference`](crate::Numbering) a piece is a whole fragment.
    fn piece(&mut self, id: u16, at: u64, fragment: bool, bytes: &[u8]);

    /// A [`piece`](Self::piece) of `len` bytes, 1 to 15: the first of `word`, the lowest first.
    /// What is above them is not data.
    ///
    /// A collector may rather copy all 16, which takes no loop, and take back what is too much.
    #[inline]
    fn short(&mut self, id: u16, at: u64, fragment: bool, word: u128, len: usize) {
        self.piece(id, at, fragment, word.to_le_bytes().get(..len).unwrap_or_default());
    }

    /// Anything that is not a source's bytes.
    fn event(&mut self, at: u64, event: Event);

    /// A frame is whole. What it holds follows.
    #[inline]
    fn frame(&mut self, frame: &Frame<'_>) {
        let _ = frame;
    }

    /// Bytes of frames and of synchronisation packets as they arrive, in order, in runs of any
    /// length.
    #[inline]
    fn packed(&mut self, at: u64, bytes: &[u8]) {
        let _ = (at, bytes);
    }

    /// Frames without an ID byte, one after another from `at` on, all of source `id`: `frames` as
    /// they are, and `data` with bit 0 of the even bytes in its place; byte 15 of those is not
    /// data.
    ///
    /// This says each frame in turn; a collector may rather take them all at once.
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

    /// All bytes of one fragment, before they are given as pieces or events. The id is `None`
    /// before the first ID byte. `at` counts as the reference decoder does. Only where
    /// [`FRAGMENTS`](Self::FRAGMENTS) asks for it.
    #[inline]
    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        let _ = (id, at, bytes);
    }
}

/// What a link says beside the bytes of its sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A full synchronisation packet, 4 bytes. (A DSTREAM footer may be among them.)
    FullSync,
    /// A half synchronisation packet, 2 bytes. (A DSTREAM footer may be between them.)
    HalfSync,
    /// 16 bytes that a driver wrote between two stretches of trace: no source goes on across it,
    /// and the id is not known.
    Barrier,
    /// The end of a DSTREAM block.
    Footer([u8; 8]),
    /// One byte under the trigger id, with its value.
    Trigger(u8),
    /// One byte under the flush id, with its value.
    Flush(u8),
    /// Padding: this many bytes under the null id.
    Null {
        /// How many bytes.
        len: u32,
    },
    /// Bytes under a reserved id.
    Reserved {
        /// The id.
        id: u8,
        /// How many bytes.
        len: u32,
    },
    /// Bytes before the first ID byte: whose they are is not known.
    NoSource {
        /// How many bytes.
        len: u32,
    },
    /// Bytes that are no frame.
    Bad {
        /// How many bytes.
        len: u32,
        /// [`Fault::Unsynchronised`] before the first full synchronisation, [`Fault::Frame`] in a
        /// frame that synchronisation cut short, [`Fault::Truncated`] in one that the capture's end
        /// did.
        fault: Fault,
    },
}

/// A whole frame. (IHI 0029, "Formatter data processing")
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// As it is in the capture. An even byte but the last is an ID byte where bit 0 is set; byte 15
    /// holds, for each even byte, bit 0 of the data or when an ID takes effect.
    pub bytes: &'a [u8; FRAME],
    /// Place of its first byte in the capture.
    pub(crate) start: u64,
    /// What the numbering calls that place.
    pub(crate) index: u64,
    /// A bit for each byte that does not follow the one before it.
    pub(crate) cuts: u16,
    /// Half synchronisation packets in front of each pair of its bytes, a byte each.
    pub(crate) halves: u64,
    /// Places of all its bytes, where neither of the two says it.
    pub(crate) offsets: Option<&'a [u64; FRAME]>,
}

impl<'a> Frame<'a> {
    /// A frame whose bytes follow each other.
    #[inline]
    pub(crate) const fn straight(bytes: &'a [u8; FRAME], start: u64, index: u64) -> Self {
        Frame { bytes, start, index, cuts: 0, halves: 0, offsets: None }
    }

    /// A frame whose bytes were at `offsets`.
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

    /// Place of byte `i` in the capture, whatever the numbering.
    #[inline]
    pub fn offset(&self, i: usize) -> u64 {
        match self.offsets.and_then(|offsets| offsets.get(i)) {
            Some(&offset) => offset,
            None => self.start.wrapping_add(i as u64 + gap(self.halves, i)),
        }
    }

    /// What the numbering calls the place of its first byte.
    pub fn at(&self) -> u64 {
        self.index
    }
}
