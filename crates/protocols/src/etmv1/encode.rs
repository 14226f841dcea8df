//! A trace unit in software: processor steps to the cycles of an ETMv1's port.
//!
//! An instruction takes one core cycle, and one more for each transfer after its first. A branch
//! takes two more, which show its address packet offset. The status comes in the last of these
//! cycles; data may come before it. (5.7.2) Where ETMCR.Stall is set the processor waits while the
//! FIFO is full. Otherwise the FIFO overflows: bytes without room are lost, and tracing starts
//! again when the FIFO is empty.

use tracewright_base::{Access, Encode, Isa, Kind, Retired, Start, Step, Taken};
use tracewright_frames::cycles::{Cycle, DISABLED, TRIGGER, Width};

use super::packet::{Address, Last, Reason};
use super::{Config, Packet};
use crate::flow::in_vector_table;
use crate::port_unit::{self, Common, Interruption, Unit, UnitState, Waiting, groups, traced};
use crate::trace_unit::Setting;

/// Settings beside the registers that a decoder reads.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The settings that ETMv1 and ETMv2 share.
    pub common: Common,
    /// Data instructions of 256 whose data come before the status.
    pub early: u8,
    /// Starts after an overflow, of 256, that follow another start with a wrong address.
    pub speculation: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Settings::new(&|_| None)
    }
}

impl Settings {
    /// Reads settings by name; an absent one has its default.
    pub fn new(setting: &dyn Fn(&str) -> Option<u64>) -> Self {
        let rate = |name| setting(name).unwrap_or(0).min(255) as u8;
        Settings {
            common: Common::new(setting, 45),
            early: rate("early-data"),
            speculation: rate("speculation"),
        }
    }
}

/// Every setting and its description.
pub(super) const SETTINGS: &[Setting] = &[
    port_unit::FIFO,
    port_unit::SEED,
    port_unit::NOISE,
    port_unit::WAITS,
    port_unit::HASTY,
    Setting::new("early-data", "of 256 data instructions: those whose data come before the status"),
    Setting::new("speculation", "of 256 starts after an overflow: those preceded by a wrong one"),
];

/// The encoder of ETMv1.
#[derive(Clone, Debug)]
pub struct Encoder {
    settings: Settings,
    state: UnitState,
    /// The last branch address that was sent, and whether it was in Jazelle state.
    base: Option<(u32, bool)>,
    /// The last data address that was sent.
    data: Option<u32>,
    /// Cycles since a whole branch address was sent.
    since: u32,
    /// Cycles since a whole data address was sent.
    since_data: u32,
}

/// Cycles between whole addresses. (5.6.2)
const PERIOD: u32 = 1024;
/// Further cycles for which a whole address may wait for room in the FIFO.
const GRACE: u32 = 512;
/// The offset value for "too large to encode". (5.6.1)
const TOO_LARGE: usize = 15;

/// Statuses. (Table 5-1)
const EXECUTED: u8 = 0;
const DATA: u8 = 1;
const NOT_EXECUTED: u8 = 2;
const WAIT: u8 = 3;
const BRANCH: u8 = 4;

/// The target of a branch, and why its address is traced.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    to: u32,
    jazelle: bool,
    reason: Reason,
}

impl Encode<Config, Packet> for Encoder {
    type Settings = Settings;

    fn new(config: &Config, settings: &Settings) -> Self {
        let mut settings = *settings;
        if config.width() == Width::W16 {
            // One byte may have to wait for a second one, so the FIFO holds at least 10.
            settings.common.fifo = settings.common.fifo.max(10);
        }
        Encoder {
            state: UnitState::new(settings.common),
            settings,
            base: None,
            data: None,
            since: 0,
            since_data: 0,
        }
    }

    fn step(&mut self, step: &Step, config: &Config, out: &mut impl Extend<Packet>) {
        self.take_step(step, config, out);
    }

    fn finish(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        self.end(config, out);
        self.drain(config, out);
    }
}

impl Unit<Config> for Encoder {
    type Packet = Packet;
    type Target = Target;

    fn state(&mut self) -> &mut UnitState {
        &mut self.state
    }

    fn context_bytes(config: &Config) -> usize {
        config.context_bytes()
    }

    fn flush(&mut self, exception: Option<Target>, config: &Config, out: &mut impl Extend<Packet>) {
        let Some(waiting) = self.state.waiting.take() else { return };
        if self.state.full && !self.recover(config, out) {
            return;
        }
        if let Some(start) = self.state.start.take() {
            self.begin(&waiting.retired, start.into(), config, out);
            if self.state.full {
                return;
            }
        }
        self.wait(&waiting, config, out);
        self.execute(&waiting, exception, config, out);
    }

    fn jumped(&mut self, _config: &Config, _out: &mut impl Extend<Packet>) {
        self.state.start.get_or_insert(Start::Normal);
    }

    fn raise(
        &mut self,
        taken: &Taken,
        interruption: Interruption,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        if let (Interruption::Cancelled, Some(waiting)) = (interruption, &mut self.state.waiting) {
            waiting.accesses.clear();
        }
        let target = Target {
            to: traced(taken.target, taken.target_isa),
            jazelle: taken.target_isa == Isa::Jazelle,
            reason: Reason::Branch,
        };
        self.flush(Some(target), config, out);
    }

    /// The status of the branch represents the instruction that did not execute.
    fn cancelled(&mut self, taken: &Taken) -> Retired {
        Retired { address: taken.return_address, taken: true, ..Retired::default() }
    }

    fn pause(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        self.clock(WAIT, false, config, out);
    }
}

/// The processor side.
impl Encoder {
    /// Tracing starts with the next instruction. (5.8.1, 5.9)
    fn begin(
        &mut self,
        first: &Retired,
        reason: Reason,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        self.data = None;
        self.state.context_changed = false;
        let isa = first.instruction.isa;
        let target =
            Target { to: traced(first.address, isa), jazelle: isa == Isa::Jazelle, reason };
        let speculative = reason == Reason::Overflow && self.often(self.settings.speculation);
        if speculative {
            let wrong = Target { to: target.to ^ 0x40, ..target };
            let cycles = 1 + (self.state.noise.next() & 1) as usize;
            self.branch_status(BRANCH, wrong, cycles - 1, config, out);
        }
        self.branch_status(BRANCH, target, 2, config, out);
    }

    fn often(&mut self, of_256: u8) -> bool {
        self.state.noise.often(of_256)
    }

    fn execute(
        &mut self,
        waiting: &Waiting,
        exception: Option<Target>,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        let retired = &waiting.retired;
        if waiting.is_split() && exception.is_none() {
            self.clock(EXECUTED, false, config, out);
        }
        let target = match exception {
            Some(target) => {
                let (reason, _) = self.periodic(false, config);
                Some(Target { reason, ..target })
            }
            None => self.traced_target(retired, config),
        };
        let traced = self.traces(waiting, config);
        if traced {
            self.put_data(waiting, target.is_some(), config, out);
        }
        let status = match (retired.taken, traced) {
            (false, _) => NOT_EXECUTED,
            (true, true) => DATA,
            (true, false) => EXECUTED,
        };
        match target {
            Some(target) => self.branch_status(BRANCH | u8::from(traced), target, 2, config, out),
            None => self.clock(status, false, config, out),
        }
    }

    /// The target of `retired`, where its address is traced.
    fn traced_target(&mut self, retired: &Retired, config: &Config) -> Option<Target> {
        let direct = match retired.instruction.kind {
            _ if !retired.taken => return None,
            Kind::Branch => true,
            Kind::Indirect => false,
            _ => return None,
        };
        let (reason, forced) = self.periodic(direct, config);
        let sent = !direct
            || forced
            || config.control.branch_output()
            || in_vector_table(retired.next as u32, config.core.high_vectors);
        let to = traced(retired.next, retired.next_isa);
        sent.then_some(Target { to, jazelle: retired.next_isa == Isa::Jazelle, reason })
    }

    /// The reason of the next address, and whether the whole address must be sent. (5.6.2, 5.6.3)
    fn periodic(&mut self, direct: bool, config: &Config) -> (Reason, bool) {
        let whole = 5 + config.context_bytes();
        let overdue = self.since >= PERIOD + GRACE;
        let room = self.state.fifo.len() + whole <= self.state.common.fifo;
        let due = self.since >= PERIOD && !direct && room;
        let context = self.state.context_changed && config.context_bytes() > 0;
        if !(overdue || due || context) {
            return (Reason::Branch, false);
        }
        // ETMv1.2 has a separate reason for a periodic address.
        if config.minor >= 2 {
            return (Reason::Periodic, true);
        }
        self.base = None;
        (Reason::Branch, true)
    }

    /// Whether the data of the instruction are traced.
    fn traces(&self, waiting: &Waiting, config: &Config) -> bool {
        let control = config.control;
        !waiting.accesses.is_empty()
            && match waiting.coprocessor() {
                true => control.coprocessor() && control.values(),
                false => control.values() || control.addresses(),
            }
    }

    /// Puts the data of an instruction into the FIFO, in its last cycle or before it.
    fn put_data(
        &mut self,
        waiting: &Waiting,
        branches: bool,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        let early = self.often(self.settings.early);
        let last = waiting.accesses.len().saturating_sub(1);
        let mut bytes = [0; 9];
        for (n, access) in waiting.accesses.iter().enumerate() {
            let len = self.bytes(access, n == 0, config, &mut bytes);
            self.room(len, config, out);
            for &byte in bytes.get(..len).unwrap_or_default() {
                self.push(byte, false);
            }
            // A branch needs room for its address as well.
            let tight = branches && self.state.fifo.len() + 9 > self.state.common.fifo;
            if n < last || early || tight {
                self.clock(WAIT, false, config, out);
            }
        }
    }

    /// Writes the bytes of one transfer to `out` and returns their number. (5.7.3)
    fn bytes(&mut self, access: &Access, first: bool, config: &Config, out: &mut [u8; 9]) -> usize {
        let mut len = 0;
        let mut put = |byte: u8| {
            if let Some(slot) = out.get_mut(len) {
                *slot = byte;
                len += 1;
            }
        };
        let coprocessor = access.has(Access::COPROCESSOR);
        if first && config.control.addresses() && !coprocessor {
            let address = access.address().unwrap_or(0) as u32;
            let base = self.data.filter(|_| self.since_data < PERIOD);
            self.data = Some(address);
            let count = match base {
                Some(base) => groups(address ^ base),
                None => 5,
            };
            if count == 5 {
                self.since_data = 0;
            }
            for n in 0..count {
                let more = if n + 1 < count { 0x80 } else { 0 };
                let mask = if n == 4 { 0xf } else { 0x7f };
                put((address >> (7 * n)) as u8 & mask | more);
            }
        }
        if config.control.values() {
            let size = usize::from(access.size).min(4);
            let value = (access.value().unwrap_or(0) as u32).to_le_bytes();
            for n in 0..size {
                let n = if config.core.big_endian { size - 1 - n } else { n };
                put(value.get(n).copied().unwrap_or(0));
            }
        }
        len
    }
}

/// The FIFO and the port.
impl Encoder {
    /// Waits until the FIFO has room for `len` bytes. Without ETMCR.Stall it does not wait.
    fn room(&mut self, len: usize, config: &Config, out: &mut impl Extend<Packet>) {
        let depth = self.state.common.fifo;
        let mut stuck = 0;
        // A trigger takes a cycle without FIFO output. A 16-bit port may wait for a second byte.
        while config.control.stall() && self.state.fifo.len() + len > depth && stuck < 4 {
            let before = (self.state.fifo.len(), self.state.fifo.is_half());
            self.clock(WAIT, false, config, out);
            stuck = if before == (self.state.fifo.len(), self.state.fifo.is_half()) {
                stuck + 1
            } else {
                0
            };
        }
    }

    /// Puts a byte into the FIFO, if it has room.
    fn push(&mut self, byte: u8, sync: bool) {
        if self.state.fifo.len() < self.state.common.fifo && !self.state.full {
            self.state.fifo.push(byte, sync);
        } else {
            self.state.full = true;
        }
    }

    /// Emits a branch status and `cycles` of its offset cycles.
    fn branch_status(
        &mut self,
        status: u8,
        target: Target,
        cycles: usize,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        let address = self.address(target, config);
        let mut bytes = Bytes::default();
        address.emit(config, &mut bytes);
        self.room(bytes.len, config, out);
        let offset = self.state.fifo.addresses().min(TOO_LARGE) as u8;
        // The FIFO takes a whole address or none of it.
        self.state.full |= self.state.fifo.len() + bytes.len > self.state.common.fifo;
        for (n, &byte) in bytes.bytes.iter().take(bytes.len).enumerate() {
            self.push(byte, n == 0);
        }
        self.clock(status, false, config, out);
        for shift in [0, 2].into_iter().take(cycles) {
            self.clock(offset >> shift & 0b11, true, config, out);
        }
    }

    /// The shortest address. (5.5.4)
    fn address(&mut self, target: Target, config: &Config) -> Address {
        let before = self.base.replace((target.to, target.jazelle));
        let count = match before {
            Some((base, jazelle))
                if jazelle == target.jazelle && target.reason == Reason::Branch =>
            {
                groups(target.to ^ base)
            }
            _ => 5,
        };
        if count < 5 {
            let count = 7 * count;
            return Address { bits: target.to & ((1 << count) - 1), count, last: None };
        }
        self.since = 0;
        let id = target.reason != Reason::Branch && config.context_bytes() > 0;
        if id {
            self.state.context_changed = false;
        }
        let last = Last {
            reason: target.reason,
            jazelle: target.jazelle,
            context_id: id.then_some(self.state.context_id),
        };
        Address { bits: target.to, count: 32, last: Some(last) }
    }

    /// Emits one cycle. `offset`: `status` has bits of an offset.
    fn clock(&mut self, status: u8, offset: bool, config: &Config, out: &mut impl Extend<Packet>) {
        let noise = self.state.tick(config.width());
        self.since = self.since.saturating_add(1);
        self.since_data = self.since_data.saturating_add(1);
        if core::mem::take(&mut self.state.trigger) {
            let packet = noise & !0b111 | u16::from(status);
            out.extend([Packet::of(Cycle { status: TRIGGER, sync: false, packet })]);
            return;
        }
        let wait = status == WAIT && !offset;
        let cycle = match self.shown(wait, config.width(), noise) {
            Some((packet, sync)) => Cycle { status, sync, packet },
            None if wait => {
                // Cycles count while tracing is on.
                let counts = config.control.cycle_accurate() && self.state.on && !self.state.full;
                let packet = noise & !1 | u16::from(counts);
                Cycle { status: DISABLED, sync: false, packet }
            }
            None => Cycle { status, sync: false, packet: noise },
        };
        out.extend([Packet::of(cycle)]);
    }

    /// The FIFO output for TRACEPKT, and whether an address begins.
    fn shown(&mut self, wait: bool, width: Width, noise: u16) -> Option<(u16, bool)> {
        match width {
            Width::W4 => {
                let (half, sync) = self.state.fifo.pop_half()?;
                Some((half.into(), sync))
            }
            Width::W8 => self.state.fifo.pop().map(|byte| (byte.value.into(), byte.sync)),
            Width::W16 => {
                let (first, second) = (self.state.fifo.get(0)?, self.state.fifo.get(1));
                match second {
                    Some(second) if !second.sync => {
                        self.state.fifo.pop();
                        self.state.fifo.pop();
                        Some((u16::from(first.value) | u16::from(second.value) << 8, first.sync))
                    }
                    // A single byte waits where a decoder could take its padding for data. (5.3.1)
                    None if wait && self.state.on && !self.state.full => None,
                    _ => {
                        self.state.fifo.pop();
                        Some((u16::from(first.value) | noise & 0xff00, first.sync))
                    }
                }
            }
        }
    }
}

/// The bytes of an address.
#[derive(Default)]
struct Bytes {
    bytes: [u8; super::packet::MAX_ADDRESS_LEN],
    len: usize,
}

impl Extend<u8> for Bytes {
    fn extend<T: IntoIterator<Item = u8>>(&mut self, bytes: T) {
        for byte in bytes {
            if let Some(slot) = self.bytes.get_mut(self.len) {
                *slot = byte;
                self.len += 1;
            }
        }
    }
}
