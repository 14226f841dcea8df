//! Options that select a capture, and how it is decoded.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, ValueEnum};
use tracewright::Files;
use tracewright::base::MAX_EXPANSION;
use tracewright::capture::assignments;
use tracewright::capture::levels::Connector;
use tracewright::capture::perf::{self, Search};
use tracewright::capture::{
    BufferAt, ImageSource, MessagesAt, OpenError, Registers, Selection, Swap,
};
use tracewright::decode::Jobs;
use tracewright::decode::raw::{RawFraming, Unit};
use tracewright::frames::{Framing, dstream};
use tracewright::protocols::Registry;
use tracewright::units::etm::connector::Pinout;

use super::own::group;
use crate::arguments;
use crate::fail::Fail;
use crate::message;

/// The capture, and which part of it to read.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("capture").args(["input", "pins"]).required(true))]
pub struct InputArgs {
    /// Snapshot folder or its snapshot.ini, folder with a capture.toml, perf.data of perf or
    /// simpleperf, or a dump of raw trace data, whose form and protocols are detected; `-` reads
    /// perf.data (`perf record -o -`) or raw trace data from standard input. With --protocol, it is
    /// decoded as it arrives.
    #[arg(default_value = "-", hide_default_value = true)]
    pub input: PathBuf,
    /// Read only this trace buffer. Default: all, one after another.
    #[arg(long, value_name = "NAME", help_heading = group::SELECTING)]
    pub source: Option<String>,
    /// --format opencsd: all trace buffers, one after another, instead of the first (OpenCSD's
    /// -multi_session).
    #[arg(long, conflicts_with = "source", help_heading = group::SELECTING)]
    pub all_buffers: bool,
    /// Raw trace data, instead of INPUT: recording of the levels of the trace port by a logic
    /// analyser or a simulator, a Value Change Dump or a .sr file of sigrok (docs/frames.md).
    #[arg(long, value_name = "FILE", conflicts_with = "input", help_heading = group::RAW)]
    pub pins: Option<PathBuf>,
    /// --pins: signal of the port that has another name in the recording (repeatable).
    #[arg(long = "signal", value_name = "SIGNAL=NAME", help_heading = group::RAW)]
    pub signals: Vec<String>,
    /// --pins: signals have the names of the pins of this 38-pin connector, PIN1 to PIN38, and of a
    /// second one, PIN1_2 to PIN38_2.
    #[arg(long, value_enum, help_heading = group::RAW)]
    pub connector: Option<ConnectorArg>,
    #[command(flatten)]
    pub sources: SourceArgs,
    /// Additional program memory, over that of the capture: an ELF file, Intel HEX, S-records or
    /// UF2, or raw bytes at an address; for perf.data, of all code, or of one process with `,pid=N`
    /// behind it (repeatable).
    #[arg(long = "image", value_name = "FILE[@ADDRESS]")]
    pub images: Vec<String>,
}

impl InputArgs {
    /// The path of the capture, or of the recording of levels.
    pub fn path(&self) -> &Path {
        self.pins.as_deref().unwrap_or(&self.input)
    }
}

/// The signals on a connector, as spelled on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConnectorArg {
    /// One trace port.
    Single,
    /// The first of two trace ports.
    Dual,
    /// The second of two trace ports.
    DualB,
    /// Two connectors: of an ETMv3 with more than 16 signals of data, or of a demultiplexed port of
    /// an ETMv1 or ETMv2.
    Two,
    /// A multiplexed port of an ETMv1 or ETMv2.
    Multiplexed,
    /// A demultiplexed port of an ETMv1 or ETMv2, with four TRACEPKT signals.
    Demultiplexed,
}

impl From<ConnectorArg> for Connector {
    fn from(argument: ConnectorArg) -> Connector {
        Connector::One(match argument {
            ConnectorArg::Two => return Connector::Two,
            ConnectorArg::Single => Pinout::Single,
            ConnectorArg::Dual => Pinout::Dual,
            ConnectorArg::DualB => Pinout::DualB,
            ConnectorArg::Multiplexed => Pinout::Multiplexed,
            ConnectorArg::Demultiplexed => Pinout::Demultiplexed,
        })
    }
}

/// The trace sources of a capture, and how raw trace data is described.
#[derive(Clone, Debug, Args)]
pub struct SourceArgs {
    /// Decode only this trace ID, or RISC-V source number (repeatable). For raw trace data with one
    /// --protocol: the trace ID of that source.
    #[arg(long = "id", value_name = "N", value_parser = source_number,
          help_heading = group::SELECTING)]
    pub ids: Vec<u16>,
    /// Framing of the trace data.
    #[arg(long, value_parser = framings(arguments::protocols()), default_value = "auto",
          help_heading = group::RAW)]
    pub framing: FramingArg,
    /// Do not decode the first N bytes of each trace buffer.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = group::RAW)]
    pub skip: u64,
    /// Offset of the first formatter frame, after --skip: `auto` searches for it, as is done for
    /// raw trace data by default; N drops the bytes before it.
    #[arg(long, value_name = "auto|N", value_parser = align, help_heading = group::RAW)]
    pub align: Option<AlignArg>,
    /// Raw trace data in a core dump, or in another file with addresses: address or symbol of the
    /// trace buffer, and its size in bytes; a symbol is one of --image (docs/captures.md).
    #[arg(long, value_name = "ADDRESS|SYMBOL[,SIZE]", help_heading = group::RAW)]
    pub buffer: Option<String>,
    /// Raw trace data: size in bytes of the words in which the bytes are reversed. Default:
    /// detected.
    #[arg(long, value_name = "1|2|4|8", value_parser = swap, help_heading = group::RAW)]
    pub swap: Option<Swap>,
    /// Raw trace data: N-Trace messages begin at bytes, or at any bit, as in what was received from
    /// a trace port (PIB) with 1, 2 or 4 signals. Default: detected.
    #[arg(long, value_name = "byte|bit", value_parser = messages_at, help_heading = group::RAW)]
    pub messages_at: Option<MessagesAt>,
    /// Read trace data from named pipes that the capture refers to. Otherwise only regular files of
    /// a capture are read.
    #[arg(long, help_heading = group::RAW)]
    pub pipes: bool,
    /// ITM: decode from the first byte, for captures without synchronisation packets.
    #[arg(long, help_heading = group::RAW)]
    pub assume_synced: bool,
    #[command(flatten)]
    pub search: SearchArgs,
    /// Raw trace data: trace protocol (ETM4, ETE, ETM3, ETM2, ETM1, PTM, ITM, STM, MTB, etrace,
    /// ntrace) instead of the detected one, with the trace ID where the frames contain several
    /// sources (repeatable).
    #[arg(long = "protocol", value_name = "NAME[@ID]", value_parser = unit,
          help_heading = group::RAW)]
    pub protocols: Vec<Unit>,
    /// Raw trace data: file of trace unit parameters, one `name = value` per line.
    #[arg(long, value_name = "FILE", requires = "protocols", help_heading = group::RAW)]
    pub params: Option<PathBuf>,
    /// Raw trace data: value of a trace unit register or parameter, of all units or of the one with
    /// this trace ID (repeatable). Those that are not given are detected as far as the bytes show
    /// them.
    #[arg(long = "config", value_name = "NAME[@ID]=VALUE", help_heading = group::RAW)]
    pub registers: Vec<String>,
    /// Raw trace data: registers of the trace buffer that the file is a dump of, a TRBE, ETR, ETF,
    /// ETB or MTB, separated by commas (repeatable; docs/trace-buffers.md).
    #[arg(long, value_name = "NAME=VALUE,...", requires = "protocols", help_heading = group::RAW)]
    pub buffer_registers: Vec<String>,
    /// Raw trace data: traced core or its architecture, such as Cortex-A53 or ARMv8-A.
    #[arg(long, value_name = "NAME", help_heading = group::RAW)]
    pub core: Option<String>,
}

impl SourceArgs {
    /// The part of a file that is the trace; symbols are those of `images`.
    pub fn selection(&self, images: &[ImageSource]) -> Result<Selection, OpenError> {
        let selected = selection(self.buffer.as_deref(), self.swap, images)?;
        Ok(Selection { messages_at: self.messages_at, ..selected })
    }

    /// The registers of the trace buffer; `None` without the option.
    pub fn buffer_registers(&self) -> Result<Option<Registers>, OpenError> {
        if self.buffer_registers.is_empty() {
            return Ok(None);
        }
        let text = self.buffer_registers.join(",");
        assignments(&text, Path::new("--buffer-registers")).map(Some)
    }
}

/// Where the files of the recorded code are searched for.
#[derive(Clone, Debug, Default, Args)]
pub struct SearchArgs {
    /// perf.data: folder with the files of the traced machine at their paths.
    #[arg(long, value_name = "FOLDER", help_heading = group::LINUX)]
    pub symfs: Option<PathBuf>,
    /// perf.data: program, library, kernel module or kernel that was traced; it is selected by its
    /// build ID, else by its name (repeatable).
    #[arg(long = "binary", value_name = "FILE", help_heading = group::LINUX)]
    pub binaries: Vec<PathBuf>,
    /// perf.data: program file of the kernel of guests (docs/linux-perf.md).
    #[arg(long, value_name = "FILE", help_heading = group::LINUX)]
    pub guest_kernel: Option<PathBuf>,
    /// perf.data: folder with the files of guests at their paths.
    #[arg(long, value_name = "FOLDER", help_heading = group::LINUX)]
    pub guest_symfs: Option<PathBuf>,
    /// perf.data: if the address of a kernel module's code is not recorded and the kernel's symbols
    /// are not given, assume the layout of its file.
    #[arg(long, help_heading = group::LINUX)]
    pub assume_module_layout: bool,
}

impl SearchArgs {
    /// The files of the options, and perf's cache in the home folder. Fails where a file or folder
    /// of an option does not exist.
    pub fn search(&self) -> Result<Search, Fail> {
        for (option, folder) in [("--symfs", &self.symfs), ("--guest-symfs", &self.guest_symfs)] {
            let Some(folder) = folder.as_ref().filter(|folder| !folder.is_dir()) else { continue };
            let why = if folder.exists() { "it is not a folder" } else { "no such folder" };
            return Err(Fail::option(option, &folder.to_string_lossy(), why));
        }
        let files = self.binaries.iter().map(|file| ("--binary", file));
        let guest = self.guest_kernel.iter().map(|file| ("--guest-kernel", file));
        if let Some((option, file)) = files.chain(guest).find(|(_, file)| !file.exists()) {
            return Err(Fail::option(option, &file.to_string_lossy(), "no such file"));
        }
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
        Ok(Search {
            binaries: self.binaries.clone(),
            symfs: self.symfs.clone(),
            cache: home.map(|home| perf::cache_in(Path::new(&home))),
            system: cfg!(unix).then(|| PathBuf::from("/")),
            guest_kernel: self.guest_kernel.clone(),
            guest_symfs: self.guest_symfs.clone(),
            assume_module_layout: self.assume_module_layout,
            files: Files::default(),
        })
    }
}

/// Options of the decoder.
#[derive(Debug, Args)]
pub struct HowArgs {
    /// Emit one range per waypoint before a source address (OpenCSD's -src_addr_n).
    #[arg(long, help_heading = group::COMMON)]
    pub split_source_ranges: bool,
    /// Report every undefined opcode as a wrong program image (OpenCSD's -aa64_opcode_chk). Without
    /// it, those only that are defined to be illegal: A64 UDF, RISC-V zeros, all ones and UNIMP.
    #[arg(long, help_heading = group::COMMON)]
    pub check_opcodes: bool,
    /// Withhold the elements of a transaction until it commits, and drop those of a failed
    /// transaction.
    #[arg(long, help_heading = group::COMMON)]
    pub committed: bool,
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// Limits of the decoder.
#[derive(Clone, Copy, Debug, Args)]
pub struct LimitArgs {
    /// Follow at most N instructions for each byte of a packet; a packet that needs more is
    /// reported as an inconsistency (docs/limits.md).
    #[arg(long, value_name = "N", default_value_t = MAX_EXPANSION,
          value_parser = clap::value_parser!(u32).range(1..),
          help_heading = group::COMMON)]
    pub max_expansion: u32,
}

/// The number of threads.
#[derive(Debug, Args)]
pub struct JobsArgs {
    /// Number of threads; it does not change the output. Default: one per core.
    #[arg(long, value_name = "N", help_heading = group::COMMON)]
    pub jobs: Option<NonZeroUsize>,
}

/// More threads than these are not used, and not more than [`JOBS_PER_CORE`] for each core if that
/// is more: each takes memory.
const MAX_JOBS: usize = 64;
const JOBS_PER_CORE: usize = 4;

impl JobsArgs {
    /// The threads to decode with.
    pub fn jobs(&self) -> Jobs {
        let all = Jobs::all();
        let most = MAX_JOBS.max(JOBS_PER_CORE * all.count);
        match self.jobs.map(NonZeroUsize::get) {
            None => all,
            Some(count) if count <= most => Jobs::new(count),
            Some(count) => {
                let cores = all.count;
                message::line(&format!(
                    "note: {most} threads are used instead of {count}, as the machine has {cores} \
                     processors; the output is the same"
                ));
                Jobs::new(most)
            }
        }
    }
}

/// The offset of the first formatter frame, as spelled on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlignArg {
    /// It is searched for.
    Auto,
    /// This number of bytes precedes it.
    At(u64),
}

/// Parses `auto` or a number of bytes.
fn align(text: &str) -> Result<AlignArg, String> {
    if text.eq_ignore_ascii_case("auto") {
        return Ok(AlignArg::Auto);
    }
    let at = text.parse().ok().filter(|at| *at < dstream::BLOCK);
    let expected = "write `auto`, or a number of bytes: 0 to 15, or to 511 for DSTREAM";
    at.map(AlignArg::At).ok_or_else(|| format!("`{text}` is no alignment; {expected}"))
}

/// Framing of the trace data, as spelled on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FramingArg {
    /// As recorded in the capture; of raw trace data, as detected.
    Auto,
    /// 16-byte CoreSight formatter frames.
    Coresight,
    /// TPIU: formatter frames with full synchronisation packets.
    Tpiu,
    /// TPIU: formatter frames with full and half synchronisation packets.
    TpiuHsync,
    /// TPIU: formatter frames from the first byte, or that of --align, with half synchronisation
    /// packets only.
    TpiuHsyncOnly,
    /// DSTREAM: TPIU frames in 512-byte blocks.
    Dstream,
    /// No framing: the trace data of one source.
    Raw,
    /// Encapsulated messages of several RISC-V harts, each with its source number (etrace, with
    /// source_width).
    Encapsulated,
    /// Words of a 24-bit Embedded Trace Buffer, oldest first (--protocol ETM1 or ETM2).
    Etb,
    /// The trace link of the registry with this name.
    #[value(skip)]
    Link(&'static str),
}

/// Parses a framing: one of the library, or a trace link of `registry`. A name that both have is
/// the library's.
fn framings(registry: &Registry) -> impl TypedValueParser<Value = FramingArg> + use<> {
    let own = FramingArg::value_variants().iter();
    let mut known: Vec<_> = own.filter_map(|arg| Some((arg.to_possible_value()?, *arg))).collect();
    for name in registry.links().map(|link| link.name()) {
        if !known.iter().any(|(value, _)| value.get_name() == name) {
            let value = PossibleValue::new(name).help("A trace link of this command");
            known.push((value, FramingArg::Link(name)));
        }
    }
    let names = PossibleValuesParser::new(known.iter().map(|(value, _)| value.clone()));
    names.try_map(move |name| {
        let found = known.iter().find(|(value, _)| value.get_name() == name);
        found.map(|(_, arg)| *arg).ok_or("no framing has this name")
    })
}

impl FramingArg {
    /// The framing that the option selects; `None` where the capture determines it.
    pub fn chosen(self) -> Option<Framing> {
        match self {
            FramingArg::Auto | FramingArg::Encapsulated | FramingArg::Link(_) => None,
            FramingArg::Coresight => Some(Framing::Coresight),
            FramingArg::Tpiu => Some(Framing::Tpiu),
            FramingArg::TpiuHsync => Some(Framing::TpiuHalf),
            FramingArg::TpiuHsyncOnly => Some(Framing::TpiuHalfOnly),
            FramingArg::Dstream => Some(Framing::Dstream),
            FramingArg::Raw | FramingArg::Etb => Some(Framing::Raw),
        }
    }

    /// The framing of raw trace data.
    pub fn of_raw(self) -> RawFraming {
        match (self, self.chosen()) {
            (FramingArg::Encapsulated, _) => RawFraming::Encapsulated,
            (FramingArg::Etb, _) => RawFraming::Etb,
            (FramingArg::Link(name), _) => RawFraming::Link(name),
            (_, Some(framing)) => RawFraming::Framed(framing),
            (_, None) => RawFraming::Auto,
        }
    }
}

/// The files of program memory that `--image` names.
pub fn image_sources(images: &[String]) -> Result<Vec<ImageSource>, OpenError> {
    images.iter().map(|image| ImageSource::parse(image)).collect()
}

/// The part of a file that is the trace: `buffer` may be a symbol of `images`.
pub fn selection(
    buffer: Option<&str>,
    swap: Option<Swap>,
    images: &[ImageSource],
) -> Result<Selection, OpenError> {
    let buffer = buffer.map(|text| BufferAt::parse(text, images)).transpose()?;
    Ok(Selection { buffer, swap, messages_at: None })
}

/// Parses the size of words whose bytes are reversed.
pub fn swap(text: &str) -> Result<Swap, String> {
    let orders = [Swap::None, Swap::Bits16, Swap::Bits32, Swap::Bits64];
    let order = orders.into_iter().find(|swap| text.parse() == Ok(swap.size()));
    order.ok_or_else(|| format!("`{text}` is no size of a word; write 1, 2, 4 or 8"))
}

/// Parses where messages begin.
fn messages_at(text: &str) -> Result<MessagesAt, String> {
    let known = [MessagesAt::Bytes, MessagesAt::Bits].into_iter().find(|at| at.name() == text);
    known.ok_or_else(|| format!("messages begin at a byte or a bit, not at `{text}`"))
}

/// Parses a trace unit: `PROTOCOL` or `PROTOCOL@ID`.
fn unit(text: &str) -> Result<Unit, String> {
    Ok(match text.split_once('@') {
        None => Unit { protocol: text.to_owned(), id: None },
        Some((protocol, id)) => {
            Unit { protocol: protocol.to_owned(), id: Some(source_number(id)?) }
        }
    })
}

/// Parses a trace ID or RISC-V source number of 16 bits, in decimal or hexadecimal with 0x.
fn source_number(text: &str) -> Result<u16, String> {
    let value = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u16::from_str_radix(hex, 16),
        None => text.parse(),
    };
    value.map_err(|_| {
        let expected = "write a number from 0 to 0xffff, such as 16 or 0x10";
        format!("`{text}` is not a trace ID or source number; {expected}")
    })
}

#[cfg(test)]
mod tests {
    use clap::Command;
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    use tracewright::frames::{ExternalLink, Link, Splitter};

    use super::*;

    /// Framings of the library and of a registry, in arguments and in the error of another one.
    #[test]
    fn framings_are_those_of_the_registry_too() {
        let link = |name| ExternalLink::new(name, Splitter::new(Link::default()));
        let registry = Registry::default().with_link(link("blocks")).with_link(link("tpiu"));
        let parse = |text: &str| {
            let arg = clap::Arg::new("framing").value_parser(framings(&registry));
            let parsed = Command::new("test").arg(arg).try_get_matches_from(["test", text])?;
            Ok::<_, clap::Error>(parsed.get_one("framing").copied())
        };
        for (text, want) in [
            ("blocks", FramingArg::Link("blocks")),
            ("tpiu", FramingArg::Tpiu),
            ("tpiu-hsync-only", FramingArg::TpiuHsyncOnly),
            ("auto", FramingArg::Auto),
        ] {
            assert_eq!(parse(text).unwrap(), Some(want), "{text}");
        }
        let error = parse("block").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidValue);
        let Some(ContextValue::Strings(valid)) = error.get(ContextKind::ValidValue) else {
            panic!("no possible values: {error}")
        };
        let own = FramingArg::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let mut names: Vec<_> = own.map(|value| value.get_name().to_owned()).collect();
        names.push("blocks".to_owned());
        assert_eq!(*valid, names);
        assert_eq!(FramingArg::Link("blocks").of_raw(), RawFraming::Link("blocks"));
        assert_eq!(FramingArg::Link("blocks").chosen(), None);
    }
}
