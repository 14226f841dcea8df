//! Frames of some threads only.

use std::collections::BTreeSet;

use crate::code::FunctionId;
use crate::stacks::{Begin, Ending, Position, Time, Visitor};

/// Passes the frames of some threads on to another visitor, and all threads, times and losses.
#[derive(Debug)]
pub struct OnlyThreads<V> {
    /// The other visitor.
    pub visitor: V,
    /// All of them for `None`.
    threads: Option<BTreeSet<usize>>,
}

impl<V> OnlyThreads<V> {
    /// The threads with these numbers; all of them for `None`.
    pub fn new(visitor: V, threads: impl Into<Option<BTreeSet<usize>>>) -> OnlyThreads<V> {
        OnlyThreads { visitor, threads: threads.into() }
    }

    fn has(&self, position: &Position) -> bool {
        self.threads.as_ref().is_none_or(|threads| threads.contains(&position.thread))
    }
}

impl<V: Visitor> Visitor for OnlyThreads<V> {
    type Node = V::Node;

    fn thread(&mut self, source: usize, thread: usize, id: Option<u64>) -> V::Node {
        self.visitor.thread(source, thread, id)
    }

    fn entered(&mut self, thread: usize, function: FunctionId) {
        self.visitor.entered(thread, function);
    }

    fn begin(&mut self, position: &Position, parent: V::Node, begin: &Begin) -> V::Node {
        if self.has(position) { self.visitor.begin(position, parent, begin) } else { parent }
    }

    fn end(&mut self, position: &Position, node: V::Node, ending: Ending, uncertain: bool) {
        if self.has(position) {
            self.visitor.end(position, node, ending, uncertain);
        }
    }

    fn beneath(&mut self, position: &Position, root: V::Node, begin: &Begin) -> (V::Node, V::Node) {
        if self.has(position) { self.visitor.beneath(position, root, begin) } else { (root, root) }
    }

    fn run(&mut self, position: &Position, node: V::Node, instructions: u64, cycles: u64) {
        if self.has(position) {
            self.visitor.run(position, node, instructions, cycles);
        }
    }

    fn time(&mut self, position: &Position, time: Time) {
        self.visitor.time(position, time);
    }

    fn lost(&mut self, position: &Position) {
        self.visitor.lost(position);
    }

    fn buffer(&mut self, source: usize) {
        self.visitor.buffer(source);
    }
}
