//! What of a buffer can be decoded, and why the rest cannot.

use std::fmt;

use tracewright_base::MissingRegister;
use tracewright_capture::{Capture, Format};
use tracewright_frames::{Framing, Numbering};
use tracewright_protocols::registry::{AnyConfig, AnyProtocol};

/// How to decode.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only these trace ids; all where empty.
    pub ids: Vec<u8>,
    /// The framing, where the capture's own word for it is not to be believed.
    pub framing: Option<Framing>,
    /// What places count.
    pub numbering: Numbering,
    /// Where the program image has no instruction, it is wrong: nothing more is said until the next
    /// synchronisation.
    pub check_opcodes: bool,
    /// A range ends at each waypoint on the way to a source address.
    pub split_source_ranges: bool,
}

/// A buffer and the sources in it that can be decoded.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which of the capture's buffers.
    pub buffer: usize,
    /// How its bytes are framed.
    pub framing: Framing,
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
    /// Its trace id.
    pub id: u8,
    /// Its configuration.
    pub config: AnyConfig,
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
}

/// Why a source cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// No protocol has the device's type.
    UnknownProtocol(String),
    /// A register is missing.
    Missing(MissingRegister),
    /// Another source has this trace id already.
    SameId(u8),
    /// The user chose other ids.
    NotChosen(u8),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::UnknownProtocol(name) => {
                write!(f, "type `{name}` is no known protocol; known are")?;
                AnyProtocol::ALL
                    .iter()
                    .flat_map(|p| p.about().names.first())
                    .try_for_each(|name| write!(f, " {name}"))
            }
            Why::Missing(missing) => {
                write!(f, "{missing}; add it to the [regs] section of the device's ini file")
            }
            Why::SameId(id) => write!(f, "trace id {id:#04x} belongs to another source already"),
            Why::NotChosen(id) => write!(f, "trace id {id:#04x} was not asked for"),
        }
    }
}

impl Plan {
    /// Plans `buffer`. `None` where the capture has no such buffer.
    pub fn new(capture: &Capture, buffer: usize, options: &Options) -> Option<Plan> {
        let framing = options.framing.unwrap_or(match capture.buffers.get(buffer)?.format {
            Format::SourceData => Framing::Raw,
            Format::DstreamCoreSight => Framing::Tpiu,
            Format::CoreSight | Format::Other(_) => Framing::Coresight,
        });
        let mut plan = Plan { buffer, framing, sources: Vec::new(), skipped: Vec::new() };
        for (n, source) in capture.sources.iter().enumerate() {
            if !source.buffers.iter().any(|link| link.buffer == buffer) {
                continue;
            }
            let name = source.name.clone();
            match plan.config(capture, n, options) {
                Ok((id, config)) => plan.sources.push(Planned { source: n, name, id, config }),
                Err(why) => plan.skipped.push(Skipped { source: n, name, why }),
            }
            if framing == Framing::Raw && !plan.sources.is_empty() {
                break;
            }
        }
        Some(plan)
    }

    fn config(&self, capture: &Capture, n: usize, o: &Options) -> Result<(u8, AnyConfig), Why> {
        let source = &capture.sources[n];
        let protocol = AnyProtocol::named(&source.device_type)
            .ok_or_else(|| Why::UnknownProtocol(source.device_type.clone()))?;
        let core = capture.core_type(source);
        let mut config =
            protocol.configure(core, &|name| source.register(name)).map_err(Why::Missing)?;
        if let AnyConfig::Etmv4(c) | AnyConfig::Ete(c) = &mut config {
            c.split_source_ranges = o.split_source_ranges;
        }
        let id = config.trace_id();
        if self.framing != Framing::Raw && self.sources.iter().any(|s| s.id == id) {
            return Err(Why::SameId(id));
        }
        if !o.ids.is_empty() && !o.ids.contains(&id) {
            return Err(Why::NotChosen(id));
        }
        Ok((id, config))
    }
}
