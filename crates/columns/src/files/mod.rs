//! Tables as files: Parquet, Arrow IPC, CSV.

#[cfg(feature = "files")]
mod arrow;
mod csv;
#[cfg(feature = "files")]
mod parquet;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use tracewright::Trace;
use tracewright::decode::Tally;
use tracewright::index::Index;

use crate::query::{Query, TableError};
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
    let schema: SchemaRef = Arc::new(table.schema(trace, query)?);
    let mut file: Box<dyn File + '_> = match format {
        #[cfg(feature = "files")]
        Format::Parquet => Box::new(parquet::Parquet::new(out, &schema)?),
        #[cfg(feature = "files")]
        Format::Arrow => Box::new(arrow::ArrowFile::new(out, &schema)?),
        #[cfg(feature = "files")]
        Format::ArrowStream => Box::new(arrow::ArrowStream::new(out, &schema)?),
        Format::Csv => Box::new(csv::Csv::new(out, &schema)?),
    };
    let (mut rows, mut failed) = (0, None);
    let tally = table.read(trace, query, index, &mut |batch| {
        rows += batch.num_rows() as u64;
        match file.batch(&batch) {
            Ok(()) => true,
            Err(error) => {
                failed = Some(error);
                false
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    file.finish(!tally.flawed())?;
    Ok(Written { rows, tally })
}
