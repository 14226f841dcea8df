//! A sink behind a pointer. It avoids compiling rarely used combinations for each sink.

use std::any::Any;
use std::mem;

use tracewright::base::Range;
use tracewright::decode::{Fork, Merge};
use tracewright::{Element, Listener};

/// A sink of sums. Its output is the sink itself: see [`downcast`].
pub struct Erased(Box<dyn Sums>);

/// The object-safe part of a sink.
pub trait Sums: Send {
    fn enter_source(&mut self, source: usize);

    fn element(&mut self, source: usize, at: u64, element: Element);

    fn repeat_path(&mut self, source: usize, at: u64, ranges: &[Range], times: u64);

    /// An empty sink of the same type.
    fn fresh(&self) -> Box<dyn Sums>;

    fn any(self: Box<Self>) -> Box<dyn Any>;
}

impl<L: Listener + Merge + Send + 'static> Sums for L {
    fn enter_source(&mut self, source: usize) {
        Listener::enter_source(self, source);
    }

    fn element(&mut self, source: usize, at: u64, element: Element) {
        Listener::element(self, source, at, element);
    }

    fn repeat_path(&mut self, source: usize, at: u64, ranges: &[Range], times: u64) {
        Listener::repeat_path(self, source, at, ranges, times);
    }

    fn fresh(&self) -> Box<dyn Sums> {
        Box::new(L::default())
    }

    fn any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl Erased {
    /// An empty `L`.
    pub fn new<L: Listener + Merge + Send + 'static>() -> Erased {
        Erased(Box::new(L::default()))
    }
}

/// The `L` in the output of an [`Erased`].
pub fn downcast<L: Default + 'static>(output: Box<dyn Sums>) -> L {
    output.any().downcast().map_or_else(|_| L::default(), |sink| *sink)
}

impl Listener for Erased {
    const PACKETS: bool = false;

    fn enter_source(&mut self, source: usize) {
        self.0.enter_source(source);
    }

    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.0.element(source, at, element);
    }

    fn repeat(&mut self, source: usize, at: u64, range: Range, times: u32) {
        self.0.repeat_path(source, at, &[range], times.into());
    }

    fn repeat_path(&mut self, source: usize, at: u64, ranges: &[Range], times: u64) {
        self.0.repeat_path(source, at, ranges, times);
    }
}

impl Fork for Erased {
    type State = ();
    type Output = Box<dyn Sums>;
    const GROWS: bool = false;

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
