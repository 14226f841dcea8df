//! Packets, elements or both, in any format.

use tracewright::Listener;
use tracewright::decode::input::{self, Input as Bytes};
use tracewright::decode::ordered::{self, Part};
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
        input.options.numbering = Numbering::Opencsd;
    }
    report::notes(&input);
    input.readable()?;
    let mut output = Output::open(answer.output.as_deref())?;
    if answer.format == Format::Json {
        output.print(&json::head(what.verb))?;
    }
    let committed = how.is_some_and(|how| how.committed);
    let alone = input.buffers.len() == 1;
    let colour = output.colour();
    let work = |n: usize, job: &Job<'_>, jobs: Jobs, write: &mut Write<'_>| {
        let how = How { committed, jobs, alone };
        let bytes = &mut *input::of(job.buffer);
        let mut stats = answer.stats.then(Stats::default);
        let tally = match answer.format {
            Format::Opencsd => {
                let view = opencsd::Listing::new(Vec::new(), &job.plan, what.opencsd, n > 0);
                let (view, tally) = decode(job, bytes, &how, view, &mut stats, &mut *write)?;
                write(view.rest());
                tally
            }
            Format::Text => {
                let shown = text::Shown { colour, ..what.text };
                let len = job.buffer.size();
                let view = text::Listing::new(Vec::new(), job.sources.clone(), len, shown);
                decode(job, bytes, &how, view, &mut stats, write)?.1
            }
            Format::Json => {
                let text::Shown { packets, elements, .. } = what.text;
                let shown = json::Shown { packets, elements };
                let (name, len) = (&job.buffer.name, job.buffer.size());
                let sources = job.sources.clone();
                let view = json::Listing::new(Vec::new(), &job.plan, sources, name, len, shown);
                let (_, tally) = decode(job, bytes, &how, view, &mut stats, &mut *write)?;
                write(json::summary(&job.sources, name, &tally, stats.as_ref()).into_bytes());
                tally
            }
            // Nothing is in the way of what is only counted.
            Format::None if stats.is_none() && !committed => {
                run::run(job.session()?, job.buffer, bytes, Nothing, &how, |()| true)?.1
            }
            Format::None => decode(job, bytes, &how, Nothing, &mut stats, |()| true)?.1,
        };
        Ok((tally, stats.filter(|_| answer.format != Format::Json)))
    };
    let summary = answer.format == Format::None;
    let flawed = buffers(&input, &threads.jobs(), &mut output, summary, work)?;
    output.close()?;
    input.decodable()?;
    Ok(!(answer.strict && flawed))
}

/// Takes what a listing says, and answers whether more is wanted.
pub type Write<'a> = dyn FnMut(Vec<u8>) -> bool + 'a;

/// Lists the buffers of `input` to `output`, several at once where there are several, each as `work` does, and says
/// what was found in each; in `output` where the `summary` is the answer. Returns whether something was flawed.
pub fn buffers<W>(
    input: &Input,
    jobs: &Jobs,
    output: &mut Output,
    summary: bool,
    work: W,
) -> Result<bool, Fail>
where
    W: Fn(usize, &Job<'_>, Jobs, &mut Write<'_>) -> Result<(Tally, Option<Stats>), Fail> + Sync,
{
    let size = |&buffer: &usize| input.capture.buffers[buffer].size();
    let all: u64 = input.buffers.iter().filter_map(size).sum();
    let work = |n: usize, buffer: &usize, write: &mut Write<'_>| {
        // One that is larger than a thread's share is shared out; so is one of which the size is not known.
        let large = size(buffer).is_none_or(|size| size > all / jobs.count as u64);
        let count = if large { jobs.count } else { 1 };
        work(n, &input.job(*buffer), Jobs { count, ..jobs.clone() }, write)
    };
    let (mut flawed, mut done) = (false, Ok(()));
    ordered::each(jobs.count, &input.buffers, work, |n, part| {
        let found = match part {
            Part::Output(bytes) => return output.put(&bytes),
            Part::Done(found) => found,
        };
        done = output.failed().and(found).and_then(|(tally, stats)| {
            flawed |= tally.flawed();
            if output.gone() {
                return Ok(());
            }
            let job = input.job(input.buffers[n]);
            report::found(&job.decoded(&tally), stats.as_ref(), summary.then_some(&mut *output))
        });
        done.is_ok() && !output.gone()
    });
    done?;
    // Who reads it may have gone before the end of a buffer.
    output.failed()?;
    Ok(flawed)
}

/// How to decode.
pub struct How {
    /// Transactions are held back until they are committed.
    pub committed: bool,
    pub jobs: Jobs,
    /// Nothing else is decoded at the same time: how far it is may be shown.
    pub alone: bool,
}

/// Decodes `bytes` of `job` to `view`, which is left as it is at the end, and to `stats`.
pub fn decode<L: Listener + Fork + Send>(
    job: &Job<'_>,
    bytes: &mut dyn Bytes,
    how: &How,
    view: L,
    stats: &mut Option<Stats>,
    mut write: impl FnMut(L::Output) -> bool,
) -> Result<(L, Tally), Fail> {
    let session = job.session()?;
    let both = (view, stats.is_some().then(|| Merging(Stats::default())));
    let write = |(said, kinds)| {
        stats.merge(kinds);
        write(said)
    };
    let both = CommittedListener::when(how.committed, both);
    let (both, tally) = run::run(session, job.buffer, bytes, both, how, write)?;
    Ok((both.listener.0, tally))
}

/// Lists nothing.
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

impl Listener for Nothing {
    const PACKETS: bool = false;

    fn element(&mut self, _: usize, _: u64, _: tracewright::Element) {}

    fn repeat(&mut self, _: usize, _: u64, _: tracewright::base::Range, _: u32) {}
}
