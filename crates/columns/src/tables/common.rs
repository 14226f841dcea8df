//! Columns of all tables whose rows have a place in a trace.

use tracewright::base::Element;
use tracewright::decode::Tally;

use crate::arrays::column;
use crate::output::{Batches, Column, Output, choose};
use crate::query::TableError;
use crate::rows::{self, Place, Row, Rows, Shared, Wanted};
use crate::schema::ColumnInfo;
use crate::tables::Input;

/// A row that has a place.
pub(super) trait Placed {
    fn place(&self) -> &Place;
}

/// An element of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Of<T> {
    pub(super) place: Place,
    pub(super) own: T,
    pub(super) times: u64,
    /// The numbers of the function, of the source file, and the line.
    pub(super) function: Option<i32>,
    pub(super) line: Option<(i32, u32)>,
}

impl<T> Of<T> {
    pub(super) fn new(row: &Row, own: T) -> Of<T> {
        let Row { place, times, function, line, .. } = *row;
        Of { place, own, times, function, line }
    }
}

impl<T> Placed for Of<T> {
    #[inline]
    fn place(&self) -> &Place {
        &self.place
    }
}

/// The columns of a place.
pub(super) fn place<Own: Placed>() -> Vec<Column<Own>> {
    vec![
        column!(U32 "buffer" ! "number of the buffer", |_, r| r.place().buffer),
        column!(Name(source_names) "source" ! "name of the trace source",
            |s, r| s.source_key(r.place().source)),
        column!(U64 "element" ! "number of the element in the buffer",
            |_, r| r.place().element),
        column!(U64 "offset" ! "offset in the buffer of the packet", |_, r| r.place().offset),
        column!(U64 "time" ? "last timestamp of the source, in ticks", |_, r| r.place().time),
        column!(I64 "ts" ? "the same in nanoseconds, where the clock is known",
            |s, r| s.nanoseconds(r.place().time)),
        column!(U64 "instruction" ! "instructions of the buffer before it",
            |_, r| r.place().instruction),
        column!(U32 "cpu" ? "processor of Linux", |s, _r| s.cpu),
        column!(U32 "pid" ? "process", |s, r| s.context(r.place()).pid),
        column!(U32 "tid" ? "thread", |s, r| s.context(r.place()).tid),
        column!(Name(comms) "comm" ? "name of the thread", |s, r| s.context(r.place()).comm),
    ]
}

/// The descriptions of columns.
pub(super) fn infos<R>(columns: Vec<Column<R>>) -> Vec<ColumnInfo> {
    columns.into_iter().map(|column| column.info).collect()
}

/// The elements of one kind, each a row.
struct Elements<'a, 'b, T> {
    output: Output<'a, 'b, Of<T>>,
    own: fn(&Element) -> Option<T>,
}

impl<T> Rows for Elements<'_, '_, T> {
    #[inline]
    fn row(&mut self, shared: &mut Shared, row: &Row, selected: bool) -> bool {
        match (self.own)(&row.element) {
            Some(own) if selected => self.output.push(shared, Of::new(row, own)),
            _ => true,
        }
    }

    /// A batch has rows of one buffer.
    fn end(&mut self, shared: &mut Shared) -> bool {
        self.output.flush(shared);
        !self.output.full()
    }
}

/// What is looked for beside the elements, by the columns that are wanted.
pub(super) fn wanted(input: &Input<'_>) -> Wanted {
    Wanted {
        functions: input.wants(&["function"]),
        lines: input.wants(&["file", "line"]),
        ..Wanted::default()
    }
}

/// Reads the elements for which `own` returns something, each a row.
pub(super) fn read<T>(
    input: &Input<'_>,
    columns: Vec<Column<Of<T>>>,
    own: fn(&Element) -> Option<T>,
    batches: &mut Batches<'_>,
) -> Result<Tally, TableError> {
    read_wanted(input, wanted(input), columns, own, batches)
}

/// As [`read`], with what is looked for beside the elements.
pub(super) fn read_wanted<T>(
    input: &Input<'_>,
    wanted: Wanted,
    columns: Vec<Column<Of<T>>>,
    own: fn(&Element) -> Option<T>,
    batches: &mut Batches<'_>,
) -> Result<Tally, TableError> {
    let output = Output::new(choose(columns, input.columns), batches);
    read_rows(input, wanted, &mut Elements { output, own })
}

/// Reads the elements to `rows`.
pub(super) fn read_rows(
    input: &Input<'_>,
    wanted: Wanted,
    rows: &mut dyn Rows,
) -> Result<Tally, TableError> {
    let Input { trace, query, index, .. } = *input;
    rows::read(trace, query, index, wanted, &mut Shared::new(trace), rows)
}

/// Writes rows that were made otherwise.
pub(super) fn write<R>(
    input: &Input<'_>,
    columns: Vec<Column<R>>,
    rows: impl IntoIterator<Item = R>,
    batches: &mut Batches<'_>,
) {
    let mut output = Output::new(choose(columns, input.columns), batches);
    let mut shared = Shared::new(input.trace);
    for row in rows {
        if !output.push(&mut shared, row) {
            break;
        }
    }
    output.flush(&mut shared);
}
