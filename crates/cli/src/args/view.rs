//! Options of `tracewright view`.

use std::path::PathBuf;

use clap::Args;

use super::input::{HowArgs, InputArgs, JobsArgs};
use super::random::UseIndexArgs;

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright view CAPTURE --no-browser --idle 1       print the address; end after a second without a request")]
pub struct ViewArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub index: UseIndexArgs,
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
    /// End when no request came for this time.
    #[arg(long, value_name = "SECONDS")]
    pub idle: Option<u64>,
}
