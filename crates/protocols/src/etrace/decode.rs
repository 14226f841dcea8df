//! Packets to elements.
//!
//! An instruction whose address a packet reports was retired. The target of a jump is *pending*: it
//! is emitted with the instructions after it, or alone if a trap, a context or the end comes next.

mod data;
mod fast_path;
mod goal;
mod implied;
mod loop_label;
mod own;
pub(super) mod pending;
mod predicted;
pub(super) mod returns;
mod start;
mod state;
pub(super) mod targets;
mod trapped;
mod turns;
mod walk;

use tracewright_base::{
    BlockCache, Context, Decode, Element, Exception, Fault, Feed, Gap, Inconsistency, Reserve,
    Sink, Space, Spanned, Start,
};

use super::config::{Difference, Framing, Params, Reset};
use super::packet::{
    BranchCount, Map, Packet, Payload, PrivilegeContext, Qualification, Report, Trap,
};
use crate::riscv::space;
use data::History;
use goal::{Goal, Walked};
use pending::Pending;
use returns::Returns;
use state::{Announced, Next, PassedAddress, Phase, Position, ReportedAs, Why};
use targets::Targets;
use trapped::{After, BeforeTrap, has_epc, same_trap, waits_for_next};

/// Decodes the packets of one trace unit. It is a plain value: it holds the state that the next
/// packet depends on, and no totals. The default is the state before the first packet.
///
/// After undecodable bytes or lost packets no instruction is emitted before the next packet with a
/// full address: a start or a trap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoder {
    phase: Phase,
    /// The address of the last packet that has one: differences are to it.
    address: Option<u64>,
    position: Position,
    /// The address of the last instruction that was emitted.
    last: Option<u64>,
    /// The address of the last packet, which the program reached without a jump of unknown target.
    /// If the next packet is not of format 3, the program went on from there and then jumped to the
    /// same address.
    passed: Option<PassedAddress>,
    announced: Announced,
    pending: Pending,
    returns: Returns,
    /// Implicit returns since the last branch or packet.
    implied: u16,
    targets: Targets,
    data: History,
    /// The privilege and context that were last emitted.
    privilege_context: Option<PrivilegeContext>,
    /// The memory space of that privilege.
    space: Space,
    /// The last timestamp of an envelope.
    time: Option<u64>,
    /// The index of the last packet. (ESP32)
    number: Option<u16>,
    /// How the last packet with an address reported its instruction.
    reported_as: ReportedAs,
    /// A trap packet whose elements depend on the packet after it.
    waiting_trap: Option<Trap>,
    /// The time of a packet whose path is not emitted yet, as that of `waiting_trap`.
    path_time: Option<u64>,
    /// No instruction was retired since the last trap.
    trapped: bool,
    /// The address of that trap's handler.
    handler: Option<u64>,
    /// The return stack or the branch predictor differs from that of the unit: packets that depend
    /// on them have no meaning before the next packet of format 3, which resets both.
    stale: bool,
    /// The number of instructions that the packet in progress may still stand for; 0 between
    /// packets. ([`Code::max_expansion`])
    ///
    /// [`Code::max_expansion`]: tracewright_base::Code::max_expansion
    allowance: u64,
    /// What is left, for the packet in progress, of the allowance for turns of counted loops that
    /// are emitted as `repeat` or `repeat_path`, in units of `goal::cost`; 0 between packets.
    listed: u64,
}

/// What a byte of a packet may cost without the [`Reserve`]. Where a packet has at most 31
/// branches, jumps are most of the cost: each counts as [`goal::JUMP`].
fn free(params: &Params, reserve: &Reserve) -> u64 {
    let bounded = !params.options.implicit_return && !params.options.branch_prediction;
    reserve.free() * if bounded { 16 } else { 1 }
}

/// Exception numbers of interrupts have this bit: `mcause` has it at the top.
pub const INTERRUPT: u16 = 1 << 15;

impl Decode<Params, Packet> for Decoder {
    fn packet<K: BlockCache, S: Sink>(
        &mut self,
        p: Spanned<&Packet>,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        let granted = self.allow(p.at, p.len, params, code);
        self.any_packet(p, params, code, sink);
        self.settle(p.at, granted, code);
    }

    #[inline]
    fn packets<K: BlockCache, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        self.fast_path(feed, params, code, sink);
    }

    fn bad<S: Sink>(&mut self, at: u64, fault: Fault, sink: &mut S) {
        match self.phase {
            Phase::Fresh => sink.element(at, Element::Gap(Gap::Start)),
            // The trace ends: no element follows that could be wrong.
            Phase::Following if fault == Fault::Truncated => return,
            Phase::Following => sink.element(at, Element::Gap(Gap::BadPacket)),
            Phase::Waiting(_) => {}
        }
        if let Some(trap) = &self.waiting_trap {
            sink.element(at, Element::Exception(exception(trap, None)));
        }
        self.end_path_at(at, sink);
        *self = Decoder { phase: Phase::Waiting(Why::Lost), ..Decoder::default() };
    }

    fn finish<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        let granted = self.allow(at, 1, params, code);
        if let Some(trap) = self.waiting_trap.take() {
            self.trap(at, &trap, After::End, params, code, sink);
            self.end_path_at(at, sink);
        }
        self.end(at, params, code, sink);
        self.settle(at, granted, code);
    }
}

/// What a packet may cost, its walk and its listed turns each.
#[derive(Clone, Copy)]
struct Granted {
    all: u64,
    /// What of it does not come from the reserve.
    free: u64,
}

impl Decoder {
    /// Limits the instructions of a packet of `len` bytes.
    fn allow<K: BlockCache>(&mut self, at: u64, len: u32, params: &Params, code: &K) -> Granted {
        let (reserve, len) = (code.work_reserve(), u64::from(len.max(1)));
        let free = len * free(params, &reserve);
        let all = reserve.allow(at, free, len * u64::from(code.max_expansion()));
        (self.allowance, self.listed) = (all, all);
        Granted { all, free }
    }

    /// The packet at offset `at` ends: what it has cost is taken.
    fn settle<K: BlockCache>(&mut self, at: u64, granted: Granted, code: &mut K) {
        let cost = (granted.all - self.allowance) + (granted.all - self.listed);
        (self.allowance, self.listed) = (0, 0);
        if cost > granted.free {
            let mut reserve = code.work_reserve();
            reserve.spend(at, cost - granted.free);
            code.set_work_reserve(reserve);
        }
    }

    /// A packet of any kind.
    #[inline]
    fn any_packet<K: BlockCache, S: Sink>(
        &mut self,
        p: Spanned<&Packet>,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        let Spanned { at, packet: &Packet { envelope, payload }, .. } = p;
        if self.phase == Phase::Fresh {
            self.phase = Phase::Waiting(Why::Off);
            sink.element(at, Element::Gap(Gap::Start));
        }
        if params.link.framing == Framing::Esp32 && !matches!(payload, Payload::Null { .. }) {
            self.numbered(at, envelope.source, sink);
        }
        // The time of a packet is that of the instruction that it reports, at the end of its path.
        let time = envelope.timestamp.filter(|time| self.time != Some(*time));
        self.time = time.or(self.time);
        let alone = matches!(
            payload,
            Payload::Null { .. }
                | Payload::Timer { .. }
                | Payload::Software { .. }
                | Payload::Own(_)
        );
        if !alone && let Some(trap) = self.waiting_trap.take() {
            let after = match &payload {
                Payload::Trap(next) => After::Trap { again: same_trap(&trap, next) },
                _ => After::Retired,
            };
            self.trap(at, &trap, after, params, code, sink);
            self.end_path_at(at, sink);
        }
        let ends_path = !alone && !matches!(payload, Payload::Data(_));
        if !ends_path && let Some(value) = time {
            self.path_time = None;
            sink.element(at, Element::Timestamp { value, cycles: None });
        }
        match payload {
            Payload::Null { .. } => {}
            Payload::Branches(branches) => {
                let full =
                    if params.is_draft() { branches.full } else { params.options.full_address };
                let path =
                    PathPacket { map: Some(branches.map), ..PathPacket::of(branches.report, full) };
                self.follow(at, &path, params, code, sink);
            }
            Payload::Address(report) => {
                let path = PathPacket::of(Some(report), params.options.full_address);
                self.follow(at, &path, params, code, sink);
            }
            Payload::BranchCount(count) => {
                let path = PathPacket::of(count.report, params.options.full_address);
                self.follow(at, &PathPacket { count: Some(count), ..path }, params, code, sink);
            }
            Payload::JumpTarget(target) => {
                let report = Report { irreport: target.irreport, ..Report::default() };
                let path = PathPacket::of(Some(report), false);
                let path = PathPacket { map: target.map, cached: Some(target.index), ..path };
                self.follow(at, &path, params, code, sink);
            }
            Payload::Start(start) => self.start(at, &start, params, code, sink),
            // The next packet is needed too.
            Payload::Trap(trap) if waits_for_next(&trap, params) => self.waiting_trap = Some(trap),
            Payload::Trap(trap) => self.trap(at, &trap, After::Retired, params, code, sink),
            Payload::Context(context) => {
                self.flush(at, params, code, sink);
                self.enter(at, context.privilege_context, params, sink);
            }
            Payload::Support(support) => {
                self.qualification(at, support.qualification, params, code, sink);
                if support.data_lost {
                    self.data.forget();
                    sink.element(at, Element::Gap(Gap::Data));
                }
            }
            Payload::Data(access) => self.data.packet(at, &access, params, sink),
            Payload::Own(own) => self.own(at, &own, params, sink),
            Payload::Timer { ticks } => {
                sink.element(at, Element::Timestamp { value: ticks, cycles: None });
            }
            Payload::Software { word } => {
                sink.element(at, Element::Instrumentation { el: 0, value: word.into() });
            }
        }
        if ends_path {
            self.path_time = time;
            if self.waiting_trap.is_none() {
                self.end_path_at(at, sink);
            }
        }
    }

    /// The path of a packet ends: emits the time of the packet.
    fn end_path_at<S: Sink>(&mut self, at: u64, sink: &mut S) {
        if let Some(value) = self.path_time.take() {
            sink.element(at, Element::Timestamp { value, cycles: None });
        }
    }
}

/// The content of a packet of format 0, 1 or 2.
struct PathPacket {
    map: Option<Map>,
    count: Option<BranchCount>,
    report: Option<Report>,
    /// The address is not a difference.
    full: bool,
    /// The index of the address in the jump target cache.
    cached: Option<u16>,
}

impl PathPacket {
    const fn of(report: Option<Report>, full: bool) -> PathPacket {
        PathPacket { map: None, count: None, report, full, cached: None }
    }

    /// Whether the packet has an absolute address and depends on nothing before it.
    fn is_absolute(&self, params: &Params) -> bool {
        let depends = params.options.implicit_return || params.options.branch_prediction;
        self.full && self.report.is_some() && self.cached.is_none() && !depends
    }

    /// The outcome of the last branch, if the packet has it.
    fn last(&self) -> Option<Map> {
        let map = self.map.filter(|map| map.len > 0)?;
        Some(Map { bits: map.bits >> (map.len - 1) & 1, len: 1 })
    }
}

impl Decoder {
    /// Follows the program to the address or the last branch of a packet of format 0, 1 or 2.
    #[inline]
    fn follow<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        path: &PathPacket,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        if self.phase != Phase::Following {
            // After a loss an absolute address is enough to go on.
            if self.phase != Phase::Waiting(Why::Lost) || !path.is_absolute(params) {
                return;
            }
            self.begin(at, sink);
        }
        while let Some(passed) = self.passed.take() {
            if params.reports_trapped() && self.defers(&passed, path, params, code) {
                return;
            }
            self.walk_to_jump(at, passed, params, code, sink);
        }
        self.announced = Announced::of(path.report);
        self.implied = 0;
        let goal = match &path.report {
            None => Goal::BRANCHES,
            Some(report) => {
                self.address = self.reported(path, report, params);
                if self.address.is_none() && self.position != Position::Unknown {
                    self.lose(at, Inconsistency::NoAddress, params, sink);
                }
                Goal {
                    address: self.address,
                    jumped: report.updiscon && !report.notify,
                    notified: report.notify || params.choices.notifications,
                    returns: report.irreport,
                    branches: params.needs_report_reason()
                        && path.map.is_some_and(|map| map.len > 0),
                    before: false,
                    context: false,
                }
            }
        };
        if self.position == Position::Unknown {
            if self.trapped {
                // The packet with the handler's address is missing. ("Format 3 thaddr and address
                // fields")
                self.trapped = false;
                self.lose(at, Inconsistency::NoAddress, params, sink);
                self.address = goal.address;
            }
            self.reported_as = ReportedAs::Jumped;
            self.resume(&goal, path, params, code);
            return;
        }
        if let Some(map) = path.map {
            self.pending.add(map);
        }
        if let Some(count) = &path.count {
            if !params.options.branch_prediction {
                self.lose(at, Inconsistency::AddressNotReached, params, sink);
                return;
            }
            if count.count > params.choices.longest_count {
                self.lose(at, Inconsistency::TooManyBranches, params, sink);
                return;
            }
            self.pending.add_count(count);
        }
        self.walk_to_report(at, &goal, params, code, sink);
    }

    /// Walks to the goal of a packet of format 0, 1 or 2, and notes how it was reported.
    #[inline]
    fn walk_to_report<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        goal: &Goal,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) -> Walked {
        let from = match self.position {
            Position::At { pc, pending_retire: true } => Some(pc),
            _ => None,
        };
        self.reported_as = ReportedAs::Jumped;
        let walked = self.walk(at, goal, params, code, sink);
        self.note_target(from, params);
        walked
    }

    /// After a packet: notes whether it reported the target of the jump at `from`, which was the
    /// pending instruction before the packet.
    fn note_target(&mut self, from: Option<u64>, params: &Params) {
        let jumped = from.is_some() && self.last == from;
        if params.choices.trapped_in_stream && jumped && self.reported_as == ReportedAs::Jumped {
            self.reported_as = ReportedAs::Target;
        }
    }

    /// Whether a packet may report the instruction right after the passed address `passed`. The
    /// packet after it decides, so that this one waits.
    fn defers<K: BlockCache>(
        &mut self,
        passed: &PassedAddress,
        path: &PathPacket,
        params: &Params,
        code: &mut K,
    ) -> bool {
        let Some(report) = path.report.filter(|_| path.count.is_none()) else { return false };
        if path.cached.is_some() || report.updiscon || report.notify {
            // The packet states by itself whether its address is the target of a jump.
            return false;
        }
        let Some(address) = self.reported(path, &report, params) else { return false };
        let next = Next { address, map: path.map };
        let waits = self.may_follow(passed, &next, params, code);
        if waits {
            self.passed = Some(PassedAddress { next: Some(next), ..*passed });
            self.address = Some(address);
        }
        waits
    }

    /// Resumes at an address that the packet reports, where the position was not known.
    fn resume<K: BlockCache>(
        &mut self,
        goal: &Goal,
        path: &PathPacket,
        params: &Params,
        code: &mut K,
    ) {
        let Some(address) = goal.address.filter(|_| !self.stale) else { return };
        self.position = Position::At { pc: address, pending_retire: true };
        self.last = None;
        if let Some(outcome) = path.last()
            && self.is_branch(address, params, code)
        {
            self.pending.add(outcome);
        }
    }

    /// The address that a packet reports. `None` if the address before it, or the cache entry, is
    /// not known.
    #[inline]
    fn reported(&mut self, path: &PathPacket, report: &Report, params: &Params) -> Option<u64> {
        let address = match path.cached {
            Some(index) => self.targets.get(index)?,
            None if path.full => params.full_address(report.address),
            None => {
                let (difference, base) = (report.difference(params), self.address?);
                match params.choices.difference {
                    Difference::CurrentMinusPrevious => base.wrapping_add(difference),
                    Difference::PreviousMinusCurrent => base.wrapping_sub(difference),
                }
            }
        };
        let address = address & params.isa().address_mask();
        if params.choices.cache_all && params.options.jump_target_cache {
            self.targets.put(address, params);
        }
        Some(address)
    }

    /// Whether the privilege differs from the last one that was emitted.
    pub(super) fn changes(&self, privilege_context: PrivilegeContext) -> bool {
        self.privilege_context.is_some_and(|known| known.privilege != privilege_context.privilege)
    }

    /// Whether a trap packet may report a context change with discontinuity, which a unit treats as
    /// an exception. (0.026, Table 3.3) Its cause and its value are 0.
    fn may_be_context_change(&self, trap: &Trap, params: &Params) -> bool {
        let none = !trap.interrupt && trap.ecause == 0 && trap.tval.unwrap_or(0) == 0;
        let known = self.privilege_context.map(|known| known.context);
        let another = known.is_some_and(|known| known != trap.privilege_context.context);
        params.is_draft() && none && another
    }

    /// A trap packet. `after`: the packet after it, as far as it matters.
    fn trap<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        trap: &Trap,
        after: After,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        let position = trap.address.map(|address| params.full_address(address));
        let position = position.map(|address| address & params.isa().address_mask());
        if let ReportedAs::Handler { again: true, .. } = self.reported_as {
            self.reported_as = ReportedAs::Handler { trapped: Some(true), again: false };
            self.handler = position;
            self.enter(at, trap.privilege_context, params, sink);
            return;
        }
        let BeforeTrap { return_address, trapped, again, handler_reported } =
            self.leave(at, trap, after, params, code, sink);
        // A trap packet may be the first one of a trace.
        self.begin(at, sink);
        sink.element(at, Element::Exception(exception(trap, return_address)));
        if let Some(value) = trap.tval.filter(|_| !trap.interrupt)
            && !(has_epc(trap, params))
        {
            sink.element(at, Element::TrapValue(value));
        }
        if self.may_be_context_change(trap, params) {
            sink.element(at, Element::Inconsistency(Inconsistency::ContextOrException));
        }
        self.enter(at, trap.privilege_context, params, sink);
        self.pending.clear();
        self.reported_as = ReportedAs::Handler { trapped, again };
        self.announced = Announced::Nothing;
        let known = params.vector(trap.privilege_context.privilege, trap.interrupt, trap.ecause);
        // Without `thaddr` the packet has the privilege before the trap, and not that of the
        // handler.
        let machine = params.vectors.supervisor.is_none() && params.vectors.guest.is_none();
        self.handler = None;
        if !trap.thaddr {
            self.position = Position::Unknown;
            self.address = None;
            self.last = None;
            // Before another trap the `reference-flow` encoder reports the handler's address.
            self.handler = if handler_reported { position } else { known.filter(|_| machine) };
            self.trapped = true;
            self.forget(params);
            return;
        }
        match position.or(known.map(|address| address & params.isa().address_mask())) {
            Some(address) => self.arrive(address, trap.branch, params, code),
            None => {
                // The trap vector is not among the parameters.
                self.position = Position::Unknown;
                self.address = None;
                sink.element(at, Element::Inconsistency(Inconsistency::NoAddress));
            }
        }
        self.forget(params);
    }

    /// Emits the start of tracing, if tracing was off.
    fn begin<S: Sink>(&mut self, at: u64, sink: &mut S) {
        if let Phase::Waiting(why) = self.phase {
            sink.element(
                at,
                Element::TraceOn(match why {
                    Why::Off => Start::Normal,
                    Why::Lost => Start::Overflow,
                }),
            );
        }
        self.phase = Phase::Following;
    }

    /// Sets the position to `address`, whose instruction was retired. `branch` is its outcome, if
    /// it is a branch: `true` is not taken.
    fn arrive<K: BlockCache>(&mut self, address: u64, branch: bool, params: &Params, code: &mut K) {
        self.address = Some(address);
        self.position = Position::At { pc: address, pending_retire: true };
        self.pending.clear();
        self.trapped = false;
        self.stale = false;
        if self.is_branch(address, params, code) {
            self.pending.add(Map { bits: branch.into(), len: 1 });
        }
    }

    /// Clears the state that a synchronisation resets: the return stack, the predictor, the caches.
    fn forget(&mut self, params: &Params) {
        if params.options.resync_disabled {
            return;
        }
        self.returns.clear();
        if params.choices.predictor_reset == Reset::Sync {
            self.pending.reset_predictor();
            self.targets.clear();
        }
    }

    /// Emits the time of a packet, and its privilege and context if they differ from the last ones.
    fn enter<S: Sink>(
        &mut self,
        at: u64,
        privilege_context: PrivilegeContext,
        params: &Params,
        sink: &mut S,
    ) {
        if params.widths.time > 0 {
            sink.element(at, Element::Timestamp { value: privilege_context.time, cycles: None });
        }
        let same = |known: PrivilegeContext| {
            known.privilege == privilege_context.privilege
                && known.context == privilege_context.context
        };
        if !self.privilege_context.is_some_and(same) {
            sink.element(at, Element::Context(context(privilege_context, params)));
        }
        self.privilege_context = Some(privilege_context);
        self.space = space(privilege_context.privilege);
    }

    /// `qual_status` of a support packet: tracing has ended, or packets were lost.
    fn qualification<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        qualification: Qualification,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        if self.phase != Phase::Following || qualification == Qualification::NoChange {
            return;
        }
        if qualification == Qualification::TraceLost {
            // The reported instruction was retired. If it is a branch, its outcome may be lost.
            if self.pending.count() > 0 || !self.branch_is_pending(params, code) {
                self.flush(at, params, code, sink);
            }
            sink.element(at, Element::Gap(Gap::Overflow));
            *self = Decoder {
                phase: Phase::Waiting(Why::Lost),
                privilege_context: self.privilege_context,
                time: self.time,
                number: self.number,
                data: core::mem::take(&mut self.data),
                allowance: self.allowance,
                listed: self.listed,
                ..Decoder::default()
            };
            return;
        }
        while let Some(passed) = self.passed.take()
            && (qualification == Qualification::EndedUnreported || passed.next.is_some())
        {
            self.walk_to_jump(at, passed, params, code, sink);
        }
        self.flush(at, params, code, sink);
        self.passed = None;
        self.position = Position::Unknown;
        // The next instruction in the trace does not follow the last one, even at the next address.
        self.last = None;
        self.pending.clear();
        self.returns.clear();
        self.phase = Phase::Waiting(Why::Off);
    }

    /// Whether the pending instruction is a branch.
    pub(super) fn branch_is_pending<K: BlockCache>(&self, params: &Params, code: &mut K) -> bool {
        matches!(self.position, Position::At { pc, pending_retire: true } if self.is_branch(pc, params, code))
    }

    /// The index of a packet. One that does not follow the last index means lost packets. (ESP32)
    fn numbered<S: Sink>(&mut self, at: u64, number: u16, sink: &mut S) {
        let follows = self.number.is_none_or(|last| number == last.wrapping_add(1));
        if !follows && self.phase == Phase::Following {
            sink.element(at, Element::Gap(Gap::Overflow));
            *self = Decoder {
                phase: Phase::Waiting(Why::Lost),
                allowance: self.allowance,
                listed: self.listed,
                ..Decoder::default()
            };
        }
        self.number = Some(number);
    }
}

/// The exception element of a trap.
const fn exception(trap: &Trap, return_address: Option<u64>) -> Exception {
    let cause = trap.ecause as u16 & !INTERRUPT;
    Exception {
        number: if trap.interrupt { cause | INTERRUPT } else { cause },
        return_address,
        also_target: false,
        tail_chain: false,
    }
}

/// The context element of a privilege and a context.
fn context(privilege_context: PrivilegeContext, params: &Params) -> Context {
    Context {
        context_id: (params.widths.context > 0).then_some(privilege_context.context),
        vmid: None,
        el: Some(privilege_context.privilege),
        security: None,
        bits64: params.rv64,
        isa: params.isa(),
    }
}
