//! What the decoder can foresee: outcomes of branches, and targets of jumps. (2.0, "Branch prediction
//! mode", "Jump target cache mode")

use alloc::vec;
use alloc::vec::Vec;

use crate::etrace::config::Params;

/// A table of two-bit predictions: bit 1 is what is foreseen, bit 0 the last outcome.
#[derive(Clone, Debug)]
pub(super) struct Predictor {
    table: Vec<u8>,
}

/// Not taken, twice.
const START: u8 = 0b01;

impl Predictor {
    pub(super) fn new(params: &Params) -> Self {
        let size = if params.options.branch_prediction { 1 << params.widths.bpred_size } else { 0 };
        Predictor { table: vec![START; size] }
    }

    pub(super) fn clear(&mut self) {
        self.table.fill(START);
    }

    /// A branch went one way; whether that was foreseen.
    pub(super) fn branch(&mut self, address: u64, taken: bool) -> bool {
        let mask = self.table.len().wrapping_sub(1);
        let Some(entry) = self.table.get_mut((address >> 1) as usize & mask) else { return false };
        let foreseen = (*entry >> 1 != 0) == taken;
        *entry = match (*entry, taken) {
            (0b00, false) => 0b00,
            (0b00, true) => 0b01,
            (0b01, false) => 0b00,
            (0b01, true) => 0b11,
            (0b11, true) => 0b11,
            (0b11, false) => 0b10,
            (_, true) => 0b11,
            (_, false) => 0b00,
        };
        foreseen
    }
}

/// Targets of uninferable jumps, one for each place.
#[derive(Clone, Debug)]
pub(super) struct Jumps {
    targets: Vec<Option<u64>>,
}

impl Jumps {
    pub(super) fn new(params: &Params) -> Self {
        let size = if params.options.jump_target_cache { 1 << params.widths.cache_size } else { 0 };
        Jumps { targets: vec![None; size] }
    }

    pub(super) fn clear(&mut self) {
        self.targets.fill(None);
    }

    /// A jump went to `address`: its place, if it is there; else it is from now on.
    pub(super) fn jump(&mut self, address: u64) -> Option<u16> {
        let place = (address >> 1) as usize & self.targets.len().wrapping_sub(1);
        let target = self.targets.get_mut(place)?;
        let found = *target == Some(address);
        *target = Some(address);
        found.then_some(place as u16)
    }
}
