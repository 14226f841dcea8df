//! `tracewright timing --load`

use std::collections::HashSet;

use tracewright::analysis::Code;
use tracewright::analysis::stacks::FunctionId;
use tracewright::analysis::tasks::Tasks;
use tracewright::analysis::timing::{Clock, Load, Span};
use tracewright::views::json;
use tracewright::views::timing::{LoadView, Shown};

use super::refuse;
use super::worst::functions;
use crate::args::{TimingArgs, TimingFormat};
use crate::fail::Fail;
use crate::input::Input;
use crate::message;
use crate::output::Output;
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
        let tasks = tasks::of(&args.switches, &job, &code, &args.input.input)?;
        let only = Chosen::new(&args.only.task);
        // The load by a task does not depend on what is idle.
        let idle = match only.is_all() {
            true => idle(span, &code, &args.idle, &tasks)?,
            false => HashSet::new(),
        };
        let mut load = Load::new(clock, width, idle);
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
