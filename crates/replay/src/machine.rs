//! The position in a trace, and steps.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracewright::analysis::Code;
use tracewright::analysis::tasks::TaskFile;
use tracewright::base::{Element, Isa};
use tracewright::decode::Plan;
use tracewright::index::query::Condition;
use tracewright::index::view::{Player, View};
use tracewright::index::{FindError, Finder, Index, Key, Kind as KeyKind, Subject, is_gap};

use crate::frame::Stack;
use crate::position::Position;
use crate::program::{Program, Selected};
use crate::watch::Accessed;
use crate::windows::{Entry, Windows};

/// A direction in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To later instructions.
    Forward,
    /// To earlier instructions.
    Backward,
}

/// Why the machine stands where it does after a step or a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The step is done.
    Step,
    /// There is a breakpoint at the instruction.
    Breakpoint,
    /// An access of a watch is next in that direction.
    Access(Accessed),
    /// There is no earlier instruction.
    Begin,
    /// There is no later instruction.
    End,
}

/// The result of a step or a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Why it ended.
    pub why: Stopped,
    /// Trace was lost, or could not be decoded, on the way: between the instructions there are
    /// others that are not known. The first such element.
    pub lost: Option<Element>,
}

/// The instruction at which a thread stands: it is executed next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Where it is in the trace.
    pub position: Position,
    /// The number of the source in the plan of the buffer.
    pub source: usize,
    /// Its address.
    pub address: u64,
    /// Its instruction set.
    pub isa: Isa,
    /// The number of instructions before it, of all sources.
    pub number: u64,
    /// The last timestamp of its source before it.
    pub time: Option<u64>,
}

/// A position in the trace of one buffer, and what is known there.
pub struct Machine<'a> {
    pub(crate) player: Player<'a>,
    pub(crate) finder: Finder<'a>,
    pub(crate) programs: Vec<Program>,
    pub(crate) windows: Windows,
    /// The sources that trace instructions.
    sources: Vec<usize>,
    here: Instruction,
    pub(crate) stack: Option<Stack>,
    stop: Option<Arc<AtomicBool>>,
}

impl<'a> Machine<'a> {
    /// A machine that stands at the first instruction of the buffer of `plan`. `index` has a view,
    /// with the tasks of `files`. `None` where no instruction was traced, or the plan is one of
    /// another capture.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn new(
        subject: Subject<'a>,
        plan: &'a Plan,
        index: &'a Index,
        view: &'a View<'a>,
        files: &[TaskFile],
    ) -> Result<Option<Machine<'a>>, FindError> {
        let (Some(player), Some(finder)) = (
            Player::with_tasks(subject, plan, view, files),
            Finder::new(subject, plan, Some(index)),
        ) else {
            return Ok(None);
        };
        let traces = |n: &usize| {
            let source = plan.sources.get(*n);
            source.is_some_and(|source| source.config.protocol().traces_instructions())
        };
        let mut machine = Machine {
            player,
            finder,
            programs: Program::all(&subject, plan),
            windows: Windows::default(),
            sources: (0..plan.sources.len()).filter(traces).collect(),
            here: Instruction {
                position: Position::default(),
                source: 0,
                address: 0,
                isa: Isa::default(),
                number: 0,
                time: None,
            },
            stack: None,
            stop: None,
        };
        let first = machine.next_range(0, None, &mut None)?;
        Ok(first.map(|entry| {
            machine.stand(&entry, 0);
            machine
        }))
    }

    /// Ends a run where it is set: the error is [`Interrupted`](io::ErrorKind::Interrupted), and the
    /// position stays.
    pub fn stop_on(&mut self, stop: Arc<AtomicBool>) {
        self.player.stop = Some(Arc::clone(&stop));
        self.finder.stop = Some(Arc::clone(&stop));
        self.stop = Some(stop);
    }

    /// The functions of the program.
    pub fn code(&self) -> &Code {
        self.player.code()
    }

    /// The view of the index.
    pub fn view(&self) -> &View<'a> {
        self.player.view()
    }

    /// Answers queries about the buffer.
    pub fn finder(&mut self) -> &mut Finder<'a> {
        &mut self.finder
    }

    /// The instruction at which the machine stands: that of the source which executes it.
    pub fn here(&self) -> Instruction {
        self.here
    }

    /// The sources that trace instructions: each executes a thread.
    pub fn sources(&self) -> &[usize] {
        &self.sources
    }

    /// The instruction at which `source` stands: its last one up to the position. `None` where it
    /// has executed nothing yet.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn at(&mut self, source: usize) -> Result<Option<Instruction>, FindError> {
        if source == self.here.source {
            return Ok(Some(self.here));
        }
        let entry = self.previous_range(self.here.position.element, Some(source), &mut None)?;
        Ok(entry.map(|entry| {
            let last = entry.range().map_or(0, |range| range.instructions - 1);
            self.instruction(&entry, last)
        }))
    }

    /// The first instruction of `source`; `None` where it has none.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn first(&mut self, source: usize) -> Result<Option<Instruction>, FindError> {
        let entry = self.next_range(0, Some(source), &mut None)?;
        Ok(entry.map(|entry| self.instruction(&entry, 0)))
    }

    /// The last instruction of `source`; `None` where it has none.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn last(&mut self, source: usize) -> Result<Option<Instruction>, FindError> {
        let entry = self.previous_range(u64::MAX, Some(source), &mut None)?;
        Ok(entry.map(|entry| {
            let last = entry.range().map_or(0, |range| range.instructions - 1);
            self.instruction(&entry, last)
        }))
    }

    /// Goes to a position: to the instruction there, or to the first later one where there is none.
    /// `false`, and the position stays, where there is no later one.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn go(&mut self, position: Position) -> Result<bool, FindError> {
        let Some(entry) = self.next_range(position.element, None, &mut None)? else {
            return Ok(false);
        };
        let most = entry.range().map_or(0, |range| range.instructions - 1);
        let n = if entry.number == position.element { position.instruction.min(most) } else { 0 };
        self.stand(&entry, n);
        Ok(true)
    }

    /// Goes to the first or the last instruction of the trace.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn go_to_end(&mut self, direction: Direction) -> Result<(), FindError> {
        let entry = match direction {
            Direction::Forward => self.previous_range(u64::MAX, None, &mut None)?,
            Direction::Backward => self.next_range(0, None, &mut None)?,
        };
        if let Some((entry, range)) = entry.and_then(|entry| Some((entry, entry.range()?))) {
            let forward = direction == Direction::Forward;
            self.stand(&entry, if forward { range.instructions - 1 } else { 0 });
        }
        Ok(())
    }

    /// Goes to the instruction with this number, counted from 0 over all sources. `false` where the
    /// trace has fewer.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn go_to_instruction(&mut self, number: u64) -> Result<bool, FindError> {
        let Some(end) = number.checked_add(1) else { return Ok(false) };
        let found = self.finder.seek(&[Condition::Instruction(number..end)])?;
        let Some(found) = found else { return Ok(false) };
        let Some(entry) = self.next_range(found.number, None, &mut None)? else {
            return Ok(false);
        };
        let before = number.saturating_sub(entry.instructions);
        let n = u32::try_from(before).unwrap_or(u32::MAX);
        let inside = entry.range().is_some_and(|range| n < range.instructions);
        if inside {
            self.stand(&entry, n);
        }
        Ok(inside)
    }

    /// Goes to the first instruction at or after a timestamp. `false` where there is none.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn go_to_time(&mut self, time: u64) -> Result<bool, FindError> {
        match self.finder.seek(&[Condition::Time(time..u64::MAX)])? {
            Some(found) => self.go(Position { element: found.number, instruction: 0 }),
            None => Ok(false),
        }
    }

    /// Goes to the next or the previous instruction of `source`, from its own place.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn step(&mut self, source: usize, direction: Direction) -> Result<Stop, FindError> {
        let mut lost = None;
        let own = self.at(source)?;
        let current = self.here;
        let entry = match (direction, own) {
            // Its next instruction is after the position of all sources.
            (Direction::Forward, _) => {
                if let Some(own) =
                    own.filter(|own| own.position.element == current.position.element)
                    && self.advance(own)?
                {
                    return Ok(Stop { why: Stopped::Step, lost });
                }
                let next = current.position.element.saturating_add(1);
                self.next_range(next, Some(source), &mut lost)?
            }
            (Direction::Backward, None) => None,
            (Direction::Backward, Some(own)) => {
                let Position { element, instruction } = own.position;
                if let Some(before) = instruction.checked_sub(1) {
                    let entry = self.entry(element)?;
                    if let Some(entry) = entry {
                        self.stand(&entry, before);
                    }
                    return Ok(Stop { why: Stopped::Step, lost });
                }
                self.previous_range(element, Some(source), &mut lost)?
            }
        };
        let why = match (entry, direction) {
            (Some(entry), direction) => {
                let last = entry.range().map_or(0, |range| range.instructions - 1);
                self.stand(&entry, if direction == Direction::Forward { 0 } else { last });
                Stopped::Step
            }
            (None, Direction::Forward) => Stopped::End,
            (None, Direction::Backward) => Stopped::Begin,
        };
        Ok(Stop { why, lost })
    }

    /// Goes to the next instruction of the same range. `false` where it is the last one.
    fn advance(&mut self, own: Instruction) -> Result<bool, FindError> {
        let Some(entry) = self.entry(own.position.element)? else { return Ok(false) };
        let next = own.position.instruction + 1;
        let inside = entry.range().is_some_and(|range| next < range.instructions);
        if inside {
            self.stand(&entry, next);
        }
        Ok(inside)
    }

    /// Reads memory that is known at the position of `source`, from `address` on, and returns how
    /// many bytes are known: instructions that were executed nearby, whose memory the decoder has
    /// read. What a data trace has is not looked up.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn read_code(
        &mut self,
        source: usize,
        address: u64,
        out: &mut [u8],
    ) -> Result<usize, FindError> {
        let Some((isa, selected)) = self.selected(source)? else { return Ok(0) };
        let known = usize::try_from(self.windows.executed(source, address)).unwrap_or(usize::MAX);
        let most = known.min(out.len());
        let Some(program) = self.programs.get_mut(source) else { return Ok(0) };
        Ok(program.read(selected, address, isa, out.get_mut(..most).unwrap_or_default()))
    }

    /// What selects the memory of `source` at its place.
    fn selected(&mut self, source: usize) -> Result<Option<(Isa, Selected)>, FindError> {
        let Some(own) = self.at(source)? else { return Ok(None) };
        let entry = self.entry(own.position.element)?;
        Ok(entry.map(|entry| (own.isa, entry.selected)))
    }

    /// The instruction `n` of the range of `entry`.
    pub(crate) fn instruction(&mut self, entry: &Entry, n: u32) -> Instruction {
        let (mut address, mut isa) = (0, Isa::default());
        if let (Some(range), Some(program)) = (entry.range(), self.programs.get_mut(entry.source)) {
            address = program.address(entry.selected, range, n);
            isa = range.last.isa;
        }
        Instruction {
            position: Position { element: entry.number, instruction: n },
            source: entry.source,
            address,
            isa,
            number: entry.instructions.saturating_add(n.into()),
            time: entry.time,
        }
    }

    /// Goes to instruction `n` of the range of `entry`.
    pub(crate) fn stand(&mut self, entry: &Entry, n: u32) {
        self.here = self.instruction(entry, n);
    }

    /// The element with this number.
    pub(crate) fn entry(&mut self, number: u64) -> Result<Option<Entry>, FindError> {
        let entries = self.windows.around(&mut self.player, &self.programs, number)?;
        let first = entries.first().map_or(0, |entry| entry.number);
        let n = number.checked_sub(first).and_then(|n| usize::try_from(n).ok());
        Ok(n.and_then(|n| entries.get(n)).copied())
    }

    /// Fails with [`Interrupted`](std::io::ErrorKind::Interrupted) where what [`stop_on`] takes is
    /// set: searches do it by themselves.
    ///
    /// [`stop_on`]: Self::stop_on
    ///
    /// # Errors
    /// Where it is set.
    pub fn check_stop(&self) -> Result<(), FindError> {
        match self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            true => Err(FindError::Read(io::ErrorKind::Interrupted.into())),
            false => Ok(()),
        }
    }

    /// Whether `source`, or any source, has instructions or losses in a segment.
    fn executes(&self, segment: usize, source: Option<usize>) -> bool {
        let index = self.player.view().buffer();
        index.segment(segment).is_none_or(|segment| {
            let of = |n: u16| source.is_none_or(|source| usize::from(n) == source);
            let mut own = segment.streams.iter().filter(|stream| of(stream.source));
            own.any(|stream| {
                let gap = |(key, _): &(Key, u64)| key.kind == KeyKind::Gap;
                stream.instructions > 0 || stream.keys.iter().any(gap)
            })
        })
    }

    /// The first range of `source`, or of any source, from element `number` on. `lost`: the first
    /// loss before it.
    pub(crate) fn next_range(
        &mut self,
        mut number: u64,
        source: Option<usize>,
        lost: &mut Option<Element>,
    ) -> Result<Option<Entry>, FindError> {
        loop {
            self.check_stop()?;
            let view = self.player.view();
            let segment = view.segment_of(number);
            let end = view.buffer().position(segment + 1).elements;
            if number >= end && segment + 1 >= view.buffer().len() {
                return Ok(None);
            }
            if !self.executes(segment, source) {
                number = end.max(number.saturating_add(1));
                continue;
            }
            let entries = self.windows.around(&mut self.player, &self.programs, number)?;
            let Some(last) = entries.last().map(|entry| entry.number) else { return Ok(None) };
            for entry in entries.iter().filter(|entry| entry.number >= number) {
                let own = source.is_none_or(|source| entry.source == source);
                if own && entry.range().is_some() {
                    return Ok(Some(*entry));
                }
                if lost.is_none() && own && is_gap(&entry.element) {
                    *lost = Some(entry.element);
                }
            }
            number = last.saturating_add(1);
        }
    }

    /// The last range of `source`, or of any source, before element `number`. `lost`: the last loss
    /// after it.
    pub(crate) fn previous_range(
        &mut self,
        mut number: u64,
        source: Option<usize>,
        lost: &mut Option<Element>,
    ) -> Result<Option<Entry>, FindError> {
        let index = self.player.view().buffer();
        number = number.min(index.position(index.len()).elements);
        while let Some(before) = number.checked_sub(1) {
            self.check_stop()?;
            let view = self.player.view();
            let segment = view.segment_of(before);
            if !self.executes(segment, source) {
                number = view.buffer().position(segment).elements.min(before);
                continue;
            }
            let entries = self.windows.around(&mut self.player, &self.programs, before)?;
            let Some(first) = entries.first().map(|entry| entry.number) else { return Ok(None) };
            for entry in entries.iter().rev().filter(|entry| entry.number < number) {
                let own = source.is_none_or(|source| entry.source == source);
                if own && entry.range().is_some() {
                    return Ok(Some(*entry));
                }
                if lost.is_none() && own && is_gap(&entry.element) {
                    *lost = Some(entry.element);
                }
            }
            number = first;
        }
        Ok(None)
    }
}
