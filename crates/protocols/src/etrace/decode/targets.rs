//! The jump target cache. ("Jump target cache mode")

use super::pending::index;
use crate::etrace::config::Params;

/// Targets of jumps by their lowest bits, up to 128.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::etrace) struct Targets {
    addresses: [u64; 128],
    /// Bit n: entry n is known.
    known: u128,
}

impl Default for Targets {
    fn default() -> Self {
        Targets { addresses: [0; 128], known: 0 }
    }
}

impl Targets {
    /// The target at `place`.
    pub(in crate::etrace) fn get(&self, place: u16) -> Option<u64> {
        let known = self.known.checked_shr(place.into()).unwrap_or(0) & 1 != 0;
        self.addresses.get(usize::from(place)).copied().filter(|_| known)
    }

    /// A jump went to `address`.
    pub(in crate::etrace) fn put(&mut self, address: u64, params: &Params) {
        let place = index(address, params.widths.cache_size, params);
        if let Some(entry) = self.addresses.get_mut(place) {
            *entry = address;
            self.known |= 1 << place;
        }
    }

    /// Forgets all targets.
    pub(in crate::etrace) fn clear(&mut self) {
        self.known = 0;
    }
}
