//! Options of the verbs that read captures.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::ops::Range;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::input::{HowArgs, InputArgs, JobsArgs};
use super::random::{SelectArgs, WindowArgs, offsets};
use super::tasks::RunningArgs;

/// The file of the output, and when the exit code is 1.
#[derive(Debug, Args)]
pub struct OutcomeArgs {
    /// Write the output to FILE instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Exit with 1 on undecodable bytes, inconsistent packets, missing program memory or losses.
    #[arg(long)]
    pub strict: bool,
}

/// Format and destination of the output.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Count packets and elements by kind; the counts go to standard error, or into the summary of
    /// --format none and json.
    #[arg(long)]
    pub stats: bool,
    #[command(flatten)]
    pub errors: ErrorArgs,
    #[command(flatten)]
    pub outcome: OutcomeArgs,
}

/// What ends decoding.
#[derive(Debug, Args)]
pub struct ErrorArgs {
    /// Stop decoding a buffer after N errors: undecodable bytes, and packets that contradict one
    /// another or the program. The exit code is then 1.
    #[arg(long, value_name = "N")]
    pub stop_after: Option<NonZeroU64>,
}

impl ErrorArgs {
    /// The number of errors.
    pub fn most(&self) -> Option<u64> {
        self.stop_after.map(NonZeroU64::get)
    }
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright demo                                    what the example did
  tracewright demo --write example                    the example as a snapshot
  tracewright demo --report example.html              with its report in this file
  tracewright demo --data                             another one, with data accesses")]
pub struct DemoArgs {
    /// The example with data accesses: a Cortex-R5 whose program overwrites one of its variables.
    #[arg(long)]
    pub data: bool,
    /// Write the example as a snapshot to this folder, which must be empty or not exist.
    #[arg(long, value_name = "FOLDER")]
    pub write: Option<PathBuf>,
    /// Write the report of the example to this file, too.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright info CAPTURE                            overview, problems, and the next command
  tracewright info trace.bin --image firmware.elf     what an unknown dump is
  tracewright info CAPTURE --all                      every register, field by field")]
pub struct InfoArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// List and explain all registers, too.
    #[arg(long)]
    pub all: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = InfoFormat::Text)]
    pub format: InfoFormat,
    /// Write the output to FILE instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright packets CAPTURE --bytes                 the bytes of each packet, too
  tracewright packets CAPTURE --only exception,address  some kinds
  tracewright packets trace.bin --protocol ETM4 --core Cortex-A53 --config TRCCONFIGR=0xc1")]
pub struct PacketsArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    /// Include the bytes of each packet.
    #[arg(long)]
    pub bytes: bool,
    /// Include the fields of each packet (E-Trace): first bit, width, name, value.
    #[arg(long)]
    pub explain: bool,
    /// Include raw frame lines: packed, unpacked or both. Needs --format opencsd.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub raw_frames: Vec<RawFrames>,
    #[command(flatten)]
    pub window: WindowArgs,
    #[command(flatten)]
    pub select: SelectArgs,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright decode CAPTURE                          every element
  tracewright decode CAPTURE --function main --lines  what happens in a function, with source lines
  tracewright decode CAPTURE --only exception,gap     some kinds
  tracewright decode CAPTURE --offset 4096..8192      a part of the buffer
  tracewright decode CAPTURE --stop-after 1           up to the first error
  tracewright decode CAPTURE --packets --format opencsd  as trc_pkt_lister -decode
  tracewright decode trace.bin --protocol ETM3 --core Cortex-M3 --config ETMCR=0 --image a.elf")]
pub struct DecodeArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Interleave packets with decoded elements.
    #[arg(long)]
    pub packets: bool,
    /// ETMv3: a range for each instruction, as it is traced. Without it, ranges without cycle
    /// counts extend to the next branch or barrier, as those of the other protocols.
    #[arg(long)]
    pub single: bool,
    #[command(flatten)]
    pub window: WindowArgs,
    #[command(flatten)]
    pub running: RunningArgs,
    #[command(flatten)]
    pub select: SelectArgs,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright instructions CAPTURE --limit 100        the first 100
  tracewright instructions CAPTURE --function main --lines
  tracewright instructions CAPTURE --format pc        addresses only")]
pub struct InstructionsArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub output: InstructionsOutput,
    #[command(flatten)]
    pub window: WindowArgs,
    #[command(flatten)]
    pub running: RunningArgs,
    #[command(flatten)]
    pub select: SelectArgs,
}

#[derive(Debug, Args)]
pub struct InstructionsOutput {
    /// Output format.
    #[arg(long, value_enum, default_value_t = InstructionFormat::Text)]
    pub format: InstructionFormat,
    #[command(flatten)]
    pub errors: ErrorArgs,
    #[command(flatten)]
    pub outcome: OutcomeArgs,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright frames etb.bin                          16-byte frames of a trace buffer; no protocol is needed
  tracewright frames port.bin --framing tpiu          a trace port
  tracewright frames etb.bin --id 0x10 --offset ..4096  the data of a trace ID in a part of the buffer
  tracewright frames etb.bin --format none            the bytes of each trace ID")]
pub struct FramesArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Write the output to FILE instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Exit with 1 on bytes that are not part of a frame.
    #[arg(long)]
    pub strict: bool,
    /// Raw frame lines of --format opencsd: packed, unpacked or both. Default: both.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub raw_frames: Vec<RawFrames>,
    /// Only frames with bytes at these offsets in the buffer: A..B, A.. or ..B.
    #[arg(long, value_name = "A..B", value_parser = offsets)]
    pub offset: Option<Range<u64>>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright bench CAPTURE                           how fast it is decoded")]
pub struct BenchArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub how: HowArgs,
    /// Number of timed decodes; the shortest and the median time are reported.
    #[arg(long, value_name = "N", default_value = "5")]
    pub repeat: NonZeroU32,
    /// Number of threads.
    #[arg(long, value_name = "N", default_value = "1")]
    pub jobs: NonZeroUsize,
    /// Consumer of the elements.
    #[arg(long, value_enum, default_value_t = BenchSink::Checksum)]
    pub sink: BenchSink,
    /// Output format.
    #[arg(long, value_enum, default_value_t = BenchFormat::Text)]
    pub format: BenchFormat,
    #[command(flatten)]
    pub outcome: OutcomeArgs,
}

/// Output format of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text.
    Text,
    /// JSON Lines (docs/json.md).
    Json,
    /// Same as OpenCSD's trc_pkt_lister, line for line.
    Opencsd,
    /// The summary only.
    None,
}

/// Output format of `info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InfoFormat {
    /// Text.
    Text,
    /// JSON Lines.
    Json,
}

/// Consumer of the elements of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchSink {
    /// Checksum of all fields of all elements, in order.
    Checksum,
    /// Count of elements, ranges and instructions.
    Count,
    /// Execution count of each control-flow edge.
    Edges,
    /// Code coverage, one bit per two bytes of executed code.
    Coverage,
    /// Edge bitmap as used by AFL and similar fuzzers.
    Bitmap,
    /// Text listing of `decode`, discarded.
    Text,
    /// JSON Lines listing of `decode`, discarded.
    Json,
    /// OpenCSD listing of packets and elements, discarded.
    Opencsd,
}

impl BenchSink {
    /// The name on the command line.
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

/// Output format of `bench`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchFormat {
    /// Text: a header line and a row.
    Text,
    /// JSON Lines.
    Json,
}

/// Output format of `instructions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InstructionFormat {
    /// Text: address, opcode, disassembly, context, cycles.
    Text,
    /// JSON Lines.
    Json,
    /// Addresses only, in lower-case hexadecimal.
    Pc,
    /// The summary only.
    None,
}

/// Raw frame lines, as OpenCSD's trc_pkt_lister prints them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RawFrames {
    /// Frames as captured.
    Packed,
    /// Trace data of each trace ID in the frames.
    Unpacked,
}
