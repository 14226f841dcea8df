//! The program's path from one reported instruction to the next, block by block.

use super::Decoder;
use super::goal::{BLOCK, Goal, Implied, Jumped, Path, Walked, cost};
use super::pending::Entries;
use super::state::{PassedAddress, Position, ReportedAs};
use super::turns::Cycle;
use crate::etrace::config::{LoopLabel, Params};
use crate::riscv::{self, emit_range, last_address};
use tracewright_base::{
    Block, BlockCache, BlockId, Counted, Element, End, Inconsistency, Instruction, Kind, Last,
    Miss, Pc, Range, Role, Sink, Turns,
};

impl Decoder {
    /// Walks to `goal` and emits the instructions on the path. The instruction at the goal is
    /// emitted too, unless it is the target of a jump: then it is pending.
    pub(super) fn walk<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        goal: &Goal,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) -> Walked {
        self.walk_from(at, goal, Path::default(), params, code, sink)
    }

    /// Walks to `goal`; `path` is the path since the last branch.
    pub(super) fn walk_from<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        goal: &Goal,
        mut path: Path,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) -> Walked {
        let isa = params.isa();
        let mut returned = false;
        let mut cycle = Cycle::default();
        // The last branch may be at the goal.
        let spare = u32::from(goal.address.is_some());
        let cached = !params.options.implicit_return;
        loop {
            let known = self.pending.known();
            // All known outcomes come before predicted ones.
            let spare = if self.pending.predicted() > 0 { 0 } else { spare };
            if cached && known > spare {
                if let Some(lost) = self.walk_cached(at, spare, &mut path, params, code, sink) {
                    return lost;
                }
                if goal.address.is_none() && self.pending.count() == 0 {
                    return Walked::There;
                }
                if self.pending.known() != known {
                    returned = false;
                }
            }
            let before = self.pending.predicted();
            if before > 0
                && let Some(lost) =
                    self.walk_predicted(at, goal, &mut path, &mut cycle, params, code, sink)
            {
                return lost;
            }
            if self.pending.predicted() != before {
                returned = false;
            }
            let (pc, pending_retire) = match self.position {
                Position::At { pc, pending_retire } => (pc, pending_retire),
                Position::Jump { role } => match self.jump(role, goal, params, code) {
                    Jumped::On => {
                        returned = true;
                        path.forget_mark();
                        if !path.goes_on(self.pc()) {
                            return self.lose(at, Inconsistency::AddressNotReached, params, sink);
                        }
                        continue;
                    }
                    Jumped::There => return Walked::There,
                    Jumped::Ambiguous => {
                        sink.element(at, Element::Inconsistency(Inconsistency::Ambiguous));
                        return Walked::There;
                    }
                    Jumped::Nowhere => {
                        return self.lose(at, Inconsistency::AddressNotReached, params, sink);
                    }
                },
                Position::Unknown => return self.lose(at, Inconsistency::NoAddress, params, sink),
            };
            if goal.before
                && goal.address == Some(pc)
                && !pending_retire
                && self.may_stop(goal, 0, params)
            {
                return Walked::There;
            }
            let position = Pc { address: pc, isa, space: self.space };
            let block = match code.block(position) {
                Ok(block) => *block,
                Err(miss) => return self.unreadable(at, position, miss, params, sink),
            };
            let count = self.pending.count();
            if count <= 1
                && let Some(address) = goal.address
                && goal.is_in(&block, address.wrapping_sub(pc) & isa.address_mask(), params)
                // A packet does not report the pending instruction again, nor the target of an
                // implied return.
                && !((pending_retire || returned && !goal.before) && address == pc)
            {
                let branch = block.last.conditional && address == last_address(&block);
                // A branch that trapped has no outcome.
                let may_trap = params.reports_trapped() && !goal.before;
                if (count == u64::from(branch && !goal.before) || count == 0 && may_trap)
                    && self.may_stop(goal, count, params)
                    && let Some(walked) = self.stop(at, &block, goal, params, code, sink)
                {
                    return walked;
                }
            }
            returned = false;
            if self.repeat(at, &block, params, sink) {
                path = Path::default();
                continue;
            }
            if !pending_retire
                && let Some(walked) = self.turns(at, pc, goal, &mut cycle, params, code, sink)
            {
                if walked == Walked::Lost {
                    return Walked::Lost;
                }
                (path, cycle) = (Path::default(), Cycle::default());
                continue;
            }
            match self.block(at, &block, params, code, sink) {
                Some(true) => path = Path::default(),
                Some(false) => {
                    if !path.goes_on(self.pc()) {
                        return self.lose(at, Inconsistency::AddressNotReached, params, sink);
                    }
                }
                None => return Walked::Lost,
            }
            if goal.address.is_none() && self.pending.count() == 0 {
                return Walked::There;
            }
        }
    }

    /// Walks from cached block to cached block while more than `spare` branch outcomes are known:
    /// only branches and jumps with known targets can come before them.
    ///
    /// The fast path has such a loop too, but it reads neither packets of 0.026 and ESP32 nor those
    /// with a compressed address (PULP). Without this one, decoding dhrystone of PULP `trdb`
    /// executes 49 % more instructions (135.4 instead of 91.1 million, counted by callgrind).
    fn walk_cached<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        spare: u32,
        path: &mut Path,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) -> Option<Walked> {
        let Position::At { pc, .. } = self.position else { return None };
        let predicts = params.options.branch_prediction;
        let entries = Entries::of_predictor(params);
        let isa = params.isa();
        let code_space = code.code_space(isa, self.space);
        let mut next = code.find(pc, code_space);
        if next == BlockId::NONE {
            next = code.enter(Pc { address: pc, isa, space: self.space }, None);
        }
        // Bit 0: the next branch is taken.
        let (map, count) = self.pending.known_map();
        let (mut steps, mut left) = (!map, count - spare);
        let mut allowance = self.allowance;
        // The last block ended with a direct jump, which is the next step of the path in branch
        // prediction mode.
        let (mut on, mut lost) = (false, false);
        loop {
            let (mut last, mut outcome) = (BlockId::NONE, 0);
            let blocks = code.blocks();
            while let Some((cached, class)) = blocks.get(next) {
                let branch = class.last[1];
                if branch.kind != Kind::Branch {
                    break;
                }
                let conditional = branch.conditional();
                if left == 0 {
                    break;
                }
                let range = cached.range(class, true);
                if core::mem::take(&mut on) && !path.goes_on(range.start) {
                    lost = true;
                    break;
                }
                let price = match predicts {
                    true => cost(range.instructions, false) + BLOCK,
                    false => cost(range.instructions, !conditional),
                };
                let Some(after) = allowance.checked_sub(price) else {
                    break;
                };
                allowance = after;
                outcome = if conditional { (steps & 1) as usize } else { 1 };
                steps >>= u32::from(conditional);
                left -= u32::from(conditional);
                if conditional {
                    *path = Path::default();
                    if predicts {
                        let predictor = &mut self.pending.predictor;
                        predictor.update(range.last_address(), outcome != 0, entries);
                    }
                }
                on = predicts && !conditional;
                sink.element(at, Element::Range(cached.range(class, outcome != 0)));
                last = next;
                next = blocks.next(next, outcome != 0);
            }
            if last == BlockId::NONE {
                break;
            }
            let Some(block) = code.cached_block(last) else { break };
            self.last = Some(last_address(&block));
            self.position = match block.last.target {
                Some(pc) if outcome != 0 => Position::At { pc, pending_retire: false },
                None if outcome != 0 => Position::Jump { role: block.last.role },
                _ => Position::At { pc: block.next(), pending_retire: false },
            };
            if next != BlockId::NONE {
                break;
            }
            let Position::At { pc, .. } = self.position else { break };
            let pc = Pc { address: pc, isa, space: self.space };
            next = code.enter(pc, Some((last, outcome != 0)));
        }
        self.pending.leave(left + spare);
        self.implied = 0;
        self.allowance = allowance;
        if lost || on && !path.goes_on(self.pc()) {
            return Some(self.lose(at, Inconsistency::AddressNotReached, params, sink));
        }
        None
    }

    /// Whether the walk may end at an instruction that no jump leads to, with `count` branch
    /// outcomes left.
    fn may_stop(&self, goal: &Goal, count: u64, params: &Params) -> bool {
        if self.pending.count() > count || goal.jumped {
            return false;
        }
        let depth = self.returns.depth();
        match goal.returns {
            None => true,
            Some(returns) if params.options.iret_ext => self.implied >= returns || depth == 0,
            Some(returns) => returns == depth,
        }
    }

    /// Emits all iterations but the last ones of a predicted loop of one block at once. Returns
    /// whether the block is such a loop.
    #[inline]
    fn repeat<S: Sink>(&mut self, at: u64, block: &Block, params: &Params, sink: &mut S) -> bool {
        let last = &block.last;
        let is_loop =
            block.end == End::Waypoint && last.conditional && last.target == Some(block.start);
        if !is_loop || last.kind != Kind::Branch {
            return false;
        }
        let address = last_address(block);
        let Some(repeat) = self.pending.repeat(address, params) else { return false };
        let Block { start, bytes, instructions, .. } = *block;
        let (cycles, last) = (Counted::UNKNOWN, Last::new(last, true));
        let range = Range { start, bytes, instructions, cycles, last };
        let listed = self.listed_turns(&[range], repeat.into());
        let turns = Turns { at, ranges: &[range], times: listed, listed: true };
        sink.turns(turns);
        if listed < u64::from(repeat) {
            let times = u64::from(repeat) - listed;
            sink.turns(Turns { times, listed: false, ..turns });
        }
        self.implied = 0;
        self.last = Some(address);
        self.position = Position::At { pc: start, pending_retire: false };
        true
    }

    /// Emits a whole block. Returns whether the outcome of a branch determines the next position;
    /// `None` if the program cannot be followed, which is reported.
    #[inline]
    pub(super) fn block<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        block: &Block,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) -> Option<bool> {
        let next = block.next();
        // A packet has at most 31 branches.
        let bounded = !params.options.implicit_return && !params.options.branch_prediction;
        let direct = block.end == End::Waypoint && block.last.kind == Kind::Branch;
        let jump = bounded && direct && !block.last.conditional;
        let per_block = if bounded { 0 } else { BLOCK };
        match self.allowance.checked_sub(cost(block.instructions, jump) + per_block) {
            Some(left) => self.allowance = left,
            None => {
                self.lose(at, Inconsistency::ExpansionLimit, params, sink);
                return None;
            }
        }
        let mut branched = false;
        let mut taken = true;
        let position = match (block.end, block.last.kind) {
            (End::Waypoint, Kind::Branch) if block.last.conditional => {
                branched = true;
                self.implied = 0;
                let Some(outcome) = self.pending.take(last_address(block), params) else {
                    self.lose(at, Inconsistency::AddressNotReached, params, sink);
                    return None;
                };
                taken = outcome;
                let target = block.last.target.unwrap_or(next);
                Position::At { pc: if taken { target } else { next }, pending_retire: false }
            }
            (End::Waypoint, Kind::Branch) => match block.last.target {
                Some(pc) => Position::At { pc, pending_retire: false },
                // A table jump of Zcmt through memory that is not known.
                None => Position::Jump { role: block.last.role },
            },
            (End::Waypoint, Kind::Indirect) => match self.inferred_target(block, params, code) {
                Some(pc) => Position::At { pc, pending_retire: false },
                None => Position::Jump { role: block.last.role },
            },
            (End::Waypoint | End::Limit, _) => Position::At { pc: next, pending_retire: false },
            (End::NoCode, _) => {
                emit_range(
                    at,
                    block.start,
                    block.bytes,
                    block.instructions,
                    &block.last,
                    true,
                    sink,
                );
                self.no_code(at, next, params, sink);
                return None;
            }
            (End::Invalid, _) => {
                emit_range(
                    at,
                    block.start,
                    block.bytes,
                    block.instructions,
                    &block.last,
                    true,
                    sink,
                );
                self.lose(at, Inconsistency::InvalidOpcode, params, sink);
                return None;
            }
        };
        emit_range(at, block.start, block.bytes, block.instructions, &block.last, taken, sink);
        self.retire(at, &block.last, next, params, sink);
        self.last = Some(last_address(block));
        self.position = position;
        Some(branched)
    }

    /// The effects of an emitted instruction: a call is pushed, a trap return is an element.
    #[inline]
    fn retire<S: Sink>(
        &mut self,
        at: u64,
        last: &Instruction,
        next: u64,
        params: &Params,
        sink: &mut S,
    ) {
        match last.role {
            Role::Call if params.options.implicit_return => self.returns.push(next, params),
            Role::ExceptionReturn => sink.element(at, Element::ExceptionReturn),
            _ => {}
        }
    }

    /// The target of a sequentially inferable jump: the instruction before it loads the address.
    #[inline]
    fn inferred_target<K: BlockCache>(
        &self,
        block: &Block,
        params: &Params,
        code: &mut K,
    ) -> Option<u64> {
        if !params.options.sijump {
            return None;
        }
        riscv::inferred_target(block, self.last, self.space, code)
    }

    /// Follows a jump of unknown target: by an implied return, or to the goal.
    pub(super) fn jump<K: BlockCache>(
        &mut self,
        role: Role,
        goal: &Goal,
        params: &Params,
        code: &mut K,
    ) -> Jumped {
        let mut ambiguous = false;
        if role == Role::Return && params.options.implicit_return {
            let implied = self.is_implied(goal, params, code);
            if implied == Implied::Yes
                && let Some(pc) = self.returns.pop()
            {
                self.implied = self.implied.saturating_add(1);
                self.position = Position::At { pc, pending_retire: false };
                return Jumped::On;
            }
            ambiguous = implied == Implied::Perhaps;
        }
        let Some(address) = goal.address else { return Jumped::Nowhere };
        match self.pending.count() {
            0 => {}
            // The last outcome is that of the goal itself, if it is a branch.
            1 if !goal.before && self.is_branch(address, params, code) => {
                self.pending.resolve(address, params)
            }
            _ => return Jumped::Nowhere,
        }
        let mut predicted = None;
        if role == Role::Return && params.options.implicit_return {
            predicted = self.returns.pop();
        }
        // A return to the top of the return stack is reported for another reason than its target.
        let known = goal.returns.is_some() && predicted == Some(address);
        // The address of a start packet is not stored if the return stack had a target.
        let started = goal.before && predicted.is_some();
        if params.options.jump_target_cache && !known && !started {
            self.targets.put(address, params);
        }
        self.position = Position::At { pc: address, pending_retire: true };
        if ambiguous { Jumped::Ambiguous } else { Jumped::There }
    }

    /// Whether the instruction at `address` is a branch.
    pub(super) fn is_branch<K: BlockCache>(
        &self,
        address: u64,
        params: &Params,
        code: &mut K,
    ) -> bool {
        let pc = Pc { address, isa: params.isa(), space: self.space };
        code.instruction(pc).is_ok_and(|i| i.kind == Kind::Branch && i.conditional)
    }

    /// Whether no processor executes the opcode at `address`: a block ends before it.
    pub(super) fn is_illegal<K: BlockCache>(
        &self,
        address: u64,
        params: &Params,
        code: &mut K,
    ) -> bool {
        let pc = Pc { address, isa: params.isa(), space: self.space };
        code.block(pc).is_ok_and(|block| block.instructions == 0)
    }

    /// Ends the walk inside a block. `None` if no instruction begins at the goal.
    fn stop<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        block: &Block,
        goal: &Goal,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) -> Option<Walked> {
        let address = goal.address?;
        let isa = params.isa();
        let mask = isa.address_mask();
        let (mut pc, mut count, mut before) = (block.start, 0, None);
        let mut last = Instruction::default();
        while pc != address {
            if pc != block.start && (address.wrapping_sub(pc) & mask) >= u64::from(block.bytes) {
                return None;
            }
            let instruction = code.instruction(Pc { address: pc, isa, space: self.space }).ok()?;
            if instruction.size == 0 {
                return None;
            }
            (before, last) = (Some(pc), instruction);
            pc = pc.wrapping_add(instruction.size.into()) & mask;
            count += 1;
        }
        let bytes = (address.wrapping_sub(block.start) & mask) as u32;
        if !goal.before {
            let undecided = !goal.notified && params.choices.loop_label == LoopLabel::NextPacket;
            let (returns, branches) = (goal.returns, goal.branches);
            let passed = PassedAddress { address, returns, branches, next: None };
            self.passed = undecided.then_some(passed);
            self.reported_as = ReportedAs::Passed;
        }
        // The instruction may have trapped. The next packet decides whether it was retired.
        if goal.before || params.reports_trapped() {
            emit_range(at, block.start, bytes, count, &last, true, sink);
            self.last = before.or(self.last);
            self.position = Position::At { pc: address, pending_retire: !goal.before };
            return Some(Walked::There);
        }
        // What comes after the last instruction of the block is not executed yet.
        if address == last_address(block) && matches!(block.end, End::Waypoint | End::Limit) {
            return Some(match self.block(at, block, params, code, sink) {
                Some(_) => Walked::There,
                None => Walked::Lost,
            });
        }
        let instruction = code.instruction(Pc { address, isa, space: self.space }).ok()?;
        let size = u32::from(instruction.size);
        emit_range(at, block.start, bytes + size, count + 1, &instruction, true, sink);
        self.last = Some(address);
        let pc = address.wrapping_add(size.into()) & mask;
        self.position = Position::At { pc, pending_retire: false };
        Some(Walked::There)
    }

    /// Emits the pending instruction, which was retired.
    pub(super) fn flush<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        let Position::At { pc, pending_retire: true } = self.position else { return };
        let isa = params.isa();
        let position = Pc { address: pc, isa, space: self.space };
        if self.is_illegal(pc, params, code) {
            self.lose(at, Inconsistency::InvalidOpcode, params, sink);
            return;
        }
        let instruction = match code.instruction(position) {
            Ok(instruction) => instruction,
            Err(miss) => {
                self.unreadable(at, position, miss, params, sink);
                return;
            }
        };
        let block = Block {
            start: pc,
            bytes: instruction.size.into(),
            instructions: 1,
            last: instruction,
            end: match instruction.kind {
                Kind::Branch | Kind::Indirect => End::Waypoint,
                _ => End::Limit,
            },
        };
        if instruction.conditional && self.pending.count() == 0 {
            // The branch was executed, and no packet has its outcome.
            emit_range(at, pc, block.bytes, 1, &instruction, false, sink);
            self.lose(at, Inconsistency::Unresolved, params, sink);
            return;
        }
        self.block(at, &block, params, code, sink);
    }

    pub(super) fn pc(&self) -> u64 {
        match self.position {
            Position::At { pc, .. } => pc,
            Position::Jump { .. } | Position::Unknown => 0,
        }
    }

    /// The packets contradict the program: emits `inconsistency` and gives up the position, and
    /// with it all that may be wrong too: the base of differential addresses, the return stack,
    /// the jump target cache and the predictor. Only an absolute address is certain after it.
    #[cold]
    pub(super) fn lose<S: Sink>(
        &mut self,
        at: u64,
        inconsistency: Inconsistency,
        params: &Params,
        sink: &mut S,
    ) -> Walked {
        self.give_up_position();
        self.address = None;
        self.targets.clear();
        self.stale = params.options.implicit_return || params.options.branch_prediction;
        sink.element(at, Element::Inconsistency(inconsistency));
        Walked::Lost
    }

    /// The instruction at `pc` cannot be read.
    #[cold]
    fn unreadable<S: Sink>(
        &mut self,
        at: u64,
        pc: Pc,
        miss: Miss,
        params: &Params,
        sink: &mut S,
    ) -> Walked {
        match pc.unreadable(miss.address) {
            Element::Inconsistency(misaligned) => self.lose(at, misaligned, params, sink),
            _ => self.no_code(at, miss.address, params, sink),
        }
    }

    /// Memory is missing at `address`. That does not contradict the packets, which go on from their
    /// own base; but calls and branches in the missing memory are not known.
    #[cold]
    fn no_code<S: Sink>(&mut self, at: u64, address: u64, params: &Params, sink: &mut S) -> Walked {
        self.give_up_position();
        self.stale |= params.options.branch_prediction;
        sink.element(at, Element::NoCode { address, space: self.space });
        Walked::Lost
    }
}

impl Decoder {
    /// The position in the program is not known, and no outcomes or calls before it.
    fn give_up_position(&mut self) {
        self.position = Position::Unknown;
        self.last = None;
        self.passed = None;
        self.pending.clear();
        self.returns.clear();
    }
}
