//! What is in a frame.

use crate::{Event, FRAME, Frame, Link, Meaning, Numbering, Split};

/// Bit 0 of every even byte.
pub(crate) const ID_BITS: u128 = 0x0001_0001_0001_0001_0001_0001_0001_0001;
/// Bytes of a frame that can be data.
const DATA: usize = FRAME - 1;

/// Bit 0 of even byte `2k` from bit `k` of the frame's last byte.
#[inline]
const fn low_bits(aux: u8) -> u128 {
    // Four bits to the bottoms of four 16-bit lanes: copies 15 apart do not meet.
    const LANES: u64 = 1 | 1 << 15 | 1 << 30 | 1 << 45;
    const BOTTOMS: u64 = 0x0001_0001_0001_0001;
    let low = (aux as u64 & 0xf).wrapping_mul(LANES) & BOTTOMS;
    let high = (aux as u64 >> 4).wrapping_mul(LANES) & BOTTOMS;
    (high as u128) << 64 | low as u128
}

/// Whether no byte of the frame can belong to a synchronisation packet that begins in its first 15.
#[inline]
pub(crate) const fn no_sync(frame: &[u8; FRAME]) -> bool {
    let word = u128::from_le_bytes(*frame);
    if word & ID_BITS == 0 {
        return true;
    }
    // A zero byte, in the complement, where the frame has 0xff in an even byte. Odd bytes are set.
    let even = !word | 0xff00 * ID_BITS;
    let ones = ID_BITS | ID_BITS << 8;
    even.wrapping_sub(ones) & !even & ones << 7 == 0
}

/// The data of the first frames, as many as have no ID byte and fit, and how many those are.
#[inline]
pub(crate) fn plain(frames: &[[u8; FRAME]], data: &mut [[u8; FRAME]]) -> usize {
    for (count, (frame, data)) in frames.iter().zip(&mut *data).enumerate() {
        let word = u128::from_le_bytes(*frame);
        if word & ID_BITS != 0 {
            return count;
        }
        *data = (word | low_bits(frame[FRAME - 1])).to_le_bytes();
    }
    frames.len().min(data.len())
}

/// Gives `out` what is in `frame`; `id` is the current id, before and after.
#[inline]
pub(crate) fn unpack<S: Split>(id: &mut Option<u8>, frame: &Frame<'_>, link: &Link, out: &mut S) {
    out.frame(frame);
    let [.., aux] = *frame.bytes;
    let word = u128::from_le_bytes(*frame.bytes);
    let ids = word & ID_BITS;
    let data = (word | low_bits(aux)).to_le_bytes();
    if ids == 0 && frame.places.is_none() {
        let [bytes @ .., _] = &data;
        out.fragment(*id, frame.index, bytes);
        run(*id, frame.index, true, bytes, out);
    } else {
        fragments(id, ids, aux, &data, frame, link, out);
    }
}

/// A frame with ID bytes, or with something between its bytes.
fn fragments<S: Split>(
    id: &mut Option<u8>,
    mut ids: u128,
    aux: u8,
    data: &[u8; FRAME],
    frame: &Frame<'_>,
    link: &Link,
    out: &mut S,
) {
    // Bytes of the frame that make the fragment, one bit each.
    let mut mask = 0u16;
    let mut index = frame.index;
    // The first byte that has not found its fragment.
    let mut start = 0;
    while ids != 0 {
        let i = ids.trailing_zeros() as usize / 8;
        ids &= ids - 1;
        mask |= span(start, i);
        start = i + 1;
        let new = frame.bytes.get(i).map_or(0, |byte| byte >> 1);
        if *id == Some(new) {
            continue;
        }
        // The byte after the ID byte may still be the old id's. There is none after byte 14.
        if i + 2 < FRAME && aux >> (i / 2) & 1 != 0 {
            mask |= span(i + 1, i + 2);
            start = i + 2;
        }
        // An empty fragment does not exist, and leaves its place to the next.
        if mask != 0 {
            fragment(*id, index, mask, data, frame, link, out);
            mask = 0;
            index = frame.index.wrapping_add(i as u64);
        }
        *id = Some(new);
    }
    mask |= span(start, DATA);
    if mask != 0 {
        fragment(*id, index, mask, data, frame, link, out);
    }
}

/// One bit for each of bytes `start..end` of a frame.
#[inline]
const fn span(start: usize, end: usize) -> u16 {
    (1u16 << end).wrapping_sub(1) & !(1u16 << start).wrapping_sub(1)
}

fn fragment<S: Split>(
    id: Option<u8>,
    index: u64,
    mask: u16,
    data: &[u8; FRAME],
    frame: &Frame<'_>,
    link: &Link,
    out: &mut S,
) {
    let mut packed = [0; DATA];
    let start = mask.trailing_zeros() as usize;
    let end = start + (mask >> start).trailing_ones() as usize;
    let bytes = if mask == span(start, end) {
        data.get(start..end).unwrap_or_default()
    } else {
        let mut room = packed.iter_mut();
        let mut bits = mask;
        while bits != 0 {
            if let (Some(to), Some(from)) = (room.next(), data.get(bits.trailing_zeros() as usize))
            {
                *to = *from;
            }
            bits &= bits - 1;
        }
        packed.get(..mask.count_ones() as usize).unwrap_or_default()
    };
    out.fragment(id, index, bytes);
    if link.numbering == Numbering::Reference {
        return run(id, index, true, bytes, out);
    }

    let mut bits = mask;
    while bits != 0 {
        let start = bits.trailing_zeros() as usize;
        let mut end = start + (bits >> start).trailing_ones() as usize;
        if frame.places.is_some() {
            let follows = |&i: &usize| frame.place(i) == frame.place(i - 1).wrapping_add(1);
            end = start + 1 + (start + 1..end).take_while(follows).count();
        }
        run(id, frame.place(start), bits == mask, data.get(start..end).unwrap_or_default(), out);
        bits &= !span(start, end);
    }
}

/// Bytes under `id` that follow each other.
#[inline]
fn run<S: Split>(id: Option<u8>, at: u64, fragment: bool, bytes: &[u8], out: &mut S) {
    let len = bytes.len() as u32;
    let Some(id) = id else {
        return out.event(at, Event::NoSource { len });
    };
    let each: fn(u8) -> Event = match Meaning::of(id) {
        Meaning::Source => return out.piece(id, at, fragment, bytes),
        Meaning::Null => return out.event(at, Event::Null { len }),
        Meaning::Reserved => return out.event(at, Event::Reserved { id, len }),
        Meaning::Trigger => Event::Trigger,
        Meaning::Flush => Event::Flush,
    };
    for (at, &byte) in (at..).zip(bytes) {
        out.event(at, each(byte));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_bits_go_to_even_bytes() {
        for aux in 0..=u8::MAX {
            let bytes = low_bits(aux).to_le_bytes();
            for (i, byte) in bytes.into_iter().enumerate() {
                let want = if i % 2 == 0 { aux >> (i / 2) & 1 } else { 0 };
                assert_eq!(byte, want, "aux {aux:02x} byte {i}");
            }
        }
    }

    #[test]
    fn sync_is_seen_in_even_bytes_only() {
        for fill in [0x00, 0x01, 0x7f, 0x80, 0xfe] {
            for i in 0..FRAME {
                let mut frame = [fill; FRAME];
                assert!(no_sync(&frame), "fill {fill:02x}");
                frame[i] = 0xff;
                assert_eq!(no_sync(&frame), i % 2 != 0, "fill {fill:02x} byte {i}");
            }
        }
    }
}
