//! Ranges in two tables: small rows with the number of a block, and the blocks.
//!
//! A trace has few different ranges. As files, the two tables are much smaller than `ranges`.

use std::collections::HashMap;

use tracewright::base::{Element, Isa, Kind, Range, Role};

use super::common::{Of, Placed, infos, read_rows, wanted};
use super::words::{ISAS, LASTS, ROLES, isa, last, role};
use super::{Definition, Division, ROWS};
use crate::arrays::column;
use crate::output::{Column, Output, choose};
use crate::rows::{Place, Row, Rows, Shared, Wanted};

pub(super) const TABLE: Definition = Definition {
    name: "range_blocks",
    about: "ranges as small rows: each with the number of a block of `blocks`",
    columns: || infos(columns()),
    by: ROWS,
    division: Division::Captures,
    read: |input, batches| {
        let output = Output::new(choose(columns(), input.columns), batches);
        read_rows(input, Wanted::default(), &mut Ranges { output, blocks: Blocks::default() })
    },
};

pub(super) const BLOCKS: Definition = Definition {
    name: "blocks",
    about: "the different ranges of `range_blocks`, numbered as they occur first",
    columns: || infos(block_columns()),
    by: ROWS,
    division: Division::Captures,
    read: |input, batches| {
        let output = Output::new(choose(block_columns(), input.columns), batches);
        read_rows(input, wanted(input), &mut Distinct { output, blocks: Blocks::default() })
    },
};

/// What is equal of equal blocks.
type Key = (u32, u64, u32, u32, (Kind, Role, Isa, bool));

/// The numbers of blocks.
#[derive(Default)]
struct Blocks(HashMap<Key, u32>);

impl Blocks {
    /// The number of a block, and whether it is the first of its kind.
    fn number(&mut self, place: &Place, range: &Range) -> (u32, bool) {
        let last = (range.last.kind, range.last.role, range.last.isa, range.last.conditional());
        let key = (place.source, range.start, range.bytes, range.instructions, last);
        let next = self.0.len() as u32;
        let number = *self.0.entry(key).or_insert(next);
        (number, number == next)
    }
}

/// A range, and the number of its block.
struct Numbered {
    of: Of<Range>,
    block: u32,
}

impl Placed for Numbered {
    fn place(&self) -> &Place {
        &self.of.place
    }
}

struct Ranges<'a, 'b> {
    output: Output<'a, 'b, Numbered>,
    blocks: Blocks,
}

impl Rows for Ranges<'_, '_> {
    fn row(&mut self, shared: &mut Shared, row: &Row, selected: bool) -> bool {
        match row.element {
            Element::Range(range) if selected => {
                let (block, _) = self.blocks.number(&row.place, &range);
                self.output.push(shared, Numbered { of: Of::new(row, range), block })
            }
            _ => true,
        }
    }

    fn end(&mut self, shared: &mut Shared) -> bool {
        self.output.flush(shared);
        !self.output.full()
    }
}

struct Distinct<'a, 'b> {
    output: Output<'a, 'b, Numbered>,
    blocks: Blocks,
}

impl Rows for Distinct<'_, '_> {
    fn row(&mut self, shared: &mut Shared, row: &Row, selected: bool) -> bool {
        match row.element {
            Element::Range(range) if selected => match self.blocks.number(&row.place, &range) {
                (block, true) => {
                    self.output.push(shared, Numbered { of: Of::new(row, range), block })
                }
                _ => true,
            },
            _ => true,
        }
    }

    fn end(&mut self, shared: &mut Shared) -> bool {
        self.output.flush(shared);
        !self.output.full()
    }
}

fn columns() -> Vec<Column<Numbered>> {
    type Own = Numbered;
    vec![
        column!(U32 "buffer" ! "number of the buffer", |_, r| r.of.place.buffer),
        column!(U64 "element" ! "number of the element in the buffer", |_, r| r.of.place.element),
        column!(U64 "offset" ! "offset in the buffer of the packet", |_, r| r.of.place.offset),
        column!(U64 "time" ? "last timestamp of the source, in ticks", |_, r| r.of.place.time),
        column!(U32 "block" ! "number of the block", |_, r| r.block),
        column!(Bool "taken" ! "the last instruction took effect", |_, r| r.of.own.taken()),
        column!(U32 "cycles" ? "processor cycles", |_, r| r.of.own.cycles.get()),
        column!(U64 "times" ! "how often: 1 but in loops whose turns are not listed",
            |_, r| r.of.times),
    ]
}

fn block_columns() -> Vec<Column<Numbered>> {
    type Own = Numbered;
    vec![
        column!(U32 "block" ! "number of the block", |_, r| r.block),
        column!(Name(source_names) "source" ! "name of the trace source",
            |s, r| s.source_key(r.of.place.source)),
        column!(Hex "address" ! "first instruction", |_, r| r.of.own.start),
        column!(U32 "size" ! "bytes", |_, r| r.of.own.bytes),
        column!(U32 "instructions" ! "instructions", |_, r| r.of.own.instructions),
        column!(Kind(ISAS) "isa" ! "instruction set", |_, r| Some(isa(r.of.own.last.isa))),
        column!(Kind(LASTS) "last" ! "kind of the last instruction", |_, r| Some(last(&r.of.own))),
        column!(Kind(ROLES) "role" ? "purpose of the last instruction",
            |_, r| role(r.of.own.last.role)),
        column!(Bool "conditional" ! "the last instruction has a condition",
            |_, r| r.of.own.last.conditional()),
        column!(Name(functions) "function" ? "function of the first instruction",
            |s, r| r.of.function)
        .on_request(),
        column!(Name(files) "file" ? "source file of the first instruction",
            |s, r| r.of.line.map(|(file, _)| file))
        .on_request(),
        column!(U32 "line" ? "line of the first instruction",
            |_, r| r.of.line.map(|(_, line)| line))
        .on_request(),
    ]
}
