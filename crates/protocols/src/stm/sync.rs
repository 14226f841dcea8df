//! Where a decoder may start: at a synchronisation packet, on any nibble.

use tracewright_base::Sync;

use super::packet::ASYNC_ONES;

/// Finds the first run of at least 21 nibbles 0xf before a 0x0. The packet is its last 21 and the
/// 0x0: those before them were payload.
pub(super) fn find(nibbles: &[u8]) -> Sync {
    let mut ones = 0usize;
    for (at, &nibble) in nibbles.iter().enumerate() {
        match nibble {
            0xf => ones += 1,
            0x0 if ones >= ASYNC_ONES => return Sync::At(at - ASYNC_ONES),
            _ => ones = 0,
        }
    }
    Sync::NotIn(nibbles.len() - ones.min(ASYNC_ONES))
}
