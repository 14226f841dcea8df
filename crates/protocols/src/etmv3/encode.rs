//! A trace unit in software: processor steps to the packets of an ETMv3.
//!
//! A branch packet is pending until the next instruction or exception. An exception may replace it,
//! and a context step after the branch may change the security state and mode that it states.

mod atoms;
mod base;
mod data;
mod settings;

use tracewright_base::{
    Access, Cause, Context, Direction, Encode, Isa, Kind, Retired, Role, Security, Step, Taken,
    Wire,
};

use self::atoms::PendingAtoms;
use self::base::Base;
use self::data::Data;
pub use self::settings::Settings;
use super::Config;
use super::packet::{ASYNC_ZEROS, Atoms, InfoBytes, Isync, Packet, Reason};
use crate::bits::Count;

/// Steps to packets.
#[derive(Clone, Debug)]
pub struct Encoder {
    settings: Settings,
    base: Base,
    atoms: PendingAtoms,
    data: Data,
    /// Why tracing starts with the next step; `None` while tracing continues.
    start: Option<Reason>,
    off: bool,
    /// The current context.
    context: Context,
    /// The context ID and the virtual machine ID that were traced last.
    sent_ids: (Option<u32>, Option<u8>),
    branch: Option<PendingBranch>,
    /// Cycles that belong to no atom yet.
    cycles: u32,
    /// Cycles in atoms that the steps did not have, to be subtracted from the next ones.
    debt: u32,
    /// Bytes since the last A-sync.
    bytes: u32,
    aligned: bool,
}

/// A branch packet that is not yet emitted.
#[derive(Clone, Copy, Debug)]
struct PendingBranch {
    target: u32,
    isa: Isa,
    /// The exception number; 0: no exception.
    exception: u16,
    cancel: bool,
    /// A packet for the return from an exception comes before it.
    returns: bool,
}

/// Emits P-headers and counts their bytes.
struct Headers<'a, O>(&'a mut O, &'a mut u32);

impl<O: Extend<Packet>> Extend<Atoms> for Headers<'_, O> {
    #[inline]
    fn extend<T: IntoIterator<Item = Atoms>>(&mut self, atoms: T) {
        for atoms in atoms {
            *self.1 = self.1.saturating_add(1);
            self.0.extend([Packet::Atoms(atoms)]);
        }
    }
}

impl Encode<Config, Packet> for Encoder {
    type Settings = Settings;

    fn new(_: &Config, settings: &Settings) -> Self {
        Encoder {
            settings: *settings,
            base: Base::default(),
            atoms: PendingAtoms::default(),
            data: Data::default(),
            start: Some(Reason::Enabled),
            off: false,
            context: Context::default(),
            sent_ids: (None, None),
            branch: None,
            cycles: 0,
            debt: 0,
            bytes: 0,
            aligned: false,
        }
    }

    #[inline]
    fn step(&mut self, step: &Step, config: &Config, out: &mut impl Extend<Packet>) {
        match step {
            Step::Retired(retired) => self.retired(retired, config, out),
            Step::Exception(taken) => self.exception(taken, config, out),
            Step::Context(context) => self.context = *context,
            Step::Access(access) => self.access(access, config, out),
            Step::Cycles(cycles) => {
                let paid = self.debt.min(*cycles);
                self.debt -= paid;
                self.cycles = self.cycles.saturating_add(cycles - paid);
            }
            Step::Timestamp(value) => self.timestamp(*value, config, out),
            Step::Trigger => self.put(Packet::Trigger, config, out),
            Step::Off => {
                self.stop(Reason::Enabled, config, out);
                self.off = true;
            }
            Step::On => self.off = false,
            Step::Overflow => self.stop(Reason::Overflow, config, out),
            Step::Halted => {
                if self.start.is_none() && !config.m_profile() && !config.control.data_only() {
                    self.settle(config, out);
                    let (target, isa) = (self.base.address, self.base.isa);
                    let halt = number(Cause::Halt, config);
                    let branch = PendingBranch {
                        target,
                        isa,
                        exception: halt,
                        cancel: false,
                        returns: false,
                    };
                    self.branch = Some(branch);
                }
                self.stop(Reason::Debug, config, out);
            }
            Step::SoftwareWrite(_)
            | Step::DwtEvent(_)
            | Step::Events(_)
            | Step::Transaction(_)
            | Step::Instrumentation { .. }
            | Step::Signals(_) => {}
        }
    }

    fn finish(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        self.stop(Reason::Enabled, config, out);
        let cycles = core::mem::take(&mut self.cycles);
        if self.aligned && config.control.cycle_accurate() && !config.control.data_only() {
            self.atoms.cycles(cycles, &mut Headers(out, &mut self.bytes));
        }
    }
}

impl Encoder {
    fn retired(&mut self, retired: &Retired, config: &Config, out: &mut impl Extend<Packet>) {
        let instruction = &retired.instruction;
        if self.off || !matches!(instruction.isa, Isa::A32 | Isa::T32 | Isa::ThumbEe | Isa::Jazelle)
        {
            return;
        }
        if config.control.data_only() {
            return self.data.instruction();
        }
        if self.branch.is_some() {
            self.settle(config, out);
        }
        let address = retired.address as u32;
        if let Some(reason) = self.start {
            self.synchronise(reason, Some((address, instruction.isa)), config, out);
        } else if self.settings.period != 0 && self.bytes >= self.settings.period {
            self.synchronise(Reason::Periodic, Some((address, instruction.isa)), config, out);
        }
        self.contexts(address, instruction.isa, config, out);
        if config.control.data() && self.data.due() {
            self.late(config, out);
        }
        self.atom(retired.taken, config, out);
        if instruction.size == 4 && instruction.isa != Isa::A32 && !config.id.thumb32_is_one() {
            self.atom(retired.taken, config, out);
        }
        self.data.instruction();
        let broadcast = match instruction.kind {
            Kind::Indirect => retired.taken,
            Kind::Branch => retired.taken && config.control.branch_output(),
            _ => false,
        };
        if broadcast {
            // The M profile has the packet from ETMv3.4 on, the other profiles from ETMv3.5 on.
            let since = if config.m_profile() { 4 } else { 5 };
            let returns = (instruction.role == Role::ExceptionReturn
                || config.m_profile() && is_tail_chained(retired.next))
                && config.id.minor() >= since;
            self.branch = Some(PendingBranch {
                target: retired.next as u32,
                isa: retired.next_isa,
                exception: 0,
                cancel: false,
                returns,
            });
            if returns {
                self.put(Packet::ExceptionReturn, config, out);
            }
        }
    }

    #[inline]
    fn atom(&mut self, passed: bool, config: &Config, out: &mut impl Extend<Packet>) {
        let headers = &mut Headers(out, &mut self.bytes);
        if config.control.cycle_accurate() {
            let cycles = core::mem::take(&mut self.cycles);
            self.debt += self.atoms.timed(passed, cycles, config.id.minor(), headers);
        } else {
            self.atoms.plain(passed, headers);
        }
    }

    /// Emits the pending atoms, then a packet.
    fn put(&mut self, packet: Packet, config: &Config, out: &mut impl Extend<Packet>) {
        if !self.aligned {
            return;
        }
        self.flush(config, out);
        packet.emit(config, &mut Count(&mut self.bytes));
        out.extend([packet]);
    }

    fn flush(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        self.atoms.flush(config.control.cycle_accurate(), &mut Headers(out, &mut self.bytes));
    }

    /// Emits the pending branch packet.
    fn settle(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        let Some(branch) = self.branch.take() else { return };
        let (non_secure, hyp) = self.privilege(config);
        let changed = (non_secure, hyp) != (self.base.non_secure, self.base.hyp);
        let info = (branch.exception != 0 || changed).then_some(InfoBytes {
            non_secure,
            hyp,
            exception: branch.exception,
            cancel: branch.cancel,
            ..InfoBytes::default()
        });
        let branch = self.base.branch(branch.target, branch.isa, info, config);
        self.put(Packet::Branch(branch), config, out);
    }

    /// NS and Hyp of the context, limited to those of the version.
    fn privilege(&self, config: &Config) -> (bool, bool) {
        let non_secure = self.context.security == Some(Security::NonSecure);
        (non_secure, self.context.el == Some(2) && config.id.minor() >= 5)
    }

    /// Emits an I-sync, and an A-sync before it where one is due.
    #[cold]
    fn synchronise(
        &mut self,
        reason: Reason,
        start_address: Option<(u32, Isa)>,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        if !self.aligned || reason == Reason::Periodic {
            self.aligned = true;
            self.put(Packet::Async { zeros: ASYNC_ZEROS as u32 }, config, out);
            self.bytes = 0;
            self.base.forget();
        }
        self.start = None;
        let (non_secure, hyp) = self.privilege(config);
        let gap = (config.control.cycle_accurate()
            && reason != Reason::Periodic
            && start_address.is_some())
        .then(|| core::mem::take(&mut self.cycles));
        let context_id = (config.control.context_bytes() > 0).then(|| self.context_id(config));
        let isa = start_address.map_or(Isa::A32, |(_, isa)| isa);
        let thumb = u32::from(matches!(isa, Isa::T32 | Isa::ThumbEe));
        let isync = Isync {
            cycles: gap.filter(|_| !self.settings.late_gaps),
            context_id,
            reason,
            jazelle: isa == Isa::Jazelle,
            non_secure,
            alternative: isa == Isa::ThumbEe,
            hyp,
            address: start_address.map(|(address, _)| address | thumb),
            current: None,
        };
        self.put(Packet::Isync(isync), config, out);
        self.sent_ids.0 = context_id;
        self.base.non_secure = non_secure;
        self.base.hyp = hyp;
        if let Some((address, isa)) = start_address {
            (self.base.address, self.base.isa) = (address, isa);
        }
        if reason != Reason::Periodic {
            self.base.forget_data();
            self.data.lose();
            if let Some(gap) = gap.filter(|_| self.settings.late_gaps) {
                self.put(Packet::CycleCount(gap), config, out);
            }
        }
    }

    /// The traced bytes of the context ID.
    fn context_id(&self, config: &Config) -> u32 {
        let id = self.context.context_id.unwrap_or(0);
        match config.control.context_bytes() {
            1 => id & 0xff,
            2 => id & 0xffff,
            _ => id,
        }
    }

    /// Traces the context from `address` on, where it changed.
    fn contexts(&mut self, address: u32, isa: Isa, config: &Config, out: &mut impl Extend<Packet>) {
        let (non_secure, hyp) = self.privilege(config);
        if (non_secure, hyp) != (self.base.non_secure, self.base.hyp) {
            let info = InfoBytes { non_secure, hyp, ..InfoBytes::default() };
            let branch = self.base.branch(address, isa, Some(info), config);
            self.put(Packet::Branch(branch), config, out);
        }
        self.identifiers(config, out);
    }

    fn identifiers(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        if config.control.context_bytes() > 0 {
            let id = self.context_id(config);
            if self.sent_ids.0 != Some(id) {
                self.sent_ids.0 = Some(id);
                self.put(Packet::ContextId(id), config, out);
            }
        }
        // VMIDEn, bit [30], ETMv3.5.
        let vmid = self.context.vmid.map(|vmid| vmid as u8);
        if config.control.vmid() && config.id.minor() >= 5 && self.sent_ids.1 != vmid {
            self.sent_ids.1 = vmid;
            self.put(Packet::Vmid(vmid.unwrap_or(0)), config, out);
        }
    }

    fn exception(&mut self, taken: &Taken, config: &Config, out: &mut impl Extend<Packet>) {
        if self.start.is_some() || config.control.data_only() {
            return;
        }
        // A handler that ends with another exception has no other branch packet than that of the
        // exception. (M profile, 7.5.4)
        let chained = |branch: &PendingBranch| {
            branch.returns && config.m_profile() && is_tail_chained(branch.target.into())
        };
        if taken.cancels || self.branch.as_ref().is_some_and(chained) {
            self.branch = None;
        } else {
            self.settle(config, out);
        }
        self.branch = Some(PendingBranch {
            target: taken.target as u32,
            isa: taken.target_isa,
            exception: number(taken.cause, config),
            cancel: taken.cancels,
            returns: false,
        });
    }

    fn access(&mut self, access: &Access, config: &Config, out: &mut impl Extend<Packet>) {
        if self.off || !config.control.data() {
            return;
        }
        if config.control.data_only() {
            self.data_only(config, out);
        } else if self.start.is_some() {
            return;
        }
        self.flush(config, out);
        // M profile: any branch may return from an exception. An access of its stack pop shows that
        // it did.
        let pops = access.has(Access::EXCEPTION) && access.direction == Direction::Read;
        if config.m_profile()
            && pops
            && let Some(branch @ PendingBranch { exception: 0, returns: false, .. }) =
                &mut self.branch
        {
            branch.returns = true;
            self.put(Packet::ExceptionReturn, config, out);
        }
        let returning = self.branch.is_some_and(|branch| branch.returns);
        // The packet for the return was emitted already.
        let announcement = (!returning).then_some(Packet::ExceptionEntry);
        // A core that reads the new PC first repeats the address where it does not.
        let again = config.id.loads_pc_first() && self.branch.is_some();
        let (base, bytes) = (&mut self.base, &mut self.bytes);
        let mut put = |packet: Packet| {
            packet.emit(config, &mut Count(bytes));
            out.extend([packet]);
        };
        self.data.access(access, announcement, again, base, config, &mut put);
    }

    /// Emits synchronisation, identifiers and late data in data-only mode.
    fn data_only(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        if let Some(reason) = self.start {
            self.synchronise(reason, None, config, out);
        } else if self.settings.period != 0 && self.bytes >= self.settings.period {
            self.synchronise(Reason::Periodic, None, config, out);
        }
        self.identifiers(config, out);
        if self.data.due() {
            self.late(config, out);
        }
    }

    fn late(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        self.flush(config, out);
        let bytes = &mut self.bytes;
        self.data.late(config, |packet| {
            packet.emit(config, &mut Count(bytes));
            out.extend([packet]);
        });
    }

    fn timestamp(&mut self, value: u64, config: &Config, out: &mut impl Extend<Packet>) {
        // TimestampEn, bit [28], ETMv3.5. A timestamp of 0 means that there is no timestamp source.
        let traced = config.control.0 >> 28 & 1 != 0 && config.id.minor() >= 5;
        if traced && value != 0 && self.start.is_none() {
            let (bits, count) = self.base.time(value, config);
            self.put(Packet::Timestamp { bits, count, clock_changed: false }, config, out);
        }
    }

    /// Stops tracing: emits everything that is pending.
    fn stop(&mut self, reason: Reason, config: &Config, out: &mut impl Extend<Packet>) {
        if self.start.is_none() {
            self.settle(config, out);
            if config.control.data() {
                self.late(config, out);
            }
            self.flush(config, out);
            self.start = Some(reason);
        } else if reason != Reason::Enabled {
            self.start = Some(reason);
        }
    }
}

/// Whether a handler that continues at `next` returns to another exception: that is the value for
/// the return itself, `EXC_RETURN`. (M profile)
const fn is_tail_chained(next: u64) -> bool {
    next >= 0xffff_ffe0 && next <= 0xffff_ffff
}

/// The exception number of a cause. (Tables 7-12 and 7-17)
fn number(cause: Cause, config: &Config) -> u16 {
    if config.m_profile() {
        let vector = match cause {
            Cause::Number(n) => return n & 0x1ff,
            Cause::Vector(n) => n,
            Cause::Reset => 1,
            Cause::Call => 11,
            Cause::InstructionDebug | Cause::DataDebug | Cause::Halt => 12,
            Cause::InstructionFault | Cause::DataFault => 5,
            Cause::Undefined | Cause::Trap | Cause::Alignment => 6,
            Cause::SystemError => 3,
            Cause::Fiq => 2,
            Cause::Irq | Cause::Riscv { .. } => 16,
        };
        return match vector {
            1 => 0x11,
            2 => 0xa,
            3 => 0x13,
            4 => 0xd,
            5 => 0x15,
            6 => 0x9,
            11 => 0xb,
            12 => 0xc,
            14 => 0xe,
            15 => 0xf,
            16 => 0x8,
            17..=23 => vector - 16,
            24..=0x1ff => vector,
            _ => 0x13,
        };
    }
    match cause {
        Cause::Number(n) => n & 0xf,
        Cause::Halt => 0x1,
        // Entry to Hyp mode, which has a number from ETMv3.5 on.
        Cause::Trap if config.id.minor() >= 5 => 0x3,
        Cause::SystemError => 0x4,
        Cause::Reset => 0x8,
        Cause::Undefined | Cause::Trap => 0x9,
        Cause::Call => 0xa,
        Cause::InstructionFault | Cause::InstructionDebug => 0xb,
        Cause::DataFault | Cause::DataDebug | Cause::Alignment => 0xc,
        Cause::Vector(_) | Cause::Riscv { .. } => 0xd,
        Cause::Irq => 0xe,
        Cause::Fiq => 0xf,
    }
}
