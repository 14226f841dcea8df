//! The file and the stream format of Arrow IPC.

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::File;
use crate::query::TableError;

impl From<ArrowError> for TableError {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::IoError(_, error) => TableError::Write(error),
            other => TableError::Format(other.to_string()),
        }
    }
}

fn options() -> Result<IpcWriteOptions, TableError> {
    Ok(IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD))?)
}

/// Whether a column is a dictionary that grows.
fn grows(of: &DataType) -> bool {
    matches!(of, DataType::Dictionary(key, _) if **key == DataType::Int32)
}

/// A file. Its dictionaries are those that do not grow.
pub(super) struct ArrowFile<W: Write> {
    writer: FileWriter<W>,
    schema: SchemaRef,
}

impl<W: Write> ArrowFile<W> {
    pub(super) fn new(out: W, schema: &Schema) -> Result<ArrowFile<W>, TableError> {
        let plain = |field: &Arc<Field>| match grows(field.data_type()) {
            true => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8)),
            false => Arc::clone(field),
        };
        let fields: Vec<_> = schema.fields().iter().map(plain).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        let writer = FileWriter::try_new_with_options(out, &schema, options()?)?;
        Ok(ArrowFile { writer, schema })
    }
}

/// The texts of a dictionary.
fn texts(array: &ArrayRef) -> ArrayRef {
    if !grows(array.data_type()) {
        return Arc::clone(array);
    }
    let own = array.as_dictionary::<Int32Type>();
    let values = own.values().as_string::<i32>();
    let text = |row: usize| own.key(row).map(|key| values.value(key));
    Arc::new((0..array.len()).map(text).collect::<StringArray>())
}

impl<W: Write> File for ArrowFile<W> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        let columns = batch.columns().iter().map(texts).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let schema = Arc::clone(&self.schema);
        let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
        Ok(self.writer.write(&batch)?)
    }

    fn finish(&mut self, complete: bool) -> Result<(), TableError> {
        self.writer.write_metadata("tracewright:complete", complete.to_string());
        Ok(self.writer.finish()?)
    }
}

/// A stream.
pub(super) struct ArrowStream<W: Write> {
    writer: StreamWriter<W>,
}

impl<W: Write> ArrowStream<W> {
    pub(super) fn new(out: W, schema: &Schema) -> Result<ArrowStream<W>, TableError> {
        let writer = StreamWriter::try_new_with_options(out, schema, options()?)?;
        Ok(ArrowStream { writer })
    }
}

impl<W: Write> File for ArrowStream<W> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        Ok(self.writer.write(batch)?)
    }

    fn finish(&mut self, _: bool) -> Result<(), TableError> {
        Ok(self.writer.finish()?)
    }
}
