//! `tracewright calls`

use std::sync::atomic::{AtomicBool, Ordering};

use tracewright::analysis::Code;
use tracewright::analysis::tasks::OnlyThreads;
use tracewright::capture::plain::plain;
use tracewright::decode::Jobs;
use tracewright::joined::Taking;
use tracewright::views::calls::{Calls, Shown};
use tracewright::views::json;

use crate::args::{CallsArgs, InfoFormat};
use crate::contradictions;
use crate::fail::Fail;
use crate::index::{self, Selected};
use crate::input::{Input, Job};
use crate::joined;
use crate::listing;
use crate::output::Output;
use crate::recordings;
use crate::report;
use crate::run::Runs;
use crate::select;
use crate::stacks;
use crate::tasks::{self, Chosen};

/// Runs the verb.
pub fn run(args: &CallsArgs) -> Result<bool, Fail> {
    let input = Input::open(&args.input, Some(&args.how))?;
    report::notes(&input);
    input.readable(args.outcome.strict)?;
    let selected = Selected::open(&input, Some(&args.window), args.how.committed)?;
    let mut output =
        Output::open(args.outcome.output.as_deref(), &index::inputs(&input, &args.window.index))?;
    let json = args.format == InfoFormat::Json;
    if json {
        output.json(&json::head("calls"))?;
    }
    let only_itms = recordings::only(&input);
    if only_itms {
        report::no_branches();
    } else if !json {
        let jobs = args.threads.jobs();
        let known = contradictions::before(&input, args.how.committed, selected.as_ref(), &jobs)?;
        output.print(&known.text())?;
    }
    let nothing = AtomicBool::new(true);
    let recipe = joined::Recipe {
        committed: args.how.committed,
        jobs: args.threads.jobs(),
        switches: &args.switches,
        selected: selected.as_ref(),
        path: &args.input.input,
    };
    let shown = || {
        let (depth, function, limit) = (args.depth, args.function.clone(), args.limit);
        Shown { json, depth, function, limit }
    };
    let text = |calls: &mut Calls| {
        let text = calls.take();
        if !text.is_empty() {
            nothing.store(false, Ordering::Relaxed);
        }
        if json { text } else { plain(&text).into_owned() }
    };
    let only = Chosen::new(&args.only.task);
    let runs = Runs::new(input.buffers.len(), args.how.committed, selected.as_ref());
    let work = |_: usize, job: &Job<'_>, jobs: Jobs, write: &mut listing::Write<'_>| {
        let options = runs.options(jobs);
        let code = job.code();
        let tasks = tasks::of(&args.switches, job, &code, &args.input.input)?;
        let names = job.sources.iter().map(|source| source.name.clone());
        let calls = Calls::new(code.clone(), names, shown()).with_tasks(tasks.clone());
        if let Some((threads, all)) = tasks::selected(&only, job, &options, &code, &tasks)? {
            let names = all.into_iter().map(|thread| thread.text).collect();
            let calls = OnlyThreads::new(calls.with_known_names(names), threads);
            let more = |calls: &mut OnlyThreads<Calls>| {
                let text = text(&mut calls.visitor);
                (text.is_empty() || write(text.into_bytes())) && !calls.visitor.full()
            };
            let (.., tally) = stacks::run(job, &options, &code, &tasks, calls, more)?;
            return Ok(tally);
        }
        let more = |calls: &mut Calls| {
            let text = text(calls);
            (text.is_empty() || write(text.into_bytes())) && !calls.full()
        };
        let (.., tally) = stacks::run(job, &options, &code, &tasks, calls, more)?;
        Ok(tally)
    };
    let problems = match joined::of(&input, &recipe) {
        None => listing::buffers(&input, &args.threads.jobs(), &mut output, &runs, work)?,
        Some(buffers) => {
            tasks::refuse_joined(&only)?;
            let visitor =
                |code: &Code| Calls::new(code.clone(), [], shown()).with_names(buffers.names());
            let (other, how) = (|_: &Job<'_>| stacks::NO_OTHER, Taking::in_order());
            let mut more = |calls: &mut Calls, _| -> Result<bool, Fail> {
                let text = text(calls);
                let wanted = text.is_empty() || output.put(text.as_bytes());
                output.failed()?;
                Ok(wanted && !calls.full())
            };
            joined::run(&input, &buffers, &recipe, visitor, &how, &other, &mut more)?.problems
        }
    };
    input.decodable()?;
    if !only_itms {
        only.check()?;
    }
    let nothing = nothing.into_inner() && !output.closed() && args.limit != Some(0);
    if nothing && let Some(name) = &args.function {
        select::named(&input, name)?;
    }
    output.close()?;
    if nothing && (selected.is_some() || args.function.is_some() || !only.is_all()) {
        report::nothing_selected(&input);
    }
    Ok(problems.answer(&input, args.outcome.strict) && !only_itms)
}
