//! Trace buffers that an execution log's trace is written into.

use std::fmt;

use tracewright_base::remedy::SINK;
use tracewright_capture::{Buffer, Capture, Other, Registers};
use tracewright_units::buffers::tmc::{Kind, Tmc};
use tracewright_units::buffers::trbe::{Bytes, FillMode, Limit, Reg, Trbe, TriggerMode};

/// A kind of trace buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinkKind {
    /// The Trace Buffer Extension: one buffer for each core.
    Trbe,
    /// A TMC that writes to system memory.
    Etr,
    /// The Embedded Trace Buffer.
    Etb,
}

impl SinkKind {
    /// The type of the device in a capture.
    pub const fn name(self) -> &'static str {
        match self {
            SinkKind::Trbe => "TRBE",
            SinkKind::Etr => "ETR",
            SinkKind::Etb => "ETB",
        }
    }
}

/// The trace buffers of an encoded log.
#[derive(Clone, Copy, Debug)]
pub struct SinkSettings {
    kind: SinkKind,
    size: usize,
    mode: FillMode,
    /// The number of the instruction, over all processors, at which the trace units signal a
    /// trigger.
    pub(crate) trigger: Option<u64>,
    /// The bytes of trace from the trigger to the end of capture.
    delay: u32,
    /// The number of the instruction, over all processors, after which capture ends.
    pub(crate) stop: Option<u64>,
    /// The trace is in formatter frames.
    pub(crate) framed: bool,
}

/// Why there is no such trace buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SinkError {
    /// The size in bytes is not a multiple of this number, or it is 0 or above 1 GiB.
    Size(usize),
    /// The buffer has no such mode.
    Mode,
    /// The delay is not a multiple of 4.
    Delay,
}

impl fmt::Display for SinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SinkError::Size(unit) => {
                write!(f, "the size must be a multiple of {unit} from {unit} to {MAX_SIZE}")
            }
            SinkError::Mode => {
                write!(f, "an ETR or ETB has no Wrap mode; select fill or circular, or {SINK} trbe")
            }
            SinkError::Delay => f.write_str("an ETR or ETB counts words: use a multiple of 4"),
        }
    }
}

impl std::error::Error for SinkError {}

/// The largest buffer in bytes.
const MAX_SIZE: usize = 1 << 30;

impl SinkSettings {
    /// Buffers of `size` bytes.
    ///
    /// # Errors
    /// [`SinkError`] where there is no such buffer.
    pub fn new(kind: SinkKind, size: u64, mode: FillMode) -> Result<SinkSettings, SinkError> {
        let unit = if kind == SinkKind::Trbe { 4096 } else { 16 };
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size == 0 || size > MAX_SIZE || !size.is_multiple_of(unit) {
            return Err(SinkError::Size(unit));
        }
        if kind != SinkKind::Trbe && mode == FillMode::Wrap {
            return Err(SinkError::Mode);
        }
        Ok(SinkSettings { kind, size, mode, trigger: None, delay: 0, stop: None, framed: true })
    }

    /// The same with a trigger at an instruction, and `delay` bytes of trace behind it.
    ///
    /// # Errors
    /// [`SinkError`] where the buffer cannot count so.
    pub fn with_trigger(mut self, instruction: u64, delay: u32) -> Result<Self, SinkError> {
        if self.kind != SinkKind::Trbe && !delay.is_multiple_of(4) {
            return Err(SinkError::Delay);
        }
        (self.trigger, self.delay) = (Some(instruction), delay);
        Ok(self)
    }

    /// The same, where capture ends after an instruction.
    #[must_use]
    pub fn with_stop(mut self, instruction: u64) -> Self {
        self.stop = Some(instruction);
        self
    }

    /// The kind.
    pub fn kind(&self) -> SinkKind {
        self.kind
    }
}

/// What became of the trace for one buffer, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The name of the buffer.
    pub name: String,
    /// Trace that the buffer accepted.
    pub accepted: u64,
    /// Trace that it discarded because it had stopped.
    pub discarded: u64,
}

/// One trace buffer.
#[derive(Debug)]
pub(crate) struct SinkUnit {
    kind: SinkKind,
    unit: Unit,
    accepted: u64,
    discarded: u64,
}

#[derive(Debug)]
enum Unit {
    Trbe(Box<Trbe>, Bytes),
    Tmc(Tmc),
}

/// Bytes that a trace unit holds, and outputs in a flush.
const HELD: usize = 16;

/// The Base pointer of the first Trace Buffer Unit, and the address of an ETR's buffer.
const TRBE_BASE: u64 = 0xffff_8000_1000_0000;
const ETR_BASE: u64 = 0x8_8000_0000;

impl SinkUnit {
    /// Buffer `n` of a capture, enabled.
    pub(crate) fn new(settings: &SinkSettings, n: usize) -> SinkUnit {
        let SinkSettings { kind, size, mode, delay, framed, .. } = *settings;
        let unit = match kind {
            SinkKind::Trbe => {
                let base = TRBE_BASE + (n * size) as u64;
                let mut unit = Trbe::default();
                unit.features.capacity = usize::MAX;
                for (register, value) in [(Reg::Base, base), (Reg::Pointer, base), (Reg::Status, 0)]
                {
                    unit.write(register, value);
                }
                unit.write(Reg::Counter, delay.into());
                unit.synchronize();
                let limit = Limit::fill(base + size as u64).with_fill(mode);
                let limit = limit.with_trigger(TriggerMode::Stop);
                unit.write(Reg::Limit, limit.enabled().0);
                unit.synchronize();
                Unit::Trbe(Box::new(unit), Bytes::new(base, size))
            }
            SinkKind::Etr | SinkKind::Etb => {
                let kind = if kind == SinkKind::Etr { Kind::Etr } else { Kind::Etb };
                let tmc = Tmc::new(kind, ETR_BASE, size).formatted(framed);
                let mut tmc = tmc.trigger_delay(delay / 4);
                if mode == FillMode::Fill {
                    tmc = tmc.stopping_when_full();
                }
                tmc.enable();
                Unit::Tmc(tmc)
            }
        };
        SinkUnit { kind, unit, accepted: 0, discarded: 0 }
    }

    /// Trace arrives.
    pub(crate) fn offer(&mut self, bytes: &[u8]) {
        match &mut self.unit {
            Unit::Trbe(unit, memory) => {
                for some in bytes.chunks(HELD) {
                    let offer = unit.offer(some, memory);
                    self.accepted += offer.accepted as u64;
                    self.discarded += offer.discarded as u64;
                    unit.drain(memory, usize::MAX);
                    unit.flushed();
                }
            }
            Unit::Tmc(tmc) => {
                tmc.offer(bytes);
                (self.accepted, self.discarded) = tmc.counts();
            }
        }
    }

    /// The trace unit signals a trigger.
    pub(crate) fn trigger(&mut self) {
        match &mut self.unit {
            Unit::Trbe(unit, _) => {
                unit.trigger();
                unit.flushed();
            }
            Unit::Tmc(tmc) => tmc.trigger(),
        }
    }

    /// Ends capture: `capture` has the rest of the trace in buffer `n`, and receives the buffer and
    /// its registers instead.
    pub(crate) fn finish(mut self, capture: &mut Capture, n: usize) -> Stored {
        let Some(buffer) = capture.buffers.get_mut(n) else {
            return Stored { name: String::new(), accepted: 0, discarded: 0 };
        };
        self.offer(&buffer.bytes());
        let (memory, registers) = match self.unit {
            Unit::Trbe(mut unit, mut memory) => (off(&mut unit, &mut memory), unit_registers(unit)),
            Unit::Tmc(mut tmc) => {
                tmc.stop();
                (tmc.memory().to_vec(), tmc.registers())
            }
        };
        let name = format!("{}_{n}", self.kind.name());
        *buffer = Buffer::new(name.clone(), buffer.format.clone(), memory);
        capture.others.push(Other {
            name: name.clone(),
            class: "trace_sink".to_owned(),
            device_type: self.kind.name().to_owned(),
            registers: Registers::from_iter(registers),
            ..Other::default()
        });
        Stored { name, accepted: self.accepted, discarded: self.discarded }
    }
}

/// Switches a Trace Buffer Unit off, and returns its memory. (Arm ARM, K10.5.10)
fn off(unit: &mut Trbe, memory: &mut Bytes) -> Vec<u8> {
    unit.prohibit(true);
    unit.synchronize();
    unit.trace_synchronize();
    let limit = unit.read(Reg::Limit).bits;
    unit.write(Reg::Limit, limit & !1);
    unit.data_synchronize(memory);
    unit.synchronize();
    memory.all().to_vec()
}

/// The registers of a Trace Buffer Unit that is off.
fn unit_registers(mut unit: Box<Trbe>) -> Vec<(&'static str, u64)> {
    let list =
        [Reg::Base, Reg::Pointer, Reg::Limit, Reg::Status, Reg::Counter, Reg::Id].into_iter();
    list.map(|register| (register.name(), unit.read(register).bits)).collect()
}
