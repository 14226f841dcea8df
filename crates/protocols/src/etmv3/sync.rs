//! Where a decoder may start: at an A-sync. (IHI 0014, 7.7.2)

use tracewright_base::SyncSearch;

use super::packet::ASYNC_ZEROS;
use crate::realign::BitSearch;

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

/// The first A-sync of `bytes` at any bit, for a capture that is not aligned to the bytes of the
/// trace unit, as may happen with a trace port narrower than a byte. Bits count from the low end of
/// each byte. `zeros` is the number of zero bits directly before `bytes`.
///
/// An A-sync is a run of at least 47 zero bits and a one; the next bit begins a byte. A run of more
/// than 111 bits is the filling of a buffer, not a misaligned A-sync.
pub fn find_bit(bytes: &[u8], zeros: u8) -> BitSearch {
    let mut run = u32::from(zeros);
    for (k, &byte) in bytes.iter().enumerate() {
        let low = byte.trailing_zeros();
        if low == u8::BITS {
            run += low;
            continue;
        }
        run += low;
        let aligned = low == 7;
        if run >= SYNC_ZEROS && (aligned || run <= MAX_SYNC_ZEROS) {
            return match k.checked_sub(ASYNC_ZEROS) {
                Some(start) if aligned => BitSearch::At(start),
                _ if aligned => BitSearch::After { byte: k + 1, shift: 0 },
                _ => BitSearch::After { byte: k, shift: low as u8 + 1 },
            };
        }
        run = byte.leading_zeros();
    }
    let tail = bytes.iter().rev().take_while(|&&byte| byte == 0).count();
    BitSearch::NotIn(bytes.len() - tail.min(ASYNC_ZEROS))
}

/// Zero bits of the shortest A-sync.
const SYNC_ZEROS: u32 = 8 * ASYNC_ZEROS as u32 + 7;

/// Zero bits of the longest A-sync that is recognised inside a byte: the shortest, and 8 more
/// bytes.
const MAX_SYNC_ZEROS: u32 = SYNC_ZEROS + 64;
