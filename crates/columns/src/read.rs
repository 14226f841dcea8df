//! Decodes a buffer, or the part of it that an index makes accessible, for a listener.

use std::io::{self, Read};
use std::ops::Range;

use tracewright::base::{Context, Element};
use tracewright::capture::Buffer;
use tracewright::decode::{
    Checkpoint, Event, Fork, Jobs, Listener, Merge, Merging, Plan, Session, Tally, input, parallel,
};
use tracewright::index::build::{fill, from};
use tracewright::index::{Index, IndexedBuffer, Position, Window, lines_touch};
use tracewright::{DecodeError, Trace};

use crate::query::{Query, TableError};

/// Bytes that are decoded at a time before a part.
const STEP: usize = 1 << 12;
/// Blocks of code that each source may have in the segments of a window.
const BLOCKS: usize = 1 << 14;
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

    /// The addresses that are selected of a source of the buffer; `None` for all.
    pub(crate) fn of(&self, source: usize) -> Option<&[Range<u64>]> {
        let sources = self.sources.as_ref().and_then(|all| all.get(source));
        if sources == Some(&false) { Some(&[]) } else { self.ranges.as_deref() }
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
    let all = query.segments.is_none() && query.window.is_all() && code.is_all();
    let part = index.filter(|_| !all).and_then(|index| {
        let own = index.buffers().iter().find(|own| own.number() == plan.buffer)?;
        let runs = match &query.segments {
            Some(segments) => segments.clone(),
            None => runs((index, own), &query.window, code)?,
        };
        // Damage is found where summaries of segments are read.
        runs.iter().for_each(|run| own.prepare(run.start));
        own.damage().is_none().then_some((own, runs))
    });
    if let Some((index, runs)) = part {
        session.reserve_blocks(BLOCKS);
        let blank = session.state().clone();
        let jobs = trace.jobs();
        let mut part = Part { session, blank, buffer, index, jobs, query };
        return part.read(&runs, listener, receive).map_err(|error| failed(error).into());
    }
    receive.begin(Begin::default(), &session);
    let mut tally = Tally::default();
    let mut both = (listener, Merging(Tally::default()));
    let input = &mut *input::of(buffer);
    parallel::run(&mut session, input, &mut both, trace.jobs(), |(output, counts), _| {
        query.decoded.add(&counts);
        tally.merge(counts);
        !query.stop.is_set() && receive.output(output)
    })
    .map_err(failed)?;
    Ok(tally)
}

/// A part of a buffer that an index makes accessible.
struct Part<'a> {
    session: Session,
    /// The initial state of the session.
    blank: Checkpoint,
    buffer: &'a Buffer,
    index: &'a IndexedBuffer,
    jobs: &'a Jobs,
    query: &'a Query,
}

impl Part<'_> {
    /// Decodes runs of segments.
    fn read<L: Listener + Fork + Send>(
        &mut self,
        runs: &[Range<usize>],
        listener: L,
        receive: &mut dyn Receive<L::Output>,
    ) -> io::Result<Tally> {
        let mut tally = Tally::default();
        if runs.is_empty() {
            receive.begin(Begin::default(), &self.session);
        }
        for run in runs {
            if !self.run(run, listener.fork(), receive, &mut tally)? {
                break;
            }
        }
        Ok(tally)
    }

    /// Goes to the beginning of a segment.
    fn go(&mut self, segment: usize) -> io::Result<Position> {
        let Part { session, blank, buffer, index, query, .. } = self;
        session.resume(blank.clone());
        if segment == 0 {
            return Ok(Position::default());
        }
        let mut tally = Tally::default();
        let start = index.seek(session, buffer, segment, &mut tally)?;
        session.resume(start.state);
        // The state of the link is not known at the beginning of each segment.
        let begin = index.begin(segment).unwrap_or(0);
        let mut reader = from(buffer, session.state().at()).take(begin);
        let mut space = vec![0; STEP];
        while session.state().at() < begin {
            let left = usize::try_from(begin - session.state().at()).unwrap_or(STEP).min(STEP);
            let bytes = fill(&mut reader, space.get_mut(..left).unwrap_or_default())?;
            if bytes.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            session.feed(bytes, &mut tally);
        }
        query.decoded.add(&tally);
        Ok(index.position(segment))
    }

    /// Decodes a run of segments. Returns whether more is wanted.
    fn run<L: Listener + Fork + Send>(
        &mut self,
        run: &Range<usize>,
        mut listener: L,
        receive: &mut dyn Receive<L::Output>,
        tally: &mut Tally,
    ) -> io::Result<bool> {
        let Position { elements, instructions, times, contexts } = self.go(run.start)?;
        let Part { session, blank, buffer, index, jobs, query } = self;
        let contexts: Vec<_> = contexts.iter().map(|own| own.map(|(_, context)| context)).collect();
        for (n, context) in contexts.iter().enumerate() {
            if let Some((_, selection)) = session.selected(n) {
                listener.event(&Event::Select { source: n, selection });
            }
            if let Some(context) = context {
                listener.element(n, 0, Element::Context(*context));
            }
        }
        drop(listener.take());
        receive.begin(Begin { elements, instructions, times, contexts }, session);
        // The last segment ends with the buffer.
        let end = if run.end < index.len() { index.begin(run.end) } else { None };
        let end = end.unwrap_or(u64::MAX);
        let mut both = (listener, Merging(Tally::default()));
        let mut more = true;
        let mut output = |(output, counts)| {
            query.decoded.add(&counts);
            tally.merge(counts);
            more = !query.stop.is_set() && receive.output(output);
            more
        };
        // Steps are at fixed offsets.
        let begin = session.state().at();
        let step = jobs.step.max(1) as u64;
        for to in [begin.next_multiple_of(step).min(end), end] {
            let at = session.state().at();
            let reader = input::Reading(from(buffer, at).take(to - at));
            let input = &mut input::Known::new(reader, to.min(buffer.len()).saturating_sub(at));
            parallel::run_part((session, blank), input, &mut both, jobs, |own, _| output(own))?;
        }
        if session.state().at() < end {
            session.finish(&mut both);
            output(both.take());
        }
        Ok(more)
    }
}

/// The segments that may have something inside of `window` and of `code`, as runs. `None` where the
/// details of the index are damaged.
fn runs(
    (index, own): (&Index, &IndexedBuffer),
    window: &Window,
    code: &Code,
) -> Option<Vec<Range<usize>>> {
    let mut segments: Vec<usize> = window.touched(own).collect();
    if let (false, Some(&first), Some(&last)) = (code.is_all(), segments.first(), segments.last()) {
        let has = with_code((index, own), first..last + 1, code)?;
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
            let within =
                |first, last| ranges.iter().any(|own| own.start <= last && first < own.end);
            if lines_touch((line, count), within)
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
            let selected = |source: u16| sources.get(usize::from(source)).copied().unwrap_or(true);
            *has &= own
                .segment(n)
                .is_none_or(|segment| segment.streams.iter().any(|stream| selected(stream.source)));
        }
    }
    Some(has)
}
