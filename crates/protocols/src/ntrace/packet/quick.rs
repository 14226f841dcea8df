//! A fast reader of the most frequent messages: branches without trap and synchronisation, full
//! histories and full counters.

use super::fields::extend;
use super::mseo;
use crate::ntrace::config::Config;
use crate::ntrace::names;

/// A message of TCODE 3, 4 or 28 without a trap, or of TCODE 27 with RCODE 0 or 1. No field is
/// longer than 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ntrace) struct Quick {
    /// TCODE.
    pub(in crate::ntrace) tcode: u8,
    /// I-CNT, or the half-words of a full counter.
    pub(in crate::ntrace) count: u64,
    /// U-ADDR; 0 where the message has none.
    pub(in crate::ntrace) uaddr: u64,
    /// HIST, or a full history; without outcomes 1.
    pub(in crate::ntrace) hist: u64,
    /// TSTAMP.
    pub(in crate::ntrace) time: Option<u64>,
    /// Bytes of the message.
    pub(in crate::ntrace) len: usize,
}

/// The layout of such messages.
#[derive(Clone, Copy, Debug)]
pub(in crate::ntrace) struct Layout {
    /// Width of SRC.
    source: u32,
    /// The width to which addresses are sign-extended; 0 if they are not.
    extended: u32,
    /// A message with a full history of [`FULL`] bits and without TSTAMP.
    full: Full,
}

/// Bit 0 of each byte: a field ends.
const BYTES: u64 = 0x0101_0101_0101_0101;

/// Bits of a full history, with the one above the oldest outcome.
const FULL: u32 = 32;

/// The form of a message of a fixed length, of at most 8 bytes.
#[derive(Clone, Copy, Debug)]
struct Full {
    /// The bits that all such messages have in common, and their values.
    mask: u64,
    value: u64,
    /// The data bits of the message.
    bits: u64,
    /// Bytes of the message.
    len: usize,
}

impl Full {
    /// TCODE 27 and RCODE 1, with the bits of SRC between them.
    const fn of(source: u32) -> Full {
        let len = (6 + source + 4 + FULL).div_ceil(6);
        let bits = if len * 6 < u64::BITS { (1 << (len * 6)) - 1 } else { u64::MAX };
        let mut full = Full { mask: 0, value: 1, bits, len: len as usize };
        if len > 8 {
            return full;
        }
        let last = (len - 1) * 8;
        full.mask = 0x0303_0303_0303_0303 >> (56 - last) | 0xfc;
        full.value = (super::END_OF_MESSAGE as u64) << last | 27 << 2;
        let mut bit = 0;
        while bit < 4 {
            let at = 6 + source + bit;
            let at = at / 6 * 8 + 2 + at % 6;
            full.mask |= 1 << at;
            full.value |= (names::HISTORY_FULL as u64 >> bit & 1) << at;
            bit += 1;
        }
        full
    }
}

/// The data bits of 8 bytes: six bits of each byte, then twelve of each two, and so on.
#[inline(always)]
const fn data(word: u64) -> u64 {
    let data = word >> 2 & 0x3f3f_3f3f_3f3f_3f3f;
    let data = data & 0x003f_003f_003f_003f | data >> 2 & 0x0fc0_0fc0_0fc0_0fc0;
    let data = data & 0x0000_0fff_0000_0fff | data >> 4 & 0x00ff_f000_00ff_f000;
    data & 0x00ff_ffff | data >> 8 & 0xffff_ff00_0000
}

/// Bytes up to the end of a field.
struct Bytes {
    /// The data bits of 8 bytes.
    data: u64,
    /// The bytes of the field.
    len: u32,
    /// The message ends with them.
    last: bool,
}

impl Bytes {
    /// `None` if 8 bytes do not end the field.
    #[inline(always)]
    fn at(bytes: &[u8], at: usize) -> Option<Bytes> {
        let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
        let ends = word & 0x0303_0303_0303_0303;
        if ends == 0 {
            return None;
        }
        let before = ends.trailing_zeros() / 8;
        let end = mseo((word >> (before * 8)) as u8);
        (end != super::RESERVED).then_some(Bytes {
            data: data(word),
            len: before + 1,
            last: end == super::END_OF_MESSAGE,
        })
    }

    /// The data bits up to the end of the field.
    #[inline(always)]
    const fn value(&self) -> u64 {
        self.data & !(u64::MAX << (self.len * 6))
    }
}

impl Layout {
    #[inline]
    pub(in crate::ntrace) const fn of(config: &Config) -> Layout {
        let source = config.link.source_bits as u32;
        Layout { source, extended: config.extended(), full: Full::of(source) }
    }

    /// The history of the message at the start of `bytes`, if it is one of `FULL` bits without
    /// TSTAMP.
    #[inline(always)]
    pub(in crate::ntrace) fn full_history(&self, bytes: &[u8]) -> Option<u64> {
        let word = u64::from_le_bytes(*bytes.first_chunk()?);
        let hist = (data(word) & self.full.bits) >> (6 + self.source + 4);
        (word & self.full.mask == self.full.value && hist > 1).then_some(hist)
    }

    /// The bytes of such a message.
    #[inline(always)]
    pub(in crate::ntrace) const fn full_len(&self) -> usize {
        self.full.len
    }

    /// Such a message.
    #[inline]
    pub(in crate::ntrace) const fn full(&self, hist: u64) -> Quick {
        Quick { tcode: 27, count: 0, uaddr: 0, hist, time: None, len: self.full.len }
    }

    /// The message of TCODE 28, with `HIST`, or 4, without trap and TSTAMP that is in `word` as a
    /// whole: its fields, of which the first one begins with TCODE, SRC and B-TYPE.
    #[inline(always)]
    fn short<const HIST: bool>(&self, word: u64) -> Option<Quick> {
        let ends = word & BYTES;
        let others = ends & ends.wrapping_sub(1);
        let third = others & others.wrapping_sub(1);
        let last = if HIST { third } else { others };
        let is_reserved = word >> 1 & !word & BYTES & last.wrapping_sub(1) & !last != 0;
        let end = (word >> 1 & ends).trailing_zeros();
        let [first, second, last] = [ends, others, last].map(u64::trailing_zeros);
        let data = data(word);
        let fixed = 8 + self.source;
        if last == u64::BITS || end != last || is_reserved || first / 8 < fixed / 6 {
            return None;
        }
        let tcode = if HIST { 28 } else { 4 };
        if data & (0x3f | 0b11 << (6 + self.source)) != u64::from(tcode) {
            return None;
        }
        let [first, second, last] = [first, second, last].map(|bit| bit / 8 * 6 + 6);
        let field = |from: u32, to: u32| data >> from & !(u64::MAX << (to - from));
        let uaddr = extend(field(first, second), second - first, self.extended);
        let hist = if HIST { field(second, last) } else { 1 };
        let (count, len) = (field(fixed, first), (last / 6) as usize);
        (hist > 0).then_some(Quick { tcode, count, uaddr, hist, time: None, len })
    }

    /// The DirectBranch message, or the IndirectBranch message without trap, at the start of
    /// `bytes`, if it has at most 8 bytes and no TSTAMP.
    #[inline(always)]
    pub(in crate::ntrace) fn branch(&self, bytes: &[u8]) -> Option<Quick> {
        let word = u64::from_le_bytes(*bytes.first_chunk()?);
        if word as u8 == 4 << 2 {
            return self.short::<false>(word);
        }
        let ends = word & 0x0303_0303_0303_0303;
        if word as u8 != 3 << 2 || ends == 0 {
            return None;
        }
        let len = ends.trailing_zeros() / 8 + 1;
        let is_last = mseo((word >> (len * 8 - 8)) as u8) == super::END_OF_MESSAGE;
        let fixed = 6 + self.source;
        if !is_last || len <= fixed / 6 {
            return None;
        }
        let count = (data(word) & !(u64::MAX << (len * 6))) >> fixed;
        Some(Quick { tcode: 3, count, uaddr: 0, hist: 1, time: None, len: len as usize })
    }

    /// Reads the message at the start of `bytes`, which must have 8 bytes from the first one of
    /// each field on, however short the field is.
    #[inline(always)]
    pub(in crate::ntrace) fn read(&self, bytes: &[u8]) -> Option<Quick> {
        let word = u64::from_le_bytes(*bytes.first_chunk()?);
        if word as u8 == 28 << 2
            && let Some(quick) = self.short::<true>(word)
        {
            return Some(quick);
        }
        let first = Bytes::at(bytes, 0)?;
        let tcode = (first.data & 0x3f) as u8;
        let own = match tcode {
            3 => 0,
            4 | 28 => 2,
            27 => 4,
            _ => return None,
        };
        let code = first.data >> 6 >> self.source & !(u64::MAX << own);
        let fixed = 6 + self.source + own;
        // The field of variable width begins before the first end of a field.
        if first.len <= fixed / 6 {
            return None;
        }
        let number = first.value() >> fixed;
        let mut at = first.len as usize;
        let mut last = first.last;
        let mut next = || {
            if last {
                return None;
            }
            let field = Bytes::at(bytes, at)?;
            at += field.len as usize;
            last = field.last;
            Some(field)
        };
        let (mut count, mut uaddr, mut hist) = (number, 0, 1);
        match (tcode, code) {
            (3, _) => {}
            (27, code) if code == u64::from(names::COUNT_FULL) => {}
            (27, code) if code == u64::from(names::HISTORY_FULL) && number > 1 => {
                (count, hist) = (0, number);
            }
            (4 | 28, 0) => {
                let field = next()?;
                uaddr = extend(field.value(), field.len * 6, self.extended);
                if tcode == 28 {
                    hist = next()?.value();
                }
            }
            _ => return None,
        }
        let time = match last {
            true => None,
            false => Some(Bytes::at(bytes, at).filter(|field| field.last)?),
        };
        let len = at + time.as_ref().map_or(0, |field| field.len as usize);
        let time = time.map(|field| field.value());
        (hist > 0).then_some(Quick { tcode, count, uaddr, hist, time, len })
    }
}
