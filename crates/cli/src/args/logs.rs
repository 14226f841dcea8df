//! Options of the verbs that read execution logs.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::input::{FramingArg, LimitArgs};

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
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// Executed program: an ELF file, or raw bytes at an address (repeatable).
    #[arg(long = "image", value_name = "FILE[@ADDRESS]")]
    pub images: Vec<String>,
    /// Instruction set where the log does not record it. Default: that of the image.
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
pub struct LogInfoArgs {
    /// Execution log; `-` reads standard input.
    pub input: PathBuf,
    #[command(flatten)]
    pub how: LogArgs,
}

#[derive(Debug, Args)]
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
pub struct EncodeArgs {
    /// Execution log; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    pub log: PathBuf,
    #[command(flatten)]
    pub how: LogArgs,
    /// Trace protocol: ETM4, ETE, ETM3, ETM2, ETM1, PTM, ITM, STM, etrace.
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
    /// Framing of the trace data; with `raw`, each processor gets its own buffer.
    #[arg(long, value_enum, default_value_t = EncodeFraming::Coresight)]
    pub framing: EncodeFraming,
    /// Insert a timestamp every N instructions of a processor, with the count of executed
    /// instructions as its value.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub timestamps: Option<u64>,
    /// Encode only the first N processors of the log.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=111))]
    pub cpus: Option<u16>,
    /// Folder for the snapshot, or for RISC-V a folder with a capture.toml; it must be empty or not
    /// exist.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
}

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Capture.
    pub a: PathBuf,
    /// Capture or execution log.
    pub b: PathBuf,
    #[command(flatten)]
    pub how: LogArgs,
    /// Framing of the trace data of the captures.
    #[arg(long, value_enum, default_value_t = FramingArg::Auto)]
    pub framing: FramingArg,
    /// Do not compare exceptions.
    #[arg(long)]
    pub only_instructions: bool,
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// The format of an execution log.
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
