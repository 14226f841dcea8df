//! Handlers in the trace of an ETM.

use super::{Bounds, Handler};
use crate::stacks::{Begin, Ending, Entry, Position, Time, Visitor};

/// Receives the frames of [`Stacks`](crate::Stacks), and stores when handlers begin and end.
#[derive(Clone, Debug, Default)]
pub struct Activations {
    source: usize,
    handlers: Vec<Handler>,
    /// The handlers that have no later bound of their begin or of their end.
    begun: Vec<usize>,
    ended: Vec<usize>,
    now: Option<u64>,
    first: Option<u64>,
    losses: u32,
}

/// No handler.
const NONE: usize = usize::MAX;

impl Activations {
    /// Those of the source with this number.
    pub fn new(source: usize) -> Activations {
        Activations { source, ..Activations::default() }
    }

    /// The handlers in order of their begin.
    pub fn handlers(&self) -> &[Handler] {
        &self.handlers
    }

    /// The first and the last timestamp.
    pub fn extent(&self) -> Option<(u64, u64)> {
        self.first.zip(self.now)
    }
}

impl Visitor for Activations {
    type Node = usize;

    fn thread(&mut self, _: usize, _: usize, _: Option<u64>) -> usize {
        NONE
    }

    fn begin(&mut self, position: &Position, _: usize, begin: &Begin) -> usize {
        let Entry::Exception(number) = begin.entry else { return NONE };
        if position.source != self.source {
            return NONE;
        }
        let node = self.handlers.len();
        let bounds = Bounds { from: self.now, to: None };
        let (number, losses) = (Some(number), self.losses);
        let end = Bounds::default();
        self.handlers.push(Handler { number, begin: bounds, end, losses, named: None });
        self.begun.push(node);
        node
    }

    fn end(&mut self, position: &Position, node: usize, ending: Ending, _: bool) {
        let is_known =
            !matches!(ending, Ending::Lost | Ending::TraceEnd) && position.at != u64::MAX;
        if let Some(own) = self.handlers.get_mut(node).filter(|_| is_known) {
            own.end.from = self.now;
            self.ended.push(node);
        }
    }

    fn beneath(&mut self, _: &Position, root: usize, _: &Begin) -> (usize, usize) {
        (NONE, root)
    }

    fn run(&mut self, _: &Position, _: usize, _: u64, _: u64) {}

    fn time(&mut self, position: &Position, time: Time) {
        let Time::Timestamp(value @ 1..) = time else { return };
        if position.source != self.source {
            return;
        }
        for node in self.begun.drain(..) {
            if let Some(own) = self.handlers.get_mut(node) {
                own.begin.to = Some(value);
            }
        }
        for node in self.ended.drain(..) {
            if let Some(own) = self.handlers.get_mut(node) {
                own.end.to = Some(value);
            }
        }
        self.first.get_or_insert(value);
        self.now = Some(value);
    }

    fn lost(&mut self, position: &Position) {
        if position.source == self.source {
            self.losses += 1;
        }
    }
}
