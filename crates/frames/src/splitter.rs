//! Splits the bytes of a trace link into those of each source.

mod half;
mod skip;
mod state;

use memchr::memmem;
use tracewright_base::Fault;

use crate::FRAME;
use crate::framing::{Framing, Link, Numbering, dstream, sync};
use crate::id::is_source;
use crate::pending::Pending;
use crate::split::{Event, Frame, Split};
use crate::unpack::{ID_BITS, first_even_ones, restore, unpack};

/// OpenCSD reads this many bytes of a buffer at a time, which is visible in its offsets of a source
/// without framing.
const OPENCSD_READ: u64 = 1024;

/// Splits the bytes of a trace link into those of each source. It is a plain value: a clone is a
/// checkpoint.
///
/// The output does not depend on how the bytes are cut into pieces. (Without framing, and in
/// [`Split::packed`], runs of bytes end where the pieces end.)
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Splitter {
    link: Link,
    /// The trace ID of the next data byte.
    id: Option<u8>,
    /// Trace port: where frames begin is known. Without framing: a byte was seen.
    synced: bool,
    /// The beginning of a frame.
    frame: Pending<FRAME>,
    /// Trace port: bytes after those in `frame` that may begin a synchronisation packet: one byte
    /// of a pair and the four of a synchronisation packet.
    pending: Pending<5>,
    /// The beginning of a DSTREAM footer.
    footer: Pending<8>,
    /// Undecodable bytes that are not reported yet: offset of the first, length, fault.
    undecodable: Option<(u64, u32, Fault)>,
}

impl Splitter {
    /// A splitter at the beginning of a buffer.
    pub fn new(link: Link) -> Self {
        let synced = link.framing == Framing::TpiuHalfOnly;
        Splitter { link, synced, ..Splitter::default() }
    }

    /// The framing and how offsets are counted.
    pub fn link(&self) -> Link {
        self.link
    }

    /// The trace ID of the next data byte, if it is known.
    pub fn id(&self) -> Option<u8> {
        self.id
    }

    /// Splits all of `bytes`, which start at offset `at` of the buffer.
    pub fn split<S: Split>(&mut self, at: u64, bytes: &[u8], out: &mut S) {
        match self.link.framing {
            Framing::Coresight => self.aligned(at, bytes, out),
            Framing::Tpiu | Framing::TpiuHalf | Framing::TpiuHalfOnly => self.port(at, bytes, out),
            Framing::Dstream => self.blocks(at, bytes, out),
            Framing::Raw => self.raw(at, bytes, out),
        }
    }

    /// The bytes end here, or bytes are missing before the next ones: reports the incomplete frame,
    /// and returns to the initial state.
    pub fn finish<S: Split>(&mut self, out: &mut S) {
        self.classify(true, out);
        let fault = if self.synced || self.link.framing == Framing::Coresight {
            Fault::Truncated
        } else {
            Fault::Unsynchronised
        };
        self.lose_frame(fault, out);
        while let Some((offset, _)) = self.pending.pop() {
            self.lose(offset, 1, fault, out);
        }
        while let Some((offset, _)) = self.footer.pop() {
            self.lose(offset, 1, Fault::Truncated, out);
        }
        self.report_undecodable(out);
        *self = Splitter::new(self.link);
    }

    /// Splits memory-aligned frames.
    fn aligned<S: Split>(&mut self, at: u64, bytes: &[u8], out: &mut S) {
        let mut at = at;
        let mut bytes = bytes;
        while !self.frame.is_empty()
            && let [first, rest @ ..] = bytes
        {
            self.frame_byte(at, *first, out);
            (at, bytes) = (at.wrapping_add(1), rest);
        }
        let (mut frames, rest) = bytes.as_chunks::<FRAME>();
        let mut data = [[0; FRAME]; 32];
        while let [first, others @ ..] = frames {
            if u128::from_le_bytes(*first) & ID_BITS == 0
                && let Some(id) = self.id
                && is_source(id)
                && let Some((plain, after)) = frames.split_at_checked(restore(frames, &mut data))
                && !plain.is_empty()
            {
                out.plain(id, at, plain, data.get(..plain.len()).unwrap_or_default());
                at = at.wrapping_add((plain.len() * FRAME) as u64);
                frames = after;
            } else {
                self.aligned_frame(at, first, None, out);
                at = at.wrapping_add(FRAME as u64);
                frames = others;
            }
        }
        for (at, &byte) in (at..).zip(rest) {
            self.frame_byte(at, byte, out);
        }
    }

    fn frame_byte<S: Split>(&mut self, offset: u64, byte: u8, out: &mut S) {
        self.frame.push(offset, byte);
        if let Some((frame, offsets)) = self.frame.whole() {
            let [start, .., end] = offsets;
            let consecutive = end.wrapping_sub(start) == FRAME as u64 - 1;
            self.aligned_frame(start, &frame, (!consecutive).then_some(&offsets), out);
        }
    }

    #[inline]
    fn aligned_frame<S: Split>(
        &mut self,
        start: u64,
        bytes: &[u8; FRAME],
        offsets: Option<&[u64; FRAME]>,
        out: &mut S,
    ) {
        if bytes[0] == sync::BARRIER[0] && self.link.barriers && *bytes == sync::BARRIER {
            self.id = None;
            return out.event(start, Event::Barrier);
        }
        out.packed(start, bytes);
        let frame = match offsets {
            Some(offsets) => Frame::scattered(bytes, offsets, start),
            None => Frame::straight(bytes, start, start),
        };
        unpack(&mut self.id, &frame, &self.link, out);
    }

    /// Splits DSTREAM blocks: trace port bytes with a footer each.
    fn blocks<S: Split>(&mut self, at: u64, bytes: &[u8], out: &mut S) {
        const PAYLOAD: u64 = dstream::BLOCK - dstream::FOOTER;
        let mut at = at;
        let mut bytes = bytes;
        while !bytes.is_empty() {
            let phase = at % dstream::BLOCK;
            let end = if phase < PAYLOAD { PAYLOAD } else { dstream::BLOCK };
            let len = bytes.len().min((end - phase) as usize);
            let (part, rest) = bytes.split_at_checked(len).unwrap_or((bytes, &[]));
            if phase < PAYLOAD {
                self.port(at, part, out);
            } else {
                for (at, &byte) in (at..).zip(part) {
                    self.footer_byte(at, byte, out);
                }
            }
            (at, bytes) = (at.wrapping_add(len as u64), rest);
        }
    }

    fn footer_byte<S: Split>(&mut self, offset: u64, byte: u8, out: &mut S) {
        self.footer.push(offset, byte);
        if let Some((footer, [start, ..])) = self.footer.whole() {
            self.report_undecodable(out);
            out.event(self.link.index(start), Event::Footer(footer));
        } else if offset % dstream::BLOCK == dstream::BLOCK - 1 {
            // The buffer begins inside the footer.
            while let Some((offset, _)) = self.footer.pop() {
                self.lose(offset, 1, Fault::Unsynchronised, out);
            }
        }
    }

    /// Splits frames and synchronisation packets. (CoreSight TPIU, "Synchronization packets")
    fn port<S: Split>(&mut self, at: u64, bytes: &[u8], out: &mut S) {
        let mut at = at;
        let mut bytes = bytes;
        while let [first, after @ ..] = bytes {
            if self.frame.is_empty() && self.pending.is_empty() {
                let taken = self.port_whole(at, bytes, out);
                if taken > 0 {
                    at = at.wrapping_add(taken as u64);
                    bytes = bytes.get(taken..).unwrap_or_default();
                    continue;
                }
            }
            if self.pending.is_empty()
                && let taken @ 1.. = self.port_pair(at, bytes, out)
            {
                at = at.wrapping_add(taken as u64);
                bytes = bytes.get(taken..).unwrap_or_default();
                continue;
            }
            self.pending.push(at, *first);
            self.classify(false, out);
            (at, bytes) = (at.wrapping_add(1), after);
        }
    }

    /// Takes whole frames and synchronisation packets where one of them may begin, and returns the
    /// number of bytes; 0 where the bytes must be examined one at a time.
    #[inline]
    fn port_whole<S: Split>(&mut self, at: u64, bytes: &[u8], out: &mut S) -> usize {
        if !self.synced {
            // Without a full synchronisation packet, the last bytes may be the beginning of one.
            let ones = bytes.iter().rev().take(3).take_while(|&&byte| byte == 0xff).count();
            let found = memmem::find(bytes, &sync::FULL);
            let len = found.unwrap_or(bytes.len() - ones);
            self.synced = found.is_some();
            if len > 0 {
                self.lose(at, len, Fault::Unsynchronised, out);
            }
            if !self.synced || len > 0 {
                return len;
            }
        }
        let mut data = [[0; FRAME]; 16];
        let mut offset = at;
        let mut bytes = bytes;
        while let Some((first, after)) = bytes.split_first_chunk::<FRAME>() {
            let word = u128::from_le_bytes(*first);
            let mut taken = 0;
            if word & ID_BITS == 0 {
                taken = self.port_plain(offset, bytes, &mut data, out);
            }
            if taken == 0 {
                taken = match first_even_ones(word) {
                    FRAME if ends_in_sync(first, after) => 0,
                    FRAME => self.port_frame(offset, first, out),
                    0 if first.starts_with(&sync::FULL) => self.full_sync(offset, out),
                    0 => self.port_half_syncs(offset, bytes, out),
                    len => self.port_interrupted(offset, bytes, word, len, out),
                };
            }
            if taken == 0 {
                break;
            }
            offset = offset.wrapping_add(taken as u64);
            bytes = bytes.get(taken..).unwrap_or_default();
        }
        offset.wrapping_sub(at) as usize
    }

    /// Takes a frame in which no synchronisation packet begins.
    #[inline]
    fn port_frame<S: Split>(&mut self, at: u64, bytes: &[u8; FRAME], out: &mut S) -> usize {
        let index = self.link.index(at);
        out.packed(index, bytes);
        unpack(&mut self.id, &Frame::straight(bytes, at, index), &self.link, out);
        FRAME
    }

    /// Takes frames without an ID byte, if there are two or more, and returns the number of bytes.
    #[inline]
    fn port_plain<S: Split>(
        &mut self,
        at: u64,
        bytes: &[u8],
        data: &mut [[u8; FRAME]],
        out: &mut S,
    ) -> usize {
        let two = bytes.get(FRAME).is_some_and(|byte| byte & 1 == 0);
        let Some(id) = self.id.filter(|&id| two && is_source(id)) else {
            return 0;
        };
        let (frames, _) = bytes.as_chunks::<FRAME>();
        // A synchronisation packet has 0xff at an even position, which is an ID byte there, unless
        // it begins with the last byte of a frame: a frame that ends so is not taken.
        let (plain, _) = frames.split_at_checked(restore(frames, data)).unwrap_or_default();
        let plain = match plain {
            [before @ .., last] if last[FRAME - 1] == 0xff => before,
            plain => plain,
        };
        // `plain` has one offset: the numbering must count as the buffer does.
        if plain.is_empty() || self.link.index(at) != at {
            return 0;
        }
        out.plain(id, at, plain, data.get(..plain.len()).unwrap_or_default());
        plain.len() * FRAME
    }

    /// Takes the next pair of bytes of a frame, or half synchronisation packets, if these bytes
    /// suffice to identify them, and returns the number of bytes.
    fn port_pair<S: Split>(&mut self, at: u64, bytes: &[u8], out: &mut S) -> usize {
        let Some((&pair, after)) = bytes.split_first_chunk::<2>() else { return 0 };
        if !self.synced {
            return 0;
        }
        if pair == sync::HALF {
            return self.port_half_syncs(at, bytes, out);
        }
        // No full synchronisation packet begins with either byte.
        let in_frame = pair[0] != 0xff
            && (pair[1] != 0xff || after.len() >= 3 && !after.starts_with(&sync::FULL[1..]));
        if !in_frame {
            return 0;
        }
        self.pair(at, at.wrapping_add(1), pair, out);
        pair.len()
    }

    /// Takes two bytes of a frame at an even position, or a half synchronisation packet.
    fn pair<S: Split>(&mut self, offset: u64, next: u64, pair: [u8; 2], out: &mut S) {
        if next == offset.wrapping_add(1) {
            out.packed(self.link.index(offset), &pair);
        } else {
            out.packed(self.link.index(offset), &pair[..1]);
            out.packed(self.link.index(next), &pair[1..]);
        }
        if pair == sync::HALF {
            return out.event(self.link.index(offset), Event::HalfSync);
        }
        self.frame.push(offset, pair[0]);
        self.frame.push(next, pair[1]);
        if let Some((bytes, offsets)) = self.frame.whole() {
            let [start, ..] = offsets;
            let frame = Frame::scattered(&bytes, &offsets, self.link.index(start));
            unpack(&mut self.id, &frame, &self.link, out);
        }
    }

    /// Classifies the bytes in `pending` as far as they suffice. `end`: no bytes follow.
    fn classify<S: Split>(&mut self, end: bool, out: &mut S) {
        while let [first, rest @ ..] = self.pending.bytes() {
            let offset = self.pending.offsets().first().copied().unwrap_or_default();
            match begins_sync(self.pending.bytes()) {
                Begins::Yes => {
                    self.lose_frame(Fault::Frame, out);
                    for _ in sync::FULL {
                        self.pending.pop();
                    }
                    self.full_sync(offset, out);
                    continue;
                }
                Begins::Perhaps if !end => return,
                _ => {}
            }
            if !self.synced {
                self.pending.pop();
                self.lose(offset, 1, Fault::Unsynchronised, out);
                continue;
            }
            // Frames and half synchronisation packets consist of pairs of bytes.
            let [second, ..] = *rest else { return };
            match begins_sync(rest) {
                Begins::Yes => {
                    self.lose_frame(Fault::Frame, out);
                    self.pending.pop();
                    self.lose(offset, 1, Fault::Frame, out);
                    continue;
                }
                Begins::Perhaps if !end => return,
                _ => {}
            }
            let pair = [*first, second];
            let next = self.pending.offsets().get(1).copied().unwrap_or_default();
            self.pending.pop();
            self.pending.pop();
            self.pair(offset, next, pair, out);
        }
    }

    fn full_sync<S: Split>(&mut self, offset: u64, out: &mut S) -> usize {
        self.synced = true;
        self.report_undecodable(out);
        let index = self.link.index(offset);
        out.packed(index, &sync::FULL);
        out.event(index, Event::FullSync);
        sync::FULL.len()
    }

    fn raw<S: Split>(&mut self, at: u64, bytes: &[u8], out: &mut S) {
        let mut at = at;
        let mut bytes = bytes;
        while !bytes.is_empty() {
            let (len, fragment) = match self.link.numbering {
                Numbering::Capture => (bytes.len(), !self.synced),
                Numbering::Opencsd => {
                    let phase = at % OPENCSD_READ;
                    (bytes.len().min((OPENCSD_READ - phase) as usize), phase == 0 || !self.synced)
                }
            };
            self.synced = true;
            let (part, rest) = bytes.split_at_checked(len).unwrap_or((bytes, &[]));
            out.piece(0, at, fragment, part);
            (at, bytes) = (at.wrapping_add(len as u64), rest);
        }
    }

    /// Reports the incomplete frame as undecodable. The trace ID after it is not known.
    fn lose_frame<S: Split>(&mut self, fault: Fault, out: &mut S) {
        while let Some((offset, _)) = self.frame.pop() {
            self.id = None;
            self.lose(offset, 1, fault, out);
        }
    }

    fn lose<S: Split>(&mut self, offset: u64, len: usize, fault: Fault, out: &mut S) {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        match &mut self.undecodable {
            Some((at, run, why))
                if *why == fault
                    && at.wrapping_add(u64::from(*run)) == offset
                    && run.checked_add(len).is_some() =>
            {
                *run += len;
            }
            _ => {
                self.report_undecodable(out);
                self.undecodable = Some((offset, len, fault));
            }
        }
    }

    fn report_undecodable<S: Split>(&mut self, out: &mut S) {
        if let Some((offset, len, fault)) = self.undecodable.take() {
            out.event(self.link.index(offset), Event::Bad { len, fault });
        }
    }
}

/// Whether a full synchronisation packet may begin with the last byte of `frame`, which means that
/// a byte was lost.
#[inline]
fn ends_in_sync(frame: &[u8; FRAME], after: &[u8]) -> bool {
    frame[FRAME - 1] == 0xff && (after.len() < 3 || after.starts_with(&sync::FULL[1..]))
}

/// Whether bytes begin with a full synchronisation packet.
enum Begins {
    Yes,
    /// There are too few bytes to decide.
    Perhaps,
    No,
}

fn begins_sync(bytes: &[u8]) -> Begins {
    if bytes.starts_with(&sync::FULL) {
        Begins::Yes
    } else if sync::FULL.starts_with(bytes) {
        Begins::Perhaps
    } else {
        Begins::No
    }
}
