//! Start packets (format 3, sub-format 0): a full address, the privilege and the context.

use tracewright_base::{BlockCache, Kind, Pc, Role, Sink};

use super::Decoder;
use super::goal::{Goal, Walked};
use super::implied::Leads;
use super::state::{Announced, Before, PassedAddress, Phase, Position, ReportedAs};
use crate::etrace::config::{Params, Profile};
use crate::etrace::packet;

impl Decoder {
    /// A start packet.
    pub(super) fn start<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        start: &packet::Start,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        let address = params.full_address(start.address) & params.isa().address_mask();
        if params.profile == Profile::PulpRvTracer && self.repeats(address, params, code) {
            (self.passed, self.announced) = (None, Announced::Nothing);
            self.enter(at, start.privilege_context, params, sink);
            let known = self.pending.count() > 0;
            if !known && self.position == (Position::At { pc: address, pending_retire: true }) {
                self.arrive(address, start.branch, params, code);
            }
            self.forget(params);
            return;
        }
        let changed = self.changes(start.privilege_context);
        let context = self
            .privilege_context
            .is_some_and(|known| known.context != start.privilege_context.context);
        let (reported, why) = self.last_reported(context);
        // With trapped instructions in the stream, a start packet after the first instruction of a
        // handler reports the second.
        let second = params.choices.trapped_in_stream
            && matches!(self.reported_as, ReportedAs::Handler { .. });
        if second {
            self.flush(at, params, code, sink);
        } else {
            self.resolve_passed(at, address, start.privilege_context, params, code, sink);
        }
        self.implied = 0;
        let mut returned = false;
        let mut emitted = false;
        if self.phase == Phase::Following && !second {
            let idles = self.idles(address, params, code);
            emitted = idles && self.position == Position::At { pc: address, pending_retire: false };
            if self.position != Position::Unknown && !idles {
                let goal = Goal {
                    address: Some(address),
                    // Only a return from a trap changes the privilege level.
                    jumped: changed,
                    before: true,
                    context,
                    ..Goal::BRANCHES
                };
                if self.walk(at, &goal, params, code, sink) == Walked::Lost {
                    self.returns.clear();
                }
            }
            returned = self.follows_trap_return(params, code);
        }
        self.begin(at, sink);
        self.enter(at, start.privilege_context, params, sink);
        self.arrive(address, start.branch, params, code);
        if emitted && let Position::At { pending_retire, .. } = &mut self.position {
            *pending_retire = false;
        }
        self.forget(params);
        let before = match reported {
            Some(_) if self.last != reported => Before::Unreported,
            _ => why,
        };
        self.reported_as = ReportedAs::Start { after_return: returned, before };
    }

    /// PULP `rv_tracer`: whether a start packet at `address` repeats the instruction that the
    /// packet before reported, whose outcome that packet has if it is a branch. It is another visit
    /// of the instruction if the program comes back to it without another branch.
    fn repeats<K: BlockCache>(&self, address: u64, params: &Params, code: &mut K) -> bool {
        if self.phase != Phase::Following || self.address != Some(address) {
            return false;
        }
        let next = match self.position {
            Position::At { pc, pending_retire: true } if pc == address => {
                let pc = Pc { address, isa: params.isa(), space: self.space };
                let Ok(instruction) = code.instruction(pc) else { return false };
                let behind = address.wrapping_add(instruction.size.into());
                match instruction.kind {
                    Kind::Branch if instruction.conditional => match self.pending.first() {
                        Some(true) => instruction.target,
                        Some(false) => Some(behind),
                        None => return true,
                    },
                    Kind::Branch | Kind::Indirect => instruction.target,
                    _ => Some(behind),
                }
            }
            Position::At { pc, pending_retire: false }
                if self.reported_as == ReportedAs::Passed && self.last == Some(address) =>
            {
                Some(pc)
            }
            _ => None,
        };
        next.is_some_and(|next| self.leads(next, address, params, code) == Leads::Elsewhere)
    }

    /// The address that the last packet reported, if any, and the reason for it, provided that
    /// the instruction of the start packet is the next one. `context`: that is in another context.
    fn last_reported(&self, context: bool) -> (Option<u64>, Before) {
        let reason = |branches: bool| match branches || context {
            true => Before::Perhaps,
            false => Before::ForTrap,
        };
        match (self.passed, self.position) {
            (Some(PassedAddress { next: Some(next), .. }), _) => {
                (Some(next.address), reason(next.map.is_some_and(|map| map.len > 0)))
            }
            (Some(passed), Position::At { pc, pending_retire: true }) => {
                (Some(pc), reason(passed.branches))
            }
            (None, Position::At { pc, pending_retire: true }) => (Some(pc), Before::Perhaps),
            (_, Position::Unknown) => (None, Before::Perhaps),
            _ if self.phase != Phase::Following => (None, Before::Perhaps),
            _ => (None, Before::Unreported),
        }
    }

    /// Whether the program is in a loop of one jump from `address` to itself. How often it runs is
    /// not traced.
    fn idles<K: BlockCache>(&self, address: u64, params: &Params, code: &mut K) -> bool {
        let pc = Pc { address, isa: params.isa(), space: self.space };
        matches!(self.position, Position::At { pc, .. } if pc == address)
            && code.instruction(pc).is_ok_and(|i| !i.conditional && i.target == Some(address))
    }

    /// Whether the last instruction that was emitted is a trap return.
    fn follows_trap_return<K: BlockCache>(&self, params: &Params, code: &mut K) -> bool {
        self.last.is_some_and(|address| {
            let pc = Pc { address, isa: params.isa(), space: self.space };
            code.instruction(pc).is_ok_and(|i| i.role == Role::ExceptionReturn)
        })
    }
}
