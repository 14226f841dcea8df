//! Results, in the formats of the program.

use std::io::Write;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::LineDelimitedWriter;

use crate::text::Text;

/// A format of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people: columns of text, and addresses in hexadecimal.
    #[default]
    Table,
    /// Comma-separated values, with a line of names.
    Csv,
    /// An object for each row, without what is null.
    Json,
}

/// Writes the rows of a result.
pub enum Output<W: Write> {
    /// As a table.
    Table(Text<W>),
    /// As CSV, and whether its first line was written.
    Csv(W, bool),
    /// As lines of JSON.
    Json(LineDelimitedWriter<W>),
}

impl<W: Write> Output<W> {
    /// An output of `format` to `out`.
    pub fn new(format: Format, out: W) -> Output<W> {
        match format {
            Format::Table => Output::Table(Text::new(out)),
            Format::Csv => Output::Csv(out, false),
            Format::Json => Output::Json(LineDelimitedWriter::new(out)),
        }
    }

    /// Writes the rows of a batch.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        match self {
            Output::Table(own) => own.write(batch),
            Output::Csv(out, begun) => {
                let mut bytes = Vec::new();
                let writer = csv::WriterBuilder::new().with_header(!*begun);
                writer.build(&mut bytes).write(batch)?;
                *begun = true;
                Ok(out.write_all(&bytes)?)
            }
            Output::Json(own) => own.write(batch),
        }
    }

    /// Ends the output. A result without rows has its names, where the format has them.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn finish(mut self, schema: &SchemaRef, rows: u64) -> Result<(), ArrowError> {
        if rows == 0 && !matches!(self, Output::Json(_)) {
            self.write(&RecordBatch::new_empty(SchemaRef::clone(schema)))?;
        }
        match self {
            Output::Table(mut own) => own.finish(),
            Output::Csv(mut out, _) => Ok(out.flush()?),
            Output::Json(mut own) => {
                own.finish()?;
                Ok(own.into_inner().flush()?)
            }
        }
    }
}
