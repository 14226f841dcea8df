//! `tracewright timing --load`

use std::collections::{BTreeSet, HashSet};

use tracewright::analysis::Code;
use tracewright::analysis::stacks::FunctionId;
use tracewright::analysis::tasks::{TaskThread, Tasks};
use tracewright::analysis::timing::{Clock, Load, Span};
use tracewright::capture::plain::line;
use tracewright::views::json;
use tracewright::views::timing::{LoadView, Shown};

use super::refuse;
use super::worst::functions;
use crate::args::{TimingArgs, TimingFormat};
use crate::fail::Fail;
use crate::input::Input;
use crate::message;
use crate::output::Output;
use crate::recordings;
use crate::run::Runs;
use crate::select;
use crate::stacks;
use crate::tasks::{self, Chosen};

/// Runs the verb.
pub fn run(
    args: &TimingArgs,
    input: &Input,
    clock: Clock,
    mut output: Output,
) -> Result<bool, Fail> {
    let Some(span) = args.load else { return Ok(false) };
    refuse(args, input, "--load", "")?;
    let width = width(span, args.frequency, &args.idle, input)?;
    if args.format == TimingFormat::Json {
        output.json(&json::head("timing"))?;
    }
    let mut found = false;
    for &buffer in &input.buffers {
        let job = input.job(buffer);
        let runs = Runs::new(1, false, None);
        let (options, code) = (runs.options(args.threads.jobs()), job.code());
        let tasks = tasks::of_any(&args.switches, &job, &code, &args.input.input)?;
        let only = Chosen::new(&args.only.task);
        // The load by a task does not depend on what is idle.
        let functions = match only.is_all() && tasks.events().is_none() {
            true => idle(span, &code, &args.idle, &tasks)?,
            false => HashSet::new(),
        };
        let mut load = Load::new(clock, width, functions);
        if tasks.events().is_some() {
            let threads = tasks::threads(&job, &options, &code, &tasks)?;
            let idle = match only.is_all() {
                true => idle_threads(span, &args.idle, &tasks, &threads)?,
                false => BTreeSet::new(),
            };
            load = load.with_idle_threads(idle, unknown_threads(&threads));
        }
        if let Some((threads, _)) = tasks::selected(&only, &job, &options, &code, &tasks)? {
            only.check()?;
            load = load.of_threads(threads);
        }
        let load = stacks::run(&job, &options, &code, &tasks, load, |_| true)?.0;
        note(&load);
        let sources: Vec<String> = job.sources.iter().map(|source| source.name.clone()).collect();
        let shown = Shown { frequency: args.frequency, rows: args.rows, ..Shown::default() };
        let view = LoadView { load: &load, clock, sources: &sources, shown };
        match args.format {
            TimingFormat::Json => output.json(&view.json())?,
            _ => output.print(&view.text())?,
        }
        found |= load.slices().next().is_some();
    }
    output.close()?;
    input.decodable()?;
    if !found {
        message::line("note: no time is known: no two points of the clock are in the trace");
    }
    Ok(found)
}

/// The width of the parts, in ticks of the clock.
pub fn width(
    span: Span,
    frequency: Option<u64>,
    idle: &[String],
    input: &Input,
) -> Result<u64, Fail> {
    let why = "it is a time, and the frequency of the clock is not known; state it with \
               --frequency, or give ticks of the clock";
    let width = span.at(frequency).ok_or_else(|| Fail::option("--load", &span.to_string(), why))?;
    // Without instructions, it is the name of a task.
    if recordings::only(input) {
        return Ok(width);
    }
    // Code without symbols has addresses for names.
    for name in idle.iter().filter(|name| !name.starts_with("0x")) {
        select::named_by("--idle", input, name)?;
    }
    Ok(width)
}

/// Prints that there are too many parts.
pub fn note(load: &Load) {
    if load.is_cut() {
        message::line("note: the load is cut: it has too many parts; give a greater width");
    }
}

/// The threads of which it is not known which task they are.
pub fn unknown_threads(threads: &[TaskThread]) -> BTreeSet<usize> {
    let unknown = (0..).zip(threads).filter(|(_, thread)| thread.id.is_none());
    unknown.map(|(number, _)| number).collect()
}

/// The idle tasks among the threads of a trace without instructions.
pub fn idle_threads(
    span: Span,
    names: &[String],
    tasks: &Tasks,
    threads: &[TaskThread],
) -> Result<BTreeSet<usize>, Fail> {
    let is_idle = |thread: &TaskThread| match names.is_empty() {
        true => tasks.is_idle_task(thread),
        false => names.iter().any(|name| thread.is_named(name)),
    };
    let numbers = (0..).zip(threads).filter(|(_, thread)| is_idle(thread));
    let idle: BTreeSet<usize> = numbers.map(|(number, _)| number).collect();
    if idle.is_empty() {
        let all: Vec<_> = threads.iter().map(|thread| line(&thread.text)).take(40).collect();
        let why = format!(
            "no task is known to be the idle one: name it with --idle; the trace has {}",
            all.join(", ")
        );
        return Err(Fail::option("--load", &span.to_string(), &why));
    }
    Ok(idle)
}

/// The functions with these names.
pub fn idle(
    span: Span,
    code: &Code,
    names: &[String],
    tasks: &Tasks,
) -> Result<HashSet<FunctionId>, Fail> {
    if !names.is_empty() {
        return Ok(names.iter().flat_map(|name| functions(code, name)).collect());
    }
    let known: HashSet<FunctionId> = tasks.idle().map(FunctionId::Known).collect();
    if known.is_empty() {
        let why = "the idle function is not known: name it with --idle";
        return Err(Fail::option("--load", &span.to_string(), why));
    }
    Ok(known)
}
