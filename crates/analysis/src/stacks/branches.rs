//! Calls, returns and branches out of a function.

use super::engine::function;
use super::{Begin, Ending, Entry, Frame, FunctionId, Stacks, Visitor};
use crate::transfer::{Kind, NO_FUNCTION, Transfer};

impl<V: Visitor> Stacks<V> {
    pub(super) fn call(&mut self, source: usize, transfer: &Transfer, entry: Entry) {
        self.settle(source, transfer.at);
        if self.top(source).is_none() {
            self.first(source, transfer.at);
        }
        self.counts.calls += 1;
        let begin =
            Begin { function: function(transfer, true), entry, address: Some(transfer.target) };
        if transfer.stub {
            self.switches.set_return(source, transfer.ret);
            if let Some(own) = self.sources.get_mut(source) {
                own.deferred = Some((0, 0, begin));
            }
            return;
        }
        self.begin(source, transfer.at, begin, transfer.ret);
    }

    /// The frame on top of the stack is replaced by one of the function at the target.
    pub(super) fn replace(&mut self, source: usize, at: u64, transfer: &Transfer, entry: Entry) {
        self.settle(source, at);
        if self.top(source).is_none() {
            self.first(source, at);
        }
        let called = entry == Entry::TailCall;
        if called {
            self.counts.tail_calls += 1;
        } else {
            self.counts.jumps += 1;
        }
        let Some(old) = self.end(source, at, Ending::Replaced) else { return };
        let function = function(transfer, called);
        let address = Some(transfer.target);
        self.begin(source, at, Begin { function, entry, address }, old.ret);
        if let Some(frame) = self.thread_mut(source).and_then(|thread| thread.frames.last_mut()) {
            (frame.exception, frame.signal) = (old.exception, old.signal);
            frame.uncertain = old.uncertain;
        }
    }

    /// A direct branch to another function.
    pub(super) fn jump(&mut self, source: usize, transfer: &Transfer, entry: Entry) {
        let deferred = self.sources.get_mut(source).and_then(|own| own.deferred.take());
        if let Some((instructions, cycles, begin)) = deferred {
            // The stub is a part of the function that it continues in.
            let ret = self.pending_return(source);
            if transfer.stub {
                self.switches.set_return(source, ret);
                if let Some(own) = self.sources.get_mut(source) {
                    own.deferred = Some((instructions, cycles, begin));
                }
                return;
            }
            let (function, address) = (function(transfer, true), Some(transfer.target));
            let begin = Begin { function, entry: begin.entry, address };
            let node = self.begin(source, transfer.at, begin, ret);
            let position = self.position(source, transfer.at);
            return self.visitor.run(&position, node, instructions, cycles);
        }
        if transfer.stub && self.top(source).is_some() {
            // A tail call through a stub.
            let Some(old) = self.end(source, transfer.at, Ending::Replaced) else { return };
            self.counts.tail_calls += 1;
            self.switches.set_return(source, old.ret);
            let (function, address) = (function(transfer, true), Some(transfer.target));
            if let Some(own) = self.sources.get_mut(source) {
                own.deferred = Some((0, 0, Begin { function, entry: Entry::TailCall, address }));
            }
            return;
        }
        let known = transfer.function != NO_FUNCTION;
        let entry = if transfer.entry || !known { entry } else { Entry::Jump };
        self.replace(source, transfer.at, transfer, entry);
    }

    pub(super) fn indirect(&mut self, source: usize, transfer: &Transfer) {
        let target = transfer.target;
        if self.sources.get(source).is_some_and(|own| own.deferred.is_some()) {
            return self.jump(source, transfer, Entry::TailCall);
        }
        if self.top(source).is_some_and(|frame| frame.ret == Some(target)) {
            return self.returned(source, transfer);
        }
        if transfer.function == NO_FUNCTION {
            // Without symbols it is not known where a function ends.
            if self.thread(source).is_some_and(|t| t.returning_to(target).is_some()) {
                self.returned(source, transfer);
            }
            return;
        }
        if transfer.entry {
            return self.jump(source, transfer, Entry::TailCall);
        }
        self.returned(source, transfer);
    }

    /// A return, or a branch that may be one.
    pub(super) fn returned(&mut self, source: usize, transfer: &Transfer) {
        let (at, target) = (transfer.at, transfer.target);
        self.settle(source, at);
        if self.top(source).is_none() {
            self.first(source, at);
        }
        let Some(thread) = self.thread(source) else { return };
        let depth = thread.frames.len();
        let Some(top) = thread.frames.last() else { return };
        // In the M profile, the return of a handler is the return from the exception.
        if top.exception && !top.signal && transfer.kind == Kind::Return {
            return self.exception_return(source, transfer);
        }
        let here = function(transfer, false);
        if self.unwind_targets.is_target(target)
            && let Some(index) = self.unwound_frame(source, here, target)
        {
            self.counts.unwinding += 1;
            self.cut(source, at, index + 1, Ending::Unwound);
        } else if top.ret == Some(target) || top.ret.is_none() && thread.is_beyond() {
            self.counts.returns += 1;
            self.leave(source, at, here);
        } else if self.switch_at_return(source, transfer) {
            // Another thread continues.
        } else if let Some(index) = self.thread(source).and_then(|t| t.returning_to(target)) {
            self.counts.unwinding += 1;
            self.suspend(source, index);
            self.cut(source, at, index + 1, Ending::Unwound);
            self.end(source, at, Ending::Return);
        } else if self.resume_coroutine(source, transfer) {
            self.counts.switches += 1;
        } else if self.top(source).is_some_and(|f| f.ret.is_none() && !f.exception) {
            self.counts.returns_of_unseen_calls += 1;
            let known = self.thread(source).and_then(|thread| thread.executing(here));
            match known.filter(|index| index + 1 < depth) {
                Some(index) => self.cut(source, at, index + 1, Ending::UnseenCall),
                None if depth == 1 => self.caller(source, at, here),
                None => {
                    self.end(source, at, Ending::UnseenCall);
                    let begin = Begin { function: here, entry: Entry::Lost, address: None };
                    self.begin(source, at, begin, None);
                }
            }
        } else if let Some(index) = self.thread(source).and_then(|thread| {
            thread.executing(here).filter(|index| !transfer.entry && index + 1 < depth)
        }) {
            self.counts.unwinding += 1;
            self.suspend(source, index + 1);
            self.cut(source, at, index + 1, Ending::Unwound);
        } else {
            self.counts.other_returns += 1;
            let entry = if transfer.entry { Entry::TailCall } else { Entry::Jump };
            let top = self.top(source).map(|frame| frame.function);
            // A branch in the function, or a return to it from another frame of it whose call was
            // not seen.
            if here == FunctionId::Unknown || top == Some(here) && !transfer.entry {
                return;
            }
            self.replace(source, at, transfer, entry);
        }
        if transfer.kind == Kind::Swap {
            let (function, address) = (function(transfer, true), Some(target));
            let begin = Begin { function, entry: Entry::Call, address };
            self.counts.calls += 1;
            self.begin(source, at, begin, transfer.ret);
        }
    }

    /// The frame of `function` in which an exception continues at a unwind target: the topmost one
    /// below another frame that it called at one of the calls of the unwind target.
    fn unwound_frame(&self, source: usize, function: FunctionId, target: u64) -> Option<usize> {
        let frames = self.thread(source)?.frames.as_slice();
        frames.windows(2).rposition(|pair| {
            let [frame, above] = pair else { return false };
            frame.function == function
                && above.ret.is_some_and(|ret| self.unwind_targets.is_target_of(target, ret))
        })
    }

    /// The only frame ends, and its caller, which began earlier, is found.
    pub(super) fn caller(&mut self, source: usize, at: u64, function: FunctionId) {
        self.end(source, at, Ending::UnseenCall);
        let position = self.position(source, at);
        let begin = Begin { function, entry: Entry::Before, address: None };
        let Some(thread) = self.threads.get_mut(position.thread) else { return };
        let (node, root) = self.visitor.beneath(&position, thread.root, &begin);
        self.counts.begun += 1;
        thread.root = root;
        thread.push(Frame {
            function,
            ret: None,
            node,
            entry: Entry::Before,
            exception: false,
            signal: false,
            uncertain: false,
        });
    }
}
