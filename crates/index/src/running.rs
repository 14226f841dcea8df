//! While some tasks run.

use std::sync::Arc;

use tracewright_analysis::tasks::{ThreadRun, ThreadRuns};

/// Where the tasks begin or end to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edge {
    /// Instructions of the source before it.
    instructions: u64,
    /// Elements without instructions at this place are after it from this offset on.
    at: u64,
    /// They run after it.
    runs: bool,
}

/// When some tasks of a buffer run: its sources are those of the session that decodes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Running {
    sources: Arc<[Vec<Edge>]>,
    /// Tracing begins again where they continue.
    separate: bool,
}

impl Running {
    /// While the threads run for which `chosen` holds.
    pub fn new(runs: &ThreadRuns, chosen: impl Fn(usize) -> bool) -> Running {
        let edges = |runs: &[ThreadRun]| {
            let mut edges: Vec<Edge> = Vec::new();
            for &ThreadRun { instructions, at, thread } in runs {
                let runs = chosen(thread);
                if edges.last().map_or(runs, |last| last.runs != runs) {
                    edges.push(Edge { instructions, at, runs });
                }
            }
            edges
        };
        Running { sources: runs.sources().map(edges).collect(), separate: false }
    }

    /// Where the tasks continue, tracing begins again: what is executed there does not follow what
    /// they executed before, for a listener that counts what follows what.
    #[must_use]
    pub fn separate(self) -> Running {
        Running { separate: true, ..self }
    }

    /// Whether tracing begins again where the tasks continue.
    pub(crate) const fn is_separate(&self) -> bool {
        self.separate
    }

    /// Whether they run while an instruction is executed, by its number among those of the source,
    /// from 1.
    pub fn has_instruction(&self, source: usize, number: u64) -> bool {
        let edges = self.sources.get(source).map_or(&[][..], Vec::as_slice);
        let passed = edges.partition_point(|edge| edge.instructions < number);
        passed.checked_sub(1).and_then(|last| edges.get(last)).is_some_and(|edge| edge.runs)
    }

    /// Whether they run at any time.
    pub fn is_ever(&self) -> bool {
        self.sources.iter().any(|edges| !edges.is_empty())
    }
}

/// Follows the elements of a buffer from its begin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Follower {
    running: Running,
    sources: Vec<Followed>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Followed {
    /// Instructions of the source so far.
    executed: u64,
    /// The edges that it has passed.
    passed: usize,
    runs: bool,
    /// The edges before the last packet.
    packets: usize,
}

impl Follower {
    pub(crate) fn new(running: &Running) -> Follower {
        let sources = vec![Followed::default(); running.sources.len()];
        Follower { running: running.clone(), sources }
    }

    /// Passes the edges before the next element of a source, at offset `at`. Returns whether the
    /// tasks run there, and the instructions up to the next edge.
    fn pass(&mut self, source: usize, at: u64, executes: bool) -> (bool, u64) {
        let (Some(edges), Some(own)) =
            (self.running.sources.get(source), self.sources.get_mut(source))
        else {
            return (false, u64::MAX);
        };
        while let Some(edge) = edges.get(own.passed) {
            let here = edge.instructions == own.executed && (executes || edge.at <= at);
            if edge.instructions >= own.executed && !here {
                return (own.runs, edge.instructions - own.executed);
            }
            own.runs = edge.runs;
            own.passed += 1;
        }
        (own.runs, u64::MAX)
    }

    /// Whether the tasks run at the next element of a source.
    pub(crate) fn has(&mut self, source: usize, at: u64, instructions: u64) -> bool {
        self.pass(source, at, instructions > 0).0
    }

    /// Whether the tasks run at a packet of a source, which may precede elements of those before
    /// it: its offset decides.
    pub(crate) fn has_packet(&mut self, source: usize, at: u64) -> bool {
        let (Some(edges), Some(own)) =
            (self.running.sources.get(source), self.sources.get_mut(source))
        else {
            return false;
        };
        let left = edges.get(own.packets..).unwrap_or_default();
        own.packets += left.iter().take_while(|edge| edge.at <= at).count();
        own.packets.checked_sub(1).and_then(|last| edges.get(last)).is_some_and(|edge| edge.runs)
    }

    /// Whether the tasks run while all of the next instructions of a source are executed, which are
    /// those of ranges. `None` where they run during a part of them.
    pub(crate) fn has_all(&mut self, source: usize, instructions: u64) -> Option<bool> {
        // Without instructions, the offset may decide.
        if instructions == 0 {
            return None;
        }
        let (runs, left) = self.pass(source, 0, true);
        (instructions <= left).then_some(runs)
    }

    /// Instructions of a source were executed.
    pub(crate) fn executed(&mut self, source: usize, instructions: u64) {
        if let Some(own) = self.sources.get_mut(source) {
            own.executed = own.executed.saturating_add(instructions);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_of_the_task_that_runs() {
        let edge = |instructions, at, runs| Edge { instructions, at, runs };
        let edges = vec![edge(0, 0, true), edge(10, 5, false), edge(15, 9, true)];
        let running = Running { sources: [edges, Vec::new()].into(), separate: false };
        assert!(running.is_ever());
        for (number, runs) in [(1, true), (10, true), (11, false), (15, false), (16, true)] {
            assert_eq!(running.has_instruction(0, number), runs, "{number}");
        }
        assert!(!running.has_instruction(1, 1) && !running.has_instruction(2, 1));
        let mut follower = Follower::new(&running);
        assert_eq!(follower.has_all(0, 11), None);
        assert_eq!(follower.has_all(0, 10), Some(true));
        assert!(!follower.has(1, 2, 7));
        assert!(follower.has(0, 2, 10));
        follower.executed(0, 10);
        // Between the tasks, the offset decides.
        assert_eq!(follower.has_all(0, 0), None);
        assert!(follower.has(0, 4, 0));
        assert!(!follower.has(0, 5, 0));
        assert!(!follower.has(0, 5, 1));
        follower.executed(0, 5);
        assert!(!follower.has(0, 8, 0));
        // A range is of the next task.
        assert!(follower.has(0, 8, 3));
        assert_eq!(follower.has_all(0, u64::MAX), Some(true));
        assert_eq!(follower.has_all(7, 1), Some(false));
        for (at, runs) in [(4, true), (5, false), (8, false), (9, true)] {
            assert_eq!(follower.has_packet(0, at), runs, "{at}");
        }
        assert!(!follower.has_packet(1, 4));
    }
}
