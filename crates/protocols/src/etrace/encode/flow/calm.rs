//! Most instructions need no packet, and the algorithm need not look at each of them.

use super::super::inst::{Inst, is};
use super::Flow;
use crate::etrace::config::{Params, Sync};
use crate::etrace::packet::{Map, Packet};

impl Flow {
    /// An instruction without flags, as most are, at `address`. Returns whether that is all.
    #[inline]
    pub(in super::super) const fn skip(&mut self, address: u64, after: u64) -> bool {
        if self.quiet {
            (self.cur.address, self.cur.after) = (address, after);
        }
        self.quiet
    }

    /// The next instruction. Encodes the one before it.
    #[inline(always)]
    pub(in super::super) fn push(
        &mut self,
        next: &Inst,
        params: &Params,
        out: &mut impl Extend<Packet>,
    ) {
        if !self.calm || next.flags & !is::USUAL != 0 {
            return self.push_any(next, params, out);
        }
        if self.cur.is(is::BRANCH) {
            self.branch(self.cur.address, self.cur.is(is::TAKEN), params);
            if self.failed || self.branches == Map::FULL {
                self.updiscon = false;
                let cur = self.cur;
                self.full_map(&cur, params, out);
            }
        }
        // Only its flags matter, unless it is a trap.
        self.prev.flags = self.cur.flags;
        self.cur.set(next);
        self.calm = self.is_calm(params);
        self.quiet = self.calm && self.cur.flags == 0;
    }

    /// Whether [`Flow::calm`] is true for the next instruction.
    #[inline]
    fn is_calm(&self, params: &Params) -> bool {
        let mut not = !is::USUAL | is::SEQUENTIAL;
        if params.options.implicit_return {
            not |= is::CALL | is::RETURN;
        }
        self.settled
            && self.count < u64::from(params.choices.resync_max)
            && self.prev.flags & (!is::USUAL | is::UPDISCON) == 0
            && self.cur.flags & not == 0
            && self.cur.not_taken == 0
    }

    /// After an instruction of any kind: which instructions need nothing from here on.
    pub(super) fn settle(&mut self, params: &Params) {
        let undisturbed = !self.sync_next
            && !self.second_of_handler
            && !self.context_due
            && !params.own.cycle_counts
            && params.choices.resync == Sync::Packets;
        self.settled = undisturbed
            && !self.trap_reported
            && !self.failed
            && self.executed.is_none()
            && !self.returns.returned()
            && !self.returns.implies()
            && !self.outlet.is_lost();
        self.calm = self.is_calm(params);
        let plain = (self.prev.flags | self.cur.flags) == 0
            && self.count < u64::from(params.choices.resync_max);
        self.quiet = undisturbed && plain || self.calm && self.cur.flags == 0;
    }
}
