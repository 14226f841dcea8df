//! What one capture covers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use tracewright::analysis::coverage::{
    Losses, ProgramCoverage, ProgramFile, SourceFile, finish, program_files,
};
use tracewright::analysis::decisions::{
    Criterion, Decision, DecisionCoverage, DecisionListener, DecisionPart, Evaluation,
};
use tracewright::analysis::{Profiler, RawProfile};
use tracewright::decode::{Jobs, Merge, Merging};
use tracewright::image::CacheOptions;
use tracewright_fleet::BufferCounts;

use crate::args::{JobsArgs, RunningArgs, WindowArgs};
use crate::contradictions::Contradictions;
use crate::decisions::{self, Measure};
use crate::fail::Fail;
use crate::fleet::{Parts, Shown};
use crate::index::Selected;
use crate::input::{Input, Job};
use crate::listing;
use crate::live;
use crate::output::Output;
use crate::report;
use crate::run::{self, RunOptions, Runs};
use crate::tasks::WhileRunning;

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
    /// What is not decoded, as its counts are in parts.
    pub parts: Option<Parts<'a>>,
    /// The path of the capture.
    pub path: &'a Path,
    /// Problems are failures.
    pub strict: bool,
    /// The decisions that are wanted.
    pub decisions: &'a Arc<[Decision]>,
    /// How conditions are shown to be independent.
    pub criterion: Criterion,
    /// It is found by each criterion.
    pub both: bool,
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

/// The source files of a capture, with the decisions that are wanted.
pub fn decided(
    input: &Input,
    how: &CoverageOptions<'_>,
    output: &mut Output,
) -> Result<BTreeMap<String, SourceFile>, Fail> {
    let (Found { programs, losses, decisions: covered, .. }, _) = one(how, input, output)?;
    let mut sources = BTreeMap::new();
    for (file, covered) in &programs {
        covered.lines(file, &mut sources);
    }
    finish(&mut sources, losses);
    let [masking, unique] = covered;
    let own = if how.criterion == Criterion::UniqueCause { unique } else { masking };
    decisions::add(&mut sources, how.decisions, own, (how.criterion, losses > 0));
    Ok(sources)
}

/// What one capture covers.
pub(super) struct Found {
    /// What was executed of each program file.
    pub(super) programs: Vec<(ProgramFile, ProgramCoverage)>,
    /// The losses of trace.
    pub(super) losses: u64,
    /// All buffers are traced, and nothing in them is damaged.
    pub(super) sound: bool,
    pub(super) contradictions: Contradictions,
    /// What is covered of each decision that is wanted, by masking and by unique cause, as far as
    /// these are wanted.
    pub(super) decisions: [Vec<DecisionCoverage>; 2],
}

/// The sums of all buffers of a capture.
#[derive(Default)]
struct Total {
    covered: Vec<ProgramCoverage>,
    losses: u64,
    instructions: u64,
    contradictions: Contradictions,
}

/// The evaluations of some tasks: followed in the whole trace, as others run within them.
fn evaluated(
    job: &Job<'_>,
    options: &RunOptions<'_>,
    (listener, mut evaluation): (DecisionListener, Evaluation),
) -> Result<Evaluation, Fail> {
    let bytes = &mut *live::input_of(job.buffer);
    let write = |part: DecisionPart| {
        evaluation.part(&part);
        true
    };
    run::run(job.session()?, job.buffer, bytes, listener, options, write)?;
    Ok(evaluation)
}

/// The coverage of a capture, and whether the command succeeds.
pub(super) fn one(
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
    let shown = match (how.parts, how.window) {
        (Some(parts), Some(window)) if !parts.files.is_empty() => {
            Some(Shown::open(parts, input, &window.index)?)
        }
        _ => None,
    };
    let add = |job: &Job<'_>, programs: &[_], (mut raw, lost): (RawProfile, Losses), tally: &_| {
        if let Ok(mut total) = total.lock() {
            total.instructions = total.instructions.saturating_add(raw.instructions());
            total.contradictions.add(tally);
            let losses = lost.count.saturating_add(job.decoded(tally).unseen());
            total.losses = total.losses.saturating_add(losses);
            ProgramCoverage::add(&mut total.covered, &files, raw, programs);
        }
    };
    let work = |_: usize, job: &Job<'_>, jobs: Jobs, _: &mut listing::Write<'_>| {
        let options = runs.options(jobs);
        let own = running.as_ref().map(|tasks| tasks.counted_of(job, &options, options.selected));
        let (own, threads) = own.transpose()?.unzip();
        let options = RunOptions { selected: own.as_ref().or(options.selected), ..options };
        let programs: Vec<_> = job
            .sources
            .iter()
            .map(|source| {
                let riscv = source.config.riscv();
                (source.program.clone(), CacheOptions { riscv, ..CacheOptions::default() })
            })
            .collect();
        if let Some(shown) = &shown {
            let BufferCounts { raw, losses, tally } = shown.counts(job.plan.buffer)?;
            add(job, &programs, (raw, losses), &tally);
            return Ok(tally);
        }
        let profiler = Profiler::new(programs.iter().map(|(program, _)| program.clone()));
        let of_task = threads.is_some();
        let mut measured = match how.running {
            Some(running) => measure.begin(&running.switches, job, (how.path, threads))?,
            None => None,
        };
        if of_task && let Some(measured) = measured.take() {
            let whole = runs.options(options.jobs.clone());
            measure.add(evaluated(job, &RunOptions { selected: None, ..whole }, measured)?);
        }
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
        add(job, &programs, all, &tally);
        Ok(tally)
    };
    let problems = listing::buffers(input, &how.threads.jobs(), output, &runs, work)?;
    input.decodable()?;
    if let Some(running) = &running {
        running.check()?;
    }
    let Total { covered, mut losses, instructions, contradictions } =
        total.into_inner().unwrap_or_default();
    losses = losses.saturating_add(input.capture().losses(&input.buffers));
    // What units have executed that could not be decoded is not known.
    let failed = shown.map_or(0, |shown| shown.failed);
    losses = losses.saturating_add(failed as u64);
    if losses == 0 && instructions == 0 {
        // The trace does not show what was executed while it was recorded.
        losses = 1;
    }
    let traced = report::is_traced(input);
    let good = traced && failed == 0 && !(how.strict && problems.flawed);
    let sound = traced && failed == 0 && !problems.flawed;
    let decisions = [Criterion::Masking, Criterion::UniqueCause].map(|criterion| {
        let wanted = how.both || criterion == how.criterion;
        if wanted { measure.cover(criterion) } else { Vec::new() }
    });
    let programs = files.into_iter().zip(covered).collect();
    Ok((Found { programs, losses, sound, contradictions, decisions }, good))
}
