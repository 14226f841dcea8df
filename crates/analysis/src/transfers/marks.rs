//! Which steps of cached blocks stay in a function, so that their addresses are not compared.

use std::sync::Weak;

use tracewright_base::{BatchBuffer, BlockId, BlockStep, CachedBlock, CachedBlocks, Numbering};
use tracewright_image::MemoryId;
use tracewright_scan::prefetch;

use super::state::{Continues, continues};
use crate::entered::BlockTransfer;

/// What is known of a step. Bits \[6:0] number of instructions, 0 if nothing is known; \[31:8] the
/// number of the block after it in the same function, or [`LEAVES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mark(u32);

const INSTRUCTIONS: u32 = (1 << 7) - 1;
/// In place of the number of a block: execution may leave the function.
const LEAVES: u32 = (1 << 24) - 1;

/// Steps ahead of the one that is taken whose marks are prefetched, where these take more bytes
/// than [`LARGE`].
const AHEAD: usize = 16;
const LARGE: usize = 1 << 18;

const _: () = assert!(CachedBlock::MAX_INSTRUCTIONS <= INSTRUCTIONS);

impl Mark {
    const UNKNOWN: Mark = Mark(LEAVES << 8);

    /// The whole block is in one function, and the block `next` follows it in the function; with
    /// [`LEAVES`], any block follows.
    const fn new(instructions: u32, next: u32) -> Mark {
        Mark(instructions & INSTRUCTIONS | next << 8)
    }

    #[inline(always)]
    const fn instructions(self) -> u32 {
        self.0 & INSTRUCTIONS
    }

    #[inline(always)]
    const fn leads_to(self, step: BlockStep) -> bool {
        self.0 >> 8 == step.index() as u32 >> 1
    }
}

/// What is known of the steps of a source.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    /// That of the blocks.
    numbering: Weak<()>,
    /// The memory whose functions these are.
    memory: Option<MemoryId>,
    /// By [`BlockStep::index`].
    marks: Vec<Mark>,
}

impl Marks {
    /// Prepares for steps of `blocks` in `memory`. Returns whether these have the same numbers as
    /// before and are in the same memory; otherwise nothing is known of them.
    pub(super) fn prepare(&mut self, memory: MemoryId, blocks: &CachedBlocks<'_>) -> bool {
        let numbering = blocks.numbering();
        let same = numbering.is_some_and(|numbering| numbering.is(&self.numbering))
            && self.memory == Some(memory);
        if !same {
            self.marks.clear();
            self.numbering = numbering.map(Numbering::downgrade).unwrap_or_default();
            self.memory = Some(memory);
        }
        let len = 2 * blocks.all().len().min(LEAVES as usize);
        if self.marks.len() < len {
            self.marks.resize(len, Mark::UNKNOWN);
        }
        same
    }

    /// Marks a step, if nothing is known of it and its block is in the function between the
    /// addresses `within`, the last one included. It stays unknown as long as the next block is not
    /// known.
    pub(super) fn learn(&mut self, step: BlockStep, within: (u64, u64), blocks: &CachedBlocks<'_>) {
        let inside =
            |id: BlockId| blocks.get(id).filter(|(its, class)| its.is_within(class, within));
        let Some(mark) = self.marks.get_mut(step.index()) else { return };
        let (Some((cached, class)), true) = (inside(step.id()), *mark == Mark::UNKNOWN) else {
            return;
        };
        let next = blocks.next(step.id(), step.taken());
        let stays = match continues(class.last[usize::from(step.taken())]) {
            Continues::Other => false,
            _ if !next.can_be_next() => return,
            Continues::Direct => inside(next).is_some(),
            Continues::Next => {
                inside(next).is_some_and(|(next, its)| next.start(its) == cached.end(class))
            }
        };
        let next = if stays { next.index().min(LEAVES as usize) as u32 } else { LEAVES };
        *mark = Mark::new(cached.instructions(), next);
    }
}

/// Steps of which all is known.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// Empty, or as many as a batch has steps.
    transfers: Vec<BlockTransfer>,
    /// How many of them are used.
    count: usize,
    /// Instructions since the last transfer.
    pub(super) instructions: u32,
    /// The last step.
    pub(super) last: Option<BlockStep>,
}

impl Walk {
    /// Takes the steps after `last`, up to one of which nothing is known. Returns the others.
    // A transfer is written for each step, and only counted where it is one: a branch on that would
    // be mispredicted.
    #[inline(never)]
    pub(super) fn run<'a>(
        &mut self,
        marks: &Marks,
        last: BlockStep,
        steps: &'a [BlockStep],
    ) -> &'a [BlockStep] {
        let marks = &marks.marks[..];
        let large = size_of_val(marks) > LARGE;
        if self.transfers.len() < steps.len() {
            self.transfers.resize(steps.len().max(BatchBuffer::STEPS), BlockTransfer::NONE);
        }
        let (mut count, mut instructions, mut from) = (0, 0, last);
        let mut before = marks.get(last.index()).copied().unwrap_or(Mark::UNKNOWN);
        let mut left = steps;
        while let [step, others @ ..] = left
            && let Some(&mark) = marks.get(step.index())
            && let Some(room) = self.transfers.get_mut(count)
            && mark != Mark::UNKNOWN
        {
            if large && let Some(ahead) = left.get(AHEAD) {
                prefetch(marks, ahead.index());
            }
            let at = BlockStep::from_word(from.index() as u32, step.offset());
            *room = BlockTransfer { from: at, to: step.id(), instructions };
            let stays = before.leads_to(*step);
            count += usize::from(!stays);
            instructions = mark.instructions() + if stays { instructions } else { 0 };
            (before, from, left) = (mark, *step, others);
        }
        (self.count, self.instructions) = (count, instructions);
        self.last = (left.len() < steps.len()).then_some(from);
        left
    }

    /// The steps that may leave their functions.
    pub(super) fn transfers(&self) -> &[BlockTransfer] {
        self.transfers.get(..self.count).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::{BatchBuffer, Element, Gap};
    use tracewright_decode::{Fork, Listener};
    use tracewright_symbols::{Candidate, Functions};
    use tracewright_testing::{Random, times};

    use crate::code::Code;
    use crate::random_blocks::{BLOCKS, BYTES, RandomBlocks, START};
    use crate::transfers::Transfers;

    /// Transfers of batches are those of each range, in functions whose limits are within blocks,
    /// too.
    #[test]
    fn transfers_of_steps_are_those_of_ranges() {
        let mut random = Random::new(23);
        let mut taken = 0;
        for round in 0..times(30) {
            let mut candidates = Vec::new();
            let mut start = START;
            while start < START + BYTES * BLOCKS as u64 {
                let size = 4 * (1 + random.below(20));
                let symbol = format!("f{start:x}");
                if random.one_in(4) {
                    start += 4 * random.below(4);
                }
                candidates.push(Candidate {
                    symbol,
                    start,
                    size,
                    limit: size,
                    ..Candidate::default()
                });
                start += size;
            }
            let code = Code::of(Functions::new(candidates), 1);
            let new = || match round % 2 {
                0 => Transfers::new(code.clone(), Vec::new()),
                _ => Transfers::new(code.clone(), Vec::new()).with_frames(),
            };
            let (mut steps, mut ranges) = (new(), new());
            let mut blocks = RandomBlocks::new(&mut random);
            let (mut buffer, mut last) = (BatchBuffer::default(), None);
            for at in 0..3000 {
                if random.one_in(200) {
                    let other = random.pick(&[
                        Element::Gap(Gap::Overflow),
                        Element::Timestamp { value: at, cycles: None },
                        Element::Corrected { taken: true },
                        Element::ExceptionReturn,
                    ]);
                    buffer.element(at, other);
                    ranges.element(0, at, other);
                }
                let step = blocks.step(&mut random, last);
                buffer.step(at, step.id(), step.taken());
                ranges.element(0, at, Element::Range(blocks.range(step)));
                last = Some(step);
                if buffer.is_full(at) || random.one_in(300) {
                    steps.batch(&buffer.batch(0, blocks.blocks()));
                    buffer.clear();
                    assert_eq!(steps.state(), ranges.state(), "round {round} at {at}");
                    if random.one_in(5) {
                        (blocks, last) = (RandomBlocks::new(&mut random), None);
                    }
                }
            }
            steps.batch(&buffer.batch(0, blocks.blocks()));
            let (steps, ranges) = (steps.take(), ranges.take());
            taken += steps.transfers().count();
            let differs = steps.transfers().zip(ranges.transfers()).position(|(a, b)| a != b);
            assert_eq!(differs, None, "round {round}");
            assert_eq!(steps.transfers().count(), ranges.transfers().count(), "round {round}");
        }
        assert!(taken > 10_000, "{taken}");
    }
}
