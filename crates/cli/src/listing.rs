//! Packets, elements or both, in any format.

use tracewright::Listener;
use tracewright::decode::{CommittedListener, Tally};
use tracewright::frames::Numbering;
use tracewright::views::{Stats, json, opencsd, text};

use crate::args::{Format, HowArgs, InputArgs, OutputArgs};
use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::output::Output;
use crate::{report, run};

/// What to list.
#[derive(Clone, Copy, Debug)]
pub struct What {
    /// The verb that asks for it.
    pub verb: &'static str,
    /// What is shown in the reference's words.
    pub opencsd: opencsd::Shown,
    /// The same for people.
    pub text: text::Shown,
}

/// Lists the buffers that `args` name. Returns whether the answer is positive.
pub fn list(
    what: What,
    args: &InputArgs,
    how: Option<&HowArgs>,
    answer: &OutputArgs,
) -> Result<bool, Fail> {
    let mut input = Input::open(args, how)?;
    if answer.format == Format::Opencsd {
        input.options.numbering = Numbering::Reference;
    }
    report::notes(&input);
    input.readable()?;
    let mut output = Output::open(answer.output.as_deref())?;
    if answer.format == Format::Json {
        output.print(&json::head(what.verb))?;
    }
    let committed = how.is_some_and(|how| how.committed);
    let mut flawed = false;
    for (n, &buffer) in input.buffers.iter().enumerate() {
        let job = input.job(buffer);
        let mut stats = answer.stats.then(Stats::default);
        let tally = match answer.format {
            Format::Opencsd => {
                let mut view = opencsd::Listing::new(&mut output, &job.plan, what.opencsd, n > 0);
                let tally = decode(&job, committed, &mut view, &mut stats);
                let done = view.finish();
                output.check(done)?;
                tally
            }
            Format::Text => {
                let shown = text::Shown { colour: output.colour(), ..what.text };
                let len = job.buffer.len();
                let mut view = text::Listing::new(&mut output, job.sources.clone(), len, shown);
                let tally = decode(&job, committed, &mut view, &mut stats);
                let done = view.finish();
                output.check(done)?;
                tally
            }
            Format::Json => {
                let text::Shown { packets, elements, .. } = what.text;
                let shown = json::Shown { packets, elements };
                let (name, len) = (&job.buffer.name, job.buffer.len());
                let sources = job.sources.clone();
                let mut view =
                    json::Listing::new(&mut output, &job.plan, sources, name, len, shown);
                let tally = decode(&job, committed, &mut view, &mut stats);
                let done = view.finish(&tally, stats.as_ref());
                output.check(done)?;
                tally
            }
            Format::None => decode(&job, committed, &mut Nothing, &mut stats),
        };
        flawed |= tally.flawed();
        if output.gone() {
            break;
        }
        let stats = stats.as_ref().filter(|_| answer.format != Format::Json);
        let summary = (answer.format == Format::None).then_some(&mut output);
        report::found(&job.decoded(&tally), stats, summary)?;
    }
    output.close()?;
    input.decodable()?;
    Ok(!(answer.strict && flawed))
}

fn decode<L: Listener>(
    job: &Job<'_>,
    committed: bool,
    view: &mut L,
    stats: &mut Option<Stats>,
) -> Tally {
    let session = job.session();
    let mut both = (view, stats.as_mut());
    if committed {
        run::run(session, job.buffer, &mut CommittedListener::new(both))
    } else {
        run::run(session, job.buffer, &mut both)
    }
}

/// Lists nothing.
struct Nothing;

impl Listener for Nothing {
    fn element(&mut self, _: usize, _: u64, _: tracewright::Element) {}
}
