//! When each thread of a trace executes.

use crate::stacks::{Begin, Ending, Position, Time, Visitor};

/// Where a thread of a source begins to execute, up to the next one of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadRun {
    /// Instructions of the source before it.
    pub instructions: u64,
    /// Elements without instructions at this place are of the thread from this offset on.
    pub at: u64,
    /// The number of the thread.
    pub thread: usize,
}

/// Receives the frames of [`Stacks`](crate::Stacks), and stores when each thread executes. Handlers
/// are of the thread that they interrupt, up to where they return to another one.
#[derive(Debug, Default)]
pub struct ThreadRuns {
    sources: Vec<Source>,
}

#[derive(Debug, Default)]
struct Source {
    runs: Vec<ThreadRun>,
    /// Instructions of the last thread and those before it.
    executed: u64,
    /// What has this offset or a later one is of the thread after it.
    edge: u64,
}

impl ThreadRuns {
    /// The runs of each source, in order.
    pub fn sources(&self) -> impl Iterator<Item = &[ThreadRun]> + '_ {
        self.sources.iter().map(|source| source.runs.as_slice())
    }

    fn source(&mut self, source: usize) -> &mut Source {
        if self.sources.len() <= source {
            self.sources.resize_with(source + 1, Source::default);
        }
        &mut self.sources[source]
    }

    /// The thread at `position` is the current one, up to the offset `edge`.
    fn see(&mut self, position: &Position, edge: u64) -> &mut Source {
        let own = self.source(position.source);
        // At the end of the trace, the frames of all threads end.
        if position.at == u64::MAX {
            return own;
        }
        if own.runs.last().is_none_or(|run| run.thread != position.thread) {
            let at = if own.runs.is_empty() { 0 } else { own.edge };
            let (instructions, thread) = (own.executed, position.thread);
            own.runs.push(ThreadRun { instructions, at, thread });
        }
        own.edge = own.edge.max(edge);
        own
    }
}

impl Visitor for ThreadRuns {
    type Node = ();

    fn thread(&mut self, source: usize, _: usize, _: Option<u64>) {
        self.source(source);
    }

    fn begin(&mut self, position: &Position, (): (), _: &Begin) {
        self.see(position, position.at);
    }

    fn end(&mut self, position: &Position, (): (), _: Ending, _: bool) {
        self.see(position, position.at);
    }

    fn beneath(&mut self, position: &Position, (): (), _: &Begin) -> ((), ()) {
        self.see(position, position.at);
        ((), ())
    }

    fn run(&mut self, position: &Position, (): (), _: u64, _: u64) {
        self.see(position, position.at).executed = position.instructions;
    }

    fn time(&mut self, position: &Position, _: Time) {
        self.see(position, position.at.saturating_add(1));
    }

    fn lost(&mut self, position: &Position) {
        self.see(position, position.at);
    }
}
