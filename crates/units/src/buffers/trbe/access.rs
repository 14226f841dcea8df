//! Direct reads and writes of the registers, and the barriers that order them with the accesses of
//! trace operations. (Arm ARM, D6.2.2, D6.6 and K10.5.10)

use super::choices::{EnabledWrites, LowBits, Unsynchronised};
use super::limit::Limit;
use super::memory::Memory;
use super::order::{Order, Pending};
use super::pointer::Class;
use super::record::Level;
use super::reg::{Reg, Word};
use super::status::Status;
use super::unit::{Mode, Origin, Trbe};
use super::violation::Violation;

impl Trbe {
    /// Software writes a register. The unit sees the write after the next context synchronization
    /// event.
    pub fn write(&mut self, register: Reg, value: u64) {
        if register == Reg::Id {
            return;
        }
        let early = register.is_indirectly_written() && self.order < Order::Finished;
        if early {
            self.violate(Violation::WriteBeforeFinished(register));
            self.make_unknown(register, u64::MAX);
        }
        let ignored = self.is_ignored(register, value);
        if ignored {
            self.violate(Violation::WriteWhileEnabled(register));
        }
        if !ignored || self.choices.enabled_writes == EnabledWrites::Taken {
            if !early {
                self.written_unknown(register, value);
            }
            self.pending.push(Pending { register, value });
        }
    }

    /// Whether a write of `register` is not ordered with the last write that enables or disables
    /// the unit. (SDSSHH)
    pub fn is_unordered(&self, register: Reg) -> bool {
        register != Reg::Limit && self.toggles()
    }

    /// Whether the writes that no context synchronization event has followed enable or disable the
    /// unit.
    fn toggles(&self) -> bool {
        self.pending.iter().any(|write| {
            write.register == Reg::Limit && (write.value ^ self.limit.0) & Limit::ENABLES != 0
        })
    }

    /// Software reads a register.
    pub fn read(&mut self, register: Reg) -> Word {
        let own = self.pending.iter().rev().find(|pending| pending.register == register).copied();
        let bits = match own {
            Some(pending) => self.stored(register, pending.value),
            None => self.value(register),
        };
        let mut unknown = self.unknown.get(register as usize).copied().unwrap_or(0);
        if register.is_indirectly_written() && self.order != Order::Visible && own.is_none() {
            self.violate(Violation::ReadTooEarly(register));
            unknown = u64::MAX;
        }
        // RHXZZM, RXZWXQ: disabled, and all trace operations complete.
        if unknown == 0 && !self.is_enabled() && self.is_complete() && own.is_none() {
            match register {
                Reg::Pointer if !self.pointer_origin.bad => {
                    self.pointers_issued.issue(bits, self.pointer_origin.faulted);
                }
                Reg::Counter if !self.counter_origin.bad => {
                    self.counters_issued.issue(bits, self.counter_origin.faulted);
                }
                _ => {}
            }
        }
        Word { bits: bits & !unknown, unknown }
    }

    /// A context synchronization event: an ISB, an exception entry or an exception return.
    pub fn synchronize(&mut self) {
        self.apply_pending();
        self.prohibited = self.prohibited_next;
        self.order = match self.order {
            Order::Generated => Order::Ordered,
            Order::Finished => Order::Visible,
            order => order,
        };
    }

    /// A TSB CSYNC. In a prohibited region it also completes a flush of the trace unit. (RMRVPT)
    pub fn trace_synchronize(&mut self) {
        if self.prohibited {
            self.flushed();
            if self.order == Order::Generated {
                self.order = Order::Ordered;
            }
        }
        if self.order == Order::Ordered {
            self.order = Order::Finished;
        }
    }

    /// A DSB: the writes of trace operations that a TSB CSYNC has finished are complete. (RVLWDM)
    pub fn data_synchronize(&mut self, memory: &mut impl Memory) {
        if self.order >= Order::Finished {
            self.drain(memory, usize::MAX);
        }
    }

    /// Tracing is prohibited, or allowed, from the next context synchronization event on.
    pub fn prohibit(&mut self, prohibited: bool) {
        self.prohibited_next = prohibited;
    }

    /// Whether the bytes of all trace operations are in memory: software may read the buffer. For
    /// its registers they must be [complete](Self::is_complete). (K10.5.10, steps 6 and 7)
    pub fn is_stored(&self) -> bool {
        self.order >= Order::Finished && self.in_flight.is_empty()
    }

    /// Whether all trace operations are complete: software may read the registers. (RNSFRQ)
    pub fn is_complete(&self) -> bool {
        self.order == Order::Visible && self.in_flight.is_empty()
    }

    /// TRBSR_EL1 in the external view, with DAT.
    pub fn external_status(&self) -> Status {
        let data = if self.in_flight.is_empty() { 0 } else { 1 << 23 };
        Status(self.status(Level::El1).0 | data)
    }

    /// A trace operation follows: it sees the direct writes or not. (SDSSHH)
    pub(super) fn observe_writes(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        self.violate(Violation::TraceBeforeSynchronization);
        if self.choices.unsynchronised == Unsynchronised::New {
            self.apply_pending();
        }
    }

    pub(super) fn make_unknown(&mut self, register: Reg, bits: u64) {
        if let Some(unknown) = self.unknown.get_mut(register as usize) {
            *unknown |= bits;
        }
    }

    /// The class of the write pointer, as long as it is the value that software wrote.
    pub(super) fn written_class(&self) -> Option<Class> {
        let mask = self.features.alignment() - 1;
        let class = self.pointers_issued.class(self.pointer, mask + 1);
        self.pointer_is_written.then_some(class)
    }

    /// The class of the Trigger Counter that software wrote.
    pub(super) fn written_counter_class(&self) -> Option<Class> {
        let written = self.written_counter?;
        Some(self.counters_issued.class(written.into(), self.features.alignment()))
    }

    /// The write pointer is the one that a fault left, and software wrote it.
    pub(super) fn fault_value_written(&self) -> bool {
        self.pointer_is_written && self.pointers_issued.is_fault(self.pointer)
    }

    /// Whether the core may ignore the write. (RDJMDD)
    fn is_ignored(&self, register: Reg, value: u64) -> bool {
        let enable = match self.mode() {
            Mode::SelfHosted => 1,
            Mode::External => 1 << 6,
            // The condition on E holds without FEAT_TRBE_EXT, whatever the mode.
            Mode::None => 1,
        };
        let limit = self.newest_limit();
        let clears = register == Reg::Limit && value & enable == 0;
        limit & enable != 0 && !clears
    }

    /// TRBLIMITR_EL1 as software wrote it last.
    fn newest_limit(&self) -> u64 {
        let pending = self.pending.iter().rev().find(|p| p.register == Reg::Limit);
        pending.map_or(self.limit.0, |pending| pending.value)
    }

    /// Which bits a subsequent read returns as unknown. (RJWWWM, RCPDDM)
    fn written_unknown(&mut self, register: Reg, value: u64) {
        let alignment = self.features.alignment();
        let class = match register {
            Reg::Pointer => self.pointers_issued.class(value, alignment),
            Reg::Counter => self.counters_issued.class(value, alignment),
            _ => Class::Aligned,
        };
        let misaligned = class == Class::Misaligned && self.choices.low_bits == LowBits::ReadWrite;
        if misaligned {
            self.violate(Violation::Misaligned(register));
        }
        if let Some(unknown) = self.unknown.get_mut(register as usize) {
            *unknown = if misaligned { u64::MAX } else { 0 };
        }
    }

    /// The unit sees the direct writes so far.
    fn apply_pending(&mut self) {
        let toggles = self.toggles();
        let writes = std::mem::take(&mut self.pending);
        for write in &writes {
            if toggles && write.register != Reg::Limit {
                self.violate(Violation::EnableUnordered(write.register));
                if self.choices.enabled_writes == EnabledWrites::Ignored {
                    continue;
                }
            }
            self.set(write.register, write.value);
        }
    }

    /// The bits of a written value that the register has.
    fn stored(&self, register: Reg, value: u64) -> u64 {
        let low = match self.choices.low_bits {
            LowBits::ReadWrite => 0,
            LowBits::Zero => self.features.alignment() - 1,
        };
        let external = if self.features.external { 1 << 6 } else { 0 };
        match register {
            Reg::Base => value & !0xfff,
            Reg::Limit => value & (!0xfff | 0x3f | external),
            Reg::Pointer => value & !low,
            Reg::Counter => value & 0xffff_ffff & !low,
            _ => value,
        }
    }

    fn set(&mut self, register: Reg, value: u64) {
        let value = self.stored(register, value);
        match register {
            Reg::Base => self.base = value,
            Reg::Limit => self.limit = Limit(value),
            Reg::Pointer => {
                self.pointer = value;
                self.pointer_is_written = true;
                let class = self.pointers_issued.class(value, self.features.alignment());
                self.pointer_origin = Origin {
                    faulted: self.pointers_issued.is_fault(value),
                    bad: class == Class::Misaligned,
                };
            }
            Reg::Counter => {
                self.counter = value as u32;
                self.written_counter = Some(value as u32);
                let class = self.counters_issued.class(value, self.features.alignment());
                self.counter_origin = Origin {
                    faulted: self.counters_issued.is_fault(value),
                    bad: class == Class::Misaligned,
                };
            }
            Reg::Status => *self.status_mut(Level::El1) = Status(value),
            Reg::StatusEl2 => *self.status_mut(Level::El2) = Status(value),
            Reg::StatusEl3 => *self.status_mut(Level::El3) = Status(value),
            Reg::Attributes => self.attributes = value,
            Reg::Mpam => self.mpam = value,
            Reg::Integration => self.integration = value,
            Reg::Id => {}
        }
    }

    fn value(&self, register: Reg) -> u64 {
        match register {
            Reg::Base => self.base,
            Reg::Limit => self.limit.0,
            Reg::Pointer => self.pointer,
            Reg::Counter => self.counter.into(),
            Reg::Status => self.status(Level::El1).0,
            Reg::StatusEl2 => self.status(Level::El2).0,
            Reg::StatusEl3 => self.status(Level::El3).0,
            Reg::Attributes => self.attributes,
            Reg::Mpam => self.mpam,
            Reg::Integration => self.integration,
            Reg::Id => self.features.id_register(),
        }
    }
}
