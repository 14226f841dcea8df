//! Any sink behind a pointer, so that what is rarely asked for is not compiled for each.

use std::any::Any;
use std::mem;

use tracewright::decode::{Fork, Merge};
use tracewright::{Element, Listener};

/// A sink that adds up. What it says is itself: see [`found`].
pub struct Erased(Box<dyn Sums>);

/// A sink, as far as a pointer can be one.
pub trait Sums: Send {
    fn element(&mut self, source: usize, at: u64, element: Element);

    /// One of the same kind that has seen nothing.
    fn fresh(&self) -> Box<dyn Sums>;

    fn any(self: Box<Self>) -> Box<dyn Any>;
}

impl<L: Listener + Merge + Send + 'static> Sums for L {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        Listener::element(self, source, at, element);
    }

    fn fresh(&self) -> Box<dyn Sums> {
        Box::new(L::default())
    }

    fn any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl Erased {
    /// An `L`.
    pub fn new<L: Listener + Merge + Send + 'static>() -> Erased {
        Erased(Box::new(L::default()))
    }
}

/// What an [`Erased`] `L` said.
pub fn found<L: Default + 'static>(said: Box<dyn Sums>) -> L {
    said.any().downcast().map_or_else(|_| L::default(), |found| *found)
}

impl Listener for Erased {
    const PACKETS: bool = false;

    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.0.element(source, at, element);
    }
}

impl Fork for Erased {
    type State = ();
    type Output = Box<dyn Sums>;

    fn fork(&self) -> Self {
        Erased(self.0.fresh())
    }

    fn state(&self) {}

    fn resume(&mut self, (): ()) {
        self.0 = self.0.fresh();
    }

    fn take(&mut self) -> Box<dyn Sums> {
        let fresh = self.0.fresh();
        mem::replace(&mut self.0, fresh)
    }
}
