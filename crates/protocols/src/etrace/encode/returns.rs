//! Implicit returns: calls that the decoder has seen tell where returns go. (2.0, "Implicit return
//! mode", "Format 2 irreport and irdepth")

use alloc::boxed::Box;

use super::inst::{Inst, is};
use crate::etrace::config::Params;
use crate::etrace::decode::returns::Returns as Calls;

/// What is known of calls since the last synchronisation.
#[derive(Clone, Debug, Default)]
pub(super) struct Returns {
    /// The calls that were not returned from.
    calls: Box<Calls>,
    /// Implicit returns since the last branch or packet.
    implied: u16,
    /// The last instruction was a return that the calls foresee, rightly or not: how deep they were, or
    /// how many returns had been implied, when it was met.
    returned: Option<u16>,
}

impl Returns {
    /// A synchronisation packet was sent.
    pub(super) fn clear(&mut self) {
        self.calls.clear();
        self.implied = 0;
        self.returned = None;
    }

    /// A branch.
    #[inline]
    pub(super) fn branch(&mut self) {
        self.implied = 0;
    }

    /// A packet was sent.
    #[inline]
    pub(super) fn packet(&mut self) {
        self.implied = 0;
    }

    /// An instruction, `cur`, that goes to `next`; `sequential`: the one before it tells where.
    /// Whether it is a return that need not be told.
    #[inline]
    pub(super) fn instruction(
        &mut self,
        cur: &Inst,
        next: &Inst,
        sequential: bool,
        params: &Params,
    ) -> bool {
        self.returned = None;
        if !cur.is(is::CALL | is::RETURN) {
            return false;
        }
        if cur.is(is::CALL) {
            self.calls.push(cur.after, params);
            return false;
        }
        !sequential && cur.is(is::UPDISCON) && self.returns(next, params)
    }

    fn returns(&mut self, next: &Inst, params: &Params) -> bool {
        let said = self.count(params);
        if self.calls.depth() == 0 {
            return false;
        }
        let expected = self.calls.pop();
        self.returned = Some(said);
        // A unit with a counter alone does not compare.
        if params.widths.return_stack_size > 0 && expected != Some(next.address) {
            return false;
        }
        self.implied = self.implied.saturating_add(1);
        true
    }

    /// How deep the calls are, or how many returns were implied.
    const fn count(&self, params: &Params) -> u16 {
        if params.options.iret_ext { self.implied } else { self.calls.depth() }
    }

    /// What a packet with the address of the next instruction says of the calls. Where that is the target
    /// of a return, the decoder is told which return it is, implied or not. `target`: else it was jumped
    /// to, which says enough.
    ///
    /// Where returns were implied since the last branch or packet the decoder may come by the address
    /// at another depth before.
    pub(super) fn report(&self, target: bool, params: &Params) -> Option<u16> {
        self.returned.or_else(|| (!target && self.implied > 0).then(|| self.count(params)))
    }

    /// The next instruction is the target of a return that the calls foresee, rightly or not.
    pub(super) const fn returned(&self) -> bool {
        self.returned.is_some()
    }

    /// Returns were implied since the last branch or packet.
    pub(super) const fn implies(&self) -> bool {
        self.implied > 0
    }

    /// A call after an implied return makes the depth ambiguous: it must be reported.
    pub(super) const fn ambiguous(&self, params: &Params) -> bool {
        self.implies() && !params.options.iret_ext
    }
}
