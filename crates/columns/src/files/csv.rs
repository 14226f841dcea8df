//! Comma-separated values, as RFC 4180 has them, with line feeds.

use std::fmt::Write as _;
use std::io::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float64Type, Int8Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};

use super::File;
use crate::query::TableError;

/// A file.
pub(super) struct Csv<W> {
    out: W,
    text: String,
}

impl<W: Write> Csv<W> {
    pub(super) fn new(out: W, schema: &Schema) -> Result<Csv<W>, TableError> {
        let mut csv = Csv { out, text: String::new() };
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        csv.text.push_str(&names.join(","));
        csv.text.push('\n');
        csv.relieve()?;
        Ok(csv)
    }

    fn relieve(&mut self) -> Result<(), TableError> {
        self.out.write_all(self.text.as_bytes())?;
        self.text.clear();
        Ok(())
    }
}

impl<W: Write> File for Csv<W> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        for row in 0..batch.num_rows() {
            for (n, column) in batch.columns().iter().enumerate() {
                if n > 0 {
                    self.text.push(',');
                }
                cell(column.as_ref(), row, &mut self.text);
            }
            self.text.push('\n');
        }
        self.relieve()
    }

    fn finish(&mut self, _: bool) -> Result<(), TableError> {
        self.relieve()?;
        self.out.flush()?;
        Ok(())
    }
}

/// Appends a text, in quotes where it needs them. An empty text is not a missing one.
fn quoted(text: &str, out: &mut String) {
    if !text.is_empty() && !text.contains(['"', ',', '\n', '\r']) {
        return out.push_str(text);
    }
    out.push('"');
    out.push_str(&text.replace('"', "\"\""));
    out.push('"');
}

/// Appends a value. What is unknown is empty.
fn cell(array: &dyn Array, row: usize, out: &mut String) {
    if array.is_null(row) {
        return;
    }
    macro_rules! number {
        ($of:ty) => {{
            let _ = write!(out, "{}", array.as_primitive::<$of>().value(row));
        }};
    }
    match array.data_type() {
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Int64 => number!(Int64Type),
        DataType::Float64 => number!(Float64Type),
        DataType::Boolean => {
            out.push_str(if array.as_boolean().value(row) { "true" } else { "false" });
        }
        DataType::Utf8 => quoted(array.as_string::<i32>().value(row), out),
        DataType::Binary => {
            for byte in array.as_binary::<i32>().value(row) {
                let _ = write!(out, "{byte:02x}");
            }
        }
        DataType::Dictionary(key, _) if **key == DataType::Int8 => {
            let own = array.as_dictionary::<Int8Type>();
            if let Some(key) = own.key(row) {
                quoted(own.values().as_string::<i32>().value(key), out);
            }
        }
        DataType::Dictionary(..) => {
            let own = array.as_dictionary::<Int32Type>();
            if let Some(key) = own.key(row) {
                quoted(own.values().as_string::<i32>().value(key), out);
            }
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>().value(row);
            let texts: Vec<&str> = list.as_string::<i32>().iter().flatten().collect();
            quoted(&texts.join(";"), out);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_need_quotes() {
        for (text, want) in [
            ("main", "main"),
            ("", "\"\""),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("a\nb", "\"a\nb\""),
        ] {
            let mut out = String::new();
            quoted(text, &mut out);
            assert_eq!(out, want);
        }
    }
}
