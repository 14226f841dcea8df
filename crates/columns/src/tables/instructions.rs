//! Executed instructions: one row each.

use std::mem;

use tracewright::base::{Element, Isa, Range};
use tracewright::decode::{Fork, Merge, Session, Size, Tally};
use tracewright::image::Selection as MemorySelection;
use tracewright::views::disassembly::Disassembler;
use tracewright::views::instructions::{Expand, Step, Steps};

use super::common::{Placed, infos, place, wanted};
use super::words::{ISAS, isa};
use super::{Definition, Division, Input, ROWS};
use crate::arrays::column;
use crate::output::{Batches, Column, Output, choose};
use crate::query::TableError;
use crate::read::{self, Begin, Receive};
use crate::rows::{Numbering, Place, Selection, Shared, Wanted};

pub(super) const TABLE: Definition = Definition {
    name: "instructions",
    about: "executed instructions",
    columns: || infos(columns()),
    by: ROWS,
    division: Division::Segments,
    read,
};

/// What happens in a source.
#[derive(Clone, Debug)]
enum What {
    Step(Step),
    Other(Element),
    /// Turns of a loop that are not listed: their number, and the ranges of each.
    Turns(u64, Vec<Range>),
}

/// Instructions that wait, and elements between them.
#[derive(Debug, Default)]
struct Waiting(Vec<(u32, u64, What)>);

impl Steps for Waiting {
    fn step(&mut self, source: usize, at: u64, step: &Step) {
        self.0.push((source as u32, at, What::Step(*step)));
    }

    fn other(&mut self, source: usize, at: u64, element: &Element) {
        self.0.push((source as u32, at, What::Other(*element)));
    }

    fn select(&mut self, _: usize, _: MemorySelection) {}

    fn unlisted(&mut self, source: usize, at: u64, ranges: &[Range], turns: u64) -> bool {
        self.0.push((source as u32, at, What::Turns(turns, ranges.to_vec())));
        true
    }
}

impl Fork for Waiting {
    type State = ();
    type Output = Vec<(u32, u64, What)>;

    fn fork(&self) -> Self {
        Waiting::default()
    }

    fn state(&self) {}

    fn resume(&mut self, (): ()) {
        self.0.clear();
    }

    fn take(&mut self) -> Self::Output {
        mem::take(&mut self.0)
    }

    fn size(&self) -> Size {
        Size::of(self.0.len() * size_of::<(u32, u64, What)>())
    }
}

/// An instruction.
#[derive(Clone, Debug)]
struct Row {
    place: Place,
    step: Step,
    times: u64,
    text: Option<String>,
    function: Option<i32>,
    line: Option<(i32, u32)>,
}

impl Placed for Row {
    fn place(&self) -> &Place {
        &self.place
    }
}

/// The instructions of a buffer.
struct Buffer<'x, 'a, 'b> {
    input: &'x Input<'x>,
    selection: &'x Selection,
    output: &'x mut Output<'a, 'b, Row>,
    shared: &'x mut Shared,
    numbering: Numbering,
    disassemblers: Option<Vec<Disassembler>>,
    wanted: Wanted,
    wants_more: bool,
}

impl Buffer<'_, '_, '_> {
    fn put(&mut self, n: usize, place: Place, step: Step, times: u64) -> bool {
        let global = self.numbering.first + n;
        let own = self.shared.sources.get(global);
        let selected = self.selection.has_place(&place, times)
            && own.is_some_and(|own| self.selection.has_address(global as u32, step.address, own));
        if !selected {
            return true;
        }
        let text = match (&mut self.disassemblers, step.opcode) {
            (Some(all), Some(opcode)) => {
                all.get_mut(n).map(|own| own.text(step.isa, opcode, step.address).to_owned())
            }
            _ => None,
        };
        let function =
            if self.wanted.functions { self.shared.function(global, step.address) } else { None };
        let line = match self.wanted.lines {
            true => self.shared.line(self.input.trace, step.address),
            false => None,
        };
        self.output.push(self.shared, Row { place, step, times, text, function, line })
    }

    fn follow(&mut self, n: usize, element: &Element) {
        let global = self.numbering.first + n;
        if let Some(own) = self.shared.sources.get_mut(global) {
            own.follow(element);
        }
    }

    fn what(&mut self, n: usize, at: u64, what: &What) -> bool {
        // The kind of element does not matter for a place without a time or a context.
        let element = match what {
            What::Other(element) => *element,
            _ => Element::Trigger,
        };
        let place = self.numbering.place(self.shared, n, at, &element);
        let more = match what {
            What::Other(element) => {
                self.follow(n, element);
                self.numbering.elements += 1;
                true
            }
            What::Step(step) => {
                let more = self.put(n, place, *step, 1);
                self.numbering.instructions += 1;
                // The last instruction of a range has an outcome.
                self.numbering.elements += u64::from(step.taken.is_some());
                more
            }
            What::Turns(turns, ranges) => {
                let all: u64 = ranges.iter().map(|range| u64::from(range.instructions)).sum();
                let all = all.saturating_mul(*turns);
                let first = ranges.first().map_or(0, |range| range.start);
                let isa = ranges.first().map_or(Isa::Rv64, |range| range.last.isa);
                let step = Step {
                    address: first,
                    isa,
                    opcode: None,
                    taken: None,
                    failed: false,
                    cycles: None,
                };
                let more = self.put(n, place, step, all);
                let numbering = &mut self.numbering;
                let elements = turns.saturating_mul(ranges.len() as u64);
                numbering.elements = numbering.elements.saturating_add(elements);
                numbering.instructions = numbering.instructions.saturating_add(all);
                more
            }
        };
        more && !self.selection.is_over(self.numbering.elements, self.numbering.instructions)
    }
}

impl Receive<Vec<(u32, u64, What)>> for Buffer<'_, '_, '_> {
    fn begin(&mut self, begin: Begin, session: &Session) {
        self.numbering.begin(self.shared, &begin, session);
    }

    fn output(&mut self, output: Vec<(u32, u64, What)>) -> bool {
        let mut all = output.iter();
        self.wants_more =
            self.wants_more && all.all(|(n, at, what)| self.what(*n as usize, *at, what));
        self.wants_more
    }
}

fn read(input: &Input<'_>, batches: &mut Batches<'_>) -> Result<Tally, TableError> {
    let Input { trace, query, index, .. } = *input;
    let selection = Selection::new(query, trace)?;
    let mut output = Output::new(choose(columns(), input.columns), batches);
    let mut shared = Shared::new(trace);
    let (mut tally, mut first) = (Tally::default(), 0);
    for (number, plan) in trace.plans().iter().enumerate() {
        if query.has_buffer(plan.buffer) && !output.full() {
            let sources = trace.sources_of(number);
            let disassembler =
                |own: &tracewright::views::Source| Disassembler::new(own.config.riscv());
            let listener = Expand::new(Waiting::default(), sources);
            let mut buffer = Buffer {
                input,
                selection: &selection,
                output: &mut output,
                shared: &mut shared,
                numbering: Numbering::new(plan, first),
                disassemblers: input
                    .wants(&["text"])
                    .then(|| sources.iter().map(disassembler).collect()),
                wanted: wanted(input),
                wants_more: true,
            };
            let code = selection.code(first, plan.sources.len());
            let part = (query, index);
            tally.merge(read::buffer_code(trace, plan, part, &code, listener, &mut buffer)?);
            output.flush(&mut shared);
        }
        first += plan.sources.len();
    }
    Ok(tally)
}

/// The size, where the opcode is known and states it.
fn size(step: &Step) -> Option<u8> {
    match (step.isa, step.opcode) {
        (Isa::A64 | Isa::A32, _) => Some(4),
        (Isa::T32 | Isa::ThumbEe, Some(opcode)) => Some(if opcode > 0xffff { 4 } else { 2 }),
        (Isa::Rv32 | Isa::Rv64, Some(opcode)) if opcode & 3 != 3 => Some(2),
        (Isa::Rv32 | Isa::Rv64, Some(opcode)) if opcode & 0x1f != 0x1f => Some(4),
        _ => None,
    }
}

fn columns() -> Vec<Column<Row>> {
    type Own = Row;
    let mut columns = place();
    columns.extend([
        column!(Hex "address" ! "address of the instruction", |_, r| r.step.address),
        column!(Hex32 "opcode" ? "opcode, where program memory has it", |_, r| r.step.opcode),
        column!(U8 "size" ? "bytes", |_, r| size(&r.step)),
        column!(Kind(ISAS) "isa" ! "instruction set", |_, r| Some(isa(r.step.isa))),
        column!(Text "text" ? "disassembly", |_, r| r.text.as_deref()).on_request(),
        column!(Bool "taken" ? "of the last instruction of a range: it took effect",
            |_, r| r.step.taken),
        column!(Bool "passed" ? "false: the trace reports that the condition failed",
            |_, r| r.step.failed.then_some(false)),
        column!(U32 "cycles" ? "processor cycles of the range that ends with it",
            |_, r| r.step.cycles),
        column!(U64 "times" ! "instructions that the row stands for: 1, but of turns of a loop that are \
            not listed those of all turns, at the address of the first", |_, r| r.times),
        column!(Name(functions) "function" ? "its function", |s, r| r.function).on_request(),
        column!(Name(files) "file" ? "its source file",
            |s, r| r.line.map(|(file, _)| file)).on_request(),
        column!(U32 "line" ? "its line", |_, r| r.line.map(|(_, line)| line)).on_request(),
    ]);
    columns
}
