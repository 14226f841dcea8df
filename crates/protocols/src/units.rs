//! What trace units in software share that have a port and no bytes: ETMv1 and ETMv2.

use alloc::vec::Vec;

use tracewright_base::{Access, Cause, Direction, Isa, Kind, Retired, Taken};

use crate::encoders::Setting;

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
