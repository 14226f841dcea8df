//! `tracewright coverage`

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use tracewright::analysis::coverage::{
    LinesOfFile, Losses, ProgramCoverage, ProgramFile, SourceFile, finish, program_files,
};
use tracewright::analysis::decisions::{Criterion, Decision, DecisionCoverage, DecisionPart};
use tracewright::analysis::{Profiler, RawProfile};
use tracewright::decode::{Jobs, Merge, Merging};
use tracewright::export::coverage::CoverageView;
use tracewright::image::CacheOptions;
use tracewright::views::{coverage, decisions as decisions_view, json};

use crate::args::{
    CoverageArgs, CoverageBy, CoverageFormatArg, CoverageKind, JobsArgs, RunningArgs, WindowArgs,
};
use crate::contradictions::Contradictions;
use crate::decisions::{self, Measure};
use crate::fail::Fail;
use crate::index::{self, Selected};
use crate::input::{Input, Job};
use crate::listing;
use crate::live;
use crate::message;
use crate::output::Output;
use crate::programs;
use crate::recordings;
use crate::report;
use crate::run::{self, RunOptions, Runs};
use crate::sources::{Sources, line};
use crate::tasks::WhileRunning;

/// What one capture covers.
struct Found {
    /// What was executed of each program file.
    programs: Vec<(ProgramFile, ProgramCoverage)>,
    /// The losses of trace.
    losses: u64,
    contradictions: Contradictions,
    /// What is covered of each decision that is wanted.
    decisions: Vec<DecisionCoverage>,
}

/// The sums of all buffers of a capture.
#[derive(Default)]
struct Total {
    covered: Vec<ProgramCoverage>,
    losses: u64,
    instructions: u64,
    contradictions: Contradictions,
}

/// Runs the verb.
pub fn run(args: &CoverageArgs) -> Result<bool, Fail> {
    let first = Input::open(&args.input, Some(&args.how))?;
    if recordings::only(&first) {
        let what = "the trace is that of an ITM, which has no instructions: what was executed is not \
                    known; `tracewright itm --profile --format lines` has the samples of source lines";
        return Err(Fail::input(&args.input.input, what));
    }
    let lacks = |(kind, _): &(CoverageKind, f64)| kind.is_of_decisions();
    if args.decisions.is_empty()
        && (args.by == CoverageBy::Decision || args.fail_under.iter().any(lacks))
    {
        let what = "decisions are wanted, and no file has them: name it with --decisions";
        return Err(Fail::text(what));
    }
    let mut wanted = decisions::read(&args.decisions)?;
    let roots = Sources::new(&args.source_roots);
    decisions::read_texts(&mut wanted, &program_files(first.capture()), &roots);
    roots.refuse(args.outcome.output.as_deref())?;
    let inputs = args
        .decisions
        .iter()
        .fold(index::inputs(&first, &args.window.index), |inputs, path| inputs.file(Some(path)));
    let mut output = Output::open(args.outcome.output.as_deref(), &inputs)?;
    let wanted: Arc<[Decision]> = wanted.into();
    let mut sources = BTreeMap::new();
    let (mut programs, mut losses, mut good) = (Vec::new(), 0, true);
    let mut input = first;
    let how = CoverageOptions {
        committed: args.how.committed,
        threads: &args.threads,
        window: Some(&args.window),
        running: Some(&args.running),
        path: &args.input.input,
        strict: args.outcome.strict,
        decisions: &wanted,
        criterion: args.mcdc.criterion(),
    };
    let mut covered = None::<Vec<DecisionCoverage>>;
    let mut known = None;
    let checks = !args.further.is_empty();
    let mut further = args.further.iter();
    loop {
        let (Found { programs: own, losses: lost, contradictions, decisions }, well) =
            one(&how, &input, &mut output)?;
        match &mut covered {
            None => covered = Some(decisions),
            Some(covered) => {
                covered.iter_mut().zip(decisions).for_each(|(own, its)| own.merge(its));
            }
        }
        good &= well;
        losses += lost;
        if matches!(args.format, CoverageFormatArg::Text) {
            output.print(&contradictions.text())?;
        }
        let others = checks.then(|| programs::of_coverage(&input, &own));
        match (&mut known, others) {
            (Some(known), Some(others)) => programs::add(known, others, args.force)?,
            (_, others) => known = others,
        }
        for (file, covered) in &own {
            let lacks = match covered.lines(file, &mut sources) {
                LinesOfFile::None => "line numbers (DWARF) that can be read",
                LinesOfFile::WithoutFunctions => {
                    "symbols of functions: its lines are listed, its functions are not; link it \
                     without stripping its symbol table"
                }
                LinesOfFile::Complete => continue,
            };
            if !covered.executions.is_empty() {
                message::line(&format!("note: {} has no {lacks}", file.path));
            }
        }
        programs.extend(own);
        let Some(next) = further.next() else { break };
        input = Input::open_other(next, &args.input, Some(&args.how))?;
        input.inputs.refuse(args.outcome.output.as_deref())?;
    }
    finish(&mut sources, losses);
    let criterion = (args.mcdc.criterion(), losses > 0);
    decisions::add(&mut sources, &wanted, covered.unwrap_or_default(), criterion);
    if losses > 0 {
        message::line(&format!(
            "note: losses of trace: {losses}; what is not executed in the trace may have been \
             executed there, and is unknown"
        ));
        good &= !args.outcome.strict;
    }
    write(args, &sources, &programs, losses, &mut output)?;
    output.close()?;
    for (kind, least) in &args.fail_under {
        good &= reaches(&sources, *kind, *least);
    }
    Ok(good)
}

/// Whether at least `least` percent are covered; prints a line where they are not.
fn reaches(sources: &BTreeMap<String, SourceFile>, kind: CoverageKind, least: f64) -> bool {
    let [lines, branches, functions] = coverage::totals(sources);
    let [outcomes, conditions, mcdc] = decisions_view::totals(sources);
    let totals = match kind {
        CoverageKind::Lines => lines,
        CoverageKind::Branches => branches,
        CoverageKind::Functions => functions,
        CoverageKind::Outcomes => outcomes,
        CoverageKind::Conditions => conditions,
        CoverageKind::Mcdc => mcdc,
    };
    let percent =
        if totals.all == 0 { 0.0 } else { 100.0 * totals.executed as f64 / totals.all as f64 };
    if percent >= least {
        return true;
    }
    let what = CoverageKind::ALL.into_iter().find(|(_, own, _)| *own == kind);
    let what = what.map_or("", |(.., what)| what);
    let unknown = match totals.unknown {
        0 => String::new(),
        unknown => format!(", {unknown} of {} are unknown", totals.all),
    };
    message::line(&format!("{percent:.1} % of the {what}, less than {least} %{unknown}"));
    false
}

/// How the coverage of a capture is found.
pub struct CoverageOptions<'a> {
    /// Elements of a transaction are withheld until it commits.
    pub committed: bool,
    /// The threads.
    pub threads: &'a JobsArgs,
    /// The part of the trace.
    pub window: Option<&'a WindowArgs>,
    /// While which tasks.
    pub running: Option<&'a RunningArgs>,
    /// The path of the capture.
    pub path: &'a Path,
    /// Problems are failures.
    pub strict: bool,
    /// The decisions that are wanted.
    pub decisions: &'a Arc<[Decision]>,
    /// How conditions are shown to be independent.
    pub criterion: Criterion,
}

/// The source files of a capture.
pub fn sources(
    input: &Input,
    how: &CoverageOptions<'_>,
    output: &mut Output,
) -> Result<BTreeMap<String, SourceFile>, Fail> {
    let (Found { programs, losses, .. }, _) = one(how, input, output)?;
    let mut sources = BTreeMap::new();
    for (file, covered) in &programs {
        covered.lines(file, &mut sources);
    }
    finish(&mut sources, losses);
    Ok(sources)
}

/// The coverage of a capture, and whether the command succeeds.
fn one(
    how: &CoverageOptions<'_>,
    input: &Input,
    output: &mut Output,
) -> Result<(Found, bool), Fail> {
    report::notes(input);
    input.readable(how.strict)?;
    let files = program_files(input.capture());
    if files.is_empty() {
        return Err(Fail::input(
            how.path,
            "the capture has no ELF file; add the program with --image",
        ));
    }
    let selected = Selected::open(input, how.window, how.committed)?;
    let running = match how.running {
        Some(args) => WhileRunning::new(args, input, how.committed, how.path)?,
        None => None,
    };
    let runs =
        Runs::new(input.buffers.len(), how.committed, selected.as_ref()).of_part(running.is_some());
    let measure = Measure::new(how.decisions, &files);
    let covered = vec![ProgramCoverage::default(); files.len()];
    let total = Mutex::new(Total { covered, ..Total::default() });
    let work = |_: usize, job: &Job<'_>, jobs: Jobs, _: &mut listing::Write<'_>| {
        let options = runs.options(jobs);
        let own = running.as_ref().map(|tasks| tasks.counted(job, &options, options.selected));
        let own = own.transpose()?;
        let options = RunOptions { selected: own.as_ref().or(options.selected), ..options };
        let programs: Vec<_> = job
            .sources
            .iter()
            .map(|source| {
                let riscv = source.config.riscv();
                (source.program.clone(), CacheOptions { riscv, ..CacheOptions::default() })
            })
            .collect();
        let profiler = Profiler::new(programs.iter().map(|(program, _)| program.clone()));
        let measured = match how.running {
            Some(running) => measure.begin(&running.switches, job, how.path)?,
            None => None,
        };
        let (decisions, mut evaluation) = measured.unzip();
        let listener = ((profiler, Merging(Losses::default())), decisions);
        let mut all = (RawProfile::default(), Losses::default());
        let bytes = &mut *live::input_of(job.buffer);
        let mut write = |(found, part): (_, Option<DecisionPart>)| {
            all.merge(found);
            if let Some(part) = part
                && let Some(evaluation) = &mut evaluation
            {
                evaluation.part(&part);
            }
            true
        };
        let tally = if how.committed {
            let listener = (listener, listing::Nothing);
            listing::decode(job, bytes, &options, listener, &mut None, |(found, ())| write(found))?
                .1
        } else {
            run::run(job.session()?, job.buffer, bytes, listener, &options, write)?.1
        };
        if let Some(evaluation) = evaluation {
            measure.add(evaluation);
        }
        if let Ok(mut total) = total.lock() {
            total.instructions = total.instructions.saturating_add(all.0.instructions());
            total.contradictions.add(&tally);
            total.losses += all.1.count + job.decoded(&tally).unseen();
            ProgramCoverage::add(&mut total.covered, &files, all.0, &programs);
        }
        Ok(tally)
    };
    let problems = listing::buffers(input, &how.threads.jobs(), output, &runs, work)?;
    input.decodable()?;
    if let Some(running) = &running {
        running.check()?;
    }
    let Total { covered, mut losses, instructions, contradictions } =
        total.into_inner().unwrap_or_default();
    losses += input.capture().losses(&input.buffers);
    if losses == 0 && instructions == 0 {
        // The trace does not show what was executed while it was recorded.
        losses = 1;
    }
    let good = report::is_traced(input) && !(how.strict && problems.flawed);
    let decisions = measure.cover(how.criterion);
    let programs = files.into_iter().zip(covered).collect();
    Ok((Found { programs, losses, contradictions, decisions }, good))
}

fn write(
    args: &CoverageArgs,
    sources: &BTreeMap<String, SourceFile>,
    programs: &[(ProgramFile, ProgramCoverage)],
    losses: u64,
    output: &mut Output,
) -> Result<(), Fail> {
    if let Some(name) = &args.annotate {
        let is = |path: &&String| *path == name || path.ends_with(&format!("/{name}"));
        // The user may name a file by a folder that the debug information does not have.
        let ends = |path: &&String| name.ends_with(&format!("/{path}"));
        let mut longer = sources.keys().filter(ends);
        let only = longer.next().filter(|_| longer.next().is_none());
        let Some(path) = sources.keys().find(is).or(only) else {
            let known: Vec<_> = sources.keys().map(String::as_str).collect();
            let what = format!("no source file `{name}`; there are {}", known.join(", "));
            return Err(Fail::input(&args.input.input, &what));
        };
        let source = sources.get(path).cloned().unwrap_or_default();
        let files = Sources::new(&args.source_roots);
        // The program may have been compiled elsewhere: the file that the user names is read, too.
        let own = || files.text(Path::new(name)).ok();
        let text = files.read(path, &source).map(|(text, _)| text);
        let text = text.or_else(|error| own().ok_or(error));
        files.refuse(args.outcome.output.as_deref())?;
        let text = text.map_err(|error| {
            let what = format!(
                "cannot read the source file {path}: {error}; name its folder with --source-root"
            );
            Fail::input(&args.input.input, &what)
        })?;
        let text: String = text.lines().flat_map(|code| [line(code), "\n".to_owned()]).collect();
        return output.print(&coverage::annotated(&text, &source));
    }
    match (args.format, args.format.format(), args.by) {
        (_, Some(format), _) => {
            output.put(&format.write(&CoverageView { sources, programs }));
            output.failed()
        }
        (CoverageFormatArg::Json, ..) => {
            output.json(&json::head("coverage"))?;
            output.json(&coverage::json(sources, losses))
        }
        (_, _, CoverageBy::File) => output.print(&coverage::files_text(sources)),
        (_, _, CoverageBy::Function) => output.print(&coverage::functions_text(sources)),
        (_, _, CoverageBy::Decision) => output.print(&decisions_view::text(sources)),
    }
}
