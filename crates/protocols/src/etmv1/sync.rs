//! Where a decoder may start: at any record. It reports nothing until a branch status identifies
//! its address. (IHI 0014, 5.6.1)

use tracewright_base::SyncSearch;

/// The first record of `bytes`.
pub fn find(bytes: &[u8]) -> SyncSearch {
    if bytes.is_empty() { SyncSearch::NotIn(0) } else { SyncSearch::At(0) }
}
