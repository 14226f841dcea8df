//! Returns that no packet tells of: the calls before them tell where they go. ("Implicit return mode")

use tracewright_base::{BlockCache, End, Kind, Pc};

use super::Decoder;
use super::goal::{Goal, Implied, LONGEST_DETOUR};
use crate::etrace::config::Params;

/// Where a path without a branch leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leads {
    /// To the address, or nobody knows.
    There,
    /// To a jump whose target it does not tell.
    Anywhere,
    /// To a branch.
    Elsewhere,
}

impl Decoder {
    /// How the program may come from one address to another without a branch.
    fn leads<K: BlockCache>(&self, mut from: u64, to: u64, params: &Params, code: &mut K) -> Leads {
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

    /// Whether a return goes where the return stack says, and no packet tells of it.
    pub(super) fn is_implied<K: BlockCache>(
        &self,
        goal: &Goal,
        params: &Params,
        code: &mut K,
    ) -> Implied {
        if self.returns.depth() == 0 {
            return Implied::No;
        }
        if goal.before
            && self.pending.count() == 0
            && let (Some(from), Some(address)) = (self.returns.top(), goal.address)
        {
            match self.leads(from, address, params, code) {
                Leads::There => {}
                // It went to the start itself, and not where it was foreseen to.
                Leads::Elsewhere => return Implied::No,
                // A jump of unknown target is rather reported before another context begins.
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
