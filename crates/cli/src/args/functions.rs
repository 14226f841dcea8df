//! Options of the verbs for functions and call stacks.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tracewright::analysis::timing::Span;
use tracewright::export::paths::PathFormat;
use tracewright::export::timeline::TimelineFormat;
use tracewright::views::functions::Sort;

use super::decoding::{InfoFormat, OutcomeArgs};
use super::input::{HowArgs, InputArgs, JobsArgs, SourceArgs};
use super::random::WindowArgs;
use super::signals::{SignalArgs, hertz};
use super::tasks::{RunningArgs, SwitchArgs, TaskArgs};

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright functions CAPTURE --limit 20             where the instructions are executed
  tracewright functions CAPTURE --format flame-graph -o flame.svg")]
pub struct FunctionsArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub switches: SwitchArgs,
    #[command(flatten)]
    pub only: TaskArgs,
    #[command(flatten)]
    pub window: WindowArgs,
    /// Order of the table.
    #[arg(long, value_enum, default_value_t = SortArg::SelfInstructions)]
    pub sort: SortArg,
    /// The most functions of a table.
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Only functions with this name; * stands for any characters.
    #[arg(long, value_name = "NAME")]
    pub function: Option<String>,
    /// A table for each thread.
    #[arg(long)]
    pub per_thread: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = FunctionFormat::Text)]
    pub format: FunctionFormat,
    #[command(flatten)]
    pub outcome: OutcomeArgs,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright branches CAPTURE --limit 100
  tracewright branches CAPTURE --format json")]
pub struct BranchesArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub window: WindowArgs,
    #[command(flatten)]
    pub running: RunningArgs,
    /// The most lines.
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = BranchesFormat::Text)]
    pub format: BranchesFormat,
    #[command(flatten)]
    pub outcome: OutcomeArgs,
}

/// Format of branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BranchesFormat {
    /// Text.
    Text,
    /// JSON Lines (docs/json.md).
    Json,
    /// BranchFlow of TRACE32, of one source: each change of flow (docs/coverage.md).
    Branchflow,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright calls CAPTURE --depth 4
  tracewright calls CAPTURE --function main")]
pub struct CallsArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub switches: SwitchArgs,
    #[command(flatten)]
    pub only: TaskArgs,
    #[command(flatten)]
    pub window: WindowArgs,
    /// At most N frames above the first one that is shown.
    #[arg(long, value_name = "N")]
    pub depth: Option<usize>,
    /// Only functions with this name, and what they call; * stands for any characters.
    #[arg(long, value_name = "NAME")]
    pub function: Option<String>,
    /// The most lines.
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = InfoFormat::Text)]
    pub format: InfoFormat,
    #[command(flatten)]
    pub outcome: OutcomeArgs,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright timeline CAPTURE --format perfetto -o timeline.perfetto   for ui.perfetto.dev
  tracewright timeline CAPTURE --load 1000 --idle main   with the load of each 1000 ticks")]
pub struct TimelineArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub switches: SwitchArgs,
    #[command(flatten)]
    pub only: TaskArgs,
    #[command(flatten)]
    pub window: WindowArgs,
    /// Output format.
    #[arg(long, value_enum, default_value_t = TimelineFormatArg::Chrome)]
    pub format: TimelineFormatArg,
    /// Ticks of the timestamp clock in a second, such as 72M. Without it, a tick is a nanosecond.
    #[arg(long, value_name = "HERTZ", value_parser = hertz)]
    pub frequency: Option<u64>,
    /// With --format chrome, firefox, perfetto and vcd, the load of each processor in parts of this
    /// width, such as 10ms, or 1000 ticks: the part of the traced time outside of the functions of
    /// --idle.
    #[arg(long, value_name = "WIDTH")]
    pub load: Option<Span>,
    /// With --load, a function in which the processor is idle, with what it calls (repeatable);
    /// * stands for any characters. Without it, that of the operating system, if it is known.
    #[arg(long, value_name = "SYMBOL", requires = "load")]
    pub idle: Vec<String>,
    #[command(flatten)]
    pub signals: SignalArgs,
    /// The most frames; the first ones are written.
    #[arg(long, value_name = "N", default_value_t = 2_000_000)]
    pub limit: usize,
    #[command(flatten)]
    pub outcome: OutcomeArgs,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright report CAPTURE -o report.html           one page for a browser
  tracewright report CAPTURE --source-root . -o report.html   with the source files of this folder")]
pub struct ReportArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub switches: SwitchArgs,
    #[command(flatten)]
    pub window: WindowArgs,
    #[command(flatten)]
    pub only: TaskArgs,
    #[command(flatten)]
    pub signals: SignalArgs,
    /// The most calls on the timeline and among the exceptions; the first ones are shown.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub limit: usize,
    /// Folder of source files (repeatable). Without it, only files in the folder of the capture and
    /// in that of a program of --image are read; the page shows instructions of other code.
    #[arg(long = "source-root", value_name = "FOLDER")]
    pub source_roots: Vec<PathBuf>,
    #[command(flatten)]
    pub outcome: OutcomeArgs,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright history CAPTURE --before exception      what led to the last exception
  tracewright history CAPTURE --before solve --first --count 50   to the first call of a function
  tracewright history CAPTURE                         the last instructions of the trace")]
pub struct HistoryArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub window: WindowArgs,
    #[command(flatten)]
    pub running: RunningArgs,
    /// The event: `end` of the trace, `exception`, `exception:NUMBER`, an address such as 0x8000,
    /// or the name of a function, which is its first instruction.
    #[arg(long, value_name = "EVENT", default_value = "end")]
    pub before: String,
    /// The number of instructions.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub count: usize,
    /// The first occurrence of the event, not the last one.
    #[arg(long)]
    pub first: bool,
    #[command(flatten)]
    pub outcome: OutcomeArgs,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright diff CAPTURE OTHER                      functions that differ
  tracewright diff CAPTURE OTHER --coverage           lines that only one executed")]
pub struct DiffArgs {
    /// Capture, or a dump of raw trace data.
    pub a: PathBuf,
    /// The other capture.
    pub b: PathBuf,
    #[command(flatten)]
    pub sources: SourceArgs,
    /// Additional program memory: an ELF file, Intel HEX, S-records or UF2, or raw bytes at an
    /// address (repeatable).
    #[arg(long = "image", value_name = "FILE[@ADDRESS]")]
    pub images: Vec<String>,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub switches: SwitchArgs,
    /// Compare also where the captures are of different programs.
    #[arg(long)]
    pub force: bool,
    /// Compare the executed lines and the outcomes of branches instead of the functions.
    #[arg(long)]
    pub coverage: bool,
    /// The most rows.
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = InfoFormat::Text)]
    pub format: InfoFormat,
    /// Write the output to FILE instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Format of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimelineFormatArg {
    /// Best Trace Format: tasks, interrupts and calls, for Trace Compass and timing tools.
    Btf,
    /// Chrome JSON, for Perfetto and chrome://tracing.
    Chrome,
    /// Processed profile of the Firefox Profiler.
    Firefox,
    /// Perfetto protobuf.
    Perfetto,
    /// speedscope.
    Speedscope,
    /// Value Change Dump, with names of functions for GTKWave.
    Vcd,
    /// Common Trace Format 1.8, for Trace Compass and babeltrace2; --output names a folder, which
    /// must be empty or not exist.
    Ctf,
}

impl TimelineFormatArg {
    /// The format; `None` where it is a folder.
    pub fn format(self) -> Option<TimelineFormat> {
        Some(match self {
            TimelineFormatArg::Btf => TimelineFormat::Btf,
            TimelineFormatArg::Chrome => TimelineFormat::Chrome,
            TimelineFormatArg::Firefox => TimelineFormat::Firefox,
            TimelineFormatArg::Perfetto => TimelineFormat::Perfetto,
            TimelineFormatArg::Speedscope => TimelineFormat::Speedscope,
            TimelineFormatArg::Vcd => TimelineFormat::Vcd,
            TimelineFormatArg::Ctf => return None,
        })
    }
}

/// Format of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FunctionFormat {
    /// Text.
    Text,
    /// JSON Lines (docs/json.md).
    Json,
    /// Instructions of each call path, as folded stacks.
    Folded,
    /// Flame graph, an SVG picture.
    FlameGraph,
    /// Functions and calls, for callgrind_annotate and KCachegrind.
    Callgrind,
    /// Instructions and calls of each call path, for pprof.
    Pprof,
}

impl FunctionFormat {
    /// The format of call paths, where it is one.
    pub fn paths(self) -> Option<PathFormat> {
        match self {
            FunctionFormat::Text | FunctionFormat::Json => None,
            FunctionFormat::Folded => Some(PathFormat::Folded),
            FunctionFormat::FlameGraph => Some(PathFormat::FlameGraph),
            FunctionFormat::Callgrind => Some(PathFormat::Callgrind),
            FunctionFormat::Pprof => Some(PathFormat::Pprof),
        }
    }
}

/// Order of the table of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SortArg {
    /// Instructions in the function itself.
    #[value(name = "self")]
    SelfInstructions,
    /// Instructions with the functions that it calls.
    Total,
    /// Calls.
    Calls,
    /// Cycles in the function itself.
    Cycles,
    /// Time in the function itself.
    Time,
    /// Name.
    Name,
}

impl SortArg {
    /// The order.
    pub fn sort(self) -> Sort {
        match self {
            SortArg::SelfInstructions => Sort::Instructions,
            SortArg::Total => Sort::Inclusive,
            SortArg::Calls => Sort::Calls,
            SortArg::Cycles => Sort::Cycles,
            SortArg::Time => Sort::Time,
            SortArg::Name => Sort::Name,
        }
    }
}
