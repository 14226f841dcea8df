//! Removes what ran in failed transactions from the output of a session.

use tracewright_base::{Batch, Custom, Element, Sink};

use crate::committed::Committed;
use crate::element_list::ElementList;
use crate::fork::{Fork, Received, Size};
use crate::listener::{Event, Listener, Wants, each_element};

/// A [`Committed`] for each source of a session. Packets and link events are passed on unchanged.
///
/// Whether transactions are delayed at all is chosen at run time, so that a session has one set of
/// decoders for both. Listings do so. A listener that does very little is faster without this
/// wrapper: the choice at run time prevents the compiler from holding such a listener's sums in
/// registers.
#[derive(Debug)]
pub struct CommittedListener<L> {
    /// Receives the remaining elements.
    pub listener: L,
    /// Nothing is delayed.
    passes: bool,
    sources: Vec<Committed<ElementList>>,
    /// The source whose elements are being passed on, and how many of them were.
    passing: (usize, usize),
}

/// Elements of a transaction that are passed on before output is taken.
const AT_ONCE: usize = 1 << 8;

impl<L: Listener> CommittedListener<L> {
    /// Passes committed elements on to `listener`.
    pub fn new(listener: L) -> Self {
        CommittedListener::when(true, listener)
    }

    /// Passes on to `listener`: committed elements, or, where that is not `wanted`, every element
    /// at once.
    pub fn when(wanted: bool, listener: L) -> Self {
        CommittedListener { listener, passes: !wanted, sources: Vec::new(), passing: (0, 0) }
    }

    #[cold]
    #[inline(never)]
    fn delay(&mut self, source: usize, put: impl FnOnce(&mut Committed<ElementList>)) {
        if source >= self.sources.len() {
            self.sources.resize(source + 1, Committed::default());
        }
        let Some(committed) = self.sources.get_mut(source) else { return };
        put(committed);
        self.passing = (source, 0);
    }

    /// Passes on the next elements that are not withheld any more, at most `most`, own content as
    /// [`Listener::custom`]. `receive` receives the others, and returns whether it has stopped
    /// within an element. Returns whether there are more elements.
    fn pass(&mut self, most: usize, mut receive: impl FnMut(&mut L, Received) -> bool) -> bool {
        let (source, passed) = self.passing;
        let Some(committed) = self.sources.get_mut(source) else { return false };
        let list = &committed.sink;
        for (n, &(at, element)) in list.elements().iter().enumerate().skip(passed) {
            if n - passed == most {
                self.passing.1 = n;
                return true;
            }
            if let Element::Custom(custom) = element {
                self.listener.custom(source, at, custom, list.content(n));
            } else if receive(&mut self.listener, Received { source, at, element }) {
                self.passing.1 = n + 1;
                return true;
            }
        }
        committed.sink.clear();
        self.passing.1 = 0;
        false
    }

    fn pass_all(&mut self) {
        self.pass(usize::MAX, |listener, Received { source, at, element }| {
            listener.element(source, at, element);
            false
        });
    }
}

impl<L: Listener> Listener for CommittedListener<L> {
    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if self.passes {
            self.listener.element(source, at, element);
        } else {
            self.delay(source, |committed| committed.element(at, element));
            self.pass_all();
        }
    }

    fn custom(&mut self, source: usize, at: u64, custom: Custom, bytes: &[u8]) {
        if self.passes {
            self.listener.custom(source, at, custom, bytes);
        } else {
            self.delay(source, |committed| committed.custom(at, custom.kind, bytes));
            self.pass_all();
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        match self.passes {
            true => self.listener.batch(batch),
            false => each_element(self, batch),
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        self.listener.event(event);
    }

    fn wants(&self) -> Wants {
        self.listener.wants()
    }

    fn full(&self) -> bool {
        self.listener.full()
    }
}

/// The state has the elements of transactions that are still open.
impl<L: Listener + Fork> Fork for CommittedListener<L> {
    type State = (Vec<Committed<ElementList>>, L::State);
    type Output = L::Output;

    fn fork(&self) -> Self {
        CommittedListener::when(!self.passes, self.listener.fork())
    }

    fn state(&self) -> Self::State {
        (self.sources.clone(), self.listener.state())
    }

    fn resume(&mut self, (sources, state): Self::State) {
        self.sources = sources;
        self.listener.resume(state);
    }

    fn take(&mut self) -> Self::Output {
        self.listener.take()
    }

    #[inline]
    fn size(&self) -> Size {
        let mut size = self.listener.size();
        size.state += self.sources.iter().map(Committed::weight).sum::<usize>();
        size
    }

    #[inline]
    fn receive(&mut self, next: Option<Received>) -> bool {
        match next {
            _ if self.passes => return self.listener.receive(next),
            Some(Received { source, at, element }) => {
                self.delay(source, |committed| committed.element(at, element));
            }
            None if self.listener.receive(None) => return true,
            None => {}
        }
        self.pass(AT_ONCE, |listener, received| listener.receive(Some(received)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracewright_base::Transaction;

    struct Elements(Vec<(usize, Element)>);

    impl Listener for Elements {
        fn element(&mut self, source: usize, _at: u64, element: Element) {
            self.0.push((source, element));
        }
    }

    #[test]
    fn elements_pass_at_once_where_not_wanted() {
        for wanted in [false, true] {
            let mut listener = CommittedListener::when(wanted, Elements(Vec::new()));
            let start = Element::Transaction(Transaction::Start);
            listener.element(0, 0, start);
            let want: &[_] = if wanted { &[] } else { &[(0, start)] };
            assert_eq!(listener.listener.0, want);
        }
    }

    #[test]
    fn each_source_has_its_own_transactions() {
        let mut committed = CommittedListener::new(Elements(Vec::new()));
        let (start, failure) = (Transaction::Start, Transaction::Failure);
        committed.element(0, 0, Element::Transaction(start));
        committed.element(0, 1, Element::ExceptionReturn);
        committed.element(1, 2, Element::ExceptionReturn);
        committed.element(0, 3, Element::Transaction(failure));
        let want = [(1, Element::ExceptionReturn), (0, Element::Transaction(failure))];
        assert_eq!(committed.listener.0, want);
    }
}
