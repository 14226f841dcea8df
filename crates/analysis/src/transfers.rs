//! Transfers of control: from elements to what concerns functions.
//!
//! Instructions that stay in a function only count. What remains are calls, returns, branches out
//! of a function, exceptions, losses and times, each with the number of instructions before it.
//! They are found from neighbouring ranges alone, so that workers find them anywhere in a trace;
//! the call stack is made of them in order ([`Stacks`](crate::Stacks)).

use tracewright_base::{
    CachedBlocks, Code as _, Context, Element, Gap, Isa, Kind as Effect, Last, Path, Pc, Range,
    Role, Space, Start,
};
use tracewright_decode::{Fork, Listener};
use tracewright_image::{Cache, MemoryId};

use crate::Code;
use crate::code::Finder;
use crate::stacks::Part;
use crate::transfer::{Kind, NO_FUNCTION, Transfer};
use crate::transfer_paths::{From, Left, TransferPaths};

/// What precedes the next range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Before {
    /// It is not known.
    #[default]
    Unknown,
    /// The last instruction of a range, and the address after it.
    Range(Last, u64),
    /// An exception, and its return address.
    Exception(u16, Option<u64>),
    /// The same in the place of another exception.
    TailChain(u16, Option<u64>),
    /// A return from an exception.
    ExceptionReturn,
}

/// What the transfers of later elements depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    before: Before,
    /// The memory, where it is not that at the beginning.
    memory: Option<MemoryId>,
    space: Space,
    /// The identifiers of the context.
    thread: Option<(Option<u32>, Option<u32>)>,
    /// Addresses around the last range in the same function; none if the first is the greater.
    within: (u64, u64),
    function: u32,
}

impl Default for State {
    fn default() -> State {
        State {
            before: Before::Unknown,
            memory: None,
            space: Space::ANY,
            thread: None,
            within: (1, 0),
            function: NO_FUNCTION,
        }
    }
}

/// Counts since the last transfer of a source.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    at: u64,
    instructions: u64,
    cycles: u64,
}

/// Finds the transfers of all sources.
#[derive(Debug)]
pub struct Transfers {
    finder: Finder,
    /// For lengths of instructions.
    caches: Vec<Cache>,
    states: Vec<State>,
    pending: Vec<Pending>,
    found: Vec<Transfer>,
    /// Look for frames in each part.
    frames: bool,
    paths: TransferPaths,
}

impl Transfers {
    /// Finds transfers between the functions of `code`. `caches` have the instructions of each
    /// source.
    pub fn new(code: Code, caches: Vec<Cache>) -> Transfers {
        let sources = code.sources().max(caches.len());
        Transfers {
            finder: Finder::new(code),
            caches,
            states: vec![State::default(); sources],
            pending: vec![Pending::default(); sources],
            found: Vec::new(),
            frames: false,
            paths: TransferPaths::default(),
        }
    }

    /// Workers find the frames of the part that they decode: for
    /// [`Stacks::part`](crate::Stacks::part).
    #[must_use]
    pub fn with_frames(mut self, frames: bool) -> Transfers {
        self.frames = frames;
        self
    }

    /// Appends a transfer, with the counts since the last one.
    fn push(&mut self, source: usize, transfer: Transfer) {
        let Some(pending) = self.pending.get_mut(source) else { return };
        let mut left = std::mem::take(pending);
        // Counts that do not fit into a transfer precede it.
        while left.instructions > u32::MAX.into() || left.cycles > u32::MAX.into() {
            let instructions = left.instructions.min(u32::MAX.into()) as u32;
            let cycles = left.cycles.min(u32::MAX.into()) as u32;
            left.instructions -= u64::from(instructions);
            left.cycles -= u64::from(cycles);
            self.found.push(Transfer { instructions, cycles, ..empty(source, left.at) });
        }
        let instructions = left.instructions as u32;
        self.found.push(Transfer { instructions, cycles: left.cycles as u32, ..transfer });
    }

    /// A transfer to an address.
    fn to(&mut self, source: usize, at: u64, kind: Kind, target: u64, ret: Option<u64>) {
        let start = self.finder.code().start(source);
        let Some(state) = self.states.get_mut(source) else { return };
        let memory = state.memory.unwrap_or(start);
        let found = self.finder.find(source, memory, target);
        let before = state.function;
        state.within = (found.start, found.last);
        state.function = found.function.unwrap_or(NO_FUNCTION);
        let same = state.function == before && before != NO_FUNCTION;
        // A part of a function that is elsewhere.
        if same && matches!(kind, Kind::Jump | Kind::Indirect | Kind::Fall) {
            return;
        }
        let known = found.function.and_then(|number| self.finder.code().get(number));
        let entry = known.is_some_and(|known| {
            let its = known.function.start;
            // In a process, the addresses of the function are those in its file: they differ by
            // whole pages. A part of a function has another address.
            found.start == target && target.wrapping_sub(its) & 0xfff == 0
        });
        let stub = known.is_some_and(|known| known.function.stub);
        let function = found.function.unwrap_or(NO_FUNCTION);
        self.push(
            source,
            Transfer { target, ret, function, kind, entry, stub, ..empty(source, at) },
        );
    }

    /// Execution continues at `target` in a way that needs more than a comparison.
    #[cold]
    fn follow(&mut self, source: usize, at: u64, target: u64) {
        let Some(state) = self.states.get(source).copied() else { return };
        let (last, end) = match state.before {
            Before::Range(last, end) => (last, end),
            Before::Unknown => return self.to(source, at, Kind::Enter, target, None),
            Before::Exception(number, ret) => {
                self.to(source, at, Kind::Exception, target, ret);
                return self.number(number);
            }
            Before::TailChain(number, ret) => {
                self.to(source, at, Kind::TailChain, target, ret);
                return self.number(number);
            }
            Before::ExceptionReturn => {
                return self.to(source, at, Kind::ExceptionReturn, target, None);
            }
        };
        let branch = matches!(last.kind, Effect::Branch | Effect::Indirect) && last.taken();
        let inside = state.within.0 <= target && target <= state.within.1;
        let kind = match (branch, last.role) {
            (false, _) if target != end => Kind::Enter,
            (false, _) if inside => return,
            (false, _) => Kind::Fall,
            // A call of the next instruction reads the program counter.
            (_, Role::Call | Role::Link) if target == end && inside => return,
            (_, Role::Call | Role::Link) => Kind::Call,
            (_, Role::Return | Role::ImpliedReturn) => Kind::Return,
            (_, Role::ExceptionReturn) => Kind::ExceptionReturn,
            (_, Role::Swap) => Kind::Swap,
            (_, Role::Jump | Role::Loop | Role::Compare) => {
                let known = state.function != NO_FUNCTION;
                match last.kind {
                    Effect::Indirect if known && inside => return,
                    Effect::Indirect => Kind::Indirect,
                    _ if inside => return,
                    _ => Kind::Jump,
                }
            }
        };
        let ret = matches!(kind, Kind::Call | Kind::Swap).then_some(end);
        self.to(source, at, kind, target, ret);
    }

    /// The number of the exception of the last transfer.
    fn number(&mut self, number: u16) {
        if let Some(last) = self.found.last_mut() {
            last.exception = number;
        }
    }

    /// Execution continues at `start`.
    #[inline]
    fn enter(&mut self, source: usize, at: u64, start: u64) {
        let Some(state) = self.states.get(source) else { return };
        let inside = state.within.0 <= start && start <= state.within.1;
        let stays = match state.before {
            Before::Range(last, end) => {
                inside
                    && match last.kind {
                        Effect::Branch if last.taken() => {
                            matches!(last.role, Role::Jump | Role::Loop | Role::Compare)
                        }
                        Effect::Indirect if last.taken() => false,
                        _ => start == end,
                    }
            }
            _ => false,
        };
        if !stays {
            self.follow(source, at, start);
        }
    }

    /// Takes a path that is known, from where [`enter`](Self::enter) has continued. Returns whether
    /// it is.
    #[inline]
    fn known_path(&mut self, source: usize, at: u64, path: &Path) -> bool {
        let Some(state) = self.states.get_mut(source) else { return true };
        let from = From { start: state.within.0, memory: state.memory, source: source as u16 };
        let Some(left) = self.paths.get(path, &from) else { return false };
        state.before = Before::Range(left.last, left.end);
        if let Some(number) = left.leaves {
            self.leave(source, at, number);
        }
        if let Some(pending) = self.pending.get_mut(source) {
            pending.at = at;
            pending.instructions += u64::from(left.instructions);
        }
        true
    }

    /// The transfers of a path that leaves its function.
    fn leave(&mut self, source: usize, at: u64, number: u32) {
        let Some(leaves) = self.paths.leaves(number) else { return };
        let mut n = 0;
        while let Some(transfer) = self.paths.transfer(&leaves, n) {
            if let Some(pending) = self.pending.get_mut(source) {
                pending.at = at;
                pending.instructions += u64::from(transfer.instructions);
            }
            self.push(source, Transfer { at, ..transfer });
            n += 1;
        }
        if let Some(state) = self.states.get_mut(source) {
            (state.within, state.function) = (leaves.within, leaves.function);
        }
    }

    /// Takes a path range by range, and stores what it does.
    #[cold]
    #[inline(never)]
    fn learn(&mut self, source: usize, at: u64, path: &Path, blocks: &CachedBlocks<'_>) {
        let Some(state) = self.states.get(source) else { return };
        let from = From { start: state.within.0, memory: state.memory, source: source as u16 };
        let number = self.found.len();
        let before = self.pending.get(source).copied().unwrap_or_default().instructions;
        let mut entered = true;
        path.for_each(blocks, |range| {
            if !std::mem::take(&mut entered) {
                self.enter(source, at, range.start);
            }
            self.inside(source, at, &range);
        });
        let Some(State { before: Before::Range(last, end), within, function, .. }) =
            self.states.get(source).copied()
        else {
            return;
        };
        let after = self.pending.get(source).copied().unwrap_or_default().instructions;
        let mut transfers = self.found.get(number..).unwrap_or_default().to_vec();
        // The first transfer, or what is pending, has the instructions before the path, too.
        let left = match transfers.first_mut() {
            Some(first) => {
                let own = u64::from(first.instructions).checked_sub(before);
                let Some(own) = own else { return };
                first.instructions = own as u32;
                after
            }
            None => after.saturating_sub(before),
        };
        let Ok(instructions) = u32::try_from(left) else { return };
        let left = Left { last, end, instructions, leaves: None };
        self.paths.insert(path, from, left, &transfers, (within, function));
    }

    #[inline]
    fn range(&mut self, source: usize, at: u64, range: &Range) {
        self.enter(source, at, range.start);
        self.inside(source, at, range);
    }

    /// A range after it was [entered](Self::enter).
    #[inline]
    fn inside(&mut self, source: usize, at: u64, range: &Range) {
        let (end, last) = (range.end(), range.last_address());
        let leaves = self
            .states
            .get(source)
            .is_some_and(|state| last > state.within.1 && state.within.0 <= range.start);
        let counted = if leaves { self.parts(source, at, range) } else { 0 };
        if let Some(pending) = self.pending.get_mut(source) {
            pending.at = at;
            pending.instructions += u64::from(range.instructions - counted);
            pending.cycles += u64::from(range.cycles.get().unwrap_or(0));
        }
        if let Some(state) = self.states.get_mut(source) {
            state.before = Before::Range(range.last, end);
        }
    }

    /// A range that runs from one function into others. Returns the number of instructions before
    /// the last one, which are counted.
    #[cold]
    fn parts(&mut self, source: usize, at: u64, range: &Range) -> u32 {
        let isa = range.last.isa;
        let (mut address, mut counted) = (range.start, 0);
        while counted < range.instructions {
            let Some(State { within, space, memory, .. }) = self.states.get(source).copied() else {
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
                    if let Some(memory) = memory {
                        cache.select_memory(memory);
                    }
                    let found = cache.instruction(Pc { address, isa, space });
                    found.map_or(2, |instruction| u64::from(instruction.size))
                }
            };
            address = address.wrapping_add(size) & isa.address_mask();
            counted += 1;
            if let Some(pending) = self.pending.get_mut(source) {
                pending.at = at;
                pending.instructions += 1;
            }
        }
        counted
    }

    /// `ranges` as often as `times`, after they were taken once. Returns whether all of it stays in
    /// one function.
    fn stays(&self, source: usize, ranges: &[Range]) -> bool {
        let Some(state) = self.states.get(source) else { return false };
        let known = state.function != NO_FUNCTION;
        ranges.iter().all(|range| {
            let inside = state.within.0 <= range.start && range.last_address() <= state.within.1;
            let plain = matches!(range.last.role, Role::Jump | Role::Loop | Role::Compare);
            inside && plain && (known || range.last.kind != Effect::Indirect)
        })
    }

    fn exception(&mut self, source: usize, at: u64, exception: &tracewright_base::Exception) {
        let Some(state) = self.states.get(source).copied() else { return };
        let ret = exception.return_address;
        let mut before = Before::Exception(exception.number, ret);
        match (state.before, ret) {
            // In the M profile, the return from the exception is a return.
            (Before::ExceptionReturn | Before::Range(..), _) if exception.tail_chain => {
                before = Before::TailChain(exception.number, ret);
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
        if let Some(state) = self.states.get_mut(source) {
            state.before = before;
        }
    }

    fn context(&mut self, source: usize, at: u64, context: &Context) {
        let memory = self.finder.code().memory(source, context);
        let Some(state) = self.states.get_mut(source) else { return };
        state.memory = memory.or(state.memory);
        state.space = context.space();
        let thread = Some((context.context_id, context.vmid));
        if state.thread == thread {
            return;
        }
        state.thread = thread;
        if let Some(id) = context.context_id.or(context.vmid) {
            let (target, ret) = (id.into(), context.vmid.map(u64::from));
            self.push(source, Transfer { target, ret, kind: Kind::Context, ..empty(source, at) });
        }
    }

    fn lost(&mut self, source: usize, at: u64, kind: Option<Kind>) {
        let Some(state) = self.states.get_mut(source) else { return };
        let before = std::mem::take(&mut state.before);
        (state.within, state.function) = ((1, 0), NO_FUNCTION);
        match (before, kind) {
            (Before::Exception(exception, ret), None) => {
                let kind = Kind::Untraced;
                self.push(source, Transfer { kind, ret, exception, ..empty(source, at) });
            }
            (Before::Unknown, _) | (_, None) => {}
            (_, Some(kind)) => self.push(source, Transfer { kind, ..empty(source, at) }),
        }
    }
}

/// Nothing but a position.
const fn empty(source: usize, at: u64) -> Transfer {
    Transfer {
        at,
        target: 0,
        ret: None,
        function: NO_FUNCTION,
        instructions: 0,
        cycles: 0,
        exception: 0,
        source: source as u16,
        kind: Kind::Run,
        entry: false,
        stub: false,
    }
}

impl Listener for Transfers {
    const PACKETS: bool = false;
    const PATHS: bool = true;

    #[inline]
    fn path(&mut self, source: usize, at: u64, path: &Path, blocks: &CachedBlocks<'_>) {
        self.enter(source, at, path.start());
        if !self.known_path(source, at, path) {
            self.learn(source, at, path, blocks);
        }
    }

    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        match element {
            Element::Range(range) => self.range(source, at, &range),
            Element::Context(context) => self.context(source, at, &context),
            Element::Corrected { taken } => {
                if let Some(State { before: Before::Range(last, _), .. }) =
                    self.states.get_mut(source)
                {
                    *last = last.with_taken(taken);
                }
            }
            Element::Exception(exception) => self.exception(source, at, &exception),
            Element::ExceptionReturn => {
                if let Some(state) = self.states.get_mut(source)
                    && state.before != Before::Unknown
                {
                    state.before = Before::ExceptionReturn;
                }
            }
            Element::Timestamp { value: target, .. } => {
                self.push(source, Transfer { target, kind: Kind::Timestamp, ..empty(source, at) });
            }
            Element::Cycles(Some(cycles)) => {
                let (target, kind) = (cycles.into(), Kind::Cycles);
                self.push(source, Transfer { target, kind, ..empty(source, at) });
            }
            Element::Cycles(None) => {
                self.push(source, Transfer { kind: Kind::CyclesLost, ..empty(source, at) });
            }
            // What is between is not traced, but nothing is lost.
            Element::TraceOn(Start::Normal | Start::Debug) => self.lost(source, at, None),
            Element::NoCode { .. } => {
                // The handler of an exception may have no memory, as if it were not traced.
                let before = self.states.get(source).map(|state| state.before);
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

    fn repeat(&mut self, source: usize, at: u64, range: Range, times: u32) {
        self.repeat_path(source, at, &[range], times.into());
    }

    fn repeat_path(&mut self, source: usize, at: u64, ranges: &[Range], times: u64) {
        let mut done = 0;
        // The second turn follows the last range of the first.
        while done < times && (done < 2 || !self.stays(source, ranges)) {
            ranges.iter().for_each(|range| self.range(source, at, range));
            done += 1;
        }
        let left = times - done;
        if left > 0
            && let Some(pending) = self.pending.get_mut(source)
        {
            for range in ranges {
                let cycles = u64::from(range.cycles.get().unwrap_or(0));
                pending.instructions += u64::from(range.instructions).saturating_mul(left);
                pending.cycles += cycles.saturating_mul(left);
            }
        }
    }
}

impl Fork for Transfers {
    type State = Vec<State>;
    type Output = Part;

    fn fork(&self) -> Self {
        Transfers {
            finder: self.finder.clone(),
            caches: self.caches.clone(),
            states: vec![State::default(); self.states.len()],
            pending: vec![Pending::default(); self.pending.len()],
            found: Vec::new(),
            frames: self.frames,
            paths: TransferPaths::default(),
        }
    }

    fn state(&self) -> Vec<State> {
        self.states.clone()
    }

    fn resume(&mut self, states: Vec<State>) {
        self.states = states;
        self.pending.fill(Pending::default());
        self.found.clear();
    }

    fn take(&mut self) -> Part {
        for source in 0..self.pending.len() {
            if let Some(&Pending { at, instructions, cycles }) = self.pending.get(source)
                && instructions + cycles > 0
            {
                self.push(source, empty(source, at));
            }
        }
        // The next output is about as long.
        let next = Vec::with_capacity(self.found.len());
        let found = std::mem::replace(&mut self.found, next);
        if self.frames {
            Part::new(found, &self.finder.code().unwind_targets())
        } else {
            Part::of_transfers(found)
        }
    }

    #[inline]
    fn weight(&self) -> usize {
        self.found.len() * size_of::<Transfer>()
    }
}
