//! Listings of packets and elements in every format.

use std::sync::atomic::{AtomicUsize, Ordering};

use tracewright::Listener;
use tracewright::decode::input::{self, Input as Bytes};
use tracewright::decode::ordered::{self, Part};
use tracewright::decode::{CommittedListener, Fork, Jobs, Merge, Merging, Tally};
use tracewright::frames::Numbering;
use tracewright::image::OpcodeCheck;
use tracewright::views::{Stats, json, opencsd, text};

use crate::args::{Format, OutputArgs, WindowArgs};
use crate::fail::Fail;
use crate::index::Selected;
use crate::input::{Input, Job};
use crate::message;
use crate::output::Output;
use crate::report;
use crate::run::{self, RunOptions, SelectedPart};

/// The contents of a listing.
#[derive(Clone, Copy, Debug)]
pub struct What {
    /// The verb of the command line.
    pub verb: &'static str,
    /// The contents in OpenCSD's format.
    pub opencsd: opencsd::Shown,
    /// The contents in the other formats.
    pub text: text::Shown,
}

/// Lists the buffers of `input`. Returns whether the command succeeds.
pub fn list(
    what: What,
    mut input: Input,
    committed: bool,
    jobs: &Jobs,
    args: &OutputArgs,
    window: Option<&WindowArgs>,
) -> Result<bool, Fail> {
    if args.format == Format::Opencsd {
        input.options.numbering = Numbering::Opencsd;
        if input.options.check_opcodes == OpcodeCheck::default() {
            input.options.check_opcodes = OpcodeCheck::Off;
        }
    }
    report::notes(&input);
    input.readable(args.strict)?;
    let selected = Selected::open(&input, window, committed)?;
    let mut output = Output::open(args.output.as_deref(), &input.inputs)?;
    if args.format == Format::Json {
        output.json(&json::head(what.verb))?;
    }
    let alone = input.buffers.len() == 1;
    let colour = output.colour();
    let refused = &AtomicUsize::new(0);
    let work = |n: usize, job: &Job<'_>, jobs: Jobs, write: &mut Write<'_>| {
        let options = RunOptions { committed, jobs, alone, refused };
        let part = selected.as_ref().map(|selected| SelectedPart { selected, parts: None });
        let bytes = &mut *input::of(job.buffer);
        let mut stats = args.stats.then(Stats::default);
        let tally = match args.format {
            Format::Opencsd => {
                let listed = opencsd::ListedBuffer {
                    plan: &job.plan,
                    number: n + 1,
                    count: input.buffers.len(),
                    name: &job.buffer.name,
                    packets: what.opencsd.packets,
                };
                let mut bytes = input::Counting::new(bytes);
                write(listed.head().into_bytes());
                let view = opencsd::Listing::new(Vec::new(), &job.plan, what.opencsd, n > 0);
                let (view, tally) =
                    decode_part(job, &mut bytes, &options, part, view, &mut stats, &mut *write)?;
                write(view.rest());
                write(listed.end(bytes.taken()).into_bytes());
                tally
            }
            Format::Text => {
                let shown = text::Shown { colour, ..what.text };
                let len = job.buffer.size();
                let view = text::Listing::new(Vec::new(), job.sources.clone(), len, shown);
                decode_part(job, bytes, &options, part, view, &mut stats, write)?.1
            }
            Format::Json => {
                let text::Shown { packets, elements, fields, .. } = what.text;
                let shown = json::Shown { packets, fields, elements };
                let (name, len) = (&job.buffer.name, job.buffer.size());
                let sources = job.sources.clone();
                let view = json::Listing::new(Vec::new(), &job.plan, sources, name, len, shown);
                let (_, tally) =
                    decode_part(job, bytes, &options, part, view, &mut stats, &mut *write)?;
                write(json::summary(&job.sources, name, &tally, stats.as_ref()).into_bytes());
                tally
            }
            // Without other listeners, counting has a fast path.
            Format::None if stats.is_none() && !committed => {
                let mut session = job.session()?;
                match part {
                    Some(part) => run::run_part(session, job.buffer, Nothing, part, |()| true)?.1,
                    None => {
                        let session = &mut session;
                        run::run(session, job.buffer, bytes, Nothing, &options, |()| true)?.1
                    }
                }
            }
            Format::None => {
                decode_part(job, bytes, &options, part, Nothing, &mut stats, |()| true)?.1
            }
        };
        Ok((tally, stats.filter(|_| args.format != Format::Json)))
    };
    let summary = args.format == Format::None;
    let problems = buffers(&input, jobs, &mut output, summary, refused, selected.is_some(), work)?;
    input.decodable()?;
    output.close()?;
    Ok(input.is_unchanged() && !(args.strict && problems))
}

/// Receives the output of a listing, and returns whether more is needed.
pub type Write<'a> = dyn FnMut(Vec<u8>) -> bool + 'a;

/// Lists the buffers of `input` to `output`, several of them at once, each by `work`, and prints
/// the summary of each: to `output` if `summary`, else to standard error. `refused` is that of the
/// [`RunOptions`]; `selected`: a part of the trace is. Returns whether there were problems.
pub fn buffers<W>(
    input: &Input,
    jobs: &Jobs,
    output: &mut Output,
    summary: bool,
    refused: &AtomicUsize,
    selected: bool,
    work: W,
) -> Result<bool, Fail>
where
    W: Fn(usize, &Job<'_>, Jobs, &mut Write<'_>) -> Result<(Tally, Option<Stats>), Fail> + Sync,
{
    let size = |&buffer: &usize| input.capture.buffers[buffer].size();
    let all: u64 = input.buffers.iter().filter_map(size).sum();
    let work = |n: usize, buffer: &usize, write: &mut Write<'_>| {
        // A buffer larger than the share of a thread, or of unknown size, is decoded by all
        // threads.
        let large = size(buffer).is_none_or(|size| size > all / jobs.count as u64);
        let count = if large { jobs.count } else { 1 };
        work(n, &input.job(*buffer), Jobs { count, ..jobs.clone() }, write)
    };
    let (mut problems, mut done) = (false, Ok(()));
    let threads = ordered::each(jobs.count, &input.buffers, work, |n, part| {
        let found = match part {
            Part::Output(bytes) => return output.put(&bytes),
            Part::Done(found) => found,
        };
        done = output.failed().and(found).and_then(|(tally, stats)| {
            problems |= tally.flawed();
            if output.closed() {
                return Ok(());
            }
            let job = input.job(input.buffers[n]);
            report::found(
                &job.decoded(&tally),
                stats.as_ref(),
                summary.then_some(&mut *output),
                selected,
            )
        });
        done.is_ok() && !output.closed()
    });
    let threads = threads.or(match refused.load(Ordering::Relaxed) {
        0 => None,
        threads => Some(threads),
    });
    if let Some(threads) = threads {
        message::threads(jobs.count, threads);
    }
    done?;
    // The reader may have closed the output within a buffer.
    output.failed()?;
    Ok(problems)
}

/// Decodes `bytes` of `job` to `view`, which is returned in its final state.
pub fn decode<L: Listener + Fork + Send>(
    job: &Job<'_>,
    bytes: &mut dyn Bytes,
    options: &RunOptions<'_>,
    view: L,
    write: impl FnMut(L::Output) -> bool,
) -> Result<(L, Tally), Fail> {
    let view = CommittedListener::when(options.committed, view);
    let session = &mut job.session()?;
    let (view, tally) = run::run(session, job.buffer, bytes, view, options, write)?;
    Ok((view.listener, tally))
}

/// As [`decode`], of `part`, or of the whole buffer for `None`, with counts for `stats`.
fn decode_part<L: Listener + Fork + Send>(
    job: &Job<'_>,
    bytes: &mut dyn Bytes,
    options: &RunOptions<'_>,
    part: Option<SelectedPart<'_>>,
    view: L,
    stats: &mut Option<Stats>,
    mut write: impl FnMut(L::Output) -> bool,
) -> Result<(L, Tally), Fail> {
    let mut session = job.session()?;
    let both = (view, stats.is_some().then(|| Merging(Stats::default())));
    let write = |(output, kinds)| {
        stats.merge(kinds);
        write(output)
    };
    let both = CommittedListener::when(options.committed, both);
    let (both, tally) = match part {
        Some(part) => run::run_part(session, job.buffer, both, part, write)?,
        None => run::run(&mut session, job.buffer, bytes, both, options, write)?,
    };
    Ok((both.listener.0, tally))
}

/// Ignores all elements.
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

impl Listener for Nothing {
    const PACKETS: bool = false;

    fn element(&mut self, _: usize, _: u64, _: tracewright::Element) {}

    fn repeat(&mut self, _: usize, _: u64, _: tracewright::base::Range, _: u32) {}

    fn repeat_path(&mut self, _: usize, _: u64, _: &[tracewright::base::Range], _: u64) {}
}
