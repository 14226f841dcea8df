//! The captures that are queried, each with its index.

use std::path::{Path, PathBuf};
use std::{error, fmt};

use tracewright::capture::{ImageSource, OpenError, Severity};
use tracewright::index::{Compare, Index, IndexedBuffer, beside};
use tracewright::{DecodeError, Trace};

/// A capture that is open.
#[derive(Debug)]
pub struct Opened {
    /// Its path, as it was given: the value of the column `capture`.
    pub name: String,
    /// The capture.
    pub trace: Trace,
    /// Its index.
    pub index: Option<Index>,
    /// What was odd, one text for each line.
    pub notes: Vec<String>,
}

/// How captures are opened.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// Program memory beside that of the captures.
    pub images: Vec<ImageSource>,
    /// The index, instead of the one beside the capture.
    pub index: Option<PathBuf>,
    /// No index is used.
    pub without_index: bool,
}

/// Why a capture cannot be queried.
#[derive(Debug)]
#[non_exhaustive]
pub enum CaptureError {
    /// It cannot be read.
    Open(OpenError),
    /// There is nothing to decode.
    Decode {
        /// The path.
        path: PathBuf,
        /// Why.
        error: DecodeError,
    },
    /// The index that was given cannot be used.
    Index {
        /// The path.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The trace can be read only once.
    Piped(PathBuf),
    /// The same path was given twice.
    Twice(PathBuf),
    /// One index was given for several captures.
    OneIndex(PathBuf),
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptureError::Open(error) => error.fmt(f),
            CaptureError::Decode { path, error } => write!(f, "{}: {error}", path.display()),
            CaptureError::Index { path, why } => {
                write!(f, "{}: the index cannot be used: {why}", path.display())
            }
            CaptureError::Piped(path) => write!(
                f,
                "{}: a pipe is read once, and a query may read it several times; write the trace to a \
                 file",
                path.display()
            ),
            CaptureError::Twice(path) => {
                write!(f, "{}: the capture is given twice; its rows would be, too", path.display())
            }
            CaptureError::OneIndex(path) => write!(
                f,
                "{}: an index is that of one capture; those of several are found beside each",
                path.display()
            ),
        }
    }
}

impl error::Error for CaptureError {}

impl From<OpenError> for CaptureError {
    fn from(error: OpenError) -> Self {
        CaptureError::Open(error)
    }
}

impl Opened {
    /// Opens the capture at `path`.
    ///
    /// # Errors
    /// [`CaptureError`].
    pub fn open(path: &Path, opening: &Opening) -> Result<Opened, CaptureError> {
        let mut trace = tracewright::open(path)?;
        for image in &opening.images {
            trace = trace.with_image(image)?;
        }
        let trace = trace.partial();
        let failed = |error| CaptureError::Decode { path: path.to_owned(), error };
        trace.check().map_err(failed)?;
        if trace.capture().buffers.iter().any(|buffer| buffer.is_piped()) {
            return Err(CaptureError::Piped(path.to_owned()));
        }
        let notes = trace.capture().notes.iter().filter(|note| note.severity() > Severity::Info);
        let mut notes: Vec<String> = notes.map(ToString::to_string).collect();
        notes.extend(trace.memory().problems.iter().map(ToString::to_string));
        let left_out = trace.left_out();
        notes.extend(left_out.iter().map(|own| format!("{}: {}", own.name, own.message)));
        let mut opened =
            Opened { name: path.to_string_lossy().into_owned(), trace, index: None, notes };
        opened.open_index(path, opening)?;
        Ok(opened)
    }

    /// Opens the index of `opening`, or the one beside the capture.
    fn open_index(&mut self, path: &Path, opening: &Opening) -> Result<(), CaptureError> {
        if opening.without_index {
            return Ok(());
        }
        let at = opening.index.clone().unwrap_or_else(|| beside(self.trace.capture().kind, path));
        if opening.index.is_none() && !at.exists() {
            return Ok(());
        }
        let index = self.trace.subject().open_index(&at, self.trace.plans(), Compare::Data);
        let read = index.map_err(|why| why.to_string()).and_then(|index| {
            index.damage().map_or(Ok(()), |damage| Err(damage.to_string()))?;
            Ok(index)
        });
        match read {
            Ok(index) => self.index = Some(index),
            Err(why) if opening.index.is_some() => {
                return Err(CaptureError::Index { path: at, why });
            }
            Err(why) => self.notes.push(format!(
                "{} is not used: {why}; `tracewright index` makes it again",
                at.display()
            )),
        }
        Ok(())
    }

    /// The index of a buffer, where it has all of its segments.
    pub fn indexed(&self, buffer: usize) -> Option<&IndexedBuffer> {
        let own = self.index.as_ref()?.buffer(buffer)?;
        (own.is_complete() && own.len() > 1 && own.damage().is_none()).then_some(own)
    }
}

/// All captures of a query.
#[derive(Debug, Default)]
pub struct Captures(Vec<Opened>);

impl Captures {
    /// Opens the captures at `paths`.
    ///
    /// # Errors
    /// [`CaptureError`].
    pub fn open(paths: &[PathBuf], opening: &Opening) -> Result<Captures, CaptureError> {
        if let Some(index) = opening.index.as_ref().filter(|_| paths.len() > 1) {
            return Err(CaptureError::OneIndex(index.clone()));
        }
        let mut all = Captures::default();
        for path in paths {
            if all.named(&path.to_string_lossy()).is_some() {
                return Err(CaptureError::Twice(path.clone()));
            }
            all.0.push(Opened::open(path, opening)?);
        }
        Ok(all)
    }

    /// The captures, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &Opened> {
        self.0.iter()
    }

    /// The capture with this name.
    pub fn named(&self, name: &str) -> Option<&Opened> {
        self.0.iter().find(|own| own.name == name)
    }
}

impl FromIterator<Opened> for Captures {
    fn from_iter<I: IntoIterator<Item = Opened>>(all: I) -> Self {
        Captures(all.into_iter().collect())
    }
}
