//! Steps to a capture: a trace unit in software for each processor, a formatter, and the registers
//! and memory that a decoder needs.

use std::fmt;

use tracewright_base::{MissingRegister, Step, StepSink};
use tracewright_capture::{
    Buffer, BufferRef, Capture, Core, Dump, Format, Register, Registers, Source, Text, core_type,
    expected_names,
};
use tracewright_frames::{Framing, Joiner};
use tracewright_protocols::TraceForm;
use tracewright_protocols::encoders::AnyUnit;
use tracewright_protocols::registry::{AnyConfig, AnyProtocol};

use crate::code::each_part;
use crate::control::{Control, Seeds, is_register};
use crate::programmed::SEED;

/// The configuration of a [`Recorder`].
#[derive(Clone, Debug)]
pub struct Recording {
    /// The protocol of the trace units.
    pub protocol: AnyProtocol,
    /// Registers and settings of the trace units. Registers that are absent have the values of a
    /// usual unit. The trace ID is the ID of processor 0; each further processor has the next ID.
    pub registers: Vec<(String, u64)>,
    /// Textual parameters of the trace units, stored in the capture.
    pub texts: Vec<Text>,
    /// The framing of the trace. Without framing, each processor has its own buffer.
    pub framing: Framing,
    /// Without framing, RISC-V: the processors share a buffer in which each message has a source
    /// number. Processor 0 has the configured number; each further processor has the next number.
    pub messages: bool,
    /// The core type in the capture. Empty for protocols that need no core.
    pub core: String,
    /// Program memory: ELF files and dumps.
    pub images: Vec<Dump>,
}

/// The reason that nothing can be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// The protocol has no trace unit in software.
    NoEncoder(AnyProtocol),
    /// The protocol has no such register or setting.
    UnknownRegister {
        /// The name that was given.
        name: String,
        /// The names of the protocol.
        known: Vec<&'static str>,
    },
    /// Registers that no trace unit combines.
    Refused {
        /// The register to change.
        name: &'static str,
        /// Why the combination is refused.
        why: String,
    },
    /// A register that the unit needs is missing.
    Missing(MissingRegister),
    /// The core type is unknown, or a trace ID is above 0x6f.
    Invalid(String),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::NoEncoder(protocol) => {
                let names = AnyUnit::ALL.iter().filter_map(|p| p.about().names.first().copied());
                let names: Vec<_> = names.collect();
                let (title, known) = (protocol.about().title, names.join(", "));
                write!(f, "no trace unit in software for {title}; there are {known}")
            }
            RecordError::UnknownRegister { name, known } => {
                write!(f, "no register or setting {name}; {}", expected_names(name, known))
            }
            RecordError::Refused { why, .. } => f.write_str(why),
            RecordError::Missing(missing) => missing.fmt(f),
            RecordError::Invalid(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for RecordError {}

/// Records steps as they arrive. The recorder stores the trace and no steps.
#[derive(Debug)]
pub struct Recorder {
    recording: Recording,
    units: Vec<TracedCpu>,
    joiner: Joiner,
    framed: Vec<u8>,
    /// Cycles beyond [`CYCLES`] of a step, of all steps.
    waited: u64,
    errors: Option<RecordError>,
}

/// The trace unit of one processor.
#[derive(Debug)]
struct TracedCpu {
    unit: AnyUnit,
    /// What the control registers of the unit select, where they do.
    control: Option<Control>,
    id: u8,
    /// Bytes, or nibbles, that are not framed yet.
    fresh: Vec<u8>,
    raw: Vec<u8>,
}

/// Number of bytes of a source that are framed at once.
const CHUNK: usize = 256;

impl Recorder {
    /// Prepares the trace unit of processor 0.
    ///
    /// # Errors
    /// [`RecordError`] if the unit cannot be made.
    pub fn new(mut recording: Recording) -> Result<Self, RecordError> {
        for (name, _) in &mut recording.registers {
            if let Some(own) = recording.protocol.register_name(name) {
                own.clone_into(name);
            }
        }
        let mut recorder = Recorder {
            joiner: Joiner::new(recording.framing),
            recording,
            units: Vec::new(),
            framed: Vec::new(),
            waited: 0,
            errors: None,
        };
        recorder.check_names()?;
        recorder.grow(0)?;
        Ok(recorder)
    }

    /// Checks the names of the registers.
    fn check_names(&self) -> Result<(), RecordError> {
        let Recording { protocol, registers, .. } = &self.recording;
        let about = protocol.about().registers.iter();
        let mut known: Vec<&'static str> =
            about.flat_map(|r| core::iter::once(r.name).chain(r.aliases.iter().copied())).collect();
        known.extend(AnyUnit::settings(*protocol).iter().map(|setting| setting.name));
        // `TRCACVR<n>` matches with any number.
        let is = |known: &str, name: &str| match known.strip_suffix("<n>") {
            Some(stem) => name
                .strip_prefix(stem)
                .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())),
            None => known.eq_ignore_ascii_case(name),
        };
        let unknown = registers
            .iter()
            .find(|(name, _)| !known.iter().any(|k| is(k, name)) && !is_register(*protocol, name));
        match unknown {
            Some((name, _)) => Err(RecordError::UnknownRegister { name: name.clone(), known }),
            None => protocol
                .check(&|name| self.register(name, 0))
                .and_then(|()| AnyUnit::check(*protocol, None, &|name| self.register(name, 0)))
                .map_err(|wrong| RecordError::Refused { name: wrong.name, why: wrong.why }),
        }
    }

    /// The value of a register or setting of processor `cpu`.
    fn register(&self, name: &str, cpu: usize) -> Option<u64> {
        let Recording { protocol, registers, .. } = &self.recording;
        let given = |name: &str| {
            let mut given = registers.iter().rev();
            given.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
        };
        let usual = || AnyUnit::usual_value(*protocol, name, &given);
        let value = given(name).or_else(usual);
        if self.recording.messages && protocol.form() == TraceForm::Messages {
            match name {
                SOURCE => return Some(value.unwrap_or(0) + cpu as u64),
                WIDTH => return Some(value.unwrap_or(SOURCE_WIDTH)),
                _ => {}
            }
        }
        match protocol.id_register() {
            Some((id, shift)) if id == name => value.map(|value| value + ((cpu as u64) << shift)),
            _ => value,
        }
    }

    /// Makes the units of processors up to `cpu`.
    fn grow(&mut self, cpu: usize) -> Result<(), RecordError> {
        while self.units.len() <= cpu {
            let Recording { protocol, core, .. } = &self.recording;
            let n = self.units.len();
            let core_type =
                match core.as_str() {
                    "" => None,
                    core => Some(core_type(core).ok_or_else(|| {
                        RecordError::Invalid(format!("unknown core type `{core}`"))
                    })?),
                };
            let unit = AnyUnit::new(*protocol, core_type, &|name| self.register(name, n))
                .map_err(RecordError::Missing)?
                .ok_or(RecordError::NoEncoder(*protocol))?;
            let id = unit.config().trace_id();
            if self.recording.messages {
                check_source(&unit.config(), self.register(SOURCE, n), n)?;
            }
            if id > 0x6f || id == 0 && self.recording.framing != Framing::Raw {
                return Err(RecordError::Invalid(format!(
                    "the trace ID of processor {n} is {id:#x}; valid IDs are 0x1 to 0x6f"
                )));
            }
            let (fresh, raw) = (Vec::new(), Vec::new());
            let control = self.control(n);
            self.units.push(TracedCpu { unit, control, id, fresh, raw });
        }
        Ok(())
    }

    /// What the registers of processor `cpu` select.
    fn control(&self, cpu: usize) -> Option<Control> {
        let registers: Vec<(String, u64)> = self
            .registers(cpu)
            .0
            .into_iter()
            .filter_map(|r| Some((r.name, u64::try_from(r.value).ok()?)))
            .collect();
        let given = &self.recording.registers;
        let given = |name: &str| given.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        let seeds = Seeds {
            filter: self.register(SEED, cpu),
            unit: self.register("seed", cpu).unwrap_or(1).wrapping_add(cpu as u64),
        };
        let mut control = Control::new(self.recording.protocol, &registers, &given, seeds)?;
        if control.uses_code() {
            for image in &self.recording.images {
                each_part(image, &mut |start, bytes| control.code(start, bytes));
            }
        }
        Some(control)
    }

    /// Frames the new bytes of processor `cpu` into the buffer. `all` includes an odd nibble.
    fn frame(&mut self, cpu: usize, all: bool) {
        let Recorder { recording, units, joiner, framed, errors, .. } = self;
        let Some(source) = units.get_mut(cpu) else { return };
        if source.unit.nibbles() {
            // Two nibbles make a byte; the first is in bits \[3:0].
            let whole = if all { source.fresh.len() } else { source.fresh.len() & !1 };
            let pairs = source.fresh.get(..whole).unwrap_or_default().chunks(2);
            let bytes: Vec<u8> =
                pairs.map(|p| p.iter().rev().fold(0, |byte, nibble| byte << 4 | nibble)).collect();
            source.raw.extend(bytes);
            source.fresh.drain(..whole);
        } else if recording.messages {
            return framed.append(&mut source.fresh);
        } else if recording.framing == Framing::Raw {
            source.raw.append(&mut source.fresh);
        } else {
            std::mem::swap(&mut source.raw, &mut source.fresh);
        }
        if recording.framing != Framing::Raw {
            if joiner.push(source.id, &source.raw, framed).is_err() {
                let what = format!("trace ID {:#x} is reserved", source.id);
                errors.get_or_insert(RecordError::Invalid(what));
            }
            source.raw.clear();
        }
    }

    /// Repeats the trace ID every 8 frames, for a buffer whose beginning may be overwritten.
    pub fn repeat_ids(&mut self) {
        self.joiner = self.joiner.clone().repeat_id_every(8);
    }

    /// Frames all bytes that the trace units have written, but for an incomplete frame.
    pub fn flush(&mut self) {
        for cpu in 0..self.units.len() {
            self.frame(cpu, false);
        }
    }

    /// Removes the complete trace so far and passes it to `out`, by buffer number. The capture that
    /// [`finish`](Recorder::finish) returns has the remaining trace.
    pub fn take(&mut self, mut out: impl FnMut(usize, &[u8])) {
        if !self.framed.is_empty() {
            out(0, &self.framed);
            self.framed.clear();
        }
        if self.recording.framing == Framing::Raw {
            for (n, source) in self.units.iter_mut().enumerate().filter(|(_, s)| !s.raw.is_empty())
            {
                out(n, &source.raw);
                source.raw.clear();
            }
        }
    }

    /// Number of bytes of trace that were not taken.
    pub fn len(&self) -> usize {
        self.framed.len() + self.units.iter().map(|s| s.raw.len() + s.fresh.len()).sum::<usize>()
    }

    /// Number of cycles for which processors stalled because the FIFO of their unit was full.
    pub fn waited(&self) -> u64 {
        self.units.iter().map(|source| source.unit.waited()).sum()
    }

    /// Whether there is no trace to take.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends tracing and returns the capture.
    ///
    /// # Errors
    /// [`RecordError`] if the trace unit of a processor could not be made.
    pub fn finish(mut self) -> Result<Capture, RecordError> {
        for cpu in 0..self.units.len() {
            if let Some(TracedCpu { unit, control, fresh, .. }) = self.units.get_mut(cpu) {
                if let Some(control) = control {
                    control.flush(&mut |step| unit.step(step, fresh));
                }
                unit.finish(fresh);
            }
            self.frame(cpu, true);
        }
        if self.recording.framing != Framing::Raw {
            self.joiner.finish(&mut self.framed);
        }
        if let Some(error) = self.errors.take() {
            return Err(error);
        }
        Ok(self.capture())
    }

    fn capture(&mut self) -> Capture {
        let messages = self.recording.messages;
        let raw = self.recording.framing == Framing::Raw && !messages;
        let mut capture = Capture {
            description: Some("an execution log through trace units in software".to_owned()),
            ..Capture::default()
        };
        if !raw {
            let format = match self.recording.framing {
                Framing::Dstream => Format::DstreamCoreSight,
                _ if messages => Format::Encapsulated,
                _ => Format::CoreSight,
            };
            let bytes = std::mem::take(&mut self.framed);
            capture.buffers.push(Buffer::new("ETB_0", format, bytes));
        }
        let device_type = self.device_type();
        let name = self.recording.protocol.about().names.first().copied().unwrap_or("trace");
        for n in 0..self.units.len() {
            let registers = self.registers(n);
            let Some(source) = self.units.get_mut(n) else { continue };
            if raw {
                let (name, bytes) = (format!("ETB_{n}"), std::mem::take(&mut source.raw));
                capture.buffers.push(Buffer::new(name, Format::SourceData, bytes));
            }
            let buffer = if raw { n } else { 0 };
            let device = Source {
                name: format!("{name}_{n}"),
                device_type: device_type.clone(),
                registers,
                texts: self.recording.texts.clone(),
                buffers: vec![BufferRef { buffer, stream: None }],
                ..Source::default()
            };
            let has_core = !self.recording.core.is_empty();
            let watches = device.watches_core() && has_core;
            capture.sources.push(Source { core: watches.then_some(n), ..device });
            if !has_core {
                continue;
            }
            capture.cores.push(Core {
                name: format!("cpu_{n}"),
                device_type: self.recording.core.clone(),
                ..Core::default()
            });
        }
        capture.memory = std::mem::take(&mut self.recording.images);
        capture
    }

    /// The device type of the units: the protocol, and the version in the ID register.
    fn device_type(&self) -> String {
        let register = |name| self.register(name, 0);
        let minor = |value: u64| value >> 4 & 0xf;
        let name = self.recording.protocol.about().names.first().copied().unwrap_or_default();
        match self.recording.protocol {
            AnyProtocol::Etmv4 => match register("TRCIDR1") {
                Some(id) => format!("{name}.{}", minor(id)),
                None => name.to_owned(),
            },
            AnyProtocol::Etmv3 => match register("ETMIDR") {
                Some(id) => format!("{name}.{}", minor(id)),
                None => name.to_owned(),
            },
            AnyProtocol::Ptm => match register("ETMIDR") {
                Some(id) => format!("PTM1.{}", minor(id)),
                None => "PTM1.1".to_owned(),
            },
            _ => name.to_owned(),
        }
    }

    /// The registers of a unit as a capture records them, without settings that no hardware has.
    fn registers(&self, cpu: usize) -> Registers {
        let Recording { protocol, registers, .. } = &self.recording;
        let usual = AnyUnit::usual(*protocol).iter().map(|(name, _)| (*name).to_owned());
        let given = registers.iter().map(|(name, _)| name.clone());
        let shared = [SOURCE, WIDTH].map(str::to_owned);
        let given = given.chain(shared.into_iter().filter(|_| self.recording.messages));
        let mut list: Vec<Register> = Vec::new();
        for name in usual.chain(given) {
            let known = protocol.about().registers.iter().any(|r| r.name == name);
            let real = known || name.bytes().any(|b| b.is_ascii_uppercase());
            let there = list.iter().any(|r| r.name.eq_ignore_ascii_case(&name));
            if let Some(value) = self.register(&name, cpu).filter(|_| real && !there) {
                list.push(Register { name, id: None, size: None, value: value.into() });
            }
        }
        Registers(list)
    }
}

/// The parameters for the number of a source in messages, and for its width in bits.
const SOURCE: &str = "source";
const WIDTH: &str = "source_width";

/// Default width of a source number in bits.
const SOURCE_WIDTH: u64 = 8;

/// Checks that messages of processor `n` can hold its source number.
fn check_source(config: &AnyConfig, number: Option<u64>, n: usize) -> Result<(), RecordError> {
    let Some(link) = config.message_source() else {
        return Err(RecordError::Invalid("only RISC-V messages have source numbers".into()));
    };
    let (width, number) = (link.width, number.unwrap_or(0));
    if width == 0 {
        return Err(RecordError::Invalid(
            "messages of this profile have no source number: framing must be encapsulated or siemens, and \
             source_width above 0"
                .into(),
        ));
    }
    if number >> width != 0 {
        return Err(RecordError::Invalid(format!(
            "the source number of processor {n} is {number}, which does not fit into source_width = {width}"
        )));
    }
    Ok(())
}

/// Limit of the cycles in one step, for units that emit each cycle and for those that emit a byte
/// for 8 cycles at most. It bounds the trace that a line of a log becomes.
const MOST_CYCLES: u32 = 1 << 24;

/// The cycles of a step that do not count to those of all steps.
const CYCLES: u32 = 1 << 10;

/// Limit of the cycles beyond these in all steps. It bounds the trace that a log becomes.
const MOST_WAITED: u64 = 1 << 26;

impl Recorder {
    /// Refuses a step with more cycles than the trace unit can be given at once, and steps with
    /// more than it can be given together.
    #[cold]
    fn check_cycles(&mut self, cycles: u32) {
        let protocol = self.recording.protocol;
        if !protocol.has_own_port() && protocol != AnyProtocol::Etmv3 {
            return;
        }
        self.waited += u64::from(cycles - CYCLES);
        let (title, waited) = (protocol.about().title, self.waited);
        let why = if cycles > MOST_CYCLES {
            format!(
                "the log has {cycles} cycles in one step, and {title} records each of them; at most \
                 {MOST_CYCLES} are encoded"
            )
        } else if waited > MOST_WAITED {
            format!(
                "the log has {waited} cycles beyond {CYCLES} in a step, and {title} records each of \
                 them; at most {MOST_WAITED} are encoded; divide the log"
            )
        } else {
            return;
        };
        self.errors.get_or_insert(RecordError::Invalid(why));
    }
}

impl StepSink for Recorder {
    #[inline]
    fn step(&mut self, cpu: u16, step: &Step) {
        if let Step::Cycles(cycles @ CYCLES..) = step {
            self.check_cycles(*cycles);
        }
        if self.errors.is_some() {
            return;
        }
        let cpu = usize::from(cpu);
        if self.units.len() <= cpu
            && let Err(error) = self.grow(cpu)
        {
            self.errors.get_or_insert(error);
            return;
        }
        let Some(source) = self.units.get_mut(cpu) else { return };
        let TracedCpu { unit, control, fresh, .. } = &mut *source;
        let mut traced = |step: &Step| unit.step(step, fresh);
        match control {
            Some(control) => control.step(step, &mut traced),
            None => traced(step),
        }
        // Messages of several processors are in the order in which they are made.
        let limit = if self.recording.messages { 1 } else { CHUNK };
        if source.fresh.len() >= limit {
            self.frame(cpu, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error after this much waiting and steps of these cycles.
    fn error(protocol: AnyProtocol, waited: u64, steps: &[u32]) -> Option<String> {
        let mut recorder = Recorder::new(Recording {
            protocol,
            registers: Vec::new(),
            texts: Vec::new(),
            framing: Framing::Raw,
            messages: false,
            core: String::new(),
            images: Vec::new(),
        })
        .unwrap();
        recorder.waited = waited;
        steps.iter().for_each(|cycles| recorder.step(0, &Step::Cycles(*cycles)));
        recorder.errors.map(|error| error.to_string())
    }

    #[test]
    fn cycles_of_all_steps_are_bounded() {
        let want = "the log has 67108865 cycles beyond 1024 in a step, and";
        for protocol in [AnyProtocol::Etmv1, AnyProtocol::Etmv2, AnyProtocol::Etmv3] {
            let error = |steps: &[u32]| error(protocol, MOST_WAITED - 5, steps);
            assert_eq!(error(&[1024, 1024, 1029, 7]), None, "{protocol:?}");
            let found = error(&[1026, 1028]).unwrap();
            assert!(found.contains(want), "{protocol:?}: {found}");
        }
        assert_eq!(error(AnyProtocol::Ete, MOST_WAITED, &[5000]), None);
    }
}
