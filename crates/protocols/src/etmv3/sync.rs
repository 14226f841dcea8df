//! Where a decoder may start: at an A-sync. (IHI 0014, 7.7.2)

use tracewright_base::SyncSearch;

use super::packet::ASYNC_ZEROS;

/// The first A-sync of `bytes`: five zero bytes and `1000_0000`.
///
/// Zeros before the last five may belong to another packet, so they are not included.
pub fn find(bytes: &[u8]) -> SyncSearch {
    let mut zeros = 0;
    for (k, &byte) in bytes.iter().enumerate() {
        match byte {
            0 => zeros += 1,
            0x80 if zeros >= ASYNC_ZEROS => return SyncSearch::At(k - ASYNC_ZEROS),
            _ => zeros = 0,
        }
    }
    SyncSearch::NotIn(bytes.len() - zeros.min(ASYNC_ZEROS))
}

/// The first A-sync of a capture that is not aligned to the bytes of the trace unit, as may happen
/// with a trace port narrower than a byte. Returns its bit offset, whose low three bits are the
/// shift.
///
/// An A-sync is a run of at least 47 zero bits and a one; the next bit begins a byte. Bits count
/// from the low end of each byte.
pub fn find_bit(bytes: &[u8]) -> Option<usize> {
    let mut zeros = 0;
    for bit in 0..bytes.len() * 8 {
        if bytes[bit / 8] >> (bit % 8) & 1 == 0 {
            zeros += 1;
        } else if zeros >= 8 * ASYNC_ZEROS + 7 {
            return Some(bit - 8 * ASYNC_ZEROS - 7);
        } else {
            zeros = 0;
        }
    }
    None
}

/// The bytes of `bytes` from bit offset `bit` on.
pub fn realign(bytes: &[u8], bit: usize) -> impl Iterator<Item = u8> + '_ {
    let (rest, shift) = (bytes.get(bit / 8..).unwrap_or_default(), bit % 8);
    let next = rest.iter().skip(1).chain(core::iter::once(&0));
    let whole = if shift == 0 { rest.len() } else { rest.len().saturating_sub(1) };
    rest.iter()
        .zip(next)
        .take(whole)
        .map(move |(&low, &high)| (u16::from_le_bytes([low, high]) >> shift) as u8)
}
