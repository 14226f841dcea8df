//! The fields of a payload: one description reads, writes and lists them.
//!
//! The first field is in the lowest bits, and each field begins with its lowest bit. The bits that
//! a payload omits at its end repeat its last bit. ("Instruction Trace Encoder Output Packets")

use crate::bits::sign_extend;
use crate::protocol::Field;

/// A reader or a writer of fields. Each method is given the field's value, which a writer writes,
/// and returns it, which a reader has read.
pub trait Fields {
    /// Whether it reads: the given values are ignored.
    const READS: bool;

    /// A number of `width` bits, 0 to 64.
    fn uint(&mut self, name: &'static str, value: u64, width: u32) -> u64;

    /// The bit before the current one.
    fn before(&self) -> bool;

    /// The number of bits left to read, without omitted bits.
    fn left(&self) -> Option<u32>;

    /// One bit.
    #[inline]
    fn flag(&mut self, name: &'static str, value: bool) -> bool {
        self.uint(name, value.into(), 1) != 0
    }

    /// A flag that is coded as a difference to the bit before it.
    #[inline]
    fn change(&mut self, name: &'static str, value: bool) -> bool {
        let before = self.before();
        self.flag(name, value != before) != before
    }

    /// A number of at most 8 bits.
    #[inline]
    fn byte(&mut self, name: &'static str, value: u8, width: u32) -> u8 {
        self.uint(name, value.into(), width) as u8
    }

    /// A signed number of `width` bits that is compressed to a multiple of 8 bits plus one. `after`
    /// bits follow it.
    fn cut(&mut self, name: &'static str, value: u64, width: u32, after: u32) -> u64 {
        let count = match self.left() {
            // The length of the payload determines the number of bits.
            Some(left) => (left.saturating_sub(after + 1) / 8).max(1) * 8 + 1,
            None => (1..8).map(|n| n * 8 + 1).find(|&n| n >= needed(value, width)).unwrap_or(65),
        };
        let read = self.uint(name, value, count.min(64));
        if count > 64 {
            self.flag("sign", value >> 63 != 0);
        }
        low(sign_extend(read, count.min(64)), width)
    }
}

/// The low `width` bits, 0 to 64.
#[inline]
pub const fn low(value: u64, width: u32) -> u64 {
    if width >= 64 { value } else { value & !(u64::MAX << width) }
}

/// The number of bits that the signed number in the low `width` bits needs.
pub(super) const fn needed(value: u64, width: u32) -> u32 {
    let value = sign_extend(value, width) as i64;
    let magnitude = if value < 0 { !value } else { value };
    65 - magnitude.leading_zeros()
}

/// Reads fields from the bytes of one payload.
#[derive(Clone, Debug)]
pub struct Reader {
    /// The payload, then copies of its last bit.
    words: [u64; WORDS],
    /// Bits read.
    at: u32,
    /// Bits of the payload.
    end: u32,
}

/// A payload has at most 31 bytes, and up to 7 bits before it.
const WORDS: usize = 4;
const BYTES: usize = WORDS * 8;

impl Reader {
    /// Reads the `len` bytes that begin at `start` of `bytes`, without the first `skip` bits, below
    /// 8. `None` if `bytes` has fewer.
    #[inline]
    pub fn new(bytes: &[u8], start: usize, len: usize, skip: u32) -> Option<Reader> {
        let payload = bytes.get(start..start + len)?;
        let fill = match payload.last() {
            Some(last) if last >> 7 != 0 => u64::MAX,
            _ => 0,
        };
        let end = (len as u32) * 8;
        // Most payloads are short, and most are not at the end of the bytes.
        if len <= 16
            && let Some(window) = bytes.get(start..start + 16)
            && let (Some(a), Some(b)) = (window.first_chunk(), window.last_chunk())
        {
            let (a, b) = (u64::from_le_bytes(*a), u64::from_le_bytes(*b));
            let words = [filled(a, end, fill), filled(b, end.saturating_sub(64), fill), fill, fill];
            return Some(Reader { words, at: skip, end });
        }
        let mut window = [fill as u8; BYTES];
        for (to, from) in window.iter_mut().zip(payload) {
            *to = *from;
        }
        let mut words = [fill; WORDS];
        for (word, chunk) in words.iter_mut().zip(window.chunks_exact(8)) {
            if let Some(chunk) = chunk.first_chunk() {
                *word = u64::from_le_bytes(*chunk);
            }
        }
        Some(Reader { words, at: skip, end })
    }

    /// The number of bits read, including those before the payload.
    pub const fn at(&self) -> u32 {
        self.at
    }

    /// Bits from the start of the first byte to the end of the payload.
    pub const fn end(&self) -> u32 {
        self.end
    }

    /// The word at index `n`.
    #[inline]
    fn word(&self, n: usize) -> u64 {
        match self.words.get(n) {
            Some(word) => *word,
            None => sign_extend(self.words[WORDS - 1] >> 63, 1),
        }
    }
}

/// The low `count` bits of a word, with `fill` above them.
#[inline]
const fn filled(word: u64, count: u32, fill: u64) -> u64 {
    match count {
        0 => fill,
        1..=63 => word & !(u64::MAX << count) | fill & u64::MAX << count,
        _ => word,
    }
}

impl Fields for Reader {
    const READS: bool = true;

    #[inline]
    fn uint(&mut self, _: &'static str, _: u64, width: u32) -> u64 {
        if width == 0 {
            return 0;
        }
        let (word, shift) = ((self.at >> 6) as usize, self.at & 63);
        // Two shifts, because a shift by 64 is not defined.
        let bits = self.word(word) >> shift | self.word(word + 1) << 1 << (63 - shift);
        self.at += width;
        bits & u64::MAX >> (64 - width)
    }

    #[inline]
    fn before(&self) -> bool {
        let at = self.at.saturating_sub(1);
        self.word((at >> 6) as usize) >> (at & 63) & 1 != 0
    }

    #[inline]
    fn left(&self) -> Option<u32> {
        Some(self.end.saturating_sub(self.at))
    }
}

/// Reads fields from a payload of at most 16 bytes: most are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Short {
    /// The rest of the payload, then copies of its last bit.
    rest: i128,
    /// The bit before the rest.
    before: bool,
    /// Bits read.
    at: u32,
    /// Bits of the payload.
    end: u32,
}

impl Short {
    /// Reads the first `len` bytes of `bytes`, 1 to 16.
    #[inline(always)]
    pub(super) const fn new(bytes: [u8; 16], len: u32) -> Short {
        let above = 128 - len * 8;
        let rest = (u128::from_le_bytes(bytes) << above) as i128 >> above;
        Short { rest, before: false, at: 0, end: len * 8 }
    }

    /// Bits read.
    #[inline]
    pub(super) const fn at(&self) -> u32 {
        self.at
    }

    /// Bits of the payload.
    #[inline]
    pub(super) const fn end(&self) -> u32 {
        self.end
    }
}

impl Fields for Short {
    const READS: bool = true;

    #[inline(always)]
    fn uint(&mut self, _: &'static str, _: u64, width: u32) -> u64 {
        if width == 0 {
            return 0;
        }
        let value = self.rest as u64 & u64::MAX >> (64 - width);
        let last = self.rest >> (width - 1);
        (self.before, self.rest) = (last & 1 != 0, last >> 1);
        self.at += width;
        value
    }

    #[inline(always)]
    fn before(&self) -> bool {
        self.before
    }

    #[inline(always)]
    fn left(&self) -> Option<u32> {
        Some(self.end.saturating_sub(self.at))
    }
}

/// Writes fields.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    /// The size covers a header, a source number, a timestamp and the widest payload.
    words: [u64; 8],
    at: u32,
}

impl Writer {
    /// Bits written.
    pub const fn at(&self) -> u32 {
        self.at
    }

    /// The byte at index `n`.
    pub fn byte_at(&self, n: usize) -> u8 {
        self.words.get(n / 8).map_or(0, |word| (word >> (n % 8 * 8)) as u8)
    }

    /// The bytes at these indices.
    pub fn bytes(&self, range: core::ops::Range<usize>) -> impl Iterator<Item = u8> {
        let words = self.words.map(u64::to_le_bytes);
        range.map(move |n| words.as_flattened().get(n).copied().unwrap_or_default())
    }

    /// Pads to a whole byte with `bit`.
    pub fn align(&mut self, bit: bool) {
        let count = self.at.wrapping_neg() & 7;
        self.uint("", if bit { u64::MAX } else { 0 }, count);
    }

    /// Cuts off all bits after the first `bytes` bytes.
    pub fn truncate(&mut self, bytes: u32) {
        self.at = self.at.min(bytes * 8);
    }

    /// Omits bytes at the end that repeat the bit before them, down to `least` bytes.
    pub fn compress(&mut self, least: u32) {
        let bytes = self.words.map(u64::to_le_bytes);
        let bytes = bytes.as_flattened();
        let byte = |n: u32| bytes.get(n as usize).copied().unwrap_or_default();
        let mut len = self.at / 8;
        while len > least.max(1) {
            let fill = if byte(len - 2) >> 7 != 0 { 0xff } else { 0 };
            if byte(len - 1) != fill {
                break;
            }
            len -= 1;
        }
        self.at = len * 8 + self.at % 8;
    }
}

impl Fields for Writer {
    const READS: bool = false;

    #[inline]
    fn uint(&mut self, _: &'static str, value: u64, width: u32) -> u64 {
        if width == 0 {
            return value;
        }
        let bits = value & u64::MAX >> (64 - width);
        let (word, shift) = ((self.at >> 6) as usize, self.at & 63);
        if let Some(low) = self.words.get_mut(word) {
            *low |= bits << shift;
        }
        if let Some(high) = self.words.get_mut(word + 1) {
            *high |= bits >> 1 >> (63 - shift);
        }
        self.at += width;
        value
    }

    #[inline]
    fn before(&self) -> bool {
        let at = self.at.saturating_sub(1);
        self.words.get((at >> 6) as usize).is_some_and(|word| word >> (at & 63) & 1 != 0)
    }

    #[inline]
    fn left(&self) -> Option<u32> {
        None
    }
}

/// Reads fields and lists each of them.
pub struct Namer<'a, F> {
    reader: Reader,
    /// The first bit of the payload.
    start: u32,
    each: &'a mut F,
}

impl<'a, F: FnMut(Field)> Namer<'a, F> {
    /// Lists the fields that `reader` reads.
    pub fn new(reader: Reader, each: &'a mut F) -> Self {
        Namer { start: reader.at, reader, each }
    }
}

impl<F: FnMut(Field)> Fields for Namer<'_, F> {
    const READS: bool = true;

    fn uint(&mut self, name: &'static str, value: u64, width: u32) -> u64 {
        let at = self.reader.at;
        let value = self.reader.uint(name, value, width);
        if width > 0 {
            let sent = self.reader.end.saturating_sub(at).min(width);
            (self.each)(Field { name, at: at - self.start, width, sent, value });
        }
        value
    }

    fn before(&self) -> bool {
        self.reader.before()
    }

    fn left(&self) -> Option<u32> {
        self.reader.left()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let fields = [(5, 3), (0, 0), (u64::MAX, 64), (1, 1), (0x1234_5678, 33), (0, 7), (9, 64)];
        let mut writer = Writer::default();
        for (value, width) in fields {
            writer.uint("", value, width);
        }
        writer.align(false);
        let bytes: [u8; 40] = core::array::from_fn(|n| writer.byte_at(n));
        let mut reader = Reader::new(&bytes, 0, 31, 0).unwrap();
        for (value, width) in fields {
            assert_eq!(reader.uint("", 0, width), value, "{width} bits");
        }
    }

    #[test]
    fn what_is_left_out_repeats_the_last_bit() {
        for (byte, want) in [(0x7f, 0x7f), (0x80, 0xffff_ffff_ffff_ff80)] {
            for len in [1usize, 32] {
                // With and without bytes after it.
                let mut bytes = [0x55; 40];
                bytes[0] = byte;
                let mut reader = Reader::new(&bytes[..len.max(1)], 0, 1, 0).unwrap();
                assert_eq!(reader.uint("", 0, 64), want);
                assert_eq!(reader.uint("", 0, 64), sign_extend(want >> 63, 1));
            }
        }
    }

    #[test]
    fn cut_numbers() {
        for (value, width, bits) in [
            (0, 64, 9),
            (5, 64, 9),
            (0x80, 64, 9),
            (0x100, 64, 17),
            (u64::MAX, 64, 9),
            (1 << 63, 64, 65),
        ] {
            let mut writer = Writer::default();
            writer.cut("", value, width, 3);
            assert_eq!(writer.at(), bits, "{value:#x}");
        }
    }
}
