//! The window of each source, and what executes in it.

use tracewright_scan::prefetch;

use super::{Thread, Timing};
use crate::stacks::Position;
use crate::timing::clock::{Clock, Event, SourceClock};

/// Events ahead of the one that is followed whose rows are prefetched.
const AHEAD: usize = 8;

impl Timing {
    #[inline]
    pub(in super::super) fn source(&mut self, source: usize) -> &mut SourceClock {
        if source >= self.sources.len() {
            self.add_sources(source);
        }
        &mut self.sources[source]
    }

    /// Adds the sources up to this one.
    #[cold]
    fn add_sources(&mut self, source: usize) {
        let first = (self.clock == Clock::Instructions).then_some(0);
        while source >= self.sources.len() {
            let epoch = self.epoch();
            self.sources.push(SourceClock {
                now: first,
                epoch,
                exact: first.is_some(),
                ..SourceClock::default()
            });
        }
    }

    /// The epoch of a source. Timestamps of all sources are those of one clock.
    fn epoch(&mut self) -> u32 {
        if self.clock != Clock::Timestamps {
            self.epochs += 1;
        }
        self.epochs
    }

    /// The activation on top of the thread executes from here on.
    pub(super) fn execute_top(&mut self, source: usize, thread: usize) {
        let (top, level) = self.top(thread);
        self.execute(source, top, level);
        self.source(source).executes_top = true;
    }

    /// Another activation executes from here on, or none.
    pub(super) fn execute(&mut self, source: usize, top: Option<usize>, level: Option<usize>) {
        let clock = self.source(source);
        clock.executes_top = false;
        let (exact, before, level_before) = (clock.exact, clock.top, clock.level);
        if before == top && level_before == level {
            return;
        }
        (clock.top, clock.level) = (top, level);
        if exact {
            return;
        }
        if before != top {
            self.part(source, before);
            self.part(source, top);
        }
        if level_before != level {
            self.part_of_level(source, level_before);
            self.part_of_level(source, level);
        }
    }

    /// The activation executes for a part of the window.
    fn part(&mut self, source: usize, number: Option<usize>) {
        let Some(number) = number else { return };
        let window = Some((source, self.source(source).window));
        let Some(own) = self.activations.get_mut(number) else { return };
        if own.part != window {
            own.part = window;
            let serial = own.serial;
            self.source(source).parts.push((number, serial));
        }
    }

    /// The level executes for a part of the window.
    fn part_of_level(&mut self, source: usize, number: Option<usize>) {
        let Some(number) = number else { return };
        let window = Some((source, self.source(source).window));
        let Some(own) = self.levels.get_mut(number) else { return };
        if own.part != window {
            own.part = window;
            self.source(source).levels.push(number);
        }
    }

    /// Bounds what waits for the end of the window.
    pub(in super::super) fn bound(&mut self, source: usize) {
        if self.source(source).events.len() >= self.most_events {
            self.close(source, None, None);
        }
    }

    /// The window of a source ends. Its duration, and the value of the clock; `None` if they are
    /// not known.
    pub(super) fn close(&mut self, source: usize, duration: Option<u64>, now: Option<u64>) {
        let clock = self.source(source);
        let (top, level) = (clock.top, clock.level);
        if clock.parts.is_empty() && clock.levels.is_empty() && clock.events.is_empty() {
            clock.now = now;
            clock.window += 1;
            return self.whole(top, level, duration);
        }
        let mut parts = std::mem::take(&mut clock.parts);
        let mut levels = std::mem::take(&mut clock.levels);
        let mut events = std::mem::take(&mut clock.events);
        clock.now = now;
        clock.window += 1;
        if top.is_some() || !parts.is_empty() {
            self.total = self.total.saturating_add(duration.unwrap_or(0));
        }
        if parts.is_empty()
            && let Some(own) = top.and_then(|top| self.activations.get_mut(top))
        {
            own.own.whole(duration);
        }
        for (number, serial) in parts.drain(..) {
            if let Some(own) = self.activations.get_mut(number)
                && own.serial == serial
            {
                own.own.part(duration);
            }
        }
        if levels.is_empty()
            && let Some(own) = level.and_then(|level| self.levels.get_mut(level))
        {
            own.sum.whole(duration);
        }
        for level in levels.drain(..) {
            if let Some(own) = self.levels.get_mut(level) {
                own.sum.part(duration);
            }
        }
        for at in 0..events.len() {
            if let Some((event, _)) = events.get(at + AHEAD)
                && let Some(own) = self.activations.get(event.number())
            {
                prefetch(&self.rows.recent, own.row);
            }
            match events.get(at) {
                Some(&(Event::Begin(number), serial)) => self.begun(number, serial, now),
                Some(&(Event::End(number), _)) => self.ended(number, now),
                None => {}
            }
        }
        events.clear();
        // The memory is used again.
        let clock = self.source(source);
        (clock.parts, clock.levels, clock.events) = (parts, levels, events);
    }

    /// A window ended in which one activation executed, or none.
    fn whole(&mut self, top: Option<usize>, level: Option<usize>, duration: Option<u64>) {
        if top.is_some() {
            self.total = self.total.saturating_add(duration.unwrap_or(0));
        }
        if let Some(own) = top.and_then(|top| self.activations.get_mut(top)) {
            own.own.whole(duration);
        }
        if let Some(own) = level.and_then(|level| self.levels.get_mut(level)) {
            own.sum.whole(duration);
        }
    }

    /// The clock of a source is not known for a while.
    pub(super) fn unknown(&mut self, source: usize) {
        self.close(source, None, None);
        let epoch = self.epoch();
        let first = (self.clock == Clock::Instructions).then_some(0);
        let clock = self.source(source);
        (clock.epoch, clock.exact, clock.now) = (epoch, first.is_some(), first);
    }

    /// The thread of `position` executes, on this source and no other.
    #[inline]
    pub(super) fn enter(&mut self, position: &Position) {
        if self.source(position.source).thread != Some(position.thread) {
            self.enter_thread(position);
        }
    }

    fn enter_thread(&mut self, position: &Position) {
        for source in 0..self.sources.len() {
            if source != position.source && self.source(source).thread == Some(position.thread) {
                self.source(source).thread = None;
                self.execute(source, None, None);
            }
        }
        let old = self.source(position.source).thread.replace(position.thread);
        self.task_runs(position, old);
        self.execute_top(position.source, position.thread);
    }

    /// The source reports something of the thread that it executed last, which may execute on
    /// another source since.
    pub(super) fn report(&mut self, position: &Position) {
        if self.sources.iter().all(|source| source.thread != Some(position.thread)) {
            self.enter(position);
        }
    }

    /// The activation on top of a thread, and its level.
    pub(super) fn top(&self, thread: usize) -> (Option<usize>, Option<usize>) {
        let Some(Thread { open, level, .. }) = self.threads.get(thread) else {
            return (None, None);
        };
        let top = open.last().copied();
        let own = top.and_then(|top| self.activations.get(top)).map_or(*level, |own| own.level);
        (top, Some(own))
    }
}
