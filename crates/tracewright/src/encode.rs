//! Encoding of execution logs by simulated trace units.
//!
//! [`Settings`] configures the trace units, a [`LogEncoder`] receives the steps of the log, and
//! [`LogEncoder::finish`] makes the capture.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use tracewright_base::remedy::REGISTER;
use tracewright_base::{Isa, Step, StepSink};
use tracewright_capture::{Capture, Files, OpenError, Origin, Problem, Source, Spool, Text};
use tracewright_decode::detect::known_units;
use tracewright_decode::parameters::resolve;
use tracewright_frames::Framing;
use tracewright_image::Extensions;
use tracewright_logs::{Assembler, RecordError, Recorder, Recording};
use tracewright_protocols::encoders::AnyUnit;
use tracewright_protocols::registry::{AnyConfig, AnyProtocol};

use crate::sinks::SinkUnit;

pub use crate::sinks::{SinkError, SinkKind, SinkSettings, Stored};
pub use tracewright_units::buffers::trbe::FillMode;

/// Number of bytes of trace data that are stored in memory; more are written to files.
const BUFFERED: usize = 4 << 20;

/// The ELF machine of RISC-V. (ELF, `e_machine`)
const RISCV: u16 = 243;

/// Whether a trace unit of `protocol` can trace a core that executes `isa`.
pub fn supports(protocol: AnyProtocol, isa: Isa) -> bool {
    let isas = protocol.about().isas;
    isas.is_empty() || isas.contains(&isa)
}

/// The registers and parameters of the trace units.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The protocol of the trace units.
    pub protocol: AnyProtocol,
    /// Registers and parameters with numbers.
    pub registers: Vec<(String, u64)>,
    /// Parameters that are text.
    pub texts: Vec<Text>,
    /// Notes on what is assumed of the units of a core.
    pub assumed: Vec<String>,
}

impl Settings {
    /// The settings for a core that executes `isa`: the parameters of the file `parameters`, and
    /// `assignments` of the form `NAME=VALUE`. `name` is the name of the protocol as the user gave
    /// it.
    ///
    /// # Errors
    /// [`OpenError`] where the file cannot be read, or a value is invalid.
    pub fn new(
        protocol: AnyProtocol,
        name: &str,
        isa: Isa,
        parameters: Option<&Path>,
        assignments: &[String],
    ) -> Result<Settings, OpenError> {
        let (registers, texts, assumed) = Default::default();
        let mut settings = Settings { protocol, registers, texts, assumed };
        if protocol.is_riscv() {
            let xlen = if isa == Isa::Rv32 { 32 } else { 64 };
            settings.registers.push(("xlen".to_owned(), xlen));
        }
        let mut source = Source { device_type: name.to_owned(), ..Source::default() };
        source.path = REGISTER.to_string().into();
        if let Some(path) = parameters {
            source.read_parameters(&Files::default(), path)?;
            source.path = path.to_owned();
        }
        let texts = assignments.iter().filter(|text| is_text(protocol, text));
        for (name, text) in texts.filter_map(|text| text.split_once('=')) {
            source.parameter(name.trim(), text.trim());
        }
        let mut capture = Capture { sources: vec![source], ..Capture::default() };
        resolve(&mut capture)?;
        for source in capture.sources {
            for register in source.registers.0 {
                let value = u64::try_from(register.value).unwrap_or(u64::MAX);
                settings.registers.push((register.name, value));
            }
            settings.texts.extend(source.texts);
        }
        for text in assignments.iter().filter(|text| !is_text(protocol, text)) {
            let (name, value) = register(protocol, text).map_err(|why| {
                let origin = Origin::file(format!("{REGISTER} {text}").as_ref());
                OpenError::at(origin, Problem::Parameter(why))
            })?;
            if !protocol.is_unused(&name) {
                let name = protocol.register_name(&name).map_or(name, str::to_owned);
                settings.registers.push((name, value));
            }
        }
        settings.check_width(isa, parameters, assignments)?;
        Ok(settings)
    }

    /// A core that executes `isa` has registers of its width.
    fn check_width(
        &self,
        isa: Isa,
        parameters: Option<&Path>,
        assignments: &[String],
    ) -> Result<(), OpenError> {
        let mut widths = self.registers.iter().filter(|(name, _)| name == "xlen");
        let (Some((_, own)), Some((_, given))) = (widths.next(), widths.next_back()) else {
            return Ok(());
        };
        if own == given {
            return Ok(());
        }
        let is_width = |text: &&String| text.trim_start().to_ascii_lowercase().starts_with("xlen");
        let origin = match (assignments.iter().rfind(is_width), parameters) {
            (None, Some(path)) => Origin::file(path),
            (text, _) => {
                let text = text.map_or("", String::as_str);
                Origin::file(format!("{REGISTER} {text}").as_ref())
            }
        };
        let why = format!("`xlen` is {given}, and the instructions of the log are {isa}");
        Err(OpenError::at(origin, Problem::Parameter(why)))
    }

    /// The RISC-V extensions of cores with such trace units.
    pub fn extensions(&self) -> Extensions {
        self.config().map_or(Extensions::NONE, |config| config.riscv())
    }

    /// Sets the bits of TRCCONFIGR of an ETMv4 or ETE to those of `value` that the unit has, where
    /// the user has not set it.
    pub fn or_trcconfigr(&mut self, value: u64) {
        const NAME: &str = "TRCCONFIGR";
        let own = |name: &str| {
            let own = self.registers.iter().rev().find(|(own, _)| own.eq_ignore_ascii_case(name));
            own.map(|(_, value)| *value)
        };
        let (own, usual) = (own(NAME), AnyUnit::usual_value(self.protocol, NAME, &own));
        // Without registers of the core, the unit has all options.
        let all = AnyUnit::usual_value(self.protocol, NAME, &|_| None);
        if let (None, Some(usual), Some(all)) = (own, usual, all) {
            self.registers.push((NAME.to_owned(), value & !(all & !usual)));
        }
    }

    /// Gives the units the registers that identify the trace unit of `core`, where the user has not
    /// set them. Values of related cores are noted, and that such a core has another trace unit.
    pub fn set_core(&mut self, core: &str) {
        match known_units::protocol(core) {
            Some(own)
                if own != self.protocol
                    && self.protocol.traces_instructions()
                    && self.protocol != AnyProtocol::Mtb =>
            {
                let name = |protocol: AnyProtocol| *protocol.about().names.first().unwrap_or(&"");
                let (own, other) = (name(own), name(self.protocol));
                let note = format!("the trace unit of a {core} is an {own}, and no {other}");
                self.assumed.push(note);
            }
            _ => {}
        }
        for register in known_units::of_core_or_profile(core, self.protocol) {
            let is_given = |(name, _): &(String, u64)| name.eq_ignore_ascii_case(register.name);
            if self.registers.iter().any(is_given) {
                continue;
            }
            if register.related.is_some() {
                self.assumed.push(register.note(core));
            }
            self.registers.push((register.name.to_owned(), register.value));
        }
    }

    /// What a user should know about traces of such units.
    pub fn note(&self) -> Option<&'static str> {
        match self.config()? {
            // "Implicit return mode": a stack or a counter infers the addresses.
            AnyConfig::Etrace(config)
                if config.options.implicit_return
                    && config.widths.return_stack_size == 0
                    && config.widths.call_counter_size == 0 =>
            {
                Some(
                    "implicit_return has no effect on returns, as return_stack_size and \
                     call_counter_size are 0",
                )
            }
            config => config.note(),
        }
    }

    /// Whether decoders of the trace need the same registers and parameters as with `other`, for a
    /// unit with the same settings.
    pub fn is_same_unit(&self, other: &Settings) -> bool {
        let of_unit = |settings: &Settings| -> Vec<(String, u64)> {
            let known = AnyUnit::settings(settings.protocol);
            let is = |name: &str| known.iter().any(|known| known.name.eq_ignore_ascii_case(name));
            settings.registers.iter().filter(|(name, _)| is(name)).cloned().collect()
        };
        self.config() == other.config() && of_unit(self) == of_unit(other)
    }

    /// The configuration of the units. `None` where it is invalid.
    fn config(&self) -> Option<AnyConfig> {
        let value = |name: &str| {
            let given =
                self.registers.iter().rev().find(|(known, _)| known.eq_ignore_ascii_case(name));
            given.map(|(_, value)| *value)
        };
        let mut config = self.protocol.configure(None, &value).ok()?;
        for Text { name, text, .. } in &self.texts {
            // `Settings::new` reports invalid texts.
            let _ = config.set_text(name, text);
        }
        Some(config)
    }
}

/// Whether `NAME=VALUE` assigns a parameter that is text.
fn is_text(protocol: AnyProtocol, text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| protocol.has_text(name.trim()))
}

/// The register and the value of `NAME=VALUE`, or the reason why it is invalid.
fn register(protocol: AnyProtocol, text: &str) -> Result<(String, u64), String> {
    if let Some((name, word)) = text.split_once('=') {
        let name = name.trim();
        let canonical = protocol.register_name(name);
        let known = protocol.about().registers.iter().any(|r| Some(r.name) == canonical);
        match protocol.parse_value(name, word.trim()) {
            Some(Ok(value)) => return Ok((name.to_owned(), value)),
            Some(Err(why)) if known => return Err(why.into()),
            _ => {}
        }
    }
    let invalid = || "expected NAME=VALUE, such as TRCCONFIGR=0x18c1".to_owned();
    let (name, value) = text.split_once('=').ok_or_else(invalid)?;
    let value = value.trim();
    let number = match value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => value.parse(),
    };
    Ok((name.trim().to_owned(), number.map_err(|_| invalid())?))
}

/// The simulated trace units of the processors of a log.
///
/// Trace data beyond a fixed amount are written to files next to the folder of the capture, so that
/// memory use does not depend on the length of the log.
#[derive(Debug)]
pub struct LogEncoder {
    recorder: Recorder,
    protocol: AnyProtocol,
    /// Folder of the capture.
    output: PathBuf,
    /// Number of instructions between timestamps.
    timestamps: Option<u64>,
    /// Number of processors that are encoded.
    cpus: u16,
    /// Executed instructions of each processor.
    counts: Vec<u64>,
    spools: BTreeMap<usize, Spool>,
    /// A step may become more trace data than are stored in memory: units that emit each cycle.
    grows: bool,
    /// The error of a file that was written within a step.
    failed: Option<OpenError>,
    /// The trace buffer that the trace is written to, and its units by buffer.
    sink: Option<SinkSettings>,
    sinks: BTreeMap<usize, SinkUnit>,
    /// All processors share a buffer.
    framed: bool,
    /// Capture has stopped: further steps are not traced.
    stopped: bool,
    /// The size of the trace so far, where only that is wanted.
    measured: Option<Measured>,
}

/// How much trace a log becomes, without the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Number of bytes of trace data of all buffers, with their framing.
    pub bytes: u64,
    /// Number of encoded instructions.
    pub instructions: u64,
    /// The FNV-1a hash of each buffer's trace data.
    hashes: BTreeMap<usize, u64>,
}

impl Measured {
    /// Whether the trace data are the same, but for a collision of 64-bit hashes.
    pub fn is_same_trace(&self, other: &Measured) -> bool {
        self.bytes == other.bytes && self.hashes == other.hashes
    }

    /// Adds the next trace data of buffer `n`.
    fn add(&mut self, n: usize, bytes: &[u8]) {
        const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0100_0000_01b3;
        self.bytes += bytes.len() as u64;
        let hash = self.hashes.entry(n).or_insert(BASIS);
        *hash = bytes.iter().fold(*hash, |h, byte| (h ^ u64::from(*byte)).wrapping_mul(PRIME));
    }
}

/// The result of encoding a log.
#[derive(Debug)]
pub struct Encoded {
    /// The capture.
    pub capture: Capture,
    /// Number of encoded instructions.
    pub instructions: u64,
    /// Number of cycles that processors were stalled until their trace units had room.
    pub stalled: u64,
    /// Executed code that no image of the capture contains, taken from the log.
    pub logged: Option<LoggedCode>,
    /// What became of the trace in each trace buffer.
    pub stored: Vec<Stored>,
}

/// Executed code that was taken from the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedCode {
    /// The lowest address.
    pub first: u64,
    /// The size in bytes.
    pub bytes: usize,
    /// The capture contains images as well.
    pub beside_images: bool,
}

/// The reason why a log cannot be encoded.
#[derive(Debug)]
pub enum EncodeError {
    /// The trace units cannot be simulated.
    Record(RecordError),
    /// A file cannot be written.
    File(OpenError),
}

impl From<RecordError> for EncodeError {
    fn from(error: RecordError) -> Self {
        EncodeError::Record(error)
    }
}

impl From<OpenError> for EncodeError {
    fn from(error: OpenError) -> Self {
        EncodeError::File(error)
    }
}

impl LogEncoder {
    /// Prepares the trace units of the first `cpus` processors, with a timestamp every `timestamps`
    /// instructions. `output` is the folder that the capture will be written to.
    ///
    /// # Errors
    /// [`RecordError`] where the trace units cannot be simulated.
    pub fn new(
        mut recording: Recording,
        output: &Path,
        timestamps: Option<u64>,
        cpus: Option<u16>,
    ) -> Result<LogEncoder, RecordError> {
        if timestamps.is_some() {
            enable_timestamps(&mut recording);
        }
        Ok(LogEncoder {
            protocol: recording.protocol,
            grows: recording.protocol.has_own_port(),
            framed: recording.framing != Framing::Raw || recording.messages,
            failed: None,
            recorder: Recorder::new(recording)?,
            output: output.to_owned(),
            timestamps,
            cpus: cpus.unwrap_or(u16::MAX),
            counts: Vec::new(),
            spools: BTreeMap::new(),
            sink: None,
            sinks: BTreeMap::new(),
            stopped: false,
            measured: None,
        })
    }

    /// As [`new`](Self::new), for [`measure`](Self::measure): no trace data are stored.
    ///
    /// # Errors
    /// [`RecordError`] where the trace units cannot be simulated.
    pub fn measuring(
        recording: Recording,
        timestamps: Option<u64>,
        cpus: Option<u16>,
    ) -> Result<LogEncoder, RecordError> {
        let encoder = LogEncoder::new(recording, Path::new(""), timestamps, cpus)?;
        Ok(LogEncoder { measured: Some(Measured::default()), ..encoder })
    }

    /// Writes the trace into trace buffers of this kind: one for each buffer of the capture.
    #[must_use]
    pub fn with_sink(mut self, mut sink: SinkSettings) -> LogEncoder {
        sink.framed = self.framed;
        self.recorder.repeat_ids();
        self.sink = Some(sink);
        self
    }

    /// Encodes a step of a processor.
    pub fn step(&mut self, cpu: u16, step: &Step) {
        if cpu >= self.cpus || self.stopped {
            return;
        }
        if let Step::Retired(_) = step {
            let index = usize::from(cpu);
            if self.counts.len() <= index {
                self.counts.resize(index + 1, 0);
            }
            let count = self.counts.get(index).copied().unwrap_or_default();
            if self.timestamps.is_some_and(|every| count > 0 && count.is_multiple_of(every)) {
                self.recorder.step(cpu, &Step::Timestamp(count));
            }
            if let Some(count) = self.counts.get_mut(index) {
                *count += 1;
            }
        }
        self.recorder.step(cpu, step);
        if let (Some(sink), Step::Retired(_)) = (&self.sink, step) {
            let count: u64 = self.counts.iter().sum();
            self.stopped = sink.stop == Some(count);
            if sink.trigger == Some(count) {
                self.trigger();
            }
        }
        if self.grows
            && self.failed.is_none()
            && let Err(error) = self.spool()
        {
            self.failed = Some(error);
        }
    }

    /// Writes trace data to files where they exceed the amount that is stored in memory. Call it
    /// between chunks of the log.
    ///
    /// # Errors
    /// [`OpenError`] where a file cannot be written.
    pub fn spool(&mut self) -> Result<(), OpenError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if self.recorder.len() < BUFFERED {
            return Ok(());
        }
        if let Some(measured) = &mut self.measured {
            self.recorder.take(|n, bytes| measured.add(n, bytes));
            return Ok(());
        }
        if self.sink.is_some() {
            self.fill();
            return Ok(());
        }
        let LogEncoder { recorder, spools, output, .. } = self;
        let mut done = Ok(());
        recorder.take(|n, bytes| {
            let spool = match spools.entry(n) {
                Entry::Occupied(spool) => Ok(spool.into_mut()),
                Entry::Vacant(entry) => Spool::new(output, n).map(|spool| entry.insert(spool)),
            };
            let appended = spool.and_then(|spool| spool.append(bytes));
            if done.is_ok() {
                done = appended;
            }
        });
        done
    }

    /// Passes the trace so far to the trace buffers.
    fn fill(&mut self) {
        let LogEncoder { recorder, sinks, sink, .. } = self;
        let Some(settings) = sink else { return };
        recorder.take(|n, bytes| {
            sinks.entry(n).or_insert_with(|| SinkUnit::new(settings, n)).offer(bytes);
        });
    }

    /// Each trace unit signals a trigger to its trace buffer.
    fn trigger(&mut self) {
        self.recorder.flush();
        self.fill();
        let LogEncoder { sinks, sink, counts, framed, .. } = self;
        let Some(settings) = sink else { return };
        for n in 0..if *framed { 1 } else { counts.len() } {
            sinks.entry(n).or_insert_with(|| SinkUnit::new(settings, n)).trigger();
        }
    }

    /// At the end of the log each processor halts, and its trace unit reports where. A RISC-V trace
    /// unit does that when it is switched off.
    fn halt(&mut self, assembler: &Assembler) {
        let halts = if self.protocol.is_riscv() { 0 } else { assembler.cpus() };
        for cpu in 0..halts.min(usize::from(self.cpus)) {
            self.step(cpu as u16, &Step::Halted);
        }
    }

    /// The size of the trace at the end of the log that `assembler` read, in buffers without a
    /// limit.
    ///
    /// # Errors
    /// [`RecordError`] where the trace units cannot be simulated.
    pub fn measure(mut self, assembler: &Assembler) -> Result<Measured, RecordError> {
        let instructions = self.counts.iter().sum();
        self.halt(assembler);
        let mut measured = self.measured.unwrap_or_default();
        for (n, buffer) in self.recorder.finish()?.buffers.iter().enumerate() {
            measured.add(n, &buffer.bytes());
        }
        Ok(Measured { instructions, ..measured })
    }

    /// Makes the capture at the end of the log that `assembler` read.
    ///
    /// # Errors
    /// [`EncodeError`] where the trace units cannot be simulated, or a file cannot be read.
    pub fn finish(mut self, assembler: &mut Assembler) -> Result<Encoded, EncodeError> {
        let instructions = self.counts.iter().sum();
        self.halt(assembler);
        if let Some(error) = self.failed.take() {
            return Err(error.into());
        }
        let stalled = self.recorder.waited();
        self.fill();
        let mut capture = self.recorder.finish()?;
        let mut stored = Vec::new();
        if let Some(settings) = &self.sink {
            for n in 0..capture.buffers.len() {
                let unit = self.sinks.remove(&n);
                let unit = unit.unwrap_or_else(|| SinkUnit::new(settings, n));
                stored.push(unit.finish(&mut capture, n));
            }
            capture.read_sinks();
        }
        for (n, spool) in self.spools {
            if let Some(buffer) = capture.buffers.get_mut(n) {
                spool.finish(buffer)?;
            }
        }
        let riscv = self.protocol.is_riscv();
        let logged = if riscv { add_logged_code(assembler, &mut capture) } else { None };
        numbers_to_words(self.protocol, &mut capture);
        Ok(Encoded { capture, instructions, stalled, logged, stored })
    }
}

/// Writes the capture of a protocol: RISC-V as a folder with a `capture.toml`, others as a
/// snapshot, which describes Arm devices only.
///
/// # Errors
/// [`OpenError`] where the folder contains files, or a file cannot be written. Then the folder is
/// left as it was, and the trace data that were written to files so far are deleted.
pub fn write(protocol: AnyProtocol, capture: &Capture, folder: &Path) -> Result<(), OpenError> {
    let done = write_capture(protocol, capture, folder);
    if done.is_err() {
        capture.remove_spooled();
    }
    done
}

fn write_capture(protocol: AnyProtocol, capture: &Capture, folder: &Path) -> Result<(), OpenError> {
    if !protocol.is_riscv() {
        return tracewright_capture::write(capture, folder);
    }
    #[cfg(feature = "toml")]
    return tracewright_capture::folder::write(capture, folder);
    #[cfg(not(feature = "toml"))]
    {
        let what = "this build cannot write it: it lacks the feature `toml`";
        Err(OpenError::new(folder, Problem::Toml(what.to_owned())))
    }
}

/// Adds executed code that is in no image to the capture, with the opcodes of the log.
fn add_logged_code(assembler: &mut Assembler, capture: &mut Capture) -> Option<LoggedCode> {
    let logged = assembler.lookup().logged();
    let runs = logged.runs();
    let (first, _) = *runs.first()?;
    let bytes = runs.iter().map(|(_, bytes)| bytes.len()).sum();
    let beside_images = !capture.memory.is_empty();
    capture.memory.extend(logged.dumps(RISCV));
    Some(LoggedCode { first, bytes, beside_images })
}

/// Enables the timestamps of N-Trace messages, where the user has not chosen that.
fn enable_timestamps(recording: &mut Recording) {
    let is_known =
        |name: &str| recording.registers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    if recording.protocol == AnyProtocol::Ntrace
        && !["trTsEnable", "trTsControl"].into_iter().any(is_known)
    {
        recording.registers.push(("trTsEnable".to_owned(), 1));
    }
}

/// Replaces numbers of parameters by the words that users know them by.
fn numbers_to_words(protocol: AnyProtocol, capture: &mut Capture) {
    if !protocol.is_riscv() {
        return;
    }
    let table = protocol.about().registers;
    for source in &mut capture.sources {
        let registers = std::mem::take(&mut source.registers.0);
        for register in registers {
            // A parameter is a register of one field.
            let words = match table.iter().find(|known| known.name == register.name) {
                Some(known) if known.fields.len() == 1 => known.fields.first().map(|f| f.values),
                _ => None,
            };
            let words = words.unwrap_or_default();
            match words.iter().find(|(number, _)| u128::from(*number) == register.value) {
                Some((_, word)) => source.words.push((register.name, (*word).to_owned())),
                None => source.registers.0.push(register),
            }
        }
    }
}
