//! Arithmetic that several protocols share.

use tracewright_base::Parse;

/// A field in 7-bit groups, low group first. Bit 7 of a byte states that another byte follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    /// The bits received, at their positions in the field.
    pub bits: u64,
    /// Number of bits received: 7 for each byte, 8 for a last byte without a continuation bit.
    pub count: u8,
    /// Number of bytes read.
    pub len: usize,
}

/// Reads 7-bit groups of a field of `width` bits. The byte that reaches bit `width - 8` or above
/// has no continuation bit: all its 8 bits belong to the field. `None` where the bytes end too
/// early.
///
/// A field of 64 bits takes at most 9 bytes, one of 32 at most 5.
#[inline]
pub fn groups(bytes: &[u8], width: u8) -> Option<Groups> {
    let (mut bits, mut count) = (0u64, 0u8);
    for (k, &byte) in bytes.iter().enumerate() {
        if count + 8 >= width && byte_is_last(count, width) {
            bits |= u64::from(byte) << count;
            return Some(Groups { bits, count: width.min(count + 8), len: k + 1 });
        }
        bits |= u64::from(byte & 0x7f) << count;
        count += 7;
        if byte & 0x80 == 0 {
            return Some(Groups { bits, count: count.min(width), len: k + 1 });
        }
    }
    None
}

/// Whether the byte at bit `count` is the last of the field regardless of its bit 7.
#[inline]
const fn byte_is_last(count: u8, width: u8) -> bool {
    count + 8 >= width
}

/// Converts `None`, for missing bytes, to [`Parse::Partial`].
#[inline]
pub fn or_partial<P>(parsed: Option<Parse<P>>) -> Parse<P> {
    parsed.unwrap_or(Parse::Partial)
}

/// Writes the low `count` bits of `bits` as 7-bit groups of a field of `width` bits.
pub fn emit_groups(bits: u64, count: u8, width: u8, out: &mut impl Extend<u8>) {
    let mut done = 0u8;
    loop {
        if byte_is_last(done, width) {
            out.extend([(bits >> done) as u8]);
            return;
        }
        let more = done + 7 < count;
        out.extend([(bits >> done & 0x7f) as u8 | if more { 0x80 } else { 0 }]);
        done += 7;
        if !more {
            return;
        }
    }
}

/// Counts the bytes that are written to it.
pub(crate) struct Count<'a>(pub(crate) &'a mut u32);

impl Extend<u8> for Count<'_> {
    fn extend<T: IntoIterator<Item = u8>>(&mut self, bytes: T) {
        *self.0 = self.0.saturating_add(bytes.into_iter().count() as u32);
    }
}

/// `bits` in the low `count` bits, the rest from `old`.
#[inline]
pub const fn replace_low(old: u64, bits: u64, count: u8) -> u64 {
    if count >= 64 { bits } else { old & (u64::MAX << count) | bits & !(u64::MAX << count) }
}
