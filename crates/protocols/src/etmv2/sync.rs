//! Where a decoder may start: at any record. It says nothing until a trace FIFO offset has told where
//! in the FIFO it is. (IHI 0014, 6.5.1)

use tracewright_base::SyncSearch;

/// The first record of `bytes`.
pub fn find(bytes: &[u8]) -> SyncSearch {
    if bytes.is_empty() { SyncSearch::NotIn(0) } else { SyncSearch::At(0) }
}
