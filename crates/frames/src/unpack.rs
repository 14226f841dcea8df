//! Unpacks a frame to the pieces of its sources.

use crate::FRAME;
use crate::framing::{Link, Numbering};
use crate::id::{Meaning, is_source};
use crate::split::{Event, Frame, Split, gap};

/// Bit 0 of every even byte.
pub(crate) const ID_BITS: u128 = 0x0001_0001_0001_0001_0001_0001_0001_0001;
/// Bytes of a frame that can be data.
const DATA: usize = FRAME - 1;

/// Bit 0 of even byte `2k` from bit `k` of the frame's last byte.
#[inline]
const fn low_bits(aux: u8) -> u128 {
    // Moves four bits to bit 0 of four 16-bit columns: copies 15 bits apart do not overlap.
    const COPIES: u64 = 1 | 1 << 15 | 1 << 30 | 1 << 45;
    const BOTTOMS: u64 = 0x0001_0001_0001_0001;
    let low = (aux as u64 & 0xf).wrapping_mul(COPIES) & BOTTOMS;
    let high = (aux as u64 >> 4).wrapping_mul(COPIES) & BOTTOMS;
    (high as u128) << 64 | low as u128
}

/// The first even byte of 16 that is 0xff; 16 where none is.
#[inline]
pub(crate) const fn first_even_ones(word: u128) -> usize {
    // In the complement 0xff is a zero byte. Odd bytes are set.
    let even = !word | 0xff00 * ID_BITS;
    let ones = ID_BITS | ID_BITS << 8;
    let zeros = even.wrapping_sub(ones) & !even & ones << 7;
    zeros.trailing_zeros() as usize / 8
}

/// Writes the data of the first frames that have no ID byte, as many as fit, to `data`. Returns
/// their number.
#[inline]
pub(crate) fn restore(frames: &[[u8; FRAME]], data: &mut [[u8; FRAME]]) -> usize {
    for (count, (frame, data)) in frames.iter().zip(&mut *data).enumerate() {
        let word = u128::from_le_bytes(*frame);
        if word & ID_BITS != 0 {
            return count;
        }
        *data = (word | low_bits(frame[FRAME - 1])).to_le_bytes();
    }
    frames.len().min(data.len())
}

/// Passes the contents of `frame` to `out`. `id` is the trace ID of the first data byte of the
/// frame, and becomes that of the first data byte after it.
#[inline(always)]
pub(crate) fn unpack<S: Split>(id: &mut Option<u8>, frame: &Frame<'_>, link: &Link, out: &mut S) {
    if S::FRAGMENTS || link.numbering == Numbering::Opencsd || frame.offsets.is_some() {
        return fragments(id, frame, link, out);
    }
    out.frame(frame);
    if frame.cuts == 0 {
        straight(id, frame.bytes, frame.start, out);
    } else {
        halved(id, frame.bytes, frame.start, frame.cuts, frame.halves, out);
    }
}

/// Unpacks a frame whose bytes are contiguous.
#[inline(never)]
fn straight<S: Split>(id: &mut Option<u8>, bytes: &[u8; FRAME], at: u64, out: &mut S) {
    runs::<false, S>(id, bytes, at, 0, 0, out);
}

/// Unpacks a frame that has half synchronisation packets between its bytes.
#[inline(never)]
fn halved<S: Split>(
    id: &mut Option<u8>,
    bytes: &[u8; FRAME],
    at: u64,
    cuts: u16,
    halves: u64,
    out: &mut S,
) {
    runs::<true, S>(id, bytes, at, cuts, halves, out);
}

/// Passes on each run of contiguous bytes of one ID. Without `CUT`, all bytes of the frame are
/// contiguous.
#[inline(always)]
fn runs<const CUT: bool, S: Split>(
    id: &mut Option<u8>,
    bytes: &[u8; FRAME],
    at: u64,
    cuts: u16,
    halves: u64,
    out: &mut S,
) {
    let [.., aux] = *bytes;
    let word = u128::from_le_bytes(*bytes);
    let data = word | low_bits(aux);
    let ids = even_bytes(word);
    // Bytes that end the run before them: ID bytes, bytes that are not contiguous, and the last
    // byte.
    let mut ends = ids | 1 << DATA;
    if CUT {
        ends |= u32::from(cuts);
    }
    let offset = |i: u32| {
        let gap = if CUT { gap(halves, i as usize) } else { 0 };
        at.wrapping_add(u64::from(i) + gap)
    };
    let (mut start, mut fragment) = (0, true);
    let mut now = *id;
    loop {
        let end = ends.trailing_zeros();
        if start < end {
            run(now, offset(start), fragment, data >> (8 * start), (end - start) as usize, out);
            fragment = false;
        }
        ends &= ends - 1;
        if ends == 0 {
            break;
        }
        // A byte that is not contiguous with the one before it: the next run begins here. It is an
        // even byte, so it is not before `start`, which is at most two bytes after an ID byte.
        if CUT && ids >> end & 1 == 0 {
            start = end;
            continue;
        }
        start = end + 1;
        let new = bytes.get(end as usize).map_or(0, |byte| byte >> 1);
        if now == Some(new) {
            continue;
        }
        // The byte after the ID byte may belong to the previous ID. Byte 14 has none after it.
        if aux >> (end / 2) & 1 != 0 && start < DATA as u32 {
            let byte = bytes.get(start as usize).copied().unwrap_or_default();
            run(now, offset(start), fragment, byte.into(), 1, out);
            start += 1;
        }
        fragment = true;
        now = Some(new);
    }
    *id = now;
}

/// A bit for each even byte that has its bit 0 set.
#[inline]
const fn even_bytes(word: u128) -> u32 {
    // Moves bit 0 of four 16-bit columns to bits 48, 50, 52 and 54.
    const GATHER: u64 = 1 << 48 | 1 << 34 | 1 << 20 | 1 << 6;
    let word = word & ID_BITS;
    let (first, last) = (word as u64, (word >> 64) as u64);
    (first.wrapping_mul(GATHER) >> 48) as u32 | ((last.wrapping_mul(GATHER) >> 48) as u32) << 8
}

/// Gathers bit 0 of each byte `2k` in bit `k`. All other bits of `low` must be clear.
#[inline]
pub(crate) const fn each_pair(low: u128) -> u8 {
    // Moves bit 0 of four 16-bit columns to bits 48 to 51.
    const GATHER: u64 = 1 << 48 | 1 << 33 | 1 << 18 | 1 << 3;
    let (first, last) = (low as u64, (low >> 64) as u64);
    (first.wrapping_mul(GATHER) >> 48) as u8 & 0xf
        | ((last.wrapping_mul(GATHER) >> 48) as u8 & 0xf) << 4
}

/// Unpacks a frame whose fragments are reported or numbered, or whose bytes are at arbitrary
/// offsets.
#[inline(never)]
fn fragments<S: Split>(id: &mut Option<u8>, frame: &Frame<'_>, link: &Link, out: &mut S) {
    out.frame(frame);
    let [.., aux] = *frame.bytes;
    let word = u128::from_le_bytes(*frame.bytes);
    let data = word | low_bits(aux);
    let mut ids = even_bytes(word);
    // Bytes of the frame that make the fragment, one bit each.
    let mut mask = 0u16;
    let mut index = frame.index;
    // The first byte that is not in a fragment yet.
    let mut start = 0;
    while ids != 0 {
        let i = ids.trailing_zeros();
        ids &= ids - 1;
        mask |= span(start, i);
        start = i + 1;
        let new = frame.bytes.get(i as usize).map_or(0, |byte| byte >> 1);
        if *id == Some(new) {
            continue;
        }
        // The byte after the ID byte may belong to the previous ID. Byte 14 has none after it.
        if aux >> (i / 2) & 1 != 0 && start < DATA as u32 {
            mask |= 1 << start;
            start += 1;
        }
        // An empty fragment is not reported; the next one has its index.
        if mask != 0 {
            fragment(*id, index, mask, data, frame, link, out);
            mask = 0;
            index = frame.index.wrapping_add(u64::from(i));
        }
        *id = Some(new);
    }
    mask |= span(start, DATA as u32);
    if mask != 0 {
        fragment(*id, index, mask, data, frame, link, out);
    }
}

/// One bit for each of bytes `start..end` of a frame.
#[inline]
const fn span(start: u32, end: u32) -> u16 {
    ((1u32 << end).wrapping_sub(1) & !(1u32 << start).wrapping_sub(1)) as u16
}

/// Passes on the bytes of `mask`, which is not 0. They belong to `id`.
#[inline]
fn fragment<S: Split>(
    id: Option<u8>,
    index: u64,
    mask: u16,
    data: u128,
    frame: &Frame<'_>,
    link: &Link,
    out: &mut S,
) {
    if S::FRAGMENTS || link.numbering == Numbering::Opencsd {
        let (packed, len) = pack(mask, data);
        if S::FRAGMENTS {
            out.fragment(id, index, prefix(&packed.to_le_bytes(), len));
        }
        if link.numbering == Numbering::Opencsd {
            return run(id, index, true, packed, len, out);
        }
    }
    let mut bits = mask;
    while bits != 0 {
        let start = bits.trailing_zeros();
        // A run ends before a byte of another fragment, before byte 15, and before a byte that is
        // not contiguous.
        let ends = !bits & (u16::MAX << start) | frame.cuts & (u16::MAX << 1 << start);
        let end = ends.trailing_zeros();
        let (data, len) = (data >> (8 * start), (end - start) as usize);
        run(id, frame.offset(start as usize), bits == mask, data, len, out);
        bits &= u16::MAX << end;
    }
}

/// The bytes of `mask` without gaps, and their number.
fn pack(mask: u16, data: u128) -> (u128, usize) {
    let (mut packed, mut len, mut bits) = (0, 0, mask);
    while bits != 0 {
        let byte = data >> (8 * bits.trailing_zeros()) & 0xff;
        packed |= byte << (8 * len);
        len += 1;
        bits &= bits - 1;
    }
    (packed, len)
}

#[inline]
fn prefix(bytes: &[u8; FRAME], len: usize) -> &[u8] {
    bytes.get(..len).unwrap_or_default()
}

/// Passes on contiguous bytes of `id`: the first `len` of `data`.
#[inline(always)]
fn run<S: Split>(id: Option<u8>, at: u64, fragment: bool, data: u128, len: usize, out: &mut S) {
    match id {
        Some(id) if is_source(id) => out.short(id.into(), at, fragment, data, len),
        _ => special(id, at, prefix(&data.to_le_bytes(), len), out),
    }
}

/// Reports bytes that belong to no source.
#[cold]
#[inline(never)]
fn special<S: Split>(id: Option<u8>, at: u64, bytes: &[u8], out: &mut S) {
    let len = bytes.len() as u32;
    let Some(id) = id else {
        return out.event(at, Event::NoSource { len });
    };
    let each: fn(u8) -> Event = match Meaning::of(id) {
        Meaning::Source => return,
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
    fn ones_are_found_in_even_bytes_only() {
        for fill in [0x00, 0x01, 0x7f, 0x80, 0xfe] {
            for i in 0..FRAME {
                let mut frame = [fill; FRAME];
                assert_eq!(first_even_ones(u128::from_le_bytes(frame)), FRAME, "fill {fill:02x}");
                frame[i] = 0xff;
                let first = if i % 2 == 0 { i } else { FRAME };
                assert_eq!(first_even_ones(u128::from_le_bytes(frame)), first, "fill {fill:02x}");
            }
        }
    }

    #[test]
    fn even_bytes_and_the_bits_of_pairs() {
        for pairs in 0..=u8::MAX {
            let word = low_bits(pairs);
            let even = (0..8).map(|k| u32::from(pairs >> k & 1) << (2 * k)).sum();
            assert_eq!((each_pair(word), even_bytes(!ID_BITS | word)), (pairs, even));
        }
    }
}
