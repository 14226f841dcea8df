//! Options of `itm`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tracewright::capture::levels::Coding;
use tracewright::capture::{OpenError, Selection, Swap};
use tracewright::export::samples::SampleFormat;
use tracewright::frames::Framing;
use tracewright::views::itm::{Format, Kind};

use super::input::{image_sources, selection, swap};
use super::signals::{SignalArgs, hertz};

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright itm swo.bin                          what a debug probe has written to a file
  tracewright itm swo.bin --port 0                 text of port 0 only
  tracewright itm capture.sr                       SWO recorded by a logic analyser (.sr, .vcd, .csv)
  tracewright itm tcp://localhost:3344             from the server of OpenOCD, pyOCD or J-Link
  tracewright itm /dev/ttyACM0 --follow            from a serial port (set its speed with stty)
  tracewright itm swo.bin --profile --image firmware.elf  samples of the program counter by function
  tracewright itm swo.bin --exceptions             durations and nesting of exceptions
  tracewright itm swo.bin --port 0 --format plain  what printf printed
  tracewright itm swo.bin --type 3=f32,name=speed --format wide  values to plot
  tracewright itm swo.bin --watch speed --image firmware.elf --config DWT_COMP0=0x20000010
  tracewright itm tcp://localhost:3344 --format plotjuggler -o udp://127.0.0.1:9870")]
pub struct ItmArgs {
    /// File of SWO or ITM data, `-` for standard input, tcp://HOST:PORT, recording of the level of
    /// SWO by a logic analyser (.sr of sigrok, .vcd, .csv), or capture with registers.
    pub input: PathBuf,
    /// The file grows: wait for more data at its end.
    #[arg(long)]
    pub follow: bool,
    /// Framing of the trace data. Default: determined from the first bytes.
    #[arg(long, value_enum, default_value_t = ItmFraming::Auto)]
    pub framing: ItmFraming,
    /// Trace ID of the ITM in formatter frames. Default: determined from the first bytes.
    #[arg(long, value_name = "N", value_parser = trace_id)]
    pub id: Option<u8>,
    /// Buffer in a core dump, or in another file with addresses: its address or symbol, and its
    /// size in bytes; a symbol is one of --image (docs/captures.md).
    #[arg(long, value_name = "ADDRESS|SYMBOL[,SIZE]")]
    pub buffer: Option<String>,
    /// Size in bytes of the words in which the bytes are reversed.
    #[arg(long, value_name = "1|2|4|8", value_parser = swap)]
    pub swap: Option<Swap>,
    /// Only text and writes of this stimulus port (repeatable).
    #[arg(long = "port", value_name = "N")]
    pub ports: Vec<u16>,
    /// Only events of these kinds.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KIND,...")]
    pub only: Vec<ItmKind>,
    /// Print durations and nesting of exceptions instead of events.
    #[arg(long, conflicts_with = "profile")]
    pub exceptions: bool,
    /// Print samples of the program counter by function instead of events.
    #[arg(long)]
    pub profile: bool,
    /// ELF file with the names of functions (repeatable).
    #[arg(long = "image", value_name = "FILE[@ADDRESS]")]
    pub images: Vec<String>,
    #[command(flatten)]
    pub signals: SignalArgs,
    /// Address in a comparator of the DWT (repeatable): it completes addresses of which the trace
    /// has the low bytes, and selects the comparator of --watch. Default: that of the capture.
    #[arg(long = "config", value_name = "DWT_COMPn=ADDRESS", value_parser = comparator)]
    pub comparators: Vec<(usize, u32)>,
    /// Ticks of the local timestamps in a second, such as 72M: times are printed in seconds.
    #[arg(long, value_name = "HERTZ", value_parser = hertz)]
    pub frequency: Option<u64>,
    /// Recording of a logic analyser: name of the signal. Default: SWO or TRACESWO, or the only
    /// signal.
    #[arg(long, value_name = "NAME")]
    pub signal: Option<String>,
    /// Recording of a logic analyser: bits in a second. Default: determined from the pulses.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub baud: Option<u64>,
    /// Recording of a logic analyser: how bits are sent. Default: determined from the pulses.
    #[arg(long, value_enum)]
    pub coding: Option<CodingArg>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = ItmFormat::Text)]
    pub format: ItmFormat,
    /// Write the output to FILE instead of standard output, or each of its lines as a datagram to
    /// udp://HOST:PORT.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Exit with 1 on undecodable bytes and on lost packets.
    #[arg(long)]
    pub strict: bool,
}

impl ItmArgs {
    /// The part of a file that is the trace.
    pub fn selection(&self) -> Result<Selection, OpenError> {
        selection(self.buffer.as_deref(), self.swap, &image_sources(&self.images)?)
    }
}

/// Output format of `itm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ItmFormat {
    /// Text: byte offset, time, event.
    Text,
    /// JSON Lines (docs/json.md).
    Json,
    /// Comma-separated values.
    Csv,
    /// Value Change Dump, for waveform viewers.
    Vcd,
    /// The lines of text, and nothing else.
    Plain,
    /// Comma-separated values: a row for each time, a column for each signal, for plots.
    Wide,
    /// A JSON object for each value with its time, for PlotJuggler.
    Plotjuggler,
    /// --profile: folded stacks.
    Folded,
    /// --profile: flame graph, SVG.
    FlameGraph,
    /// --profile: callgrind, with addresses and lines.
    Callgrind,
    /// --profile: pprof, with addresses and lines.
    Pprof,
    /// --profile: samples of each source line.
    Lines,
}

impl ItmFormat {
    /// The format of events and tables; `None` for one of samples.
    pub fn events(self) -> Option<Format> {
        Some(match self {
            ItmFormat::Text => Format::Text,
            ItmFormat::Json => Format::Json,
            ItmFormat::Csv => Format::Csv,
            ItmFormat::Vcd => Format::Vcd,
            ItmFormat::Plain => Format::Plain,
            ItmFormat::Wide => Format::Wide,
            ItmFormat::Plotjuggler => Format::PlotJuggler,
            _ => return None,
        })
    }

    /// The format of samples.
    pub fn samples(self) -> Option<SampleFormat> {
        Some(match self {
            ItmFormat::Folded => SampleFormat::Folded,
            ItmFormat::FlameGraph => SampleFormat::FlameGraph,
            ItmFormat::Callgrind => SampleFormat::Callgrind,
            ItmFormat::Pprof => SampleFormat::Pprof,
            ItmFormat::Lines => SampleFormat::Lines,
            _ => return None,
        })
    }
}

/// Framing of the trace data of an ITM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ItmFraming {
    /// Determined from the first bytes.
    Auto,
    /// No framing: the data of the ITM only.
    Raw,
    /// 16-byte CoreSight formatter frames.
    Coresight,
    /// TPIU: formatter frames with full synchronisation packets.
    Tpiu,
    /// TPIU: formatter frames with full and half synchronisation packets.
    TpiuHsync,
}

impl ItmFraming {
    /// The framing that the option selects.
    pub fn chosen(self) -> Option<Framing> {
        match self {
            ItmFraming::Auto => None,
            ItmFraming::Raw => Some(Framing::Raw),
            ItmFraming::Coresight => Some(Framing::Coresight),
            ItmFraming::Tpiu => Some(Framing::Tpiu),
            ItmFraming::TpiuHsync => Some(Framing::TpiuHalf),
        }
    }
}

/// How bits of SWO are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CodingArg {
    /// Asynchronous: idle high.
    Uart,
    /// Asynchronous, with the levels exchanged: idle low.
    Inverted,
    /// Manchester: idle low.
    Manchester,
}

impl From<CodingArg> for Coding {
    fn from(argument: CodingArg) -> Coding {
        match argument {
            CodingArg::Uart => Coding::Uart,
            CodingArg::Inverted => Coding::Inverted,
            CodingArg::Manchester => Coding::Manchester,
        }
    }
}

/// Kind of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ItmKind {
    /// Lines of text.
    Text,
    /// All software writes, as numbers.
    Write,
    /// Values of ports and comparators whose type is known.
    Value,
    /// Steps of exceptions.
    Exception,
    /// Samples of the program counter.
    Sample,
    /// Watched data.
    Data,
    /// Counters that wrapped.
    Counter,
    /// Global timestamps.
    Time,
    /// Lost packets and undecodable bytes.
    Lost,
    /// Events that the architecture reserves.
    Reserved,
}

impl From<ItmKind> for Kind {
    fn from(argument: ItmKind) -> Kind {
        match argument {
            ItmKind::Text => Kind::Text,
            ItmKind::Write => Kind::Write,
            ItmKind::Value => Kind::Value,
            ItmKind::Exception => Kind::Exception,
            ItmKind::Sample => Kind::Sample,
            ItmKind::Data => Kind::Data,
            ItmKind::Counter => Kind::Counter,
            ItmKind::Time => Kind::Time,
            ItmKind::Lost => Kind::Lost,
            ItmKind::Reserved => Kind::Reserved,
        }
    }
}

/// The number of a comparator, and the address in it.
fn comparator(text: &str) -> Result<(usize, u32), String> {
    let wrong = || format!("`{text}` is not DWT_COMPn=ADDRESS with n from 0 to 3");
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    let number = name.trim().to_ascii_uppercase();
    let number = number.strip_prefix("DWT_COMP").and_then(|number| number.parse().ok());
    let value = value.trim();
    let address = match value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => value.parse(),
    };
    number.filter(|number| *number < 4).zip(address.ok()).ok_or_else(wrong)
}

fn trace_id(text: &str) -> Result<u8, String> {
    let value = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u8::from_str_radix(hex, 16),
        None => text.parse(),
    };
    value
        .ok()
        .filter(|id| (1..0x70).contains(id))
        .ok_or_else(|| format!("`{text}` is not a trace ID; write a number from 1 to 0x6f"))
}
