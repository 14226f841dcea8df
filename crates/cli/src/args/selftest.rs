//! Options of `selftest`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright selftest                                each requirement, and whether it is met
  tracewright selftest --save results.txt             and the results, to compare on another machine
  tracewright selftest --only COV                     the requirements of a group")]
pub struct SelftestArgs {
    /// Only the requirement with this number, such as DEC-1, or those of a group, such as DEC
    /// (repeatable).
    #[arg(long, value_name = "NUMBER|GROUP")]
    pub only: Vec<String>,
    /// Compare with the results in FILE, which --save wrote, instead of the built-in ones.
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,
    /// Write the results to FILE: a line for each requirement, with its SHA-256 digest.
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
}
