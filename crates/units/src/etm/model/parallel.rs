//! Cycles with several instructions, and instructions executed under a data instruction. (IHI 0014,
//! 2.11)

use super::{CycleEnd, Inputs, Item, Model, Tri};
use crate::verdict::{Requirement, Verdict};

const SECTION: &str = "IHI 0014, 2.11";

/// What the parts of TraceEnable are for one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub event: Tri,
    pub start_stop: Tri,
    pub selected: Tri,
}

impl Parts {
    fn all(self) -> Tri {
        self.event.and(self.start_stop).and(self.selected)
    }
}

/// A verdict that other items of the cycle, or an outstanding data instruction, can turn into
/// permission.
fn permitted(verdict: Verdict, reason: &'static str) -> Verdict {
    match verdict.requirement {
        Requirement::MustNot => Verdict { requirement: Requirement::May, reason, section: SECTION },
        _ => verdict,
    }
}

impl Model {
    /// Observes all items of a cycle with `inputs`, and returns the verdict on each.
    ///
    /// An event is active for the whole cycle if a resource matched for any item. An item that
    /// would be traced alone must be traced; the others of the cycle may be.
    pub fn cycle(&mut self, inputs: &Inputs, items: &[Item]) -> (Vec<Verdict>, CycleEnd) {
        // What is active for any item of the cycle.
        let mut scout = self.clone();
        scout.begin_cycle(inputs);
        for item in items {
            let _ = scout.item(item);
        }
        self.begin_cycle(inputs);
        self.whole = Some(scout.active);
        let mut verdicts: Vec<Verdict> = Vec::with_capacity(items.len());
        // The last instruction, and the parts of TraceEnable for each.
        let (mut last, mut parts, mut prohibited) = (None, Vec::new(), Vec::new());
        for item in items {
            verdicts.push(self.item(item));
            let at = verdicts.len() - 1;
            if let Item::Instruction(instruction) = item {
                last = Some(at);
                prohibited.push(instruction.prohibited);
                parts.extend(self.parts.map(|parts| (at, parts)));
            }
            // Its data can make an instruction be traced.
            let own = !matches!(item, Item::Data(transfer) if transfer.earlier);
            if let (Some(at), Some(revised)) = (last.filter(|_| own), self.last_instruction())
                && let Some(verdict) = verdicts.get_mut(at)
            {
                *verdict = revised;
            }
        }
        self.whole = None;
        if !self.stopped() && !prohibited.contains(&true) {
            self.neighbours(items, &parts, &mut verdicts);
        }
        (verdicts, self.end_cycle())
    }

    /// What is permitted as another instruction of the cycle is traced. (2.11.1, 2.11.2)
    fn neighbours(&self, items: &[Item], parts: &[(usize, Parts)], verdicts: &mut [Verdict]) {
        if parts.len() < 2 || self.settings.control().data_only() {
            return;
        }
        let of = |at: usize| verdicts.get(at).map(|verdict| verdict.requirement);
        let traced = parts
            .iter()
            .any(|(at, _)| matches!(of(*at), Some(Requirement::Must | Requirement::May)));
        // The start/stop block is on for one instruction, and another one is included.
        let any = |of: fn(&Parts) -> Tri| parts.iter().any(|(_, parts)| of(parts) != Tri::No);
        let across = self.settings.start_stop_controls()
            && any(|parts| parts.start_stop)
            && any(|parts| parts.event.and(parts.selected));
        if !traced && !across {
            return;
        }
        let reason = match traced {
            true => "another instruction of the cycle is traced",
            false => "start/stop and include regions match different instructions of the cycle",
        };
        let mut excluded = false;
        for (item, (at, verdict)) in items.iter().zip(verdicts.iter_mut().enumerate()) {
            match item {
                Item::Instruction(_) => {
                    excluded = verdict.requirement == Requirement::MustNot;
                    *verdict = permitted(*verdict, reason);
                    debug_assert!(parts.iter().any(|(n, _)| *n == at));
                }
                // Data of an instruction that is not traced if it is alone.
                _ if excluded => *verdict = permitted(*verdict, reason),
                _ => {}
            }
        }
    }

    /// The verdict on an instruction that executes while a data instruction before it has transfers
    /// left. If that is traced, the protocol can require that this one is. (2.11.2)
    pub(super) fn under(&self, verdict: Verdict) -> Verdict {
        let outstanding = self.outstanding.as_ref().map(|traced| traced.verdict.requirement);
        match outstanding {
            Some(Requirement::Must | Requirement::May) => {
                permitted(verdict, "it executes under a data instruction that is traced")
            }
            _ => verdict,
        }
    }

    /// TraceEnable for parts, remembered for the rules of the cycle.
    pub(super) fn note(&mut self, parts: Parts) -> Tri {
        self.parts = Some(parts);
        parts.all()
    }
}
