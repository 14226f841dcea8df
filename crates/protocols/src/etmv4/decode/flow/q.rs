//! Q elements: instructions without their outcomes. (ETE K10.5.5.15)

use tracewright_base::{BlockCache, Counted, Element, Instruction, Kind, Sink};

use super::super::straight::{Until, limit, walk};
use super::{Flow, LastBranch, Rules};

impl Flow {
    /// A Q element: `count` instructions were executed, then the one at `next`, which is `None` if
    /// the trace does not have it. Afterwards the address is unknown.
    pub(in super::super) fn q<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        count: Option<u32>,
        next: Option<u64>,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        // A count of 0 is none. (ETE K10.5.5.15.1)
        let count = count.filter(|&count| count > 0);
        self.take_return(at, rules, sink);
        self.branch = LastBranch::Nothing;
        self.unseen_calls = true;
        let Some(pc) = self.pc() else {
            self.unplaced(at, sink);
            return true;
        };
        self.forget_address();
        let unknown = |next| Element::Unknown {
            start: pc.address,
            next,
            instructions: count.map_or(Counted::UNKNOWN, Counted::of),
        };
        let Some(count) = count else {
            match next {
                Some(next) => sink.element(at, unknown(next)),
                None => self.unplaced(at, sink),
            }
            return true;
        };
        // The path is certain only up to the first waypoint.
        let (walked, stop) = walk(at, pc, code, Until::Count(count), limit(code));
        if let Some(stop) = stop {
            return self.stopped(at, &walked, stop, sink);
        }
        let whole = walked.instructions == count;
        match next {
            Some(next) if whole && walked.can_precede(next) => {
                let taken = walked.last.is_none_or(|last| {
                    !(last.conditional && last.kind == Kind::Branch && next == walked.end)
                });
                if let Some(element) = walked.range(taken) {
                    sink.element(at, element);
                }
            }
            Some(next) => sink.element(at, unknown(next)),
            None => {
                let certain = |last: &Instruction| whole && last.kind == Kind::Plain;
                if walked.last.as_ref().is_some_and(certain)
                    && let Some(element) = walked.range(true)
                {
                    sink.element(at, element);
                }
                self.unplaced(at, sink);
            }
        }
        true
    }
}
