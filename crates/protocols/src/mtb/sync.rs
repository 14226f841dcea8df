//! Where a decoder may start: at a packet with the S bit. Packets are 8 bytes long.

use tracewright_base::SyncSearch;

/// Finds the first packet with the S bit, if the first byte begins a packet.
pub(super) fn find(bytes: &[u8]) -> SyncSearch {
    let (packets, _) = bytes.as_chunks::<8>();
    match packets.iter().position(|packet| packet[4] & 1 != 0) {
        Some(at) => SyncSearch::At(8 * at),
        None => SyncSearch::NotIn(8 * packets.len()),
    }
}
