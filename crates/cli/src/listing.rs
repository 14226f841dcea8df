//! Listings of packets and elements in every format.

mod buffers;
mod opencsd;

use std::sync::atomic::AtomicUsize;

use tracewright::Listener;
use tracewright::base::{CachedBlocks, Path};
use tracewright::decode::input::{self, Input as Bytes};
use tracewright::decode::{CommittedListener, Folded, Fork, Jobs, Merge, Merging, Tally, Timed};
use tracewright::frames::Numbering;
use tracewright::image::OpcodeCheck;
use tracewright::views::opencsd::Shown;
use tracewright::views::{Stats, json, text};

pub use self::buffers::{Found, Listed, TimedWrite, Write, buffers, listed_buffers, timed_series};
use self::opencsd::OpencsdBuffer;
use crate::args::{Format, OutputArgs, SelectArgs, WindowArgs};
use crate::fail::Fail;
use crate::index::Selected;
use crate::input::{Input, Job};
use crate::output::Output;
use crate::report;
use crate::run::{self, RunOptions};
use crate::select;

/// The contents of a listing.
#[derive(Clone, Copy, Debug)]
pub struct What {
    /// The verb of the command line.
    pub verb: &'static str,
    /// The contents in OpenCSD's format.
    pub opencsd: Shown,
    /// The contents in the other formats.
    pub text: text::Shown,
    /// In the other formats, ranges of an ETMv3 are joined up to the next waypoint.
    pub folded: bool,
}

/// Lists the buffers of `input`. Returns whether the command succeeds.
pub fn list(
    what: What,
    mut input: Input,
    committed: bool,
    jobs: &Jobs,
    args: &OutputArgs,
    window: Option<&WindowArgs>,
    select: &SelectArgs,
) -> Result<bool, Fail> {
    if args.format == Format::Opencsd {
        input.options.numbering = Numbering::Opencsd;
        if input.options.check_opcodes == OpcodeCheck::default() {
            input.options.check_opcodes = OpcodeCheck::Off;
        }
    }
    report::notes(&input);
    input.readable(args.strict)?;
    let selected = match args.format {
        Format::Opencsd => opencsd::selected(&input, window, committed)?,
        _ => Selected::open(&input, window, committed)?,
    };
    let text::Shown { packets, elements, .. } = what.text;
    select::check(select, select::Listed { packets, elements })?;
    let mut output = Output::open(args.output.as_deref(), &input.inputs)?;
    if args.format == Format::Json {
        output.json(&json::head(what.verb))?;
    }
    input.show_lines(select.lines);
    let colour = output.colour();
    let refused = &AtomicUsize::new(0);
    // OpenCSD's format has a heading for each buffer.
    let by_time = match args.format {
        Format::Text | Format::Json => timed_series(&input),
        Format::Opencsd | Format::None => None,
    };
    let timed = by_time.is_some();
    let count = input.buffers.len();
    let work = |n: usize, job: &Job<'_>, jobs: Jobs, write: &mut TimedWrite<'_>| {
        let options = RunOptions {
            committed,
            jobs,
            alone: count == 1,
            refused,
            selected: selected.as_ref(),
            parts: None,
        };
        let bytes = &mut *input::of(job.buffer);
        let mut stats = args.stats.then(Stats::default);
        let (tally, end) = match args.format {
            Format::Opencsd => {
                let buffer = OpencsdBuffer { job, n, count, shown: what.opencsd };
                let write = &mut |text: Vec<u8>| write(text.into());
                buffer.list(bytes, &options, select::filter(select, job)?, &mut stats, write)?
            }
            Format::Text => {
                let shown = text::Shown { colour, ..what.text };
                let len = job.buffer.size();
                let view = text::Listing::new(Vec::new(), job.sources.clone(), len, shown)
                    .with_filter(select::filter(select, job)?);
                let view = Folded::when(what.folded, &job.plan, Timed::when(timed, view));
                (list_entries(job, bytes, &options, view, &mut stats, write)?, String::new())
            }
            Format::Json => {
                let text::Shown { packets, elements, fields, .. } = what.text;
                let shown = json::Shown { packets, fields, elements };
                let (name, len) = (&job.buffer.name, job.buffer.size());
                let sources = job.sources.clone();
                let mut view = json::Listing::new(Vec::new(), &job.plan, sources, name, len, shown)
                    .with_filter(select::filter(select, job)?);
                // The line of the buffer is the heading.
                view.take();
                let view = Folded::when(what.folded, &job.plan, Timed::when(timed, view));
                let tally = list_entries(job, bytes, &options, view, &mut stats, write)?;
                // The summary has the counts.
                let end = json::summary(&job.sources, name, &tally, stats.take().as_ref());
                (tally, end)
            }
            // Without other listeners, counting has a fast path.
            Format::None if stats.is_none() && !committed => {
                let (session, nothing) = (job.session()?, Nothing::<false>);
                let (_, tally) =
                    run::run(session, job.buffer, bytes, nothing, &options, |()| true)?;
                (tally, String::new())
            }
            Format::None => {
                let nothing = Nothing::<true>;
                let (_, tally) = decode(job, bytes, &options, nothing, &mut stats, |()| true)?;
                (tally, String::new())
            }
        };
        Ok(Found { tally, stats, end })
    };
    let heading = |n: usize| match args.format {
        Format::Opencsd => {
            let job = &input.job(input.buffers[n]);
            OpencsdBuffer { job, n, count, shown: what.opencsd }.listed().head()
        }
        Format::Json => input.job(input.buffers[n]).json(),
        Format::Text | Format::None => String::new(),
    };
    let listed = Listed {
        heading: &heading,
        summary: args.format == Format::None,
        selected: selected.is_some(),
        by_time,
        limit: select.limit,
        ends_with_summary: args.format == Format::Text,
        explains_nothing: args.format != Format::None && (selected.is_some() || select.filters()),
    };
    let problems = listed_buffers(&input, jobs, &mut output, listed, refused, work)?;
    input.decodable()?;
    output.close()?;
    Ok(input.is_unchanged() && !input.is_contradicted() && !(args.strict && problems))
}

/// Lists `bytes` of `job` by `view` to `write`, and counts in `stats`.
fn list_entries<L: Listener + Fork<Output = Vec<u8>> + Send>(
    job: &Job<'_>,
    bytes: &mut dyn Bytes,
    options: &RunOptions<'_>,
    view: Folded<Timed<L>>,
    stats: &mut Option<Stats>,
    write: &mut TimedWrite<'_>,
) -> Result<Tally, Fail> {
    let (mut view, tally) = decode(job, bytes, options, view, stats, &mut *write)?;
    view.finish();
    write(view.take());
    Ok(tally)
}

/// Decodes `bytes` of `job` to `view`, which is returned in its final state, and to `stats`.
pub fn decode<L: Listener + Fork + Send>(
    job: &Job<'_>,
    bytes: &mut dyn Bytes,
    options: &RunOptions<'_>,
    view: L,
    stats: &mut Option<Stats>,
    mut write: impl FnMut(L::Output) -> bool,
) -> Result<(L, Tally), Fail> {
    let session = job.session()?;
    let both = (view, stats.is_some().then(|| Merging(Stats::default())));
    let write = |(output, kinds)| {
        stats.merge(kinds);
        write(output)
    };
    let both = CommittedListener::when(options.committed, both);
    let (both, tally) = run::run(session, job.buffer, bytes, both, options, write)?;
    Ok((both.listener.0, tally))
}

/// Ignores all elements: counting alone has a fast path. `ERASED`: a listener beside it is reached
/// through a pointer, as [`Listener::ERASED`] states. For combinations that are rarely used.
pub struct Nothing<const ERASED: bool>;

impl<const ERASED: bool> Fork for Nothing<ERASED> {
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

impl<const ERASED: bool> Listener for Nothing<ERASED> {
    const PACKETS: bool = false;
    const ERASED: bool = ERASED;
    const BRANCH_PATHS: bool = true;

    fn element(&mut self, _: usize, _: u64, _: tracewright::Element) {}

    fn path(&mut self, _: usize, _: u64, _: &Path, _: &CachedBlocks<'_>) {}

    fn repeat(&mut self, _: usize, _: u64, _: tracewright::base::Range, _: u32) {}

    fn repeat_path(&mut self, _: usize, _: u64, _: &[tracewright::base::Range], _: u64) {}
}
