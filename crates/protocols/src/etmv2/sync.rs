//! Where a decoder may start: at any record. It reports nothing until a trace FIFO offset gives the
//! position of its packet in the FIFO. (IHI 0014, 6.5.1)

use tracewright_base::SyncSearch;

/// The first record of `bytes`.
pub fn find(bytes: &[u8]) -> SyncSearch {
    if bytes.is_empty() { SyncSearch::NotIn(0) } else { SyncSearch::At(0) }
}
