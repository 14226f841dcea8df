//! Framing and alignment: which framings the first bytes of a buffer may have, and where the first
//! frame begins.
//!
//! Formatter frames are recognised by their ID bytes: a trace link has a few sources, so that the
//! ID bytes of frames are few and repeat a few values, and those of other bytes do not. As each
//! even byte of a frame may be an ID, this leaves the even or the odd offsets, of which
//! [`super::Detection`] tries the streams.

use std::ops::Range;

use tracewright_frames::{Event, FRAME, Framing, Link, Sources, Splitter, dstream, sync};

use super::HEAD;
use super::fill::filled_from;

/// A framing that the bytes may have.
#[derive(Clone, Debug)]
pub(super) struct LinkCandidate {
    pub(super) framing: Framing,
    /// The offset of the first whole frame, or block.
    pub(super) skip: usize,
    /// The cost of the ID bytes in bits per 16 frames; 0 without frames.
    pub(super) cost: u32,
    /// The streams: trace ID and bytes.
    pub(super) streams: Vec<(u16, Vec<u8>)>,
    /// The bytes in frames that have no trace ID, or a reserved one.
    pub(super) unassigned: usize,
    /// How much more the ID bytes cost if frames begin at an offset of the other parity, in bits; 0
    /// where it is less than twice as much.
    pub(super) evidence: u32,
    /// The share of the bytes before the frames are damaged, in thousandths.
    pub(super) regular: i64,
    /// Why the bytes may have this framing.
    pub(super) reason: String,
}

/// Frames at a wrong offset cost more than this, in bits per 16 frames: 4 random ID bytes a frame
/// of 7 bits each are 448.
const MAX_COST: u32 = 260;

/// The bits of the ID bytes by which the costs of a few frames differ, times 16.
const FEW: u32 = 256;

/// Bytes that are searched for the offset of frames.
const ALIGNED: usize = 1 << 15;

/// The framings that `bytes` may have; the data of one source are always among them. The filling
/// behind a trace is left out.
pub(super) fn links(bytes: &[u8]) -> Vec<LinkCandidate> {
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    let end = filled_from(head);
    let trace = head.get(..end).unwrap_or(head);
    // The last frame may end with bytes as those of the filling.
    let head = head.get(..end.next_multiple_of(FRAME)).unwrap_or(head);
    let raw = LinkCandidate {
        framing: Framing::Raw,
        skip: 0,
        cost: 0,
        streams: vec![(0, trace.to_vec())],
        unassigned: 0,
        evidence: 0,
        regular: 1000,
        reason: "the bytes are packets from one to the next".to_owned(),
    };
    let mut found = vec![raw];
    let (full, half) = syncs(head);
    if full > 0 {
        let phase = block_phase(head);
        if let Some(skip) = phase {
            let reason = "blocks of 512 bytes end in the footer of a DSTREAM".to_owned();
            found.push(framed(Framing::Dstream, head, skip, reason));
        } else {
            let framing = if half > 0 { Framing::TpiuHalf } else { Framing::Tpiu };
            let reason = match half {
                0 => format!("{full} full synchronisation packets of a trace port"),
                _ => format!("{full} full and {half} half synchronisation packets of a trace port"),
            };
            found.push(framed(framing, head, 0, reason));
        }
    }
    let part = head.get(..ALIGNED).unwrap_or(head);
    let Window { range, mut costs } = window(part);
    // Damage in a short buffer hides the frames before it, or behind it.
    let end = if range.end < part.len() { range.end } else { head.len() };
    let framed_part = head.get(..end).unwrap_or(head);
    if full == 0 && half > 0 {
        costs.extend(half_costs(part));
    }
    costs.sort_by_key(|link| (link.cost, link.skip, link.halves));
    let least = costs.first().map_or(0, |link| link.cost);
    // In a few frames, an ID byte more costs much.
    let few = FEW / (range.len() / FRAME).max(1) as u32;
    let most = MAX_COST.min(least + least / 4 + 8 + few);
    for &Cost { halves, skip, cost, evidence } in costs.iter().filter(|link| link.cost <= most) {
        let ids = match skip {
            0 => "the ID bytes repeat a few values".to_owned(),
            _ => format!("the ID bytes repeat a few values only if frames begin at byte {skip}"),
        };
        let (framing, reason) = match halves {
            0 => (Framing::Coresight, ids),
            _ => {
                (Framing::TpiuHalfOnly, format!("without the half synchronisation packets, {ids}"))
            }
        };
        let mut link = match halves {
            0 => framed(framing, framed_part, skip, reason),
            _ => framed(framing, head, skip, reason),
        };
        if halves == 0 && range.len() < part.len() {
            let looked = end.saturating_sub(range.start) as i64;
            link.regular = link.regular * looked / head.len().max(1) as i64;
        }
        found.push(LinkCandidate { cost, evidence, ..link });
    }
    found
}

/// The framings that `bytes` may have, or `framing` only: if nothing shows that the bytes have it,
/// from the first one on.
pub(super) fn links_of(bytes: &[u8], framing: Option<Framing>) -> Vec<LinkCandidate> {
    let mut found = links(bytes);
    let Some(framing) = framing else { return found };
    found.retain(|link| link.framing == framing);
    if found.is_empty() {
        let head = bytes.get(..HEAD).unwrap_or(bytes);
        found.push(framed(framing, head, 0, "the framing is given".to_owned()));
    }
    found
}

/// The cost of the ID bytes, if the first frame begins at an offset.
struct Cost {
    /// The number of half synchronisation packets between the bytes of frames.
    halves: usize,
    /// The offset of the first frame.
    skip: usize,
    /// In bits per 16 frames.
    cost: u32,
    /// How much more the offsets of the other parity cost, in bits.
    evidence: u32,
}

/// The costs of frames with half synchronisation packets, and no full ones. Frames and packets
/// consist of pairs of bytes: all at even offsets, or all at odd ones.
fn half_costs(head: &[u8]) -> Vec<Cost> {
    let of_pairs = |odd: usize| {
        let offsets: Vec<usize> = frame_pairs(head, odd).collect();
        let halves = head.len().saturating_sub(odd) / 2 - offsets.len();
        let pairs = offsets.iter().filter_map(|&at| head.get(at..at + 2));
        let frames: Vec<u8> = pairs.flatten().copied().collect();
        let even = costs(&frames).into_iter().filter(|link| link.skip % 2 == 0 && halves > 0);
        let of_buffer = |link: Cost| {
            let skip = *offsets.get(link.skip / 2)?;
            Some(Cost { halves, skip, ..link })
        };
        even.filter_map(of_buffer).collect::<Vec<_>>()
    };
    (0..2).flat_map(of_pairs).collect()
}

/// The offsets of the pairs of bytes that are no half synchronisation packets. `odd`: the offset of
/// the first pair, 0 or 1.
pub(crate) fn frame_pairs(head: &[u8], odd: usize) -> impl Iterator<Item = usize> {
    let pairs = head.get(odd..).unwrap_or_default().as_chunks::<2>().0.iter();
    let pairs = pairs.enumerate().filter(|(_, pair)| **pair != sync::HALF);
    pairs.map(move |(n, _)| odd + 2 * n)
}

/// The bytes from `skip` on, split, up to where they are damaged.
fn framed(framing: Framing, head: &[u8], skip: usize, reason: String) -> LinkCandidate {
    let frames = head.get(skip..).unwrap_or_default();
    let end = if framing == Framing::Coresight { undamaged(frames) } else { frames.len() };
    let regular = (end * 1000 / frames.len().max(1)) as i64;
    let head = head.get(..skip + end).unwrap_or(head);
    let mut sources = Sources::default();
    let mut splitter = Splitter::new(Link::new(framing));
    splitter.split(0, head.get(skip..).unwrap_or_default(), &mut sources);
    let unassigned = sources.events().iter().map(|(_, event)| match event {
        Event::NoSource { len } | Event::Reserved { len, .. } => *len as usize,
        _ => 0,
    });
    let unassigned = unassigned.sum();
    let streams = sources.iter().map(|source| {
        let bytes = source.bytes();
        (source.id(), bytes.get(..filled_from(bytes)).unwrap_or(bytes).to_vec())
    });
    let mut streams: Vec<_> = streams.filter(|(_, bytes)| !bytes.is_empty()).collect();
    streams.sort_unstable_by_key(|(id, _)| *id);
    LinkCandidate { framing, skip, cost: 0, streams, unassigned, evidence: 0, regular, reason }
}

/// Bytes of frames in which damage is searched for, and those in a short buffer.
const PART: usize = 1 << 10;
const SHORT_PART: usize = 1 << 7;

/// The most sources of a link whose damage is searched for.
const SOURCES: usize = 8;

/// The number of bytes before those whose frames have other IDs than the ones before: nearly all
/// bytes of the first parts have a few IDs, and most parts behind do not.
fn undamaged(frames: &[u8]) -> usize {
    let size = if frames.len() < 6 * PART { SHORT_PART } else { PART };
    let parts: Vec<&[u8]> = frames.chunks(size).collect();
    let Some((first, _)) = parts.split_at_checked(4).filter(|_| parts.len() >= 6) else {
        return frames.len();
    };
    let counts = |part: &[u8]| {
        let of = streams(part, Framing::Coresight).into_iter();
        of.map(|(id, bytes)| (id, bytes.len())).collect::<Vec<_>>()
    };
    let mut sums = [0usize; 128];
    for (id, bytes) in first.iter().flat_map(|part| counts(part)) {
        sums.get_mut(usize::from(id)).into_iter().for_each(|sum| *sum += bytes);
    }
    let all: usize = sums.iter().sum();
    let known: Vec<u16> = (0..128)
        .filter(|id| sums.get(usize::from(*id)).is_some_and(|sum| sum * 50 > all))
        .collect();
    let mut strays = 0u128;
    let mut is_odd = |part: &&[u8]| {
        let counts = counts(part);
        let stray = counts.iter().filter(|(id, _)| !known.contains(id));
        strays |= stray.clone().fold(0, |ids, (id, _)| ids | 1 << (id & 0x7f));
        let stray: usize = stray.map(|(_, bytes)| *bytes).sum();
        let all: usize = counts.iter().map(|(_, bytes)| *bytes).sum();
        stray * 5 > all
    };
    let odd: Vec<bool> = parts.iter().map(&mut is_odd).collect();
    // Other sources than at the beginning are few.
    let many = strays.count_ones() as usize > SOURCES;
    let from = odd.iter().position(|odd| *odd).unwrap_or(odd.len());
    let behind = odd.get(from..).unwrap_or_default();
    let is_damaged = behind.iter().filter(|odd| **odd).count() * 4 >= behind.len() * 3;
    match known.len() <= SOURCES && from >= 4 && behind.len() >= 2 && is_damaged && many {
        true => from * size,
        false => frames.len(),
    }
}

/// The part of a buffer whose ID bytes show where its frames begin.
struct Window {
    /// The bytes of the part.
    range: Range<usize>,
    /// The costs of frames in it; the offsets are those of the buffer.
    costs: Vec<Cost>,
}

/// All of `bytes`; or of a short buffer the half, or the three quarters, at its beginning or its
/// end, where there is more evidence: bytes are missing beside it.
fn window(bytes: &[u8]) -> Window {
    let len = bytes.len();
    let of = |range: Range<usize>| {
        let mut costs = costs(bytes.get(range.clone()).unwrap_or_default());
        costs.iter_mut().for_each(|link| link.skip += range.start);
        Window { range, costs }
    };
    let evidence = |window: &Window| {
        let least = window.costs.iter().filter(|link| link.cost <= MAX_COST);
        least.map(|link| link.evidence).max().unwrap_or(0)
    };
    let mut best = of(0..len);
    if len >= 6 * PART {
        return best;
    }
    for range in [0..len / 2, 0..len / 4 * 3, len / 2..len, len / 4..len] {
        let other = of(range);
        let is_hidden = |window: &Window| window.costs.iter().all(|link| link.cost > MAX_COST);
        if evidence(&other) > evidence(&best) || is_hidden(&best) && !is_hidden(&other) {
            best = other;
        }
    }
    best
}

/// The bytes of each ID.
pub(super) fn streams(head: &[u8], framing: Framing) -> Vec<(u16, Vec<u8>)> {
    if framing == Framing::Raw {
        return vec![(0, head.to_vec())];
    }
    let mut sources = Sources::default();
    Splitter::new(Link::new(framing)).split(0, head, &mut sources);
    sources.iter().map(|source| (source.id(), source.bytes().to_vec())).collect()
}

/// The number of full and of half synchronisation packets, without those of barriers.
fn syncs(head: &[u8]) -> (usize, usize) {
    let barriers = head.windows(FRAME).filter(|window| *window == sync::BARRIER).count();
    let full = head.windows(4).filter(|window| *window == sync::FULL).count();
    let both = head.windows(2).filter(|window| *window == sync::HALF).count();
    (full.saturating_sub(4 * barriers), both.saturating_sub(full))
}

/// The offset of the first whole block of a DSTREAM: in nearly all footers, bytes 1 and 2 are
/// zero, and byte 4 is the same.
fn block_phase(head: &[u8]) -> Option<usize> {
    const BLOCK: usize = dstream::BLOCK as usize;
    const FOOTER: usize = dstream::FOOTER as usize;
    let phase = |skip: &usize| {
        let blocks: Vec<_> = head.get(*skip..).unwrap_or_default().chunks_exact(BLOCK).collect();
        let mark = |block: &&[u8]| {
            let footer = block.get(BLOCK - FOOTER..)?;
            footer.get(4).copied().filter(|mark| *mark != 0 && footer.get(1..3) == Some(&[0; 2]))
        };
        let Some(first) = blocks.iter().find_map(mark) else { return false };
        let same = blocks.iter().filter(|block| mark(block) == Some(first)).count();
        blocks.len() >= 2 && same * 10 >= blocks.len() * 8
    };
    (0..BLOCK).find(phase)
}

/// Fewer frames than these have no ID byte by chance.
const IDLESS: usize = 16;

/// Whether `bytes` may be frames of one source that are cut behind its ID byte: bit 0 of each byte
/// at an even offset, or at an odd one, states that it is no ID, and the others have any value.
pub(super) fn is_one_source(bytes: &[u8]) -> bool {
    let odd = |offset: usize| {
        let bytes = bytes.iter().skip(offset).step_by(2);
        bytes.filter(|byte| *byte & 1 != 0).count()
    };
    let pairs = bytes.len() / 2;
    let (even, odd) = (odd(0), odd(1));
    let (least, most) = (even.min(odd), even.max(odd));
    pairs >= IDLESS * FRAME / 2 && least * 64 <= pairs && most * 8 >= pairs
}

/// The cost of the ID bytes for each offset of the first frame, in bits per 16 frames.
fn costs(head: &[u8]) -> Vec<Cost> {
    let cost = |skip: usize| {
        let (frames, _) = head.get(skip..)?.as_chunks::<FRAME>();
        let frames: Vec<_> = frames.iter().filter(|frame| **frame != sync::BARRIER).collect();
        if frames.is_empty() {
            return None;
        }
        let (mut counts, mut reserved) = ([0u32; 128], 0u32);
        for byte in frames.iter().flat_map(|frame| frame.iter().step_by(2)) {
            if byte & 1 != 0 {
                let id = usize::from(byte >> 1);
                counts.get_mut(id).into_iter().for_each(|count| *count += 1);
                reserved += u32::from(matches!(id, 0x70..=0x7a | 0x7c | 0x7e | 0x7f));
            }
        }
        let total: u32 = counts.iter().sum();
        if total == 0 {
            return None;
        }
        let bits = |count: &u32| {
            let share = f64::from(*count) / f64::from(total);
            -f64::from(*count) * share.max(f64::MIN_POSITIVE).log2()
        };
        let entropy: f64 = counts.iter().map(bits).sum();
        let all = entropy + f64::from(total) + 16.0 * f64::from(reserved);
        // With an ID byte in each second pair, the bytes are records of two bytes.
        let is_regular = total as usize * 4 <= frames.len() * FRAME;
        let cost = (all * 16.0 / frames.len() as f64) as u32;
        Some((is_regular, frames.len(), Cost { halves: 0, skip, cost, evidence: 0 }))
    };
    let found: Vec<_> = (0..FRAME).filter_map(cost).collect();
    let least = |odd: usize| {
        let own = found.iter().filter(|(_, _, link)| link.skip % 2 == odd);
        own.map(|(_, _, link)| link.cost).min().unwrap_or(0)
    };
    let least = [least(0), least(1)];
    let with_evidence = found.into_iter().map(|(is_regular, frames, link)| {
        let other = least.get(1 - link.skip % 2).copied().unwrap_or(0);
        let bits = other.saturating_sub(link.cost) as usize * frames / FRAME;
        let is_evidence = is_regular && other >= 2 * link.cost;
        Cost { evidence: if is_evidence { bits as u32 } else { 0 }, ..link }
    });
    with_evidence.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames with ID bytes 0x10 and 0x20, cut at each byte.
    #[test]
    fn the_first_frame_is_found() {
        let mut random = 1u32;
        let mut byte = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 24) as u8
        };
        let mut bytes = Vec::new();
        for n in 0u8..64 {
            let mut frame = [(); FRAME].map(|()| byte());
            frame.iter_mut().step_by(2).for_each(|byte| *byte &= !1);
            if n % 4 == 0 {
                let place = usize::from(n / 8 % 8) * 2;
                frame[place] = 0x21 + 0x20 * (n / 4 % 2);
            }
            bytes.extend(frame);
        }
        for cut in 0..FRAME {
            let found = links(bytes.get(cut..).unwrap());
            let frames: Vec<_> =
                found.iter().filter(|link| link.framing == Framing::Coresight).collect();
            let skip = (FRAME - cut) % FRAME;
            let right = frames.iter().find(|link| link.skip == skip).unwrap();
            let ids: Vec<_> = right.streams.iter().map(|(id, _)| *id).collect();
            assert_eq!(ids, [0x10, 0x20], "cut at {cut}");
            assert!(frames.iter().all(|link| link.skip % 2 == skip % 2), "cut at {cut}");
        }
    }
}
