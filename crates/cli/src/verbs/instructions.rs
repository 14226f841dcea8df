//! `tracewright instructions`

use std::sync::atomic::{AtomicU64, Ordering};

use tracewright::decode::{CommittedListener, Fork, Jobs, Tally, input};
use tracewright::views::instructions::{Expand, Json, Pcs, Step, Steps, Text};
use tracewright::views::json;

use crate::args::{InstructionFormat, InstructionsArgs};
use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::listing::{self, How, Write};
use crate::output::Output;
use crate::{report, run};

/// Runs it.
pub fn run(args: &InstructionsArgs) -> Result<bool, Fail> {
    let input = Input::open(&args.input, Some(&args.how))?;
    let format = args.output.format;
    report::notes(&input);
    input.readable()?;
    let mut output = Output::open(args.output.output.as_deref())?;
    if format == InstructionFormat::Json {
        output.print(&json::head("instructions"))?;
    }
    let (colour, alone) = (output.colour(), input.buffers.len() == 1);
    // Instructions, and what is traced beside them.
    let (ran, beside) = (AtomicU64::new(0), AtomicU64::new(0));
    let work = |_: usize, job: &Job<'_>, jobs: Jobs, write: &mut Write<'_>| {
        let how = How { committed: args.how.committed, jobs, alone };
        let sources = job.sources.clone();
        let tally = match format {
            InstructionFormat::Text => {
                expand(job, &how, Text::new(Vec::new(), sources, colour), write)?
            }
            InstructionFormat::Json => {
                let (name, len) = (&job.buffer.name, job.buffer.size());
                let view = Json::new(Vec::new(), &job.plan, sources, name, len);
                let tally = expand(job, &how, view, &mut *write)?;
                write(json::summary(&job.sources, name, &tally, None).into_bytes());
                tally
            }
            InstructionFormat::Pc => expand(job, &how, Pcs::new(Vec::new()), write)?,
            InstructionFormat::None => expand(job, &how, Nothing, |()| true)?,
        };
        for counts in &tally.sources {
            ran.fetch_add(counts.instructions, Ordering::Relaxed);
            beside.fetch_add(counts.software_writes + counts.data_accesses, Ordering::Relaxed);
        }
        Ok((tally, None))
    };
    let summary = format == InstructionFormat::None;
    let flawed = listing::buffers(&input, &args.threads.jobs(), &mut output, summary, work)?;
    output.close()?;
    input.decodable()?;
    if ran.into_inner() == 0 && beside.into_inner() > 0 {
        report::no_instructions();
    }
    Ok(!(args.output.strict && flawed))
}

/// Decodes to instructions, and those to `view`.
fn expand<V: Steps + Fork + Send>(
    job: &Job<'_>,
    how: &How,
    view: V,
    write: impl FnMut(V::Output) -> bool,
) -> Result<Tally, Fail> {
    let (session, expand) = (job.session()?, Expand::new(view, &job.sources));
    let expand = CommittedListener::when(how.committed, expand);
    Ok(run::run(session, job.buffer, &mut *input::of(job.buffer), expand, how, write)?.1)
}

/// Shows nothing.
struct Nothing;

impl Fork for Nothing {
    type State = ();
    type Output = ();

    fn fork(&self) -> Self {
        Nothing
    }

    fn state(&self) {}

    fn resume(&mut self, (): ()) {}

    fn take(&mut self) {}
}

impl Steps for Nothing {
    const OPCODES: bool = false;

    fn step(&mut self, _: usize, _: u64, _: &Step) {}
}
