//! Fatal errors: one line on standard error, and exit code 2.

use std::path::Path;
use std::{fmt, io};

use tracewright::analysis::DifferentPrograms;
use tracewright::capture::Note;
use tracewright::decode::ForeignPlan;
use tracewright::{DecodeError, OpenError};

/// A fatal error.
#[derive(Debug)]
pub struct Fail(String);

impl Fail {
    /// A problem of an input file.
    pub fn input(path: &Path, what: &str) -> Self {
        Fail(format!("{}: {what}", path.display()))
    }

    /// A problem of a capture that an option does not accept.
    pub fn refused(note: &Note) -> Self {
        Fail(note.to_string())
    }

    /// The results of different programs are not summed or compared.
    pub fn programs(different: &DifferentPrograms) -> Self {
        Fail(format!("{different}; --force ignores that"))
    }

    /// None of several inputs, which are called `what`, can be read, for these reasons.
    pub fn all(mut fails: Vec<Fail>, what: &str) -> Self {
        let first = fails.swap_remove(0);
        match fails.len() {
            0 => first,
            more => {
                Fail(format!("none of the {} {what} can be read; the first: {first}", more + 1))
            }
        }
    }

    /// A problem that names what it is about.
    pub fn text(what: &str) -> Self {
        Fail(what.to_owned())
    }

    /// An invalid value of an option.
    pub fn option(option: &str, text: &str, why: &str) -> Self {
        Fail(format!("{option} {text}: {why}"))
    }

    /// A defect of this program.
    pub fn internal(what: &str) -> Self {
        Fail(format!("{what}; please report this"))
    }

    /// A read error within trace data.
    pub fn read(name: &str, error: &io::Error) -> Self {
        Fail(format!("{name}: read error: {error}; the data before it were decoded"))
    }

    /// An output file cannot be written.
    pub fn write(path: Option<&Path>, error: &io::Error) -> Self {
        match path {
            Some(path) => Fail(format!("cannot write {}: {error}", path.display())),
            None => Fail(format!("cannot write to standard output: {error}")),
        }
    }
}

impl From<DecodeError> for Fail {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::Read { buffer, error } => Fail::read(&buffer, &error),
            other => Fail(other.to_string()),
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
