//! Where a decoder may start: at an A-sync.

use tracewright_base::SyncSearch;

use super::packet::{ALIGN_ZEROS, ALIGN_ZEROS_LIMIT, Packet};
use crate::sync_run::SyncRun;

/// The packet that [`find`] finds.
pub(super) const RUN: SyncRun<Packet> =
    SyncRun { unit: 0, least: ALIGN_ZEROS as u8, end: 0x80, packet: Packet::Align };

/// Finds the first A-sync: five zero bytes or more and `1000_0000`. No other packets contain this
/// sequence, and the byte after it is a header. (IHI 0035, "Alignment synchronization")
pub fn find(bytes: &[u8]) -> SyncSearch {
    let mut zeros = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            0 => zeros += 1,
            0x80 if zeros >= ALIGN_ZEROS => {
                return SyncSearch::At(at - zeros.min(ALIGN_ZEROS_LIMIT));
            }
            _ => zeros = 0,
        }
    }
    SyncSearch::NotIn(bytes.len() - zeros.min(ALIGN_ZEROS_LIMIT))
}
