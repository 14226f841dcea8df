//! Rows to record batches.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, SchemaRef};

use crate::query::{Query, TableError};
use crate::rows::Shared;
use crate::schema::{ColumnInfo, Shape};

/// A column, and how it is made of rows.
pub(crate) struct Column<R> {
    pub(crate) info: ColumnInfo,
    pub(crate) build: fn(&mut Shared, &[R]) -> ArrayRef,
}

impl<R> Column<R> {
    /// The column is made only where a query names it.
    pub(crate) fn on_request(mut self) -> Self {
        self.info.on_request = true;
        self
    }
}

/// Where record batches go.
pub struct Batches<'a> {
    schema: SchemaRef,
    shape: Shape,
    /// The rows that are still wanted.
    left: u64,
    most: usize,
    emit: &'a mut dyn FnMut(RecordBatch) -> bool,
    stopped: bool,
    /// Why a batch could not be made.
    failed: Option<String>,
}

impl std::fmt::Debug for Batches<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batches").field("left", &self.left).finish_non_exhaustive()
    }
}

impl<'a> Batches<'a> {
    pub(crate) fn new(
        schema: SchemaRef,
        shape: Shape,
        query: &Query,
        emit: &'a mut dyn FnMut(RecordBatch) -> bool,
    ) -> Self {
        let left = query.limit.unwrap_or(u64::MAX);
        let most = query.batch_rows();
        Batches { schema, shape, left, most, emit, stopped: left == 0, failed: None }
    }

    /// Whether more rows are wanted.
    pub(crate) fn wants_more(&self) -> bool {
        !self.stopped && self.left > 0
    }

    /// The most rows of a batch.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// The number of rows that may still be added to a batch of `rows`.
    pub(crate) fn room(&self, rows: usize) -> usize {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        self.most.min(left).saturating_sub(rows)
    }

    /// Passes a batch on that was filled as [`room`](Self::room) allows.
    pub(crate) fn put_rows(&mut self, arrays: Vec<ArrayRef>, rows: usize) {
        self.left = self.left.saturating_sub(rows as u64);
        self.put(arrays, rows);
    }

    fn put(&mut self, arrays: Vec<ArrayRef>, rows: usize) {
        let fields = arrays.into_iter().zip(self.schema.fields());
        let shaped = fields.map(|(array, field)| shaped(array, field.data_type(), self.shape));
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows));
        match RecordBatch::try_new_with_options(
            Arc::clone(&self.schema),
            shaped.collect(),
            &options,
        ) {
            Ok(batch) => self.stopped |= !(self.emit)(batch) || self.left == 0,
            Err(error) => {
                self.failed = Some(error.to_string());
                self.stopped = true;
            }
        }
    }

    pub(crate) fn finish(self) -> Result<(), TableError> {
        self.failed.map_or(Ok(()), |why| Err(TableError::Format(why)))
    }
}

/// The array as a column of type `of`.
fn shaped(array: ArrayRef, of: &DataType, shape: Shape) -> ArrayRef {
    match (array.data_type(), of) {
        (DataType::UInt64, DataType::Int64) => {
            let own = array.as_primitive::<UInt64Type>();
            let buffer = own.values().inner().clone();
            Arc::new(Int64Array::new(ScalarBuffer::from(buffer), own.nulls().cloned()))
        }
        (DataType::UInt64, DataType::Utf8) if shape.view => {
            hexadecimal(array.as_primitive::<UInt64Type>().iter())
        }
        (DataType::UInt32, DataType::Utf8) if shape.view => {
            hexadecimal(array.as_primitive::<UInt32Type>().iter().map(|v| v.map(u64::from)))
        }
        _ => array,
    }
}

fn hexadecimal(values: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    let text = |value: u64| {
        let mut text = String::new();
        let _ = write!(text, "{value:#x}");
        text
    };
    Arc::new(values.map(|value| value.map(text)).collect::<StringArray>())
}

/// Collects rows to batches.
pub(crate) struct Output<'a, 'b, R> {
    columns: Vec<Column<R>>,
    rows: Vec<R>,
    batches: &'a mut Batches<'b>,
}

impl<'a, 'b, R> Output<'a, 'b, R> {
    pub(crate) fn new(columns: Vec<Column<R>>, batches: &'a mut Batches<'b>) -> Self {
        Output { columns, rows: Vec::new(), batches }
    }

    /// Adds a row. Returns whether more are wanted.
    #[inline]
    pub(crate) fn push(&mut self, shared: &mut Shared, row: R) -> bool {
        if self.batches.left == 0 {
            return false;
        }
        self.batches.left -= 1;
        self.rows.push(row);
        if self.rows.len() >= self.batches.most || self.batches.left == 0 {
            self.flush(shared);
        }
        !self.batches.stopped
    }

    pub(crate) fn flush(&mut self, shared: &mut Shared) {
        if self.rows.is_empty() || self.batches.stopped {
            return;
        }
        let arrays = self.columns.iter().map(|column| (column.build)(shared, &self.rows)).collect();
        self.batches.put(arrays, self.rows.len());
        self.rows.clear();
    }

    pub(crate) fn full(&self) -> bool {
        self.batches.stopped
    }
}

/// The columns of `all` that are wanted, in the order in which they are.
pub(crate) fn choose<R>(mut all: Vec<Column<R>>, wanted: &[ColumnInfo]) -> Vec<Column<R>> {
    let mut chosen = Vec::new();
    for own in wanted {
        if let Some(n) = all.iter().position(|column| column.info.name == own.name) {
            chosen.push(all.swap_remove(n));
        }
    }
    chosen
}
