//! Implicit returns: returns to the address of the last call are not reported. (2.0, "Implicit
//! return mode", "Format 2 irreport and irdepth")

use alloc::boxed::Box;

use super::inst::{Inst, is};
use crate::etrace::config::Params;
use crate::etrace::decode::returns::Returns as Calls;

/// The calls since the last synchronisation, as the decoder knows them.
#[derive(Clone, Debug, Default)]
pub(super) struct Returns {
    /// The return stack.
    calls: Box<Calls>,
    /// Implicit returns since the last branch or packet.
    implied: u16,
    /// If the last instruction was a return with an entry on the return stack, right or not: the
    /// `irdepth` or `irets` before it.
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

    /// Takes the instruction `cur` before `next`. Whether it is an implied return, which is not
    /// reported. `sequential`: the instruction before `cur` gives its target.
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
        let depth = self.count(params);
        if self.calls.depth() == 0 {
            return false;
        }
        let expected = self.calls.pop();
        self.returned = Some(depth);
        // A unit with a counter alone does not compare.
        if params.widths.return_stack_size > 0 && expected != Some(next.address) {
            return false;
        }
        self.implied = self.implied.saturating_add(1);
        true
    }

    /// The value of `irdepth`, or of `irets`.
    const fn count(&self, params: &Params) -> u16 {
        if params.options.iret_ext { self.implied } else { self.calls.depth() }
    }

    /// `irdepth` or `irets` of a packet with the address of the next instruction. If that is the
    /// target of a return, implied or not, the value identifies the return. `target`: the address
    /// is the target of another jump, and needs no value.
    ///
    /// After returns that were implied since the last branch or packet the decoder may reach the
    /// address at another depth first, so that the packet has the value too.
    pub(super) fn report(&self, target: bool, params: &Params) -> Option<u16> {
        self.returned.or_else(|| (!target && self.implied > 0).then(|| self.count(params)))
    }

    /// Whether the next instruction is the target of a return with an entry on the return stack,
    /// right or not.
    pub(super) const fn returned(&self) -> bool {
        self.returned.is_some()
    }

    /// Whether returns were implied since the last branch or packet.
    pub(super) const fn implies(&self) -> bool {
        self.implied > 0
    }

    /// A call after an implied return makes the depth ambiguous: it must be reported.
    pub(super) const fn ambiguous(&self, params: &Params) -> bool {
        self.implies() && !params.options.iret_ext
    }
}
