//! Packets to elements, in three stages. (ETE K10.5)
//!
//! 1. [`History`] completes each packet.
//! 2. The *window* holds what is speculative until it is committed, cancelled or discarded.
//! 3. The *flow* follows the committed elements through the program.

mod block_walk;
mod exception;
mod fast_path;
mod flow;
mod lookup;
mod prefetch;
mod resolution;
mod returns;
mod rules;
mod speculative;
mod straight;
mod window;

use tracewright_base::{
    BlockCache, BlockId, Context, Decode, Element, Fault, Feed, Gap, Inconsistency, Sink, Spanned,
    Transaction,
};

use self::flow::{Flow, Rules};
use self::returns::Returns;
use self::speculative::Correction;
use self::window::{Item, What, Window};
use super::packet::{Address, ContextInfo, Exception, Packet, Q, SubIsa, TraceInfo};
use super::{Config, History};
use crate::cursor::Cursor;

/// The maximum plausible speculation depth: a larger TRCIDR8 is wrong.
const MAX_SPECULATION: u32 = 1 << 16;

/// The maximum number of timestamps and events that wait for the next P0 element.
const MAX_WINDOW: usize = 1 << 16;

/// The state of synchronisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// No packet was taken yet.
    #[default]
    Start,
    /// An Alignment Sync is needed.
    Lost,
    /// An Alignment Sync is needed, but packet boundaries are known: the unit itself discarded its
    /// elements.
    Discarded,
    /// An Alignment Sync was taken; a Trace Info is needed.
    Aligned,
    /// Synchronised.
    Running,
}

/// Decodes the instruction trace of an ETMv4 or an ETE. The default is not synchronised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoder {
    stage: Stage,
    history: History,
    window: Window,
    /// The number of traced P0 elements that are not resolved.
    depth: u32,
    /// The last packet, if it is an Exception packet whose address is in the next packet, and its
    /// offset.
    exception: Option<(u64, Exception)>,
    /// The emitted elements are inside a transaction.
    transaction: bool,
    /// P0 elements from before the start were cancelled: the start of the transaction in which the
    /// trace begins may be among them.
    start_unknown: bool,
    /// The return stack before the transaction.
    returns_before: Returns,
    /// The last branch before the transaction waits for its target.
    waits_before: bool,
    /// A packet had a VMID: contexts have one. A Trace Info clears it where the unit traces none.
    has_vmid: bool,
    /// The same for context IDs.
    has_context_id: bool,
    flow: Flow,
}

impl Decode<Config, Packet> for Decoder {
    #[inline]
    fn packet<K: BlockCache, S: Sink>(
        &mut self,
        p: Spanned<&Packet>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        if self.stage != Stage::Running {
            return self.start(p, config, sink);
        }
        self.running(p, config, Rules::of(config), code, sink);
    }

    #[inline]
    fn packets<K: BlockCache, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        self.fast_path(feed, config, code, sink);
        // Elements that were speculative have the offsets of earlier packets.
        if !S::WITH_PACKETS && (config.max_speculation() > 0 || self.depth > 0) {
            self.speculative_path(feed, config, code, sink);
        }
    }

    fn bad<S: Sink>(&mut self, at: u64, fault: Fault, sink: &mut S) {
        match self.stage {
            Stage::Start => {
                sink.element(at, Element::Gap(Gap::Start));
                self.stage = Stage::Lost;
            }
            // A truncated packet at the end does not contradict the packets before it.
            Stage::Running if fault != Fault::Truncated => {
                self.drain(sink);
                self.lose();
                sink.element(at, Element::Gap(Gap::BadPacket));
            }
            Stage::Discarded if fault != Fault::Truncated => self.stage = Stage::Lost,
            _ => {}
        }
    }

    fn finish<K: BlockCache, S: Sink>(
        &mut self,
        _: u64,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        // A trace may end anywhere.
        if self.waits_for_q_address() {
            self.flow.loses_with_cause();
        }
        // What is before the first P0 element cannot be cancelled any more.
        let _ = self.flush(Rules::of(config), code, sink);
        self.drain(sink);
    }
}

impl Decoder {
    /// A packet before synchronisation. (ETE K10.5.1)
    #[cold]
    fn start<S: Sink>(&mut self, p: Spanned<&Packet>, config: &Config, sink: &mut S) {
        if self.stage == Stage::Start {
            sink.element(p.at, Element::Gap(Gap::Start));
            self.stage = Stage::Lost;
        }
        match (self.stage, *p.packet) {
            (_, Packet::AlignSync) => self.stage = Stage::Aligned,
            (Stage::Aligned, Packet::TraceInfo(info)) => {
                self.stage = Stage::Running;
                self.reset(&info, config);
                self.begin(p.at, &info, config);
            }
            // Events need no Trace Info. (ETE K10.5.9)
            (Stage::Aligned | Stage::Discarded, Packet::Event(mask)) if config.is_ete() => {
                self.push(p.at, What::Events(mask));
            }
            _ => {}
        }
    }

    /// Clears the window and the position in the program: an Alignment Sync is needed. The
    /// return stack, `returns_before` and `waits_before`, an overflow that the next Trace On
    /// reports, the history, `has_vmid` and `has_context_id` stay.
    #[cold]
    fn lose(&mut self) {
        self.stage = Stage::Lost;
        self.window.clear();
        self.depth = 0;
        self.exception = None;
        self.transaction = false;
        self.start_unknown = false;
        self.flow.lose();
    }

    #[inline]
    fn push(&mut self, at: u64, what: What) {
        self.window.push_back(Item { at, what });
    }

    /// A synchronised packet: adds its elements to the window, and removes those that it resolves.
    #[inline]
    fn running<K: BlockCache, S: Sink>(
        &mut self,
        p: Spanned<&Packet>,
        config: &Config,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) {
        let at = p.at;
        let max = config.max_speculation().min(MAX_SPECULATION);
        let mut commit = 0;
        if matches!(p.packet, Packet::Discard | Packet::Overflow) {
            // The address of an exception may be among the lost packets.
            self.exception = None;
        }
        if self.exception.is_some() {
            self.complete_exception(&p, config, rules, sink);
            // P0 elements above the maximum speculation depth are committed.
            let commit = self.depth.saturating_sub(max);
            if !self.resolve_q(rules, code, sink)
                || commit > 0 && !self.commit_settled(at, commit, rules, code, sink)
            {
                self.fail(at, sink);
            }
            return;
        }
        match *p.packet {
            Packet::Atoms(atoms) => {
                let (bits, len) = (atoms.bits(), atoms.len());
                if max == 0 && self.depth == 0 {
                    // Nothing is speculative: the window has no P0 elements, and its items are
                    // older than these atoms.
                    if !self.window.is_empty() && !self.flush(rules, code, sink) {
                        return self.fail(at, sink);
                    }
                    for n in 0..len {
                        let taken = bits >> n & 1 != 0;
                        if !self.flow.atom(at, taken, taken, rules, code, sink) {
                            return self.fail(at, sink);
                        }
                    }
                    return;
                }
                self.atoms(at, bits, len);
            }
            Packet::Address(address) => {
                self.address(at, address);
                if !self.resolve_q(rules, code, sink) {
                    return self.fail(at, sink);
                }
            }
            Packet::AddressContext(address, info) => {
                self.history.complete(address);
                self.history.set_context(&info);
                self.push_address(at);
                self.context(at, Some(&info), rules);
                if !self.resolve_q(rules, code, sink) {
                    return self.fail(at, sink);
                }
            }
            Packet::Context(info) => {
                if let Some(info) = &info {
                    self.history.set_context(info);
                }
                self.context(at, info.as_ref(), rules);
            }
            Packet::AlignSync | Packet::Ignore => {}
            Packet::TraceInfo(info) => self.trace_info(at, &info, config, rules, sink),
            Packet::TraceOn => self.push(at, What::TraceOn),
            Packet::Exception(exception) => self.exception(at, exception, config),
            Packet::ExceptionReturn => {
                let p0 = config.microcontroller();
                self.push(at, What::ExceptionReturn { p0 });
                self.depth = self.depth.saturating_add(p0.into());
            }
            Packet::FunctionReturn => {
                self.push(at, What::FunctionReturn);
                self.depth = self.depth.saturating_add(1);
            }
            Packet::Q(q) => self.q(at, q),
            Packet::SourceAddress(address) => {
                let entry = self.history.complete(address);
                let (address, is1) = (entry.address, entry.is() == SubIsa::Is1);
                self.push(at, What::Source { address, is1, taken: true });
                self.depth = self.depth.saturating_add(1);
            }
            Packet::TransactionStart => {
                let p0 = config.transaction_start_is_p0();
                self.push(at, What::Transaction { step: Transaction::Start, p0 });
                self.depth = self.depth.saturating_add(p0.into());
            }
            Packet::TransactionCommit => {
                self.push(at, What::Transaction { step: Transaction::Commit, p0: false });
            }
            Packet::Event(_)
            | Packet::Timestamp { .. }
            | Packet::TimestampMarker
            | Packet::Instrumentation { .. }
            | Packet::CycleCount1 { .. }
            | Packet::CycleCount2 { .. }
            | Packet::CycleCount3 { .. } => {
                if let Some((what, committed)) = self.aside(p.packet, config) {
                    commit = committed;
                    self.push(at, what);
                }
            }
            Packet::Commit(count) => commit = count,
            Packet::Cancel1 { .. }
            | Packet::Cancel2(_)
            | Packet::Cancel3 { .. }
            | Packet::Mispredict(_) => {
                if let Some(correction) = Correction::of(p.packet) {
                    self.correct(at, correction, max, rules, code, sink);
                }
            }
            Packet::Discard => return self.discard(at, Gap::Discard, sink),
            Packet::Overflow => {
                self.flow.overflow();
                return self.discard(at, Gap::Overflow, sink);
            }
            // Packets of data trace and of conditional instructions are parsed only.
            Packet::NumberedSync(_) | Packet::UnnumberedSync(_) | Packet::Conditional(_) => {}
        }
        let mut cursor = Cursor::before(BlockId::NONE);
        self.commit_above(&mut cursor, at, commit, max, rules, code, sink);
        self.flow.settle(cursor, rules, code);
    }

    /// The program image is wrong.
    #[cold]
    fn fail<S: Sink>(&mut self, at: u64, sink: &mut S) {
        self.drain(sink);
        self.lose();
        sink.element(at, Element::Gap(Gap::BadImage));
    }

    /// The item of a packet that does not concern the program flow (timestamp, cycle count, event),
    /// and the number of P0 elements that it commits. `None` for any other packet.
    fn aside(&mut self, packet: &Packet, config: &Config) -> Option<(What, u32)> {
        let what = match *packet {
            Packet::Event(mask) => What::Events(mask),
            Packet::Timestamp { bits, count, cycles } => {
                What::Timestamp { value: self.history.set_timestamp(bits, count), cycles }
            }
            Packet::TimestampMarker => What::Marker,
            Packet::Instrumentation { el, value } => What::Instrumentation { el, value },
            _ => {
                let (commit, cycles) = self.history.cycles(config, packet)?;
                return Some((What::Cycles(cycles), commit));
            }
        };
        Some((what, 0))
    }

    fn atoms(&mut self, at: u64, bits: u32, len: u8) {
        if len > 0 {
            self.push(at, What::Atoms { first: bits, last: bits, len });
            self.depth = self.depth.saturating_add(len.into());
        }
    }

    #[inline]
    fn address(&mut self, at: u64, address: Address) {
        self.history.complete(address);
        self.push_address(at);
    }

    /// Execution continues at the last address of the history.
    #[inline]
    fn push_address(&mut self, at: u64) {
        let last = self.history.last();
        self.push(at, What::Address { address: last.address, is1: last.is() == SubIsa::Is1 });
    }

    fn context(&mut self, at: u64, info: Option<&ContextInfo>, rules: Rules) {
        if let Some(info) = info {
            self.note_identifiers(info);
        }
        let whole = self.history.context();
        let is1 = self.history.last().is() == SubIsa::Is1;
        let context = Context {
            vmid: whole.vmid.filter(|_| self.has_vmid),
            context_id: whole.context_id.filter(|_| self.has_context_id),
            isa: flow::isa(whole.bits64, is1, rules),
            ..whole
        };
        self.push(at, What::Context(context));
    }

    fn note_identifiers(&mut self, info: &ContextInfo) {
        self.has_vmid |= info.vmid().is_some();
        self.has_context_id |= info.context_id().is_some();
    }

    /// A session begins, maybe behind unresolved P0 elements and inside a transaction.
    fn begin(&mut self, at: u64, info: &TraceInfo, config: &Config) {
        self.flow.start();
        self.start_unknown = false;
        self.depth = info.speculation().unwrap_or(0);
        if self.depth > 0 {
            self.push(at, What::Unseen(self.depth));
        }
        if config.is_ete() && info.in_transaction() {
            self.push(at, What::Transaction { step: Transaction::Inside, p0: false });
        }
    }

    /// A Trace Info while synchronised resets the compression. It also has the number of unresolved
    /// P0 elements, and in an ETE whether a transaction is open: if they are not those of the trace
    /// before it, they contradict that trace, or begin another session. (ETE K10.5.2.6)
    #[cold]
    fn trace_info<S: Sink>(
        &mut self,
        at: u64,
        info: &TraceInfo,
        config: &Config,
        rules: Rules,
        sink: &mut S,
    ) {
        self.reset(info, config);
        let depth = info.speculation().unwrap_or(0);
        let inside = config.is_ete() && info.in_transaction();
        let open = self.in_transaction();
        let cancelled = open && !inside && self.may_be_cancelled();
        if depth == self.depth && (inside == open || cancelled) {
            self.start_unknown = false;
            if cancelled {
                let step = Transaction::Cancelled;
                self.push(at, What::Transaction { step, p0: false });
            }
            if rules.return_stack {
                self.push(at, What::TraceInfo);
            }
            return;
        }
        self.drain_session(at, sink);
        self.begin(at, info, config);
        sink.element(at, Element::Inconsistency(Inconsistency::Unexpected));
    }

    /// Resets the compression. Identifiers that the unit does not trace are damage of a packet: it
    /// has no effect on later contexts.
    fn reset(&mut self, info: &TraceInfo, config: &Config) {
        self.history.trace_info(info);
        self.has_vmid &= config.vmid();
        self.has_context_id &= config.context_id();
    }

    /// Counts as a P0 element at once, although its address may be in a later packet. (ETE
    /// K10.5.2.11)
    fn q(&mut self, at: u64, q: Q) {
        let count = match q {
            Q::Uncounted => None,
            Q::Counted(count) | Q::To(_, count) => Some(count),
        };
        self.push(at, What::Q { count, committed: false });
        self.depth = self.depth.saturating_add(1);
        if let Q::To(address, _) = q {
            self.address(at, address);
        }
    }
}
