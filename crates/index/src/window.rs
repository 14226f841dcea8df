//! A window of the trace: the elements between two offsets, times, instructions or elements.

use std::io;
use std::ops::Range;

use tracewright_base::{Batch, BatchBuffer, BlockStep, Custom, Element, Part, Start, Turns};
use tracewright_capture::Buffer;
use tracewright_decode::{Event, Fork, Growth, Listener, Packets, Received, Session, Wants};
use tracewright_image::{MemorySelectors, Selection};

use crate::build::{fill, from};
use crate::index::IndexedBuffer;
use crate::position::Position;
use crate::probe::Nothing;
use crate::running::{Follower, Running};
use crate::scan::Scan;
use crate::segment::Segment;

/// Output of this many bytes is written.
const OUTPUT: usize = 1 << 18;

/// Bytes that are decoded at a time beside a listener of the whole trace.
const WHOLE_STEP: usize = 1 << 16;

/// Cached blocks whose output is made before it is written: their instructions are few.
const AT_ONCE: usize = 64;

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

/// What is passed on.
#[derive(Clone, Copy, Debug)]
pub struct Inside<'a> {
    /// What is inside this window.
    pub window: &'a Window,
    /// Of it, what is executed while these tasks run. Decoding begins at the begin of the buffer.
    pub running: Option<&'a Running>,
}

impl<'a> From<&'a Window> for Inside<'a> {
    fn from(window: &'a Window) -> Inside<'a> {
        Inside { window, running: None }
    }
}

impl Window {
    /// Whether everything is selected.
    pub fn is_all(&self) -> bool {
        *self == Window::default()
    }

    /// The segments that may have something inside, in order. Only the summaries of those near them
    /// are read.
    pub fn touched(&self, index: &IndexedBuffer) -> impl DoubleEndedIterator<Item = usize> {
        index.touched(move |end: u64, segment: &Segment, before: &Position, after: &Position| {
            let touches = |range: &Option<Range<u64>>, from: u64, to: u64| {
                range.as_ref().is_none_or(|range| from < range.end && to >= range.start)
            };
            // What ends the trace has the offset of the last packet, or 0.
            let offset = self.offset.as_ref().is_none_or(|range| {
                end.max(1) > range.start && segment.first.is_some_and(|first| first < range.end)
            });
            offset
                && touches(&self.instruction, before.instructions, after.instructions)
                && touches(&self.element, before.elements, after.elements)
                && self.time.as_ref().is_none_or(|range| {
                    let times = before.times.iter().flatten().any(|time| range.contains(time));
                    let own = segment.streams.iter().filter_map(|stream| stream.times);
                    times || own.into_iter().any(|t| t.min < range.end && t.max >= range.start)
                })
        })
    }

    /// The first and the last of these segments. `None` where there is none.
    fn segments(&self, index: &IndexedBuffer) -> Option<(usize, usize)> {
        let mut touched = self.touched(index);
        let first = touched.next()?;
        Some((first, touched.next_back().unwrap_or(first)))
    }

    /// Whether nothing after `position` is inside.
    fn is_over(&self, position: &Position) -> bool {
        self.instruction.as_ref().is_some_and(|range| position.instructions >= range.end)
            || self.element.as_ref().is_some_and(|range| position.elements >= range.end)
    }
}

/// Passes what is inside the window of `buffer` to `listener`, which is in its initial state, and
/// its output to `write`, which returns whether more is wanted. With an index, decoding begins near
/// the window and ends after it; the output is the same. With [`Window::instruction`], `begin` is
/// called before each range, with the number of its instructions that are before the window, and
/// that of those inside.
///
/// The first element of a source is preceded by its context, where one is known.
///
/// # Errors
/// Where the buffer cannot be read.
pub fn run<'w, L: Listener + Fork>(
    session: Session,
    buffer: &Buffer,
    inside: impl Into<Inside<'w>>,
    index: Option<&IndexedBuffer>,
    listener: L,
    begin: &mut dyn FnMut(u64, u64),
    write: &mut dyn FnMut(L::Output) -> bool,
) -> io::Result<L> {
    let sources = session.state().sources();
    let Inside { window, running } = inside.into();
    let index = index.filter(|_| running.is_none());
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
        grows: listener.size().growth != Growth::None,
        listener,
        window,
        position: start?,
        shown: vec![false; sources],
        selections: (0..sources).map(|n| scan.selected(n)).collect(),
        running: running.map(Follower::new),
        separate: running.is_some_and(Running::is_separate),
        left: vec![false; sources],
        over: false,
        stopped: false,
        begin,
        write,
    };
    if end > 0 {
        scan.run(end, &mut windowed)?;
    }
    Ok(windowed.finish())
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
        grows: inside.size().growth != Growth::None,
        listener: inside,
        window,
        position: Position { times, contexts, ..Position::default() },
        shown: vec![false; sources],
        selections: (0..sources).map(|n| session.selected(n)).collect(),
        running: None,
        separate: false,
        left: vec![false; sources],
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
    Ok(windowed.finish())
}

/// Passes on what packets in the window may depend on.
struct Before<'a, L>(&'a mut L);

impl<L: Listener> Listener for Before<'_, L> {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if let Element::Undecodable { .. } = element {
            self.0.event(&Event::Skipped { source, at, packet: None });
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        for part in batch.parts() {
            if let Part::Element(at, element) = part {
                self.element(batch.source, at, element);
            }
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        if let Event::Packet { source, bytes, packet } = event {
            let (source, at, packet) = (*source, bytes.at(), Some(*packet));
            self.0.event(&Event::Skipped { source, at, packet });
        }
    }

    fn wants(&self) -> Wants {
        let mut wants = Wants::ELEMENTS;
        wants.packets = self.0.wants().packets;
        wants
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
    /// Whether the tasks run that are selected.
    running: Option<Follower>,
    /// Tracing begins again where they continue.
    separate: bool,
    /// By source: others ran since something of it was passed on.
    left: Vec<bool>,
    over: bool,
    /// The output of the listener grows with the number of elements.
    grows: bool,
    /// No more output is wanted.
    stopped: bool,
    begin: &'a mut dyn FnMut(u64, u64),
    write: &'a mut dyn FnMut(L::Output) -> bool,
}

impl<L: Listener + Fork> Windowed<'_, L> {
    /// Writes the output that is left.
    fn finish(mut self) -> L {
        self.listener.event(&Event::PartEnd);
        self.relieve(0);
        self.listener
    }

    /// Writes the output, if it is more than `least` bytes.
    fn relieve(&mut self, least: usize) {
        if !self.stopped && self.listener.size().output >= least {
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

    /// Something of `source` is passed on: its memory and its context precede the first.
    fn show(&mut self, source: usize, at: u64, element: Option<&Element>) {
        if let Some(left) = self.left.get_mut(source)
            && std::mem::take(left)
            && self.separate
        {
            self.listener.element(source, at, Element::TraceOn(Start::Normal));
        }
        if let Some(shown) = self.shown.get_mut(source).filter(|shown| !**shown) {
            *shown = true;
            if let Some(Some((_, selection))) = self.selections.get(source) {
                self.listener.event(&Event::Select { source, selection: *selection });
            }
            let context = self.position.contexts.get(source).copied().flatten();
            if let Some((at, context)) = context
                && !matches!(element, Some(Element::Context(_)))
            {
                self.listener.element(source, at, Element::Context(context));
            }
        }
    }

    fn pass(&mut self, source: usize, at: u64, element: Element) {
        self.show(source, at, Some(&element));
        if let Element::Range(range) = element
            && let Some(Range { start, end }) = &self.window.instruction
        {
            let (first, last) = (
                self.position.instructions,
                self.position.instructions.saturating_add(range.instructions.into()),
            );
            let inside = last.min(*end).saturating_sub(first.max(*start));
            (self.begin)(start.saturating_sub(first), inside);
        }
        let mut unfinished = self.listener.receive(Some(Received { source, at, element }));
        loop {
            self.relieve(OUTPUT);
            if self.stopped || !unfinished {
                return;
            }
            unfinished = self.listener.receive(None);
        }
    }

    /// Whether all of these steps are inside, or none of them. `None` where some may be.
    fn has_all(&self, batch: &Batch<'_>, steps: &[BlockStep], instructions: u64) -> Option<bool> {
        let within = |range: &Option<Range<u64>>, first: u64, end: u64| match range {
            Some(range) if end <= range.start || range.end <= first => Some(false),
            Some(range) if first < range.start || range.end < end => None,
            _ => Some(true),
        };
        let Window { offset, time, instruction, element } = self.window;
        let Position { elements, instructions: executed, times, .. } = &self.position;
        let ticks = times.get(batch.source).copied().flatten();
        let timed = time.as_ref().is_none_or(|t| ticks.is_some_and(|ticks| t.contains(&ticks)));
        let mut at = 0..0;
        if offset.is_some() {
            let offsets = || steps.iter().map(|step| batch.at(*step));
            at.start = offsets().min().unwrap_or(0);
            at.end = offsets().max().unwrap_or(0).saturating_add(1);
        }
        let all = [
            Some(timed),
            within(offset, at.start, at.end),
            within(element, *elements, elements.saturating_add(steps.len() as u64)),
            within(instruction, *executed, executed.saturating_add(instructions)),
        ];
        match all.contains(&Some(false)) {
            true => Some(false),
            false => all.iter().all(Option::is_some).then_some(true),
        }
    }

    /// Takes `steps`, all of `batch`.
    fn steps(&mut self, batch: &Batch<'_>, steps: &[BlockStep]) {
        let instructions = batch.instructions(steps);
        let running = self.running_in_all(batch.source, instructions);
        // Each range is passed on by itself where its parts matter, and where it may select memory.
        let together = self.window.instruction.is_none()
            && self.selections.get(batch.source).is_none_or(Option::is_none);
        let inside = match running {
            Some(true) => self.has_all(batch, steps, instructions),
            other => other,
        };
        if running == Some(false) {
            self.leave(batch.source);
        }
        match inside {
            Some(true) if together => {
                let first = steps.first().map_or(0, |step| batch.at(*step));
                self.show(batch.source, first, None);
                for steps in steps.chunks(if self.grows { AT_ONCE } else { BatchBuffer::STEPS }) {
                    self.listener.batch(&batch.with_steps(steps));
                    self.relieve(OUTPUT);
                    if self.stopped {
                        return;
                    }
                }
            }
            Some(false) => {}
            _ => {
                for step in steps {
                    if let Some(range) = batch.range(*step) {
                        self.element(batch.source, batch.at(*step), Element::Range(range));
                    }
                }
                return;
            }
        }
        self.skip(batch.source, steps.len() as u64, instructions, 1);
        self.over = self.window.is_over(&self.position);
    }

    /// Takes `turns`, all of `batch`.
    fn turns(&mut self, batch: &Batch<'_>, turns: &Turns<'_>) {
        let Turns { at, ranges, times, listed } = *turns;
        let source = batch.source;
        let elements = ranges.len() as u64;
        let instructions = ranges.iter().map(|range| u64::from(range.instructions)).sum();
        let mut before = 0;
        let running = self.running_in_all(source, u64::saturating_mul(instructions, times));
        if running == Some(false) {
            self.leave(source);
            return self.skip(source, elements, instructions, times);
        }
        if self.window.instruction.is_some() || self.window.element.is_some() {
            before = self.turns_before(elements, instructions, times);
            self.skip(source, elements, instructions, before);
        } else if running.is_some() {
            let inside = self.has(Some(source), at, 1);
            if !inside || !listed || !self.grows {
                if inside {
                    self.show(source, at, None);
                    self.listener.batch(batch);
                    self.relieve(OUTPUT);
                }
                return self.skip(source, elements, instructions, times);
            }
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

    /// How many of `times` turns of these many elements and instructions are all before the window.
    fn turns_before(&self, elements: u64, instructions: u64, times: u64) -> u64 {
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

    fn skip(&mut self, source: usize, elements: u64, instructions: u64, times: u64) {
        let Position { elements: before, instructions: executed, .. } = &mut self.position;
        let instructions = instructions.saturating_mul(times);
        *before = before.saturating_add(elements.saturating_mul(times));
        *executed = executed.saturating_add(instructions);
        if let Some(running) = &mut self.running {
            running.executed(source, instructions);
        }
    }

    /// Whether the tasks run at an element of `source` that has not been taken yet.
    fn runs(&mut self, source: usize, at: u64, instructions: u64) -> bool {
        let running = self.running.as_mut();
        running.is_none_or(|running| running.has(source, at, instructions))
    }

    /// Whether they run during all of the next instructions. `None` where they do so during a part.
    fn running_in_all(&mut self, source: usize, instructions: u64) -> Option<bool> {
        match &mut self.running {
            None => Some(true),
            Some(running) => running.has_all(source, instructions),
        }
    }

    /// Others execute instructions of `source`.
    fn leave(&mut self, source: usize) {
        if let Some(left) = self.left.get_mut(source) {
            *left = true;
        }
    }

    /// What the tasks that run next depend on has changed while others ran.
    fn changed(&mut self, source: usize) {
        if let Some(shown) = self.shown.get_mut(source) {
            *shown = false;
        }
    }
}

impl<L: Listener + Fork> Listener for Windowed<'_, L> {
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
        let runs = self.runs(source, at, instructions);
        if !runs && instructions > 0 {
            self.leave(source);
        }
        if runs && self.has(Some(source), at, instructions) {
            self.pass(source, at, element);
        } else {
            Before(&mut self.listener).element(source, at, element);
        }
        let mut changes = matches!(element, Element::Context(_));
        if let Some(Some((selectors, selection))) = self.selections.get_mut(source) {
            let before = *selection;
            selectors.follow(selection, &element);
            changes |= before != *selection;
        }
        if changes && !runs {
            self.changed(source);
        }
        if let (Element::Context(context), Some(last)) =
            (element, self.position.contexts.get_mut(source))
        {
            *last = Some((at, context));
        }
        self.skip(source, 1, instructions, 1);
        self.over = self.window.is_over(&self.position);
    }

    fn custom(&mut self, source: usize, at: u64, custom: Custom, bytes: &[u8]) {
        if self.over || self.stopped {
            return;
        }
        if self.runs(source, at, 0) && self.has(Some(source), at, 0) {
            self.show(source, at, Some(&Element::Custom(custom)));
            self.listener.custom(source, at, custom, bytes);
            self.relieve(OUTPUT);
        }
        self.skip(source, 1, 0, 1);
        self.over = self.window.is_over(&self.position);
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        for (part, alone) in batch.parts_alone() {
            if self.over || self.stopped {
                return;
            }
            match part {
                Part::Steps(steps) => self.steps(&alone, steps),
                Part::Element(at, Element::Custom(custom)) => {
                    self.custom(batch.source, at, custom, batch.content(&custom));
                }
                Part::Element(at, element) => self.element(batch.source, at, element),
                Part::Turns(turns) => self.turns(&alone, &turns),
            }
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        if self.over {
            return;
        }
        let inside = match event {
            Event::Packet { source, bytes, .. } | Event::Undecodable { source, bytes, .. } => {
                let running = self.running.as_mut();
                running.is_none_or(|running| running.has_packet(*source, bytes.at()))
                    && self.has(Some(*source), bytes.at(), 0)
            }
            // They are those of no task.
            Event::UnknownId { .. } | Event::Link { .. } if self.running.is_some() => false,
            Event::UnknownId { at, .. } | Event::Link { at, .. } => self.has(None, *at, 0),
            _ => return,
        };
        match inside {
            true => self.listener.event(event),
            false => Before(&mut self.listener).event(event),
        }
    }

    /// How packets are counted together does not depend on the trace alone.
    fn wants(&self) -> Wants {
        match self.listener.wants().packets {
            Packets::None => Wants::ELEMENTS,
            _ => Wants::EACH_PACKET,
        }
    }

    fn full(&self) -> bool {
        self.over || self.stopped || self.listener.full()
    }
}
