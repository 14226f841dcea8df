//! Options of random access: windows, `index` and `find`.

use std::ops::Range;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tracewright::index::{Window, query};

use super::input::{HowArgs, InputArgs, JobsArgs};
use super::own::group;
use super::tasks::RunningArgs;

/// The part of a trace that is listed (docs/random-access.md).
#[derive(Debug, Args)]
pub struct WindowArgs {
    /// Only what packets at these offsets in the buffer made: A..B, A.. or ..B.
    #[arg(long, value_name = "A..B", value_parser = offsets, help_heading = group::SELECTING)]
    pub offset: Option<Range<u64>>,
    /// Only what has a time from A on and before B: the last timestamp of the source.
    #[arg(long, value_name = "A..B", value_parser = offsets, help_heading = group::SELECTING)]
    pub time: Option<Range<u64>>,
    /// Only these instructions, counted from 0 in the order of the output.
    #[arg(long, value_name = "N..M", value_parser = offsets, help_heading = group::SELECTING)]
    pub instruction: Option<Range<u64>>,
    /// Only the element with this number, as `find` reports it.
    #[arg(long, value_name = "N", value_parser = one, help_heading = group::SELECTING)]
    pub at: Option<u64>,
    /// --at: K elements before and after it, too.
    #[arg(long, value_name = "K", requires = "at", default_value_t = 0,
          help_heading = group::SELECTING)]
    pub around: u64,
    #[command(flatten)]
    pub index: UseIndexArgs,
}

impl WindowArgs {
    /// The window.
    pub fn window(&self) -> Window {
        let element = self.at.map(|at| {
            at.saturating_sub(self.around)..at.saturating_add(self.around).saturating_add(1)
        });
        Window {
            offset: self.offset.clone(),
            time: self.time.clone(),
            instruction: self.instruction.clone(),
            element,
        }
    }
}

/// Which packets, elements and instructions are listed.
#[derive(Clone, Debug, Default, Args)]
pub struct SelectArgs {
    /// Only these kinds of elements, as the listing names them; of packets, as in JSON.
    #[arg(long, value_delimiter = ',', value_name = "KIND,...", help_heading = group::SELECTING)]
    pub only: Vec<String>,
    /// Only what is at these addresses: A..B, A.. or ..B (repeatable).
    #[arg(long, value_name = "A..B", value_parser = offsets, help_heading = group::SELECTING)]
    pub address: Vec<Range<u64>>,
    /// Only what is in this function (repeatable).
    #[arg(long, value_name = "NAME", help_heading = group::SELECTING)]
    pub function: Vec<String>,
    /// Only while the context ID is this one.
    #[arg(long, value_name = "ID", value_parser = context, help_heading = group::SELECTING)]
    pub context: Option<u32>,
    /// Add the source line to the names of functions, from the DWARF of the program images.
    #[arg(long, help_heading = group::SELECTING)]
    pub lines: bool,
    /// At most N lines of packets, elements and instructions.
    #[arg(long, value_name = "N", help_heading = group::SELECTING)]
    pub limit: Option<u64>,
}

impl SelectArgs {
    /// Whether some packets, elements or instructions are not selected, apart from a limit.
    pub fn filters(&self) -> bool {
        let all = self.only.is_empty() && self.address.is_empty() && self.function.is_empty();
        !all || self.context.is_some()
    }
}

/// Which index is used.
#[derive(Clone, Debug, Default, Args)]
pub struct UseIndexArgs {
    /// The index. Default: INPUT.twx beside the capture, if there is one.
    #[arg(long, value_name = "FILE", conflicts_with = "no_index", help_heading = group::SELECTING)]
    pub index: Option<PathBuf>,
    /// Decode from the beginning, even if there is an index.
    #[arg(long, help_heading = group::SELECTING)]
    pub no_index: bool,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright index CAPTURE -o capture.index          then: tracewright find CAPTURE --index capture.index first exception")]
pub struct IndexArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    /// Counts for each segment of the trace: the default.
    #[arg(long, conflicts_with = "full")]
    pub sparse: bool,
    /// Also a record of each exception, context, write, access, event, gap, timestamp, packet from
    /// which a decoder may start, and event of the link.
    #[arg(long)]
    pub full: bool,
    /// Without the view of the whole trace: which functions ran in each part of it, long calls,
    /// sums by function, call stacks.
    #[arg(long)]
    pub no_view: bool,
    /// Length of a segment in bytes. Default: 24576.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(64..=1 << 30))]
    pub segment: Option<u64>,
    /// The trace is still being written: extend the index until the trace has not grown for this
    /// time.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "10")]
    pub follow: Option<u64>,
    /// The view has the tasks of these systems: TOML as in docs/tasks.md, or ORTI (repeatable).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["no_view", "follow"],
          help_heading = group::COMMON)]
    pub tasks: Vec<PathBuf>,
    /// Write the index to FILE instead of INPUT.twx beside the capture.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright find CAPTURE first exception
  tracewright find CAPTURE last function main
  tracewright find CAPTURE count write 0")]
pub struct FindArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// What to find: [first|last|nth N|count|all] CONDITION {and CONDITION} [before|after QUERY];
    /// conditions are function NAME, line FILE:N, address A[..B], exception [N], context [ID],
    /// access [A[..B]] [=VALUE], write [PORT] [=VALUE|~TEXT], dwt [enter|exit|return [N]],
    /// dwt sample [A[..B]], dwt sleep, dwt data [COMPARATOR] [=VALUE], gap, event [N], trigger,
    /// time T[..U], offset A[..B], instruction N[..M], element N[..M], any.
    #[arg(value_name = "QUERY")]
    #[allow(rustdoc::broken_intra_doc_links, reason = "brackets stand for optional words")]
    pub query: Vec<String>,
    #[command(flatten)]
    pub how: HowArgs,
    /// Every element that matches.
    #[arg(long)]
    pub all: bool,
    /// At most N elements.
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Find the call stack of a result in the trace of this many bytes before it; 0 for no stack.
    /// Default: 65536 where one result is searched for, 0 where all are.
    #[arg(long, value_name = "BYTES")]
    pub stack: Option<u64>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = FindFormat::Text)]
    pub format: FindFormat,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub running: RunningArgs,
    #[command(flatten)]
    pub index: UseIndexArgs,
    /// Write the output to FILE instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Output format of `find`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FindFormat {
    /// Text.
    Text,
    /// JSON Lines (docs/json.md).
    Json,
}

pub(super) fn offsets(text: &str) -> Result<Range<u64>, String> {
    query::range(text, false).map_err(|error| error.to_string())
}

fn context(text: &str) -> Result<u32, String> {
    let value = query::number(text).map_err(|error| error.to_string())?;
    u32::try_from(value).map_err(|_| format!("`{text}` has more than 32 bits"))
}

fn one(text: &str) -> Result<u64, String> {
    query::number(text).map_err(|error| error.to_string())
}
