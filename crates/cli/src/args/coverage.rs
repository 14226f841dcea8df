//! Options of `coverage`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tracewright::export::coverage::CoverageFormat;

use super::decoding::OutcomeArgs;
use super::input::{HowArgs, InputArgs, JobsArgs};
use super::random::WindowArgs;

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright coverage CAPTURE                        lines, branches and functions of each file")]
pub struct CoverageArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// Further captures of the same program: their counts are added (repeatable).
    #[arg(long = "add", value_name = "INPUT")]
    pub further: Vec<PathBuf>,
    /// Add the counts also where the captures are of different programs.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub window: WindowArgs,
    /// Print this source file with the executions of each line and the outcomes of its branches.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["by", "format"])]
    pub annotate: Option<String>,
    /// --annotate: folder of source files (repeatable). Without it, only files in the folder of the
    /// capture and in that of a program of --image are read.
    #[arg(long = "source-root", value_name = "FOLDER")]
    pub source_roots: Vec<PathBuf>,
    /// Rows of the text.
    #[arg(long, value_enum, default_value_t = CoverageBy::File)]
    pub by: CoverageBy,
    /// Exit with 1 if fewer lines were executed, in percent.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub fail_under: Option<f64>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = CoverageFormatArg::Text)]
    pub format: CoverageFormatArg,
    #[command(flatten)]
    pub outcome: OutcomeArgs,
}

/// Rows of the summary of coverage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CoverageBy {
    /// Source files.
    File,
    /// Functions.
    Function,
}

/// Format of coverage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CoverageFormatArg {
    /// Text.
    Text,
    /// JSON Lines (docs/json.md).
    Json,
    /// Tracefile of lcov, for genhtml.
    Lcov,
    /// Cobertura XML.
    Cobertura,
    /// JSON of gcov.
    Gcov,
    /// JSON of llvm-cov export.
    LlvmCov,
    /// drcov: executed blocks.
    Drcov,
}

impl CoverageFormatArg {
    /// The format of another tool, where it is one.
    pub fn format(self) -> Option<CoverageFormat> {
        match self {
            CoverageFormatArg::Text | CoverageFormatArg::Json => None,
            CoverageFormatArg::Lcov => Some(CoverageFormat::Lcov),
            CoverageFormatArg::Cobertura => Some(CoverageFormat::Cobertura),
            CoverageFormatArg::Gcov => Some(CoverageFormat::Gcov),
            CoverageFormatArg::LlvmCov => Some(CoverageFormat::LlvmCov),
            CoverageFormatArg::Drcov => Some(CoverageFormat::Drcov),
        }
    }
}

/// A number from 0 to 100.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
    number.ok_or_else(|| "expected a number from 0 to 100".to_owned())
}
