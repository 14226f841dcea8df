//! The counts of one capture.

use std::path::Path;
use std::sync::Mutex;

use tracewright::analysis::{
    BranchLister, BranchLists, Filter, Profile, Profiler, RawProfile, Sampled,
};
use tracewright::capture::Problem;
use tracewright::capture::perf::{BranchSamples, FoundList, hex};
use tracewright::decode::{Caches, Merge, Program, Tally, memory};
use tracewright::export::Format;
use tracewright::image::ModuleFile;
use tracewright_fleet::BufferCounts;

use crate::args::ProfileArgs;
use crate::contradictions::Contradictions;
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

/// What was found of a capture.
#[derive(Default)]
pub struct Counted {
    pub profile: Profile,
    /// What the command prints of it.
    pub notes: Vec<String>,
    /// What the file lacks, which is among the notes: it is cut or damaged.
    pub damage: Vec<String>,
    /// Undecodable bytes of its trace, without those of a packet that the end truncates.
    pub undecodable: u64,
    /// The number of times that trace was lost.
    pub losses: u64,
    /// Nothing was wrong with the trace, or that is no failure.
    pub good: bool,
    /// The bytes of its trace, and the ranges and instructions in it.
    pub bytes: u64,
    pub ranges: u64,
    pub contradictions: Contradictions,
}

/// The counts of a branch list in the file at `path`.
pub fn replay(args: &ProfileArgs, path: &Path, list: &FoundList, filter: &Filter) -> Counted {
    let file = path.display();
    let notes = list.problems.iter().map(|problem| format!("{file}: {problem}")).collect();
    let mut counted = Counted { notes, good: true, ..Counted::default() };
    if !args.exclude_process.is_empty() {
        let text = "a branch list has no processes: --exclude-process excludes nothing";
        counted.notes.push(text.into());
    }
    if !list.sampled.samples.is_empty() {
        let sampled = match args.format.format() {
            Some(Format::BranchList) => {
                counted.notes.push(format!(
                    "{file}: {} samples of a branch record buffer (LBR) are left out, as they have no \
                     sequences of branches; `tracewright merge` writes them",
                    list.sampled.samples.len()
                ));
                Sampled::default()
            }
            _ => counted.profile.add_listed_samples(&list.sampled, &list.sampled_programs, filter),
        };
        counted.bytes = sampled.samples;
        counted.ranges = sampled.branches;
        counted.notes.extend(of_samples(path, &sampled));
    }
    let mut notes = Vec::new();
    for program in &list.programs {
        let done = counted.profile.add_listed(program, filter);
        counted.ranges = counted.ranges.saturating_add(done.sequences);
        let path = &program.binary.path;
        if done.missing > 0 {
            notes.push(format!(
                "{} sequences of branches are not followed: {path} was not found ({}); give \
                 it with --symfs FOLDER or --binary FILE",
                done.missing,
                match program.binary.build_id.as_slice() {
                    [] => "no build ID is recorded".to_owned(),
                    id => format!("build ID {}", hex(id)),
                }
            ));
        }
        if done.incomplete > 0 {
            notes.push(format!(
                "{} of {} sequences of branches end early: {path} has no code there",
                done.incomplete, done.sequences
            ));
        }
    }
    counted.notes.append(&mut notes);
    counted
}

/// The counts of samples with branches in the file at `path`.
pub fn sampled(
    args: &ProfileArgs,
    path: &Path,
    samples: &BranchSamples,
    filter: &Filter,
) -> Result<Counted, Fail> {
    if args.format.format() == Some(Format::BranchList) {
        let what = "a branch list is made of trace: samples do not have the branches that are not \
                    taken";
        return Err(Fail::input(path, what));
    }
    let mut counted = Counted { good: true, ..Counted::default() };
    let file = path.display();
    let of_file = |problem: &String| format!("{file}: {problem}");
    counted.damage = samples.damage.iter().map(of_file).collect();
    counted.notes = counted.damage.clone();
    counted.notes.extend(samples.problems.iter().map(of_file));
    counted.good = !args.strict || samples.damage.is_empty();
    let done = counted.profile.add_samples(samples, filter);
    counted.bytes = done.samples;
    counted.ranges = done.branches;
    counted.notes.extend(of_samples(path, &done));
    Ok(counted)
}

/// What is not known of samples in the file at `path`.
fn of_samples(path: &Path, done: &Sampled) -> Vec<String> {
    let (file, mut notes) = (path.display(), Vec::new());
    if done.broken > 0 {
        notes.push(format!(
            "{file}: {} of {} branches are not behind the target of the one before: what is between \
             is not known",
            done.broken, done.branches
        ));
    }
    if done.contradicted > 0 {
        notes.push(format!(
            "{file}: {} of {} branches are where the program files have none: exceptions, or the \
             programs were others; what is before them is not counted",
            done.contradicted, done.branches
        ));
    }
    if done.opaque {
        notes.push(format!(
            "{file}: the instructions of its machine are not decoded: the counts of instructions are \
             not known, those of branches and of what is between them are"
        ));
    }
    notes
}

/// What a thread has for the next buffer.
#[derive(Default)]
struct Worker {
    counts: RawProfile,
    caches: Caches,
    /// What is known of the paths.
    profiler: Option<Profiler>,
    /// The programs of a buffer with the most sources: those of all are in the same address spaces.
    programs: Vec<Program>,
}

/// One for each thread.
#[derive(Default)]
struct Pool(Mutex<Vec<Worker>>);

impl Pool {
    fn take(&self) -> Worker {
        self.0.lock().ok().and_then(|mut workers| workers.pop()).unwrap_or_default()
    }

    fn put(&self, worker: Worker) {
        if let Ok(mut workers) = self.0.lock() {
            workers.push(worker);
        }
    }

    fn all(&self) -> Vec<Worker> {
        self.0.lock().map(|mut workers| std::mem::take(&mut *workers)).unwrap_or_default()
    }
}

/// The counts of a capture. `alone`: its problems are printed.
pub fn one(
    args: &ProfileArgs,
    input: &Input,
    filter: &Filter,
    alone: bool,
    output: &mut Output,
) -> Result<Counted, Fail> {
    // What a missing file costs is stated at the end.
    let listed = |note: &tracewright::capture::Note| !matches!(note.problem, Problem::PerfFiles(_));
    let quiet = args.quiet || !alone;
    if !quiet {
        report::notes_of(input, &listed);
    }
    input.readable(args.strict)?;
    let selected = Selected::open(input, Some(&args.window), args.how.committed)?;
    let shown = match &args.parts.files[..] {
        [] => None,
        files => {
            let parts = Parts { files, how: &args.how, allowed: args.share.allow_failed };
            Some(Shown::open(parts, input, &args.window.index)?)
        }
    };
    let counter = Counter {
        shown,
        args,
        input,
        filter,
        modules: memory::modules(input.capture()),
        counted: Mutex::default(),
        pool: Pool::default(),
    };
    let running = WhileRunning::new(&args.running, input, args.how.committed, &input.path)?;
    let runs = Runs::new(input.buffers.len(), args.how.committed, selected.as_ref())
        .quiet(quiet)
        .of_part(running.is_some());
    let work = |_: usize, job: &Job<'_>, jobs, _: &mut listing::Write<'_>| {
        let options = runs.options(jobs);
        let own = running.as_ref().map(|tasks| tasks.counted(job, &options, options.selected));
        let own = own.transpose()?;
        let options = RunOptions { selected: own.as_ref().or(options.selected), ..options };
        let tally = counter.buffer(job, &options)?;
        if let Ok(mut counted) = counter.counted.lock() {
            counted.bytes = counted.bytes.saturating_add(job.buffer.size().unwrap_or(1));
            let ranges = tally.sources.iter().map(|counts| counts.ranges);
            counted.ranges = ranges.fold(counted.ranges, u64::saturating_add);
            counted.contradictions.add(&tally);
            counted.undecodable = counted.undecodable.saturating_add(tally.undecodable());
        }
        Ok(tally)
    };
    let problems = listing::buffers(input, &args.threads.jobs(), output, &runs, work)?;
    input.decodable()?;
    if let Some(running) = &running {
        running.check()?;
    }
    let Counter { counted, pool, modules, shown, .. } = counter;
    let failed = shown.map_or(0, |shown| shown.failed);
    let mut counted = counted.into_inner().unwrap_or_default();
    for Worker { counts, programs, .. } in pool.all() {
        counted.profile.add(counts, &programs, &modules, filter);
    }
    if !alone {
        counted.notes = report::problems(input, &listed);
    }
    counted.damage = input.capture().damage().map(ToString::to_string).collect();
    counted.losses = problems.losses;
    counted.good = failed == 0 && input.is_unchanged() && !problems.fail(args.strict);
    Ok(counted)
}

/// Counts the buffers of a capture.
struct Counter<'a> {
    args: &'a ProfileArgs,
    input: &'a Input,
    filter: &'a Filter,
    modules: Vec<ModuleFile>,
    counted: Mutex<Counted>,
    pool: Pool,
    /// The counts of parts, which are not decoded.
    shown: Option<Shown>,
}

impl Counter<'_> {
    /// Counts a buffer.
    fn buffer(&self, job: &Job<'_>, options: &RunOptions<'_>) -> Result<Tally, Fail> {
        let programs: Vec<Program> =
            job.sources.iter().map(|source| source.program.clone()).collect();
        if let Some(shown) = &self.shown {
            let BufferCounts { raw, tally, .. } = shown.counts(job.plan.buffer)?;
            self.add(|profile| profile.add(raw, &programs, &self.modules, self.filter));
            return Ok(tally);
        }
        let bytes = &mut *live::input_of(job.buffer);
        if self.args.format.format() == Some(Format::BranchList) {
            let mut all = BranchLists::default();
            let lister = BranchLister::new(programs.clone());
            let write = |lists| {
                all.merge(lists);
                true
            };
            let tally = listing::decode(job, bytes, options, lister, &mut None, write)?.1;
            self.add(|profile| profile.add_lists(all, &programs, &self.modules, self.filter));
            return Ok(tally);
        }
        let Worker { mut counts, caches, profiler, programs: others } = self.pool.take();
        let profiler = match profiler {
            Some(known) => known.for_trace(programs.iter().cloned()),
            None => Profiler::new(programs.iter().cloned()),
        };
        let mut write = |more| {
            counts.merge(more);
            true
        };
        let (profiler, tally, caches) = if self.args.how.committed || options.selected.is_some() {
            let profiler = (profiler, listing::Nothing);
            let write = |(more, ())| write(more);
            let ((profiler, _), tally) =
                listing::decode(job, bytes, options, profiler, &mut None, write)?;
            (profiler, tally, caches)
        } else {
            let session = job.session_with(caches)?;
            let ran = run::run_whole(session, job.buffer, bytes, profiler, options, write)?;
            (ran.listener, ran.tally, ran.caches)
        };
        if self.input.capture().linux.is_some() {
            // The memory of all buffers is in the same address spaces: the counts of all are looked
            // up at once.
            let programs = if others.len() > programs.len() { others } else { programs };
            self.pool.put(Worker { counts, caches, profiler: Some(profiler), programs });
            return Ok(tally);
        }
        self.add(|profile| profile.add(counts, &programs, &self.modules, self.filter));
        Ok(tally)
    }

    /// Adds counts. Sums do not depend on the order of the buffers.
    fn add(&self, counts: impl FnOnce(&mut Profile)) {
        let mut found = Profile::default();
        counts(&mut found);
        if let Ok(mut counted) = self.counted.lock() {
            counted.profile.merge(found);
        }
    }
}
