//! Options of `profile`.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Arg, Args, ValueEnum};
use tracewright::export::samples::SampleFormat;
use tracewright::export::{Dialect, Format};

use super::decoding::OutcomeArgs;
use super::fleet::{PartsArgs, PlanArgs, ShareArgs};
use super::input::{HowArgs, InputArgs, JobsArgs, SearchArgs};
use super::random::WindowArgs;
use super::tasks::RunningArgs;

#[derive(Debug, Args)]
#[command(mut_arg("input", not_alone), mut_group("capture", |group| group.required(false)))]
#[command(override_usage = "\
tracewright profile [OPTIONS] <INPUT|@FILE|--pins <FILE>> [INPUT|@FILE]...
       tracewright profile [OPTIONS] --add <INPUT|@FILE>
       tracewright profile [OPTIONS] --plan <FILE> --units <K/N>")]
#[command(after_long_help = "\
Examples:
  tracewright profile CAPTURE                         functions, source lines and branches
  tracewright profile CAPTURE CAPTURE --keep-going    the sum of several captures
  tracewright profile CAPTURE --format folded         instructions of each function, by file
  tracewright profile CAPTURE --format pprof -o profile.pb.gz   for pprof
  tracewright profile CAPTURE --units 1/1 -o a.part   one of the parts of a profile: docs/units.md
  tracewright profile CAPTURE --parts a.part          the profile of the parts
  tracewright profile swo.bin --image firmware.elf --format lines   samples of an ITM by line")]
pub struct ProfileArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// Further captures: their counts are added; @FILE has the path of one in each line.
    #[arg(value_name = "INPUT|@FILE", index = 2)]
    pub more: Vec<PathBuf>,
    /// Further captures: their counts are added; @FILE has the path of one in each line
    /// (repeatable).
    #[arg(long = "add", value_name = "INPUT|@FILE")]
    pub further: Vec<PathBuf>,
    /// Leave out captures that cannot be read, and list them at the end; the exit code is 1.
    #[arg(long)]
    pub keep_going: bool,
    /// Print errors and damage only, not what was found of each capture.
    #[arg(skip)]
    pub quiet: bool,
    /// Add the counts also where the captures are of different programs.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub window: WindowArgs,
    #[command(flatten)]
    pub running: RunningArgs,
    #[command(flatten)]
    pub share: ShareArgs,
    #[command(flatten)]
    pub plan: PlanArgs,
    #[command(flatten)]
    pub parts: PartsArgs,
    /// Output format.
    #[arg(long, value_enum, default_value_t = ProfileFormat::Text)]
    pub format: ProfileFormat,
    /// --format perf-data: samples, as for perf-script, with last branches, such as i1000il64.
    /// Default: each branch is in one sample of 64.
    #[arg(long, value_name = "SAMPLES")]
    pub itrace: Option<String>,
    /// --format text: the most rows of each table. Default: 20.
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// How AutoFDO and BOLT are written.
    #[arg(long, value_enum, default_value_t = DialectArg::Full)]
    pub dialect: DialectArg,
    /// Only the file with this path, end of the path, or build ID.
    #[arg(long, value_name = "FILE")]
    pub module: Option<String>,
    /// Without this process (repeatable).
    #[arg(long, value_name = "PROCESS")]
    pub exclude_process: Vec<u32>,
    /// --format propeller: also write the order of the functions for lld --symbol-ordering-file.
    #[arg(long, value_name = "FILE")]
    pub symbol_order: Option<PathBuf>,
    /// Only the kernel.
    #[arg(long, conflicts_with = "user")]
    pub kernel: bool,
    /// Only user space.
    #[arg(long)]
    pub user: bool,
    /// Write the output to FILE instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Exit with 1 on undecodable bytes, inconsistent packets, missing program memory or losses.
    #[arg(long)]
    pub strict: bool,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright perf-script perf.data                   branch samples
  tracewright perf-script perf.data --itrace i1000il64 -F brstack")]
pub struct PerfScriptArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    /// Samples, as for perf script: b for branches, iN for one sample of N instructions, lN for the
    /// last N branches before each sample, Z for no times; several letters, such as i1000il64.
    #[arg(long, value_name = "SAMPLES", default_value = "b")]
    pub itrace: String,
    /// Also print the last branches of each sample, or the instructions between them.
    #[arg(short = 'F', long, value_enum, value_name = "FIELD")]
    pub fields: Option<FieldsArg>,
    #[command(flatten)]
    pub outcome: OutcomeArgs,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright merge a.list b.list -o sum.list         the sum of two branch lists
  tracewright merge @LIST --keep-going -o sum.list    of the files in a list, without damaged ones
  tracewright merge a.part -o sum.part                the sum of parts of --units: docs/units.md")]
pub struct MergeArgs {
    /// Parts of --units; or branch lists of simpleperf, perf.data files that have one, perf.data
    /// files with samples that have branches (LBR, BRBE), and parts of branch lists; @FILE has the
    /// path of one in each line.
    #[arg(value_name = "INPUT|@FILE", required = true)]
    pub inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub search: SearchArgs,
    /// Leave out files that cannot be read, and list them at the end; the exit code is 1.
    #[arg(long)]
    pub keep_going: bool,
    /// Print errors and damage only, not what was found of each file.
    #[arg(skip)]
    pub quiet: bool,
    /// Write a part, also where units are lacking: it can be merged with others.
    #[arg(long)]
    pub partial: bool,
    /// The plan of the parts, of `units -o FILE`: units that are lacking are listed with their
    /// captures.
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// Accept up to K units that could not be decoded, and list them; the exit code is 1.
    #[arg(
        long,
        value_name = "K",
        default_value_t = 0,
        hide_default_value = true,
        conflicts_with = "partial"
    )]
    pub allow_failed: usize,
    /// Write the sum to FILE instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// INPUT is not needed where --add or a plan has captures: it is empty then.
fn not_alone(input: Arg) -> Arg {
    let any = OsStringValueParser::new().map(PathBuf::from);
    let input = input.value_parser(any).default_value("").index(1);
    input.required_unless_present_any(["pins", "further", "plan"])
}

/// What perf-script prints of the branches before a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FieldsArg {
    /// Their addresses, the newest first.
    #[value(alias = "+brstack")]
    Brstack,
    /// The instructions between them, the oldest first.
    #[value(alias = "+brstackinsn")]
    Brstackinsn,
}

/// Format of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProfileFormat {
    /// The functions and source lines with the most instructions, and the most frequent branches.
    Text,
    /// Text for create_llvm_prof and create_gcov of AutoFDO.
    Autofdo,
    /// Pre-aggregated profile for perf2bolt of BOLT.
    Bolt,
    /// Sample profile for clang -fprofile-sample-use and llvm-profdata merge --sample; needs debug
    /// information.
    Llvm,
    /// Unsymbolized profile for llvm-profgen.
    LlvmUnsymbolized,
    /// Clusters of basic blocks for clang -fbasic-block-sections=list=FILE; needs a map of basic
    /// blocks.
    Propeller,
    /// Branch list of simpleperf.
    BranchList,
    /// perf.data with samples that have the branches before them, as of a branch record buffer
    /// (LBR), for create_llvm_prof, llvm-profgen, perf2bolt and perf report.
    PerfData,
    /// profile.proto of pprof.
    Pprof,
    /// Instructions of each function, as folded stacks.
    Folded,
    /// Instructions, for callgrind_annotate and KCachegrind.
    Callgrind,
    /// JSON Lines (docs/json.md).
    Json,
    /// Samples of an ITM: flame graph, SVG.
    FlameGraph,
    /// Samples of an ITM: samples of each source line.
    Lines,
}

impl ProfileFormat {
    /// The format of samples of the program counter; `None` where it has instructions only.
    pub fn samples(self) -> Option<SampleFormat> {
        Some(match self {
            ProfileFormat::Text | ProfileFormat::Folded => SampleFormat::Folded,
            ProfileFormat::FlameGraph => SampleFormat::FlameGraph,
            ProfileFormat::Callgrind => SampleFormat::Callgrind,
            ProfileFormat::Pprof => SampleFormat::Pprof,
            ProfileFormat::Lines => SampleFormat::Lines,
            _ => return None,
        })
    }

    /// The format of instructions; `None` for tables, perf.data, and where it has samples only.
    pub fn format(self) -> Option<Format> {
        Some(match self {
            ProfileFormat::Text | ProfileFormat::PerfData => return None,
            ProfileFormat::Autofdo => Format::Autofdo,
            ProfileFormat::Bolt => Format::Bolt,
            ProfileFormat::Llvm => Format::Llvm,
            ProfileFormat::Propeller => Format::Propeller,
            ProfileFormat::LlvmUnsymbolized => Format::LlvmUnsymbolized,
            ProfileFormat::BranchList => Format::BranchList,
            ProfileFormat::Pprof => Format::Pprof,
            ProfileFormat::Folded => Format::Folded,
            ProfileFormat::Callgrind => Format::Callgrind,
            ProfileFormat::Json => Format::Json,
            ProfileFormat::FlameGraph | ProfileFormat::Lines => return None,
        })
    }
}

/// How formats are written of which there are several forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DialectArg {
    /// As simpleperf: targets of indirect branches are 0, and ranges end at each branch.
    Simpleperf,
    /// Exact targets, and sequences between branches that were taken.
    Full,
    /// For BOLT before version 21: branches and ranges instead of sequences.
    Ranges,
}

impl DialectArg {
    /// The dialect.
    pub fn dialect(self) -> Dialect {
        match self {
            DialectArg::Simpleperf => Dialect::Simpleperf,
            DialectArg::Full => Dialect::Full,
            DialectArg::Ranges => Dialect::Ranges,
        }
    }
}
