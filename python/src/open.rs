//! Captures and raw trace data, from files and from memory.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tracewright::capture::perf::{self, Search};
use tracewright::capture::{Found, probe};
use tracewright::decode::Jobs;
use tracewright::decode::raw::{RawFraming, RawTrace, Unit};
use tracewright::frames::Framing;
use tracewright::{Files, ImageSource, Trace as Decoded};

use crate::errors;
use crate::trace::Trace;

/// Program memory: the name of a file, with `@ADDRESS` where it needs one, or the bytes of a file.
#[derive(Debug)]
pub(crate) enum Image {
    File(String),
    Bytes(Vec<u8>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Image {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Image> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Image::Bytes(bytes.as_bytes().to_vec()));
        }
        let wrong = |_| PyTypeError::new_err("an image is the name of a file, or its bytes");
        object.extract::<String>().map(Image::File).map_err(wrong)
    }
}

fn sources(py: Python<'_>, images: Vec<Image>) -> PyResult<Vec<ImageSource>> {
    let source = |image: Image| match image {
        Image::File(name) => ImageSource::parse(&name),
        Image::Bytes(bytes) => Ok(ImageSource::bytes("image", bytes)),
    };
    images.into_iter().map(|image| source(image).map_err(|e| errors::open(py, &e))).collect()
}

/// How a trace is decoded.
#[derive(Clone, Copy, Debug)]
struct How {
    /// The sources that can be decoded are, even if others cannot.
    partial: bool,
    /// The threads; one for each processor otherwise.
    jobs: Option<usize>,
}

impl How {
    fn apply(self, mut trace: Decoded) -> Decoded {
        if self.partial {
            trace = trace.partial();
        }
        match self.jobs {
            Some(jobs) => trace.with_jobs(Jobs::new(jobs.max(1))),
            None => trace,
        }
    }
}

/// The trace that `open` opens, with `images`.
fn opened(
    py: Python<'_>,
    images: Vec<Image>,
    how: How,
    open: impl FnOnce() -> Result<Decoded, tracewright::OpenError> + Send,
) -> PyResult<Trace> {
    let images = sources(py, images)?;
    let made = py.detach(|| {
        let mut trace = open()?;
        for image in &images {
            trace = trace.with_image(image)?;
        }
        Ok(how.apply(trace))
    });
    let trace = made.map_err(|error| errors::open(py, &error))?;
    let notes = trace.capture().notes.iter().map(|note| errors::spelled(&note.to_string()));
    let notes = notes.collect();
    Ok(Trace::new(trace, notes))
}

/// Opens the capture at `path`. The programs of a `perf.data` are searched for where the command
/// does: in `binaries`, in the folder `symfs`, in the cache of perf and on this machine.
#[pyfunction]
pub fn open(
    py: Python<'_>,
    path: PathBuf,
    images: Vec<Image>,
    symfs: Option<PathBuf>,
    binaries: Vec<PathBuf>,
    partial: bool,
    jobs: Option<usize>,
) -> PyResult<Trace> {
    opened(py, images, How { partial, jobs }, || {
        if !matches!(probe(&path)?, Found::Perf) {
            return tracewright::open(&path);
        }
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
        let search = Search {
            binaries,
            symfs,
            cache: home.map(|home| perf::cache_in(Path::new(&home))),
            system: cfg!(unix).then(|| PathBuf::from("/")),
            ..Search::default()
        };
        Ok(Decoded::new(perf::open(&path, &search)?))
    })
}

/// Opens the capture at `path` among `files`, which are in memory.
#[pyfunction]
pub fn from_bytes(
    py: Python<'_>,
    files: HashMap<String, Vec<u8>>,
    path: String,
    images: Vec<Image>,
    partial: bool,
    jobs: Option<usize>,
) -> PyResult<Trace> {
    let files = Files::named(files);
    opened(py, images, How { partial, jobs }, || tracewright::open_files(&files, &path))
}

/// The built-in example of the command.
#[pyfunction]
pub fn demo(py: Python<'_>) -> PyResult<Trace> {
    let how = How { partial: false, jobs: None };
    opened(py, Vec::new(), how, || Ok(Decoded::new((tracewright_cli::demo::QUEENS.capture)())))
}

/// Raw trace data: the name of a file, or the bytes.
#[derive(FromPyObject)]
pub(crate) enum Data {
    Bytes(Bytes),
    File(PathBuf),
}

/// Bytes, and nothing that could be converted to them.
pub(crate) struct Bytes(Vec<u8>);

impl<'a, 'py> FromPyObject<'a, 'py> for Bytes {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Bytes> {
        Ok(Bytes(object.cast::<PyBytes>()?.as_bytes().to_vec()))
    }
}

/// Opens raw trace data.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "called by the package, with names")]
pub fn open_raw(
    py: Python<'_>,
    data: Data,
    images: Vec<Image>,
    protocols: Vec<(String, Option<u16>)>,
    config: Vec<String>,
    framing: Option<String>,
    core: Option<String>,
    ids: Vec<u16>,
    partial: bool,
    jobs: Option<usize>,
) -> PyResult<Trace> {
    let unit = |(protocol, id)| Unit { protocol, id };
    let mut raw = RawTrace {
        units: protocols.into_iter().map(unit).collect(),
        registers: config,
        framing: framing.as_deref().map_or(Ok(RawFraming::Auto), self::framing)?,
        core,
        ids,
        ..RawTrace::default()
    };
    let path = match data {
        Data::File(path) => path,
        Data::Bytes(Bytes(bytes)) => {
            raw.files = Files::named([("trace.bin", bytes)]);
            "trace.bin".into()
        }
    };
    let images = sources(py, images)?;
    let done = py.detach(|| tracewright::open_raw(&path, raw, &images));
    let (trace, notes) = done.map_err(|error| errors::open(py, &error))?;
    let notes = notes.iter().map(|note| errors::spelled(note)).collect();
    Ok(Trace::new(How { partial, jobs }.apply(trace), notes))
}

/// The framing with the name that the command has.
fn framing(name: &str) -> PyResult<RawFraming> {
    let named = Framing::ALL.into_iter().find(|framing| framing.option() == name);
    match (named, name) {
        (Some(framing), _) => Ok(RawFraming::Framed(framing)),
        (None, "encapsulated") => Ok(RawFraming::Encapsulated),
        (None, "etb") => Ok(RawFraming::Etb),
        (None, _) => {
            let known = Framing::ALL.map(Framing::option).join(", ");
            let text = format!("`{name}` is no framing; they are {known}, encapsulated, etb");
            Err(PyValueError::new_err(text))
        }
    }
}

/// Runs the command with these arguments, the first of which is its name, and returns its exit
/// code.
#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| tracewright_cli::run(arguments))
}
