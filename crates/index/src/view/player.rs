//! Decodes parts of a buffer with the call stacks that the whole trace has there.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracewright_analysis::stacks::{FunctionId, SavedFrame, Stacks};
use tracewright_analysis::tasks::TaskFile;
use tracewright_analysis::{Code, SourceState, Transfers};
use tracewright_base::{Batch, Element, Part};
use tracewright_capture::Buffer;
use tracewright_decode::listener::each_element;
use tracewright_decode::{Checkpoint, Fork, Listener, Plan, Session};

use super::read::{FunctionsOf, Sums, View};
use crate::build::{fill, from};
use crate::error::{FindError, IndexError};
use crate::position::Position;
use crate::tiles::builder::Program;
use crate::tiles::collected::{Collected, Wanted};
use crate::tiles::listener::prints;
use crate::tiles::{FunctionSums, OpenFrame, SavedView, ViewFrame};
use crate::writer::Subject;

/// Bytes that are decoded at a time: those of a window, so that elements have the same numbers.
const STEP: u64 = 1 << 12;

/// Bytes that are decoded at a time where elements have no number.
const LONG_STEP: u64 = 1 << 14;

/// Bytes after a part in which elements of packets inside it may be emitted.
const LATE: u64 = STEP;

/// Segments that are tried before decoding begins with the buffer: where the state of the
/// transfers cannot be found from the bytes before a segment.
const ATTEMPTS: usize = 6;

/// Blocks of code that each source may have in a few segments of a large program.
const BLOCKS: usize = 1 << 14;

/// Decodes parts of a buffer.
#[derive(Debug)]
pub struct Player<'a> {
    view: &'a View<'a>,
    buffer: &'a Buffer,
    session: Session,
    blank: Checkpoint,
    transfers: Transfers,
    code: Code,
    program: Program,
    sources: usize,
    /// Ends the decoding where it is set: the answer is not wanted any more. The error is
    /// [`Interrupted`](io::ErrorKind::Interrupted).
    pub stop: Option<Arc<AtomicBool>>,
}

/// The call stack of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackAt {
    /// The number of the thread.
    pub thread: u32,
    /// The frames, the outermost first, and where they began.
    pub frames: Vec<(SavedFrame, OpenFrame)>,
}

/// A thread that a source does not execute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParkedAt {
    /// Where it continues, if that is known.
    pub resume: Option<u64>,
    /// Its number, and its frames.
    pub stack: StackAt,
}

/// An element in a part of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The source.
    pub source: usize,
    /// Its offset.
    pub at: u64,
    /// Its number, over all sources.
    pub number: u64,
    /// Instructions before it, of all sources and of its own.
    pub instructions: (u64, u64),
    /// The last timestamp of its source, up to and including it.
    pub time: Option<u64>,
    /// The element.
    pub element: Element,
}

/// The frames of a part of a buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Frames that ended in it, by source, in order of their ends.
    pub ended: Vec<Vec<ViewFrame>>,
    /// Frames that are open at its end, by source: their ends are not known.
    pub open: Vec<Vec<ViewFrame>>,
}

/// Numbers elements, and passes those up to a number on.
struct Numbered<'p> {
    transfers: &'p mut Transfers,
    /// The number of the next element, and of the first that is not passed on.
    next: u64,
    end: u64,
    /// Ranges from this number on are passed to `each`, too.
    ranges: u64,
    instructions: u64,
    of_sources: Vec<u64>,
    times: Vec<Option<u64>>,
    each: &'p mut dyn FnMut(&Passed),
}

impl Numbered<'_> {
    /// An element that is no range.
    fn other(&mut self, source: usize, at: u64, element: Element) {
        if let (Some(time), Some(own)) = (element.ticks(), self.times.get_mut(source)) {
            *own = Some(time);
        }
        self.pass(source, at, element);
    }

    fn pass(&mut self, source: usize, at: u64, element: Element) {
        let own = self.of_sources.get(source).copied().unwrap_or(0);
        let instructions = (self.instructions, own);
        let time = self.times.get(source).copied().flatten();
        let number = self.next;
        (self.each)(&Passed { source, at, number, instructions, time, element });
    }

    /// These instructions were executed.
    fn executed(&mut self, source: usize, instructions: u64) {
        self.instructions = self.instructions.saturating_add(instructions);
        if let Some(own) = self.of_sources.get_mut(source) {
            *own = own.saturating_add(instructions);
        }
    }
}

impl Listener for Numbered<'_> {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if self.next < self.end {
            self.transfers.element(source, at, element);
            if let Element::Range(range) = element {
                if self.next >= self.ranges {
                    self.pass(source, at, element);
                }
                self.executed(source, range.instructions.into());
            } else {
                self.other(source, at, element);
            }
        }
        self.next = self.next.saturating_add(1);
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        let count = batch.parts().fold(0u64, |sum, part| sum.saturating_add(elements(&part)));
        if self.next.saturating_add(count) > self.end.min(self.ranges) {
            return each_element(self, batch);
        }
        self.transfers.batch(batch);
        for part in batch.parts() {
            match part {
                Part::Steps(steps) => self.executed(batch.source, batch.instructions(steps)),
                Part::Element(at, element @ Element::Range(range)) => {
                    debug_assert!(self.next < self.ranges, "{at}: {element:?}");
                    self.executed(batch.source, range.instructions.into());
                }
                Part::Element(at, element) => self.other(batch.source, at, element),
                Part::Turns(turns) => {
                    let once = turns.ranges.iter().map(|range| u64::from(range.instructions));
                    self.executed(batch.source, once.sum::<u64>().saturating_mul(turns.times));
                }
            }
            self.next = self.next.saturating_add(elements(&part));
        }
    }
}

/// The number of elements of a part.
fn elements(part: &Part<'_>) -> u64 {
    match part {
        Part::Steps(steps) => steps.len() as u64,
        Part::Element(..) => 1,
        Part::Turns(turns) => (turns.ranges.len() as u64).saturating_mul(turns.times),
    }
}

/// Where decoding begins.
struct Started {
    at: u64,
    position: Position,
    saved: SavedView,
}

impl<'a> Player<'a> {
    /// A player for the buffer of `plan`. `None` where the plan is one of another capture.
    pub fn new(subject: Subject<'a>, plan: &'a Plan, view: &'a View<'a>) -> Option<Player<'a>> {
        Self::with_tasks(subject, plan, view, &[])
    }

    /// As [`new`](Self::new), for an index that was made with these systems of tasks.
    pub fn with_tasks(
        subject: Subject<'a>,
        plan: &'a Plan,
        view: &'a View<'a>,
        files: &[TaskFile],
    ) -> Option<Player<'a>> {
        let buffer = subject.capture.buffers.get(plan.buffer)?;
        let mut session = subject.session(plan).ok()?;
        session.reserve_blocks(BLOCKS);
        let code = subject.code(plan);
        let tasks = view.tasks().and_then(|_| subject.system(plan, &code, files));
        Some(Player {
            view,
            buffer,
            blank: session.state().clone(),
            session,
            transfers: subject.transfers_with(plan, &code, tasks.as_ref()),
            program: Program::of(&code, tasks.as_ref()),
            code,
            sources: plan.sources.len(),
            stop: None,
        })
    }

    /// The functions of the program.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// The view.
    pub fn view(&self) -> &'a View<'a> {
        self.view
    }

    /// Goes to segment `n`, or to one before it.
    fn start(&mut self, n: usize) -> Result<Started, FindError> {
        let index = self.view.buffer();
        let mut wanted = n.min(index.len().saturating_sub(1));
        for attempt in 0..=ATTEMPTS {
            let last = attempt == ATTEMPTS;
            if last {
                wanted = 0;
            }
            let Some((segment, saved)) = self.view.stacks(wanted)? else {
                // The batch begins while it is not known which task continues.
                wanted = wanted.saturating_sub(1);
                continue;
            };
            self.session.resume(self.blank.clone());
            self.transfers.resume(vec![SourceState::default(); self.sources]);
            let start = index.seek(&mut self.session, self.buffer, segment, &mut self.transfers)?;
            if start.segment < segment {
                wanted = start.segment;
                continue;
            }
            drop(self.transfers.take());
            if segment > 0 && prints(&self.transfers.state()) != saved.prints {
                wanted = segment - 1;
                continue;
            }
            self.session.resume(start.state);
            let at = index.begin(segment).unwrap_or(0);
            return Ok(Started { at, position: start.position, saved });
        }
        Err(FindError::from(IndexError::Damaged { at: 0 }))
    }

    /// The stacks at `started`.
    fn restore(&self, saved: &SavedView, wanted: Wanted) -> Result<Stacks<Collected>, FindError> {
        let visitor =
            Collected::restored(self.view.shape(), self.view.shared_names(), saved, wanted);
        let damaged = || FindError::from(IndexError::Damaged { at: 0 });
        let stacks = Stacks::restore(&saved.stacks, visitor).ok_or_else(damaged)?;
        let mut stacks = self.program.prepare(stacks);
        stacks.visitor.go_on();
        Ok(stacks)
    }

    /// Decodes from `at` to `end`, and passes what was found to `stacks` after each step. `step`
    /// returns whether more is wanted. After the end of the buffer, the trace ends.
    fn feed(
        &mut self,
        (mut at, end): (u64, u64),
        numbered: &mut Numbering,
        each: &mut dyn FnMut(&Passed),
        stacks: &mut Stacks<Collected>,
        mut more: impl FnMut(&Numbering) -> bool,
    ) -> Result<u64, FindError> {
        let mut reader = from(self.buffer, at);
        let mut space = vec![0; STEP as usize];
        while at < end && more(numbered) {
            if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(FindError::Read(io::ErrorKind::Interrupted.into()));
            }
            let len = (STEP - at % STEP).min(end - at);
            let space = space.get_mut(..len as usize).unwrap_or_default();
            let bytes = fill(&mut *reader, space)?;
            if bytes.is_empty() {
                break;
            }
            let mut listener = numbered.listener(&mut self.transfers, &mut *each);
            self.session.feed(bytes, &mut listener);
            *numbered = Numbering::of(listener);
            at += bytes.len() as u64;
            stacks.visitor.reach(at);
            self.found(stacks);
        }
        if end > self.buffer.len() && at >= self.buffer.len() && more(numbered) {
            let mut listener = numbered.listener(&mut self.transfers, each);
            self.session.finish(&mut listener);
            *numbered = Numbering::of(listener);
            self.found(stacks);
        }
        Ok(at)
    }

    /// Passes the transfers that were found to `stacks`.
    fn found(&mut self, stacks: &mut Stacks<Collected>) {
        self.transfers.take().each(0..usize::MAX, |transfers| stacks.transfers(transfers));
    }

    /// As [`feed`](Self::feed), of elements that need no number.
    fn advance(
        &mut self,
        (mut at, end): (u64, u64),
        stacks: &mut Stacks<Collected>,
    ) -> Result<u64, FindError> {
        let mut reader = from(self.buffer, at);
        let mut space = vec![0; LONG_STEP as usize];
        while at < end {
            if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(FindError::Read(io::ErrorKind::Interrupted.into()));
            }
            let most = (end - at).min(LONG_STEP) as usize;
            let bytes = fill(&mut *reader, space.get_mut(..most).unwrap_or_default())?;
            if bytes.is_empty() {
                break;
            }
            self.session.feed(bytes, &mut self.transfers);
            at += bytes.len() as u64;
            stacks.visitor.reach(at);
            self.found(stacks);
        }
        if end > self.buffer.len() && at >= self.buffer.len() {
            self.session.finish(&mut self.transfers);
            self.found(stacks);
        }
        Ok(at)
    }

    /// The call stack of `source` after the element with this number, of all sources: that of a
    /// decoding of the whole trace.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn stack(&mut self, number: u64, source: usize) -> Result<StackAt, FindError> {
        Ok(self.stack_and_parked(number, source)?.0)
    }

    /// As [`stack`](Self::stack), and the threads that `source` does not execute there and that
    /// have open frames.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn stack_and_parked(
        &mut self,
        number: u64,
        source: usize,
    ) -> Result<(StackAt, Vec<ParkedAt>), FindError> {
        let stacks = self.stacks_after(number)?;
        let of = |(thread, frames): (usize, Vec<SavedFrame>)| {
            let (thread, open) = stacks.visitor.open_frames(thread);
            StackAt { thread, frames: frames.into_iter().zip(open).collect() }
        };
        let parked = stacks.parked(source).into_iter();
        let parked = parked
            .map(|(thread, resume, frames)| ParkedAt { resume, stack: of((thread, frames)) })
            .collect();
        Ok((stacks.current(source).map(of).unwrap_or_default(), parked))
    }

    /// The stacks of all sources after the element with this number.
    fn stacks_after(&mut self, number: u64) -> Result<Stacks<Collected>, FindError> {
        let started = self.start(self.view.segment_of(number))?;
        let mut stacks = self.restore(&started.saved, Wanted::None)?;
        let end = number.saturating_add(1);
        let mut numbering = Numbering::new(&started, end);
        let span = (started.at, u64::MAX);
        self.feed(span, &mut numbering, &mut |_| {}, &mut stacks, |numbering| {
            numbering.next < end
        })?;
        Ok(stacks)
    }

    /// The frames of the bytes `offsets`, and each other element that a packet there reports. The
    /// frames are those that are found while these bytes are decoded; an element is one that is
    /// emitted at most 4096 bytes later. `most`: the most frames of
    /// `ended`; the first ones are retained.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn detail(
        &mut self,
        offsets: Range<u64>,
        most: usize,
        mut each: impl FnMut(&Passed),
    ) -> Result<Detail, FindError> {
        let index = self.view.buffer();
        let first = index.with_byte(offsets.start).unwrap_or(index.len());
        let started = self.start(first)?;
        let wanted = Wanted::Since { offset: offsets.start, most };
        let mut stacks = self.restore(&started.saved, wanted)?;
        let mut numbering = Numbering::new(&started, u64::MAX);
        // The end of the trace is at the end of the buffer.
        let end = match offsets.end >= self.buffer.len() {
            true => u64::MAX,
            false => offsets.end,
        };
        let mut inside = |passed: &Passed| {
            if offsets.contains(&passed.at) {
                each(passed);
            }
        };
        let at =
            self.feed((started.at, end), &mut numbering, &mut inside, &mut stacks, |_| true)?;
        if end == u64::MAX {
            stacks.finish();
        }
        let (ended, open) = (stacks.visitor.take_frames(), stacks.visitor.open_calls());
        if end != u64::MAX {
            // A decoder withholds elements until they are certain.
            let late = (at, at.saturating_add(LATE));
            self.feed(late, &mut numbering, &mut inside, &mut stacks, |_| true)?;
        }
        Ok(Detail { ended, open })
    }

    /// The whole calls of a function that end in the bytes `offsets`, as the sums count them: by
    /// source, in order of their ends.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn calls(
        &mut self,
        offsets: Range<u64>,
        function: u32,
    ) -> Result<Vec<Vec<ViewFrame>>, FindError> {
        let index = self.view.buffer();
        let started = self.start(index.with_byte(offsets.start).unwrap_or(index.len()))?;
        let wanted = Wanted::Calls { function, offset: offsets.start };
        let mut stacks = self.restore(&started.saved, wanted)?;
        let end = if offsets.end >= self.buffer.len() { u64::MAX } else { offsets.end };
        self.advance((started.at, end), &mut stacks)?;
        if end == u64::MAX {
            stacks.finish();
        }
        Ok(stacks.visitor.take_frames())
    }

    /// Passes the elements with these numbers to `each`, and before them those that are no ranges,
    /// from the beginning of a segment on.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn elements(
        &mut self,
        numbers: Range<u64>,
        each: &mut dyn FnMut(&Passed),
    ) -> Result<(), FindError> {
        let started = self.start(self.view.segment_of(numbers.start))?;
        let mut stacks = self.restore(&started.saved, Wanted::None)?;
        let mut numbering = Numbering::new(&started, numbers.end);
        numbering.ranges = numbers.start;
        let span = (started.at, u64::MAX);
        let end = numbers.end;
        self.feed(span, &mut numbering, each, &mut stacks, |numbering| numbering.next < end)?;
        Ok(())
    }

    /// As [`elements`](Self::elements), and returns the frames, by source, that exceptions begin and
    /// that end with these elements or less than two tiles later, in order of their ends. Those
    /// that end later last longer than a tile: [`View::frames`] has them.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn handlers(
        &mut self,
        numbers: Range<u64>,
        each: &mut dyn FnMut(&Passed),
    ) -> Result<Vec<Vec<ViewFrame>>, FindError> {
        let started = self.start(self.view.segment_of(numbers.start))?;
        let mut stacks = self.restore(&started.saved, Wanted::Handlers)?;
        let mut numbering = Numbering::new(&started, u64::MAX);
        let end = numbers.end;
        let mut inside = |passed: &Passed| {
            if passed.number < end {
                each(passed);
            }
        };
        let span = (started.at, u64::MAX);
        let at = self.feed(span, &mut numbering, &mut inside, &mut stacks, |numbering| {
            numbering.next < end
        })?;
        let tile = self.view.shape().tile(0);
        let last = (at / tile).saturating_add(3).saturating_mul(tile);
        if at < self.buffer.len() {
            let last = if last >= self.buffer.len() { u64::MAX } else { last };
            self.feed((at, last), &mut numbering, &mut |_| {}, &mut stacks, |_| true)?;
        }
        if last >= self.buffer.len() {
            stacks.finish();
        }
        Ok(stacks.visitor.take_frames())
    }

    /// The sums of the functions of each source in the bytes `offsets`: what is emitted while these
    /// bytes are decoded. Inside, the sums of the view are taken; both edges are decoded.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn sums(&mut self, offsets: Range<u64>) -> Result<Vec<FunctionsOf>, FindError> {
        let Sums { offsets: whole, functions: inner } = self.view.sums(offsets.clone())?;
        let edges = match whole.is_empty() {
            true => [offsets, 0..0],
            false => [offsets.start..whole.start, whole.end..offsets.end],
        };
        let [before, after] = edges.map(|edge| self.edge(edge));
        let parts = inner.into_iter().zip(before?).zip(after?);
        let joined = parts.map(|((inner, before), after)| {
            let mut all = BTreeMap::<u32, FunctionSums>::new();
            for (function, sums) in before.into_iter().chain(inner).chain(after) {
                all.entry(function).or_default().add(&sums);
            }
            all.into_iter().collect()
        });
        Ok(joined.collect())
    }

    /// The sums of a short part, which is decoded.
    fn edge(&mut self, offsets: Range<u64>) -> Result<Vec<FunctionsOf>, FindError> {
        let len = self.buffer.len();
        if offsets.is_empty() || offsets.start >= len {
            return Ok(vec![Vec::new(); self.sources]);
        }
        let index = self.view.buffer();
        let started = self.start(index.with_byte(offsets.start).unwrap_or(index.len()))?;
        let mut stacks = self.restore(&started.saved, Wanted::None)?;
        let at = self.advance((started.at, offsets.start), &mut stacks)?;
        stacks.visitor.restart_sums();
        let end = if offsets.end >= len { u64::MAX } else { offsets.end };
        self.advance((at, end), &mut stacks)?;
        if end == u64::MAX {
            stacks.finish();
        }
        Ok(stacks.visitor.take_sums())
    }

    /// The number of a function in the view.
    pub fn number(&self, function: FunctionId) -> Option<u32> {
        self.view.names().number(function)
    }
}

/// What [`Numbered`] has between two steps.
struct Numbering {
    next: u64,
    end: u64,
    ranges: u64,
    instructions: u64,
    of_sources: Vec<u64>,
    times: Vec<Option<u64>>,
}

impl Numbering {
    fn new(started: &Started, end: u64) -> Numbering {
        let Position { elements, instructions, times, .. } = &started.position;
        let sources = &started.saved.stacks.sources;
        Numbering {
            next: *elements,
            end,
            ranges: u64::MAX,
            instructions: *instructions,
            of_sources: sources.iter().map(|source| source.instructions).collect(),
            times: times.clone(),
        }
    }

    fn listener<'p>(
        &mut self,
        transfers: &'p mut Transfers,
        each: &'p mut dyn FnMut(&Passed),
    ) -> Numbered<'p> {
        Numbered {
            transfers,
            next: self.next,
            end: self.end,
            ranges: self.ranges,
            instructions: self.instructions,
            of_sources: std::mem::take(&mut self.of_sources),
            times: std::mem::take(&mut self.times),
            each,
        }
    }

    fn of(listener: Numbered<'_>) -> Numbering {
        let Numbered { next, end, ranges, instructions, of_sources, times, .. } = listener;
        Numbering { next, end, ranges, instructions, of_sources, times }
    }
}
