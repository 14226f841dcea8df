//! Transfers of control: from elements to what concerns functions.
//!
//! Instructions that stay in a function only count. What remains are calls, returns, branches out
//! of a function, exceptions, losses and times, each with the number of instructions before it.
//! They are found from neighbouring ranges alone, so that workers find them anywhere in a trace;
//! the call stack is made of them in order ([`Stacks`](crate::Stacks)).

mod blocks;
mod marks;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tracewright_base::{
    Access, Batch, Code as _, Context, Counted, Direction, Element, Gap, Isa, Kind as Effect, Last,
    Part as Executed, Pc, Range, Role, Start, TimeDelay, Turns,
};
use tracewright_decode::{Fork, Growth, Listener, Size};
use tracewright_image::{Cache, MemoryId};

use crate::code::Code;
use crate::code::{Finder, Place};
use crate::entered::Entered;
use crate::running::{EventTasks, Watched};
use crate::stacks::{Part, PartBuilder};
use crate::tasks::Tasks;
use crate::transfer::{Kind, NO_FUNCTION, Transfer, empty};
use crate::transfer_log::TransferLog;
use marks::{Marks, Walk};
pub use state::SourceState;
use state::{Before, Current, Pending, State};

/// Finds the transfers of all sources.
#[derive(Debug)]
pub struct Transfers {
    finder: Finder,
    /// For lengths of instructions.
    caches: Vec<Cache>,
    sources: Vec<Current>,
    /// The cached blocks of each source.
    marks: Vec<Marks>,
    entered: Vec<Entered>,
    /// Memory for the transfers between them.
    walk: Walk,
    found: TransferLog,
    /// Finds the frames of each part.
    frames: Option<PartBuilder>,
    /// The memory of the frames, in bytes.
    frames_weight: usize,
    /// The variables that name the running task.
    watched: Arc<[Watched]>,
    /// Context IDs name tasks, and a handler writes them before it returns to one.
    context_is_task: bool,
    /// What names the running task, where all sources are ITMs or STMs.
    events: Option<Arc<EventTasks>>,
}

impl Transfers {
    /// Finds transfers between the functions of `code`. `caches` have the instructions of each
    /// source.
    pub fn new(code: Code, caches: Vec<Cache>) -> Transfers {
        let sources = code.sources().max(caches.len());
        Transfers {
            finder: Finder::new(code),
            caches,
            sources: vec![Current::default(); sources],
            marks: vec![Marks::default(); sources],
            entered: vec![Entered::default(); sources],
            walk: Walk::default(),
            found: TransferLog::default(),
            frames: None,
            frames_weight: 0,
            watched: Arc::default(),
            context_is_task: false,
            events: None,
        }
    }

    /// Stores to the variables of `tasks` name the task that runs, and so do context IDs.
    #[must_use]
    pub fn watching(self, tasks: &Tasks) -> Transfers {
        let (watched, context_is_task) = (tasks.watched().into(), !tasks.watched().is_empty());
        let events = tasks.events().map(|events| Arc::new(events.clone()));
        Transfers { watched, context_is_task, events, ..self }
    }

    /// Finds the frames of each part, too: for [`Stacks::part`](crate::Stacks::part).
    #[must_use]
    pub fn with_frames(self) -> Transfers {
        let frames = Some(PartBuilder::new(self.finder.code().unwind_targets()));
        Transfers { frames, ..self }
    }

    /// A transfer at each source that executed since its last one: what was executed so far is
    /// before it. Returns the number of transfers of the part.
    pub fn mark(&mut self) -> usize {
        for source in 0..self.sources.len() {
            let pending = self.sources.get(source).map(|current| current.pending);
            if let Some(Pending { at, instructions, cycles }) = pending
                && instructions + cycles > 0
            {
                self.push(source, empty(source, at));
            }
        }
        self.found.len()
    }

    /// The frames have changed.
    fn weigh(&mut self) {
        self.frames_weight = self.frames.as_ref().map_or(0, PartBuilder::weight);
    }

    /// Appends a transfer.
    #[inline]
    fn add(&mut self, transfer: Transfer) {
        if let Some(frames) = &mut self.frames {
            frames.take(self.found.len(), &transfer);
        }
        self.found.push(transfer);
        self.weigh();
    }

    /// Appends a transfer, with the counts since the last one.
    #[inline]
    fn push(&mut self, source: usize, transfer: Transfer) {
        let Some(current) = self.sources.get_mut(source) else { return };
        let mut left = std::mem::take(&mut current.pending);
        if (left.instructions | left.cycles) > u32::MAX.into() {
            self.push_excess(source, &mut left);
        }
        let (instructions, cycles) = (left.instructions as u32, left.cycles as u32);
        self.add(Transfer { instructions, cycles, ..transfer });
    }

    /// Appends counts that do not fit into a transfer: they precede it.
    #[cold]
    fn push_excess(&mut self, source: usize, left: &mut Pending) {
        while left.instructions > u32::MAX.into() || left.cycles > u32::MAX.into() {
            let instructions = left.instructions.min(u32::MAX.into()) as u32;
            let cycles = left.cycles.min(u32::MAX.into()) as u32;
            left.instructions -= u64::from(instructions);
            left.cycles -= u64::from(cycles);
            self.add(Transfer { instructions, cycles, ..empty(source, left.at) });
        }
    }

    /// The memory that a source executes.
    pub(crate) fn memory(&self, source: usize) -> MemoryId {
        let selected = self.sources.get(source).and_then(|current| current.state.selection);
        selected.map_or_else(|| self.finder.code().start(source), |selection| selection.memory)
    }

    /// Follows what an element selects.
    fn select(&mut self, source: usize, element: &Element) {
        let Some(Current { state, stale, .. }) = self.sources.get_mut(source) else { return };
        *stale |= self.finder.code().follow(source, &mut state.selection, element);
    }

    /// A transfer to an address.
    #[inline]
    fn to(&mut self, source: usize, at: u64, kind: Kind, target: u64, ret: Option<u64>) {
        self.transfer_to(source, at, (kind, 0), target, ret);
    }

    /// The same with the number of an exception.
    #[inline]
    fn transfer_to(
        &mut self,
        source: usize,
        at: u64,
        (kind, exception): (Kind, u16),
        target: u64,
        ret: Option<u64>,
    ) {
        let Some(current) = self.sources.get_mut(source) else { return };
        let before = current.state.function;
        // All addresses of a function, or of code without one, are found as one.
        let within = current.state.within;
        if current.stale || target < within.0 || within.1 < target {
            let memory = self.memory(source);
            let Place { found, whole, stub } = self.finder.find(source, memory, target);
            let Some(current) = self.sources.get_mut(source) else { return };
            current.state.within = (found.start, found.last);
            current.state.function = found.function.unwrap_or(NO_FUNCTION);
            (current.stale, current.whole, current.stub) = (false, whole, stub);
        }
        let Some(current) = self.sources.get(source) else { return };
        let function = current.state.function;
        // A part of a function that is elsewhere.
        if function == before
            && before != NO_FUNCTION
            && matches!(kind, Kind::Jump | Kind::Indirect | Kind::Fall)
        {
            return;
        }
        let (entry, stub) = (current.whole && current.state.within.0 == target, current.stub);
        let rest = empty(source, at);
        self.push(source, Transfer { target, ret, function, kind, entry, stub, exception, ..rest });
    }

    /// Execution continues at `target` in a way that needs more than a comparison.
    fn follow(&mut self, source: usize, at: u64, target: u64) {
        let Some(Current { state, .. }) = self.sources.get(source) else { return };
        let (last, end) = match state.before {
            Before::Range(last, end) => (last, end),
            Before::Unknown | Before::Untraced => {
                return self.to(source, at, Kind::Enter, target, None);
            }
            Before::Exception(number, ret) => {
                return self.transfer_to(source, at, (Kind::Exception, number), target, ret);
            }
            Before::TailChain(number, ret) => {
                return self.transfer_to(source, at, (Kind::TailChain, number), target, ret);
            }
            Before::ExceptionReturn => {
                return self.to(source, at, Kind::ExceptionReturn, target, None);
            }
        };
        let Some(kind) = state.transfer(last, end, target) else { return };
        let ret = matches!(kind, Kind::Call | Kind::Swap).then_some(end);
        self.to(source, at, kind, target, ret);
    }

    #[inline(always)]
    fn range(&mut self, source: usize, at: u64, range: Range) {
        let Some(current) = self.sources.get_mut(source) else { return };
        let end = range.end();
        if current.stays(range.start, end) {
            return current.execute(at, &range, end);
        }
        if range.cycles.get().is_some() {
            return self.elsewhere(source, at, &range);
        }
        // In registers: behind a reference, the fields would be written to memory for each range.
        let counts = u64::from(range.bytes) | u64::from(range.instructions) << 32;
        self.plain_elsewhere(source, at, range.start, counts, range.last);
    }

    /// [`elsewhere`](Self::elsewhere) for a range without cycles. `counts`: length in bytes, bits
    /// \[31:0]; number of instructions, \[63:32].
    #[inline(never)]
    fn plain_elsewhere(&mut self, source: usize, at: u64, start: u64, counts: u64, last: Last) {
        let (bytes, instructions) = (counts as u32, (counts >> 32) as u32);
        let range = Range { start, bytes, instructions, cycles: Counted::UNKNOWN, last };
        self.elsewhere(source, at, &range);
    }

    /// A range that does not follow the last one in the function, or may run into another function.
    #[inline]
    fn elsewhere(&mut self, source: usize, at: u64, range: &Range) {
        let Some(current) = self.sources.get(source) else { return };
        if !current.expects(range.start) {
            self.continues_at(source, at, range);
        }
        let Some(current) = self.sources.get_mut(source) else { return };
        let end = range.end();
        if current.state.within.1 < end.wrapping_sub(1) {
            return self.leave(source, at, range);
        }
        current.execute(at, range, end);
    }

    /// A range that needs a transfer, or precedes clock values that wait.
    fn continues_at(&mut self, source: usize, at: u64, range: &Range) {
        self.follow(source, at, range.start);
        let Some(current) = self.sources.get_mut(source) else { return };
        // Where the range runs into another function, that may be before them, too.
        if current.state.within.1 < range.last_address() {
            current.forget_waiting();
        }
        self.release(source);
        if let Some(Current { state, pending, .. }) = self.sources.get_mut(source)
            && range.cycles.get().is_some()
        {
            pending.cycles = pending.cycles.saturating_add(std::mem::take(&mut state.merged));
        }
    }

    /// Appends the clock values that wait.
    fn release(&mut self, source: usize) {
        let Some(current) = self.sources.get_mut(source) else { return };
        for time in std::mem::take(&mut current.waiting) {
            self.push(source, time);
        }
    }

    /// A clock value. What happened at the end of the last range, such as a call, is before it, but
    /// known only where the next one begins.
    fn time(&mut self, source: usize, time: Transfer) {
        let Some(current) = self.sources.get_mut(source) else { return };
        let merged = match time.kind {
            Kind::Cycles | Kind::CyclesLost => std::mem::take(&mut current.state.merged),
            _ => 0,
        };
        let target = match time.kind {
            Kind::Cycles => time.target.saturating_add(merged),
            _ => time.target,
        };
        let time = Transfer { target, ..time };
        if current.state.before == Before::Unknown {
            self.push(source, time);
        } else if !current.wait(time) {
            self.lost(source, time.at, Some(Kind::Lost));
        }
    }

    /// A range that may run from one function into others.
    #[cold]
    #[inline(never)]
    fn leave(&mut self, source: usize, at: u64, range: &Range) {
        let last = self.sources.get(source).map(|current| current.state.within.1);
        let leaves = last.is_some_and(|last| range.last_address() > last);
        let counted = if leaves { self.parts(source, at, range) } else { 0 };
        if let Some(current) = self.sources.get_mut(source) {
            current.pending.at = at;
            current.pending.instructions += u64::from(range.instructions - counted);
            current.pending.cycles += u64::from(range.cycles.get().unwrap_or(0));
            current.precede(Before::Range(range.last, range.end()));
        }
    }

    /// The functions of a range. Returns the number of instructions before the last one, which are
    /// counted.
    fn parts(&mut self, source: usize, at: u64, range: &Range) -> u32 {
        let isa = range.last.isa;
        let (mut address, mut counted) = (range.start, 0);
        while counted < range.instructions {
            let Some(State { within, space, selection, .. }) =
                self.sources.get(source).map(|current| current.state)
            else {
                break;
            };
            if address < within.0 || address > within.1 {
                self.to(source, at, Kind::Fall, address, None);
                continue;
            }
            if range.last_address() <= within.1 {
                break;
            }
            let size = match (isa, self.caches.get_mut(source)) {
                (Isa::A64 | Isa::A32, _) | (_, None) => 4,
                (_, Some(cache)) => {
                    if let Some(selection) = selection {
                        cache.select_memory(selection.memory);
                    }
                    let found = cache.instruction(Pc { address, isa, space });
                    found.map_or(2, |instruction| u64::from(instruction.size))
                }
            };
            address = address.wrapping_add(size) & isa.address_mask();
            counted += 1;
            if let Some(Current { pending, .. }) = self.sources.get_mut(source) {
                pending.at = at;
                pending.instructions += 1;
            }
        }
        counted
    }

    /// `ranges` as often as `times`, after they were taken once. Returns whether all of it stays in
    /// one function.
    pub(crate) fn stays(&self, source: usize, ranges: &[Range]) -> bool {
        let Some(Current { state, .. }) = self.sources.get(source) else { return false };
        let known = state.function != NO_FUNCTION;
        ranges.iter().all(|range| {
            let inside = state.within.0 <= range.start && range.last_address() <= state.within.1;
            let plain = matches!(range.last.role, Role::Jump | Role::Loop | Role::Compare);
            inside && plain && (known || range.last.kind != Effect::Indirect)
        })
    }

    /// Turns of a loop.
    pub(crate) fn turns(&mut self, source: usize, turns: &Turns<'_>) {
        let Turns { at, ranges, times, .. } = *turns;
        let mut done = 0;
        // The second turn follows the last range of the first.
        while done < times && (done < 2 || !self.stays(source, ranges)) {
            ranges.iter().for_each(|range| self.range(source, at, *range));
            done += 1;
        }
        let left = times - done;
        if left > 0
            && let Some(Current { pending, .. }) = self.sources.get_mut(source)
        {
            for range in ranges {
                let cycles = u64::from(range.cycles.get().unwrap_or(0));
                pending.instructions += u64::from(range.instructions).saturating_mul(left);
                pending.cycles += cycles.saturating_mul(left);
            }
        }
    }

    fn exception(&mut self, source: usize, at: u64, exception: &tracewright_base::Exception) {
        let Some(state) = self.sources.get(source).map(|current| current.state) else { return };
        let ret = exception.return_address;
        let mut before = Before::Exception(exception.number, ret);
        match (state.before, ret) {
            // In the M profile, the return from the exception is a return.
            (Before::ExceptionReturn | Before::Range(..), _) if exception.tail_chain => {
                before = Before::TailChain(exception.number, ret);
                // One handler ended before them, the other one begins after them.
                if let Some(current) = self.sources.get_mut(source) {
                    current.forget_waiting();
                }
            }
            // The instruction at the return address was not executed, but control was there.
            (Before::Range(..) | Before::ExceptionReturn, Some(ret)) => {
                let taken = match state.before {
                    Before::Range(last, _) => {
                        matches!(last.kind, Effect::Branch | Effect::Indirect) && last.taken()
                    }
                    _ => true,
                };
                if taken {
                    self.follow(source, at, ret);
                }
            }
            (Before::Exception(..) | Before::TailChain(..), Some(ret)) => {
                // The handler was interrupted before its first instruction.
                self.follow(source, at, ret);
            }
            _ => {}
        }
        self.release(source);
        if let Some(current) = self.sources.get_mut(source) {
            current.precede(before);
        }
    }

    fn context(&mut self, source: usize, at: u64, context: &Context) {
        self.select(source, &Element::Context(*context));
        let Some(Current { state, .. }) = self.sources.get_mut(source) else { return };
        state.space = context.space();
        let thread = Some((context.context_id, context.vmid));
        if state.thread == thread {
            return;
        }
        state.thread = thread;
        if let Some(id) = context.context_id.or(context.vmid) {
            // A branch before them is taken for one of the other thread.
            if let Some(current) = self.sources.get_mut(source).filter(|own| own.may_leave()) {
                current.forget_waiting();
            }
            self.release(source);
            if self.context_is_task {
                let (ret, entry) = (Some(id.into()), true);
                self.push(source, Transfer { kind: Kind::Task, ret, entry, ..empty(source, at) });
                return;
            }
            let (target, ret) = (id.into(), context.vmid.map(u64::from));
            self.push(source, Transfer { target, ret, kind: Kind::Context, ..empty(source, at) });
        }
    }

    /// An access, which may store to a variable that names the running task.
    fn stored(&mut self, source: usize, at: u64, access: &Access) {
        if access.has(Access::SUPPRESSED) {
            self.task(source, at, None);
        }
        let Some(address) = access.address().filter(|_| access.direction != Direction::Read) else {
            return;
        };
        let size = match access.size {
            0 => 8,
            size => u64::from(size),
        };
        let end = address.wrapping_add(size);
        let touched = |own: &&Watched| address < own.address + own.size && own.address < end;
        let Some(own) = self.watched.iter().find(touched).copied() else { return };
        if access.has(Access::STORE_FAILED) {
            return;
        }
        // Of an access that may be a load, the value in memory is not known.
        let whole = address == own.address
            && u64::from(access.size) == own.size
            && access.direction == Direction::Write;
        self.task(source, at, access.value().filter(|_| whole));
    }

    /// The operating system names the task that runs.
    fn task(&mut self, source: usize, at: u64, value: Option<u64>) {
        self.push(source, Transfer { kind: Kind::Task, ret: value, ..empty(source, at) });
    }

    fn lost(&mut self, source: usize, at: u64, kind: Option<Kind>) {
        let Some(current) = self.sources.get_mut(source) else { return };
        let before = current.state.before;
        (current.state.within, current.state.function) = ((1, 0), NO_FUNCTION);
        current.state.before = match kind {
            None if before != Before::Unknown => Before::Untraced,
            _ => Before::Unknown,
        };
        match (before, kind) {
            (Before::Exception(exception, ret), None) => {
                let kind = Kind::Untraced;
                self.push(source, Transfer { kind, ret, exception, ..empty(source, at) });
            }
            // Functions may have ended before the clock values that wait, and after them.
            (_, None) => current.forget_waiting(),
            (Before::Unknown | Before::Untraced, _) => {}
            (_, Some(kind)) => self.push(source, Transfer { kind, ..empty(source, at) }),
        }
        self.release(source);
        if let Some(current) = self.sources.get_mut(source) {
            current.precede(current.state.before);
        }
    }

    /// An element of an ITM or STM.
    fn event(&mut self, source: usize, at: u64, element: &Element, events: &EventTasks) {
        // No frames of a part are found in them.
        let found = &mut self.found;
        if element.is_after_overflow() {
            found.push(Transfer { kind: Kind::Lost, ..empty(source, at) });
        }
        let transfer = match element {
            Element::DwtEvent(event) => Transfer::of_dwt(source, at, event),
            Element::SoftwareWrite(write) => {
                let ret = events.written(write.channel, write.bits, write.value());
                found.push(Transfer { kind: Kind::Write, ret, ..empty(source, at) });
                let Some(target) = write.time() else { return };
                Transfer { kind: Kind::Timestamp, target, ..empty(source, at) }
            }
            Element::LocalTimestamp(time) => Transfer {
                kind: Kind::LocalTime,
                target: time.total,
                cycles: time.delta,
                entry: matches!(time.delay, TimeDelay::Packet | TimeDelay::Both),
                stub: matches!(time.delay, TimeDelay::Timestamp | TimeDelay::Both),
                ..empty(source, at)
            },
            // A trace unit that starts has lost nothing. Undecodable bytes follow a bad packet.
            Element::Gap(Gap::Start | Gap::BadPacket) => return,
            Element::Gap(_) | Element::Undecodable { .. } => {
                Transfer { kind: Kind::Lost, ..empty(source, at) }
            }
            _ => return,
        };
        found.push(transfer);
    }

    /// An element other than a range.
    #[inline(never)]
    fn other(&mut self, source: usize, at: u64, element: Element) {
        if let Some(events) = self.events.clone() {
            return self.event(source, at, &element, &events);
        }
        match element {
            Element::Context(context) => self.context(source, at, &context),
            Element::Corrected { taken } => {
                if let Some(current) = self.sources.get_mut(source)
                    && let Before::Range(last, end) = current.state.before
                {
                    current.precede(Before::Range(last.with_taken(taken), end));
                }
            }
            Element::Exception(exception) => self.exception(source, at, &exception),
            Element::ExceptionReturn => {
                if let Some(current) = self.sources.get_mut(source)
                    && current.state.before.is_known()
                {
                    current.precede(Before::ExceptionReturn);
                }
            }
            Element::Timestamp { value: target, .. } => {
                self.select(source, &element);
                self.time(source, Transfer { target, kind: Kind::Timestamp, ..empty(source, at) });
            }
            Element::Cycles(Some(cycles)) => {
                let (target, kind) = (cycles.into(), Kind::Cycles);
                self.time(source, Transfer { target, kind, ..empty(source, at) });
            }
            Element::Cycles(None) => {
                self.time(source, Transfer { kind: Kind::CyclesLost, ..empty(source, at) });
            }
            Element::DataAccess(access) => {
                self.select(source, &element);
                if !self.watched.is_empty() {
                    self.stored(source, at, &access);
                }
            }
            Element::Gap(Gap::Data) if !self.watched.is_empty() => {
                self.task(source, at, None);
            }
            // What is between is not traced, but nothing is lost.
            Element::TraceOn(Start::Normal | Start::Debug) => self.lost(source, at, None),
            Element::NoCode { .. } => {
                // The handler of an exception may have no memory, as if it were not traced.
                let before = self.sources.get(source).map(|current| current.state.before);
                let handler = matches!(before, Some(Before::Exception(..)));
                self.lost(source, at, (!handler).then_some(Kind::Lost));
            }
            Element::TraceOn(Start::Overflow)
            | Element::Unknown { .. }
            | Element::Undecodable { .. } => self.lost(source, at, Some(Kind::Lost)),
            Element::Gap(gap) if !matches!(gap, Gap::Data) => {
                self.lost(source, at, Some(Kind::Lost));
            }
            Element::Inconsistency(reason) if !reason.is_ambiguity() => {
                self.lost(source, at, Some(Kind::Lost));
            }
            _ => {}
        }
    }
}

impl Listener for Transfers {
    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        match element {
            Element::Range(range) => self.range(source, at, range),
            // Nearly all elements are ranges.
            other => self.other(source, at, other),
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        for part in batch.parts() {
            match part {
                Executed::Steps(steps) => self.steps(batch, steps),
                Executed::Element(at, element) => self.element(batch.source, at, element),
                Executed::Turns(turns) => self.turns(batch.source, &turns),
            }
        }
    }
}

impl Fork for Transfers {
    type State = Vec<SourceState>;
    type Output = Part;

    fn fork(&self) -> Self {
        Transfers {
            finder: self.finder.clone(),
            caches: self.caches.clone(),
            sources: vec![Current::default(); self.sources.len()],
            marks: vec![Marks::default(); self.sources.len()],
            entered: vec![Entered::default(); self.sources.len()],
            walk: Walk::default(),
            found: TransferLog::default(),
            frames: self.frames.as_ref().map(PartBuilder::fork),
            frames_weight: 0,
            watched: Arc::clone(&self.watched),
            context_is_task: self.context_is_task,
            events: self.events.clone(),
        }
    }

    fn state(&self) -> Vec<SourceState> {
        let of = |current: &Current| SourceState {
            state: current.state,
            waiting: current.waiting.clone(),
        };
        self.sources.iter().map(of).collect()
    }

    fn resume(&mut self, states: Vec<SourceState>) {
        self.sources = states.into_iter().map(Current::new).collect();
        self.found.clear();
        if let Some(frames) = &mut self.frames {
            frames.clear();
        }
        self.weigh();
    }

    fn take(&mut self) -> Part {
        self.mark();
        let next = self.found.next();
        let found = std::mem::replace(&mut self.found, next);
        self.frames_weight = 0;
        let part = match &mut self.frames {
            Some(frames) => frames.finish(found),
            None => Part::of_transfers(found),
        };
        part.with_waiting(self.sources.iter().flat_map(|current| &current.waiting).copied())
    }

    /// To join the frames of a part takes a time for each of its call paths.
    #[inline]
    fn size(&self) -> Size {
        let output = self.found.weight() + self.frames_weight;
        Size { growth: Growth::Costly, ..Size::of(output) }
    }
}
