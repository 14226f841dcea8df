//! Packets to elements, in three stages. (ETE K10.5)
//!
//! 1. [`History`] completes each packet.
//! 2. The *window* holds what is speculative until it is committed, cancelled or discarded.
//! 3. The *flow* follows the committed elements through the program.

mod block_walk;
mod fast_path;
mod flow;
mod lookup;
mod prefetch;
mod returns;
mod window;

use tracewright_base::{
    BlockCache, Context, Decode, Element, Exception as Taken, Fault, Feed, Gap, Inconsistency,
    Sink, Spanned, Transaction,
};

use self::flow::{Flow, Rules};
use self::window::{Item, What, Window};
use super::packet::{Address, ContextInfo, Exception, Packet, Q, SubIsa, TraceInfo};
use super::{Config, History};

/// The maximum plausible speculation depth: a larger TRCIDR8 is wrong.
const MAX_SPECULATION: u32 = 1 << 16;

/// The maximum number of timestamps and events that wait for the next P0 element.
const MAX_WINDOW: usize = 1 << 16;

/// The return address of a tail-chained exception, with the T32 bit. (M profile)
const TAIL_CHAIN: u64 = 0xffff_ffff;

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
    /// An Exception or a Q was traced; its address has not been.
    wants_address: bool,
    /// In a transaction.
    transaction: bool,
    /// The trace has VMIDs.
    has_vmid: bool,
    /// The trace has context IDs.
    has_context_id: bool,
    flow: Flow,
}

impl Decode<Config, Packet> for Decoder {
    #[inline]
    fn packet<K: BlockCache, S: Sink>(
        &mut self,
        p: Spanned<Packet>,
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
    }

    fn bad<S: Sink>(&mut self, at: u64, fault: Fault, sink: &mut S) {
        match self.stage {
            Stage::Start => {
                sink.element(at, Element::Gap(Gap::Start));
                self.stage = Stage::Lost;
            }
            // A truncated packet at the end does not contradict the packets before it.
            Stage::Running if fault != Fault::Truncated => {
                self.lose();
                sink.element(at, Element::Gap(Gap::BadPacket));
            }
            Stage::Discarded if fault != Fault::Truncated => self.stage = Stage::Lost,
            _ => {}
        }
    }

    /// Timestamps and events that cannot be cancelled are emitted; P0 elements that were not
    /// committed are not.
    fn finish<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        config: &Config,
        _: &mut K,
        sink: &mut S,
    ) {
        while let Some(item) = self.window.pop_front() {
            match item.what {
                what if what.survives() => emit(item.at, what, sink),
                // No element before it is speculative.
                What::Transaction { step: Transaction::Commit | Transaction::Failure, .. }
                    if self.depth == 0 || config.max_speculation() == 0 =>
                {
                    emit(item.at, item.what, sink);
                }
                _ => {}
            }
        }
        sink.element(at, Element::End);
    }
}

impl Decoder {
    /// A packet before synchronisation. (ETE K10.5.1)
    #[cold]
    fn start<S: Sink>(&mut self, p: Spanned<Packet>, config: &Config, sink: &mut S) {
        if self.stage == Stage::Start {
            sink.element(p.at, Element::Gap(Gap::Start));
            self.stage = Stage::Lost;
        }
        match (self.stage, p.packet) {
            (_, Packet::AlignSync) => self.stage = Stage::Aligned,
            (Stage::Aligned, Packet::TraceInfo(info)) => {
                self.stage = Stage::Running;
                self.history.trace_info(&info);
                self.flow.start();
                self.transaction = config.is_ete() && info.in_transaction();
                self.depth = info.speculation().unwrap_or(0);
                if self.depth > 0 {
                    self.push(p.at, What::Unseen(self.depth));
                }
                if self.transaction {
                    let step = Transaction::Inside;
                    self.push(p.at, What::Transaction { step, p0: false });
                }
            }
            // Events need no Trace Info. (ETE K10.5.9)
            (Stage::Aligned | Stage::Discarded, Packet::Event(mask)) if config.is_ete() => {
                self.push(p.at, What::Events(mask));
            }
            _ => {}
        }
    }

    /// Clears the window and the position in the program: an Alignment Sync is needed. The
    /// return stack, the overflow, the history, `has_vmid` and `has_context_id` stay.
    #[cold]
    fn lose(&mut self) {
        self.stage = Stage::Lost;
        self.window.clear();
        self.depth = 0;
        self.wants_address = false;
        self.transaction = false;
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
        p: Spanned<Packet>,
        config: &Config,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) {
        let at = p.at;
        let max = config.max_speculation().min(MAX_SPECULATION);
        let mut commit = 0;
        match p.packet {
            Packet::Atoms(atoms) => {
                let (bits, len) = (atoms.bits(), atoms.len());
                if max == 0 && self.depth == 0 && !self.wants_address {
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
            Packet::Address(address) => self.address(at, address),
            Packet::AddressContext(address, info) => {
                self.history.complete(address);
                self.history.set_context(&info);
                self.push_address(at);
                self.context(at, Some(&info), rules);
            }
            Packet::Context(info) => {
                if let Some(info) = &info {
                    self.history.set_context(info);
                }
                self.context(at, info.as_ref(), rules);
            }
            Packet::AlignSync | Packet::Ignore => {}
            Packet::TraceInfo(info) => self.trace_info(&info),
            Packet::TraceOn => self.push(at, What::TraceOn),
            Packet::Exception(exception) => self.exception(at, exception, config),
            Packet::ExceptionReturn => {
                let p0 = config.microcontroller();
                self.push(at, What::ExceptionReturn { p0 });
                self.depth += u32::from(p0);
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
                self.depth += u32::from(p0);
                self.transaction = true;
            }
            Packet::TransactionCommit => {
                self.push(at, What::Transaction { step: Transaction::Commit, p0: false });
                self.transaction = false;
            }
            Packet::Event(_)
            | Packet::Timestamp { .. }
            | Packet::TimestampMarker
            | Packet::Instrumentation { .. }
            | Packet::CycleCount1 { .. }
            | Packet::CycleCount2 { .. }
            | Packet::CycleCount3 { .. } => {
                if let Some((what, committed)) = self.aside(&p.packet, config) {
                    commit = committed;
                    self.push(at, what);
                }
            }
            Packet::Commit(count) => commit = count,
            Packet::Cancel1 { .. }
            | Packet::Cancel2(_)
            | Packet::Cancel3 { .. }
            | Packet::Mispredict(_) => return self.speculation(p, max, rules, code, sink),
            Packet::Discard => return self.discard(at, Gap::Discard, sink),
            Packet::Overflow => {
                self.flow.overflow();
                return self.discard(at, Gap::Overflow, sink);
            }
            // Packets of data trace and of conditional instructions are parsed only.
            Packet::NumberedSync(_) | Packet::UnnumberedSync(_) | Packet::Conditional(_) => {}
        }
        commit = commit.max(self.depth.saturating_sub(max));
        if commit > 0 && !self.commit(at, commit, rules, code, sink)
            || self.window.len() >= MAX_WINDOW && self.depth == 0 && !self.flush(rules, code, sink)
        {
            self.fail(at, sink);
        }
    }

    /// The program image is wrong.
    #[cold]
    fn fail<S: Sink>(&mut self, at: u64, sink: &mut S) {
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
        if core::mem::take(&mut self.wants_address) {
            self.depth = self.depth.saturating_add(1);
        }
    }

    fn context(&mut self, at: u64, info: Option<&ContextInfo>, rules: Rules) {
        if let Some(info) = info {
            self.has_vmid |= info.vmid().is_some();
            self.has_context_id |= info.context_id().is_some();
        }
        let whole = self.history.context();
        let is1 = self.history.last().is() == SubIsa::Is1;
        let context = Context {
            vmid: whole.vmid.filter(|_| self.has_vmid),
            context_id: whole.context_id.filter(|_| self.has_context_id),
            isa: flow::isa(whole.bits64, is1, rules),
            ..whole
        };
        self.push(at, What::Context { context, traced: info.is_some() });
    }

    /// A Trace Info while synchronised resets the compression only.
    fn trace_info(&mut self, info: &TraceInfo) {
        self.history.trace_info(info);
    }

    fn exception(&mut self, at: u64, e: Exception, config: &Config) {
        if !e.unknown_address {
            if config.is_ete() && e.number == Exception::TRANSACTION_FAILURE {
                return self.fail_transaction(at);
            }
            let Exception { number, also_target, .. } = e;
            self.push(at, What::Exception { number, also_target });
            self.wants_address = true;
            return;
        }
        self.history.unknown_address();
        if e.number == Exception::TRANSACTION_FAILURE {
            return self.fail_transaction(at);
        }
        if e.number == Exception::PE_RESET && self.transaction {
            self.fail_transaction(at);
        }
        self.push(at, What::ExceptionUnknownAddress { number: e.number });
        self.depth = self.depth.saturating_add(1);
    }

    fn fail_transaction(&mut self, at: u64) {
        self.transaction = false;
        self.push(at, What::Transaction { step: Transaction::Failure, p0: false });
    }

    fn q(&mut self, at: u64, q: Q) {
        match q {
            Q::Uncounted | Q::Counted(_) => {
                let count = if let Q::Counted(count) = q { Some(count) } else { None };
                self.push(at, What::Q { count });
                self.wants_address = true;
            }
            Q::To(address, count) => {
                self.push(at, What::Q { count: Some(count) });
                self.wants_address = true;
                self.address(at, address);
            }
        }
    }

    /// Cancel and Mispredict packets: atoms first, then the resolution.
    #[cold]
    fn speculation<K: BlockCache, S: Sink>(
        &mut self,
        p: Spanned<Packet>,
        max: u32,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) {
        let (atoms, cancel, mispredict) = match p.packet {
            Packet::Cancel1 { count, mispredict } => ((0, 0), count, mispredict),
            Packet::Cancel2(before) => ((before.atoms().bits(), before.atoms().len()), 1, true),
            Packet::Cancel3 { atom, count } => ((atom.into(), atom.into()), u32::from(count), true),
            Packet::Mispredict(before) => ((before.atoms().bits(), before.atoms().len()), 0, true),
            _ => return,
        };
        self.atoms(p.at, atoms.0, atoms.1);
        let commit = self.depth.saturating_sub(max);
        if commit > 0 && !self.commit(p.at, commit, rules, code, sink) {
            return self.fail(p.at, sink);
        }
        if cancel > 0 {
            let missing = window::cancel(&mut self.window, cancel);
            self.depth = self.depth.saturating_sub(cancel);
            self.wants_address = false;
            if missing > 0 {
                sink.element(p.at, Element::Inconsistency(Inconsistency::CancelOfNothing));
            }
        }
        if mispredict && !window::mispredict(&mut self.window) {
            self.flow.mispredict(p.at, rules, code, sink);
        }
    }

    /// The unresolved elements will not be resolved. (ETE K10.5.3.5)
    #[cold]
    fn discard<S: Sink>(&mut self, at: u64, gap: Gap, sink: &mut S) {
        while let Some(item) = self.window.pop_front() {
            if item.what.survives() {
                emit(item.at, item.what, sink);
            }
        }
        if self.transaction {
            sink.element(at, Element::Transaction(Transaction::Failure));
        }
        self.lose();
        self.stage = Stage::Discarded;
        sink.element(at, Element::Gap(gap));
    }

    /// Resolves all items of a window without P0 elements. Returns `false` if the program image is
    /// wrong.
    fn flush<K: BlockCache, S: Sink>(&mut self, rules: Rules, code: &mut K, sink: &mut S) -> bool {
        let mut good = true;
        while let Some(item) = self.window.pop_front() {
            let mut zero = 0;
            good &= self.resolve(item, &mut zero, rules, code, sink);
        }
        good
    }

    /// Commits the `n` oldest P0 elements and all items before them.
    fn commit<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        mut n: u32,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        while n > 0 {
            let Some(item) = self.window.pop_front() else {
                self.depth = 0;
                self.wants_address = false;
                self.flow.lose();
                sink.element(at, Element::Inconsistency(Inconsistency::CommitOfNothing));
                return true;
            };
            let before = n;
            let good = self.resolve(item, &mut n, rules, code, sink);
            self.depth = self.depth.saturating_sub(before - n);
            if !good {
                return false;
            }
        }
        true
    }

    /// Resolves one item, or at most `n` of its atoms. Subtracts the number of P0 elements from
    /// `n`.
    fn resolve<K: BlockCache, S: Sink>(
        &mut self,
        item: Item,
        n: &mut u32,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        let at = item.at;
        match item.what {
            What::Unseen(unseen) => {
                let now = unseen.min(*n);
                *n -= now;
                if unseen > now {
                    self.window.push_front(Item { at, what: What::Unseen(unseen - now) });
                }
            }
            What::Atoms { first, last, len } => {
                let now = u32::from(len).min(*n);
                *n -= now;
                if u32::from(len) > now {
                    let (first, last, len) = (first >> now, last >> now, len - now as u8);
                    self.window.push_front(Item { at, what: What::Atoms { first, last, len } });
                }
                for k in 0..now {
                    let (taken, first) = (last >> k & 1 != 0, first >> k & 1 != 0);
                    if !self.flow.atom(at, taken, first, rules, code, sink) {
                        return false;
                    }
                }
            }
            What::Source { address, is1, taken } => {
                *n = n.saturating_sub(1);
                return self.flow.source(at, address, is1, taken, rules, code, sink);
            }
            What::Exception { number, also_target } => {
                *n = n.saturating_sub(1);
                let Some((address, is1)) = self.following(at, rules, sink) else {
                    sink.element(at, Element::Inconsistency(Inconsistency::Unexpected));
                    return true;
                };
                if also_target {
                    self.flow.set_address(address, is1, rules);
                }
                // An exception immediately after the return from another.
                let tail_chain = rules.thumb_only && address | 1 == TAIL_CHAIN;
                let return_address = (!tail_chain).then_some(address);
                let taken = Taken { number, return_address, also_target, tail_chain };
                return self.flow.exception(at, taken, rules, code, sink);
            }
            What::ExceptionUnknownAddress { number } => {
                *n = n.saturating_sub(1);
                let (return_address, also_target, tail_chain) = (None, false, false);
                let taken = Taken { number, return_address, also_target, tail_chain };
                return self.flow.exception(at, taken, rules, code, sink);
            }
            What::ExceptionReturn { p0 } => {
                *n = n.saturating_sub(p0.into());
                sink.element(at, Element::ExceptionReturn);
            }
            What::FunctionReturn => *n = n.saturating_sub(1),
            What::Q { count } => {
                *n = n.saturating_sub(1);
                let next = self.window.iter().find_map(|item| match item.what {
                    What::Address { address, .. } => Some(address),
                    _ => None,
                });
                return match next {
                    Some(next) => self.flow.q(at, count, next, rules, code, sink),
                    None => {
                        sink.element(at, Element::Inconsistency(Inconsistency::Unexpected));
                        true
                    }
                };
            }
            What::Transaction { step, p0 } => {
                *n = n.saturating_sub(p0.into());
                sink.element(at, Element::Transaction(step));
            }
            What::Address { address, is1 } => self.flow.set_address(address, is1, rules),
            What::Context { context, traced } => {
                self.flow.set_context(at, context, traced, rules, sink);
            }
            What::TraceOn => self.flow.trace_on(at, sink),
            what => emit(at, what, sink),
        }
        true
    }

    /// Removes the context and the address of the exception at `at` from the window.
    fn following<S: Sink>(&mut self, at: u64, rules: Rules, sink: &mut S) -> Option<(u64, bool)> {
        loop {
            let item = self.window.pop_front()?;
            match item.what {
                What::Address { address, is1 } => return Some((address, is1)),
                What::Context { context, traced } => {
                    self.flow.set_context(at, context, traced, rules, sink);
                }
                what if what.survives() => emit(item.at, what, sink),
                what => {
                    self.window.push_front(Item { at: item.at, what });
                    return None;
                }
            }
        }
    }
}

/// Emits an item that does not concern the program flow.
#[inline(never)]
fn emit<S: Sink>(at: u64, what: What, sink: &mut S) {
    let element = match what {
        What::Events(mask) => Element::Events(mask),
        What::Timestamp { value, cycles } => Element::Timestamp { value, cycles },
        What::Cycles(count) => Element::Cycles(count),
        What::Marker => Element::Marker,
        What::Transaction { step, .. } => Element::Transaction(step),
        What::Instrumentation { el, value } => Element::Instrumentation { el, value },
        _ => return,
    };
    sink.element(at, element);
}
