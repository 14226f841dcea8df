//! Transactions that failed never happened, for a session.

use std::ops::Range;

use tracewright_base::{self as base, Element, Fault, OffsetMap, Sink};
use tracewright_frames::{Event, Frame};
use tracewright_protocols::registry::AnyPacket;

use crate::listener::pass_on;
use crate::{Committed, Fork, Listener};

/// A [`Committed`] for each source of a session. Packets and the link are as they were.
///
/// Whether transactions are held back at all can be chosen at run time, so that a session has one
/// set of decoders for both. Listings do so. A sink that does next to nothing is better without:
/// the choice keeps its sums out of the processor's registers.
#[derive(Debug)]
pub struct CommittedListener<L> {
    /// What receives the rest.
    pub listener: L,
    /// Nothing is held back.
    passes: bool,
    sources: Vec<Committed<Vec<(u64, Element)>>>,
}

impl<L: Listener> CommittedListener<L> {
    /// Passes on to `listener`.
    pub fn new(listener: L) -> Self {
        CommittedListener::when(true, listener)
    }

    /// Passes on to `listener`: what is committed, or, where that is not `wanted`, everything as it
    /// comes.
    pub fn when(wanted: bool, listener: L) -> Self {
        CommittedListener { listener, passes: !wanted, sources: Vec::new() }
    }

    #[cold]
    #[inline(never)]
    fn hold(&mut self, source: usize, at: u64, element: Element) {
        if source >= self.sources.len() {
            self.sources.resize(source + 1, Committed::default());
        }
        let Some(committed) = self.sources.get_mut(source) else { return };
        committed.element(at, element);
        for (at, element) in committed.sink.drain(..) {
            self.listener.element(source, at, element);
        }
    }
}

impl<L: Listener> Listener for CommittedListener<L> {
    const PACKETS: bool = L::PACKETS;
    const FRAMES: bool = L::FRAMES;

    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if self.passes {
            self.listener.element(source, at, element);
        } else {
            self.hold(source, at, element);
        }
    }

    #[inline]
    fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32) {
        if self.passes {
            self.listener.repeat(source, at, range, times);
        } else {
            (0..times).for_each(|_| self.hold(source, at, Element::Range(range)));
        }
    }

    fn each_packet(&self) -> bool {
        self.listener.each_packet()
    }

    pass_on!(|this| Some(&mut this.listener));

    fn full(&self) -> bool {
        self.listener.full()
    }
}

/// It carries on what no transaction has decided yet.
impl<L: Fork> Fork for CommittedListener<L> {
    type State = (Vec<Committed<Vec<(u64, Element)>>>, L::State);
    type Output = L::Output;

    fn fork(&self) -> Self {
        let listener = self.listener.fork();
        CommittedListener { listener, passes: self.passes, sources: Vec::new() }
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

    fn weight(&self) -> usize {
        self.listener.weight()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracewright_base::Transaction;

    struct Seen(Vec<(usize, Element)>);

    impl Listener for Seen {
        fn element(&mut self, source: usize, _at: u64, element: Element) {
            self.0.push((source, element));
        }
    }

    #[test]
    fn whoever_does_not_want_it_gets_everything_as_it_comes() {
        for wanted in [false, true] {
            let mut listener = CommittedListener::when(wanted, Seen(Vec::new()));
            let start = Element::Transaction(Transaction::Start);
            listener.element(0, 0, start);
            let want: &[_] = if wanted { &[] } else { &[(0, start)] };
            assert_eq!(listener.listener.0, want);
        }
    }

    #[test]
    fn each_source_has_its_own_transactions() {
        let mut committed = CommittedListener::new(Seen(Vec::new()));
        let (start, failure) = (Transaction::Start, Transaction::Failure);
        committed.element(0, 0, Element::Transaction(start));
        committed.element(0, 1, Element::ExceptionReturn);
        committed.element(1, 2, Element::ExceptionReturn);
        committed.element(0, 3, Element::Transaction(failure));
        let want = [(1, Element::ExceptionReturn), (0, Element::Transaction(failure))];
        assert_eq!(committed.listener.0, want);
    }
}
