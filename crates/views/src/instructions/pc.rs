//! The addresses of executed instructions.

use std::io;

use tracewright_base::{BlockId, Counted, Range};
use tracewright_decode::{Fork, Size};

use super::block_lines::BlockLines;
use super::expand::ProgramId;
use super::range_lines::RangeLines;
use super::{Step, Steps};
use crate::digits::hex;
use crate::lines::Lines;
use crate::loop_turns::{KIND, LoopTurns};

/// Writes a line for each instruction: its address in lower-case hexadecimal, without `0x`. A line
/// that begins with `#` states how many turns of a loop are not listed.
#[derive(Debug)]
pub struct Pcs<W> {
    lines: Lines<W>,
    ranges: RangeLines,
    blocks: BlockLines,
}

impl<W: io::Write> Pcs<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        let lines = Lines::new(out);
        let (ranges, blocks) = (RangeLines::default(), BlockLines::default());
        Pcs { lines, ranges, blocks }
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
    fn size(&self) -> Size {
        Size::of(self.lines.waiting())
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
        self.ranges.recall(n, range, context, &mut self.lines)
    }

    fn takes_blocks(&self) -> bool {
        true
    }

    #[inline(always)]
    fn recall_block(&mut self, program: ProgramId, id: BlockId, range: &Range) -> bool {
        // A line does not state cycles.
        let range = Range { cycles: Counted::UNKNOWN, ..*range };
        let found = self.blocks.recall(program, id, &range, &mut self.lines);
        self.lines.relieve();
        found
    }

    fn begin_block(&mut self, program: ProgramId, id: BlockId, range: &Range) -> bool {
        let range = Range { cycles: Counted::UNKNOWN, ..*range };
        self.blocks.begin(program, id, &range, &self.lines)
    }

    fn store_block(&mut self, program: ProgramId, id: BlockId, range: &Range) {
        let range = Range { cycles: Counted::UNKNOWN, ..*range };
        self.blocks.store(program, id, &range, "", &self.lines);
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
