//! A trace unit in software: processor steps to the packets of a PTM.
//!
//! The last instruction is pending until the next step. An exception may cancel it, and a context
//! step after a branch may change the security state and mode that its packet states.

mod settings;

use tracewright_base::{
    Cause, Context, Encode, Isa, Kind, Retired, Role, Security, Step, Taken, Waypoints, Wire,
};

pub use self::settings::Settings;
use super::Config;
use super::decode::Returns;
use super::history::gray;
use super::packet::{
    Address, Atoms, Branch, Info, Packet, Reason, State, Sync, Timestamp, Waypoint,
};
use crate::bits::Count;

/// Steps to packets.
#[derive(Clone, Debug)]
pub struct Encoder {
    settings: Settings,
    waypoints: Waypoints,
    returns: Returns,
    /// The pending atoms, 1 for N, the oldest in the highest bit.
    atoms: u8,
    /// Number of pending atoms.
    count: u8,
    /// The last instruction, which is pending.
    last: Option<Retired>,
    /// The last instruction of the straight code since the last waypoint.
    run: Option<(u32, Isa)>,
    /// Bytes of that straight code.
    length: u32,
    /// Why tracing starts with the next step; `None` while tracing continues.
    start: Option<Reason>,
    off: bool,
    context: Context,
    /// The last values in the trace.
    sent: Sent,
    /// An exception that is pending, because its packet states the context of the handler.
    raised: Option<Taken>,
    /// Cycles between the last count and the last instruction.
    cycles: u32,
    /// Cycles after the last instruction.
    ahead: u32,
    /// Bytes since the last A-sync.
    bytes: u32,
    aligned: bool,
}

/// The last values in the trace, against which later packets are compressed.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    address: u32,
    isa: Isa,
    non_secure: bool,
    hyp: bool,
    context_id: Option<u32>,
    vmid: Option<u8>,
    /// In the encoding of the trace unit.
    time: Option<u64>,
}

/// The length of straight code after which a unit sends a waypoint update, in bytes. (IHI 0035,
/// "Large blocks of instructions")
const LONG_RUN: u32 = 4096;

/// The exception number of entry to Debug state. (IHI 0035, "Exception field")
const DEBUG_ENTRY: u16 = 1;

impl Encode<Config, Packet> for Encoder {
    type Settings = Settings;

    fn new(config: &Config, settings: &Settings) -> Self {
        Encoder {
            settings: *settings,
            waypoints: config.waypoints(),
            returns: Returns::default(),
            atoms: 0,
            count: 0,
            last: None,
            run: None,
            length: 0,
            start: Some(Reason::TraceOn),
            off: false,
            context: Context::default(),
            sent: Sent::default(),
            raised: None,
            cycles: 0,
            ahead: 0,
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
            Step::Cycles(cycles) => self.ahead = self.ahead.saturating_add(*cycles),
            Step::Timestamp(value) => self.timestamp(*value, config, out),
            Step::Trigger => self.put(Packet::Trigger, config, out),
            Step::Off => {
                self.stop(Reason::TraceOn, config, out);
                self.off = true;
            }
            Step::On => self.off = false,
            Step::Overflow => self.stop(Reason::Overflow, config, out),
            Step::Halted => {
                if self.start.is_none() {
                    self.settle(config, out);
                    self.raise(config, out);
                    self.pass();
                    self.update(config, out);
                    let (address, isa) = (self.sent.address, self.sent.isa);
                    self.branch(address, isa, DEBUG_ENTRY, config, out);
                }
                self.stop(Reason::DebugExit, config, out);
            }
            Step::Access(_)
            | Step::SoftwareWrite(_)
            | Step::DwtEvent(_)
            | Step::Events(_)
            | Step::Transaction(_)
            | Step::Instrumentation { .. }
            | Step::Signals(_) => {}
        }
    }

    fn finish(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        self.stop(Reason::TraceOn, config, out);
    }
}

impl Encoder {
    #[inline]
    fn retired(&mut self, retired: &Retired, config: &Config, out: &mut impl Extend<Packet>) {
        if self.off || !matches!(retired.instruction.isa, Isa::A32 | Isa::T32) {
            return;
        }
        self.settle(config, out);
        self.raise(config, out);
        self.pass();
        let due = self.start.is_some()
            || self.run.is_none()
                && self.settings.period != 0
                && self.bytes >= self.settings.period;
        if due {
            let reason = self.start.unwrap_or(Reason::Periodic);
            self.synchronise(reason, retired.address as u32, retired.instruction.isa, config, out);
        }
        if self.length >= LONG_RUN {
            self.update(config, out);
        }
        self.contexts(retired, config, out);
        self.last = Some(*retired);
    }

    /// Traces the last instruction.
    #[inline]
    fn settle(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        let Some(last) = self.last.take() else { return };
        let instruction = &last.instruction;
        let waypoint = match instruction.kind {
            Kind::Branch | Kind::Indirect => true,
            Kind::Isb => self.waypoints.isb,
            Kind::Barrier => self.waypoints.barrier,
            Kind::Wait => self.waypoints.wait,
            Kind::TimedWait => self.waypoints.timed_wait,
            Kind::TransactionStart => self.waypoints.transaction,
            Kind::Plain | Kind::Undefined => false,
        };
        if !waypoint {
            self.run = Some((last.address as u32, instruction.isa));
            self.length += u32::from(instruction.size);
            return;
        }
        (self.run, self.length) = (None, 0);
        let to = last.next as u32;
        let (branches, indirect) = (
            matches!(instruction.kind, Kind::Branch | Kind::Indirect),
            instruction.kind == Kind::Indirect,
        );
        // ETMCR.BranchBroadcast, bit [8]
        let broadcast = branches && config.control >> 8 & 1 != 0;
        if !last.taken || !indirect && !broadcast {
            self.atom(last.taken, config, out);
        } else if indirect && !broadcast && self.returned(to, last.next_isa, config) {
            self.atom(true, config, out);
        } else {
            // PFTv1.1: a packet before the branch states that it returns from an exception.
            if instruction.role == Role::ExceptionReturn && config.minor_version() == Some(1) {
                self.put(Packet::ExceptionReturn, config, out);
            }
            self.branch(to, last.next_isa, 0, config, out);
        }
        if last.taken && branches && instruction.role == Role::Call && config.uses_return_stack() {
            let next = (last.address as u32).wrapping_add(instruction.size.into());
            self.push(next, instruction.isa);
        }
    }

    /// Whether the return stack predicts the target of an indirect branch and no other information
    /// needs a branch packet. Pops the entry.
    fn returned(&mut self, to: u32, isa: Isa, config: &Config) -> bool {
        if !config.uses_return_stack() || self.privilege() != (self.sent.non_secure, self.sent.hyp)
        {
            return false;
        }
        let mut after = self.returns;
        let known = after.pop() == Some((to, isa));
        if known {
            self.returns = after;
        }
        known
    }

    /// Pushes a return address. The stack has the configured depth, which may be less than the
    /// decoder's.
    fn push(&mut self, address: u32, isa: Isa) {
        let depth = usize::from(self.settings.return_stack_depth);
        self.returns.push(address, isa);
        if self.returns.len() > depth {
            let mut newest = [(0, Isa::A32); 16];
            let mut rest = self.returns;
            for entry in newest.iter_mut().take(depth) {
                *entry = rest.pop().unwrap_or_default();
            }
            self.returns = Returns::default();
            for (address, isa) in newest.into_iter().take(depth).rev() {
                self.returns.push(address, isa);
            }
        }
    }

    #[inline]
    fn atom(&mut self, taken: bool, config: &Config, out: &mut impl Extend<Packet>) {
        if config.counts_cycles() {
            let cycles = core::mem::take(&mut self.cycles);
            return self.put(Packet::TimedAtom { taken, cycles }, config, out);
        }
        self.atoms = self.atoms << 1 | u8::from(!taken);
        self.count += 1;
        if self.count == 5 {
            self.flush(out);
        }
    }

    /// Emits the pending atoms. In the header a 1 is above the oldest of fewer than five atoms.
    fn flush(&mut self, out: &mut impl Extend<Packet>) {
        if self.count == 0 {
            return;
        }
        let atoms = core::mem::take(&mut self.atoms) & 0x1f;
        let above = 1u8 << core::mem::take(&mut self.count);
        self.bytes += 1;
        out.extend(Atoms::from_header(0x80 | (above | atoms) << 1).map(Packet::Atoms));
    }

    /// Emits the pending atoms, then a packet.
    fn put(&mut self, packet: Packet, config: &Config, out: &mut impl Extend<Packet>) {
        if !self.aligned {
            return;
        }
        self.flush(out);
        packet.emit(config, &mut Count(&mut self.bytes));
        out.extend([packet]);
    }

    fn count(&mut self, config: &Config) -> Option<u32> {
        config.counts_cycles().then(|| core::mem::take(&mut self.cycles))
    }

    /// The shortest encoding of an address: the low bits that changed, or the whole address.
    fn address(&mut self, address: u32, isa: Isa, info: bool) -> Address {
        let changed = address ^ self.sent.address;
        let same = isa == self.sent.isa;
        (self.sent.address, self.sent.isa) = (address, isa);
        // An address of one byte has no bit for information bytes.
        let least = if info { 2 } else { 1 };
        let short = (least..=4u8).find(|&bytes| {
            let low = Address::low(address, bytes, isa);
            same && changed.checked_shr(low.value(isa).1.into()).unwrap_or(0) == 0
        });
        match short {
            Some(bytes) => Address::low(address, bytes, isa),
            None => {
                let state = if isa == Isa::A32 { State::Arm } else { State::Thumb };
                Address::full(address, state)
            }
        }
    }

    fn privilege(&self) -> (bool, bool) {
        let non_secure = self.context.security == Some(Security::NonSecure);
        (non_secure, self.context.el == Some(2))
    }

    fn branch(
        &mut self,
        target: u32,
        isa: Isa,
        exception: u16,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        let (non_secure, hyp) = self.privilege();
        let changed = (non_secure, hyp) != (self.sent.non_secure, self.sent.hyp);
        let info = (exception != 0 || changed).then_some(Info {
            exception,
            non_secure,
            alternative: false,
            hyp,
        });
        (self.sent.non_secure, self.sent.hyp) = (non_secure, hyp);
        let address = self.address(target, isa, info.is_some());
        let cycles = self.count(config);
        self.put(Packet::Branch(Branch { address, info, cycles }), config, out);
    }

    /// Emits a waypoint update at the last instruction of straight code.
    fn update(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        self.length = 0;
        if let Some((address, isa)) = self.run.take() {
            let address = self.address(address, isa, false);
            self.put(Packet::Waypoint(Waypoint { address, alternative: None }), config, out);
        }
    }

    #[cold]
    fn synchronise(
        &mut self,
        reason: Reason,
        address: u32,
        isa: Isa,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        if !self.aligned || reason == Reason::Periodic {
            self.aligned = true;
            self.put(Packet::Align, config, out);
            self.bytes = 0;
            self.sent.time = None;
        }
        self.start = None;
        let (non_secure, hyp) = self.privilege();
        let cycles = if reason == Reason::Periodic { None } else { self.count(config) };
        let context_id = (config.context_id_bytes() > 0).then(|| self.context_id(config));
        let thumb = isa == Isa::T32;
        let sync = Sync {
            address,
            thumb,
            reason,
            non_secure,
            alternative: false,
            hyp,
            cycles,
            context_id,
        };
        self.put(Packet::Sync(sync), config, out);
        self.returns = Returns::default();
        (self.run, self.length) = (None, 0);
        self.sent = Sent { address, isa, non_secure, hyp, context_id, ..self.sent };
    }

    fn context_id(&self, config: &Config) -> u32 {
        let id = self.context.context_id.unwrap_or(0);
        match config.context_id_bytes() {
            1 => id & 0xff,
            2 => id & 0xffff,
            _ => id,
        }
    }

    /// Traces the context from here on, where it changed.
    fn contexts(&mut self, retired: &Retired, config: &Config, out: &mut impl Extend<Packet>) {
        if self.privilege() != (self.sent.non_secure, self.sent.hyp) {
            // No branch packet states the change, so an I-sync does.
            self.update(config, out);
            let (address, isa) = (retired.address as u32, retired.instruction.isa);
            self.synchronise(Reason::Periodic, address, isa, config, out);
        }
        if config.context_id_bytes() > 0 {
            let id = self.context_id(config);
            if self.sent.context_id != Some(id) {
                self.update(config, out);
                self.sent.context_id = Some(id);
                self.put(Packet::ContextId(id), config, out);
            }
        }
        let vmid = self.context.vmid.map(|vmid| vmid as u8);
        if config.vmid() && vmid.is_some() && self.sent.vmid != vmid {
            self.update(config, out);
            self.sent.vmid = vmid;
            self.put(Packet::Vmid(vmid.unwrap_or(0)), config, out);
        }
    }

    fn exception(&mut self, taken: &Taken, config: &Config, out: &mut impl Extend<Packet>) {
        if taken.cancels {
            self.last = None;
        }
        self.settle(config, out);
        self.raise(config, out);
        self.pass();
        if self.start.is_none() {
            self.update(config, out);
            self.raised = Some(*taken);
        }
    }

    /// Emits the pending exception.
    #[inline]
    fn raise(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        if let Some(Taken { target, target_isa, cause, .. }) = self.raised.take() {
            self.branch(target as u32, target_isa, number(cause), config, out);
        }
    }

    /// Adds the cycles after the last instruction to the next count.
    #[inline]
    fn pass(&mut self) {
        self.cycles = self.cycles.saturating_add(core::mem::take(&mut self.ahead));
    }

    fn timestamp(&mut self, value: u64, config: &Config, out: &mut impl Extend<Packet>) {
        // ETMCR.TimestampEn, bit [28].
        if config.control >> 28 & 1 == 0 || self.start.is_some() {
            return;
        }
        self.settle(config, out);
        self.raise(config, out);
        self.pass();
        let width = config.timestamp_bits();
        let code = if config.timestamps_are_binary() { value } else { gray(value) };
        let code = code & u64::MAX >> (64 - width);
        let before = self.sent.time.replace(code);
        // The byte from this bit on has no continuation bit and holds the remaining bits.
        let last: u8 = if width == 48 { 42 } else { 56 };
        let short =
            before.and_then(|before| (7..=last).step_by(7).find(|&n| (code ^ before) >> n == 0));
        let (bits, count) = match short {
            Some(count) => (code & ((1 << count) - 1), count),
            None => (code, width),
        };
        let cycles = self.count(config);
        self.put(
            Packet::Timestamp(Timestamp { clock_changed: false, bits, count, cycles }),
            config,
            out,
        );
    }

    /// Stops tracing: emits everything that is pending.
    fn stop(&mut self, reason: Reason, config: &Config, out: &mut impl Extend<Packet>) {
        self.settle(config, out);
        self.raise(config, out);
        self.pass();
        if self.start.is_none() {
            self.update(config, out);
            self.flush(out);
            self.start = Some(reason);
        } else if reason != Reason::TraceOn {
            self.start = Some(reason);
        }
    }
}

/// The exception number of a cause. (IHI 0035, "Exception field")
const fn number(cause: Cause) -> u16 {
    match cause {
        Cause::Number(n) => n & 0x1ff,
        Cause::Halt => DEBUG_ENTRY,
        Cause::Trap => 0x3,
        Cause::SystemError => 0x4,
        Cause::Reset => 0x8,
        Cause::Undefined => 0x9,
        Cause::Call => 0xa,
        Cause::InstructionFault | Cause::InstructionDebug => 0xb,
        Cause::DataFault | Cause::DataDebug | Cause::Alignment => 0xc,
        Cause::Vector(_) | Cause::Riscv { .. } => 0xd,
        Cause::Irq => 0xe,
        Cause::Fiq => 0xf,
    }
}
