//! Listings of packets and elements in every format.

mod buffers;
mod opencsd;

use tracewright::Listener;
use tracewright::base::Batch;
use tracewright::decode::input::Input as Bytes;
use tracewright::decode::{
    CommittedListener, Folded, Fork, Jobs, Merge, Merging, Size, Tally, Timed, Wants,
};
use tracewright::frames::Numbering;
use tracewright::image::OpcodeCheck;
use tracewright::opencsd::Shown;
use tracewright::views::{Stats, json, text};

pub use self::buffers::{
    Found, Listed, Problems, TimedWrite, Write, buffers, listed_buffers, timed_series,
};
use self::opencsd::OpencsdBuffer;
use crate::args::{Format, OutputArgs, SelectArgs, WindowArgs};
use crate::fail::Fail;
use crate::index::{self, Selected};
use crate::input::{Input, Job};
use crate::live;
use crate::output::Output;
use crate::report;
use crate::run::{self, RunOptions, Runs};
use crate::select;

/// The contents of a listing.
#[derive(Clone, Copy, Debug)]
pub struct Contents {
    /// The verb of the command line.
    pub verb: &'static str,
    /// The contents in OpenCSD's format.
    pub opencsd: Shown,
    /// The contents in the other formats.
    pub text: text::Shown,
    /// In the other formats, ranges of an ETMv3 are joined up to the next waypoint.
    pub folded: bool,
}

/// Finds the part of a buffer that is listed, of the part that is selected.
pub type Narrow<'a> =
    dyn Fn(&Job<'_>, &RunOptions<'_>, Option<&Selected>) -> Result<Selected, Fail> + Sync + 'a;

/// The part of a trace that is listed.
#[derive(Clone, Copy)]
pub struct PartArgs<'a> {
    /// What is inside.
    pub window: &'a WindowArgs,
    /// What is listed of it, where that depends on the buffer.
    pub narrow: Option<&'a Narrow<'a>>,
}

/// Lists the buffers of `input`. Returns whether the command succeeds.
pub fn list(
    what: Contents,
    mut input: Input,
    committed: bool,
    jobs: &Jobs,
    args: &OutputArgs,
    part: PartArgs<'_>,
    select: &SelectArgs,
) -> Result<bool, Fail> {
    if args.format == Format::Opencsd {
        input.change(|options| {
            options.numbering = Numbering::Opencsd;
            if options.check_opcodes == OpcodeCheck::default() {
                options.check_opcodes = OpcodeCheck::Off;
            }
        });
    }
    report::notes(&input);
    input.readable(args.outcome.strict)?;
    let selected = match args.format {
        Format::Opencsd => opencsd::selected(&input, part.window, args.errors.most(), committed)?,
        _ => Selected::open(&input, Some(part.window), committed)?,
    };
    let text::Shown { packets, elements, .. } = what.text;
    select::check(select, select::Listed { packets, elements }, &input)?;
    let inputs = index::inputs(&input, &part.window.index);
    let mut output = Output::open(args.outcome.output.as_deref(), &inputs)?;
    if args.format == Format::Json {
        output.json(&json::head(what.verb))?;
    }
    input.show_lines(select.lines);
    let colour = output.colour();
    // OpenCSD's format has a heading for each buffer.
    let by_time = match args.format {
        Format::Text | Format::Json => timed_series(&input),
        Format::Opencsd | Format::None => None,
    };
    let count = input.buffers.len();
    let runs = Runs::new(count, committed, selected.as_ref()).stop_after(args.errors.most());
    let runs = runs.of_part(part.narrow.is_some());
    let lister = Lister { what, args, select, count, colour, timed: by_time.is_some() };
    let work = |n: usize, job: &Job<'_>, jobs: Jobs, write: &mut TimedWrite<'_>| {
        let options = runs.options(jobs);
        let own = part.narrow.map(|narrow| narrow(job, &options, options.selected)).transpose()?;
        let selected = own.as_ref().or(options.selected);
        lister.list(n, job, &RunOptions { selected, ..options }, write)
    };
    let heading = |n: usize| lister.heading(n, &input);
    let listed = Listed {
        heading: &heading,
        summary: args.format == Format::None,
        by_time,
        limit: select.limit,
        ends_with_summary: args.format == Format::Text,
        explains_nothing: args.format != Format::None
            && (selected.is_some() || part.narrow.is_some() || select.filters()),
    };
    let problems = listed_buffers(&input, jobs, &mut output, listed, &runs, work)?;
    input.decodable()?;
    output.close()?;
    Ok(report::is_traced(&input) && !input.is_contradicted() && !problems.fail(args.outcome.strict))
}

/// How buffers are listed.
struct Lister<'a> {
    what: Contents,
    args: &'a OutputArgs,
    select: &'a SelectArgs,
    /// The number of buffers.
    count: usize,
    /// The text is in colour.
    colour: bool,
    /// Timestamps are recorded.
    timed: bool,
}

impl Lister<'_> {
    /// The text before the entries of the buffer with number `n`.
    fn heading(&self, n: usize, input: &Input) -> String {
        match self.args.format {
            Format::Opencsd => self.opencsd(n, &input.job(input.buffers[n])).listed().head(),
            Format::Json => input.job(input.buffers[n]).json(),
            Format::Text | Format::None => String::new(),
        }
    }

    /// Lists the buffer of `job`, which has number `n`, to `write`.
    fn list(
        &self,
        n: usize,
        job: &Job<'_>,
        options: &RunOptions<'_>,
        write: &mut TimedWrite<'_>,
    ) -> Result<Found, Fail> {
        let bytes = &mut *live::input_of(job.buffer);
        let mut stats = self.args.stats.then(Stats::default);
        let mut end = String::new();
        let tally = match self.args.format {
            Format::Opencsd => {
                let filter = select::filter(self.select, job)?;
                let write = &mut |text: Vec<u8>| write(text.into());
                let buffer = self.opencsd(n, job);
                let (tally, lines) = buffer.list(bytes, options, filter, &mut stats, write)?;
                end = lines;
                tally
            }
            Format::Text => {
                let view = self.text(job)?;
                list_entries(job, bytes, options, self.folded(job, view), &mut stats, write)?
            }
            Format::Json => {
                let view = self.folded(job, self.json(job)?);
                let tally = list_entries(job, bytes, options, view, &mut stats, write)?;
                // The summary has the counts.
                let stats = stats.take();
                end = json::summary(job.sources, &job.buffer.name, &tally, stats.as_ref());
                tally
            }
            Format::None => decode(job, bytes, options, Nothing, &mut stats, |()| true)?.1,
        };
        Ok(Found { tally, stats, end })
    }

    fn opencsd<'b>(&self, n: usize, job: &'b Job<'b>) -> OpencsdBuffer<'b> {
        OpencsdBuffer { job, n, count: self.count, shown: self.what.opencsd }
    }

    fn text(&self, job: &Job<'_>) -> Result<text::Listing<Vec<u8>>, Fail> {
        let shown = text::Shown { colour: self.colour, ..self.what.text };
        let (sources, len) = (job.sources.to_vec(), job.buffer.size());
        let view = text::Listing::new(Vec::new(), sources, len, shown);
        let view = view.with_limit(job.range_limit());
        Ok(view.with_filter(select::filter(self.select, job)?))
    }

    /// Without the line of the buffer, which is its heading.
    fn json(&self, job: &Job<'_>) -> Result<json::Listing<Vec<u8>>, Fail> {
        let text::Shown { packets, elements, fields, .. } = self.what.text;
        let shown = json::Shown { packets, fields, elements };
        let (name, len, sources) = (&job.buffer.name, job.buffer.size(), job.sources.to_vec());
        let mut view = json::Listing::new(Vec::new(), job.plan, sources, name, len, shown);
        view.take();
        let view = view.with_limit(job.range_limit());
        Ok(view.with_filter(select::filter(self.select, job)?))
    }

    fn folded<L: Listener + Fork<Output = Vec<u8>>>(
        &self,
        job: &Job<'_>,
        view: L,
    ) -> Folded<Timed<L>> {
        Folded::when(self.what.folded, job.plan, Timed::when(self.timed, view))
    }
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

/// Ignores all elements.
pub struct Nothing;

impl Fork for Nothing {
    type State = ();
    type Output = ();

    fn fork(&self) -> Self {
        Nothing
    }

    fn state(&self) {}

    fn resume(&mut self, (): ()) {}

    fn take(&mut self) {}

    fn size(&self) -> Size {
        Size::FIXED
    }
}

impl Listener for Nothing {
    fn element(&mut self, _: usize, _: u64, _: tracewright::Element) {}

    fn batch(&mut self, _: &Batch<'_>) {}

    fn wants(&self) -> Wants {
        Wants::ANY_ORDER
    }
}
