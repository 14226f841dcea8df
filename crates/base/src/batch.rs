//! Batches: what a decoder reports of one source, as one plain value.

use alloc::vec::Vec;

use crate::cached_block::{BlockId, CachedBlocks};
use crate::custom::Custom;
use crate::element::Element;
use crate::range::Range;

/// An executed block of the block cache, in 8 bytes: whether its waypoint took effect, bit \[0];
/// the number of the block, bits \[31:1]; the offset of its packet, minus that of the batch, bits
/// \[63:32].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockStep(u64);

impl BlockStep {
    /// The step whose [`index`](Self::index) is `word`. `offset`: at most [`BatchBuffer::FAR`].
    #[inline(always)]
    pub const fn from_word(word: u32, offset: u64) -> BlockStep {
        BlockStep(word as u64 | offset << 32)
    }

    /// `id`, whose waypoint took effect if `taken`.
    #[inline]
    pub const fn new(id: BlockId, taken: bool, offset: u64) -> BlockStep {
        BlockStep::from_word((id.index() as u32) << 1 | taken as u32, offset)
    }

    /// Number and outcome: below twice the number of blocks.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as u32 as usize
    }

    /// The number of the block.
    #[inline]
    pub const fn id(self) -> BlockId {
        BlockId::new(self.index() >> 1)
    }

    /// Whether the waypoint took effect.
    #[inline]
    pub const fn taken(self) -> bool {
        self.0 & 1 != 0
    }

    /// The offset of its packet, minus [`Batch::start`].
    #[inline(always)]
    pub const fn offset(self) -> u64 {
        self.0 >> 32
    }
}

/// The turns of a loop, in order of execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns<'a> {
    /// The offset of the packet.
    pub at: u64,
    /// The ranges of one turn.
    pub ranges: &'a [Range],
    /// The number of turns.
    pub times: u64,
    /// They are within the instructions that [`Code::max_expansion`](crate::Code::max_expansion)
    /// allows for the packet. Listings only state the number of others; counts include them.
    pub listed: bool,
}

/// A part of a [`Batch`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part<'a> {
    /// Executed blocks of [`Batch::blocks`].
    Steps(&'a [BlockStep]),
    /// An element at its offset.
    Element(u64, Element),
    /// Turns of a loop.
    Turns(Turns<'a>),
}

/// What is between steps.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Element(Element),
    /// Of `ranges`, `len` from `first` on.
    Turns {
        first: u32,
        len: u32,
        times: u64,
        listed: bool,
    },
}

/// An event, its offset, and the number of steps before it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Placed {
    before: u32,
    at: u64,
    event: Event,
}

/// What a decoder writes. Its memory is used again for each batch.
#[derive(Clone, Debug, Default)]
pub struct BatchBuffer {
    /// Empty, or [`BatchBuffer::STEPS`] of them.
    steps: Vec<BlockStep>,
    /// How many of `steps` are used.
    len: usize,
    /// Up to this number of steps one is added without asking whether the batch is full.
    most: usize,
    /// What is added to the offsets of steps.
    start: u64,
    events: Vec<Placed>,
    /// The ranges of the turns of loops.
    ranges: Vec<Range>,
    /// The bytes of [`Element::Custom`].
    content: Vec<u8>,
}

impl BatchBuffer {
    /// The most steps of a batch, a power of two.
    pub const STEPS: usize = 1 << 11;

    /// The most steps that are added without asking [`is_full`](Self::is_full) again.
    pub const ROOM: usize = 96;

    /// The greatest distance between the offsets of steps.
    pub const FAR: u64 = u32::MAX as u64;

    /// The most events, and ranges of loops, of a batch.
    const EVENTS: usize = 1 << 10;

    /// A batch with as many bytes of content takes no more.
    const CONTENT: usize = 1 << 16;

    /// Whether the batch is to be read before anything is added at offset `at`.
    #[inline]
    pub fn is_full(&self, at: u64) -> bool {
        self.len > Self::STEPS - Self::ROOM
            || self.events.len() >= Self::EVENTS
            || self.ranges.len() >= Self::EVENTS
            || self.has_steps() && at.wrapping_sub(self.start) > Self::FAR
    }

    /// Whether the batch is to be read before a packet that may have more than a few elements.
    #[inline]
    pub const fn is_crowded(&self) -> bool {
        self.events.len() >= Self::EVENTS / 2
            || self.ranges.len() >= Self::EVENTS / 2
            || self.has_much_content()
    }

    /// Whether there are neither steps nor elements.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0 && self.events.is_empty()
    }

    /// Whether there are steps.
    #[inline]
    pub const fn has_steps(&self) -> bool {
        self.len > 0
    }

    /// The last step.
    #[inline]
    pub fn last(&self) -> Option<BlockStep> {
        self.steps.get(self.len.checked_sub(1)?).copied()
    }

    /// Adds an element.
    #[inline]
    pub fn element(&mut self, at: u64, element: Element) {
        self.events.push(Placed { before: self.len as u32, at, event: Event::Element(element) });
        self.limit();
    }

    /// Adds [`Element::Custom`] of this kind with these bytes, of which there are fewer than 4 GiB.
    pub fn custom(&mut self, at: u64, kind: &'static str, bytes: &[u8]) {
        let offset = self.content.len() as u32;
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.content.extend_from_slice(bytes.get(..len as usize).unwrap_or(bytes));
        self.element(at, Element::Custom(Custom { kind, len, offset }));
    }

    /// Whether no more content fits.
    pub const fn has_much_content(&self) -> bool {
        self.content.len() >= Self::CONTENT
    }

    /// A batch with many events takes no further steps.
    #[inline]
    fn limit(&mut self) {
        if self.events.len() >= Self::EVENTS || self.ranges.len() >= Self::EVENTS {
            self.most = 0;
        }
    }

    /// Adds turns of a loop.
    pub fn turns(&mut self, turns: Turns<'_>) {
        let Turns { at, ranges, times, listed } = turns;
        let (first, len) = (self.ranges.len() as u32, ranges.len() as u32);
        self.ranges.extend_from_slice(ranges);
        let event = Event::Turns { first, len, times, listed };
        self.events.push(Placed { before: self.len as u32, at, event });
        self.limit();
    }

    /// Adds a step, if the batch [is not full](Self::is_full) and has other steps. Returns whether
    /// it was added.
    #[inline(always)]
    pub fn further_step(&mut self, at: u64, id: BlockId, taken: bool) -> bool {
        let offset = at.wrapping_sub(self.start);
        if self.len >= self.most || offset > Self::FAR {
            return false;
        }
        let Some(room) = self.steps.get_mut(self.len) else { return false };
        *room = BlockStep::new(id, taken, offset);
        self.len += 1;
        true
    }

    /// Adds a step, where there is room for it.
    #[inline]
    pub fn step(&mut self, at: u64, id: BlockId, taken: bool) {
        self.begin(at);
        let offset = at.wrapping_sub(self.start);
        if let Some(room) = self.steps.get_mut(self.len) {
            *room = BlockStep::new(id, taken, offset);
            self.len += 1;
        }
    }

    /// Offsets from `at` on follow. Returns what steps count their offsets from.
    #[inline]
    pub fn begin(&mut self, at: u64) -> u64 {
        if self.len == 0 {
            self.start = at;
            self.most = Self::STEPS - Self::ROOM + 1;
            if self.steps.is_empty() {
                self.steps.resize(Self::STEPS, BlockStep::default());
            }
            self.limit();
        }
        self.start
    }

    /// All places for steps, of which [`len`](Self::len) are used: see [`set_len`](Self::set_len).
    #[inline]
    pub fn places(&mut self) -> Option<&mut [BlockStep; Self::STEPS]> {
        self.steps.first_chunk_mut()
    }

    /// The number of steps.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// The first `len` places have steps.
    #[inline]
    pub fn set_len(&mut self, len: usize) {
        self.len = len.min(Self::STEPS);
    }

    /// Empties the buffer.
    #[inline]
    pub fn clear(&mut self) {
        (self.len, self.most) = (0, 0);
        self.events.clear();
        self.ranges.clear();
        self.content.clear();
    }

    /// What was written, by `source`. The steps are of `blocks`.
    #[inline]
    pub fn batch<'a>(&'a self, source: usize, blocks: CachedBlocks<'a>) -> Batch<'a> {
        Batch {
            source,
            blocks,
            start: self.start,
            steps: self.steps.get(..self.len).unwrap_or_default(),
            events: &self.events,
            ranges: &self.ranges,
            content: &self.content,
        }
    }
}

/// What a source reported, in order: executed blocks and other elements.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The index of the source.
    pub source: usize,
    /// The blocks of the steps. They have other numbers in another batch where
    /// [`CachedBlocks::numbering`] is another one.
    pub blocks: CachedBlocks<'a>,
    /// What is added to the offsets of steps.
    pub start: u64,
    steps: &'a [BlockStep],
    events: &'a [Placed],
    ranges: &'a [Range],
    content: &'a [u8],
}

impl<'a> Batch<'a> {
    /// The bytes of [`Element::Custom`], one of the elements of the batch.
    pub fn content(&self, custom: &Custom) -> &'a [u8] {
        let from = self.content.get(custom.offset as usize..).unwrap_or_default();
        from.get(..custom.len as usize).unwrap_or_default()
    }

    /// The parts, in order. Consecutive steps are one part.
    #[inline]
    pub fn parts(&self) -> Parts<'a> {
        Parts { steps: self.steps, events: self.events, ranges: self.ranges, done: 0 }
    }

    /// The parts, each with a batch that has only this one: for what passes on some of them.
    pub fn parts_alone(&self) -> impl Iterator<Item = (Part<'a>, Batch<'a>)> {
        let (batch, mut parts) = (*self, self.parts());
        core::iter::from_fn(move || {
            let events = parts.events;
            let part = parts.next()?;
            Some(match part {
                Part::Steps(steps) => (part, batch.with_steps(steps)),
                _ => {
                    let one = events.get(..1).unwrap_or_default();
                    (part, Batch { steps: &[], events: one, ..batch })
                }
            })
        })
    }

    /// A batch that has only `steps`, which are some of this one.
    #[inline]
    pub const fn with_steps(self, steps: &'a [BlockStep]) -> Batch<'a> {
        Batch { steps, events: &[], ..self }
    }

    /// Whether there are only steps.
    #[inline]
    pub const fn is_steps(&self) -> bool {
        self.events.is_empty()
    }

    /// All steps, without what is between them.
    #[inline]
    pub const fn steps(&self) -> &'a [BlockStep] {
        self.steps
    }

    /// The number of instructions of `steps` in sum.
    #[inline]
    pub fn instructions(&self, steps: &[BlockStep]) -> u64 {
        let blocks = self.blocks.all();
        let counts = steps.iter().filter_map(|step| blocks.get(step.id().index()));
        counts.map(|block| u64::from(block.instructions())).sum()
    }

    /// The range of a step.
    #[inline]
    pub fn range(&self, step: BlockStep) -> Option<Range> {
        let (cached, class) = self.blocks.get(step.id())?;
        Some(cached.range(class, step.taken()))
    }

    /// The offset of the packet of a step.
    #[inline(always)]
    pub const fn at(&self, step: BlockStep) -> u64 {
        self.start.wrapping_add(step.offset())
    }
}

/// The parts of a batch: see [`Batch::parts`].
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    steps: &'a [BlockStep],
    events: &'a [Placed],
    ranges: &'a [Range],
    /// The number of steps before `steps`.
    done: u32,
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    #[inline]
    fn next(&mut self) -> Option<Part<'a>> {
        let Some((&Placed { before, at, event }, rest)) = self.events.split_first() else {
            let steps = core::mem::take(&mut self.steps);
            return (!steps.is_empty()).then_some(Part::Steps(steps));
        };
        if before > self.done
            && let Some((steps, after)) = self.steps.split_at_checked((before - self.done) as usize)
        {
            (self.steps, self.done) = (after, before);
            return Some(Part::Steps(steps));
        }
        self.events = rest;
        Some(match event {
            Event::Element(element) => Part::Element(at, element),
            Event::Turns { first, len, times, listed } => {
                let first = first as usize;
                let ranges = self.ranges.get(first..first + len as usize).unwrap_or_default();
                Part::Turns(Turns { at, ranges, times, listed })
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::*;
    use crate::instruction::Instruction;
    use crate::range::{Counted, Last};

    fn range() -> Range {
        let last = Last::new(&Instruction::default(), true);
        Range { start: 0, bytes: 4, instructions: 1, cycles: Counted::UNKNOWN, last }
    }

    /// The parts of a batch: an offset and a text for each step, element and loop.
    fn rows(batch: &Batch<'_>) -> Vec<(u64, String)> {
        let mut rows = Vec::new();
        for part in batch.parts() {
            match part {
                Part::Steps(steps) => rows.extend(steps.iter().map(|&step| {
                    (batch.at(step), format!("{} {}", step.id().index(), step.taken()))
                })),
                Part::Element(at, element) => rows.push((at, format!("{element:?}"))),
                Part::Turns(Turns { at, ranges, times, listed }) => {
                    rows.push((at, format!("{times} of {} {listed}", ranges.len())));
                }
            }
        }
        rows
    }

    #[test]
    fn what_was_written_is_read_in_order() {
        let block = BlockId::new;
        let mut buffer = BatchBuffer::default();
        // The offset of the first step is that from which the others count.
        for at in [0, 1 << 40] {
            assert!(buffer.is_empty() && !buffer.has_steps());
            buffer.element(at, Element::Trigger);
            assert!(!buffer.is_empty() && !buffer.has_steps());
            buffer.step(at + 1, block(7), true);
            assert!(buffer.further_step(at + 2, block(8), false));
            let turns = Turns { at: at + 3, ranges: &[range(); 2], times: 5, listed: true };
            buffer.turns(turns);
            buffer.turns(Turns { at: at + 4, ranges: &[range()], listed: false, ..turns });
            buffer.element(at + 5, Element::End);
            assert!(buffer.further_step(at + 6, block(9), true));
            assert_eq!(buffer.last().map(BlockStep::id), Some(block(9)));

            let batch = buffer.batch(3, CachedBlocks::none());
            let want = [
                (at, "Trigger"),
                (at + 1, "7 true"),
                (at + 2, "8 false"),
                (at + 3, "5 of 2 true"),
                (at + 4, "5 of 1 false"),
                (at + 5, "End"),
                (at + 6, "9 true"),
            ]
            .map(|(at, text)| (at, text.into()));
            assert_eq!((batch.source, rows(&batch)), (3, want.to_vec()));
            let alone: Vec<_> = batch.parts_alone().flat_map(|(_, one)| rows(&one)).collect();
            assert_eq!(alone, want);
            // The steps alone have no elements between them.
            let steps = rows(&batch.with_steps(&batch.steps()[1..]));
            assert_eq!(steps, [want[2].clone(), want[6].clone()]);
            buffer.clear();
        }
    }

    /// A batch is bounded in its steps, its other elements, and the distance of its offsets.
    #[test]
    fn a_batch_is_bounded() {
        let mut buffer = BatchBuffer::default();
        buffer.step(100, BlockId::new(1), true);
        assert!(!buffer.further_step(99, BlockId::new(1), true), "an offset before the first");
        assert!(buffer.further_step(100 + BatchBuffer::FAR, BlockId::new(1), true));
        assert!(!buffer.further_step(101 + BatchBuffer::FAR, BlockId::new(1), true));
        assert!(!buffer.is_full(100 + BatchBuffer::FAR) && buffer.is_full(101 + BatchBuffer::FAR));

        while buffer.further_step(200, BlockId::new(1), true) {}
        assert!(buffer.is_full(200));
        assert_eq!(buffer.len(), BatchBuffer::STEPS - BatchBuffer::ROOM + 1);

        for turns in [false, true] {
            buffer.clear();
            buffer.step(100, BlockId::new(1), true);
            let mut count = 0;
            while !buffer.is_full(100) {
                assert_eq!(buffer.is_crowded(), count >= BatchBuffer::EVENTS / 2);
                match turns {
                    true => {
                        buffer.turns(Turns { at: 100, ranges: &[range()], times: 1, listed: true })
                    }
                    false => buffer.element(100, Element::Trigger),
                }
                count += 1;
            }
            assert_eq!(count, BatchBuffer::EVENTS);
            assert!(!buffer.further_step(100, BlockId::new(1), true), "the batch is full");
        }
    }
}
