//! Listings of packets and elements in every format.

mod opencsd;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracewright::Listener;
use tracewright::base::{CachedBlocks, Path};
use tracewright::capture::Source;
use tracewright::decode::input::{self, Input as Bytes};
use tracewright::decode::interleaved;
use tracewright::decode::ordered::{self, Part};
use tracewright::decode::{
    CommittedListener, Folded, Fork, Jobs, Merge, Merging, Tally, Timed, TimedText,
};
use tracewright::frames::Numbering;
use tracewright::image::OpcodeCheck;
use tracewright::views::opencsd::Shown;
use tracewright::views::{Stats, json, text};

use crate::args::{Format, OutputArgs, SelectArgs, WindowArgs};
use crate::fail::Fail;
use crate::index::Selected;
use crate::input::{Input, Job};
use crate::message;
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
    let alone = input.buffers.len() == 1;
    let colour = output.colour();
    let refused = &AtomicUsize::new(0);
    let by_time = by_time(&input, args.format);
    let timed = by_time.is_some();
    let work = |n: usize, job: &Job<'_>, jobs: Jobs, write: &mut TimedWrite<'_>| {
        let options = RunOptions {
            committed,
            jobs,
            alone,
            refused,
            selected: selected.as_ref(),
            parts: None,
        };
        let bytes = &mut *input::of(job.buffer);
        let mut stats = args.stats.then(Stats::default);
        let tally = match args.format {
            Format::Opencsd => {
                let count = input.buffers.len();
                let buffer = opencsd::OpencsdBuffer { job, n, count, shown: what.opencsd, select };
                buffer.list(bytes, &options, &mut stats, &mut |text| write(text.into()))?
            }
            Format::Text => {
                let shown = text::Shown { colour, ..what.text };
                let len = job.buffer.size();
                let view = text::Listing::new(Vec::new(), job.sources.clone(), len, shown)
                    .with_filter(select::filter(select, job)?);
                let view = Folded::when(what.folded, &job.plan, Timed::when(timed, view));
                let (mut view, tally) =
                    decode(job, bytes, &options, view, &mut stats, &mut *write)?;
                view.finish();
                write(view.take());
                tally
            }
            Format::Json => {
                let text::Shown { packets, elements, fields, .. } = what.text;
                let shown = json::Shown { packets, fields, elements };
                let (name, len) = (&job.buffer.name, job.buffer.size());
                let sources = job.sources.clone();
                let view = json::Listing::new(Vec::new(), &job.plan, sources, name, len, shown)
                    .with_filter(select::filter(select, job)?);
                let view = Folded::when(what.folded, &job.plan, Timed::when(timed, view));
                let (mut view, tally) =
                    decode(job, bytes, &options, view, &mut stats, &mut *write)?;
                view.finish();
                write(view.take());
                let end = json::summary(&job.sources, name, &tally, stats.as_ref());
                write(end.into_bytes().into());
                tally
            }
            // Without other listeners, counting has a fast path.
            Format::None if stats.is_none() && !committed => {
                run::run(job.session()?, job.buffer, bytes, Nothing::<false>, &options, |()| true)?
                    .1
            }
            Format::None => decode(job, bytes, &options, Nothing::<true>, &mut stats, |()| true)?.1,
        };
        Ok((tally, stats.filter(|_| args.format != Format::Json)))
    };
    let listed = Listed {
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

/// Receives the output of a buffer, and returns whether more is needed.
pub type Write<'a> = dyn FnMut(Vec<u8>) -> bool + 'a;

/// Receives the output of a listing, and returns whether more is needed.
pub type TimedWrite<'a> = dyn FnMut(TimedText) -> bool + 'a;

/// What is printed of each buffer, and in which order.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// The summary of each buffer is output; otherwise it is printed to standard error.
    pub summary: bool,
    /// A part of the trace is selected.
    pub selected: bool,
    /// The buffers of each CPU or thread, as indices of the selected buffers: their output is in
    /// the order of timestamps. `None`: the output is in the order of the buffers.
    pub by_time: Option<Vec<Vec<usize>>>,
    /// The most lines of packets, elements and instructions; all for `None`.
    pub limit: Option<u64>,
    /// The summary of each buffer is printed to standard error also where there are no problems.
    pub ends_with_summary: bool,
    /// A note is printed where no packet, element or instruction is selected.
    pub explains_nothing: bool,
}

/// The buffers of each CPU or thread, where there are several, and all of their trace units trace
/// timestamps.
pub fn timed_series(input: &Input) -> Option<Vec<Vec<usize>>> {
    let linux = input.capture.linux.as_ref()?;
    let mut series = BTreeMap::new();
    for (n, &buffer) in input.buffers.iter().enumerate() {
        let part = linux.parts.get(buffer)?;
        series.entry(part.queue).or_insert_with(Vec::new).push(n);
    }
    if series.len() < 2 || series.len() > interleaved::MAX_SERIES {
        return None;
    }
    let mut sources = input.capture.sources.iter().filter(|source| !source.buffers.is_empty());
    sources.all(traces_time).then(|| series.into_values().collect())
}

/// Whether the registers of `source` enable timestamps: TRCCONFIGR.TS, ETMCR\[28].
fn traces_time(source: &Source) -> bool {
    let bit = |name, bit: u32| source.register(name).is_some_and(|value| value >> bit & 1 != 0);
    bit("TRCCONFIGR", 11) || bit("ETMCR", 28)
}

/// [`timed_series`] for a listing in `format`. That of OpenCSD has a heading for each buffer.
fn by_time(input: &Input, format: Format) -> Option<Vec<Vec<usize>>> {
    match format {
        Format::Text | Format::Json => timed_series(input),
        Format::Opencsd | Format::None => None,
    }
}

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
    let listed = Listed { summary, selected, ..Listed::default() };
    let work = |n: usize, job: &Job<'_>, jobs, write: &mut TimedWrite<'_>| {
        work(n, job, jobs, &mut |text| write(text.into()))
    };
    listed_buffers(input, jobs, output, listed, refused, work)
}

/// As [`buffers`], in the order of `listed`.
pub fn listed_buffers<W>(
    input: &Input,
    jobs: &Jobs,
    output: &mut Output,
    listed: Listed,
    refused: &AtomicUsize,
    work: W,
) -> Result<bool, Fail>
where
    W: Fn(usize, &Job<'_>, Jobs, &mut TimedWrite<'_>) -> Result<(Tally, Option<Stats>), Fail>
        + Sync,
{
    let Listed { summary, selected, by_time, mut limit, ends_with_summary, explains_nothing } =
        listed;
    let mut nothing = explains_nothing && limit != Some(0);
    let size = |&buffer: &usize| input.capture.buffers[buffer].size();
    let all: u64 = input.buffers.iter().filter_map(size).sum();
    let (mut problems, mut done) = (false, Ok(()));
    let mut receive = |n: usize, part: Part<Result<(Tally, Option<Stats>), Fail>>| {
        let found = match part {
            Part::Output(bytes) => {
                let (bytes, more) = limited(&bytes, &mut limit);
                nothing = nothing && !has_data(bytes);
                return output.put(bytes) && more;
            }
            Part::Done(found) => found,
        };
        done = output.failed().and(found).and_then(|(tally, stats)| {
            problems |= tally.flawed();
            if output.closed() {
                return Ok(());
            }
            let job = input.job(input.buffers[n]);
            let output = summary.then_some(&mut *output);
            let (decoded, always) = (job.decoded(&tally), ends_with_summary);
            if report::found(&decoded, stats.as_ref(), output, selected, always)? {
                input.contradicted.store(true, Ordering::Relaxed);
            }
            Ok(())
        });
        done.is_ok() && !output.closed()
    };
    let (mut threads, mut in_time, mut unordered) = (None, false, false);
    if let Some(series) = by_time {
        let count = (jobs.count / series.len()).max(1);
        let work = |&n: &usize, write: &mut TimedWrite<'_>| {
            work(n, &input.job(input.buffers[n]), Jobs { count, ..jobs.clone() }, write)
        };
        let run = interleaved::each(jobs.count, &series, work, |&n, part| receive(n, part));
        (in_time, unordered) = (run.is_ok(), run.is_err());
        if unordered {
            message::unordered(series.len());
        }
    }
    if !in_time {
        let work = |n: usize, buffer: &usize, write: &mut Write<'_>| {
            // A buffer larger than the share of a thread, or of unknown size, is decoded by all
            // threads.
            let large = size(buffer).is_none_or(|size| size > all / jobs.count as u64);
            let jobs = Jobs { count: if large { jobs.count } else { 1 }, ..jobs.clone() };
            work(n, &input.job(*buffer), jobs, &mut |text| write(text.text))
        };
        threads = ordered::each(jobs.count, &input.buffers, work, receive);
    }
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
    if nothing && !output.closed() {
        report::nothing_selected(input);
    }
    Ok(problems || unordered)
}

/// The lines of `bytes` within `limit`, which is reduced by them, and whether more are. Lines of
/// JSON about a buffer do not count.
fn limited<'a>(bytes: &'a [u8], limit: &mut Option<u64>) -> (&'a [u8], bool) {
    let Some(left) = limit else { return (bytes, true) };
    // Other text than JSON: whole lines are only counted while all are within the limit.
    if bytes.first() != Some(&b'{') && bytes.ends_with(b"\n") {
        let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
        if lines <= *left {
            *left -= lines;
            return (bytes, *left > 0);
        }
    }
    let mut end = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let about = [&b"{\"type\":\"buffer\""[..], b"{\"type\":\"summary\""];
        if !about.iter().any(|about| line.starts_with(about)) {
            if *left == 0 {
                return (bytes.get(..end).unwrap_or_default(), false);
            }
            *left -= 1;
        }
        end += line.len();
    }
    (bytes, *left > 0)
}

/// Whether `lines` are more than those about buffers.
fn has_data(lines: &[u8]) -> bool {
    const ABOUT: [&[u8]; 6] = [
        b"{\"type\":\"buffer\"",
        b"{\"type\":\"summary\"",
        b"Trace Packet Lister : ",
        b"####### ",
        b"ID:",
        b"\n",
    ];
    let mut lines = lines.split_inclusive(|&byte| byte == b'\n');
    lines.any(|line| !ABOUT.iter().any(|about| line.starts_with(about)))
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
