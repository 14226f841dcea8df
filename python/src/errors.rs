//! Errors as exceptions of the package.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tracewright::base::Remedy;
use tracewright::decode::Skipped;
use tracewright::{DecodeError, OpenError, SearchError};
use tracewright_columns::TableError;

/// The text of a library, with arguments of the package where it names remedies.
pub(crate) fn spelled(text: &str) -> String {
    Remedy::spelled(text, |remedy| match remedy {
        Remedy::Register => "config=".to_owned(),
        Remedy::Id => "ids=".to_owned(),
        Remedy::Image => "images=".to_owned(),
        Remedy::Binary => "binaries=".to_owned(),
        Remedy::Protocol | Remedy::Framing | Remedy::Core | Remedy::Symfs => {
            format!("{}=", remedy.name())
        }
        other => format!("--{} of the command", other.name()),
    })
}

/// An exception of `tracewright.errors`.
fn exception<'py>(
    py: Python<'py>,
    name: &str,
    arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>>,
) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let class = py.import("tracewright.errors")?.getattr(name)?;
        let arguments = arguments.into_pyobject(py).map_err(Into::into)?;
        Ok(PyErr::from_value(class.call1(arguments)?))
    };
    made().unwrap_or_else(|error| error)
}

/// A capture that cannot be read.
pub(crate) fn open(py: Python<'_>, error: &OpenError) -> PyErr {
    let origin = &error.origin;
    let path = origin.path.display().to_string();
    let parts = (spelled(&error.to_string()), path, origin.section.clone(), origin.key.clone());
    exception(py, "OpenError", parts)
}

/// A trace that cannot be decoded.
pub(crate) fn decode(py: Python<'_>, error: &DecodeError) -> PyErr {
    let messages =
        |all: &[Skipped]| all.iter().map(|own| spelled(&own.message)).collect::<Vec<String>>();
    let left_out = match error {
        DecodeError::SourcesLeftOut(all) => messages(all),
        DecodeError::NothingToDecode { left_out, .. } => messages(left_out),
        _ => Vec::new(),
    };
    let text = match error {
        DecodeError::SourcesLeftOut(_) => {
            format!("{}; `partial=True` decodes the other sources", left_out.join("; "))
        }
        other => spelled(&other.to_string()),
    };
    exception(py, "DecodeError", (text, left_out))
}

/// A table that cannot be read.
pub(crate) fn table(py: Python<'_>, error: &TableError) -> PyErr {
    match error {
        TableError::Decode(error) => decode(py, error),
        TableError::Write(error) => pyo3::exceptions::PyOSError::new_err(error.to_string()),
        other => exception(py, "TableError", (spelled(&other.to_string()),)),
    }
}

/// A search that has no result.
pub(crate) fn search(py: Python<'_>, error: &SearchError) -> PyErr {
    match error {
        SearchError::Decode(error) => decode(py, error),
        other => exception(py, "QueryError", (spelled(&other.to_string()),)),
    }
}
