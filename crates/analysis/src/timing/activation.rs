//! Activations: functions and exceptions from their begin to their end.

use std::collections::BTreeSet;

use tracewright_base::Interval;

use super::clock::{Moment, Sum};
use super::statistics::Place;
use crate::tasks::Tasks;

/// A thread at one depth of exceptions: what executes without being interrupted by another one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    pub(super) sum: Sum,
    /// The last window of which it executed a part: the source, and the number of the window.
    pub(super) part: Option<(usize, u64)>,
}

/// A bound of durations of an activation, found where trace was lost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Until {
    pub(super) gross: u64,
    pub(super) net: u64,
    pub(super) own: u64,
}

/// A frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Activation {
    /// Identifies it among those with the same number.
    pub(super) serial: u64,
    /// Its row, and that of its exception.
    pub(super) row: usize,
    pub(super) exception: Option<usize>,
    pub(super) thread: usize,
    /// It is that of a task, without a frame.
    pub(super) is_task: bool,
    pub(super) place: Place,
    /// Its begin is in the trace, and is that of the function.
    pub(super) begins: bool,
    /// Its end is in the trace, and is that of the function.
    pub(super) ends: bool,
    pub(super) begin: Moment,
    pub(super) end: Moment,
    /// Instructions of the source before its end.
    pub(super) end_at: u64,
    /// Its time as the activation that executes.
    pub(super) own: Sum,
    /// The last window of which it executed a part: the source, and the number of the window.
    pub(super) part: Option<(usize, u64)>,
    /// The level, its sum before, and the least one behind the window of the begin; `u64::MAX`
    /// until that window ends.
    pub(super) level: usize,
    pub(super) before: Sum,
    pub(super) behind: u64,
    /// The least sum of the level at its end.
    pub(super) least: u64,
    /// What is known at the first loss of trace inside.
    pub(super) lost: Option<Until>,
    /// The activation beneath.
    pub(super) parent: Option<usize>,
    /// A handler that a tail call has replaced: it ends where what it calls does.
    pub(super) replaced: bool,
    /// The task waits in it.
    pub(super) waits: bool,
    /// The longest exception that interrupted it.
    pub(super) longest: Option<(Interval, usize)>,
}

/// What is measured of a thread that is a task.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Task {
    /// The open activations: since a function in which it waits returned, and since it runs.
    pub(super) active: Option<usize>,
    pub(super) run: Option<usize>,
    /// The functions in which it waits that are open.
    pub(super) waiting: u32,
    /// It has run, and begins with its first instruction.
    pub(super) known: bool,
    pub(super) fresh: bool,
}

/// Measures the tasks, whose functions are known.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) tasks: Tasks,
    /// The threads whose functions and exceptions are measured.
    pub(super) only: Option<BTreeSet<usize>>,
    pub(super) all: Vec<Task>,
    /// A thread was switched.
    pub(super) switched: bool,
}

impl Measured {
    pub(super) fn new(tasks: Tasks) -> Measured {
        Measured { tasks, ..Measured::default() }
    }

    pub(super) fn task(&mut self, thread: usize) -> &mut Task {
        if thread >= self.all.len() {
            self.all.resize(thread + 1, Task::default());
        }
        &mut self.all[thread]
    }
}

/// The lesser of two bounds.
pub(super) fn lesser(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.zip(b).map(|(a, b)| a.min(b)).or(a).or(b)
}

/// Whether `duration` is longer than the longest one `before`.
pub(super) fn longer(duration: Interval, before: Interval) -> bool {
    let key = |own: Interval| (own.most.unwrap_or(u64::MAX), own.least);
    key(duration) > key(before)
}

/// The frame that an exception interrupted has its duration, `gross`; any other frame that of the
/// longest one that interrupted a frame above.
pub(super) fn interrupts(activations: &mut [Activation], own: &Activation, gross: Interval) {
    let longest = match own.exception {
        Some(row) => Some((gross, row)),
        None => own.longest,
    };
    let Some(parent) = own.parent.and_then(|parent| activations.get_mut(parent)) else { return };
    if let Some((duration, row)) = longest
        && parent.longest.is_none_or(|(before, _)| longer(duration, before))
    {
        parent.longest = Some((duration, row));
    }
}
