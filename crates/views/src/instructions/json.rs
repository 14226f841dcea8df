//! Executed instructions as JSON Lines.

use std::io;

use tracewright_base::Element;
use tracewright_decode::{Fork, Plan, Tally};

use super::{Step, Steps};
use crate::disassembly::Disassembler;
use crate::json::{self, Object, element};
use crate::{Lines, Source};

/// Writes an object for each instruction, and one for each element that is no range.
#[derive(Debug)]
pub struct Json<W> {
    lines: Lines<W>,
    sources: Vec<Source>,
    buffer: String,
    disassembler: Disassembler,
}

impl<W: io::Write> Json<W> {
    /// Of `sources` of a buffer called `buffer`, which has `len` bytes, where that is known, to `out`.
    pub fn new(out: W, plan: &Plan, sources: Vec<Source>, buffer: &str, len: Option<u64>) -> Self {
        let mut lines = Lines::new(out);
        lines.text.push_str(&json::buffer(plan, &sources, buffer, len));
        let disassembler = Disassembler::default();
        Json { lines, sources, buffer: buffer.to_owned(), disassembler }
    }

    /// Writes the summary and what is left.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(mut self, tally: &Tally) -> io::Result<()> {
        let summary = json::summary(&self.sources, &self.buffer, tally, None);
        self.lines.text.push_str(&summary);
        self.lines.finish()
    }
}

/// Each line is said for itself.
impl Fork for Json<Vec<u8>> {
    type State = ();
    type Said = Vec<u8>;

    fn fork(&self) -> Self {
        Json {
            lines: Lines::new(Vec::new()),
            sources: self.sources.clone(),
            buffer: self.buffer.clone(),
            disassembler: Disassembler::default(),
        }
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

impl<W: io::Write> Steps for Json<W> {
    fn step(&mut self, n: usize, at: u64, step: &Step) {
        let Some(source) = self.sources.get(n) else { return };
        let o = Object::new(&mut self.lines.text)
            .text("type", "instruction")
            .text("source", &source.name)
            .number("at", at)
            .hex("address", step.address)
            .text("isa", step.isa.name())
            .maybe_hex("opcode", step.opcode.map(u64::from));
        let o = match step.opcode {
            Some(opcode) => o.text("text", self.disassembler.text(step.isa, opcode, step.address)),
            None => o,
        };
        let o = o.maybe_text("symbol", source.symbol_name(step.address).as_deref());
        let o = match step.taken {
            Some(taken) => o.flag("taken", taken),
            None => o,
        };
        o.maybe_number("cycles", step.cycles.map(u64::from)).end();
        self.lines.end();
    }

    fn other(&mut self, n: usize, at: u64, what: &Element) {
        let Some(source) = self.sources.get(n) else { return };
        let o = Object::new(&mut self.lines.text)
            .text("type", "element")
            .text("source", &source.name)
            .number("at", at)
            .text("kind", what.kind());
        element::fields(source, what, o).end();
        self.lines.end();
    }

    fn full(&self) -> bool {
        self.lines.broken()
    }
}
