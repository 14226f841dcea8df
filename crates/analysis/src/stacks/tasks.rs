//! Tasks that a variable of the operating system names: its stores are in the trace.
//!
//! A scheduler writes the variable in a handler, and the task runs where the handler returns to a
//! task. So the thread does not depend on the address at which it continues, as it does without
//! such stores (`switches.rs`). What executes before the first store, and after trace of stores is
//! lost, belongs to a thread without identifier.

use super::engine::function;
use super::frame::is_near;
use super::suspended::Named;
use super::{Ending, Stacks, Visitor};
use crate::transfer::Transfer;

impl<V: Visitor> Stacks<V> {
    /// A store to the variable, or a context ID; without a value, after a loss of such stores, it
    /// is not known.
    pub(super) fn task_named(&mut self, source: usize, transfer: &Transfer) {
        self.settle(source, transfer.at);
        let Some(thread) = self.thread_mut(source) else { return };
        let handler = thread.frames.iter().position(|frame| frame.exception);
        let handler = handler.filter(|_| !thread.lost || !transfer.entry);
        let Some(own) = self.sources.get_mut(source) else { return };
        let Some(value) = transfer.ret else { return self.forget_task(source) };
        if transfer.entry {
            own.named.by_context |= value != 0;
            if handler.is_none() {
                own.named.value = Some(value);
                return self.context(source, transfer.at, value);
            }
        } else if own.named.by_context {
            return;
        }
        own.named.value = Some(value);
        if let (Some(index), Some(thread)) = (handler, self.thread_mut(source)) {
            thread.named = index;
        }
    }

    /// The task that runs is not known from here on.
    pub(super) fn forget_task(&mut self, source: usize) {
        let Some(own) = self.sources.get_mut(source) else { return };
        if own.named.by_context || own.named.value.is_none() {
            return;
        }
        own.named = Named::default();
        let current = own.current;
        let threads = own.threads.clone();
        for number in threads {
            if let Some(thread) = self.threads.get_mut(number) {
                thread.lost = true;
                thread.mark_uncertain();
            }
        }
        if self.threads.get(current).is_none_or(|thread| thread.id.is_none()) {
            return;
        }
        let unknown = self.unnamed(source);
        self.counts.switches += 1;
        if let Some(own) = self.sources.get_mut(source) {
            own.current = unknown;
            own.has_ids = false;
        }
    }

    /// The thread of what executes where the task is not known.
    fn unnamed(&mut self, source: usize) -> usize {
        let known = self.sources.get(source).and_then(|own| own.unknown);
        let number = known.unwrap_or_else(|| self.add_thread(source, None));
        if let Some(own) = self.sources.get_mut(source) {
            own.unknown = Some(number);
        }
        number
    }

    /// A handler returns. Returns whether the task that the variable names continues, and it is not
    /// the one that was interrupted.
    pub(super) fn task_continues(&mut self, source: usize, transfer: &Transfer) -> bool {
        let Some(own) = self.sources.get(source) else { return false };
        let Some(value) = own.named.value else { return false };
        let Some(thread) = self.threads.get(own.current) else { return false };
        let frames = &thread.frames;
        let mut handlers = frames.iter().enumerate().filter(|(_, frame)| frame.exception);
        // With another handler beneath it, no task continues.
        let (Some((index, frame)), None) = (handlers.next(), handlers.next()) else { return false };
        let interrupted = is_near(frame.ret, transfer.target);
        let pending = thread.named == index;
        let same = thread.id == Some(value);
        let here = function(transfer, false);
        let below = index.checked_sub(1).and_then(|n| frames.get(n)).map(|frame| frame.function);
        if !pending && (interrupted || below == Some(here)) {
            return false;
        }
        if same && value != 0 && interrupted {
            return false;
        }
        self.cut(source, transfer.at, index + 1, Ending::Unwound);
        let ended = self.end(source, transfer.at, Ending::Switched);
        let resume = ended.and_then(|frame| frame.ret);
        // A control block that is used again is another task, which begins.
        if same && value != 0 && !transfer.entry {
            self.enter(source, transfer);
            return true;
        }
        // The system starts its first task before it names one.
        let task = if same { None } else { Some(value) };
        let task = task.or((value != 0).then_some(value));
        self.switch_to(source, task, resume, transfer);
        true
    }

    /// The current thread waits until execution continues at `resume`, and the task with this
    /// value continues, or one that is not known.
    fn switch_to(
        &mut self,
        source: usize,
        value: Option<u64>,
        resume: Option<u64>,
        transfer: &Transfer,
    ) {
        let Some(own) = self.sources.get_mut(source) else { return };
        own.switched += 1;
        own.has_ids = true;
        let (since, old) = (own.switched, own.current);
        let known = value.and_then(|value| own.known.get(&value).copied());
        self.counts.switches += 1;
        if let Some(thread) = self.threads.get_mut(old) {
            (thread.parked, thread.since) = (resume, since);
        }
        let known = known.filter(|number| {
            let thread = self.threads.get(*number);
            // A task begins: the one that had the control block has ended.
            let begins = transfer.entry
                && thread.is_some_and(|own| {
                    !own.frames.is_empty() && own.parked != Some(transfer.target)
                });
            !begins
        });
        let number = match value {
            Some(_) => known.unwrap_or_else(|| self.add_thread(source, value)),
            None => self.unnamed(source),
        };
        if let Some(own) = self.sources.get_mut(source) {
            own.current = number;
            if let Some(value) = value {
                own.known.insert(value, number);
            }
        }
        let Some(thread) = self.threads.get_mut(number) else { return };
        let parked = thread.parked.take();
        let continues = !thread.frames.is_empty()
            && parked.is_some_and(|at| is_near(Some(at), transfer.target));
        if continues {
            thread.lost = false;
        } else {
            self.enter(source, transfer);
        }
    }
}
