//! Packets, elements or both, in any format.

use tracewright::Listener;
use tracewright::decode::input::{self, Input as Bytes};
use tracewright::decode::{CommittedListener, Fork, Jobs, Merge, Merging, Tally};
use tracewright::frames::Numbering;
use tracewright::views::{Stats, json, opencsd, text};

use crate::args::{Format, HowArgs, InputArgs, JobsArgs, OutputArgs};
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
    threads: &JobsArgs,
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
    let how = How { committed: how.is_some_and(|how| how.committed), jobs: threads.jobs() };
    let mut flawed = false;
    for (n, &buffer) in input.buffers.iter().enumerate() {
        let job = input.job(buffer);
        let bytes = &mut *input::of(job.buffer);
        let mut stats = answer.stats.then(Stats::default);
        let tally = match answer.format {
            Format::Opencsd => {
                let view = opencsd::Listing::new(Vec::new(), &job.plan, what.opencsd, n > 0);
                let (view, tally) =
                    decode(&job, bytes, &how, view, &mut stats, |b| output.put(&b))?;
                output.put(&view.rest());
                tally
            }
            Format::Text => {
                let shown = text::Shown { colour: output.colour(), ..what.text };
                let len = job.buffer.size();
                let view = text::Listing::new(Vec::new(), job.sources.clone(), len, shown);
                decode(&job, bytes, &how, view, &mut stats, |b| output.put(&b))?.1
            }
            Format::Json => {
                let text::Shown { packets, elements, .. } = what.text;
                let shown = json::Shown { packets, elements };
                let (name, len) = (&job.buffer.name, job.buffer.size());
                let sources = job.sources.clone();
                let view = json::Listing::new(Vec::new(), &job.plan, sources, name, len, shown);
                let (_, tally) = decode(&job, bytes, &how, view, &mut stats, |b| output.put(&b))?;
                output.put(json::summary(&job.sources, name, &tally, stats.as_ref()).as_bytes());
                tally
            }
            Format::None => decode(&job, bytes, &how, Nothing, &mut stats, |()| true)?.1,
        };
        output.failed()?;
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

/// How to decode.
pub struct How {
    /// Transactions are held back until they are committed.
    pub committed: bool,
    pub jobs: Jobs,
}

/// Decodes `bytes` of `job` to `view`, which is left as it is at the end, and to `stats`.
pub fn decode<L: Listener + Fork + Send>(
    job: &Job<'_>,
    bytes: &mut dyn Bytes,
    how: &How,
    view: L,
    stats: &mut Option<Stats>,
    mut write: impl FnMut(L::Said) -> bool,
) -> Result<(L, Tally), Fail> {
    let session = job.session();
    let both = (view, stats.is_some().then(|| Merging(Stats::default())));
    let write = |(said, kinds)| {
        stats.merge(kinds);
        write(said)
    };
    let both = CommittedListener::when(how.committed, both);
    let (both, tally) = run::run(session, job.buffer, bytes, both, &how.jobs, write)?;
    Ok((both.listener.0, tally))
}

/// Lists nothing.
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

impl Listener for Nothing {
    fn element(&mut self, _: usize, _: u64, _: tracewright::Element) {}
}
