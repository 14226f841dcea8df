//! Loop labels: a reported address that the program reaches without a jump of unknown target, and
//! that a later jump may have as its target too. The next packet decides which visit was reported.
//! ("Format 2 notify and updiscon fields")

use tracewright_base::{BlockCache, Element, End, Inconsistency, Kind, Pc, Role, Sink};

use super::Decoder;
use super::goal::{Goal, LONGEST_DETOUR, Walked};
use super::implied::Leads;
use super::state::{Announced, Next, PassedAddress, Phase, Position};
use crate::etrace::config::Params;
use crate::etrace::packet::PrivilegeContext;

impl Decoder {
    /// Walks from the passed address `passed` to the jump that has the same address as its target:
    /// the packet reported this later visit.
    pub(super) fn walk_to_jump<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        passed: PassedAddress,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        let address = Some(passed.address);
        let goal = Goal { address, jumped: true, returns: passed.returns, ..Goal::BRANCHES };
        let walked = self.walk_to_report(at, &goal, params, code, sink);
        if let Some(next) = passed.next.filter(|_| walked == Walked::There) {
            self.pending.add(next.map.unwrap_or_default());
            let notified = params.choices.notifications;
            let goal = Goal { address: Some(next.address), notified, ..Goal::BRANCHES };
            self.walk_to_report(at, &goal, params, code, sink);
        }
    }

    /// Whether `next` may be the instruction right after the passed address `passed` in the
    /// program.
    pub(super) fn may_follow<K: BlockCache>(
        &self,
        passed: &PassedAddress,
        next: &Next,
        params: &Params,
        code: &mut K,
    ) -> bool {
        let Position::At { pc, pending_retire: true } = self.position else { return false };
        let at = Pc { address: pc, isa: params.isa(), space: self.space };
        let Ok(instruction) = code.instruction(at) else { return false };
        let behind = pc.wrapping_add(instruction.size.into()) & params.isa().address_mask();
        let follows = match instruction.kind {
            Kind::Branch if instruction.conditional => match self.pending.first() {
                Some(true) => instruction.target,
                Some(false) => Some(behind),
                None => return false,
            },
            Kind::Branch | Kind::Indirect => instruction.target,
            _ => Some(behind),
        };
        let own = next.map.is_none_or(|map| {
            map.len == 0
                || map.len == 1 && map.bits == 0 && self.is_branch(next.address, params, code)
        });
        passed.next.is_none() && own && follows.is_none_or(|follows| follows == next.address)
    }

    /// A start packet with the address `next` and the context `privilege_context` comes after a
    /// passed address. The unit reported the passed address at the first visit only if `next` comes
    /// right after it. Else the program went on until it jumped to the passed address.
    pub(super) fn resolve_passed<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        next: u64,
        privilege_context: PrivilegeContext,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        let announced = core::mem::take(&mut self.announced);
        if let Some(passed) = self.passed.filter(|passed| passed.next.is_some()) {
            self.passed = None;
            self.walk_to_jump(at, passed, params, code, sink);
        }
        if params.reports_trapped() && self.passed.is_some() {
            self.flush(at, params, code, sink);
        }
        let Some(passed) = self.passed.take() else {
            match announced {
                _ if !params.options.implicit_return => {}
                Announced::Nothing => {}
                Announced::Notification if self.changes(privilege_context) => {}
                Announced::Notification => {
                    self.return_after_notification(at, next, params, code, sink)
                }
                Announced::Sync => {
                    self.flush(at, params, code, sink);
                    self.return_to(next, params);
                }
            }
            return;
        };
        let went_on = match self.position {
            // Only a trap return changes the privilege level.
            Position::Jump { role: Role::ExceptionReturn } => false,
            Position::At { pending_retire: false, .. } | Position::Jump { .. }
                if self.changes(privilege_context) =>
            {
                true
            }
            Position::At { pc, pending_retire: false } => pc != next,
            _ => false,
        };
        match went_on || !self.reports_before_start(&passed, privilege_context, params, code) {
            true if self.phase == Phase::Following => {
                self.walk_to_jump(at, passed, params, code, sink)
            }
            true => {}
            false => self.report_ambiguity(at, params, code, sink),
        }
        if params.options.implicit_return {
            self.return_to(next, params);
        }
    }

    /// Whether a unit may report the instruction at `passed` because a start packet with
    /// `privilege_context` is next. A unit of 0.026 has three reasons: there are branches before
    /// the instruction; a block ends with it (`itype` is not 0) and the period is over; or it is a
    /// jump of unknown target into another context. Without a reason the report is for the target
    /// of a jump, if there is a jump.
    fn reports_before_start<K: BlockCache>(
        &self,
        passed: &PassedAddress,
        privilege_context: PrivilegeContext,
        params: &Params,
        code: &mut K,
    ) -> bool {
        if !params.is_draft() || params.choices.trapped_in_stream || passed.branches {
            return true;
        }
        let pc = Pc { address: passed.address, isa: params.isa(), space: self.space };
        let kind = code.instruction(pc).map_or(Kind::Plain, |instruction| instruction.kind);
        let special = matches!(kind, Kind::Branch | Kind::Indirect);
        let context =
            self.privilege_context.is_some_and(|known| known.context != privilege_context.context);
        special && !params.options.resync_disabled
            || kind == Kind::Indirect && context
            || !self.reaches_jump(params, code)
    }

    /// If the last instruction that was emitted is a return, its target is `next`, even if the
    /// return stack has another.
    fn return_to(&mut self, next: u64, params: &Params) {
        if let Position::Jump { role: Role::Return } = self.position {
            if self.returns.pop().is_none() && params.options.jump_target_cache {
                self.targets.put(next, params);
            }
            self.position = Position::At { pc: next, pending_retire: false };
        }
    }

    /// A notification reported the last instruction, and a start packet with the address `next` and
    /// the same privilege is the next packet. If the instruction is a return, it went to `next`: at
    /// the end of a period, or before another context, a unit reports an instruction after implied
    /// returns. The specification requires that only where there are branches, so that the return
    /// may be implied too if `next` comes after the top of the return stack.
    fn return_after_notification<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        next: u64,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        let Position::Jump { role: Role::Return } = self.position else { return };
        if let Some(top) = self.returns.top().filter(|top| *top != next)
            && self.leads(top, next, params, code) != Leads::Elsewhere
        {
            sink.element(at, Element::Inconsistency(Inconsistency::Ambiguous));
        }
        self.return_to(next, params);
    }

    /// A packet of format 3 comes after a passed address. Packets of 0.026 do not distinguish the
    /// first visit of the address from a later one by a jump: if a jump is possible, the ambiguity
    /// is reported.
    pub(super) fn report_ambiguity<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        if params.is_draft() && self.reaches_jump(params, code) {
            sink.element(at, Element::Inconsistency(Inconsistency::Ambiguous));
        }
    }

    /// Whether the program reaches a jump of unknown target without a branch.
    pub(super) fn reaches_jump<K: BlockCache>(&self, params: &Params, code: &mut K) -> bool {
        let isa = params.isa();
        // The pending instruction may be a branch with a known outcome.
        let mut outcome = self.pending.first();
        let mut pc = match self.position {
            Position::At { pc, .. } => pc,
            Position::Jump { .. } => return true,
            Position::Unknown => return false,
        };
        for _ in 0..LONGEST_DETOUR {
            let Ok(block) = code.block(Pc { address: pc, isa, space: self.space }) else { break };
            let block = *block;
            pc = match (block.end, block.last.kind) {
                (End::Waypoint, Kind::Branch) if block.last.conditional => match outcome.take() {
                    Some(false) => block.next(),
                    Some(true) => match block.last.target {
                        Some(target) => target,
                        None => return true,
                    },
                    None => return false,
                },
                (End::Waypoint, Kind::Branch) => match block.last.target {
                    Some(target) => target,
                    None => return true,
                },
                (End::Waypoint, Kind::Indirect) if params.options.sijump => {
                    match block.last.target {
                        Some(target) => target,
                        None => return true,
                    }
                }
                (End::Waypoint, Kind::Indirect) => return true,
                (End::Waypoint | End::Limit, _) => block.next(),
                (End::NoCode | End::Invalid, _) => return false,
            };
        }
        false
    }
}
