//! Where a decoder may start: at a synchronisation packet.

use tracewright_base::SyncSearch;

use super::packet::{Packet, SYNC_END, SYNC_ZEROS, SYNC_ZEROS_MOST};
use crate::sync_run::SyncRun;

/// The packet that [`find`] finds.
pub(super) const RUN: SyncRun<Packet> = SyncRun {
    unit: 0,
    least: SYNC_ZEROS as u8,
    end: SYNC_END,
    packet: Packet::Sync { zeros: SYNC_ZEROS as u8 },
};

/// Finds the first synchronisation packet: a run of zero bytes before 0x80, of which one packet has
/// at most [`SYNC_ZEROS_MOST`].
pub(super) fn find(bytes: &[u8]) -> SyncSearch {
    let mut zeros = 0usize;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte == 0 {
            zeros += 1;
        } else {
            if byte == SYNC_END && zeros >= SYNC_ZEROS {
                return SyncSearch::At(at - zeros.min(SYNC_ZEROS_MOST));
            }
            zeros = 0;
        }
    }
    SyncSearch::NotIn(bytes.len() - zeros.min(SYNC_ZEROS_MOST))
}

/// Searches the bytes of a source, fed in any pieces, for a synchronisation packet.
///
/// A source that has none is decoded with [`Config::assume_synced`](super::Config::assume_synced).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Search {
    zeros: usize,
    found: bool,
}

impl Search {
    /// Takes the next bytes and returns whether a packet has been found so far.
    pub fn feed(&mut self, bytes: &[u8]) -> bool {
        for &byte in bytes {
            self.found |= byte == SYNC_END && self.zeros >= SYNC_ZEROS;
            self.zeros = if byte == 0 { (self.zeros + 1).min(SYNC_ZEROS) } else { 0 };
        }
        self.found
    }
}
