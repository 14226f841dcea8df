//! Addresses that are reported where the program comes by them, though it may go on and be jumped to the
//! same place: what comes next settles it. ("Format 2 notify and updiscon fields")

use tracewright_base::{Code, Doubt, Element, End, Kind, Pc, Role, Sink};

use super::walk::Goal;
use super::{Decoder, Phase, Place};
use crate::etrace::config::Params;

/// An address that was reported where the program came by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CameBy {
    /// What its packet says of the calls.
    pub(super) returns: Option<u16>,
}

/// So many blocks may be between an address and the jump to it.
const FARTHEST: u32 = 64;

impl Decoder {
    /// The program came by the address that was reported, and went on until it was jumped to it.
    pub(super) fn go_round<K: Code, S: Sink>(
        &mut self,
        at: u64,
        by: CameBy,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        let (address, returns) = (self.address, by.returns);
        let goal = Goal { address, jumped: true, returns, ..Goal::BRANCHES };
        self.walk(at, &goal, params, code, sink);
    }

    /// An instruction that the program came by was reported, and a packet that names `next` in full
    /// comes after it. It was reported there and then only because `next` comes right after it; else the
    /// program went on, until it was jumped to. `changed`: at another privilege level.
    pub(super) fn settle<K: Code, S: Sink>(
        &mut self,
        at: u64,
        next: u64,
        changed: bool,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        let followed = core::mem::take(&mut self.followed);
        let Some(by) = self.inferred.take() else {
            if followed && params.options.implicit_return {
                self.flush(at, params, code, sink);
                self.land(next);
            }
            return;
        };
        let passed = match self.place {
            // Only a return from a trap changes the privilege level.
            Place::At { owed: false, .. } if changed => true,
            Place::At { pc, owed: false } => pc != next,
            _ => false,
        };
        match passed {
            true if self.phase == Phase::Following => self.go_round(at, by, params, code, sink),
            true => {}
            false => self.question(at, params, code, sink),
        }
        if params.options.implicit_return {
            self.land(next);
        }
    }

    /// The instruction that was just said, if it is a return, went to `next`, whether or not that was
    /// foreseen.
    fn land(&mut self, next: u64) {
        if let Place::Jump { role: Role::Return } = self.place {
            self.returns.pop();
            self.place = Place::At { pc: next, owed: false };
        }
    }

    /// A packet of format 3 comes after one that reported what the program had just come by. In 0.026
    /// nothing tells whether it went on and was jumped to the same place: where it can have, that is said.
    pub(super) fn question<K: Code, S: Sink>(
        &mut self,
        at: u64,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        if params.is_draft() && self.comes_to_jump(params, code) {
            sink.element(at, Element::Doubt(Doubt::Ambiguous));
        }
    }

    /// Whether the program comes to a jump of unknown target without a branch.
    fn comes_to_jump<K: Code>(&self, params: &Params, code: &mut K) -> bool {
        let isa = params.isa();
        let mut pc = match self.place {
            Place::At { pc, owed: false } => pc,
            Place::Jump { .. } => return true,
            _ => return false,
        };
        for _ in 0..FARTHEST {
            let Ok(block) = code.block(Pc { address: pc, isa, space: self.space }) else { break };
            let block = *block;
            pc = match (block.end, block.last.kind) {
                (End::Waypoint, Kind::Branch) if block.last.conditional => return false,
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
