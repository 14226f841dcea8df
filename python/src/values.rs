//! Rows of tables as tuples.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float64Type, Int8Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::stream::Parts;

/// Batches of rows.
#[pyclass(frozen, module = "tracewright._tracewright")]
pub struct Tuples {
    pub(crate) parts: Parts<RecordBatch>,
}

#[pymethods]
impl Tuples {
    fn __iter__(own: PyRef<'_, Self>) -> PyRef<'_, Self> {
        own
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let Some(batch) = self.parts.next(py)? else { return Ok(None) };
        let columns: Vec<Vec<Py<PyAny>>> = batch
            .columns()
            .iter()
            .map(|column| values(py, column.as_ref()))
            .collect::<PyResult<_>>()?;
        let rows = PyList::empty(py);
        for row in 0..batch.num_rows() {
            let cells = columns.iter().filter_map(|column| column.get(row));
            rows.append(PyTuple::new(py, cells.collect::<Vec<_>>())?)?;
        }
        Ok(Some(rows))
    }
}

/// The values of a column as objects.
fn values(py: Python<'_>, array: &dyn Array) -> PyResult<Vec<Py<PyAny>>> {
    macro_rules! numbers {
        ($of:ty) => {
            array.as_primitive::<$of>().iter().map(|v| v.into_py_any(py)).collect()
        };
    }
    macro_rules! names {
        ($of:ty) => {{
            let own = array.as_dictionary::<$of>();
            let texts = own.values().as_string::<i32>();
            let texts: Vec<Py<PyAny>> =
                texts.iter().map(|text| text.into_py_any(py)).collect::<PyResult<_>>()?;
            let name = |row: usize| match own.key(row).and_then(|key| texts.get(key)) {
                Some(text) => text.clone_ref(py),
                None => py.None(),
            };
            Ok((0..array.len()).map(name).collect())
        }};
    }
    match array.data_type() {
        DataType::UInt8 => numbers!(UInt8Type),
        DataType::UInt16 => numbers!(UInt16Type),
        DataType::UInt32 => numbers!(UInt32Type),
        DataType::UInt64 => numbers!(UInt64Type),
        DataType::Int64 => numbers!(Int64Type),
        DataType::Float64 => numbers!(Float64Type),
        DataType::Boolean => array.as_boolean().iter().map(|v| v.into_py_any(py)).collect(),
        DataType::Utf8 => array.as_string::<i32>().iter().map(|v| v.into_py_any(py)).collect(),
        DataType::Binary => {
            let own = array.as_binary::<i32>().iter();
            own.map(|v| v.map(|bytes| PyBytes::new(py, bytes)).into_py_any(py)).collect()
        }
        DataType::Dictionary(key, _) if **key == DataType::Int8 => names!(Int8Type),
        DataType::Dictionary(..) => names!(Int32Type),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let row = |row: usize| {
                let own = list.value(row);
                let texts = own.as_string::<i32>().iter().flatten();
                let texts: Vec<Bound<'_, PyString>> =
                    texts.map(|text| PyString::new(py, text)).collect();
                texts.into_py_any(py)
            };
            (0..array.len()).map(row).collect()
        }
        _ => Ok((0..array.len()).map(|_| py.None()).collect()),
    }
}
