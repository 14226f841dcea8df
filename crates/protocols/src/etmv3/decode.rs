//! Packets to elements.

mod fast_path;
mod halves;

use alloc::vec::Vec;

use tracewright_base::{
    BlockCache, Context, Counted, Decode, Direction, Element, Exception, Fault, Feed, Gap,
    Inconsistency, Instruction, Isa, Kind, Last, Pc, Range, Security, Sink, Spanned, Start,
};
use tracewright_isa::transfer;

use super::packet::{Atom, Atoms, Branch, DataAddress, Info, Isync, Reason, Steps};
use super::{Config, History, Packet};
use crate::data::{Data, DataPacket};
use crate::flow::ends_path;
use crate::pending::{Pending, Withdrawal};
use halves::{First, Halves};

/// Packets to elements: single instructions, and their data accesses.
///
/// The last instruction is pending until the next one, because an exception packet may state that
/// it did not complete. Elements between the two are queued behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoder {
    phase: Phase,
    history: History,
    flow: Flow,
    context: Context,
    pending: Pending,
    data: Data,
    /// 32-bit T32 instructions that are traced as two.
    halves: Halves,
    /// The last instruction returned from an exception.
    returned: bool,
    /// The reason of the last I-sync is an overflow or the exit from Debug state.
    after_loss: bool,
    /// Completed transfers of the next instruction, which was interrupted before.
    resume: u8,
    /// Load and store multiples that exceptions interrupted, the most recent last. (M profile)
    interrupted: Vec<Range>,
}

/// The state of synchronisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// No packet has come.
    #[default]
    Fresh,
    /// Synchronisation is lost, and a gap was reported.
    Lost,
    /// After an A-sync, before an I-sync.
    Aligned,
    /// After an I-sync.
    Synced,
}

/// The next instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Flow {
    /// Not known, and the reason was reported.
    #[default]
    Unknown,
    /// Known.
    At(u32),
    /// The target of an indirect branch, whose packet has not come.
    Branch,
}

/// Limit of the interrupted load and store multiples: one for each preemption level.
const INTERRUPTED: usize = 16;

impl Decode<Config, Packet> for Decoder {
    #[inline]
    fn packet<K: BlockCache, S: Sink>(
        &mut self,
        p: Spanned<&Packet>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let at = p.at;
        if self.phase != Phase::Synced {
            self.aligned(at, sink);
        }
        if !matches!(p.packet, Packet::StoreFailed) {
            self.pending.settle(sink);
        }
        let after_ignored = self.data.ignored();
        if !matches!(p.packet, Packet::Placeholder { .. }) {
            self.data.other_packet();
        }
        let (pending, history) = (&mut self.pending, &mut self.history);
        match *p.packet {
            Packet::Async { .. } | Packet::Ignore => {}
            Packet::Atoms(atoms) => {
                let headers = Atoms::headers(config.control.cycle_accurate(), config.id.minor());
                self.atoms(at, headers[usize::from(atoms.header())], config, code, sink);
            }
            Packet::Branch(ref branch) => self.branch(at, branch, config, code, sink),
            Packet::Isync(ref isync) => self.isync(at, isync, config, code, sink),
            Packet::CycleCount(cycles) => {
                self.gap_cycles(at, cycles, config, sink);
            }
            Packet::Trigger => self.report(at, Element::Trigger, sink),
            Packet::ContextId(id) => {
                self.context.context_id = Some(id);
                code.enter_context(&self.context);
                self.report(at, Element::Context(self.context), sink);
            }
            Packet::Vmid(_) if !config.control.vmid() => {
                self.report(at, Element::Inconsistency(Inconsistency::Unexpected), sink);
            }
            Packet::Vmid(id) => {
                self.context.vmid = Some(id.into());
                code.enter_context(&self.context);
                self.report(at, Element::Context(self.context), sink);
            }
            Packet::Timestamp { bits, count, .. } => {
                let (value, known) = history.timestamp(bits, count, config);
                // A unit without a timestamp source sends 0.
                if known >= config.timestamp_width() && value != 0 {
                    self.report(at, Element::Timestamp { value, cycles: None }, sink);
                }
            }
            // Before the first I-sync no exception is reported, so no return from one is.
            Packet::ExceptionReturn if self.phase != Phase::Synced => {}
            Packet::ExceptionReturn => {
                // On other profiles the packet belongs to the return instruction and is cancelled
                // with it.
                let withdrawal =
                    if config.m_profile() { Withdrawal::Return } else { Withdrawal::Instruction };
                if config.m_profile() {
                    pending.push(at, Element::ExceptionReturn, withdrawal);
                } else {
                    pending.element(at, Element::ExceptionReturn, withdrawal, sink);
                }
                if config.m_profile() {
                    self.data.exception(Direction::Read, withdrawal, pending);
                }
                self.returned = true;
            }
            Packet::ExceptionEntry => {
                self.data.exception(Direction::Write, Withdrawal::Never, pending);
            }
            Packet::Data { first, ref address, value } => {
                let packet = self.data_packet(at, first, address, config, sink);
                self.data.access(packet, value.map(|value| value.bits), &mut self.pending);
            }
            Packet::ValueNotTraced { first, ref address } => {
                let packet = self.data_packet(at, first, address, config, sink);
                self.data.not_traced(packet, &mut self.pending);
            }
            Packet::Placeholder { tag, first, ref address } => {
                let packet = self.data_packet(at, first, address, config, sink);
                self.data.placeholder(packet, tag, &mut self.pending);
            }
            Packet::Late { tag, value } => {
                self.data.late(at, tag, value.map(|value| value.bits), pending);
            }
            // The packet exists only where values are traced. (7.4.7)
            Packet::StoreFailed if !config.control.values() => {
                self.report(at, Element::Inconsistency(Inconsistency::Unexpected), sink);
            }
            Packet::StoreFailed if after_ignored => {}
            Packet::StoreFailed => pending.store_failed(self.data.stores_pair()),
            Packet::Suppressed => {
                self.data.suppressed(at, pending);
                if config.id.minor() <= 2 {
                    history.forget_data();
                }
            }
        }
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
        match self.phase {
            // No instruction follows, so nothing is lost.
            Phase::Aligned | Phase::Synced if fault == Fault::Truncated => {
                return self.pending.commit(sink);
            }
            Phase::Fresh => sink.element(at, Element::Gap(Gap::Start)),
            Phase::Lost => return,
            Phase::Aligned | Phase::Synced => {
                self.flush_half(at, sink);
                self.end_data(at, true);
                self.pending.commit(sink);
                sink.element(at, Element::Gap(Gap::BadPacket));
            }
        }
        // The queue is empty here; its allocation is reused.
        let pending = core::mem::take(&mut self.pending);
        *self = Decoder { phase: Phase::Lost, pending, ..Decoder::default() };
    }

    fn finish<K: BlockCache, S: Sink>(&mut self, at: u64, _: &Config, _: &mut K, sink: &mut S) {
        self.flush_half(at, sink);
        self.end_data(at, true);
        self.pending.commit(sink);
    }
}

impl Decoder {
    /// The state of decompression.
    pub fn history(&self) -> &History {
        &self.history
    }

    #[cold]
    fn aligned<S: Sink>(&mut self, at: u64, sink: &mut S) {
        if self.phase == Phase::Fresh {
            sink.element(at, Element::Gap(Gap::Start));
        }
        self.phase = Phase::Aligned;
    }

    /// Reports an element that no exception can withdraw.
    fn report<S: Sink>(&mut self, at: u64, element: Element, sink: &mut S) {
        self.pending.element(at, element, Withdrawal::Never, sink);
    }

    /// The fields of a data packet, with the completed address.
    fn data_packet<S: Sink>(
        &mut self,
        at: u64,
        first: bool,
        address: &Option<DataAddress>,
        config: &Config,
        sink: &mut S,
    ) -> DataPacket {
        // An ETMv3.0 has no BE bit.
        let has_endianness = config.id.minor() >= 1;
        if !has_endianness && address.is_some_and(|address| address.big_endian == Some(true)) {
            self.report(at, Element::Inconsistency(Inconsistency::Unexpected), sink);
        }
        let complete = |address| {
            let (address, known) = self.history.data(address);
            (known >= 32).then_some(address)
        };
        DataPacket {
            at,
            first,
            address: address.as_ref().map(complete),
            big_endian: has_endianness && self.history.big_endian() == Some(true),
            data_only: config.control.data_only(),
            pc_first: config.id.loads_pc_first() && config.control.addresses(),
        }
    }

    fn end_data(&mut self, at: u64, lost: bool) {
        self.data.restart(at, lost, &mut self.pending);
    }

    fn isync<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        isync: &Isync,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let restart = isync.reason != Reason::Periodic || self.phase != Phase::Synced;
        self.phase = Phase::Synced;
        if restart {
            self.after_loss = matches!(isync.reason, Reason::Overflow | Reason::Debug);
            self.flush_half(at, sink);
            self.pending.commit(sink);
            // Data of placeholders before the gap may still come. (7.4.3)
            self.end_data(at, false);
            self.pending.commit(sink);
            if isync.reason != Reason::Periodic {
                self.history.forget_data();
            }
            (self.returned, self.resume) = (false, 0);
            // An interrupted instruction may have completed where it was not traced.
            self.interrupted.clear();
        }
        if isync.is_reserved(config) {
            self.report(at, Element::Inconsistency(Inconsistency::Unexpected), sink);
        }
        if let Some(cycles) = isync.cycles {
            self.gap_cycles(at, cycles, config, sink);
        }
        if restart {
            let start = match isync.reason {
                Reason::Periodic | Reason::Enabled => Start::Normal,
                Reason::Overflow => Start::Overflow,
                Reason::Debug => Start::Debug,
            };
            self.report(at, Element::TraceOn(start), sink);
        }
        self.history.isync(isync);
        let start_address = isync.start_address();
        if let Some(id) = isync.context_id {
            self.context.context_id = Some(id);
        }
        self.privilege(isync.non_secure, isync.hyp, config);
        let before = self.context.isa;
        if let Some((_, isa)) = start_address {
            self.context.isa = isa;
        }
        code.enter_context(&self.context);
        self.report(at, Element::Context(self.context), sink);
        let Some((address, isa)) = start_address else { return };

        if !restart {
            let expected = match self.flow {
                Flow::At(pc) => {
                    // Between the two atoms of a 32-bit T32 instruction.
                    let pc = if self.halves.first.is_some() { pc.wrapping_add(2) } else { pc };
                    if pc == address && before == isa {
                        return;
                    }
                    false
                }
                Flow::Branch | Flow::Unknown => true,
            };
            if !expected {
                self.flush_half(at, sink);
                self.data.forget(&mut self.pending);
                self.returned = false;
                self.interrupted.clear();
                self.report(at, Element::Inconsistency(Inconsistency::AddressNotReached), sink);
            }
        }
        self.go(address);
        self.find_second_half(address, config, code);
        if !restart {
            return;
        }
        let Some(current) = &isync.current else {
            // It may be a data instruction that began before tracing.
            if config.control.data()
                && self.halves.first.is_none()
                && let Some(opcode) = code.opcode(self.pc(address))
                && let Some(transfer) = transfer(isa, opcode)
            {
                self.data.instruction(address, transfer, true, &mut self.pending);
            }
            return;
        };
        // The data instruction in progress counts as executed, both of its halves.
        let executed = Atom { passed: true, cycles: 0 };
        if let Flow::At(pc) = self.flow {
            self.step(at, pc, executed, config, code, sink);
        }
        if let (Some(_), Flow::At(pc)) = (self.halves.first, self.flow) {
            self.step(at, pc, executed, config, code, sink);
        }
        self.flush_half(at, sink);
        self.branch_to(at, current, config, sink);
    }

    /// Continues at the address of a branch packet, and reports the context if it changed.
    fn branch_to<S: Sink>(
        &mut self,
        at: u64,
        branch: &Branch,
        config: &Config,
        sink: &mut S,
    ) -> u32 {
        let target = self.history.branch(branch, config);
        self.context.isa = target.isa;
        if target.known >= 32 {
            self.go(target.address);
        } else {
            self.flow = Flow::Unknown;
        }
        if let Some(Info::Bytes(info)) = branch.info
            && self.privilege(info.non_secure, info.hyp, config)
        {
            self.report(at, Element::Context(self.context), sink);
        }
        target.address
    }

    /// Reports the cycles of the gap before an I-sync. In ETMv3.0 the count after an overflow or
    /// Debug state is invalid. (7.3.4)
    fn gap_cycles<S: Sink>(&mut self, at: u64, cycles: u32, config: &Config, sink: &mut S) {
        let valid = cycles != 0 && !(config.id.minor() == 0 && self.after_loss);
        self.report(at, Element::Cycles(valid.then_some(cycles)), sink);
    }

    /// Updates security state and Hyp mode. Returns whether they changed.
    fn privilege(&mut self, non_secure: bool, hyp: bool, config: &Config) -> bool {
        let security = if non_secure { Security::NonSecure } else { Security::Secure };
        // The cores of the M profile that have an ETMv3 have no security states.
        let security = Some(security).filter(|_| !config.m_profile());
        let el = if hyp { Some(2) } else { None };
        let changed = self.context.security != security || self.context.el != el;
        (self.context.security, self.context.el) = (security, el);
        changed
    }

    fn branch<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        branch: &Branch,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        if self.phase != Phase::Synced {
            self.history.branch(branch, config);
            return;
        }
        // Of several packets for one instruction the last one is valid.
        if self.pending.branched() {
            self.pending.withdraw(Withdrawal::Branch);
        }
        let (mut number, mut resume) = (0, 0);
        let mut expected = self.expected(branch);
        let mut interrupted = self.next_address().map(u64::from);
        if let Some(info) = branch.info {
            if let Info::Bytes(info) = info {
                resume = info.resume;
            }
            if info.cancel() {
                let completed = config.m_profile() && self.returned && resume == 0;
                let last = self.last_address(resume, config);
                interrupted = last.filter(|_| !completed);
                self.cancel(at, resume, config, code, sink);
            }
        }
        self.flush_half(at, sink);
        let address = self.branch_to(at, branch, config, sink);
        if let Some(info) = branch.info {
            match info.exception(address) {
                Some(exception) => number = exception,
                None => {
                    expected = None;
                    self.report(at, Element::Inconsistency(Inconsistency::Unexpected), sink);
                }
            }
        }
        if let (Some(expected), Some(traced)) = (expected, self.next_address())
            && number == 0
            && expected != (traced, self.context.isa)
        {
            let element = Element::Inconsistency(Inconsistency::AddressNotReached);
            self.pending.element(at, element, Withdrawal::Branch, sink);
        }
        if number == 0 {
            self.data.confirm();
            if self.returned && !self.interrupted.is_empty() {
                self.resume_interrupted(at, address, sink);
            }
        }
        if number != 0 {
            let reset = if config.m_profile() { M_RESET } else { RESET };
            let tail_chain = config.m_profile() && self.returned;
            // A reset has no return address, and in the M profile, an exception after a return from
            // one has that of the earlier one.
            let return_address = interrupted.filter(|_| number != reset && !tail_chain);
            let element = Element::Exception(Exception {
                number,
                return_address,
                also_target: false,
                tail_chain,
            });
            self.pending.branch();
            self.pending.element(at, element, Withdrawal::Branch, sink);
            if number == DEBUG_HALT && !config.m_profile() {
                // The address has no meaning.
                self.flow = Flow::Unknown;
            }
            if number == reset && self.context.context_id.take().is_some() {
                self.report(at, Element::Context(self.context), sink);
            }
        }
        self.pending.branch();
        self.resume = if number == 0 { resume } else { 0 };
    }

    /// The only address and instruction set to which the last instruction leads, unless `branch`
    /// cancels it: that of a direct branch, or of an instruction that is none. It is not known
    /// where another branch packet came after the instruction.
    fn expected(&self, branch: &Branch) -> Option<(u32, Isa)> {
        let cancels = branch.info.is_some_and(|info| info.cancel());
        let traced = self.pending.last().is_some() && self.halves.first.is_none();
        let next =
            self.next_address().filter(|_| traced && !self.pending.branched() && !cancels)?;
        Some((next, self.context.isa))
    }

    /// The address of the next instruction, or of its second half if the first one was executed.
    fn next_address(&self) -> Option<u32> {
        let Flow::At(pc) = self.flow else { return None };
        Some(pc.wrapping_add(if self.halves.first.is_some() { 2 } else { 0 }))
    }

    /// The address of the last instruction, which an exception cancels after `resume` transfers. Of
    /// an instruction that is traced as two, the second half is cancelled.
    fn last_address(&self, resume: u8, config: &Config) -> Option<u64> {
        if self.halves.first.is_some_and(|first| !first.reported) {
            let Flow::At(pc) = self.flow else { return None };
            return Some(pc.into());
        }
        let last = self.pending.last()?;
        let halves = last.last.isa != Isa::A32 && last.bytes == 4 && !config.id.thumb32_is_one();
        Some(if halves && resume == 0 { last.start + 2 } else { last.start })
    }

    /// Withdraws the last instruction. `resume`: the number of transfers that it completed.
    fn cancel<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        resume: u8,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        if self.cancel_half(at, resume, sink) {
            return;
        }
        if resume > 0 {
            let last = self.pending.withdraw_last();
            return self.withdrawn(at, last, config, sink);
        }
        if config.m_profile() && self.returned {
            // The return instruction completed, but the data that it popped are not valid.
            self.pending.withdraw(Withdrawal::Return);
            self.data.cancel(Withdrawal::Return);
            self.pending.commit(sink);
            return;
        }
        if config.m_profile() && !config.control.data() {
            self.interrupt(code);
        }
        let last = self.pending.cancel();
        self.data.cancel(Withdrawal::Instruction);
        self.withdrawn(at, last, config, sink);
    }

    /// Reports what is left of an instruction that was withdrawn: its first half, and its cycles.
    fn withdrawn<S: Sink>(
        &mut self,
        at: u64,
        last: Option<(u64, Range)>,
        config: &Config,
        sink: &mut S,
    ) {
        let last = last.map(|(before, last)| self.first_of(before, last, config, sink));
        self.withdrawn_cycles(at, last, sink);
    }

    /// Reports the cycles of an instruction that was withdrawn.
    fn withdrawn_cycles<S: Sink>(&mut self, at: u64, last: Option<Range>, sink: &mut S) {
        if let Some(cycles @ 1..) = last.and_then(|last| last.cycles.get()) {
            self.report(at, Element::Cycles(Some(cycles)), sink);
        }
    }

    /// Stores a cancelled load or store multiple. Without data trace an interrupted one has the
    /// same packets as a cancelled one.
    fn interrupt<K: BlockCache>(&mut self, code: &mut K) {
        let Some(&range) = self.pending.last() else { return };
        let pc = Pc { address: range.start, isa: range.last.isa, space: self.context.space() };
        let transfer = code.opcode(pc).and_then(|opcode| transfer(range.last.isa, opcode));
        if transfer.is_none_or(|transfer| !transfer.multiple()) {
            return;
        }
        if self.interrupted.len() >= INTERRUPTED {
            self.interrupted.remove(0);
        }
        self.interrupted.push(range);
    }

    /// Processes a return from an exception to `address`. If that is the address after an
    /// interrupted instruction, that instruction resumed without trace and completed. (IHI 0014,
    /// 7.5.2)
    fn resume_interrupted<S: Sink>(&mut self, at: u64, address: u32, sink: &mut S) {
        let Some(&range) = self.interrupted.last() else { return };
        let to = u64::from(address);
        if to == range.end() {
            self.pending.instruction(at, Range { cycles: Counted::UNKNOWN, ..range }, sink);
        }
        if to == range.end() || to == range.start {
            self.interrupted.pop();
        }
    }

    #[inline]
    fn atoms<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        steps: Steps,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        if steps.len() == 0 {
            return self.cycles(at, steps.cycles().into(), sink);
        }
        let mut steps = steps;
        while steps.len() > 0 {
            if let Flow::At(pc) = self.flow
                && self.step(at, pc, steps.first(), config, code, sink)
            {
                steps = steps.behind_first();
                continue;
            }
            return self.unknown(at, steps, config, sink);
        }
    }

    /// Processes atoms whose instructions are not known.
    #[cold]
    fn unknown<S: Sink>(&mut self, at: u64, mut steps: Steps, config: &Config, sink: &mut S) {
        self.pending.commit(sink);
        self.forget_last();
        if self.flow == Flow::Branch {
            self.flow = Flow::Unknown;
            self.report(at, Element::Inconsistency(Inconsistency::NoAddress), sink);
        }
        if config.control.cycle_accurate() {
            let mut cycles = 0;
            while steps.len() > 0 {
                cycles += u32::from(steps.first().cycles);
                steps = steps.behind_first();
            }
            if cycles > 0 {
                self.report(at, Element::Cycles(Some(cycles)), sink);
            }
        }
    }

    /// The code location of `address` in the current context.
    const fn pc(&self, address: u32) -> Pc {
        Pc { address: address as u64, isa: self.context.isa, space: self.context.space() }
    }

    /// Walks the instruction at `address`. Returns `false` where it is not known.
    #[inline]
    fn step<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        address: u32,
        atom: Atom,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        let pc = self.pc(address);
        let instruction = match code.instruction(pc) {
            _ if pc.isa == Isa::Jazelle => {
                return self.stop(at, Element::Inconsistency(Inconsistency::UnsupportedIsa), sink);
            }
            Ok(instruction) if ends_path(pc, &instruction, code) => {
                return self.stop(at, Element::Inconsistency(Inconsistency::InvalidOpcode), sink);
            }
            Ok(instruction) => instruction,
            Err(miss) => return self.stop(at, pc.unreadable(miss.address), sink),
        };
        let mut cycles = u32::from(atom.cycles);
        let (mut start, mut bytes) = (address, u32::from(instruction.size));
        let mut completes = false;
        if instruction.size == 4 && pc.isa != Isa::A32 && !config.id.thumb32_is_one() {
            match self.halves.first.take() {
                Some(first) => {
                    cycles += first.cycles.saturating_add(first.after);
                    if first.reported {
                        (start, bytes) = (address.wrapping_add(2), 2);
                        self.halves.last_second = Some(start);
                    }
                    completes = !first.reported;
                    self.halves.last_first = first;
                }
                None => {
                    let first = First { cycles, passed: atom.passed, ..First::default() };
                    self.first_half(at, address, pc.isa, first, sink);
                    self.data.completed(&mut self.pending);
                    return true;
                }
            }
        }
        let range = Range {
            start: start.into(),
            bytes,
            instructions: 1,
            cycles: if config.control.cycle_accurate() {
                Counted::of(cycles)
            } else {
                Counted::UNKNOWN
            },
            last: Last::new(&instruction, atom.passed),
        };
        if completes {
            self.pending.complete(at, range);
        } else {
            self.pending.instruction(at, range, sink);
        }
        self.returned = false;
        if config.control.data() {
            self.begin_data(address, atom.passed, code);
        }
        self.flow = self.after(address, &instruction, atom.passed);
        true
    }

    /// Reports why the program cannot be followed up to the next address.
    #[cold]
    fn stop<S: Sink>(&mut self, at: u64, element: Element, sink: &mut S) -> bool {
        self.pending.commit(sink);
        self.report(at, element, sink);
        self.forget_last();
        self.flow = Flow::Unknown;
        self.halves.first = None;
        false
    }

    /// The next instruction is not known, so the next data may be its. (7.9)
    fn forget_last(&mut self) {
        self.data.completed(&mut self.pending);
        self.data.forget(&mut self.pending);
        (self.returned, self.resume) = (false, 0);
    }

    /// The instruction at `address` was traced. If it accesses data, the next data packets are its.
    fn begin_data<K: BlockCache>(&mut self, address: u32, passed: bool, code: &mut K) {
        self.data.completed(&mut self.pending);
        let resume = core::mem::take(&mut self.resume);
        if passed
            && let Some(opcode) = code.opcode(self.pc(address))
            && let Some(transfer) = transfer(self.context.isa, opcode)
        {
            self.data.instruction(address, transfer, false, &mut self.pending);
            if resume > 0 {
                self.data.resumed(resume);
            }
        }
    }

    /// The position after an instruction. It also sets the instruction set there.
    #[inline]
    fn after(&mut self, address: u32, instruction: &Instruction, passed: bool) -> Flow {
        match (instruction.kind, instruction.target) {
            (Kind::Branch, Some(target)) if passed => {
                self.context.isa = instruction.target_isa;
                Flow::At(target as u32)
            }
            (Kind::Indirect | Kind::Branch, _) if passed => Flow::Branch,
            _ => Flow::At(address.wrapping_add(instruction.size.into())),
        }
    }
}

/// Exception numbers that the decoder handles. (Tables 7-12 and 7-17)
const DEBUG_HALT: u16 = 1;
const RESET: u16 = 8;
const M_RESET: u16 = 0x11;
