//! Executed instructions as text.

use std::fmt::Write;
use std::io;

use tracewright_base::{BlockId, Context, Element, Gap, Isa, Kind, Range, Security};
use tracewright_decode::{Fork, Size};
use tracewright_image::Selection;

use super::block_lines::BlockLines;
use super::expand::ProgramId;
use super::opcode_columns::OpcodeColumns;
use super::range_lines::RangeLines;
use super::{Step, Steps};
use crate::digits::{decimal, hex, hex_padded};
use crate::disassembly::{Disassembler, narrow};
use crate::lines::Lines;
use crate::loop_turns::{KIND, LoopTurns};
use crate::sources::Source;
use crate::text::{Tone, element};

/// Columns of an instruction's text.
const WIDTH: usize = 32;
const SPACES: &str = "                                ";
const _: () = assert!(SPACES.len() == WIDTH);

/// Writes a line for each instruction: address, opcode, disassembly, and after a semicolon the
/// symbol, the context, `condition failed` and cycles. Lines of other elements begin with a
/// semicolon.
#[derive(Debug)]
pub struct Text<W> {
    lines: Lines<W>,
    sources: Vec<Source>,
    /// The text of the context of each source.
    contexts: Vec<String>,
    /// The disassembler of each source.
    disassemblers: Vec<Disassembler>,
    colour: bool,
    /// Lines begin with the name of the source.
    named: bool,
    ranges: RangeLines,
    blocks: BlockLines,
    /// Opcode and disassembly, without colours.
    columns: OpcodeColumns,
}

impl<W: io::Write> Text<W> {
    /// Writes the instructions of `sources` to `out`.
    pub fn new(out: W, sources: Vec<Source>, colour: bool) -> Self {
        let contexts = vec![String::new(); sources.len()];
        let disassemblers = Disassembler::all(&sources);
        let (lines, named) = (Lines::new(out), sources.len() > 1);
        let (ranges, blocks) = (RangeLines::default(), BlockLines::default());
        let columns = OpcodeColumns::default();
        Text { lines, sources, contexts, disassemblers, colour, named, ranges, blocks, columns }
    }

    /// The same with the name of the source in each line, if `named`, also of a single source.
    #[must_use]
    pub fn with_names(mut self, named: bool) -> Self {
        self.named |= named;
        self
    }

    /// Writes the lines that wait.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(self) -> io::Result<()> {
        self.lines.finish()
    }

    /// Begins a line, with the name of the source where there are several.
    fn begin(&mut self, source: usize) {
        if self.named
            && let Some(source) = self.sources.get(source)
        {
            let start = self.lines.text.len();
            self.lines.text.push_str(&source.name);
            if self.colour {
                Tone::Name.paint(start, &mut self.lines.text);
            }
            self.lines.text.push_str("  ");
        }
    }
}

impl<W: io::Write> Text<W> {
    /// Appends opcode and disassembly.
    fn opcode(&mut self, n: usize, step: &Step) {
        let out = &mut self.lines.text;
        let begin = out.len();
        out.push_str("  ");
        let start = out.len();
        match step.opcode {
            Some(opcode) if narrow(step.isa, opcode) => {
                hex_padded(opcode.into(), 4, out);
                out.push_str("    ");
            }
            Some(opcode) => hex_padded(opcode.into(), 8, out),
            None => out.push_str("????????"),
        }
        if self.colour {
            Tone::Quiet.paint(start, out);
        }
        out.push_str("  ");
        let (text, by_address) = match (step.opcode, self.disassemblers.get_mut(n)) {
            (Some(opcode), Some(disassembler)) => {
                disassembler.text(step.isa, opcode, step.address);
                (disassembler.last(), disassembler.is_by_address())
            }
            _ => ("?", true),
        };
        out.push_str(text);
        let pad = WIDTH.saturating_sub(text.len());
        out.push_str(SPACES.get(..pad).unwrap_or_default());
        if let Some(opcode) = step.opcode
            && !by_address
            && !self.colour
        {
            self.columns.store(n, step.isa, opcode, out.get(begin..).unwrap_or_default());
        }
    }
}

/// The text of later lines depends on the context of each source.
impl Fork for Text<Vec<u8>> {
    type State = (Vec<String>, Vec<Selection>);
    type Output = Vec<u8>;

    fn fork(&self) -> Self {
        Text::new(Vec::new(), self.sources.clone(), self.colour).with_names(self.named)
    }

    fn state(&self) -> Self::State {
        (self.contexts.clone(), Source::selections(&self.sources))
    }

    fn resume(&mut self, (texts, contexts): Self::State) {
        self.contexts = texts;
        Source::resume(&mut self.sources, &contexts);
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

impl<W: io::Write> Steps for Text<W> {
    fn step(&mut self, n: usize, _at: u64, step: &Step) {
        self.begin(n);
        let out = &mut self.lines.text;
        out.push_str("0x");
        hex_padded(step.address, if step.isa == Isa::A64 { 12 } else { 8 }, out);
        match step.opcode {
            Some(opcode) if self.columns.recall(n, step.isa, opcode, out) => {}
            _ => self.opcode(n, step),
        }
        let out = &mut self.lines.text;
        let start = out.len();
        out.push_str(" ;");
        if let Some(source) = self.sources.get(n) {
            source.symbol(step.address, out);
        }
        if let Some(context) = self.contexts.get(n) {
            out.push_str(context);
        }
        if step.failed {
            out.push_str(if out.ends_with(';') { " " } else { ", " });
            out.push_str("condition failed");
        }
        if let Some(cycles) = step.cycles {
            put_cycles(cycles, out);
        }
        if out.ends_with(';') {
            out.truncate(start);
            out.truncate(out.trim_end().len());
        } else if self.colour {
            Tone::Quiet.paint(start, out);
        }
        self.lines.end();
    }

    fn recall(&mut self, n: usize, range: &Range, context: usize) -> bool {
        self.ranges.recall(n, range, context, &mut self.lines)
    }

    // Colours include the cycles.
    fn takes_blocks(&self) -> bool {
        !self.colour
    }

    #[inline(always)]
    fn recall_block(&mut self, program: ProgramId, id: BlockId, range: &Range) -> bool {
        // An instruction without effect has a line of its own.
        let failed = range.last.kind == Kind::Plain && !range.taken();
        if failed || !self.blocks.recall(program, id, range, &mut self.lines) {
            return false;
        }
        if let Some(cycles) = range.cycles.get() {
            put_cycles(cycles, &mut self.lines.text);
            self.lines.text.push('\n');
        }
        self.lines.relieve();
        true
    }

    fn begin_block(&mut self, program: ProgramId, id: BlockId, range: &Range) -> bool {
        let failed = range.last.kind == Kind::Plain && !range.taken();
        !failed && self.blocks.begin(program, id, range, &self.lines)
    }

    fn store_block(&mut self, program: ProgramId, id: BlockId, range: &Range) {
        let mut tail = String::new();
        if let Some(cycles) = range.cycles.get() {
            put_cycles(cycles, &mut tail);
            tail.push('\n');
        }
        self.blocks.store(program, id, range, &tail, &self.lines);
    }

    fn store(&mut self) {
        self.ranges.store(&self.lines);
    }

    fn select(&mut self, n: usize, selection: Selection) {
        if let Some(source) = self.sources.get_mut(n) {
            source.select(selection);
        }
    }

    fn hidden(&mut self, n: usize, what: &Element) {
        if let Some(source) = self.sources.get_mut(n) {
            source.follow(what);
        }
        if let Element::Context(context) = what
            && let Some(text) = self.contexts.get_mut(n)
        {
            *text = self::context(context);
            let source = self.sources.get(n);
            if let Some(thread) = source.and_then(|s| s.program.thread(context)) {
                let _ = write!(text, " thread {}", thread.id);
            }
        }
    }

    fn other(&mut self, n: usize, _at: u64, what: &Element) {
        self.hidden(n, what);
        if let Element::Context(_) | Element::Gap(Gap::Start) | Element::End = what {
            return;
        }
        self.begin(n);
        let Some(source) = self.sources.get(n) else { return };
        let start = self.lines.text.len();
        self.lines.text.push_str("; ");
        element(source, what, &mut self.lines.text);
        if self.colour {
            Tone::of(what).paint(start, &mut self.lines.text);
        }
        self.lines.end();
    }

    fn unlisted(&mut self, n: usize, _at: u64, ranges: &[Range], turns: u64) -> bool {
        self.begin(n);
        let start = self.lines.text.len();
        let _ = write!(self.lines.text, "; {KIND:<10} {}", LoopTurns { ranges, turns });
        if self.colour {
            Tone::Lost.paint(start, &mut self.lines.text);
        }
        self.lines.end();
        true
    }

    fn full(&self) -> bool {
        self.lines.broken()
    }
}

/// Appends the cycles of a range.
fn put_cycles(cycles: u32, out: &mut String) {
    out.push_str(", ");
    decimal(cycles.into(), out);
    out.push_str(" cycles");
}

/// The text of a context, such as ` EL1N`, with a leading space.
fn context(context: &Context) -> String {
    let mut text = String::new();
    let security = match context.security {
        Some(Security::Secure) => "S",
        Some(Security::NonSecure) => "N",
        Some(Security::Root) => "-root",
        Some(Security::Realm) => "R",
        None => "",
    };
    match context.el {
        Some(el) => match context.level() {
            Some(level) => {
                let _ = write!(text, " {level}");
            }
            None => {
                let _ = write!(text, " EL{el}{security}");
            }
        },
        None if !security.is_empty() => {
            let _ = write!(text, " {}", security.trim_start_matches('-'));
        }
        None => {}
    }
    if let Some(id) = context.context_id {
        text.push_str(" context-id 0x");
        hex(id.into(), &mut text);
    }
    if let Some(vmid) = context.vmid {
        text.push_str(" vmid 0x");
        hex(vmid.into(), &mut text);
    }
    text
}
