//! The tables.

mod accesses;
mod branches;
mod buffers;
mod calls;
mod common;
mod contexts;
mod coverage;
mod elements;
mod exceptions;
mod executed;
mod functions;
mod instructions;
mod packets;
mod ranges;
mod segments;
mod star;
mod texts;
mod timestamps;
mod words;
mod writes;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use tracewright::Trace;
use tracewright::decode::Tally;
use tracewright::index::Index;

use crate::output::Batches;
use crate::query::{Query, TableError};
use crate::schema::{self, ColumnInfo, Shape};

/// What a table can be selected by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// Offset, time, element and instruction.
    Window,
    /// Addresses of code or data.
    Address,
    /// The function.
    Function,
    /// The kind of an element.
    Kind,
    /// The source.
    Source,
}

/// What a table may be divided into: the rows of all parts are those of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// Segments of an index: each row is that of one element.
    Segments,
    /// Buffers: rows join several elements.
    Buffers,
    /// Captures: rows join buffers.
    Captures,
}

/// What a table is made of.
pub(crate) struct Input<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) query: &'a Query,
    pub(crate) index: Option<&'a Index>,
    /// The columns that are wanted.
    pub(crate) columns: &'a [ColumnInfo],
}

impl Input<'_> {
    /// Whether one of these columns is wanted.
    pub(crate) fn wants(&self, names: &[&str]) -> bool {
        self.columns.iter().any(|column| names.contains(&column.name))
    }
}

/// A kind of table.
pub(crate) struct Definition {
    name: &'static str,
    about: &'static str,
    columns: fn() -> Vec<ColumnInfo>,
    by: &'static [By],
    division: Division,
    read: fn(&Input<'_>, &mut Batches<'_>) -> Result<Tally, TableError>,
}

const ROWS: &[By] = &[By::Window, By::Address, By::Function, By::Source];
const WINDOW: &[By] = &[By::Window, By::Source];

/// The tables, those of most use first.
static TABLES: [Definition; 26] = [
    ranges::TABLE,
    branches::TABLE,
    calls::TABLE,
    functions::TABLE,
    functions::PATHS,
    exceptions::TABLE,
    instructions::TABLE,
    elements::TABLE,
    accesses::GAPS,
    timestamps::TABLE,
    contexts::TABLE,
    writes::TABLE,
    texts::TABLE,
    accesses::DWT,
    accesses::TABLE,
    coverage::TABLE,
    coverage::BRANCHES,
    packets::TABLE,
    star::TABLE,
    star::BLOCKS,
    segments::TABLE,
    buffers::CAPTURES,
    buffers::TABLE,
    buffers::SOURCES,
    buffers::IMAGES,
    buffers::MISSING,
];

/// A table of a trace, or its view, in which addresses are texts in hexadecimal, and columns on
/// request are there.
#[derive(Clone, Copy)]
pub struct Table {
    own: &'static Definition,
    view: bool,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("name", &self.own.name).field("view", &self.view).finish()
    }
}

/// All tables, without the views.
pub fn tables() -> Vec<Table> {
    TABLES.iter().map(|own| Table { own, view: false }).collect()
}

/// The table called `name`; with `_view` at the end, the view of the table.
///
/// # Errors
/// [`TableError::NoTable`].
pub fn table(name: &str) -> Result<Table, TableError> {
    let find = |name: &str| TABLES.iter().find(|own| own.name == name);
    let view = || name.strip_suffix("_view").and_then(find);
    match (find(name), view()) {
        (Some(own), _) => Ok(Table { own, view: false }),
        (None, Some(own)) => Ok(Table { own, view: true }),
        (None, None) => {
            let tables = TABLES.iter().map(|own| own.name).collect();
            Err(TableError::NoTable { name: name.to_owned(), tables })
        }
    }
}

impl Table {
    /// Its name, without `_view`.
    pub fn name(&self) -> &'static str {
        self.own.name
    }

    /// What a row is, in one line.
    pub fn about(&self) -> &'static str {
        self.own.about
    }

    /// Whether its rows are made by decoding the trace. The others describe the capture.
    pub fn is_decoded(&self) -> bool {
        self.own.by.contains(&By::Window)
    }

    /// What it may be divided into.
    pub fn division(&self) -> Division {
        self.own.division
    }

    /// All columns.
    pub fn columns(&self) -> Vec<ColumnInfo> {
        (self.own.columns)()
    }

    /// The columns that `query` wants.
    ///
    /// # Errors
    /// [`TableError::NoColumn`].
    pub fn chosen(&self, query: &Query) -> Result<Vec<ColumnInfo>, TableError> {
        let all = self.columns();
        let Some(names) = &query.columns else {
            return Ok(all.into_iter().filter(|own| self.view || !own.on_request).collect());
        };
        let find = |name: &String| {
            all.iter().find(|own| own.name == name.as_str()).copied().ok_or_else(|| {
                let columns = all.iter().map(|own| own.name).collect();
                TableError::NoColumn {
                    table: self.own.name.to_owned(),
                    column: name.clone(),
                    columns,
                }
            })
        };
        let mut chosen: Vec<ColumnInfo> = Vec::new();
        for name in names {
            let own = find(name)?;
            if !chosen.contains(&own) {
                chosen.push(own);
            }
        }
        Ok(chosen)
    }

    fn shape(&self, query: &Query) -> Shape {
        Shape { signed: query.signed, view: self.view }
    }

    /// The schema of the record batches.
    ///
    /// # Errors
    /// [`TableError::NoColumn`].
    pub fn schema(&self, trace: &Trace, query: &Query) -> Result<Schema, TableError> {
        let about = [
            ("capture", capture_name(trace)),
            ("window", query.window_text()),
            ("options", query.options_text()),
        ];
        let name = if self.view { format!("{}_view", self.own.name) } else { self.own.name.into() };
        Ok(schema::schema(&name, &self.chosen(query)?, self.shape(query), about))
    }

    /// Refuses a selection that the table does not have.
    fn check(&self, query: &Query) -> Result<(), TableError> {
        let window = &query.window;
        let selections = [
            (window.offset.is_some(), By::Window, "offset"),
            (window.time.is_some(), By::Window, "time"),
            (window.element.is_some(), By::Window, "element"),
            (window.instruction.is_some(), By::Window, "instruction"),
            (!query.addresses.is_empty(), By::Address, "address"),
            (!query.functions.is_empty(), By::Function, "function"),
            (!query.kinds.is_empty(), By::Kind, "kind"),
            (!query.sources.is_empty(), By::Source, "source"),
        ];
        let refused = selections.iter().find(|(is, by, _)| *is && !self.own.by.contains(by));
        match refused {
            Some((_, _, by)) => {
                Err(TableError::NotSelectable { table: self.own.name.to_owned(), by })
            }
            None => Ok(()),
        }
    }

    /// Decodes what the table needs, and passes its rows to `emit`, which returns whether it wants
    /// more. An index makes a window of a large trace accessible.
    ///
    /// # Errors
    /// [`TableError`] where the query selects what is not there, or the trace cannot be decoded.
    pub fn read(
        &self,
        trace: &Trace,
        query: &Query,
        index: Option<&Index>,
        emit: &mut dyn FnMut(RecordBatch) -> bool,
    ) -> Result<Tally, TableError> {
        self.check(query)?;
        crate::rows::check_sources(query, trace)?;
        let columns = self.chosen(query)?;
        let schema: SchemaRef = Arc::new(self.schema(trace, query)?);
        let mut batches = Batches::new(schema, self.shape(query), query, emit);
        let input = Input { trace, query, index, columns: &columns };
        let tally = (self.own.read)(&input, &mut batches)?;
        batches.finish()?;
        Ok(tally)
    }
}

/// The name of the file or folder of a capture, without its folder: equal captures make equal
/// tables.
fn capture_name(trace: &Trace) -> String {
    let path = &trace.capture().path;
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
