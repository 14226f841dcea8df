//! A capture that is ready to be decoded.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tracewright::Trace as Decoded;
use tracewright::capture::{Replacement, read_file};
use tracewright::decode::Skipped;
use tracewright::index::{self, Making};
use tracewright_columns::{Query, Stop, table};

use crate::elements::Elements;
use crate::results::{Coverage, Index, Matches, Profile, matches};
use crate::shared::Shared;
use crate::table::Table;
use crate::{errors, query, stream};

/// A capture.
#[pyclass(frozen, module = "tracewright._tracewright")]
pub struct Trace {
    shared: Arc<Shared>,
    notes: Vec<String>,
}

impl Trace {
    /// `notes`: what was odd in the files, or was assumed.
    pub(crate) fn new(trace: Decoded, notes: Vec<String>) -> Trace {
        Trace { shared: Arc::new(Shared::new(trace)), notes }
    }

    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.shared.trace.check().map_err(|error| errors::decode(py, &error))
    }
}

fn selected(selections: Option<&Bound<'_, PyDict>>) -> PyResult<Query> {
    selections.map_or_else(|| Ok(Query::default()), query::of)
}

fn unreadable(path: &str, why: &str) -> PyErr {
    PyOSError::new_err(format!("{path}: {why}"))
}

#[pymethods]
impl Trace {
    /// What was odd in the files, or was assumed.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// The sources that cannot be decoded: name, what is missing, the missing registers.
    #[getter]
    fn missing(&self) -> Vec<(String, String, Vec<&'static str>)> {
        let left_out = self.shared.trace.left_out();
        let text = |own: &Skipped| errors::spelled(&own.message);
        left_out.into_iter().map(|own| (own.name.clone(), text(&own), own.missing)).collect()
    }

    /// The sources: name, protocol, trace ID.
    #[getter]
    fn sources(&self) -> Vec<(String, &'static str, Option<u16>)> {
        let own = self.shared.trace.sources().iter();
        own.map(|source| (source.name.clone(), source.protocol(), source.id)).collect()
    }

    /// The buffers: name, bytes.
    #[getter]
    fn buffers(&self) -> Vec<(String, Option<u64>)> {
        let own = self.shared.trace.capture().buffers.iter();
        own.map(|buffer| (buffer.name.clone(), buffer.size())).collect()
    }

    /// The bytes of sources that were decoded so far for tables and elements.
    #[getter]
    fn decoded(&self) -> u64 {
        self.shared.decoded()
    }

    /// The symbol of an address in the program of a source: `main+0x14`.
    fn symbol(&self, source: usize, address: u64) -> Option<String> {
        self.shared.trace.symbol(source, address)
    }

    /// A table.
    #[pyo3(signature = (name, **selections))]
    fn table(
        &self,
        py: Python<'_>,
        name: &str,
        selections: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Table> {
        let query = selected(selections)?;
        let failed = |error| errors::table(py, &error);
        let definition = table(name).map_err(failed)?;
        let schema = definition.schema(&self.shared.trace, &query).map_err(failed)?;
        let shared = Arc::clone(&self.shared);
        Ok(Table { shared, definition, query, schema: Arc::new(schema) })
    }

    /// The elements, in batches.
    #[pyo3(signature = (functions, **selections))]
    fn elements(
        &self,
        py: Python<'_>,
        functions: bool,
        selections: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Elements> {
        self.check(py)?;
        Elements::begin(py, &self.shared, selected(selections)?, functions)
    }

    /// Makes an index, and writes it to a file.
    fn make_index(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.check(py)?;
        let (shared, name) = (Arc::clone(&self.shared), path.display().to_string());
        let work = move |stop: &Stop| {
            let trace = &shared.trace;
            let mut file = Replacement::new(&path)?;
            let making = Making { jobs: trace.jobs().count, view: true, ..Making::default() };
            trace.subject().make(trace.plans(), &making, |bytes, _| {
                file.write_all(bytes)?;
                Ok(!stop.is_set())
            })?;
            match stop.is_set() {
                true => Ok(()),
                false => file.finish(),
            }
        };
        let failed = |_: Python<'_>, error: io::Error| unreadable(&name, &error.to_string());
        stream::wait(py, work, failed)
    }

    /// Uses the index in a file.
    fn use_index(&self, py: Python<'_>, path: PathBuf) -> PyResult<Index> {
        let own = py.detach(|| {
            let bytes = read_file(&path).map_err(|error| error.to_string())?;
            let own = index::Index::read(bytes).map_err(|error| error.to_string())?;
            let trace = &self.shared.trace;
            let checked = trace.subject().check(&own, trace.plans());
            checked.map_err(|error| error.to_string()).map(|_| own)
        });
        let own = own.map_err(|why: String| unreadable(&path.display().to_string(), &why));
        let own = Arc::new(own?);
        self.shared.use_index(Arc::clone(&own));
        Ok(Index { own })
    }

    /// What a search finds: the number of matches, and each with its buffer, element, offset,
    /// source, instruction and time.
    fn find(&self, py: Python<'_>, text: &str) -> PyResult<Matches> {
        let (shared, text) = (Arc::clone(&self.shared), text.to_owned());
        let work = move |_: &Stop| shared.trace.find(&text, shared.index().as_deref());
        let found = stream::wait(py, work, |py, error| errors::search(py, &error))?;
        Ok(matches(&self.shared.trace, found))
    }

    /// Counts of branches and ranges.
    fn profile(&self, py: Python<'_>) -> PyResult<Profile> {
        let shared = Arc::clone(&self.shared);
        let work = move |_: &Stop| shared.trace.profile();
        stream::wait(py, work, |py, error| errors::decode(py, &error)).map(Profile::new)
    }

    /// What was executed of the source files.
    fn coverage(&self, py: Python<'_>) -> PyResult<Coverage> {
        let shared = Arc::clone(&self.shared);
        let work = move |_: &Stop| shared.trace.coverage();
        let sources = stream::wait(py, work, |py, error| errors::decode(py, &error))?;
        Ok(Coverage { sources })
    }
}
