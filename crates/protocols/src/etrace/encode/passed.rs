//! Where a jump may lead back to, so that its target would be taken for what was passed before. (0.026)

use super::inst::Inst;

/// Instructions since the last branch that was taken, or the last packet: from the lowest to the highest, and perhaps
/// more than those. Inside a block a unit knows neither addresses nor branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    lowest: u64,
    highest: u64,
}

impl Passed {
    /// None yet; the next one is at `address` or beyond, unless it was jumped to.
    pub(super) const fn since(address: u64) -> Passed {
        Passed { lowest: address, highest: 0 }
    }

    pub(super) fn add(&mut self, cur: &Inst) {
        self.lowest = self.lowest.min(cur.address);
        self.highest = self.highest.max(cur.address);
    }

    pub(super) const fn has(&self, address: u64) -> bool {
        self.lowest <= address && address <= self.highest
    }
}
