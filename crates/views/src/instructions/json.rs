//! Executed instructions as JSON Lines.

use std::io;

use tracewright_base::{Element, Range};
use tracewright_decode::{Fork, Plan, Size, Tally};
use tracewright_image::Selection;

use super::{Step, Steps};
use crate::digits::decimal;
use crate::disassembly::Disassembler;
use crate::json::{self, Object, element};
use crate::lines::Lines;
use crate::loop_turns::LoopTurns;
use crate::render_cache::{CacheKey, RenderCache};
use crate::sources::Source;

/// Writes an object for each instruction, and for each element other than a range.
#[derive(Debug)]
pub struct Json<W> {
    lines: Lines<W>,
    sources: Vec<Source>,
    buffer: String,
    /// The disassembler of each source.
    disassemblers: Vec<Disassembler>,
    /// The beginning of the lines of each source.
    heads: Vec<String>,
    /// The text after the offset, by source and step.
    steps: RenderCache,
}

impl CacheKey for Step {
    #[inline]
    fn words(self) -> [u64; 4] {
        let word = |value: Option<u32>| value.map_or(u64::MAX, u64::from);
        let taken = self.taken.map_or(2, u64::from);
        let flags = u64::from(self.failed) | taken << 1 | (self.isa as u64) << 8;
        [self.address, word(self.opcode), word(self.cycles), flags]
    }
}

impl<W: io::Write> Json<W> {
    /// Writes the instructions of `sources` to `out`. The buffer is called `buffer` and has `len`
    /// bytes, where that is known.
    pub fn new(out: W, plan: &Plan, sources: Vec<Source>, buffer: &str, len: Option<u64>) -> Self {
        let mut lines = Lines::new(out);
        lines.text.push_str(&json::buffer(plan, &sources, buffer, len));
        let heads = sources.iter().map(|source| {
            let mut text = String::new();
            let o = Object::new(&mut text).text("type", "instruction");
            let _ = o.text("source", &source.name);
            text + ",\"offset\":"
        });
        Json {
            heads: heads.collect(),
            lines,
            disassemblers: Disassembler::all(&sources),
            sources,
            buffer: buffer.to_owned(),
            steps: RenderCache::default(),
        }
    }

    /// Writes the summary and the lines that wait.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(mut self, tally: &Tally) -> io::Result<()> {
        let summary = json::summary(&self.sources, &self.buffer, tally, None);
        self.lines.text.push_str(&summary);
        self.lines.finish()
    }
}

/// Lines do not depend on one another, except for the symbols of a context.
impl Fork for Json<Vec<u8>> {
    type State = Vec<Selection>;
    type Output = Vec<u8>;

    fn fork(&self) -> Self {
        Json {
            lines: Lines::new(Vec::new()),
            sources: self.sources.clone(),
            buffer: self.buffer.clone(),
            disassemblers: Disassembler::all(&self.sources),
            heads: self.heads.clone(),
            steps: RenderCache::default(),
        }
    }

    fn state(&self) -> Self::State {
        Source::selections(&self.sources)
    }

    fn resume(&mut self, contexts: Self::State) {
        if Source::selections(&self.sources) != contexts {
            Source::resume(&mut self.sources, &contexts);
            self.steps.clear();
        }
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

impl<W: io::Write> Steps for Json<W> {
    fn step(&mut self, n: usize, at: u64, step: &Step) {
        let (Some(source), Some(head)) = (self.sources.get(n), self.heads.get(n)) else { return };
        let Some(disassembler) = self.disassemblers.get_mut(n) else { return };
        let out = &mut self.lines.text;
        out.push_str(head);
        decimal(at, out);
        self.steps.put((n, *step), out, |out| fields(source, disassembler, step, out));
        self.lines.relieve();
    }

    fn select(&mut self, n: usize, selection: Selection) {
        if let Some(source) = self.sources.get_mut(n) {
            source.select(selection);
        }
        self.steps.clear();
    }

    fn hidden(&mut self, n: usize, what: &Element) {
        if self.sources.get_mut(n).is_some_and(|source| source.follow(what)) {
            self.steps.clear();
        }
    }

    fn other(&mut self, n: usize, at: u64, what: &Element) {
        self.hidden(n, what);
        let Some(source) = self.sources.get(n) else { return };
        let o = Object::new(&mut self.lines.text)
            .text("type", "element")
            .text("source", &source.name)
            .number("offset", at)
            .text("kind", what.kind());
        element::fields(source, what, o).end();
        self.lines.end();
    }

    fn unlisted(&mut self, n: usize, at: u64, ranges: &[Range], turns: u64) -> bool {
        if let Some(source) = self.sources.get(n) {
            json::loop_turns(&source.name, at, LoopTurns { ranges, turns }, &mut self.lines.text);
            self.lines.end();
        }
        true
    }

    fn full(&self) -> bool {
        self.lines.broken()
    }
}

/// Appends the fields of an instruction after its offset.
fn fields(source: &Source, disassembler: &mut Disassembler, step: &Step, out: &mut String) {
    let o = Object::more(out)
        .hex("address", step.address)
        .text("isa", step.isa.name())
        .maybe_hex("opcode", step.opcode.map(u64::from));
    let o = match step.opcode {
        Some(opcode) => o.text("text", disassembler.text(step.isa, opcode, step.address)),
        None => o,
    };
    let o = o.maybe_text("symbol", source.symbol_name(step.address).as_deref());
    let o = o.maybe_text("line", source.line(step.address).as_deref());
    let o = match step.taken {
        Some(taken) => o.flag("taken", taken),
        None => o,
    };
    let o = if step.failed { o.flag("passed", false) } else { o };
    o.maybe_number("cycles", step.cycles.map(u64::from)).end();
    out.push('\n');
}
