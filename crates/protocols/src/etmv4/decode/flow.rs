//! The program flow: resolved elements to executed instructions. (ETE K10.5.5)

mod exception;
mod q;

use tracewright_base::{
    BlockCache, BlockId, CachedBlock, CodeSpace, Context, Counted, Element, End, Inconsistency,
    Instruction, Isa, Kind, Last, Pc, Range, Role, Sink, Space, Start,
};

use super::lookup::{Set, Sets};
use super::returns::{Return, Returns};
pub(super) use super::rules::{Rules, isa, special_kinds};
use super::straight::{MAX_WALK, Stop, Until, WAYPOINT_COST, Walked, limit, walk};
use crate::cursor::Cursor;
use crate::look_up::may_follow;

/// The position of execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flow {
    /// Address of the next instruction, if `known` has [`ADDRESS`]; otherwise 0.
    address: u64,
    /// The bits [`CONTEXT`], [`ADDRESS`], [`PENDING`] and [`NOT_TAKEN`].
    known: u8,
    /// The instruction set at the address, from execution state and sub-ISA.
    isa: Isa,
    /// The memory of the instructions.
    space: Space,
    /// AArch64 state.
    bits64: bool,
    /// Sub-ISA of the address: IS1 (T32) or IS0.
    is1: bool,
    /// The address is known, and a traced one may replace it: it is traced itself, was taken from
    /// the return stack at a Trace Info, or a context followed it.
    replaceable: bool,
    /// The last branch, which a late Mispredict may still reverse.
    branch: LastBranch,
    /// The loss of P0 elements has been reported, or has a known cause.
    loss_reported: bool,
    /// An overflow lost trace since the last Trace On.
    overflowed: bool,
    /// P0 elements without a known instruction followed since the return stack was cleared: calls
    /// may be among them, and the unit may have their return addresses.
    unseen_calls: bool,
    pub(super) returns: Returns,
}

/// The context is known.
const CONTEXT: u8 = 1;
/// The address of the next instruction is known.
const ADDRESS: u8 = 2;
/// The last branch was indirect and taken: its target is on the return stack unless an address
/// follows.
const PENDING: u8 = 4;
/// The last branch has no condition and was not taken. That is an inconsistency unless a Mispredict
/// follows.
const NOT_TAKEN: u8 = 8;

/// The last branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LastBranch {
    /// There is none, or it was before a loss of trace.
    #[default]
    Nothing,
    /// It is not known: it was before this decoder started, or where the program is not known.
    Unseen,
    Seen(Branch),
}

/// A P0 instruction that was emitted: the start of its range, and whether it took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Branch {
    from: u64,
    isa: Isa,
    is1: bool,
    taken: bool,
}

/// The program does not lead to a traced address.
#[cold]
fn contradicted<S: Sink>(at: u64, sink: &mut S) {
    sink.element(at, Element::Inconsistency(Inconsistency::AddressNotReached));
}

impl Flow {
    /// The next instruction, if address and context are known.
    #[inline]
    pub(super) fn pc(&self) -> Option<Pc> {
        let address = self.address & self.isa.address_mask();
        let pc = Pc { address, isa: self.isa, space: self.space };
        (self.known & (CONTEXT | ADDRESS) == CONTEXT | ADDRESS).then_some(pc)
    }

    /// The next instruction, if the sub-ISA of its address agrees with its instruction set (IS1 for
    /// T32 only), as the fast path requires.
    #[inline]
    pub(super) fn selected(&self) -> Option<Pc> {
        self.pc().filter(|pc| self.is1 == (pc.isa == Isa::T32))
    }

    /// Continues at `address`. Clears [`PENDING`] and [`NOT_TAKEN`].
    #[inline]
    fn go(&mut self, address: u64, is1: bool, rules: Rules) {
        self.address = address;
        self.known = self.known & CONTEXT | ADDRESS;
        self.replaceable = false;
        if is1 != self.is1 {
            self.is1 = is1;
            self.isa = isa(self.bits64, is1, rules);
        }
    }

    /// Whether the context is known.
    #[inline]
    pub(super) fn has_context(&self) -> bool {
        self.known & CONTEXT != 0
    }

    /// The instruction sets that addresses select in the context.
    #[inline]
    pub(super) fn sets<K: BlockCache>(&self, rules: Rules, code: &K) -> Sets {
        let [is0, is1] = [false, true].map(|is1| {
            let isa = isa(self.bits64, is1, rules);
            let all = is1 == (isa == Isa::T32);
            let code_space = if all { code.code_space(isa, self.space) } else { CodeSpace::NONE };
            Set { code_space, mask: isa.address_mask() }
        });
        Sets { is0, is1 }
    }

    /// Resets what was reported since the last traced address. For an address that the fast path
    /// takes: the walk holds its block, or [`set_address`](Self::set_address) follows.
    #[inline]
    pub(super) fn arrived(&mut self) {
        self.loss_reported = false;
    }

    /// Updates the position to that after the last block of `cursor`.
    #[inline]
    pub(super) fn settle<K: BlockCache>(&mut self, cursor: Cursor, rules: Rules, code: &K) {
        if cursor.last != BlockId::NONE {
            self.settle_block(cursor, rules, code);
        }
    }

    fn settle_block<K: BlockCache>(&mut self, cursor: Cursor, rules: Rules, code: &K) {
        if let Some(block) = cursor.unsettled(code) {
            let (last, taken) = (&block.last, cursor.taken);
            (self.isa, self.is1) = (last.isa, last.isa == Isa::T32);
            self.known = CONTEXT | ADDRESS;
            let Flow { isa, is1, .. } = *self;
            self.branch = LastBranch::Seen(Branch { from: block.start, isa, is1, taken });
            self.resolve(last, block.next(), is1, taken, rules);
        }
    }

    /// The address becomes unknown.
    fn forget_address(&mut self) {
        self.address = 0;
        self.known &= CONTEXT;
        self.replaceable = false;
    }

    /// Context and address become unknown. The return stack is retained: a Trace Info or a Trace On
    /// clears it.
    pub(super) fn lose(&mut self) {
        let Flow { returns, overflowed, unseen_calls, .. } = *self;
        *self = Flow { returns, overflowed, unseen_calls, ..Flow::default() };
    }

    /// Whether the last branch was indirect and taken, and its target is not known.
    pub(super) fn waits_for_target(&self) -> bool {
        self.known & PENDING != 0
    }

    /// The executed instructions of a transaction have no effect: its last branch takes nothing
    /// from the return stack, which is `returns`. The address at which execution resumes follows.
    /// (ETE Table K10-17) If it does not, and the last branch before the transaction `waits` for
    /// its target, that branch takes its entry. (ETE K10.5.5.18.2)
    pub(super) fn fail_transaction(&mut self, returns: Returns, waits: bool) {
        self.forget_address();
        if waits {
            self.known |= PENDING;
        }
        self.branch = LastBranch::Unseen;
        self.returns = returns;
    }

    /// Starts in the middle of a trace. P0 elements before the first context and address have no
    /// meaning here. (ETE K10.5.1)
    pub(super) fn start(&mut self) {
        self.lose();
        self.clear_returns();
        self.loss_reported = true;
        self.branch = LastBranch::Unseen;
    }

    /// A Trace Info clears the return stack. A return before it has taken its entry. (ETE
    /// K10.5.5.9)
    pub(super) fn trace_info(&mut self, rules: Rules) {
        if self.waits_for_target()
            && let Some(top) = self.returns.pop()
        {
            self.go(top.address, top.is1, rules);
            self.replaceable = true;
        }
        self.clear_returns();
    }

    fn clear_returns(&mut self) {
        self.returns = Returns::default();
        self.unseen_calls = false;
    }

    pub(super) fn overflow(&mut self) {
        self.overflowed = true;
    }

    pub(super) fn trace_on<S: Sink>(&mut self, at: u64, sink: &mut S) {
        let start = if self.overflowed { Start::Overflow } else { Start::Normal };
        self.overflowed = false;
        self.lose();
        self.clear_returns();
        sink.element(at, Element::TraceOn(start));
    }

    /// Enters `context`, which has the instruction set of the last traced address. A direct branch
    /// may have changed it since: where the address of the next instruction is known, its sub-ISA
    /// decides.
    pub(super) fn set_context<S: Sink>(
        &mut self,
        at: u64,
        mut context: Context,
        rules: Rules,
        sink: &mut S,
    ) {
        self.known |= CONTEXT;
        self.bits64 = context.bits64;
        self.space = context.space();
        self.isa = isa(self.bits64, self.is1, rules);
        self.replaceable = self.known & ADDRESS != 0;
        if let Some(is1) = self.next_is1(rules) {
            context.isa = isa(self.bits64, is1, rules);
        }
        sink.element(at, Element::Context(context));
    }

    /// The sub-ISA of the next instruction: of its address, or of the newest entry of the return
    /// stack where that is its address.
    fn next_is1(&self, rules: Rules) -> Option<bool> {
        if self.known & ADDRESS != 0 {
            return Some(self.is1);
        }
        let returns = rules.return_stack && self.waits_for_target();
        self.returns.top().filter(|_| returns).map(|top| top.is1)
    }

    /// Whether the last instruction leads to another address than the traced one: the program image
    /// is not what was executed. After a branch without a condition that was not taken, that is not
    /// known, as a Mispredict may follow.
    #[inline]
    pub(super) fn leads_elsewhere(&self, address: u64) -> bool {
        self.known == CONTEXT | ADDRESS
            && !self.replaceable
            && (self.address ^ address) & self.isa.address_mask() != 0
    }

    /// Continues at a traced address. A branch without a condition that was not taken is still an
    /// inconsistency at the next P0 element. Context and address may come in any order, and late.
    /// (ETE K10.5.1.1)
    #[inline]
    pub(super) fn set_address<S: Sink>(
        &mut self,
        at: u64,
        address: u64,
        is1: bool,
        rules: Rules,
        sink: &mut S,
    ) {
        if self.leads_elsewhere(address) {
            contradicted(at, sink);
        }
        self.move_to(address, is1, rules);
    }

    /// The same for an address that another context begins with.
    pub(super) fn move_to(&mut self, address: u64, is1: bool, rules: Rules) {
        let not_taken = self.known & NOT_TAKEN;
        self.go(address, is1, rules);
        self.replaceable = true;
        self.known |= not_taken;
        self.loss_reported &= !self.has_context();
    }

    /// The trace states that the target of the last branch is not known. (ETE K10.5.2.13.1)
    pub(super) fn unknown_target(&mut self) {
        let not_taken = self.known & NOT_TAKEN;
        self.forget_address();
        self.known |= not_taken;
        self.loses_with_cause();
    }

    /// P0 elements before the next address are no inconsistency.
    pub(super) fn loses_with_cause(&mut self) {
        self.loss_reported = true;
    }

    /// Whether the next P0 element makes the last branch an inconsistency.
    #[inline]
    pub(super) fn is_contradicted(&self) -> bool {
        self.known & NOT_TAKEN != 0
    }

    /// Before a P0 element: reports a branch without a condition that was not taken, and pops the
    /// target of an indirect branch without a traced address from the return stack.
    #[inline]
    pub(super) fn take_return<S: Sink>(&mut self, at: u64, rules: Rules, sink: &mut S) {
        if self.is_contradicted() {
            self.known &= !NOT_TAKEN;
            sink.element(at, Element::Inconsistency(Inconsistency::UnconditionalNotTaken));
        }
        if !self.waits_for_target() {
            return;
        }
        self.known &= !PENDING;
        if !rules.return_stack {
            return;
        }
        match self.returns.pop() {
            Some(top) => self.go(top.address, top.is1, rules),
            None => {
                self.loss_reported = true;
                // An empty stack waits for the address. (ETE K10.5.5.18.2)
                if !self.unseen_calls {
                    sink.element(at, Element::Inconsistency(Inconsistency::ReturnStackEmpty));
                }
            }
        }
    }

    /// A P0 element without an address or without a context. It is reported once. An address before
    /// it is not that of the next instruction any more.
    #[cold]
    fn unplaced<S: Sink>(&mut self, at: u64, sink: &mut S) {
        self.lose_branch();
        if !core::mem::replace(&mut self.loss_reported, true) {
            sink.element(at, Element::Inconsistency(Inconsistency::NoAddress));
        }
    }

    /// The last P0 element has no known instruction, and the address is unknown.
    fn lose_branch(&mut self) {
        self.forget_address();
        self.branch = LastBranch::Unseen;
        self.unseen_calls = true;
    }

    /// Whether atoms have no effect before the next address, and this has been reported.
    #[inline]
    pub(super) fn is_lost(&self) -> bool {
        self.loss_reported && self.known & (ADDRESS | PENDING) == 0
    }

    /// [`atom`](Self::atom) for a block that is not cached. A return has been taken already.
    pub(super) fn single_atom<K: BlockCache, S: Sink>(
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

    /// `len` atoms from `cursor` on, the oldest in bit 0 of `taken`; `first` are their traced
    /// values, before mispredicts. `None` if the program image is wrong; the state is up to date
    /// then.
    #[expect(clippy::too_many_arguments, reason = "atoms with both their values")]
    pub(super) fn atoms<K: BlockCache, S: Sink>(
        &mut self,
        mut cursor: Cursor,
        at: u64,
        taken: u32,
        first: u32,
        len: u32,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> Option<Cursor> {
        let special = special_kinds(rules);
        if cursor.next == BlockId::NONE && cursor.last == BlockId::NONE {
            cursor = self.cached(cursor, true, code);
        }
        let mut k = 0;
        loop {
            let blocks = code.blocks();
            while k < len
                && let Some((cached, class)) = blocks.get(cursor.next)
            {
                let (taken, first) = (taken >> k & 1 != 0, first >> k & 1 != 0);
                let range = cached.range(class, taken);
                if cached.is_any_of(special) && (taken || first) {
                    if cached.is_any_of(CachedBlock::EXCEPTION_RETURN) {
                        break;
                    }
                    if first {
                        let is1 = range.last.isa == Isa::T32;
                        self.returns.push(Return { address: range.end(), is1 });
                    }
                }
                sink.step(at, cursor.next, taken, &blocks);
                cursor = cursor.pass(taken, &blocks);
                k += 1;
            }
            if k == len {
                return Some(cursor);
            }
            self.settle(cursor, rules, code);
            // A return from an exception, or a successor that is not recorded. The block after a
            // return is not recorded, because a return has several targets.
            let waits = self.waits_for_target();
            if waits || cursor.last != BlockId::NONE {
                self.take_return(at, rules, sink);
                cursor = self.cached(cursor, !waits, code);
                if cursor.next != BlockId::NONE {
                    continue;
                }
            }
            let (taken, first) = (taken >> k & 1 != 0, first >> k & 1 != 0);
            if !self.atom(at, taken, first, rules, code, sink) {
                return None;
            }
            k += 1;
            cursor = self.cached(Cursor::before(BlockId::NONE), true, code);
        }
    }

    /// The position before the next block, which is cached if there is a last block in `cursor`,
    /// and as the successor of that block where `linked`. The state is settled.
    fn cached<K: BlockCache>(&self, cursor: Cursor, linked: bool, code: &mut K) -> Cursor {
        match self.selected().filter(|_| self.known == CONTEXT | ADDRESS) {
            None => Cursor::before(BlockId::NONE),
            Some(pc) if cursor.last != BlockId::NONE => cursor.enter(pc, linked, code),
            Some(pc) => {
                let code_space = code.code_space(pc.isa, pc.space);
                Cursor::find(pc.address, pc.isa, code_space, code)
            }
        }
    }

    /// One atom: all instructions up to and including the next waypoint were executed. `first` is
    /// the traced value of the atom, before mispredicts. Returns `false` if the program image is
    /// wrong.
    #[inline]
    pub(super) fn atom<K: BlockCache, S: Sink>(
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
        // The Pc is made for this call only: reading it back from memory is slow.
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

    /// An atom whose block has the maximum length, or ends at unknown memory.
    #[cold]
    fn long_atom<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        taken: bool,
        first: bool,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        let Some(pc) = self.pc() else { return true };
        if self.report_missing(at, code, sink) {
            return true;
        }
        let (walked, stop) = walk(at, pc, code, Until::Waypoint, limit(code));
        match stop {
            None => {
                if let (Some(element), Some(last)) = (walked.range(taken), walked.last) {
                    sink.element(at, element);
                    self.branch(at, pc.address, &last, walked.end, taken, first, rules, sink);
                }
                true
            }
            Some(stop) => self.stopped(at, &walked, stop, sink),
        }
    }

    /// Emits the instructions of a walk that ended early, and why. Returns `false` if the program
    /// image is wrong.
    fn stopped<S: Sink>(&mut self, at: u64, walked: &Walked, stop: Stop, sink: &mut S) -> bool {
        self.lose_branch();
        self.loss_reported = true;
        // A waypoint inside a walk to an address is not taken.
        let element = walked.range(!walked.waypoint);
        let resets = matches!(stop, Stop::Invalid { resets: true });
        if let Some(element) = element.filter(|_| !resets) {
            sink.element(at, element);
        }
        if walked.passed || walked.is_unconditional() {
            sink.element(at, Element::Inconsistency(Inconsistency::UnconditionalNotTaken));
        }
        let why = match stop {
            Stop::NoCode(here, address) => {
                self.missing(at, here, address, sink);
                return true;
            }
            Stop::Invalid { .. } => Inconsistency::InvalidOpcode,
            Stop::NotReached => Inconsistency::AddressNotReached,
            Stop::Limit => Inconsistency::ExpansionLimit,
        };
        sink.element(at, Element::Inconsistency(why));
        !resets
    }

    /// Reports missing memory at the next instruction, if an earlier read failed there. Returns
    /// whether it did: the address is unknown then.
    #[inline]
    pub(super) fn report_missing<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        code: &K,
        sink: &mut S,
    ) -> bool {
        let Some(pc) = self.pc() else { return false };
        let Some(miss) = code.absent(pc) else { return false };
        self.missing(at, pc, miss.address, sink);
        true
    }

    /// The instruction at `pc` cannot be read: memory is missing at `address`, or `pc` is not
    /// aligned.
    fn missing<S: Sink>(&mut self, at: u64, pc: Pc, address: u64, sink: &mut S) {
        self.lose_branch();
        self.loss_reported = true;
        sink.element(at, pc.unreadable(address));
    }

    /// Moves past a waypoint, whose range starts at `from`.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "a waypoint and both its outcomes")]
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
        self.branch = LastBranch::Seen(Branch { from, isa, is1, taken });
        // The unit pushes when it traces the atom: a later Mispredict does not change its stack.
        if first && last.role == Role::Call && rules.return_stack {
            self.returns.push(Return { address: next, is1 });
        }
        if taken && last.role == Role::ExceptionReturn && rules.implicit_exception_returns {
            sink.element(at, Element::ExceptionReturn);
        }
        self.resolve(last, next, is1, taken, rules);
    }

    /// Moves to the target of a branch, or to the instruction after it.
    #[inline]
    fn resolve(&mut self, last: &Instruction, next: u64, is1: bool, taken: bool, rules: Rules) {
        match (taken, last.kind, last.target) {
            (true, Kind::Branch, Some(target)) => {
                self.go(target, last.target_isa == Isa::T32, rules);
            }
            (true, Kind::Branch | Kind::Indirect, _) => {
                self.forget_address();
                self.known |= PENDING;
            }
            _ => {
                self.go(next, is1, rules);
                if !taken && last.is_unconditional() {
                    self.known |= NOT_TAKEN;
                }
            }
        }
    }

    /// A Mispredict after the commit of its branch: reports that the branch has the other outcome.
    /// The address is unknown then. Returns whether there is a branch.
    pub(super) fn correct<S: Sink>(&mut self, at: u64, sink: &mut S) -> bool {
        match &mut self.branch {
            LastBranch::Seen(branch) => {
                branch.taken = !branch.taken;
                sink.element(at, Element::Corrected { taken: branch.taken });
            }
            LastBranch::Unseen => {}
            LastBranch::Nothing => return false,
        }
        self.forget_address();
        true
    }

    /// [`correct`](Self::correct), and moves to the other target of the branch.
    pub(super) fn mispredict<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        if !self.correct(at, sink) {
            return false;
        }
        let LastBranch::Seen(Branch { from, isa, is1, taken }) = self.branch else { return true };
        let pc = Pc { address: from, isa, space: self.space };
        let (walked, stop) = walk(at, pc, code, Until::Waypoint, limit(code));
        if let (Some(last), None) = (walked.last, stop) {
            if taken && last.role == Role::ExceptionReturn && rules.implicit_exception_returns {
                sink.element(at, Element::ExceptionReturn);
            }
            self.resolve(&last, walked.end, is1, taken, rules);
        }
        true
    }

    /// A source address: all instructions up to and including the one there were executed. `taken`:
    /// whether that one took effect, after mispredicts.
    #[expect(clippy::too_many_arguments, reason = "an atom with an address of its own")]
    pub(super) fn source<K: BlockCache, S: Sink>(
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
        // The instruction set does not change without a branch, whatever the form of the packet.
        let is1 = if self.known & ADDRESS != 0 { self.is1 } else { is1 };
        let isa = isa(self.bits64, is1, rules);
        let source = Pc { address: address & isa.address_mask(), isa, space: self.space };
        // Without its instruction, the walk ends before it.
        let last = code.instruction(source).ok();
        let size = last.map_or(0, |last| u64::from(last.size));
        let end = source.address.wrapping_add(size) & isa.address_mask();
        // Without an address before it, or with a later one, the one instruction is certain.
        let from = self.pc();
        let precedes = |pc: &Pc| {
            let distance = source.address.checked_sub(pc.address);
            distance.is_some_and(|distance| last.is_some() || distance <= MAX_WALK)
        };
        let mut pc = from.filter(precedes).unwrap_or(source);
        if from.is_some_and(|from| from.address > source.address) {
            sink.element(at, Element::Inconsistency(Inconsistency::AddressNotReached));
        }
        let mut passed = false;
        let mut limit = limit(code);
        while rules.split_source
            && let Ok(block) = code.block(pc)
            && block.end == End::Waypoint
            && block.instructions + WAYPOINT_COST <= limit
            && block.next().wrapping_sub(1) < source.address
        {
            let block = *block;
            if !may_follow(at, block.instructions, code) {
                limit = 0;
                break;
            }
            let block_last = block.last;
            let walked = Walked {
                start: pc.address,
                end: block.next(),
                instructions: block.instructions,
                last: Some(block_last),
                ..Walked::default()
            };
            pc.address = walked.end;
            passed |= block_last.is_unconditional();
            limit -= walked.instructions + WAYPOINT_COST;
            if let Some(element) = walked.range(false) {
                sink.element(at, element);
            }
        }
        let (mut walked, stop) = walk(at, pc, code, Until::Address(end), limit);
        walked.passed |= passed;
        let missing = last.is_none().then_some(Stop::NoCode(source, source.address));
        let (None, Some(last)) = (&stop, last) else {
            return stop.or(missing).is_none_or(|stop| self.stopped(at, &walked, stop, sink));
        };
        walked.last = Some(last);
        if let Some(element) = walked.range(taken) {
            sink.element(at, element);
        }
        if walked.passed {
            sink.element(at, Element::Inconsistency(Inconsistency::UnconditionalNotTaken));
        }
        let from = source.address;
        self.go(from, is1, rules);
        self.arrived();
        // Of a return from an exception, an atom gets the element that an ETMv4's packet would
        // give. A source address only has the range, whose last instruction shows it.
        let rules = Rules { implicit_exception_returns: false, ..rules };
        self.branch(at, from, &last, end, taken, true, rules, sink);
        true
    }
}
