//! The options and arguments of the command line.

mod coverage;
mod dap;
mod decoding;
mod fleet;
mod functions;
mod gdb;
mod input;
mod itm;
mod logs;
mod own;
mod profile;
mod random;
mod selftest;
mod signals;
mod sql;
mod table;
mod tasks;
mod timing;
mod units;
mod view;

pub use coverage::{CoverageArgs, CoverageBy, CoverageFormatArg, CoverageKind};
pub use dap::{DapArgs, Launched};
pub use decoding::{
    BenchArgs, BenchFormat, BenchSink, DecodeArgs, DemoArgs, Format, FramesArgs, InfoArgs,
    InfoFormat, InstructionFormat, InstructionsArgs, OutputArgs, PacketsArgs, RawFrames,
};
pub use fleet::{JobArg, ShareArgs, UnitsArgs, UnitsFormat};
pub use functions::{
    BranchesArgs, BranchesFormat, CallsArgs, DiffArgs, FunctionFormat, FunctionsArgs, HistoryArgs,
    ReportArgs, TimelineArgs,
};
pub use gdb::{GdbArgs, GdbserverArgs, ReplayArgs, ShownArgs};
pub use input::{
    AlignArg, FramingArg, HowArgs, InputArgs, JobsArgs, SearchArgs, SourceArgs, image_sources,
};
pub use itm::ItmArgs;
pub use logs::{
    CompareArgs, EncodeArgs, EncodeFraming, EncodeTo, IsaArg, LogArgs, LogConvertArgs, LogFormat,
    LogInfoArgs, LogVerb, LogVerbs, SecurityArg, SinkArgs,
};
pub use profile::{DialectArg, FieldsArg, MergeArgs, PerfScriptArgs, ProfileArgs, ProfileFormat};
pub use random::{FindArgs, FindFormat, IndexArgs, SelectArgs, UseIndexArgs, WindowArgs};
pub use selftest::SelftestArgs;
pub use sql::SqlArgs;
pub use table::TableArgs;
#[cfg(feature = "columns")]
pub use table::TableOptions;
pub use tasks::{RunningArgs, SwitchArgs};
pub use timing::{ClockArg, TimingArgs, TimingFormat};
pub use units::{
    DataArg, ModeArg, ProgramForm, SinkArg, UnitExplainArgs, UnitFilterArgs, UnitProgramArgs,
    UnitSequenceArgs, UnitVerb, UnitVerbs,
};
pub use view::ViewArgs;

use anstream::ColorChoice;
use clap::{Parser, Subcommand, ValueEnum};
use tracewright::decode::Severity;

use self::own::{LAST, Own};

/// `value` as spelled on the command line.
pub fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |own| own.get_name().to_owned())
}

/// Decoder and encoder of Arm CoreSight and RISC-V processor trace.
#[derive(Debug, Parser)]
#[command(
    name = "tracewright",
    version,
    max_term_width = 110,
    after_help = "Exit codes: 0 success; 1 success with a negative answer: compare, diff or unit filter found a \
                  difference, find nothing, coverage less than --fail-under, a capture without trace or an \
                  empty result, captures that cannot be read (--keep-going), unit lint or sequence an error, selftest a requirement \
                  that is not met, unit \
                  program an impossible request, --strict a problem; the trace contradicts its \
                  description; a file changed while it was read; or the other side closed the connection \
                  of itm. 2 wrong usage or a fatal error.",
    before_help = "Start with `tracewright demo`; with a capture, `tracewright info CAPTURE`."
)]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
    /// Colours in the text output. NO_COLOR and TERM=dumb disable them in auto.
    // After the options of a verb, whose short help does not have it.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = ColorArg::Auto,
          display_order = LAST)]
    pub color: ColorArg,
    /// Print errors only to standard error: no notes and no summary. `profile` and `merge` print
    /// damage, too.
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = LAST)]
    pub quiet: bool,
    /// Print what is for information, too, and a line for each error and loss in the trace, to
    /// standard error.
    #[arg(long, global = true, display_order = LAST)]
    pub verbose: bool,
}

impl Cli {
    /// The least severe messages that are printed. `profile` and `merge` choose their messages
    /// themselves where they are quiet.
    pub fn level(&mut self) -> Severity {
        let own = match &mut self.verb {
            Verb::Profile(args) => Some(&mut args.0.quiet),
            Verb::Merge(args) => Some(&mut args.0.quiet),
            _ => None,
        };
        let is_own = own.map(|own| *own = self.quiet).is_some();
        match (self.quiet && !is_own, self.verbose) {
            (true, _) => Severity::Error,
            (_, true) => Severity::Info,
            _ => Severity::Warning,
        }
    }
}

/// Whether the text output has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorArg {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl From<ColorArg> for ColorChoice {
    fn from(argument: ColorArg) -> ColorChoice {
        match argument {
            ColorArg::Auto => ColorChoice::Auto,
            ColorArg::Always => ColorChoice::Always,
            ColorArg::Never => ColorChoice::Never,
        }
    }
}

/// A verb of the command line. The options of a verb are made where it is used.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    /// Decode the built-in example and explain the output.
    Demo(Own<DemoArgs>),
    /// Describe a capture: buffers, trace sources, registers field by field, memory, and what is
    /// missing.
    Info(Own<InfoArgs>),
    /// List trace packets.
    Packets(Own<PacketsArgs>),
    /// Decode to elements: instruction ranges, exceptions, contexts, timestamps, data accesses,
    /// software writes, gaps.
    Decode(Own<DecodeArgs>),
    /// List every executed instruction, one per line.
    Instructions(Own<InstructionsArgs>),
    /// Show CoreSight formatter frames and the data of each trace ID.
    Frames(Own<FramesArgs>),
    /// Print what an ITM sent: text of each port, exceptions, samples, watched data; live, too.
    Itm(Own<ItmArgs>),
    /// Measure decoding speed: bytes, elements, ranges, seconds, MB/s, ns per range.
    Bench(Own<BenchArgs>),
    /// Encode an execution log to trace with simulated trace units, and write a snapshot.
    Encode(Own<EncodeArgs>),
    /// Describe an execution log, or convert it to another format.
    Log(Own<LogVerbs>),
    /// List the functions that were executed: calls, instructions, cycles, time.
    Functions(Own<FunctionsArgs>),
    /// List branches that were taken and exceptions in order: from which address to which.
    Branches(Own<BranchesArgs>),
    /// A trace as a table: Parquet, Arrow, CSV. Without a name, list the tables and their columns.
    Table(Own<TableArgs>),
    /// Answer queries in SQL, whose tables are those of `table`, with the program tracewright-sql.
    Sql(Own<SqlArgs>),
    /// List calls in order: the begin and the end of each function.
    Calls(Own<CallsArgs>),
    /// List how long functions and exceptions take: least, median, percentiles, most; check limits.
    Timing(Own<TimingArgs>),
    /// Write the functions over time for a trace viewer.
    Timeline(Own<TimelineArgs>),
    /// List which source lines were executed, and the outcomes of branches.
    Coverage(Own<CoverageArgs>),
    /// List the last instructions before an exception, an address or the end of the trace.
    History(Own<HistoryArgs>),
    /// List the functions, or the executed lines, that differ between two captures.
    Diff(Own<DiffArgs>),
    /// Write a page with functions, flame graph, timeline, exceptions and coverage.
    Report(Own<ReportArgs>),
    /// Count what was executed, and write a profile for a compiler or profiler.
    Profile(Own<ProfileArgs>),
    /// List the units of work of captures, which can be computed on several machines.
    Units(Own<UnitsArgs>),
    /// Sum parts of `--units`, branch lists of simpleperf, and samples with branches (LBR, BRBE).
    Merge(Own<MergeArgs>),
    /// Print branch or instruction samples of a perf.data file as `perf script --itrace` does.
    PerfScript(Own<PerfScriptArgs>),
    /// Show a trace in a browser: what ran when, at any scale.
    View(Own<ViewArgs>),
    /// Answer an editor as a debugger that replays a trace: the Debug Adapter Protocol.
    Dap(Own<DapArgs>),
    /// Step through a trace in gdb, backwards too.
    Gdb(Own<GdbArgs>),
    /// Answer gdb as a target that replays a trace: the remote protocol, with reverse execution.
    Gdbserver(Own<GdbserverArgs>),
    /// Make an index, with which `decode`, `instructions` and `find` start anywhere at once.
    Index(Own<IndexArgs>),
    /// Find elements: functions, addresses, exceptions, contexts, accesses, writes, times.
    Find(Own<FindArgs>),
    /// Find the first difference between two captures, or between a capture and an execution log.
    Compare(Own<CompareArgs>),
    /// Explain, check and make the register values of a trace unit, and predict what they trace.
    Unit(Own<UnitVerbs>),
    /// Check this program: run a built-in suite, and compare with stored results.
    Selftest(Own<SelftestArgs>),
    /// Print shell completions.
    #[command(after_long_help = "\
Examples:
  tracewright completions bash                        put it where the shell looks for completions")]
    Completions {
        /// Shell to generate completions for.
        shell: clap_complete::Shell,
    },
    /// Write the manual pages: one of the command, and one of each verb.
    #[command(after_long_help = "\
Examples:
  tracewright man man1                                tracewright.1, tracewright-decode.1 and so on")]
    Man {
        /// Folder to write to.
        folder: std::path::PathBuf,
    },
}
