//! `tracewright branches`

mod flow;

use tracewright::decode::{CommittedListener, Jobs, Timed};
use tracewright::views::branches::Branches;
use tracewright::views::json;

use crate::args::{BranchesArgs, BranchesFormat};
use crate::contradictions;
use crate::fail::Fail;
use crate::index::{self, Selected};
use crate::input::{Input, Job};
use crate::listing::{self, Found, Listed, TimedWrite};
use crate::live;
use crate::output::Output;
use crate::recordings;
use crate::report;
use crate::run::{self, RunOptions, Runs};
use crate::tasks::WhileRunning;

/// Runs the verb.
pub fn run(args: &BranchesArgs) -> Result<bool, Fail> {
    let input = Input::open(&args.input, Some(&args.how))?;
    report::notes(&input);
    input.readable(args.outcome.strict)?;
    let selected = Selected::open(&input, Some(&args.window), args.how.committed)?;
    let path = args.input.path();
    let running = WhileRunning::new(&args.running, &input, args.how.committed, path)?;
    let inputs = index::inputs(&input, &args.window.index);
    let mut output = Output::open(args.outcome.output.as_deref(), &inputs)?;
    if args.format == BranchesFormat::Branchflow {
        return flow::write(args, &input, (selected.as_ref(), running.as_ref()), output);
    }
    let json = args.format == BranchesFormat::Json;
    if json {
        output.json(&json::head("branches"))?;
    }
    let only_itms = recordings::only(&input);
    if only_itms {
        report::no_branches();
    } else if !json {
        let jobs = args.threads.jobs();
        let known = contradictions::before(&input, args.how.committed, selected.as_ref(), &jobs)?;
        output.print(&known.text())?;
    }
    let runs = Runs::new(input.buffers.len(), args.how.committed, selected.as_ref())
        .of_part(running.is_some());
    let by_time = listing::timed_series(&input);
    let timed = by_time.is_some();
    let work = |_: usize, job: &Job<'_>, jobs: Jobs, write: &mut TimedWrite<'_>| {
        let options = runs.options(jobs);
        let own = running.as_ref().map(|tasks| tasks.counted(job, &options, options.selected));
        let own = own.transpose()?;
        let options = RunOptions { selected: own.as_ref().or(options.selected), ..options };
        let view = Branches::new(job.sources.to_vec(), job.buffer.size(), json);
        let view = CommittedListener::when(options.committed, Timed::when(timed, view));
        let bytes = &mut *live::input_of(job.buffer);
        let tally = run::run(job.session()?, job.buffer, bytes, view, &options, &mut *write)?.1;
        Ok(Found { tally, ..Found::default() })
    };
    let listed = Listed {
        heading: &|_| String::new(),
        summary: false,
        by_time,
        limit: args.limit,
        ends_with_summary: !json,
        explains_nothing: selected.is_some() || running.is_some(),
    };
    let jobs = args.threads.jobs();
    let problems = listing::listed_buffers(&input, &jobs, &mut output, listed, &runs, work)?;
    input.decodable()?;
    if let Some(running) = &running {
        running.check()?;
    }
    output.close()?;
    Ok(problems.answer(&input, args.outcome.strict) && !only_itms && !input.is_contradicted())
}
