//! Cycles to elements.

mod data;
mod window;

use alloc::collections::VecDeque;

use tracewright_base::{
    BlockCache, Context, Decode, Element, Exception, Fault, Gap, Inconsistency, Isa, Range, Sink,
    Spanned, Start,
};
use tracewright_frames::cycles::{DISABLED, TRIGGER};

use self::data::InstructionData;
use self::window::Window;
use super::history::Target;
use super::packet::{Address, Reason};
use super::{Config, History, Packet};
use crate::data::Data;
use crate::flow::{Flow, Next, Vector, Walked};
use crate::pending::Pending;

/// Cycles to elements: single instructions, and their data accesses.
///
/// The port shows the address and data of a status after the cycle of the status. (5.3, 5.4) So
/// statuses wait in a queue until the address or data of the first one is complete, and FIFO output
/// waits in a window until a status claims it:
/// * TRACESYNC marks the first byte of an address, and the bytes encode their end. The address
///   packet offset of a branch status selects its address.
/// * Data are not marked. They are the bytes after the last claimed ones, in cycles after the
///   previous status, and the instruction's opcode gives their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoder {
    phase: Phase,
    /// Statuses that wait.
    events: VecDeque<Event>,
    window: Window,
    /// Cycles left that show bits of the last branch status's offset.
    offset_left: u8,
    history: History,
    flow: Flow,
    context: Context,
    pending: Pending,
    data: Data,
    /// Tracing starts with the next instruction: offset and reason, not yet reported.
    start: Option<(u64, Start)>,
    /// The start of the next instruction's data is not known.
    lost_data: bool,
    /// Byte codes were reported since the last branch to Jazelle state from another state.
    byte_codes: bool,
    /// Cycles since the last status.
    cycles: u32,
    /// Of those, cycles up to the last Trace Disabled cycle that counts. (5.10)
    counted: u32,
    /// A trace-on element was reported.
    on: bool,
}

/// The state of synchronisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// No cycle has come.
    #[default]
    Fresh,
    /// Looking for a branch status, which relates statuses and addresses.
    Looking,
    /// Statuses and addresses are related.
    Synced,
}

/// A status that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Event {
    /// Offset of its cycle.
    at: u64,
    /// Offset of its last cycle, including the cycles of its address packet offset.
    end: u64,
    kind: Kind,
    /// Cycles since the previous status, including its own.
    cycles: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Executed,
    Data,
    NotExecuted,
    Branch { data: bool, offset: Offset },
    Trigger,
}

/// The address of a branch status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Offset {
    /// The offset is being sent: its bits so far, and the number of waiting addresses at the
    /// status.
    Coming { bits: u8, begun: i16 },
    /// Index among the waiting addresses, including those that have not begun.
    Known(i16),
    /// The next address: the offset was too large to encode.
    Next,
    /// The next address; the branch did not happen, as another one interrupted its offset.
    Abandoned,
}

/// Limit of the waiting statuses. None waits longer than the FIFO takes to drain.
const EVENTS: usize = 1024;
/// The offset value for "too large to encode". (5.6.1)
const TOO_LARGE: u8 = 15;

impl Decode<Config, Packet> for Decoder {
    fn packet<K: BlockCache, S: Sink>(
        &mut self,
        p: Spanned<&Packet>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        if self.phase == Phase::Fresh {
            sink.element(p.at, Element::Gap(Gap::Start));
            self.phase = Phase::Looking;
        }
        let cycle = p.packet.cycle();
        if config.control.cycle_accurate() {
            self.cycles = self.cycles.saturating_add(1);
        }
        self.window.tick();
        let trigger = cycle.status == TRIGGER;
        let status = if trigger { cycle.packet as u8 & 0b111 } else { cycle.status };
        if trigger {
            let kind = Kind::Trigger;
            self.events.push_back(Event { at: p.at, end: p.at, kind, cycles: 0 });
        }
        let in_offset = self.offset_left > 0 && status < 4;
        self.status(p.at, status, in_offset);
        if status == DISABLED && !trigger {
            match cycle.packet & 1 {
                // Tracing is off: cycles that only drained the FIFO do not count.
                0 => self.cycles = self.counted,
                _ => self.counted = self.cycles,
            }
        }
        let shown = !trigger && status != DISABLED;
        if shown && self.phase == Phase::Synced {
            let wait = status == WAIT && !in_offset;
            if !self.window.take(p.at, cycle, wait, config) || self.events.len() > EVENTS {
                return self.lose(p.at, sink);
            }
        }
        self.resolve(false, config, code, sink);
    }

    fn bad<S: Sink>(&mut self, at: u64, fault: Fault, sink: &mut S) {
        match (self.phase, fault) {
            // No instruction follows, so nothing is lost.
            (Phase::Looking | Phase::Synced, Fault::Truncated) => return,
            (Phase::Fresh, _) => sink.element(at, Element::Gap(Gap::Start)),
            (Phase::Looking, _) => {}
            (Phase::Synced, _) => {
                self.begin(sink);
                self.flush_half(at, sink);
                sink.element(at, Element::Gap(Gap::BadPacket));
            }
        }
        *self = Decoder { phase: Phase::Looking, ..Decoder::default() };
    }

    fn finish<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        self.resolve(true, config, code, sink);
        self.begin(sink);
        self.flush_half(at, sink);
        let cycles = self.flow.take_cycles().saturating_add(self.counted);
        if cycles > 0 && self.phase == Phase::Synced {
            sink.element(at, Element::Cycles(Some(cycles)));
        }
    }
}

/// Statuses by their bits. (Table 5-1)
const EXECUTED: u8 = 0;
const DATA: u8 = 1;
const NOT_EXECUTED: u8 = 2;
const WAIT: u8 = 3;
const BRANCH: u8 = 4;
const BRANCH_DATA: u8 = 5;

impl Decoder {
    /// The last addresses.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Takes a status, or two bits of an offset instead of one.
    fn status(&mut self, at: u64, status: u8, in_offset: bool) {
        if in_offset {
            return self.offset(at, status);
        }
        let kind = match status {
            EXECUTED => Kind::Executed,
            DATA => Kind::Data,
            NOT_EXECUTED => Kind::NotExecuted,
            BRANCH | BRANCH_DATA => return self.branch_status(at, status == BRANCH_DATA),
            _ => {
                // A trigger or Trace Disabled ends the offset.
                self.offset_left = 0;
                if let Some((event, data, ..)) = self.coming() {
                    event.kind = Kind::Branch { data, offset: Offset::Next };
                }
                return;
            }
        };
        if self.phase == Phase::Synced {
            self.push(at, kind);
        }
    }

    fn push(&mut self, at: u64, kind: Kind) {
        let cycles = core::mem::take(&mut self.cycles);
        self.counted = 0;
        self.events.push_back(Event { at, end: at, kind, cycles });
    }

    /// The last status, if it is a branch with an incomplete offset: event, data, bits, addresses.
    fn coming(&mut self) -> Option<(&mut Event, bool, u8, i16)> {
        let event = self.events.iter_mut().rev().find(|event| event.kind != Kind::Trigger)?;
        match event.kind {
            Kind::Branch { data, offset: Offset::Coming { bits, begun } } => {
                Some((event, data, bits, begun))
            }
            _ => None,
        }
    }

    fn branch_status(&mut self, at: u64, data: bool) {
        if let Some((event, data, ..)) = self.coming() {
            event.kind = Kind::Branch { data, offset: Offset::Abandoned };
        }
        if self.phase != Phase::Synced {
            // Addresses are counted from here on.
            self.window.clear();
            self.events.retain(|event| event.kind == Kind::Trigger);
            self.phase = Phase::Synced;
            self.lost_data = true;
        }
        let begun = self.window.begun() as i16;
        self.push(at, Kind::Branch { data, offset: Offset::Coming { bits: 0, begun } });
        self.offset_left = 2;
    }

    /// Takes two bits of an offset, the low bits first. (5.6.1)
    fn offset(&mut self, at: u64, bits: u8) {
        self.offset_left -= 1;
        let shift = if self.offset_left == 1 { 0 } else { 2 };
        let last = self.offset_left == 0;
        let known = self.flow.next() != Next::Unknown;
        let alone = self.events.iter().filter(|event| event.kind != Kind::Trigger).count() == 1;
        let Some((event, data, before, begun)) = self.coming() else { return };
        event.end = at;
        let bits = before | bits << shift;
        let offset = match bits {
            _ if !last => Offset::Coming { bits, begun },
            TOO_LARGE => Offset::Next,
            _ => Offset::Known(begun.saturating_add(bits.into())),
        };
        event.kind = Kind::Branch { data, offset };
        if offset == Offset::Next && alone && !known && self.history == History::default() {
            // No address has been counted, so "the next address" is not known.
            self.events.retain(|event| event.kind == Kind::Trigger);
            self.window.clear();
            self.phase = Phase::Looking;
        }
    }

    /// Statuses and FIFO output are inconsistent: decoding restarts at the next branch status.
    #[cold]
    fn lose<S: Sink>(&mut self, at: u64, sink: &mut S) {
        self.begin(sink);
        self.flush_half(at, sink);
        sink.element(at, Element::Inconsistency(Inconsistency::Unexpected));
        *self = Decoder { phase: Phase::Looking, ..Decoder::default() };
    }

    /// Processes statuses whose address and data are complete. `end`: no more cycles come.
    fn resolve<K: BlockCache, S: Sink>(
        &mut self,
        end: bool,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        while let Some(&event) = self.events.front() {
            let done = match event.kind {
                Kind::Trigger => {
                    self.begin(sink);
                    sink.element(event.at, Element::Trigger);
                    true
                }
                Kind::Executed => self.plain(event, true, config, code, sink),
                Kind::NotExecuted => self.plain(event, false, config, code, sink),
                Kind::Data => self.with_data(event, end, config, code, sink),
                Kind::Branch { data, offset } => {
                    self.branch(event, data, offset, end, config, code, sink)
                }
            };
            if !done {
                return;
            }
            self.events.pop_front();
            let left = event.kind != Kind::Trigger && self.window.drop_to(event.end);
            // At the end of the trace they may be the start of incomplete data.
            if left && !self.lost_data && !end {
                self.strayed(event.at, sink);
            }
        }
        if self.lost_data && self.window.begun() == 0 {
            self.window.drop_data();
        }
    }

    /// Reports FIFO output that belongs to no instruction.
    #[cold]
    fn strayed<S: Sink>(&mut self, at: u64, sink: &mut S) {
        self.lose_data();
        self.begin(sink);
        sink.element(at, Element::Inconsistency(Inconsistency::Unexpected));
    }

    fn plain<K: BlockCache, S: Sink>(
        &mut self,
        event: Event,
        passed: bool,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        self.execute(event, passed, config, code, sink);
        true
    }

    /// An instruction completed. Returns its range where its address is known.
    fn execute<K: BlockCache, S: Sink>(
        &mut self,
        event: Event,
        passed: bool,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) -> Option<Range> {
        self.begin(sink);
        self.flow.pass(event.cycles);
        let counts = config.control.cycle_accurate();
        let walked = self.flow.walk(passed, counts, &self.context, code);
        match walked {
            Walked::Instruction(range, _) => {
                sink.element(event.at, Element::Range(range));
                return Some(range);
            }
            Walked::Half => return None,
            Walked::ByteCode => self.byte_code(event.at, sink),
            Walked::Unknown => {
                if let Next::Branch(_) = self.flow.next() {
                    self.flow.lose();
                    sink.element(event.at, Element::Inconsistency(Inconsistency::NoAddress));
                }
            }
            Walked::Stop(element) => sink.element(event.at, element),
        }
        self.cycles_only(event.at, sink);
        None
    }

    /// Reports that byte codes cannot be followed, once from a branch to them until the branch
    /// back: the trace may end or restart before. (5.11)
    #[cold]
    fn byte_code<S: Sink>(&mut self, at: u64, sink: &mut S) {
        if !core::mem::replace(&mut self.byte_codes, true) {
            sink.element(at, Element::Inconsistency(Inconsistency::UnsupportedIsa));
        }
    }

    /// Reports cycles that belong to no range.
    fn cycles_only<S: Sink>(&mut self, at: u64, sink: &mut S) {
        let cycles = self.flow.take_cycles();
        if cycles > 0 {
            sink.element(at, Element::Cycles(Some(cycles)));
        }
    }

    /// Reports the start of tracing, where it is pending.
    fn begin<S: Sink>(&mut self, sink: &mut S) {
        if let Some((at, start)) = self.start.take() {
            self.on = true;
            sink.element(at, Element::TraceOn(start));
            sink.element(at, Element::Context(self.context));
        }
    }

    /// Reports the first half of a BL where the second half does not follow.
    fn flush_half<S: Sink>(&mut self, at: u64, sink: &mut S) {
        if let Some(range) = self.flow.lone_half() {
            sink.element(at, Element::Range(range));
        }
    }

    fn with_data<K: BlockCache, S: Sink>(
        &mut self,
        event: Event,
        end: bool,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        let Some(transferred) = self.read_data(end, code, config) else { return false };
        let range = self.execute(event, true, config, code, sink);
        self.report_data(event.at, range, &transferred, config, sink);
        true
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of a branch status")]
    fn branch<K: BlockCache, S: Sink>(
        &mut self,
        event: Event,
        data: bool,
        offset: Offset,
        end: bool,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        let index = match offset {
            Offset::Coming { .. } => return end && self.ends_before(event),
            Offset::Known(index) => index,
            Offset::Next | Offset::Abandoned => 0,
        };
        if self.taken_by_another(index) {
            self.without_address(event, sink);
            return true;
        }
        if self.window.begun() <= usize::from(index.unsigned_abs()) {
            return end && self.ends_before(event);
        }
        if index > 0 {
            // The addresses before it belong to lost statuses.
            if self.flow.next() != Next::Unknown {
                sink.element(event.at, Element::Inconsistency(Inconsistency::Unexpected));
            }
            for _ in 0..index {
                self.pop_address(config);
            }
            self.lose_data();
        }
        if !(self.window.ready() || end) {
            return false;
        }
        let transferred = match data {
            true => match self.read_data(end, code, config) {
                Some(transferred) => Some(transferred),
                None => return false,
            },
            false => None,
        };
        let Some((address, left)) = self.pop_address(config) else { return true };
        if end && address.is_none() && self.window.begun() == 0 {
            return self.ends_before(event);
        }
        if left && !self.lost_data && self.flow.next() != Next::Unknown {
            sink.element(event.at, Element::Inconsistency(Inconsistency::Unexpected));
        }
        self.lost_data = false;
        match address {
            Some(address) => {
                let target = self.history.branch(&address);
                if offset == Offset::Abandoned {
                    return true;
                }
                self.arrive(event, &address, target, transferred.as_ref(), config, code, sink);
            }
            None => self.without_address(event, sink),
        }
        true
    }

    /// The trace ends before the address of a branch. Whether the instruction executed is not
    /// known, because the branch may be an exception.
    fn ends_before(&mut self, event: Event) -> bool {
        self.flow.lose();
        self.flow.pass(event.cycles);
        true
    }

    /// Whether the address at `index` belongs to a later branch status or is no longer there.
    fn taken_by_another(&self, index: i16) -> bool {
        if index < 0 {
            return true;
        }
        self.events.iter().skip(1).any(|event| match event.kind {
            Kind::Branch { offset: Offset::Known(other), .. } => other <= index,
            _ => false,
        })
    }

    /// Takes the first address of the window, and renumbers the indices of the statuses.
    fn pop_address(&mut self, config: &Config) -> Option<(Option<Address>, bool)> {
        let popped = self.window.address(config)?;
        for event in &mut self.events {
            if let Kind::Branch { offset, .. } = &mut event.kind {
                match offset {
                    Offset::Known(index) | Offset::Coming { begun: index, .. } => *index -= 1,
                    Offset::Next | Offset::Abandoned => {}
                }
            }
        }
        Some(popped)
    }

    /// Reports a branch whose address did not come.
    #[cold]
    fn without_address<S: Sink>(&mut self, event: Event, sink: &mut S) {
        self.begin(sink);
        self.flush_half(event.at, sink);
        if self.flow.next() != Next::Unknown {
            sink.element(event.at, Element::Inconsistency(Inconsistency::NoAddress));
        }
        self.flow.lose();
        self.flow.pass(event.cycles);
        self.cycles_only(event.at, sink);
        self.lose_data();
    }

    /// The start of the next instruction's data is not known. Skipped bytes may include a data
    /// address, so the last data address is forgotten.
    fn lose_data(&mut self) {
        self.lost_data = true;
        self.history.forget_data();
    }

    /// Processes a branch status whose address is complete.
    #[allow(clippy::too_many_arguments, reason = "the fields of a branch")]
    fn arrive<K: BlockCache, S: Sink>(
        &mut self,
        event: Event,
        address: &Address,
        target: Target,
        transferred: Option<&InstructionData>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let reason = address.last.map_or(Reason::Branch, |last| last.reason);
        let new_context = address.last.and_then(|last| last.context_id);
        let whole = target.known >= 32;
        if let Some(start) = reason.start() {
            // A second start replaces the first. (5.9)
            self.flush_half(event.at, sink);
            self.flow = Flow::default();
            self.byte_codes = false;
            self.history.forget_data();
            self.start = Some((event.at, start));
            self.context.isa = target.isa;
            self.context.context_id = new_context.or(self.context.context_id);
            return self.go(target, whole);
        }
        if self.flow.next() == Next::Unknown {
            // The branch instruction is not known.
            self.begin(sink);
            self.flow.pass(event.cycles);
            self.cycles_only(event.at, sink);
            if self.on {
                if let Some(vector) = self.vector(target, config) {
                    sink.element(event.at, exception(vector, None));
                }
                self.context_id(event.at, new_context, target, sink);
            } else if whole {
                self.context.isa = target.isa;
                self.context.context_id = new_context.or(self.context.context_id);
                self.start = Some((event.at, Start::Normal));
            }
            return self.go(target, whole);
        }
        // ETMv1.0 and v1.1 have no reason of their own for a periodic address. (5.6.2)
        let reserved = reason == Reason::Periodic && config.minor < 2;
        if reserved || matches!(reason, Reason::Reserved(_)) {
            self.begin(sink);
            sink.element(event.at, Element::Inconsistency(Inconsistency::Unexpected));
        }
        self.taken(event, target, transferred, config, code, sink);
        self.go(target, whole);
        self.context_id(event.at, new_context, target, sink);
    }

    /// The next instruction branched to `target`, or an exception replaced it.
    fn taken<K: BlockCache, S: Sink>(
        &mut self,
        event: Event,
        target: Target,
        transferred: Option<&InstructionData>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let from = self.flow.next();
        let vector = self.vector(target, config);
        let address = self.flow.address();
        if vector.is_some_and(Vector::cancels) {
            self.begin(sink);
            self.flush_half(event.at, sink);
            self.flow.pass(event.cycles);
            self.cycles_only(event.at, sink);
        } else if let Next::At(start, Isa::Jazelle) = from {
            self.begin(sink);
            self.flow.pass(event.cycles);
            self.byte_code(event.at, sink);
            self.cycles_only(event.at, sink);
            let unknown = Element::Unknown {
                start: start.into(),
                next: target.address.into(),
                instructions: tracewright_base::Counted::UNKNOWN,
            };
            sink.element(event.at, unknown);
        } else {
            let range = self.execute(event, true, config, code, sink);
            if let Some(transferred) = transferred
                && vector != Some(Vector::DataAbort)
            {
                self.report_data(event.at, range, transferred, config, sink);
            }
            if vector.is_none() && range.is_some() && !self.leads_to(target) {
                sink.element(event.at, Element::Inconsistency(Inconsistency::AddressNotReached));
            }
        }
        if let Some(vector) = vector {
            let return_address = match vector {
                // The return address of a reset is UNPREDICTABLE.
                Vector::Reset => None,
                Vector::PrefetchAbort | Vector::DataAbort | Vector::Irq | Vector::Fiq => address,
                Vector::Undefined | Vector::Call => match (from, self.flow.next()) {
                    (Next::At(_, Isa::Jazelle), _) => None,
                    // A direct branch to the vector is not an exception's return address.
                    (_, Next::At(next, isa)) if (next, isa) != (target.address, target.isa) => {
                        Some(next)
                    }
                    _ => None,
                },
            };
            sink.element(event.at, exception(vector, return_address));
        }
    }

    /// The exception whose vector is `target`.
    fn vector(&self, target: Target, config: &Config) -> Option<Vector> {
        let known = target.known >= 32;
        Vector::at(target.address, target.isa, config.core.high_vectors).filter(|_| known)
    }

    /// Whether the last instruction may branch to `target`.
    fn leads_to(&self, target: Target) -> bool {
        match self.flow.next() {
            Next::At(address, isa) => {
                target.known < 32 || (address, isa) == (target.address, target.isa)
            }
            Next::Branch(_) | Next::Unknown => true,
        }
    }

    fn go(&mut self, target: Target, whole: bool) {
        self.byte_codes &= target.isa == Isa::Jazelle;
        if whole {
            self.flow.go(target.address, target.isa);
        } else {
            self.flow.lose();
        }
    }

    fn context_id<S: Sink>(&mut self, at: u64, id: Option<u32>, target: Target, sink: &mut S) {
        self.context.isa = target.isa;
        if id.is_some() && id != self.context.context_id {
            self.context.context_id = id;
            sink.element(at, Element::Context(self.context));
        }
    }
}

fn exception(vector: Vector, return_address: Option<u32>) -> Element {
    Element::Exception(Exception {
        number: vector.number(),
        return_address: return_address.map(u64::from),
        also_target: false,
        tail_chain: false,
    })
}
