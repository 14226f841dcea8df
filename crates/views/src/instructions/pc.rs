//! The addresses of executed instructions.

use std::io;

use tracewright_base::{BlockId, Range};
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
    /// The position of the lines of the last range, and the number of writes before them.
    begun: (usize, u64),
}

impl<W: io::Write> Pcs<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        let lines = Lines::new(out);
        let (ranges, blocks) = (RangeLines::default(), BlockLines::default());
        Pcs { lines, ranges, blocks, begun: (0, 0) }
    }

    /// Writes the lines that wait.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(self) -> io::Result<()> {
        self.lines.finish()
    }
}

/// Lines do not depend on one another.
impl Fork for Pcs<Vec<u8>> {
    type State = ();
    type Output = Vec<u8>;

    fn fork(&self) -> Self {
        Pcs::new(Vec::new())
    }

    fn state(&self) {}

    fn resume(&mut self, (): ()) {
        self.lines.clear();
    }

    fn take(&mut self) -> Vec<u8> {
        self.lines.take()
    }

    #[inline]
    fn weight(&self) -> usize {
        self.lines.waiting()
    }
}

impl<W: io::Write> Steps for Pcs<W> {
    const OPCODES: bool = false;

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
        let found = self.blocks.recall(program, id, range, &mut self.lines.text);
        self.lines.relieve();
        found
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
