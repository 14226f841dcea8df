//! `tracewright functions`

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use tracewright::analysis::functions::{FunctionTotals, by_thread};
use tracewright::analysis::stacks::StackCounts;
use tracewright::analysis::tasks::TaskThread;
use tracewright::analysis::{Code, FunctionId, MAX_CALLERS, Paths};
use tracewright::decode::Jobs;
use tracewright::export::paths::{PathFormat, PathView};
use tracewright::export::samples::SampleFormat;
use tracewright::joined::{JoinedBuffers, Taking};
use tracewright::symbols::Functions;
use tracewright::views::functions::{FunctionTable, Shown, counts_json, counts_text};
use tracewright::views::itm::SampleTable;
use tracewright::views::json;

use crate::args::{FunctionFormat, FunctionsArgs, JobsArgs, SwitchArgs, WindowArgs};
use crate::contradictions::Contradictions;
use crate::fail::Fail;
use crate::index::{self, Selected};
use crate::input::{Input, Job};
use crate::joined;
use crate::listing;
use crate::message;
use crate::output::Output;
use crate::recordings;
use crate::report;
use crate::run::Runs;
use crate::select;
use crate::stacks;
use crate::tasks::{self, Chosen};

/// FunctionOptions the functions of a capture are found.
pub struct FunctionOptions<'a> {
    /// Elements of a transaction are withheld until it commits.
    pub committed: bool,
    /// The threads.
    pub threads: &'a JobsArgs,
    /// Functions that switch tasks.
    pub switches: &'a SwitchArgs,
    /// The tasks.
    pub only: &'a Chosen,
    /// The part of the trace.
    pub window: Option<&'a WindowArgs>,
    /// The path of the capture.
    pub path: &'a Path,
}

/// The functions of all buffers.
#[derive(Default)]
struct All {
    code: Code,
    threads: BTreeMap<String, FunctionTable>,
    counts: StackCounts,
    overflowed: bool,
    contradictions: Contradictions,
    /// The call paths of each buffer, and the names of their threads.
    paths: BTreeMap<usize, (Paths, Vec<String>)>,
}

impl All {
    /// The call paths of all buffers. A thread of several is one.
    fn joined(&self) -> (Paths, Vec<String>) {
        let (mut sum, mut names) = (Paths::new(), Vec::<String>::new());
        for (paths, own) in self.paths.values() {
            let numbers = own.iter().map(|name| {
                names.iter().position(|known| known == name).unwrap_or_else(|| {
                    names.push(name.clone());
                    names.len() - 1
                })
            });
            let numbers: Vec<usize> = numbers.collect();
            sum.add_paths(paths, |n| numbers.get(n).copied().unwrap_or(0));
        }
        (sum, names)
    }
}

impl All {
    /// Adds the functions of a thread.
    fn add(&mut self, name: String, functions: BTreeMap<FunctionId, FunctionTotals>) {
        let table = self.threads.entry(name.clone()).or_default();
        table.thread = Some(name);
        for (function, totals) in functions {
            table.functions.entry(function).or_default().add(&totals);
        }
    }
}

/// The paths of the tasks that are wanted, and the names of their threads.
fn of_tasks(only: &Chosen, paths: Paths, threads: Vec<TaskThread>) -> (Paths, Vec<String>) {
    if only.is_all() {
        return (paths, threads.into_iter().map(|thread| thread.text).collect());
    }
    let chosen = only.threads(&threads);
    let own = threads.into_iter().enumerate().filter(|(number, _)| chosen.contains(number));
    let names = own.map(|(_, thread)| thread.text).collect();
    (paths.of_threads(|number| chosen.contains(&number)), names)
}

/// Prints that paths of the trace with this name are too long.
fn too_deep(name: &str) {
    message::line(&format!(
        "note: {name}: paths of calls have at most {MAX_CALLERS} callers: deeper functions are beside \
         their callers, whose totals lack them"
    ));
}

/// The functions of a capture by name. Functions with the same name are one.
pub fn by_name(
    input: &Input,
    how: &FunctionOptions<'_>,
    output: &mut Output,
) -> Result<BTreeMap<String, FunctionTotals>, Fail> {
    let (all, _) = gather(input, how, None, output)?;
    let mut names: BTreeMap<String, FunctionTotals> = BTreeMap::new();
    for (function, totals) in all.threads.values().flat_map(|table| &table.functions) {
        names.entry(all.code.name(*function).into_owned()).or_default().add(totals);
    }
    Ok(names)
}

/// Prints the functions of a capture.
pub fn print(
    input: &Input,
    how: &FunctionOptions<'_>,
    shown: &Shown<'_>,
    output: &mut Output,
) -> Result<(), Fail> {
    let (all, _) = gather(input, how, None, output)?;
    let tables: Vec<FunctionTable> = all.threads.into_values().collect();
    output.print(&all.contradictions.text())?;
    output.print(&FunctionTable::of_all(&tables).text(&all.code, shown))?;
    output.print(&counts_text(&all.counts))
}

/// The functions of all buffers, and what was wrong with the trace. With a format of call paths,
/// these are written to `output` where there is one buffer.
fn gather(
    input: &Input,
    how: &FunctionOptions<'_>,
    format: Option<PathFormat>,
    output: &mut Output,
) -> Result<(All, listing::Problems), Fail> {
    let selected = Selected::open(input, how.window, how.committed)?;
    let recipe = joined::Recipe {
        committed: how.committed,
        jobs: how.threads.jobs(),
        switches: how.switches,
        selected: selected.as_ref(),
        path: how.path,
    };
    if let Some(buffers) = joined::of(input, &recipe) {
        return gather_joined(input, &recipe, &buffers, (format.is_some(), how.only));
    }
    let runs = Runs::new(input.buffers.len(), how.committed, selected.as_ref());
    let all = Mutex::new(All::default());
    let alone = input.buffers.len() == 1;
    let work = |number: usize, job: &Job<'_>, jobs: Jobs, write: &mut listing::Write<'_>| {
        let options = runs.options(jobs);
        let code = job.code();
        let tasks = tasks::of(how.switches, job, &code, how.path)?;
        let (paths, counts, tally) =
            stacks::run_joined(job, &options, &code, &tasks, Paths::new())?;
        if paths.too_deep {
            too_deep(&job.buffer.name);
        }
        let threads = paths.threads().iter().map(|t| (t.source, t.id));
        let outermost = paths.outermost_without(|function| tasks.is_wrapper(function));
        let threads = job.task_threads(&tasks, threads, (&code, &outermost));
        let (paths, names) = of_tasks(how.only, paths, threads);
        if let Some(format) = format.filter(|_| alone) {
            let threads = &names;
            let view = PathView { paths: &paths, code: &code, threads };
            format.write(&view, write);
            return Ok(tally);
        }
        if let Ok(mut all) = all.lock() {
            if format.is_some() {
                all.overflowed |= paths.overflowed;
                all.paths.insert(number, (paths, names));
                all.code = code;
                return Ok(tally);
            }
            all.counts.add(&counts);
            all.contradictions.add(&tally);
            all.overflowed |= paths.overflowed;
            for (name, functions) in names.into_iter().zip(by_thread(&paths)) {
                all.add(name, functions);
            }
            all.code = code;
        }
        Ok(tally)
    };
    let problems = listing::buffers(input, &how.threads.jobs(), output, &runs, work)?;
    input.decodable()?;
    Ok((all.into_inner().unwrap_or_default(), problems))
}

/// As [`gather`], with the buffers joined by thread; `paths_only`: the call paths only.
fn gather_joined(
    input: &Input,
    recipe: &joined::Recipe<'_>,
    buffers: &JoinedBuffers<'_>,
    (paths_only, only): (bool, &Chosen),
) -> Result<(All, listing::Problems), Fail> {
    let other = |_: &Job<'_>| stacks::NO_OTHER;
    let (visitor, how) = (|_: &Code| Paths::new(), Taking::by_frames());
    let joined::Found { visitor: paths, code, counts, problems, tallies } =
        joined::run(input, buffers, recipe, visitor, &how, &other, &mut |_, _| Ok(true))?;
    input.decodable()?;
    if paths.too_deep {
        too_deep(&recipe.path.display().to_string());
    }
    let threads = buffers.threads(paths.threads().iter().map(|t| (t.source, t.id)));
    let (paths, threads) = of_tasks(only, paths, threads);
    let mut all = All { code, counts, overflowed: paths.overflowed, ..All::default() };
    if paths_only {
        all.paths.insert(0, (paths, threads));
        return Ok((all, problems));
    }
    tallies.iter().for_each(|(_, tally)| all.contradictions.add(tally));
    for (name, functions) in threads.into_iter().zip(by_thread(&paths)) {
        all.add(name, functions);
    }
    Ok((all, problems))
}

/// Runs the verb.
pub fn run(args: &FunctionsArgs) -> Result<bool, Fail> {
    let input = Input::open(&args.input, Some(&args.how))?;
    report::notes(&input);
    input.readable(args.outcome.strict)?;
    let mut output =
        Output::open(args.outcome.output.as_deref(), &index::inputs(&input, &args.window.index))?;
    if recordings::only(&input) {
        return sampled(args, &input, output);
    }
    let only = Chosen::new(&args.only.task);
    let how = FunctionOptions {
        committed: args.how.committed,
        threads: &args.threads,
        switches: &args.switches,
        only: &only,
        window: Some(&args.window),
        path: &args.input.input,
    };
    let (all, problems) = gather(&input, &how, args.format.paths(), &mut output)?;
    only.check()?;
    // Those of one buffer are written already.
    if let Some(format) = args.format.paths().filter(|_| !all.paths.is_empty()) {
        let (paths, threads) = all.joined();
        let view = PathView { paths: &paths, code: &all.code, threads: &threads };
        format.write(&view, &mut |part| {
            output.put(&part);
            !output.closed()
        });
        output.failed()?;
    }
    let All { code, threads, counts, overflowed, contradictions, .. } = all;
    if overflowed {
        message::line(
            "note: there are too many call paths; totals of some functions are too small",
        );
    }
    let tables: Vec<FunctionTable> =
        threads.into_values().filter(|table| !table.functions.is_empty()).collect();
    let tables = match args.per_thread {
        true => tables,
        false => vec![FunctionTable::of_all(&tables)],
    };
    let shown = Shown { sort: args.sort.sort(), limit: args.limit, name: args.function.as_deref() };
    let selects = !args.window.window().is_all() || args.function.is_some();
    let nothing = args.format.paths().is_none()
        && selects
        && args.limit != Some(0)
        && tables.iter().all(|table| table.is_empty(&code, &shown));
    if nothing && let Some(name) = &args.function {
        select::named(&input, name)?;
    }
    match args.format {
        FunctionFormat::Text => {
            output.print(&contradictions.text())?;
            for table in &tables {
                output.print(&table.text(&code, &shown))?;
            }
            // Those are of the whole trace.
            if only.is_all() {
                output.print(&counts_text(&counts))?;
            }
        }
        FunctionFormat::Json => {
            output.json(&json::head("functions"))?;
            for table in &tables {
                output.json(&table.json(&code, &shown))?;
            }
            if only.is_all() {
                output.json(&counts_json(&counts))?;
            }
        }
        FunctionFormat::Folded
        | FunctionFormat::FlameGraph
        | FunctionFormat::Callgrind
        | FunctionFormat::Pprof => {}
    }
    output.close()?;
    if nothing {
        report::nothing_selected(&input);
    }
    Ok(problems.answer(&input, args.outcome.strict))
}

/// The functions of a capture of ITMs, which have samples of the program counter only.
fn sampled(args: &FunctionsArgs, input: &Input, mut output: Output) -> Result<bool, Fail> {
    let refused = [
        (args.per_thread, "--per-thread"),
        (!args.only.task.is_empty(), "--task"),
        (!args.window.window().is_all(), "--from and --to"),
    ];
    if let Some((_, option)) = refused.into_iter().find(|(given, _)| *given) {
        let why = "the trace is that of an ITM, which has samples of the program counter, without \
                   threads; remove the option";
        return Err(Fail::option(option, "of samples", why));
    }
    let (samples, lost) = recordings::samples(input)?;
    if let Some(text) = recordings::losses(lost) {
        message::line(&format!("note: {text}"));
    }
    let profile = recordings::sample_profile(&samples, input.capture());
    if samples.total() == 0 {
        message::line(
            "note: the trace has no instructions and no samples of the program counter; \
             `tracewright itm` prints what it has",
        );
    } else {
        message::line(
            "note: the trace is that of an ITM: the functions are those of its samples of the program \
             counter",
        );
    }
    let functions = Functions::of_files(recordings::elf_files(input.capture()));
    let table = SampleTable {
        samples: &samples,
        functions: &functions,
        limit: args.limit,
        name: args.function.as_deref(),
    };
    match args.format {
        FunctionFormat::Text => output.print(&table.text())?,
        FunctionFormat::Json => {
            output.json(&json::head("functions"))?;
            output.json(&table.json("ITM"))?;
        }
        FunctionFormat::Folded => _ = output.put(&SampleFormat::Folded.write(&profile)),
        FunctionFormat::FlameGraph => _ = output.put(&SampleFormat::FlameGraph.write(&profile)),
        FunctionFormat::Callgrind => _ = output.put(&SampleFormat::Callgrind.write(&profile)),
        FunctionFormat::Pprof => _ = output.put(&SampleFormat::Pprof.write(&profile)),
    }
    output.failed()?;
    output.close()?;
    Ok(report::is_traced(input) && samples.total() > 0 && !(args.outcome.strict && lost > 0))
}
