//! Where a decoder may start: at a synchronisation packet, on any nibble.

use tracewright_base::SyncSearch;

use super::packet::{ASYNC_ONES, Packet};
use crate::sync_run::SyncRun;

/// The packet that [`find`] finds.
pub(super) const RUN: SyncRun<Packet> =
    SyncRun { unit: 0xf, least: ASYNC_ONES as u8, end: 0x0, packet: Packet::Async };

/// Finds the first run of at least 21 nibbles 0xf before a 0x0. The packet consists of the last 21
/// and the 0x0: the nibbles before them are payload.
pub(super) fn find(nibbles: &[u8]) -> SyncSearch {
    let mut ones = 0usize;
    for (at, &nibble) in nibbles.iter().enumerate() {
        match nibble {
            0xf => ones += 1,
            0x0 if ones >= ASYNC_ONES => return SyncSearch::At(at - ASYNC_ONES),
            _ => ones = 0,
        }
    }
    SyncSearch::NotIn(nibbles.len() - ones.min(ASYNC_ONES))
}
