//! Half synchronisation packets between frames and inside them.

use super::{Splitter, ends_in_sync};
use crate::FRAME;
use crate::framing::sync;
use crate::split::gap;
use crate::split::{Event, Frame, Split};
use crate::unpack::{first_even_ones, unpack};

/// Half synchronisation packets, as many as a word holds.
const HALVES: u128 = u128::from_le_bytes([
    0xff, 0x7f, 0xff, 0x7f, 0xff, 0x7f, 0xff, 0x7f, 0xff, 0x7f, 0xff, 0x7f, 0xff, 0x7f, 0xff, 0x7f,
]);

/// The number of half synchronisation packets at the beginning of `bytes`.
#[inline]
fn count(bytes: &[u8]) -> usize {
    let mut len = 0;
    for word in bytes.as_chunks::<FRAME>().0 {
        let other = u128::from_le_bytes(*word) ^ HALVES;
        if other != 0 {
            return (len + other.trailing_zeros() as usize / 8) / 2;
        }
        len += FRAME;
    }
    let rest = bytes.get(len..).unwrap_or_default().as_chunks::<2>().0;
    len / 2 + rest.iter().take_while(|&&pair| pair == sync::HALF).count()
}

impl Splitter {
    /// Takes the half synchronisation packets at the beginning of `bytes` and returns the number of
    /// bytes.
    #[inline]
    pub(super) fn port_half_syncs<S: Split>(
        &mut self,
        at: u64,
        bytes: &[u8],
        out: &mut S,
    ) -> usize {
        let taken = 2 * count(bytes);
        self.emit_half_syncs(at, taken, out);
        taken
    }

    #[inline]
    fn emit_half_syncs<S: Split>(&mut self, at: u64, len: usize, out: &mut S) {
        for offset in (at..).step_by(2).take(len / 2) {
            let index = self.link.index(offset);
            out.packed(index, &sync::HALF);
            out.event(index, Event::HalfSync);
        }
    }

    /// Takes a frame that has half synchronisation packets between its bytes and returns the number
    /// of bytes; 0 where the bytes must be examined in pairs. `first` has the first 16 bytes; the
    /// first `len` of them belong to the frame.
    pub(super) fn port_interrupted<S: Split>(
        &mut self,
        at: u64,
        bytes: &[u8],
        first: u128,
        len: usize,
        out: &mut S,
    ) -> usize {
        // The frame as far as it is known, and the number of bytes so far that do not belong to it.
        let (mut frame, mut gap) = (first, 0);
        let (mut len, mut cuts, mut halves) = (len, 0u16, 0u64);
        while len < FRAME {
            let found = count(bytes.get(gap + len..).unwrap_or_default());
            gap += 2 * found;
            let next = bytes.get(gap..).and_then(|rest| rest.first_chunk());
            // The count of each pair has 8 bits: at most 255 packets in all.
            let Some(next) = next.filter(|_| found > 0 && gap <= 2 * 0xff) else { return 0 };
            let mask = u128::MAX << (8 * len);
            frame = frame & !mask | u128::from_le_bytes(*next) & mask;
            cuts |= 1 << len;
            // Adds `found` to the count of the pair at `len` and of each later pair.
            halves += (u64::MAX / 0xff * found as u64) << (4 * len);
            len = first_even_ones(frame);
        }
        let (frame, end) = (frame.to_le_bytes(), gap + FRAME);
        if ends_in_sync(&frame, bytes.get(end..).unwrap_or_default()) {
            return 0;
        }
        self.halved(at, &frame, cuts, halves, out);
        end
    }

    /// Passes on a frame at `at` that has half synchronisation packets before the bytes of `cuts`.
    #[inline]
    fn halved<S: Split>(
        &mut self,
        at: u64,
        bytes: &[u8; FRAME],
        cuts: u16,
        halves: u64,
        out: &mut S,
    ) {
        let (mut rest, mut done, mut offset) = (cuts, 0, at);
        while rest != 0 {
            let cut = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let run = bytes.get(done..cut).unwrap_or_default();
            out.packed(self.link.index(offset), run);
            offset = offset.wrapping_add(run.len() as u64);
            let until = at.wrapping_add(cut as u64 + gap(halves, cut));
            self.emit_half_syncs(offset, until.wrapping_sub(offset) as usize, out);
            (done, offset) = (cut, until);
        }
        out.packed(self.link.index(offset), bytes.get(done..).unwrap_or_default());
        let frame =
            Frame { bytes, start: at, index: self.link.index(at), cuts, halves, offsets: None };
        unpack(&mut self.id, &frame, &self.link, out);
    }
}
