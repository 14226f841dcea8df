//! The jump target cache. ("Jump target cache mode")

use alloc::vec::Vec;

use super::pending::Entries;
use crate::etrace::config::Params;

/// The cached jump targets, up to 128, by the low bits of their addresses. The memory is allocated
/// once, with the first target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::etrace) struct Targets {
    addresses: Vec<Option<u64>>,
}

impl Targets {
    /// The target in entry `index`.
    pub(in crate::etrace) fn get(&self, index: u16) -> Option<u64> {
        self.addresses.get(usize::from(index)).copied().flatten()
    }

    /// Stores the jump target `address`.
    pub(in crate::etrace) fn put(&mut self, address: u64, params: &Params) {
        let size = params.widths.cache_size;
        if self.addresses.is_empty() {
            self.addresses.resize(1 << size.min(7), None);
        }
        if let Some(entry) = self.addresses.get_mut(Entries::of_targets(params).index(address)) {
            *entry = Some(address);
        }
    }

    /// Drops all targets.
    pub(in crate::etrace) fn clear(&mut self) {
        self.addresses.clear();
    }
}
