//! From events to frames.
//!
//! A scheduler names the task in a handler, and the task runs where the processor returns to Thread
//! mode, so that handlers that follow directly belong to the task that was interrupted. Without
//! exception packets, a task counts as running from where it is named.

use super::Event;
use crate::code::FunctionId;
use crate::local_time::Step;
use crate::stacks::{Begin, Ending, Entry, Stacks, Time, Visitor};

/// The frame of Thread mode.
const THREAD_MODE: FunctionId = FunctionId::Handler(0);

/// The most handlers that are open: more than the priorities of a processor.
const MAX_HANDLERS: usize = 512;

/// What is known of a source.
#[derive(Debug, Default)]
pub(super) struct State {
    begun: bool,
    /// The handlers that are open, above the frame of Thread mode.
    handlers: Vec<u16>,
    /// The value that the running task is named by, which takes effect at the return to Thread
    /// mode: it may be unknown.
    named: Option<Option<u64>>,
    /// Handlers name tasks.
    in_handlers: bool,
    /// Packets were lost, and since then the processor has not returned to Thread mode.
    lost: bool,
}

impl<V: Visitor> Stacks<V> {
    pub(super) fn apply(
        &mut self,
        source: usize,
        state: &mut State,
        traced: bool,
        step: &Step<Event>,
    ) {
        let at = match *step {
            Step::Point(at, _) | Step::Event(at, _) | Step::Lost(at) | Step::Unknown(at) => at,
        };
        if let Some(own) = self.sources.get_mut(source) {
            own.instructions = at;
        }
        if !std::mem::replace(&mut state.begun, true) {
            let unknown = self.sources.get(source).map(|own| own.current);
            if let Some(own) = self.sources.get_mut(source) {
                own.unknown = unknown;
            }
            self.runs(source, at, Entry::Before);
        }
        let position = self.position(source, at);
        match *step {
            Step::Point(_, time) => self.visitor.time(&position, Time::Timestamp(time)),
            Step::Unknown(_) => self.visitor.time(&position, Time::TimestampsLost),
            Step::Event(_, event) => self.happens(source, at, state, traced, event),
            Step::Lost(_) => self.packets_lost(source, at, state),
        }
    }

    fn happens(&mut self, source: usize, at: u64, state: &mut State, traced: bool, event: Event) {
        match event {
            Event::Entered(number) => self.handler(source, at, state, number),
            Event::Exited(number) => {
                if let Some(index) = state.handlers.iter().rposition(|own| *own == number) {
                    self.end_handlers(source, at, state, index + 1, Ending::Lost);
                    self.end_handlers(source, at, state, index, Ending::Return);
                }
            }
            Event::Returned(0) => {
                self.end_handlers(source, at, state, 0, Ending::Lost);
                state.lost = false;
                if let Some(value) = state.named.take() {
                    self.continue_task(source, at, value, Ending::Switched);
                }
            }
            Event::Returned(number) => {
                match state.handlers.iter().rposition(|own| *own == number) {
                    Some(index) => {
                        self.end_handlers(source, at, state, index + 1, Ending::Lost);
                    }
                    // Its entry is not in the trace: what it has interrupted is not known.
                    None => {
                        self.end_handlers(source, at, state, 0, Ending::Lost);
                        self.continue_task(source, at, None, Ending::Switched);
                        state.lost = true;
                    }
                }
            }
            Event::Named { value, by_software } => {
                self.named(source, at, state, traced, (value, by_software));
            }
        }
    }

    fn handler(&mut self, source: usize, at: u64, state: &mut State, number: u16) {
        if state.handlers.len() >= MAX_HANDLERS {
            self.end_handlers(source, at, state, 0, Ending::Lost);
        }
        self.executes(source, at);
        self.counts.exceptions += 1;
        state.handlers.push(number);
        let (function, entry) = (FunctionId::Handler(number), Entry::Exception(number));
        self.begin(source, at, Begin { function, entry, address: None }, None);
        self.executes(source, at);
    }

    /// Ends the handlers from number `from` on.
    fn end_handlers(
        &mut self,
        source: usize,
        at: u64,
        state: &mut State,
        from: usize,
        ending: Ending,
    ) {
        while state.handlers.len() > from {
            state.handlers.pop();
            self.executes(source, at);
            if ending == Ending::Lost {
                self.mark_uncertain(source);
            }
            self.end(source, at, ending);
            self.counts.exception_returns += 1;
            self.executes(source, at);
        }
    }

    /// The end of the handler on top is not in the trace: it was earlier.
    fn mark_uncertain(&mut self, source: usize) {
        if let Some(frame) = self.thread_mut(source).and_then(|thread| thread.frames.last_mut()) {
            frame.uncertain = true;
        }
    }

    /// The running task is named.
    fn named(
        &mut self,
        source: usize,
        at: u64,
        state: &mut State,
        traced: bool,
        (value, by_software): (Option<u64>, bool),
    ) {
        if !traced {
            return self.continue_task(source, at, value, Ending::Switched);
        }
        if !state.handlers.is_empty() {
            state.in_handlers = true;
            state.named = Some(value);
        } else if by_software {
            // A write may precede the packet of the handler in which it is: software has priority.
            state.named = Some(value);
            self.continue_task(source, at, None, Ending::Switched);
        } else if state.in_handlers && state.lost {
            state.named = Some(value);
        } else if state.in_handlers {
            // The system switches tasks in Thread mode, too.
            self.continue_task(source, at, value, Ending::Switched);
        }
        // Before the scheduler starts, the variable names tasks that do not run yet.
    }

    /// The task with this value continues, or one that is not known.
    fn continue_task(&mut self, source: usize, at: u64, value: Option<u64>, ending: Ending) {
        let Some(own) = self.sources.get(source) else { return };
        let known = match value {
            Some(value) => own.known.get(&value).copied(),
            None => own.unknown,
        };
        if known == Some(own.current) {
            return;
        }
        self.executes(source, at);
        self.end(source, at, ending);
        self.counts.switches += 1;
        let number = known.unwrap_or_else(|| self.add_thread(source, value));
        if let Some(own) = self.sources.get_mut(source) {
            own.current = number;
            if let Some(value) = value {
                own.known.insert(value, number);
            }
        }
        self.runs(source, at, if value.is_some() { Entry::Call } else { Entry::Before });
    }

    /// The current thread runs in Thread mode.
    fn runs(&mut self, source: usize, at: u64, entry: Entry) {
        let begin = Begin { function: THREAD_MODE, entry, address: None };
        self.begin(source, at, begin, None);
        self.executes(source, at);
    }

    /// The frame on top executes here. How many instructions is not known.
    fn executes(&mut self, source: usize, at: u64) {
        let Some(node) = self.top(source).map(|frame| frame.node) else { return };
        let position = self.position(source, at);
        self.visitor.run(&position, node, 0, 0);
    }

    fn packets_lost(&mut self, source: usize, at: u64, state: &mut State) {
        self.counts.losses += 1;
        let position = self.position(source, at);
        self.visitor.lost(&position);
        self.end_handlers(source, at, state, 0, Ending::Lost);
        self.continue_task(source, at, None, Ending::Lost);
        (state.named, state.lost) = (None, true);
    }
}
