//! Parquet.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::File;
use crate::query::TableError;

/// Rows of a row group: fewer make larger files, more save little.
const GROUP: usize = 1 << 17;
/// Rows of a page, in which zstd finds what occurs again; each page has statistics.
const PAGE: usize = 1 << 16;
/// The level of zstd.
const LEVEL: i32 = 3;

/// Columns whose values mostly rise.
const RISING: [&str; 12] = [
    "id",
    "element",
    "offset",
    "time",
    "ts",
    "instruction",
    "begin_offset",
    "end_offset",
    "begin_instruction",
    "end_instruction",
    "begin_time",
    "end_time",
];

/// A file.
pub(super) struct Parquet<W: Write + Send> {
    /// `None` once it is finished.
    writer: Option<ArrowWriter<W>>,
}

impl From<ParquetError> for TableError {
    fn from(error: ParquetError) -> Self {
        TableError::Format(error.to_string())
    }
}

fn properties(schema: &Schema) -> Result<WriterProperties, TableError> {
    let mut own = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?))
        .set_max_row_group_row_count(Some(GROUP))
        .set_data_page_row_count_limit(PAGE)
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_created_by(concat!("tracewright ", env!("CARGO_PKG_VERSION")).to_owned());
    for field in schema.fields() {
        let number = matches!(field.data_type(), DataType::UInt64 | DataType::Int64);
        let encoding = match field.name().as_str() {
            name if number && RISING.contains(&name) => Encoding::DELTA_BINARY_PACKED,
            // A large program has more addresses than a dictionary takes; zstd finds a path that
            // is executed again where equal addresses are equal bytes.
            _ if number && field.metadata().contains_key("tracewright:display") => Encoding::PLAIN,
            _ => continue,
        };
        let path = ColumnPath::from(field.name().as_str());
        own = own
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, encoding);
    }
    Ok(own.build())
}

impl<W: Write + Send> Parquet<W> {
    pub(super) fn new(out: W, schema: &SchemaRef) -> Result<Parquet<W>, TableError> {
        let properties = properties(schema)?;
        let writer = ArrowWriter::try_new(out, SchemaRef::clone(schema), Some(properties))?;
        Ok(Parquet { writer: Some(writer) })
    }
}

impl<W: Write + Send> File for Parquet<W> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        match &mut self.writer {
            Some(writer) => Ok(writer.write(batch)?),
            None => Ok(()),
        }
    }

    fn finish(&mut self, complete: bool) -> Result<(), TableError> {
        let Some(mut writer) = self.writer.take() else { return Ok(()) };
        let complete = KeyValue::new("tracewright:complete".to_owned(), complete.to_string());
        writer.append_key_value_metadata(complete);
        writer.close()?;
        Ok(())
    }
}
