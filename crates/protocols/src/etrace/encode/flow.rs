//! The compressed branch trace algorithm: instructions to packets. (2.0, "Reference Compressed
//! Branch Trace Algorithm"; 0.026, Figure 5.1)
//!
//! An instruction is encoded when the next one is known: the instructions before and after it
//! decide about its packet. Most instructions need no packet: [`Flow::skip`].

mod calm;
mod end;

use end::Reported;

use super::executed::ExecutedSpan;
use super::inst::{Inst, is};
use super::length::length;
use super::outlet::Outlet;
use super::returns::Returns;
use super::settings::{Quirks, Settings, SyncPosition};
use crate::bits::sign_extend;
use crate::etrace::config::{Difference, LoopLabel, Params, Reset, Sync, TrapPacket};
use crate::etrace::decode::pending::{Entries, Predictor};
use crate::etrace::decode::targets::Targets;
use crate::etrace::packet::fields::low;
use crate::etrace::packet::{
    BranchCount, Branches, ContextChange, Discovery, JumpTarget, Map, Own, Packet, Payload,
    PrivilegeContext, Qualification, Report, Start, Support, Trap,
};

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    quirks: Quirks,
    sync_position: SyncPosition,
    prev: Inst,
    cur: Inst,
    /// Whether `cur` is an instruction.
    filled: bool,
    /// Outcomes since the last packet, the oldest in bit 0; 1 is not taken.
    map: u32,
    branches: u8,
    /// The number of correctly predicted branches since the last packet, up to the first
    /// misprediction.
    predicted: u64,
    /// All branches since the last packet were predicted correctly, or all up to `failed`.
    all_predicted: bool,
    /// The branch after the correctly predicted ones was mispredicted.
    failed: bool,
    /// The last address that a packet reported.
    last: u64,
    /// The time since the last synchronisation packet, in the unit of the period. Packets that
    /// report no instruction do not count: with [`SyncPosition::Next`] the instruction after the
    /// one that the last packet of a period reports gets the synchronisation packet.
    count: u64,
    /// A packet with `thaddr` 0 has reported the trap before this instruction.
    trap_reported: bool,
    /// The next instruction gets a synchronisation packet.
    sync_next: bool,
    /// The period was over at the last instruction.
    sync_due: bool,
    /// The next instruction is the second of a handler and gets a synchronisation packet.
    second_of_handler: bool,
    predictor: Predictor,
    targets: Targets,
    returns: Returns,
    enabled: bool,
    /// See [`Settings::reports_calls`].
    reports_calls: bool,
    /// Data trace is enabled.
    data: bool,
    context_due: bool,
    /// A synchronisation packet was sent since [`Flow::synchronised_since`] was last called.
    synced: bool,
    /// How the last retired instruction was reported.
    reported: Reported,
    /// `updiscon` of the next report: a packet of format 3 follows it.
    updiscon: bool,
    /// The instructions since the last taken branch, if jumps back to them are reported: see
    /// [`Flow::jumps_to_executed`].
    executed: Option<ExecutedSpan>,
    /// Plain instructions change nothing but the position.
    quiet: bool,
    /// Nothing but a packet count, a map or `cur` itself can make a packet due.
    settled: bool,
    /// `cur` changes nothing but the map, if the next instruction is a usual one.
    calm: bool,
    /// The cycles that have passed, up to `cur`, and up to the last count.
    cycles: u64,
    cycles_at_cur: u64,
    cycles_counted: u64,
    /// The discovery packet was sent.
    discovered: bool,
    pub(super) outlet: Outlet,
}

impl Flow {
    pub(super) fn new(params: &Params, settings: &Settings) -> Self {
        let quirks = settings.quirks.unwrap_or(Quirks::of(params));
        Flow {
            quirks,
            sync_position: settings.sync_position.unwrap_or(SyncPosition::of(params)),
            prev: Inst { flags: is::UNQUALIFIED, ..Inst::default() },
            cur: Inst { flags: is::UNQUALIFIED, ..Inst::default() },
            filled: false,
            map: 0,
            branches: 0,
            predicted: 0,
            all_predicted: true,
            failed: false,
            last: 0,
            count: 0,
            trap_reported: false,
            sync_next: false,
            sync_due: false,
            second_of_handler: false,
            predictor: Predictor::default(),
            targets: Targets::default(),
            returns: Returns::default(),
            enabled: false,
            reports_calls: settings.reports_calls,
            data: settings.data.enabled,
            context_due: false,
            synced: false,
            reported: Reported::Sync,
            updiscon: false,
            executed: (params.is_draft() && params.choices.loop_label == LoopLabel::First)
                .then_some(ExecutedSpan::since(u64::MAX)),
            quiet: false,
            settled: false,
            calm: false,
            cycles: 0,
            cycles_at_cur: 0,
            cycles_counted: 0,
            discovered: false,
            outlet: Outlet::new(settings.fifo, quirks.no_support),
        }
    }

    /// The next instruction, of any kind.
    #[inline(never)]
    pub(super) fn push_any(&mut self, next: &Inst, params: &Params, out: &mut impl Extend<Packet>) {
        if !self.enabled {
            self.enabled = true;
            self.discover(params, out);
            if !next.is(is::DISABLED) {
                self.support(true, Qualification::NoChange, params, out);
            }
        }
        let resumes = !next.is(is::UNQUALIFIED) && self.outlet.resumes();
        if self.filled {
            self.encode(next, params, out);
        }
        self.filled = true;
        self.prev = self.cur;
        self.cur.set(next);
        self.cycles_at_cur = self.cycles;
        self.cur.flags |= if resumes { is::AFTER_LOSS } else { 0 };
        self.settle(params);
    }

    /// Whether a synchronisation packet was sent since the last call.
    pub(super) fn synchronised_since(&mut self) -> bool {
        core::mem::take(&mut self.synced)
    }

    /// Data trace resumes after lost packets.
    pub(super) fn data_resumes(&mut self, params: &Params, out: &mut impl Extend<Packet>) {
        self.support(true, Qualification::NoChange, params, out);
        // The support packets of some versions have no `dloss`.
        self.outlet.data_anew();
    }

    /// Advances the time by `cycles`.
    pub(super) fn advance(&mut self, cycles: u64, params: &Params) {
        self.outlet.advance(cycles);
        self.cycles = self.cycles.saturating_add(cycles);
        if params.choices.resync == Sync::Cycles {
            self.count = self.count.saturating_add(cycles);
        }
    }

    /// Encodes the instruction `cur` between `prev` and `next`.
    fn encode(&mut self, next: &Inst, params: &Params, out: &mut impl Extend<Packet>) {
        let (prev, cur) = (self.prev, self.cur);
        if cur.is(is::UNQUALIFIED) {
            if next.is(is::DISABLED) {
                self.support(false, Qualification::NoChange, params, out);
            }
            return;
        }
        if cur.is(is::AFTER_LOSS) {
            self.forget();
            if params.is_draft() {
                self.outlet.resume();
            } else {
                self.support(true, Qualification::TraceLost, params, out);
            }
        }
        if params.choices.resync == Sync::Halfwords {
            self.count += u64::from(cur.halfwords);
        }
        self.branches(&cur, params, out);
        // The target of an implied return counts as the target of a jump once it is reported.
        let target = prev.is(is::UPDISCON) || self.returns.returned();
        self.updiscon = target && self.sync_follows(&cur, next, params);
        if let Some(executed) = &mut self.executed {
            executed.add(&cur);
        }
        let reported = self.choose(&prev, &cur, next, params, out);
        if let Some(executed) = &mut self.executed
            && (cur.is(is::TAKEN) || reported != Reported::Not)
        {
            *executed = ExecutedSpan::since(cur.address.wrapping_add(1));
        }
        self.reported = self.last_reported(reported);
        if next.is(is::UNQUALIFIED) {
            // The call or return after which tracing stops does not change the return stack.
            return self.end(&cur, next, params, out);
        }
        if self.is_inferable(&cur, &prev, next, params) {
            self.cur.flags &= !is::UPDISCON;
        }
    }

    /// Adds the branches of `cur` to the map, and updates the predictor.
    fn branches(&mut self, cur: &Inst, params: &Params, out: &mut impl Extend<Packet>) {
        for _ in 0..cur.not_taken {
            self.outcome(true, false);
            if self.branches == Map::FULL {
                self.full(params, out);
            }
        }
        if cur.is(is::BRANCH) {
            self.branch(cur.address, cur.is(is::TAKEN), params);
        }
    }

    /// Adds a branch to the map, and updates the predictor.
    #[inline]
    fn branch(&mut self, address: u64, taken: bool, params: &Params) {
        let mut predicted = false;
        if params.options.branch_prediction {
            let entries = Entries::of_predictor(params);
            predicted = self.predictor.predict(address, entries) == taken;
            self.predictor.update(address, taken, entries);
        }
        self.outcome(!taken, predicted);
        self.returns.branch();
    }

    #[inline]
    fn outcome(&mut self, not_taken: bool, predicted: bool) {
        if self.branches < Map::FULL {
            self.map |= u32::from(not_taken) << self.branches;
            self.branches += 1;
        } else if !predicted {
            self.failed = true;
        }
        self.all_predicted &= predicted || self.failed;
        if predicted && self.all_predicted {
            self.predicted += 1;
        }
    }

    /// Whether an optional mode makes the target of an uninferable jump known to the decoder.
    fn is_inferable(&mut self, cur: &Inst, prev: &Inst, next: &Inst, params: &Params) -> bool {
        let sequential = sequential(cur, prev, params);
        if !params.options.implicit_return {
            return sequential;
        }
        let implicit = self.returns.instruction(cur, next, sequential, params);
        sequential || implicit
    }

    /// 0.026: whether `cur` jumps to an instruction that was executed since the last taken branch
    /// or packet. The decoder would take a report of the target for the earlier visit (`loop_label
    /// = first`), so that the jump itself is reported first.
    fn jumps_to_executed(&self, cur: &Inst, prev: &Inst, next: &Inst, params: &Params) -> bool {
        let jump = cur.is(is::UPDISCON) && !sequential(cur, prev, params);
        jump && self.executed.is_some_and(|executed| executed.has(next.address))
    }

    /// Whether a packet of format 3 follows the packet of this instruction.
    fn sync_follows(&self, cur: &Inst, next: &Inst, params: &Params) -> bool {
        let trap = match self.quirks.updiscon_before_any_trap {
            true => next.is(is::TRAP),
            false => cur.is(is::TRAP) || next.is(is::TRAP) && next.is(is::ONLY),
        };
        trap || next.is(is::CHANGED | is::DISCONTINUITY) || self.flushes(cur, params)
    }

    /// Whether the period is over, so that this instruction is reported and the next one gets a
    /// synchronisation packet.
    fn flushes(&self, cur: &Inst, params: &Params) -> bool {
        if params.options.resync_disabled {
            return false;
        }
        let max = u64::from(params.choices.resync_max);
        match self.sync_position {
            SyncPosition::AfterSpecial => {
                self.count >= max && cur.is(is::SPECIAL) && !cur.is(is::TRAP)
            }
            SyncPosition::Next if params.choices.resync == Sync::Packets => self.count == max,
            SyncPosition::Next => self.count >= max,
        }
    }

    /// Sends the packet of `cur`, if it needs one. The order of the tests is that of the
    /// specification.
    fn choose(
        &mut self,
        prev: &Inst,
        cur: &Inst,
        next: &Inst,
        params: &Params,
        out: &mut impl Extend<Packet>,
    ) -> Reported {
        let choices = &params.choices;
        let starts_unretired = choices.start_unretired || choices.trapped_in_stream;
        let (draft, v2) = (params.is_draft(), params.choices.trap == TrapPacket::ThAddr);
        let trap_reported = core::mem::take(&mut self.trap_reported);
        let only = cur.is(is::ONLY) && !choices.trapped_in_stream;
        let second = core::mem::take(&mut self.second_of_handler);
        // A packet for another reason may come first: an instruction has one packet.
        self.context_due |= cur.is(is::IMPRECISE);
        let due = self.flushes(cur, params);
        let was_due = core::mem::replace(&mut self.sync_due, due);
        // With a period of packets the packet count alone shows that the next instruction is due.
        let by_count =
            params.choices.resync == Sync::Packets && self.sync_position == SyncPosition::Next;
        if prev.is(is::TRAP) {
            return self.after_trap([prev, cur, next], only, trap_reported, params, out);
        }
        if draft && cur.is(is::DISCONTINUITY) && !only {
            self.trap(&Inst { cause: 0, tval: 0, flags: is::TRAP, ..*cur }, cur, true, params, out);
            return Reported::Sync;
        }
        let exceeded = self.exceeded(was_due, prev, cur, params);
        // Branches inside a block of 0.026 must be reported first.
        let late = exceeded && cur.not_taken > 0;
        let starts = prev.is(is::UNQUALIFIED)
            || cur.is(is::CHANGED | is::DISCONTINUITY | is::AFTER_LOSS)
            || second
            || exceeded && !late;
        if starts && (!only || starts_unretired) {
            self.start(cur, params, out);
            return Reported::Sync;
        }
        if prev.is(is::UPDISCON) {
            if !only {
                self.report(cur, false, true, params, out);
                self.sync_next = due && !by_count;
                return Reported::Target;
            }
            if v2 && !draft {
                self.trap(cur, cur, false, params, out);
                self.trap_reported = true;
                return Reported::Sync;
            }
            return Reported::Unretired;
        }
        if only && !starts_unretired {
            return Reported::Unretired;
        }
        let unsettled = self.branches != 0 || !by_count && self.returns.implies();
        let flush = due && (unsettled || self.sync_position == SyncPosition::AfterSpecial);
        if flush || late || cur.is(is::TRAP) && !cur.is(is::ONLY) || cur.is(is::NOTIFY) {
            // `notify` is not set for the target of a discontinuity. ("Format 2 notify and
            // updiscon")
            let notify = cur.is(is::NOTIFY) && !self.returns.returned();
            self.report(cur, notify, false, params, out);
            self.sync_next = due && !by_count || late;
            return Reported::Here;
        }
        if self.leads_elsewhere([prev, cur, next], params, out) {
            return Reported::Here;
        }
        if next.is(is::UNQUALIFIED) {
            return Reported::Not;
        }
        if self.full_map(cur, params, out) {
            return Reported::Here;
        }
        let flushed = !(draft && params.choices.context_flushes) || self.branches == 0;
        // A unit does not see the instructions inside a block.
        let visible = cur.is(is::IMPRECISE | is::SPECIAL);
        if self.context_due && flushed && visible {
            self.context_due = false;
            self.send(
                Payload::Context(ContextChange { privilege_context: privilege_context(cur) }),
                params,
                out,
            );
        }
        Reported::Not
    }

    /// Sends the packet of `cur` if it is due because of what follows it: another context, or a
    /// place that the decoder would not find by itself.
    fn leads_elsewhere(
        &mut self,
        [prev, cur, next]: [&Inst; 3],
        params: &Params,
        out: &mut impl Extend<Packet>,
    ) -> bool {
        let trap = next.is(is::TRAP) && next.is(is::ONLY);
        let changes = next.is(is::CHANGED) && (self.branches != 0 || self.quirks.flushes_privilege);
        // The decoder may reach the start of another context before the jump of unknown target, or
        // before the implied returns, that lead to it. So the last instruction is reported. (For
        // another privilege the decoder knows that only a trap return leads there.)
        let jumps = next.is(is::CONTEXT) && (cur.is(is::UPDISCON) || self.returns.implies());
        let call = params.options.implicit_return
            && self.reports_calls
            && cur.is(is::CALL)
            && self.returns.ambiguous(params);
        let format3 = trap || changes || jumps || next.is(is::DISCONTINUITY);
        if format3 || call || self.jumps_to_executed(cur, prev, next, params) {
            // Without a packet of format 3 after it, `notify` marks that no jump leads here.
            self.report(cur, !format3 && !self.returns.returned(), false, params, out);
            return true;
        }
        false
    }

    /// Sends the packet of `cur`, the instruction after a trap. It is the trap's instruction itself
    /// if `only`: another trap comes before the first instruction of the handler.
    fn after_trap(
        &mut self,
        [prev, cur, next]: [&Inst; 3],
        only: bool,
        reported: bool,
        params: &Params,
        out: &mut impl Extend<Packet>,
    ) -> Reported {
        let choices = &params.choices;
        let by_address = choices.trap == TrapPacket::ThAddr && !params.is_draft();
        if !only {
            self.second_of_handler = choices.trapped_in_stream;
            if reported && by_address {
                self.start(cur, params, out);
            } else {
                self.trap(prev, cur, true, params, out);
            }
            return Reported::Sync;
        }
        // Another trap before the first instruction of the handler.
        if by_address && (!reported || choices.start_unretired) {
            // The specification leaves the address open: it is that of the first trap.
            let epc = if prev.is(is::ONLY) { prev.address } else { prev.after };
            let from = if choices.start_unretired { *cur } else { Inst { address: epc, ..*cur } };
            self.trap(prev, &from, false, params, out);
            self.trap_reported = choices.start_unretired && next.is(is::TRAP);
            return Reported::Sync;
        }
        Reported::Unretired
    }

    /// Whether this instruction gets the synchronisation packet of the period.
    fn exceeded(&self, was_due: bool, prev: &Inst, cur: &Inst, params: &Params) -> bool {
        if params.options.resync_disabled {
            return false;
        }
        if self.sync_next {
            return true;
        }
        let max = u64::from(params.choices.resync_max);
        match (self.sync_position, params.choices.resync) {
            (SyncPosition::AfterSpecial, _) => false,
            (SyncPosition::Next, Sync::Packets) => self.count > max,
            (SyncPosition::Next, _) => {
                // Else the decoder could reach the address before the jump that leads to it.
                let jumped = prev.is(is::UPDISCON) || self.returns.implies();
                was_due && !jumped && self.branches == u8::from(cur.is(is::BRANCH))
            }
        }
    }

    /// Format 3, sub-format 0.
    fn start(&mut self, cur: &Inst, params: &Params, out: &mut impl Extend<Packet>) {
        let start = Start {
            branch: branch_bit(cur, params),
            privilege_context: privilege_context(cur),
            address: full_address(cur.address, params),
        };
        // The decoder does not see a jump that is not traced.
        let alone = self.prev.is(is::UNQUALIFIED) || cur.is(is::AFTER_LOSS);
        let seen = self.prev.is(is::UPDISCON) && !alone;
        if params.options.jump_target_cache && seen && !self.returns.returned() {
            self.targets.put(cur.address, params);
        }
        self.send(Payload::Start(start), params, out);
        self.synchronised(cur, params);
    }

    /// Format 3, sub-format 1: the trap of `trap`, with the address of `cur`.
    fn trap(
        &mut self,
        trap: &Inst,
        cur: &Inst,
        thaddr: bool,
        params: &Params,
        out: &mut impl Extend<Packet>,
    ) {
        let interrupt = trap.is(is::INTERRUPT);
        let epc = if trap.is(is::ONLY) { trap.address } else { trap.after };
        let illegal = trap.cause == ILLEGAL_INSTRUCTION && !interrupt;
        let tval = match params.choices.trap {
            TrapPacket::TvalEpc if illegal && !params.is_draft() => epc,
            _ => trap.tval & self.quirks.tval_mask,
        };
        let has_tval = params.widths.tval > 0 && (params.choices.tval_always || !interrupt);
        let packet = Trap {
            branch: branch_bit(cur, params),
            privilege_context: privilege_context(cur),
            ecause: trap.cause,
            interrupt,
            thaddr,
            address: (!(params.options.implicit_exception && thaddr) || params.is_draft())
                .then_some(full_address(cur.address, params)),
            tval: has_tval.then_some(tval),
        };
        self.send(Payload::Trap(packet), params, out);
        self.synchronised(cur, params);
    }

    /// Resets the state that a synchronisation packet ends.
    fn synchronised(&mut self, cur: &Inst, params: &Params) {
        self.last = cur.address;
        self.synced = true;
        // The period begins with the reported instruction.
        self.count = match params.choices.resync {
            Sync::Halfwords => cur.halfwords.into(),
            Sync::Packets | Sync::Cycles => 0,
        };
        (self.sync_next, self.sync_due) = (false, false);
        self.context_due = false;
        if params.options.resync_disabled {
            // The decoder has seen all earlier packets.
            return;
        }
        if params.choices.predictor_reset == Reset::Sync {
            self.predictor = Predictor::default();
            self.targets.clear();
        }
        self.returns.clear();
    }

    /// The address of `cur`, with the branches so far: format 0, 1 or 2.
    fn report(
        &mut self,
        cur: &Inst,
        notify: bool,
        target: bool,
        params: &Params,
        out: &mut impl Extend<Packet>,
    ) {
        let irreport = match params.options.implicit_return {
            true => self.returns.report(target, params),
            false => None,
        };
        let cached = params.options.jump_target_cache && (target || params.choices.cache_all);
        let found = if cached { self.find(cur.address, params) } else { None };
        let differential = self.address(cur.address, params);
        let report = Report {
            address: if params.options.full_address {
                full_address(cur.address, params)
            } else {
                differential
            },
            // 0.026 has no such bits.
            notify: notify && !params.is_draft(),
            updiscon: self.updiscon && !params.is_draft(),
            irreport,
        };
        let map = Map { bits: self.map, len: self.branches };
        let plain = if self.predicted >= u64::from(Map::FULL) {
            Payload::BranchCount(BranchCount {
                count: (self.predicted - u64::from(Map::FULL)) as u32,
                report: Some(report),
                failed: self.failed,
            })
        } else if self.branches == 0 {
            Payload::Address(report)
        } else {
            let full = params.is_draft() && self.full_is_shorter(cur.address, params);
            let report = Report {
                address: if full { full_address(cur.address, params) } else { report.address },
                ..report
            };
            let alone = self.quirks.full_map_alone && self.branches == Map::FULL && !target;
            Payload::Branches(Branches { full, map, report: (!alone).then_some(report) })
        };
        let packet = match found {
            Some(index) if self.predicted < u64::from(Map::FULL) && !notify && !self.updiscon => {
                let map = (self.branches != 0).then_some(map);
                let jump = Payload::JumpTarget(JumpTarget { index, map, irreport });
                if length(&jump, params) < length(&plain, params) { jump } else { plain }
            }
            _ => plain,
        };
        self.last = cur.address;
        self.outlet.target = target;
        self.send(packet, params, out);
    }

    /// The index of a target in the jump target cache, if it is there. Stores the target.
    fn find(&mut self, address: u64, params: &Params) -> Option<u16> {
        let slot = Entries::of_targets(params).index(address) as u16;
        let found = self.targets.get(slot) == Some(address);
        self.targets.put(address, params);
        found.then_some(slot)
    }

    /// The difference to the last reported address, without the bits below `iaddress_lsb`.
    fn address(&self, address: u64, params: &Params) -> u64 {
        let by = match params.choices.difference {
            Difference::CurrentMinusPrevious => address.wrapping_sub(self.last),
            Difference::PreviousMinusCurrent => self.last.wrapping_sub(address),
        };
        full_address(by, params)
    }

    /// 0.026: whether format 0 is sent in place of format 1.
    fn full_is_shorter(&self, address: u64, params: &Params) -> bool {
        let width = params.widths.address();
        let full = full_address(address, params);
        params.options.full_address
            || self.quirks.full_if_shorter
                && significant(full, width) <= significant(self.address(address, params), width)
    }

    /// Sends the outcomes up to `cur`, if there is no room for more. Returns whether the packet
    /// reports `cur`.
    #[inline(never)]
    fn full_map(&mut self, cur: &Inst, params: &Params, out: &mut impl Extend<Packet>) -> bool {
        if self.failed {
            self.count_packet(params, out);
        } else if self.branches == Map::FULL && !self.all_predicted {
            self.full(params, out);
        } else if self.predicted == MAX_PREDICTED {
            self.report(cur, false, false, params, out);
            return true;
        }
        false
    }

    /// Sends a full map without an address.
    fn full(&mut self, params: &Params, out: &mut impl Extend<Packet>) {
        let map = Map { bits: self.map, len: self.branches };
        self.send(
            Payload::Branches(Branches { full: params.is_draft(), map, report: None }),
            params,
            out,
        );
    }

    /// Sends the count of correctly predicted branches before a misprediction.
    fn count_packet(&mut self, params: &Params, out: &mut impl Extend<Packet>) {
        let count = (self.predicted - u64::from(Map::FULL)) as u32;
        let packet = BranchCount { count, report: None, failed: true };
        self.send(Payload::BranchCount(packet), params, out);
    }

    /// Format 3, sub-format 3; te_support.
    fn support(
        &mut self,
        enabled: bool,
        qualification: Qualification,
        params: &Params,
        out: &mut impl Extend<Packet>,
    ) {
        if self.quirks.no_support {
            return;
        }
        let data_enabled = enabled && self.data;
        let support = Support { enabled, qualification, data_enabled, ..Support::of(params) };
        out.extend(self.outlet.take(Packet::sent(Payload::Support(support), params), params));
    }

    fn send(&mut self, packet: Payload, params: &Params, out: &mut impl Extend<Packet>) {
        if !matches!(packet, Payload::Context(_)) {
            self.map = 0;
            self.branches = 0;
            self.predicted = 0;
            self.all_predicted = true;
            self.failed = false;
            self.returns.packet();
            self.count += 1;
        }
        let counts = params.own.cycle_counts && !matches!(packet, Payload::Context(_));
        out.extend(self.outlet.take(Packet::sent(packet, params), params));
        if counts {
            self.count_cycles(params, out);
        }
    }

    /// Sends the cycles since the last count. The first instruction of a trace has none.
    fn count_cycles(&mut self, params: &Params, out: &mut impl Extend<Packet>) {
        if self.prev.is(is::UNQUALIFIED) || self.cur.is(is::AFTER_LOSS) {
            self.cycles_counted = self.cycles_at_cur;
        }
        let mut cycles = self.cycles_at_cur.saturating_sub(self.cycles_counted);
        self.cycles_counted = self.cycles_at_cur;
        while cycles > 0 {
            let count = u32::try_from(cycles).unwrap_or(u32::MAX);
            cycles -= u64::from(count);
            let packet = Packet::sent(Payload::Own(Own::Cycles { count }), params);
            out.extend(self.outlet.take(packet, params));
        }
    }

    /// Sends the discovery packet, once.
    pub(super) fn discover(&mut self, params: &Params, out: &mut impl Extend<Packet>) {
        if params.own.discovery && !self.discovered {
            self.discovered = true;
            let own = Own::Discovery(Discovery::of(params));
            out.extend(self.outlet.take(Packet::sent(Payload::Own(own), params), params));
        }
    }

    /// Drops all state that was not sent, because packets were lost.
    fn forget(&mut self) {
        self.map = 0;
        self.branches = 0;
        self.predicted = 0;
        self.all_predicted = true;
        self.failed = false;
        self.trap_reported = false;
        self.reported = Reported::Sync;
        self.predictor = Predictor::default();
        self.targets.clear();
        self.returns.clear();
    }
}

/// Whether the instruction before a jump gives its target (`sijump`).
const fn sequential(cur: &Inst, prev: &Inst, params: &Params) -> bool {
    let alone = prev.is(is::UNQUALIFIED | is::TRAP) || cur.is(is::AFTER_LOSS);
    params.options.sijump && cur.is(is::SEQUENTIAL) && !alone
}

/// `mcause` of an illegal instruction exception.
const ILLEGAL_INSTRUCTION: u64 = 2;

/// The most branches that a branch count packet can have.
const MAX_PREDICTED: u64 = u32::MAX as u64 + Map::FULL as u64;

/// An address field.
const fn full_address(address: u64, params: &Params) -> u64 {
    low(address >> params.widths.iaddress_lsb, params.widths.address())
}

const fn privilege_context(cur: &Inst) -> PrivilegeContext {
    PrivilegeContext { privilege: cur.privilege, time: cur.time, context: cur.context }
}

/// `branch` of format 3.
const fn branch_bit(cur: &Inst, params: &Params) -> bool {
    if params.is_draft() {
        cur.flags & (is::BRANCH | is::TAKEN) == is::BRANCH
    } else {
        !cur.is(is::TAKEN)
    }
}

/// Bits of the signed number in the low `width` bits, without those that repeat the sign.
const fn significant(value: u64, width: u32) -> u32 {
    let value = sign_extend(value, width);
    let magnitude = if (value as i64) < 0 { !value } else { value };
    64 - magnitude.leading_zeros()
}
