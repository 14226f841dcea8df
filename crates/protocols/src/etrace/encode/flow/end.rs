//! The end of tracing: the report of the last instruction, and `qual_status`.

use super::super::inst::{Inst, is};
use super::Flow;
use crate::etrace::config::Params;
use crate::etrace::packet::{Packet, Qualification};

impl Flow {
    /// The trace ends.
    pub(in super::super) fn finish(&mut self, params: &Params, out: &mut impl Extend<Packet>) {
        self.outlet.empty();
        if self.quirks.never_ends {
            // The last instruction has no successor, and is not reported.
            return;
        }
        if self.quirks.ends_twice && self.filled {
            let same = Inst { flags: self.cur.flags & !is::CHANGES, ..self.cur };
            self.encode(&same, params, out);
            self.report(&self.cur.clone(), false, false, params, out);
            self.support(false, Qualification::EndedReported, params, out);
        } else {
            let end = Inst { flags: is::UNQUALIFIED | is::DISABLED, ..Inst::default() };
            self.push_any(&end, params, out);
        }
        self.filled = false;
        // In 0.026 te_support came before the loss, and has no status for it.
        if self.outlet.is_lost() && !params.is_draft() {
            self.support(false, Qualification::TraceLost, params, out);
        }
    }

    /// Sends the packets at the last instruction before tracing stops.
    pub(super) fn end(
        &mut self,
        cur: &Inst,
        next: &Inst,
        params: &Params,
        out: &mut impl Extend<Packet>,
    ) {
        let enabled = !next.is(is::DISABLED);
        let qualification = match self.reported {
            Reported::Not => {
                self.report(cur, false, false, params, out);
                match self.returns.returned() {
                    true => Qualification::EndedUnreported,
                    false => Qualification::EndedReported,
                }
            }
            Reported::Here => Qualification::EndedReported,
            Reported::Unretired | Reported::Target | Reported::Sync => {
                Qualification::EndedUnreported
            }
        };
        if !self.quirks.never_ends {
            self.support(enabled, qualification, params, out);
        }
        self.returns.clear();
        self.trap_reported = false;
        self.sync_next = false;
        self.reported = Reported::Sync;
    }

    /// How the last retired instruction is reported after an instruction that was `reported`.
    pub(super) const fn last_reported(&self, reported: Reported) -> Reported {
        match reported {
            // The instruction before the trap is still the last one.
            Reported::Unretired => self.reported,
            // The packet identifies the return that leads to the instruction.
            Reported::Here if self.returns.returned() => Reported::Target,
            other => other,
        }
    }
}

/// How an instruction was reported. `qual_status` of the end depends on it: a decoder takes the
/// address of a packet of format 1 or 2 for the target of a jump unless the status is
/// [`EndedReported`](Qualification::EndedReported).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reported {
    Not,
    /// In no packet: it is a trap, and no instruction was retired.
    Unretired,
    /// In a packet of format 3.
    Sync,
    /// As the target of an uninferable discontinuity.
    Target,
    /// In a packet of format 0, 1 or 2 for another reason.
    Here,
}
