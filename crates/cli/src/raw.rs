//! Bare bytes as a capture, from what the command line says of them.

use std::path::Path;
use std::slice;

use tracewright::Capture;
use tracewright::capture::{Format, Origin, Raw, Register, Source, cycles};
use tracewright::decode::parameters::resolve;
use tracewright::frames::{Framing, Link, Splitter};
use tracewright::protocols::TraceForm;
use tracewright::protocols::etrace::demux::numbers;
use tracewright::protocols::registry::{AnyConfig, AnyProtocol};
use tracewright::views::link::Ids;

use crate::args::{FramingArg, InputArgs, source_number, trace_id};
use crate::fail::Fail;

/// How much of a buffer is looked at for trace ids.
const LOOK: usize = 1 << 20;

/// Reads bare bytes. What was guessed is said in `notes`.
pub fn read(args: &InputArgs, notes: &mut Vec<String>) -> Result<Capture, Fail> {
    let units =
        args.protocols.iter().map(|text| Unit::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = units.first() else { return Ok(tracewright::read_capture(&args.input)?) };
    notes.extend(args.registers.iter().filter_map(|text| unused(text, &units)));
    if is_port(&first.protocol)
        && let Some(capture) = cycles::open_with(&args.input, &args.registers)?
    {
        return Ok(capture);
    }
    let (words, registers): (Vec<_>, Vec<_>) =
        args.registers.iter().cloned().partition(|text| is_word(text, first));
    let raw = Raw {
        device_type: first.protocol.clone(),
        registers,
        format: format(args.framing, &units),
        core: args.core.clone(),
        images: Vec::new(),
    };
    let mut capture = Capture::raw(slice::from_ref(&args.input), &raw)?;
    let Some(pattern) = capture.sources.first().cloned() else { return Ok(capture) };
    if args.framing == FramingArg::Etb {
        if !is_port(&first.protocol) {
            return Err(Fail::option("--framing", "etb", "is for --protocol ETM1 and ETM2"));
        }
        if let Some(control) = pattern.register("ETMCR") {
            cycles::unpack_etb(&mut capture, control as u32);
        }
    }
    capture.sources.clear();
    let mut pattern = pattern;
    for (name, word) in words.iter().filter_map(|text| text.split_once('=')) {
        let name = name.trim();
        pattern.parameter(name, word.trim());
        let key = Some(name.to_owned());
        pattern
            .offsets
            .push((name.to_owned(), Origin { key, ..Origin::file(Path::new("--config")) }));
    }
    if let Some(path) = &args.params {
        pattern.read_parameters(path)?;
    }
    if let Some(harts) = harts(args, &units, &pattern, &mut capture, notes)? {
        capture.sources = harts;
        resolve(&mut capture)?;
        return Ok(capture);
    }
    let units = units.iter().map(Unit::framed).collect::<Result<Vec<_>, _>>()?;
    for id in &args.ids {
        trace_id(&id.to_string()).map_err(|why| Fail::option("--id", &id.to_string(), &why))?;
    }
    for unit in &units {
        let mut source = pattern.clone();
        source.device_type.clone_from(&unit.protocol);
        source.name.clone_from(&unit.protocol);
        if units.iter().filter(|other| other.protocol == unit.protocol).count() > 1
            && let Some(id) = unit.id
        {
            source.name = format!("{}@{id:#04x}", unit.protocol);
        }
        let id = unit.id.or_else(|| guess(args, &units, &capture, notes));
        if let Some((name, shift)) = id_register(&unit.protocol) {
            set_id(&mut source.registers.0, name, shift, id);
        }
        capture.sources.push(source);
    }
    resolve(&mut capture)?;
    Ok(capture)
}

/// Units of `protocol` have a trace port of their own.
fn is_port(protocol: &str) -> bool {
    AnyProtocol::named(protocol).is_some_and(AnyProtocol::has_own_port)
}

/// `text` gives a parameter of `unit` in a word.
fn is_word(text: &str, unit: &Unit) -> bool {
    let words = AnyProtocol::named(&unit.protocol);
    let words = |name, word| words.and_then(|protocol| protocol.parse_value(name, word)).is_some();
    text.split_once('=').is_some_and(|(name, word)| words(name.trim(), word.trim()))
}

/// Says that none of `units` has the register that `text` gives a value.
fn unused(text: &str, units: &[Unit]) -> Option<String> {
    let name = text.split('=').next()?.trim();
    let protocols = units.iter().map(|unit| AnyProtocol::named(&unit.protocol));
    let protocols = protocols.collect::<Option<Vec<_>>>()?;
    let registers: Vec<_> = protocols.iter().flat_map(|p| p.about().registers).collect();
    let same = |other: &&str| other.eq_ignore_ascii_case(name);
    if registers.iter().any(|r| same(&r.name) || r.aliases.iter().any(same))
        || protocols.iter().any(|protocol| protocol.has_text(name))
    {
        return None;
    }
    let known: Vec<_> = registers.iter().map(|r| r.name).collect();
    Some(format!("--config {text}: there is no register {name}; there are {}", known.join(", ")))
}

/// Where messages have their sources' numbers, the harts whose numbers were named, or are there. `None` where the
/// bytes are one source's, or framed.
fn harts(
    args: &InputArgs,
    units: &[Unit],
    pattern: &Source,
    capture: &mut Capture,
    notes: &mut Vec<String>,
) -> Result<Option<Vec<Source>>, Fail> {
    let messages = args.framing == FramingArg::Encapsulated;
    if !messages && args.framing != FramingArg::Auto || !units.iter().all(Unit::sends_messages) {
        return Ok(None);
    }
    let device_type = units.first().map_or_else(String::new, |unit| unit.protocol.clone());
    let pattern = Source { name: device_type.clone(), device_type, ..pattern.clone() };
    let mut settled = Capture { sources: vec![pattern.clone()], ..Capture::default() };
    resolve(&mut settled)?;
    let value = |name: &str| settled.sources.first()?.register(name);
    let Ok(AnyConfig::Etrace(params)) = AnyProtocol::Etrace.configure(None, &value) else {
        return Ok(None);
    };
    if !params.link.has_sources() {
        if messages {
            let what = "needs the width of the sources' numbers: --config source_width=N";
            return Err(Fail::option("--framing", "encapsulated", what));
        }
        return Ok(None);
    }
    let named: Vec<u16> = units.iter().filter_map(|unit| unit.id).collect();
    let given = ["source", "srcid", "trTeSrcID"].iter().any(|name| value(name).is_some());
    let numbers = match named.as_slice() {
        [] if given => vec![params.link.source],
        [] => {
            let head = capture.buffers.first().map(|buffer| buffer.head(LOOK)).unwrap_or_default();
            // A message or two of a number are damage.
            let mut found = numbers(&head, &params);
            let most = found.iter().map(|(_, count)| *count).max().unwrap_or(0);
            found.retain(|(_, count)| count * RARE > most);
            let found: Vec<u16> = found.iter().map(|(number, _)| *number).collect();
            if !params.link.aligned && messages {
                let what = "which harts? Where no message begins at the first byte, name them: --protocol etrace@N";
                return Err(Fail::option("--framing", "encapsulated", what));
            }
            if found.len() < 2 && !messages || !params.link.aligned {
                return Ok(None);
            }
            let list: Vec<_> = found.iter().map(|number| format!("{number:#x}")).collect();
            let list = list.join(", ");
            notes.push(format!(
                "no source was named; the messages are of {list}, and all are taken"
            ));
            found
        }
        named => named.to_vec(),
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

/// One of so many messages is no hart's.
const RARE: usize = 256;

/// A trace unit, as a user names it: `ITM`, `ITM@1`.
#[derive(Clone)]
struct Unit {
    protocol: String,
    id: Option<u16>,
}

impl Unit {
    fn parse(text: &str) -> Result<Unit, Fail> {
        match text.split_once('@') {
            None => Ok(Unit { protocol: text.to_owned(), id: None }),
            Some((protocol, id)) => {
                let mut unit = Unit { protocol: protocol.to_owned(), id: None };
                let id = if unit.sends_messages() {
                    source_number(id)
                } else {
                    trace_id(id).map(u16::from)
                };
                unit.id = Some(id.map_err(|why| Fail::option("--protocol", text, &why))?);
                Ok(unit)
            }
        }
    }

    /// Captures hold its trace as messages.
    fn sends_messages(&self) -> bool {
        AnyProtocol::named(&self.protocol).is_some_and(|p| p.form() == TraceForm::Messages)
    }
}

/// The same with a trace id.
struct Framed {
    protocol: String,
    id: Option<u8>,
}

impl Unit {
    /// Where units are told apart by their trace ids.
    fn framed(&self) -> Result<Framed, Fail> {
        let Unit { protocol, id } = self.clone();
        let text = id.map_or_else(String::new, |id| format!("{protocol}@{id}"));
        let id = id.map(|id| trace_id(&id.to_string())).transpose();
        let id = id.map_err(|why| Fail::option("--protocol", &text, &why))?;
        Ok(Framed { protocol, id })
    }
}

/// Bare bytes are one source's own, unless the user says that they are framed, or that there are several.
fn format(framing: FramingArg, units: &[Unit]) -> Format {
    match framing {
        FramingArg::Auto if units.len() > 1 => Format::CoreSight,
        FramingArg::Auto | FramingArg::Raw | FramingArg::Etb => Format::SourceData,
        FramingArg::Coresight | FramingArg::Tpiu | FramingArg::TpiuHsync => Format::CoreSight,
        FramingArg::Dstream => Format::DstreamCoreSight,
        FramingArg::Encapsulated => Format::Encapsulated,
    }
}

/// The id of the only unit: the one that was asked for, or the only one in the frames.
fn guess(
    args: &InputArgs,
    units: &[Framed],
    capture: &Capture,
    notes: &mut Vec<String>,
) -> Option<u8> {
    let [unit] = units else { return None };
    let (name, _) = id_register(&unit.protocol)?;
    let given =
        |text: &String| text.split('=').next().is_some_and(|n| n.eq_ignore_ascii_case(name));
    if args.registers.iter().any(given) {
        return None;
    }
    if let [id] = args.ids[..] {
        return u8::try_from(id).ok();
    }
    let framing = args.framing.chosen().filter(|f| *f != Framing::Raw)?;
    let head = capture.buffers.first()?.head(LOOK);
    let mut ids = Ids::default();
    Splitter::new(Link::new(framing)).split(0, &head, &mut ids);
    let [(id, _)] = ids.sources()[..] else { return None };
    notes.push(format!(
        "no trace id was given; {id:#04x} is the only one in the frames and is taken"
    ));
    u8::try_from(id).ok()
}

/// The register that holds the trace id of a unit, and its lowest bit there.
fn id_register(protocol: &str) -> Option<(&'static str, u32)> {
    AnyProtocol::named(protocol)?.id_register()
}

/// Sets the trace id where it is known; else lets it be 0 where nothing says it, as bare bytes need none.
fn set_id(registers: &mut Vec<Register>, name: &str, shift: u32, id: Option<u8>) {
    let there = registers.iter_mut().find(|r| r.name.eq_ignore_ascii_case(name));
    let bits = u128::from(id.unwrap_or(0)) << shift;
    match there {
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
