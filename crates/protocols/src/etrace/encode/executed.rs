//! The addresses of the instructions since the last branch that was taken. (0.026)

use super::inst::Inst;

/// The span of the instructions since the last branch that was taken or the last packet, from the
/// lowest to the highest. It may cover more: inside a block a unit knows neither addresses nor
/// branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExecutedSpan {
    lowest: u64,
    highest: u64,
}

impl ExecutedSpan {
    /// The empty span before an instruction at `address` or above, unless a jump leads elsewhere.
    pub(super) const fn since(address: u64) -> ExecutedSpan {
        ExecutedSpan { lowest: address, highest: 0 }
    }

    pub(super) fn add(&mut self, cur: &Inst) {
        self.lowest = self.lowest.min(cur.address);
        self.highest = self.highest.max(cur.address);
    }

    pub(super) const fn has(&self, address: u64) -> bool {
        self.lowest <= address && address <= self.highest
    }
}
