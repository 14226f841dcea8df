//! `tracewright instructions`

use std::sync::atomic::{AtomicU64, Ordering};

use tracewright::decode::{CommittedListener, Fork, Jobs, Tally, Timed, TimedText};
use tracewright::views::instructions::{Expand, Json, Pcs, Picked, Slice, Steps, Text};
use tracewright::views::{Filter, json};

use crate::args::{InstructionFormat, InstructionsArgs};
use crate::contradictions::Contradictions;
use crate::fail::Fail;
use crate::index::{self, Selected};
use crate::input::{Input, Job};
use crate::listing::{self, Found, Listed, TimedWrite};
use crate::live;
use crate::output::Output;
use crate::recordings;
use crate::report;
use crate::run::{self, RunOptions, Runs};
use crate::select;
use crate::tasks::WhileRunning;

/// Runs the verb.
pub fn run(args: &InstructionsArgs) -> Result<bool, Fail> {
    let mut input = Input::open(&args.input, Some(&args.how))?;
    input.show_lines(args.select.lines);
    let format = args.output.format;
    report::notes(&input);
    input.readable(args.output.outcome.strict)?;
    let path = args.input.path();
    let running = WhileRunning::new(&args.running, &input, args.how.committed, path)?;
    let selected = Selected::open(&input, Some(&args.window), args.how.committed)?;
    select::check(&args.select, select::Listed { packets: false, elements: true }, &input)?;
    let inputs = index::inputs(&input, &args.window.index);
    let mut output = Output::open(args.output.outcome.output.as_deref(), &inputs)?;
    if format == InstructionFormat::Json {
        output.json(&json::head("instructions"))?;
    }
    let colour = output.colour();
    let runs = Runs::new(input.buffers.len(), args.how.committed, selected.as_ref())
        .stop_after(args.output.errors.most())
        .of_part(running.is_some());
    // Counts of instructions, and of software writes and data accesses.
    let (instructions, data) = (AtomicU64::new(0), AtomicU64::new(0));
    let by_time = match format {
        InstructionFormat::None => None,
        _ => listing::timed_series(&input),
    };
    let timed = by_time.is_some();
    let work = |_: usize, job: &Job<'_>, jobs: Jobs, write: &mut TimedWrite<'_>| {
        let parts = selected.as_ref().and_then(Selected::parts);
        let options = RunOptions { parts: parts.as_ref(), ..runs.options(jobs) };
        let own = running.as_ref().map(|tasks| tasks.part(job, &options, options.selected));
        let own = own.transpose()?;
        let options = RunOptions { selected: own.as_ref().or(options.selected), ..options };
        let (sources, filter) = (job.sources.to_vec(), select::filter(&args.select, job)?);
        let mut end = String::new();
        let tally = match format {
            InstructionFormat::Text => {
                let view = Text::new(Vec::new(), sources, colour).with_names(timed);
                let tally = expand(job, &options, view, filter, timed, write)?;
                end = Contradictions::of(&tally).misfit();
                tally
            }
            InstructionFormat::Json => {
                let (name, len) = (&job.buffer.name, job.buffer.size());
                let mut view = Json::new(Vec::new(), job.plan, sources, name, len);
                // The line of the buffer is the heading.
                view.take();
                let tally = expand(job, &options, view, filter, timed, write)?;
                end = json::summary(job.sources, name, &tally, None);
                tally
            }
            InstructionFormat::Pc => {
                expand(job, &options, Pcs::new(Vec::new()), filter, timed, write)?
            }
            InstructionFormat::None => {
                // Only counts are shown, which depend neither on the filter nor on `committed`.
                let (session, bytes) = (job.session()?, &mut *live::input_of(job.buffer));
                let nothing = listing::Nothing;
                run::run(session, job.buffer, bytes, nothing, &options, |()| true)?.1
            }
        };
        for counts in &tally.sources {
            instructions.fetch_add(counts.instructions, Ordering::Relaxed);
            data.fetch_add(
                counts.software_writes + counts.dwt_events + counts.data_accesses,
                Ordering::Relaxed,
            );
        }
        Ok(Found { tally, end, ..Found::default() })
    };
    let summary = format == InstructionFormat::None;
    let limit = args.select.limit;
    let ends_with_summary = format == InstructionFormat::Text;
    let heading = |n: usize| match format {
        InstructionFormat::Json => input.job(input.buffers[n]).json(),
        _ => String::new(),
    };
    let listed = Listed {
        heading: &heading,
        summary,
        by_time,
        limit,
        ends_with_summary,
        explains_nothing: !summary
            && (selected.is_some() || running.is_some() || args.select.filters()),
    };
    let jobs = args.threads.jobs();
    let problems = listing::listed_buffers(&input, &jobs, &mut output, listed, &runs, work)?;
    input.decodable()?;
    if let Some(running) = &running {
        running.check()?;
    }
    output.close()?;
    let only_data = instructions.into_inner() == 0 && data.into_inner() > 0;
    if only_data {
        report::no_instructions();
    }
    Ok(report::is_traced(&input)
        && (!only_data || !recordings::only(&input))
        && !input.is_contradicted()
        && !problems.fail(args.output.outcome.strict))
}

/// Decodes to instructions for `view`. `timed`: the output has times.
fn expand<V: Steps + Fork<Output = Vec<u8>> + Send>(
    job: &Job<'_>,
    options: &RunOptions<'_>,
    view: V,
    filter: Filter,
    timed: bool,
    write: impl FnMut(TimedText) -> bool,
) -> Result<Tally, Fail> {
    let (session, expand) = (job.session()?, Picked::new(Slice::new(view, options.parts), filter));
    let expand = Expand::new(expand, job.sources);
    let expand = Timed::when(timed, expand);
    let expand = CommittedListener::when(options.committed, expand);
    Ok(run::run(session, job.buffer, &mut *live::input_of(job.buffer), expand, options, write)?.1)
}
