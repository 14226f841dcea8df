//! What a trace shows as a whole: profiles, coverage, indexes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tracewright::analysis::Profile as Counts;
use tracewright::analysis::coverage::SourceFile;
use tracewright::export::coverage::{CoverageFormat, CoverageView};
use tracewright::export::{Dialect, Format};
use tracewright::{Trace, index};

/// The formats of profiles by the names that the command has.
const PROFILES: [(&str, Format); 10] = [
    ("autofdo", Format::Autofdo),
    ("bolt", Format::Bolt),
    ("llvm", Format::Llvm),
    ("llvm-unsymbolized", Format::LlvmUnsymbolized),
    ("propeller", Format::Propeller),
    ("branch-list", Format::BranchList),
    ("pprof", Format::Pprof),
    ("folded", Format::Folded),
    ("callgrind", Format::Callgrind),
    ("json", Format::Json),
];

/// The formats of coverage by the names that the command has.
const COVERAGE: [(&str, CoverageFormat); 4] = [
    ("lcov", CoverageFormat::Lcov),
    ("cobertura", CoverageFormat::Cobertura),
    ("gcov", CoverageFormat::Gcov),
    ("llvm-cov", CoverageFormat::LlvmCov),
];

fn named<T: Copy>(all: &[(&str, T)], name: &str, what: &str) -> PyResult<T> {
    all.iter().find(|(own, _)| *own == name).map(|(_, own)| *own).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        let text = format!("`{name}` is no format of {what}; they are {}", names.join(", "));
        PyValueError::new_err(text)
    })
}

/// Counts of branches and ranges.
#[pyclass(frozen, module = "tracewright._tracewright")]
pub struct Profile(Mutex<Counts>);

impl Profile {
    pub(crate) fn new(counts: Counts) -> Profile {
        Profile(Mutex::new(counts))
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Profile {
    /// Adds the counts of another profile.
    fn merge(&self, py: Python<'_>, other: Py<Profile>) {
        py.detach(|| {
            let theirs = other.get().counts().clone();
            self.counts().merge(theirs);
        });
    }

    /// The same counts.
    fn copy(&self) -> Profile {
        Profile::new(self.counts().clone())
    }

    /// Executed instructions.
    #[getter]
    fn instructions(&self) -> u64 {
        self.counts().instructions
    }

    /// The profile as the bytes of a format.
    fn bytes<'py>(&self, py: Python<'py>, format: &str) -> PyResult<Bound<'py, PyBytes>> {
        let format = named(&PROFILES, format, "profiles")?;
        let bytes = py.detach(|| format.write(&self.counts(), Dialect::default()));
        let bytes = bytes.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &bytes))
    }
}

/// What was executed of the source files.
#[pyclass(frozen, module = "tracewright._tracewright")]
pub struct Coverage {
    pub(crate) sources: BTreeMap<String, SourceFile>,
}

#[pymethods]
impl Coverage {
    /// The paths of the source files.
    #[getter]
    fn files(&self) -> Vec<String> {
        self.sources.keys().cloned().collect()
    }

    /// The coverage as the bytes of a format.
    fn bytes<'py>(&self, py: Python<'py>, format: &str) -> PyResult<Bound<'py, PyBytes>> {
        let format = named(&COVERAGE, format, "coverage")?;
        let view = CoverageView { sources: &self.sources, programs: &[] };
        let bytes = py.detach(|| format.write(&view));
        Ok(PyBytes::new(py, &bytes))
    }
}

/// An index that a trace uses.
#[pyclass(frozen, module = "tracewright._tracewright")]
pub struct Index {
    pub(crate) own: Arc<index::Index>,
}

#[pymethods]
impl Index {
    /// The number of segments of all buffers.
    fn __len__(&self) -> usize {
        self.own.buffers().iter().map(index::IndexedBuffer::len).sum()
    }
}

/// A match: buffer, element, offset, source, instruction, time.
type Match = (u32, u64, u64, String, u64, Option<u64>);

/// The number of matches, and each.
pub(crate) type Matches = (u64, Vec<Match>);

/// What a search found, with the buffer and the name of the source of each match.
pub(crate) fn matches(trace: &Trace, found: tracewright::Matches) -> Matches {
    let plans = trace.plans().iter();
    let buffers: Vec<usize> =
        plans.flat_map(|plan| std::iter::repeat_n(plan.buffer, plan.sources.len())).collect();
    let one = |own: index::Found| {
        let buffer = buffers.get(own.source).copied().unwrap_or_default();
        let name = trace.sources().get(own.source).map(|source| source.name.clone());
        let name = name.unwrap_or_default();
        (buffer as u32, own.number, own.at, name, own.instruction, own.time)
    };
    (found.count, found.elements.into_iter().map(one).collect())
}
