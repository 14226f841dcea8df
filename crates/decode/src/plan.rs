//! What of a buffer can be decoded, and why the rest cannot.

use tracewright_base::MissingRegister;
use tracewright_capture::{Buffer, Capture, Format, Source};
use tracewright_frames::{Event, Framing, Link, Numbering, Split, Splitter};
use tracewright_protocols::etrace::{Demux, Params};
use tracewright_protocols::registry::{AnyConfig, AnyProtocol};

use crate::{JUMP_TABLE, JumpTable, Route};

/// How to decode.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only these trace ids, or numbers of sources; all where empty.
    pub ids: Vec<u16>,
    /// The framing, where the capture's own word for it is not to be believed.
    pub framing: Option<Framing>,
    /// What places count.
    pub numbering: Numbering,
    /// Where the program image has no instruction, it is wrong: nothing more is said until the next
    /// synchronisation.
    pub check_opcodes: bool,
    /// A range ends at each waypoint on the way to a source address.
    pub split_source_ranges: bool,
    /// An ITM's first byte begins a packet: many captures hold no synchronisation.
    pub assume_synced: bool,
}

/// A buffer and the sources in it that can be decoded.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which of the capture's buffers.
    pub buffer: usize,
    /// How its bytes are framed.
    pub framing: Framing,
    /// Where messages have their sources' numbers: what tells them apart. The framing is none then.
    pub messages: Option<Demux>,
    /// Its sources.
    pub sources: Vec<Planned>,
    /// The others.
    pub skipped: Vec<Skipped>,
}

/// A source that can be decoded.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Which of the capture's sources.
    pub source: usize,
    /// Its name.
    pub name: String,
    /// Its trace id; where messages have their sources' numbers, that.
    pub id: u16,
    /// Its configuration.
    pub config: AnyConfig,
    /// Where its jump table of Zcmt is, where only the program's symbols say so.
    pub jump_table: Option<JumpTable>,
}

/// A source that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Which of the capture's sources.
    pub source: usize,
    /// Its name.
    pub name: String,
    /// Why not.
    pub why: Why,
    /// The same for a person, with what to do.
    pub message: String,
}

/// Why a source cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// No protocol has the device's type.
    UnknownProtocol,
    /// A register is missing.
    Missing(MissingRegister),
    /// Another source has this trace id already, or this number.
    SameId(u16),
    /// Its messages cannot be told from those of the others.
    OtherLink,
    /// The user chose other ids.
    NotChosen(u16),
}

impl Why {
    /// Says it of `source`, with what to do.
    fn message(&self, capture: &Capture, source: &Source) -> String {
        let known = || {
            let names = AnyProtocol::ALL.iter().filter_map(|p| p.about().names.first().copied());
            names.collect::<Vec<_>>()
        };
        match *self {
            Why::UnknownProtocol => capture.unknown_protocol(source, &known()).to_string(),
            Why::Missing(missing) => capture.missing_register(source, missing).to_string(),
            Why::OtherLink => format!(
                "{}: its messages have no source's number, or not where the first source has it; `source_width`, \
                 `timestamp_bytes` and `framing` must be those of the first source, and source_width above 0",
                source.name
            ),
            Why::SameId(id) => format!(
                "{}: trace id or number {id:#04x} belongs to another source already; this one is not decoded",
                source.name
            ),
            Why::NotChosen(id) => format!("{}: trace id {id:#04x} was not asked for", source.name),
        }
    }
}

impl Plan {
    /// Plans `buffer`. `None` where the capture has no such buffer.
    pub fn new(capture: &Capture, buffer: usize, options: &Options) -> Option<Plan> {
        let format = &capture.buffers.get(buffer)?.format;
        let messages = options.framing.is_none() && *format == Format::Encapsulated;
        let framing = match options.framing {
            Some(framing) => framing,
            None => framing(capture.buffers.get(buffer)?),
        };
        let (sources, skipped) = (Vec::new(), Vec::new());
        let mut plan = Plan { buffer, framing, messages: None, sources, skipped };
        // Those that were not asked for, too.
        let mut harts = Vec::new();
        for (n, source) in capture.sources.iter().enumerate() {
            if !source.buffers.iter().any(|link| link.buffer == buffer) {
                continue;
            }
            let name = source.name.clone();
            let planned = if messages {
                plan.hart(capture, n, options, &mut harts)
            } else {
                plan.config(capture, n, options)
            };
            match planned {
                Ok((id, mut config)) => {
                    let jump_table = JumpTable::settle(&mut config, || capture.images_for(source));
                    plan.sources.push(Planned { source: n, name, id, config, jump_table });
                }
                Err(why) => {
                    let message = why.message(capture, source);
                    plan.skipped.push(Skipped { source: n, name, why, message });
                }
            }
            if framing == Framing::Raw && !messages && !plan.sources.is_empty() {
                break;
            }
        }
        plan.messages = Demux::new(harts);
        // The reference waits for a synchronisation packet, and so does a listing in its words.
        if options.numbering == Numbering::Capture {
            plan.settle_starts(capture);
        }
        Some(plan)
    }

    /// The buffer holds bytes of several sources.
    pub fn framed(&self) -> bool {
        self.framing != Framing::Raw || self.messages.is_some()
    }

    /// What nobody said and was found elsewhere, a line each.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.sources.iter().filter_map(|planned| {
            let JumpTable { address, file } = planned.jump_table.as_ref()?;
            let name = &planned.name;
            Some(format!(
                "{name}: jvt is taken to be {address:#x}, the symbol {JUMP_TABLE} of {file}"
            ))
        })
    }

    /// What the framing is called.
    pub fn framing_name(&self) -> &'static str {
        if self.messages.is_some() { "encapsulated" } else { self.framing.name() }
    }

    /// What takes the buffer apart.
    pub fn route(&self, numbering: Numbering) -> Route {
        match &self.messages {
            Some(demux) => Route::Messages(Box::new(demux.clone())),
            None => Route::Frames(Splitter::new(Link { numbering, ..Link::new(self.framing) })),
        }
    }

    /// The source among others, told by its number.
    fn hart(
        &self,
        capture: &Capture,
        n: usize,
        o: &Options,
        harts: &mut Vec<Params>,
    ) -> Result<(u16, AnyConfig), Why> {
        let all = Options { ids: Vec::new(), ..o.clone() };
        let (_, config) = self.config(capture, n, &all)?;
        let AnyConfig::Etrace(mut params) = config else { return Err(Why::OtherLink) };
        let number = params.link.source;
        let first = harts.first().map_or(&params.link, |hart| &hart.link);
        if !params.link.shares(first) {
            return Err(Why::OtherLink);
        }
        if harts.iter().any(|hart| hart.link.source == number) {
            return Err(Why::SameId(number));
        }
        harts.push(params);
        if !o.ids.is_empty() && !o.ids.contains(&number) {
            return Err(Why::NotChosen(number));
        }
        // What it is given are whole messages.
        params.link.aligned = true;
        Ok((number, AnyConfig::Etrace(params)))
    }

    fn config(&self, capture: &Capture, n: usize, o: &Options) -> Result<(u16, AnyConfig), Why> {
        let source = &capture.sources[n];
        let protocol = AnyProtocol::named(&source.device_type).ok_or(Why::UnknownProtocol)?;
        let core = capture.core_type(source);
        let mut config =
            protocol.configure(core, &|name| source.register(name)).map_err(Why::Missing)?;
        if let AnyConfig::Etmv4(c) | AnyConfig::Ete(c) = &mut config {
            c.split_source_ranges = o.split_source_ranges;
        }
        if o.assume_synced {
            config.assume_synced(true);
        }
        for text in &source.texts {
            // What is wrong was said when the capture was opened.
            let _ = config.tell(&text.name, &text.text);
        }
        let id = u16::from(config.trace_id());
        if self.framing != Framing::Raw && self.sources.iter().any(|s| s.id == id) {
            return Err(Why::SameId(id));
        }
        if !o.ids.is_empty() && !o.ids.contains(&id) {
            return Err(Why::NotChosen(id));
        }
        Ok((id, config))
    }
}

/// How a buffer is framed, by its own word for it, and by its bytes where that leaves a choice.
fn framing(buffer: &Buffer) -> Framing {
    match buffer.format {
        Format::SourceData | Format::Encapsulated => Framing::Raw,
        // The bytes as the probe has them, or what is left without the footers of its blocks.
        Format::DstreamCoreSight => {
            let bytes = buffer.head(PROBED);
            let odd = |framing| odd_bytes(framing, &bytes);
            if odd(Framing::Dstream) < odd(Framing::Tpiu) {
                Framing::Dstream
            } else {
                Framing::Tpiu
            }
        }
        Format::CoreSight | Format::Other(_) => Framing::Coresight,
    }
}

/// Bytes that are looked at to tell framings apart.
const PROBED: usize = 1 << 16;

/// Bytes that make no sense in a framing.
fn odd_bytes(framing: Framing, bytes: &[u8]) -> u64 {
    /// Counts them.
    struct Odd(u64);

    impl Split for Odd {
        fn piece(&mut self, _: u16, _: u64, _: bool, _: &[u8]) {}

        fn event(&mut self, _: u64, event: Event) {
            match event {
                Event::Bad { len, .. } | Event::Reserved { len, .. } => self.0 += u64::from(len),
                _ => {}
            }
        }
    }

    let mut odd = Odd(0);
    let mut splitter = Splitter::new(Link::new(framing));
    splitter.split(0, bytes, &mut odd);
    odd.0
}
