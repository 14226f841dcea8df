//! Options of `tracewright view`.

use std::path::PathBuf;

use clap::Args;

use super::input::{HowArgs, InputArgs, JobsArgs};
use super::own::group;
use super::random::WindowArgs;

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright view CAPTURE --no-browser --idle 1       print the address; end after a second without a request
  tracewright view CAPTURE --export trace.html         a file that shows the trace without a server
  tracewright view CAPTURE --instruction 1000..5000 --export part.html   with each call of a part")]
pub struct ViewArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub window: WindowArgs,
    /// Write the trace into FILE, a page of at most 8 MB that needs no server: the whole at low
    /// resolution, and what the window selects in detail.
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["no_browser", "port", "save_notes", "any_source", "idle"])]
    pub export: Option<PathBuf>,
    /// Print the address of the page only. Whoever has the address can see the trace.
    #[arg(long)]
    pub no_browser: bool,
    /// The port of the loopback interface. Default: any free one.
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Save bookmarks in CAPTURE.notes.json beside the capture.
    #[arg(long)]
    pub save_notes: bool,
    /// Folder with source files, which may be given several times. Source files in other folders
    /// than these, those of the program files and that of the capture are not shown.
    #[arg(long = "source-root", value_name = "FOLDER")]
    pub source_roots: Vec<PathBuf>,
    /// Show source files at the paths in the line table of the program.
    #[arg(long)]
    pub any_source: bool,
    /// The trace is being recorded: show what follows, until it has not grown for this time.
    #[arg(long, value_name = "SECONDS", conflicts_with_all = ["export", "index", "no_index"])]
    pub follow: Option<u64>,
    /// Operating systems and names of tasks: TOML as in docs/tasks.md, or ORTI (repeatable).
    #[arg(long, value_name = "FILE", help_heading = group::COMMON)]
    pub tasks: Vec<PathBuf>,
    /// End when no request came for this time.
    #[arg(long, value_name = "SECONDS")]
    pub idle: Option<u64>,
}
