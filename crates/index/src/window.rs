//! A window of the trace: the elements between two offsets, times, instructions or elements.

use std::io;
use std::ops::Range;

use tracewright_base::{self as base, Element, Fault, OffsetMap};
use tracewright_capture::Buffer;
use tracewright_decode::{Fork, Listener, Session};
use tracewright_frames::Event;
use tracewright_image::{MemorySelectors, Selection};
use tracewright_protocols::registry::AnyPacket;

use crate::build::{fill, from};
use crate::index::IndexedBuffer;
use crate::position::Position;
use crate::probe::Nothing;
use crate::scan::Scan;
use crate::segment::Segment;

/// Output of this many bytes is written.
const OUTPUT: usize = 1 << 18;

/// Bytes that are decoded at a time beside a listener of the whole trace.
const WHOLE_STEP: usize = 1 << 16;

/// What is selected: all that is inside each range that is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Offsets in the buffer. An element has the offset of the packet that made it.
    pub offset: Option<Range<u64>>,
    /// Ticks of the timestamp clock. The time of an element is the last timestamp of its source, up
    /// to and including the element; elements before the first timestamp have none.
    pub time: Option<Range<u64>>,
    /// Numbers of instructions, counted from 0 over all sources in the order of the output. A range
    /// is inside if one of its instructions is; another element if the number of instructions
    /// before it is.
    pub instruction: Option<Range<u64>>,
    /// Numbers of elements, counted from 0 in the order of the output.
    pub element: Option<Range<u64>>,
}

impl Window {
    /// Whether everything is selected.
    pub fn is_all(&self) -> bool {
        *self == Window::default()
    }

    /// The segments that may have something inside: the first, and the last. `None` where no
    /// segment has.
    fn segments(&self, index: &IndexedBuffer) -> Option<(usize, usize)> {
        let touched = |end: u64, segment: &Segment, before: &Position, after: &Position| {
            let touches = |range: &Option<Range<u64>>, from: u64, to: u64| {
                range.as_ref().is_none_or(|range| from < range.end && to >= range.start)
            };
            let offset = self.offset.as_ref().is_none_or(|range| {
                end > range.start && segment.first.is_some_and(|first| first < range.end)
            });
            offset
                && touches(&self.instruction, before.instructions, after.instructions)
                && touches(&self.element, before.elements, after.elements)
                && self.time.as_ref().is_none_or(|range| {
                    let times = before.times.iter().flatten().any(|time| range.contains(time));
                    let own = segment.streams.iter().filter_map(|stream| stream.times);
                    times || own.into_iter().any(|t| t.min < range.end && t.max >= range.start)
                })
        };
        // What ends the trace has the offset of the last packet.
        index.first_touched(touched).zip(index.last_touched(touched))
    }

    /// Whether nothing after `position` is inside.
    fn is_over(&self, position: &Position) -> bool {
        self.instruction.as_ref().is_some_and(|range| position.instructions >= range.end)
            || self.element.as_ref().is_some_and(|range| position.elements >= range.end)
    }
}

/// Passes what is inside the window of `buffer` to `listener`, which is in its initial state, and
/// its output to `write`, which returns whether more is wanted. With an index, decoding begins near
/// the window and ends after it; the output is the same. `begin` is called before the first range
/// inside, with the number of its instructions that are before the window.
///
/// The first element of a source is preceded by its context, where one is known.
///
/// # Errors
/// Where the buffer cannot be read.
pub fn run<L: Listener + Fork>(
    session: Session,
    buffer: &Buffer,
    window: &Window,
    index: Option<&IndexedBuffer>,
    listener: L,
    begin: &mut dyn FnMut(u64, u64),
    write: &mut dyn FnMut(L::Output) -> bool,
) -> io::Result<L> {
    let sources = session.state().sources();
    let mut scan = Scan::new(session, buffer, index);
    let (initial, mut listener) = (listener.state(), listener);
    let (mut first, mut end) = (0, usize::MAX);
    if let Some(index) = index {
        match window.segments(index) {
            Some((n, last)) => {
                first = n;
                end = if index.is_complete() { last + 1 } else { usize::MAX };
            }
            None if index.is_complete() => end = 0,
            None => first = index.len(),
        }
    }
    let mut start = match end {
        0 => Ok(Position::default()),
        _ => scan.go(first, &mut Before(&mut listener)),
    };
    if index.is_some_and(|index| index.damage().is_some()) {
        // What the index has of the segments is not complete. No more of them are read below.
        scan.without_index();
        listener.resume(initial);
        (end, start) = (usize::MAX, scan.go(0, &mut Nothing));
    }
    let mut windowed = Windowed {
        listener,
        window,
        position: start?,
        shown: vec![false; sources],
        selections: (0..sources).map(|n| scan.selected(n)).collect(),
        over: false,
        stopped: false,
        begin,
        write,
    };
    if end > 0 {
        scan.run(end, &mut windowed)?;
    }
    windowed.relieve(0);
    Ok(windowed.listener)
}

/// Decodes all of `buffer` for `whole`, and passes what is inside the window to `inside`, which is
/// in its initial state, and its output to `write`. Ends early where `whole` wants no more.
///
/// # Errors
/// Where the buffer cannot be read.
pub fn run_beside<A: Listener, L: Listener + Fork>(
    session: Session,
    buffer: &Buffer,
    window: &Window,
    whole: &mut A,
    inside: L,
    write: &mut dyn FnMut(L::Output) -> bool,
) -> io::Result<L> {
    let sources = session.state().sources();
    let (times, contexts) = (vec![None; sources], vec![None; sources]);
    let mut windowed = Windowed {
        listener: inside,
        window,
        position: Position { times, contexts, ..Position::default() },
        shown: vec![false; sources],
        selections: (0..sources).map(|n| session.selected(n)).collect(),
        over: false,
        stopped: false,
        begin: &mut |_, _| (),
        write,
    };
    let (mut session, mut space) = (session, vec![0; WHOLE_STEP]);
    let mut reader = from(buffer, 0);
    loop {
        let bytes = fill(&mut *reader, &mut space)?;
        let mut both = (&mut *whole, &mut windowed);
        if bytes.is_empty() {
            session.finish(&mut both);
            break;
        }
        session.feed(bytes, &mut both);
        if both.0.full() {
            break;
        }
    }
    windowed.relieve(0);
    Ok(windowed.listener)
}

/// Passes on what packets in the window may depend on.
struct Before<'a, L>(&'a mut L);

impl<L: Listener> Listener for Before<'_, L> {
    const PACKETS: bool = L::PACKETS;
    const ERASED: bool = true;

    fn element(&mut self, source: usize, at: u64, element: Element) {
        if let Element::Undecodable { .. } = element {
            self.0.skipped_packet(source, at, None);
        }
    }

    fn repeat(&mut self, _: usize, _: u64, _: base::Range, _: u32) {}

    fn repeat_path(&mut self, _: usize, _: u64, _: &[base::Range], _: u64) {}

    fn wants_each_packet(&self) -> bool {
        self.0.wants_each_packet()
    }

    fn packet(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        _bytes: &[u8],
        packet: AnyPacket<'_>,
    ) {
        self.0.skipped_packet(source, offsets.at(span.start), Some(packet));
    }
}

/// Passes on what is inside a window.
struct Windowed<'a, L: Fork> {
    listener: L,
    window: &'a Window,
    position: Position,
    /// By source: something of it was passed on.
    shown: Vec<bool>,
    /// By source: what selects its memory, and what is selected, where that depends on more than
    /// the context.
    selections: Vec<Option<(MemorySelectors, Selection)>>,
    over: bool,
    /// No more output is wanted.
    stopped: bool,
    begin: &'a mut dyn FnMut(u64, u64),
    write: &'a mut dyn FnMut(L::Output) -> bool,
}

impl<L: Listener + Fork> Windowed<'_, L> {
    /// Writes the output, if it is more than `least` bytes.
    fn relieve(&mut self, least: usize) {
        if !self.stopped && self.listener.weight() >= least {
            let output = self.listener.take();
            self.stopped = !(self.write)(output);
        }
    }

    /// Whether something of `source` at `at` is inside, where `instructions` follow it in a range.
    fn has(&self, source: Option<usize>, at: u64, instructions: u64) -> bool {
        let Window { offset, time, instruction, element } = self.window;
        let position = &self.position;
        let ticks = source.and_then(|n| position.times.get(n).copied().flatten());
        let before = position.instructions;
        offset.as_ref().is_none_or(|range| range.contains(&at))
            && time.as_ref().is_none_or(|range| ticks.is_some_and(|ticks| range.contains(&ticks)))
            && element.as_ref().is_none_or(|range| range.contains(&position.elements))
            && instruction.as_ref().is_none_or(|range| match instructions {
                0 => range.contains(&before),
                count => before < range.end && before.saturating_add(count) > range.start,
            })
    }

    fn pass(&mut self, source: usize, at: u64, element: Element) {
        if let Some(shown) = self.shown.get_mut(source).filter(|shown| !**shown) {
            *shown = true;
            if let Some(Some((_, selection))) = self.selections.get(source) {
                self.listener.select(source, *selection);
            }
            let context = self.position.contexts.get(source).copied().flatten();
            if let Some((at, context)) = context
                && !matches!(element, Element::Context(_))
            {
                self.listener.element(source, at, Element::Context(context));
            }
        }
        if let Element::Range(range) = element {
            let all = 0..u64::MAX;
            let Range { start, end } = self.window.instruction.as_ref().unwrap_or(&all);
            let (first, last) = (
                self.position.instructions,
                self.position.instructions.saturating_add(range.instructions.into()),
            );
            let inside = last.min(*end).saturating_sub(first.max(*start));
            (self.begin)(start.saturating_sub(first), inside);
        }
        let mut unfinished = self.listener.start(source, at, element);
        loop {
            self.relieve(OUTPUT);
            if self.stopped || !unfinished {
                return;
            }
            unfinished = self.listener.more();
        }
    }

    /// How many of `times` repetitions of these many elements and instructions are all before the
    /// window.
    fn repetitions_before(&self, elements: u64, instructions: u64, times: u64) -> u64 {
        let before = |range: &Option<Range<u64>>, at: u64, each: u64| match range {
            Some(range) => range.start.saturating_sub(at).checked_div(each).unwrap_or(0),
            None => 0,
        };
        let position = &self.position;
        // The last of them may touch the window.
        let skipped = before(&self.window.instruction, position.instructions, instructions)
            .max(before(&self.window.element, position.elements, elements));
        skipped.saturating_sub(1).min(times)
    }

    fn skip(&mut self, elements: u64, instructions: u64, times: u64) {
        let Position { elements: before, instructions: executed, .. } = &mut self.position;
        *before = before.saturating_add(elements.saturating_mul(times));
        *executed = executed.saturating_add(instructions.saturating_mul(times));
    }
}

impl<L: Listener + Fork> Listener for Windowed<'_, L> {
    const PACKETS: bool = L::PACKETS;
    const ERASED: bool = true;

    fn enter_source(&mut self, source: usize) {
        self.listener.enter_source(source);
    }

    fn element(&mut self, source: usize, at: u64, element: Element) {
        if self.over || self.stopped {
            return;
        }
        if let (Some(time), Some(last)) = (element.ticks(), self.position.times.get_mut(source)) {
            *last = Some(time);
        }
        let instructions = match element {
            Element::Range(range) => u64::from(range.instructions),
            _ => 0,
        };
        if self.has(Some(source), at, instructions) {
            self.pass(source, at, element);
        } else {
            Before(&mut self.listener).element(source, at, element);
        }
        if let Some(Some((selectors, selection))) = self.selections.get_mut(source) {
            selectors.follow(selection, &element);
        }
        if let (Element::Context(context), Some(last)) =
            (element, self.position.contexts.get_mut(source))
        {
            *last = Some((at, context));
        }
        self.skip(1, instructions, 1);
        self.over = self.window.is_over(&self.position);
    }

    fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32) {
        let (times, instructions) = (u64::from(times), u64::from(range.instructions));
        let before = self.repetitions_before(1, instructions, times);
        self.skip(1, instructions, before);
        let outside = |range: &Option<Range<u64>>| range.is_none();
        if outside(&self.window.instruction)
            && outside(&self.window.element)
            && !self.has(Some(source), at, instructions)
        {
            return self.skip(1, instructions, times - before);
        }
        for _ in before..times {
            if self.over || self.stopped {
                return;
            }
            self.element(source, at, Element::Range(range));
        }
    }

    fn repeat_path(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64) {
        let elements = ranges.len() as u64;
        let instructions = ranges.iter().map(|range| u64::from(range.instructions)).sum();
        let before = self.repetitions_before(elements, instructions, times);
        self.skip(elements, instructions, before);
        let numbered = self.window.instruction.is_some() || self.window.element.is_some();
        if !numbered && !self.has(Some(source), at, 1) {
            return self.skip(elements, instructions, times - before);
        }
        for _ in before..times {
            for range in ranges {
                self.element(source, at, Element::Range(*range));
            }
            if self.over || self.stopped {
                return;
            }
        }
    }

    fn repeat_unlisted(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64) {
        if self.window.instruction.is_some() || self.window.element.is_some() {
            return self.repeat_path(source, at, ranges, times);
        }
        if self.over || self.stopped {
            return;
        }
        if self.has(Some(source), at, 1) {
            self.listener.repeat_unlisted(source, at, ranges, times);
        }
        let instructions = ranges.iter().map(|range| u64::from(range.instructions)).sum();
        self.skip(ranges.len() as u64, instructions, times);
        self.over = self.window.is_over(&self.position);
    }

    /// How packets are counted together does not depend on the trace alone.
    fn wants_each_packet(&self) -> bool {
        L::PACKETS
    }

    fn packet(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    ) {
        if self.over {
            return;
        }
        if self.has(Some(source), offsets.at(span.start), 0) {
            self.listener.packet(source, offsets, span, bytes, packet);
        } else {
            Before(&mut self.listener).packet(source, offsets, span, bytes, packet);
        }
    }

    fn undecodable(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        fault: Fault,
    ) {
        if !self.over && self.has(Some(source), offsets.at(span.start), 0) {
            self.listener.undecodable(source, offsets, span, bytes, fault);
        }
    }

    fn unknown_id(&mut self, id: u16, at: u64, len: usize) {
        if !self.over && self.has(None, at, 0) {
            self.listener.unknown_id(id, at, len);
        }
    }

    fn link(&mut self, at: u64, event: Event) {
        if !self.over && self.has(None, at, 0) {
            self.listener.link(at, event);
        }
    }

    fn full(&self) -> bool {
        self.over || self.stopped || self.listener.full()
    }
}
