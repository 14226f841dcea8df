//! Cycles to elements.

use alloc::collections::VecDeque;

use tracewright_base::{
    BlockCache, Context, Decode, Element, Exception, Fault, Gap, Inconsistency, Pc, Sink, Spanned,
    Start,
};
use tracewright_frames::cycles::DISABLED;
use tracewright_isa::transfer;

use super::fifo::{Fifo, Out};
use super::packet::{Branch, DataAddress, Item, Offset, State, Status, Tfo};
use super::{Config, History, Packet};
use crate::data::{Data, DataPacket};
use crate::flow::{Flow, Next, Vector, Walked};
use crate::pending::{Pending, Withdrawal};

/// Cycles to elements: single instructions, and their data accesses.
///
/// The FIFO outputs the packets of a status after the cycle of the status, in the order of the
/// statuses. (6.3) So statuses wait in a queue until those before them have their packets. A trace
/// FIFO offset gives the number of bytes in the FIFO before its packet. A decoder starts there, and
/// detects inconsistencies there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoder {
    /// A cycle has come.
    seen: bool,
    fifo: Fifo,
    /// Statuses that wait.
    events: VecDeque<Event>,
    /// The instructions of the first of them have been walked.
    begun: bool,
    history: History,
    flow: Flow,
    context: Context,
    pending: Pending,
    data: Data,
    /// A trace-on element was reported, and the position in the program is not lost since.
    on: bool,
    /// Cycles since the last status.
    cycles: u32,
    /// Of those, cycles up to the last Trace Disabled cycle that counts.
    counted: u32,
}

/// A status that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Event {
    /// Offset of its cycle.
    at: u64,
    kind: Kind,
    /// Cycles since the previous status, including its own.
    cycles: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Status(Status),
    /// A trace FIFO offset, whose TFO packet follows.
    Tfo,
    Trigger,
}

/// Limit of the waiting statuses. None waits longer than the FIFO takes to drain.
const EVENTS: usize = 1024;

impl Decode<Config, Packet> for Decoder {
    fn packet<K: BlockCache, S: Sink>(
        &mut self,
        p: Spanned<&Packet>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        if !core::mem::replace(&mut self.seen, true) {
            sink.element(p.at, Element::Gap(Gap::Start));
        }
        if config.control.cycle_accurate() {
            self.cycles = self.cycles.saturating_add(1);
        }
        let was_synced = self.fifo.synced();
        let outs = self.fifo.cycle(p.at, p.packet, config);
        let status = match *p.packet {
            Packet::Cycle { status, .. } => Some(status),
            Packet::Disabled { pins } => {
                self.disabled(p.at, pins);
                None
            }
            Packet::Trigger { pins } => {
                self.push(p.at, Kind::Trigger);
                // A trigger replaces a Trace Disabled status only where that has an offset. (6.1.7)
                if pins as u8 & 0xf == DISABLED {
                    self.push(p.at, Kind::Tfo);
                }
                Status::of_pipestat(pins as u8 & 0xf)
            }
        };
        if let Some(status) = status
            && was_synced
            && (status.passed.is_some() || status.data)
        {
            self.push(p.at, Kind::Status(status));
        }
        self.advance(config, code, sink);
        for (of, out) in outs.into_iter().flatten() {
            match out {
                Out::Restart => self.restart(of, sink),
                _ => self.out(p.at, out, config, code, sink),
            }
        }
        if self.events.len() > EVENTS {
            self.lose(p.at, sink);
        }
    }

    fn bad<S: Sink>(&mut self, at: u64, fault: Fault, sink: &mut S) {
        match (self.seen, self.fifo.synced(), fault) {
            // No instruction follows, so nothing is lost.
            (true, _, Fault::Truncated) => return,
            (false, ..) => sink.element(at, Element::Gap(Gap::Start)),
            (true, false, _) => {}
            (true, true, _) => {
                self.flush_half(at, sink);
                self.end_data(at);
                self.pending.commit(sink);
                sink.element(at, Element::Gap(Gap::BadPacket));
            }
        }
        *self = Decoder { seen: true, ..Decoder::default() };
    }

    fn finish<K: BlockCache, S: Sink>(&mut self, at: u64, _: &Config, _: &mut K, sink: &mut S) {
        self.flush_half(at, sink);
        self.end_data(at);
        self.pending.commit(sink);
        let cycles = self.flow.take_cycles().saturating_add(self.counted);
        if cycles > 0 && self.on {
            sink.element(at, Element::Cycles(Some(cycles)));
        }
    }
}

/// Statuses and packets.
impl Decoder {
    /// The last addresses.
    pub fn history(&self) -> &History {
        &self.history
    }

    fn push(&mut self, at: u64, kind: Kind) {
        let cycles = match kind {
            Kind::Trigger => 0,
            _ => {
                self.counted = 0;
                core::mem::take(&mut self.cycles)
            }
        };
        self.events.push_back(Event { at, kind, cycles });
    }

    fn pop(&mut self) {
        self.events.pop_front();
        self.begun = false;
    }

    /// Statuses and FIFO output are inconsistent: decoding restarts at the next offset.
    #[cold]
    fn lose<S: Sink>(&mut self, at: u64, sink: &mut S) {
        self.flush_half(at, sink);
        self.end_data(at);
        self.pending.commit(sink);
        sink.element(at, Element::Inconsistency(Inconsistency::Unexpected));
        *self = Decoder { seen: true, ..Decoder::default() };
    }

    /// Statuses and FIFO output are inconsistent: decoding restarts at the offset in the cycle at
    /// `at`.
    #[cold]
    fn restart<S: Sink>(&mut self, at: u64, sink: &mut S) {
        self.lose_program(at, sink);
        while let Some(event) = self.events.front()
            && (event.at, event.kind) != (at, Kind::Tfo)
        {
            if event.kind == Kind::Trigger {
                self.report(event.at, Element::Trigger, sink);
            }
            self.pop();
        }
    }

    /// A cycle of Trace Disabled.
    fn disabled(&mut self, at: u64, pins: u16) {
        match Offset::of_pins(pins as u8) {
            // Tracing is off: cycles that only drained the FIFO do not count.
            Offset::Nothing => self.cycles = self.counted,
            Offset::Filler => self.counted = self.cycles,
            Offset::Bytes(_) => self.push(at, Kind::Tfo),
            Offset::Reserved => {}
        }
    }

    /// Processes FIFO output. It belongs to the first status that waits for packets.
    fn out<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        out: Out,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let first = self.events.front().copied();
        match (out, first) {
            (Out::Offset(_) | Out::Restart, _) => {}
            (Out::Stray, _) => {
                if self.on {
                    self.lose_program(at, sink);
                }
            }
            (Out::Tfo(tfo), Some(first)) => {
                self.tfo(first, &tfo, config, code, sink);
                self.pop();
                self.advance(config, code, sink);
            }
            (Out::Item(item), Some(first)) => {
                self.item(first.at, &item, config, sink);
                if !item.more() {
                    self.pop();
                    self.advance(config, code, sink);
                }
            }
            (Out::Lost, _) | (_, None) => self.lose(at, sink),
        }
    }

    /// Reports FIFO output that belongs to no status, or not to those that wait.
    #[cold]
    fn lose_program<S: Sink>(&mut self, at: u64, sink: &mut S) {
        self.flush_half(at, sink);
        self.end_data(at);
        self.pending.commit(sink);
        sink.element(at, Element::Inconsistency(Inconsistency::Unexpected));
        self.flow.lose();
        self.on = false;
    }

    /// Processes statuses up to the first that waits for packets.
    fn advance<K: BlockCache, S: Sink>(&mut self, config: &Config, code: &mut K, sink: &mut S) {
        while let Some(&event) = self.events.front() {
            match event.kind {
                Kind::Trigger => self.report(event.at, Element::Trigger, sink),
                Kind::Tfo => return,
                Kind::Status(status) => {
                    if !core::mem::replace(&mut self.begun, true) {
                        self.status(event, status, config, code, sink);
                    }
                    if status.data {
                        return;
                    }
                }
            }
            self.pop();
        }
    }
}

/// The program.
impl Decoder {
    /// Reports an element that no exception can withdraw.
    fn report<S: Sink>(&mut self, at: u64, element: Element, sink: &mut S) {
        self.pending.element(at, element, Withdrawal::Never, sink);
    }

    fn end_data(&mut self, at: u64) {
        self.data.cut_short(&mut self.pending);
        self.data.restart(at, true, &mut self.pending);
    }

    fn status<K: BlockCache, S: Sink>(
        &mut self,
        event: Event,
        status: Status,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        self.flow.pass(event.cycles);
        if let Some(taken) = status.phantom {
            self.execute(event.at, taken, config, code, sink);
        }
        if let Some(passed) = status.passed {
            self.execute(event.at, passed, config, code, sink);
        }
    }

    /// Walks the next instruction.
    fn execute<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        passed: bool,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let counts = config.control.cycle_accurate();
        let opcode = self.next_opcode(code).filter(|_| passed && config.control.0 & 0b1110 != 0);
        match self.flow.walk(passed, counts, &self.context, code) {
            Walked::Instruction(range, _) => {
                self.pending.instruction(at, range, sink);
                self.data.completed(&mut self.pending);
                let moves = opcode.and_then(|opcode| transfer(range.last.isa, opcode));
                if let Some(moves) = moves {
                    self.data.instruction(range.start as u32, moves, false, &mut self.pending);
                }
                return;
            }
            Walked::Half => {
                self.pending.commit(sink);
                return self.data.completed(&mut self.pending);
            }
            Walked::ByteCode => {
                self.flow.lose();
                self.report(at, Element::Inconsistency(Inconsistency::UnsupportedIsa), sink);
            }
            Walked::Unknown => {
                self.pending.commit(sink);
                if let Next::Branch(_) = self.flow.next() {
                    self.flow.lose();
                    self.report(at, Element::Inconsistency(Inconsistency::NoAddress), sink);
                }
            }
            Walked::Stop(element) => {
                self.pending.commit(sink);
                // The data that follow may belong to an unknown instruction. (6.6)
                self.data.restart(at, false, &mut self.pending);
                // A prefetch abort may cancel the instruction.
                self.pending.push(at, element, Withdrawal::Instruction);
            }
        }
        self.cycles_only(at, sink);
    }

    fn next_opcode<K: BlockCache>(&self, code: &mut K) -> Option<u32> {
        let Next::At(address, isa) = self.flow.next() else { return None };
        code.opcode(Pc { address: address.into(), isa, space: self.context.space() })
    }

    /// Reports cycles that belong to no range.
    fn cycles_only<S: Sink>(&mut self, at: u64, sink: &mut S) {
        let cycles = self.flow.take_cycles();
        if cycles > 0 {
            self.report(at, Element::Cycles(Some(cycles)), sink);
        }
    }

    /// Reports the first half of a BL where the second half does not follow.
    fn flush_half<S: Sink>(&mut self, at: u64, sink: &mut S) {
        if let Some(range) = self.flow.lone_half() {
            self.pending.instruction(at, range, sink);
        }
    }

    fn tfo<K: BlockCache, S: Sink>(
        &mut self,
        event: Event,
        tfo: &Tfo,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let at = event.at;
        let (address, isa) = tfo.start_address();
        self.history.tfo(tfo);
        let start = match tfo.reason.start() {
            None if !self.on => Some(Start::Normal),
            start => start,
        };
        let Some(start) = start else {
            // The offset replaces an IE status, so the address is that of the executed instruction.
            self.flow.pass(event.cycles);
            let expected = (self.flow.address(), self.flow.next());
            match expected {
                (Some(pc), Next::At(_, now)) if (pc, now) == (address, isa) => {}
                (Some(_), _) => {
                    self.report(at, Element::Inconsistency(Inconsistency::AddressNotReached), sink);
                    self.flow.go(address, isa);
                }
                (None, _) => self.flow.go(address, isa),
            }
            self.context_id(at, tfo.context_id, sink);
            return self.execute(at, true, config, code, sink);
        };
        self.flush_half(at, sink);
        self.pending.commit(sink);
        if start == Start::Overflow {
            self.data.cut_short(&mut self.pending);
        }
        // Late data of loads before tracing stopped may still come. (6.4.3)
        self.data.restart(at, false, &mut self.pending);
        self.pending.commit(sink);
        self.history.forget_data();
        self.flow = Flow::default();
        self.on = true;
        self.context.isa = isa;
        self.context.context_id = tfo.context_id.or(self.context.context_id);
        sink.element(at, Element::TraceOn(start));
        sink.element(at, Element::Context(self.context));
        self.flow.go(address, isa);
        if tfo.reason.start().is_none() {
            self.flow.pass(event.cycles.min(1));
            return self.execute(at, true, config, code, sink);
        }
        match &tfo.current {
            Some(current) => {
                // The load or store multiple in progress counts as executed.
                self.execute(at, true, config, code, sink);
                let target = self.history.branch(current);
                self.flow.go(target.address, target.isa);
            }
            None => {
                // It may be a load or store multiple that began before tracing.
                let opcode = self.next_opcode(code).filter(|_| config.control.0 & 0b1110 != 0);
                if let Some(moves) = opcode.and_then(|opcode| transfer(isa, opcode)) {
                    self.data.instruction(address, moves, true, &mut self.pending);
                }
            }
        }
    }

    fn context_id<S: Sink>(&mut self, at: u64, id: Option<u32>, sink: &mut S) {
        if id.is_some() && id != self.context.context_id {
            self.context.context_id = id;
            if let Next::At(_, isa) = self.flow.next() {
                self.context.isa = isa;
            }
            self.report(at, Element::Context(self.context), sink);
        }
    }

    fn item<S: Sink>(&mut self, at: u64, item: &Item, config: &Config, sink: &mut S) {
        if !matches!(item, Item::Miss { .. }) {
            self.data.other_packet();
        }
        match *item {
            Item::Branch(ref branch) => self.branch(at, branch, config, sink),
            Item::Data { first, ref address, value, .. } => {
                let packet = self.data_packet(at, first, address, config);
                self.data.access(packet, value.map(|value| value.bits), &mut self.pending);
            }
            Item::Miss { tag, first, ref address, .. } => {
                let packet = self.data_packet(at, first, address, config);
                self.data.placeholder(packet, tag, &mut self.pending);
            }
            Item::Late { tag, value, .. } => {
                self.data.late(at, tag, value.map(|value| value.bits), &mut self.pending);
            }
            Item::NotTraced { .. } => {
                let packet = self.data_packet(at, false, &None, config);
                self.data.not_traced(packet, &mut self.pending);
            }
            Item::ContextId { id, .. } => self.context_id(at, Some(id), sink),
        }
        self.pending.settle(sink);
    }

    /// The fields of a data packet.
    fn data_packet(
        &mut self,
        at: u64,
        first: bool,
        address: &Option<DataAddress>,
        config: &Config,
    ) -> DataPacket {
        DataPacket {
            at,
            first,
            address: address.as_ref().map(|address| self.history.data(address)),
            big_endian: config.core.big_endian,
            data_only: false,
            pc_first: config.id.loads_pc_first() && config.control.addresses(),
        }
    }

    fn branch<S: Sink>(&mut self, at: u64, branch: &Branch, config: &Config, sink: &mut S) {
        let target = self.history.branch(branch);
        let whole = target.known >= 32;
        let vector = Vector::at(target.address, target.isa, config.core.high_vectors);
        let vector = vector.filter(|_| whole);
        let cancels = matches!(branch.state, Some(State::Arm { cancels: true }));
        let last = self.pending.last().copied();
        let mut return_address = last.map(|range| range.start).or(self.pending.missing_code());
        if cancels {
            if let Some(first) = last.and_then(|last| self.flow.first_half_of(&last)) {
                return_address = Some(first.end());
            }
            match self.flow.address().filter(|_| self.flow.is_half()) {
                // The first half of a BL came last.
                Some(address) => {
                    return_address = Some(u64::from(address.wrapping_sub(2)));
                    self.cycles_only(at, sink);
                }
                None => self.cancel(at, sink),
            }
        } else {
            self.flush_half(at, sink);
            match vector {
                // The data that it transferred are not valid. (6.8.1)
                Some(Vector::DataAbort) => {
                    self.pending.withdraw(Withdrawal::Instruction);
                    self.data.cancel(Withdrawal::Instruction);
                }
                Some(_) => return_address = last.map(|range| range.end() & 0xffff_ffff),
                None => {
                    let leads = match self.flow.next() {
                        Next::At(address, isa) => (address, isa) == (target.address, target.isa),
                        Next::Branch(_) | Next::Unknown => true,
                    };
                    if last.is_some() && whole && !leads {
                        self.report(
                            at,
                            Element::Inconsistency(Inconsistency::AddressNotReached),
                            sink,
                        );
                    }
                }
            }
        }
        if let Some(vector) = vector {
            let element = Element::Exception(Exception {
                number: vector.number(),
                return_address: return_address.filter(|_| vector != Vector::Reset),
                also_target: false,
                tail_chain: false,
            });
            self.report(at, element, sink);
        }
        if whole {
            self.flow.go(target.address, target.isa);
        } else {
            self.flow.lose();
        }
    }

    /// Withdraws the last instruction, which did not execute, and its data. Its cycles are
    /// reported. Of a BL, only the second half is withdrawn.
    fn cancel<S: Sink>(&mut self, at: u64, sink: &mut S) {
        let last = self.pending.cancel();
        self.data.cancel(Withdrawal::Instruction);
        let Some((before, last)) = last else { return };
        let mut cycles = last.cycles.get().unwrap_or(0);
        if let Some(first) = self.flow.first_half_of(&last) {
            cycles = cycles.saturating_sub(first.cycles.get().unwrap_or(0));
            sink.element(before, Element::Range(first));
        }
        if cycles > 0 {
            self.report(at, Element::Cycles(Some(cycles)), sink);
        }
    }
}
