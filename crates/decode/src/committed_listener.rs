//! Transactions that failed never happened, for a session.

use std::ops::Range;

use tracewright_base::{Element, Fault, Places, Sink};
use tracewright_frames::{Event, Frame};
use tracewright_protocols::registry::AnyPacket;

use crate::listener::pass_on;
use crate::{Committed, Fork, Listener};

/// A [`Committed`] for each source of a session. Packets and the link are as they were.
#[derive(Debug)]
pub struct CommittedListener<L> {
    /// What receives the rest.
    pub listener: L,
    sources: Vec<Committed<Vec<(u64, Element)>>>,
}

impl<L: Listener> CommittedListener<L> {
    /// Passes on to `listener`.
    pub fn new(listener: L) -> Self {
        CommittedListener { listener, sources: Vec::new() }
    }
}

impl<L: Listener> Listener for CommittedListener<L> {
    const PACKETS: bool = L::PACKETS;
    const FRAMES: bool = L::FRAMES;

    fn element(&mut self, source: usize, at: u64, element: Element) {
        if source >= self.sources.len() {
            self.sources.resize(source + 1, Committed::default());
        }
        let Some(committed) = self.sources.get_mut(source) else { return };
        committed.element(at, element);
        for (at, element) in committed.sink.drain(..) {
            self.listener.element(source, at, element);
        }
    }

    pass_on!(|this| Some(&mut this.listener));

    fn full(&self) -> bool {
        self.listener.full()
    }
}

/// It carries on what no transaction has decided yet.
impl<L: Fork> Fork for CommittedListener<L> {
    type State = (Vec<Committed<Vec<(u64, Element)>>>, L::State);
    type Said = L::Said;

    fn fork(&self) -> Self {
        CommittedListener { listener: self.listener.fork(), sources: Vec::new() }
    }

    fn state(&self) -> Self::State {
        (self.sources.clone(), self.listener.state())
    }

    fn resume(&mut self, (sources, state): Self::State) {
        self.sources = sources;
        self.listener.resume(state);
    }

    fn take(&mut self) -> Self::Said {
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
