//! Removes what ran in failed transactions.

use tracewright_base::{Element, Gap, Sink, Transaction};

use crate::element_list::ElementList;

/// Delays what ran inside a transaction (FEAT_TME) until the transaction is committed, and drops it
/// where the transaction failed. Timestamps, counts, events and software writes outlive a failed
/// transaction and stay in their order. (ETE K10.5.4)
///
/// A transaction of more than [`MAX_PENDING`] elements, or with as much own content, is passed on
/// as if it were committed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Committed<S> {
    /// Receives the remaining elements.
    pub sink: S,
    /// Elements of the open transaction.
    pending: ElementList,
    /// Whether a transaction is open.
    open: bool,
}

/// As many elements, or own content of their size in memory, are delayed: memory does not depend on
/// what the trace claims. A processor's transaction is limited by its caches, and ends at an
/// interrupt.
pub const MAX_PENDING: usize = 1 << 18;

/// The size of [`MAX_PENDING`] elements in bytes of memory.
const MAX_WEIGHT: usize = MAX_PENDING * size_of::<(u64, Element)>();

impl<S> Committed<S> {
    /// The size of the delayed elements in bytes of memory.
    pub fn weight(&self) -> usize {
        self.pending.weight()
    }
}

impl<S: Sink> Committed<S> {
    /// Passes elements on to `sink`.
    pub fn new(sink: S) -> Self {
        Committed { sink, pending: ElementList::default(), open: false }
    }

    fn commit(&mut self) {
        self.open = false;
        self.pending.pass(&mut self.sink, |_| true);
    }

    /// A transaction that is too long does not wait for its end.
    fn limit(&mut self) {
        if self.pending.weight() >= MAX_WEIGHT {
            self.commit();
        }
    }

    fn fail(&mut self) {
        self.open = false;
        self.pending.pass(&mut self.sink, outlives);
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
                self.pending.element(at, element);
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
                self.pending.element(at, element);
                self.limit();
            }
            _ => self.sink.element(at, element),
        }
    }

    fn custom(&mut self, at: u64, kind: &'static str, bytes: &[u8]) {
        if !self.open {
            return self.sink.custom(at, kind, bytes);
        }
        self.pending.custom(at, kind, bytes);
        self.limit();
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

    /// Own content outlives its transaction, with its bytes.
    #[test]
    fn own_content_has_its_bytes() {
        for end in [COMMIT, FAILURE] {
            let mut sink = Committed::new(ElementList::default());
            sink.custom(0, "outside", b"a");
            sink.element(1, START);
            sink.custom(2, "inside", b"bc");
            sink.element(3, range(4));
            sink.custom(4, "inside", b"");
            sink.element(5, end);
            let list = sink.sink;
            let all = list.elements().iter().enumerate();
            let own = all.filter(|(_, (_, element))| matches!(element, Element::Custom(_)));
            let got: Vec<_> = own.map(|(n, (at, _))| (*at, list.content(n))).collect();
            assert_eq!(got, [(0, &b"a"[..]), (2, b"bc"), (4, b"")], "{end:?}");
        }
    }

    /// The limit counts bytes, too.
    #[test]
    fn a_transaction_with_much_content_is_passed_on() {
        let mut sink = Committed::new(ElementList::default());
        sink.element(0, START);
        let large = vec![0; MAX_WEIGHT / 4];
        for n in 1..=4 {
            assert_eq!(sink.sink.elements().len(), 0, "{n}");
            sink.custom(n, "large", &large);
        }
        assert_eq!(sink.sink.elements().len(), 5);
        assert_eq!(sink.weight(), 0);
    }

    #[test]
    fn lost_trace_ends_a_transaction() {
        let gap = Element::Gap(Gap::Overflow);
        assert_eq!(passed(&[START, range(4), gap, range(8)]), [gap, range(8)]);
    }
}
