//! `tracewright instructions`

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tracewright::base::Range;
use tracewright::decode::{CommittedListener, Fork, Jobs, Tally, input};
use tracewright::views::instructions::{Expand, Json, Pcs, Slice, Step, Steps, Text};
use tracewright::views::json;

use crate::args::{InstructionFormat, InstructionsArgs};
use crate::fail::Fail;
use crate::index::Selected;
use crate::input::{Input, Job};
use crate::listing::{self, Write};
use crate::output::Output;
use crate::report;
use crate::run::{self, RunOptions, SelectedPart};

/// Runs the verb.
pub fn run(args: &InstructionsArgs) -> Result<bool, Fail> {
    let input = Input::open(&args.input, Some(&args.how))?;
    let format = args.output.format;
    report::notes(&input);
    input.readable(args.output.strict)?;
    let selected = Selected::open(&input, Some(&args.window), args.how.committed)?;
    let mut output = Output::open(args.output.output.as_deref(), &input.inputs)?;
    if format == InstructionFormat::Json {
        output.json(&json::head("instructions"))?;
    }
    let (colour, alone) = (output.colour(), input.buffers.len() == 1);
    let refused = &AtomicUsize::new(0);
    // Counts of instructions, and of software writes and data accesses.
    let (instructions, data) = (AtomicU64::new(0), AtomicU64::new(0));
    let work = |_: usize, job: &Job<'_>, jobs: Jobs, write: &mut Write<'_>| {
        let parts = &selected.as_ref().and_then(Selected::parts);
        let part = |selected| SelectedPart { selected, parts: parts.as_ref() };
        let part = selected.as_ref().map(part);
        let options = RunOptions { committed: args.how.committed, jobs, alone, refused };
        let sources = job.sources.clone();
        let tally = match format {
            InstructionFormat::Text => {
                expand(job, &options, part, Text::new(Vec::new(), sources, colour), write)?
            }
            InstructionFormat::Json => {
                let (name, len) = (&job.buffer.name, job.buffer.size());
                let view = Json::new(Vec::new(), &job.plan, sources, name, len);
                let tally = expand(job, &options, part, view, &mut *write)?;
                write(json::summary(&job.sources, name, &tally, None).into_bytes());
                tally
            }
            InstructionFormat::Pc => expand(job, &options, part, Pcs::new(Vec::new()), write)?,
            InstructionFormat::None => expand(job, &options, part, Nothing, |()| true)?,
        };
        for counts in &tally.sources {
            instructions.fetch_add(counts.instructions, Ordering::Relaxed);
            data.fetch_add(
                counts.software_writes + counts.dwt_events + counts.data_accesses,
                Ordering::Relaxed,
            );
        }
        Ok((tally, None))
    };
    let summary = format == InstructionFormat::None;
    let jobs = args.threads.jobs();
    let problems =
        listing::buffers(&input, &jobs, &mut output, summary, refused, selected.is_some(), work)?;
    input.decodable()?;
    output.close()?;
    if instructions.into_inner() == 0 && data.into_inner() > 0 {
        report::no_instructions();
    }
    Ok(input.is_unchanged() && !(args.output.strict && problems))
}

/// Decodes to instructions for `view`.
fn expand<V: Steps + Fork + Send>(
    job: &Job<'_>,
    options: &RunOptions<'_>,
    part: Option<SelectedPart<'_>>,
    view: V,
    write: impl FnMut(V::Output) -> bool,
) -> Result<Tally, Fail> {
    let mut session = job.session()?;
    let view = Slice::new(view, part.and_then(|part| part.parts));
    let expand = CommittedListener::when(options.committed, Expand::new(view, &job.sources));
    let (buffer, bytes) = (job.buffer, &mut *input::of(job.buffer));
    Ok(match part {
        Some(part) => run::run_part(session, buffer, expand, part, write)?.1,
        None => run::run(&mut session, buffer, bytes, expand, options, write)?.1,
    })
}

/// Ignores all instructions.
struct Nothing;

impl Fork for Nothing {
    type State = ();
    type Output = ();
    const GROWS: bool = false;

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

    fn unlisted(&mut self, _: usize, _: u64, _: &[Range], _: u64) -> bool {
        true
    }
}
