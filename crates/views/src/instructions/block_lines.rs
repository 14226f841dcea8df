//! The lines of cached blocks, each at the number of its block: for formats whose lines depend on
//! the address alone.

use tracewright_base::{BlockId, Range};
use tracewright_scan::AsciiTexts;

use super::expand::ProgramId;
use crate::lines::Lines;

/// The most slots, a power of two.
const MOST_SLOTS: usize = 1 << 16;

/// When there are more chunks of text than these, there is room for all.
const FEW_CHUNKS: usize = 1 << 11;

/// The lines of blocks.
#[derive(Debug)]
pub(super) struct BlockLines {
    blocks: Store,
    /// The position of the lines of the last range, and the number of writes before them.
    range_begun: (usize, u64),
}

impl Default for BlockLines {
    fn default() -> Self {
        BlockLines { blocks: Store::new(1 << 17, 1 << 13), range_begun: (0, 0) }
    }
}

impl BlockLines {
    /// Appends the lines of a block, without the number of cycles. `false` where there are none.
    #[inline(always)]
    pub(super) fn recall<W>(
        &self,
        program: ProgramId,
        id: BlockId,
        range: &Range,
        lines: &mut Lines<W>,
    ) -> bool {
        self.blocks.recall(id.index(), Key::of(program, range), &mut lines.text)
    }

    /// The lines of a block follow. `false` where they cannot be stored.
    pub(super) fn begin<W>(
        &mut self,
        program: ProgramId,
        id: BlockId,
        range: &Range,
        lines: &Lines<W>,
    ) -> bool {
        self.range_begun = (lines.text.len(), lines.writes);
        id.index() < MOST_SLOTS && !self.blocks.has(id.index(), &Key::of(program, range))
    }

    /// Stores the lines since [`begin`](Self::begin), without `tail` at their end.
    pub(super) fn store<W>(
        &mut self,
        program: ProgramId,
        id: BlockId,
        range: &Range,
        tail: &str,
        lines: &Lines<W>,
    ) {
        if let Some(text) = since(self.range_begun, lines) {
            let (key, text) = (Key::of(program, range), text.strip_suffix(tail));
            self.blocks.claim(id.index(), key);
            self.blocks.store(id.index(), &key, text.unwrap_or_default());
        }
    }
}

/// The text since then.
fn since<W>((start, writes): (usize, u64), lines: &Lines<W>) -> Option<&str> {
    lines.text.get(start..).filter(|_| writes == lines.writes)
}

/// Texts at numbers. A slot states what it has: that the blocks of a cache get other numbers does
/// not matter.
#[derive(Debug)]
struct Store {
    /// As many as the largest number needs.
    slots: Vec<Slot>,
    texts: AsciiTexts,
    /// The most chunks of text. Texts that are full begin again.
    most_chunks: usize,
    /// The longest text that is stored, in bytes.
    max_len: usize,
}

/// A text.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    key: Key,
    /// The first chunk of the text, and its length; 0 where it is not stored yet.
    first: u32,
    len: u32,
}

/// What a text depends on.
#[derive(Clone, Copy, Debug, Default)]
struct Key {
    start: u64,
    /// Of a block its length, its number of instructions, and the last one, as if it had taken
    /// effect; bit 30 of that: cycles follow.
    words: [u32; 3],
    /// [`ProgramId::NONE`] in a free slot.
    program: ProgramId,
}

const _: () = assert!(size_of::<Slot>() == 32);

impl Key {
    #[inline(always)]
    fn of(program: ProgramId, range: &Range) -> Self {
        let &Range { start, bytes, instructions, cycles, last } = range;
        let last = last.with_taken(true).word() | u32::from(cycles.get().is_some()) << 30;
        Key { start, words: [bytes, instructions, last], program }
    }

    #[inline(always)]
    fn is(&self, other: &Key) -> bool {
        let ([a, b, c], [d, e, f]) = (self.words, other.words);
        let differ =
            (self.start ^ other.start) | u64::from(a ^ d) | u64::from(b ^ e) | u64::from(c ^ f);
        differ == 0 && self.program == other.program
    }
}

impl Store {
    const fn new(most_chunks: usize, max_len: usize) -> Self {
        Store { slots: Vec::new(), texts: AsciiTexts::new(), most_chunks, max_len }
    }

    /// Appends the text of `key`. `false` where there is none.
    #[inline(always)]
    fn recall(&self, number: usize, key: Key, out: &mut String) -> bool {
        let Some(slot) = self.slots.get(index(key.program, number)) else { return false };
        if !slot.key.is(&key) || slot.len == 0 {
            return false;
        }
        self.texts.append(slot.first as usize, slot.len as usize, out);
        true
    }

    /// Whether the slot of `number` is that of `key`.
    fn has(&self, number: usize, key: &Key) -> bool {
        self.slots.get(index(key.program, number)).is_some_and(|slot| slot.key.is(key))
    }

    /// Makes the slot of `number` that of `key`, without a text.
    fn claim(&mut self, number: usize, key: Key) {
        let index = index(key.program, number);
        if number >= MOST_SLOTS {
            return;
        }
        if index >= self.slots.len() {
            self.slots.resize((index + 1).next_power_of_two(), Slot::default());
        }
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = Slot { key, first: 0, len: 0 };
        }
    }

    /// Stores `text` in the slot of `number`, if that is the one of `key`.
    fn store(&mut self, number: usize, key: &Key, text: &str) {
        let slot = self.slots.get_mut(index(key.program, number));
        let Some(slot) = slot.filter(|slot| slot.key.is(key)) else { return };
        if text.len() > self.max_len {
            return;
        }
        let chunks = AsciiTexts::chunks_of(text.len());
        if self.texts.chunks() + chunks > self.most_chunks {
            self.texts.clear();
            self.slots.fill(Slot::default());
            return;
        }
        // A large vector that grows is copied to pages that were not used before.
        if self.texts.chunks() > FEW_CHUNKS {
            self.texts.reserve(self.most_chunks);
        }
        if let Some(first) = self.texts.add(text) {
            (slot.first, slot.len) = (first as u32, text.len() as u32);
        }
    }
}

/// The slot of a number. Those of several sources are interleaved.
#[inline(always)]
fn index(program: ProgramId, number: usize) -> usize {
    const STRIDE: u32 = 0x2c1b;
    number.wrapping_add(program.source().wrapping_mul(STRIDE) as usize) & (MOST_SLOTS - 1)
}

#[cfg(test)]
mod tests {
    use tracewright_base::{Counted, Instruction, Last};

    use super::*;

    fn range(start: u64, taken: bool, cycles: Option<u32>) -> Range {
        let last = Last::new(&Instruction { size: 4, ..Instruction::default() }, taken);
        let cycles = cycles.map_or(Counted::UNKNOWN, Counted::of);
        Range { start, bytes: 8, instructions: 2, cycles, last }
    }

    /// Lines of a block, and where they are stored.
    #[derive(Default)]
    struct Stored(BlockLines);

    impl Stored {
        fn recall(&self, program: ProgramId, id: usize, range: &Range) -> Option<String> {
            let mut lines = Lines::new(Vec::new());
            lines.text.push_str("before\n");
            let found = self.0.recall(program, BlockId::new(id), range, &mut lines);
            found.then(|| lines.text.split_off(7))
        }

        fn store(&mut self, program: ProgramId, id: usize, range: &Range, text: &str) -> bool {
            let (mut lines, id) = (Lines::new(Vec::new()), BlockId::new(id));
            lines.text.push_str("before\n");
            let begun = self.0.begin(program, id, range, &lines);
            if begun {
                lines.text.push_str(text);
                self.0.store(program, id, range, ", 7\n", &lines);
            }
            begun
        }
    }

    #[test]
    fn lines_are_those_of_their_block_and_program() {
        let (mut stored, program) = (Stored::default(), ProgramId::new(0, 0));
        let at = |start| range(start, false, None);
        assert_eq!(stored.recall(program, 5, &at(0x100)), None);
        assert!(stored.store(program, 5, &range(0x100, true, None), "100\n104, 7\n"));
        assert_eq!(stored.recall(program, 5, &at(0x100)).as_deref(), Some("100\n104"));
        // The block has another number, the number is that of another block, another context,
        // another source, no program, and cycles.
        for (program, id, range) in [
            (program, 4, at(0x100)),
            (program, 5, at(0x104)),
            (ProgramId::new(0, 1), 5, at(0x100)),
            (ProgramId::new(1, 0), 5, at(0x100)),
            (ProgramId::NONE, 5, at(0x100)),
            (ProgramId::NONE, 6, at(0)),
            (program, 5, range(0x100, true, Some(3))),
        ] {
            assert_eq!(stored.recall(program, id, &range), None);
        }
        // Another text in its place.
        assert!(stored.store(program, 5, &range(0x200, true, Some(9)), "200\n204, 7\n"));
        let text = stored.recall(program, 5, &range(0x200, true, Some(4)));
        assert_eq!(text.as_deref(), Some("200\n204"));
        assert_eq!(stored.recall(program, 5, &at(0x100)), None);
        // A text that cannot be stored is begun once.
        for text in ["\u{e9}, 7\n".to_string(), "0\n".repeat(1 << 13) + ", 7\n"] {
            assert!(stored.store(program, 7, &at(text.len() as u64), &text));
            assert!(!stored.store(program, 7, &at(text.len() as u64), &text));
            assert_eq!(stored.recall(program, 7, &at(text.len() as u64)), None);
        }
    }

    #[test]
    fn memory_is_bounded() {
        let (mut stored, program) = (Stored::default(), ProgramId::new(0, 3));
        let text = "x".repeat(1 << 10) + ", 7\n";
        for n in 0..3 * MOST_SLOTS {
            let range = range(n as u64, true, None);
            assert_eq!(stored.store(program, n, &range, &text), n < MOST_SLOTS);
            let blocks = &stored.0.blocks;
            assert!(blocks.slots.len() <= MOST_SLOTS);
            assert!(blocks.texts.chunks() <= blocks.most_chunks);
        }
    }
}
