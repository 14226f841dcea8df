//! Captures, and rows as texts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float64Type, Int8Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use tracewright::Trace;
use tracewright::decode::Jobs;
use tracewright::index::Index;
use tracewright_columns::{Query, table};

/// A row: the names of its columns, and their values where they are known.
pub type Row = BTreeMap<String, String>;

/// The captures of this repository, and small ones beside it.
pub fn captures() -> Vec<PathBuf> {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
    let mut all: Vec<PathBuf> = std::fs::read_dir(own)
        .expect("captures of this repository")
        .map(|entry| entry.expect("a folder").path().join("capture"))
        .filter(|path| path.exists())
        .collect();
    // It has symbols.
    let example = "tests/example";
    all.push(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(example));
    if let Some(arm) = tracewright_testing::shared("conformance/arm") {
        let folders = std::fs::read_dir(arm.join("snapshots")).or_else(|_| std::fs::read_dir(&arm));
        let folders = folders.into_iter().flatten().flatten().map(|entry| entry.path());
        let small = |path: &PathBuf| {
            let files = std::fs::read_dir(path).into_iter().flatten().flatten();
            let bytes: u64 = files.filter_map(|f| f.metadata().ok()).map(|m| m.len()).sum();
            bytes < 1 << 18
        };
        all.extend(folders.filter(|path| path.join("snapshot.ini").exists()).filter(small));
    }
    all.sort();
    all
}

/// Opens a capture, whose sources are decoded as far as they can be. `None`: nothing can be.
pub fn open(path: &std::path::Path) -> Option<Trace> {
    let trace = tracewright::open(path).ok()?.partial().with_jobs(Jobs::new(1));
    (!trace.sources().is_empty()).then_some(trace)
}

/// The value of a column as a text; `None` where it is not known.
pub fn value(array: &dyn Array, row: usize) -> Option<String> {
    if array.is_null(row) {
        return None;
    }
    macro_rules! number {
        ($of:ty) => {
            array.as_primitive::<$of>().value(row).to_string()
        };
    }
    Some(match array.data_type() {
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Int64 => number!(Int64Type),
        DataType::Float64 => number!(Float64Type),
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        DataType::Binary => {
            array.as_binary::<i32>().value(row).iter().map(|b| format!("{b:02x}")).collect()
        }
        DataType::Dictionary(key, _) if **key == DataType::Int8 => {
            let own = array.as_dictionary::<Int8Type>();
            own.values().as_string::<i32>().value(own.key(row)?).to_owned()
        }
        DataType::Dictionary(..) => {
            let own = array.as_dictionary::<Int32Type>();
            own.values().as_string::<i32>().value(own.key(row)?).to_owned()
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>().value(row);
            let texts: Vec<&str> = list.as_string::<i32>().iter().flatten().collect();
            texts.join(";")
        }
        other => panic!("no table has {other}"),
    })
}

/// The rows of a batch.
pub fn rows_of(batch: &RecordBatch) -> Vec<Row> {
    let schema = batch.schema();
    let row = |n: usize| {
        let columns = schema.fields().iter().zip(batch.columns());
        let known = columns
            .filter_map(|(field, array)| Some((field.name().clone(), value(array.as_ref(), n)?)));
        known.collect()
    };
    (0..batch.num_rows()).map(row).collect()
}

/// The rows of a table.
pub fn rows(name: &str, trace: &Trace, query: &Query, index: Option<&Index>) -> Vec<Row> {
    let mut rows = Vec::new();
    let table = table(name).expect("a table");
    let done = table.read(trace, query, index, &mut |batch| {
        rows.extend(rows_of(&batch));
        true
    });
    done.unwrap_or_else(|error| panic!("{name}: {error}"));
    rows
}

/// All columns of a table.
pub fn all_columns(name: &str) -> Query {
    let columns = table(name).expect("a table").columns();
    let columns = columns.iter().map(|column| column.name.to_owned()).collect();
    Query { columns: Some(columns), ..Query::default() }
}
