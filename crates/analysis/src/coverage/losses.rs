//! Losses of trace.

use tracewright_base::{Batch, Element, Gap, Part, Start};
use tracewright_decode::{Listener, Merge, Wants};

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

    fn batch(&mut self, batch: &Batch<'_>) {
        for part in batch.parts() {
            if let Part::Element(at, element) = part {
                self.element(batch.source, at, element);
            }
        }
    }

    fn wants(&self) -> Wants {
        Wants::ANY_ORDER
    }
}
