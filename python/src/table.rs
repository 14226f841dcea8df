//! A table, which is decoded whenever it is read.

use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ffi::to_ffi;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tracewright::capture::Replacement;
use tracewright_columns::files::{self, Format};
use tracewright_columns::{Query, Stop, Table as Definition, TableError, tables};

use crate::shared::Shared;
use crate::stream::{self, Parts};
use crate::values::Tuples;

/// A table of a trace.
#[pyclass(frozen, module = "tracewright._tracewright")]
pub struct Table {
    pub(crate) shared: Arc<Shared>,
    pub(crate) definition: Definition,
    pub(crate) query: Query,
    pub(crate) schema: SchemaRef,
}

impl Table {
    /// Checks that there is something to decode, where the table is made by decoding.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        if !self.definition.is_decoded() {
            return Ok(());
        }
        self.shared.trace.check().map_err(|error| crate::errors::decode(py, &error))
    }

    /// Begins to decode.
    fn begin(&self, py: Python<'_>) -> PyResult<Parts<RecordBatch>> {
        let (shared, table) = (Arc::clone(&self.shared), self.definition);
        self.check(py)?;
        stream::begin(self.query.clone(), move |query, put| {
            let index = shared.index();
            let done = table.read(&shared.trace, query, index.as_deref(), put);
            done.map(|tally| shared.add(&tally))
        })
    }
}

/// Batches of rows, each for programs that have Arrow.
#[pyclass(frozen, module = "tracewright._tracewright")]
pub struct RecordBatches(Parts<RecordBatch>);

#[pymethods]
impl RecordBatches {
    fn __iter__(own: PyRef<'_, Self>) -> PyRef<'_, Self> {
        own
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        Ok(self.0.next(py)?.map(Batch))
    }
}

/// A batch of rows.
#[pyclass(frozen, module = "tracewright._tracewright")]
pub struct Batch(RecordBatch);

#[pymethods]
impl Batch {
    /// The schema and the rows, for programs that have Arrow.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let rows = StructArray::from(self.0.clone());
        let (array, schema) =
            to_ffi(&rows.to_data()).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        Ok((schema, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }
}

/// Record batches of a table, for the C stream interface of Arrow.
struct Batches {
    schema: SchemaRef,
    parts: Parts<RecordBatch>,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let part = self.parts.next_detached()?;
        Some(part.map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

#[pymethods]
impl Table {
    /// Name of the table.
    #[getter]
    fn name(&self) -> String {
        let name = self.schema.metadata().get("tracewright:table");
        name.cloned().unwrap_or_else(|| self.definition.name().to_owned())
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The type of each column in Arrow.
    #[getter]
    fn types(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.data_type().to_string()).collect()
    }

    /// The columns whose numbers people read in hexadecimal.
    #[getter]
    fn hexadecimal(&self) -> Vec<String> {
        let hex = |field: &&Arc<arrow_schema::Field>| {
            field.metadata().contains_key("tracewright:display")
        };
        self.schema.fields().iter().filter(hex).map(|field| field.name().clone()).collect()
    }

    /// The schema, for other programs that have Arrow.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref())
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The rows, which are decoded anew.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let parts = self.begin(py)?;
        let batches = Batches { schema: Arc::clone(&self.schema), parts };
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Batches of rows, each row a tuple.
    fn batches(&self, py: Python<'_>) -> PyResult<Tuples> {
        Ok(Tuples { parts: self.begin(py)? })
    }

    /// Batches of rows, each for programs that have Arrow.
    fn record_batches(&self, py: Python<'_>) -> PyResult<RecordBatches> {
        Ok(RecordBatches(self.begin(py)?))
    }

    /// Writes the table to a file, and returns the number of its rows.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<u64> {
        let Some(format) = Format::of(&path) else {
            let ends: Vec<_> = Format::ALL.iter().map(|(_, end)| format!(".{end}")).collect();
            let text = format!("{}: the name must end with {}", path.display(), ends.join(", "));
            return Err(PyValueError::new_err(text));
        };
        let (shared, table, query) =
            (Arc::clone(&self.shared), self.definition, self.query.clone());
        self.check(py)?;
        let work = move |stop: &Stop| {
            let mut file = Replacement::new(&path)?;
            let out = BufWriter::new(&mut file);
            let query = Query { stop: stop.clone(), ..query };
            let index = shared.index();
            let written =
                files::write((&table, &shared.trace), &query, index.as_deref(), format, out)?;
            // A part of a table would look like a table.
            if !stop.is_set() {
                file.finish()?;
            }
            Ok(written.rows)
        };
        stream::wait(py, work, |py, error: TableError| crate::errors::table(py, &error))
    }
}

/// The name, the description and the columns of a table: name, type, nullable, on request,
/// description.
type TableInfo =
    (&'static str, &'static str, Vec<(&'static str, String, bool, bool, &'static str)>);

/// All tables.
#[pyfunction]
pub fn table_info() -> Vec<TableInfo> {
    let of = |table: Definition| {
        let columns = table.columns().into_iter().map(|own| {
            let data_type = own.of.data_type().to_string();
            (own.name, data_type, own.nullable, own.on_request, own.about)
        });
        (table.name(), table.about(), columns.collect())
    };
    tables().into_iter().map(of).collect()
}
