//! The common part of the ETMv1 and ETMv2 encoders: trace units that drive a port cycle by cycle.

use alloc::vec::Vec;

use tracewright_base::{Access, Cause, Direction, Isa, Kind, Retired, Start, Step, Taken};
use tracewright_frames::cycles::Width;

use crate::fifo::{Fifo, Noise};
use crate::trace_unit::Setting;

/// Settings of both units beside the registers that a decoder reads.
#[derive(Clone, Copy, Debug)]
pub struct Common {
    /// Depth of the FIFO in bytes, 9 to 95.
    pub fifo: usize,
    /// Seed of the random choices.
    pub seed: u64,
    /// Pins without meaning show noise.
    pub noise: bool,
    /// Instructions of 256 before which the processor waits.
    pub waits: u8,
    /// The FIFO is not drained between switching tracing off and on again.
    pub hasty: bool,
}

impl Common {
    pub(crate) fn new(setting: &dyn Fn(&str) -> Option<u64>, fifo: u64) -> Self {
        let or = |name, default| setting(name).unwrap_or(default);
        Common {
            fifo: or("fifo", fifo).clamp(9, 95) as usize,
            seed: or("seed", 1),
            noise: or("noise", 0) != 0,
            waits: or("waits", 0).min(255) as u8,
            hasty: or("hasty", 0) != 0,
        }
    }
}

pub(crate) const fn setting(name: &'static str, about: &'static str) -> Setting {
    Setting { name, about }
}

pub(crate) const FIFO: Setting =
    setting("fifo", "depth of the FIFO in bytes, 9 to 95; without ETMCR.Stall it can overflow");
pub(crate) const SEED: Setting = setting("seed", "seed of the random choices");
pub(crate) const NOISE: Setting = setting("noise", "1: pins without meaning show noise");
pub(crate) const WAITS: Setting =
    setting("waits", "of 256 instructions: those before which the processor waits");
pub(crate) const HASTY: Setting =
    setting("hasty", "1: tracing can start again before the FIFO is drained");

/// The last retired instruction. Steps that follow add its accesses, its cycles and exceptions.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) retired: Retired,
    /// Its data accesses, of at most a word each.
    pub(crate) accesses: Vec<Access>,
    /// The cycles that it took, where known.
    pub(crate) cycles: Option<u32>,
}

impl Waiting {
    pub(crate) const fn new(retired: Retired) -> Self {
        Waiting { retired, accesses: Vec::new(), cycles: None }
    }

    /// Adds an access; one of 64 bits is added as two words.
    pub(crate) fn add_access(&mut self, access: &Access) {
        if access.size != 8 {
            return self.accesses.push(*access);
        }
        let flags = access.flags;
        for (n, shift) in [(0u64, 0), (4, 32)] {
            let more = if n == 0 { 0 } else { Access::CONTINUED };
            let mut half = Access::new(access.direction, 4, flags | more);
            if let Some(address) = access.address() {
                half = half.at(address.wrapping_add(n));
            }
            if let Some(value) = access.value() {
                half = half.of(value >> shift & 0xffff_ffff);
            }
            self.accesses.push(half);
        }
    }

    /// Whether it transferred a coprocessor register.
    pub(crate) fn coprocessor(&self) -> bool {
        self.accesses.iter().any(|access| access.has(Access::COPROCESSOR))
    }

    /// Whether it accesses no data and continues with the next instruction.
    pub(crate) fn is_plain(&self) -> bool {
        let instruction = &self.retired.instruction;
        self.accesses.is_empty() && instruction.kind == Kind::Plain && !self.is_split()
    }

    /// Whether it is a load or store multiple that continues with the next instruction.
    pub(crate) fn is_multiple(&self) -> bool {
        self.accesses.len() > 1
            && self.retired.instruction.kind == Kind::Plain
            && !self.coprocessor()
            && !self.is_split()
    }

    /// Whether it is a load multiple with the PC, the last register of its list.
    pub(crate) fn loads_pc(&self) -> bool {
        let load = |access: &Access| access.direction == Direction::Read;
        self.retired.instruction.kind == Kind::Indirect
            && self.accesses.len() > 1
            && self.accesses.iter().all(load)
    }

    /// Whether its two halves have a status each: a T32 BL before Thumb-2.
    pub(crate) fn is_split(&self) -> bool {
        let instruction = &self.retired.instruction;
        instruction.isa == Isa::T32 && instruction.size == 4 && self.retired.taken
    }

    /// The relation of the exception `taken` to this instruction.
    pub(crate) fn interrupted(&self, taken: &Taken) -> Interruption {
        let here = taken.return_address == self.retired.address;
        match taken.cause {
            _ if taken.cancels => Interruption::Cancelled,
            Cause::Call => Interruption::Executed,
            Cause::DataFault | Cause::Undefined | Cause::Trap | Cause::SystemError if here => {
                Interruption::Executed
            }
            _ => Interruption::Before,
        }
    }
}

/// The relation of an exception to the last retired instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// The instruction caused the exception, and executed.
    Executed,
    /// The exception cancelled the instruction.
    Cancelled,
    /// The instruction completed; the exception replaced the next one.
    Before,
}

/// An address as it is traced, with T in bit \[0].
pub(crate) fn traced(address: u64, isa: Isa) -> u32 {
    address as u32 | u32::from(isa == Isa::T32)
}

/// The state that both units have.
#[derive(Clone, Debug)]
pub(crate) struct UnitState {
    pub(crate) common: Common,
    pub(crate) noise: Noise,
    pub(crate) fifo: Fifo,
    /// The last retired instruction, not yet traced.
    pub(crate) waiting: Option<Waiting>,
    /// Tracing starts with the next instruction, for this reason.
    pub(crate) start: Option<Start>,
    /// Tracing is on.
    pub(crate) on: bool,
    /// The FIFO overflowed: it takes no bytes until it is empty.
    pub(crate) full: bool,
    /// Address of the next instruction, unless an exception or a gap comes before it.
    pub(crate) next: u64,
    pub(crate) context_id: u32,
    /// The context ID has changed and has not been traced since.
    pub(crate) context_changed: bool,
    /// The next cycle shows the trigger.
    pub(crate) trigger: bool,
    /// Cycles since the last [`Step::Cycles`].
    pub(crate) cycles: u32,
}

impl UnitState {
    pub(crate) fn new(common: Common) -> Self {
        UnitState {
            common,
            noise: Noise::new(common.seed),
            fifo: Fifo::default(),
            waiting: None,
            start: Some(Start::Normal),
            on: true,
            full: false,
            next: 0,
            context_id: 0,
            context_changed: false,
            trigger: false,
            cycles: 0,
        }
    }

    /// Counts a cycle and returns noise for its TRACEPKT pins; 0 where pins without meaning are 0.
    pub(crate) fn tick(&mut self, width: Width) -> u16 {
        self.cycles = self.cycles.saturating_add(1);
        if self.common.noise { self.noise.next() as u16 & width.mask() } else { 0 }
    }
}

/// Groups of 7 bits of an address that a packet needs where `changed` are the bits that differ from
/// the base: 1 to 5. The fifth group has the last 4 bits.
pub(crate) const fn groups(changed: u32) -> u8 {
    match changed.leading_zeros() {
        25.. => 1,
        18.. => 2,
        11.. => 3,
        4.. => 4,
        _ => 5,
    }
}

/// The common behaviour of both units: they follow the processor and wait for the port.
pub(crate) trait Unit<C> {
    type Packet;

    /// The target of a branch.
    type Target;

    /// The common state.
    fn state(&mut self) -> &mut UnitState;

    /// Bytes of a context ID that are traced.
    fn context_bytes(config: &C) -> usize;

    /// Traces the waiting instruction. `exception`: the vector that it branches to.
    fn flush(
        &mut self,
        exception: Option<Self::Target>,
        config: &C,
        out: &mut impl Extend<Self::Packet>,
    );

    /// Traces every waiting instruction, because no instruction follows for now.
    fn end(&mut self, config: &C, out: &mut impl Extend<Self::Packet>) {
        self.flush(None, config, out);
    }

    /// The next instruction is not the expected one, without a step that explains it.
    fn jumped(&mut self, config: &C, out: &mut impl Extend<Self::Packet>);

    /// Traces the waiting instruction and then the exception.
    fn raise(
        &mut self,
        taken: &Taken,
        interruption: Interruption,
        config: &C,
        out: &mut impl Extend<Self::Packet>,
    );

    /// The instruction that an exception cancelled before it was retired.
    fn cancelled(&mut self, taken: &Taken) -> Retired;

    /// Emits a cycle in which no instruction begins.
    fn pause(&mut self, config: &C, out: &mut impl Extend<Self::Packet>);

    /// Ends an overflow once the FIFO is empty: tracing starts again with the waiting instruction.
    /// Emits a cycle, and returns `false` where the FIFO is not empty after it.
    fn recover(&mut self, config: &C, out: &mut impl Extend<Self::Packet>) -> bool {
        self.pause(config, out);
        let state = self.state();
        if !state.fifo.is_empty() {
            return false;
        }
        (state.full, state.start) = (false, Some(Start::Overflow));
        true
    }

    /// Waits for late values.
    fn settle(&mut self, config: &C, out: &mut impl Extend<Self::Packet>) {
        let _ = (config, out);
    }

    /// Takes a step of the processor.
    fn take_step(&mut self, step: &Step, config: &C, out: &mut impl Extend<Self::Packet>) {
        match step {
            Step::Retired(retired) => self.retired(retired, config, out),
            Step::Access(access) => {
                if let Some(waiting) = &mut self.state().waiting {
                    waiting.add_access(access);
                }
            }
            Step::Exception(taken) => self.exception(taken, config, out),
            Step::Context(context) => {
                if let Some(id) = context.context_id {
                    let mask = match Self::context_bytes(config) {
                        0 => 0,
                        bytes => u32::MAX >> (32 - 8 * bytes),
                    };
                    let state = self.state();
                    state.context_changed |= (id ^ state.context_id) & mask != 0;
                    state.context_id = id;
                }
            }
            Step::Cycles(cycles) => {
                let state = self.state();
                let left = cycles.saturating_sub(core::mem::take(&mut state.cycles));
                match &mut state.waiting {
                    Some(waiting) => waiting.cycles = Some(left),
                    None => self.idle(left, config, out),
                }
            }
            Step::Trigger => self.state().trigger = true,
            Step::Off => self.stop(false, config, out),
            Step::Halted => self.stop(true, config, out),
            Step::On => self.state().on = true,
            Step::Overflow => {
                self.end(config, out);
                self.state().full = true;
            }
            Step::SoftwareWrite(_)
            | Step::DwtEvent(_)
            | Step::Timestamp(_)
            | Step::Events(_)
            | Step::Transaction(_)
            | Step::Instrumentation { .. }
            | Step::Signals(_) => {}
        }
    }

    fn retired(&mut self, retired: &Retired, config: &C, out: &mut impl Extend<Self::Packet>) {
        self.flush(None, config, out);
        if !self.state().on {
            return;
        }
        if retired.address != self.state().next {
            self.jumped(config, out);
        }
        self.state().next = retired.next;
        self.state().waiting = Some(Waiting::new(*retired));
    }

    fn exception(&mut self, taken: &Taken, config: &C, out: &mut impl Extend<Self::Packet>) {
        if !self.state().on {
            return;
        }
        let waiting = self.state().waiting.as_mut();
        let interruption =
            waiting.as_ref().map_or(Interruption::Before, |waiting| waiting.interrupted(taken));
        match (interruption, waiting) {
            (Interruption::Cancelled, Some(waiting)) => waiting.retired.instruction.size = 2,
            (Interruption::Before, _) => {
                self.flush(None, config, out);
                let cancelled = self.cancelled(taken);
                self.state().waiting = Some(Waiting::new(cancelled));
            }
            _ => {}
        }
        self.raise(taken, interruption, config, out);
        self.state().next = taken.target;
    }

    /// Tracing stops. No step reports that it is on again after Debug state.
    fn stop(&mut self, halted: bool, config: &C, out: &mut impl Extend<Self::Packet>) {
        self.end(config, out);
        self.state().on = halted;
        if !self.state().full {
            self.state().start = Some(if halted { Start::Debug } else { Start::Normal });
        }
        if halted {
            self.settle(config, out);
        }
        if self.state().common.hasty {
            let cycles = self.state().noise.next() & 7;
            self.idle(cycles, config, out);
        } else {
            self.drain(config, out);
        }
    }

    /// Emits the cycles before those that an instruction needs.
    fn wait(&mut self, waiting: &Waiting, config: &C, out: &mut impl Extend<Self::Packet>) {
        let needs = waiting.accesses.len().max(1) as u32 + u32::from(waiting.is_split());
        let state = self.state();
        if let Some(cycles) = waiting.cycles {
            self.idle(cycles.saturating_sub(needs), config, out);
        } else if state.noise.often(state.common.waits) {
            let cycles = state.noise.next() & 0xf;
            self.idle(cycles, config, out);
        }
    }

    fn idle(&mut self, cycles: u32, config: &C, out: &mut impl Extend<Self::Packet>) {
        for _ in 0..cycles {
            self.pause(config, out);
        }
    }

    /// Drains the FIFO; then the port shows that tracing is off.
    fn drain(&mut self, config: &C, out: &mut impl Extend<Self::Packet>) {
        self.settle(config, out);
        let on = core::mem::replace(&mut self.state().on, false);
        while !self.state().fifo.is_empty() || self.state().trigger {
            self.pause(config, out);
        }
        self.pause(config, out);
        self.state().on = on;
    }
}
