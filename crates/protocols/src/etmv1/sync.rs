//! Where a decoder may start: at any record. It reports nothing until a branch status identifies its
//! address. (IHI 0014, 5.6.1)

use tracewright_base::Sync;

/// The first record of `bytes`.
pub fn find(bytes: &[u8]) -> Sync {
    if bytes.is_empty() { Sync::NotIn(0) } else { Sync::At(0) }
}
