//! Start points for a decoder: Alignment Sync packets.

use tracewright_base::SyncSearch;

use super::packet::{ALIGN_ZEROS, Packet};
use crate::sync_run::SyncRun;

/// The packet that [`find`] finds.
pub(super) const RUN: SyncRun<Packet> =
    SyncRun { unit: 0, least: ALIGN_ZEROS as u8, end: 0x80, packet: Packet::Align };

/// Finds the first Alignment Sync: eleven or more zero bytes and `1000_0000`. It starts at the last
/// eleven. (IHI 0064, "Alignment Sync")
pub fn find(bytes: &[u8]) -> SyncSearch {
    let mut zeros = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            0 => zeros += 1,
            0x80 if zeros >= ALIGN_ZEROS => return SyncSearch::At(at - ALIGN_ZEROS),
            _ => zeros = 0,
        }
    }
    SyncSearch::NotIn(bytes.len() - zeros.min(ALIGN_ZEROS))
}
