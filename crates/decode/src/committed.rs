//! Removes what ran in failed transactions.

use tracewright_base::{Element, Gap, Sink, Transaction};

/// Delays what ran inside a transaction (FEAT_TME) until the transaction is committed, and drops it
/// where the transaction failed. Timestamps, counts, events and software writes outlive a failed
/// transaction and stay in their order. (ETE K10.5.4)
///
/// A transaction of more than [`MAX_PENDING`] elements is passed on as if it were committed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Committed<S> {
    /// Receives the remaining elements.
    pub sink: S,
    /// Elements of the open transaction.
    pending: Vec<(u64, Element)>,
    /// Whether a transaction is open.
    open: bool,
}

/// The most elements that a transaction delays: memory does not depend on what the trace claims. A
/// processor's transaction is limited by its caches, and ends at an interrupt.
pub const MAX_PENDING: usize = 1 << 18;

impl<S> Committed<S> {
    /// The size of the delayed elements in bytes of memory.
    pub fn weight(&self) -> usize {
        size_of_val(&self.pending[..])
    }
}

impl<S: Sink> Committed<S> {
    /// Passes elements on to `sink`.
    pub fn new(sink: S) -> Self {
        Committed { sink, pending: Vec::new(), open: false }
    }

    fn commit(&mut self) {
        self.open = false;
        for (at, element) in self.pending.drain(..) {
            self.sink.element(at, element);
        }
    }

    fn fail(&mut self) {
        self.open = false;
        for (at, element) in self.pending.drain(..).filter(|(_, e)| outlives(e)) {
            self.sink.element(at, element);
        }
    }
}

/// Whether `element` remains where its transaction failed.
const fn outlives(element: &Element) -> bool {
    !matches!(
        element,
        Element::Range(_)
            | Element::Unknown { .. }
            | Element::Corrected { .. }
            | Element::Exception(_)
            | Element::ExceptionReturn
            | Element::NoCode { .. }
            | Element::DataAccess(_)
            | Element::Transaction(_)
    )
}

impl<S: Sink> Sink for Committed<S> {
    fn element(&mut self, at: u64, element: Element) {
        match element {
            // A start inside a transaction discards nothing. (K10.5.4.2)
            Element::Transaction(Transaction::Start | Transaction::Inside) => {
                self.open = true;
                self.pending.push((at, element));
            }
            Element::Transaction(Transaction::Commit | Transaction::Cancelled) => {
                self.commit();
                self.sink.element(at, element);
            }
            // The end of the transaction may be in the gap.
            Element::Gap(Gap::Data) => self.sink.element(at, element),
            Element::Transaction(Transaction::Failure) | Element::Gap(_) | Element::End => {
                self.fail();
                self.sink.element(at, element);
            }
            _ if self.open => {
                self.pending.push((at, element));
                if self.pending.len() >= MAX_PENDING {
                    self.commit();
                }
            }
            _ => self.sink.element(at, element),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracewright_base::{Counted, Instruction, Last, Range};

    fn range(start: u64) -> Element {
        let last = Last::new(&Instruction { size: 4, ..Instruction::default() }, true);
        let cycles = Counted::UNKNOWN;
        Element::Range(Range { start, bytes: 4, instructions: 1, cycles, last })
    }

    fn passed(elements: &[Element]) -> Vec<Element> {
        let mut sink = Committed::new(Vec::new());
        for (at, &element) in elements.iter().enumerate() {
            sink.element(at as u64, element);
        }
        sink.sink.into_iter().map(|(_, element)| element).collect()
    }

    const START: Element = Element::Transaction(Transaction::Start);
    const COMMIT: Element = Element::Transaction(Transaction::Commit);
    const FAILURE: Element = Element::Transaction(Transaction::Failure);

    /// ETE Table K10-16.
    #[test]
    fn a_committed_transaction_is_passed_on_whole() {
        let all = [range(0), START, range(4), Element::Events(1), range(8), COMMIT, range(12)];
        assert_eq!(passed(&all), all);
    }

    /// ETE Table K10-17.
    #[test]
    fn a_failed_transaction_leaves_only_events() {
        let got = passed(&[range(0), START, range(4), Element::Events(1), FAILURE, range(4)]);
        assert_eq!(got, [range(0), Element::Events(1), FAILURE, range(4)]);
    }

    #[test]
    fn what_was_outside_of_a_transaction_is_passed_on() {
        let [inside, cancelled] =
            [Transaction::Inside, Transaction::Cancelled].map(Element::Transaction);
        let all = [inside, range(4), cancelled, range(8)];
        assert_eq!(passed(&all), all);
    }

    #[test]
    fn a_long_transaction_is_passed_on() {
        let mut elements = vec![range(4); MAX_PENDING];
        elements.insert(0, START);
        assert_eq!(passed(&elements), elements);
    }

    #[test]
    fn lost_trace_ends_a_transaction() {
        let gap = Element::Gap(Gap::Overflow);
        assert_eq!(passed(&[START, range(4), gap, range(8)]), [gap, range(8)]);
    }
}
