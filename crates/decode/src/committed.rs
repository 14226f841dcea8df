//! Transactions that failed never happened.

use tracewright_base::{Element, Gap, Sink, Transaction};

/// Holds back what ran inside a transaction (FEAT_TME) until the transaction is committed, and
/// drops it where it failed. Time, counts, events and writes into the trace are real either way and
/// go on in their order. (ETE K10.5.4)
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Committed<S> {
    /// What receives the rest.
    pub sink: S,
    held: Vec<(u64, Element)>,
    open: bool,
}

impl<S: Sink> Committed<S> {
    /// Passes on to `sink`.
    pub fn new(sink: S) -> Self {
        Committed { sink, held: Vec::new(), open: false }
    }

    fn commit(&mut self) {
        self.open = false;
        for (at, element) in self.held.drain(..) {
            self.sink.element(at, element);
        }
    }

    fn fail(&mut self) {
        self.open = false;
        for (at, element) in self.held.drain(..).filter(|(_, e)| outlives(e)) {
            self.sink.element(at, element);
        }
    }
}

/// Whether a failed transaction leaves it standing.
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
            Element::Transaction(Transaction::Start | Transaction::Inside) => {
                // One that is open still was rolled back without a word.
                self.fail();
                self.open = true;
                self.held.push((at, element));
            }
            Element::Transaction(Transaction::Commit) => {
                self.commit();
                self.sink.element(at, element);
            }
            Element::Transaction(Transaction::Failure)
            | Element::Gap(Gap::Discard | Gap::Overflow)
            | Element::End => {
                self.fail();
                self.sink.element(at, element);
            }
            _ if self.open => self.held.push((at, element)),
            _ => self.sink.element(at, element),
        }
    }

    fn full(&self) -> bool {
        self.sink.full()
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
    fn a_committed_transaction_comes_whole() {
        let all = [range(0), START, range(4), Element::Events(1), range(8), COMMIT, range(12)];
        assert_eq!(passed(&all), all);
    }

    /// ETE Table K10-17.
    #[test]
    fn a_failed_transaction_leaves_only_what_was_real() {
        let got = passed(&[range(0), START, range(4), Element::Events(1), FAILURE, range(4)]);
        assert_eq!(got, [range(0), Element::Events(1), FAILURE, range(4)]);
    }

    #[test]
    fn lost_trace_ends_a_transaction() {
        let gap = Element::Gap(Gap::Overflow);
        assert_eq!(passed(&[START, range(4), gap, range(8)]), [gap, range(8)]);
    }
}
