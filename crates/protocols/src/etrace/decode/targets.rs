//! The jump target cache. ("Jump target cache mode")

use alloc::vec::Vec;

use super::pending::index;
use crate::etrace::config::Params;

/// Targets of jumps by their lowest bits, up to 128. Room is made once, with the first target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::etrace) struct Targets {
    addresses: Vec<Option<u64>>,
}

impl Targets {
    /// The target at `place`.
    pub(in crate::etrace) fn get(&self, place: u16) -> Option<u64> {
        self.addresses.get(usize::from(place)).copied().flatten()
    }

    /// A jump went to `address`.
    pub(in crate::etrace) fn put(&mut self, address: u64, params: &Params) {
        let size = params.widths.cache_size;
        if self.addresses.is_empty() {
            self.addresses.resize(1 << size.min(7), None);
        }
        if let Some(entry) = self.addresses.get_mut(index(address, size, params)) {
            *entry = Some(address);
        }
    }

    /// Forgets all targets.
    pub(in crate::etrace) fn clear(&mut self) {
        self.addresses.clear();
    }
}
