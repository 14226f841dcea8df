//! From transfers to frames.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::Arc;

use tracewright_symbols::UnwindTargets;

use super::buffers::Joined;
use super::choice::Choice;
use super::events::Events;
use super::frame::NOT_NAMED;
use super::stores::HandlerStores;
use super::suspended::{Named, Switches};
use super::{
    Begin, Beyond, Ending, Entry, Frame, FunctionId, MAX_DEPTH, MAX_FRAMES, Position, StackCounts,
    Thread, Time, Visitor,
};
use crate::transfer::{Kind, NO_FUNCTION, Transfer};

/// One source.
#[derive(Debug)]
pub(super) struct Source {
    /// The current thread, a number over all sources.
    pub(super) current: usize,
    /// The threads by their identifier.
    pub(super) known: HashMap<u64, usize>,
    /// All threads of the source.
    pub(super) threads: Vec<usize>,
    pub(super) instructions: u64,
    /// The function in which it executes.
    pub(super) here: FunctionId,
    /// Instructions and cycles in a stub, which belong to the function that follows.
    pub(super) deferred: Option<(u64, u64, Begin)>,
    /// Threads are known by identifiers in the trace.
    pub(super) has_ids: bool,
    pub(super) switched: u64,
    /// The thread that executes at the beginning of a buffer, and the one without an identifier,
    /// where buffers are joined.
    pub(super) first: Option<u64>,
    pub(super) unknown: Option<usize>,
    /// The task that a variable names.
    pub(super) named: Named,
    /// It is not known yet which thread continues.
    pub(super) choice: Option<Box<Choice>>,
}

impl Source {
    pub(super) fn new(current: usize, threads: Vec<usize>) -> Source {
        Source {
            current,
            known: HashMap::new(),
            threads,
            instructions: 0,
            here: FunctionId::Unknown,
            deferred: None,
            has_ids: false,
            switched: 0,
            first: None,
            unknown: None,
            named: Named::default(),
            choice: None,
        }
    }
}

/// The call stacks of all threads of all sources.
#[derive(Debug)]
pub struct Stacks<V: Visitor> {
    /// The visitor.
    pub visitor: V,
    pub(super) sources: Vec<Source>,
    pub(super) threads: Vec<Thread<V::Node>>,
    pub(super) switches: Switches,
    pub(super) unwind_targets: Arc<UnwindTargets>,
    /// The buffers are joined.
    pub(super) joined: Option<Box<Joined>>,
    /// Clock values with which the trace ends.
    pub(super) waiting: Vec<Transfer>,
    /// The sources are ITMs or STMs.
    pub(super) events: Option<Box<Events>>,
    /// What handlers store, by another trace.
    pub(super) stores: Option<Box<HandlerStores>>,
    /// What was found.
    pub counts: StackCounts,
}

/// The function with a number; [`NO_FUNCTION`] is none.
pub(super) const fn number_or_unknown(number: u32) -> FunctionId {
    if number == NO_FUNCTION { FunctionId::Unknown } else { FunctionId::Known(number) }
}

/// The function at the target of a transfer.
pub(super) fn function(transfer: &Transfer, called: bool) -> FunctionId {
    match transfer.function {
        NO_FUNCTION if called => FunctionId::At(transfer.target),
        number => number_or_unknown(number),
    }
}

impl<V: Visitor> Stacks<V> {
    /// Empty stacks of `sources` sources.
    pub fn new(sources: usize, visitor: V) -> Self {
        let mut stacks = Stacks {
            visitor,
            sources: Vec::new(),
            threads: Vec::new(),
            switches: Switches::default(),
            unwind_targets: Arc::default(),
            joined: None,
            waiting: Vec::new(),
            events: None,
            stores: None,
            counts: StackCounts::default(),
        };
        for source in 0..sources {
            let current = stacks.threads.len();
            let root = stacks.visitor.thread(source, current, None);
            stacks.threads.push(Thread::new(None, root));
            stacks.sources.push(Source::new(current, vec![current]));
        }
        stacks
    }

    /// Functions in which a return that returns to no frame continues another thread.
    #[must_use]
    pub fn with_switches(mut self, functions: impl IntoIterator<Item = u32>) -> Self {
        self.switches = std::mem::take(&mut self.switches).with_functions(functions);
        self
    }

    /// Where exceptions of C++ and panics of Rust continue.
    #[must_use]
    pub fn with_unwind_targets(mut self, targets: Arc<UnwindTargets>) -> Self {
        self.unwind_targets = targets;
        self
    }

    /// The next transfers, in order.
    pub fn transfers(&mut self, transfers: impl IntoIterator<Item = impl Borrow<Transfer>>) {
        transfers.into_iter().for_each(|transfer| self.transfer(transfer.borrow()));
    }

    pub(super) fn position(&self, source: usize, at: u64) -> Position {
        let Some(own) = self.sources.get(source) else { return Position::default() };
        let depth = self.threads.get(own.current).map_or(0, |thread| thread.frames.len());
        Position { at, source, thread: own.current, instructions: own.instructions, depth }
    }

    #[inline]
    fn transfer(&mut self, transfer: &Transfer) {
        match &self.joined {
            None => self.numbered(transfer),
            Some(joined) => {
                let transfer = joined.numbered(transfer);
                self.numbered(&transfer);
            }
        }
    }

    #[inline]
    pub(super) fn numbered(&mut self, transfer: &Transfer) {
        if !self.common(transfer) {
            self.any(transfer);
        }
    }

    /// Takes a call, a return to the return address of the frame on top, or an indirect branch in
    /// code without symbols: most transfers are one of these. Otherwise changes nothing, and
    /// returns `false`.
    #[inline]
    fn common(&mut self, transfer: &Transfer) -> bool {
        let source = usize::from(transfer.source);
        let Some(own) = self.sources.get_mut(source) else { return false };
        let Some(thread) = self.threads.get_mut(own.current) else { return false };
        let Some(top) = thread.frames.last() else { return false };
        let call = match transfer.kind {
            Kind::Call if !transfer.stub => true,
            Kind::Return
                if top.ret == Some(transfer.target)
                    && !top.exception
                    && !self.unwind_targets.is_target(transfer.target) =>
            {
                false
            }
            // It stays in the frame if no frame returns there.
            Kind::Indirect
                if transfer.function == NO_FUNCTION
                    && top.ret != Some(transfer.target)
                    && thread.returning_to(transfer.target).is_none() =>
            {
                false
            }
            _ => return false,
        };
        if own.deferred.is_some() || own.choice.is_some() {
            return false;
        }
        let full = thread.frames.len() >= MAX_DEPTH || self.counts.open() >= MAX_FRAMES;
        if thread.beyond.is_some() || call && full {
            return false;
        }
        let (instructions, cycles) = (transfer.instructions.into(), transfer.cycles.into());
        self.counts.instructions = self.counts.instructions.saturating_add(instructions);
        own.instructions = own.instructions.saturating_add(instructions);
        own.here = function(transfer, false);
        let mut position = Position {
            at: transfer.at,
            source,
            thread: own.current,
            instructions: own.instructions,
            depth: thread.frames.len(),
        };
        let (node, uncertain) = (top.node, top.uncertain);
        if instructions > 0 || cycles > 0 {
            self.visitor.run(&position, node, instructions, cycles);
        }
        if call {
            self.counts.calls += 1;
            self.counts.begun += 1;
            let (function, entry) = (function(transfer, true), Entry::Call);
            let begin = Begin { function, entry, address: Some(transfer.target) };
            let node = self.visitor.begin(&position, node, &begin);
            let (ret, exception, signal, uncertain) = (transfer.ret, false, false, false);
            thread.push(Frame { function, ret, node, entry, exception, signal, uncertain });
        } else if transfer.kind == Kind::Return {
            self.counts.returns += 1;
            self.counts.ended += 1;
            thread.pop();
            position.depth -= 1;
            self.visitor.end(&position, node, Ending::Return, uncertain);
        }
        true
    }

    fn any(&mut self, transfer: &Transfer) {
        let source = usize::from(transfer.source);
        if self.events.is_some() {
            return self.event(source, transfer);
        }
        if self.chooses(source, transfer)
            || self.joined.is_some() && !self.resolved(source, transfer)
        {
            return;
        }
        if transfer.instructions > 0 || transfer.cycles > 0 {
            self.run(source, transfer);
        }
        let at = transfer.at;
        match transfer.kind {
            Kind::Run => return,
            Kind::Timestamp => return self.time(source, at, Time::Timestamp(transfer.target)),
            Kind::Cycles => return self.time(source, at, Time::Cycles(transfer.target)),
            Kind::CyclesLost => return self.time(source, at, Time::CyclesLost),
            Kind::Context if self.joined.is_some() => {
                return self.joined_context(source, transfer);
            }
            Kind::Context => return self.context(source, at, transfer.target),
            Kind::Task => return self.task_named(source, transfer),
            Kind::Call => self.call(source, transfer, Entry::Call),
            Kind::Return | Kind::Swap => self.returned(source, transfer),
            Kind::Indirect => self.indirect(source, transfer),
            Kind::Jump => self.jump(source, transfer, Entry::TailCall),
            Kind::Fall => self.replace(source, at, transfer, Entry::Jump),
            Kind::Exception => self.exception(source, transfer),
            Kind::TailChain => self.tail_chain(source, transfer),
            Kind::ExceptionReturn => self.exception_return(source, transfer),
            Kind::Enter => self.enter(source, transfer),
            Kind::Untraced => return self.untraced(source, transfer),
            Kind::Lost => return self.lost(source, at),
            Kind::Dwt | Kind::Write | Kind::LocalTime => return,
        }
        if let Some(own) = self.sources.get_mut(source) {
            own.here = function(transfer, false);
        }
    }

    fn run(&mut self, source: usize, transfer: &Transfer) {
        let (instructions, cycles) = (transfer.instructions.into(), transfer.cycles.into());
        self.counts.instructions = self.counts.instructions.saturating_add(instructions);
        let Some(own) = self.sources.get_mut(source) else { return };
        own.instructions = own.instructions.saturating_add(instructions);
        if let Some((its, counted, _)) = &mut own.deferred {
            *its += instructions;
            *counted += cycles;
            return;
        }
        let node = match self.top(source) {
            Some(frame) => frame.node,
            None => self.first(source, transfer.at),
        };
        let position = self.position(source, transfer.at);
        self.visitor.run(&position, node, instructions, cycles);
    }

    pub(super) fn thread(&self, source: usize) -> Option<&Thread<V::Node>> {
        self.threads.get(self.sources.get(source)?.current)
    }

    pub(super) fn thread_mut(&mut self, source: usize) -> Option<&mut Thread<V::Node>> {
        self.threads.get_mut(self.sources.get(source)?.current)
    }

    pub(super) fn top(&self, source: usize) -> Option<&Frame<V::Node>> {
        self.thread(source)?.frames.last()
    }

    /// The first frame of a thread without frames: it began earlier.
    pub(super) fn first(&mut self, source: usize, at: u64) -> V::Node {
        let function = self.sources.get(source).map_or(FunctionId::Unknown, |own| own.here);
        self.begin(source, at, Begin { function, entry: Entry::Before, address: None }, None)
    }

    /// Begins a frame on top of the stack. Where as many frames are open as may be, it takes the
    /// place of the frame of the call before.
    pub(super) fn begin(
        &mut self,
        source: usize,
        at: u64,
        begin: Begin,
        ret: Option<u64>,
    ) -> V::Node {
        self.make_room(source, at);
        let position = self.position(source, at);
        let Some(thread) = self.threads.get_mut(position.thread) else {
            return self.visitor.thread(source, position.thread, None);
        };
        let parent = thread.frames.last().map_or(thread.root, |frame| frame.node);
        let node = self.visitor.begin(&position, parent, &begin);
        self.counts.begun += 1;
        let exception = matches!(begin.entry, Entry::Exception(_));
        let Begin { function, entry, .. } = begin;
        let signal = false;
        thread.push(Frame { function, ret, node, entry, exception, signal, uncertain: false });
        node
    }

    /// Ends the frame on top where its place is needed for the next call.
    fn make_room(&mut self, source: usize, at: u64) {
        let full = self.counts.open() >= MAX_FRAMES;
        let Some(thread) = self.thread_mut(source) else { return };
        let frames = thread.frames.len();
        let full = full || frames >= MAX_DEPTH;
        match &mut thread.beyond {
            Some(beyond) if frames > beyond.frames => beyond.calls += 1,
            Some(_) => return,
            None if full && frames > 0 => {
                thread.beyond = Some(Beyond { frames, calls: 1 });
                thread.mark_uncertain();
                return;
            }
            None => return,
        }
        self.counts.too_deep += 1;
        self.end(source, at, Ending::TooDeep);
    }

    /// The frame on top returns to `here`. Where the frame of its caller ended early, another one
    /// continues it.
    pub(super) fn leave(&mut self, source: usize, at: u64, here: FunctionId) {
        let beyond = self.thread(source).and_then(|thread| thread.beyond);
        self.end(source, at, Ending::Return);
        let Some(Beyond { frames, calls: calls @ 2.. }) = beyond else { return };
        let Some(thread) = self.thread_mut(source).filter(|t| t.frames.len() == frames) else {
            return;
        };
        thread.beyond = Some(Beyond { frames, calls: calls - 1 });
        let begin = Begin { function: here, entry: Entry::Resumed, address: None };
        self.begin(source, at, begin, None);
        if let Some(frame) = self.thread_mut(source).and_then(|thread| thread.frames.last_mut()) {
            frame.uncertain = true;
        }
    }

    /// Ends the frame on top of the stack.
    pub(super) fn end(&mut self, source: usize, at: u64, ending: Ending) -> Option<Frame<V::Node>> {
        let mut position = self.position(source, at);
        let thread = self.threads.get_mut(position.thread)?;
        let frame = thread.pop()?;
        // Another frame follows one that is replaced.
        let is_left = !matches!(ending, Ending::Replaced | Ending::TooDeep);
        if is_left && thread.frames.len() <= thread.named {
            thread.named = NOT_NAMED;
        }
        if is_left && thread.beyond.is_some_and(|beyond| thread.frames.len() <= beyond.frames) {
            thread.beyond = None;
        }
        position.depth -= 1;
        self.visitor.end(&position, frame.node, ending, frame.uncertain);
        self.counts.ended += 1;
        Some(frame)
    }

    /// Ends the frames above the first `depth`.
    pub(super) fn cut(&mut self, source: usize, at: u64, depth: usize, ending: Ending) {
        while self.thread(source).is_some_and(|thread| thread.frames.len() > depth) {
            self.end(source, at, ending);
        }
    }

    /// A stub that does something else than to continue in another function has a frame of its own.
    pub(super) fn settle(&mut self, source: usize, at: u64) {
        let deferred = self.sources.get_mut(source).and_then(|own| own.deferred.take());
        if let Some((instructions, cycles, begin)) = deferred {
            let ret = self.pending_return(source);
            let node = self.begin(source, at, begin, ret);
            let position = self.position(source, at);
            self.visitor.run(&position, node, instructions, cycles);
        }
    }

    /// The return address of the stub that was called.
    pub(super) fn pending_return(&mut self, source: usize) -> Option<u64> {
        self.switches.returns.get_mut(source).and_then(Option::take)
    }

    fn time(&mut self, source: usize, at: u64, time: Time) {
        let position = self.position(source, at);
        self.visitor.time(&position, time);
    }

    /// The trace reports the identifier of the thread.
    pub(super) fn context(&mut self, source: usize, at: u64, id: u64) {
        self.settle(source, at);
        let Some(own) = self.sources.get_mut(source) else { return };
        // A system that does not set the register leaves it 0.
        own.has_ids |= id != 0;
        own.named.by_context |= id != 0;
        if let Some(&known) = own.known.get(&id) {
            if known != own.current {
                own.current = known;
                self.counts.switches += 1;
            }
            return;
        }
        let current = own.current;
        own.known.insert(id, current);
        // The first identifier is that of the thread that executes already.
        if let Some(thread) = self.threads.get_mut(current)
            && thread.id.is_none()
        {
            thread.id = Some(id);
            let root = self.visitor.thread(source, current, Some(id));
            if let Some(thread) = self.threads.get_mut(current)
                && thread.frames.is_empty()
            {
                thread.root = root;
            }
            return;
        }
        let number = self.add_thread(source, Some(id));
        self.counts.switches += 1;
        if let Some(own) = self.sources.get_mut(source) {
            own.known.insert(id, number);
            own.current = number;
        }
    }

    /// Another thread of a source.
    pub(super) fn add_thread(&mut self, source: usize, id: Option<u64>) -> usize {
        let number = self.threads.len();
        let root = self.visitor.thread(source, number, id);
        self.threads.push(Thread::new(id, root));
        if let Some(own) = self.sources.get_mut(source) {
            own.threads.push(number);
        }
        number
    }

    /// Ends all frames: the trace ends.
    pub fn finish(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        // Those of joined buffers end each buffer, and not the trace.
        if self.joined.is_none() {
            self.transfers(waiting);
        }
        self.finish_events();
        for source in 0..self.sources.len() {
            let at = u64::MAX;
            self.choose(source);
            self.settle(source, at);
            let threads = self.sources.get(source).map(|own| own.threads.clone());
            for thread in threads.unwrap_or_default() {
                if let Some(own) = self.sources.get_mut(source) {
                    own.current = thread;
                }
                self.cut(source, at, 0, Ending::TraceEnd);
            }
        }
    }
}
