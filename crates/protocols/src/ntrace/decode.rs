//! Messages to elements.
//!
//! Outcomes of branches are followed when they come, also those of messages without I-CNT: the
//! half-words of their path are subtracted from the next I-CNT. ("Decoding Algorithm", with the
//! half-words counted on the whole path)

mod branches;
mod cached;
mod events;
mod fast_path;
mod granted;
mod outcomes;
mod repeat;
mod returns;
mod steps;
mod vendor;
mod walk;

use tracewright_base::{
    BlockCache, Decode, Element, Exception, Fault, Feed, Gap, Inconsistency, Kind, Sink, Space,
    Spanned, Start,
};

use super::config::{Config, Mode, Profile};
use super::names;
use super::packet::{Message, Packet, Process};
use granted::Granted;
use outcomes::Outcomes;
use returns::Returns;
use vendor::Model;
use walk::{Last, Walk};

/// Decodes the messages of one encoder. It is a plain value: it holds the state that the next
/// message depends on, and no totals. The default is the state before the first message.
///
/// After undecodable bytes, lost messages, or a contradiction between the messages and the program,
/// no instruction is emitted before the next message with SYNC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoder {
    phase: Phase,
    position: Position,
    /// The last instruction of the path.
    last: Last,
    /// The address field of the last message that has one (F-ADDR or U-ADDR): U-ADDR are the bits
    /// that differ.
    reference: Option<u64>,
    /// Half-words of ResourceFull messages since the last I-CNT.
    credit: u64,
    /// Half-words of the path that was followed since the last I-CNT.
    ahead: u64,
    /// Return addresses of calls.
    returns: Returns,
    /// Code or instructions before this position are not known: the return addresses are not
    /// complete.
    stale: bool,
    /// The message that RepeatBranch repeats.
    branch: Option<Branch>,
    /// The predictor and the targets of the Accemic encoder, where they are known.
    learned: Model,
    /// The mode that messages have shown.
    mode: Option<Mode>,
    /// The last timestamp.
    time: Option<u64>,
    /// The last privilege and context.
    owner: Option<Owner>,
    /// The memory space of that privilege.
    space: Space,
    /// The address of the last PC sample, or of the last event without program trace.
    sampled: Option<u64>,
    /// The number of instructions that the message in progress may still stand for; 0 between
    /// messages. ([`Code::max_expansion`])
    ///
    /// [`Code::max_expansion`]: tracewright_base::Code::max_expansion
    allowance: u64,
    /// What of it listed turns of loops have taken.
    turns: u64,
    /// What these turns cost of the reserve; both are 0 between messages.
    listed: u64,
}

/// Whether the decoder follows the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// No message yet.
    #[default]
    Fresh,
    /// Tracing has not begun, or has ended.
    Off,
    /// Messages were lost.
    Lost,
    /// A message with SYNC has come.
    Following,
}

/// Where the program is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Position {
    /// Not known.
    #[default]
    Unknown,
    /// The next instruction is at this address.
    At(u64),
    /// After a jump that may be traced. `target`: where it leads if no message has its target, by
    /// the return stack or the instruction before it.
    Jump { target: Option<u64> },
}

/// The privilege and the context of Ownership messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Owner {
    /// 0 U, 1 S, 3 M, 5 VU, 6 VS.
    privilege: Option<u8>,
    scontext: Option<u64>,
    hcontext: Option<u64>,
}

/// A branch message without SYNC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Branch {
    /// I-CNT. A repetition has no ResourceFull messages before it.
    count: u64,
    hist: u64,
    /// B-TYPE and the address field of the target; `None` for a direct branch.
    indirect: Option<(u8, u64)>,
}

/// HIST without outcomes.
const EMPTY: u64 = 1;

/// The most half-words of ResourceFull messages before an I-CNT.
const MAX_CREDIT: u64 = 1 << 32;

/// ECODE: messages of program trace were lost, or of a vendor's kind.
const PROGRAM_LOST: u64 = 1 << 2 | 1 << 7;

impl Decode<Config, Packet> for Decoder {
    fn packet<K: BlockCache, S: Sink>(
        &mut self,
        p: Spanned<&Packet>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let Spanned { at, len, packet } = p;
        if packet.message.is_between() {
            return;
        }
        if self.phase == Phase::Fresh {
            self.phase = Phase::Off;
            sink.element(at, Element::Gap(Gap::Start));
        }
        let granted = Granted::of(at, len as usize, packet.message.tcode(), code);
        self.allowance = granted.all;
        if self.phase == Phase::Following {
            self.show_mode(at, &packet.message, config, sink);
            self.path(at, &packet.message, config, code, sink);
        }
        let absolute = names::has_absolute_time(packet.message.tcode());
        self.time(at, packet.time, absolute, config, sink);
        self.effect(at, &packet.message, config, code, sink);
        self.settle_cost(at, granted, code);
    }

    fn packets<K: BlockCache, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        while self.messages(feed, config, code, sink) {}
    }

    fn bad<S: Sink>(&mut self, at: u64, fault: Fault, sink: &mut S) {
        match self.phase {
            Phase::Fresh => sink.element(at, Element::Gap(Gap::Start)),
            // The trace ends: no element follows that could be wrong.
            Phase::Following if fault == Fault::Truncated => return,
            Phase::Following => sink.element(at, Element::Gap(Gap::BadPacket)),
            Phase::Off | Phase::Lost => {}
        }
        *self = Decoder { phase: Phase::Lost, mode: self.mode, ..Decoder::default() };
    }

    fn finish<K: BlockCache, S: Sink>(
        &mut self,
        _at: u64,
        _config: &Config,
        _code: &mut K,
        _sink: &mut S,
    ) {
        // No element waits for a later message.
    }
}

impl Decoder {
    /// Follows the path of a message, up to the instruction that it reports.
    fn path<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        message: &Message,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let end = |count, hist, last| Walk::to_count(count, Outcomes::of(hist), last);
        let walk = match *message {
            Message::DirectBranch { icnt } => end(icnt, EMPTY, walk::End::Taken),
            Message::DirectBranchSync { icnt, .. } => end(icnt, EMPTY, walk::End::Taken),
            Message::IndirectBranch { icnt, .. } => end(icnt, EMPTY, walk::End::NotTaken),
            Message::IndirectBranchHist { icnt, hist, .. } => end(icnt, hist, walk::End::NotTaken),
            Message::IndirectBranchSync { icnt, faddr, btype: 0, .. }
            | Message::ProgTraceSync { icnt, faddr, .. } => {
                end(icnt, EMPTY, walk::End::To(config.address(faddr)))
            }
            Message::IndirectBranchSync { icnt, .. } => end(icnt, EMPTY, walk::End::NotTaken),
            Message::IndirectBranchHistSync { icnt, faddr, btype: 0, hist, .. } => {
                end(icnt, hist, walk::End::To(config.address(faddr)))
            }
            Message::IndirectBranchHistSync { icnt, hist, .. } => {
                end(icnt, hist, walk::End::NotTaken)
            }
            Message::ProgTraceCorrelation { icnt, cdf, hist, .. } => {
                let hist = if cdf == 1 { hist } else { EMPTY };
                end(icnt, hist, walk::End::NotTaken)
            }
            Message::CachedTarget { icnt, hist, .. }
            | Message::RepeatInstruction { icnt, hist, .. }
            | Message::RepeatInstructionSync { icnt, hist, .. } => {
                end(icnt, hist, walk::End::NotTaken)
            }
            Message::PredictedBranches { bcnt } => {
                self.branch = None;
                self.predicted_branches(at, bcnt, config, code, sink);
                return;
            }
            Message::ResourceFull { rcode, rdata, hrepeat } => {
                self.branch = None;
                self.resource(at, (rcode, rdata, hrepeat), config, code, sink);
                return;
            }
            Message::RepeatBranch { bcnt } => {
                self.repeat_branch(at, bcnt, config, code, sink);
                return;
            }
            _ => return,
        };
        let Some(walk) = walk else {
            self.lose(at, Inconsistency::OutcomeMismatch, sink);
            return;
        };
        let count = walk.count.saturating_add(core::mem::take(&mut self.credit));
        let branch = self.repeatable(message);
        let ahead = core::mem::take(&mut self.ahead);
        match count.checked_sub(ahead) {
            Some(count) => {
                self.follow(at, Walk { count, ..walk }, config, code, sink);
            }
            None => self.lose(at, Inconsistency::CountMismatch, sink),
        }
        self.branch = branch.filter(|_| self.reference.is_some());
        let again = match *message {
            Message::RepeatInstruction { rcnt, .. } => rcnt,
            // The message is sent after another time.
            Message::RepeatInstructionSync { rcnt, .. } => rcnt.saturating_add(1),
            _ => return,
        };
        self.repeat_instruction(at, again, config, code, sink);
    }

    /// The message, if RepeatBranch may repeat it.
    fn repeatable(&self, message: &Message) -> Option<Branch> {
        let (count, hist, indirect) = match *message {
            Message::DirectBranch { icnt } => (icnt, EMPTY, None),
            Message::IndirectBranch { btype, icnt, uaddr } => (icnt, EMPTY, Some((btype, uaddr))),
            Message::IndirectBranchHist { btype, icnt, uaddr, hist } => {
                (icnt, hist, Some((btype, uaddr)))
            }
            _ => return None,
        };
        let indirect = match indirect {
            Some((btype, uaddr)) => Some((btype, self.reference? ^ uaddr)),
            None => None,
        };
        Some(Branch { count, hist, indirect })
    }

    /// What a message changes at the end of its path.
    fn effect<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        message: &Message,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        match *message {
            Message::DirectBranch { .. } => self.direct(at, None, sink),
            Message::IndirectBranch { btype, uaddr, .. }
            | Message::IndirectBranchHist { btype, uaddr, .. } => {
                if let (Phase::Following, Some(reference)) = (self.phase, self.reference) {
                    let target = reference ^ uaddr;
                    self.indirect(at, btype, target, config, sink);
                    let plain = btype == 0 && self.reference == Some(target);
                    if plain && matches!(message, Message::IndirectBranchHist { .. }) {
                        self.learn_target(target, config);
                    }
                }
            }
            Message::CachedTarget { btype, index, .. } => {
                if self.phase == Phase::Following
                    && let Some(target) = self.cached_target(at, index, sink)
                {
                    self.indirect(at, btype, target, config, sink);
                }
            }
            Message::RepeatInstructionSync { sync, faddr, .. } => {
                self.synchronise(at, sync, None, faddr, config, sink);
            }
            Message::ProgTraceSync { sync, faddr, .. } => {
                if sync == names::PC_SAMPLE && config.profile.is_sifive() {
                    self.sample(at, faddr, config, sink);
                } else {
                    self.synchronise(at, sync, None, faddr, config, sink);
                }
            }
            Message::DirectBranchSync { sync, faddr, .. } => {
                if self.phase == Phase::Following {
                    self.direct(at, Some(config.address(faddr)), sink);
                }
                self.position = Position::Unknown;
                self.synchronise(at, sync, None, faddr, config, sink);
            }
            Message::IndirectBranchSync { sync, btype, faddr, .. }
            | Message::IndirectBranchHistSync { sync, btype, faddr, .. } => {
                self.synchronise(at, sync, Some(btype), faddr, config, sink);
            }
            Message::ProgTraceCorrelation { .. } => self.stop(Phase::Off),
            Message::Error { ecode, .. } => self.error(at, ecode, sink),
            Message::Ownership { process } => self.ownership(at, process, config, code, sink),
            Message::DataAcquisition { idtag: address, data }
            | Message::AuxAccessWrite { address, data } => {
                self.software_write(at, address, data, config, sink);
            }
            Message::InCircuitTrace { cksrc, data0, data1, ckdf } => {
                let event = (cksrc, (ckdf == 1).then_some(data1));
                self.event(at, event, data0, false, config, code, sink);
            }
            Message::InCircuitTraceSync { cksrc, data0, data1, ckdf } => {
                let event = (cksrc, (ckdf == 1).then_some(data1));
                self.event(at, event, data0, true, config, code, sink);
            }
            Message::Watchpoint { hits } => sink.element(at, Element::Events(hits as u8)),
            Message::Idle { .. }
            | Message::Unwritten
            | Message::Calibration { .. }
            | Message::ResourceFull { .. }
            | Message::RepeatBranch { .. }
            | Message::RepeatInstruction { .. }
            | Message::PredictedBranches { .. }
            | Message::Configuration { .. }
            | Message::Opaque(_) => {}
        }
    }

    /// A message shows the mode. One of the other mode is an error of the trace.
    fn show_mode<S: Sink>(&mut self, at: u64, message: &Message, config: &Config, sink: &mut S) {
        let Some(shown) = shown_mode(message) else { return };
        let known = match config.mode {
            Mode::Auto => self.mode,
            mode => Some(mode),
        };
        if known.is_some_and(|known| known != shown) {
            self.lose(at, Inconsistency::Unexpected, sink);
        }
        self.mode = if config.mode == Mode::Auto { Some(shown) } else { known };
    }

    /// RCODE, RDATA and HREPEAT of a ResourceFull message.
    fn resource<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        (rcode, rdata, hrepeat): (u8, u64, u64),
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let (outcomes, times) = match rcode {
            names::COUNT_FULL => {
                self.credit = self.credit.saturating_add(rdata).min(MAX_CREDIT);
                return;
            }
            names::HISTORY_FULL => (Outcomes::of(rdata), 1),
            names::HISTORY_REPEATED => (Outcomes::of(rdata), hrepeat),
            names::NOT_TAKEN if config.profile.is_sifive() => (Some(Outcomes::one(false)), rdata),
            names::TAKEN if config.profile.is_sifive() => (Some(Outcomes::one(true)), rdata),
            _ => (None, 0),
        };
        match outcomes {
            Some(outcomes) => self.repeat_outcomes(at, outcomes, times, config, code, sink),
            None => self.lose(at, Inconsistency::OutcomeMismatch, sink),
        }
    }

    /// The end of a direct branch: `target` is the traced address.
    fn direct<S: Sink>(&mut self, at: u64, target: Option<u64>, sink: &mut S) {
        let Position::At(pc) = self.position else { return };
        let is_branch = self.last.kind == Kind::Branch;
        if !is_branch || target.is_some_and(|target| target != pc) {
            self.lose(at, Inconsistency::AddressNotReached, sink);
        }
    }

    /// The end of an indirect transfer, or a trap, whose target has the address field `target`.
    fn indirect<S: Sink>(
        &mut self,
        at: u64,
        btype: u8,
        target: u64,
        config: &Config,
        sink: &mut S,
    ) {
        if btype == 0 {
            if let Position::At(_) = self.position
                && !self.last.may_jump()
            {
                self.lose(at, Inconsistency::AddressNotReached, sink);
                return;
            }
        } else {
            self.trap(at, btype, sink);
        }
        self.reference = Some(target);
        self.position = Position::At(config.address(target));
    }

    /// An exception or an interrupt at the current position.
    fn trap<S: Sink>(&mut self, at: u64, btype: u8, sink: &mut S) {
        let return_address = match self.position {
            Position::At(pc) => Some(pc),
            Position::Jump { target } => target,
            Position::Unknown => None,
        };
        let (also_target, tail_chain) = (false, false);
        let number = btype.into();
        sink.element(
            at,
            Element::Exception(Exception { number, return_address, also_target, tail_chain }),
        );
    }

    /// A message with SYNC. `btype`: of an indirect transfer or a trap; 0 also on linear code.
    fn synchronise<S: Sink>(
        &mut self,
        at: u64,
        sync: u8,
        btype: Option<u8>,
        faddr: u64,
        config: &Config,
        sink: &mut S,
    ) {
        let address = config.address(faddr);
        let trap = btype.filter(|btype| *btype != 0);
        let restarts = matches!(sync, 1 | 3 | 5 | 7 | 9);
        if self.phase == Phase::Following {
            if sync == names::OVERRUN {
                sink.element(at, Element::Gap(Gap::Overflow));
            }
            let elsewhere = matches!(self.position, Position::At(pc) if pc != address)
                && !(btype.is_some() && self.last.may_jump());
            if elsewhere && trap.is_none() && !restarts {
                sink.element(at, Element::Inconsistency(Inconsistency::AddressNotReached));
            }
        }
        if let Some(btype) = trap {
            self.trap(at, btype, sink);
        }
        if self.phase != Phase::Following || restarts {
            sink.element(at, Element::TraceOn(start(sync, self.phase)));
        }
        if matches!(sync, 0 | 6) {
            sink.element(at, Element::Trigger);
        }
        self.restart(Phase::Following);
        if restarts && config.profile == Profile::Ctte {
            self.learned.begin();
        }
        (self.reference, self.position) = (Some(faddr), Position::At(address));
    }

    /// Tracing ends, or messages were lost.
    fn stop(&mut self, phase: Phase) {
        self.restart(phase);
        (self.reference, self.position) = (None, Position::Unknown);
        self.learned.forget();
    }

    /// Drops the state that a synchronisation resets. ("Synchronizing Messages")
    fn restart(&mut self, phase: Phase) {
        self.phase = phase;
        self.returns.clear();
        (self.credit, self.ahead, self.stale) = (0, 0, false);
        (self.branch, self.sampled, self.last) = (None, None, Last::default());
    }

    /// An Error message: messages of the kinds in `ecode` were lost.
    fn error<S: Sink>(&mut self, at: u64, ecode: u64, sink: &mut S) {
        if ecode != 0 && ecode & PROGRAM_LOST == 0 {
            sink.element(at, Element::Gap(Gap::Data));
            return;
        }
        sink.element(at, Element::Gap(Gap::Overflow));
        self.stop(Phase::Lost);
    }

    /// The messages contradict the program, or one another: the path and the last address are not
    /// known before the next message with SYNC.
    #[cold]
    fn lose<S: Sink>(&mut self, at: u64, inconsistency: Inconsistency, sink: &mut S) {
        sink.element(at, Element::Inconsistency(inconsistency));
        self.stop(Phase::Following);
    }
}

/// The mode of which a message is.
const fn shown_mode(message: &Message) -> Option<Mode> {
    match message {
        Message::DirectBranch { .. } | Message::DirectBranchSync { .. } => Some(Mode::Branch),
        Message::IndirectBranchHist { .. }
        | Message::IndirectBranchHistSync { .. }
        | Message::ProgTraceCorrelation { cdf: 1, .. }
        | Message::ResourceFull { rcode: 1.., .. } => Some(Mode::History),
        _ => None,
    }
}

/// Why instruction tracing starts.
fn start(sync: u8, phase: Phase) -> Start {
    match sync {
        names::DEBUG_EXIT => Start::Debug,
        names::OVERRUN => Start::Overflow,
        _ if phase == Phase::Lost => Start::Overflow,
        _ => Start::Normal,
    }
}

impl Owner {
    /// The owner after a message. `None` if its FORMAT or PRV is reserved.
    fn after(before: Option<Owner>, process: Process) -> Option<Owner> {
        let privilege = match (process.guest(), process.privilege()) {
            (false, level @ (0 | 1 | 3)) => level,
            (true, level @ (0 | 1)) => level + 5,
            _ => return None,
        };
        let owner = Owner { privilege: Some(privilege), ..before.unwrap_or_default() };
        Some(match process.format() {
            0 => owner,
            2 => Owner { scontext: process.context(), ..owner },
            3 => Owner { hcontext: process.context(), ..owner },
            _ => return None,
        })
    }
}
