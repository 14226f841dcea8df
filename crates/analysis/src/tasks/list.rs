//! The threads of a trace, and the outermost function of each.

use super::Tasks;
use crate::code::FunctionId;
use crate::outermost::Outermost;
use crate::stacks::{Begin, Ending, Position, Visitor};

/// Receives the frames of [`Stacks`](crate::Stacks), and stores of them the outermost function of
/// each thread.
#[derive(Debug)]
pub struct ThreadList {
    threads: Vec<Thread>,
    tasks: Tasks,
}

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    source: usize,
    id: Option<u64>,
    outermost: Outermost,
    /// Callers that were found beneath its first frame.
    beneath: i32,
}

impl ThreadList {
    /// No threads. The functions beneath those of tasks are known by `tasks`.
    pub fn new(tasks: &Tasks) -> ThreadList {
        ThreadList { threads: Vec::new(), tasks: tasks.clone() }
    }

    /// The threads by number: the source that executed each first, and its identifier.
    pub fn threads(&self) -> impl Iterator<Item = (usize, Option<u64>)> + '_ {
        self.threads.iter().map(|thread| (thread.source, thread.id))
    }

    /// The outermost function of each thread, where there is only one.
    pub fn outermost(&self) -> Vec<Option<FunctionId>> {
        self.threads.iter().map(|thread| thread.outermost.function()).collect()
    }
}

impl Visitor for ThreadList {
    type Node = ();

    fn thread(&mut self, source: usize, thread: usize, id: Option<u64>) {
        if self.threads.len() <= thread {
            self.threads.resize(thread + 1, Thread::default());
        }
        if let Some(own) = self.threads.get_mut(thread) {
            (own.source, own.id) = (source, id);
        }
    }

    fn entered(&mut self, thread: usize, function: FunctionId) {
        if let Some(own) = self.threads.get_mut(thread)
            && !self.tasks.is_wrapper(function)
        {
            own.outermost.enter(function);
        }
    }

    fn begin(&mut self, position: &Position, (): (), begin: &Begin) {
        let Some(own) = self.threads.get_mut(position.thread) else { return };
        let depth = position.depth as i32 - own.beneath;
        if own.outermost.is_as_deep(depth) && !self.tasks.is_wrapper(begin.function) {
            own.outermost.add(depth, begin.function);
        }
    }

    fn end(&mut self, _: &Position, (): (), _: Ending, _: bool) {}

    fn beneath(&mut self, position: &Position, (): (), begin: &Begin) -> ((), ()) {
        if let Some(own) = self.threads.get_mut(position.thread) {
            own.beneath += 1;
            if !self.tasks.is_wrapper(begin.function) {
                own.outermost.add(-own.beneath, begin.function);
            }
        }
        ((), ())
    }

    fn run(&mut self, _: &Position, (): (), _: u64, _: u64) {}
}
