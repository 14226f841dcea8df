//! Decodes a buffer, or the part of it that an index makes accessible, for a listener.

use std::io;
use std::ops::Range;

use tracewright::base::{self as base, Context, Element};
use tracewright::decode::{
    Event, Fork, Listener, Merge, Merging, Plan, Session, Tally, input, parallel,
};
use tracewright::index::build::{fill, from};
use tracewright::index::{Index, IndexedBuffer, Position, Segment, Window};
use tracewright::{DecodeError, Trace};

use crate::query::{Query, TableError};

/// Bytes that are decoded at a time. An index makes windows of the same steps.
const STEP: u64 = 1 << 12;
/// Blocks of code that each source may have in the segments of a window.
const BLOCKS: usize = 1 << 14;
/// Output of this many bytes is passed on.
const OUTPUT: usize = 1 << 20;

/// Segments between two runs that are decoded, as it takes as long to begin anew.
const BETWEEN: usize = 4;

/// What is known where decoding begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Begin {
    /// Elements and instructions before it.
    pub(crate) elements: u64,
    pub(crate) instructions: u64,
    /// By source: the last timestamp, and the context.
    pub(crate) times: Vec<Option<u64>>,
    pub(crate) contexts: Vec<Option<Context>>,
}

/// Receives what is decoded of a buffer.
pub(crate) trait Receive<O> {
    /// Decoding begins. `session` has the memory of each source.
    fn begin(&mut self, begin: Begin, session: &Session);

    /// Output of the listener. Returns whether more is wanted.
    fn output(&mut self, output: O) -> bool;
}

/// The executed code that is selected: what else is in a buffer does not matter. The default is
/// everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    /// The addresses of instructions.
    pub(crate) ranges: Option<Vec<Range<u64>>>,
    /// By source of the buffer: whether it is selected.
    pub(crate) sources: Option<Vec<bool>>,
}

impl Code {
    fn is_all(&self) -> bool {
        self.ranges.is_none() && self.sources.is_none()
    }
}

/// Decodes a buffer, in which the window of `query` is selected. The receiver may get what is
/// outside of the window, too.
pub(crate) fn buffer<L: Listener + Fork + Send>(
    trace: &Trace,
    plan: &Plan,
    part: (&Query, Option<&Index>),
    listener: L,
    receive: &mut dyn Receive<L::Output>,
) -> Result<Tally, TableError> {
    buffer_code(trace, plan, part, &Code::default(), listener, receive)
}

/// As [`buffer`]; with an index, what has none of `code` may be left out.
pub(crate) fn buffer_code<L: Listener + Fork + Send>(
    trace: &Trace,
    plan: &Plan,
    (query, index): (&Query, Option<&Index>),
    code: &Code,
    listener: L,
    receive: &mut dyn Receive<L::Output>,
) -> Result<Tally, TableError> {
    let Some(buffer) = trace.capture().buffers.get(plan.buffer) else {
        return Ok(Tally::default());
    };
    let failed = |error| DecodeError::Read { buffer: buffer.name.clone(), error };
    let mut session = trace.session(plan)?;
    let part = index.filter(|_| !(query.window.is_all() && code.is_all())).and_then(|index| {
        let own = index.buffers().iter().find(|own| own.number() == plan.buffer)?;
        let runs = runs((index, own), &query.window, code)?;
        // Damage is found where summaries of segments are read.
        own.damage().is_none().then_some((own, runs))
    });
    if let Some((index, runs)) = part {
        let mut part = Part { session: &mut session, buffer, query, index };
        return part.read(&runs, listener, receive).map_err(|error| failed(error).into());
    }
    receive.begin(Begin::default(), &session);
    let mut tally = Tally::default();
    let mut both = (listener, Merging(Tally::default()));
    let input = &mut *input::of(buffer);
    parallel::run(&mut session, input, &mut both, trace.jobs(), |(output, counts), _| {
        tally.merge(counts);
        !query.stop.is_set() && receive.output(output)
    })
    .map_err(failed)?;
    Ok(tally)
}

/// A part of a buffer that an index makes accessible.
struct Part<'a> {
    session: &'a mut Session,
    buffer: &'a tracewright::capture::Buffer,
    query: &'a Query,
    index: &'a IndexedBuffer,
}

impl Part<'_> {
    /// Decodes runs of segments.
    fn read<L: Listener + Fork>(
        &mut self,
        runs: &[Range<usize>],
        listener: L,
        receive: &mut dyn Receive<L::Output>,
    ) -> io::Result<Tally> {
        let mut tally = Tally::default();
        self.session.reserve_blocks(BLOCKS);
        let blank = self.session.state().clone();
        if runs.is_empty() {
            receive.begin(Begin::default(), self.session);
        }
        for run in runs {
            self.session.resume(blank.clone());
            if !self.run(run, listener.fork(), receive, &mut tally)? {
                break;
            }
        }
        Ok(tally)
    }

    /// Decodes a run of segments. Returns whether more is wanted.
    fn run<L: Listener + Fork>(
        &mut self,
        run: &Range<usize>,
        mut listener: L,
        receive: &mut dyn Receive<L::Output>,
        tally: &mut Tally,
    ) -> io::Result<bool> {
        let Part { session, buffer, query, index } = self;
        let mut position = Position::default();
        if run.start > 0 {
            let start = index.seek(session, buffer, run.start, &mut Nothing)?;
            session.resume(start.state);
            position = start.position;
        }
        let contexts: Vec<_> = position.contexts.iter().map(|own| own.map(|(_, c)| c)).collect();
        for (n, context) in contexts.iter().enumerate() {
            if let Some((_, selection)) = session.selected(n) {
                listener.event(&Event::Select { source: n, selection });
            }
            if let Some(context) = context {
                listener.element(n, 0, Element::Context(*context));
            }
        }
        drop(listener.take());
        let Position { elements, instructions, times, .. } = position;
        receive.begin(Begin { elements, instructions, times, contexts }, session);
        // The last segment ends with the buffer.
        let end = if run.end < index.len() { index.begin(run.end) } else { None };
        let end = end.unwrap_or(u64::MAX);
        let mut at = session.state().at();
        let (mut reader, mut space) = (from(buffer, at), vec![0; STEP as usize]);
        let mut both = (listener, Merging(Tally::default()));
        while at < end && !query.stop.is_set() {
            let len = (STEP - at % STEP).min(end - at) as usize;
            let bytes = fill(&mut *reader, space.get_mut(..len).unwrap_or_default())?;
            if bytes.is_empty() {
                session.finish(&mut both);
                break;
            }
            session.feed(bytes, &mut both);
            at += bytes.len() as u64;
            if both.0.size().output >= OUTPUT {
                let (output, counts) = both.take();
                tally.merge(counts);
                if !receive.output(output) {
                    return Ok(false);
                }
            }
        }
        let (output, counts) = both.take();
        tally.merge(counts);
        Ok(receive.output(output))
    }
}

/// The segments that may have something inside of `window` and of `code`, as runs. `None` where the
/// details of the index are damaged.
fn runs(
    (index, own): (&Index, &IndexedBuffer),
    window: &Window,
    code: &Code,
) -> Option<Vec<Range<usize>>> {
    let (first, last) = match touched(window, own) {
        Some((first, last)) => (first, last + 1),
        None => (own.len(), own.len()),
    };
    let mut segments: Vec<usize> = (first..last).collect();
    if !code.is_all() {
        let has = with_code((index, own), first..last, code)?;
        segments.retain(|n| has.get(n - first).copied().unwrap_or(true));
    }
    // What an index does not cover is decoded.
    segments.extend((!own.is_complete()).then_some(own.len()));
    let mut runs: Vec<Range<usize>> = Vec::new();
    for n in segments {
        match runs.last_mut() {
            Some(run) if n <= run.end + BETWEEN => run.end = n + 1,
            _ => runs.push(n..n + 1),
        }
    }
    Some(runs)
}

/// Of each segment of a range: whether it may have executed `code`. `None` where that is damaged.
fn with_code(
    (index, own): (&Index, &IndexedBuffer),
    range: Range<usize>,
    code: &Code,
) -> Option<Vec<bool>> {
    let mut has = vec![true; range.len()];
    if let Some(ranges) = &code.ranges {
        // The lines of consecutive segments may be with the first of them.
        let first = own.joined_in(range.start);
        let mut lines = vec![false; range.end - first];
        let read = index.lines(own, first..range.end, |n, line, count| {
            let start = line.saturating_mul(64);
            let end = start.saturating_add(count.saturating_mul(64));
            if ranges.iter().any(|own| own.start < end && start < own.end)
                && let Some(lines) = lines.get_mut(n - first)
            {
                *lines = true;
            }
        });
        read.ok()?;
        for (n, has) in range.clone().zip(&mut has) {
            *has = lines.get(own.joined_in(n) - first).copied().unwrap_or(true);
        }
    }
    if let Some(sources) = &code.sources {
        for (n, has) in range.zip(&mut has) {
            let streams = own.segment(n).map(|segment| &segment.streams);
            let selected = |source: u16| sources.get(usize::from(source)).copied().unwrap_or(true);
            *has &= streams.is_none_or(|all| all.iter().any(|stream| selected(stream.source)));
        }
    }
    Some(has)
}

/// The first and the last segment that may have something inside of `window`; `None` where none
/// has.
fn touched(window: &Window, index: &IndexedBuffer) -> Option<(usize, usize)> {
    let (mut first, mut last) = (None, None);
    let (mut before, mut end) = (index.position(0), 0_u64);
    for (n, segment) in index.summaries().enumerate() {
        let mut after = before.clone();
        after.pass(segment);
        end = end.saturating_add(segment.len);
        if touches(window, (segment, end), (&before, &after)) {
            first.get_or_insert(n);
            last = Some(n);
        }
        before = after;
    }
    first.zip(last)
}

/// Whether a segment that ends at offset `end` may have something inside of `window`.
fn touches(
    window: &Window,
    (segment, end): (&Segment, u64),
    (before, after): (&Position, &Position),
) -> bool {
    let within = |range: &Option<Range<u64>>, from: u64, to: u64| {
        range.as_ref().is_none_or(|range| from < range.end && to >= range.start)
    };
    let offset = window.offset.as_ref().is_none_or(|range| {
        end > range.start && segment.first.is_some_and(|first| first < range.end)
    });
    let time = window.time.as_ref().is_none_or(|range| {
        let earlier = before.times.iter().flatten().any(|time| range.contains(time));
        let own = segment.streams.iter().filter_map(|stream| stream.times);
        earlier || own.into_iter().any(|t| t.min < range.end && t.max >= range.start)
    });
    offset
        && time
        && within(&window.instruction, before.instructions, after.instructions)
        && within(&window.element, before.elements, after.elements)
}

/// Receives nothing.
struct Nothing;

impl Listener for Nothing {
    fn element(&mut self, _: usize, _: u64, _: Element) {}

    fn batch(&mut self, _: &base::Batch<'_>) {}
}
