//! Options of units: parts of a trace that are computed by themselves.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::input::{HowArgs, InputArgs, JobsArgs};
use super::own::group;
use super::random::UseIndexArgs;
use crate::fail::Fail;

/// The bytes of a unit.
const UNIT: u64 = tracewright_fleet::UNIT;

/// Which units are computed.
#[derive(Clone, Debug, Default, Args)]
pub struct ShareArgs {
    /// Compute share K of N only, counted from 1, and write a part for `merge` (docs/units.md). The
    /// trace is divided at segments of its index.
    #[arg(long, value_name = "K/N", value_parser = share, help_heading = group::UNITS)]
    pub units: Option<(usize, usize)>,
    /// The same for the unit with this identifier, as `units` lists it.
    #[arg(long, value_name = "ID", conflicts_with = "units", help_heading = group::UNITS)]
    pub unit: Option<String>,
    /// --units, --unit: bytes of trace in a unit; the same for all parts. Default: 67108864.
    #[arg(long, value_name = "BYTES", value_parser = size, help_heading = group::UNITS)]
    pub unit_size: Option<u64>,
    /// --units, --unit, --parts: accept up to K units that cannot be decoded, which are listed in
    /// the part.
    #[arg(long, value_name = "K", default_value_t = 0, hide_default_value = true,
          help_heading = group::UNITS)]
    pub allow_failed: usize,
}

impl ShareArgs {
    /// Whether a part is written.
    pub fn wanted(&self) -> bool {
        self.units.is_some() || self.unit.is_some()
    }

    /// Fails where options of units are given, and no unit is chosen. `parts` are shown.
    pub fn check(&self, parts: bool) -> Result<(), Fail> {
        let what = "it is for --units and --unit";
        if let Some(size) = self.unit_size.filter(|_| !self.wanted()) {
            return Err(Fail::option("--unit-size", &size.to_string(), what));
        }
        if self.allow_failed > 0 && !self.wanted() && !parts {
            let what = format!("{what}, and for --parts");
            return Err(Fail::option("--allow-failed", &self.allow_failed.to_string(), &what));
        }
        Ok(())
    }

    /// The bytes of trace in a unit.
    pub fn size(&self) -> u64 {
        self.unit_size.unwrap_or(UNIT)
    }
}

/// The plan of a job.
#[derive(Clone, Debug, Default, Args)]
pub struct PlanArgs {
    /// --units, --unit: the plan that `units -o FILE` made, instead of INPUT. Only the captures of
    /// the chosen units are opened, and must be those of the plan.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input", "pins", "unit_size", "force"],
          help_heading = group::UNITS)]
    pub plan: Option<PathBuf>,
}

impl PlanArgs {
    /// Fails where there is a plan, and no unit is chosen.
    pub fn check(&self, share: &ShareArgs) -> Result<(), Fail> {
        match self.plan.as_ref().filter(|_| !share.wanted()) {
            Some(plan) => {
                let what = "it has units; choose some with --units K/N or --unit ID";
                Err(Fail::option("--plan", &plan.to_string_lossy(), what))
            }
            None => Ok(()),
        }
    }
}

/// Which parts are shown.
#[derive(Clone, Debug, Default, Args)]
pub struct PartsArgs {
    /// Decode nothing: show what these parts of INPUT add up to (repeatable); @FILE has the path of
    /// one in each line.
    #[arg(id = "parts", long = "parts", value_name = "FILE|@FILE", conflicts_with_all = ["units", "unit"],
          help_heading = group::UNITS)]
    pub files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright units CAPTURE                           the units of a profile, one line each
  tracewright units CAPTURE --job branch-list --format json
  tracewright units CAPTURE --job branch-list -o fleet.plan
                                                      for profile --plan fleet.plan --units K/N")]
pub struct UnitsArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// Further captures; @FILE has the path of one in each line.
    #[arg(value_name = "INPUT|@FILE")]
    pub more: Vec<PathBuf>,
    /// What is computed.
    #[arg(long, value_enum, default_value_t = JobArg::Counts)]
    pub job: JobArg,
    /// Bytes of trace in a unit.
    #[arg(long, value_name = "BYTES", default_value_t = UNIT, value_parser = size)]
    pub unit_size: u64,
    /// Output format.
    #[arg(long, value_enum, default_value_t = UnitsFormat::Text)]
    pub format: UnitsFormat,
    /// Write a plan for --plan to FILE, instead of the list to standard output. It replaces no
    /// file.
    #[arg(short, long, value_name = "FILE", conflicts_with = "format")]
    pub output: Option<PathBuf>,
    /// Add the units also where the captures are of different programs.
    #[arg(long)]
    pub force: bool,
    /// Leave out captures that cannot be opened, and list them; the exit code is 1.
    #[arg(long)]
    pub keep_going: bool,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub index: UseIndexArgs,
    #[command(flatten)]
    pub how: HowArgs,
}

/// What is computed of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum JobArg {
    /// What was executed: for `profile` and `coverage`, of one capture.
    Counts,
    /// The branch list of `profile --format branch-list`, of any number of captures.
    BranchList,
}

/// Format of the list of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UnitsFormat {
    /// A line for each unit.
    Text,
    /// A JSON object for each unit.
    Json,
}

/// A share: `K/N`.
fn share(text: &str) -> Result<(usize, usize), String> {
    let (number, of) = text.split_once('/').ok_or("a share is K/N, such as 17/64")?;
    let read = |text: &str| match text.bytes().all(|digit| digit.is_ascii_digit()) {
        true => text.parse::<usize>().map_err(|error| error.to_string()),
        false => Err(format!("`{text}` is not a number of digits")),
    };
    match (read(number)?, read(of)?) {
        (0, _) => Err("shares are counted from 1".to_owned()),
        (number, of) if number > of => Err(format!("there are {of} shares")),
        share => Ok(share),
    }
}

fn size(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("a unit has at least one byte".to_owned()),
        Ok(size) => Ok(size),
        Err(error) => Err(format!("{error}")),
    }
}
