//! Tables as files: Parquet, Arrow IPC, CSV.

#[cfg(feature = "files")]
mod arrow;
mod csv;
#[cfg(feature = "files")]
mod parquet;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, Field, SchemaRef};
use tracewright::Trace;
use tracewright::decode::{Merge, Tally};
use tracewright::index::Index;

use crate::query::{Query, TableError};
use crate::schema::Type;
use crate::tables::Table;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Parquet: small, with statistics; for archives and queries.
    #[cfg(feature = "files")]
    Parquet,
    /// The file format of Arrow IPC (Feather version 2). Names are texts, not dictionaries, as a
    /// file cannot replace a dictionary.
    #[cfg(feature = "files")]
    Arrow,
    /// The stream format of Arrow IPC.
    #[cfg(feature = "files")]
    ArrowStream,
    /// Comma-separated values, with a line of names.
    Csv,
}

impl Format {
    /// The formats, with the ends of the names of their files.
    pub const ALL: &[(Format, &str)] = &[
        #[cfg(feature = "files")]
        (Format::Parquet, "parquet"),
        #[cfg(feature = "files")]
        (Format::Arrow, "arrow"),
        #[cfg(feature = "files")]
        (Format::Arrow, "feather"),
        #[cfg(feature = "files")]
        (Format::ArrowStream, "arrows"),
        (Format::Csv, "csv"),
    ];

    /// The format of a file with this name.
    pub fn of(path: &Path) -> Option<Format> {
        let end = path.extension()?.to_str()?.to_ascii_lowercase();
        Format::ALL.iter().find(|(_, known)| *known == end).map(|(format, _)| *format)
    }
}

/// A file that is being written.
trait File {
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), TableError>;

    /// Writes the rest. `complete`: what was decoded has no damage.
    fn finish(&mut self, complete: bool) -> Result<(), TableError>;
}

/// What was written.
#[derive(Debug)]
pub struct Written {
    /// The number of rows.
    pub rows: u64,
    /// What was decoded.
    pub tally: Tally,
}

/// A file that has the rows of one capture, or of several one after another.
pub struct TableFile<'a> {
    table: Table,
    file: Box<dyn File + 'a>,
    schema: SchemaRef,
    /// Rows have the name of their capture.
    named: bool,
    written: Written,
}

impl std::fmt::Debug for TableFile<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableFile").field("table", &self.table).finish_non_exhaustive()
    }
}

impl<'a> TableFile<'a> {
    /// Begins the file of a table. `trace` is that of the first capture. Where there are `several`,
    /// the first column is `capture`, unless the table has one.
    ///
    /// # Errors
    /// [`TableError`] where the query selects columns that are not there, or the file cannot be
    /// written.
    pub fn new<W: Write + Send + 'a>(
        (table, trace): (&Table, &Trace),
        query: &Query,
        format: Format,
        several: bool,
        out: W,
    ) -> Result<TableFile<'a>, TableError> {
        let mut schema = table.schema(trace, query)?;
        let named = several && schema.index_of(CAPTURE).is_err();
        if several {
            schema.metadata.remove("tracewright:capture");
        }
        if named {
            let own = std::iter::once(Arc::new(Field::new(CAPTURE, Type::Name.data_type(), false)));
            schema.fields = own.chain(schema.fields.iter().cloned()).collect();
        }
        let schema = Arc::new(schema);
        let file: Box<dyn File + 'a> = match format {
            #[cfg(feature = "files")]
            Format::Parquet => Box::new(parquet::Parquet::new(out, &schema)?),
            #[cfg(feature = "files")]
            Format::Arrow => Box::new(arrow::ArrowFile::new(out, &schema)?),
            #[cfg(feature = "files")]
            Format::ArrowStream => Box::new(arrow::ArrowStream::new(out, &schema)?),
            Format::Csv => Box::new(csv::Csv::new(out, &schema)?),
        };
        let written = Written { rows: 0, tally: Tally::default() };
        Ok(TableFile { table: *table, file, schema, named, written })
    }

    /// Adds the rows of `trace`, the capture called `name`.
    ///
    /// # Errors
    /// [`TableError`] where the query selects what is not there, the trace cannot be decoded, or the
    /// file cannot be written.
    pub fn add(
        &mut self,
        name: &str,
        trace: &Trace,
        query: &Query,
        index: Option<&Index>,
    ) -> Result<(), TableError> {
        let TableFile { table, file, schema, named, written } = self;
        let mut failed = None;
        let tally = table.read(trace, query, index, &mut |batch| {
            written.rows += batch.num_rows() as u64;
            let batch = match named {
                true => with_capture(&batch, name, schema),
                false => Ok(batch),
            };
            match batch.and_then(|batch| file.batch(&batch)) {
                Ok(()) => true,
                Err(error) => {
                    failed = Some(error);
                    false
                }
            }
        })?;
        written.tally.merge(tally);
        failed.map_or(Ok(()), Err)
    }

    /// The number of rows so far.
    pub fn rows(&self) -> u64 {
        self.written.rows
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// [`TableError`] where the file cannot be written.
    pub fn finish(mut self) -> Result<Written, TableError> {
        self.file.finish(!self.written.tally.flawed())?;
        Ok(self.written)
    }
}

/// The column that has the name of the capture of a row.
const CAPTURE: &str = "capture";

/// `batch` with the name of its capture in each row.
fn with_capture(
    batch: &RecordBatch,
    name: &str,
    schema: &SchemaRef,
) -> Result<RecordBatch, TableError> {
    let failed = |error: ArrowError| TableError::Format(error.to_string());
    let keys = Int32Array::from(vec![0; batch.num_rows()]);
    let names = Arc::new(StringArray::from(vec![name]));
    let names = DictionaryArray::try_new(keys, names).map_err(failed)?;
    let first: ArrayRef = Arc::new(names);
    let columns = std::iter::once(first).chain(batch.columns().iter().cloned()).collect();
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(failed)
}

/// Writes a table.
///
/// # Errors
/// [`TableError`] where the query selects what is not there, the trace cannot be decoded, or the
/// file cannot be written.
pub fn write<W: Write + Send>(
    (table, trace): (&Table, &Trace),
    query: &Query,
    index: Option<&Index>,
    format: Format,
    out: W,
) -> Result<Written, TableError> {
    let mut file = TableFile::new((table, trace), query, format, false, out)?;
    file.add("", trace, query, index)?;
    file.finish()
}
