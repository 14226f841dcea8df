//! Where a decoder may start: at an Alignment Sync.

use tracewright_base::SyncSearch;

/// Zero bytes that an Alignment Sync has at least.
pub const ALIGN_ZEROS: usize = 11;

/// Finds the first Alignment Sync: eleven zero bytes or more and `1000_0000`. It begins with the
/// last eleven. (IHI 0064, "Alignment Sync")
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
