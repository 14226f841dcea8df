//! Joins the bytes of each source to the bytes of a trace link.

use crate::FRAME;
use crate::framing::{Framing, dstream, sync};
use crate::id::{NULL, ReservedId};
use crate::unpack::{ID_BITS, each_pair};

/// Writes frames as a formatter does: an ID byte only where the trace ID changes, and the null ID
/// as padding. A plain value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joiner {
    framing: Framing,
    /// Frames from one full synchronisation packet to the next; 0: only the first.
    full_every: u32,
    /// Pairs of bytes from one half synchronisation packet to the next; 0: none.
    half_every: u32,
    /// Frames of one trace ID after which its ID byte is repeated; 0: never.
    id_every: u32,
    /// Frames since the last ID byte.
    since_id: u32,
    /// The trace ID of the next data byte.
    id: Option<u8>,
    frame: [u8; FRAME],
    /// The number of bytes of `frame` that are set; even.
    len: usize,
    /// A byte of `id` for position `len` of the frame. An ID byte may have to be written before it.
    waiting: Option<u8>,
    /// Frames sent on a trace port.
    frames: u64,
    /// Pairs of bytes until the next half synchronisation packet.
    half_in: u32,
    /// DSTREAM: bytes in the block so far.
    block: u64,
}

impl Joiner {
    /// A joiner at the beginning of a buffer. With the framing of a trace port it writes a full
    /// synchronisation packet before the first frame and before each 64th after it, and a half one
    /// after each 13th pair of bytes; [`Framing::TpiuHalfOnly`] has no full ones.
    pub fn new(framing: Framing) -> Self {
        Joiner { framing, full_every: 64, half_every: 13, half_in: 13, ..Joiner::default() }
    }

    /// Writes a full synchronisation packet every `frames` frames; 0: only before the first.
    #[must_use]
    pub fn full_sync_every(self, frames: u32) -> Self {
        Joiner { full_every: frames, ..self }
    }

    /// Writes a half synchronisation packet every `pairs` pairs of bytes, where the framing has
    /// such packets; 0: none.
    #[must_use]
    pub fn half_sync_every(self, pairs: u32) -> Self {
        Joiner { half_every: pairs, half_in: pairs, ..self }
    }

    /// Repeats the ID byte of a source every `frames` frames, as a formatter does, so that frames
    /// without their beginning can be split; 0: never.
    #[must_use]
    pub fn repeat_id_every(self, frames: u32) -> Self {
        Joiner { id_every: frames, ..self }
    }

    /// Adds `bytes` of source `id`. Without framing, the id is not written.
    ///
    /// # Errors
    /// [`ReservedId`] for 0x7f and above.
    pub fn push(
        &mut self,
        id: u8,
        bytes: &[u8],
        out: &mut impl Extend<u8>,
    ) -> Result<(), ReservedId> {
        if id >= 0x7f {
            return Err(ReservedId(id));
        }
        if self.framing == Framing::Raw {
            out.extend(bytes.iter().copied());
            return Ok(());
        }
        let mut bytes = bytes;
        while let [first, rest @ ..] = bytes {
            let begins = self.len == 0 && self.waiting.is_none();
            if begins && self.id_every > 0 && self.since_id >= self.id_every {
                self.id = None;
            }
            // A whole frame of the current ID.
            if begins
                && self.id == Some(id)
                && let Some((data, after)) = bytes.split_first_chunk::<{ FRAME - 1 }>()
            {
                self.since_id = self.since_id.saturating_add(1);
                self.write_frame(&pack(data), out);
                bytes = after;
                continue;
            }
            self.byte(id, *first, out);
            bytes = rest;
        }
        Ok(())
    }

    /// Fills the last frame with padding, and the last block with synchronisation packets.
    pub fn finish(&mut self, out: &mut impl Extend<u8>) {
        while self.len > 0 || self.waiting.is_some() {
            self.byte(NULL, 0, out);
            // The frame is complete: a padding byte that waits would begin another frame.
            if self.len == 0 && self.id == Some(NULL) {
                self.waiting = None;
            }
        }
        if self.framing == Framing::Dstream {
            while self.block != 0 {
                self.send(&sync::FULL, out);
            }
        }
    }

    fn byte(&mut self, id: u8, byte: u8, out: &mut impl Extend<u8>) {
        const LAST: usize = FRAME - 2;
        let same = self.id == Some(id);
        match self.waiting.take() {
            // The last pair has room for one byte: a data byte, or the ID byte for the next frame.
            None if self.len == LAST && same => self.data(byte, 0, out),
            None if self.len == LAST => {
                self.change(id, 0, false, out);
                self.waiting = Some(byte);
            }
            None if same => self.waiting = Some(byte),
            None => self.change(id, byte, false, out),
            Some(before) if same => self.data(before, byte, out),
            Some(before) => {
                self.change(id, before, true, out);
                self.byte(id, byte, out);
            }
        }
    }

    fn data(&mut self, even: u8, odd: u8, out: &mut impl Extend<u8>) {
        self.pair(even & !1, odd, even & 1 != 0, out);
    }

    /// Writes an ID byte, and a data byte that belongs to the previous ID if `old` is set.
    fn change(&mut self, id: u8, odd: u8, old: bool, out: &mut impl Extend<u8>) {
        self.id = Some(id);
        self.since_id = 0;
        self.pair(id << 1 | 1, odd, old, out);
    }

    /// Writes the next two bytes of the frame, and the bit of the frame's last byte for the even
    /// one. The last byte is the odd byte of the last pair.
    fn pair(&mut self, even: u8, odd: u8, bit: bool, out: &mut impl Extend<u8>) {
        let aux = self.frame[FRAME - 1] | u8::from(bit) << (self.len / 2);
        if let Some([e, o]) = self.frame.get_mut(self.len..self.len + 2) {
            (*e, *o) = (even, odd);
        }
        self.frame[FRAME - 1] = aux;
        self.len += 2;
        if self.len == FRAME {
            let frame = core::mem::take(&mut self.frame);
            self.len = 0;
            self.since_id = self.since_id.saturating_add(1);
            self.write_frame(&frame, out);
        }
    }

    fn write_frame(&mut self, frame: &[u8; FRAME], out: &mut impl Extend<u8>) {
        if self.framing == Framing::Coresight {
            return out.extend(frame.iter().copied());
        }
        let due = self.frames.checked_rem(u64::from(self.full_every)) == Some(0);
        let halves = matches!(self.framing, Framing::TpiuHalf | Framing::TpiuHalfOnly);
        if (self.frames == 0 || due) && self.framing != Framing::TpiuHalfOnly {
            self.send(&sync::FULL, out);
        }
        self.frames = self.frames.wrapping_add(1);
        if !halves || self.half_every == 0 {
            return self.send(frame, out);
        }
        for pair in frame.as_chunks::<2>().0 {
            self.send(pair, out);
            self.half_in = self.half_in.saturating_sub(1);
            if self.half_in == 0 {
                self.half_in = self.half_every;
                self.send(&sync::HALF, out);
            }
        }
    }

    /// Writes bytes of the trace port, and a footer where a DSTREAM block ends.
    fn send(&mut self, bytes: &[u8], out: &mut impl Extend<u8>) {
        if self.framing != Framing::Dstream {
            return out.extend(bytes.iter().copied());
        }
        for &byte in bytes {
            out.extend([byte]);
            self.block += 1;
            if self.block == dstream::BLOCK - dstream::FOOTER {
                out.extend([0; dstream::FOOTER as usize]);
                self.block = 0;
            }
        }
    }
}

/// A frame of 15 data bytes without an ID byte: bit 0 of each even byte moves to the last byte.
#[inline]
fn pack(data: &[u8; FRAME - 1]) -> [u8; FRAME] {
    let mut frame = [0; FRAME];
    for (to, from) in frame.iter_mut().zip(data) {
        *to = *from;
    }
    let word = u128::from_le_bytes(frame);
    let low = word & ID_BITS;
    frame = (word ^ low).to_le_bytes();
    frame[FRAME - 1] = each_pair(low);
    frame
}
