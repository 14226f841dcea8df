//! The model of the Trace Buffer Unit: the acceptance of trace.

use std::collections::VecDeque;

use super::choices::{
    AbortHandling, BadPointer, BadPointerReason, Choices, CounterAfterFault, Features,
};
use super::controls::{Controls, Regime, Security};
use super::limit::{FillMode, Limit};
use super::memory::{Abort, AddressSpace, Fault, Memory, Stage, Store};
use super::monitor::Monitor;
use super::order::{Flush, Order, Pending};
use super::pointer::{Class, Issued, Pointers};
use super::record::{Event, Level};
use super::reg::Reg;
use super::status::{Cause, Status};
use super::violation::Violation;

/// A Trace Buffer Unit.
#[derive(Clone, Debug, Default)]
pub struct Trbe {
    /// What the unit implements.
    pub features: Features,
    /// What the architecture leaves to the unit.
    pub choices: Choices,
    /// The registers of the core that the unit reads.
    pub controls: Controls,
    /// Accesses of software whose result the architecture leaves open, in order.
    pub violations: Vec<Violation>,
    /// The exclusive monitors and transactions that observe the writes of the unit: each byte that
    /// reaches the memory.
    pub monitors: Vec<Monitor>,
    pub(super) base: u64,
    pub(super) limit: Limit,
    pub(super) pointer: u64,
    pub(super) counter: u32,
    /// TRBSR_EL1, TRBSR_EL2 and TRBSR_EL3.
    pub(super) status: [Status; 3],
    pub(super) attributes: u64,
    pub(super) mpam: u64,
    pub(super) integration: u64,
    /// The bits of each register, by [`Reg`], that read as unknown.
    pub(super) unknown: [u64; Reg::COUNT],
    /// Direct writes that no context synchronization event has followed.
    pub(super) pending: Vec<Pending>,
    /// How far the youngest trace operation is synchronized.
    pub(super) order: Order,
    /// Tracing is prohibited: TSB CSYNC finishes the trace unit's operations, too.
    pub(super) prohibited: bool,
    /// The same after the next context synchronization event.
    pub(super) prohibited_next: bool,
    /// Accepted bytes that are not in memory.
    pub(super) in_flight: VecDeque<Store>,
    pub(super) flush: Option<Flush>,
    /// What the write pointer comes from.
    pub(super) pointer_origin: Origin,
    /// What the Trigger Counter comes from.
    pub(super) counter_origin: Origin,
    /// The write pointer is the value that software wrote.
    pub(super) pointer_is_written: bool,
    /// The Trigger Counter that software wrote.
    pub(super) written_counter: Option<u32>,
    pub(super) pointers_issued: Issued,
    pub(super) counters_issued: Issued,
    pub(super) losses: Losses,
    pub(super) signals: Signals,
}

/// What the value of a register comes from, on which it depends whether it may be written back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    /// A write generated an External abort that was reported, an Alignment fault or an SError.
    pub(super) faulted: bool,
    /// Software initialised it with a value that was out of range or misaligned.
    pub(super) bad: bool,
}

/// The mode of the unit. (Arm ARM, RSDCKT)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Self-hosted trace is enabled.
    SelfHosted,
    /// Self-hosted trace is disabled, and FEAT_TRBE_EXT is implemented.
    External,
    /// Self-hosted trace is disabled, and the unit cannot be used.
    None,
}

/// What became of the bytes of an [`offer`](Trbe::offer). The three counts add up to the bytes that
/// were offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// Bytes that the unit took: they are written to the buffer, or counted in [`Losses`].
    pub accepted: usize,
    /// Bytes that are lost, because the unit is disabled or collection is stopped.
    pub discarded: usize,
    /// Bytes that the trace unit may offer again.
    pub rejected: usize,
}

/// Accepted bytes that are not in the buffer, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// The write faulted, or was not allowed.
    pub faulted: u64,
    /// An External abort.
    pub aborted: u64,
    /// The write pointer was out of range or misaligned, and the byte was discarded.
    pub bad_pointer: u64,
    /// The write pointer was out of range or misaligned, and the byte was written somewhere.
    pub written_anywhere: u64,
}

/// Signals to the trace unit and the core, as numbers of pulses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    /// TRB_WRAP events.
    pub wraps: u64,
    /// TRB_TRIG events.
    pub triggers: u64,
    /// SError exceptions.
    pub serrors: u64,
}

impl Trbe {
    /// The mode.
    pub fn mode(&self) -> Mode {
        match (self.controls.self_hosted, self.features.external) {
            (true, _) => Mode::SelfHosted,
            (false, true) => Mode::External,
            (false, false) => Mode::None,
        }
    }

    /// Whether the unit is enabled.
    pub fn is_enabled(&self) -> bool {
        match self.mode() {
            Mode::SelfHosted => self.limit.self_hosted(),
            Mode::External => self.limit.external(),
            Mode::None => false,
        }
    }

    /// Whether the unit is running. (Arm ARM, RYCHKJ and table D6-1)
    pub fn is_running(&self) -> bool {
        let Features { exceptions, el2, el3, .. } = self.features;
        let [status_1, status_2, status_3] = self.status;
        if !self.is_enabled() || status_1.stopped() {
            return false;
        }
        if !exceptions || !self.controls.self_hosted {
            return true;
        }
        let trbee = self.controls.trbee(el3);
        let by_el2 = el2
            && self.controls.el2_enabled(el3)
            && status_2.stopped()
            && !(el3 && trbee == 0b00)
            && self.controls.ee() >= 0b10;
        let by_el3 = el3 && status_3.stopped() && trbee >= 0b10;
        !by_el2 && !by_el3
    }

    /// Whether the unit is enabled and not running.
    pub fn is_stopped(&self) -> bool {
        self.is_enabled() && !self.is_running()
    }

    /// Whether the unit may translate addresses ahead of writes. (RBSMLW, RSJFRQ)
    pub fn may_translate(&self) -> bool {
        self.is_enabled()
    }

    /// Whether the trace unit may send trace to a trace bus. (IYHJDQ, RJYTYH)
    pub fn may_use_trace_bus(&self) -> bool {
        !self.is_enabled()
    }

    /// The interrupt request TRBIRQ. (VSCDV)
    pub fn interrupt(&self) -> bool {
        let Features { exceptions, el2, el3, .. } = self.features;
        let ee_1 = self.controls.trfcr_el1 >> 8 & 0b11;
        let driven = !exceptions
            || el3 && self.controls.trbee(el3) == 0b00
            || el2 && self.controls.ee() == 0b00 && self.controls.el2_enabled(el3)
            || ee_1 <= 0b01
            || !self.controls.self_hosted;
        let [status, ..] = self.status;
        driven && status.irq()
    }

    /// The pointers as the unit has them.
    pub fn pointers(&self) -> Pointers {
        Pointers { base: self.base, limit: self.limit.pointer(), current: self.pointer }
    }

    /// The status register of `level` as the unit has it.
    pub fn status(&self, level: Level) -> Status {
        let [el1, el2, el3] = self.status;
        match level {
            Level::El1 => el1,
            Level::El2 => el2,
            Level::El3 => el3,
        }
    }

    /// Accepted bytes that are not in the buffer.
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// The signals so far.
    pub fn signals(&self) -> Signals {
        self.signals
    }

    /// Accepted bytes that are not yet in memory.
    pub fn pending_bytes(&self) -> usize {
        self.in_flight.len()
    }

    /// The unit takes trace of the trace unit: each byte is accepted, discarded or rejected. The
    /// value of TRCTRACEIDR is not part of it. (RYMYQX, RLNTVR, RYMVZL, RHNTLG, RPHSKP)
    pub fn offer(&mut self, bytes: &[u8], memory: &mut impl Memory) -> Offer {
        self.observe_writes();
        let mut offer = Offer::default();
        for (n, &byte) in bytes.iter().enumerate() {
            if !self.is_running() || self.acts_disabled() {
                offer.discarded += 1;
                continue;
            }
            if self.in_flight.len() >= self.features.capacity {
                offer.rejected = bytes.len() - n;
                break;
            }
            offer.accepted += 1;
            self.accept(byte, memory);
        }
        offer
    }

    /// The pointer is bad, and the unit behaves as if it were disabled.
    fn acts_disabled(&self) -> bool {
        self.choices.bad_pointer == BadPointer::Disabled && self.has_bad_pointer()
    }

    /// Whether the write pointer may not be used: it is out of range, or software wrote a
    /// misaligned value. (RMGZWR)
    fn has_bad_pointer(&self) -> bool {
        self.pointers().is_out_of_range() || self.written_class() == Some(Class::Misaligned)
    }

    /// Takes one byte of a running unit: the loop of the sequential model. (Arm ARM, IPTDZC)
    fn accept(&mut self, byte: u8, memory: &mut impl Memory) {
        self.touch();
        if self.limit.fill_mode().is_none() || self.limit.trigger().is_none() {
            self.violate(Violation::ReservedMode);
        }
        if self.fault_value_written() {
            self.violate(Violation::RunningOnFault);
        }
        let space = self.address_space();
        if let AddressSpace::External(pas) = space
            && !self.controls.allowed_spaces.get(usize::from(pas)).copied().unwrap_or(false)
        {
            // RCMYYF: nothing is written, and the pointer stays.
            self.losses.faulted += 1;
            return self.record(Event::Other, Some(Cause::NotAllowed));
        }
        if self.has_bad_pointer() {
            self.pointer_origin.bad = true;
            self.violate(Violation::BadPointer);
            if !self.bad_pointer(byte, memory) {
                return;
            }
        }
        if let Err(fault) = memory.check(self.pointer) {
            return self.fault(fault);
        }
        let store = Store { address: self.pointer, byte, space, tag_checked: false };
        self.in_flight.push_back(store);
        self.advance();
    }

    /// Moves the write pointer behind a byte, and counts the byte. (RVHNTF, RBQTGW)
    fn advance(&mut self) {
        self.pointer_is_written = false;
        if self.pointer == self.limit.pointer().wrapping_sub(1) {
            self.pointer = self.base;
            self.wrapped();
        } else {
            self.pointer = self.pointer.wrapping_add(1);
        }
        self.count_byte();
    }

    /// The write pointer was wrapped. (RMBSHC, RVBDJZ, RGDSTS)
    fn wrapped(&mut self) {
        self.mark_wrap();
        match self.limit.fill_mode() {
            Some(FillMode::Fill) | None => self.record(Event::Other, Some(Cause::Filled)),
            Some(FillMode::Wrap) => self.record(Event::Other, None),
            Some(FillMode::Circular) => {}
        }
    }

    /// WRAP is set, and TRB_WRAP is generated.
    fn mark_wrap(&mut self) {
        self.signals.wraps += 1;
        self.status_mut(self.other()).0 |= Status::WRAP;
    }

    /// A byte for a bad pointer. `true` if it is to be written where the pointer points.
    fn bad_pointer(&mut self, byte: u8, memory: &mut impl Memory) -> bool {
        let range = self.pointers().is_out_of_range();
        match self.choices.bad_pointer {
            BadPointer::WrapBefore { event } if range => {
                self.pointer = self.base;
                self.pointer_is_written = false;
                if event {
                    self.mark_wrap();
                }
                // A Base pointer that is not below the Limit pointer leaves no place to write.
                let nowhere = self.pointers().is_out_of_range();
                self.losses.bad_pointer += u64::from(nowhere);
                !nowhere
            }
            BadPointer::WrapAfter { event } if range => {
                self.write_anywhere(byte, memory);
                self.pointer = self.base;
                if event {
                    self.mark_wrap();
                }
                false
            }
            BadPointer::WriteAnywhere
            | BadPointer::WrapBefore { .. }
            | BadPointer::WrapAfter { .. } => {
                self.write_anywhere(byte, memory);
                self.pointer = self.pointer.wrapping_add(1);
                false
            }
            BadPointer::AlignmentFault if !range => {
                self.fault(Fault::ALIGNMENT);
                false
            }
            BadPointer::Event { stop, wrap } => {
                self.losses.bad_pointer += 1;
                self.unknown_event(stop, wrap);
                false
            }
            BadPointer::Discard | BadPointer::AlignmentFault | BadPointer::Disabled => {
                self.losses.bad_pointer += 1;
                false
            }
        }
    }

    /// Writes a byte where a bad pointer points, if that is writable.
    fn write_anywhere(&mut self, byte: u8, memory: &mut impl Memory) {
        self.losses.written_anywhere += 1;
        let (address, space) = (self.pointer, self.address_space());
        if memory.check(address).is_ok() {
            // What a memory system answers to such a write is not part of the model.
            let _ = self.store(Store { address, byte, space, tag_checked: false }, memory);
        }
    }

    /// A management event for a bad pointer.
    fn unknown_event(&mut self, stop: bool, wrap: bool) {
        if self.features.exceptions {
            if wrap {
                self.mark_wrap();
            }
            return match self.choices.bad_pointer_reason {
                BadPointerReason::Full => self.record(Event::Other, Some(Cause::Filled)),
                BadPointerReason::Wrap => self.record(Event::Other, None),
                BadPointerReason::NotAllowed => self.record(Event::Other, Some(Cause::NotAllowed)),
                BadPointerReason::Fault(fault) => {
                    self.record(Event::Fault(fault), Some(Cause::of(fault)));
                }
            };
        }
        let status = self.status_mut(Level::El1);
        status.0 |= Status::IRQ;
        status.0 |= if stop { Status::S } else { 0 };
        status.0 |= if wrap { Status::WRAP } else { 0 };
        self.make_unknown(Reg::Status, Status::SYNDROME);
    }

    /// A write faulted: the byte is lost, and the pointer holds the address. (RFSPBK)
    pub(super) fn fault(&mut self, fault: Fault) {
        self.losses.faulted += 1;
        if fault == Fault::ALIGNMENT {
            self.mark_faulted();
        } else if self.choices.counter_after_fault == CounterAfterFault::Decremented
            && self.status(self.other()).triggered()
        {
            self.counter = self.counter.saturating_sub(1);
        }
        self.record(Event::Fault(fault), Some(Cause::of(fault)));
    }

    /// The write pointer and the Trigger Counter are fault values. (RXZWXQ)
    fn mark_faulted(&mut self) {
        self.pointer_origin.faulted = true;
        self.counter_origin.faulted = true;
    }

    /// Records a management event: IRQ is set, and where the event stops collection and no event
    /// did before, S, EC and MSS. (RHLKSG, RBNQRP)
    pub(super) fn record(&mut self, event: Event, stops: Option<Cause>) {
        let level = self.level(event);
        let status = self.status_mut(level);
        status.0 |= Status::IRQ;
        if let Some(cause) = stops.filter(|_| !status.stopped()) {
            status.0 |= Status::S;
            *status = status.with_cause(cause);
        }
        self.touch();
    }

    /// The register that records `event`.
    fn level(&self, event: Event) -> Level {
        if self.features.exceptions && self.controls.self_hosted {
            self.controls.recorded_in(event, self.features.el2, self.features.el3)
        } else {
            Level::El1
        }
    }

    /// The register in column "Other event" of table D6-7.
    pub(super) fn other(&self) -> Level {
        self.level(Event::Other)
    }

    pub(super) fn status_mut(&mut self, level: Level) -> &mut Status {
        let [el1, el2, el3] = &mut self.status;
        match level {
            Level::El1 => el1,
            Level::El2 => el2,
            Level::El3 => el3,
        }
    }

    /// What the addresses of the buffer are. (RMGZWR, D6.3, D6.4)
    pub fn address_space(&self) -> AddressSpace {
        if self.mode() == Mode::External {
            return AddressSpace::External((self.attributes >> 10 & 0b11) as u8);
        }
        let Features { el2, el3, v1p1, .. } = self.features;
        let owner = self.controls.owner(el2, el3);
        let of_el1 = owner.is_some_and(|owner| owner.regime == Regime::El1);
        let stage_2 = el2 && of_el1 && self.controls.el2_enabled(el3);
        let disabled = v1p1 && stage_2 && self.controls.physical_disabled();
        let security = owner.map_or(Security::NonSecure, |owner| owner.security);
        match self.limit.not_virtual() && !disabled {
            false => AddressSpace::Virtual(owner),
            true if stage_2 => AddressSpace::Intermediate(security),
            true => AddressSpace::Physical(security),
        }
    }

    /// Writes at most `most` accepted bytes to memory, as the unit does at any time.
    pub fn drain(&mut self, memory: &mut impl Memory, most: usize) {
        for _ in 0..most {
            let Some(store) = self.in_flight.pop_front() else { return };
            if self.store(store, memory).is_err() {
                self.losses.aborted += 1;
                self.abort(store.address);
            }
        }
    }

    /// Writes one byte to memory, which the monitors observe.
    fn store(&mut self, store: Store, memory: &mut impl Memory) -> Result<(), Abort> {
        memory.store(store)?;
        for monitor in &mut self.monitors {
            monitor.trace_written(store.address, &self.choices);
        }
        Ok(())
    }

    /// A write generated an External abort. (RGQWBF)
    fn abort(&mut self, address: u64) {
        match self.features.aborts {
            AbortHandling::Ignored => return,
            AbortHandling::SError => {
                self.signals.serrors += 1;
                self.mark_faulted();
                return;
            }
            AbortHandling::Synchronous => self.pointer = address,
            AbortHandling::Asynchronous => {}
        }
        self.mark_faulted();
        // The unit writes no more of what it has accepted.
        self.losses.aborted += self.in_flight.len() as u64;
        self.in_flight.clear();
        let synchronous = self.features.aborts == AbortHandling::Synchronous;
        let code = if synchronous { 0x10 } else { 0x11 };
        let event = Event::Fault(Fault { stage: Stage::Stage1, code });
        let level = self.level(event);
        self.status_mut(level).0 |= Status::EA;
        self.record(event, Some(Cause::Stage1(code)));
        // RJPPZZ: the write has completed, so that a context synchronization event suffices.
        self.order = Order::Finished;
    }

    /// A trace operation wrote a register.
    pub(super) fn touch(&mut self) {
        self.order = Order::Generated;
    }

    pub(super) fn violate(&mut self, violation: Violation) {
        if self.violations.last() != Some(&violation) {
            self.violations.push(violation);
        }
    }
}
