//! Tables as arrays, which JavaScript views without copying single values.
//!
//! Each record batch is output as: the number of bytes of its head, in 4 bytes, little-endian; the
//! head in JSON, padded with spaces to a multiple of 8 bytes with the number; and the arrays, each
//! at a multiple of 8 bytes, at the offsets that the head states, which count from the end of the
//! head.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float64Type, Int8Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, RecordBatch, StringArray};
use arrow_schema::DataType;
use tracewright::index::Window;
use tracewright::views::json::Object;
use tracewright_columns::{Query, table, tables};

use crate::host;
use crate::opening::Opened;
use crate::reply::{Problem, Reply, texts};
use crate::request::Request;

/// The names of the tables, and their columns.
pub(crate) fn all() -> Reply {
    let mut out = String::new();
    Object::new(&mut out)
        .list("tables", tables(), |table, out| {
            Object::new(out)
                .text("name", table.name())
                .text("about", table.about())
                .list("columns", table.columns(), |column, out| {
                    Object::new(out).text("name", column.name).text("about", column.about).end();
                })
                .end();
        })
        .end();
    Reply::json(out)
}

/// Reads a table. Its batches are output.
pub(crate) fn run(opened: &Opened, request: &Request<'_>) -> Result<Reply, Problem> {
    request.only(&["name", "column", "offset", "element", "time", "function", "kind", "limit"])?;
    let columns: Vec<String> = request.all("column").map(str::to_owned).collect();
    let window = Window {
        offset: request.range("offset")?,
        element: request.range("element")?,
        time: request.range("time")?,
        ..Window::default()
    };
    let query = Query {
        columns: (!columns.is_empty()).then_some(columns),
        window,
        functions: request.all("function").map(str::to_owned).collect(),
        kinds: request.all("kind").map(str::to_owned).collect(),
        limit: request.number("limit")?,
        ..Query::default()
    };
    let bad = |error: tracewright_columns::TableError| Problem::bad(error.to_string());
    let table = table(request.needed("name")?).map_err(bad)?;
    let mut rows = 0;
    let mut emit = |batch: RecordBatch| {
        rows += batch.num_rows() as u64;
        host::write(&packed(&batch))
    };
    table.read(&opened.trace, &query, None, &mut emit).map_err(bad)?;
    let mut out = String::new();
    Object::new(&mut out).number("rows", rows).end();
    Ok(Reply::json(out))
}

/// A record batch as bytes.
fn packed(batch: &RecordBatch) -> Vec<u8> {
    let mut arrays = Arrays::default();
    let mut head = String::new();
    let columns = batch.schema_ref().fields().iter().zip(batch.columns());
    Object::new(&mut head)
        .number("rows", batch.num_rows() as u64)
        .list("columns", columns, |(field, array), out| {
            let object = Object::new(out).text("name", field.name());
            let object = arrays.put(object, array);
            let known = (array.null_count() > 0).then(|| {
                let known = (0..array.len()).map(|row| u8::from(array.is_valid(row)));
                arrays.add(&known.collect::<Vec<u8>>())
            });
            object.maybe_number("known", known).end();
        })
        .end();
    let length = (head.len() + 4).next_multiple_of(8) - 4;
    let mut out = Vec::with_capacity(4 + length + arrays.0.len());
    out.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(head.as_bytes());
    out.resize(4 + length, b' ');
    out.append(&mut arrays.0);
    out
}

/// Arrays, each at a multiple of 8 bytes.
#[derive(Default)]
struct Arrays(Vec<u8>);

impl Arrays {
    /// Adds bytes, and returns their offset.
    fn add(&mut self, bytes: &[u8]) -> u64 {
        let at = self.0.len();
        self.0.extend_from_slice(bytes);
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        at as u64
    }

    /// Adds the values of a column; those that are unknown are 0. States their type and offset.
    fn put<'o>(&mut self, object: Object<'o>, array: &ArrayRef) -> Object<'o> {
        macro_rules! numbers {
            ($name:literal, $of:ty) => {{
                let at = self.numbers::<$of>(array, |value| value.to_le_bytes().to_vec());
                object.text("type", $name).number("at", at)
            }};
        }
        match array.data_type() {
            DataType::UInt8 => numbers!("u8", UInt8Type),
            DataType::UInt16 => numbers!("u16", UInt16Type),
            DataType::UInt32 => numbers!("u32", UInt32Type),
            DataType::UInt64 => numbers!("u64", UInt64Type),
            DataType::Int64 => numbers!("i64", Int64Type),
            DataType::Float64 => numbers!("f64", Float64Type),
            DataType::Boolean => {
                let values = array.as_boolean().iter().map(|value| u8::from(value == Some(true)));
                let at = self.add(&values.collect::<Vec<u8>>());
                object.text("type", "bool").number("at", at)
            }
            DataType::Dictionary(key, _) => {
                let (keys, values) = match **key {
                    DataType::Int8 => {
                        let own = array.as_dictionary::<Int8Type>();
                        let keys = own.keys().iter().map(|key| key.map_or(0, i32::from));
                        (keys.collect::<Vec<_>>(), own.values())
                    }
                    _ => {
                        let own = array.as_dictionary::<Int32Type>();
                        let keys = own.keys().iter().map(Option::unwrap_or_default);
                        (keys.collect::<Vec<_>>(), own.values())
                    }
                };
                let bytes: Vec<u8> = keys.into_iter().flat_map(i32::to_le_bytes).collect();
                let at = self.add(&bytes);
                let object = object.text("type", "name").number("at", at);
                object.value("names", |out| texts(out, &strings(values.as_string::<i32>())))
            }
            DataType::Binary => {
                let own = array.as_binary::<i32>();
                let values = (0..own.len()).map(|row| own.value(row));
                let (ends, at) = self.pieces(values);
                object.text("type", "bytes").number("at", at).number("ends", ends)
            }
            DataType::List(_) => {
                let own = array.as_list::<i32>();
                let row = |row: usize| {
                    let values = own.is_valid(row).then(|| own.value(row));
                    values.map(|values| strings(values.as_string::<i32>())).unwrap_or_default()
                };
                object.text("type", "list").list("lists", 0..own.len(), |n, out| {
                    texts(out, &row(n));
                })
            }
            _ => {
                let own = array.as_string::<i32>();
                let values = (0..own.len()).map(|row| own.value(row).as_bytes());
                let (ends, at) = self.pieces(values);
                object.text("type", "text").number("at", at).number("ends", ends)
            }
        }
    }

    fn numbers<T: ArrowPrimitiveType>(
        &mut self,
        array: &ArrayRef,
        bytes: impl Fn(T::Native) -> Vec<u8>,
    ) -> u64 {
        let own = array.as_primitive::<T>();
        let values = own.iter().map(Option::unwrap_or_default);
        let all: Vec<u8> = values.flat_map(bytes).collect();
        self.add(&all)
    }

    /// Adds values of different lengths: where each ends, and their bytes.
    fn pieces<'a>(&mut self, values: impl Iterator<Item = &'a [u8]>) -> (u64, u64) {
        let (mut ends, mut all) = (Vec::new(), Vec::new());
        for value in values {
            all.extend_from_slice(value);
            ends.extend(u32::try_from(all.len()).unwrap_or(u32::MAX).to_le_bytes());
        }
        (self.add(&ends), self.add(&all))
    }
}

fn strings(array: &StringArray) -> Vec<String> {
    array.iter().map(|text| text.unwrap_or_default().to_owned()).collect()
}
