//! The instruction that was reported last before a trap: whether it was retired or trapped itself,
//! and the address to which the trap returns.

use tracewright_base::{BlockCache, Element, Inconsistency, Kind, Pc, Role, Sink};

use super::Decoder;
use super::state::{Before, Phase, Position, ReportedAs};
use crate::etrace::config::{Params, TrapPacket};
use crate::etrace::packet::Trap;

/// Whether the pending instruction was retired before a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It was retired.
    Retired,
    /// It trapped itself.
    Trapped,
    /// The packets allow both.
    Unknown,
}

/// Why a trapped instruction was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reported {
    /// It is the target of a jump.
    Target,
    /// The handler runs at another privilege level, or its first instruction trapped.
    Extra,
}

/// The packet after a trap packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Any packet that is not a trap: the handler's first instruction was retired.
    Retired,
    /// Another trap packet. `again`: perhaps of the same trap.
    Trap { again: bool },
    /// The end of the trace.
    End,
}

/// What [`Decoder::leave`] determines about the program before a trap.
pub(super) struct BeforeTrap {
    /// The address to which the trap returns, where it is known.
    pub(super) return_address: Option<u64>,
    /// Whether the handler's first instruction trapped, where that is known.
    pub(super) trapped: Option<bool>,
    /// The packet after this one reports the same trap.
    pub(super) again: bool,
    /// The packet's address is the handler's.
    pub(super) handler_reported: bool,
}

/// Whether the decoder needs the packet after that of `trap`.
pub(super) const fn waits_for_next(trap: &Trap, params: &Params) -> bool {
    params.choices.trapped_in_stream || params.drops_unretired() && !trap.thaddr
}

/// Whether `next` may report the same trap again: the first packet with the target of a jump, the
/// second with the handler.
pub(super) fn same_trap(trap: &Trap, next: &Trap) -> bool {
    let of = |trap: &Trap| (trap.ecause, trap.interrupt, trap.tval);
    !trap.thaddr && !next.thaddr && of(trap) == of(next)
}

impl Decoder {
    /// Emits the pending instruction before a trap, if it was retired, and finds out where the trap
    /// returns to.
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
        // The `reference-flow` encoder sends such a packet where the target of a jump trapped, or
        // where the instruction that was reported last trapped and then the handler at once.
        let unretired = params.drops_unretired() && !trap.thaddr;
        let next = self.passed.and_then(|passed| passed.next).map(|next| next.address);
        let target = unretired
            && !self.trapped
            && after != After::Trap { again: false }
            && self.is_jump(next, params, code);
        // A trapped instruction is reported in any case if the handler runs at another privilege
        // level or traps at once.
        let changed = self.changes(trap.privilege_context);
        let sure = match choices.trapped_in_stream {
            true => changed || nested == Some(true),
            false => unretired && !target && !self.trapped_by_ecall(trap, params, code),
        };
        let mut reported = None;
        if params.reports_trapped() {
            reported = self.resolve_before_trap(at, sure, nested.is_none(), params, code, sink);
        } else if self.passed.take().is_some() {
            self.report_ambiguity(at, params, code, sink);
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
        // If the handler had trapped at once, the trapped instruction would have been reported. If
        // nothing else explains its report, the handler did trap.
        let trapped = nested.or(match (reported, fate) {
            (Some(Reported::Extra), _) if !changed => Some(true),
            (None, Fate::Trapped) if !changed && self.reported_as == ReportedAs::Passed => {
                Some(true)
            }
            (None, Fate::Retired | Fate::Unknown) if !changed => Some(false),
            _ => None,
        });
        self.flush(at, params, code, sink);
        let (again, handler_reported) =
            (target && after == After::Trap { again: true }, unretired && !target);
        let return_address = self.return_address(trap, fate, params, code);
        let left = BeforeTrap { return_address, trapped, again, handler_reported };
        let Position::Jump { role: Role::Return } = self.position else { return left };
        if !params.options.implicit_return {
            return left;
        }
        // If the return had gone elsewhere than the top of the return stack, the packet would have
        // `thaddr` 0: nothing was retired.
        let predicted = self.returns.pop();
        let has_thaddr = choices.trap == TrapPacket::ThAddr && !params.is_draft();
        let predicted = predicted.filter(|_| has_thaddr && trap.thaddr && fate == Fate::Retired);
        BeforeTrap { return_address: return_address.or(predicted), ..left }
    }

    /// Resolves a passed address before a trap, where packets may report trapped instructions: the
    /// instruction that was reported last becomes the pending one. `sure`: it trapped. `ends`: the
    /// trace ends, so that it may have trapped. The result is the reason for its report, if it was
    /// reported after the passed address.
    fn resolve_before_trap<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        sure: bool,
        ends: bool,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) -> Option<Reported> {
        let passed = self.passed.take()?;
        if let Some(next) = passed.next {
            // The passed address was reported because the next instruction trapped. That one was
            // reported for its trap, or as the target of a jump. A branch with an outcome was
            // retired, if a path leads back to it; else the unit may have traced the jump to the
            // handler as its outcome.
            let outcome = next.map.is_some_and(|map| map.len > 0);
            self.report_ambiguity(at, params, code, sink);
            let retired = outcome && self.reaches_jump(params, code);
            let jumps = params.choices.trapped_in_stream && self.jump_is_pending(params, code);
            let ends = ends && params.choices.trapped_in_stream;
            if !retired && (sure || ends || jumps) {
                self.flush(at, params, code, sink);
                if self.position != Position::Unknown {
                    self.position = Position::At { pc: next.address, pending_retire: false };
                }
                return Some(if jumps { Reported::Target } else { Reported::Extra });
            }
            self.walk_to_jump(at, passed, params, code, sink);
            self.passed.take()?;
        }
        self.report_ambiguity(at, params, code, sink);
        None
    }

    /// The trace ends: emits the pending instruction, if it was retired. Where trapped instructions
    /// are in the stream, it may have trapped without a trap packet.
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
                // A retired branch has an outcome.
                _ if self.pending.count() == 0 && self.branch_is_pending(params, code) => return,
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

    /// Whether the pending instruction is a jump of unknown target.
    fn jump_is_pending<K: BlockCache>(&self, params: &Params, code: &mut K) -> bool {
        self.is_jump(None, params, code)
    }

    /// Whether a jump of unknown target is at `address`. `None`: whether it is pending, or was
    /// emitted last.
    fn is_jump<K: BlockCache>(&self, address: Option<u64>, params: &Params, code: &mut K) -> bool {
        let pc = match (address, self.position) {
            (Some(address), _) => address,
            (None, Position::At { pc, pending_retire: true }) => pc,
            (None, Position::Jump { .. }) => return true,
            (None, _) => return false,
        };
        let pc = Pc { address: pc, isa: params.isa(), space: self.space };
        code.instruction(pc).is_ok_and(|i| i.kind == Kind::Indirect && i.target.is_none())
    }

    /// Whether the pending instruction was retired before `trap`. A unit of the specification never
    /// reports an instruction that was not retired. `sure`: it trapped.
    fn fate<K: BlockCache>(&self, trap: &Trap, sure: bool, params: &Params, code: &mut K) -> Fate {
        let Position::At { pc, pending_retire: true } = self.position else { return Fate::Retired };
        let choices = &params.choices;
        let call = self.is_ecall(pc, params, code);
        let by_call = is_ecall_cause(trap);
        if choices.trapped_in_stream {
            return match self.reported_as {
                _ if sure || self.is_illegal(pc, params, code) => Fate::Trapped,
                // ECALL or EBREAK is the cause of the trap.
                _ if call && by_call && self.is_cause(pc, trap, params, code) => Fate::Trapped,
                // The target of a retired jump would be reported.
                _ if self.jump_is_pending(params, code) => Fate::Trapped,
                // The second instruction of the handler would be reported.
                ReportedAs::Handler { .. } => Fate::Trapped,
                // A retired branch has an outcome.
                ReportedAs::Passed | ReportedAs::Jumped | ReportedAs::Target
                    if self.pending.count() == 0 && self.is_branch(pc, params, code) =>
                {
                    Fate::Trapped
                }
                // If it had trapped, the instruction before it would be reported.
                ReportedAs::Passed | ReportedAs::Jumped => Fate::Retired,
                _ if call => Fate::Trapped,
                _ if by_call && trap.ecause != BREAKPOINT => Fate::Retired,
                ReportedAs::Target if self.is_branch(pc, params, code) => {
                    match self.pending.first() {
                        // The unit may have traced the jump to the handler as the branch's outcome.
                        Some(false) => Fate::Retired,
                        Some(true) | None => Fate::Unknown,
                    }
                }
                ReportedAs::Target | ReportedAs::Start { .. } => Fate::Unknown,
            };
        }
        match self.reported_as {
            ReportedAs::Start { .. }
                if choices.start_unretired && self.is_illegal(pc, params, code) =>
            {
                Fate::Trapped
            }
            ReportedAs::Start { .. } if !choices.drop_unretired => Fate::Retired,
            _ if sure => Fate::Trapped,
            // A branch that was taken did not trap.
            ReportedAs::Start { .. } if self.pending.first() == Some(true) => Fate::Retired,
            ReportedAs::Start { before: Before::ForTrap, .. } if params.drops_unretired() => {
                Fate::Trapped
            }
            ReportedAs::Start { before: Before::Unreported, .. } if params.drops_unretired() => {
                Fate::Retired
            }
            ReportedAs::Start { after_return, .. } => {
                // If the jump had been retired, the packet would have `thaddr` 0.
                let jumps =
                    params.drops_unretired() && trap.thaddr && self.jump_is_pending(params, code);
                let likely = after_return && !trap.interrupt;
                if jumps || likely { Fate::Trapped } else { Fate::Retired }
            }
            _ => Fate::Retired,
        }
    }

    /// The address to which a trap returns: the exception program counter. `None` if the packets do
    /// not determine it.
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
            // The handler of the trap before retired no instruction.
            return self.handler;
        }
        let has_epc_address = !trap.interrupt || params.drops_unretired();
        let given = trap.address.filter(|_| !trap.thaddr && has_epc_address);
        let given = given.map(|address| params.full_address(address) & mask);
        if self.phase != Phase::Following {
            return given;
        }
        match self.position {
            Position::At { pc, .. } => {
                let calls = is_ecall_cause(trap) && !params.choices.trapped_in_stream;
                Some(
                    self.last
                        .filter(|&last| calls && self.is_ecall(last, params, code))
                        .unwrap_or(pc),
                )
            }
            Position::Jump { .. } | Position::Unknown => given,
        }
    }

    /// Whether the instruction that was reported last is an ECALL or EBREAK, which the unit counts
    /// as retired, and is the cause of `trap`.
    fn trapped_by_ecall<K: BlockCache>(&self, trap: &Trap, params: &Params, code: &mut K) -> bool {
        let last = match (self.passed.and_then(|passed| passed.next), self.position) {
            (Some(next), _) => next.address,
            (None, Position::At { pc, pending_retire: true }) => pc,
            _ => return false,
        };
        params.choices.ecall_retires && is_ecall_cause(trap) && self.is_ecall(last, params, code)
    }

    /// Whether the ECALL or EBREAK at `address` fits the cause of `trap`.
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

    /// Whether ECALL, EBREAK or C.EBREAK is at `address`. Where a unit counts it as retired, the
    /// exception program counter is its own address.
    fn is_ecall<K: BlockCache>(&self, address: u64, params: &Params, code: &mut K) -> bool {
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

/// `mcause` of a breakpoint exception, which may be an EBREAK.
const BREAKPOINT: u64 = 3;

/// Whether the cause of `trap` is an ECALL or an EBREAK.
const fn is_ecall_cause(trap: &Trap) -> bool {
    !trap.interrupt && matches!(trap.ecause, BREAKPOINT | 8..=11)
}

/// Whether the trap packet has the exception program counter in place of a trap value: version 1.0,
/// for an illegal instruction.
pub(super) fn has_epc(trap: &Trap, params: &Params) -> bool {
    const ILLEGAL: u64 = 2;
    let both = params.choices.trap == TrapPacket::TvalEpc && !params.is_draft();
    both && !trap.interrupt && trap.ecause == ILLEGAL
}
