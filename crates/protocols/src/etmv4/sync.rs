//! Start points for a decoder: Alignment Sync packets.

use tracewright_base::SyncSearch;

use super::packet::Packet;
use crate::sync_run::SyncRun;

/// The minimum number of zero bytes before the `1000_0000`.
const ZEROS: usize = 11;

/// The packet that [`find`] finds.
pub(super) const RUN: SyncRun<Packet> =
    SyncRun { unit: 0, least: ZEROS as u8, end: 0x80, packet: Packet::AlignSync };

/// Finds the first Alignment Sync packet: 11 or more zero bytes and `1000_0000`. A decoder starts
/// at the last 11 zeros: zeros before them may belong to another packet. At the end of `bytes` up
/// to 11 zeros may be the start of a packet.
pub fn find(bytes: &[u8]) -> SyncSearch {
    let mut at = ZEROS - 1;
    // The last of any 11 consecutive zeros is at an index that this loop examines, or after a zero
    // that it found.
    while let Some(&byte) = bytes.get(at) {
        if byte != 0 {
            at += ZEROS;
            continue;
        }
        let before = bytes.iter().take(at).rev().take_while(|&&b| b == 0).count();
        let after = bytes.iter().skip(at).take_while(|&&b| b == 0).count();
        let (start, end) = (at - before, at + after);
        match bytes.get(end) {
            Some(0x80) if end - start >= ZEROS => return SyncSearch::At(end - ZEROS),
            Some(_) => at = end + ZEROS,
            None => break,
        }
    }
    let tail = bytes.iter().rev().take_while(|&&b| b == 0).count();
    SyncSearch::NotIn(bytes.len() - tail.min(ZEROS))
}
