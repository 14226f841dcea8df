//! `tracewright profile`

use std::path::Path;
use std::sync::Mutex;

use tracewright::analysis::{
    BranchLister, BranchLists, Filter, ModuleProfile, Profile, Profiler, Programs, RawProfile,
};
use tracewright::capture::perf::{self, ListedProgram, hex};
use tracewright::decode::{Caches, Merge, Program, memory};
use tracewright::export::{Format, symbol_order};

use crate::args::{DialectArg, ProfileArgs};
use crate::fail::Fail;
use crate::index::{self, Selected};
use crate::input::{Input, Job};
use crate::inputs::Inputs;
use crate::listing;
use crate::live;
use crate::message;
use crate::output::Output;
use crate::programs;
use crate::recordings;
use crate::report;
use crate::run::{self, Runs};

/// Runs the verb.
pub fn run(args: &ProfileArgs) -> Result<bool, Fail> {
    let filter = Filter {
        excluded: args.exclude_process.iter().copied().collect(),
        kernel: if args.kernel { Some(true) } else { args.user.then_some(false) },
    };
    let path = args.input.path();
    let list = listed(path, args)?;
    let (first, inputs) = match &list {
        Some(_) => (None, Inputs::default().file(Some(path))),
        None => {
            let input = Input::open(&args.input, Some(&args.how))?;
            let inputs = index::inputs(&input, &args.window.index);
            (Some(input), inputs)
        }
    };
    if let Some(input) = first.as_ref().filter(|input| recordings::only(input)) {
        return sampled(args, input, &inputs);
    }
    let format = args.format.format().ok_or_else(|| {
        let why = "it is for samples of an ITM; `tracewright functions` and `coverage` have the \
                   flame graph and the lines of instructions";
        Fail::option("--format", "of instructions", why)
    })?;
    let searched = args.input.sources.search.binaries.iter();
    let inputs = searched.fold(inputs, |inputs, file| inputs.file(Some(file)));
    if let Some(order) = args.symbol_order.as_ref().filter(|_| format != Format::Propeller) {
        let what = "only --format propeller has an order of the functions";
        return Err(Fail::option("--symbol-order", &order.to_string_lossy(), what));
    }
    refuse_outputs(args, &inputs)?;
    let applies = match args.dialect {
        DialectArg::Full => true,
        DialectArg::Simpleperf => matches!(format, Format::Autofdo | Format::Bolt),
        DialectArg::Ranges => format == Format::Bolt,
    };
    if !applies {
        let what = "simpleperf is for --format autofdo and bolt, ranges for --format bolt";
        return Err(Fail::option("--dialect", "of this format", what));
    }
    let mut output = Output::open(args.output.as_deref(), &inputs)?;
    let mut good = true;
    let mut profile = Profile::default();
    let mut known = Programs::default();
    let checks = !args.further.is_empty();
    if let Some(list) = &list {
        replay(list, &filter, &mut profile);
        known.add(programs::of_list(path, list));
    }
    if let Some(first) = &first {
        good &= one(args, first, format, &filter, &mut profile, &mut output)?;
        if checks {
            known.add(programs::of_profile(first, &profile));
        }
    }
    for further in &args.further {
        if let Some(list) = listed(further, args)? {
            refuse_outputs(args, &Inputs::default().file(Some(further)))?;
            programs::add(&mut known, programs::of_list(further, &list), args.force)?;
            replay(&list, &filter, &mut profile);
            continue;
        }
        let input = Input::open_other(further, &args.input, Some(&args.how))?;
        refuse_outputs(args, &input.inputs)?;
        let mut own = Profile::default();
        good &= one(args, &input, format, &filter, &mut own, &mut output)?;
        programs::add(&mut known, programs::of_profile(&input, &own), args.force)?;
        profile.merge(own);
    }
    if profile.saturated {
        message::line(&format!("note: counts larger than {} are written as that number", u64::MAX));
    }
    select(&mut profile, args.module.as_deref(), &args.input.input)?;
    let dialect = args.dialect.dialect();
    if format.holds_one(dialect) && profile.modules.len() > 1 {
        let paths: Vec<_> = profile.modules.keys().map(|(path, _)| path.as_str()).collect();
        return Err(Fail::input(
            &args.input.input,
            &format!(
                "the format has the profile of one file; select it with --module: {}",
                paths.join(", ")
            ),
        ));
    }
    if profile.modules.is_empty() {
        message::line("note: the profile is empty: no instructions of a known file were executed");
    }
    let failed = |why: String| Fail::input(&args.input.input, &why);
    if let Some(path) = &args.symbol_order {
        let order = symbol_order(&profile).map_err(failed)?;
        let mut file = Output::open(Some(path), &Inputs::default())?;
        file.put(order.as_bytes());
        file.failed()?;
        file.close()?;
    }
    output.put(&format.write(&profile, dialect).map_err(failed)?);
    output.failed()?;
    output.close()?;
    Ok(good)
}

/// The samples of the program counter of ITMs, which have no instructions.
fn sampled(args: &ProfileArgs, first: &Input, inputs: &Inputs) -> Result<bool, Fail> {
    let format = args.format.samples().ok_or_else(|| {
        let why = "the trace is that of an ITM, which has samples of the program counter and no \
                   instructions: use --format folded, flame-graph, callgrind, pprof or lines; \
                   `tracewright itm --profile --format json` has them, too";
        Fail::option("--format", "of an ITM", why)
    })?;
    refuse_outputs(args, inputs)?;
    report::notes(first);
    first.readable(args.strict)?;
    let (mut samples, mut lost) = recordings::samples(first)?;
    for further in &args.further {
        let input = Input::open_other(further, &args.input, Some(&args.how))?;
        refuse_outputs(args, &input.inputs)?;
        if !recordings::only(&input) {
            let what = "it is not the trace of an ITM, whose samples are counted";
            return Err(Fail::input(further, what));
        }
        let (more, losses) = recordings::samples(&input)?;
        samples.add(&more);
        lost += losses;
    }
    if samples.total() == 0 {
        message::line(
            "note: the trace has no instructions and no samples of the program counter \
             (DWT_CTRL.PCSAMPLENA); `tracewright itm` prints what it has",
        );
    }
    let profile = recordings::sample_profile(&samples, &first.capture);
    let mut output = Output::open(args.output.as_deref(), inputs)?;
    output.put(&format.write(&profile));
    output.failed()?;
    output.close()?;
    Ok(first.is_unchanged() && !(args.strict && lost > 0))
}

/// Fails where an output of `args` is one of `inputs`.
fn refuse_outputs(args: &ProfileArgs, inputs: &Inputs) -> Result<(), Fail> {
    inputs.refuse(args.output.as_deref())?;
    match &args.symbol_order {
        Some(order) => inputs.refuse_as("--symbol-order", Some(order)),
        None => Ok(()),
    }
}

/// The branch list at `path`, if it is one.
fn listed(path: &Path, args: &ProfileArgs) -> Result<Option<Vec<ListedProgram>>, Fail> {
    let search = args.input.sources.search.search();
    let Some(found) = perf::branch_list(path, &search) else { return Ok(None) };
    let (programs, problems) = found?;
    for problem in problems {
        message::line(&format!("note: {}: {problem}", path.display()));
    }
    if !args.exclude_process.is_empty() {
        message::line("note: a branch list has no processes: --exclude-process excludes nothing");
    }
    Ok(Some(programs))
}

/// Adds the counts of a branch list.
fn replay(programs: &[ListedProgram], filter: &Filter, profile: &mut Profile) {
    for program in programs {
        let done = profile.add_listed(program, filter);
        let path = &program.binary.path;
        if done.missing > 0 {
            message::line(&format!(
                "note: {} sequences of branches are not followed: {path} was not found ({}); give \
                 it with --symfs FOLDER or --binary FILE",
                done.missing,
                match program.binary.build_id.as_slice() {
                    [] => "no build ID is recorded".to_owned(),
                    id => format!("build ID {}", hex(id)),
                }
            ));
        }
        if done.incomplete > 0 {
            message::line(&format!(
                "note: {} of {} sequences of branches end early: {path} has no code there",
                done.incomplete, done.sequences
            ));
        }
    }
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

/// Adds the counts of a capture.
fn one(
    args: &ProfileArgs,
    input: &Input,
    format: Format,
    filter: &Filter,
    profile: &mut Profile,
    output: &mut Output,
) -> Result<bool, Fail> {
    report::notes(input);
    input.readable(args.strict)?;
    let selected = Selected::open(input, Some(&args.window), args.how.committed)?;
    let modules = memory::modules(&input.capture);
    let runs = Runs::new(input.buffers.len(), args.how.committed, selected.as_ref());
    let total = Mutex::new(Profile::default());
    let pool = &Pool::default();
    let work = |_: usize, job: &Job<'_>, jobs, _: &mut listing::Write<'_>| {
        let options = runs.options(jobs);
        let programs: Vec<Program> =
            job.sources.iter().map(|source| source.program.clone()).collect();
        let bytes = &mut *live::input_of(job.buffer);
        let mut found = Profile::default();
        let tally = if format == Format::BranchList {
            let mut all = BranchLists::default();
            let lister = BranchLister::new(programs.clone());
            let write = |lists| {
                all.merge(lists);
                true
            };
            let tally = listing::decode(job, bytes, &options, lister, &mut None, write)?.1;
            found.add_lists(all, &programs, &modules, filter);
            tally
        } else {
            let Worker { mut counts, caches, profiler, programs: others } = pool.take();
            let profiler = match profiler {
                Some(known) => known.for_trace(programs.iter().cloned()),
                None => Profiler::new(programs.iter().cloned()),
            };
            let mut write = |more| {
                counts.merge(more);
                true
            };
            let (profiler, tally, caches) = if args.how.committed || selected.is_some() {
                let profiler = (profiler, listing::Nothing::<true>);
                let write = |(more, ())| write(more);
                let ((profiler, _), tally) =
                    listing::decode(job, bytes, &options, profiler, &mut None, write)?;
                (profiler, tally, caches)
            } else {
                let mut session = job.session_with(caches)?;
                let (profiler, tally) =
                    run::run_in(&mut session, job.buffer, bytes, profiler, &options, write)?;
                (profiler, tally, session.into_caches())
            };
            if input.capture.linux.is_some() {
                // The memory of all buffers is in the same address spaces: the counts of all are
                // looked up at once.
                let programs = if others.len() > programs.len() { others } else { programs };
                pool.put(Worker { counts, caches, profiler: Some(profiler), programs });
                return Ok(tally);
            }
            found.add(counts, &programs, &modules, filter);
            tally
        };
        // Sums do not depend on the order of the buffers.
        if let Ok(mut total) = total.lock() {
            total.merge(found);
        }
        Ok(tally)
    };
    let jobs = args.threads.jobs();
    let problems = listing::buffers(input, &jobs, output, &runs, work)?;
    input.decodable()?;
    profile.merge(total.into_inner().unwrap_or_default());
    for Worker { counts, programs, .. } in pool.all() {
        profile.add(counts, &programs, &modules, filter);
    }
    Ok(input.is_unchanged() && !problems.fail(args.strict))
}

/// Removes the profiles of other files than `module`.
fn select(profile: &mut Profile, module: Option<&str>, input: &Path) -> Result<(), Fail> {
    let Some(module) = module else { return Ok(()) };
    let is = |found: &ModuleProfile| {
        let id = found.file.build_id.as_deref().map(hex);
        let end = |path: &str| {
            path == module || path.strip_suffix(module).is_some_and(|before| before.ends_with('/'))
        };
        // The kernel is recorded by another name than that of its file.
        let read = found.file.found.as_ref().map(|path| path.to_string_lossy());
        end(&found.file.path)
            || read.is_some_and(|path| end(&path))
            || id.is_some_and(|id| id == module)
    };
    let paths: Vec<_> = profile.modules.keys().map(|(path, _)| path.clone()).collect();
    profile.retain(is);
    if profile.modules.is_empty() && !paths.is_empty() {
        return Err(Fail::input(
            input,
            &format!("nothing of `{module}` was executed; the files are {}", paths.join(", ")),
        ));
    }
    Ok(())
}
