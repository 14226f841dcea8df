//! `tracewright instructions`

use tracewright::decode::{CommittedListener, Fork, Tally, input};
use tracewright::views::instructions::{Expand, Json, Pcs, Step, Steps, Text};
use tracewright::views::json;

use crate::args::{InstructionFormat, InstructionsArgs};
use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::listing::How;
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
    let how = How { committed: args.how.committed, jobs: args.threads.jobs() };
    let mut flawed = false;
    for &buffer in &input.buffers {
        let job = input.job(buffer);
        let sources = job.sources.clone();
        let colour = output.colour();
        let tally = match format {
            InstructionFormat::Text => {
                let view = Text::new(Vec::new(), sources, colour);
                expand(&job, &how, view, |bytes| output.put(&bytes))?
            }
            InstructionFormat::Json => {
                let (name, len) = (&job.buffer.name, job.buffer.size());
                let view = Json::new(Vec::new(), &job.plan, sources, name, len);
                let tally = expand(&job, &how, view, |bytes| output.put(&bytes))?;
                output.put(json::summary(&job.sources, name, &tally, None).as_bytes());
                tally
            }
            InstructionFormat::Pc => {
                expand(&job, &how, Pcs::new(Vec::new()), |bytes| output.put(&bytes))?
            }
            InstructionFormat::None => expand(&job, &how, Nothing, |()| true)?,
        };
        output.failed()?;
        flawed |= tally.flawed();
        if output.gone() {
            break;
        }
        let summary = (format == InstructionFormat::None).then_some(&mut output);
        report::found(&job.decoded(&tally), None, summary)?;
    }
    output.close()?;
    input.decodable()?;
    Ok(!(args.output.strict && flawed))
}

/// Decodes to instructions, and those to `view`.
fn expand<V: Steps + Fork + Send>(
    job: &Job<'_>,
    how: &How,
    view: V,
    write: impl FnMut(V::Said) -> bool,
) -> Result<Tally, Fail> {
    let (session, expand) = (job.session(), Expand::new(view, &job.sources));
    let expand = CommittedListener::when(how.committed, expand);
    Ok(run::run(session, job.buffer, &mut *input::of(job.buffer), expand, &how.jobs, write)?.1)
}

/// Shows nothing.
struct Nothing;

impl Fork for Nothing {
    type State = ();
    type Said = ();

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
