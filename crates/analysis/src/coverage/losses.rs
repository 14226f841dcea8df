//! Losses of trace.

use tracewright_base::{CachedBlocks, Element, Gap, Path, Start};
use tracewright_decode::{Listener, Merge};

/// Counts losses. Without any, what was not executed in the trace was not executed at all while it
/// was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Losses.
    pub count: u64,
}

impl Merge for Losses {
    fn merge(&mut self, later: Self) {
        self.count = self.count.saturating_add(later.count);
    }
}

impl Listener for Losses {
    const PACKETS: bool = false;
    const PATHS: bool = true;
    const BY_SOURCE: bool = true;

    #[inline]
    fn path(&mut self, _: usize, _: u64, _: &Path, _: &CachedBlocks<'_>) {}

    #[inline]
    fn element(&mut self, _: usize, _: u64, element: Element) {
        let lost = match element {
            Element::Range(_) => false,
            Element::Gap(gap) => !matches!(gap, Gap::Data | Gap::Start),
            Element::TraceOn(Start::Overflow)
            | Element::Unknown { .. }
            | Element::NoCode { .. }
            | Element::Undecodable { .. } => true,
            Element::Inconsistency(reason) => !reason.is_ambiguity(),
            _ => false,
        };
        self.count += u64::from(lost);
    }

    #[inline]
    fn repeat(&mut self, _: usize, _: u64, _: tracewright_base::Range, _: u32) {}

    fn repeat_path(&mut self, _: usize, _: u64, _: &[tracewright_base::Range], _: u64) {}
}
