//! Where frames of the call stack begin and end.

use tracewright::analysis::stacks::{Ending, Entry as FrameEntry, SavedFrame};
use tracewright::index::FindError;
use tracewright::index::query::Condition;
use tracewright::index::view::{OpenFrame, ViewFrame};

use crate::machine::{Instruction, Machine};
use crate::position::Position;
use crate::windows::Entry;

/// The tiles behind a position that are decoded for the end of a frame: frames that last longer are
/// in the index.
const TILES: u64 = 3;

/// The most frames that end there.
const MOST: usize = 1 << 18;

impl Machine<'_> {
    /// The position of the first instruction of frame `n` of `source`; 0 is the innermost frame.
    /// `None` where it began before the trace, or where there is no such frame.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn frame_begin(&mut self, source: usize, n: usize) -> Result<Option<Position>, FindError> {
        let Some((_, saved, open)) = self.open_frame(source, n)? else { return Ok(None) };
        if open.depth < 0 || saved.entry == FrameEntry::Before {
            return Ok(None);
        }
        let found = self.own_instruction(source, open.at, open.instructions)?;
        Ok(found.map(|own| own.position))
    }

    /// The position of the first instruction of `source` after the end of frame `n`; 0 is the
    /// innermost frame. `None` where it does not end in the trace, or where there is no such frame.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn frame_end(&mut self, source: usize, n: usize) -> Result<Option<Position>, FindError> {
        let Some(here) = self.at(source)? else { return Ok(None) };
        let Some((thread, _, open)) = self.open_frame(source, n)? else { return Ok(None) };
        let Some(entry) = self.entry(here.position.element)? else { return Ok(None) };
        let is = |frame: &ViewFrame| {
            let begin = (frame.thread, frame.depth, frame.instructions.0);
            begin == (thread, open.depth, open.instructions)
        };
        let view = self.player.view();
        let near = entry.at.saturating_add(view.shape().tile(0).saturating_mul(TILES));
        let detail = self.player.detail(entry.at..near, MOST, |_| {})?;
        let ended = detail.ended.get(source).and_then(|all| all.iter().find(|frame| is(frame)));
        let ended = match ended {
            Some(frame) => Some(*frame),
            None => {
                let offsets = entry.at..entry.at.saturating_add(1);
                view.frames(source, offsets, 0)?.into_iter().find(is)
            }
        };
        let Some(frame) = ended.filter(|frame| frame.ending != Ending::TraceEnd) else {
            return Ok(None);
        };
        let found = self.own_instruction(source, frame.offsets.1, frame.instructions.1)?;
        Ok(found.map(|own| own.position))
    }

    /// The last instruction of any source before the element with this number.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn before(&mut self, element: u64) -> Result<Option<Instruction>, FindError> {
        let entry = self.previous_range(element, None, &mut None)?;
        Ok(entry.map(|entry| {
            let last = entry.range().map_or(0, |range| range.instructions - 1);
            self.instruction(&entry, last)
        }))
    }

    /// The first instruction of any source from the element with this number on.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn after(&mut self, element: u64) -> Result<Option<Instruction>, FindError> {
        let entry = self.next_range(element, None, &mut None)?;
        Ok(entry.map(|entry| self.instruction(&entry, 0)))
    }

    /// Frame `n` of `source`, and the number of its thread.
    fn open_frame(
        &mut self,
        source: usize,
        n: usize,
    ) -> Result<Option<(u32, SavedFrame, OpenFrame)>, FindError> {
        self.stack(source)?;
        let Some(stack) = self.stack.as_ref().filter(|stack| stack.source == source) else {
            return Ok(None);
        };
        let frame = n.checked_add(1).and_then(|n| stack.frames.len().checked_sub(n));
        let frame = frame.and_then(|n| stack.frames.get(n));
        Ok(frame.map(|(saved, open)| (stack.thread, *saved, *open)))
    }

    /// The instruction of `source` before which it has executed `count` ones. A packet at `offset`
    /// or near it made the element.
    fn own_instruction(
        &mut self,
        source: usize,
        offset: u64,
        count: u64,
    ) -> Result<Option<Instruction>, FindError> {
        let near = self.finder.seek(&[Condition::Offset(offset..u64::MAX)])?;
        let mut number = near.map_or(u64::MAX, |found| found.number);
        let mut entry = self.next_range(number, Some(source), &mut None)?;
        while entry.is_none_or(|entry| entry.of_source > count) {
            entry = self.previous_range(number, Some(source), &mut None)?;
            match entry {
                Some(own) => number = own.number,
                None => return Ok(None),
            }
        }
        while let Some(own) = entry {
            let n = count.checked_sub(own.of_source).and_then(|n| u32::try_from(n).ok());
            let inside = |n: &u32| own.range().is_some_and(|range| *n < range.instructions);
            if let Some(n) = n.filter(inside) {
                return Ok(Some(self.instruction(&own, n)));
            }
            entry = self.later(&own, count)?;
        }
        Ok(None)
    }

    /// The next range of the source of `own`, if `count` instructions are not passed by then.
    fn later(&mut self, own: &Entry, count: u64) -> Result<Option<Entry>, FindError> {
        let next = own.number.saturating_add(1);
        let entry = self.next_range(next, Some(own.source), &mut None)?;
        Ok(entry.filter(|entry| entry.of_source <= count))
    }
}
