//! Results as columns of text.

use std::fmt::Write as _;
use std::io::Write;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, UInt32Type, UInt64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use tracewright::capture::plain;

/// Rows from which the widths of columns are found.
const FIRST: usize = 1000;

/// Writes rows as columns that are as wide as the widest of the first rows.
pub struct Text<W: Write> {
    out: W,
    /// The cells of the first rows, and their names before them.
    first: Vec<Vec<String>>,
    /// The width of each column, and whether it is on the right.
    columns: Vec<(usize, bool)>,
    begun: bool,
}

impl<W: Write> Text<W> {
    pub(crate) fn new(out: W) -> Text<W> {
        Text { out, first: Vec::new(), columns: Vec::new(), begun: false }
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let schema = batch.schema();
        if self.columns.is_empty() {
            let fields = schema.fields().iter();
            self.columns = fields.map(|own| (0, own.data_type().is_numeric())).collect();
            self.first.push(schema.fields().iter().map(|own| own.name().clone()).collect());
        }
        let columns = schema.fields().iter().zip(batch.columns());
        let columns = columns.map(|(field, array)| cells(field, array));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        for n in 0..batch.num_rows() {
            let row = columns.iter().map(|own| own.get(n).cloned().unwrap_or_default());
            self.first.push(row.collect());
        }
        if self.begun || self.first.len() > FIRST { self.put() } else { Ok(()) }
    }

    /// Writes the rows that wait.
    fn put(&mut self) -> Result<(), ArrowError> {
        let rows = std::mem::take(&mut self.first);
        if !self.begun {
            self.begun = true;
            for row in &rows {
                for ((width, _), cell) in self.columns.iter_mut().zip(row) {
                    let widest = cell.lines().map(|line| line.chars().count()).max();
                    *width = (*width).max(widest.unwrap_or(0));
                }
            }
        }
        for row in rows {
            // A plan has several lines.
            let lines = row.iter().map(|cell| cell.lines().count()).max().unwrap_or(0);
            for n in 0..lines.max(1) {
                let cells = row.iter().map(|cell| cell.lines().nth(n).unwrap_or_default());
                writeln!(self.out, "{}", self.line(cells))?;
            }
        }
        Ok(())
    }

    /// A line of these cells.
    fn line<'a>(&self, cells: impl Iterator<Item = &'a str>) -> String {
        let mut line = String::new();
        for (n, ((width, right), cell)) in self.columns.iter().zip(cells).enumerate() {
            if n > 0 {
                line.push_str("  ");
            }
            let _ = match right {
                true => write!(line, "{cell:>width$}"),
                false => write!(line, "{cell:width$}"),
            };
        }
        line.truncate(line.trim_end().len());
        line
    }

    pub(crate) fn finish(&mut self) -> Result<(), ArrowError> {
        self.put()?;
        Ok(self.out.flush()?)
    }
}

/// The cells of a column. What is null is a dash.
fn cells(field: &Field, array: &dyn Array) -> Result<Vec<String>, ArrowError> {
    let is_hex = field.metadata().get("tracewright:display").is_some_and(|own| own == "hex");
    let hex = |value: Option<u64>| value.map_or("-".to_owned(), |own| format!("{own:#x}"));
    match array.data_type() {
        DataType::UInt64 if is_hex => {
            Ok(array.as_primitive::<UInt64Type>().iter().map(hex).collect())
        }
        DataType::UInt32 if is_hex => {
            let values = array.as_primitive::<UInt32Type>().iter();
            Ok(values.map(|own| hex(own.map(u64::from))).collect())
        }
        _ => {
            let options = FormatOptions::new().with_null("-");
            let formatter = ArrayFormatter::try_new(array, &options)?;
            let cell = |n| {
                let text = formatter.value(n).to_string();
                text.split('\n').map(plain::line).collect::<Vec<_>>().join("\n")
            };
            Ok((0..array.len()).map(cell).collect())
        }
    }
}
