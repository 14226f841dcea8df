//! Options of `coverage`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use tracewright::analysis::decisions::Criterion;
use tracewright::export::coverage::CoverageFormat;

use super::decoding::OutcomeArgs;
use super::fleet::{PartsArgs, PlanArgs, ShareArgs};
use super::input::{HowArgs, InputArgs, JobsArgs};
use super::random::WindowArgs;
use super::tasks::RunningArgs;

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright coverage CAPTURE                        lines, branches and functions of each file
  tracewright coverage CAPTURE --task ETM_0           while a task runs: docs/tasks.md
  tracewright coverage CAPTURE --decisions unit.json --by decision
                                                      decisions, conditions and MC/DC
  tracewright coverage CAPTURE --by object            instructions, calls and exits of functions
  tracewright coverage CAPTURE --tag TEST-1 --save test1.runs
                                                      and the file of the run
  tracewright coverage CAPTURE --format html -o FOLDER
                                                      pages for a review
  tracewright coverage CAPTURE --units 1/1 -o a.part  one of the parts of a coverage: docs/units.md
  tracewright coverage CAPTURE --parts a.part         the coverage of the parts
  tracewright coverage --load test1.runs --load test2.runs --by run
                                                      what each run covers and adds
  tracewright coverage OTHER --older test1.runs --by state
                                                      which functions have changed since
  tracewright coverage CAPTURE --justify exempt.toml --by exemption
                                                      what need not be covered, and why")]
#[command(mut_group("capture", |group| group.args(["loaded", "plan"]).multiple(true)))]
#[command(group = ArgGroup::new("described").args(["decisions", "loaded"]).multiple(true))]
pub struct CoverageArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// Further captures of the same program: their counts are added (repeatable).
    #[arg(long = "add", value_name = "INPUT")]
    pub further: Vec<PathBuf>,
    #[command(flatten)]
    pub runs: RunsArgs,
    /// Add the counts also where captures or runs are of different programs.
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
    /// Print this source file with the executions of each line and the outcomes of its branches.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["by", "format"])]
    pub annotate: Option<String>,
    /// Cover the decisions and conditions (MC/DC) of this file, too (repeatable): an object file of
    /// `clang -c -fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc`, which is not run, or
    /// JSON (docs/coverage.md).
    #[arg(long = "decisions", value_name = "FILE")]
    pub decisions: Vec<PathBuf>,
    /// --decisions: how a condition is shown to decide the outcome.
    #[arg(long, value_enum, default_value_t = CriterionArg::Masking, requires = "described")]
    pub mcdc: CriterionArg,
    #[command(flatten)]
    pub justified: JustifyArgs,
    /// --annotate, --decisions, --justify: folder of source files (repeatable). Without it, only
    /// files in the folder of the capture and in that of a program of --image are read.
    #[arg(long = "source-root", value_name = "FOLDER")]
    pub source_roots: Vec<PathBuf>,
    /// Rows of the text.
    #[arg(long, value_enum, default_value_t = CoverageBy::File)]
    pub by: CoverageBy,
    /// Only lines, branches and decisions of this function, by its name or symbol (repeatable);
    /// --fail-under, too, is of these.
    #[arg(long = "function", value_name = "NAME")]
    pub functions: Vec<String>,
    /// List what is not covered, and what is unknown, one line each.
    #[arg(long, conflicts_with_all = ["by", "format", "annotate"])]
    pub uncovered: bool,
    /// Exit with 1 if fewer lines were executed, in percent, or less of another kind (repeatable):
    /// lines, branches (outcomes), functions; with --decisions decisions (outcomes), conditions
    /// (values), mcdc.
    /// What is unknown is not covered; what is exempted is not counted.
    #[arg(long, value_name = "[KIND=]PERCENT", value_parser = fail_under)]
    pub fail_under: Vec<(CoverageKind, f64)>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = CoverageFormatArg::Text)]
    pub format: CoverageFormatArg,
    /// --format gnatcov: each execution of the blocks in this decision map of GNATcoverage, in
    /// order, which it needs for MC/DC.
    #[arg(long = "decision-map", value_name = "FILE", hide_short_help = true)]
    pub decision_map: Option<PathBuf>,
    #[command(flatten)]
    pub outcome: OutcomeArgs,
}

/// Files of runs.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Write what was executed to FILE, as one run, with digests of programs and inputs
    /// (docs/coverage.md); with --load, the runs of those files, too.
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Add the runs of a file of --save (repeatable); `@FILE` has a list of paths. INPUT may be
    /// left out.
    #[arg(long = "load", value_name = "FILE")]
    pub loaded: Vec<PathBuf>,
    /// Add what runs of an older state of the program cover of functions that are the same: a file
    /// of --save (repeatable; docs/coverage.md).
    #[arg(long, value_name = "FILE", conflicts_with = "save", hide_short_help = true)]
    pub older: Vec<PathBuf>,
    /// --save: name of a test of this run (repeatable).
    #[arg(long = "tag", value_name = "NAME", requires = "save")]
    pub tags: Vec<String>,
}

impl CoverageArgs {
    /// Whether what is measured is needed by run.
    pub fn by_run(&self) -> bool {
        self.runs.wanted() || self.format == CoverageFormatArg::Html
    }
}

impl RunsArgs {
    /// Whether files of runs are read or written.
    pub fn wanted(&self) -> bool {
        self.save.is_some() || !self.loaded.is_empty() || !self.older.is_empty()
    }
}

/// What need not be covered.
#[derive(Debug, Args)]
pub struct JustifyArgs {
    /// Exempt what the tables of this TOML file name, each with its reason and the hash of the text
    /// that it is valid for (repeatable; docs/coverage.md).
    #[arg(long = "justify", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Exempt what comments of source files name that lcov, gcovr and GNATcoverage read.
    #[arg(long = "justify-comments", hide_short_help = true)]
    pub comments: bool,
}

impl JustifyArgs {
    /// Whether exemptions are wanted.
    pub fn wanted(&self) -> bool {
        self.comments || !self.files.is_empty()
    }
}

/// How a condition is shown to decide the outcome of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CriterionArg {
    /// By two evaluations in which conditions before it may differ, which it masks.
    Masking,
    /// By two evaluations in which no other condition differs that is evaluated in both.
    UniqueCause,
}

impl CriterionArg {
    /// The criterion.
    pub fn criterion(self) -> Criterion {
        match self {
            CriterionArg::Masking => Criterion::Masking,
            CriterionArg::UniqueCause => Criterion::UniqueCause,
        }
    }
}

/// Rows of the summary of coverage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CoverageBy {
    /// Source files.
    File,
    /// Functions.
    Function,
    /// Decisions of --decisions.
    Decision,
    /// Functions of the object code: instructions, branches, calls, entries, exits, and code
    /// without source lines.
    Object,
    /// Runs of --load: what each covers, and what no run before it does.
    Run,
    /// Exemptions of --justify and --justify-comments.
    Exemption,
    /// Functions: whether they are the same as in the state of the runs of --older.
    State,
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
    /// Execution trace of GNATcoverage: blocks, and outcomes of branches, of one program.
    Gnatcov,
    /// SonarQube's generic coverage, XML.
    Sonarqube,
    /// JUnit XML: a test for each --fail-under.
    Junit,
    /// HTML pages for a review, and the same as JSON Lines, in the folder of --output.
    Html,
}

impl CoverageFormatArg {
    /// The format of another tool, where it is one.
    pub fn format(self) -> Option<CoverageFormat> {
        match self {
            CoverageFormatArg::Text
            | CoverageFormatArg::Json
            | CoverageFormatArg::Junit
            | CoverageFormatArg::Html => None,
            CoverageFormatArg::Lcov => Some(CoverageFormat::Lcov),
            CoverageFormatArg::Cobertura => Some(CoverageFormat::Cobertura),
            CoverageFormatArg::Gcov => Some(CoverageFormat::Gcov),
            CoverageFormatArg::LlvmCov => Some(CoverageFormat::LlvmCov),
            CoverageFormatArg::Drcov => Some(CoverageFormat::Drcov),
            CoverageFormatArg::Gnatcov => Some(CoverageFormat::GnatCov),
            CoverageFormatArg::Sonarqube => Some(CoverageFormat::SonarQube),
        }
    }
}

/// What is covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoverageKind {
    /// Lines with code.
    Lines,
    /// Outcomes of conditional branches.
    Branches,
    /// Functions.
    Functions,
    /// Outcomes of decisions.
    Decisions,
    /// Values of conditions.
    Conditions,
    /// Conditions that were shown to decide the outcome.
    Mcdc,
}

impl CoverageKind {
    /// All, with their names in options, and what they are.
    pub const ALL: [(&str, CoverageKind, &str); 6] = [
        ("lines", CoverageKind::Lines, "lines were executed"),
        ("branches", CoverageKind::Branches, "outcomes of branches occurred"),
        ("functions", CoverageKind::Functions, "functions were executed"),
        ("decisions", CoverageKind::Decisions, "outcomes of decisions occurred"),
        ("conditions", CoverageKind::Conditions, "values of conditions occurred"),
        ("mcdc", CoverageKind::Mcdc, "conditions were shown to decide the outcome"),
    ];

    /// Whether it is of decisions.
    pub fn is_of_decisions(self) -> bool {
        matches!(self, CoverageKind::Decisions | CoverageKind::Conditions | CoverageKind::Mcdc)
    }
}

/// The former name of [`CoverageKind::Decisions`].
const FORMER: &str = "outcomes";

/// A number from 0 to 100, with the kind in front of it.
fn fail_under(text: &str) -> Result<(CoverageKind, f64), String> {
    let (kind, number) = text.split_once('=').unwrap_or(("lines", text));
    let known =
        |(name, ..): &(&str, _, _)| *name == if kind == FORMER { "decisions" } else { kind };
    let Some((_, kind, _)) = CoverageKind::ALL.into_iter().find(known) else {
        let names = CoverageKind::ALL.map(|(name, ..)| name).join(", ");
        return Err(format!("`{kind}` is not one of {names}"));
    };
    let number = number.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
    let number = number.ok_or_else(|| "expected a number from 0 to 100".to_owned())?;
    Ok((kind, number))
}
