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
    /// `None` while it is taken.
    texts: Option<Box<BlockTexts>>,
    /// The source whose table is in `texts`.
    current: usize,
    /// The tables of the other sources.
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
        if let Some(texts) = &mut self.texts {
            texts.out.extend_from_slice(self.lines.text.as_bytes());
            self.lines.text.clear();
            self.lines.writes += 1;
        }
    }

    /// The bytes of the output of a decoder.
    #[inline]
    fn appended(&self) -> usize {
        self.texts.as_ref().map_or(0, |texts| texts.out.len())
    }

    /// Puts the table of `source` into the texts.
    #[cold]
    #[inline(never)]
    fn change_source(&mut self, source: usize) {
        let most = source.max(self.current) + 1;
        if self.tables.len() < most {
            self.tables.resize_with(most, BlockTable::default);
        }
        let Some(texts) = &mut self.texts else { return };
        if let Some(table) = self.tables.get_mut(self.current) {
            *table = std::mem::take(&mut texts.table);
        }
        if let Some(table) = self.tables.get_mut(source) {
            texts.table = std::mem::take(table);
        }
        self.current = source;
    }
}

impl<W: io::Write> Pcs<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        let lines = Lines::new(out);
        let (ranges, blocks) = (RangeLines::default(), BlockLines::default());
        let (texts, tables) = (Some(Box::default()), Vec::new());
        let (current, in_memory, begun) = (0, false, (0, 0));
        Pcs { lines, ranges, blocks, texts, current, tables, in_memory, begun }
    }

    /// Writes the lines that wait.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(mut self) -> io::Result<()> {
        if self.appended() > 0 {
            self.append_lines();
            let out = self.texts.map(|texts| texts.out).unwrap_or_default();
            self.lines.text = String::from_utf8(out).unwrap_or_default();
        }
        self.lines.finish()
    }
}

/// Lines do not depend on one another.
impl Fork for Pcs<Vec<u8>> {
    type State = ();
    type Output = Vec<u8>;

    fn fork(&self) -> Self {
        Pcs { in_memory: true, lines: Lines::in_memory(), ..Pcs::new(Vec::new()) }
    }

    fn state(&self) {}

    fn resume(&mut self, (): ()) {
        self.lines.clear();
        if let Some(texts) = &mut self.texts {
            texts.out.clear();
        }
    }

    fn take(&mut self) -> Vec<u8> {
        self.in_memory = true;
        if self.appended() == 0 {
            return self.lines.take();
        }
        self.append_lines();
        let Some(texts) = &mut self.texts else { return Vec::new() };
        let out = &mut texts.out;
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
        self.appended() + self.lines.waiting()
    }
}

impl<W: io::Write> Steps for Pcs<W> {
    const OPCODES: bool = false;
    const TEXTS: bool = true;

    #[inline]
    fn take_texts(&mut self, source: usize, blocks: &CachedBlocks<'_>) -> Option<Box<BlockTexts>> {
        if source != self.current {
            if source >= MAX_TABLES {
                return None;
            }
            self.change_source(source);
        }
        if !self.in_memory {
            return None;
        }
        if !self.lines.text.is_empty() {
            self.append_lines();
        }
        let mut texts = self.texts.take()?;
        let out = &mut texts.out;
        if out.capacity() - out.len() < ROOM {
            out.reserve(ROOM.max(OUTPUT.saturating_sub(out.len())) + ROOM);
        }
        texts.prepare(blocks);
        Some(texts)
    }

    #[inline]
    fn return_texts(&mut self, _source: usize, texts: Box<BlockTexts>) {
        self.texts = Some(texts);
    }

    fn store_text(&mut self, source: usize, id: BlockId, range: &Range) {
        let (start, writes) = self.begun;
        let Some(texts) = &mut self.texts else { return };
        if writes != self.lines.writes || source != self.current {
            return;
        }
        let text = self.lines.text.get(start..).unwrap_or_default();
        if !texts.store(id, range.instructions, text.as_bytes()) {
            self.tables.clear();
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
