//! The addresses of executed instructions.

use std::io;

use tracewright_base::{BlockId, BlockTable, BlockTexts, CachedBlocks, Range};
use tracewright_decode::Fork;

use super::block_lines::BlockLines;
use super::expand::ProgramId;
use super::range_lines::RangeLines;
use super::{Step, Steps};
use crate::Lines;
use crate::digits::hex;
use crate::loop_turns::{KIND, LoopTurns};

/// Writes a line for each instruction: its address in lower-case hexadecimal, without `0x`. A line
/// that begins with `#` states how many turns of a loop are not listed.
#[derive(Debug)]
pub struct Pcs<W> {
    lines: Lines<W>,
    ranges: RangeLines,
    blocks: BlockLines,
    /// The lines of blocks by their numbers, and before `lines` the output of a decoder that
    /// appends them.
    texts: BlockTexts,
    /// The tables of `texts`, by source.
    tables: Vec<BlockTable>,
    /// The output is taken: see [`Fork::take`].
    in_memory: bool,
    /// The position of the lines of the last range, and the number of writes before them.
    begun: (usize, u64),
}

/// The least room for lines in the output of a decoder, and a usual size of it.
const ROOM: usize = 1 << 15;
const OUTPUT: usize = 1 << 18;

/// The most sources that have tables.
const MAX_TABLES: usize = 64;

impl<W> Pcs<W> {
    /// Moves the lines to the end of the output of a decoder.
    #[cold]
    #[inline(never)]
    fn append_lines(&mut self) {
        self.texts.out.extend_from_slice(self.lines.text.as_bytes());
        self.lines.text.clear();
        self.lines.writes += 1;
    }
}

impl<W: io::Write> Pcs<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        let lines = Lines::new(out);
        let (ranges, blocks) = (RangeLines::default(), BlockLines::default());
        let (texts, tables) = (BlockTexts::default(), Vec::new());
        Pcs { lines, ranges, blocks, texts, tables, in_memory: false, begun: (0, 0) }
    }

    /// Writes the lines that wait.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(mut self) -> io::Result<()> {
        if !self.texts.out.is_empty() {
            self.append_lines();
            self.lines.text = String::from_utf8(self.texts.out).unwrap_or_default();
        }
        self.lines.finish()
    }
}

/// Lines do not depend on one another.
impl Fork for Pcs<Vec<u8>> {
    type State = ();
    type Output = Vec<u8>;

    fn fork(&self) -> Self {
        Pcs { in_memory: true, ..Pcs::new(Vec::new()) }
    }

    fn state(&self) {}

    fn resume(&mut self, (): ()) {
        self.lines.clear();
        self.texts.out.clear();
    }

    fn take(&mut self) -> Vec<u8> {
        self.in_memory = true;
        if self.texts.out.is_empty() {
            return self.lines.take();
        }
        self.append_lines();
        let out = &mut self.texts.out;
        // Little text may wait for long: it takes no more memory than its length.
        if out.len() < OUTPUT / 2 {
            let text = out.clone();
            out.clear();
            return text;
        }
        // An allocator reuses blocks of equal sizes.
        let room = out.len().next_multiple_of(OUTPUT) + ROOM;
        std::mem::replace(out, Vec::with_capacity(room))
    }

    #[inline]
    fn weight(&self) -> usize {
        self.texts.out.len() + self.lines.waiting()
    }
}

impl<W: io::Write> Steps for Pcs<W> {
    const OPCODES: bool = false;
    const TEXTS: bool = true;

    #[inline]
    fn take_texts(&mut self, source: usize, blocks: &CachedBlocks<'_>) -> BlockTexts {
        let Some(table) = self.tables.get_mut(source) else {
            if self.in_memory && source < MAX_TABLES {
                self.tables.resize_with(source + 1, BlockTable::default);
            }
            return BlockTexts::default();
        };
        let table = std::mem::take(table);
        if !self.lines.text.is_empty() {
            self.append_lines();
        }
        let out = &mut self.texts.out;
        if out.capacity() - out.len() < ROOM {
            out.reserve(ROOM.max(OUTPUT.saturating_sub(out.len())) + ROOM);
        }
        let mut texts = std::mem::take(&mut self.texts);
        (texts.table, texts.owned) = (table, true);
        texts.prepare(blocks);
        texts
    }

    #[inline]
    fn return_texts(&mut self, source: usize, mut texts: BlockTexts) {
        if let Some(table) = self.tables.get_mut(source) {
            *table = std::mem::take(&mut texts.table);
        }
        self.texts = texts;
    }

    fn store_text(&mut self, source: usize, id: BlockId, range: &Range) {
        let (start, writes) = self.begun;
        let Some(table) = self.tables.get_mut(source) else { return };
        if writes != self.lines.writes {
            return;
        }
        self.texts.table = std::mem::take(table);
        let text = self.lines.text.get(start..).unwrap_or_default();
        let valid = self.texts.store(id, range.instructions, text.as_bytes());
        *table = std::mem::take(&mut self.texts.table);
        if !valid {
            for (n, other) in self.tables.iter_mut().enumerate() {
                if n != source {
                    *other = BlockTable::default();
                }
            }
        }
    }

    #[inline]
    fn step(&mut self, _source: usize, _at: u64, step: &Step) {
        hex(step.address, &mut self.lines.text);
        self.lines.end();
    }

    fn recall(&mut self, n: usize, range: &Range, context: usize) -> bool {
        self.begun = (self.lines.text.len(), self.lines.writes);
        self.ranges.recall(n, range, context, &mut self.lines)
    }

    fn takes_blocks(&self) -> bool {
        true
    }

    #[inline(always)]
    fn recall_block(&mut self, program: ProgramId, id: BlockId, range: &Range) -> bool {
        self.begun = (self.lines.text.len(), self.lines.writes);
        self.blocks.recall(program, id, range, &mut self.lines.text)
    }

    fn store_block(&mut self, program: ProgramId, id: BlockId, range: &Range) {
        let (start, writes) = self.begun;
        if writes == self.lines.writes {
            let text = self.lines.text.get(start..).unwrap_or_default();
            self.blocks.store(program, id, range, text);
        }
    }

    fn store(&mut self) {
        self.ranges.store(&self.lines);
    }

    fn unlisted(&mut self, _source: usize, _at: u64, ranges: &[Range], turns: u64) -> bool {
        use std::fmt::Write;
        let _ = write!(self.lines.text, "# {KIND} {}", LoopTurns { ranges, turns });
        self.lines.end();
        true
    }

    fn full(&self) -> bool {
        self.lines.broken()
    }
}
