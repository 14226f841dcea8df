//! The command line's words.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tracewright::decode::Jobs;
use tracewright::frames::Framing;

/// Processor trace: what a capture says the processor did.
#[derive(Debug, Parser)]
#[command(
    name = "tracewright",
    version,
    max_term_width = 110,
    after_help = "Exit codes: 0 done; 1 done, and the answer is negative (--strict, compare); 2 usage or a fatal error.",
    before_help = "Start with `tracewright demo`; with a capture, `tracewright info CAPTURE`.",
    disable_help_subcommand = true
)]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Decode the example that is built in, and show what it did.
    Demo(DemoArgs),
    /// What is in a capture: buffers, sources, registers explained, memory, and what is missing.
    Info(InfoArgs),
    /// The wire, packet by packet.
    Packets(PacketsArgs),
    /// What the processor did: ranges, exceptions, contexts, time, data, software writes, gaps.
    Decode(DecodeArgs),
    /// Every executed instruction, one a line.
    Instructions(InstructionsArgs),
    /// The link layer: frames, and the pieces of each id.
    Frames(FramesArgs),
    /// How fast a capture is decoded: bytes, elements, ranges, seconds, MB/s, ns a range.
    Bench(BenchArgs),
    /// An execution log through trace units in software, to a snapshot.
    Encode(EncodeArgs),
    /// Execution logs: what is in one, and from one format to another.
    Log(LogVerbs),
    /// The first difference between two captures, or between a capture and an execution log.
    Compare(CompareArgs),
    /// Print shell completions.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

/// The capture, and what of it.
#[derive(Debug, Args)]
pub struct InputArgs {
    /// A snapshot's folder, its snapshot.ini, a folder with a capture.toml, or bare trace bytes with
    /// --protocol; `-` for those on standard input.
    pub input: PathBuf,
    /// Only this buffer. Default: the first.
    #[arg(long, value_name = "NAME")]
    pub source: Option<String>,
    /// All buffers in turn.
    #[arg(long, conflicts_with = "source")]
    pub all_buffers: bool,
    /// Only this trace id, or number of a source (repeatable). Of bare bytes with one protocol: its trace id.
    #[arg(long = "id", value_name = "N", value_parser = source_number)]
    pub ids: Vec<u16>,
    /// The link layer.
    #[arg(long, value_enum, default_value_t = FramingArg::Auto)]
    pub framing: FramingArg,
    /// ITM: the first byte begins a packet, for captures without synchronisation packets.
    #[arg(long)]
    pub assume_synced: bool,
    /// More program memory: an ELF file, or raw bytes at an address (repeatable).
    #[arg(long = "image", value_name = "FILE[@ADDRESS]")]
    pub images: Vec<String>,
    /// Bare bytes: the trace unit's protocol, as ETM4, ETE, ETM3, ETM2, ETM1, PTM, ITM, STM, etrace; and where several are in
    /// the frames, its trace id (repeatable).
    #[arg(long = "protocol", value_name = "NAME[@ID]")]
    pub protocols: Vec<String>,
    /// Bare bytes: the trace unit's parameters, in a file of `name = value` lines.
    #[arg(long, value_name = "FILE", requires = "protocols")]
    pub params: Option<PathBuf>,
    /// Bare bytes: a register of the trace unit (repeatable).
    #[arg(long = "config", value_name = "NAME=VALUE", requires = "protocols")]
    pub registers: Vec<String>,
    /// Bare bytes: the core that was traced, as Cortex-A53 or ARMv8-A.
    #[arg(long, value_name = "NAME", requires = "protocols")]
    pub core: Option<String>,
}

/// How to decode.
#[derive(Debug, Args)]
pub struct HowArgs {
    /// A range for each waypoint on the way to a source address (the reference's -src_addr_n).
    #[arg(long)]
    pub split_source_ranges: bool,
    /// Bytes that are no instruction mean a wrong image (the reference's -aa64_opcode_chk).
    #[arg(long)]
    pub check_opcodes: bool,
    /// Hold transactions back until they are committed; drop those that failed.
    #[arg(long)]
    pub committed: bool,
}

/// On how many threads.
#[derive(Debug, Args)]
pub struct JobsArgs {
    /// Threads. The answer is the same for any number. Default: all cores.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

impl JobsArgs {
    /// How many.
    pub fn jobs(&self) -> Jobs {
        self.jobs.map_or_else(Jobs::all, |count| Jobs::new(count.get()))
    }
}

/// Where the answer goes.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// The words of the answer.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Write there.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Count packets and elements by kind: on stderr, or in the summary of --format none and json.
    #[arg(long)]
    pub stats: bool,
    /// Exit with 1 if any byte was bad, any packet doubtful or any memory missing.
    #[arg(long)]
    pub strict: bool,
}

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Write the example as a snapshot into this folder, which must be new or empty.
    #[arg(long, value_name = "FOLDER")]
    pub write: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct InfoArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// The words of the answer.
    #[arg(long, value_enum, default_value_t = InfoFormat::Text)]
    pub format: InfoFormat,
    /// Write there.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct PacketsArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    /// Each packet's bytes, too.
    #[arg(long)]
    pub bytes: bool,
    /// Each packet's fields, too, where its protocol has fields in a row (E-Trace): first bit, width, name, value.
    #[arg(long)]
    pub explain: bool,
    /// The frame lines, too: packed, unpacked or both. With --format opencsd.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub raw_frames: Vec<RawFrames>,
}

#[derive(Debug, Args)]
pub struct DecodeArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Packets and elements by turns.
    #[arg(long)]
    pub packets: bool,
}

#[derive(Debug, Args)]
pub struct InstructionsArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub output: InstructionsOutput,
}

#[derive(Debug, Args)]
pub struct InstructionsOutput {
    /// The words of the answer: `pc` is addresses only.
    #[arg(long, value_enum, default_value_t = InstructionFormat::Text)]
    pub format: InstructionFormat,
    /// Write there.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Exit with 1 if any byte was bad, any packet doubtful or any memory missing.
    #[arg(long)]
    pub strict: bool,
}

#[derive(Debug, Args)]
pub struct FramesArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// The words of the answer.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Write there.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Exit with 1 if any byte was bad.
    #[arg(long)]
    pub strict: bool,
    /// With --format opencsd: packed, unpacked or both. Default: both.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub raw_frames: Vec<RawFrames>,
}

#[derive(Debug, Args)]
pub struct BenchArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub how: HowArgs,
    /// Decode so many times; the least and the median count.
    #[arg(long, value_name = "N", default_value = "5")]
    pub repeat: NonZeroU32,
    /// Threads.
    #[arg(long, value_name = "N", default_value = "1")]
    pub jobs: NonZeroUsize,
    /// What elements are given to.
    #[arg(long, value_enum, default_value_t = BenchSink::Checksum)]
    pub sink: BenchSink,
    /// The words of the answer.
    #[arg(long, value_enum, default_value_t = BenchFormat::Text)]
    pub format: BenchFormat,
    /// Write there.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Exit with 1 if any byte was bad, any packet doubtful or any memory missing.
    #[arg(long)]
    pub strict: bool,
}

/// The link layer, as a user spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FramingArg {
    /// What the capture says.
    Auto,
    /// 16-byte frames.
    Coresight,
    /// Frames with full synchronisation packets.
    Tpiu,
    /// Frames with full and half synchronisation packets.
    TpiuHsync,
    /// The same in 512-byte blocks.
    Dstream,
    /// One source's bytes.
    Raw,
    /// Messages of several RISC-V harts, each with its source's number (etrace, with source_width).
    Encapsulated,
    /// Words of a 24-bit Embedded Trace Buffer, oldest first (ETM1 and ETM2, with --protocol).
    Etb,
}

impl FramingArg {
    /// What is not left to the capture.
    pub fn chosen(self) -> Option<Framing> {
        match self {
            FramingArg::Auto | FramingArg::Encapsulated => None,
            FramingArg::Coresight => Some(Framing::Coresight),
            FramingArg::Tpiu => Some(Framing::Tpiu),
            FramingArg::TpiuHsync => Some(Framing::TpiuHalf),
            FramingArg::Dstream => Some(Framing::Dstream),
            FramingArg::Raw | FramingArg::Etb => Some(Framing::Raw),
        }
    }
}

/// The words of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// JSON Lines: see docs/json.md.
    Json,
    /// The words of the reference packet lister, line for line.
    Opencsd,
    /// Only the summary.
    None,
}

/// The words of what is in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InfoFormat {
    /// For people.
    Text,
    /// JSON Lines.
    Json,
}

/// What a benchmark decodes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchSink {
    /// Every element in order, all its fields folded into one number.
    Checksum,
    /// The number of elements, ranges and instructions.
    Count,
    /// From where to where the program went, and how often.
    Edges,
    /// A bit for each two bytes of code that ran.
    Coverage,
    /// The map of a fuzzer of the AFL family.
    Bitmap,
    /// The listing of `decode`, which is thrown away.
    Text,
    /// The same in JSON Lines.
    Json,
    /// The same in the reference's words, packets and elements.
    Opencsd,
}

impl BenchSink {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            BenchSink::Checksum => "checksum",
            BenchSink::Count => "count",
            BenchSink::Edges => "edges",
            BenchSink::Coverage => "coverage",
            BenchSink::Bitmap => "bitmap",
            BenchSink::Text => "text",
            BenchSink::Json => "json",
            BenchSink::Opencsd => "opencsd",
        }
    }
}

/// The words of a benchmark's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchFormat {
    /// A header and a row.
    Text,
    /// JSON Lines.
    Json,
}

/// The words of executed instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InstructionFormat {
    /// Address, opcode, disassembly, context, cycles.
    Text,
    /// JSON Lines.
    Json,
    /// Addresses in lower-case hexadecimal.
    Pc,
    /// Only the summary.
    None,
}

/// The frame lines of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RawFrames {
    /// Frames as they are in the capture.
    Packed,
    /// What they hold for each id.
    Unpacked,
}

#[derive(Debug, Args)]
pub struct LogVerbs {
    #[command(subcommand)]
    pub verb: LogVerb,
}

/// What to do with a log.
#[derive(Debug, Subcommand)]
pub enum LogVerb {
    /// What is in a log.
    Info(LogInfoArgs),
    /// The same log in another format.
    Convert(LogConvertArgs),
}

/// How to read an execution log.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// The log's format. Default: what its first lines look like.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// The program that ran: an ELF file, or raw bytes at an address (repeatable).
    #[arg(long = "image", value_name = "FILE[@ADDRESS]")]
    pub images: Vec<String>,
    /// The instruction set where the log does not say it. Default: that of the image.
    #[arg(long, value_enum)]
    pub isa: Option<IsaArg>,
    /// The exception level (or privilege) of what the log does not give one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..4))]
    pub el: Option<u8>,
    /// The security state of what the log does not give one.
    #[arg(long, value_enum)]
    pub security: Option<SecurityArg>,
    /// Time: the cycles of each instruction, or `log` for the log's own clock.
    #[arg(long, value_name = "N|log")]
    pub cycles: Option<String>,
}

#[derive(Debug, Args)]
pub struct LogInfoArgs {
    /// The log; - is the standard input.
    pub input: PathBuf,
    #[command(flatten)]
    pub how: LogArgs,
}

#[derive(Debug, Args)]
pub struct LogConvertArgs {
    /// The log; - is the standard input.
    pub input: PathBuf,
    #[command(flatten)]
    pub how: LogArgs,
    /// The format to write.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: LogFormat,
    /// Write there.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct EncodeArgs {
    /// The execution log; - is the standard input.
    #[arg(long, value_name = "FILE")]
    pub log: PathBuf,
    #[command(flatten)]
    pub how: LogArgs,
    /// The trace unit's protocol, as ETM4, ETE, ETM3, ETM2, ETM1, PTM, ITM, STM, etrace.
    #[arg(long, value_name = "NAME")]
    pub protocol: String,
    /// The trace units' parameters, in a file of `name = value` lines.
    #[arg(long, value_name = "FILE")]
    pub params: Option<PathBuf>,
    /// A register or a setting of the trace units (repeatable). Default: as in a usual unit.
    #[arg(long = "config", value_name = "NAME=VALUE")]
    pub registers: Vec<String>,
    /// What the cores are called in the snapshot, as Cortex-A53. Default: one that fits the protocol.
    #[arg(long, value_name = "NAME")]
    pub core: Option<String>,
    /// The link layer. Without one, each processor has a buffer of its own.
    #[arg(long, value_enum, default_value_t = EncodeFraming::Coresight)]
    pub framing: EncodeFraming,
    /// A timestamp every N instructions of a processor: how many it has executed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub timestamps: Option<u64>,
    /// Only the first N processors of the log.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=111))]
    pub cpus: Option<u16>,
    /// The snapshot, or of RISC-V a folder with a capture.toml: a folder that must be new or empty.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
}

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// A capture.
    pub a: PathBuf,
    /// A capture, or an execution log.
    pub b: PathBuf,
    #[command(flatten)]
    pub how: LogArgs,
    /// The link layer of the captures.
    #[arg(long, value_enum, default_value_t = FramingArg::Auto)]
    pub framing: FramingArg,
    /// Exceptions need not be the same.
    #[arg(long)]
    pub only_instructions: bool,
}

/// The format of an execution log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// QEMU: -d exec,nochain with one instruction a block.
    Qemu,
    /// Tarmac, of Arm's Fast Models.
    Tarmac,
    /// Spike: -l, --log-commits.
    Spike,
    /// Spike, in the columns of the RISC-V reference flow.
    SpikeCsv,
    /// Comma-separated: see docs/logs.md.
    Csv,
}

/// An instruction set, as a user spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum IsaArg {
    A64,
    A32,
    T32,
    Rv32,
    Rv64,
}

/// A security state, as a user spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum SecurityArg {
    Secure,
    NonSecure,
}

/// The link layer of what is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EncodeFraming {
    /// One source's bytes.
    Raw,
    /// None: RISC-V processors share a buffer, and each message has its source's number.
    Encapsulated,
    /// 16-byte frames.
    Coresight,
    /// Frames with full synchronisation packets; decode with --framing tpiu.
    Tpiu,
    /// Frames with full and half synchronisation packets; decode with --framing tpiu-hsync.
    TpiuHsync,
    /// The same as tpiu in 512-byte blocks.
    Dstream,
}

/// A source's number: of 16 bits.
pub fn source_number(text: &str) -> Result<u16, String> {
    let value = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u16::from_str_radix(hex, 16),
        None => text.parse(),
    };
    value.map_err(|_| format!("`{text}` is no source: a number from 0 to 0xffff, as 16 or 0x10"))
}

/// A trace id, in decimal or with 0x.
pub fn trace_id(text: &str) -> Result<u8, String> {
    let value = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u8::from_str_radix(hex, 16),
        None => text.parse(),
    };
    value
        .ok()
        .filter(|&id| id < 0x80)
        .ok_or_else(|| format!("`{text}` is no trace id: a number from 0 to 0x7f, as 16 or 0x10"))
}
