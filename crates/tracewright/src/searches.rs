//! Searches in a trace: indexes, queries, and what was executed before an event.

use std::{error, fmt, io};

use tracewright_base::Element;
use tracewright_decode::{Jobs, input};
use tracewright_index::{Answer, FindError, Finder, Found, Index, Making, Query, Subject};
use tracewright_views::history::{Event, History};
use tracewright_views::instructions::{Expand, Step, Steps};

use crate::error::{DecodeError, unreadable};
use crate::run::{self, Selection};
use crate::trace::Trace;

/// Why a search has no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum SearchError {
    /// The trace cannot be decoded.
    Decode(DecodeError),
    /// The index cannot be used.
    Index(tracewright_index::IndexError),
    /// The text is not a query.
    Query(tracewright_index::query::QueryError),
    /// The query has no answer.
    Find(FindError),
}

impl fmt::Display for SearchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SearchError::Decode(error) => error.fmt(f),
            SearchError::Index(error) => write!(f, "the index cannot be used: {error}"),
            SearchError::Query(error) => error.fmt(f),
            SearchError::Find(error) => error.fmt(f),
        }
    }
}

impl error::Error for SearchError {}

impl From<DecodeError> for SearchError {
    fn from(error: DecodeError) -> SearchError {
        SearchError::Decode(error)
    }
}

/// What a query found.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Matches {
    /// The number of matches. A query with `first`, `last` or `nth` has one in each buffer at most.
    pub count: u64,
    /// The elements that match, buffer by buffer; none for a query with `count`. The numbers of
    /// their sources are those of [`Trace::sources`].
    pub elements: Vec<Found>,
}

/// What was executed before an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Executed {
    /// An instruction.
    Instruction(Step),
    /// An element between instructions, such as an exception.
    Other(Element),
}

/// Something that was executed, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryItem {
    /// The number of the source among [`Trace::sources`].
    pub source: usize,
    /// The offset in the trace buffer of the packet that made it.
    pub offset: u64,
    /// What was executed.
    pub executed: Executed,
}

impl Trace {
    /// What an index of the trace is made of.
    pub fn subject(&self) -> Subject<'_> {
        Subject { capture: self.capture(), memory: self.memory(), options: self.options() }
    }

    /// Makes an index of all buffers, with a [view](crate::index::view): the bytes of its file,
    /// which [`Index::read`] reads. It takes the threads of [`with_jobs`](Trace::with_jobs).
    ///
    /// # Errors
    /// As [`decode`](Trace::decode).
    pub fn index(&self) -> Result<Vec<u8>, DecodeError> {
        self.check()?;
        let making = Making { jobs: self.jobs().count, view: true, ..Making::default() };
        let mut file = Vec::new();
        let made = self.subject().make(self.plans(), &making, |bytes, _| {
            file.extend_from_slice(bytes);
            Ok(true)
        });
        made.map_err(|error| self.unreadable(error))?;
        Ok(file)
    }

    /// Finds the elements that `query` selects in each buffer, such as `last exception 3`, `all
    /// write 0 ~panic`, `count function main`: see [`Query`]. With an index of this trace it takes
    /// a fraction of the time, and has the same result.
    ///
    /// # Errors
    /// [`SearchError`] where the query is none or has no answer, where the index is that of another
    /// trace, and as [`decode`](Trace::decode).
    pub fn find(&self, query: &str, index: Option<&Index>) -> Result<Matches, SearchError> {
        self.check()?;
        let query = Query::parse(&[query]).map_err(SearchError::Query)?;
        if let Some(index) = index {
            self.subject().check(index, self.plans()).map_err(SearchError::Index)?;
        }
        let (mut matches, mut first) = (Matches::default(), 0);
        for plan in self.plans() {
            if let Some(mut finder) = Finder::new(self.subject(), plan, index) {
                finder.jobs = self.jobs().count;
                match finder.find(&query).map_err(SearchError::Find)? {
                    Answer::Count(count) => matches.count += count,
                    Answer::Elements(found) => {
                        matches.count += found.len() as u64;
                        let numbered =
                            |found: Found| Found { source: first + found.source, ..found };
                        matches.elements.extend(found.into_iter().map(numbered));
                    }
                }
            }
            first += plan.sources.len();
        }
        Ok(matches)
    }

    /// The last `count` instructions, and the elements between them, before the last `event` of
    /// each buffer, in the part that [`with_window`](Trace::with_window) selects.
    ///
    /// # Errors
    /// As [`decode`](Trace::decode).
    pub fn history(&self, event: &Event, count: usize) -> Result<Vec<HistoryItem>, DecodeError> {
        self.check()?;
        let mut items = Vec::new();
        for (number, plan) in self.plans().iter().enumerate() {
            let Some(buffer) = self.capture().buffers.get(plan.buffer) else { continue };
            let history = History::new(event.clone(), count, false);
            let expand = Expand::new(history, self.sources_of(number));
            // What is stored depends on all of the trace before: one thread decodes.
            let selection = Selection { jobs: Jobs::new(1), ..self.selection() };
            let bytes = &mut *input::of(buffer);
            let session = self.session(plan)?;
            let ran = run::run(session, buffer, bytes, &selection, expand, |(), _, _| true);
            let mut expand = ran.map_err(|error| unreadable(buffer, error))?.listener;
            let first = self.first_source(number);
            expand.view.show(&mut Collected { first, items: &mut items });
        }
        Ok(items)
    }

    /// The error of an index whose buffer cannot be read.
    fn unreadable(&self, error: io::Error) -> DecodeError {
        let names = self.capture().buffers.iter().map(|buffer| buffer.name.as_str());
        DecodeError::Read { buffer: names.collect::<Vec<_>>().join(", "), error }
    }
}

/// Collects what was executed.
struct Collected<'a> {
    /// The number of the first source of the buffer.
    first: usize,
    items: &'a mut Vec<HistoryItem>,
}

impl Collected<'_> {
    fn push(&mut self, source: usize, offset: u64, executed: Executed) {
        self.items.push(HistoryItem { source: self.first + source, offset, executed });
    }
}

impl Steps for Collected<'_> {
    fn step(&mut self, source: usize, at: u64, step: &Step) {
        self.push(source, at, Executed::Instruction(*step));
    }

    fn other(&mut self, source: usize, at: u64, element: &Element) {
        self.push(source, at, Executed::Other(*element));
    }
}
