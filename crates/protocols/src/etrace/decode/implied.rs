//! Implied returns: no packet reports them, because the return stack has their targets. ("Implicit
//! return mode")

use tracewright_base::{BlockCache, End, Kind, Pc};

use super::Decoder;
use super::goal::{Goal, Implied, LONGEST_DETOUR};
use crate::etrace::config::Params;

/// Where a path without a branch leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leads {
    /// To the address, or to code that is not known.
    There,
    /// To a jump of unknown target.
    Anywhere,
    /// To a branch.
    Elsewhere,
}

impl Decoder {
    /// Where the path from `from` leads without a branch, compared with the address `to`.
    pub(super) fn leads<K: BlockCache>(
        &self,
        mut from: u64,
        to: u64,
        params: &Params,
        code: &mut K,
    ) -> Leads {
        for _ in 0..LONGEST_DETOUR {
            let pc = Pc { address: from, isa: params.isa(), space: self.space };
            let Ok(block) = code.block(pc) else { return Leads::There };
            if to.wrapping_sub(block.start) < u64::from(block.bytes) {
                return Leads::There;
            }
            from = match (block.end, block.last.kind, block.last.target) {
                (End::NoCode | End::Invalid, ..) => return Leads::There,
                (End::Waypoint, Kind::Branch, _) if block.last.conditional => {
                    return Leads::Elsewhere;
                }
                (End::Waypoint, Kind::Branch, Some(target)) => target,
                (End::Waypoint, ..) => return Leads::Anywhere,
                _ => block.next(),
            };
        }
        Leads::There
    }

    /// Whether a return goes to the top of the return stack, so that no packet reports it.
    pub(super) fn is_implied<K: BlockCache>(
        &self,
        goal: &Goal,
        params: &Params,
        code: &mut K,
    ) -> Implied {
        if self.returns.depth() == 0 {
            return Implied::No;
        }
        // A return does not lead to another privilege level.
        if goal.before
            && !goal.jumped
            && self.pending.count() == 0
            && let (Some(from), Some(address)) = (self.returns.top(), goal.address)
        {
            match self.leads(from, address, params, code) {
                // A unit may report an instruction after implied returns before another context
                // begins.
                Leads::There if goal.context && from != address => return Implied::Perhaps,
                Leads::There => {}
                // The return goes to the address of the start packet, not to the top of the stack.
                Leads::Elsewhere => return Implied::No,
                // A unit may report a jump of unknown target before another context begins.
                Leads::Anywhere if goal.context => return Implied::Perhaps,
                Leads::Anywhere => {}
            }
        }
        let Some(returns) = goal.returns else { return Implied::Yes };
        let here = if params.options.iret_ext {
            returns == self.implied
        } else {
            returns == self.returns.depth()
        };
        let left = match (self.pending.count(), goal.address) {
            (0, _) => false,
            (1, Some(address)) => !self.is_branch(address, params, code),
            _ => true,
        };
        if !here || left { Implied::Yes } else { Implied::No }
    }
}
