//! Changes of flow in the format of TRACE32.

use std::sync::Mutex;

use tracewright::capture::plain;
use tracewright::decode::Jobs;
use tracewright::views::branch_flow::{BranchFlow, Flows, HEADER};

use crate::args::BranchesArgs;
use crate::fail::Fail;
use crate::index::Selected;
use crate::input::{Input, Job};
use crate::listing;
use crate::live;
use crate::message;
use crate::output::Output;
use crate::recordings;
use crate::run::{self, RunOptions, Runs};
use crate::tasks::WhileRunning;

/// Writes the changes of flow of the only source with instructions.
pub(super) fn write(
    args: &BranchesArgs,
    input: &Input,
    (selected, running): (Option<&Selected>, Option<&WhileRunning>),
    mut output: Output,
) -> Result<bool, Fail> {
    let refused = |why: &str| Err(Fail::option("--format", "branchflow", why));
    if args.limit.is_some() {
        return refused("not with --limit: what follows the last line would be unknown");
    }
    if recordings::only(input) {
        return refused("the trace is that of an ITM, which has no branches");
    }
    let runs =
        Runs::new(input.buffers.len(), args.how.committed, selected).of_part(running.is_some());
    // Of each buffer: the sources, by name, and their lines.
    let found = Mutex::new(Vec::<(usize, String, Flows)>::new());
    let work = |n: usize, job: &Job<'_>, jobs: Jobs, _: &mut listing::Write<'_>| {
        let options = runs.options(jobs);
        let own =
            running.map(|tasks| tasks.counted(job, &options, options.selected)).transpose()?;
        let options = RunOptions { selected: own.as_ref().or(options.selected), ..options };
        let mut all = vec![Flows::default(); job.sources.len()];
        let mut write = |parts: Vec<Flows>| {
            for (own, part) in all.iter_mut().zip(parts) {
                own.text += &part.text;
                own.omitted += part.omitted;
            }
            true
        };
        let listener = BranchFlow::new(job.sources.len());
        let bytes = &mut *live::input_of(job.buffer);
        let tally = if args.how.committed {
            let listener = (listener, listing::Nothing);
            listing::decode(job, bytes, &options, listener, &mut None, |(own, ())| write(own))?.1
        } else {
            run::run(job.session()?, job.buffer, bytes, listener, &options, write)?.1
        };
        let own = job.sources.iter().zip(all).filter(|(_, flows)| !flows.text.is_empty());
        if let Ok(mut found) = found.lock() {
            found.extend(own.map(|(source, flows)| {
                (n, format!("{} of {}", source.name, job.buffer.name), flows)
            }));
        }
        Ok(tally)
    };
    let problems = listing::buffers(input, &args.threads.jobs(), &mut output, &runs, work)?;
    input.decodable()?;
    if let Some(running) = running {
        running.check()?;
    }
    let mut found = found.into_inner().unwrap_or_default();
    found.sort_by_key(|(n, ..)| *n);
    if found.len() > 1 {
        let names: Vec<String> =
            found.iter().map(|(_, name, _)| plain::line(name).into()).collect();
        return refused(&format!(
            "the format has one processor, and instructions are in {}; select one with --source, or \
             with --id of raw trace data",
            names.join(", ")
        ));
    }
    output.print(HEADER)?;
    if let Some((.., flows)) = found.first() {
        output.print(&flows.text)?;
        if flows.omitted > 0 {
            message::line(&format!(
                "note: what was executed directly before {} losses of trace is left out, as the format \
                 would have a branch taken that was not",
                flows.omitted
            ));
        }
    }
    output.close()?;
    Ok(problems.answer(input, args.outcome.strict) && !input.is_contradicted())
}
