//! How long tasks run: each time, and from where they have waited in a function to where they wait
//! again. A task waits in a function where another one runs before it returns.

use std::collections::BTreeSet;

use super::activation::{Activation, Measured, Until};
use super::clock::{Event, Sum};
use super::collector::Timing;
use super::rows::Subject;
use super::statistics::Place;
use crate::stacks::{Begin, Ending, Position};
use crate::tasks::Tasks;

impl Timing {
    /// Measures tasks, too: their runs, and where `tasks` has functions in which they wait, what
    /// they do between two of these.
    #[must_use]
    pub fn with_tasks(mut self, tasks: Tasks) -> Timing {
        self.of_events = tasks.events().is_some();
        self.measured = Some(Box::new(Measured::new(tasks)));
        self
    }

    /// Whether the trace has instructions, and places in it their numbers.
    pub fn has_instructions(&self) -> bool {
        !self.of_events
    }

    /// The trace has no instructions, as that of an ITM: places have no number of one.
    #[must_use]
    pub fn without_instructions(mut self, of_events: bool) -> Timing {
        self.of_events = of_events;
        self
    }

    /// Measures the functions and exceptions of these threads only.
    #[must_use]
    pub fn of_threads(mut self, threads: BTreeSet<usize>) -> Timing {
        self.measured.get_or_insert_default().only = Some(threads);
        self
    }

    /// Whether the functions and exceptions of a thread are measured.
    pub(super) fn measures(&self, thread: usize) -> bool {
        let only = self.measured.as_ref().and_then(|measured| measured.only.as_ref());
        only.is_none_or(|only| only.contains(&thread))
    }

    /// A thread begins with its first instruction.
    pub(super) fn task_enters(&mut self, thread: usize) {
        if let Some(measured) = &mut self.measured {
            let task = measured.task(thread);
            task.fresh = !task.known;
        }
    }

    /// A source executes the thread of `position`, and executed another one, `old`, before.
    pub(super) fn task_runs(&mut self, position: &Position, old: Option<usize>) {
        // The trace ends: the threads end in turn, and none runs.
        if position.at == u64::MAX {
            return;
        }
        let Some(mut measured) = self.measured.take() else { return };
        let waits = measured.tasks.has_blocking();
        if let Some(old) = old {
            let first = !std::mem::replace(&mut measured.switched, true);
            let task = measured.task(old);
            let (run, known) = (task.run.take(), task.known);
            let active = if task.waiting > 0 { task.active.take() } else { None };
            if let Some(active) = active {
                self.close_task(position, old, active, true);
            }
            match run {
                Some(run) => self.close_task(position, old, run, true),
                // The first run of all began before the trace, as far as is known.
                None if first || known => self.unfinished(Subject::Run(old)),
                None => {}
            }
        }
        let new = position.thread;
        let task = *measured.task(new);
        if !task.known && waits && task.waiting == 0 {
            let active = self.open_task(position, Subject::Task(new), task.fresh);
            measured.task(new).active = Some(active);
        }
        if old.is_some() {
            let run = self.open_task(position, Subject::Run(new), true);
            measured.task(new).run = Some(run);
        }
        measured.task(new).known = true;
        self.measured = Some(measured);
    }

    /// A function begins. Returns whether the task may wait in it.
    pub(super) fn task_calls(&mut self, position: &Position, begin: &Begin) -> bool {
        let Some(measured) = &mut self.measured else { return false };
        let waits = measured.tasks.is_blocking(begin.function);
        measured.task(position.thread).waiting += u32::from(waits);
        waits
    }

    /// A function was entered before the trace of the thread. Returns whether the task waits in it.
    pub(super) fn task_waited(&mut self, position: &Position, begin: &Begin) -> bool {
        let waits = self.task_calls(position, begin);
        let active = match &mut self.measured {
            Some(measured) if waits => measured.task(position.thread).active.take(),
            _ => None,
        };
        if let Some(active) = active {
            self.close_task(position, position.thread, active, false);
        }
        waits
    }

    /// A function in which the task waited ends.
    pub(super) fn task_returns(&mut self, position: &Position, ending: Ending) {
        let Some(mut measured) = self.measured.take() else { return };
        let task = measured.task(position.thread);
        task.waiting = task.waiting.saturating_sub(1);
        if task.waiting == 0 && task.active.is_none() && ending != Ending::TraceEnd {
            let begins = matches!(ending, Ending::Return | Ending::UnseenCall);
            let active = self.open_task(position, Subject::Task(position.thread), begins);
            measured.task(position.thread).active = Some(active);
        }
        self.measured = Some(measured);
    }

    /// Whether an activation that ends so is a handler that continues in the function of a tail
    /// call, which executes in its place.
    pub(super) fn continues(&mut self, number: usize, ending: Ending) -> bool {
        let own = self.activations.get_mut(number).filter(|own| own.exception.is_some());
        let Some(own) = own.filter(|_| ending == Ending::Replaced) else { return false };
        own.replaced = true;
        true
    }

    /// The handler that ends with the activation above it, which ended so.
    pub(super) fn replaced_beneath(&self, thread: usize, ending: Ending) -> Option<usize> {
        let top = *self.threads.get(thread)?.open.last()?;
        let replaced = self.activations.get(top).is_some_and(|own| own.replaced);
        (replaced && !matches!(ending, Ending::Replaced | Ending::TooDeep)).then_some(top)
    }

    /// Trace is lost: the activations of a thread may end in it.
    pub(super) fn mark_lost(&mut self, position: &Position) {
        let now = self.source(position.source).moment();
        let task = self.measured.as_ref().and_then(|measured| measured.all.get(position.thread));
        let tasks = task.map_or([None; 2], |task| [task.active, task.run]);
        let Some(thread) = self.threads.get_mut(position.thread) else { return };
        thread.losses += 1;
        let levels = &self.levels;
        let mark = |own: &mut Activation| {
            let sum = levels.get(own.level).map_or(Sum::default(), |level| level.sum);
            own.lost = Some(Until {
                gross: now.since(own.begin).least,
                net: sum.least.saturating_sub(own.behind),
                own: own.own.least,
            });
        };
        for number in thread.open.iter().rev() {
            let Some(own) = self.activations.get_mut(*number) else { continue };
            // Those beneath are marked already.
            if own.lost.is_some() {
                break;
            }
            mark(own);
        }
        for number in tasks.into_iter().flatten() {
            if let Some(own) = self.activations.get_mut(number).filter(|own| own.lost.is_none()) {
                mark(own);
            }
        }
    }

    /// What is open at the end of the trace has no end.
    pub(super) fn finish_tasks(&mut self) {
        let Some(measured) = &mut self.measured else { return };
        let open: Vec<usize> = measured
            .all
            .iter_mut()
            .flat_map(|t| [t.active.take(), t.run.take()])
            .flatten()
            .collect();
        for number in open {
            if let Some(own) = self.activations.get(number).map(|own| own.row)
                && let Some(row) = self.rows.all.get_mut(own)
            {
                row.incomplete += 1;
            }
        }
    }

    fn unfinished(&mut self, subject: Subject) {
        let row = self.rows.number(subject);
        if let Some(row) = self.rows.all.get_mut(row) {
            row.incomplete += 1;
        }
    }

    /// An activation without a frame.
    fn open_task(&mut self, position: &Position, subject: Subject, begins: bool) -> usize {
        self.serial += 1;
        let row = self.rows.number(subject);
        let level = self.threads.get(position.thread).map_or(0, |thread| thread.level);
        let sum = self.levels.get(level).map_or(Sum::default(), |level| level.sum);
        let clock = self.source(position.source);
        let (moment, exact) = (clock.moment(), clock.exact && clock.now.is_some());
        let own = Activation {
            serial: self.serial,
            row,
            thread: position.thread,
            is_task: true,
            place: Place {
                source: position.source,
                at: position.at,
                instructions: position.instructions,
            },
            begins,
            begin: moment,
            level,
            before: sum,
            behind: if exact { sum.least } else { u64::MAX },
            ..Activation::default()
        };
        let number = self.insert(own);
        if exact {
            self.follow(number);
        } else {
            let serial = own.serial;
            self.source(position.source).events.push((Event::Begin(number), serial));
            self.bound(position.source);
        }
        number
    }

    /// An activation without a frame ends.
    fn close_task(&mut self, position: &Position, thread: usize, number: usize, ends: bool) {
        let clock = self.source(position.source);
        let (moment, exact) = (clock.moment(), clock.exact && clock.now.is_some());
        let level = self.threads.get(thread).map_or(0, |thread| thread.level);
        let least = self.levels.get(level).map_or(0, |level| level.sum.least);
        let Some(own) = self.activations.get_mut(number) else { return };
        own.end = moment;
        own.end_at = position.instructions;
        own.ends = ends;
        own.least = least;
        let serial = own.serial;
        if exact {
            self.ended(number, None);
        } else {
            self.source(position.source).events.push((Event::End(number), serial));
            self.bound(position.source);
        }
    }
}
