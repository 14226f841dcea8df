//! Why there is no unit, no part, or no sum.

use std::{error, fmt, io};

use tracewright::DecodeError;
use tracewright::analysis::coverage_runs::Digest;
use tracewright::index::IndexError;
use tracewright::index::part::PartError;

/// Why there is no unit, no part, or no sum.
#[derive(Debug)]
#[non_exhaustive]
pub enum FleetError {
    /// The trace data cannot be read.
    Read(io::Error),
    /// The index is damaged.
    Index(IndexError),
    /// A piece cannot be decoded.
    Decode(DecodeError),
    /// A piece is not what its index was made of.
    Piece(PartError),
    /// Two of the captures have the same data.
    SameCapture(Digest),
    /// There is no unit with this identifier.
    NoUnit {
        /// The identifier.
        id: String,
        /// The number of units.
        units: usize,
    },
    /// A file is not a part.
    NotAPart {
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// Parts of one kind differ in what must be equal.
    Different {
        /// What differs.
        what: &'static str,
        /// Both values.
        values: [String; 2],
    },
    /// Parts are not of the same captures, programs and options: what differs.
    Plan(Vec<String>),
    /// Two parts have the same segments.
    Shared {
        /// The segments.
        segments: String,
        /// The identifiers of the units.
        units: [String; 2],
    },
    /// A program file has other code than another one with its build identifier and path.
    Program {
        /// The build identifier.
        id: String,
        /// The path in the captures.
        path: String,
        /// The checksums of both.
        codes: [u64; 2],
    },
    /// Two parts have the same captures of a list.
    SharedCaptures(String),
    /// The state at the end of a unit is not that at the beginning of the next one.
    Border {
        /// Where.
        segments: String,
        /// The identifiers of the units.
        units: [String; 2],
    },
    /// Units are lacking.
    Lacking(Vec<String>),
    /// Units could not be decoded, or captures of a list could not be opened.
    Failed {
        /// Which, and why.
        units: Vec<String>,
        /// The number that is allowed.
        allowed: usize,
    },
    /// A capture is not that of the plan: what differs.
    OtherCapture(Vec<String>),
}

/// The most places that a message lists.
const MOST: usize = 8;

impl fmt::Display for FleetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FleetError::Read(error) => error.fmt(f),
            FleetError::Decode(error) => error.fmt(f),
            FleetError::Piece(error) => error.fmt(f),
            FleetError::Index(error) => write!(f, "the index cannot be used: {error}"),
            FleetError::SameCapture(data) => {
                write!(f, "two captures have the same data (digest {})", short(data))
            }
            FleetError::NoUnit { id, units } => write!(
                f,
                "there is no unit {id} among {units}: `tracewright units` lists them, with the same \
                 captures and options"
            ),
            FleetError::NotAPart { line, why } => write!(f, "line {line}: {why}"),
            FleetError::Different { what, values: [one, other] } => {
                write!(f, "parts with another {what} have no sum: {one}, and {other}")
            }
            FleetError::Plan(all) => write!(
                f,
                "parts of another plan have no sum; what differs: {}. Make all parts with the same \
                 captures, programs, options and index",
                all.join("; ")
            ),
            FleetError::Shared { segments, units: [one, other] } if one == other => write!(
                f,
                "{segments} would be counted twice: unit {one} is in both, or two captures have the \
                 same trace"
            ),
            FleetError::Shared { segments, units: [one, other] } => write!(
                f,
                "{segments} would be counted twice: they are in unit {one}, and in unit {other}"
            ),
            FleetError::Program { id, path, codes: [one, other] } => write!(
                f,
                "the program {path} with build ID {id} has other code on one of the machines \
                 (checksums {one:016x} and {other:016x}): one of the files is not that of the captures"
            ),
            FleetError::SharedCaptures(captures) => {
                write!(f, "{captures} would be counted twice: two parts have them")
            }
            FleetError::Border { segments, units: [one, other] } => write!(
                f,
                "{segments}: unit {other} did not begin in the state in which unit {one} ended; make \
                 both of them again as one"
            ),
            FleetError::Lacking(places) => {
                f.write_str("parts are lacking: ")?;
                list(places, f)
            }
            FleetError::Failed { units, allowed } => {
                let count = units.len();
                write!(f, "{count} units could not be decoded, and {allowed} are allowed: ")?;
                list(units, f)
            }
            FleetError::OtherCapture(all) => write!(
                f,
                "it is not the capture of which the plan was made; what differs: {}",
                all.join("; ")
            ),
        }
    }
}

/// The first of `all`, and how many others there are.
fn list(all: &[String], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(&all.get(..MOST).unwrap_or(all).join("; "))?;
    match all.len().saturating_sub(MOST) {
        0 => Ok(()),
        more => write!(f, "; and {more} more"),
    }
}

impl FleetError {
    /// A file could not be read: that may be so only once, or only on one machine. All else is the
    /// same however often a unit is computed.
    pub fn is_read(&self) -> bool {
        matches!(
            self,
            FleetError::Read(_)
                | FleetError::Decode(DecodeError::Read { .. })
                | FleetError::Piece(PartError::Read(_))
        )
    }
}

impl error::Error for FleetError {}

impl From<DecodeError> for FleetError {
    fn from(error: DecodeError) -> FleetError {
        FleetError::Decode(error)
    }
}

impl From<PartError> for FleetError {
    fn from(error: PartError) -> FleetError {
        FleetError::Piece(error)
    }
}

impl From<io::Error> for FleetError {
    fn from(error: io::Error) -> FleetError {
        FleetError::Read(error)
    }
}

/// The first digits of a digest, for messages.
pub(crate) fn short(digest: &Digest) -> String {
    digest.to_string().get(..16).unwrap_or_default().to_owned()
}
