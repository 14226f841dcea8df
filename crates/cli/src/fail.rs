//! What stops a command: one line, and exit code 2.

use std::path::Path;
use std::{fmt, io};

use tracewright::OpenError;
use tracewright::decode::ForeignPlan;

/// A fatal error.
#[derive(Debug)]
pub struct Fail(String);

impl Fail {
    /// Something about the input that the user must change.
    pub fn usage(path: &Path, what: &str) -> Self {
        Fail(format!("{}: {what}", path.display()))
    }

    /// An option that is not understood.
    pub fn option(option: &str, text: &str, why: &str) -> Self {
        Fail(format!("{option} {text}: {why}"))
    }

    /// A mistake of this program.
    pub fn ours(what: &str) -> Self {
        Fail(format!("{what}; please report this"))
    }

    /// A trace could not be read to its end.
    pub fn read(name: &str, error: &io::Error) -> Self {
        Fail(format!("{name}: cannot be read any further: {error}"))
    }

    /// A file could not be written.
    pub fn write(path: Option<&Path>, error: &io::Error) -> Self {
        match path {
            Some(path) => Fail(format!("cannot write {}: {error}", path.display())),
            None => Fail(format!("cannot write: {error}")),
        }
    }
}

impl From<OpenError> for Fail {
    fn from(error: OpenError) -> Self {
        Fail(error.to_string())
    }
}

impl From<ForeignPlan> for Fail {
    fn from(error: ForeignPlan) -> Self {
        Fail(error.to_string())
    }
}

impl fmt::Display for Fail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
