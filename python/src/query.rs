//! Selections of Python as queries.

use std::ops::Range;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tracewright::index::Window;
use tracewright_columns::Query;

/// A range of numbers: a tuple of two, of which each may be `None`.
type Span = (Option<u64>, Option<u64>);

fn range(name: &str, span: Span) -> PyResult<Range<u64>> {
    let (start, end) = (span.0.unwrap_or(0), span.1.unwrap_or(u64::MAX));
    if start > end {
        return Err(PyValueError::new_err(format!("{name}: {start} is after {end}")));
    }
    Ok(start..end)
}

/// Takes `name` out of the selections.
fn take<'py, T: for<'a> FromPyObject<'a, 'py>>(
    all: &Bound<'py, PyDict>,
    name: &str,
) -> PyResult<Option<T>> {
    match all.get_item(name)? {
        Some(value) if !value.is_none() => {
            let wrong = || PyValueError::new_err(format!("{name}: unexpected value {value}"));
            value.extract::<T>().map(Some).map_err(|_| wrong())
        }
        _ => Ok(None),
    }
}

/// The selections of a call.
pub(crate) fn of(all: &Bound<'_, PyDict>) -> PyResult<Query> {
    let span = |name: &str| -> PyResult<Option<Range<u64>>> {
        take::<Span>(all, name)?.map(|span| range(name, span)).transpose()
    };
    let texts = |name: &str| Ok::<_, PyErr>(take::<Vec<String>>(all, name)?.unwrap_or_default());
    let addresses = take::<Vec<Span>>(all, "address")?.unwrap_or_default();
    Ok(Query {
        columns: take(all, "columns")?,
        window: Window {
            offset: span("offset")?,
            time: span("time")?,
            instruction: span("instruction")?,
            element: span("element")?,
        },
        addresses: addresses
            .into_iter()
            .map(|span| range("address", span))
            .collect::<PyResult<_>>()?,
        functions: texts("function")?,
        sources: texts("source")?,
        kinds: texts("kinds")?,
        buffers: take(all, "buffers")?,
        limit: take(all, "limit")?,
        batch: take(all, "batch")?.unwrap_or(0),
        signed: take(all, "signed")?.unwrap_or(false),
        ..Query::default()
    })
}
