//! The program flow at an exception.

use tracewright_base::{BlockCache, Element, Exception, Inconsistency, Pc, Sink};

use super::super::straight::{Until, limit, walk};
use super::{Flow, LastBranch, Rules};

impl Flow {
    /// An exception: all instructions before its return address were executed.
    pub(in super::super) fn exception<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        exception: Exception,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        let mut good = true;
        let pending = self.waits_for_target() && !exception.also_target;
        if self.is_contradicted() {
            self.take_return(at, rules, sink);
        }
        if exception.return_address.is_none() && pending && rules.return_stack {
            // The target of the branch is irrelevant; the unit popped it from its stack.
            self.returns.pop();
        }
        if let Some(to) = exception.return_address
            && !exception.also_target
        {
            self.take_return(at, rules, sink);
            if let Some(pc) = self.pc()
                && pc.address != to & pc.isa.address_mask()
            {
                good = self.walk_to(at, pc, to, code, sink);
            }
        }
        self.forget_address();
        self.branch = LastBranch::Nothing;
        self.loss_reported = false;
        if good {
            sink.element(at, Element::Exception(exception));
        }
        good
    }

    /// Emits the instructions before `to`; no branch among them was taken.
    fn walk_to<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        pc: Pc,
        to: u64,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        let (walked, stop) = walk(at, pc, code, Until::Address(to), limit(code));
        match stop {
            Some(stop) => self.stopped(at, &walked, stop, sink),
            None => {
                if let Some(element) = walked.range(!walked.waypoint) {
                    sink.element(at, element);
                }
                if walked.passed || walked.is_unconditional() {
                    sink.element(at, Element::Inconsistency(Inconsistency::UnconditionalNotTaken));
                }
                true
            }
        }
    }
}
