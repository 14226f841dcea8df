//! Captures made of raw trace data and the user's description of the trace units.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::slice;

use tracewright_base::Remedy;
use tracewright_base::remedy::{FRAMING, ID, PINS, PROTOCOL, REGISTER};
use tracewright_capture::expected_names;
use tracewright_capture::levels::{self, Names, Sends};
use tracewright_capture::raw::{cycles_with_registers, parse_register};
use tracewright_capture::{
    Capture, Dump, Files, Format, OpenError, Origin, Pipe, Problem, Raw, Register, Registers,
    Selection, Source, cycles,
};
use tracewright_frames::cycles::port::Wiring;
use tracewright_frames::{Event, Framing, Link, Split, Splitter};
use tracewright_protocols::TraceForm;
use tracewright_protocols::demux::numbers;
use tracewright_protocols::registry::{AnyProtocol, Registry};

use crate::parameters::resolve;

/// Number of first bytes of a buffer that are searched for trace IDs and source numbers.
const SEARCHED: usize = 1 << 20;

/// A source number is dropped as damage if this times its messages are no more than those of the
/// most frequent number.
const RARE: usize = 256;

/// The user's description of a file of raw trace data.
#[derive(Clone, Debug, Default)]
pub struct RawTrace {
    /// The trace units. None: they are detected.
    pub units: Vec<Unit>,
    /// Registers and parameters of all units: `NAME=VALUE`; those of the unit with one ID:
    /// `NAME@ID=VALUE`.
    pub registers: Vec<String>,
    /// A file with parameters of all units.
    pub parameters: Option<PathBuf>,
    /// The type of the traced core.
    pub core: Option<String>,
    /// The framing of the data.
    pub framing: RawFraming,
    /// The registers of the trace buffer that the data were read from.
    pub buffer_registers: Option<Registers>,
    /// The sources that are decoded. A single trace ID is that of a single unit.
    pub ids: Vec<u16>,
    /// The file is a recording of the levels of a trace port, with these names of signals.
    pub levels: Option<Names>,
    /// Program memory beside that of images, such as the opcodes of an execution log.
    pub memory: Vec<Dump>,
    /// The part of the file that is the trace, and the order of its bytes.
    pub selection: Selection,
    /// The number of bytes at the start of the trace that are not decoded.
    pub skip: u64,
    /// The pipe that the file is, where it was opened before. Where all of its bytes were read,
    /// they are detected as those of a file.
    pub pipe: Option<Pipe>,
    /// Where the files are: on the disk, or in memory.
    pub files: Files,
    /// The protocols that units may have.
    pub protocols: Registry,
}

/// A trace unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The name of the protocol.
    pub protocol: String,
    /// The trace ID, or for RISC-V the source number.
    pub id: Option<u16>,
}

/// The framing of raw trace data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RawFraming {
    /// Unframed for one unit, CoreSight formatter frames for several.
    #[default]
    Auto,
    /// The given framing; [`Framing::Raw`] is the data of one source.
    Framed(Framing),
    /// Encapsulated messages of several RISC-V harts.
    Encapsulated,
    /// Words of a 24-bit Embedded Trace Buffer.
    Etb,
    /// The trace link of [`RawTrace::protocols`] with this name. Nothing is detected in it.
    Link(&'static str),
}

impl RawFraming {
    /// The framing of a trace port, which the format of a buffer does not state: that of the
    /// [`Options`](crate::Options).
    pub const fn of_port(self) -> Option<Framing> {
        match self {
            RawFraming::Framed(
                framing @ (Framing::Tpiu | Framing::TpiuHalf | Framing::TpiuHalfOnly),
            ) => Some(framing),
            _ => None,
        }
    }
}

/// Makes a capture of the file of raw trace data at `path`. `notes` receives what was inferred, one
/// text per line.
///
/// # Errors
/// [`OpenError`] where the file cannot be read, or the description is invalid.
pub fn capture(path: &Path, raw: &RawTrace, notes: &mut Vec<String>) -> Result<Capture, OpenError> {
    let Some(first) = raw.units.first() else {
        return Err(OpenError::new(path, Problem::NeedsProtocol));
    };
    for text in &raw.registers {
        let (assignment, _) = unit_register(text)?;
        notes.extend(unknown_register(&assignment, raw));
    }
    if is_port(&raw.protocols, &first.protocol)
        && raw.levels.is_none()
        && let Some(capture) = cycles_with_registers(&raw.files, path, &raw.registers)?
    {
        return Ok(capture);
    }
    let shared = raw.registers.iter().filter(|text| !is_unit_register(text)).cloned();
    let (words, registers): (Vec<_>, Vec<_>) =
        shared.partition(|text| raw.units.iter().any(|unit| is_word(&raw.protocols, text, unit)));
    let description = Raw {
        device_type: first.protocol.clone(),
        registers,
        format: format(raw),
        core: raw.core.clone(),
        images: Vec::new(),
        buffer_registers: raw.buffer_registers.clone(),
        selection: raw.selection,
        pipe: raw.pipe.clone(),
        files: raw.files.clone(),
    };
    let mut capture = Capture::raw(slice::from_ref(&path.to_owned()), &description)?;
    capture.protocols = raw.protocols.clone();
    capture.memory.extend(raw.memory.iter().cloned());
    capture.notes.retain(|note| {
        let converted = matches!(note.problem, Problem::Converted(_));
        notes.extend(converted.then(|| note.to_string()));
        !converted
    });
    let Some(mut pattern) = capture.sources.first().cloned() else { return Ok(capture) };
    if let Some(names) = &raw.levels {
        if raw.framing == RawFraming::Etb {
            let what = format!("has the levels of a port, not the words of {FRAMING} etb");
            return Err(wrong(PINS, "", &what));
        }
        levels::sample(&mut capture, path, sends(first, raw, &pattern)?, names)?;
    } else {
        levels::sample_swo(&mut capture, path)?;
    }
    skip(&mut capture, path, raw.skip)?;
    if raw.framing == RawFraming::Etb {
        if !is_port(&raw.protocols, &first.protocol) {
            return Err(wrong(FRAMING, "etb", &format!("needs {PROTOCOL} ETM1 or ETM2")));
        }
        if let Some(control) = pattern.register("ETMCR") {
            cycles::unpack_etb(&mut capture, control as u32);
        }
    }
    capture.sources.clear();
    for (name, word) in words.iter().filter_map(|text| text.split_once('=')) {
        let name = name.trim();
        pattern.parameter(name, word.trim());
        let key = Some(name.to_owned());
        let origin = Origin { key, ..Origin::file(Path::new(&REGISTER.to_string())) };
        pattern.origins.push((name.to_owned(), origin));
    }
    if let Some(path) = &raw.parameters {
        pattern.read_parameters(&raw.files, path)?;
    }
    capture.sources = match harts(raw, &pattern, &mut capture, notes)? {
        Some(harts) => harts,
        None => sources(raw, &pattern, &capture, notes)?,
    };
    resolve(&mut capture)?;
    Ok(capture)
}

/// Drops the first `bytes` bytes of each buffer of the capture at `path`.
///
/// # Errors
/// [`OpenError`] where a buffer is a pipe.
pub fn skip(capture: &mut Capture, path: &Path, bytes: u64) -> Result<(), OpenError> {
    if capture.buffers.iter_mut().all(|buffer| buffer.skip(bytes)) {
        return Ok(());
    }
    let what = "bytes of a pipe cannot be skipped; write the trace to a file first";
    Err(OpenError::new(path, Problem::Parameter(what.to_owned())))
}

/// Whether `text` is `NAME@ID=VALUE`.
fn is_unit_register(text: &str) -> bool {
    text.split('=').next().is_some_and(|name| name.contains('@'))
}

/// `NAME=VALUE`, and the ID of the unit that has the register: `NAME@ID=VALUE`. `None` for all.
fn unit_register(text: &str) -> Result<(String, Option<u16>), OpenError> {
    if !is_unit_register(text) {
        return Ok((text.to_owned(), None));
    }
    let parts = text.split_once('=').and_then(|(name, value)| {
        let (name, id) = name.split_once('@')?;
        let id = match id.strip_prefix("0x") {
            Some(hex) => u16::from_str_radix(hex, 16).ok()?,
            None => id.parse().ok()?,
        };
        Some((format!("{name}={value}"), Some(id)))
    });
    parts.ok_or_else(|| not_assignment(text))
}

/// What the port sends whose levels are recorded.
fn sends(unit: &Unit, raw: &RawTrace, pattern: &Source) -> Result<Sends, OpenError> {
    if !is_port(&raw.protocols, &unit.protocol) {
        return Ok(Sends::Bytes);
    }
    let control = pattern.register("ETMCR").map(|control| control as u32);
    let control = control.ok_or_else(|| {
        wrong(PINS, "", &format!("needs the mode of the port; add {REGISTER} ETMCR=VALUE"))
    })?;
    let wiring = Wiring::of_control(control).filter(|wiring| wiring.rates().is_some());
    wiring.map(Sends::Cycles).ok_or_else(|| {
        wrong(PINS, "", &format!("ETMCR {control:#010x} encodes no known mode of the port"))
    })
}

/// The sources of unframed data or of CoreSight formatter frames: a copy of `pattern` for each
/// unit.
fn sources(
    raw: &RawTrace,
    pattern: &Source,
    capture: &Capture,
    notes: &mut Vec<String>,
) -> Result<Vec<Source>, OpenError> {
    let too_large = |id: &u16| *id >= 0x80;
    if let Some((unit, id)) =
        raw.units.iter().find_map(|unit| Some((unit, unit.id.filter(too_large)?)))
    {
        return Err(not_a_trace_id(PROTOCOL, &format!("{}@{id:#x}", unit.protocol), id));
    }
    if let Some(&id) = raw.ids.iter().find(|id| too_large(id)) {
        return Err(not_a_trace_id(ID, &format!("{id:#x}"), id));
    }
    let sources = raw.units.iter().map(|unit| {
        let mut source = pattern.clone();
        source.device_type.clone_from(&unit.protocol);
        source.name.clone_from(&unit.protocol);
        if raw.units.iter().filter(|other| other.protocol == unit.protocol).count() > 1
            && let Some(id) = unit.id
        {
            source.name = format!("{}@{id:#04x}", unit.protocol);
        }
        // Parameters of other units only.
        source.words.retain(|(name, word)| {
            let text = format!("{name}={word}");
            let has = |unit: &Unit| is_word(&raw.protocols, &text, unit);
            has(unit) || !raw.units.iter().any(has)
        });
        for text in raw.registers.iter().filter(|text| is_unit_register(text)) {
            let (assignment, id) = unit_register(text)?;
            if id == unit.id {
                own_register(&mut source, raw, unit, &assignment)?;
            }
        }
        let id = unit.id.and_then(|id| u8::try_from(id).ok());
        let id = id.or_else(|| infer_id(raw, capture, notes));
        if let Some((name, shift)) = id_register(&raw.protocols, &unit.protocol) {
            set_id(&mut source.registers.0, name, shift, id);
        }
        Ok(source)
    });
    sources.collect()
}

/// Sets a register or a parameter of `unit`, of which `source` has the data.
fn own_register(
    source: &mut Source,
    raw: &RawTrace,
    unit: &Unit,
    assignment: &str,
) -> Result<(), OpenError> {
    if is_word(&raw.protocols, assignment, unit)
        && let Some((name, word)) = assignment.split_once('=')
    {
        source.parameter(name.trim(), word.trim());
        return Ok(());
    }
    let register = parse_register(assignment).ok_or_else(|| not_assignment(assignment))?;
    let registers = &mut source.registers.0;
    registers.retain(|old| !old.name.eq_ignore_ascii_case(&register.name));
    registers.push(register);
    Ok(())
}

/// The error of what a user gives with the value `value`, which is empty where it does not matter.
fn wrong(given: Remedy, value: &str, what: &str) -> OpenError {
    let name = format!("{given} {value}");
    OpenError::new(Path::new(name.trim_end()), Problem::Parameter(what.to_owned()))
}

fn not_a_trace_id(own: Remedy, value: &str, id: u16) -> OpenError {
    wrong(own, value, &format!("`{id:#x}` is not a trace ID; write a number from 0 to 0x7f"))
}

fn not_assignment(text: &str) -> OpenError {
    OpenError::new(Path::new(&REGISTER.to_string()), Problem::NotAssignment(text.to_owned()))
}

/// Whether units of the protocol called `name` have a trace port of their own.
fn is_port(protocols: &Registry, name: &str) -> bool {
    protocols.named(name).is_some_and(AnyProtocol::has_own_port)
}

/// Whether `text` gives a parameter of `unit` as a word.
fn is_word(protocols: &Registry, text: &str, unit: &Unit) -> bool {
    let words = protocols.named(&unit.protocol);
    let words = |name, word| words.and_then(|protocol| protocol.parse_value(name, word)).is_some();
    text.split_once('=').is_some_and(|(name, word)| words(name.trim(), word.trim()))
}

/// A note where none of the units has the register that `text` assigns.
fn unknown_register(text: &str, raw: &RawTrace) -> Option<String> {
    let name = text.split('=').next()?.trim();
    let protocols = raw.units.iter().map(|unit| raw.protocols.named(&unit.protocol));
    let protocols = protocols.collect::<Option<Vec<_>>>()?;
    let registers: Vec<_> = protocols.iter().flat_map(|p| p.about().registers).collect();
    let is_known = |protocol: &AnyProtocol| {
        protocol.has_text(name)
            || protocol.is_unused(name)
            || protocol.register_name(name).is_some()
    };
    // The addresses in the comparators of a DWT complete what an ITM traces.
    let is_comparator =
        name.strip_prefix("DWT_COMP").is_some_and(|n| n.parse().is_ok_and(|n: u8| n < 4));
    let has_itm = protocols.iter().any(|protocol| matches!(protocol, AnyProtocol::Itm));
    if protocols.iter().any(is_known) || is_comparator && has_itm {
        return None;
    }
    let known: Vec<_> = registers.iter().map(|r| r.name).collect();
    let expected = expected_names(name, &known);
    Some(format!("{REGISTER} {text}: unknown register {name}, not used; {expected}"))
}

/// The harts of encapsulated messages with source numbers: those of the units, or those found in
/// the data. `None` for unframed data of one source, and for formatter frames.
fn harts(
    raw: &RawTrace,
    pattern: &Source,
    capture: &mut Capture,
    notes: &mut Vec<String>,
) -> Result<Option<Vec<Source>>, OpenError> {
    let messages = raw.framing == RawFraming::Encapsulated;
    let sends_messages = |unit: &Unit| {
        raw.protocols.named(&unit.protocol).is_some_and(|p| p.form() == TraceForm::Messages)
    };
    if !messages && raw.framing != RawFraming::Auto || !raw.units.iter().all(sends_messages) {
        return Ok(None);
    }
    let device_type = raw.units.first().map_or_else(String::new, |unit| unit.protocol.clone());
    let pattern = Source { name: device_type.clone(), device_type, ..pattern.clone() };
    let (sources, protocols) = (vec![pattern.clone()], raw.protocols.clone());
    let mut settled = Capture { sources, protocols, ..Capture::default() };
    resolve(&mut settled)?;
    let value = |name: &str| settled.sources.first()?.register(name);
    let protocol = raw.protocols.named(&pattern.device_type).unwrap_or(AnyProtocol::Etrace);
    let Ok(config) = protocol.configure(None, &value) else { return Ok(None) };
    let Some(link) = config.message_source() else { return Ok(None) };
    if link.width == 0 {
        if messages {
            let what = format!("needs the width of source numbers; add {REGISTER} source_width=N");
            return Err(wrong(FRAMING, "encapsulated", &what));
        }
        return Ok(None);
    }
    let given: Vec<u16> = raw.units.iter().filter_map(|unit| unit.id).collect();
    let configured = value("source").is_some();
    let numbers = match given.as_slice() {
        [] if configured => vec![link.number],
        [] => {
            let head = capture.buffers.first().map(|buffer| buffer.head(SEARCHED));
            let mut found = numbers(&head.unwrap_or_default(), &config);
            let most = found.iter().map(|(_, count)| *count).max().unwrap_or(0);
            found.retain(|(_, count)| count * RARE > most);
            let found: Vec<u16> = found.iter().map(|(number, _)| *number).collect();
            if !link.bounded && messages {
                let what = format!(
                    "the data may begin within a message, so the harts cannot be detected; give \
                            each one with {PROTOCOL} etrace@N"
                );
                return Err(wrong(FRAMING, "encapsulated", &what));
            }
            if found.len() < 2 && !messages || !link.bounded {
                return Ok(None);
            }
            let list: Vec<_> = found.iter().map(|number| format!("{number:#x}")).collect();
            let list = list.join(", ");
            notes.push(format!(
                "no source number was given; the messages contain the sources {list}, and all are \
                 decoded"
            ));
            found
        }
        given => given.to_vec(),
    };
    capture.buffers.iter_mut().for_each(|buffer| buffer.format = Format::Encapsulated);
    let several = numbers.len() > 1;
    let sources = numbers.into_iter().map(|number| {
        let mut source = pattern.clone();
        if several {
            source.name = format!("{}@{number:#x}", source.name);
        }
        source.registers.0.retain(|register| !register.name.eq_ignore_ascii_case("source"));
        source.registers.0.push(Register {
            name: "source".to_owned(),
            id: None,
            size: None,
            value: number.into(),
        });
        source
    });
    Ok(Some(sources.collect()))
}

/// The format of the buffer.
fn format(raw: &RawTrace) -> Format {
    match raw.framing {
        RawFraming::Auto if raw.units.len() > 1 => Format::CoreSight,
        RawFraming::Auto | RawFraming::Etb | RawFraming::Framed(Framing::Raw) => Format::SourceData,
        RawFraming::Framed(Framing::Dstream) => Format::DstreamCoreSight,
        RawFraming::Framed(_) => Format::CoreSight,
        RawFraming::Encapsulated => Format::Encapsulated,
        RawFraming::Link(name) => Format::Other(name.to_owned()),
    }
}

/// The trace ID of a single unit: the selected one, or the only one in the frames.
fn infer_id(raw: &RawTrace, capture: &Capture, notes: &mut Vec<String>) -> Option<u8> {
    let [unit] = raw.units.as_slice() else { return None };
    let (name, _) = id_register(&raw.protocols, &unit.protocol)?;
    let given =
        |text: &String| text.split('=').next().is_some_and(|n| n.eq_ignore_ascii_case(name));
    if raw.registers.iter().any(given) {
        return None;
    }
    if let [id] = raw.ids[..] {
        return u8::try_from(id).ok();
    }
    let head = || Some(capture.buffers.first()?.head(SEARCHED));
    let mut ids = Ids::default();
    match raw.framing {
        RawFraming::Framed(framing) if framing != Framing::Raw => {
            Splitter::new(Link::new(framing)).split(0, &head()?, &mut ids);
        }
        RawFraming::Link(name) => raw.protocols.link(name)?.fresh().split(0, &head()?, &mut ids),
        _ => return None,
    }
    let id = ids.0.pop_first().filter(|_| ids.0.is_empty())?;
    notes.push(format!("no trace ID was given; {id:#04x}, the only one in the frames, is used"));
    u8::try_from(id).ok()
}

/// Collects the trace IDs with data.
#[derive(Default)]
struct Ids(BTreeSet<u16>);

impl Split for Ids {
    fn piece(&mut self, id: u16, _at: u64, _fragment: bool, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.0.insert(id);
        }
    }

    fn event(&mut self, _at: u64, _event: Event) {}
}

/// The register of a unit that contains the trace ID, and the lowest bit of the ID in it.
fn id_register(protocols: &Registry, name: &str) -> Option<(&'static str, u32)> {
    protocols.named(name)?.id_register()
}

/// Sets a known trace ID. An unknown one is 0 if the register is missing, as unframed data need
/// none.
fn set_id(registers: &mut Vec<Register>, name: &str, shift: u32, id: Option<u8>) {
    let existing = registers.iter_mut().find(|r| r.name.eq_ignore_ascii_case(name));
    let bits = u128::from(id.unwrap_or(0)) << shift;
    match existing {
        Some(register) if id.is_some() => {
            register.value = register.value & !(0x7f << shift) | bits;
        }
        Some(_) => {}
        None if shift == 0 || id.is_some() => {
            registers.push(Register { name: name.to_owned(), id: None, size: None, value: bits });
        }
        None => {}
    }
}
