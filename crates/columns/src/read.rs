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

/// Decodes a buffer, in which the window of `query` is selected. The receiver may get what is
/// outside of the window, too.
pub(crate) fn buffer<L: Listener + Fork + Send>(
    trace: &Trace,
    plan: &Plan,
    (query, index): (&Query, Option<&Index>),
    listener: L,
    receive: &mut dyn Receive<L::Output>,
) -> Result<Tally, TableError> {
    let window = &query.window;
    let Some(buffer) = trace.capture().buffers.get(plan.buffer) else {
        return Ok(Tally::default());
    };
    let failed = |error| DecodeError::Read { buffer: buffer.name.clone(), error };
    let mut session = trace.session(plan)?;
    let own = |index: &&IndexedBuffer| index.name() == buffer.name;
    let index = index.and_then(|index| index.buffers().iter().find(own));
    if let Some(index) = index.filter(|index| !window.is_all() && index.damage().is_none()) {
        let found = part(&mut session, buffer, (query, index), listener, receive);
        return found.map_err(|error| failed(error).into());
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

/// Decodes the segments that may have something inside of `window`.
fn part<L: Listener + Fork>(
    session: &mut Session,
    buffer: &tracewright::capture::Buffer,
    (query, index): (&Query, &IndexedBuffer),
    mut listener: L,
    receive: &mut dyn Receive<L::Output>,
) -> io::Result<Tally> {
    let mut tally = Tally::default();
    let segments = touched(&query.window, index);
    let (first, end) = match (segments, index.is_complete()) {
        // The last segment ends with the buffer.
        (Some((first, last)), true) if last + 1 < index.len() => (first, index.begin(last + 1)),
        (Some((first, _)), true) => (first, None),
        (Some((first, _)), false) => (first, None),
        (None, true) => {
            receive.begin(Begin::default(), session);
            return Ok(tally);
        }
        (None, false) => (index.len(), None),
    };
    let mut position = Position::default();
    session.reserve_blocks(BLOCKS);
    if first > 0 {
        let start = index.seek(session, buffer, first, &mut Nothing)?;
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
    let end = end.unwrap_or(u64::MAX);
    let mut at = session.state().at();
    let (mut reader, mut space) = (from(buffer, at), vec![0; STEP as usize]);
    let mut both = (listener, Merging(Tally::default()));
    let mut wanted = true;
    while wanted && at < end && !query.stop.is_set() {
        let len = (STEP - at % STEP).min(end - at) as usize;
        let bytes = fill(&mut *reader, space.get_mut(..len).unwrap_or_default())?;
        if bytes.is_empty() {
            session.finish(&mut both);
            break;
        }
        session.feed(bytes, &mut both);
        at += bytes.len() as u64;
        if both.0.weight() >= OUTPUT {
            let (output, counts) = both.take();
            tally.merge(counts);
            wanted = receive.output(output);
        }
    }
    if wanted {
        let (output, counts) = both.take();
        tally.merge(counts);
        receive.output(output);
    }
    Ok(tally)
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
