//! What trace units in software share that have a port and no bytes: ETMv1 and ETMv2.

use alloc::vec::Vec;

use tracewright_base::{Access, Cause, Direction, Isa, Kind, Retired, Start, Step, Taken};
use tracewright_frames::cycles::Width;

use crate::fifo::{Fifo, Noise};
use crate::trace_unit::Setting;

/// What such a unit can be told beside the registers that a decoder reads.
#[derive(Clone, Copy, Debug)]
pub struct Common {
    /// Bytes that the FIFO holds.
    pub fifo: usize,
    /// Seeds what is chosen at random.
    pub seed: u64,
    /// Pins that say nothing show noise.
    pub noise: bool,
    /// How often, of 256 instructions, the processor waits before one.
    pub waits: u8,
    /// When tracing is switched off and on again, the FIFO is not drained in between.
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
    setting("fifo", "bytes that the FIFO holds, 9 to 95; without ETMCR.Stall it can overflow");
pub(crate) const SEED: Setting = setting("seed", "of what is chosen at random");
pub(crate) const NOISE: Setting = setting("noise", "1: pins that say nothing show noise");
pub(crate) const WAITS: Setting = setting("waits", "of 256 instructions: those that come late");
pub(crate) const HASTY: Setting =
    setting("hasty", "1: tracing goes on before the FIFO is drained after it was off");

/// An instruction that was retired, and waits for what it moved and for what happened to it.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) retired: Retired,
    pub(crate) moved: Vec<Access>,
    /// Cycles that it took, where that is known.
    pub(crate) cycles: Option<u32>,
}

impl Waiting {
    pub(crate) const fn new(retired: Retired) -> Self {
        Waiting { retired, moved: Vec::new(), cycles: None }
    }

    /// Adds an access, in words.
    pub(crate) fn moves(&mut self, access: &Access) {
        if access.size != 8 {
            return self.moved.push(*access);
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
            self.moved.push(half);
        }
    }

    /// It transferred a coprocessor register.
    pub(crate) fn coprocessor(&self) -> bool {
        self.moved.iter().any(|access| access.has(Access::COPROCESSOR))
    }

    /// It moves nothing and goes on to the next instruction.
    pub(crate) fn is_plain(&self) -> bool {
        let instruction = &self.retired.instruction;
        self.moved.is_empty() && instruction.kind == Kind::Plain && !self.in_halves()
    }

    /// It is a load or store multiple that goes on to the next instruction.
    pub(crate) fn is_multiple(&self) -> bool {
        self.moved.len() > 1
            && self.retired.instruction.kind == Kind::Plain
            && !self.coprocessor()
            && !self.in_halves()
    }

    /// It is a load multiple that has the PC, which is the last in its list.
    pub(crate) fn loads_pc(&self) -> bool {
        let load = |access: &Access| access.direction == Direction::Read;
        self.retired.instruction.kind == Kind::Indirect
            && self.moved.len() > 1
            && self.moved.iter().all(load)
    }

    /// Its halves have a status each: a BL before Thumb-2.
    pub(crate) fn in_halves(&self) -> bool {
        let instruction = &self.retired.instruction;
        instruction.isa == Isa::T32 && instruction.size == 4 && self.retired.taken
    }

    /// What `taken` is to this instruction.
    pub(crate) fn interrupted(&self, taken: &Taken) -> How {
        let here = taken.return_address == self.retired.address;
        match taken.cause {
            _ if taken.cancels => How::Cancelled,
            Cause::Call => How::Executed,
            Cause::DataFault | Cause::Undefined | Cause::Trap | Cause::SystemError if here => {
                How::Executed
            }
            _ => How::Before,
        }
    }
}

/// What an exception is to the instruction that was retired last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// It made the exception, and executed.
    Executed,
    /// It did not execute after all.
    Cancelled,
    /// It is done. The next one did not execute.
    Before,
}

/// An address as it is traced: bit \[0] is T.
pub(crate) fn traced(address: u64, isa: Isa) -> u32 {
    address as u32 | u32::from(isa == Isa::T32)
}

/// What both kinds of units remember.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    pub(crate) common: Common,
    pub(crate) noise: Noise,
    pub(crate) fifo: Fifo,
    /// The instruction that was retired last.
    pub(crate) waiting: Option<Waiting>,
    /// Tracing starts with the next instruction, for this reason.
    pub(crate) start: Option<Start>,
    /// Tracing is not switched off.
    pub(crate) on: bool,
    /// The FIFO overflowed: nothing goes in until it is empty.
    pub(crate) full: bool,
    /// The instruction that comes next, if nothing comes between.
    pub(crate) next: u64,
    pub(crate) context_id: u32,
    /// The context id has changed, and the trace has not said so.
    pub(crate) context_changed: bool,
    /// The next cycle has a trigger.
    pub(crate) trigger: bool,
    /// Cycles since the last that were counted.
    pub(crate) cycles: u32,
}

impl Watched {
    pub(crate) fn new(common: Common) -> Self {
        Watched {
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

/// What both kinds of units do alike: they follow the processor, and wait for the port.
pub(crate) trait Unit<C> {
    type Packet;

    /// The target of a branch.
    type Target;

    fn state(&mut self) -> &mut Watched;

    /// Bytes of a context id that are traced.
    fn context_bytes(config: &C) -> usize;

    /// The instruction that waits executes. `exception`: where it goes then.
    fn flush(
        &mut self,
        exception: Option<Self::Target>,
        config: &C,
        out: &mut impl Extend<Self::Packet>,
    );

    /// All that waits executes: nothing follows for now.
    fn end(&mut self, config: &C, out: &mut impl Extend<Self::Packet>) {
        self.flush(None, config, out);
    }

    /// The program went on elsewhere, and nobody has said why.
    fn jumped(&mut self, config: &C, out: &mut impl Extend<Self::Packet>);

    /// The instruction that waits executes, and the exception comes then.
    fn raise(&mut self, taken: &Taken, how: How, config: &C, out: &mut impl Extend<Self::Packet>);

    /// The instruction that an exception kept from executing, where none waits.
    fn cancelled(&mut self, taken: &Taken) -> Retired;

    /// A cycle in which no instruction begins.
    fn pause(&mut self, config: &C, out: &mut impl Extend<Self::Packet>);

    /// Ends an overflow once the FIFO is empty: tracing starts again with the instruction that waits.
    /// Takes a cycle, and returns `false` where the FIFO is not empty after it.
    fn recover(&mut self, config: &C, out: &mut impl Extend<Self::Packet>) -> bool {
        self.pause(config, out);
        let state = self.state();
        if !state.fifo.is_empty() {
            return false;
        }
        (state.full, state.start) = (false, Some(Start::Overflow));
        true
    }

    /// Waits for what is still to come.
    fn settle(&mut self, config: &C, out: &mut impl Extend<Self::Packet>) {
        let _ = (config, out);
    }

    /// Takes a step.
    fn take(&mut self, step: &Step, config: &C, out: &mut impl Extend<Self::Packet>) {
        match step {
            Step::Retired(retired) => self.retired(retired, config, out),
            Step::Access(access) => {
                if let Some(waiting) = &mut self.state().waiting {
                    waiting.moves(access);
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
        let how = waiting.as_ref().map_or(How::Before, |waiting| waiting.interrupted(taken));
        match (how, waiting) {
            (How::Cancelled, Some(waiting)) => waiting.retired.instruction.size = 2,
            (How::Before, _) => {
                self.flush(None, config, out);
                let cancelled = self.cancelled(taken);
                self.state().waiting = Some(Waiting::new(cancelled));
            }
            _ => {}
        }
        self.raise(taken, how, config, out);
        self.state().next = taken.target;
    }

    /// Tracing stops. After Debug state nobody says that it is on again.
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

    /// Cycles before those that an instruction needs.
    fn wait(&mut self, waiting: &Waiting, config: &C, out: &mut impl Extend<Self::Packet>) {
        let needs = waiting.moved.len().max(1) as u32 + u32::from(waiting.in_halves());
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

    /// The FIFO drains; then the port says that tracing is off.
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
