//! Threads that the trace does not name: tasks of an operating system without context identifiers,
//! and coroutines.
//!
//! A handler that returns elsewhere than to the interrupted instruction switches tasks. The task
//! that continues is the one that was interrupted at that address; among several, the one whose
//! frames return where it returns, and otherwise the one that waits longest.

use super::choice::Choice;
use super::engine::function;
use super::suspended::{MAX_SUSPENDED, MAX_SUSPENDED_FRAMES, Suspended};
use super::{Begin, Ending, Entry, Frame, FunctionId, Stacks, Visitor};
use crate::transfer::Transfer;

impl<V: Visitor> Stacks<V> {
    /// The threads of the source that continue at `address`; the one that waits longest is the
    /// first.
    pub(super) fn waiting_at(&self, source: usize, address: u64) -> Vec<usize> {
        let Some(own) = self.sources.get(source) else { return Vec::new() };
        let waits = |number: &usize| {
            let parked = self.threads.get(*number).and_then(|thread| thread.parked);
            *number != own.current && parked == Some(address)
        };
        let mut threads: Vec<usize> = own.threads.iter().copied().filter(waits).collect();
        threads.sort_by_key(|number| self.threads.get(*number).map(|t| t.since));
        threads
    }

    /// The current thread waits until execution continues at `resume`, and one of `waiting`
    /// continues, or a new one.
    fn park(&mut self, source: usize, resume: Option<u64>, waiting: Vec<usize>) {
        self.counts.switches += 1;
        let next = waiting.first().copied();
        let next = next.unwrap_or_else(|| self.add_thread(source, None));
        let choice = Choice::new(waiting, None);
        let open = choice.is_open(&self.threads);
        let Some(own) = self.sources.get_mut(source) else { return };
        own.switched += 1;
        own.choice = open.then(|| Box::new(choice));
        let (old, since) = (std::mem::replace(&mut own.current, next), own.switched);
        if let Some(thread) = self.threads.get_mut(old) {
            (thread.parked, thread.since) = (resume, since);
        }
        if let Some(thread) = self.threads.get_mut(next).filter(|_| !open) {
            thread.parked = None;
        }
    }

    /// A handler returns elsewhere than to the instruction that it interrupted. `index` is the
    /// frame of the handler.
    pub(super) fn switch_at_exception(&mut self, source: usize, transfer: &Transfer, index: usize) {
        let at = transfer.at;
        self.cut(source, at, index + 1, Ending::Unwound);
        let ended = self.end(source, at, Ending::Switched);
        let has_ids = self.sources.get(source).is_some_and(|own| own.has_ids);
        if has_ids {
            // The thread is the same: the handler of a signal, for example.
            let ret = ended.and_then(|frame| frame.ret);
            let known = self.thread(source).and_then(|t| t.executing(function(transfer, false)));
            match known.filter(|_| !transfer.entry) {
                Some(index) => self.cut(source, at, index + 1, Ending::Unwound),
                None => {
                    let begin = Begin {
                        function: function(transfer, transfer.entry),
                        entry: if transfer.entry { Entry::Call } else { Entry::Lost },
                        address: Some(transfer.target),
                    };
                    self.begin(source, at, begin, ret);
                    if let Some(frame) = self.thread_mut(source).and_then(|t| t.frames.last_mut()) {
                        frame.exception = true;
                    }
                }
            }
            return;
        }
        let resume = ended.and_then(|frame| frame.ret);
        let waiting = self.waiting_at(source, transfer.target);
        let is_new = waiting.is_empty();
        self.park(source, resume, waiting);
        if is_new {
            self.enter(source, transfer);
        }
    }

    /// A return in a function that switches tasks, to an address that no frame returns to. Returns
    /// whether another thread continues.
    pub(super) fn switch_at_return(&mut self, source: usize, transfer: &Transfer) -> bool {
        let Some(Frame { function: FunctionId::Known(function), ret, .. }) =
            self.thread(source).and_then(|thread| thread.frames.last()).copied()
        else {
            return false;
        };
        if !self.switches.functions.contains(&function) {
            return false;
        }
        self.end(source, transfer.at, Ending::Switched);
        let waiting = self.waiting_at(source, transfer.target);
        let is_new = waiting.is_empty();
        self.park(source, ret, waiting);
        if is_new {
            self.enter(source, transfer);
        }
        true
    }

    /// The frames from `first` on are about to be unwound. If they are those of a coroutine,
    /// execution continues after the frame on top.
    pub(super) fn suspend(&mut self, source: usize, first: usize) {
        let Some(thread) = self.thread(source) else { return };
        let Some(resume) = thread.frames.last().and_then(|frame| frame.ret) else { return };
        let frames = thread.frames.get(first..).unwrap_or_default();
        if !(2..=MAX_SUSPENDED_FRAMES).contains(&frames.len()) {
            return;
        }
        let frames: Vec<Suspended> =
            frames.iter().map(|f| Suspended { function: f.function, ret: f.ret }).collect();
        let Some(number) = self.sources.get(source).map(|own| own.current) else { return };
        *self.switches.waiting.entry(resume).or_default() += 1;
        self.switches.suspended.push_back((number, resume, frames));
        if self.switches.suspended.len() > MAX_SUSPENDED
            && let Some((_, resume, _)) = self.switches.suspended.pop_front()
        {
            self.switches.forget(resume);
        }
    }

    /// A return to where a coroutine was suspended: its frames continue above the current one.
    pub(super) fn resume_coroutine(&mut self, source: usize, transfer: &Transfer) -> bool {
        if !self.switches.waiting.contains_key(&transfer.target) {
            return false;
        }
        let Some(number) = self.sources.get(source).map(|own| own.current) else { return false };
        let found = self
            .switches
            .suspended
            .iter()
            .rposition(|(thread, resume, _)| *thread == number && *resume == transfer.target);
        let Some((_, resume, frames)) = found.and_then(|n| self.switches.suspended.remove(n))
        else {
            return false;
        };
        self.switches.forget(resume);
        // The function that switched ends. The frame on top of the coroutine did, too.
        let ended = self.end(source, transfer.at, Ending::Unwound);
        // The coroutine returns to where it was continued.
        let mut ret = ended.and_then(|frame| frame.ret);
        let count = frames.len().saturating_sub(1);
        for frame in frames.into_iter().take(count) {
            let (function, entry) = (frame.function, Entry::Resumed);
            let begin = Begin { function, entry, address: None };
            self.begin(source, transfer.at, begin, ret.take().or(frame.ret));
        }
        true
    }
}
