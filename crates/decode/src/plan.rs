//! Which sources of a buffer can be decoded, and why the others cannot.

use std::error::Error;
use std::fmt;

use tracewright_base::{MAX_EXPANSION, MissingRegister};
use tracewright_capture::{Buffer, Capture, Format, Kind, Source};
use tracewright_frames::{Event, ExternalLink, Framing, Link, Numbering, Split, Splitter};
use tracewright_image::OpcodeCheck;
use tracewright_protocols::registry::{AnyConfig, AnyProtocol};
use tracewright_protocols::{Demux, TraceForm};

use crate::jump_table::{JUMP_TABLE, JumpTable};
use crate::program_width::xlen;
use crate::route::Route;

/// How to decode. Write values as `Options { ..Options::default() }`: fields may be added.
#[derive(Clone, Debug)]
pub struct Options {
    /// Decode only these trace IDs, or source numbers. Empty: decode all.
    pub ids: Vec<u16>,
    /// The framing, if it is not what the capture states.
    pub framing: Option<Framing>,
    /// How offsets are counted.
    pub numbering: Numbering,
    /// Which undefined opcodes mean that the program image is wrong. After one, the
    /// decoder waits for the next traced address; with [`OpcodeCheck::Undefined`] it waits for the
    /// next synchronisation, as OpenCSD does.
    pub check_opcodes: OpcodeCheck,
    /// The range up to the address of a Source Address packet (ETE) is split at each waypoint
    /// before it. Without it, the default, the branches before the last instruction of such a
    /// range, which were not taken, have no element.
    pub split_source_ranges: bool,
    /// The first byte of an ITM begins a packet: many captures have no synchronisation packet. A
    /// plan finds this out from the bytes of its buffer. Of a buffer that is empty when the plan is
    /// made, the bytes before the first synchronisation packet are undecodable without this option.
    pub assume_synced: bool,
    /// The maximum number of instructions that a decoder follows for each byte of a packet, at
    /// least 1. A packet that needs more is reported as
    /// [`Inconsistency::ExpansionLimit`](tracewright_base::Inconsistency::ExpansionLimit). Turns of
    /// a counted loop beyond it are not [listed](tracewright_base::Turns::listed).
    pub max_expansion: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            ids: Vec::new(),
            framing: None,
            numbering: Numbering::default(),
            check_opcodes: OpcodeCheck::default(),
            split_source_ranges: false,
            assume_synced: false,
            max_expansion: MAX_EXPANSION,
        }
    }
}

/// A buffer and the sources in it that can be decoded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// Index of the buffer in the capture.
    pub buffer: usize,
    /// The framing of its bytes.
    pub framing: Framing,
    /// Separates RISC-V messages by source number; `None` where the buffer has no messages, or
    /// messages without a source number. Of messages, the framing is [`Framing::Raw`].
    pub messages: Option<Demux>,
    /// The trace link, where the buffer has a format of the capture's [registry]. The framing is
    /// [`Framing::Raw`].
    ///
    /// [registry]: Capture::protocols
    pub link: Option<ExternalLink>,
    /// The sources that can be decoded.
    pub sources: Vec<Planned>,
    /// The sources that cannot.
    pub skipped: Vec<Skipped>,
}

/// A source that can be decoded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Planned {
    /// Index of the source in the capture.
    pub source: usize,
    /// Its name: [`Source::stream_name`].
    pub name: String,
    /// The stream of the source, as an offset to its trace ID: 1 for the data stream of an ETMv4.
    pub stream: u8,
    /// Its trace ID, or its source number where messages have one.
    pub id: u16,
    /// Its configuration.
    pub config: AnyConfig,
    /// Its jump table of Zcmt, where the address was taken from the program's symbols.
    pub jump_table: Option<JumpTable>,
    /// The registers that the capture does not have, and what is assumed of each.
    pub assumed: Vec<(&'static str, &'static str)>,
}

/// A source that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// Index of the source in the capture.
    pub source: usize,
    /// Its name.
    pub name: String,
    /// The reason.
    pub why: Why,
    /// The registers that are missing: all that decoding needs.
    pub missing: Vec<&'static str>,
    /// The reason as a sentence, with what to do.
    pub message: String,
}

/// A plan is used with a capture that it was not made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignPlan {
    /// Index of the source that the capture does not have.
    pub source: usize,
    /// Its name.
    pub name: String,
}

impl fmt::Display for ForeignPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ForeignPlan { source, name } = self;
        write!(
            f,
            "the plan was made for another capture: this one has no source `{name}` with index {source}; \
             make the plan with `Plan::new` from the capture that is decoded"
        )
    }
}

impl Error for ForeignPlan {}

impl Planned {
    /// Source number `source` of a capture, called `name`, with this trace ID and configuration.
    pub fn new(source: usize, name: impl Into<String>, id: u16, config: AnyConfig) -> Planned {
        let (name, assumed) = (name.into(), Vec::new());
        Planned { source, name, stream: 0, id, config, jump_table: None, assumed }
    }

    /// The registers that are missing and that decoding depends on, each with the value that is
    /// assumed, as a sentence.
    pub fn assumptions(&self) -> impl Iterator<Item = String> + '_ {
        self.assumed.iter().map(|(register, value)| {
            format!(
                "{}: {register} is missing and taken as {value}; add it to the registers of the unit",
                self.name
            )
        })
    }

    /// The source in the capture that the plan was made for.
    ///
    /// # Errors
    /// [`ForeignPlan`] where `capture` has no source of this name at this index.
    pub fn of<'a>(&self, capture: &'a Capture) -> Result<&'a Source, ForeignPlan> {
        let is_own = |source: &&Source| source.stream_name(self.stream) == self.name;
        let source = capture.sources.get(self.source).filter(is_own);
        source.ok_or_else(|| ForeignPlan { source: self.source, name: self.name.clone() })
    }
}

/// Why a source cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// No protocol has the device's type.
    UnknownProtocol,
    /// A register is missing.
    Missing(MissingRegister),
    /// The protocol has no stream of this number.
    NoStream(u8),
    /// Another source has the same trace ID, or the same source number.
    SameId(u16),
    /// Its messages cannot be distinguished from those of the other sources.
    OtherLink,
    /// The user selected other IDs.
    NotChosen(u16),
}

impl Why {
    /// The reason for `source`, which lacks the registers `missing`, as a sentence, with what to
    /// do.
    fn message(&self, capture: &Capture, source: &Source, missing: &[&'static str]) -> String {
        let known = || {
            let all = capture.protocols.all();
            let names = all.filter_map(|p| p.about().names.first().copied());
            names.collect::<Vec<_>>()
        };
        match *self {
            Why::UnknownProtocol => capture.unknown_protocol(source, &known()).to_string(),
            Why::Missing(first) => {
                let others = missing.get(1..).unwrap_or_default().to_vec();
                capture.missing_register(source, first, others).to_string()
            }
            Why::NoStream(stream) => format!(
                "{}: {} has no stream {stream}; link its trace without a stream, or correct the \
                 number",
                source.name,
                source.protocol()
            ),
            Why::OtherLink => format!(
                "{}: its messages have no source number, or have it at another position than those \
                 of the first source; `source_width`, `timestamp_bytes` and `framing` must be those \
                 of the first source, and `source_width` must be above 0",
                source.name
            ),
            Why::SameId(id) => format!(
                "{}: trace ID or source number {id:#04x} already belongs to another source; this \
                 source is not decoded",
                source.name
            ),
            Why::NotChosen(id) => format!("{}: trace ID {id:#04x} was not selected", source.name),
        }
    }
}

impl Plan {
    /// A plan of buffer `buffer` with these sources, which need not be those that the capture lists
    /// for it.
    pub fn with_sources(buffer: usize, framing: Framing, sources: Vec<Planned>) -> Plan {
        Plan { buffer, framing, messages: None, link: None, sources, skipped: Vec::new() }
    }

    /// The same with this trace link, whatever the format of the buffer.
    #[must_use]
    pub fn with_link(self, link: ExternalLink) -> Plan {
        Plan { framing: Framing::Raw, messages: None, link: Some(link), ..self }
    }

    /// Plans `buffer`. `None` where the capture has no such buffer.
    ///
    /// An ITM without a synchronisation packet in the buffer is decoded from its first byte on.
    /// Where the buffer is empty, as its bytes arrive later, that is not known: it is decoded from
    /// its first synchronisation packet on, as it is where a plan is made with the bytes and they
    /// have one. [`Options::assume_synced`] states that there may be none.
    pub fn new(capture: &Capture, buffer: usize, options: &Options) -> Option<Plan> {
        let format = &capture.buffers.get(buffer)?.format;
        // Whether the buffer has messages. `plan.messages` follows when all sources are known.
        let messages = options.framing.is_none() && *format == Format::Encapsulated;
        let link = match format {
            Format::Other(name) if options.framing.is_none() => capture.protocols.link(name),
            _ => None,
        };
        let link = link.map(ExternalLink::fresh);
        let framing = match options.framing {
            Some(framing) => framing,
            None if link.is_some() => Framing::Raw,
            None => framing(capture.buffers.get(buffer)?),
        };
        let (sources, skipped) = (Vec::new(), Vec::new());
        let mut plan = Plan { buffer, framing, messages: None, link, sources, skipped };
        // Whether there are trace IDs.
        let framed = plan.framed();
        // The sources so far that have a number, including those that were not selected.
        let mut harts = Vec::new();
        let streams = capture.linked(buffer).into_iter().flat_map(|(n, source)| {
            capture.streams_in(source, buffer).into_iter().map(move |stream| (n, source, stream))
        });
        for (n, source, stream) in streams {
            let name = source.stream_name(stream);
            let planned = if messages {
                plan.hart(capture, n, options, &mut harts)
            } else {
                plan.config(capture, n, stream, options)
            };
            match planned {
                Ok((id, mut config)) => {
                    let jump_table =
                        JumpTable::configure(&mut config, || capture.images_for(source));
                    let assumed = assumed(capture, source, &config);
                    let planned =
                        Planned { source: n, name, stream, id, config, jump_table, assumed };
                    plan.sources.push(planned);
                }
                Err(why) => {
                    let missing = missing(capture, source, &why, framed);
                    let message = why.message(capture, source, &missing);
                    plan.skipped.push(Skipped { source: n, name, why, missing, message });
                }
            }
            // Without framing all bytes belong to one source: the first that can be decoded and
            // that the options select. Those after it are neither decoded nor skipped.
            if !framed && !messages && !plan.sources.is_empty() {
                break;
            }
        }
        plan.messages = Demux::new(&harts);
        // An ITM without a synchronisation packet starts at its first byte. Not in OpenCSD's
        // listing (`Numbering::Opencsd`): OpenCSD waits for a packet.
        if options.numbering == Numbering::Capture {
            plan.assume_starts(capture);
        }
        Some(plan)
    }

    /// The bytes of the plan's buffer in `capture`, one part for each file. None where `capture`
    /// has no such buffer.
    pub fn parts<'a>(&self, capture: &'a Capture) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        capture.buffers.get(self.buffer).into_iter().flat_map(Buffer::parts)
    }

    /// Whether the buffer may have bytes of several sources.
    pub fn framed(&self) -> bool {
        self.framing != Framing::Raw || self.messages.is_some() || self.link.is_some()
    }

    /// What a user should know about the settings of the sources: those that were not configured
    /// but inferred, and those with which not everything can be decoded. One line each.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let inferred = |planned: &Planned| {
            let JumpTable { address, file } = planned.jump_table.as_ref()?;
            let name = &planned.name;
            Some(format!(
                "{name}: jvt is taken to be {address:#x}, the symbol {JUMP_TABLE} of {file}"
            ))
        };
        let configured = |planned: &Planned| {
            planned.config.note().map(|note| format!("{}: {note}", planned.name))
        };
        self.sources.iter().flat_map(move |planned| {
            inferred(planned).into_iter().chain(configured(planned)).chain(planned.assumptions())
        })
    }

    /// The source whose data stream has the trace ID `id`, where the unit was programmed to trace
    /// data and the plan does not have that stream. (IHI 0064, TRCCONFIGR.DA and DV, TRCTRACEIDR)
    pub fn data_stream(&self, id: u16) -> Option<&Planned> {
        let traces_data = |planned: &&Planned| match &planned.config {
            AnyConfig::Etmv4(config) => config.has_data_stream() && planned.id | 1 == id,
            _ => false,
        };
        let known = self.sources.iter().any(|planned| planned.id == id);
        self.sources.iter().find(traces_data).filter(|_| !known)
    }

    /// The name of the framing.
    pub fn framing_name(&self) -> &'static str {
        match &self.link {
            Some(link) => link.name(),
            None if self.messages.is_some() => "encapsulated",
            None => self.framing.name(),
        }
    }

    /// The trace link of the buffer in its initial state.
    pub fn route(&self, numbering: Numbering) -> Route {
        match (&self.link, &self.messages) {
            (Some(link), _) => Route::External(link.fresh()),
            (_, Some(demux)) => Route::Messages(Box::new(demux.clone())),
            _ => Route::Frames(Splitter::new(Link { numbering, ..Link::new(self.framing) })),
        }
    }

    /// The source number and configuration of source `n`, whose messages have a source number.
    fn hart(
        &self,
        capture: &Capture,
        n: usize,
        o: &Options,
        harts: &mut Vec<AnyConfig>,
    ) -> Result<(u16, AnyConfig), Why> {
        let all = Options { ids: Vec::new(), ..o.clone() };
        let (_, config) = self.config(capture, n, 0, &all)?;
        let link = config.message_source().ok_or(Why::OtherLink)?;
        let number = link.number;
        if link.width == 0 || !config.shares_stream(harts.first().unwrap_or(&config)) {
            return Err(Why::OtherLink);
        }
        let is_same = |hart: &AnyConfig| hart.message_source().is_some_and(|h| h.number == number);
        if harts.iter().any(is_same) {
            return Err(Why::SameId(number));
        }
        harts.push(config.clone());
        if !o.ids.is_empty() && !o.ids.contains(&number) {
            return Err(Why::NotChosen(number));
        }
        Ok((number, config.with_whole_messages()))
    }

    /// The trace ID and configuration of a stream of source `n` of the capture.
    fn config(
        &self,
        capture: &Capture,
        n: usize,
        stream: u8,
        o: &Options,
    ) -> Result<(u16, AnyConfig), Why> {
        let source = &capture.sources[n];
        let named = capture.protocols.named(&source.device_type);
        let protocol = named.ok_or(Why::UnknownProtocol)?;
        let protocol = match (protocol, stream) {
            (protocol, 0) => protocol,
            (AnyProtocol::Etmv4 | AnyProtocol::Etmv4d, 1) => AnyProtocol::Etmv4d,
            _ => return Err(Why::NoStream(stream)),
        };
        // Messages of a buffer of harts have their numbers in `hart`.
        let framed = self.framing != Framing::Raw || self.link.is_some();
        // The trace data do not contain the width of the processor's registers.
        let is_open = protocol.form() == TraceForm::Messages && source.register(XLEN).is_none();
        let width = is_open.then(|| xlen(capture.images_for(source))).flatten();
        let register =
            |name: &str| source.register(name).or_else(|| width.filter(|_| name == XLEN));
        let mut config =
            configure(capture, source, protocol, framed, &register).map_err(Why::Missing)?;
        if let AnyConfig::Etmv4(c) | AnyConfig::Ete(c) = &mut config {
            c.split_source_ranges = o.split_source_ranges;
        }
        if o.assume_synced {
            config.assume_synced(true);
        }
        for text in &source.texts {
            // `parameters::resolve` has reported errors in a text.
            let _ = config.set_text(&text.name, &text.text);
        }
        let id = u16::from(config.trace_id());
        if framed && self.sources.iter().any(|s| s.id == id) {
            return Err(Why::SameId(id));
        }
        if !o.ids.is_empty() && !o.ids.contains(&id) {
            return Err(Why::NotChosen(id));
        }
        Ok((id, config))
    }
}

/// The parameter for the width of the registers of a RISC-V processor.
const XLEN: &str = "xlen";

/// The configuration of `source` from the registers that `register` knows. In frames, the register
/// with the trace ID is needed, too. Raw trace data have their IDs from elsewhere.
fn configure(
    capture: &Capture,
    source: &Source,
    protocol: AnyProtocol,
    framed: bool,
    register: &dyn Fn(&str) -> Option<u64>,
) -> Result<AnyConfig, MissingRegister> {
    let config = protocol.configure(capture.core_type(source), register)?;
    let name = match protocol.id_register() {
        // Snapshots have ITMTCR by this name. (Arm *Reference CoreSight Trace Decoder*, 4.3.4)
        Some(_) if protocol == AnyProtocol::Itm && capture.kind == Kind::Snapshot => {
            "CONTROL_REGISTER"
        }
        Some((name, _)) => name,
        None => return Ok(config),
    };
    match framed && capture.kind != Kind::Raw && !protocol.has_trace_id(register) {
        true => Err(MissingRegister { name, about: "the trace ID" }),
        false => Ok(config),
    }
}

/// The assumptions of `config` on registers that `source` does not have. Raw trace data have no
/// complete list of registers.
fn assumed(
    capture: &Capture,
    source: &Source,
    config: &AnyConfig,
) -> Vec<(&'static str, &'static str)> {
    let all = if capture.kind == Kind::Raw { &[] } else { config.assumptions() };
    all.iter().copied().filter(|(name, _)| source.register(name).is_none()).collect()
}

/// The registers that decoding `source`, in frames where `framed`, needs and that are missing. None
/// where `why` is another reason.
fn missing(capture: &Capture, source: &Source, why: &Why, framed: bool) -> Vec<&'static str> {
    let protocol = capture.protocols.named(&source.device_type);
    let (Why::Missing(first), Some(protocol)) = (why, protocol) else {
        return Vec::new();
    };
    let mut missing = vec![first.name];
    loop {
        // With a value for those found so far, the next one is reported.
        let value = |name: &str| source.register(name).or(missing.contains(&name).then_some(0));
        match configure(capture, source, protocol, framed, &value) {
            Err(next) if !missing.contains(&next.name) => missing.push(next.name),
            _ => break,
        }
    }
    missing
}

/// The framing that the capture states, or, where that leaves a choice, the framing that fits the
/// bytes.
fn framing(buffer: &Buffer) -> Framing {
    match buffer.format {
        Format::SourceData | Format::Encapsulated => Framing::Raw,
        // DSTREAM blocks with their footers, or the TPIU stream without them.
        Format::DstreamCoreSight => {
            let bytes = buffer.head(PROBED);
            let undecodable = |framing| undecodable_bytes(framing, &bytes);
            if undecodable(Framing::Dstream) < undecodable(Framing::Tpiu) {
                Framing::Dstream
            } else {
                Framing::Tpiu
            }
        }
        // Format::CoreSight, and names that are not known.
        _ => Framing::Coresight,
    }
}

/// The number of bytes from which the framing is inferred.
const PROBED: usize = 1 << 16;

/// The number of undecodable bytes in a framing.
fn undecodable_bytes(framing: Framing, bytes: &[u8]) -> u64 {
    /// Counts undecodable bytes.
    struct Undecodable(u64);

    impl Split for Undecodable {
        fn piece(&mut self, _: u16, _: u64, _: bool, _: &[u8]) {}

        fn event(&mut self, _: u64, event: Event) {
            match event {
                Event::Bad { len, .. } | Event::Reserved { len, .. } => self.0 += u64::from(len),
                _ => {}
            }
        }
    }

    let mut undecodable = Undecodable(0);
    let mut splitter = Splitter::new(Link::new(framing));
    splitter.split(0, bytes, &mut undecodable);
    undecodable.0
}
