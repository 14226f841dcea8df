//! What is selected of a table, and why a table cannot be read.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::{error, fmt, io};

use tracewright::DecodeError;
use tracewright::decode::Tally;
use tracewright::index::Window;

/// What is selected. The default selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The columns, in this order. `None`: all but those that are made on request.
    pub columns: Option<Vec<String>>,
    /// The part of each buffer, by offset, time, element and instruction.
    pub window: Window,
    /// Rows with code or data at one of these addresses; all where there are none.
    pub addresses: Vec<Range<u64>>,
    /// Rows with code of one of the functions called so; all where there are none.
    pub functions: Vec<String>,
    /// Rows of the sources called so; all where there are none.
    pub sources: Vec<String>,
    /// Elements of these kinds; all where there are none.
    pub kinds: Vec<String>,
    /// The numbers of the buffers; all for `None`.
    pub buffers: Option<Vec<usize>>,
    /// Runs of segments of the index, in order: rows of the elements that are emitted in them. For
    /// tables each row of which is that of one element, of one buffer, whose index is complete.
    pub segments: Option<Vec<Range<usize>>>,
    /// The most rows.
    pub limit: Option<u64>,
    /// The most rows of a batch; 0 for [`Query::BATCH`].
    pub batch: usize,
    /// Numbers of 64 bits are signed, with the same bits.
    pub signed: bool,
    /// Ends reading, also where no rows are made.
    pub stop: Stop,
    /// Counts what is decoded.
    pub decoded: Decoded,
}

/// Ends the reading of a table from another thread: its clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// No more is decoded than what is being decoded.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether reading ends.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Queries that select the same are equal, whatever ends them.
impl PartialEq for Stop {
    fn eq(&self, _: &Stop) -> bool {
        true
    }
}

impl Eq for Stop {}

/// Counts the bytes of sources that are decoded for a table, those before a part that have no rows
/// included. Its clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Decoded(Arc<AtomicU64>);

impl Decoded {
    /// The number of bytes so far.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, tally: &Tally) {
        let bytes = tally.sources.iter().map(|counts| counts.bytes());
        self.0.fetch_add(bytes.fold(0, u64::saturating_add), Ordering::Relaxed);
    }
}

/// Queries that select the same are equal, wherever what they decode is counted.
impl PartialEq for Decoded {
    fn eq(&self, _: &Decoded) -> bool {
        true
    }
}

impl Eq for Decoded {}

impl Query {
    /// Rows of a batch, where the query states none: a batch stays in the caches of a processor.
    pub const BATCH: usize = 1 << 13;

    pub(crate) fn batch_rows(&self) -> usize {
        match self.batch {
            0 => Query::BATCH,
            rows => rows,
        }
    }

    /// Whether a buffer is selected.
    pub(crate) fn has_buffer(&self, buffer: usize) -> bool {
        self.buffers.as_ref().is_none_or(|own| own.contains(&buffer))
    }

    /// Whether a source is selected.
    pub(crate) fn has_source(&self, name: &str) -> bool {
        self.sources.is_empty() || self.sources.iter().any(|own| own == name)
    }

    /// The window as a text: `offset=0..4096`. Empty for everything.
    pub(crate) fn window_text(&self) -> String {
        let Window { offset, time, instruction, element } = &self.window;
        let all = [
            ("offset", offset),
            ("time", time),
            ("instruction", instruction),
            ("element", element),
        ];
        let own = all.into_iter().filter_map(|(name, range)| {
            range.as_ref().map(|range| format!("{name}={}..{}", range.start, range.end))
        });
        own.collect::<Vec<_>>().join(" ")
    }

    /// The other selections as a text.
    pub(crate) fn options_text(&self) -> String {
        let addresses =
            self.addresses.iter().map(|r| format!("address={:#x}..{:#x}", r.start, r.end));
        let named =
            [("function", &self.functions), ("source", &self.sources), ("kind", &self.kinds)];
        let named = named
            .into_iter()
            .flat_map(|(key, names)| names.iter().map(move |name| format!("{key}={name}")));
        let limit = self.limit.map(|limit| format!("limit={limit}"));
        addresses.chain(named).chain(limit).collect::<Vec<_>>().join(" ")
    }
}

/// Why a table cannot be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum TableError {
    /// There is no such table.
    NoTable {
        /// The name.
        name: String,
        /// The names of the tables.
        tables: Vec<&'static str>,
    },
    /// The table has no such column.
    NoColumn {
        /// The table.
        table: String,
        /// The name.
        column: String,
        /// The names of its columns.
        columns: Vec<&'static str>,
    },
    /// The table has nothing that could be selected so.
    NotSelectable {
        /// The table.
        table: String,
        /// What was selected: `offset`, `address`.
        by: &'static str,
    },
    /// No program has this function.
    NoFunction(String),
    /// The capture has no such source.
    NoSource {
        /// The name.
        name: String,
        /// The names of its sources.
        sources: Vec<String>,
    },
    /// There is no such kind of element.
    NoKind(String),
    /// The table is made of an index, and there is none.
    NoIndex(String),
    /// The trace cannot be decoded.
    Decode(DecodeError),
    /// Rows could not be made an array, or written in a format.
    Format(String),
    /// The table could not be written.
    Write(io::Error),
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableError::NoTable { name, tables } => write!(
                f,
                "there is no table `{name}`; the tables are {}, and each with `_view` after its name",
                tables.join(", ")
            ),
            TableError::NoColumn { table, column, columns } => {
                write!(
                    f,
                    "table `{table}` has no column `{column}`; its columns are {}",
                    columns.join(", ")
                )
            }
            TableError::NotSelectable { table, by } => {
                write!(f, "rows of table `{table}` cannot be selected by {by}")
            }
            TableError::NoFunction(name) => {
                write!(
                    f,
                    "no program has a function `{name}`; names are those of the symbols, or \
                           demangled, with or without parameters"
                )
            }
            TableError::NoSource { name, sources } => {
                write!(f, "there is no source `{name}`; the sources are {}", sources.join(", "))
            }
            TableError::NoKind(name) => {
                let kinds = crate::kinds::KINDS.join(", ");
                write!(f, "`{name}` is no kind of element; the kinds are {kinds}")
            }
            TableError::NoIndex(table) => {
                write!(f, "table `{table}` is the content of an index; make one first, and name it")
            }
            TableError::Decode(error) => error.fmt(f),
            TableError::Format(why) => f.write_str(why),
            TableError::Write(error) => write!(f, "the table cannot be written: {error}"),
        }
    }
}

impl error::Error for TableError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            TableError::Decode(error) => Some(error),
            TableError::Write(error) => Some(error),
            _ => None,
        }
    }
}

impl From<DecodeError> for TableError {
    fn from(error: DecodeError) -> Self {
        TableError::Decode(error)
    }
}

impl From<io::Error> for TableError {
    fn from(error: io::Error) -> Self {
        TableError::Write(error)
    }
}
