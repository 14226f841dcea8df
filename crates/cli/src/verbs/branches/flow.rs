//! Changes of flow in the format of TRACE32.

use std::collections::BTreeSet;
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

/// What was written.
#[derive(Default)]
struct Found {
    /// The sources that have changes of flow: the buffer, and the position in it.
    sources: BTreeSet<(usize, usize)>,
    /// Ranges of which a part is left out.
    omitted: u64,
}

impl Found {
    /// The next lines of a source, behind those of the file before the first of them.
    fn written(&mut self, source: (usize, usize), flows: Flows) -> String {
        self.omitted += flows.omitted;
        let begins = self.sources.is_empty();
        self.sources.insert(source);
        if begins { HEADER.to_owned() + &flows.text } else { flows.text }
    }
}

/// Writes the changes of flow of the only source with instructions, as it is decoded. Where there
/// is a second one, the command fails, and what was written before is no whole file.
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
    let found = Mutex::new(Found::default());
    let work = |n: usize, job: &Job<'_>, jobs: Jobs, out: &mut listing::Write<'_>| {
        let options = runs.options(jobs);
        let own =
            running.map(|tasks| tasks.counted(job, &options, options.selected)).transpose()?;
        let options = RunOptions { selected: own.as_ref().or(options.selected), ..options };
        let mut write = |parts: Vec<Flows>| {
            let own = parts.into_iter().enumerate().filter(|(_, part)| !part.text.is_empty());
            let mut text = String::new();
            if let Ok(mut found) = found.lock() {
                for (source, part) in own {
                    text += &found.written((n, source), part);
                }
                // Where there are several, nothing more is written.
                text = if found.sources.len() > 1 { String::new() } else { text };
            }
            text.is_empty() || out(text.into_bytes())
        };
        let listener = BranchFlow::new(job.sources.len());
        let bytes = &mut *live::input_of(job.buffer);
        if args.how.committed {
            let (listener, write) = ((listener, listing::Nothing), |(own, ())| write(own));
            return Ok(listing::decode(job, bytes, &options, listener, &mut None, write)?.1);
        }
        Ok(run::run(job.session()?, job.buffer, bytes, listener, &options, write)?.1)
    };
    let problems = listing::buffers(input, &args.threads.jobs(), &mut output, &runs, work)?;
    input.decodable()?;
    if let Some(running) = running {
        running.check()?;
    }
    let Found { sources, omitted } = found.into_inner().unwrap_or_default();
    if sources.len() > 1 {
        let names = sources.into_iter().map(|(n, source)| {
            let job = input.job(input.buffers[n]);
            let name = job.sources.get(source).map_or("", |source| &source.name);
            plain::line(&format!("{name} of {}", job.buffer.name)).into_owned()
        });
        return refused(&format!(
            "the format has one processor, and instructions are in {}; select one with --source, or \
             with --id of raw trace data",
            names.collect::<Vec<String>>().join(", ")
        ));
    }
    if sources.is_empty() {
        output.print(HEADER)?;
    }
    if omitted > 0 {
        message::line(&format!(
            "note: what was executed directly before {omitted} losses of trace is left out, as the \
             format would have a branch taken that was not"
        ));
    }
    output.close()?;
    Ok(problems.answer(input, args.outcome.strict) && !input.is_contradicted())
}
