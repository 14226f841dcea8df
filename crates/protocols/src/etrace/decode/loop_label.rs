//! Addresses that are reported where the program comes by them, though it may go on and be jumped to the
//! same place: what comes next settles it. ("Format 2 notify and updiscon fields")

use tracewright_base::{BlockCache, Element, End, Inconsistency, Kind, Pc, Role, Sink};

use super::Decoder;
use super::goal::{Goal, LONGEST_DETOUR, Walked};
use super::state::{Next, PassedAddress, Phase, Position};
use crate::etrace::config::Params;
use crate::etrace::packet::Who;

impl Decoder {
    /// The program came by the address that was reported, and went on until it was jumped to it.
    pub(super) fn go_round<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        by: PassedAddress,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        let address = Some(by.address);
        let goal = Goal { address, jumped: true, returns: by.returns, ..Goal::BRANCHES };
        let walked = self.name(at, &goal, params, code, sink);
        if let Some(next) = by.next.filter(|_| walked == Walked::There) {
            self.pending.add(next.map.unwrap_or_default());
            let notified = params.choices.notifications;
            let goal = Goal { address: Some(next.address), notified, ..Goal::BRANCHES };
            self.name(at, &goal, params, code, sink);
        }
    }

    /// Whether a packet after that of `by` may name what comes right after it in the program.
    pub(super) fn may_come_next<K: BlockCache>(
        &self,
        by: &PassedAddress,
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
        by.next.is_none() && own && follows.is_none_or(|follows| follows == next.address)
    }

    /// An instruction that the program came by was reported, and a packet that names `next` in full
    /// comes after it. It was reported there and then only because `next` comes right after it; else the
    /// program went on, until it was jumped to. `who`: who executes it.
    pub(super) fn settle<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        next: u64,
        who: Who,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        let followed = core::mem::take(&mut self.followed);
        if let Some(by) = self.passed.filter(|by| by.next.is_some()) {
            self.passed = None;
            self.go_round(at, by, params, code, sink);
        }
        if params.reports_trapped() && self.passed.is_some() {
            self.flush(at, params, code, sink);
        }
        let Some(by) = self.passed.take() else {
            if followed && params.options.implicit_return {
                self.flush(at, params, code, sink);
                self.land(next, params);
            }
            return;
        };
        let passed = match self.position {
            // Only a return from a trap changes the privilege level.
            Position::At { pending_retire: false, .. } if self.changes(who) => true,
            Position::At { pc, pending_retire: false } => pc != next,
            _ => false,
        };
        match passed || !self.reports_for_start(&by, who, params, code) {
            true if self.phase == Phase::Following => self.go_round(at, by, params, code, sink),
            true => {}
            false => self.question(at, params, code, sink),
        }
        if params.options.implicit_return {
            self.land(next, params);
        }
    }

    /// Whether a unit may report an instruction that the program comes by because a synchronisation packet, of `who`, is
    /// next. In 0.026 it does so for the branches before it; where a block ends with it (`itype` is not 0) and the period
    /// is over; and where nothing tells where it jumps to, and the context is another there. Else it reports what was
    /// jumped to, where there is a jump.
    fn reports_for_start<K: BlockCache>(
        &self,
        by: &PassedAddress,
        who: Who,
        params: &Params,
        code: &mut K,
    ) -> bool {
        if !params.is_draft() || params.choices.trapped_in_stream || by.branches {
            return true;
        }
        let pc = Pc { address: by.address, isa: params.isa(), space: self.space };
        let kind = code.instruction(pc).map_or(Kind::Plain, |instruction| instruction.kind);
        let special = matches!(kind, Kind::Branch | Kind::Indirect);
        let context = self.who.is_some_and(|known| known.context != who.context);
        special && !params.options.resync_disabled
            || kind == Kind::Indirect && context
            || !self.comes_to_jump(params, code)
    }

    /// The instruction that was just said, if it is a return, went to `next`, whether or not that was
    /// foreseen.
    fn land(&mut self, next: u64, params: &Params) {
        if let Position::Jump { role: Role::Return } = self.position {
            if self.returns.pop().is_none() && params.options.jump_target_cache {
                self.targets.put(next, params);
            }
            self.position = Position::At { pc: next, pending_retire: false };
        }
    }

    /// A packet of format 3 comes after one that reported what the program had just come by. In 0.026
    /// nothing tells whether it went on and was jumped to the same place: where it can have, that is said.
    pub(super) fn question<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        if params.is_draft() && self.comes_to_jump(params, code) {
            sink.element(at, Element::Inconsistency(Inconsistency::Ambiguous));
        }
    }

    /// Whether the program comes to a jump of unknown target without a branch.
    pub(super) fn comes_to_jump<K: BlockCache>(&self, params: &Params, code: &mut K) -> bool {
        let isa = params.isa();
        // What is owed may be a branch, and its outcome known.
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
