//! `tracewright coverage`

mod capture;
mod executed;
mod history;
mod pages;
mod results;
mod show;
mod units;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tracewright::analysis::coverage::{
    LinesOfFile, ProgramCoverage, ProgramFile, SourceFile, finish, program_files,
};
use tracewright::analysis::decisions::{Criterion, Decision, DecisionCoverage};
use tracewright::capture::{check_empty, plain};
use tracewright::index::Window;

use crate::args::{CoverageArgs, CoverageBy, CoverageFormatArg, CoverageKind};
use crate::coverage_runs;
use crate::decisions;
use crate::exemptions;
use crate::fail::Fail;
use crate::fleet::Parts;
use crate::index;
use crate::inputs::{Inputs, is_standard, lists};
use crate::message;
use crate::output::Output;
use crate::programs;
use crate::recordings;
use crate::sources::Sources;
use capture::Found;
use executed::Opened;
use history::History;
use results::Results;
use show::show;

pub use capture::{CoverageOptions, decided, sources};

/// Runs the verb.
pub fn run(args: &CoverageArgs) -> Result<bool, Fail> {
    if args.by == CoverageBy::Run && !args.runs.wanted() {
        let what = "--by run: there is one run; name files of runs with --load";
        return Err(Fail::text(what));
    }
    if args.format == CoverageFormatArg::Junit && args.fail_under.is_empty() {
        let what = "--format junit: it has a test for each --fail-under, and there is none";
        return Err(Fail::text(what));
    }
    if args.by == CoverageBy::Object
        && (!args.runs.loaded.is_empty() || !args.runs.older.is_empty())
    {
        let what = "--by object: files of runs have no instructions; name captures with --add";
        return Err(Fail::text(what));
    }
    if args.by == CoverageBy::State && args.runs.older.is_empty() {
        let what = "--by state: there is one state; name files of older runs with --older";
        return Err(Fail::text(what));
    }
    if args.by == CoverageBy::Exemption && !args.justified.wanted() {
        let what = "--by exemption: there are none; name a file with --justify";
        return Err(Fail::text(what));
    }
    if args.decision_map.is_some() {
        let window = args.window.window() != Window::default();
        let why = match args.format {
            CoverageFormatArg::Gnatcov if args.running.wanted() || window => {
                "the executions are those of the whole trace: not with --task, --offset, --time, \
                 --instruction or --at"
            }
            CoverageFormatArg::Gnatcov => "",
            _ => "only --format gnatcov has executions in their order",
        };
        if !why.is_empty() {
            return Err(Fail::text(&format!("--decision-map: {why}")));
        }
    }
    args.share.check(!args.parts.files.is_empty())?;
    Inputs::of_files(lists(&args.parts.files)?)
        .lists(&[&args.parts.files[..], &args.runs.loaded, &args.runs.older].concat())
        .refuse(args.outcome.output.as_deref())?;
    args.plan.check(&args.share)?;
    if args.share.wanted() {
        return units::run(args);
    }
    units::check(args)?;
    match coverage_runs::only(args) {
        true => loaded(args),
        false => measured(args),
    }
}

/// The runs of files.
fn loaded(args: &CoverageArgs) -> Result<bool, Fail> {
    let (loaded, older) = (lists(&args.runs.loaded)?, lists(&args.runs.older)?);
    let inputs = Inputs::of_files([&loaded[..], &older, &args.justified.files].concat());
    if !args.decisions.is_empty() || !args.further.is_empty() {
        let what = "--decisions and --add are of a capture, and there is none";
        return Err(Fail::text(what));
    }
    let saved = coverage_runs::open(args, &inputs)?;
    let output = opened(args, &inputs)?;
    let mut runs = coverage_runs::loaded(args)?;
    if runs.decisions.is_empty() {
        refuse_decisions(args)?;
    }
    coverage_runs::save(saved, &runs)?;
    let changes = coverage_runs::add_older(args, &mut runs)?;
    let sources = coverage_runs::sources(&runs, args, &BTreeMap::new());
    let good = !args.outcome.strict || runs.runs.iter().all(|run| run.sound);
    let losses = runs.losses();
    let results =
        Results { sources, programs: &[], losses, runs: Some(runs), changes, history: None };
    finished(args, results, output).map(|enough| enough && good)
}

/// The captures, and the runs of files, if there are some.
fn measured(args: &CoverageArgs) -> Result<bool, Fail> {
    let measured = Opened::first(args)?;
    let first = &measured.input;
    if recordings::only(first) {
        let what = "the trace is that of an ITM, which has no instructions: what was executed is not \
                    known; `tracewright itm --profile --format lines` has the samples of source lines";
        return Err(Fail::input(&args.input.input, what));
    }
    if !args.decisions.is_empty()
        && args.window.window() != Window::default()
        && let Some(task) = args.running.task.first()
    {
        let why = "with --decisions, evaluations of a task are followed in the whole trace: not with \
                   --offset, --time, --instruction or --at";
        return Err(Fail::option("--task", &plain::line(task), why));
    }
    let before = coverage_runs::load(&args.runs.loaded)?;
    if args.decisions.is_empty() && before.as_ref().is_none_or(|runs| runs.decisions.is_empty()) {
        refuse_decisions(args)?;
    }
    let mut wanted = decisions::read(&args.decisions)?;
    let roots = Sources::new(&args.source_roots);
    decisions::read_texts(&mut wanted, &program_files(first.capture()), &roots);
    roots.refuse(args.outcome.output.as_deref())?;
    let (loaded, older) = (lists(&args.runs.loaded)?, lists(&args.runs.older)?);
    let inputs = args
        .decisions
        .iter()
        .chain(&loaded)
        .chain(&older)
        .chain(&args.justified.files)
        .chain(&args.decision_map)
        .fold(index::inputs(first, &args.window.index), |inputs, path| inputs.file(Some(path)));
    let saved = coverage_runs::open(args, &inputs)?;
    let mut output = opened(args, &inputs)?;
    let wanted: Arc<[Decision]> = wanted.into();
    let Captures { mut sources, programs, mut losses, mut good, sound, mut covered, read, history } =
        captures(args, &wanted, measured, &mut output)?;
    let (mut runs, mut changes) = (None, None);
    if args.by_run() {
        let files = read.iter().chain(&args.decisions);
        let inputs = files.filter_map(|path| coverage_runs::input_of(path).transpose());
        let run = coverage_runs::Measured {
            inputs: inputs.collect::<Result<_, _>>()?,
            programs: &programs,
            losses,
            sound,
            decisions: &wanted,
            covered,
        };
        let mut all = coverage_runs::sum(coverage_runs::of(args, run), before, args.force)?;
        coverage_runs::save(saved, &all)?;
        changes = coverage_runs::add_older(args, &mut all)?;
        losses = all.losses();
        good &= !args.outcome.strict || all.runs.iter().all(|run| run.sound);
        sources = coverage_runs::sources(&all, args, &sources);
        runs = Some(all);
    } else {
        let criterion = args.mcdc.criterion();
        let [masking, unique] = &mut covered;
        let own = if criterion == Criterion::UniqueCause { unique } else { masking };
        decisions::add(&mut sources, &wanted, std::mem::take(own), (criterion, losses > 0));
    }
    let results = Results { sources, programs: &programs, losses, runs, changes, history };
    finished(args, results, output).map(|enough| enough && good)
}

/// The output. Pages are in a folder, which must be empty, and nothing is printed.
fn opened(args: &CoverageArgs, inputs: &Inputs) -> Result<Output, Fail> {
    if args.format != CoverageFormatArg::Html {
        return Output::open(args.outcome.output.as_deref(), inputs);
    }
    let folder = args.outcome.output.as_deref().filter(|path| !is_standard(path));
    let Some(folder) = folder else {
        let what = "--format html: the format is a folder; name it with --output";
        return Err(Fail::text(what));
    };
    check_empty(folder)?;
    inputs.refuse(Some(&folder.join("index.html")))?;
    Output::open(None, inputs)
}

/// Fails where decisions are wanted, which no file has.
fn refuse_decisions(args: &CoverageArgs) -> Result<(), Fail> {
    let lacks = |(kind, _): &(CoverageKind, f64)| kind.is_of_decisions();
    if args.by == CoverageBy::Decision || args.fail_under.iter().any(lacks) {
        let what = "decisions are wanted, and no file has them: name it with --decisions";
        return Err(Fail::text(what));
    }
    Ok(())
}

/// Writes the results, and returns whether enough is covered.
fn finished(
    args: &CoverageArgs,
    mut results: Results<'_>,
    mut output: Output,
) -> Result<bool, Fail> {
    let losses = results.losses;
    if losses > 0 {
        message::line(&format!(
            "note: losses of trace: {losses}; what is not executed in the trace may have been \
             executed there, and is unknown"
        ));
    }
    let exemptions = exemptions::exempt(args, &mut results.sources)?;
    let good = show(args, results, exemptions.as_ref(), &mut output)?;
    output.close()?;
    Ok(good && (losses == 0 || !args.outcome.strict))
}

/// What all captures of the command line cover.
struct Captures {
    sources: BTreeMap<String, SourceFile>,
    programs: Vec<(ProgramFile, ProgramCoverage)>,
    losses: u64,
    good: bool,
    /// All buffers are traced, and nothing in them is damaged.
    sound: bool,
    /// By masking and by unique cause.
    covered: [Vec<DecisionCoverage>; 2],
    /// The files that were read, where runs are wanted.
    read: Vec<PathBuf>,
    /// Executions in their order, where a decision map wants them.
    history: Option<History>,
}

/// Measures all captures.
fn captures(
    args: &CoverageArgs,
    wanted: &Arc<[Decision]>,
    first: Opened,
    output: &mut Output,
) -> Result<Captures, Fail> {
    let mut sources = BTreeMap::new();
    let (mut programs, mut losses, mut good) = (Vec::new(), 0u64, true);
    let mut opened = first;
    let mut history = args.decision_map.as_deref().map(History::open).transpose()?;
    let how = CoverageOptions {
        committed: args.how.committed,
        threads: &args.threads,
        window: Some(&args.window),
        running: Some(&args.running),
        parts: Some(Parts {
            files: &args.parts.files,
            how: &args.how,
            allowed: args.share.allow_failed,
        }),
        path: &args.input.input,
        strict: args.outcome.strict,
        decisions: wanted,
        criterion: args.mcdc.criterion(),
        both: args.by_run(),
    };
    let mut covered = None::<[Vec<DecisionCoverage>; 2]>;
    let (mut read, mut sound) = (Vec::new(), true);
    let mut known = None;
    let checks = !args.further.is_empty();
    let mut further = args.further.iter();
    loop {
        let input = &opened.input;
        if history.is_some() {
            history::check(&args.input.input, input)?;
        }
        let (found, well) = opened.covered(args, &how, output)?;
        let Found { programs: own, losses: lost, sound: well_formed, contradictions, decisions } =
            found;
        match &mut covered {
            None => covered = Some(decisions),
            Some(covered) => {
                let pairs = covered.iter_mut().flatten().zip(decisions.into_iter().flatten());
                pairs.for_each(|(own, its)| own.merge(its));
            }
        }
        good &= well;
        sound &= well_formed;
        losses = losses.saturating_add(lost);
        if matches!(args.format, CoverageFormatArg::Text) {
            output.print(&contradictions.text())?;
        }
        let others = checks.then(|| programs::of_coverage(input, &own));
        match (&mut known, others) {
            (Some(known), Some(others)) => programs::add(known, others, args.force)?,
            (_, others) => known = others,
        }
        for (file, covered) in &own {
            add_lines(file, covered, &mut sources);
        }
        if args.by_run() {
            read.extend(input.inputs.files().iter().cloned());
        }
        if let Some(history) = &mut history {
            history.add(opened.input, &own);
        }
        programs.extend(own);
        let Some(next) = further.next() else { break };
        opened = Opened::other(args, next)?;
        let inputs = &opened.input.inputs;
        inputs.refuse(args.outcome.output.as_deref())?;
        if let Some(path) = &args.runs.save {
            inputs.refuse_as("--save", Some(path))?;
        }
    }
    finish(&mut sources, losses);
    let covered = covered.unwrap_or_default();
    Ok(Captures { sources, programs, losses, good, sound, covered, read, history })
}

/// Adds the lines of a program file, with a note where it has none.
fn add_lines(
    file: &ProgramFile,
    covered: &ProgramCoverage,
    sources: &mut BTreeMap<String, SourceFile>,
) {
    let lacks = match covered.lines(file, sources) {
        LinesOfFile::None => "line numbers (DWARF) that can be read",
        LinesOfFile::WithoutFunctions => {
            "symbols of functions: its lines are listed, its functions are not; link it without \
             stripping its symbol table"
        }
        LinesOfFile::Complete => return,
    };
    if !covered.executions.is_empty() {
        message::line(&format!("note: {} has no {lacks}", file.path));
    }
}
