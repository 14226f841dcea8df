//! Exceptions, and losses of trace.

use super::engine::function;
use super::frame::is_near;
use super::{Begin, Ending, Entry, FunctionId, Stacks, Visitor};
use crate::transfer::Transfer;

impl<V: Visitor> Stacks<V> {
    pub(super) fn exception(&mut self, source: usize, transfer: &Transfer) {
        self.settle(source, transfer.at);
        if self.top(source).is_none() {
            self.first(source, transfer.at);
        }
        self.counts.exceptions += 1;
        let begin = Begin {
            function: function(transfer, true),
            entry: Entry::Exception(transfer.exception),
            address: Some(transfer.target),
        };
        self.begin(source, transfer.at, begin, transfer.ret);
        if self.stores.is_some() {
            self.handler_stores(source, transfer.at);
        }
    }

    /// A handler ends, and another one begins in its place.
    pub(super) fn tail_chain(&mut self, source: usize, transfer: &Transfer) {
        self.settle(source, transfer.at);
        let frames = self.thread(source).map(|thread| thread.frames.as_slice());
        let index = frames.and_then(|frames| frames.iter().rposition(|f| f.exception));
        let mut ret = transfer.ret;
        let mut named = false;
        if let Some(index) = index {
            // The task that it has named continues where the other one returns.
            named = self.thread(source).is_some_and(|thread| thread.named == index);
            self.counts.exception_returns += 1;
            self.cut(source, transfer.at, index + 1, Ending::Unwound);
            let ended = self.end(source, transfer.at, Ending::Return);
            ret = ended.and_then(|frame| frame.ret);
        }
        self.exception(source, &Transfer { ret, ..*transfer });
        if let Some(thread) = self.thread_mut(source).filter(|_| named) {
            thread.named = thread.frames.len().saturating_sub(1);
        }
    }

    pub(super) fn exception_return(&mut self, source: usize, transfer: &Transfer) {
        self.settle(source, transfer.at);
        let (at, target) = (transfer.at, transfer.target);
        self.counts.exception_returns += 1;
        if self.task_continues(source, transfer) {
            return;
        }
        let Some(thread) = self.thread(source) else { return };
        let here = function(transfer, false);
        let top = thread.frames.iter().rposition(|frame| frame.exception);
        let back =
            thread.frames.iter().rposition(|frame| frame.exception && is_near(frame.ret, target));
        let under = top.and_then(|n| thread.frames.get(n.checked_sub(1)?)).map(|f| f.function);
        match (back, top) {
            (Some(index), _) => {
                self.cut(source, at, index + 1, Ending::Unwound);
                self.leave(source, at, here);
                self.may_switch(source, target);
            }
            // The handler continues elsewhere in the same function, as after a fault.
            (None, Some(index)) if under == Some(here) && here != FunctionId::Unknown => {
                self.cut(source, at, index + 1, Ending::Unwound);
                self.leave(source, at, here);
            }
            (None, Some(index)) => self.switch_at_exception(source, transfer, index),
            // The exception was taken before the trace began.
            (None, None) => match thread.executing(here) {
                Some(index) => self.cut(source, at, index + 1, Ending::UnseenCall),
                None => {
                    if self.thread(source).is_some_and(|thread| thread.frames.len() > 1) {
                        self.cut(source, at, 1, Ending::UnseenCall);
                    }
                    if self.top(source).is_none() {
                        self.first(source, at);
                    }
                    self.caller(source, at, here);
                }
            },
        }
    }

    /// An exception whose handler is not traced.
    pub(super) fn untraced(&mut self, source: usize, transfer: &Transfer) {
        self.settle(source, transfer.at);
        self.counts.exceptions += 1;
        if let Some(thread) = self.thread_mut(source) {
            thread.untraced = Some(transfer.ret);
        }
    }

    /// Execution continues after an exception whose handler is not traced, which returns to `ret`.
    /// The handler may have called a function, such as the handler of a signal, which is entered at
    /// its first instruction, and continues later where the exception was taken. Returns whether
    /// this is so.
    fn resumed(&mut self, source: usize, transfer: &Transfer, ret: Option<u64>) -> bool {
        let (at, target) = (transfer.at, transfer.target);
        let frames = self.thread(source).map_or(&[][..], |thread| thread.frames.as_slice());
        let back = frames.iter().rposition(|frame| frame.exception && frame.ret == Some(target));
        if ret == Some(target) && !frames.is_empty() {
            self.counts.exception_returns += 1;
        } else if let Some(index) = back {
            self.counts.exception_returns += 1;
            self.cut(source, at, index + 1, Ending::Unwound);
            self.end(source, at, Ending::Return);
        } else if transfer.entry && !frames.is_empty() {
            let (function, entry) = (function(transfer, true), Entry::Call);
            self.begin(source, at, Begin { function, entry, address: Some(target) }, ret);
            if let Some(frame) = self.thread_mut(source).and_then(|t| t.frames.last_mut()) {
                (frame.exception, frame.signal) = (true, true);
            }
        } else {
            return false;
        }
        true
    }

    /// Execution continues at the target, and it is not known what precedes.
    pub(super) fn enter(&mut self, source: usize, transfer: &Transfer) {
        let (at, target) = (transfer.at, transfer.target);
        self.settle(source, at);
        let here = function(transfer, false);
        let Some(thread) = self.thread_mut(source) else { return };
        let lost = std::mem::take(&mut thread.lost);
        if let Some(ret) = thread.untraced.take()
            && !lost
            && self.resumed(source, transfer, ret)
        {
            return;
        }
        let Some(thread) = self.thread_mut(source) else { return };
        let depth = thread.frames.len();
        if depth == 0 {
            let (entry, address) = (Entry::Before, transfer.entry.then_some(target));
            if transfer.entry
                && let Some(number) = self.sources.get(source).map(|own| own.current)
            {
                self.visitor.entered(number, here);
            }
            self.begin(source, at, Begin { function: here, entry, address }, None);
            return;
        }
        // The function that is left is executed again, or the caller of one.
        let executing = thread.executing(here);
        let continued = thread.returning_to(target);
        let depth_left = match (executing, continued) {
            (Some(own), Some(returned)) => Some((own + 1).max(returned)),
            (Some(own), None) => Some(own + 1),
            (None, Some(returned)) => Some(returned),
            (None, None) if here == FunctionId::Unknown => {
                // Without symbols the frame on top may go on.
                let top = thread.frames.last();
                top.is_some_and(|f| !matches!(f.function, FunctionId::Known(_))).then_some(depth)
            }
            (None, None) => None,
        };
        let ending = if lost { Ending::Lost } else { Ending::Return };
        if let Some(left) = depth_left {
            return self.cut(source, at, left, ending);
        }
        // A function that was entered while trace was lost replaces another such one.
        if thread.frames.last().is_some_and(|frame| frame.entry == Entry::Lost) {
            self.end(source, at, Ending::Lost);
        }
        let address = transfer.entry.then_some(target);
        let begin = Begin { function: here, entry: Entry::Lost, address };
        self.begin(source, at, begin, None);
    }

    pub(super) fn lost(&mut self, source: usize, at: u64) {
        self.settle(source, at);
        self.counts.losses += 1;
        if let Some(thread) = self.thread_mut(source) {
            thread.lost = true;
            thread.mark_uncertain();
        }
        let position = self.position(source, at);
        self.visitor.lost(&position);
        self.forget_task(source);
    }
}
