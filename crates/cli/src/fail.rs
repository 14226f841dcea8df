//! Fatal errors: one line on standard error, and exit code 2.

use std::path::Path;
use std::{fmt, io};

use tracewright::analysis::DifferentPrograms;
use tracewright::capture::{Note, Problem};
use tracewright::decode::ForeignPlan;
use tracewright::{DecodeError, OpenError};
use tracewright_fleet::FleetError;

/// A fatal error.
#[derive(Debug)]
pub struct Fail {
    text: String,
    /// A file could not be read, which may be so only once, or only on one machine.
    read: bool,
}

impl Fail {
    /// A problem of an input file.
    pub fn input(path: &Path, what: &str) -> Self {
        Fail::text(&format!("{}: {what}", path.display()))
    }

    /// Why there is no unit of the capture at `path`.
    pub fn of_unit(path: &Path, error: &FleetError) -> Self {
        Fail { read: error.is_read(), ..Fail::input(path, &error.to_string()) }
    }

    /// Whether a file could not be read, which may be so only once, or only on one machine.
    pub fn is_read(&self) -> bool {
        self.read
    }

    /// What is wrong with the input at `path`, without the path.
    pub fn about(&self, path: &Path) -> String {
        let prefix = format!("{}: ", path.display());
        self.text.strip_prefix(&prefix).unwrap_or(&self.text).to_owned()
    }

    /// A problem of a capture that an option does not accept.
    pub fn refused(note: &Note) -> Self {
        Fail::text(&note.to_string())
    }

    /// The results of different programs are not summed or compared.
    pub fn programs(different: &DifferentPrograms) -> Self {
        Fail::text(&format!("{different}; --force ignores that"))
    }

    /// None of several inputs, which are called `what`, can be read, for these reasons.
    pub fn all(mut fails: Vec<Fail>, what: &str) -> Self {
        let first = fails.swap_remove(0);
        match fails.len() {
            0 => first,
            more => {
                let more = more + 1;
                Fail::text(&format!("none of the {more} {what} can be read; the first: {first}"))
            }
        }
    }

    /// A problem that names what it is about.
    pub fn text(what: &str) -> Self {
        Fail { text: what.to_owned(), read: false }
    }

    /// An invalid value of an option.
    pub fn option(option: &str, text: &str, why: &str) -> Self {
        Fail::text(&format!("{option} {text}: {why}"))
    }

    /// A defect of this program.
    pub fn internal(what: &str) -> Self {
        Fail::text(&format!("{what}; please report this"))
    }

    /// A read error within trace data.
    pub fn read(name: &str, error: &io::Error) -> Self {
        let text = format!("{name}: read error: {error}; the data before it were decoded");
        Fail { text, read: true }
    }

    /// An output file cannot be written.
    pub fn write(path: Option<&Path>, error: &io::Error) -> Self {
        match path {
            Some(path) => Fail::text(&format!("cannot write {}: {error}", path.display())),
            None => Fail::text(&format!("cannot write to standard output: {error}")),
        }
    }
}

impl From<DecodeError> for Fail {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::Read { buffer, error } => Fail::read(&buffer, &error),
            other => Fail::text(&other.to_string()),
        }
    }
}

impl From<OpenError> for Fail {
    fn from(error: OpenError) -> Self {
        let read = matches!(*error.problem, Problem::Unreadable(_));
        Fail { text: error.to_string(), read }
    }
}

impl From<ForeignPlan> for Fail {
    fn from(error: ForeignPlan) -> Self {
        Fail::text(&error.to_string())
    }
}

impl fmt::Display for Fail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
