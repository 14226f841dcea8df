//! Options of the verbs that read execution logs.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use tracewright::encode::{FillMode, SinkError, SinkKind, SinkSettings};
use tracewright::logs::Format;

use super::input::{LimitArgs, SourceArgs};

#[derive(Debug, Args)]
pub struct LogVerbs {
    #[command(subcommand)]
    pub verb: LogVerb,
}

/// A verb of `log`.
#[derive(Debug, Subcommand)]
pub enum LogVerb {
    /// Describe an execution log.
    Info(LogInfoArgs),
    /// Convert an execution log to another format.
    Convert(LogConvertArgs),
}

/// How to interpret an execution log.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// Format of the log. Default: detected from its first lines.
    #[arg(long, value_name = "FORMAT", value_parser = format_names())]
    pub log_format: Option<String>,
    /// Format of the log as patterns of its lines, in a TOML file (docs/logs.md).
    #[arg(long, value_name = "FILE", conflicts_with = "log_format")]
    pub log_map: Option<PathBuf>,
    /// Format of the log as a regular expression with the groups `address` and, if the log has
    /// them, `opcode`, `cpu`, `el` and `cycle` (docs/logs.md).
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["log_format", "log_map"])]
    pub log_pattern: Option<String>,
    /// Prefix of the names of the signals of RVFI in a Value Change Dump, such as tb.core.rvfi_.
    /// Default: that of the outermost ones.
    #[arg(long, value_name = "PREFIX")]
    pub log_signals: Option<String>,
    /// Executed program: an ELF file, or raw bytes at an address (repeatable).
    #[arg(long = "image", value_name = "FILE[@ADDRESS]")]
    pub images: Vec<String>,
    /// Instruction set where the log does not record it. Default: that of the image, or the one
    /// that the addresses and opcodes of the log show.
    #[arg(long, value_enum)]
    pub isa: Option<IsaArg>,
    /// Exception level or privilege mode where the log does not record it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..4))]
    pub el: Option<u8>,
    /// Security state where the log does not record it.
    #[arg(long, value_enum)]
    pub security: Option<SecurityArg>,
    /// Cycle counts: a number of cycles per instruction, or `log` for the clock of the log.
    #[arg(long, value_name = "N|log")]
    pub cycles: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright log info log.csv                        processors and their instructions")]
pub struct LogInfoArgs {
    /// Execution log; `-` reads standard input.
    pub input: PathBuf,
    #[command(flatten)]
    pub how: LogArgs,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright log convert log.csv --to tarmac -o log.tarmac")]
pub struct LogConvertArgs {
    /// Execution log; `-` reads standard input.
    pub input: PathBuf,
    #[command(flatten)]
    pub how: LogArgs,
    /// Format to write.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: LogFormat,
    /// Write the output to FILE instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright encode --log log.csv --protocol ETM4 -o encoded      a snapshot
  tracewright encode --log log.csv --protocol ETE --config TRCCONFIGR=0x11 -o cycles   with cycle counts
  tracewright encode --log log.csv --protocol ETE --sweep TRCCONFIGR=0x11 --sweep TRCCONFIGR=0x9   sizes only")]
pub struct EncodeArgs {
    /// Execution log; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    pub log: PathBuf,
    #[command(flatten)]
    pub how: LogArgs,
    /// Trace protocol: ETM4, ETE, ETM3, ETM2, ETM1, PTM, ITM, STM, MTB,
    /// etrace, ntrace.
    #[arg(long, value_name = "NAME")]
    pub protocol: String,
    /// File of trace unit parameters, one `name = value` per line.
    #[arg(long, value_name = "FILE")]
    pub params: Option<PathBuf>,
    /// File of register values, as `tracewright unit program --for snapshot` writes it.
    #[arg(long = "registers", value_name = "FILE")]
    pub program: Option<PathBuf>,
    /// Value of a trace unit register or parameter (repeatable). Default: those of a typical unit.
    #[arg(long = "config", value_name = "NAME=VALUE")]
    pub registers: Vec<String>,
    /// Core type recorded in the snapshot, such as Cortex-A53. Default: a core with such a trace
    /// unit.
    #[arg(long, value_name = "NAME")]
    pub core: Option<String>,
    /// Framing of the trace data; with `raw`, each processor gets its own buffer. Default:
    /// coresight; raw for E-Trace, and for an MTB, ETM1 and ETM2, whose trace has no frames.
    #[arg(long, value_enum)]
    pub framing: Option<EncodeFraming>,
    #[command(flatten)]
    pub sink: SinkArgs,
    /// Insert a timestamp every N instructions of a processor, with the count of executed
    /// instructions as its value.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub timestamps: Option<u64>,
    /// Encode only the first N processors of the log.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=111))]
    pub cpus: Option<u16>,
    /// Form of the output: by default a snapshot, or for RISC-V a folder with a capture.toml.
    #[arg(long, value_enum, default_value_t = EncodeTo::Folder, conflicts_with = "sink")]
    pub to: EncodeTo,
    /// Print the size of the trace with these values of `--config` in addition, and write no
    /// capture (repeatable: each is a configuration of its own).
    #[arg(long, value_name = "NAME=VALUE[,NAME=VALUE...]", conflicts_with_all = ["output", "sink", "to"])]
    pub sweep: Vec<String>,
    /// Folder for the snapshot or capture.toml, which must be empty or not exist; with --to perf,
    /// file.
    #[arg(short, long, value_name = "FOLDER", required_unless_present = "sweep")]
    pub output: Option<PathBuf>,
}

/// The trace buffer that the trace is written into.
#[derive(Debug, Args)]
pub struct SinkArgs {
    /// Write the trace into a trace buffer of limited size, whose registers the snapshot has
    /// (docs/trace-buffers.md): trbe for ETE and ETM4, with a buffer for each processor.
    #[arg(long, value_enum, requires = "size")]
    pub sink: Option<SinkArg>,
    /// Size of the trace buffer in bytes, in decimal or hexadecimal with 0x.
    #[arg(long, value_name = "N", requires = "sink", value_parser = size)]
    pub size: Option<u64>,
    /// What happens at the end of the trace buffer.
    #[arg(long, value_enum, default_value_t = SinkMode::Circular, requires = "sink")]
    pub mode: SinkMode,
    /// The trace units signal a trigger at the Nth instruction of the log; capture ends after it.
    #[arg(long, value_name = "N", requires = "sink", value_parser = clap::value_parser!(u64).range(1..))]
    pub trigger: Option<u64>,
    /// Bytes of trace from the trigger to the end of capture.
    #[arg(long, value_name = "BYTES", default_value_t = 0, requires = "trigger")]
    pub trigger_delay: u32,
    /// Stop tracing after the Nth instruction of the log.
    #[arg(long, value_name = "N", requires = "sink", value_parser = clap::value_parser!(u64).range(1..))]
    pub stop: Option<u64>,
}

impl SinkArgs {
    /// The trace buffer; `None` without the option.
    pub fn settings(&self) -> Result<Option<SinkSettings>, SinkError> {
        let (Some(sink), Some(size)) = (self.sink, self.size) else { return Ok(None) };
        let kind = match sink {
            SinkArg::Trbe => SinkKind::Trbe,
            SinkArg::Etr => SinkKind::Etr,
            SinkArg::Etb => SinkKind::Etb,
        };
        let mode = match self.mode {
            SinkMode::Fill => FillMode::Fill,
            SinkMode::Wrap => FillMode::Wrap,
            SinkMode::Circular => FillMode::Circular,
        };
        let mut settings = SinkSettings::new(kind, size, mode)?;
        if let Some(trigger) = self.trigger {
            settings = settings.with_trigger(trigger, self.trigger_delay)?;
        }
        Ok(Some(match self.stop {
            Some(stop) => settings.with_stop(stop),
            None => settings,
        }))
    }
}

/// A trace buffer, as spelled on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SinkArg {
    /// Trace Buffer Extension.
    Trbe,
    /// TMC that writes to system memory.
    Etr,
    /// Embedded Trace Buffer.
    Etb,
}

/// What happens at the end of a trace buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SinkMode {
    /// Capture stops; later trace is lost.
    Fill,
    /// TRBE: as circular, with an interrupt at each wrap.
    Wrap,
    /// Capture goes on at the start; older trace is overwritten.
    Circular,
}

/// Parses a number of bytes.
fn size(text: &str) -> Result<u64, String> {
    let value = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    value.map_err(|_| format!("`{text}` is not a number of bytes, such as 65536 or 0x10000"))
}

/// Form of the output of `encode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EncodeTo {
    /// A folder: snapshot or capture.toml.
    Folder,
    /// A perf.data file: a process that executes the images.
    Perf,
    /// The same as perf writes it to a pipe.
    PerfPipe,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright compare CAPTURE OTHER                   the first difference
  tracewright compare perf.data log.csv               a capture and an execution log
  tracewright compare CAPTURE CAPTURE                 none, and exit code 0")]
pub struct CompareArgs {
    /// Capture, or a file of raw trace data with --protocol.
    pub a: PathBuf,
    /// Capture, execution log, or raw trace data of the same --protocol.
    pub b: PathBuf,
    #[command(flatten)]
    pub how: LogArgs,
    #[command(flatten)]
    pub sources: SourceArgs,
    /// Compare executed instructions only: no exceptions, software writes, DWT events and own
    /// content of protocols.
    #[arg(long)]
    pub only_instructions: bool,
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// The names of the formats that are read.
fn format_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Format::all().map(Format::name))
}

/// A format of execution logs that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// QEMU: -d exec,nochain with one instruction per block.
    Qemu,
    /// Tarmac, as written by Arm Fast Models.
    Tarmac,
    /// Spike: -l, --log-commits.
    Spike,
    /// CSV with the columns of the RISC-V trace reference flow.
    SpikeCsv,
    /// CSV with named columns (docs/logs.md).
    Csv,
}

/// An instruction set, as spelled on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum IsaArg {
    A64,
    A32,
    T32,
    Rv32,
    Rv64,
}

/// A security state, as spelled on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum SecurityArg {
    Secure,
    NonSecure,
}

/// Framing of encoded trace data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EncodeFraming {
    /// No framing: one buffer per processor.
    Raw,
    /// RISC-V messages of all processors in one buffer, each with its source number.
    Encapsulated,
    /// 16-byte CoreSight formatter frames.
    Coresight,
    /// TPIU: formatter frames with full synchronisation packets; decode with --framing tpiu.
    Tpiu,
    /// TPIU: formatter frames with full and half synchronisation packets; decode with --framing
    /// tpiu-hsync.
    TpiuHsync,
    /// DSTREAM: TPIU frames in 512-byte blocks.
    Dstream,
}
