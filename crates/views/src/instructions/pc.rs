//! Addresses of executed instructions, and nothing else.

use std::io;

use tracewright_base::Range;
use tracewright_decode::Fork;

use super::whole::Whole;
use super::{Step, Steps};
use crate::Lines;
use crate::digits::hex;

/// Writes a line for each instruction: its address in lower-case hexadecimal, without `0x`.
#[derive(Debug)]
pub struct Pcs<W> {
    lines: Lines<W>,
    whole: Whole,
}

impl<W: io::Write> Pcs<W> {
    /// To `out`.
    pub fn new(out: W) -> Self {
        Pcs { lines: Lines::new(out), whole: Whole::default() }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(self) -> io::Result<()> {
        self.lines.finish()
    }
}

/// Each line is said for itself.
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
        self.whole.recall(n, range, context, &mut self.lines)
    }

    fn keep(&mut self) {
        self.whole.keep(&self.lines);
    }

    fn full(&self) -> bool {
        self.lines.broken()
    }
}
