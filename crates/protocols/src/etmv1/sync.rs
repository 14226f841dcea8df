//! Where a decoder may start: at any record. It says nothing until a branch status has told which
//! address is its own. (IHI 0014, 5.6.1)

use tracewright_base::SyncSearch;

/// The first record of `bytes`.
pub fn find(bytes: &[u8]) -> SyncSearch {
    if bytes.is_empty() { SyncSearch::NotIn(0) } else { SyncSearch::At(0) }
}
