//! `tracewright instructions`

use tracewright::decode::{CommittedListener, Tally};
use tracewright::views::instructions::{Expand, Json, Pcs, Step, Steps, Text};
use tracewright::views::json;

use crate::args::{InstructionFormat, InstructionsArgs};
use crate::fail::Fail;
use crate::input::{Input, Job};
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
    let committed = args.how.committed;
    let mut flawed = false;
    for &buffer in &input.buffers {
        let job = input.job(buffer);
        let sources = job.sources.clone();
        let colour = output.colour();
        let (tally, done) = match format {
            InstructionFormat::Text => {
                let (tally, view) =
                    expand(&job, committed, Text::new(&mut output, sources, colour));
                (tally, view.finish())
            }
            InstructionFormat::Json => {
                let (name, len) = (&job.buffer.name, job.buffer.len());
                let view = Json::new(&mut output, &job.plan, sources, name, len);
                let (tally, view) = expand(&job, committed, view);
                let done = view.finish(&tally);
                (tally, done)
            }
            InstructionFormat::Pc => {
                let (tally, view) = expand(&job, committed, Pcs::new(&mut output));
                (tally, view.finish())
            }
            InstructionFormat::None => (expand(&job, committed, Nothing).0, Ok(())),
        };
        output.check(done)?;
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

fn expand<V: Steps>(job: &Job<'_>, committed: bool, view: V) -> (Tally, V) {
    let mut expand = Expand::new(view, &job.sources);
    let session = job.session();
    let tally = if committed {
        run::run(session, job.buffer, &mut CommittedListener::new(&mut expand))
    } else {
        run::run(session, job.buffer, &mut expand)
    };
    (tally, expand.view)
}

/// Shows nothing.
struct Nothing;

impl Steps for Nothing {
    const OPCODES: bool = false;

    fn step(&mut self, _: usize, _: u64, _: &Step) {}
}
