//! Where a decoder may start: at a synchronisation packet.

use tracewright_base::Sync;

use super::packet::{SYNC_END, SYNC_ZEROS, SYNC_ZEROS_MOST};

/// Finds the first synchronisation packet: the whole run of zero bytes before its 0x80, as far as
/// one packet holds it.
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

/// Says whether a stream has a synchronisation packet at all. It may be fed in any pieces.
///
/// Where it has none, [`Config::assume_synced`](super::Config::assume_synced) is the way to decode
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Search {
    zeros: usize,
    found: bool,
}

impl Search {
    /// Takes the next bytes and says whether a packet has been found so far.
    pub fn feed(&mut self, bytes: &[u8]) -> bool {
        for &byte in bytes {
            self.found |= byte == SYNC_END && self.zeros >= SYNC_ZEROS;
            self.zeros = if byte == 0 { (self.zeros + 1).min(SYNC_ZEROS) } else { 0 };
        }
        self.found
    }
}
