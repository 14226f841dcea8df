//! `coverage --save` and `--load`: files of runs.

mod identity;
mod load;

use std::collections::BTreeMap;
use std::path::Path;

use tracewright::analysis::coverage::{ProgramCoverage, ProgramFile, SourceFile, finish};
use tracewright::analysis::coverage_runs::{
    CoverageRuns, CoveredDecision, DecisionKey, Digest, FunctionChange, Run, RunInput, RunProgram,
    function_codes,
};
use tracewright::analysis::decisions::{Decision, DecisionCoverage};
use tracewright::capture::open_if;
use tracewright::export::coverage_runs::{begin, identify, write};
use tracewright::views::function_changes::summary;

use crate::args::CoverageArgs;
use crate::fail::Fail;
use crate::inputs::{Inputs, is_standard};
use crate::message;
use crate::output::Output;

pub use identity::input_of;
pub use load::load;

/// What was measured of the captures of the command line.
pub struct Measured<'a> {
    /// The files that were read.
    pub inputs: Vec<RunInput>,
    /// What was executed of each program file of each capture.
    pub programs: &'a [(ProgramFile, ProgramCoverage)],
    /// The losses of trace.
    pub losses: u64,
    /// All buffers are traced, and nothing in them is damaged.
    pub sound: bool,
    /// The decisions that are wanted.
    pub decisions: &'a [Decision],
    /// What is covered of them, by masking and by unique cause.
    pub covered: [Vec<DecisionCoverage>; 2],
}

/// Whether only files of runs are wanted, without a capture.
pub fn only(args: &CoverageArgs) -> bool {
    let input = &args.input;
    // Without INPUT, its path is `-`.
    let given = input.pins.is_some()
        || input.input != Path::new("-")
        || crate::arguments::texts().iter().any(|own| own == "-");
    !args.runs.loaded.is_empty() && !given
}

/// The run of what was measured.
pub fn of(args: &CoverageArgs, measured: Measured<'_>) -> CoverageRuns {
    let Measured { mut inputs, programs, losses, sound, decisions, covered } = measured;
    let mut all = CoverageRuns::default();
    let mut numbers = Vec::new();
    for (file, covered) in programs {
        let number = all.program(RunProgram::of(file));
        let mut sources = BTreeMap::new();
        covered.lines(file, &mut sources);
        finish(&mut sources, losses);
        all.cover(number, &sources, &function_codes(file), losses > 0);
        numbers.push(number);
    }
    let [masking, unique] = &covered;
    for (decision, (masking, unique)) in decisions.iter().zip(masking.iter().zip(unique)) {
        let own = CoveredDecision::of(masking, unique, losses > 0);
        all.decisions.insert(DecisionKey::of(decision), own);
    }
    inputs.sort();
    inputs.dedup();
    all.runs.push(Run {
        tags: args.runs.tags.iter().cloned().collect(),
        id: Digest::default(),
        tool: format!("tracewright {}", env!("CARGO_PKG_VERSION")),
        options: identity::options(),
        inputs,
        losses,
        sound,
        programs: numbers.into_iter().collect(),
    });
    all.finish();
    identify(&mut all);
    all
}

/// Adds the runs of files to the run of what was measured. Fails where they are of different
/// programs, unless it is `forced`.
pub fn sum(
    own: CoverageRuns,
    loaded: Option<CoverageRuns>,
    forced: bool,
) -> Result<CoverageRuns, Fail> {
    let mut all = loaded.unwrap_or_default();
    let known = own.runs.iter().find(|run| all.runs.iter().any(|other| other.id == run.id));
    match known {
        Some(run) => message::line(&format!(
            "note: the run {} is in a file of --load; it is added once",
            run.name()
        )),
        None => all.add(own),
    }
    all.finish();
    checked(all, forced)
}

/// The sum, if it is one of the same programs.
fn checked(all: CoverageRuns, forced: bool) -> Result<CoverageRuns, Fail> {
    if let Some(different) = all.difference() {
        if !forced {
            return Err(Fail::text(&format!("{different}; --force ignores that")));
        }
        message::line(&format!("note: {different}"));
    }
    Ok(all)
}

/// The sum of the files of --load alone.
pub fn loaded(args: &CoverageArgs) -> Result<CoverageRuns, Fail> {
    let mut all = load(&args.runs.loaded)?.unwrap_or_default();
    all.finish();
    checked(all, args.force)
}

/// Adds what the files of --older cover of these runs' state of the program, and returns what
/// became of its functions; `None` without such files.
pub fn add_older(
    args: &CoverageArgs,
    all: &mut CoverageRuns,
) -> Result<Option<Vec<FunctionChange>>, Fail> {
    let Some(mut older) = load(&args.runs.older)? else { return Ok(None) };
    older.finish();
    if let Some(run) = older.runs.iter().find(|run| all.runs.iter().any(|own| own.id == run.id)) {
        let what = format!("the run {} is one of the newer state, too", run.name());
        return Err(Fail::text(&format!("--older: {what}")));
    }
    let (valid, changes) = checked(older, args.force)?.valid_for(all);
    all.add(valid);
    all.finish();
    message::line(&format!("note: {}; --by state lists them", summary(&changes)));
    Ok(Some(changes))
}

/// The file of --save, which must not be one that the command reads or writes.
pub fn open(args: &CoverageArgs, inputs: &Inputs) -> Result<Option<Output>, Fail> {
    let Some(path) = &args.runs.save else { return Ok(None) };
    let refused = |why: &str| Err(Fail::option("--save", &path.to_string_lossy(), why));
    if is_standard(path) {
        return refused("a file is needed; the results are on standard output");
    }
    if args.outcome.output.as_ref() == Some(path) {
        return refused("this file is that of --output, too");
    }
    inputs.refuse_as("--save", Some(path))?;
    let is_other = |head: &[u8]| !head.is_empty() && !head.starts_with(begin().as_bytes());
    let other = if path.is_file() { open_if(path, &is_other) } else { Ok(None) };
    if other.map_err(|why| Fail::input(path, &why.to_string()))?.is_some() {
        return refused(
            "this file has no runs, and is not overwritten; name another one, or remove it",
        );
    }
    Output::open(Some(path), inputs).map(Some)
}

/// Writes the file of --save.
pub fn save(output: Option<Output>, runs: &CoverageRuns) -> Result<(), Fail> {
    let Some(mut output) = output else { return Ok(()) };
    output.put(&write(runs));
    output.failed()?;
    output.close()
}

/// The source files of the runs, with the folders that are known from a capture.
pub fn sources(
    runs: &CoverageRuns,
    args: &CoverageArgs,
    own: &BTreeMap<String, SourceFile>,
) -> BTreeMap<String, SourceFile> {
    let mut sources = runs.sources(args.mcdc.criterion());
    for (path, source) in &mut sources {
        if let Some(own) = own.get(path) {
            source.folders.clone_from(&own.folders);
        }
    }
    sources
}
