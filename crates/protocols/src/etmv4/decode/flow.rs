//! Resolved elements against the program: what ran. (ETE K10.5.5)

use tracewright_base::{
    Code, CodeSpace, Context, Counted, Element, End, Exception, Inconsistency, Instruction, Isa,
    Kind, Last, Pc, Range, Role, Sink, Space, Start,
};

use super::super::Config;
use super::lookup::{Set, Sets};
use super::returns::{Return, Returns};
use crate::cursor::Cursor;

/// What of the configuration the walk depends on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rules {
    /// Return stack: TRCCONFIGR.RS.
    pub(super) return_stack: bool,
    /// M profile: every instruction is T32.
    pub(super) thumb_only: bool,
    /// A range for each waypoint on the way to a source address.
    pub(super) split_source: bool,
    /// The unit has no packet for a return from an exception: the instruction says it. (ETE)
    pub(super) silent_returns: bool,
}

impl Rules {
    #[inline]
    pub(super) fn of(config: &Config) -> Rules {
        Rules {
            return_stack: config.return_stack(),
            thumb_only: config.microcontroller(),
            split_source: config.split_source_ranges,
            silent_returns: config.is_ete(),
        }
    }
}

/// The longest walk to an address that the trace gives, or to a waypoint, in bytes. A longer one means
/// that this is other code, or none.
const LONGEST_WALK: u64 = 1 << 26;

/// Where execution is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flow {
    /// The next instruction, where `known` has [`ADDRESS`]; else 0.
    address: u64,
    /// The bits [`CONTEXT`], [`ADDRESS`] and [`PENDING`].
    known: u8,
    /// The instruction set at the address: what state and selector make of it.
    isa: Isa,
    /// The memory that instructions are read from.
    space: Space,
    /// AArch64 state.
    bits64: bool,
    /// Instruction set selector of the address: IS1 (T32) or IS0.
    is1: bool,
    /// The last branch, which a late Mispredict may still turn round.
    branch: Option<Branch>,
    /// That P0 elements are lost has been said, or has a known cause.
    told: bool,
    /// Trace was lost in an overflow since the last Trace On.
    overflowed: bool,
    /// Where memory was missing, since the last address.
    missing: Option<u64>,
    pub(super) returns: Returns,
}

/// Who executes is known.
const CONTEXT: u8 = 1;
/// The next instruction is known.
const ADDRESS: u8 = 2;
/// The last branch was indirect and taken: its target is on the return stack unless an address follows.
const PENDING: u8 = 4;

/// A P0 instruction that was reported: where the walk to it began, and whether it took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Branch {
    from: u64,
    isa: Isa,
    is1: bool,
    taken: bool,
}

/// Why a walk stopped short.
enum Stop {
    NoCode(u64),
    Invalid,
    NotReached,
}

/// What a walk saw.
struct Walked {
    start: u64,
    end: u64,
    instructions: u32,
    last: Option<Instruction>,
}

impl Walked {
    /// Whether `next` can run after it.
    fn leads_to(&self, next: u64) -> bool {
        let Some(last) = self.last.as_ref() else { return true };
        let falls_through = next == self.end;
        match (last.kind, last.target) {
            (Kind::Indirect, _) => true,
            (Kind::Branch, Some(target)) => next == target || falls_through && last.conditional,
            _ => falls_through,
        }
    }

    fn range(&self, taken: bool) -> Option<Element> {
        let last = self.last.as_ref()?;
        Some(Element::Range(Range {
            start: self.start,
            bytes: self.end.wrapping_sub(self.start) as u32,
            instructions: self.instructions,
            cycles: Counted::UNKNOWN,
            last: Last::new(last, taken),
        }))
    }
}

impl Flow {
    /// Where execution is, if address and context are known.
    #[inline]
    pub(super) fn pc(&self) -> Option<Pc> {
        let address = self.address & self.isa.address_mask();
        let pc = Pc { address, isa: self.isa, space: self.space };
        (self.known & (CONTEXT | ADDRESS) == CONTEXT | ADDRESS).then_some(pc)
    }

    /// The same, where the instruction set is the one that the selector of the address says: then there is nothing else
    /// that the lane would have to keep.
    #[inline]
    pub(super) fn selected(&self) -> Option<Pc> {
        self.pc().filter(|pc| self.is1 == (pc.isa == Isa::T32))
    }

    #[inline]
    fn go(&mut self, address: u64, is1: bool, rules: Rules) {
        self.address = address;
        self.known = self.known & !PENDING | ADDRESS;
        if is1 != self.is1 {
            self.is1 = is1;
            self.isa = isa(self.bits64, is1, rules);
        }
    }

    /// Whether who executes is known.
    #[inline]
    pub(super) fn has_context(&self) -> bool {
        self.known & CONTEXT != 0
    }

    /// What addresses select in the context.
    #[inline]
    pub(super) fn sets<K: Code>(&self, rules: Rules, code: &K) -> Sets {
        let [is0, is1] = [false, true].map(|is1| {
            let isa = isa(self.bits64, is1, rules);
            let all = is1 == (isa == Isa::T32);
            let code_space = if all { code.code_space(isa, self.space) } else { CodeSpace::NONE };
            Set { code_space, mask: isa.address_mask() }
        });
        Sets { is0, is1 }
    }

    /// An address was traced and its block is there.
    #[inline]
    pub(super) fn arrived(&mut self) {
        self.told = false;
        self.missing = None;
    }

    /// Goes to behind the last block of `cursor`.
    pub(super) fn settle<K: Code>(&mut self, cursor: &Cursor, rules: Rules, code: &K) {
        if let Some(block) = cursor.settle(code) {
            let (last, taken) = (&block.last, cursor.taken);
            (self.isa, self.is1) = (last.isa, last.isa == Isa::T32);
            self.known = CONTEXT | ADDRESS;
            let Flow { isa, is1, .. } = *self;
            self.branch = Some(Branch { from: block.start, isa, is1, taken });
            self.resolve(last, block.next(), is1, taken, rules);
        }
    }

    /// The address is not known any more.
    fn forget_address(&mut self) {
        self.address = 0;
        self.known &= CONTEXT;
    }

    /// Everything must be said anew; the return stack keeps what it has.
    pub(super) fn lose(&mut self) {
        *self = Flow { returns: self.returns, overflowed: self.overflowed, ..Flow::default() };
    }

    /// Starts in the middle of a trace: P0 elements may come before the first context and address, and
    /// mean nothing to one who starts here. (ETE K10.5.1)
    pub(super) fn start(&mut self) {
        self.lose();
        self.told = true;
    }

    pub(super) fn overflow(&mut self) {
        self.overflowed = true;
    }

    pub(super) fn trace_on<S: Sink>(&mut self, at: u64, sink: &mut S) {
        let start = if self.overflowed { Start::Overflow } else { Start::Normal };
        self.overflowed = false;
        self.lose();
        sink.element(at, Element::TraceOn(start));
    }

    pub(super) fn set_context<S: Sink>(
        &mut self,
        at: u64,
        context: Context,
        told: bool,
        rules: Rules,
        sink: &mut S,
    ) {
        self.known |= CONTEXT;
        self.bits64 = context.bits64;
        self.space = context.space();
        self.isa = isa(self.bits64, self.is1, rules);
        if told {
            sink.element(at, Element::Context(context));
        }
    }

    pub(super) fn set_address(&mut self, address: u64, is1: bool, rules: Rules) {
        self.go(address, is1, rules);
        self.told = false;
        self.missing = None;
    }

    /// An indirect branch whose address did not follow returns to the top of the return stack.
    #[inline]
    pub(super) fn take_return<S: Sink>(&mut self, at: u64, rules: Rules, sink: &mut S) {
        if self.known & PENDING == 0 {
            return;
        }
        self.known &= !PENDING;
        if !rules.return_stack {
            return;
        }
        match self.returns.pop() {
            Some(top) => self.go(top.address, top.is1, rules),
            None => {
                self.told = true;
                sink.element(at, Element::Inconsistency(Inconsistency::ReturnStackEmpty));
            }
        }
    }

    /// A P0 element that cannot be placed. Said once.
    #[cold]
    fn unplaced<S: Sink>(&mut self, at: u64, sink: &mut S) {
        if !core::mem::replace(&mut self.told, true) {
            sink.element(at, Element::Inconsistency(Inconsistency::NoAddress));
        }
    }

    /// Whether atoms say nothing before the next address, and that has been said.
    #[inline]
    pub(super) fn is_lost(&self) -> bool {
        self.told && self.known & (ADDRESS | PENDING) == 0
    }

    /// [`atom`](Self::atom) where no block is kept, and a return has been taken if there was one.
    pub(super) fn lone_atom<K: Code, S: Sink>(
        &mut self,
        at: u64,
        taken: bool,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        if self.known == CONTEXT | ADDRESS {
            return self.long_atom(at, taken, taken, rules, code, sink);
        }
        self.unplaced(at, sink);
        true
    }

    /// One atom: everything up to and including the next waypoint ran. `first` is how the atom was
    /// traced first, before mispredicts. `false` where the program image proves to be wrong.
    #[inline]
    pub(super) fn atom<K: Code, S: Sink>(
        &mut self,
        at: u64,
        taken: bool,
        first: bool,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        if self.known != CONTEXT | ADDRESS {
            self.take_return(at, rules, sink);
            if self.known != CONTEXT | ADDRESS {
                self.unplaced(at, sink);
                return true;
            }
        }
        // Made here and for this call alone: a place that is kept in memory is slow to read back.
        if let Ok(block) =
            code.block(Pc { address: self.address, isa: self.isa, space: self.space })
            && block.end == End::Waypoint
        {
            let last = &block.last;
            let range = Range {
                start: block.start,
                bytes: block.bytes,
                instructions: block.instructions,
                cycles: Counted::UNKNOWN,
                last: Last::new(last, taken),
            };
            let next = block.next();
            sink.element(at, Element::Range(range));
            self.branch(at, block.start, last, next, taken, first, rules, sink);
            return true;
        }
        self.long_atom(at, taken, first, rules, code, sink)
    }

    /// An atom whose block is longer than the cache keeps, or runs into the unknown.
    #[cold]
    fn long_atom<K: Code, S: Sink>(
        &mut self,
        at: u64,
        taken: bool,
        first: bool,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        let Some(pc) = self.pc() else { return true };
        if self.is_missing(at, code, sink) {
            return true;
        }
        let (walked, stop) = walk(pc, code, Until::Waypoint);
        match stop {
            None => {
                if let (Some(element), Some(last)) = (walked.range(taken), walked.last) {
                    sink.element(at, element);
                    self.branch(at, pc.address, &last, walked.end, taken, first, rules, sink);
                }
                true
            }
            Some(stop) => self.stopped(at, pc, &walked, stop, sink),
        }
    }

    /// A walk that stopped short: says what is known of it.
    fn stopped<S: Sink>(
        &mut self,
        at: u64,
        pc: Pc,
        walked: &Walked,
        stop: Stop,
        sink: &mut S,
    ) -> bool {
        self.forget_address();
        self.told = true;
        match stop {
            Stop::NoCode(address) => {
                if let Some(element) = walked.range(true) {
                    sink.element(at, element);
                }
                self.missing(at, pc, address, sink);
                true
            }
            Stop::Invalid => {
                sink.element(at, Element::Inconsistency(Inconsistency::InvalidOpcode));
                false
            }
            Stop::NotReached => {
                if let Some(element) = walked.range(true) {
                    sink.element(at, element);
                }
                sink.element(at, Element::Inconsistency(Inconsistency::AddressNotReached));
                true
            }
        }
    }

    /// Where it is known that there is no code to be run, says so.
    #[inline]
    pub(super) fn is_missing<K: Code, S: Sink>(&mut self, at: u64, code: &K, sink: &mut S) -> bool {
        let Some(pc) = self.pc() else { return false };
        let Some(miss) = code.absent(pc) else { return false };
        self.missing(at, pc, miss.address, sink);
        true
    }

    /// Memory is missing at `address`, on the way from `pc`.
    fn missing<S: Sink>(&mut self, at: u64, pc: Pc, address: u64, sink: &mut S) {
        self.forget_address();
        self.told = true;
        self.missing = Some(address);
        sink.element(at, Element::NoCode { address, space: pc.space });
    }

    /// Moves over a waypoint; the walk to it began at `from`.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "the two halves of an atom")]
    fn branch<S: Sink>(
        &mut self,
        at: u64,
        from: u64,
        last: &Instruction,
        next: u64,
        taken: bool,
        first: bool,
        rules: Rules,
        sink: &mut S,
    ) {
        let Flow { isa, is1, .. } = *self;
        self.branch = Some(Branch { from, isa, is1, taken });
        if first && last.role == Role::Call && rules.return_stack {
            self.returns.push(Return { address: next, is1 });
        }
        if taken && last.role == Role::ExceptionReturn && rules.silent_returns {
            sink.element(at, Element::ExceptionReturn);
        }
        self.resolve(last, next, is1, taken, rules);
    }

    /// Goes to the target of a branch, or to the instruction after it.
    #[inline]
    fn resolve(&mut self, last: &Instruction, next: u64, is1: bool, taken: bool, rules: Rules) {
        match (taken, last.kind, last.target) {
            (true, Kind::Branch, Some(target)) => {
                self.go(target, last.target_isa == Isa::T32, rules);
            }
            (true, Kind::Branch | Kind::Indirect, _) => {
                self.address = 0;
                self.known = self.known & CONTEXT | PENDING;
            }
            _ => self.go(next, is1, rules),
        }
    }

    /// A Mispredict that came after its branch had been committed: turns the branch round.
    pub(super) fn mispredict<K: Code, S: Sink>(
        &mut self,
        at: u64,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) {
        let Some(branch) = self.branch.as_mut() else {
            sink.element(at, Element::Inconsistency(Inconsistency::MispredictOfNothing));
            return;
        };
        branch.taken = !branch.taken;
        let Branch { from, isa, is1, taken } = *branch;
        sink.element(at, Element::Corrected { taken });
        let (walked, _) = walk(Pc { address: from, isa, space: self.space }, code, Until::Waypoint);
        if let Some(last) = walked.last {
            self.resolve(&last, walked.end, is1, taken, rules);
        }
    }

    /// An exception: everything up to, not including, its return address ran.
    pub(super) fn exception<K: Code, S: Sink>(
        &mut self,
        at: u64,
        exception: Exception,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        let mut good = true;
        if exception.return_address.is_none() && self.known & PENDING != 0 && rules.return_stack {
            // Where the branch before it went cannot matter any more; the unit took it off its stack.
            self.returns.pop();
        }
        if let Some(to) = exception.return_address
            && !exception.also_target
        {
            self.take_return(at, rules, sink);
            if let Some(pc) = self.pc()
                && pc.address != to & pc.isa.address_mask()
            {
                good = self.walk_to(at, pc, to, code, sink);
            } else if self.known & CONTEXT != 0
                && let Some(address) = self.missing
                && address < to
            {
                // What led here cannot be told for the same reason as before.
                sink.element(at, Element::NoCode { address, space: self.space });
            }
        }
        self.forget_address();
        self.branch = None;
        self.told = false;
        self.missing = None;
        if good {
            sink.element(at, Element::Exception(exception));
        }
        good
    }

    /// Runs to just before `to`; every branch on the way was not taken.
    fn walk_to<K: Code, S: Sink>(
        &mut self,
        at: u64,
        pc: Pc,
        to: u64,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        let (walked, stop) = walk(pc, code, Until::Address(to));
        match stop {
            Some(stop) => self.stopped(at, pc, &walked, stop, sink),
            None => {
                if let Some(element) = walked.range(true) {
                    sink.element(at, element);
                }
                true
            }
        }
    }

    /// A source address: everything up to and including the instruction there ran, and that
    /// instruction took effect.
    #[expect(clippy::too_many_arguments, reason = "an atom with an address of its own")]
    pub(super) fn source<K: Code, S: Sink>(
        &mut self,
        at: u64,
        address: u64,
        is1: bool,
        taken: bool,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        self.take_return(at, rules, sink);
        if self.known & CONTEXT == 0 {
            self.unplaced(at, sink);
            return true;
        }
        // Straight code stays in its instruction set, whatever the form of the packet says.
        let is1 = if self.known & ADDRESS != 0 { self.is1 } else { is1 };
        let isa = isa(self.bits64, is1, rules);
        let source = Pc { address: address & isa.address_mask(), isa, space: self.space };
        let Ok(last) = code.instruction(source) else {
            let nothing = Walked { start: 0, end: 0, instructions: 0, last: None };
            return self.stopped(at, source, &nothing, Stop::NoCode(source.address), sink);
        };
        let end = source.address.wrapping_add(u64::from(last.size)) & isa.address_mask();
        // Without an address before it, the one instruction is certain.
        let mut pc = self.pc().filter(|pc| pc.address <= source.address).unwrap_or(source);
        while rules.split_source
            && let Ok(block) = code.block(pc)
            && block.end == End::Waypoint
            && block.next().wrapping_sub(1) < source.address
        {
            let walked = Walked {
                start: pc.address,
                end: block.next(),
                instructions: block.instructions,
                last: Some(block.last),
            };
            pc.address = walked.end;
            if let Some(element) = walked.range(false) {
                sink.element(at, element);
            }
        }
        let (mut walked, stop) = walk(pc, code, Until::Address(end));
        if let Some(stop) = stop {
            return self.stopped(at, pc, &walked, stop, sink);
        }
        walked.last = Some(last);
        if let Some(element) = walked.range(taken) {
            sink.element(at, element);
        }
        let from = source.address;
        self.go(from, is1, rules);
        self.told = false;
        // The range says that it is a return from an exception.
        let rules = Rules { silent_returns: false, ..rules };
        self.branch(at, from, &last, end, taken, true, rules, sink);
        true
    }

    /// A Q element: `count` instructions ran, then the one at `next`.
    pub(super) fn q<K: Code, S: Sink>(
        &mut self,
        at: u64,
        count: Option<u32>,
        next: u64,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        self.take_return(at, rules, sink);
        self.branch = None;
        let Some(pc) = self.pc() else {
            self.unplaced(at, sink);
            return true;
        };
        let unknown = Element::Unknown {
            start: pc.address,
            next,
            instructions: count.map_or(Counted::UNKNOWN, Counted::of),
        };
        let Some(count) = count.filter(|&count| count > 0) else {
            sink.element(at, unknown);
            return true;
        };
        // Literal only while one path is possible: to the first waypoint.
        let (walked, stop) = walk(pc, code, Until::Count(count));
        match stop {
            None if walked.instructions == count && walked.leads_to(next) => {
                let taken = walked.last.is_none_or(|last| {
                    !(last.conditional && last.kind == Kind::Branch && next == walked.end)
                });
                if let Some(element) = walked.range(taken) {
                    sink.element(at, element);
                }
                true
            }
            None => {
                sink.element(at, unknown);
                true
            }
            Some(stop) => self.stopped(at, pc, &walked, stop, sink),
        }
    }
}

/// The instruction set at an address.
#[inline]
pub(super) const fn isa(bits64: bool, is1: bool, rules: Rules) -> Isa {
    match (rules.thumb_only, bits64, is1) {
        (true, _, _) | (false, false, true) => Isa::T32,
        (false, true, _) => Isa::A64,
        (false, false, false) => Isa::A32,
    }
}

/// Where a walk ends.
#[derive(Clone, Copy)]
enum Until {
    /// After the first waypoint.
    Waypoint,
    /// Before this address; waypoints on the way do not move.
    Address(u64),
    /// After so many instructions, or after the first waypoint.
    Count(u32),
}

/// Walks straight on from `pc`.
fn walk<K: Code>(pc: Pc, code: &mut K, until: Until) -> (Walked, Option<Stop>) {
    let mask = pc.isa.address_mask();
    let mut walked = Walked { start: pc.address, end: pc.address, instructions: 0, last: None };
    loop {
        let here = Pc { address: walked.end, ..pc };
        let left = match until {
            Until::Waypoint => LONGEST_WALK.saturating_sub(walked.end.wrapping_sub(pc.address)),
            Until::Address(to) => (to & mask).wrapping_sub(here.address) & mask,
            Until::Count(count) => u64::from(count.saturating_sub(walked.instructions)),
        };
        if left == 0 {
            let stop = matches!(until, Until::Waypoint).then_some(Stop::NotReached);
            return (walked, stop);
        }
        // Behind us, or past anything that one run of straight code can be.
        if matches!(until, Until::Address(_)) && left > LONGEST_WALK {
            return (walked, Some(Stop::NotReached));
        }
        let block = match code.block(here) {
            Ok(block) if block.instructions == 0 => return (walked, Some(Stop::Invalid)),
            Ok(block) => *block,
            Err(miss) => return (walked, Some(Stop::NoCode(miss.address))),
        };
        let fits = match until {
            Until::Waypoint => true,
            Until::Address(_) => u64::from(block.bytes) <= left,
            Until::Count(_) => u64::from(block.instructions) <= left,
        };
        if fits {
            walked.end = block.next();
            walked.instructions = walked.instructions.saturating_add(block.instructions);
            walked.last = Some(block.last);
            let past = matches!(until, Until::Address(_));
            if block.end == End::Waypoint && !past {
                return (walked, None);
            }
            continue;
        }
        // It ends inside the block: an instruction at a time.
        match code.instruction(here) {
            Ok(instruction) => {
                let size = u64::from(instruction.size);
                if matches!(until, Until::Address(_)) && left < size {
                    return (walked, Some(Stop::NotReached));
                }
                walked.end = here.address.wrapping_add(size) & mask;
                walked.instructions += 1;
                walked.last = Some(instruction);
            }
            Err(miss) => return (walked, Some(Stop::NoCode(miss.address))),
        }
    }
}
