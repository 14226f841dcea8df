//! Where a decoder may start: at a synchronisation packet.

use tracewright_base::Sync;

use super::packet::{SYNC_END, SYNC_ZEROS, SYNC_ZEROS_MOST};

/// Finds the first synchronisation packet: the whole run of zero bytes before its 0x80, as far as one
/// packet holds it.
pub(super) fn find(bytes: &[u8]) -> Sync {
    let mut zeros = 0usize;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte == 0 {
            zeros += 1;
        } else {
            if byte == SYNC_END && zeros >= SYNC_ZEROS {
                return Sync::At(at - zeros.min(SYNC_ZEROS_MOST));
            }
            zeros = 0;
        }
    }
    Sync::NotIn(bytes.len() - zeros.min(SYNC_ZEROS_MOST))
}
