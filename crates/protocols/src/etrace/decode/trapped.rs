//! What became of the instruction that was named last before a trap, and where the trap returns to.

use tracewright_base::{BlockCache, Element, Inconsistency, Kind, Pc, Role, Sink};

use super::Decoder;
use super::state::{Before, Phase, Position, ReportedAs};
use crate::etrace::config::{Params, TrapPacket};
use crate::etrace::packet::Trap;

/// What became of an instruction before a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It was retired.
    Retired,
    /// It is what trapped.
    Trapped,
    /// One of the two.
    Unknown,
}

/// Why what trapped was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reported {
    /// A jump went there.
    Target,
    /// The handler runs at another level, or trapped at once.
    Extra,
}

/// What comes after a trap packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Something else, as far as it matters: the handler's first instruction was retired.
    Retired,
    /// Another trap packet, perhaps of the same trap `again`.
    Trap { again: bool },
    /// The end of the trace.
    End,
}

/// What a trap left behind.
pub(super) struct BeforeTrap {
    /// Where it returns to.
    pub(super) return_address: Option<u64>,
    /// Whether the handler's first instruction trapped.
    pub(super) trapped: Option<bool>,
    /// The packet after this one tells of the same trap.
    pub(super) again: bool,
    /// The packet's address is the handler's.
    pub(super) named: bool,
}

/// The packet after that of `trap` tells of it, too.
pub(super) const fn waits_for_next(trap: &Trap, params: &Params) -> bool {
    params.choices.trapped_in_stream || params.drops_unretired() && !trap.thaddr
}

/// Whether `next` may be of the same trap, told again: first with where a jump went, then with the handler.
pub(super) fn same_trap(trap: &Trap, next: &Trap) -> bool {
    let of = |trap: &Trap| (trap.ecause, trap.interrupt, trap.tval);
    !trap.thaddr && !next.thaddr && of(trap) == of(next)
}

impl Decoder {
    /// What was named before the trap is said, if it was retired.
    pub(super) fn leave<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        trap: &Trap,
        after: After,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) -> BeforeTrap {
        let choices = &params.choices;
        let nested = match after {
            After::Retired => Some(false),
            After::Trap { .. } => Some(true),
            After::End => None,
        };
        // The reference flow: where a jump went trapped, or what was named last, and then the handler at once.
        let unretired = params.drops_unretired() && !trap.thaddr;
        let next = self.passed.and_then(|by| by.next).map(|next| next.address);
        let target = unretired
            && !self.trapped
            && after != After::Trap { again: false }
            && self.jumps_at(next, params, code);
        // What trapped is named in any case where the handler runs at another level, or traps at once.
        let changed = self.changes(trap.who);
        let sure = match choices.trapped_in_stream {
            true => changed || nested == Some(true),
            false => unretired && !target && !self.called(trap, params, code),
        };
        let mut told = None;
        if params.reports_trapped() {
            told = self.catch_up(at, sure, nested.is_none(), params, code, sink);
        } else if self.passed.take().is_some() {
            self.question(at, params, code, sink);
        }
        self.implied = 0;
        let fate = if target { Fate::Retired } else { self.fate(trap, sure, params, code) };
        match fate {
            Fate::Retired => {}
            Fate::Trapped => {
                if let Position::At { pending_retire, .. } = &mut self.position {
                    *pending_retire = false;
                }
            }
            Fate::Unknown => {
                sink.element(at, Element::Inconsistency(Inconsistency::TrappedOrRetired))
            }
        }
        // Had the handler trapped at once, what trapped would be named; where nothing else names it, it did.
        let trapped = nested.or(match (told, fate) {
            (Some(Reported::Extra), _) if !changed => Some(true),
            (None, Fate::Trapped) if !changed && self.reported_as == ReportedAs::Passed => {
                Some(true)
            }
            (None, Fate::Retired | Fate::Unknown) if !changed => Some(false),
            _ => None,
        });
        self.flush(at, params, code, sink);
        let (again, named) = (target && after == After::Trap { again: true }, unretired && !target);
        let return_address = self.return_address(trap, fate, params, code);
        let left = BeforeTrap { return_address, trapped, again, named };
        let Position::Jump { role: Role::Return } = self.position else { return left };
        if !params.options.implicit_return {
            return left;
        }
        // Had it gone elsewhere than the calls foresee, the packet would say that nothing was retired.
        let predicted = self.returns.pop();
        let told = choices.trap == TrapPacket::ThAddr && !params.is_draft();
        let predicted = predicted.filter(|_| told && trap.thaddr && fate == Fate::Retired);
        BeforeTrap { return_address: return_address.or(predicted), ..left }
    }

    /// What trapped is in the stream: what was named last is owed, and what the packets before it left open is settled.
    /// `sure`: it is what trapped; `ends`: it may be, for all that comes next. Why it was named, if it
    /// was after what is before it.
    fn catch_up<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        sure: bool,
        ends: bool,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) -> Option<Reported> {
        let by = self.passed.take()?;
        if let Some(next) = by.next {
            // What is before it was named because it trapped; it itself was, too, or was jumped to. A branch with an
            // outcome was rather retired, if there is a way round; a unit may take the way to the handler for its own.
            let outcome = next.map.is_some_and(|map| map.len > 0);
            self.question(at, params, code, sink);
            let retired = outcome && self.comes_to_jump(params, code);
            let jumps = params.choices.trapped_in_stream && self.jumps(params, code);
            let ends = ends && params.choices.trapped_in_stream;
            if !retired && (sure || ends || jumps) {
                self.flush(at, params, code, sink);
                if self.position != Position::Unknown {
                    self.position = Position::At { pc: next.address, pending_retire: false };
                }
                return Some(if jumps { Reported::Target } else { Reported::Extra });
            }
            self.go_round(at, by, params, code, sink);
            self.passed.take()?;
        }
        self.question(at, params, code, sink);
        None
    }

    /// The trace ends, and what was named last is said: it was retired, or what trapped is in the stream, and a trap of
    /// which nothing tells may have come there.
    pub(super) fn end<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        if params.choices.trapped_in_stream
            && matches!(self.position, Position::At { pending_retire: true, .. })
        {
            match self.reported_as {
                ReportedAs::Handler { trapped: Some(true), .. } => return,
                // A branch that is retired has an outcome.
                _ if self.pending.count() == 0 && self.owes_branch(params, code) => return,
                ReportedAs::Handler { trapped: None, .. }
                | ReportedAs::Target
                | ReportedAs::Start { .. } => {
                    sink.element(at, Element::Inconsistency(Inconsistency::TrappedOrRetired));
                }
                ReportedAs::Handler { .. } | ReportedAs::Passed | ReportedAs::Jumped => {}
            }
        }
        self.flush(at, params, code, sink);
    }

    /// Whether what is owed is a jump whose target it does not tell.
    fn jumps<K: BlockCache>(&self, params: &Params, code: &mut K) -> bool {
        self.jumps_at(None, params, code)
    }

    /// The same of what is at an address. `None`: of what is owed, or was said last.
    fn jumps_at<K: BlockCache>(&self, address: Option<u64>, params: &Params, code: &mut K) -> bool {
        let pc = match (address, self.position) {
            (Some(address), _) => address,
            (None, Position::At { pc, pending_retire: true }) => pc,
            (None, Position::Jump { .. }) => return true,
            (None, _) => return false,
        };
        let pc = Pc { address: pc, isa: params.isa(), space: self.space };
        code.instruction(pc).is_ok_and(|i| i.kind == Kind::Indirect && i.target.is_none())
    }

    /// What became of the instruction that is owed, before `trap`. A specification's unit names none that was not
    /// retired.
    fn fate<K: BlockCache>(&self, trap: &Trap, sure: bool, params: &Params, code: &mut K) -> Fate {
        let Position::At { pc, pending_retire: true } = self.position else { return Fate::Retired };
        let choices = &params.choices;
        let call = self.is_call(pc, params, code);
        let by_call = is_call_cause(trap);
        if choices.trapped_in_stream {
            return match self.reported_as {
                _ if sure => Fate::Trapped,
                // It is the cause.
                _ if call && by_call && self.is_cause(pc, trap, params, code) => Fate::Trapped,
                // Where it had gone would be named.
                _ if self.jumps(params, code) => Fate::Trapped,
                // The second instruction of the handler would be named.
                ReportedAs::Handler { .. } => Fate::Trapped,
                // A branch that is retired has an outcome.
                ReportedAs::Passed | ReportedAs::Jumped | ReportedAs::Target
                    if self.pending.count() == 0 && self.is_branch(pc, params, code) =>
                {
                    Fate::Trapped
                }
                // What is before it would be named, if it trapped: as it is in any case where it was named itself.
                ReportedAs::Passed | ReportedAs::Jumped => Fate::Retired,
                _ if call => Fate::Trapped,
                _ if by_call && trap.ecause != BREAKPOINT => Fate::Retired,
                ReportedAs::Target if self.is_branch(pc, params, code) => {
                    match self.pending.first() {
                        // A unit may take the way to the handler for the branch's.
                        Some(false) => Fate::Retired,
                        Some(true) | None => Fate::Unknown,
                    }
                }
                ReportedAs::Target | ReportedAs::Start { .. } => Fate::Unknown,
            };
        }
        match self.reported_as {
            ReportedAs::Start { .. } if !choices.drop_unretired => Fate::Retired,
            _ if sure => Fate::Trapped,
            // What trapped is no branch that was taken.
            ReportedAs::Start { .. } if self.pending.first() == Some(true) => Fate::Retired,
            ReportedAs::Start { before: Before::ForTrap, .. } if params.drops_unretired() => {
                Fate::Trapped
            }
            ReportedAs::Start { before: Before::Unreported, .. } if params.drops_unretired() => {
                Fate::Retired
            }
            ReportedAs::Start { after_return, .. } => {
                // Had it jumped, the packet would say that nothing was retired where it went.
                let jumps = params.drops_unretired() && trap.thaddr && self.jumps(params, code);
                let rather = after_return && !trap.interrupt;
                if jumps || rather { Fate::Trapped } else { Fate::Retired }
            }
            _ => Fate::Retired,
        }
    }

    /// Where a trap returns to: the exception program counter. `None` where the trace does not tell.
    fn return_address<K: BlockCache>(
        &mut self,
        trap: &Trap,
        fate: Fate,
        params: &Params,
        code: &mut K,
    ) -> Option<u64> {
        let mask = params.isa().address_mask();
        if has_epc(trap, params) {
            return trap.tval.map(|epc| epc & mask);
        }
        if fate == Fate::Unknown {
            return None;
        }
        if self.trapped {
            // The handler of the trap before had not begun.
            return self.handler;
        }
        let tells = !trap.interrupt || params.drops_unretired();
        let given = trap.address.filter(|_| !trap.thaddr && tells);
        let given = given.map(|address| params.full_address(address) & mask);
        if self.phase != Phase::Following {
            return given;
        }
        match self.position {
            Position::At { pc, .. } => {
                let calls = is_call_cause(trap) && !params.choices.trapped_in_stream;
                Some(
                    self.last
                        .filter(|&last| calls && self.is_call(last, params, code))
                        .unwrap_or(pc),
                )
            }
            Position::Jump { .. } | Position::Unknown => given,
        }
    }

    /// Whether what was named last is an ECALL that a unit calls retired, and the trap is its own.
    fn called<K: BlockCache>(&self, trap: &Trap, params: &Params, code: &mut K) -> bool {
        let last = match (self.passed.and_then(|by| by.next), self.position) {
            (Some(next), _) => next.address,
            (None, Position::At { pc, pending_retire: true }) => pc,
            _ => return false,
        };
        params.choices.ecall_retires && is_call_cause(trap) && self.is_call(last, params, code)
    }

    /// Whether the call at `address`, ECALL or a breakpoint, is what `trap` says.
    fn is_cause<K: BlockCache>(
        &self,
        address: u64,
        trap: &Trap,
        params: &Params,
        code: &mut K,
    ) -> bool {
        const ECALL: u32 = 0x0000_0073;
        let pc = Pc { address, isa: params.isa(), space: self.space };
        (code.opcode(pc) == Some(ECALL)) != (trap.ecause == BREAKPOINT)
    }

    /// Whether ECALL, EBREAK or C.EBREAK is at `address`: where a unit calls it retired, the exception
    /// is at itself.
    fn is_call<K: BlockCache>(&self, address: u64, params: &Params, code: &mut K) -> bool {
        let pc = Pc { address, isa: params.isa(), space: self.space };
        let opcode = code.opcode(pc);
        let wide = code.instruction(pc).is_ok_and(|instruction| instruction.size == 4);
        match opcode {
            Some(0x0000_0073 | 0x0010_0073) => true,
            Some(opcode) => !wide && opcode & 0xffff == 0x9002,
            None => false,
        }
    }
}

/// Mcause of a breakpoint exception, which may be an EBREAK.
const BREAKPOINT: u64 = 3;

/// The cause is that of an ECALL, or of an EBREAK.
const fn is_call_cause(trap: &Trap) -> bool {
    !trap.interrupt && matches!(trap.ecause, BREAKPOINT | 8..=11)
}

/// Version 1.0: the trap value of an illegal instruction is where it is.
pub(super) fn has_epc(trap: &Trap, params: &Params) -> bool {
    const ILLEGAL: u64 = 2;
    let both = params.choices.trap == TrapPacket::TvalEpc && !params.is_draft();
    both && !trap.interrupt && trap.ecause == ILLEGAL
}
