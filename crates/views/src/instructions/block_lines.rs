//! The lines of cached blocks, each at the number of its block: for formats whose lines depend on
//! the address alone.

use tracewright_base::{BlockId, Range};
use tracewright_scan::AsciiTexts;

use super::expand::ProgramId;

/// The most slots, a power of two.
const MOST_SLOTS: usize = 1 << 16;
/// The most chunks of text. Lines that are full begin again.
const MOST_CHUNKS: usize = 1 << 17;
/// The longest lines that are stored, in bytes.
const MAX_LEN: usize = 1 << 10;

/// Stores the lines of blocks. A slot states the block that it has: that the blocks of a cache get
/// other numbers does not matter.
#[derive(Debug, Default)]
pub(super) struct BlockLines {
    /// As many as the largest number needs.
    slots: Vec<Slot>,
    texts: AsciiTexts,
}

/// The lines of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    block: Block,
    /// The first chunk of the text, and its length.
    first: u32,
    len: u32,
}

/// What the lines of a block depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Block {
    start: u64,
    bytes: u32,
    instructions: u32,
    /// The last instruction, as if it had taken effect.
    last: u32,
    /// [`ProgramId::NONE`] in a free slot.
    program: ProgramId,
}

const _: () = assert!(size_of::<Slot>() == 32);

impl Block {
    #[inline(always)]
    fn of(program: ProgramId, range: &Range) -> Self {
        let &Range { start, bytes, instructions, .. } = range;
        Block { start, bytes, instructions, last: range.last.with_taken(true).word(), program }
    }
}

impl BlockLines {
    /// Appends the lines of a block. `false` where there are none.
    #[inline(always)]
    pub(super) fn recall(
        &self,
        program: ProgramId,
        id: BlockId,
        range: &Range,
        out: &mut String,
    ) -> bool {
        let Some(slot) = self.slots.get(index(program, id)) else { return false };
        let (own, block) = (&slot.block, Block::of(program, range));
        let other = (own.start ^ block.start)
            | u64::from(own.bytes ^ block.bytes)
            | u64::from(own.instructions ^ block.instructions)
            | u64::from(own.last ^ block.last);
        if other != 0 || own.program != program || program == ProgramId::NONE {
            return false;
        }
        self.texts.append(slot.first as usize, slot.len as usize, out);
        true
    }

    /// Stores `text` as the lines of a block.
    pub(super) fn store(&mut self, program: ProgramId, id: BlockId, range: &Range, text: &str) {
        let index = index(program, id);
        if text.len() > MAX_LEN || id.index() >= MOST_SLOTS {
            return;
        }
        if index >= self.slots.len() {
            self.slots.resize((index + 1).next_power_of_two(), Slot::default());
        }
        let chunks = AsciiTexts::chunks_of(text.len());
        if self.texts.chunks() + chunks > MOST_CHUNKS {
            self.texts.clear();
            self.slots.fill(Slot::default());
        }
        let Some(slot) = self.slots.get_mut(index) else { return };
        let old = slot.block.program != ProgramId::NONE
            && AsciiTexts::chunks_of(slot.len as usize) == chunks;
        let first = match old && self.texts.replace(slot.first as usize, text) {
            true => Some(slot.first),
            false => self.texts.add(text).map(|first| first as u32),
        };
        if let Some(first) = first {
            *slot = Slot { block: Block::of(program, range), first, len: text.len() as u32 };
        }
    }
}

/// The slot of a block. Those of several sources are interleaved.
#[inline(always)]
fn index(program: ProgramId, id: BlockId) -> usize {
    const STRIDE: u32 = 0x2c1b;
    (id.index() + program.source().wrapping_mul(STRIDE) as usize) & (MOST_SLOTS - 1)
}

#[cfg(test)]
mod tests {
    use tracewright_base::{Counted, Instruction, Last};

    use super::*;

    fn range(start: u64, taken: bool) -> Range {
        let last = Last::new(&Instruction { size: 4, ..Instruction::default() }, taken);
        Range { start, bytes: 8, instructions: 2, cycles: Counted::UNKNOWN, last }
    }

    fn recalled(lines: &BlockLines, program: ProgramId, id: usize, start: u64) -> Option<String> {
        let mut out = String::from("before\n");
        let found = lines.recall(program, BlockId::new(id), &range(start, false), &mut out);
        found.then(|| out.split_off(7))
    }

    #[test]
    fn lines_are_those_of_their_block_and_program() {
        let mut lines = BlockLines::default();
        let program = ProgramId::new(0, 0);
        assert_eq!(recalled(&lines, program, 5, 0x100), None);
        lines.store(program, BlockId::new(5), &range(0x100, true), "100\n104\n");
        assert_eq!(recalled(&lines, program, 5, 0x100).as_deref(), Some("100\n104\n"));
        // The block has another number, the number is that of another block, another context,
        // another source, and no program.
        for (program, id, start) in [
            (program, 4, 0x100),
            (program, 5, 0x104),
            (ProgramId::new(0, 1), 5, 0x100),
            (ProgramId::new(1, 0), 5, 0x100),
            (ProgramId::NONE, 5, 0x100),
            (ProgramId::NONE, 6, 0),
        ] {
            assert_eq!(recalled(&lines, program, id, start), None);
        }
        // Another text in its place.
        lines.store(program, BlockId::new(5), &range(0x200, true), "200\n204\n");
        assert_eq!(lines.texts.chunks(), 1);
        assert_eq!(recalled(&lines, program, 5, 0x200).as_deref(), Some("200\n204\n"));
        assert_eq!(recalled(&lines, program, 5, 0x100), None);
        lines.store(program, BlockId::new(7), &range(0, true), &"0\n".repeat(MAX_LEN));
        assert_eq!(recalled(&lines, program, 7, 0), None);
    }

    #[test]
    fn memory_is_bounded() {
        let (mut lines, program) = (BlockLines::default(), ProgramId::new(0, 3));
        let text = "x".repeat(MAX_LEN);
        for n in 0..3 * MOST_SLOTS {
            lines.store(program, BlockId::new(n), &range(n as u64, true), &text);
            let stored = recalled(&lines, program, n, n as u64);
            assert_eq!(stored.is_some(), n < MOST_SLOTS);
            assert!(lines.slots.len() <= MOST_SLOTS && lines.texts.chunks() <= MOST_CHUNKS);
        }
    }
}
